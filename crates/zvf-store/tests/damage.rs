//! Damaged objects: every truncation and many flipped bits give a value or an error, never a panic, and never more
//! bytes than the limits allow.

use std::collections::BTreeSet;

use zvf_store::{CellWant, Class, Endpoint, Limits, Need, OpenOptions, Store, StoreError};

use crate::support::{Files, all_cells, bundled, grids, try_open};
use zvf_testkit::sample::Sample;

const LIMIT: u64 = 1 << 20;

/// Reads everything of level 0 whose object key starts with `array`, as an engine would.
async fn read(files: &Files, array: &str) -> Result<(), StoreError> {
    let options = OpenOptions::new().with_limits(
        Limits::default()
            .with_cell_bytes(LIMIT)
            .with_document_bytes(LIMIT),
    );
    // The cells that these tests leave out count as empty, not as lost.
    let store = try_open(files, options.with_verify(false)).await?;
    let level = store.level(0, &Need::all()).await?;
    let mut first_error = None;
    for grid in grids(&level) {
        if !array.starts_with(grid.path()) {
            continue;
        }
        let wants: Vec<CellWant> = all_cells(&grid);
        match store.fetch(3, wants).await {
            Ok(cells) => assert!(cells.iter().flatten().all(|c| c.len() as u64 <= LIMIT)),
            Err(error) => first_error = Some(error),
        }
    }
    for family in level.link_families() {
        for link in family
            .arrays()
            .iter()
            .filter(|l| array.starts_with(l.array.path()))
        {
            for want in all_cells(&link.array) {
                let source = want.chunk.clone();
                let Ok(mut cell) = store.fetch(3, vec![want]).await else {
                    continue;
                };
                let Some(cell) = cell.remove(0) else { continue };
                let Ok(view) = link.decode(&source, &cell) else {
                    continue;
                };
                let mut record = vec![Endpoint::default(); family.width()];
                assert!((0..view.len()).all(|i| view.record(i, &mut record)));
            }
        }
    }
    if array.contains("object_index") {
        let index = level.object_index().unwrap();
        let _ = index.ids().await?.slot(5);
        let slots: Vec<u64> = (0..index.len().min(1000)).collect();
        for blob in index.manifests(&slots).await? {
            let _ = zvf_store::format::manifest::Manifest::parse(&blob, index.key_rank());
        }
    }
    for table in level
        .object_attributes()
        .iter()
        .filter(|t| array.starts_with(t.path()))
    {
        table.read().await?;
    }
    if let Some(groups) = level.groups().filter(|_| array.contains("/groups")) {
        for g in 0..groups.len().min(100) {
            groups.members(g).await?;
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// At most `most` numbers below `n`, spread evenly.
fn spread(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let step = n.div_ceil(most).max(1);
    (0..n).step_by(step)
}

async fn damage(files: &Files, key: &str, truncations: usize, flips: usize) {
    let healthy = files[key].clone();
    read(files, key)
        .await
        .unwrap_or_else(|e| panic!("{key} is healthy: {e}"));
    let mut classes = BTreeSet::new();
    let mut note = |result: Result<(), StoreError>| {
        if let Err(error) = result {
            assert!(
                matches!(error.class(), Class::Malformed | Class::Limit),
                "{key}: {error:?}"
            );
            assert!(!error.to_string().is_empty());
            classes.insert(format!("{:?}", error.class()));
        }
    };
    let mut files = files.clone();
    let sample = Sample::new(key);
    for end in sample.some(spread(healthy.len(), truncations), 5) {
        files.insert(key.to_owned(), healthy[..end].to_vec());
        note(read(&files, key).await);
    }
    for bit in sample.some(spread(healthy.len() * 8, flips), 5) {
        let mut bytes = healthy.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        files.insert(key.to_owned(), bytes);
        note(read(&files, key).await);
    }
    assert!(classes.contains("Malformed"), "{key}: nothing was refused");
}

/// The files of one level-0 array, and the documents that reading it needs.
fn part(case: &str, array: &str) -> (Files, String) {
    let all = bundled(case);
    let object = all
        .iter()
        .filter(|(key, _)| key.starts_with(&format!("{array}/c/")))
        .max_by_key(|(_, bytes)| bytes.len().min(3000))
        .map(|(key, _)| key.clone())
        .unwrap_or_else(|| panic!("{case} has no object of {array}"));
    // Other objects are left out: missing ones are empty, and reading is quick.
    let files = all
        .into_iter()
        .filter(|(key, _)| key.ends_with("zarr.json") || *key == object)
        .collect();
    (files, object)
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_cells_and_tables() {
    for (case, array) in [
        ("points_ids", "0/vertices"),
        ("points_ids", "0/vertex_fragments"),
        ("graph", "0/links/0/0.0.0"),
        ("points_ids", "0/object_index/manifests"),
        ("streamlines", "0/object_index/manifests"),
        ("points_4d_sharded", "0/vertices"),
        ("points_4d_sharded", "0/vertex_fragments"),
        ("mesh", "0/vertices"),
    ] {
        let (files, key) = part(case, array);
        damage(&files, &key, 300, 400).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_documents() {
    let all = bundled("lines");
    let files: Files = all
        .into_iter()
        .filter(|(key, _)| key.ends_with("zarr.json"))
        .collect();
    for key in [
        "zarr.json",
        "0/zarr.json",
        "0/vertices/zarr.json",
        "0/object_index/zarr.json",
        "0/links/0/zarr.json",
    ] {
        let healthy = files[key].clone();
        let mut files = files.clone();
        for end in spread(healthy.len(), 60) {
            files.insert(key.to_owned(), healthy[..end].to_vec());
            assert!(
                read(&files, "0/vertices").await.is_err(),
                "{key} cut at {end}"
            );
        }
        for bit in spread(healthy.len() * 8, 300) {
            let mut bytes = healthy.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            files.insert(key.to_owned(), bytes);
            // A changed document may name arrays that do not exist, or another level.
            let _ = read_loosely(&files).await;
        }
    }
}

async fn read_loosely(files: &Files) -> Result<(), StoreError> {
    let store: Store = try_open(files, OpenOptions::new()).await?;
    for level in store.levels().to_vec() {
        let level = store.level(level, &Need::all()).await?;
        for grid in grids(&level) {
            store.fetch(3, all_cells(&grid)).await?;
        }
        if let Some(index) = level.object_index() {
            index.ids().await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_frames_of_every_codec() {
    use crate::codecs::{blosc, vlen, written, zstd};
    use serde_json::json;
    let gzip = json!({"name": "gzip", "configuration": {"level": 5}});
    for codecs in [
        vec![blosc("blosclz", "shuffle", 4, 1024)],
        vec![blosc("blosclz", "noshuffle", 1, 0)],
        vec![blosc("lz4", "bitshuffle", 8, 2048)],
        vec![blosc("zlib", "shuffle", 3, 1024)],
        vec![blosc("zstd", "bitshuffle", 4, 0)],
        vec![gzip],
        vec![zstd(false)],
    ] {
        let files = written(json!([5, 4, 6]), vlen(&codecs));
        damage(&files, "0/vertices/c/0/0/0", 100, 400).await;
    }
}

/// The generic reader may panic on damaged bytes; that ends its task and is an error like any other.
#[cfg(feature = "zarrs")]
#[tokio::test(flavor = "multi_thread")]
async fn damaged_objects_of_foreign_layouts() {
    use crate::codecs::{sharded, vlen, written, zstd};
    use serde_json::json;
    let inner = sharded(&vlen(&[]), "end");
    let mut outer = sharded(&inner, "end");
    outer[0]["configuration"]["chunk_shape"] = json!([1, 2, 2]);
    damage(
        &written(json!([2, 2, 2]), outer),
        "0/vertices/c/0/0/0",
        60,
        200,
    )
    .await;
    let mut around = sharded(&vlen(&[]), "end");
    around.as_array_mut().unwrap().push(zstd(false));
    damage(
        &written(json!([2, 2, 2]), around),
        "0/vertices/c/0/0/0",
        60,
        200,
    )
    .await;
}

//! Hostile counts: each is an error of the right class, before anything is allocated for it.

use serde_json::json;
use zvf_store::{CellWant, Class, Limits, Need, OpenOptions, Store, StoreError};

use crate::support::{Files, add_grid, edit, open_memory, small, try_open};

fn one_cell() -> Files {
    let mut files = small(2, "point_cloud");
    add_grid(
        &mut files,
        "0/vertices",
        &[4, 4],
        &[0, 0],
        &[(vec![1, 2], vec![5; 64])],
    );
    files
}

async fn cell(store: &Store) -> Result<Option<bytes::Bytes>, StoreError> {
    let level = store.level(0, &Need::default()).await?;
    Ok(store
        .fetch(2, vec![CellWant::new(level.vertices(), [1, 2])])
        .await?
        .remove(0))
}

fn with_codecs(files: &mut Files, codecs: &serde_json::Value) {
    edit(files, "0/vertices/zarr.json", |d| {
        d["codecs"] = codecs.clone()
    });
}

#[tokio::test]
async fn a_compressed_bomb_is_over_the_limit() {
    let mut files = one_cell();
    with_codecs(
        &mut files,
        &json!([{"name": "vlen-bytes"}, {"name": "zstd", "configuration": {"level": 3}}]),
    );
    let size = 8u32 << 20;
    let mut bomb = vec![0; 8 + size as usize];
    bomb[0] = 1;
    bomb[4..8].copy_from_slice(&size.to_le_bytes());
    files.insert(
        "0/vertices/c/1/2".to_owned(),
        zstd::bulk::compress(&bomb, 19).unwrap(),
    );
    let limits = Limits::default().with_cell_bytes(1 << 20);
    let store = try_open(&files, OpenOptions::new().with_limits(limits))
        .await
        .unwrap();
    let error = cell(&store).await.unwrap_err();
    assert_eq!(error.class(), Class::Limit);
    assert!(error.to_string().contains("cell_bytes"), "{error}");
    // With the default limit it is a cell like any other.
    let store = open_memory(&files).await;
    assert_eq!(cell(&store).await.unwrap().unwrap().len(), size as usize);
    // Many such cells in one batch are over the limit of the batch.
    let limits = Limits::default().with_batch_bytes(4 << 20);
    let store = try_open(&files, OpenOptions::new().with_limits(limits))
        .await
        .unwrap();
    assert_eq!(cell(&store).await.unwrap_err().class(), Class::Limit);
}

#[tokio::test]
async fn claims_of_a_frame_are_compared_with_its_length() {
    // A frame header that promises 768 MiB, without data after it.
    let mut files = one_cell();
    with_codecs(
        &mut files,
        &json!([{"name": "vlen-bytes"}, {"name": "zstd", "configuration": {"level": 3}}]),
    );
    files.insert(
        "0/vertices/c/1/2".to_owned(),
        vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x30, 1, 0, 0],
    );
    assert_eq!(
        cell(&open_memory(&files).await).await.unwrap_err().class(),
        Class::Malformed
    );
}

#[tokio::test]
async fn counts_and_lengths_of_elements_are_checked() {
    let mut files = one_cell();
    for bytes in [
        [255u8, 255, 255, 255, 4, 0, 0, 0].as_slice(),
        &[1, 0, 0, 0, 255, 255, 255, 255],
        &[1, 0, 0, 0, 9, 0, 0, 0, 1],
        &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0],
        &[],
    ] {
        files.insert("0/vertices/c/1/2".to_owned(), bytes.to_vec());
        let error = cell(&open_memory(&files).await).await.unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{bytes:?}");
        assert!(
            error.to_string().starts_with("0/vertices/c/1/2: "),
            "{error}"
        );
    }
    // Bytes after the last element are ignored, as the reference does.
    files.insert(
        "0/vertices/c/1/2".to_owned(),
        vec![1, 0, 0, 0, 2, 0, 0, 0, 7, 8, 9],
    );
    assert_eq!(
        cell(&open_memory(&files).await).await.unwrap().unwrap(),
        [7, 8].as_slice()
    );
    // An explicit empty element is an empty cell.
    files.insert("0/vertices/c/1/2".to_owned(), vec![1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(cell(&open_memory(&files).await).await.unwrap(), None);
}

fn sharded(index: &[u64]) -> Files {
    let mut files = one_cell();
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["chunk_grid"]["configuration"]["chunk_shape"] = json!([2, 2]);
        d["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 1], "codecs": [{"name": "vlen-bytes"}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "index_location": "end"}}]);
    });
    let table: Vec<u8> = index.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut shard = vec![1, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4];
    shard.extend(&table);
    shard.extend(crc32c::crc32c(&table).to_le_bytes());
    // Chunk (1, 2) is entry (1, 0) of shard (0, 1).
    files.insert("0/vertices/c/0/1".to_owned(), shard);
    files
}

const NONE: u64 = u64::MAX;

#[tokio::test]
async fn entries_of_a_shard_stay_inside_it() {
    let healthy = sharded(&[NONE, NONE, NONE, NONE, 0, 12, NONE, NONE]);
    assert_eq!(
        cell(&open_memory(&healthy).await).await.unwrap().unwrap(),
        [1, 2, 3, 4].as_slice()
    );
    for (offset, length) in [
        (0, 1000),
        (1000, 12),
        (u64::MAX - 4, 12),
        (12, u64::MAX - 5),
        (NONE, 12),
    ] {
        let files = sharded(&[NONE, NONE, NONE, NONE, offset, length, NONE, NONE]);
        let error = cell(&open_memory(&files).await).await.unwrap_err();
        assert_eq!(
            error.class(),
            Class::Malformed,
            "{offset} {length}: {error}"
        );
        let folder = crate::support::on_disk(&files);
        let store = Store::open(folder.path().to_str().unwrap()).await.unwrap();
        assert_eq!(cell(&store).await.unwrap_err().class(), Class::Malformed);
    }
    let absent = sharded(&[NONE; 8]);
    // The presence list names the cell: it is lost, unless verify is off.
    let error = cell(&open_memory(&absent).await).await.unwrap_err();
    assert_eq!(error.key(), Some("0/vertices at 1.2"), "{error}");
    let loosely = OpenOptions::new().with_verify(false);
    let store = try_open(&absent, loosely).await.unwrap();
    assert_eq!(cell(&store).await.unwrap(), None);
    // A wrong checksum of the index, and a shard shorter than its index.
    let mut files = healthy;
    let shard = files.get_mut("0/vertices/c/0/1").unwrap();
    *shard.last_mut().unwrap() ^= 1;
    assert!(
        cell(&open_memory(&files).await)
            .await
            .unwrap_err()
            .to_string()
            .contains("crc32c")
    );
    files.insert("0/vertices/c/0/1".to_owned(), vec![0; 20]);
    assert_eq!(
        cell(&open_memory(&files).await).await.unwrap_err().class(),
        Class::Malformed
    );
}

#[tokio::test]
async fn huge_shards_and_grids_are_refused_by_their_documents() {
    let mut files = sharded(&[NONE; 8]);
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["chunk_grid"]["configuration"]["chunk_shape"] = json!([1u64 << 20, 1u64 << 20]);
    });
    let error = open_memory(&files)
        .await
        .level(0, &Need::default())
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::Limit, "{error}");
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["chunk_grid"]["configuration"]["chunk_shape"] = json!([1u64 << 40, 1u64 << 40]);
    });
    let error = open_memory(&files)
        .await
        .level(0, &Need::default())
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::Malformed, "{error}");
    // A grid of the largest possible size is accepted: it is never enumerated.
    let mut files = one_cell();
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["shape"] = json!([u64::MAX, u64::MAX])
    });
    assert_eq!(
        cell(&open_memory(&files).await)
            .await
            .unwrap()
            .unwrap()
            .len(),
        64
    );
}

#[tokio::test]
async fn large_documents_and_too_many_cells_are_over_a_limit() {
    let files = one_cell();
    let limits = Limits::default().with_document_bytes(100);
    let error = try_open(&files, OpenOptions::new().with_limits(limits))
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::Limit);
    let limits = Limits::default().with_cells_per_query(2);
    let store = try_open(&files, OpenOptions::new().with_limits(limits))
        .await
        .unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    let wants = vec![CellWant::new(level.vertices(), [1, 2]); 3];
    assert_eq!(
        store.fetch(2, wants).await.unwrap_err().class(),
        Class::Limit
    );
}

#[tokio::test]
async fn hostile_tables_are_refused() {
    let mut files = one_cell();
    let table = |shape: serde_json::Value, chunk: serde_json::Value| {
        json!({
            "shape": shape, "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN", "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {}, "zarr_format": 3, "node_type": "array"
        })
        .to_string()
        .into_bytes()
    };
    let need = Need {
        object_attributes: zvf_store::Names::List(vec!["f".to_owned()]),
        ..Need::default()
    };
    files.insert(
        "0/object_attributes/f/zarr.json".to_owned(),
        table(json!([1u64 << 40]), json!([1])),
    );
    let error = open_memory(&files).await.level(0, &need).await.unwrap_err();
    assert_eq!(error.class(), Class::Limit, "{error}");
    files.insert(
        "0/object_attributes/f/zarr.json".to_owned(),
        table(json!([1 << 20, 1 << 20]), json!([1, 1])),
    );
    let level = open_memory(&files).await.level(0, &need).await.unwrap();
    assert_eq!(
        level.object_attributes()[0]
            .read()
            .await
            .unwrap_err()
            .class(),
        Class::Limit
    );
    files.insert(
        "0/object_attributes/f/zarr.json".to_owned(),
        table(json!([1u64 << 25]), json!([1])),
    );
    let level = open_memory(&files).await.level(0, &need).await.unwrap();
    assert_eq!(
        level.object_attributes()[0]
            .read()
            .await
            .unwrap_err()
            .class(),
        Class::Limit
    );
}

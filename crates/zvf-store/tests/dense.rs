//! Object indexes of integers (`dense_manifests_v1`) and of two blobs, and how the layout is detected.

use serde_json::{Value, json};
use zvf_store::format::manifest::Manifest;
use zvf_store::{Level, Need, OpenOptions, StoreError};

use crate::older::{add_blob, add_group, add_table, i64s, store_07};
use crate::support::{Files, open_memory, try_open};

const INDEX: &str = "0/object_index";

/// One block: chunk and fragment.
type Block = (Vec<i64>, i64);

fn index(layout: Value, count: u64) -> Files {
    let mut files = store_07("polyline", &["0.0", "1.0"]);
    let mut attributes = json!({"zv_array": "object_index", "num_objects": count, "sid_ndim": 2});
    if !layout.is_null() {
        attributes["layout"] = layout;
    }
    add_group(&mut files, INDEX, attributes);
    files
}

fn dense(count: u64, spans: &[i64], blocks: &[i64], chunk: u64) -> Files {
    let mut files = index(json!("dense_manifests_v1"), count);
    let (n, b) = (spans.len() as u64 / 2, blocks.len() as u64 / 3);
    add_table(
        &mut files,
        &format!("{INDEX}/manifest_spans"),
        "int64",
        &[n, 2],
        chunk,
        &i64s(spans),
    );
    add_table(
        &mut files,
        &format!("{INDEX}/manifest_blocks"),
        "int64",
        &[b, 3],
        chunk,
        &i64s(blocks),
    );
    files
}

async fn level(files: &Files) -> Level {
    let store = open_memory(files).await;
    store.level(0, &Need::all()).await.unwrap()
}

fn blocks(blob: &[u8]) -> Vec<Block> {
    let manifest = Manifest::parse(blob, 2).unwrap();
    let mut found = Vec::new();
    for block in manifest.blocks() {
        let chunk: Vec<i64> = block.chunk.iter().map(|c| c.get()).collect();
        found.extend(
            block
                .fragments
                .iter()
                .map(|fragment| (chunk.clone(), fragment)),
        );
    }
    found
}

/// All manifests of a level, read part by part and one by one: both ways must agree.
async fn manifests(level: &Level) -> Result<Vec<Vec<Block>>, StoreError> {
    let index = level.object_index().unwrap();
    let mut found = Vec::new();
    for part in 0..index.manifest_chunks() {
        let part = index.manifest_chunk(part).await?;
        for slot in (part.first_slot()..).take(part.len()) {
            assert_eq!(index.manifests(&[slot]).await?[0], part.blob(slot));
            found.push(blocks(part.blob(slot)));
        }
    }
    assert_eq!(found.len() as u64, index.len());
    assert!(index.manifests(&[index.len()]).await?[0].is_empty());
    Ok(found)
}

/// The blocks of five objects, with blocks left over and out of order, as patches leave them.
const SPANS: [i64; 10] = [3, 2, 0, 0, 0, 1, 5, 1, 1, 1];
const BLOCKS: [i64; 18] = [0, 0, 0, 1, 0, 7, 9, 9, 9, 0, 0, 1, 1, 0, 2, 1, 0, 3];

fn expected() -> Vec<Vec<Block>> {
    let at = |x: i64, fragment: i64| (vec![x, 0], fragment);
    vec![
        vec![at(0, 1), at(1, 2)],
        vec![],
        vec![at(0, 0)],
        vec![at(1, 3)],
        vec![at(1, 7)],
    ]
}

#[tokio::test]
async fn spans_and_blocks_in_one_chunk_and_in_several() {
    for chunk in [1, 2, 4, 16_384] {
        let level = level(&dense(5, &SPANS, &BLOCKS, chunk)).await;
        assert_eq!(
            manifests(&level).await.unwrap(),
            expected(),
            "chunks of {chunk}"
        );
        let ids = level.object_index().unwrap().ids().await.unwrap();
        assert_eq!(ids.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn rows_past_the_commit_are_residue() {
    let mut files = dense(3, &SPANS, &BLOCKS, 2);
    let level3 = level(&files).await;
    assert_eq!(manifests(&level3).await.unwrap(), expected()[..3]);
    // The ids may be ahead of the commit, too.
    add_table(
        &mut files,
        &format!("{INDEX}/object_ids"),
        "int64",
        &[5],
        5,
        &i64s(&[-4, 7, 1 << 62, 8, 9]),
    );
    let level3 = level(&files).await;
    let ids = level3.object_index().unwrap().ids().await.unwrap();
    assert_eq!(ids.iter().collect::<Vec<_>>(), [-4, 7, 1 << 62]);
    assert_eq!(ids.slot(9), None);
}

#[tokio::test]
async fn a_chunk_that_is_not_stored_is_zeros() {
    // All spans are empty, all blocks are chunk 0, fragment 0: neither array has an object.
    let files = dense(3, &[0; 6], &[0; 6], 2);
    assert!(
        !files
            .keys()
            .any(|key| key.starts_with(INDEX) && key.contains("/c/"))
    );
    assert_eq!(
        manifests(&level(&files).await).await.unwrap(),
        vec![vec![]; 3]
    );
    let files = dense(1, &[0, 2], &[0; 6], 2);
    let origin = (vec![0, 0], 0);
    assert_eq!(
        manifests(&level(&files).await).await.unwrap(),
        [vec![origin.clone(), origin]]
    );
}

#[tokio::test]
async fn arrays_of_integers_are_what_they_are_under_another_layout() {
    for layout in [
        json!("vlen_manifests_v1"),
        json!("vlen_manifests_v2"),
        Value::Null,
    ] {
        let mut files = dense(5, &SPANS, &BLOCKS, 4);
        let index = index(layout.clone(), 5);
        let key = format!("{INDEX}/zarr.json");
        files.insert(key.clone(), index[&key].clone());
        assert_eq!(
            manifests(&level(&files).await).await.unwrap(),
            expected(),
            "{layout}"
        );
    }
}

#[tokio::test]
async fn one_object_does_not_read_all_blocks() {
    let spans: Vec<i64> = (0..1000).flat_map(|i| [i, 1]).collect();
    let blocks: Vec<i64> = (0..1000).flat_map(|i| [i % 2, 0, i + 1]).collect();
    let files = dense(1000, &spans, &blocks, 10);
    let trace = zvf_store::IoTrace::on();
    let store = try_open(&files, OpenOptions::new().with_trace(trace.clone()))
        .await
        .unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    trace.take();
    let found = level
        .object_index()
        .unwrap()
        .manifests(&[555])
        .await
        .unwrap();
    assert_eq!(self::blocks(&found[0]), [(vec![1, 0], 556)]);
    let keys: Vec<String> = trace
        .take()
        .into_iter()
        .map(|request| request.key)
        .collect();
    assert_eq!(
        keys,
        [
            format!("{INDEX}/manifest_spans/c/55/0"),
            format!("{INDEX}/manifest_blocks/c/55/0")
        ]
    );
}

#[tokio::test]
async fn spans_outside_the_blocks_are_errors() {
    for span in [
        [6, 1],
        [-1, 1],
        [0, 7],
        [0, -1],
        [i64::MAX, 1],
        [1, i64::MAX],
        [i64::MIN, i64::MIN],
    ] {
        let files = dense(1, &span, &BLOCKS, 4);
        let error = manifests(&level(&files).await).await.unwrap_err();
        assert!(
            error.to_string().contains("outside the 6 blocks"),
            "{span:?}: {error}"
        );
    }
}

#[tokio::test]
async fn huge_counts_are_limits_and_not_allocations() {
    // Claiming blocks without an object costs nothing.
    let mut files = dense(1, &[0, 1 << 40], &BLOCKS, 4);
    add_table(
        &mut files,
        &format!("{INDEX}/manifest_blocks"),
        "int64",
        &[1 << 50, 3],
        1 << 20,
        &[],
    );
    let error = manifests(&level(&files).await).await.unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Limit, "{error}");
    // Many objects that name the same blocks.
    let spans: Vec<i64> = (0..4096).flat_map(|_| [0, 1 << 20]).collect();
    let mut files = dense(4096, &spans, &BLOCKS, 4096);
    add_table(
        &mut files,
        &format!("{INDEX}/manifest_blocks"),
        "int64",
        &[1 << 20, 3],
        1 << 20,
        &[],
    );
    let error = level(&files)
        .await
        .object_index()
        .unwrap()
        .manifest_chunk(0)
        .await
        .unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Limit, "{error}");
    // Columns of another rank.
    let mut files = dense(1, &[0, 1], &BLOCKS, 4);
    add_table(
        &mut files,
        &format!("{INDEX}/manifest_blocks"),
        "int64",
        &[6, 4],
        6,
        &[],
    );
    let store = open_memory(&files).await;
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.to_string().contains("manifest_blocks"), "{error}");
}

/// A manifest of blocks of mode 0.
fn manifest(blocks: &[Block]) -> Vec<u8> {
    let mut bytes = u32::try_from(blocks.len()).unwrap().to_le_bytes().to_vec();
    for (chunk, fragment) in blocks {
        bytes.extend(i64s(chunk));
        bytes.push(0);
        bytes.extend(i64s(&[*fragment]));
    }
    bytes
}

fn split(objects: &[Vec<Block>], closed: bool) -> Files {
    let mut files = index(Value::Null, objects.len() as u64);
    let mut data = Vec::new();
    let mut offsets = vec![0];
    for object in objects {
        data.extend(manifest(object));
        offsets.push(i64::try_from(data.len()).unwrap());
    }
    if !closed {
        offsets.pop();
    }
    add_blob(&mut files, &format!("{INDEX}/data"), &data);
    add_blob(&mut files, &format!("{INDEX}/offsets"), &i64s(&offsets));
    files
}

#[tokio::test]
async fn offsets_tables_have_n_byte_offsets() {
    for closed in [false, true] {
        let level = level(&split(&expected(), closed)).await;
        assert_eq!(manifests(&level).await.unwrap(), expected(), "{closed}");
        let ids = level.object_index().unwrap().ids().await.unwrap();
        assert_eq!(ids.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn the_layout_decides_where_both_forms_are_there() {
    // The two forms name different objects, to show which one is read.
    let mut files = split(&expected(), false);
    let other = [(vec![1, 0], 9)];
    let cells = [
        (vec![0], manifest(&other)),
        (vec![1], manifest(&[])),
        (vec![2], manifest(&[])),
        (vec![3], manifest(&[])),
        (vec![4], manifest(&[])),
    ];
    let path = format!("{INDEX}/manifests");
    crate::support::add_grid(&mut files, &path, &[5], &[0], &cells);
    assert_eq!(manifests(&level(&files).await).await.unwrap(), expected());
    let named = index(json!("vlen_manifests_v1"), 5);
    let key = format!("{INDEX}/zarr.json");
    files.insert(key.clone(), named[&key].clone());
    assert_eq!(manifests(&level(&files).await).await.unwrap()[0], other);
}

#[tokio::test]
async fn manifests_of_another_layout_are_not_read_because_ids_are_needed_first() {
    let mut files = dense(5, &SPANS, &BLOCKS, 4);
    let other = |row| (vec![row], manifest(&[(vec![1, 0], 9)]));
    let cells: Vec<_> = (0..5).map(other).collect();
    let path = format!("{INDEX}/manifests");
    crate::support::add_grid(&mut files, &path, &[5], &[0], &cells);
    let ids = [7, 3, 9, 1, 5];
    let path = format!("{INDEX}/object_ids");
    add_table(&mut files, &path, "int64", &[5], 5, &i64s(&ids));
    for prefetched in [Need::all(), Need::nothing()] {
        for skip_ids in [false, true] {
            let options = OpenOptions::new().with_prefetch(0, prefetched.clone());
            let store = try_open(&files, options).await.unwrap();
            let need = Need {
                skip_ids,
                ..Need::all()
            };
            let level = store.level(0, &need).await.unwrap();
            assert_eq!(manifests(&level).await.unwrap(), expected(), "{skip_ids}");
            let found = level.object_index().unwrap().ids().await.unwrap();
            assert_eq!(found.iter().collect::<Vec<_>>(), ids);
        }
    }
}

#[tokio::test]
async fn offsets_that_lie_are_errors() {
    let good = split(&expected(), false);
    let offsets = |numbers: &[i64]| {
        let mut files = good.clone();
        files.retain(|key, _| !key.contains("/offsets"));
        add_blob(&mut files, &format!("{INDEX}/offsets"), &i64s(numbers));
        files
    };
    let end = good[&format!("{INDEX}/data/c/0")].len() as i64;
    for lie in [
        [0, 54, 50, 83, 112],
        [0, 54, 58, 83, end + 1],
        [0, -1, 58, 83, 112],
        [i64::MAX, 0, 0, 0, 0],
    ] {
        let error = manifests(&level(&offsets(&lie)).await).await.unwrap_err();
        assert!(
            error.to_string().contains("object_index/offsets"),
            "{lie:?}: {error}"
        );
    }
    for lie in [&[0, 54, 58, 83][..], &[0; 7], &[]] {
        let store = open_memory(&offsets(lie)).await;
        let error = store.level(0, &Need::all()).await.unwrap_err();
        assert!(error.to_string().contains("5 objects"), "{lie:?}: {error}");
    }
    let mut files = good.clone();
    crate::support::edit(&mut files, &format!("{INDEX}/zarr.json"), |group| {
        group["attributes"]["num_objects"] = json!(1u64 << 60);
    });
    let store = open_memory(&files).await;
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Limit, "{error}");
}

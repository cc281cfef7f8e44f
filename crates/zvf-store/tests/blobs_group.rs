//! Groups of blobs and packs, made by hand: the traps of the 0.7 and 0.8 pages, requests and rounds, hostile stores.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use zvf_store::format::dtype::DTypeKind;
use zvf_store::format::fragments::FragmentIndexBuilder;
use zvf_store::{
    CellWant, Class, ContainerKind, GridArray, IoTrace, Level, Method, Names, Need, OpenOptions,
    Store,
};

use crate::support::{Files, Tool, all_cells, edit, group, memory, on_disk, open_memory, small};

/// Adds one blob; its document is that of the reference's batched writer.
pub(crate) fn add_blob(
    files: &mut Files,
    path: &str,
    bytes: &[u8],
    stored: Option<(&str, Vec<u8>)>,
) {
    let length = bytes.len();
    let mut codecs = vec![json!({"name": "bytes"})];
    let stored = match stored {
        None => bytes.to_vec(),
        Some((codec, stored)) => {
            codecs.push(json!({"name": codec, "configuration": {"level": 0}}));
            stored
        }
    };
    let document = json!({
        "shape": [length], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [length.max(1)]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": codecs, "attributes": {}, "zarr_format": 3, "node_type": "array",
        "storage_transformers": []
    });
    let document = document.to_string().into_bytes();
    files.insert(format!("{path}/zarr.json"), document);
    if length > 0 {
        files.insert(format!("{path}/c/0"), stored);
    }
}

/// Adds a pack of blobs, one after another.
fn add_pack(files: &mut Files, path: &str, cells: &[(&str, &[u8])], zstd: bool) {
    let (mut bytes, mut index) = (Vec::new(), serde_json::Map::new());
    for (key, cell) in cells {
        index.insert((*key).to_owned(), json!([bytes.len(), cell.len()]));
        bytes.extend_from_slice(cell);
    }
    let stored = zstd.then(|| ("zstd", zstd::encode_all(bytes.as_slice(), 0).unwrap()));
    add_blob(files, path, &bytes, stored);
    edit(files, &format!("{path}/zarr.json"), |d| {
        d["attributes"]["shard_index"] = Value::Object(index);
    });
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A fragment index of one range over `rows` rows.
pub(crate) fn one_fragment(rows: i64) -> Vec<u8> {
    let mut builder = FragmentIndexBuilder::new();
    builder.push_range(0, rows).unwrap();
    builder.finish()
}

/// A level with two axes and the given chunks of `vertices`, without fragments.
pub(crate) fn store_of(chunks: &[(&str, &[f32])]) -> Files {
    let mut files = small(2, "point_cloud");
    let attributes = json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"});
    files.insert("0/vertices/zarr.json".to_owned(), group(&attributes));
    for (key, rows) in chunks {
        add_blob(
            &mut files,
            &format!("0/vertices/{key}"),
            &floats(rows),
            None,
        );
    }
    files
}

async fn level(store: &Store) -> Level {
    store.level(0, &need()).await.unwrap()
}

fn need() -> Need {
    Need {
        vertex_attributes: Names::All,
        ..Need::default()
    }
}

/// Cells of an array from memory and from the disk, which have to agree.
pub(crate) async fn cells(
    files: &Files,
    need: &Need,
    array: impl Fn(&Level) -> Arc<GridArray>,
) -> Vec<(Vec<i64>, Option<Bytes>)> {
    let folder = on_disk(files);
    let disk = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    let mut both = Vec::new();
    for store in [open_memory(files).await, disk] {
        let level = store.level(0, need).await.unwrap();
        let array = array(&level);
        let chunks: Vec<Vec<i64>> = array.presence().iter().map(<[i64]>::to_vec).collect();
        let found = store.fetch(9, all_cells(&array)).await.unwrap();
        both.push(chunks.into_iter().zip(found).collect::<Vec<_>>());
    }
    assert_eq!(both[0], both[1], "memory and disk");
    both.remove(0)
}

async fn vertices(files: &Files) -> Vec<(Vec<i64>, Option<Bytes>)> {
    cells(files, &need(), |level| Arc::clone(level.vertices())).await
}

/// The error of reading all vertices, from memory and from the disk.
async fn refusal(files: &Files) -> zvf_store::StoreError {
    let folder = on_disk(files);
    let disk = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    let mut errors = Vec::new();
    for store in [open_memory(files).await, disk] {
        let error = match store.level(0, &need()).await {
            Err(error) => error,
            Ok(level) => match level.vertices().check_presence() {
                Err(error) => error,
                Ok(()) => {
                    let wants = all_cells(level.vertices());
                    store.fetch(9, wants).await.unwrap_err()
                }
            },
        };
        errors.push(error);
    }
    assert_eq!(errors[0].to_string(), errors[1].to_string());
    errors.remove(0)
}

#[tokio::test]
async fn missing_c_0_is_zeros() {
    let mut files = store_of(&[("0.0", &[1.0, 2.0, 3.0, 4.0]), ("1.0", &[0.0; 6])]);
    files.remove("0/vertices/1.0/c/0").unwrap();
    let found = vertices(&files).await;
    assert_eq!(found[1].1.as_deref(), Some(&[0u8; 24][..]));
    assert_eq!(
        found[0].1.as_deref(),
        Some(&floats(&[1.0, 2.0, 3.0, 4.0])[..])
    );
}

#[tokio::test]
async fn missing_intermediate_groups_do_not_matter() {
    let mut files = store_of(&[("0.0", &[1.0, 2.0])]);
    let attributes = json!({"zv_array": "attribute", "name": "t", "dtype": "int16"});
    files.insert(
        "0/vertex_attributes/t/zarr.json".to_owned(),
        group(&attributes),
    );
    add_blob(&mut files, "0/vertex_attributes/t/0.0", &[7, 0], None);
    assert!(!files.contains_key("0/vertex_attributes/zarr.json"));
    let need = need();
    let found = cells(&files, &need, |level| {
        Arc::clone(&level.vertex_attributes()[0].array)
    });
    assert_eq!(
        found.await,
        [(vec![0, 0], Some(Bytes::from_static(&[7, 0])))]
    );
}

#[tokio::test]
async fn codecs_differ_inside_one_store() {
    let mut files = store_of(&[("0.0", &[1.0, 2.0])]);
    let rows = floats(&[3.0, 4.0, 5.0, 6.0]);
    let zstd = zstd::encode_all(rows.as_slice(), 0).unwrap();
    add_blob(&mut files, "0/vertices/1.0", &rows, Some(("zstd", zstd)));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&rows).unwrap();
    let gzip = gzip.finish().unwrap();
    add_blob(&mut files, "0/vertices/2.0", &rows, Some(("gzip", gzip)));
    let found = vertices(&files).await;
    assert_eq!(found[0].1.as_deref(), Some(&floats(&[1.0, 2.0])[..]));
    assert_eq!(found[1].1.as_deref(), Some(&rows[..]));
    assert_eq!(found[2].1.as_deref(), Some(&rows[..]));
}

#[tokio::test]
async fn shard_names_with_more_than_six_digits_and_union_with_plain_winning() {
    for packed_with_zstd in [false, true] {
        let mut files = store_of(&[("0.0", &[1.0, 2.0]), ("2.0", &[3.0, 4.0])]);
        let stale = floats(&[9.0, 9.0]);
        let (a, b) = (floats(&[5.0, 6.0]), floats(&[7.0, 8.0, 7.5, 8.5]));
        let first: [(&str, &[u8]); 2] = [("0.0", &stale), ("10.0", &a)];
        add_pack(
            &mut files,
            "0/vertices/__shard_000000",
            &first,
            packed_with_zstd,
        );
        let second: [(&str, &[u8]); 2] = [("-1.3", &b), ("-1.4", &[])];
        add_pack(
            &mut files,
            "0/vertices/__shard_2147483647",
            &second,
            packed_with_zstd,
        );
        let found = vertices(&files).await;
        let expected = [
            (vec![-1, 3], Some(b)),
            (vec![-1, 4], None),
            (vec![0, 0], Some(floats(&[1.0, 2.0]))),
            (vec![2, 0], Some(floats(&[3.0, 4.0]))),
            (vec![10, 0], Some(a)),
        ];
        let found: Vec<_> = found
            .into_iter()
            .map(|(c, b)| (c, b.map(|b| b.to_vec())))
            .collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn arrays_that_are_asked_for_by_path_know_what_is_packed() {
    let mut files = store_of(&[("-1.3", &[1.0, 2.0]), ("0.0", &[3.0, 4.0])]);
    edit(&mut files, "zarr.json", |root| {
        root["attributes"]["shard_layout"] = json!("octree");
    });
    let path = "0/link_fragments";
    files.insert(format!("{path}/zarr.json"), group(&json!({})));
    let cell = one_fragment(2);
    let pack: [(&str, &[u8]); 1] = [("-1.3", &cell)];
    add_pack(&mut files, &format!("{path}/__shard_000000"), &pack, true);
    let store = open_memory(&files).await;
    level(&store).await;
    let array = store.grid_array(0, "link_fragments").await.unwrap();
    let array = array.unwrap();
    assert!(array.presence().contains(&[-1, 3]));
    let found = store.fetch(9, all_cells(&array)).await.unwrap();
    assert_eq!(found, [Some(Bytes::from(cell))]);
}

#[tokio::test]
async fn a_pack_whose_chunk_is_missing_is_zeros() {
    let mut files = store_of(&[]);
    let zeros: [(&str, &[u8]); 1] = [("0.0", &[0; 8])];
    add_pack(&mut files, "0/vertices/__shard_000000", &zeros, false);
    files.remove("0/vertices/__shard_000000/c/0").unwrap();
    assert_eq!(vertices(&files).await[0].1.as_deref(), Some(&[0u8; 8][..]));
}

#[tokio::test]
async fn an_empty_blob_is_an_empty_cell() {
    let files = store_of(&[("0.0", &[]), ("0.1", &[1.0, 2.0])]);
    let found = vertices(&files).await;
    assert_eq!(found[0], (vec![0, 0], None));
    assert!(found[1].1.is_some());
}

#[tokio::test]
async fn negative_keys_are_in_numeric_order() {
    let row: &[f32] = &[1.0, 2.0];
    let files = store_of(&[("-10.0", row), ("-2.5", row), ("10.0", row), ("2.-1", row)]);
    let found = vertices(&files).await;
    let order: Vec<Vec<i64>> = found.into_iter().map(|(chunk, _)| chunk).collect();
    assert_eq!(order, [[-10, 0], [-2, 5], [2, -1], [10, 0]]);
}

#[tokio::test]
async fn t3_a_float64_store_that_says_float32() {
    for wide in [true, false] {
        let mut files = store_of(&[]);
        let rows: Vec<u8> = if wide {
            [1.5f64, 2.5, 3.5, 4.5]
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect()
        } else {
            floats(&[1.5, 2.5, 3.5, 4.5])
        };
        add_blob(&mut files, "0/vertices/3.4", &rows, None);
        files.insert("0/vertex_fragments/zarr.json".to_owned(), group(&json!({})));
        add_blob(&mut files, "0/vertex_fragments/3.4", &one_fragment(2), None);
        let store = open_memory(&files).await;
        let level = level(&store).await;
        let kind = level.vertices().dtype().kind;
        assert_eq!(kind, if wide { DTypeKind::F64 } else { DTypeKind::F32 });
        let told = store
            .warnings()
            .iter()
            .any(|w| w.contains("read as float64"));
        assert_eq!(told, wide, "{:?}", store.warnings());
        let found = store.fetch(9, all_cells(level.vertices())).await.unwrap();
        assert_eq!(found[0].as_deref(), Some(&rows[..]));
    }
}

#[tokio::test]
async fn an_attribute_without_a_type_is_told() {
    let mut files = store_of(&[("0.0", &[1.0, 2.0])]);
    files.insert(
        "0/vertex_attributes/t/zarr.json".to_owned(),
        group(&json!({})),
    );
    add_blob(
        &mut files,
        "0/vertex_attributes/t/0.0",
        &floats(&[7.0]),
        None,
    );
    let store = open_memory(&files).await;
    level(&store).await;
    assert!(
        store.warnings().iter().any(|w| w.contains("no dtype")),
        "{:?}",
        store.warnings()
    );
}

#[tokio::test]
async fn requests_and_rounds_of_a_group_of_blobs() {
    let mut files = store_of(&[
        ("0.0", &[1.0, 2.0]),
        ("1.0", &[3.0, 4.0]),
        ("2.0", &[0.0, 0.0]),
    ]);
    files.insert("0/vertex_fragments/zarr.json".to_owned(), group(&json!({})));
    let attributes = json!({"zv_array": "attribute", "name": "t", "dtype": "float32"});
    files.insert(
        "0/vertex_attributes/t/zarr.json".to_owned(),
        group(&attributes),
    );
    for key in ["0.0", "1.0", "2.0"] {
        add_blob(
            &mut files,
            &format!("0/vertex_fragments/{key}"),
            &one_fragment(1),
            None,
        );
    }
    add_blob(
        &mut files,
        "0/vertex_attributes/t/1.0",
        &floats(&[9.0]),
        None,
    );
    let trace = IoTrace::on();
    let options = OpenOptions::new()
        .with_object_store(memory(&files).await)
        .with_trace(trace.clone());
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = level(&store).await;
    let loaded = trace.take();
    let lists: Vec<(u32, &str)> = loaded
        .iter()
        .filter(|r| r.method == Method::List)
        .map(|r| (r.round, r.key.as_str()))
        .filter(|(_, key)| key.starts_with("0/vert") && !key.ends_with("attributes"))
        .collect();
    // One listing gives the chunks of all arrays; the probe of one chunk is the last round.
    assert_eq!(lists, [(2, "0/vertices")]);
    assert_eq!(loaded.iter().map(|r| r.round).max(), Some(3));
    let probe: Vec<&str> = loaded
        .iter()
        .filter(|r| r.round == 3)
        .map(|r| r.key.as_str())
        .collect();
    assert_eq!(probe.len(), 4, "{probe:?}");
    assert!(probe.iter().all(|key| key.contains("/0.0/")), "{probe:?}");

    let mut wants = all_cells(level.vertices());
    wants.extend(all_cells(&level.vertex_attributes()[0].array));
    wants.push(CellWant::new(level.vertices(), [1, 0]));
    // A chunk that the listing lacks costs no request.
    wants.push(CellWant::new(level.vertices(), [7, 7]));
    let found = store.fetch(level.next_round(), wants).await.unwrap();
    let read = trace.take();
    assert_eq!(found.iter().filter(|cell| cell.is_some()).count(), 5);
    assert!(read.iter().all(|r| r.round == 4 && r.method == Method::Get));
    // A document and a chunk each, together: three of vertices, three of the attribute that may not exist.
    assert_eq!(read.len(), 12);
}

#[tokio::test]
async fn without_listings_every_chunk_that_bounds_span_is_tried() {
    let mut files = store_of(&[("0.0", &[1.0, 2.0]), ("9.9", &[93.0, 94.0])]);
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["bounds"] = json!([[-5.0, 0.0], [99.0, 99.0]]);
    });
    let mut tool = Tool::new(memory(&files).await);
    tool.can_list = false;
    let options = OpenOptions::new().with_object_store(Arc::new(tool));
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = level(&store).await;
    assert_eq!(level.vertices().presence().len(), 11 * 10);
    let found = store.fetch(9, all_cells(level.vertices())).await.unwrap();
    assert_eq!(found.iter().flatten().count(), 2);
    assert!(
        store.warnings().iter().any(|w| w.contains("bounds")),
        "{:?}",
        store.warnings()
    );
    // More chunks than the limit of a query are not tried.
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["bounds"] = json!([[0.0, 0.0], [1e15, 99.0]]);
    });
    let mut tool = Tool::new(memory(&files).await);
    tool.can_list = false;
    let options = OpenOptions::new().with_object_store(Arc::new(tool));
    let store = Store::open_with("memory:///", options).await.unwrap();
    let error = store.level(0, &need()).await.unwrap_err();
    assert_eq!(error.class(), Class::Limit, "{error}");
}

#[tokio::test]
async fn a_level_chunked_by_an_attribute_has_longer_keys() {
    let row: &[f32] = &[1.0, 2.0];
    let mut files = store_of(&[("0.0.0", row), ("1.0.3", row), ("1.-1.3", row)]);
    edit(&mut files, "0/zarr.json", |d| {
        let level = &mut d["attributes"]["zarr_vectors_level"];
        level["chunk_attribute_name"] = json!("label");
        level["chunk_attribute_values"] = json!([3, 8]);
        level["chunk_dims"] = json!(["label", "x", "y"]);
    });
    let found = vertices(&files).await;
    let order: Vec<Vec<i64>> = found.into_iter().map(|(chunk, _)| chunk).collect();
    assert_eq!(order, [[0, 0, 0], [1, -1, 3], [1, 0, 3]]);
}

#[tokio::test]
async fn hostile_children_are_refused_by_name() {
    let good = store_of(&[("0.0", &[1.0, 2.0])]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut files = good.clone();
        edit(&mut files, "0/vertices/0.0/zarr.json", |d| change(d));
        files
    };
    let huge = 1u64 << 60;
    let cases: [(Files, &str, Class); 9] = [
        (
            with(&|d| d["shape"] = json!([9])),
            "shape is [9] in chunks of [8]",
            Class::Malformed,
        ),
        (
            with(&|d| d["shape"] = json!([8, 1])),
            "chunk_shape",
            Class::Malformed,
        ),
        (
            with(&|d| d["data_type"] = json!("float32")),
            "uint8",
            Class::Malformed,
        ),
        (
            with(&|d| d["codecs"] = json!([])),
            "codec",
            Class::Malformed,
        ),
        (
            with(&|d| d["codecs"] = json!([{"name": "bytes"}, {"name": "pcodec"}])),
            "pcodec",
            Class::Malformed,
        ),
        (
            with(&|d| {
                d["shape"] = json!([huge]);
                d["chunk_grid"]["configuration"]["chunk_shape"] = json!([huge]);
            }),
            "cell_bytes",
            Class::Limit,
        ),
        (
            {
                let mut files = good.clone();
                files.insert("0/vertices/0.0/c/0".to_owned(), vec![1; 5]);
                files
            },
            "5 bytes found, expected 8",
            Class::Malformed,
        ),
        (
            {
                let mut files = good.clone();
                files.remove("0/vertices/0.0/zarr.json");
                files
            },
            "listed",
            Class::Malformed,
        ),
        (
            {
                let mut files = good.clone();
                add_blob(&mut files, "0/vertices/-0.1", &[0; 8], None);
                add_blob(&mut files, "0/vertices/01.1", &[0; 8], None);
                files
            },
            "names of children",
            Class::Malformed,
        ),
    ];
    for (at, (files, text, class)) in cases.iter().enumerate() {
        let error = refusal(files).await;
        let message = error.to_string();
        assert_eq!(error.class(), *class, "{at}: {message}");
        assert!(message.contains(text), "{at}: {message}");
        assert!(message.starts_with("0/vertices"), "{at}: {message}");
    }
}

#[tokio::test]
async fn hostile_packs_are_refused_by_name() {
    let pack = "0/vertices/__shard_000000";
    let mut good = store_of(&[]);
    let rows = floats(&[1.0, 2.0]);
    let cells: [(&str, &[u8]); 2] = [("0.0", &rows), ("1.0", &rows)];
    add_pack(&mut good, pack, &cells, false);
    let mut lies = good.clone();
    edit(&mut lies, &format!("{pack}/zarr.json"), |d| {
        d["attributes"]["shard_index"]["1.0"] = json!([9, 8]);
    });
    assert!(
        refusal(&lies)
            .await
            .to_string()
            .contains("claims 8 bytes at 9")
    );
    let mut short = good.clone();
    short.insert(format!("{pack}/c/0"), vec![0; 12]);
    let message = refusal(&short).await.to_string();
    assert!(message.contains("12 bytes found, expected 16"), "{message}");
    let mut nothing = good.clone();
    edit(&mut nothing, &format!("{pack}/zarr.json"), |d| {
        d["attributes"] = json!({});
    });
    assert!(refusal(&nothing).await.to_string().contains("shard_index"));
}

#[tokio::test]
async fn the_container_is_named() {
    let store = open_memory(&store_of(&[("0.0", &[1.0, 2.0])])).await;
    let level = level(&store).await;
    let array = level.vertices();
    assert_eq!(array.container(), ContainerKind::Blobs);
    assert_eq!(array.attributes().encoding.as_deref(), Some("raw"));
    assert!(array.doc().is_none() && array.shape().is_none() && !array.is_sharded());
    assert!(array.in_grid(&[-7, 7]) && !array.in_grid(&[1]));
}

//! Padded arrays, made by hand: how rows are counted, genuine rows of fill values, hostile shapes.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use zvf_store::format::dtype::{ByteOrder, DTypeKind};
use zvf_store::{Class, ContainerKind, Names, Need};

use crate::blobs_group::{add_blob, cells, one_fragment};
use crate::support::{Files, add_grid, edit, group, open_memory, small};

/// Adds a padded array; `objects` are stored chunks by index, without codecs.
fn add_padded(
    files: &mut Files,
    path: &str,
    (shape, chunk): (&[u64], &[u64]),
    (data_type, fill): (&str, Value),
    objects: &[(&str, Vec<u8>)],
) {
    let document = json!({
        "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {}, "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{path}/zarr.json"),
        document.to_string().into_bytes(),
    );
    for (index, bytes) in objects {
        files.insert(format!("{path}/c/{index}"), bytes.clone());
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

const ROOM: (&[u64], &[u64]) = (&[3, 1, 4, 2], &[1, 1, 4, 2]);

/// Three chunks with room for four rows: two rows and padding, one row and a genuine row of zeros, nothing stored.
fn store() -> Files {
    let mut files = small(2, "point_cloud");
    let objects = [
        ("0/0/0/0", floats(&[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0])),
        ("1/0/0/0", floats(&[5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])),
    ];
    add_padded(
        &mut files,
        "0/vertices",
        ROOM,
        ("float32", json!(0.0)),
        &objects,
    );
    files
}

fn add_index(files: &mut Files, rows: [i64; 3]) {
    files.insert("0/vertex_fragments/zarr.json".to_owned(), group(&json!({})));
    for (chunk, rows) in rows.into_iter().enumerate() {
        add_blob(
            files,
            &format!("0/vertex_fragments/{chunk}.0"),
            &one_fragment(rows),
            None,
        );
    }
}

fn need() -> Need {
    Need {
        vertex_attributes: Names::All,
        ..Need::default()
    }
}

type Found = Vec<(Vec<i64>, Option<Bytes>)>;

async fn vertices(files: &Files) -> Found {
    cells(files, &need(), |level| Arc::clone(level.vertices())).await
}

async fn attribute(files: &Files) -> Found {
    cells(files, &need(), |level| {
        Arc::clone(&level.vertex_attributes()[0].array)
    })
    .await
}

fn bytes(found: &Found) -> Vec<Option<&[u8]>> {
    found.iter().map(|(_, cell)| cell.as_deref()).collect()
}

#[tokio::test]
async fn genuine_zero_rows_and_chunks_of_zeros_are_counted_by_the_fragment_index() {
    let mut files = store();
    add_index(&mut files, [2, 2, 3]);
    let found = vertices(&files).await;
    let expected = [
        floats(&[1.0, 2.0, 3.0, 4.0]),
        floats(&[5.0, 6.0, 0.0, 0.0]),
        // No object is stored: three rows of fill.
        floats(&[0.0; 6]),
    ];
    assert_eq!(
        bytes(&found),
        expected.iter().map(|e| Some(&e[..])).collect::<Vec<_>>()
    );
    let level = open_memory(&files).await.level(0, &need()).await.unwrap();
    let array = level.vertices();
    assert_eq!(array.container(), ContainerKind::Padded);
    assert_eq!((array.key_rank(), array.shape()), (2, Some(&[3, 1][..])));
}

#[tokio::test]
async fn without_a_fragment_index_rows_end_at_the_last_that_is_no_fill() {
    let found = vertices(&store()).await;
    let chunks: Vec<&[i64]> = found.iter().map(|(chunk, _)| chunk.as_slice()).collect();
    assert_eq!(chunks, [[0, 0], [1, 0]]);
    let expected = [floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[5.0, 6.0])];
    assert_eq!(
        bytes(&found),
        [Some(&expected[0][..]), Some(&expected[1][..])]
    );
}

#[tokio::test]
async fn the_fragment_index_may_be_one_array_of_all_chunks() {
    let mut files = store();
    let cells = [2i64, 2]
        .iter()
        .zip(0..)
        .map(|(rows, at)| (vec![at, 0], one_fragment(*rows)));
    add_grid(
        &mut files,
        "0/vertex_fragments",
        &[3, 1],
        &[0, 0],
        &cells.collect::<Vec<_>>(),
    );
    let found = vertices(&files).await;
    let expected = [floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[5.0, 6.0, 0.0, 0.0])];
    assert_eq!(
        bytes(&found),
        [Some(&expected[0][..]), Some(&expected[1][..])]
    );
}

#[tokio::test]
async fn attributes_have_the_rows_of_the_vertices() {
    for with_index in [true, false] {
        let mut files = store();
        if with_index {
            add_index(&mut files, [2, 2, 0]);
        }
        // The attribute of the first chunk ends with a genuine fill value, that of the second is not stored.
        let stored = [5i32, -1, -1, -1]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let room: (&[u64], &[u64]) = (&[3, 1, 4], &[1, 1, 4]);
        let objects = [("0/0/0", stored)];
        add_padded(
            &mut files,
            "0/attributes/a",
            room,
            ("int32", json!(-1)),
            &objects,
        );
        let found = attribute(&files).await;
        let rows = |values: &[i32]| {
            values
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        assert_eq!(
            found[0].1.as_deref(),
            Some(&rows(&[5, -1])[..]),
            "{with_index}"
        );
        let second = if with_index {
            rows(&[-1, -1])
        } else {
            rows(&[-1])
        };
        assert_eq!(found[1].1.as_deref(), Some(&second[..]), "{with_index}");
        assert!(found.get(2).is_none_or(|(_, cell)| cell.is_none()));
        let level = open_memory(&files).await.level(0, &need()).await.unwrap();
        let attribute = &level.vertex_attributes()[0];
        assert_eq!(
            (attribute.name.as_str(), attribute.declared_width),
            ("a", Some(1))
        );
        assert_eq!(attribute.dtype.kind, DTypeKind::I32);
    }
}

#[tokio::test]
async fn an_array_that_grew_lies_in_several_objects() {
    let mut files = small(2, "point_cloud");
    // Five rows in objects of two: the second object is not stored, the third is padded to its full size.
    let objects = [
        ("0/0/0/0", floats(&[1.0, 2.0, 3.0, 4.0])),
        ("0/0/2/0", floats(&[9.0, 10.0, 0.0, 0.0])),
    ];
    let room: (&[u64], &[u64]) = (&[1, 1, 5, 2], &[1, 1, 2, 2]);
    add_padded(
        &mut files,
        "0/vertices",
        room,
        ("float32", json!(0.0)),
        &objects,
    );
    let expected = floats(&[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 9.0, 10.0]);
    assert_eq!(bytes(&vertices(&files).await), [Some(&expected[..])]);
}

#[tokio::test]
async fn big_endian_rows_keep_their_order() {
    let mut files = small(2, "point_cloud");
    let stored: Vec<u8> = [1.0f64, 2.0, 0.5, 0.5]
        .iter()
        .flat_map(|v| v.to_bits().swap_bytes().to_le_bytes())
        .collect();
    let room: (&[u64], &[u64]) = (&[1, 1, 2, 2], &[1, 1, 2, 2]);
    add_padded(
        &mut files,
        "0/vertices",
        room,
        ("float64", json!(0.5)),
        &[("0/0/0/0", stored.clone())],
    );
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["codecs"][0]["configuration"]["endian"] = json!("big");
    });
    let level = open_memory(&files).await.level(0, &need()).await.unwrap();
    assert_eq!(level.vertices().dtype().order, ByteOrder::Big);
    assert_eq!(bytes(&vertices(&files).await), [Some(&stored[..16])]);
}

#[tokio::test]
async fn hostile_shapes_are_refused() {
    let huge = 1u64 << 62;
    for (shape, chunk, class, text) in [
        (
            json!([3, 1, huge, 2]),
            json!([1, 1, huge, 2]),
            Class::Limit,
            "cell_bytes",
        ),
        (
            json!([3, 1, huge, huge]),
            json!([1, 1, 4, 2]),
            Class::Limit,
            "cell_bytes",
        ),
        (
            json!([3, 1, 4, 3]),
            json!([1, 1, 4, 3]),
            Class::Malformed,
            "3 elements, expected 2",
        ),
        (
            json!([3, 1]),
            json!([1, 1]),
            Class::Malformed,
            "at least an axis of rows",
        ),
        (
            json!([3, 1, 4, 0]),
            json!([1, 1, 4, 1]),
            Class::Malformed,
            "at least one element",
        ),
    ] {
        let mut files = store();
        edit(&mut files, "0/vertices/zarr.json", |d| {
            d["shape"] = shape;
            d["chunk_grid"]["configuration"]["chunk_shape"] = chunk;
        });
        let error = open_memory(&files)
            .await
            .level(0, &need())
            .await
            .unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(
            error.to_string().starts_with("0/vertices/zarr.json"),
            "{error}"
        );
    }
}

/// The error of reading all vertices of level 0.
async fn error_of_vertices(files: &Files) -> String {
    let store = open_memory(files).await;
    let level = store.level(0, &need()).await.unwrap();
    let wants = crate::support::all_cells(level.vertices());
    store.fetch(9, wants).await.unwrap_err().to_string()
}

#[tokio::test]
async fn an_index_that_names_more_rows_than_there_is_room_for_is_refused() {
    let mut files = store();
    add_index(&mut files, [5, 1, 0]);
    let error = error_of_vertices(&files).await;
    assert!(
        error.contains("names 5 rows, the chunk has room for 4"),
        "{error}"
    );
    // Cut short, or of another size than a chunk.
    let mut files = super::padded::store();
    files.insert("0/vertices/c/1/0/0/0".to_owned(), vec![0; 31]);
    let error = error_of_vertices(&files).await;
    assert!(
        error.contains("31 bytes found, expected 4 rows of 8 bytes"),
        "{error}"
    );
}

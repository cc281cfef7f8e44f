//! The reader of chunks: how it handles cells, and which ones it refuses.

use serde_json::json;
use zvf_format::fragments::FragmentIndexBuilder;
use zvf_store::{
    CheckedFragment, ChunkCell, ChunkCoord, ChunkParts, DecodedChunk, Level, Need, RowValues,
};

use crate::support::{Files, add_grid, edit, open_memory, small};

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn fragments(ranges: &[(i64, i64)]) -> Vec<u8> {
    let mut builder = FragmentIndexBuilder::new();
    for (start, count) in ranges {
        builder.push_range(*start, *count).unwrap();
    }
    builder.finish()
}

/// Two chunks of two and one vertices; chunk 1 has no attribute.
fn store() -> Files {
    let mut files = small(2, "point_cloud");
    let at = |chunk: i64, cell: Vec<u8>| (vec![chunk, 0], cell);
    let vertices = [
        at(0, floats(&[1.0, 2.0, 3.0, 4.0])),
        at(1, floats(&[15.0, 6.0])),
    ];
    let indexes = [
        at(0, fragments(&[(1, 1), (0, 1)])),
        at(1, fragments(&[(0, 1)])),
    ];
    let values = [at(0, floats(&[0.5, 1.5, 2.5, 3.5]))];
    add_grid(&mut files, "0/vertices", &[3, 1], &[0, 0], &vertices);
    add_grid(&mut files, "0/vertex_fragments", &[3, 1], &[0, 0], &indexes);
    add_grid(
        &mut files,
        "0/vertex_attributes/a",
        &[3, 1],
        &[0, 0],
        &values,
    );
    files
}

async fn level(files: &Files) -> Level {
    let store = open_memory(files).await;
    store.level(0, &Need::all()).await.unwrap()
}

async fn read(level: &Level, chunks: &[&[i64]]) -> Result<Vec<DecodedChunk>, String> {
    let reader = level.chunks(ChunkParts::all_of(level)).unwrap();
    let read = reader.read(chunks).await;
    read.map_err(|error| error.to_string())
}

fn rows(values: &RowValues) -> Vec<&[u8]> {
    (0..).map_while(|row| values.row(row)).collect()
}

#[tokio::test]
async fn a_chunk_has_its_rows_fragments_and_values() {
    let level = level(&store()).await;
    // A width that no document declares, a chunk without a cell of the attribute, and one without vertices.
    let chunks = read(&level, &[&[0, 0], &[1, 0], &[2, 0]]).await.unwrap();
    let [first, second, third] = chunks.as_slice() else {
        panic!("{chunks:?}");
    };
    let positions = [floats(&[1.0, 2.0]), floats(&[3.0, 4.0])];
    assert_eq!(rows(&first.positions), positions);
    let found: Vec<_> = first.fragments.iter().collect();
    let range = |start| CheckedFragment::Range { start, count: 1 };
    assert_eq!(found, [range(1), range(0)]);
    let values = first.columns[0].as_ref().unwrap();
    assert_eq!((values.rows(), values.row_bytes()), (2, 8));
    assert_eq!(values.row(1), Some(&floats(&[2.5, 3.5])[..]));
    assert_eq!((second.rows, second.columns[0].is_none()), (1, true));
    assert_eq!((third.rows, third.fragments.len()), (0, 0));
}

#[tokio::test]
async fn values_are_little_endian() {
    let mut files = store();
    let turned: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_be_bytes).concat();
    let cells = [(vec![0, 0], turned)];
    add_grid(&mut files, "0/vertices", &[3, 1], &[0, 0], &cells);
    edit(&mut files, "0/vertices/zarr.json", |document| {
        document["attributes"]["dtype"] = json!(">f4");
    });
    let chunks = read(&level(&files).await, &[&[0, 0]]).await.unwrap();
    assert_eq!(chunks[0].positions.row(1), Some(&floats(&[3.0, 4.0])[..]));
}

#[tokio::test]
async fn vertices_that_no_list_names_are_read() {
    let mut files = store();
    edit(&mut files, "0/vertices/zarr.json", |document| {
        document["attributes"]["nonempty_chunks"] = json!(["0.0"]);
    });
    let chunks = read(&level(&files).await, &[&[1, 0]]).await.unwrap();
    assert_eq!(chunks[0].rows, 1);
}

#[tokio::test]
async fn fragments_alone_have_as_many_rows_as_they_reach_over() {
    let level = level(&store()).await;
    let parts = ChunkParts {
        positions: false,
        ..ChunkParts::GEOMETRY
    };
    let chunks = level.chunks(parts).unwrap().read(&[&[0, 0]]).await.unwrap();
    assert_eq!((chunks[0].rows, chunks[0].fragments.len()), (2, 2));
    assert_eq!(chunks[0].positions.rows(), 0);
}

#[tokio::test]
async fn cells_that_do_not_fit_are_refused() {
    let refused = async |path: &str, cell: Vec<u8>| {
        let mut files = store();
        let cells = [(vec![0, 0], cell)];
        add_grid(&mut files, path, &[3, 1], &[0, 0], &cells);
        let level = level(&files).await;
        read(&level, &[&[0, 0]]).await.unwrap_err()
    };
    assert_eq!(
        refused("0/vertices", floats(&[1.0, 2.0, 3.0])).await,
        "0/vertices at 0.0: found 12 bytes, expected a multiple of 8"
    );
    assert_eq!(
        refused("0/vertex_attributes/a", floats(&[1.0, 2.0, 3.0])).await,
        "0/vertex_attributes/a at 0.0: found 12 bytes, expected a multiple of 8: 2 rows of float32"
    );
    assert_eq!(
        refused("0/vertex_fragments", Vec::new()).await,
        "0/vertex_fragments at 0.0: no fragment index for a chunk of 2 rows"
    );
    let outside = refused("0/vertex_fragments", fragments(&[(0, 3)])).await;
    assert!(
        outside.starts_with("0/vertex_fragments at 0.0: "),
        "{outside}"
    );
}

#[tokio::test]
async fn columns_are_as_wide_in_all_chunks() {
    let mut files = store();
    let cells = [
        (vec![0, 0], floats(&[0.5, 1.5])),
        (vec![1, 0], floats(&[0.5, 1.5])),
    ];
    add_grid(
        &mut files,
        "0/vertex_attributes/a",
        &[3, 1],
        &[0, 0],
        &cells,
    );
    let error = read(&level(&files).await, &[&[0, 0], &[1, 0]]).await;
    assert_eq!(
        error.unwrap_err(),
        "0/vertex_attributes/a at 1.0: found 2 values a row, expected 1 as in other chunks"
    );
}

#[tokio::test]
async fn an_examined_chunk_lists_all_of_its_defects() {
    let mut files = store();
    let mut add = |path: &str, chunk: i64, cell: Vec<u8>| {
        add_grid(
            &mut files,
            path,
            &[3, 1],
            &[0, 0],
            &[(vec![chunk, 0], cell)],
        );
    };
    add("0/vertex_fragments", 0, fragments(&[(0, 1), (1, 2)]));
    add("0/vertex_attributes/a", 0, floats(&[0.5, 1.5, 2.5]));
    add("0/vertex_attributes/b", 1, floats(&[0.5]));
    // The vertices of chunk 1 end early.
    files.get_mut("0/vertices/c/1/0").unwrap().truncate(9);
    let level = level(&files).await;
    let reader = level.examined_chunks(ChunkParts::all_of(&level));
    let chunks = [[0, 0], [1, 0]].map(|chunk| ChunkCoord::new(&chunk));
    let chunks = reader.read_map(chunks.to_vec(), |chunks| chunks);
    let chunks = chunks.await.unwrap();
    let faults: Vec<Vec<(ChunkCell, String)>> = chunks
        .iter()
        .map(|chunk| {
            let faults = chunk.faults.iter();
            faults.map(|one| (one.cell, one.fault.texts().1)).collect()
        })
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        faults,
        [
            vec![
                (
                    ChunkCell::Fragments,
                    text("rows below 2, the number of rows of the chunk")
                ),
                (
                    ChunkCell::VertexColumn,
                    text("a multiple of 8: 2 rows of float32")
                ),
                (ChunkCell::VertexColumn, text("one")),
            ],
            vec![(ChunkCell::Vertices, text("a cell that decodes"))],
        ]
    );
    let [first, second] = chunks.as_slice() else {
        panic!("{chunks:?}");
    };
    assert_eq!((first.rows, first.fragment_count), (Some(2), Some(2)));
    assert_eq!(first.positions.row(1), Some(&floats(&[3.0, 4.0])[..]));
    assert_eq!((second.rows, second.columns[1].is_none()), (None, true));
    // A reader stops at the first defect.
    let error = read(&level, &[&[0, 0]]).await.unwrap_err();
    assert!(error.starts_with("0/vertex_fragments at 0.0: "), "{error}");
}

#[tokio::test]
async fn only_owners_of_fragments_may_end_early() {
    let one = 7_i64.to_le_bytes().to_vec();
    for (path, dtype, may) in [
        ("0/fragment_attributes/object_id", "int64", true),
        ("0/fragment_attributes/object_id", "uint64", false),
        ("0/fragment_attributes/other", "int64", false),
        ("0/vertex_attributes/object_id", "int64", false),
    ] {
        // One value in a chunk of two vertices and two fragments.
        let mut files = store();
        add_grid(
            &mut files,
            path,
            &[3, 1],
            &[0, 0],
            &[(vec![0, 0], one.clone())],
        );
        edit(&mut files, &format!("{path}/zarr.json"), |document| {
            document["attributes"]["dtype"] = json!(dtype);
        });
        let level = level(&files).await;
        let reader = level.examined_chunks(ChunkParts::all_of(&level));
        let chunks = reader.read_map(vec![ChunkCoord::new(&[0, 0])], |chunks| chunks);
        let faults = chunks.await.unwrap().remove(0).faults;
        assert_eq!(faults.is_empty(), may, "{path} {dtype}: {faults:?}");
        match read(&level, &[&[0, 0]]).await {
            Ok(_) => assert!(may, "{path} {dtype}"),
            Err(error) => {
                let wanted = format!("{path} at 0.0: found 8 bytes, expected a multiple of 16");
                assert!(!may && error.starts_with(&wanted), "{error}");
            }
        }
    }
}

//! The traps of the released writers, by their numbers in `docs/traps.md`: this writer avoids them.

use serde_json::{Value, json};
use zvf_query::{Column, Query};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, ObjectTable, Outside, StoreSpec, StoreWriter, Values,
    WriteError,
};

use crate::model::Model;
use crate::support::{ADDRESS, Memory, ask, column};

/// The documents of all arrays, by path.
async fn arrays(memory: &Memory) -> Vec<(String, Value)> {
    let files = memory.files().await;
    let documents = files.iter().filter(|(key, _)| key.ends_with("/zarr.json"));
    let parsed = documents
        .map(|(key, bytes)| (key.clone(), serde_json::from_slice::<Value>(bytes).unwrap()));
    parsed
        .filter(|(_, document)| document["node_type"] == "array")
        .collect()
}

/// A graph with everything a graph can have, in bounds much larger than its content.
async fn graph(memory: &Memory) {
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_bounds([-100.0; 2], [100.0; 2], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("color", NumberType::U8).with_channels(3))
        .with_vertex_attribute(AttributeSpec::category("word"))
        .with_link_attribute(AttributeSpec::number("flow", NumberType::F32).with_channels(2))
        .with_object_attribute(AttributeSpec::text("name"));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let batch = Batch::new(vec![1.0_f32, 1.0, -12.0, 1.0, 3.0, 33.0])
        .with_attribute("color", (0..9).collect::<Vec<u8>>())
        .with_attribute("word", Values::texts(["a", "b", "a"]))
        .with_links(&[0_u64, 1, 1, 2, 0, 0][..])
        .with_link_attribute("flow", vec![0.5_f32; 6]);
    writer.push(&batch).unwrap();
    let names = ObjectTable::new(&[0_i64][..]).with_attribute("name", Values::texts(["n"]));
    writer.push_objects(&names).unwrap();
    writer.finish().await.unwrap();
}

#[test]
fn t1_points_of_objects_have_no_bins_that_fragments_could_be_taken_for() {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_objects()
        .with_bin_shape([5.0; 2]);
    assert!(
        spec.check()
            .unwrap_err()
            .to_string()
            .starts_with("bin_shape")
    );
}

#[tokio::test]
async fn t6_all_arrays_of_a_level_share_one_grid() {
    let memory = Memory::default();
    graph(&memory).await;
    let grids = arrays(&memory)
        .await
        .into_iter()
        .filter(|(_, doc)| doc["attributes"]["nonempty_chunks"].is_array());
    let found: Vec<(String, Value, Value)> = grids
        .map(|(key, doc)| {
            (
                key,
                doc["shape"].clone(),
                doc["attributes"]["chunk_grid_origin"].clone(),
            )
        })
        .collect();
    assert!(found.len() > 8, "{found:?}");
    for (key, shape, origin) in found {
        assert_eq!(
            (shape, origin),
            (json!([21, 21]), json!([-10, -10])),
            "{key}"
        );
    }
}

#[tokio::test]
async fn t7_all_arrays_have_the_codecs_of_the_store() {
    let memory = Memory::default();
    graph(&memory).await;
    for (key, document) in arrays(&memory).await {
        let last = document["codecs"].as_array().unwrap().last().unwrap();
        // Owners of fragments are stored in shards.
        let inner = last.pointer("/configuration/codecs");
        let inner = inner.and_then(|codecs| codecs.as_array()?.last());
        assert_eq!(inner.unwrap_or(last)["name"], "zstd", "{key}");
    }
}

#[tokio::test]
async fn t8_and_t9_widths_are_declared_and_channels_have_names() {
    let memory = Memory::default();
    graph(&memory).await;
    let arrays = arrays(&memory).await;
    let attributes = |key: &str| {
        let found = arrays
            .iter()
            .find(|(name, _)| name.starts_with(key))
            .unwrap();
        (
            found.1["attributes"]["row_shape"].clone(),
            found.1["attributes"]["channel_names"].clone(),
        )
    };
    assert_eq!(
        attributes("0/vertex_attributes/color/"),
        (json!([3]), json!(["ch0", "ch1", "ch2"]))
    );
    assert_eq!(
        attributes("0/vertex_attributes/word/"),
        (json!([]), Value::Null)
    );
    assert_eq!(
        attributes("0/link_attributes/flow/0/"),
        (json!([2]), json!(["ch0", "ch1"]))
    );
    let got = ask(&memory.open().await, Query::default()).await;
    assert_eq!(column(&got.vertices, "color"), ["3 4 5", "0 1 2", "6 7 8"]);
}

#[tokio::test]
async fn t11_nothing_is_written_into_a_store_that_exists() {
    let memory = Memory::default();
    graph(&memory).await;
    let before = memory.files().await;
    let again = StoreWriter::create(
        ADDRESS,
        StoreSpec::new(Kind::Mesh, [1.0; 2]),
        memory.options(),
    )
    .await;
    assert!(matches!(again, Err(WriteError::Exists { .. })), "{again:?}");
    assert_eq!(memory.files().await, before);
}

#[tokio::test]
async fn t12_cells_lie_where_the_root_says() {
    let memory = Memory::default();
    graph(&memory).await;
    let root: Value = serde_json::from_slice(&memory.files().await["zarr.json"]).unwrap();
    assert_eq!(
        root["attributes"]["zarr_vectors"]["chunk_shape"],
        json!([10.0, 10.0])
    );
    let columns = vec![Column::Position, Column::Chunk];
    let got = ask(
        &memory.open().await,
        Query {
            columns,
            ..Query::default()
        },
    )
    .await;
    assert_eq!(
        column(&got.vertices, "position"),
        ["-12.0 1.0", "1.0 1.0", "3.0 33.0"]
    );
    assert_eq!(column(&got.vertices, "chunk"), ["-2 0", "0 0", "0 3"]);
}

#[tokio::test]
async fn t14_texts_are_stored_in_full() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2])
        .with_object_attribute(AttributeSpec::text("name"));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    for (id, name) in [(1_i64, "a"), (2, "a much longer name"), (3, "ø")] {
        writer
            .push(&Batch::new(vec![1.0_f32, 1.0]).with_object_ids(&[id][..]))
            .unwrap();
        let table = ObjectTable::new(vec![id]).with_attribute("name", Values::texts([name]));
        writer.push_objects(&table).unwrap();
    }
    writer.finish().await.unwrap();
    let got = ask(
        &memory.open().await,
        Query {
            objects: Some(vec![3, 2, 1]),
            ..Query::default()
        },
    )
    .await;
    assert_eq!(
        column(&got.objects.unwrap(), "name"),
        ["ø", "a much longer name", "a"]
    );
}

#[tokio::test]
async fn t31_an_object_without_vertices_has_a_manifest_of_four_bytes() {
    let memory = Memory::default();
    let spec =
        StoreSpec::new(Kind::Polyline, [10.0; 2]).with_compression(zvf_write::Compression::None);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer
        .push(&Batch::new(vec![1.0_f32, 1.0]).with_object_ids(&[8_i64][..]))
        .unwrap();
    writer
        .push_objects(&ObjectTable::new(&[5_i64][..]))
        .unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    // Two elements; the first has four bytes, all zero: no block.
    assert_eq!(
        files["0/object_index/manifests/c/0"][..12],
        [2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
    );
    let index: Value = serde_json::from_slice(&files["0/object_index/zarr.json"]).unwrap();
    assert_eq!(
        (
            &index["attributes"]["num_objects"],
            &index["attributes"]["num_present"]
        ),
        (&json!(2), &json!(1))
    );
}

#[tokio::test]
async fn t13_bins_are_fragments_even_where_rounding_moves_a_point() {
    // Trap T13: 0.3 / 0.1 rounds down, 0.3 / 0.3 does not.
    let spec = StoreSpec::new(Kind::PointCloud, [0.3; 2])
        .with_bin_shape([0.1; 2])
        .with_positions(NumberType::F64);
    let positions: Vec<Vec<f64>> = (0..60)
        .map(|n| vec![f64::from(n % 10) * 0.1, 0.3 + f64::from(n / 10) * 0.15])
        .collect();
    let model = Model::new(spec, positions);
    model.round_trip(&[(vec![0.3, 0.3], vec![0.6, 0.9])]).await;
    let memory = Memory::default();
    model.write(memory.options()).await;
    let columns = vec![Column::Position, Column::Chunk, Column::Fragment];
    let got = ask(
        &memory.open().await,
        Query {
            columns,
            ..Query::default()
        },
    )
    .await;
    let texts = |name: &str| column(&got.vertices, name);
    for ((position, chunk), fragment) in texts("position")
        .iter()
        .zip(texts("chunk"))
        .zip(texts("fragment"))
    {
        let position: Vec<f64> = position.split(' ').map(|p| p.parse().unwrap()).collect();
        let chunk: Vec<f64> = chunk.split(' ').map(|p| p.parse().unwrap()).collect();
        let fragment: usize = fragment.parse().unwrap();
        for axis in 0..2 {
            assert_eq!((position[axis] / 0.3).floor(), chunk[axis]);
            let bin = [fragment / 3, fragment % 3][axis] as f64;
            let low = chunk[axis] * 0.3 + bin * 0.1;
            assert!(
                (low - 1e-9..=low + 0.1 + 1e-9).contains(&position[axis]),
                "{position:?} in bin {fragment}"
            );
        }
    }
}

#[tokio::test]
async fn t25_positions_are_placed_by_what_is_stored() {
    // Trap T25: the largest f64 below 10 is 10 as float32.
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer
        .push(&Batch::new(vec![9.999_999_999_9_f64, 1.0, 3.0, 4.0]))
        .unwrap();
    writer.finish().await.unwrap();
    let got = ask(
        &memory.open().await,
        Query {
            columns: vec![Column::Position, Column::Chunk],
            ..Query::default()
        },
    )
    .await;
    assert_eq!(column(&got.vertices, "position"), ["3.0 4.0", "10.0 1.0"]);
    assert_eq!(column(&got.vertices, "chunk"), ["0 0", "1 0"]);
}

#[tokio::test]
async fn t25_given_bounds_hold_what_rounds_beyond_them() {
    // 0.1 as float32 is slightly larger; the largest f64 below 10 becomes 10, which is in the next chunk.
    let memory = Memory::default();
    let high = 9.999_999_999_9;
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]).with_bounds(
        [0.0; 2],
        [0.1, high],
        Outside::Refuse,
    );
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer.push(&Batch::new(vec![0.1_f64, high])).unwrap();
    assert!(writer.push(&Batch::new(vec![0.100_001_f64, 1.0])).is_err());
    writer.finish().await.unwrap();
    crate::support::check_documents(&memory.files().await);
    let root: serde_json::Value =
        serde_json::from_slice(&memory.files().await["zarr.json"]).unwrap();
    let wanted = serde_json::json!([[0.0, 0.0], [f64::from(0.1_f32), 10.0]]);
    assert_eq!(root["attributes"]["zarr_vectors"]["bounds"], wanted);
    let got = ask(
        &memory.open().await,
        Query {
            columns: vec![Column::Chunk],
            ..Query::default()
        },
    )
    .await;
    assert_eq!(column(&got.vertices, "chunk"), ["0 1"]);
}

//! Chunks that are split by an attribute, and fragments that are split by values: where content is stored, and what is refused.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec, build_pyramid};
use zvf_store::{CellWant, Need};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, Outside, PartedStore, StoreSpec, StoreWriter,
    Values, WriteError, WriteOptions,
};

use crate::support::{ADDRESS, Memory, check_documents};

fn document(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    let key = format!("{path}/zarr.json");
    serde_json::from_slice(&files[key.trim_start_matches('/')]).unwrap()
}

fn keys(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    document(files, path)["attributes"]["nonempty_chunks"].clone()
}

async fn written(spec: StoreSpec, batches: &[Batch]) -> Memory {
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    for batch in batches {
        writer.push(batch).unwrap();
    }
    writer.finish().await.unwrap();
    memory
}

/// Four points of a plane: their document is that of the worked example in 0.9 §10.3.
#[tokio::test]
async fn keys_have_the_rank_of_the_value_in_front() {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_attribute_chunks(AttributeSpec::category("gene").with_description("what was seen"))
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::U8));
    let batch = Batch::new(vec![1.0, 1.0, 12.0, 1.0, 2.0, 2.0, -1.0, 1.0])
        .with_attribute("gene", Values::texts(["g2", "g1", "g3", "g2"]))
        .with_attribute("n", vec![1_u8, 2, 3, 4]);
    let memory = written(spec, &[batch]).await;
    let files = memory.files().await;
    check_documents(&files);
    let level = &document(&files, "0")["attributes"]["zarr_vectors_level"];
    assert_eq!(level["chunk_dims"], json!(["gene", "x", "y"]));
    assert_eq!(level["chunk_attribute_name"], "gene");
    assert_eq!(level["chunk_attribute_values"], json!(["g1", "g2", "g3"]));
    assert_eq!(level["vertex_count"], 4);
    let vertices = document(&files, "0/vertices");
    assert_eq!(vertices["shape"], json!([3, 3, 1]));
    assert_eq!(
        vertices["attributes"]["chunk_grid_origin"],
        json!([0, -1, 0])
    );
    for path in ["0/vertices", "0/vertex_fragments", "0/vertex_attributes/n"] {
        assert_eq!(
            keys(&files, path),
            json!(["0.1.0", "1.-1.0", "1.0.0", "2.0.0"]),
            "{path}"
        );
    }
    // The attribute is stored in the keys and in no array.
    assert!(!files.contains_key("0/vertex_attributes/gene/zarr.json"));
    let declared = &document(&files, "")["attributes"]["zarr_vectors"]["attribute_specs"];
    assert_eq!(
        declared["vertex"]["gene"],
        json!({"dtype": "str", "categorical": true, "description": "what was seen"})
    );
}

/// Links connect vertices with different values, as they connect vertices in different places: offsets have a component for the value.
#[tokio::test]
async fn links_go_from_value_to_value() {
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_attribute_chunks(AttributeSpec::number("part", NumberType::I8))
        .with_link_attribute(AttributeSpec::number("w", NumberType::U8));
    let batch = Batch::new(vec![1.0, 1.0, 2.0, 2.0, 12.0, 1.0, 3.0, 3.0])
        .with_attribute("part", vec![5_i8, -3, -3, 5])
        .with_links(vec![0, 1, 1, 2, 0, 3])
        .with_link_attribute("w", vec![1_u8, 2, 3]);
    let memory = written(spec, &[batch]).await;
    let files = memory.files().await;
    check_documents(&files);
    let level = &document(&files, "0")["attributes"]["zarr_vectors_level"];
    assert_eq!(level["chunk_attribute_values"], json!([-3, 5]));
    assert_eq!(keys(&files, "0/links/0/0.0.0"), json!(["1.0.0"]));
    assert_eq!(keys(&files, "0/links/0/0.+1.0"), json!(["0.0.0"]));
    assert_eq!(keys(&files, "0/links/0/+1.0.0"), json!(["0.0.0"]));
    assert_eq!(
        keys(&files, "0/link_attributes/w/0/+1.0.0"),
        json!(["0.0.0"])
    );
    let family = &document(&files, "0/links/0")["attributes"];
    assert_eq!(
        (&family["sid_ndim"], &family["num_links"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(
        document(&files, "0/object_index")["attributes"]["sid_ndim"],
        3
    );
}

#[tokio::test]
async fn numbers_are_ranked_by_size_over_their_whole_range() {
    let numbers = [u64::MAX, 0, 1 << 63, 7];
    let spec = StoreSpec::new(Kind::PointCloud, [10.0])
        .with_axes(vec![zvf_write::Axis::new("x", "space")])
        .with_attribute_chunks(AttributeSpec::number("id", NumberType::U64));
    let batch = Batch::new(vec![1.0, 2.0, 3.0, 4.0]).with_attribute("id", &numbers[..]);
    let memory = written(spec, &[batch]).await;
    let files = memory.files().await;
    let level = &document(&files, "0")["attributes"]["zarr_vectors_level"];
    assert_eq!(
        level["chunk_attribute_values"],
        json!([0, 7, 1_u64 << 63, u64::MAX])
    );
    let found = crate::support::ask(&memory.open().await, zvf_query::Query::default()).await;
    // Ranks ascend, so positions are in the order of the numbers.
    assert_eq!(
        crate::support::column(&found.vertices, "position"),
        ["2.0", "4.0", "3.0", "1.0"]
    );
    let shown = ["0", "7", "9223372036854775808", "18446744073709551615"];
    assert_eq!(crate::support::column(&found.vertices, "id"), shown);
}

#[tokio::test]
async fn values_that_are_said_before_are_the_only_ones() {
    let spec = || {
        StoreSpec::new(Kind::PointCloud, [10.0; 2])
            .with_bounds([0.0; 2], [9.0; 2], Outside::Refuse)
            .with_attribute_chunks(AttributeSpec::category("gene"))
            .with_attribute_chunk_values(Values::texts(["z", "a", "m"]))
    };
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let point =
        |text: &str| Batch::new(vec![1.0, 1.0]).with_attribute("gene", Values::texts([text]));
    let error = writer.push(&point("b")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "batch 0, attribute gene, row 0: found \"b\", expected one of the values of the specification"
    );
    writer.push(&point("m")).unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    check_documents(&files);
    let level = &document(&files, "0")["attributes"]["zarr_vectors_level"];
    assert_eq!(level["chunk_attribute_values"], json!(["a", "m", "z"]));
    assert_eq!(keys(&files, "0/vertices"), json!(["1.0.0"]));

    // With declared values, a store may have no vertices at all.
    let memory = written(spec(), &[]).await;
    let files = memory.files().await;
    check_documents(&files);
    assert_eq!(document(&files, "0/vertices")["shape"], json!([3, 1, 1]));
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused() {
    let memory = Memory::default();
    let points = || StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let number = |number| AttributeSpec::number("k", number);
    let whole = || {
        let points = points().with_bounds([0.0; 2], [9.0; 2], Outside::Refuse);
        points.with_attribute_chunks(number(NumberType::I16))
    };
    let mut writer = StoreWriter::create(ADDRESS, whole(), memory.options())
        .await
        .unwrap();
    let one = || Batch::new(vec![1.0, 1.0]);
    for (batch, wanted) in [
        (
            one(),
            "batch 0, attribute k: found nothing, expected a value for every row",
        ),
        (
            one().with_attribute("k", vec![1_i32]),
            "batch 0, attribute k: found int32, expected int16",
        ),
        (
            one().with_attribute("k", vec![1_i16, 2]),
            "batch 0, attribute k: found 2 values, expected 1 per row for 1 rows",
        ),
    ] {
        assert_eq!(writer.push(&batch).unwrap_err().to_string(), wanted);
    }
    let error = writer.finish().await.unwrap_err().to_string();
    assert!(error.contains("no value, expected vertices"), "{error}");

    let spec = points().with_attribute_chunks(AttributeSpec::category("k"));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    // A text of a refused batch does not become a value of the store.
    let texts = Values::texts(["stray", "stray"]);
    assert!(writer.push(&one().with_attribute("k", texts)).is_err());
    let missing = Values::optional_texts::<&str>([None]);
    let error = writer
        .push(&one().with_attribute("k", missing))
        .unwrap_err();
    assert!(
        error.to_string().contains("row 0: found no value"),
        "{error}"
    );
    writer
        .push(&one().with_attribute("k", Values::texts(["x"])))
        .unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    let level = &document(&files, "0")["attributes"]["zarr_vectors_level"];
    assert_eq!(level["chunk_attribute_values"], json!(["x"]));

    let declared = whole().with_vertex_attribute(number(NumberType::F32));
    let values = |values: Vec<i16>| whole().with_attribute_chunk_values(values);
    let cases = [
        (
            points().with_attribute_chunks(number(NumberType::F32)),
            "chunk_by/k/values",
        ),
        (
            points().with_attribute_chunks(AttributeSpec::text("k")),
            "chunk_by/k/values",
        ),
        (
            points().with_attribute_chunks(number(NumberType::U8).with_channels(2)),
            "chunk_by/k/channels",
        ),
        (
            points().with_attribute_chunks(AttributeSpec::number("a/b", NumberType::U8)),
            "chunk_by/0/name",
        ),
        (
            points().with_attribute_chunks(AttributeSpec::number("y", NumberType::U8)),
            "chunk_by/y/name",
        ),
        (declared, "chunk_by/k/name"),
        (whole().with_bin_shape([5.0; 2]), "bin_shape"),
        (whole().with_shard_shape([2, 2]), "shard_shape"),
        (values(vec![]), "chunk_by/k/values"),
        (values(vec![3, 1, 3]), "chunk_by/k/values"),
        (
            whole().with_attribute_chunk_values(vec![3_i32]),
            "chunk_by/k/values",
        ),
    ];
    for (spec, wanted) in cases {
        let error = spec.check().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{wanted}:")),
            "{error}, expected {wanted}"
        );
    }
}

/// Parts of a store whose chunks are split by an attribute: each part has its own value here, so no two parts share a chunk.
#[tokio::test]
async fn parts_need_the_values_and_make_the_same_store() {
    let base = || {
        StoreSpec::new(Kind::Graph, [10.0; 2])
            .with_bounds([0.0; 2], [30.0; 2], Outside::Refuse)
            .with_attribute_chunks(AttributeSpec::number("part", NumberType::U8))
            .with_fragment_attribute(AttributeSpec::number("run", NumberType::I16))
            .with_fragment_owners()
    };
    let memory = Memory::default();
    let error = PartedStore::begin(ADDRESS, base(), memory.options())
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("chunk_by/values: found none"),
        "{error}"
    );

    let spec = || base().with_attribute_chunk_values(vec![9_u8, 4]);
    let push = |writer: &mut StoreWriter, part: u8| {
        let n: Vec<u64> = (0..40).collect();
        let positions: Vec<f64> = n
            .iter()
            .flat_map(|n| [(n * 7 % 30) as f64, (n * 11 % 29) as f64])
            .collect();
        let ids: Vec<i64> = n.iter().map(|n| (n % 3) as i64).collect();
        let runs: Vec<i16> = n.iter().map(|n| (n / 8) as i16).collect();
        writer.push(
            &Batch::new(positions)
                .with_object_ids(ids)
                .with_attribute("part", vec![part; 40])
                .with_fragment_attribute("run", runs)
                .with_links(n.iter().flat_map(|n| [*n, n * 13 % 40]).collect::<Vec<_>>()),
        )
    };
    let one = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec(), one.options())
        .await
        .unwrap();
    push(&mut writer, 4).unwrap();
    push(&mut writer, 9).unwrap();
    let whole = writer.finish().await.unwrap();

    let store = PartedStore::begin(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    for part in [9, 4] {
        let mut writer = store.writer(&format!("part-{part}")).await.unwrap();
        push(&mut writer, part).unwrap();
        writer.finish().await.unwrap();
    }
    let committed = store.commit(&Groups::default()).await.unwrap();
    assert_eq!(committed.summary, Some(whole));
    let files = memory.files().await;
    check_documents(&files);
    assert_eq!(files, one.files().await);
}

/// A journal keeps the attributes that split chunks and fragments.
#[tokio::test]
async fn a_journal_keeps_both() {
    let folder = tempfile::tempdir().unwrap();
    let spec = || {
        StoreSpec::new(Kind::Polyline, [10.0; 2])
            .with_attribute_chunks(AttributeSpec::category("type"))
            .with_fragment_attribute(AttributeSpec::number("run", NumberType::F64))
    };
    let batch = |from: u32| {
        let n: Vec<u32> = (from..from + 10).collect();
        Batch::new(
            n.iter()
                .flat_map(|n| [f64::from(*n), 0.0])
                .collect::<Vec<_>>(),
        )
        .with_object_runs(vec![(5, 10)])
        .with_attribute(
            "type",
            Values::texts(n.iter().map(|n| ["b", "a"][*n as usize / 7 % 2])),
        )
        .with_fragment_attribute(
            "run",
            n.iter().map(|n| f64::from(n / 4)).collect::<Vec<_>>(),
        )
    };
    let (one, memory) = (Memory::default(), Memory::default());
    let mut writer = StoreWriter::create(ADDRESS, spec(), one.options())
        .await
        .unwrap();
    writer.push(&batch(0)).unwrap();
    writer.push(&batch(10)).unwrap();
    writer.finish().await.unwrap();

    let options =
        || -> WriteOptions { memory.options().with_journal(folder.path().join("journal")) };
    let mut writer = StoreWriter::create(ADDRESS, spec(), options())
        .await
        .unwrap();
    writer.push(&batch(0)).unwrap();
    drop(writer);
    let mut writer = StoreWriter::create(ADDRESS, spec(), options())
        .await
        .unwrap();
    assert_eq!(writer.batches(), 1);
    writer.push(&batch(10)).unwrap();
    writer.finish().await.unwrap();
    assert_eq!(memory.files().await, one.files().await);
}

/// The fragments of a chunk in the form of their values.
async fn values(memory: &Memory, name: &str, chunk: &[i64]) -> Vec<u8> {
    let store = memory.open().await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let one = level
        .fragment_attributes()
        .iter()
        .find(|one| one.name == name)
        .unwrap();
    let want = CellWant::new(&one.array, chunk);
    let found = store.fetch(level.next_round(), vec![want]).await.unwrap();
    found[0].as_ref().unwrap().to_vec()
}

#[tokio::test]
async fn a_fragment_ends_where_its_values_change() {
    let run = || AttributeSpec::number("run", NumberType::U8).with_unit("second");
    // If objects have no order, all vertices with the same value are in one fragment.
    let spec = StoreSpec::new(Kind::PointCloud, [10.0])
        .with_objects()
        .with_fragment_attribute(run());
    let batch = Batch::new(vec![1.0, 2.0, 3.0, 4.0, 5.0])
        .with_object_ids(vec![1, 1, 1, 1, -1])
        .with_fragment_attribute("run", vec![9_u8, 2, 9, 2, 2]);
    let memory = written(spec, &[batch]).await;
    assert_eq!(values(&memory, "run", &[0]).await, [2, 9, 2]);
    let found = crate::support::ask(&memory.open().await, zvf_query::Query::default()).await;
    let positions = crate::support::column(&found.vertices, "position");
    assert_eq!(positions, ["5.0", "1.0", "3.0", "2.0", "4.0"]);
    let files = memory.files().await;
    let attributes = &document(&files, "0/fragment_attributes/run")["attributes"];
    assert_eq!(attributes["zv_array"], "fragment_attribute");
    assert_eq!(
        (&attributes["dtype"], &attributes["unit"]),
        (&json!("uint8"), &json!("second"))
    );
    let present =
        document(&files, "0")["attributes"]["zarr_vectors_level"]["arrays_present"].clone();
    assert!(
        present
            .as_array()
            .unwrap()
            .contains(&json!("fragment_attributes")),
        "{present}"
    );

    // Chains keep their order: a value that occurs again begins another fragment.
    let spec = StoreSpec::new(Kind::Streamline, [10.0])
        .with_fragment_attribute(run())
        .with_fragment_owners();
    let batch = Batch::new(vec![1.0, 2.0, 3.0, 4.0, 5.0])
        .with_object_ids(vec![7, 7, 7, 7, -1])
        .with_fragment_attribute("run", vec![9_u8, 2, 2, 9, 9]);
    let memory = written(spec, &[batch]).await;
    assert_eq!(values(&memory, "run", &[0]).await, [9, 9, 2, 9]);
    let owners: Vec<u8> = [-1_i64, 7, 7, 7]
        .iter()
        .flat_map(|id| id.to_le_bytes())
        .collect();
    assert_eq!(values(&memory, "object_id", &[0]).await, owners);

    // Points without objects.
    let spec = StoreSpec::new(Kind::PointCloud, [10.0]).with_fragment_attribute(run());
    let batch = Batch::new(vec![1.0, 2.0, 3.0]).with_fragment_attribute("run", vec![3_u8, 1, 3]);
    let memory = written(spec, &[batch]).await;
    assert_eq!(values(&memory, "run", &[0]).await, [3, 1]);
    assert!(
        !memory
            .files()
            .await
            .contains_key("0/object_index/zarr.json")
    );
}

#[tokio::test]
async fn what_fragments_cannot_have_is_refused() {
    let number = |name: &str| AttributeSpec::number(name, NumberType::F32);
    let points = || StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let cases = [
        (
            points()
                .with_fragment_attribute(number("a"))
                .with_bin_shape([5.0; 2]),
            "fragment_attributes",
        ),
        (
            points().with_fragment_attribute(AttributeSpec::text("a")),
            "fragment_attributes/a/values",
        ),
        (
            points().with_fragment_attribute(AttributeSpec::category("a")),
            "fragment_attributes/a/values",
        ),
        (
            points()
                .with_fragment_attribute(number("a"))
                .with_fragment_attribute(number("a")),
            "fragment_attributes/1/name",
        ),
        (points().with_fragment_owners(), "fragment_owners"),
        (
            points()
                .with_objects()
                .with_fragment_owners()
                .with_fragment_attribute(number("object_id")),
            "fragment_attributes/object_id",
        ),
    ];
    for (spec, wanted) in cases {
        let error = spec.check().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{wanted}:")),
            "{error}, expected {wanted}"
        );
    }
    let memory = Memory::default();
    let spec = points().with_fragment_attribute(number("a"));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let one = || Batch::new(vec![1.0, 1.0]);
    for (batch, wanted) in [
        (
            one(),
            "batch 0, fragment attribute a: found nothing, expected a value for every row",
        ),
        (
            one().with_fragment_attribute("a", vec![1_u8]),
            "batch 0, fragment attribute a: found uint8, expected float32",
        ),
        (
            one().with_fragment_attribute("b", vec![1.0_f32]),
            "batch 0, fragment attribute b: found values, expected none: the specification has no such name",
        ),
    ] {
        let error: WriteError = writer.push(&batch).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
}

/// Methods that do not support such keys fail, and write nothing.
#[tokio::test]
async fn linked_levels_are_refused_where_chunks_are_cut_by_an_attribute() {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_attribute_chunks(AttributeSpec::number("gene", NumberType::U8));
    let batch = Batch::new(vec![1.0, 1.0, 2.0, 2.0]).with_attribute("gene", vec![1_u8, 2]);
    let memory = written(spec, &[batch]).await;
    let before = memory.files().await;
    for (method, cross) in [
        (Method::Density, CrossLevel::Explicit),
        (Method::Reference, CrossLevel::None),
    ] {
        let spec = PyramidSpec::new([LevelStep::new(2.0)]);
        let spec = spec.with_method(method).with_cross_level(cross, 1);
        let error = build_pyramid(
            ADDRESS,
            &spec,
            &memory.options(),
            std::sync::Arc::new(|_| ()),
        )
        .await
        .unwrap_err();
        assert!(
            error.to_string().contains("divided by an attribute"),
            "{error}"
        );
    }
    assert_eq!(memory.files().await, before);
}

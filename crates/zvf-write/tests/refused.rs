//! What is refused, with which message; and that a refused batch has no effect on the writer.

use zvf_write::{
    AttributeSpec, Axis, Batch, Class, Compression, Kind, LinkStore, NumberType, ObjectTable,
    Outside, StoreSpec, StoreWriter, Values, WriteError,
};

use crate::support::{ADDRESS, Memory, ask};

fn points() -> StoreSpec {
    StoreSpec::new(Kind::PointCloud, [10.0; 2])
}

#[test]
fn every_member_of_a_specification_is_named() {
    let number = |name: &str| AttributeSpec::number(name, NumberType::F32);
    let graph = || StoreSpec::new(Kind::Graph, [10.0; 2]);
    let cases = [
        (StoreSpec::new(Kind::PointCloud, []), "chunk_shape"),
        (StoreSpec::new(Kind::PointCloud, [1.0; 5]), "chunk_shape"),
        (
            StoreSpec::new(Kind::PointCloud, [1.0, 0.0]),
            "chunk_shape/1",
        ),
        (
            StoreSpec::new(Kind::PointCloud, [f64::NAN, 1.0]),
            "chunk_shape/0",
        ),
        (points().with_axes(vec![Axis::new("x", "space")]), "axes"),
        (
            points().with_axes(vec![Axis::new("x", "space"); 2]),
            "axes/1/name",
        ),
        (
            points().with_axes(vec![Axis::new("x", "space"), Axis::new("t", "time")]),
            "zarr.json#/attributes/multiscales/0/axes/1/type",
        ),
        (points().with_positions(NumberType::Bool), "positions"),
        (points().with_bin_shape([5.0]), "bin_shape"),
        (points().with_bin_shape([5.0, 3.0]), "bin_shape/1"),
        (points().with_bin_shape([5.0, 20.0]), "bin_shape/1"),
        (
            points().with_objects().with_bin_shape([5.0; 2]),
            "bin_shape",
        ),
        (
            points().with_bounds([0.0; 2], [1.0], Outside::Refuse),
            "bounds/1",
        ),
        (
            points().with_bounds([0.0, 2.0], [1.0; 2], Outside::Refuse),
            "bounds, axis 1",
        ),
        (
            points().with_vertex_attribute(number("a/b")),
            "vertex_attributes/0/name",
        ),
        (
            points().with_vertex_attribute(number("..")),
            "vertex_attributes/0/name",
        ),
        (
            points()
                .with_vertex_attribute(number("a"))
                .with_vertex_attribute(number("a")),
            "vertex_attributes/1/name",
        ),
        (
            points().with_vertex_attribute(number("a").with_channels(0)),
            "vertex_attributes/a/channels",
        ),
        (
            points().with_vertex_attribute(AttributeSpec::text("t")),
            "vertex_attributes/t/values",
        ),
        (
            points().with_vertex_attribute(AttributeSpec::category("t").with_channels(2)),
            "vertex_attributes/t/channels",
        ),
        (
            points().with_object_attribute(number("a")),
            "object_attributes",
        ),
        (
            graph().with_object_attribute(AttributeSpec::category("a")),
            "object_attributes/a/values",
        ),
        (
            graph().with_link_attribute(AttributeSpec::text("a")),
            "links/attributes/a/values",
        ),
        (graph().with_link_width(3), "links/width"),
        (
            StoreSpec::new(Kind::Mesh, [1.0; 3]).with_link_width(2),
            "links/width",
        ),
        (points().with_explicit_links(), "links/explicit"),
        (
            StoreSpec::new(Kind::Skeleton, [1.0; 3]).with_link_policy(true, LinkStore::Canonical),
            "links",
        ),
        (
            StoreSpec::new(Kind::Skeleton, [1.0; 3]).with_link_attribute(number("a")),
            "links/attributes",
        ),
        (
            points().with_compression(Compression::ZstdLevel(99)),
            "compression",
        ),
        (points().with_shard_shape([2]), "shard_shape"),
        (points().with_shard_shape([0, 2]), "shard_shape"),
        (points().with_shard_shape([1 << 20, 1 << 20]), "shard_shape"),
    ];
    for (spec, wanted) in cases {
        match spec.check() {
            Err(error @ WriteError::Spec { .. }) => {
                assert_eq!(error.class(), Class::Misuse);
                assert!(
                    error.to_string().starts_with(&format!("{wanted}:")),
                    "{error}, expected {wanted}"
                );
            }
            other => panic!("{wanted}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_bad_batch_is_named_and_leaves_nothing() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_bounds([-5.0; 2], [50.0; 2], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_link_attribute(AttributeSpec::number("w", NumberType::F32));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let rows = |rows: Vec<f32>| Batch::new(rows);
    let whole = |batch: Batch| {
        batch
            .with_attribute("n", vec![0, 1])
            .with_link_attribute("w", Vec::<f32>::new())
    };
    let two = || rows(vec![1.0, 2.0, 3.0, 4.0]);
    let cases: Vec<(Batch, &str)> = vec![
        (
            whole(rows(vec![1.0, 2.0, 3.0])),
            "positions: found 3 numbers",
        ),
        (whole(Batch::new(vec![1_i32; 4])), "positions: found int32"),
        (
            whole(rows(vec![1.0, f32::NAN, 3.0, 4.0])),
            "positions, row 0, axis 1: found NaN",
        ),
        (
            whole(rows(vec![1.0, 2.0, 3.0, f32::INFINITY])),
            "positions, row 1, axis 1: found inf",
        ),
        (
            whole(rows(vec![1.0, 2.0, 3.0, 51.0])),
            "positions, row 1, axis 1: found 51, expected -5 to 50",
        ),
        (
            two().with_link_attribute("w", Vec::<f32>::new()),
            "attribute n: found nothing",
        ),
        (
            whole(two()).with_attribute("m", vec![1]),
            "attribute m: found values, expected none",
        ),
        (
            whole(two()).with_attribute("n", vec![1]),
            "attribute n: found two columns",
        ),
        (
            two().with_attribute("n", vec![1]),
            "attribute n: found 1 values, expected 1 per row for 2 rows",
        ),
        (
            two().with_attribute("n", vec![1_i64, 2]),
            "attribute n: found int64, expected int32",
        ),
        (
            two().with_attribute("n", Values::texts(["a", "b"])),
            "attribute n: found text",
        ),
        (
            whole(two()).with_object_ids(&[1_i64][..]),
            "objects: found 1 ids",
        ),
        (
            whole(two()).with_object_runs(&[(1_i64, 3)][..]),
            "objects: found runs of 3 vertices",
        ),
        (
            whole(two()).with_links(&[0_u64][..]),
            "links: found 1 endpoints",
        ),
        (
            whole(two()).with_links(&[0_u64, 2][..]),
            "links, link 0: found vertex 2, expected below 2",
        ),
        (
            whole(two()).with_links(&[0_u64, 1][..]),
            "link attribute w: found 0 values, expected 1 per row for 1 rows",
        ),
    ];
    for (batch, wanted) in cases {
        let error = writer.push(&batch).unwrap_err();
        assert_eq!(error.class(), Class::Misuse);
        assert!(
            error.to_string().contains(wanted),
            "{error}, expected {wanted}"
        );
    }
    assert_eq!(writer.vertices(), 0);
    writer.push(&whole(two())).unwrap();
    assert_eq!(writer.finish().await.unwrap().vertices, 2);
    assert_eq!(
        ask(&memory.open().await, zvf_query::Query::default())
            .await
            .vertices
            .num_rows(),
        2
    );
}

#[tokio::test]
async fn what_is_no_tree_is_refused() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Skeleton, [10.0; 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let three = || Batch::new(vec![1.0_f32; 6]);
    let bad: [(&[u64], &str); 3] = [
        (&[1, 0, 1, 2], "two parents of vertex 1"),
        (&[1, 2, 2, 1], "a cycle"),
        (&[0, 0], "a cycle"),
    ];
    for (links, wanted) in bad {
        let error = writer.push(&three().with_links(links)).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let apart = three()
        .with_object_ids(&[1_i64, 2, 2][..])
        .with_links(&[0_u64, 1][..]);
    assert!(
        writer
            .push(&apart)
            .unwrap_err()
            .to_string()
            .contains("two objects")
    );
    writer.push(&three()).unwrap();
    let again = writer.push(&three()).unwrap_err();
    assert!(
        again
            .to_string()
            .contains("each skeleton whole in one batch"),
        "{again}"
    );
    let across = three()
        .with_object_ids(&[9_i64; 3][..])
        .with_links_between_batches(&[3_u64, 0][..]);
    assert!(
        writer
            .push(&across)
            .unwrap_err()
            .to_string()
            .contains("another batch")
    );
    writer.finish().await.unwrap();
}

#[tokio::test]
async fn tables_that_do_not_fit_are_refused() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2])
        .with_object_attribute(AttributeSpec::number("a", NumberType::Bool));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let table = || ObjectTable::new(&[1_i64, 2][..]);
    for (table, wanted) in [
        (table(), "object attribute a: found no column"),
        (
            table().with_attribute("b", vec![1]),
            "object attribute b: found values",
        ),
        (
            table().with_attribute("a", vec![true]),
            "object attribute a: found 1 values",
        ),
        (
            table().with_attribute("a", vec![1, 2]),
            "object attribute a: found int32, expected bool",
        ),
    ] {
        let error = writer.push_objects(&table).unwrap_err();
        assert!(
            error.to_string().contains(wanted),
            "{error}, expected {wanted}"
        );
    }
    writer
        .push_objects(&table().with_attribute("a", vec![true, false]))
        .unwrap();
    let runs = [(3_i64, 1)];
    writer
        .push(&Batch::new(vec![1.0_f32, 2.0]).with_object_runs(&runs[..]))
        .unwrap();
    let error = writer.finish().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("bool has no value that means missing"),
        "{error}"
    );
}

/// Floats are rounded to the floats of an attribute, but do not become infinite.
#[tokio::test]
async fn floats_beyond_the_type_of_an_attribute_are_refused() {
    let memory = Memory::default();
    let attribute = |number| AttributeSpec::number("a", number).with_channels(2);
    for (number, rounded, wide) in [
        (NumberType::F32, 3.4e38, 3.5e38),
        (NumberType::F16, 65_500.0, 65_536.0),
    ] {
        let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
            .with_vertex_attribute(attribute(number))
            .with_link_attribute(AttributeSpec::number("w", number))
            .with_object_attribute(AttributeSpec::number("o", number));
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let batch = |a: f64, w: f64| {
            Batch::new(vec![1.0_f32, 2.0, 3.0, 4.0])
                .with_object_runs(&[(1, 2)][..])
                .with_attribute("a", vec![0.0, f64::INFINITY, a, f64::NAN])
                .with_links(&[0, 1][..])
                .with_link_attribute("w", vec![w])
        };
        let objects = |o: f64| ObjectTable::new(&[1_i64][..]).with_attribute("o", vec![o]);
        for (error, wanted) in [
            (writer.push(&batch(wide, 0.0)), "attribute a: found"),
            (writer.push(&batch(0.0, -wide)), "link attribute w: found"),
            (
                writer.push_objects(&objects(wide)),
                "object attribute o: found",
            ),
        ] {
            let error = error.unwrap_err().to_string();
            let told = error.contains(wanted) && error.contains("can represent");
            assert!(told, "{error}, expected {wanted}");
        }
        writer.push(&batch(rounded, rounded)).unwrap();
        writer.push_objects(&objects(rounded)).unwrap();
        writer.abandon().await;
    }
}

#[tokio::test]
async fn nothing_without_bounds_is_no_store() {
    let memory = Memory::default();
    let writer = StoreWriter::create(ADDRESS, points(), memory.options())
        .await
        .unwrap();
    let error = writer.finish().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "vertices: found none, expected at least one, or bounds in the specification"
    );
    assert!(memory.files().await.is_empty());
}

/// Every text of an attribute of objects is stored as wide as the longest one.
#[tokio::test]
async fn one_long_text_among_many_short_ones_is_named() {
    let memory = Memory::default();
    let spec = points()
        .with_objects()
        .with_object_attribute(AttributeSpec::text("note"));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let ids: Vec<i64> = (0..10_000).collect();
    let positions = vec![1.0; 2 * ids.len()];
    let batch = Batch::new(positions).with_object_ids(ids.clone());
    writer.push(&batch).unwrap();
    let long = "x".repeat(20_000);
    let texts = ids
        .iter()
        .map(|id| if *id == 77 { long.as_str() } else { "short" });
    let notes = ObjectTable::new(ids.clone()).with_attribute("note", Values::texts(texts));
    writer.push_objects(&notes).unwrap();
    let error = writer.finish().await.unwrap_err().to_string();
    for says in [
        "note",
        "a text of 20000 characters of object 77, and texts of at most 5 in all other rows",
        "800000000 bytes in all: shorten that text, or leave out the attribute",
    ] {
        assert!(error.contains(says), "{error}");
    }
    assert!(memory.files().await.is_empty());
}

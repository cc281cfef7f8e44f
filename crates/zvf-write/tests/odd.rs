//! Unusual valid input: limits of number types, empty batches, very wide rows, unusual names.

use std::collections::BTreeMap;

use half::f16;
use serde_json::json;
use zvf_query::{BBox, Query};
use zvf_store::Names;
use zvf_write::{
    AttributeSpec, Axis, Batch, Groups, Kind, NumberType, ObjectTable, Outside, StoreSpec,
    StoreWriter, Values,
};

use crate::support::{ADDRESS, Memory, ask, check_documents, column};

async fn writer(memory: &Memory, spec: StoreSpec) -> StoreWriter {
    StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap()
}

async fn whole(memory: &Memory) -> crate::support::Got {
    ask(&memory.open().await, Query::default()).await
}

fn document(files: &BTreeMap<String, Vec<u8>>, path: &str) -> serde_json::Value {
    serde_json::from_slice(&files[&format!("{path}/zarr.json")]).unwrap()
}

#[tokio::test]
async fn texts_of_groups_may_have_several_channels() {
    let memory = Memory::default();
    let mut writer = writer(&memory, StoreSpec::new(Kind::Polyline, [10.0; 2])).await;
    writer
        .push(&Batch::new(vec![1.0, 1.0]).with_object_ids(vec![4]))
        .unwrap();
    let groups = Groups::new(vec![vec![4], vec![]])
        .with_attribute("pair", Values::texts(["a", "größe", "", "d"]))
        .with_attribute("numbers", vec![1_u8, 2, 3, 4, 5, 6]);
    writer.set_groups(&groups).unwrap();
    writer.finish().await.unwrap();
    let store = memory.open().await;
    let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
    let files = memory.files().await;
    assert_eq!(
        document(&files, "0/group_attributes/pair")["shape"],
        json!([2, 2])
    );
    assert_eq!(
        document(&files, "0/group_attributes/numbers")["shape"],
        json!([2, 3])
    );
    let pair = level
        .group_attributes()
        .iter()
        .find(|one| one.name() == "pair")
        .unwrap();
    let found = pair.read().await.unwrap();
    assert_eq!((found.rows, found.width), (2, 2));
    let words = ["a", "größe", "", "d"].map(|word| {
        let mut chars: Vec<u32> = word.chars().map(u32::from).collect();
        chars.resize(5, 0);
        chars
    });
    for (row, pair) in words.chunks(2).enumerate() {
        let bytes: Vec<u8> = pair.concat().iter().flat_map(|c| c.to_le_bytes()).collect();
        assert_eq!(found.row(row).unwrap(), bytes);
    }
}

/// One long text makes every row wide: chunks have fewer rows, and a table that would be far too large is refused.
#[tokio::test]
async fn long_texts_of_objects_take_no_more_memory_than_they_are() {
    let spec = || {
        StoreSpec::new(Kind::Polyline, [10.0; 2]).with_object_attribute(AttributeSpec::text("note"))
    };
    let long = "ä".repeat(100_000);
    let memory = Memory::default();
    let mut one = writer(&memory, spec()).await;
    let notes = Values::texts([long.as_str(), "short"]);
    one.push_objects(&ObjectTable::new(vec![1, 2]).with_attribute("note", notes))
        .unwrap();
    one.push(&Batch::new(vec![1.0, 1.0]).with_object_ids(vec![1]))
        .unwrap();
    one.finish().await.unwrap();
    let files = memory.files().await;
    check_documents(&files);
    assert_eq!(
        document(&files, "0/object_attributes/note")["chunk_grid"]["configuration"]["chunk_shape"],
        json!([167])
    );
    let asked = Query {
        objects: Some(vec![1, 2]),
        attributes: Names::All,
        ..Query::default()
    };
    let found = ask(&memory.open().await, asked).await.objects.unwrap();
    assert_eq!(column(&found, "note"), [long.as_str(), "short"]);

    let memory = Memory::default();
    let mut one = writer(&memory, spec()).await;
    let ids: Vec<i64> = (0..50_000).collect();
    let notes: Vec<Option<String>> = ids
        .iter()
        .map(|id| (*id == 7).then(|| long.clone()))
        .collect();
    one.push_objects(&ObjectTable::new(ids).with_attribute("note", Values::optional_texts(notes)))
        .unwrap();
    one.push(&Batch::new(vec![1.0, 1.0]).with_object_ids(vec![1]))
        .unwrap();
    let error = one.finish().await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("100000 characters of object 7") && error.contains("20000000000 bytes"),
        "{error}"
    );
    assert!(memory.files().await.is_empty());
}

#[tokio::test]
async fn coordinates_far_out_and_zeros_of_both_signs_are_kept() {
    let far: [f64; 8] = [
        4.0e18,
        -4.0e18,
        1.0,
        -0.0,
        0.0,
        5e-324,
        -5e-324,
        3.999_999_999_999_999_5,
    ];
    for chunk in [4.0, 1.0e18, f64::MAX] {
        let spec = StoreSpec::new(Kind::PointCloud, [chunk])
            .with_axes(vec![Axis::new("x", "space")])
            .with_positions(NumberType::F64)
            .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
        let memory = Memory::default();
        let mut one = writer(&memory, spec).await;
        let n: Vec<i32> = (0..8).collect();
        one.push(&Batch::new(&far[..]).with_attribute("n", n))
            .unwrap();
        one.finish().await.unwrap();
        check_documents(&memory.files().await);
        let got = whole(&memory).await;
        let positions = column(&got.vertices, "position");
        for (n, shown) in got.numbers().iter().zip(positions) {
            let found: f64 = shown.parse().unwrap();
            assert_eq!(found.to_bits(), far[*n].to_bits(), "{shown}, chunk {chunk}");
        }
        let bbox = Some(BBox::new(vec![0.0], vec![0.0]).unwrap());
        let got = ask(
            &memory.open().await,
            Query {
                bbox,
                ..Query::default()
            },
        )
        .await;
        assert_eq!(crate::support::sorted(got.numbers()), [3, 4]);
    }
    // More than 2^63 chunks are not possible.
    let memory = Memory::default();
    for (chunk, value) in [(1.0, 1.0e19), (1.0e-300, 1.0e10), (f64::MIN_POSITIVE, 1.0)] {
        let spec = StoreSpec::new(Kind::PointCloud, [chunk; 2]).with_positions(NumberType::F64);
        let mut one = writer(&memory, spec).await;
        let error = one
            .push(&Batch::new(vec![0.0, value]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("row 0, axis 1") && error.contains("chunk coordinate fits"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn integers_and_halves_go_to_their_ends() {
    let spec = |number| StoreSpec::new(Kind::PointCloud, [1000.0; 2]).with_positions(number);
    let memory = Memory::default();
    let mut one = writer(&memory, spec(NumberType::I64)).await;
    let ends = [i64::MIN, i64::MAX, 0, -1, (1 << 53) + 1, 7];
    one.push(&Batch::new(&ends[..])).unwrap();
    one.finish().await.unwrap();
    check_documents(&memory.files().await);
    let found = column(&whole(&memory).await.vertices, "position");
    let shown: Vec<String> = ends
        .chunks(2)
        .map(|pair| format!("{} {}", pair[0], pair[1]))
        .collect();
    assert_eq!(crate::support::sorted(found), crate::support::sorted(shown));

    let memory = Memory::default();
    let mut one = writer(&memory, spec(NumberType::U64)).await;
    one.push(&Batch::new(vec![u64::MAX, 0_u64])).unwrap();
    one.finish().await.unwrap();
    assert_eq!(
        column(&whole(&memory).await.vertices, "position"),
        [format!("{} 0", u64::MAX)]
    );

    let memory = Memory::default();
    let mut one = writer(&memory, spec(NumberType::F16)).await;
    // A value too large for a half float becomes infinite, and has no chunk.
    let error = one
        .push(&Batch::new(vec![1.0_f32, 70_000.0]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("found inf"), "{error}");
    one.push(&Batch::new(vec![
        f16::MAX,
        f16::MIN,
        f16::MIN_POSITIVE,
        f16::NEG_ZERO,
    ]))
    .unwrap();
    one.finish().await.unwrap();
    let found = crate::support::sorted(column(&whole(&memory).await.vertices, "position"));
    assert_eq!(found.len(), 2);
    assert!(found.contains(&"65504.0 -65504.0".to_owned()), "{found:?}");
}

#[tokio::test]
async fn ids_and_values_at_the_ends_of_their_types() {
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("u", NumberType::U64))
        .with_object_attribute(AttributeSpec::number("v", NumberType::U64));
    let memory = Memory::default();
    let mut one = writer(&memory, spec).await;
    let ids = [i64::MAX, i64::MIN, -1, i64::MAX];
    let batch = Batch::new(vec![1.0, 1.0, 2.0, 2.0, 30.0, 1.0, -5.0, 0.0])
        .with_object_ids(&ids[..])
        .with_attribute("u", vec![u64::MAX, u64::MAX - 1, 0, 1 << 63])
        .with_links(vec![0, 3, 3, 3, 1, 2]);
    // Links to vertices that do not exist; the arithmetic must not overflow.
    let wrong = batch.clone().with_links_between_batches(vec![u64::MAX, 0]);
    assert!(one.push(&wrong).is_err());
    let wrong = batch.clone().with_links(vec![u64::MAX - 3, 0]);
    assert!(one.push(&wrong).is_err());
    one.push(&batch).unwrap();
    let every = [i64::MIN, -1, i64::MAX];
    let values = vec![u64::MAX, 0, u64::MAX - 1];
    one.push_objects(&ObjectTable::new(&every[..]).with_attribute("v", values))
        .unwrap();
    one.set_groups(&Groups::new(vec![vec![i64::MAX, i64::MIN]]))
        .unwrap();
    one.finish().await.unwrap();
    check_documents(&memory.files().await);
    let asked = Query {
        objects: Some(vec![i64::MAX, i64::MIN]),
        attributes: Names::All,
        ..Query::default()
    };
    let got = ask(&memory.open().await, asked).await;
    let found = crate::support::sorted(column(&got.vertices, "u"));
    assert_eq!(
        found,
        [
            "18446744073709551614",
            "18446744073709551615",
            "9223372036854775808"
        ]
    );
    let objects = got.objects.unwrap();
    assert_eq!(
        column(&objects, "v"),
        ["18446744073709551614", "18446744073709551615"]
    );
    assert_eq!(got.links.unwrap().num_rows(), 2);
}

#[tokio::test]
async fn batches_without_rows_change_nothing() {
    for kind in [
        Kind::PointCloud,
        Kind::Line,
        Kind::Polyline,
        Kind::Streamline,
        Kind::Graph,
        Kind::Skeleton,
        Kind::Mesh,
    ] {
        let spec = || {
            let spec = StoreSpec::new(kind, [10.0; 3])
                .with_bounds([0.0; 3], [30.0; 3], Outside::Refuse)
                .with_vertex_attribute(AttributeSpec::number("n", NumberType::F16))
                .with_vertex_attribute(AttributeSpec::category("word"));
            if kind == Kind::PointCloud {
                spec
            } else {
                spec.with_object_attribute(AttributeSpec::text("t"))
            }
        };
        let empty = || {
            let batch = Batch::new(Vec::<f32>::new())
                .with_attribute("n", Vec::<f16>::new())
                .with_attribute("word", Values::texts::<&str>([]));
            if kind == Kind::PointCloud {
                batch
            } else {
                batch.with_object_ids(Vec::new())
            }
        };
        let table = || ObjectTable::new(Vec::new()).with_attribute("t", Values::texts::<&str>([]));
        let full = || {
            let batch = Batch::new(vec![1.0_f32, 2.0, 3.0, 14.0, 2.0, 3.0])
                .with_attribute("n", vec![f16::ONE, f16::NAN])
                .with_attribute("word", Values::texts(["a", "b"]));
            if kind == Kind::PointCloud {
                batch
            } else {
                batch.with_object_ids(vec![5, 5])
            }
        };
        let (with, without) = (Memory::default(), Memory::default());
        for (memory, empties) in [(&with, 2), (&without, 0)] {
            let mut one = writer(memory, spec()).await;
            for _ in 0..empties {
                one.push(&empty()).unwrap();
            }
            one.push(&full()).unwrap();
            for _ in 0..empties {
                one.push(&empty()).unwrap();
                if kind != Kind::PointCloud {
                    one.push_objects(&table()).unwrap();
                }
            }
            one.finish().await.unwrap();
        }
        check_documents(&with.files().await);
        assert_eq!(with.files().await, without.files().await, "{kind:?}");
        // Only empty batches make a store without vertices.
        let none = Memory::default();
        let mut one = writer(&none, spec()).await;
        one.push(&empty()).unwrap();
        one.finish().await.unwrap();
        check_documents(&none.files().await);
        assert_eq!(whole(&none).await.vertices.num_rows(), 0, "{kind:?}");
    }
}

#[tokio::test]
async fn names_of_any_kind_are_kept_or_refused() {
    let names = [
        "größe",
        "a b",
        "a%20b",
        "a?b#c",
        "~",
        "-",
        "1",
        "a.b",
        "\u{1f9e0}",
        "con",
    ];
    let mut spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    for name in names {
        spec = spec.with_vertex_attribute(AttributeSpec::number(name, NumberType::U8));
    }
    let memory = Memory::default();
    let mut one = writer(&memory, spec).await;
    let mut batch = Batch::new(vec![1.0, 1.0]);
    for (at, name) in names.iter().enumerate() {
        batch = batch.with_attribute(*name, vec![u8::try_from(at).unwrap()]);
    }
    one.push(&batch).unwrap();
    one.finish().await.unwrap();
    let got = whole(&memory).await;
    for (at, name) in names.iter().enumerate() {
        assert_eq!(column(&got.vertices, name), [at.to_string()], "{name}");
    }
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\n",
        "__zarr",
        "zarr.json",
        &"n".repeat(201),
    ] {
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
            .with_vertex_attribute(AttributeSpec::number(name, NumberType::U8));
        let error = spec.check().unwrap_err().to_string();
        assert!(error.starts_with("vertex_attributes/0/name"), "{error}");
    }
}

//! Conditions on attributes with names such as `start.x`, which without quotes are values of objects and groups; notes on NaN.

use std::sync::Arc;

use object_store::memory::InMemory;
use zvf_query::{Column, Filter, Query, Target};
use zvf_store::{OpenOptions, Store};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteOptions,
};

use crate::support::{Got, ask, sorted};

/// Two lines, from 0, 0 to 1, 1 and from 7, 7 to 8, 8.
async fn stored() -> Store {
    let open = OpenOptions::new().with_object_store(Arc::new(InMemory::new()));
    let options = WriteOptions::new().with_open(open.clone());
    let float = |name| AttributeSpec::number(name, NumberType::F64);
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 2])
        .with_objects()
        .with_vertex_attribute(float("start.x"))
        .with_vertex_attribute(float("object.v"))
        .with_object_attribute(float("end.x"))
        .with_object_attribute(float("w"));
    let batch = Batch::new(&[0.0, 0.0, 1.0, 1.0, 7.0, 7.0, 8.0, 8.0][..])
        .with_object_ids(&[1, 1, 2, 2][..])
        .with_attribute("start.x", &[10.0, 20.0, 30.0, 40.0][..])
        .with_attribute("object.v", &[1.0, 2.0, 3.0, 4.0][..]);
    let objects = ObjectTable::new(&[1, 2][..])
        .with_attribute("end.x", &[5.0, 6.0][..])
        .with_attribute("w", Values::from(&[f64::NAN, 1.0][..]));
    let groups = Groups::new(vec![vec![1], vec![2]])
        .with_names(["a", "b"])
        .with_attribute("start.y", &[1.0, 2.0][..]);
    let writer = StoreWriter::create("memory:///", spec, options).await;
    let mut writer = writer.unwrap();
    writer.push(&batch).unwrap();
    writer.push_objects(&objects).unwrap();
    writer.set_groups(&groups).unwrap();
    writer.finish().await.unwrap();
    Store::open_with("memory:///", open).await.unwrap()
}

fn asked(condition: &str) -> Query {
    Query {
        filter: Some(Filter::parse(condition).unwrap()),
        columns: vec![Column::Attribute("object.v".to_owned())],
        ..Query::default()
    }
}

fn found(got: &Got) -> Vec<String> {
    sorted(got.column("object.v"))
}

#[tokio::test]
async fn names_in_quotes_are_attributes_of_exactly_these_names() {
    let store = stored().await;
    for (condition, wanted) in [
        ("`start.x` > 15", &["2.0", "3.0", "4.0"][..]),
        ("\"start.x\" between 15 and 35", &["2.0", "3.0"]),
        ("start.x > 5", &["3.0", "4.0"]),
        ("`start.x` > 15 and start.x < 5", &["2.0"]),
        ("`start.x` > start.x * 5", &["1.0", "2.0", "4.0"]),
        ("not `start.x` > 15 or start.x > 5", &["1.0", "3.0", "4.0"]),
        ("`start.x` is null", &[]),
        ("`object.v` == 3", &["3.0"]),
        (
            "`object.v` + 0 == 3 or `object.v` in (1, 9)",
            &["1.0", "3.0"],
        ),
        // Attributes of objects and of groups.
        ("`end.x` == 6", &["3.0", "4.0"]),
        ("end.x == 8", &["3.0", "4.0"]),
        ("end.x == 6", &[]),
        ("`start.y` == 2", &["3.0", "4.0"]),
        ("start.y == 2", &[]),
        // No attribute has the name.
        ("`end.y` == 1", &["1.0", "2.0"]),
        ("`object_id` == 1", &["1.0", "2.0"]),
        ("`object.w` == 1", &["3.0", "4.0"]),
    ] {
        let got = ask(&store, asked(condition)).await.unwrap();
        assert_eq!(found(&got), wanted, "{condition}");
        let again = Filter::parse(condition).unwrap().to_string();
        let got = ask(&store, asked(&again)).await.unwrap();
        assert_eq!(found(&got), wanted, "{again}");
    }
    let error = ask(&store, asked("`object.q` > 1")).await.err().unwrap();
    let error = error.to_string();
    assert!(error.contains("no object attribute \"q\""), "{error}");
    let names = Filter::parse("`start.x` > start.x and a > 1").unwrap();
    assert_eq!(names.names(), ["start.x", "a"]);
}

/// A condition on vertices alone remains one in all pieces, and the answer is not grouped by object.
#[tokio::test]
async fn pieces_have_names_in_quotes() {
    let store = stored().await;
    let query = asked("`start.x` > 15");
    let mut rows = Vec::new();
    for piece in query.splits(&store, Target::Count(2)).await.unwrap() {
        let query = piece.query().unwrap();
        assert!(query.objects.is_none(), "{query:?}");
        rows.extend(found(&ask(&store, query).await.unwrap()));
    }
    assert_eq!(sorted(rows), ["2.0", "3.0", "4.0"]);
}

#[tokio::test]
async fn conditions_on_objects_note_that_nan_is_not_null() {
    let store = stored().await;
    for condition in [
        "w is null",
        "object.w is null",
        "w is null or `start.x` > 90",
    ] {
        let got = ask(&store, asked(condition)).await.unwrap();
        assert!(found(&got).is_empty(), "{condition}");
        let warnings = &got.all.summary.warnings;
        let notes = warnings.iter().filter(|one| one.contains("is not null"));
        assert_eq!(notes.count(), 1, "{condition}: {warnings:?}");
    }
    let got = ask(&store, asked("w is nan")).await.unwrap();
    assert_eq!(found(&got), ["1.0", "2.0"]);
    assert!(
        !got.all
            .summary
            .warnings
            .iter()
            .any(|one| one.contains("null"))
    );
}

/// Two lines of two vertices, with the numbers 1 to 4.
async fn two_lines(number: NumberType, positions: Values) -> Store {
    let open = OpenOptions::new().with_object_store(Arc::new(InMemory::new()));
    let options = WriteOptions::new().with_open(open.clone());
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 2])
        .with_positions(number)
        .with_vertex_attribute(AttributeSpec::number("object.v", NumberType::F64));
    let batch = Batch::new(positions)
        .with_object_ids(&[1, 1, 2, 2][..])
        .with_attribute("object.v", &[1.0, 2.0, 3.0, 4.0][..]);
    let writer = StoreWriter::create("memory:///", spec, options).await;
    let mut writer = writer.unwrap();
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    Store::open_with("memory:///", open).await.unwrap()
}

#[tokio::test]
async fn ends_of_whole_numbers_are_compared_exactly() {
    const FAR: i64 = 1 << 53;
    let positions = vec![FAR + 1, 0, FAR + 3, 0, FAR, 1, FAR + 2, 1];
    let store = two_lines(NumberType::I64, positions.into()).await;
    for (condition, wanted) in [
        ("start.x == 9007199254740993", &["1.0", "2.0"][..]),
        ("start.x == 9007199254740992", &["3.0", "4.0"]),
        (
            "start.x > 9007199254740992 and length() > 1",
            &["1.0", "2.0"],
        ),
        (
            "end.x in (9007199254740994, 9007199254740996)",
            &["3.0", "4.0"],
        ),
        ("x == start.x", &["1.0", "3.0"]),
        ("x > start.x", &["2.0", "4.0"]),
        ("x == end.x and end.x == 9007199254740995", &["2.0"]),
    ] {
        let got = ask(&store, asked(condition)).await.unwrap();
        assert_eq!(found(&got), wanted, "{condition}");
    }
}

/// 0.1 is a number with decimals that float16 does not have.
#[tokio::test]
async fn ends_of_float16_are_compared_in_their_type() {
    let positions = [0.1, 0.0, 5.0, 0.0, 0.2, 1.0, 6.0, 1.0].map(zvf_store::nearest_f16);
    let store = two_lines(NumberType::F16, positions.to_vec().into()).await;
    for (condition, wanted) in [
        ("start.x == 0.1", ["1.0", "2.0"]),
        ("start.x > 0.1", ["3.0", "4.0"]),
    ] {
        let got = ask(&store, asked(condition)).await.unwrap();
        assert_eq!(found(&got), wanted, "{condition}");
    }
}

//! Tables refer to rows of the store at the beginning of the edit, whatever the edit has done since.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use zvf_edit::{At, Edit, Matching, Scope, SetAttribute};
use zvf_query::{BBox, Outputs, Query};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, Values};

use crate::support::{ADDRESS, Memory, ask, block_on, column};

/// Ten points in one chunk, or as many vertices of two objects, with their numbers as `v`.
async fn ten(kind: Kind) -> Memory {
    let mut spec = StoreSpec::new(kind, [100.0; 2])
        .with_vertex_attribute(AttributeSpec::number("v", NumberType::I64));
    let places: Vec<f64> = (0..10).flat_map(|n| [f64::from(n), 1.0]).collect();
    let mut batch = Batch::new(places).with_attribute("v", (0..10).collect::<Vec<i64>>());
    if kind != Kind::PointCloud {
        spec = spec.with_objects();
        batch = batch.with_object_runs(&[(7, 5), (9, 5)][..]);
    }
    let memory = Memory::default();
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    memory
}

async fn begin(memory: &Memory) -> Edit {
    Edit::open(ADDRESS, memory.options()).await.unwrap()
}

async fn values(memory: &Memory) -> Vec<String> {
    memory.check_clean().await;
    column(
        &ask(&memory.open().await, zvf_query::Query::default())
            .await
            .vertices,
        "v",
    )
}

fn table(columns: &[(&str, &[i64])]) -> RecordBatch {
    let one = |(name, list): &(&str, &[i64])| {
        let array: ArrayRef = Arc::new(Int64Array::from(list.to_vec()));
        (name.to_string(), array)
    };
    RecordBatch::try_from_iter(columns.iter().map(one)).unwrap()
}

/// Rows of chunk (0, 0) with values.
fn placed(rows: &[i64], values: &[i64]) -> RecordBatch {
    let zero = vec![0; rows.len()];
    table(&[
        ("chunk_0", &zero),
        ("chunk_1", &zero),
        ("row", rows),
        ("v", values),
    ])
}

fn at(row: u64) -> (Vec<i64>, u64) {
    (vec![0, 0], row)
}

#[test]
fn rows_are_those_of_the_store_when_the_edit_began() {
    block_on(async {
        let memory = ten(Kind::PointCloud).await;
        let mut edit = begin(&memory).await;
        edit.delete_points(&[at(1)]).await.unwrap();
        edit.delete_points(&[at(4), at(9)]).await.unwrap();
        let set = SetAttribute::new(Scope::Vertex, "v");
        let rows = placed(&[6, 0], &[66, 100]);
        edit.set_attribute(&set, Some(&rows)).await.unwrap();
        let numbers = table(&[("vertex", &[8]), ("v", &[88])]);
        edit.set_attribute(&set, Some(&numbers)).await.unwrap();
        let far = Values::from(vec![250.0, 1.0]);
        edit.move_vertices(At::Rows(&[2]), &far).await.unwrap();
        let rows = placed(&[2], &[22]);
        edit.set_attribute(&set, Some(&rows)).await.unwrap();
        edit.commit().await.unwrap();
        let found = values(&memory).await;
        assert_eq!(found, ["100", "3", "5", "66", "7", "88", "22"]);
    });
}

#[test]
fn order_is_that_of_the_store_when_the_edit_began() {
    block_on(async {
        let memory = ten(Kind::PointCloud).await;
        let mut edit = begin(&memory).await;
        edit.delete_points(&[at(1)]).await.unwrap();
        let new = Batch::new(vec![50.0, 1.0]).with_attribute("v", vec![50_i64]);
        edit.append(&new).await.unwrap();
        let doubled: Vec<i64> = (0..10).map(|n| n * 2).collect();
        let set = SetAttribute::new(Scope::Vertex, "v");
        let set = set.with_matching(Matching::by_order().with_ignore_missing(true));
        let rows = table(&[("v", &doubled)]);
        let matched = edit.set_attribute(&set, Some(&rows)).await.unwrap();
        assert_eq!((matched.of, matched.found, matched.ignored), (10, 9, 1));
        edit.commit().await.unwrap();
        let found = values(&memory).await;
        let wanted = ["0", "4", "6", "8", "10", "12", "14", "16", "18", "50"];
        assert_eq!(found, wanted);
    });
}

#[test]
fn rows_that_the_edit_has_deleted_are_refused() {
    block_on(async {
        let memory = ten(Kind::PointCloud).await;
        let set = SetAttribute::new(Scope::Vertex, "v");
        let ordered = set.clone().with_matching(Matching::by_order());
        let all: Vec<i64> = (0..10).collect();
        for (set, rows, says) in [
            (&set, placed(&[1], &[5]), "row 1"),
            (&ordered, table(&[("v", &all)]), "row 1"),
            (&ordered, table(&[("v", &all[1..])]), "expected 10"),
        ] {
            let mut edit = begin(&memory).await;
            edit.delete_points(&[at(1)]).await.unwrap();
            let error = edit.set_attribute(set, Some(&rows)).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            edit.abandon().await.unwrap();
        }
        for (again, says) in [(1, "has not deleted"), (10, "below 10")] {
            let mut edit = begin(&memory).await;
            edit.delete_points(&[at(1)]).await.unwrap();
            let error = edit.delete_points(&[at(again)]).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            edit.abandon().await.unwrap();
        }
        assert_eq!(values(&memory).await.len(), 10);
    });
}

/// Streamlines keep the order of their vertices; a vertex that moves to another chunk is found there.
#[test]
fn places_in_chains_are_found_after_a_move() {
    block_on(async {
        let memory = ten(Kind::Streamline).await;
        let mut edit = begin(&memory).await;
        let far = Values::from(vec![250.0, 1.0, 260.0, 1.0]);
        edit.move_vertices(At::Rows(&[1, 2]), &far).await.unwrap();
        let set = SetAttribute::new(Scope::Vertex, "v");
        let rows = placed(&[1, 3], &[11, 33]);
        edit.set_attribute(&set, Some(&rows)).await.unwrap();
        let places = table(&[
            ("object_id", &[7, 9]),
            ("vertex", &[2, 0]),
            ("v", &[22, 55]),
        ]);
        edit.set_attribute(&set, Some(&places)).await.unwrap();
        let along = set.with_matching(Matching::by_object_order());
        let all = table(&[("v", &[0; 10])]);
        let error = edit.set_attribute(&along, Some(&all)).await.unwrap_err();
        assert!(error.to_string().contains("commit them first"), "{error}");
        edit.abandon().await.unwrap();

        let mut edit = begin(&memory).await;
        edit.move_vertices(At::Rows(&[1, 2]), &far).await.unwrap();
        let set = SetAttribute::new(Scope::Vertex, "v");
        edit.set_attribute(&set, Some(&rows)).await.unwrap();
        edit.set_attribute(&set, Some(&places)).await.unwrap();
        edit.commit().await.unwrap();
        let mut found = values(&memory).await;
        found.sort_by_key(|text| text.parse::<i64>().unwrap());
        let wanted = ["0", "4", "6", "7", "8", "9", "11", "22", "33", "55"];
        assert_eq!(found, wanted);
    });
}

#[test]
fn places_in_other_objects_are_refused_after_a_move() {
    block_on(async {
        let memory = ten(Kind::Graph).await;
        let mut edit = begin(&memory).await;
        let far = Values::from(vec![250.0, 1.0]);
        edit.move_vertices(At::Rows(&[1]), &far).await.unwrap();
        let places = table(&[("object_id", &[7]), ("vertex", &[2]), ("v", &[0])]);
        let set = SetAttribute::new(Scope::Vertex, "v");
        let error = edit.set_attribute(&set, Some(&places)).await.unwrap_err();
        assert!(error.to_string().contains("commit them first"), "{error}");
        edit.abandon().await.unwrap();
    });
}

/// As a table whose schema states this.
fn stating(name: &str, text: &str, table: &RecordBatch) -> RecordBatch {
    let stated = [(name.to_owned(), text.to_owned())];
    let schema = table.schema_ref().as_ref().clone();
    let schema = schema.with_metadata(stated.into_iter().collect());
    table.clone().with_schema(Arc::new(schema)).unwrap()
}

/// As a table that was queried on this level.
fn on_level(level: &str, table: &RecordBatch) -> RecordBatch {
    stating("zvf.level", level, table)
}

/// A query of a box numbers the vertices of its answer, so that its links have the numbers of other vertices of the store.
#[test]
fn links_of_a_part_of_the_vertices_are_refused() {
    block_on(async {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::Graph, [100.0; 2])
            .with_link_attribute(AttributeSpec::number("w", NumberType::I64));
        let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
        let mut writer = writer.unwrap();
        let places: Vec<f64> = (0..4).flat_map(|n| [f64::from(n), 1.0]).collect();
        let batch = Batch::new(places)
            .with_links(vec![0, 1, 2, 3])
            .with_link_attribute("w", vec![10_i64, 20]);
        let batch = batch.with_object_runs(&[(7, 2), (9, 2)][..]);
        writer.push(&batch).unwrap();
        writer.finish().await.unwrap();
        let links = async |query: Query| {
            let outputs = Outputs {
                links: true,
                ..query.outputs
            };
            let query = Query { outputs, ..query };
            let answer = ask(&memory.open().await, query).await;
            answer.links.unwrap()
        };
        let of_box = Query {
            bbox: Some(BBox::new(vec![1.5, 0.0], vec![5.0, 5.0]).unwrap()),
            ..Query::default()
        };
        let of_objects = Query {
            objects: Some(vec![9, 7]),
            ..Query::default()
        };
        let set = SetAttribute::new(Scope::Link, "w");
        for (query, says) in [
            (of_box, "row numbers of a query that selected vertices"),
            (of_objects, "row numbers of a query that selected vertices"),
        ] {
            let part = links(query).await;
            let mut edit = begin(&memory).await;
            let error = edit.set_attribute(&set, Some(&part)).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            edit.abandon().await.unwrap();
        }
        let whole = links(Query::default()).await;
        let mut edit = begin(&memory).await;
        edit.set_attribute(&set, Some(&whole)).await.unwrap();
        let by_object = stating("zvf.order", "object", &table(&[("w", &[1, 2])]));
        let in_order = set.clone().with_matching(Matching::by_order());
        let error = edit.set_attribute(&in_order, Some(&by_object)).await;
        let says = "rows by order: found rows in the order of objects";
        assert!(error.unwrap_err().to_string().contains(says));
        edit.abandon().await.unwrap();
    });
}

/// Links between levels are not those that edits change.
#[test]
fn rows_of_links_between_levels_are_refused() {
    block_on(async {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::Graph, [100.0; 2]);
        let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
        let mut writer = writer.unwrap();
        let batch = Batch::new(vec![1.0, 1.0, 2.0, 2.0]).with_links(vec![0, 1]);
        writer.push(&batch.with_object_ids(vec![7, 7])).unwrap();
        writer.finish().await.unwrap();
        let rows = table(&[("v", &[1])]);
        let stated = [("zvf.delta".to_owned(), "+1".to_owned())];
        let schema = rows.schema_ref().as_ref().clone();
        let schema = schema.with_metadata(stated.into_iter().collect());
        let rows = rows.with_schema(Arc::new(schema)).unwrap();
        let set = SetAttribute::new(Scope::Link, "v")
            .with_new(AttributeSpec::number("v", NumberType::I64))
            .with_matching(Matching::by_order());
        let mut edit = begin(&memory).await;
        let error = edit.set_attribute(&set, Some(&rows)).await.unwrap_err();
        let says = "rows by order: found links of delta +1";
        assert!(error.to_string().contains(says), "{error}");
        edit.abandon().await.unwrap();
    });
}

/// Their places and their order are not those of level 0.
#[test]
fn rows_of_another_level_are_refused() {
    block_on(async {
        let ten_values: Vec<i64> = (0..10).collect();
        let points = [
            (placed(&[6], &[66]), Matching::new(), "chunk, row"),
            (
                table(&[("vertex", &[6]), ("v", &[66])]),
                Matching::new(),
                "vertex",
            ),
            (table(&[("v", &ten_values)]), Matching::by_order(), "order"),
        ];
        let owned = table(&[("object_id", &[7]), ("vertex", &[2]), ("v", &[66])]);
        let lines = [
            (owned, Matching::new(), "object_id, vertex"),
            (
                table(&[("v", &ten_values)]),
                Matching::by_object_order(),
                "object order",
            ),
        ];
        for (kind, cases) in [
            (Kind::PointCloud, &points[..]),
            (Kind::Polyline, &lines[..]),
        ] {
            let memory = ten(kind).await;
            for (rows, how, by) in cases {
                let set = SetAttribute::new(Scope::Vertex, "v").with_matching(how.clone());
                let mut edit = begin(&memory).await;
                let other = on_level("1", rows);
                let error = edit.set_attribute(&set, Some(&other)).await.unwrap_err();
                let says = format!("rows by {by}: found rows of level 1");
                assert!(error.to_string().contains(&says), "{error}");
                edit.abandon().await.unwrap();
                let mut edit = begin(&memory).await;
                let own = on_level("0", rows);
                edit.set_attribute(&set, Some(&own)).await.unwrap();
                edit.abandon().await.unwrap();
            }
        }
        // Values are the same on every level.
        let memory = ten(Kind::PointCloud).await;
        let mut edit = begin(&memory).await;
        let new = SetAttribute::new(Scope::Vertex, "w")
            .with_new(AttributeSpec::number("w", NumberType::F64))
            .with_matching(Matching::by_key(["v"]));
        let rows = table(&[("chunk_0", &[0]), ("row", &[0]), ("v", &[4]), ("w", &[44])]);
        edit.set_attribute(&new, Some(&on_level("1", &rows)))
            .await
            .unwrap();
        edit.commit().await.unwrap();
    });
}

/// Row 2 of the chunk is a vertex of object 7.
#[test]
fn columns_that_name_different_objects_are_refused() {
    block_on(async {
        let memory = ten(Kind::Polyline).await;
        let place: [(&str, &[i64]); 4] = [
            ("chunk_0", &[0]),
            ("chunk_1", &[0]),
            ("row", &[2]),
            ("v", &[66]),
        ];
        let set = SetAttribute::new(Scope::Vertex, "v");
        for (object, more, says) in [
            (9, &[][..], Some("with other values than the store")),
            (9, &[("vertex", &[2][..])], Some("another vertex than 2")),
            (7, &[("vertex", &[1])], Some("another vertex than 2")),
            (7, &[], None),
            (7, &[("vertex", &[2])], None),
        ] {
            let object = [object];
            let columns = [&place[..], &[("object_id", &object)], more].concat();
            let mut edit = begin(&memory).await;
            let done = edit.set_attribute(&set, Some(&table(&columns))).await;
            match says {
                Some(says) => assert!(done.unwrap_err().to_string().contains(says), "{says}"),
                None => assert_eq!(done.unwrap().found, 1),
            }
            edit.abandon().await.unwrap();
        }
    });
}

/// The rows of a table are so wide after the edit that its chunks have fewer of them than before.
#[test]
fn all_objects_keep_their_texts_beside_a_very_long_one() {
    block_on(async {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::Graph, [100.0; 2])
            .with_object_attribute(AttributeSpec::text("note"));
        let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
        let mut writer = writer.unwrap();
        let count = 20;
        let ids: Vec<i64> = (0..count).collect();
        let places: Vec<f64> = (0..count).flat_map(|n| [n as f64, 1.0]).collect();
        let batch = Batch::new(places).with_object_ids(ids.clone());
        writer.push(&batch).unwrap();
        let texts: Vec<String> = ids.iter().map(|id| format!("object {id}")).collect();
        let notes = Values::texts(texts.iter().map(String::as_str));
        let table = zvf_write::ObjectTable::new(&ids[..]).with_attribute("note", notes);
        writer.push_objects(&table).unwrap();
        writer.finish().await.unwrap();
        let long = "a".repeat(1_000_000);
        let columns: [(&str, ArrayRef); 2] = [
            ("object_id", Arc::new(Int64Array::from(vec![3]))),
            (
                "note",
                Arc::new(arrow_array::StringArray::from(vec![long.as_str()])),
            ),
        ];
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        let mut edit = begin(&memory).await;
        let set = SetAttribute::new(Scope::Object, "note");
        edit.set_attribute(&set, Some(&rows)).await.unwrap();
        edit.commit().await.unwrap();
        let query = Query {
            select: zvf_query::Select::Objects,
            ..Query::default()
        };
        let query = Query {
            outputs: Outputs {
                objects: true,
                ..query.outputs
            },
            ..query
        };
        let found = ask(&memory.open().await, query).await.objects.unwrap();
        let found = column(&found, "note");
        for (id, text) in ids.iter().zip(&texts) {
            let wanted = if *id == 3 { &long } else { text };
            assert!(found[*id as usize].contains(wanted.as_str()), "object {id}");
        }
        let mut edit = begin(&memory).await;
        edit.delete(&[4]).await.unwrap();
        edit.commit().await.unwrap();
        memory.check_clean().await;
    });
}

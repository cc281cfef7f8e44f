//! The query result of one store is the input of another store.

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, UInt64Array};
use std::sync::Arc;

use zvf_edit::{Edit, Matching};
use zvf_query::{Column, Query, Select, Table, list_objects};
use zvf_store::{Need, OpenOptions, Store};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
};

use crate::support::{ADDRESS, Got, Memory, ask, block_on, column, sorted};

/// A query for all of a store; if it has objects, one object after another.
fn all(store: &Store, level: &zvf_store::Level) -> Query {
    let objects = level.object_index().is_some_and(|index| !index.is_empty());
    Query {
        owners: objects,
        select: match objects && store.kind() != Kind::PointCloud {
            true => Select::Objects,
            false => Select::Vertices,
        },
        ..Query::default()
    }
}

async fn asked(store: &Store) -> Got {
    let level = store.level(0, &Need::all()).await.unwrap();
    let mut query = all(store, &level);
    // With columns that state the location of a row.
    query.columns = vec![
        Column::Position,
        Column::Chunk,
        Column::Row,
        Column::Attributes,
    ];
    if query.owners {
        query.columns.push(Column::ObjectId);
    }
    ask(store, query).await
}

/// Rows of a table as text, without the columns that state their location in it.
fn rows(table: &RecordBatch, without: &[&str]) -> Vec<String> {
    let schema = table.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns: Vec<Vec<String>> = names
        .filter(|name| !without.contains(name))
        .map(|name| {
            let cells = column(table, name);
            cells.iter().map(|cell| format!("{name}={cell}")).collect()
        })
        .collect();
    (0..table.num_rows())
        .map(|row| {
            let cells: Vec<&str> = columns.iter().map(|column| column[row].as_str()).collect();
            cells.join(" ")
        })
        .collect()
}

/// Columns that state the location of a row in any table.
const PLACES: [&str; 6] = ["chunk", "row", "start", "vertices", "chunks", "fragments"];

/// Links in the form of the vertices at their ends.
fn links(got: &Got) -> Vec<String> {
    let Some(links) = &got.links else {
        return Vec::new();
    };
    let ends = rows(&got.vertices, &PLACES);
    let values = rows(links, &["vertices"]);
    let one = |(link, values): (&String, &String)| {
        let named = link
            .split(' ')
            .map(|end| &*ends[end.parse::<usize>().unwrap()]);
        let named = sorted(named.collect::<Vec<_>>());
        format!("{} {values}", named.join(" - "))
    };
    sorted(
        column(links, "vertices")
            .iter()
            .zip(&values)
            .map(one)
            .collect(),
    )
}

async fn bundled(case: &str) -> Store {
    let address = zvf_testkit::unpacked(case).unwrap();
    let address = address.path().to_string_lossy().into_owned();
    Store::open_with(&address, OpenOptions::new())
        .await
        .unwrap()
}

async fn copied(case: &str) {
    let from = bundled(case).await;
    let level = from.level(0, &Need::all()).await.unwrap();
    let got = asked(&from).await;
    let listed = match level.object_index() {
        Some(_) => {
            let listed = list_objects(&from, 0, false).await.unwrap();
            listed
                .collect()
                .await
                .unwrap()
                .table(Table::Objects)
                .unwrap()
        }
        None => None,
    };
    let kind = from.kind();
    // Lines and objects with ordered rows state no links, nor do skeletons if their rows imply all links.
    let explicit = matches!(kind, Kind::Graph | Kind::Mesh | Kind::Skeleton);
    let linked = got.links.as_ref().filter(|_| explicit);

    let shape = from.root().zarr_vectors.chunk_shape.clone();
    let mut spec = StoreSpec::new(kind, shape)
        .with_vertex_records(&got.vertices.schema())
        .unwrap();
    if let Some(links) = linked {
        spec = spec.with_link_records(&links.schema()).unwrap();
        spec.links.explicit = true;
        spec.links.directed = level.links(0).is_some_and(|links| links.doc().directed);
    }
    if let Some(objects) = &listed {
        spec = spec.with_object_records(&objects.schema()).unwrap();
    }
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    match linked {
        // Batch by batch, as if one program reads and another writes.
        None => {
            for start in (0..got.vertices.num_rows()).step_by(100) {
                let count = 100.min(got.vertices.num_rows() - start);
                let batch = Batch::from_records(&got.vertices.slice(start, count));
                writer.push(&batch.unwrap()).unwrap();
            }
        }
        Some(links) => {
            let batch = Batch::from_records(&got.vertices).unwrap();
            writer
                .push(&batch.with_link_records(links).unwrap())
                .unwrap();
        }
    }
    if let Some(objects) = &listed {
        writer
            .push_objects(&ObjectTable::from_records(objects).unwrap())
            .unwrap();
    }
    writer.finish().await.unwrap();
    memory.check_clean().await;

    let back = memory.open().await;
    let copy = asked(&back).await;
    assert_eq!(
        copy.vertices.schema().fields(),
        got.vertices.schema().fields(),
        "{case}"
    );
    assert_eq!(
        sorted(rows(&copy.vertices, &PLACES)),
        sorted(rows(&got.vertices, &PLACES)),
        "{case}"
    );
    assert_eq!(links(&copy), links(&got), "{case}");
    let of = |table: &RecordBatch| sorted(rows(table, &["start"]));
    match (&copy.objects, &got.objects) {
        (Some(copy), Some(got)) => assert_eq!(of(copy), of(got), "{case}"),
        (copy, got) => assert_eq!(copy.is_some(), got.is_some(), "{case}"),
    }
    assert_eq!(back.root().axes(), from.root().axes(), "{case}");
}

#[test]
fn what_a_query_returns_can_be_pushed() {
    block_on(async {
        for case in [
            "0.9/points_ids",
            "0.9/points_2d_f8",
            "0.9/real_synapses",
            "0.9/streamlines",
            "0.9/real_tractogram",
            "0.9/graph",
            "0.9/mesh",
            "0.9/skeleton",
        ] {
            copied(case).await;
        }
    });
}

/// A graph of three vertices in two chunks, numbers in one type: the first and the last are object 7, the other is object 9.
async fn graph(number: NumberType, shift: f64, values: [f64; 3], words: [&str; 3]) -> Memory {
    let numbers = |list: &[f64]| Values::from(list).fitted(&AttributeSpec::number("n", number));
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_positions(number)
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("mass", number))
        .with_vertex_attribute(AttributeSpec::category("position"))
        .with_object_attribute(AttributeSpec::number("vertex", number))
        .with_link_attribute(AttributeSpec::number("vertices", number));
    let places = [1.0, 1.0, 2.0, 5.0, 12.0, 3.0].map(|one| one + shift);
    let [a, b, _] = values;
    let batch = Batch::new(numbers(&places).unwrap())
        .with_object_ids(&[7, 9, 7][..])
        .with_attribute("mass", numbers(&values).unwrap())
        .with_attribute("position", Values::texts(words))
        .with_links(&[0, 1, 2, 0][..])
        .with_link_attribute("vertices", numbers(&[a, b]).unwrap());
    let objects = ObjectTable::new(&[7, 9][..]);
    let objects = objects.with_attribute("vertex", numbers(&[b, a]).unwrap());
    let memory = Memory::default();
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&batch).unwrap();
    writer.push_objects(&objects).unwrap();
    writer.finish().await.unwrap();
    memory
}

/// The result of a query without selections, with its objects.
async fn answer(memory: &Memory) -> Got {
    let store = memory.open().await;
    let columns = vec![
        Column::Position,
        Column::ObjectId,
        Column::Chunk,
        Column::Row,
        Column::Attributes,
    ];
    let query = Query {
        columns,
        owners: true,
        ..Query::default()
    };
    let mut got = ask(&store, query).await;
    let listed = list_objects(&store, 0, false).await.unwrap();
    got.objects = listed
        .collect()
        .await
        .unwrap()
        .table(Table::Objects)
        .unwrap();
    got
}

/// Another store with longer floats accepts the rows of a query result: all rows at once, or single rows addressed by object and position.
#[test]
fn what_a_query_returns_changes_another_store() {
    block_on(async {
        let from = graph(NumberType::F32, 0.0, [0.5, 1.5, -2.0], ["a", "b", "a"]).await;
        let wanted = answer(&from).await;
        let (links, objects) = (
            wanted.links.clone().unwrap(),
            wanted.objects.clone().unwrap(),
        );
        let other = || graph(NumberType::F64, 0.25, [0.0; 3], ["b", "c", "c"]);
        let same = async |memory: &Memory| {
            memory.check_clean().await;
            let got = answer(memory).await;
            assert_eq!(rows(&got.vertices, &[]), rows(&wanted.vertices, &[]));
            assert_eq!(self::links(&got), self::links(&wanted));
            assert_eq!(rows(&got.objects.unwrap(), &[]), rows(&objects, &[]));
        };

        let how = Matching::new();
        let all = other().await;
        let mut edit = Edit::open(ADDRESS, all.options()).await.unwrap();
        let error = edit.set_vertex_records(&wanted.vertices, &how).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("with other values than the store"),
            "{error}"
        );
        edit.abandon().await.unwrap();
        let mut edit = Edit::open(ADDRESS, all.options()).await.unwrap();
        // The positions come from the other store: they contradict the rows that the columns name.
        let values = without(&wanted.vertices, "position");
        edit.set_vertex_records(&values, &how).await.unwrap();
        edit.set_link_records(&links, &how).await.unwrap();
        edit.put_object_records(&objects, &how).await.unwrap();
        edit.move_records(&wanted.vertices, &how).await.unwrap();
        edit.commit().await.unwrap();
        same(&all).await;

        // The same, addressed by position in the object, in another order.
        let some = other().await;
        let mut edit = Edit::open(ADDRESS, some.options()).await.unwrap();
        let places: ArrayRef = Arc::new(UInt64Array::from(vec![0, 0, 1]));
        let addressed = with(&wanted.vertices, "vertex", &places);
        for at in [2, 0, 1] {
            let one = addressed.slice(at, 1);
            let values = without(&one, "position");
            edit.set_vertex_records(&values, &how).await.unwrap();
            edit.move_records(&one, &how).await.unwrap();
        }
        for at in [1, 0] {
            let (link, object) = (links.slice(at, 1), objects.slice(at, 1));
            edit.set_link_records(&link, &how).await.unwrap();
            edit.put_object_records(&object, &how).await.unwrap();
        }
        edit.commit().await.unwrap();
        same(&some).await;
    });
}

/// A table without a column.
fn without(table: &RecordBatch, name: &str) -> RecordBatch {
    let mut table = table.clone();
    table.remove_column(table.schema().index_of(name).unwrap());
    table
}

/// A table with another column.
fn with(table: &RecordBatch, name: &str, column: &ArrayRef) -> RecordBatch {
    let schema = table.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns = names.zip(table.columns().iter().cloned());
    // The columns that state the location of a row are not attributes; without the metadata of their fields they would be taken for attributes.
    let columns = columns.filter(|(name, _)| !PLACES.contains(name));
    RecordBatch::try_from_iter(columns.chain([(name, column.clone())])).unwrap()
}

#[test]
fn records_that_do_not_fit_a_store_change_nothing() {
    block_on(async {
        let memory = graph(NumberType::F32, 0.0, [0.5, 1.5, -2.0], ["a", "b", "a"]).await;
        let before = answer(&memory).await;
        let column = |list: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(list)) };
        let large = RecordBatch::try_from_iter([("mass", column(vec![1, 2, 1 << 30 | 1]))]);
        let unknown = RecordBatch::try_from_iter([("age", column(vec![1, 2, 3]))]);
        let short = RecordBatch::try_from_iter([("mass", column(vec![1, 2]))]);
        let behind: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 3]));
        let behind = Ok(with(&before.vertices, "vertex", &behind));
        let none = RecordBatch::try_from_iter([("mass", column(vec![1, 2, 3]))]);
        let order = Matching::by_order();
        let columns = Matching::new();
        for (table, how, says) in [
            (large, &order, "values that float32 holds without loss"),
            (unknown, &order, "an attribute of this store"),
            (short, &order, "expected 3: one for each vertex"),
            (none, &columns, "--by-order"),
            (behind, &columns, "object_id 7, vertex 3"),
        ] {
            let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
            let error = edit
                .set_vertex_records(&table.unwrap(), how)
                .await
                .unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            edit.abandon().await.unwrap();
        }
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        let error = edit
            .move_records(&before.links.clone().unwrap(), &columns)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("one named position"), "{error}");
        edit.abandon().await.unwrap();
        let after = answer(&memory).await;
        assert_eq!(rows(&after.vertices, &[]), rows(&before.vertices, &[]));
    });
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let one = |name: &str, column: ArrayRef| RecordBatch::try_from_iter([(name, column)]).unwrap();
    let places = one("x", Arc::new(Float32Array::from(vec![1.0])));
    let error = Batch::from_records(&places).unwrap_err().to_string();
    assert!(error.contains("one named position"), "{error}");
    let spec = StoreSpec::new(Kind::PointCloud, [1.0; 3]);
    let error = spec
        .with_vertex_records(&places.schema())
        .unwrap_err()
        .to_string();
    assert!(error.contains("column position"), "{error}");

    let spec = StoreSpec::new(Kind::Graph, [1.0; 3]);
    let error = spec
        .with_link_records(&places.schema())
        .unwrap_err()
        .to_string();
    assert!(error.contains("column vertices"), "{error}");

    // Ids of any integer type are accepted, but not floats.
    let ids = one("object_id", Arc::new(Int32Array::from(vec![1])));
    assert_eq!(ObjectTable::from_records(&ids).unwrap().ids(), [1]);
    let ids = one("object_id", Arc::new(Float64Array::from(vec![1.0])));
    let error = ObjectTable::from_records(&ids).unwrap_err().to_string();
    assert!(error.contains("int64"), "{error}");

    let holes: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let error = zvf_write::arrow::values("count", &holes)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("count") && error.contains("without a value"),
        "{error}"
    );
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.5), None]));
    let values = zvf_write::arrow::values("mass", &floats).unwrap().to_f64();
    assert!(values[0] == 1.5 && values[1].is_nan());
}

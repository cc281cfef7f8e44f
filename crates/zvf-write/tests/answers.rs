//! The answer of one store is the input of another.

use arrow_array::{ArrayRef, Float32Array, Int32Array, RecordBatch};
use std::sync::Arc;

use zvf_query::{Column, Query, Select, Table, list_objects};
use zvf_store::{Need, OpenOptions, Store};
use zvf_write::{Batch, Kind, ObjectTable, StoreSpec, StoreWriter};

use crate::support::{ADDRESS, Got, Memory, ask, block_on, column, sorted};

/// All of a store: objects one after another where it has some.
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
    // With columns that say where a row lies.
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

/// Rows of a table as text, but for columns that say where they lie in it.
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

/// Columns that say where a row lies, in whichever table.
const PLACES: [&str; 6] = ["chunk", "row", "start", "vertices", "chunks", "fragments"];

/// Links by what their ends are.
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
    // Lines and objects of rows in order state no links, and neither do skeletons whose rows imply theirs.
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
        // As in one program that reads, and another that writes: batch by batch.
        None => {
            for start in (0..got.vertices.num_rows()).step_by(100) {
                let count = 100.min(got.vertices.num_rows() - start);
                writer
                    .push_records(&got.vertices.slice(start, count))
                    .unwrap();
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

    let ids = one("object_id", Arc::new(Int32Array::from(vec![1])));
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

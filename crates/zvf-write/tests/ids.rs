//! Tables of many ids, which are divided into chunks: an id is looked up in one of them.

use zvf_edit::{Edit, vacuum};
use zvf_meta::ArrayDoc;
use zvf_query::{BBox, Query, Select};
use zvf_store::{IoTrace, Store};
use zvf_validate::{Check, Depth, ValidateOptions, validate};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter};

use crate::support::{ADDRESS, Memory, ask, check_documents, column, sorted};

const TABLE: &str = "0/object_index/object_ids";

/// More than fit one chunk.
const COUNT: i64 = 140_000;
const ROWS: i64 = 1 << 14;

/// The id of the object with a number: ascending, but no row number; none is -1 or -2, which the owner column does not have.
fn id(number: i64) -> i64 {
    number * 3 - 300_000 + number / 1000
}

/// One vertex for each object with a number: its attribute `n` is the number.
fn batch(numbers: std::ops::Range<i64>) -> Batch {
    let coordinate = |number: i64| [number % 61, number / 61 % 53, number / 3233];
    let positions: Vec<f64> = numbers
        .clone()
        .flat_map(coordinate)
        .map(|at| at as f64)
        .collect();
    let ids: Vec<i64> = numbers.clone().map(id).collect();
    let n: Vec<i32> = numbers.map(|number| number.try_into().unwrap()).collect();
    Batch::new(positions)
        .with_object_ids(ids)
        .with_attribute("n", n)
}

/// The attribute of an object.
fn doubled(number: i64) -> i32 {
    i32::try_from(number).unwrap() * 2
}

async fn store() -> Memory {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [16.0; 3])
        .with_objects()
        .with_shard_shape([2; 3])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_object_attribute(AttributeSpec::number("d", NumberType::I32));
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&batch(0..COUNT)).unwrap();
    let ids: Vec<i64> = (0..COUNT).map(id).collect();
    let values: Vec<i32> = (0..COUNT).map(doubled).collect();
    let objects = ObjectTable::new(ids).with_attribute("d", values);
    writer.push_objects(&objects).unwrap();
    writer.finish().await.unwrap();
    memory
}

fn of(numbers: &[i64]) -> Query {
    Query {
        objects: Some(numbers.iter().copied().map(id).collect()),
        select: Select::Objects,
        ..Query::default()
    }
}

/// The chunks of ids that a query of a store reads that was just opened, and its objects as numbers and attributes.
async fn looked_up(memory: &Memory, asked: Query) -> (usize, Vec<usize>, Vec<String>) {
    let trace = IoTrace::on();
    let options = memory.open_options().with_trace(trace.clone());
    let opened = Store::open_with(ADDRESS, options).await.unwrap();
    let found = ask(&opened, asked).await;
    let requests = trace.take();
    let chunks = requests
        .iter()
        .filter(|request| request.key.starts_with(&format!("{TABLE}/c/")));
    let values = found.objects.as_ref().map(|objects| column(objects, "d"));
    (chunks.count(), found.numbers(), values.unwrap_or_default())
}

fn numbers(numbers: &[i64]) -> Vec<usize> {
    numbers
        .iter()
        .map(|n| usize::try_from(*n).unwrap())
        .collect()
}

fn values(numbers: &[i64]) -> Vec<String> {
    numbers.iter().map(|n| doubled(*n).to_string()).collect()
}

fn table(document: &[u8]) -> ArrayDoc {
    ArrayDoc::parse(document).unwrap()
}

#[tokio::test]
async fn ids_are_looked_up_in_few_chunks_of_many() {
    let memory = store().await;
    let files = memory.files().await;
    check_documents(&files);
    memory.check_clean().await;
    let chunks = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
        let of_table = |key: &&String| key.starts_with(&format!("{TABLE}/c/"));
        files.keys().filter(of_table).count()
    };
    assert_eq!(chunks(&files), 9);
    let doc = table(&files[&format!("{TABLE}/zarr.json")]);
    let first: Vec<i64> = (0..9).map(|chunk| id(chunk * ROWS)).collect();
    assert_eq!(doc.chunk_shape, [u64::try_from(ROWS).unwrap()]);
    assert_eq!(
        doc.attributes.extra["zvf_ids"],
        serde_json::json!({"first": first})
    );

    // The order is the given one; the last id of a chunk, the first of one, the first and the last of all.
    for asked in [
        vec![0],
        vec![COUNT - 1],
        vec![70_000, 3, 70_001],
        vec![ROWS - 1, ROWS, 0],
    ] {
        let expected = (
            sorted(asked.iter().map(|n| n / ROWS).collect::<Vec<_>>())
                .chunk_by(|a, b| a == b)
                .count(),
            numbers(&asked),
            values(&asked),
        );
        assert_eq!(looked_up(&memory, of(&asked)).await, expected, "{asked:?}");
    }
    // Ids in most chunks: the table is read as a whole, by one request for each chunk.
    let many: Vec<i64> = (0..9)
        .map(|chunk| chunk * ROWS + 77)
        .filter(|n| *n < COUNT)
        .collect();
    assert_eq!(
        looked_up(&memory, of(&many)).await,
        (9, numbers(&many), values(&many))
    );
    // The objects of a box; their owners are ids.
    let boxed = Query {
        bbox: Some(BBox::new(vec![2.0, 3.0, 20.0], vec![4.0, 5.0, 20.0]).unwrap()),
        select: Select::Objects,
        ..Query::default()
    };
    let inside: Vec<i64> = (3..=5)
        .flat_map(|y| (2..=4).map(move |x| 20 * 3233 + y * 61 + x))
        .collect();
    assert_eq!(
        looked_up(&memory, boxed.clone()).await,
        (1, numbers(&inside), values(&inside))
    );
    // The same with the vertices inside, and a count for each object.
    let (read, found, _) = looked_up(
        &memory,
        Query {
            select: Select::Vertices,
            ..boxed
        },
    )
    .await;
    assert_eq!((read, sorted(found)), (1, numbers(&inside)));
    // Ids that no object has: between two ids, before the first and after the last.
    for missing in [id(5) + 1, id(0) - 1, id(COUNT), i64::MIN, i64::MAX] {
        let asked = |ignore_missing| Query {
            objects: Some(vec![id(9), missing]),
            ignore_missing,
            ..Query::default()
        };
        let opened = memory.open().await;
        let error = zvf_query::query(&opened, asked(false)).await.err().unwrap();
        let message = error.to_string();
        assert!(
            message.contains(&format!("no object {missing}")),
            "{message}"
        );
        assert_eq!(ask(&opened, asked(true)).await.numbers(), [9]);
    }
}

#[tokio::test]
async fn edits_keep_ids_that_can_be_looked_up() {
    let memory = store().await;
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.append(&batch(COUNT..COUNT + 10_000)).await.unwrap();
    let gone = [5, 70_000, COUNT + 3];
    edit.delete(&gone.map(id)).await.unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;
    let check = async |memory: &Memory| {
        let asked = [COUNT + 9_999, 4, 70_001, 6];
        let (read, found, _) = looked_up(memory, of(&asked)).await;
        assert_eq!((read, found), (3, numbers(&asked)));
        let opened = memory.open().await;
        for number in gone {
            let error = zvf_query::query(&opened, of(&[number])).await.err();
            let message = error.unwrap().to_string();
            assert!(
                message.contains(&format!("no object {}", id(number))),
                "{message}"
            );
        }
    };
    check(&memory).await;
    vacuum(ADDRESS, memory.options()).await.unwrap();
    memory.check_clean().await;
    check(&memory).await;
    // Fewer chunks: the last ones are removed.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let ids: Vec<i64> = (135_000..COUNT + 10_000)
        .filter(|n| *n != COUNT + 3)
        .map(id)
        .collect();
    edit.delete(&ids).await.unwrap();
    edit.commit().await.unwrap();
    vacuum(ADDRESS, memory.options()).await.unwrap();
    memory.check_clean().await;
    let files = memory.files().await;
    let doc = table(&files[&format!("{TABLE}/zarr.json")]);
    assert_eq!(doc.shape, [134_998]);
    assert!(!files.contains_key(&format!("{TABLE}/c/9")));
    // An id below the others: the table is no longer ascending, and in one chunk.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let low = Batch::new(vec![1.0; 3])
        .with_object_ids(vec![-1_000_000])
        .with_attribute("n", vec![7_i32]);
    edit.append(&low).await.unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;
    let asked = Query {
        objects: Some(vec![id(60_000), -1_000_000]),
        ..Query::default()
    };
    assert_eq!(
        ask(&memory.open().await, asked).await.numbers(),
        [60_000, 7]
    );
}

/// A program that replaces the chunks, but not the attributes, makes the statement wrong.
#[tokio::test]
async fn a_wrong_statement_of_first_ids_is_not_believed() {
    let memory = store().await;
    let key = format!("{TABLE}/zarr.json");
    let mut doc = table(&memory.files().await[&key]);
    let first: Vec<i64> = (0..9).map(|chunk| id(chunk * ROWS) - chunk).collect();
    let stated = serde_json::json!({"first": first});
    doc.attributes.extra.insert("zvf_ids".to_owned(), stated);
    memory.put(&key, doc.to_json().into_bytes()).await;
    let opened = memory.open().await;
    let found = ask(&opened, of(&[70_000, 3])).await.numbers();
    assert_eq!(found, [70_000, 3]);
    let warnings = opened.warnings();
    let warned = warnings.iter().any(|warning| warning.contains("zvf_ids"));
    assert!(warned, "{warnings:?}");
    let options = ValidateOptions::new(Depth::Consistency).with_open(memory.open_options());
    let report = validate(ADDRESS, &options).await.unwrap();
    assert_eq!(
        report.count_of(Check::ObjectIdsRows),
        1,
        "{:#?}",
        report.findings
    );
}

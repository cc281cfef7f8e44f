//! Answers as text that can be compared, and a memory to write to.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_query::{Query, Table, query};
use zvf_store::{OpenOptions, Store};
use zvf_write::WriteOptions;

/// A memory that is written to and read from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(pub(crate) Arc<InMemory>);

pub(crate) const ADDRESS: &str = "memory:///some/points.zarrvectors";

impl Memory {
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions::new().with_object_store(self.0.clone())
    }

    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions::new()
            .with_open(self.open_options())
            .with_threads(2)
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open_with(ADDRESS, self.open_options())
            .await
            .unwrap()
    }

    /// Every object, by its key inside the store.
    pub(crate) async fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let all: Vec<_> = self.0.list(None).try_collect().await.unwrap();
        let mut files = BTreeMap::new();
        for meta in all {
            let bytes = self
                .0
                .get(&meta.location)
                .await
                .unwrap()
                .bytes()
                .await
                .unwrap();
            let key = meta
                .location
                .as_ref()
                .strip_prefix("some/points.zarrvectors/")
                .unwrap()
                .to_owned();
            files.insert(key, bytes.to_vec());
        }
        files
    }
}

/// No rule of the format about documents is broken.
pub(crate) fn check_documents(files: &BTreeMap<String, Vec<u8>>) {
    let checked = zvf_meta::rules::check_documents(files);
    assert!(checked.unreadable.is_empty(), "{:?}", checked.unreadable);
    let problems: Vec<String> = checked
        .problems
        .iter()
        .map(ToString::to_string)
        // A store of one axis breaks a rule that its data leaves no way to keep (trap T32).
        .filter(|problem| !problem.contains("axes"))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// One value as text: floats so that equal text is equal value.
pub(crate) fn value(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "null".into();
    }
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        DataType::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row)),
        DataType::List(..) => list(&array.as_list::<i32>().value(row)),
        DataType::Dictionary(..) => {
            let any = array.as_any_dictionary();
            value(any.values(), any.normalized_keys()[row])
        }
        other => panic!("{other}"),
    }
}

fn list(items: &ArrayRef) -> String {
    (0..items.len())
        .map(|at| value(items, at))
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".into()
    } else {
        format!("{value:?}")
    }
}

/// A column of a table as text.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("no column {name}"));
    (0..array.len()).map(|row| value(array, row)).collect()
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) vertices: RecordBatch,
    pub(crate) links: Option<RecordBatch>,
    pub(crate) objects: Option<RecordBatch>,
}

pub(crate) async fn ask(store: &Store, asked: Query) -> Got {
    let all = query(store, asked).await.unwrap().collect().await.unwrap();
    assert!(
        all.summary.warnings.is_empty(),
        "{:?}",
        all.summary.warnings
    );
    Got {
        vertices: all.table(Table::Vertices).unwrap().unwrap(),
        links: all.table(Table::Links).unwrap(),
        objects: all.table(Table::Objects).unwrap(),
    }
}

impl Got {
    /// The attribute `n`: which vertex of the input each row is.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        column(&self.vertices, "n")
            .iter()
            .map(|n| n.parse().unwrap())
            .collect()
    }

    /// The links as vertices of the input, with the attribute `w` if there is one.
    pub(crate) fn links(&self) -> Vec<(Vec<usize>, String)> {
        let numbers = self.numbers();
        let Some(links) = &self.links else {
            return Vec::new();
        };
        let ends = column(links, "vertices");
        let weights = links.column_by_name("w").map(|_| column(links, "w"));
        let link = |(at, ends): (usize, &String)| {
            let ends = ends
                .split(' ')
                .map(|end| numbers[end.parse::<usize>().unwrap()])
                .collect();
            (
                ends,
                weights
                    .as_ref()
                    .map_or(String::new(), |weights| weights[at].clone()),
            )
        };
        ends.iter().enumerate().map(link).collect()
    }
}

pub(crate) fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

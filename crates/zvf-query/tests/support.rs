//! Answers as plain values that can be compared with the input of a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, path::Path};
use zvf_query::{Collected, Query, QueryError, Table, list_links, list_objects, query};
use zvf_store::{OpenOptions, Store, StoreError};
pub(crate) use zvf_testkit::text::float;

/// A store of these files, in memory.
pub(crate) async fn memory(files: &BTreeMap<String, Vec<u8>>) -> Store {
    open(files, OpenOptions::new()).await
}

/// A store of these files, in memory, opened with options.
pub(crate) async fn open(files: &BTreeMap<String, Vec<u8>>, options: OpenOptions) -> Store {
    try_open(files, options).await.unwrap()
}

/// Like [`open`], for stores that may be refused.
pub(crate) async fn try_open(
    files: &BTreeMap<String, Vec<u8>>,
    options: OpenOptions,
) -> Result<Store, StoreError> {
    let backend = InMemory::new();
    for (key, bytes) in files {
        backend
            .put(&Path::parse(key).unwrap(), bytes.clone().into())
            .await
            .unwrap();
    }
    Store::open_with("memory:///", options.with_object_store(Arc::new(backend))).await
}

/// A bundled store in memory.
pub(crate) async fn bundled(case: &str) -> Store {
    memory(&zvf_testkit::files(case).unwrap()).await
}

/// The objects of a level, as `list_objects` returns them, all batches.
pub(crate) async fn listed_objects(store: &Store, level: u32, own_level_only: bool) -> Collected {
    let answer = list_objects(store, level, own_level_only).await.unwrap();
    answer.collect().await.unwrap()
}

/// The links of a family, as `list_links` returns them, all batches.
pub(crate) async fn listed_links(
    store: &Store,
    level: u32,
    delta: i32,
    own_level_only: bool,
) -> Collected {
    let answer = list_links(store, level, delta, own_level_only)
        .await
        .unwrap();
    answer.collect().await.unwrap()
}

/// A whole answer.
pub(crate) struct Got {
    pub(crate) vertices: Option<RecordBatch>,
    pub(crate) links: Option<RecordBatch>,
    pub(crate) objects: Option<RecordBatch>,
    pub(crate) all: Collected,
}

/// Runs a query to its end.
pub(crate) async fn ask(store: &Store, asked: Query) -> Result<Got, QueryError> {
    let all = query(store, asked).await?.collect().await?;
    let got = Got {
        vertices: all.table(Table::Vertices)?,
        links: all.table(Table::Links)?,
        objects: all.table(Table::Objects)?,
        all,
    };
    let rows =
        |batch: &Option<RecordBatch>| batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
    if got.vertices.is_some() {
        assert_eq!(rows(&got.vertices), got.all.summary.vertices);
    }
    assert_eq!(rows(&got.links), got.all.summary.links);
    assert_eq!(rows(&got.objects), got.all.summary.objects);
    Ok(got)
}

impl Got {
    /// A column of the vertex table as text.
    pub(crate) fn column(&self, name: &str) -> Vec<String> {
        column(self.vertices.as_ref().unwrap(), name)
    }

    /// Every row of the vertex table as text: columns in order of their names.
    pub(crate) fn rows(&self) -> Vec<String> {
        let schema = self.vertices.as_ref().unwrap().schema();
        self.rows_of(
            schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
        )
    }

    /// Like [`Self::rows`], for some columns.
    pub(crate) fn rows_of(&self, mut names: Vec<String>) -> Vec<String> {
        let batch = self.vertices.as_ref().unwrap();
        names.sort();
        let columns: Vec<Vec<String>> = names.iter().map(|name| column(batch, name)).collect();
        (0..batch.num_rows())
            .map(|row| {
                let values = names
                    .iter()
                    .zip(&columns)
                    .map(|(name, column)| format!("{name}={}", column[row]));
                values.collect::<Vec<_>>().join("; ")
            })
            .collect()
    }

    /// The links, as rows of the vertex table.
    pub(crate) fn links(&self) -> Vec<Vec<usize>> {
        let Some(batch) = &self.links else {
            return Vec::new();
        };
        let lists = batch
            .column_by_name("vertices")
            .unwrap()
            .as_fixed_size_list();
        (0..batch.num_rows())
            .map(|row| {
                lists
                    .value(row)
                    .as_primitive::<UInt64Type>()
                    .values()
                    .iter()
                    .map(|v| *v as usize)
                    .collect()
            })
            .collect()
    }
}

/// A column of a table as text.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    zvf_testkit::text::column(batch, name).unwrap()
}

/// Sorted, for comparing as multisets.
pub(crate) fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// Waits for work in tests that are not async, such as properties.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

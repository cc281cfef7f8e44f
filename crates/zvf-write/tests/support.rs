//! Query results as comparable text, and a memory to write to.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_meta::RootDoc;
use zvf_meta::rules::Rule;
use zvf_query::{Query, Table, query};
use zvf_store::writing::Redo;
use zvf_store::{OpenOptions, Store};
pub(crate) use zvf_testkit::text::float;
use zvf_validate::{Check, Depth, Severity, ValidateOptions, validate};
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

    /// Checks that the validator finds nothing, at any depth.
    pub(crate) async fn check_clean(&self) {
        let options = ValidateOptions::new(Depth::Multiscale).with_open(self.open_options());
        let report = validate(ADDRESS, &options).await.unwrap();
        // A store of one axis unavoidably violates a rule (trap T32).
        let one_axis = report.count_of(Check::Document(Rule::AxesCount));
        let found = report.count(Severity::Warning) + report.count(Severity::Error);
        assert!(found == one_axis, "{:#?}", report.findings);
        assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    }

    /// A validation finds no errors; an unfinished change is a warning.
    pub(crate) async fn check_sound(&self) {
        let options = ValidateOptions::new(Depth::Conformance).with_open(self.open_options());
        let report = validate(ADDRESS, &options).await.unwrap();
        assert_eq!(report.count(Severity::Error), 0, "{:#?}", report.findings);
    }

    /// Puts an object into the store.
    pub(crate) async fn put(&self, key: &str, bytes: Vec<u8>) {
        let path = Path::parse(format!("some/points.zarrvectors/{key}")).unwrap();
        self.0.put(&path, bytes.into()).await.unwrap();
    }

    /// Removes an object of the store.
    pub(crate) async fn remove(&self, key: &str) {
        let path = Path::parse(format!("some/points.zarrvectors/{key}")).unwrap();
        self.0.delete(&path).await.unwrap();
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

/// Checks that documents violate no rule of the format.
pub(crate) fn check_documents(files: &BTreeMap<String, Vec<u8>>) {
    let checked = zvf_meta::rules::check_documents(files);
    assert!(checked.unreadable.is_empty(), "{:?}", checked.unreadable);
    let older = files
        .get("zarr.json")
        .is_some_and(|root| String::from_utf8_lossy(root).contains("\"zv_version\": \"0.8.1\""));
    let problems: Vec<String> = checked
        .problems
        .iter()
        .map(ToString::to_string)
        // A store of one axis unavoidably violates a rule (trap T32).
        .filter(|problem| !problem.contains("axes"))
        // Roots are checked by the rules of 0.9 in any version, but older versions do not have this member.
        .filter(|problem| !older || !problem.contains("ome-present"))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

/// A column of a table as text.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    zvf_testkit::text::column(batch, name).unwrap()
}

/// A complete query result.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) vertices: RecordBatch,
    pub(crate) links: Option<RecordBatch>,
    pub(crate) objects: Option<RecordBatch>,
}

pub(crate) async fn ask(store: &Store, asked: Query) -> Got {
    let all = query(store, asked).await.unwrap().collect().await.unwrap();
    let mut warnings = all.summary.warnings.clone();
    // Coarse levels are also compared with their state before an edit.
    warnings.retain(|warning| !warning.contains("was made before the last edits"));
    assert!(warnings.is_empty(), "{warnings:?}");
    Got {
        vertices: all.table(Table::Vertices).unwrap().unwrap(),
        links: all.table(Table::Links).unwrap(),
        objects: all.table(Table::Objects).unwrap(),
    }
}

impl Got {
    /// The attribute `n`: the number of the input vertex of each row.
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

/// A root without the mark of the last change that was applied or rolled back.
pub(crate) fn unfenced(root: &[u8]) -> Vec<u8> {
    let mut doc = RootDoc::parse(root).unwrap();
    match doc.extra.remove(Redo::LAST) {
        Some(_) => doc.to_json().into_bytes(),
        None => root.to_owned(),
    }
}

//! Stores in memory: their objects and their content.

use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_query::{Query, Table, query};
use zvf_store::{OpenOptions, Store};
use zvf_testkit::text::column;
use zvf_validate::repair::RepairOptions;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

pub(crate) use zvf_badstores::{Files, Outcome};

/// The address of the store in memory.
pub(crate) const ADDRESS: &str = "memory:///data/store.zv";
const PREFIX: &str = "data/store.zv/";

/// A memory that contains a store.
#[derive(Debug, Clone)]
pub(crate) struct Memory(pub(crate) Arc<InMemory>);

impl Memory {
    pub(crate) async fn with(files: &Files) -> Outcome<Self> {
        let memory = Self(Arc::new(InMemory::new()));
        for (key, bytes) in &files.objects {
            memory.put(key, bytes.clone()).await?;
        }
        Ok(memory)
    }

    pub(crate) async fn put(&self, key: &str, bytes: Vec<u8>) -> Outcome {
        let at = Path::parse(format!("{PREFIX}{key}"))?;
        self.0.put(&at, bytes.into()).await?;
        Ok(())
    }

    /// The objects of the store.
    pub(crate) async fn files(&self) -> Outcome<Files> {
        let mut files = Files::default();
        let all: Vec<_> = self.0.list(None).try_collect().await?;
        for meta in all {
            if let Some(key) = meta.location.as_ref().strip_prefix(PREFIX) {
                let bytes = self.0.get(&meta.location).await?.bytes().await?;
                files.objects.insert(key.to_owned(), bytes.to_vec());
            }
        }
        Ok(files)
    }

    pub(crate) fn options(&self) -> RepairOptions {
        options(Arc::clone(&self.0) as Arc<dyn ObjectStore>)
    }

    /// Everything that a reader sees: vertices, links and objects of every level.
    pub(crate) async fn seen(&self) -> Outcome<Vec<String>> {
        let backend: Arc<dyn ObjectStore> = self.0.clone();
        let open = OpenOptions::new().with_object_store(backend);
        let store = Store::open_with(ADDRESS, open).await?;
        let mut seen = Vec::new();
        for &level in store.levels() {
            seen.push(format!("level {level}"));
            let asked = Query {
                level,
                ..Query::default()
            };
            let all = query(&store, asked).await?.collect().await?;
            for (table, name) in [
                (Table::Vertices, "position"),
                (Table::Links, "vertices"),
                (Table::Objects, "object_id"),
            ] {
                if let Some(batch) = all.table(table)? {
                    seen.extend(column(&batch, name)?);
                }
            }
        }
        Ok(seen)
    }
}

/// The store of [`good`] whose chunks are split by an attribute.
pub(crate) const BY_LABEL: &str = "made/by_label";

/// A good store: bundled, or made here.
pub(crate) async fn good(case: &str) -> Outcome<Files> {
    if case != BY_LABEL {
        return Files::of(case);
    }
    let memory = Memory(Arc::new(InMemory::new()));
    let label = AttributeSpec::number("label", NumberType::I16);
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]).with_attribute_chunks(label);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options().write).await?;
    let positions = [1.0_f32, 1.0, 2.0, 2.0, 12.0, 1.0, 1.0, 2.0];
    writer.push(&Batch::new(&positions[..]).with_attribute("label", &[4_i16, 7, 4, 4][..]))?;
    writer.finish().await?;
    memory.files().await
}

/// Options that access the store through a backend, with sequential requests and no retries.
pub(crate) fn options(backend: Arc<dyn ObjectStore>) -> RepairOptions {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.io.retry = zvf_store::Retry::never();
    let write = WriteOptions::new().with_open(open).with_threads(1);
    RepairOptions::default().with_write(write)
}

//! Stores in memory: their objects, what is in them, and ways to break their documents.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::Value;
use zvf_query::{Query, Table, query};
use zvf_repair::RepairOptions;
use zvf_store::{OpenOptions, Store};
use zvf_testkit::text::column;
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteOptions};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Where the store lies in its memory.
pub(crate) const ADDRESS: &str = "memory:///data/store.zv";
const PREFIX: &str = "data/store.zv/";

/// The objects of a store by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files {
    pub(crate) fn of(case: &str) -> Outcome<Self> {
        Ok(Self(zvf_testkit::files(case)?))
    }

    /// The document of a key.
    pub(crate) fn document(&self, key: &str) -> Outcome<Value> {
        let bytes = self.0.get(key).ok_or_else(|| format!("no {key}"))?;
        Ok(serde_json::from_slice(bytes)?)
    }

    /// Changes a document.
    pub(crate) fn edit(&mut self, key: &str, f: impl FnOnce(&mut Value) -> Outcome) -> Outcome {
        let mut document = self.document(key)?;
        f(&mut document)?;
        self.0
            .insert(key.to_owned(), serde_json::to_vec(&document)?);
        Ok(())
    }

    /// Sets a member of a document.
    pub(crate) fn set(&mut self, key: &str, pointer: &str, value: Value) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer.rsplit_once('/').ok_or("no pointer")?;
            let parent = document.pointer_mut(parent);
            match parent.ok_or_else(|| format!("{key} has no place for {pointer}"))? {
                Value::Array(list) => {
                    let at: usize = name.parse()?;
                    *list.get_mut(at).ok_or("a place beyond the list")? = value;
                }
                Value::Object(members) => {
                    members.insert(name.to_owned(), value);
                }
                _ => return Err("no place for a member".into()),
            }
            Ok(())
        })
    }

    /// Removes a member of a document.
    pub(crate) fn unset(&mut self, key: &str, pointer: &str) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer.rsplit_once('/').ok_or("no pointer")?;
            let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
            let removed = parent.ok_or("no such parent")?.shift_remove(name);
            removed
                .map(|_| ())
                .ok_or_else(|| format!("{key} has no {pointer}").into())
        })
    }

    /// Changes a list in a document.
    pub(crate) fn list(
        &mut self,
        key: &str,
        pointer: &str,
        f: impl FnOnce(&mut Vec<Value>),
    ) -> Outcome {
        self.edit(key, |document| {
            let list = document.pointer_mut(pointer).and_then(Value::as_array_mut);
            f(list.ok_or_else(|| format!("{key} has no list {pointer}"))?);
            Ok(())
        })
    }

    /// Changes the bytes of an object behind its compression, if it has any.
    pub(crate) fn plain(&mut self, key: &str, f: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        let bytes = self.0.get_mut(key).ok_or_else(|| format!("no {key}"))?;
        if !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            f(bytes);
            return Ok(());
        }
        let mut plain = zstd::decode_all(&bytes[..])?;
        f(&mut plain);
        *bytes = zstd::encode_all(&plain[..], 3)?;
        Ok(())
    }

    /// The first object of an array with at least so many bytes behind its compression.
    pub(crate) fn first(&self, array: &str, least: usize) -> Outcome<String> {
        let prefix = format!("{array}/c/");
        for (key, bytes) in self.0.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let plain = zstd::decode_all(&bytes[..]).unwrap_or_else(|_| bytes.clone());
            if plain.len() >= least {
                return Ok(key.clone());
            }
        }
        Err(format!("{array} has no such object").into())
    }

    /// Everything that is no document.
    pub(crate) fn payloads(&self) -> BTreeMap<&str, &[u8]> {
        let payloads = self.0.iter().filter(|(key, _)| !is_document(key));
        payloads
            .map(|(key, bytes)| (key.as_str(), &bytes[..]))
            .collect()
    }
}

fn is_document(key: &str) -> bool {
    key == "zarr.json" || key.ends_with("/zarr.json")
}

/// A memory with a store in it.
#[derive(Debug, Clone)]
pub(crate) struct Memory(pub(crate) Arc<InMemory>);

impl Memory {
    pub(crate) async fn with(files: &Files) -> Outcome<Self> {
        let memory = Self(Arc::new(InMemory::new()));
        for (key, bytes) in &files.0 {
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
        let mut files = BTreeMap::new();
        let all: Vec<_> = self.0.list(None).try_collect().await?;
        for meta in all {
            if let Some(key) = meta.location.as_ref().strip_prefix(PREFIX) {
                let bytes = self.0.get(&meta.location).await?.bytes().await?;
                files.insert(key.to_owned(), bytes.to_vec());
            }
        }
        Ok(Files(files))
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

/// The store of [`good`] whose chunks are cut by an attribute.
pub(crate) const BY_LABEL: &str = "made/by_label";

/// A good store: a bundled one, or one that is made.
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

/// Options that reach the store through a backend, one request after the other and each once.
pub(crate) fn options(backend: Arc<dyn ObjectStore>) -> RepairOptions {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.retry = zvf_store::Retry::never();
    let write = WriteOptions::new().with_open(open).with_threads(1);
    RepairOptions::default().with_write(write)
}

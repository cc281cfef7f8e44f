//! The stores that are damaged, and what every read of them gives while they are whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_migrate::{MigrateOptions, migrate};
use zvf_store::{OpenOptions, Store};

use crate::alter::Case;
use crate::reads::{Read, Told, all_reads};

/// Bundled stores of more objects than this are left out: others have the same documents.
const MOST: usize = 420;

/// A whole store.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) name: String,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    shared: BTreeMap<String, Bytes>,
    pub(crate) truth: Vec<(Read, Told)>,
    /// Warnings of reading the whole store.
    pub(crate) warnings: Vec<String>,
}

impl Base {
    pub(crate) async fn of(name: &str, files: BTreeMap<String, Vec<u8>>) -> Result<Self> {
        let shared = files
            .iter()
            .map(|(key, bytes)| (key.clone(), Bytes::from(bytes.clone())));
        let mut base = Self {
            name: name.to_owned(),
            shared: shared.collect(),
            files,
            truth: Vec::new(),
            warnings: Vec::new(),
        };
        let store = Store::open_with("memory:///", base.options(None).await?).await?;
        for read in all_reads(&store).await? {
            let told = read
                .run(&store)
                .await
                .with_context(|| format!("{name}: {read:?}"))?;
            base.warnings.extend(told.warnings.clone());
            base.truth.push((read, told));
        }
        base.warnings.extend(store.warnings());
        Ok(base)
    }

    /// The store in memory, with one document changed.
    pub(crate) async fn options(&self, case: Option<&Case>) -> Result<OpenOptions> {
        let memory = InMemory::new();
        for (key, bytes) in &self.shared {
            let bytes = match case.filter(|case| case.key == *key) {
                None => bytes.clone(),
                Some(case) => match &case.bytes {
                    None => continue,
                    Some(bytes) => Bytes::from(bytes.clone()),
                },
            };
            memory.put(&key.as_str().into(), bytes.into()).await?;
        }
        let memory: Arc<dyn ObjectStore> = Arc::new(memory);
        Ok(OpenOptions::new().with_object_store(memory))
    }
}

/// All stores: the bundled ones of every version, and copies of those of 0.9 by the writer.
pub(crate) async fn all() -> Result<Vec<Arc<Base>>> {
    let mut bases = Vec::new();
    for name in zvf_testkit::all_cases()? {
        let files = zvf_testkit::files(&name)?;
        let small = files.len() <= MOST;
        if small {
            bases.push(Arc::new(Base::of(&name, files).await?));
        }
        if name.starts_with("0.9/") && (small || name.ends_with("mesh")) {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("own.zarrvectors");
            let address = path.to_str().context("not UTF-8")?;
            let store = Store::open(&zvf_testkit::unpacked(&name)?.url()?).await?;
            migrate(&store, address, MigrateOptions::new()).await?;
            let mut files = BTreeMap::new();
            read_folder(&path, &path, &mut files)?;
            if files.len() <= MOST {
                let name = name.replace("0.9/", "own/");
                bases.push(Arc::new(Base::of(&name, files).await?));
            }
        }
    }
    Ok(bases)
}

pub(crate) fn read_folder(
    root: &Path,
    folder: &Path,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(root, &path, files)?;
        } else {
            let key = path.strip_prefix(root)?.to_str().context("not UTF-8")?;
            files.insert(key.to_owned(), std::fs::read(&path)?);
        }
    }
    Ok(())
}

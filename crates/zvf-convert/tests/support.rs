//! Files that a test makes, and the store that is made from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use tempfile::TempDir;
use zvf_convert::export::{ExportOptions, Exported, export};
use zvf_convert::{ConvertError, Format, Import, Imported, Options};
use zvf_query::{Query, Table, list_objects, query};
use zvf_store::Store;
use zvf_store::blocking::Runtime;
use zvf_write::{Batch, Groups, ObjectTable, StoreSpec, StoreWriter, WriteError, WriteOptions};

/// A folder for files and the store.
pub(crate) struct Folder(TempDir);

/// The tables that were read back.
pub(crate) struct Got {
    pub(crate) vertices: RecordBatch,
    pub(crate) links: Option<RecordBatch>,
    pub(crate) objects: Option<RecordBatch>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Where the store is made.
    pub(crate) fn address(&self) -> String {
        let place = self.0.path().join("made.zarrvectors");
        place.to_string_lossy().into_owned()
    }

    /// All files of a store, by their paths.
    fn files(address: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![PathBuf::from(address)]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(address).unwrap().to_owned(), bytes);
            }
        }
        found
    }

    /// Makes the store again from the record batches of the files: every object has the same bytes.
    async fn check_records(&self, import: &Import, spec: StoreSpec) {
        // The root has the name of the store, which is the name of its folder.
        let again = self.place("again");
        let _ = std::fs::remove_dir_all(&again);
        std::fs::create_dir(&again).unwrap();
        let address = again
            .join("made.zarrvectors")
            .to_string_lossy()
            .into_owned();
        let options = WriteOptions::new().with_threads(1).with_durable(false);
        let mut writer = StoreWriter::create(&address, spec, options).await.unwrap();
        let mut schemas = BTreeMap::new();
        let take = |part| {
            let tables = match &part {
                Imported::Vertices(table, links) => {
                    vec![("vertices", Some(table)), ("links", links.as_ref())]
                }
                Imported::Objects(table) => vec![("objects", Some(table))],
                Imported::Groups(table) => vec![("groups", Some(table))],
            };
            for (name, table) in tables {
                let schema = table.map(RecordBatch::schema);
                assert_eq!(*schemas.entry(name).or_insert(schema.clone()), schema);
            }
            push(&mut writer, &part).map_err(ConvertError::from)
        };
        import.record_batches(take).unwrap();
        writer.finish().await.unwrap();
        let (made, again) = (Self::files(&self.address()), Self::files(&address));
        let keys = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&again), keys(&made));
        for (key, bytes) in &made {
            assert!(again[key] == *bytes, "{}", key.display());
        }
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Makes a store and reads all of it. Chunks and batches are small, so that data crosses their borders.
    pub(crate) fn store(&self, import: &Import, change: impl FnOnce(&mut StoreSpec)) -> Got {
        let address = self.address();
        let _ = std::fs::remove_dir_all(&address);
        let mut spec = import.spec().clone();
        change(&mut spec);
        Runtime::new().unwrap().wait(async {
            let options = WriteOptions::new().with_threads(1).with_durable(false);
            let mut writer = StoreWriter::create(&address, spec.clone(), options)
                .await
                .unwrap();
            import.read(&mut writer).unwrap();
            let summary = writer.finish().await.unwrap();
            self.check_records(import, spec).await;
            assert_eq!(summary.vertices, import.vertices());
            assert_eq!(summary.objects, import.objects());
            let store = Store::open(&address).await.unwrap();
            let answer = query(&store, Query::default()).await.unwrap();
            let all = answer.collect().await.unwrap();
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
        })
    }

    /// A path in the folder, for a file that is made later.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The error from making a store.
    pub(crate) fn fails(&self, import: &Import) -> ConvertError {
        let address = self
            .place("failed.zarrvectors")
            .to_string_lossy()
            .into_owned();
        Runtime::new().unwrap().wait(async {
            let options = WriteOptions::new().with_threads(1).with_durable(false);
            let spec = import.spec().clone();
            let mut writer = StoreWriter::create(&address, spec, options).await.unwrap();
            import.read(&mut writer).unwrap_err()
        })
    }

    /// All objects, including those without vertices.
    pub(crate) fn listed(&self) -> RecordBatch {
        let address = self.address();
        Runtime::new().unwrap().wait(async {
            let store = Store::open(&address).await.unwrap();
            let answer = list_objects(&store, 0, false).await.unwrap();
            let all = answer.collect().await.unwrap();
            all.table(Table::Objects).unwrap().unwrap()
        })
    }

    /// Exports the store; returns the path and the report.
    pub(crate) fn export(&self, name: &str, options: &ExportOptions) -> (PathBuf, Exported) {
        let path = self.0.path().join(name);
        let done = self.exported(&path, options).unwrap();
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
        (path, done)
    }

    /// The error from exporting the store.
    pub(crate) fn export_error(&self, name: &str, options: &ExportOptions) -> ConvertError {
        let path = self.0.path().join(name);
        self.exported(&path, options).unwrap_err()
    }

    fn exported(&self, path: &Path, options: &ExportOptions) -> Result<Exported, ConvertError> {
        let address = self.address();
        Runtime::new().unwrap().wait(async {
            let store = Store::open(&address).await.unwrap();
            export(&store, Format::of(path).unwrap(), path, options).await
        })
    }

    /// The vertices of these objects, object by object, each in its order.
    pub(crate) fn objects(&self, ids: &[i64]) -> RecordBatch {
        let address = self.address();
        Runtime::new().unwrap().wait(async {
            let store = Store::open(&address).await.unwrap();
            let asked = Query {
                objects: Some(ids.to_vec()),
                ..Query::default()
            };
            let answer = query(&store, asked).await.unwrap();
            let all = answer.collect().await.unwrap();
            all.table(Table::Vertices).unwrap().unwrap()
        })
    }
}

/// Pushes record batches.
pub(crate) fn push(writer: &mut StoreWriter, part: &Imported) -> Result<(), WriteError> {
    match part {
        Imported::Vertices(vertices, links) => {
            let batch = Batch::from_records(vertices)?;
            writer.push(&match links {
                Some(links) => batch.with_link_records(links)?,
                None => batch,
            })
        }
        Imported::Objects(objects) => writer.push_objects(&ObjectTable::from_records(objects)?),
        Imported::Groups(groups) => writer.set_groups(&Groups::from_records(groups)?),
    }
}

/// Options with small batches.
pub(crate) fn small() -> Options {
    let mut options = Options::default();
    options.batch = 3;
    options
}

/// Options with small batches, and with positions of tractograms as they are in the file.
pub(crate) fn filed() -> Options {
    let mut options = small();
    options.space = Some(zvf_convert::Space::File);
    options
}

pub(crate) fn open(files: &[PathBuf], options: &Options) -> Import {
    Import::open(files, options).unwrap()
}

pub(crate) fn refused(files: &[PathBuf], options: &Options) -> (ConvertError, String) {
    let error = Import::open(files, options).unwrap_err();
    let mut text = error.to_string();
    for file in files {
        let folder = format!("{}/", file.parent().unwrap().display());
        text = text.replace(&folder, "");
    }
    (error, text)
}

/// A column as text.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    zvf_testkit::text::column(batch, name).unwrap()
}

/// Rows of several columns as texts, sorted.
pub(crate) fn rows(batch: &RecordBatch, names: &[&str]) -> Vec<Vec<String>> {
    let columns: Vec<Vec<String>> = names.iter().map(|name| column(batch, name)).collect();
    let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
    sorted((0..batch.num_rows()).map(row).collect())
}

/// Links as the values of one column at their ends.
pub(crate) fn ends(got: &Got, name: &str) -> Vec<Vec<String>> {
    let names = column(&got.vertices, name);
    let links = got.links.as_ref().unwrap();
    column(links, "vertices")
        .iter()
        .map(|ends| {
            let ends = ends.split(' ').map(|end| end.parse::<usize>().unwrap());
            ends.map(|end| names[end].clone()).collect()
        })
        .collect()
}

pub(crate) fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// Texts, owned.
pub(crate) fn texts<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

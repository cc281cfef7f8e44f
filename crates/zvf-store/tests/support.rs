//! Stores in memory, backends that count, delay and fail, and small tools.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use serde_json::{Value, json};
use zvf_store::format::vlen::VlenBuilder;
use zvf_store::{CellWant, GridArray, Level, Need, OpenOptions, Store};

/// Cells, by absolute chunk coordinate.
pub(crate) type Cells = Vec<(Vec<i64>, Vec<u8>)>;

/// Files of a store, by key.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn bundled(case: &str) -> Files {
    zvf_testkit::files(case).unwrap()
}

/// Puts files into a backend below `prefix`.
pub(crate) async fn put_all(backend: &dyn ObjectStore, prefix: &str, files: &Files) {
    for (key, bytes) in files {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}/{key}")
        };
        backend
            .put(&Path::parse(path).unwrap(), bytes.clone().into())
            .await
            .unwrap();
    }
}

pub(crate) async fn memory(files: &Files) -> Arc<dyn ObjectStore> {
    let backend = InMemory::new();
    put_all(&backend, "", files).await;
    Arc::new(backend)
}

pub(crate) async fn open_memory(files: &Files) -> Store {
    try_open(files, OpenOptions::new()).await.unwrap()
}

pub(crate) async fn try_open(
    files: &Files,
    options: OpenOptions,
) -> std::result::Result<Store, zvf_store::StoreError> {
    Store::open_with("memory:///", options.with_object_store(memory(files).await)).await
}

/// Writes files below a new folder of the local disk.
pub(crate) fn on_disk(files: &Files) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), files);
    folder
}

/// Writes the files of a store below a folder.
pub(crate) fn write_files(folder: &std::path::Path, files: &Files) {
    for (key, bytes) in files {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Every chunk-grid array of a level.
pub(crate) fn grids(level: &Level) -> Vec<Arc<GridArray>> {
    let mut all = vec![Arc::clone(level.vertices())];
    all.extend(level.vertex_fragments().cloned());
    all.extend(
        level
            .vertex_attributes()
            .iter()
            .map(|a| Arc::clone(&a.array)),
    );
    all.extend(
        level
            .fragment_attributes()
            .iter()
            .map(|a| Arc::clone(&a.array)),
    );
    for family in level.link_families() {
        all.extend(family.arrays().iter().map(|a| Arc::clone(&a.array)));
        all.extend(
            family
                .attributes()
                .iter()
                .flat_map(|a| a.arrays.iter().flatten().cloned()),
        );
    }
    all
}

pub(crate) fn all_cells(array: &Arc<GridArray>) -> Vec<CellWant> {
    array
        .presence()
        .iter()
        .map(|c| CellWant::new(array, c))
        .collect()
}

/// All cells of all arrays of all levels, by array and chunk.
pub(crate) async fn dump(store: &Store) -> BTreeMap<(String, Vec<i64>), Option<Bytes>> {
    let mut all = BTreeMap::new();
    for level in store.levels() {
        let level = store.level(*level, &Need::all()).await.unwrap();
        for array in grids(&level) {
            let wants = all_cells(&array);
            let chunks: Vec<Vec<i64>> = wants.iter().map(|w| w.chunk.to_vec()).collect();
            let cells = store.fetch(level.next_round(), wants).await.unwrap();
            for (chunk, cell) in chunks.into_iter().zip(cells) {
                all.insert((array.path().to_owned(), chunk), cell);
            }
        }
    }
    all
}

// ---------------------------------------------------------------------------------------------------------------
// Small stores

/// A store with a root and an empty level 0: D axes, chunks of 10.
pub(crate) fn small(dims: usize, kind: &str) -> Files {
    let axes: Vec<Value> = ["x", "y", "z", "w"]
        .iter()
        .take(dims)
        .map(|n| json!({"name": n, "type": "space"}))
        .collect();
    let root = json!({
        "zarr_format": 3, "node_type": "group",
        "attributes": {
            "zarr_vectors": {
                "zv_version": "0.9.2", "chunk_shape": vec![10.0; dims],
                "bounds": [vec![0.0; dims], vec![99.0; dims]],
                "geometry_types": [kind], "format_capabilities": []
            },
            "multiscales": [{"version": "0.4", "name": "default", "axes": axes, "datasets": [
                {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": vec![1.0; dims]}]}
            ]}]
        }
    });
    let level = json!({
        "zarr_format": 3, "node_type": "group",
        "attributes": {"zarr_vectors_level": {"level": 0, "vertex_count": 0, "arrays_present": ["vertices"],
            "object_sparsity": 1.0, "coarsening_method": "none", "parent_level": null}}
    });
    Files::from([
        ("zarr.json".to_owned(), root.to_string().into_bytes()),
        ("0/zarr.json".to_owned(), level.to_string().into_bytes()),
    ])
}

/// The document of a group.
pub(crate) fn group(attributes: &Value) -> Vec<u8> {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
        .to_string()
        .into_bytes()
}

/// Changes a document.
pub(crate) fn edit(files: &mut Files, key: &str, change: impl FnOnce(&mut Value)) {
    let bytes = files.get_mut(key).unwrap();
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    change(&mut value);
    *bytes = value.to_string().into_bytes();
}

/// The document of a chunk-grid array without codecs.
pub(crate) fn grid_document(shape: &[u64], origin: &[i64], present: &[Vec<i64>]) -> Value {
    let mut keys: Vec<String> = present.iter().map(|c| key_text(c)).collect();
    keys.sort();
    json!({
        "shape": shape, "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": vec![1; shape.len()]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "vlen-bytes", "configuration": {}}],
        "attributes": {"nonempty_chunks": keys, "chunk_grid_origin": origin, "dtype": "float32", "encoding": "raw"},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    })
}

pub(crate) fn key_text(chunk: &[i64]) -> String {
    chunk
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

/// Adds a chunk-grid array without codecs.
pub(crate) fn add_grid(
    files: &mut Files,
    path: &str,
    shape: &[u64],
    origin: &[i64],
    cells: &[(Vec<i64>, Vec<u8>)],
) {
    let present: Vec<Vec<i64>> = cells.iter().map(|(c, _)| c.clone()).collect();
    let document = grid_document(shape, origin, &present);
    files.insert(
        format!("{path}/zarr.json"),
        document.to_string().into_bytes(),
    );
    for (chunk, bytes) in cells {
        let index: Vec<String> = chunk
            .iter()
            .zip(origin)
            .map(|(c, o)| (c - o).to_string())
            .collect();
        files.insert(
            format!("{path}/c/{}", index.join("/")),
            VlenBuilder::cell(bytes).unwrap(),
        );
    }
}

/// Contents of the cell of `vertices` at a chunk, of different sizes, in a store of one axis pair.
pub(crate) fn cell_of(chunk: &[i64]) -> Vec<u8> {
    let seed = chunk
        .iter()
        .fold(7i64, |n, c| n.wrapping_mul(31).wrapping_add(*c));
    let length = usize::try_from(seed.rem_euclid(97)).unwrap() * 8 + 8;
    (0..length)
        .map(|i| {
            u8::try_from((seed.wrapping_mul(i64::try_from(i).unwrap() + 3) >> 5) & 0xFF).unwrap()
        })
        .collect()
}

// ---------------------------------------------------------------------------------------------------------------
// A backend that counts, delays and fails

type Fault = Box<dyn Fn(&str) -> Option<object_store::Error> + Send + Sync>;

/// Wraps a backend.
pub(crate) struct Tool {
    inner: Arc<dyn ObjectStore>,
    pub(crate) delay: Duration,
    pub(crate) gets: AtomicU64,
    pub(crate) lists: AtomicU64,
    pub(crate) keys: Mutex<Vec<String>>,
    pub(crate) heads: Mutex<Vec<String>>,
    pub(crate) can_list: bool,
    pub(crate) fault: Option<Fault>,
    running: AtomicU64,
    pub(crate) most: AtomicU64,
}

impl Tool {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self {
            inner,
            delay: Duration::ZERO,
            gets: AtomicU64::new(0),
            lists: AtomicU64::new(0),
            keys: Mutex::default(),
            heads: Mutex::default(),
            can_list: true,
            fault: None,
            running: AtomicU64::new(0),
            most: AtomicU64::new(0),
        }
    }

    async fn wait(&self, key: &str) -> Result<()> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        match self.fault.as_ref().and_then(|fault| fault(key)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tool")
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tool")
    }
}

fn no_writes() -> object_store::Error {
    object_store::Error::NotSupported {
        source: "read only".into(),
    }
}

#[async_trait]
impl ObjectStore for Tool {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(no_writes())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(no_writes())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            self.heads.lock().unwrap().push(location.to_string());
        } else {
            self.gets.fetch_add(1, Ordering::SeqCst);
            self.keys.lock().unwrap().push(location.to_string());
        }
        self.wait(location.as_ref()).await?;
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { Err(no_writes()) }).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        if !self.can_list {
            return futures::stream::once(async { Err(no_writes()) }).boxed();
        }
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.wait(prefix.map_or("", Path::as_ref)).await?;
        if !self.can_list {
            return Err(no_writes());
        }
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(no_writes())
    }
}

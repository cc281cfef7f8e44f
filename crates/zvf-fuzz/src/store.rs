//! Small stores in memory that contain fuzzed bytes, and functions that read all data of a level.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use zvf_format::manifest::Manifest;
use zvf_store::blocking::Runtime;
use zvf_store::{
    CellWant, Class, Endpoint, GridArray, Level, Limits, LinkFamily, Need, OpenOptions, Store,
    StoreError,
};

/// Most cells, records, rows and slots of one kind that are read, because the counts in a store may be wrong.
const WALK: usize = 64;

/// Small limits: fuzzed stores are small, and a larger count in their files is an error at once.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.cell_bytes = 1 << 20;
    limits.batch_bytes = 1 << 24;
    limits.cells_per_query = 1 << 12;
    limits.object_rows = 1 << 12;
    limits.shard_entries = 1 << 12;
    limits
}

/// Runs a future on the runtime that all targets share.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME
        .get_or_init(|| Runtime::new().expect("a runtime"))
        .wait(work)
}

/// Little-endian bytes of numbers.
pub(crate) fn words(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The document of a blob of `length` bytes.
pub(crate) fn blob_document(length: u64, zstd: bool, attributes: Value) -> Value {
    let mut codecs = vec![json!({"name": "bytes"})];
    if zstd {
        codecs.push(json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}}));
    }
    array_document(
        json!([length]),
        &json!([length.max(1)]),
        ("uint8", &json!(0)),
        &codecs,
        attributes,
    )
}

fn array_document(
    shape: Value,
    chunk: &Value,
    (data_type, fill): (&str, &Value),
    codecs: &[Value],
    attributes: Value,
) -> Value {
    json!({"shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": codecs, "attributes": attributes, "zarr_format": 3,
        "node_type": "array", "storage_transformers": []})
}

/// The files of a store of two axes.
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// A root and an empty level 0.
    pub(crate) fn bare(version: &str, kind: &str) -> Self {
        let mut files = Self(BTreeMap::new());
        let axes = json!([{"name": "x", "type": "space"}, {"name": "y", "type": "space"}]);
        let datasets = json!([{"path": "0",
            "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]);
        files.group(
            "",
            json!({
                "zarr_vectors": {"zv_version": version, "chunk_shape": [10.0, 10.0],
                    "bounds": [[0.0, 0.0], [39.0, 9.0]], "geometry_types": [kind], "format_capabilities": []},
                "multiscales": [{"version": "0.4", "name": "default", "axes": axes, "datasets": datasets}],
            }),
        );
        files.group(
            "0",
            json!({"zarr_vectors_level": {"level": 0, "vertex_count": 0, "arrays_present": []}}),
        );
        files
    }

    /// As [`bare`](Self::bare), with two chunks of four vertices and one fragment; each cell is a blob.
    pub(crate) fn blobs(version: &str, kind: &str) -> Self {
        let mut files = Self::bare(version, kind);
        files.group(
            "0/vertices",
            json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}),
        );
        files.group(
            "0/vertex_fragments",
            json!({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}),
        );
        for chunk in ["0.0", "1.0"] {
            files.blob(&format!("0/vertices/{chunk}"), &[1; 32]);
            files.blob(&format!("0/vertex_fragments/{chunk}"), &one_fragment(4));
        }
        files
    }

    pub(crate) fn put(&mut self, key: &str, bytes: Vec<u8>) {
        self.0.insert(key.to_owned(), bytes);
    }

    pub(crate) fn group(&mut self, path: &str, attributes: Value) {
        let key = if path.is_empty() {
            "zarr.json".to_owned()
        } else {
            format!("{path}/zarr.json")
        };
        let document = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
        self.0.insert(key, document.to_string().into_bytes());
    }

    /// A blob with its document.
    pub(crate) fn blob(&mut self, path: &str, bytes: &[u8]) {
        let document = blob_document(bytes.len() as u64, false, json!({}));
        self.put(&format!("{path}/zarr.json"), document.to_string().into());
        if !bytes.is_empty() {
            self.put(&format!("{path}/c/0"), bytes.to_vec());
        }
    }

    /// The document of a plain array of numbers.
    pub(crate) fn array(
        &mut self,
        path: &str,
        data_type: &str,
        fill: Value,
        shape: &[u64],
        chunk: &[u64],
    ) {
        let codecs = [json!({"name": "bytes", "configuration": {"endian": "little"}})];
        let document = array_document(
            json!(shape),
            &json!(chunk),
            (data_type, &fill),
            &codecs,
            json!({}),
        );
        self.put(&format!("{path}/zarr.json"), document.to_string().into());
    }

    /// Opens the store and reads all data of its level.
    ///
    /// # Panics
    ///
    /// When two ways to read the same data disagree.
    pub(crate) fn walk(self) {
        wait(async {
            let Some(store) = open(self.0, limits()).await else {
                return;
            };
            let Ok(level) = store.level(0, &Need::all()).await else {
                return;
            };
            let mut arrays = vec![Arc::clone(level.vertices())];
            arrays.extend(level.vertex_fragments().cloned());
            arrays.extend(
                level
                    .vertex_attributes()
                    .iter()
                    .map(|a| Arc::clone(&a.array)),
            );
            for array in arrays {
                cells(&store, &array).await;
            }
            for family in level.link_families() {
                links(&store, family).await;
            }
            objects(&level).await;
            tables(&level).await;
        });
    }
}

/// Puts files into memory and opens them as a store; `None` if that fails.
pub(crate) async fn open(
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
    limits: Limits,
) -> Option<Store> {
    let memory = Arc::new(InMemory::new());
    for (key, bytes) in files {
        memory
            .put(&Path::from(key), bytes.into())
            .await
            .expect("memory takes everything");
    }
    let backend: Arc<dyn ObjectStore> = memory;
    let options = OpenOptions::new()
        .with_limits(limits)
        .with_object_store(backend);
    Store::open_with("memory:///", options).await.ok()
}

/// A fragment index of one range.
pub(crate) fn one_fragment(rows: i64) -> Vec<u8> {
    let head = [
        0x47, 0x46, 0x56, 0x5a, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ];
    [head.as_slice(), &words(&[0, rows]), &[0; 4]].concat()
}

/// Accepts every error except one of the class misuse, because the calls are valid.
fn sound(error: &StoreError) {
    assert!(
        error.class() != Class::Misuse,
        "reading what a level lists is no misuse: {error}"
    );
}

async fn cells(store: &Store, array: &Arc<GridArray>) {
    let _ = array.check_presence();
    let wants: Vec<CellWant> = array
        .presence()
        .iter()
        .take(WALK)
        .map(|chunk| CellWant::new(array, chunk))
        .collect();
    let mut single = Vec::with_capacity(wants.len());
    for want in &wants {
        single.push(store.fetch(3, vec![want.clone()]).await);
    }
    match store.fetch(3, wants).await {
        Ok(all) => {
            for (one, cell) in single.into_iter().zip(all) {
                let one = one.expect("all cells could be read, so each can");
                assert_eq!(one, [cell], "{}", array.path());
            }
        }
        Err(error) => sound(&error),
    }
}

async fn links(store: &Store, family: &LinkFamily) {
    for (number, array) in family.arrays().iter().enumerate() {
        cells(store, &array.array).await;
        let values: Vec<_> = family
            .attributes()
            .iter()
            .filter_map(|attribute| attribute.arrays.get(number)?.as_ref())
            .collect();
        for values in &values {
            cells(store, values).await;
        }
        for chunk in array.array.presence().iter().take(WALK) {
            let want = CellWant::new(&array.array, chunk);
            let Ok(found) = store.fetch(3, vec![want]).await else {
                continue;
            };
            let Some(Some(bytes)) = found.into_iter().next() else {
                continue;
            };
            let mut ends = Vec::new();
            if array.endpoint_chunks(chunk, &mut ends).is_err() {
                continue;
            }
            assert_eq!(ends.len() % array.chunk_rank().max(1), 0);
            let _ = array.is_copy(&ends);
            let Ok(cell) = array.decode(chunk, &bytes) else {
                continue;
            };
            let mut record = vec![Endpoint::default(); family.width()];
            for i in 0..cell.len().min(WALK) {
                assert!(cell.record(i, &mut record), "a checked record is read");
                for end in &record {
                    assert!(end.row >= 0);
                    assert!((end.which + 1) * array.chunk_rank() <= ends.len());
                }
            }
            assert!(!cell.record(cell.len(), &mut record));
        }
    }
}

async fn objects(level: &Level) {
    let Some(index) = level.object_index() else {
        return;
    };
    if let Ok(ids) = index.ids().await {
        assert_eq!(ids.len(), index.len());
        for slot in 0..ids.len().min(WALK as u64) {
            let _ = ids.slot(ids.id(slot));
        }
    }
    for part in 0..index.manifest_chunks().min(4) {
        let part = match index.manifest_chunk(part).await {
            Ok(part) => part,
            Err(error) => {
                sound(&error);
                continue;
            }
        };
        for slot in (part.first_slot()..).take(part.len().min(WALK)) {
            let blob = part.blob(slot);
            let alone = index.manifests(&[slot]).await.expect("as in its part");
            assert_eq!(alone, [blob]);
            if let Ok(manifest) = Manifest::parse(blob, index.key_rank()) {
                assert!(manifest.fragment_refs().take(WALK).count() <= WALK);
            }
        }
    }
}

async fn tables(level: &Level) {
    for table in level
        .object_attributes()
        .iter()
        .chain(level.group_attributes())
    {
        let values = match table.read().await {
            Ok(values) => values,
            Err(error) => {
                sound(&error);
                continue;
            }
        };
        assert_eq!(values.rows as u64, table.rows());
        assert_eq!(values.bytes.len(), values.rows * values.row_size());
        for row in 0..values.rows.min(WALK) {
            assert!(values.row(row).is_some());
            let _ = values.is_absent(row);
        }
        let end = table.rows().min(WALK as u64);
        let part = table.read_rows(end / 2..end).await.expect("a part of it");
        let size = values.row_size();
        let from = usize::try_from(end / 2).expect("small") * size;
        assert_eq!(
            values.bytes.get(from..from + part.bytes.len()),
            Some(&*part.bytes)
        );
    }
    if let Some(groups) = level.groups() {
        for group in 0..groups.len().min(WALK as u64) {
            if let Err(error) = groups.members(group).await {
                sound(&error);
            }
        }
    }
}

//! Stores in memory, and small tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_store::{CellWant, GridArray, Level, Need, OpenOptions, Store};

/// Files of a store, by key.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn bundled(case: &str) -> Files {
    zvf_testkit::files(case).unwrap()
}

/// Puts files into a backend below `prefix`.
pub(crate) async fn put_all(backend: &dyn ObjectStore, prefix: &str, files: &Files) {
    for (key, bytes) in files {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}/{key}") };
        backend.put(&Path::parse(path).unwrap(), bytes.clone().into()).await.unwrap();
    }
}

pub(crate) async fn memory(files: &Files) -> Arc<dyn ObjectStore> {
    let backend = InMemory::new();
    put_all(&backend, "", files).await;
    Arc::new(backend)
}

pub(crate) async fn open_memory(files: &Files) -> Store {
    let options = OpenOptions::new().with_object_store(memory(files).await);
    Store::open_with("memory:///", options).await.unwrap()
}

/// Every chunk-grid array of a level.
pub(crate) fn grids(level: &Level) -> Vec<Arc<GridArray>> {
    let mut all = vec![Arc::clone(level.vertices())];
    all.extend(level.vertex_fragments().cloned());
    all.extend(level.vertex_attributes().iter().map(|a| Arc::clone(&a.array)));
    all.extend(level.fragment_attributes().iter().map(|a| Arc::clone(&a.array)));
    for family in level.link_families() {
        all.extend(family.arrays().iter().map(|a| Arc::clone(&a.array)));
        all.extend(family.attributes().iter().flat_map(|a| a.arrays.iter().flatten().cloned()));
    }
    all
}

pub(crate) fn all_cells(array: &Arc<GridArray>) -> Vec<CellWant> {
    array.presence().iter().map(|c| CellWant::new(array, c)).collect()
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

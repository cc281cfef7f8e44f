//! Arrays in object stores give the same items, by few requests.

#[cfg(feature = "object_store")]
mod with_store {
    use std::sync::Arc;

    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use zvf_caterva::{Array, ObjectArray, ReadOptions};

    use crate::support::{boxed, folder, numbers, samples, sha};

    #[test]
    fn samples_in_objects() {
        let local: Arc<dyn ObjectStore> =
            Arc::new(LocalFileSystem::new_with_prefix(folder().canonicalize().unwrap()).unwrap());
        futures::executor::block_on(async {
            for sample in samples()
                .into_iter()
                .filter(|sample| !sample["nd"].is_null())
            {
                let name = sample["file"].as_str().unwrap();
                let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
                let path = Path::from(name);
                let store = if sample["layout"] == "contiguous" {
                    let bytes = std::fs::read(folder().join(name)).unwrap();
                    memory.put(&path, bytes.into()).await.unwrap();
                    memory
                } else {
                    let mut listing = std::fs::read_dir(folder().join(name)).unwrap();
                    while let Some(Ok(entry)) = listing.next() {
                        let bytes = std::fs::read(entry.path()).unwrap();
                        let file = path
                            .clone()
                            .join(entry.file_name().to_string_lossy().into_owned());
                        memory.put(&file, bytes.into()).await.unwrap();
                    }
                    let _ = &local;
                    memory
                };
                let array = if sample["layout"] == "contiguous" {
                    ObjectArray::open(store, path).await.unwrap()
                } else {
                    ObjectArray::open_sparse(store, path).await.unwrap()
                };
                assert!(array.counts().reads <= 2, "{name}");
                for slice in sample["slices"].as_array().unwrap() {
                    let shape = array.geometry().shape;
                    let selection =
                        boxed(&numbers(&slice["start"]), &numbers(&slice["stop"]), &shape);
                    let items = array.read(&selection).await.unwrap();
                    assert_eq!(sha(&items), slice["sha256"].as_str().unwrap(), "{name}");
                    let mut again = vec![0; items.len()];
                    let options = ReadOptions {
                        whole_chunk: 0,
                        gap: 0,
                        ..ReadOptions::default()
                    };
                    array
                        .read_into(&selection, &mut again, &options)
                        .await
                        .unwrap();
                    assert_eq!(again, items, "{name}");
                }
                let all = zvf_caterva::Selection::all(&array.geometry().shape).unwrap();
                let wanted = Array::open(folder().join(name))
                    .unwrap()
                    .read_all()
                    .unwrap();
                assert_eq!(array.read(&all).await.unwrap(), wanted, "{name}");
            }
        });
    }
}

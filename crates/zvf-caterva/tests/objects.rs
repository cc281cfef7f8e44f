//! Arrays in object stores give the same items, by few requests.

#[cfg(feature = "object_store")]
mod with_store {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use zvf_caterva::{Array, Error, ObjectArray, ReadOptions, Selection, WriteOptions, Writer};

    use crate::support::{boxed, folder, numbers, samples, sha};

    #[test]
    fn samples_in_objects() {
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
                    // Block by block, in the task that polls, and on the pool, whatever this machine has.
                    for (threads, whole_chunk) in [(0, 0), (1, 64 << 10), (3, 64 << 10)] {
                        let mut again = vec![0; items.len()];
                        let options = ReadOptions {
                            threads,
                            whole_chunk,
                            gap: 0,
                            ..ReadOptions::default()
                        };
                        array
                            .read_into(&selection, &mut again, &options)
                            .await
                            .unwrap();
                        assert_eq!(again, items, "{name}");
                    }
                }
                let all = Selection::all(&array.geometry().shape).unwrap();
                let wanted = Array::open(folder().join(name))
                    .unwrap()
                    .read_all()
                    .unwrap();
                assert_eq!(array.read(&all).await.unwrap(), wanted, "{name}");
            }
        });
    }

    /// A frame of 64 x 64 bytes in chunks of 32 x 32, each byte `first` or more.
    fn frame(first: u8) -> Vec<u8> {
        let items: Vec<u8> = (0..64 * 64).map(|i| first + (i % 3) as u8).collect();
        let options = WriteOptions::new(1, &[32, 32], &[8, 8]).with_codec(None, 0);
        let mut writer = Writer::in_memory(&[64, 64], options).unwrap();
        writer.write_all(&items).unwrap();
        writer.finish().unwrap().unwrap()
    }

    #[test]
    fn another_frame_in_its_place_is_not_mixed_with_the_first_one() {
        futures::executor::block_on(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let path = Path::from("a.b2nd");
            store.put(&path, frame(1).into()).await.unwrap();
            let array = ObjectArray::open(Arc::clone(&store), path.clone())
                .await
                .unwrap();
            let all = Selection::all(&[64, 64]).unwrap();
            assert!(array.read(&all).await.is_ok());
            store.put(&path, frame(100).into()).await.unwrap();
            let error = array.read(&all).await.unwrap_err();
            assert!(matches!(error, Error::Changed { .. }), "{error}");
        });
    }

    #[test]
    fn objects_that_are_cut_are_errors() {
        futures::executor::block_on(async {
            let whole = frame(1);
            // Also where the size of the object is not known from its first bytes.
            let large: Vec<u8> = (0..200_000_u32)
                .map(|i| (i.wrapping_mul(i) >> 7) as u8)
                .collect();
            let options = WriteOptions::new(1, &[70_000], &[700]).with_codec(None, 0);
            let mut writer = Writer::in_memory(&[200_000], options).unwrap();
            writer.write_all(&large).unwrap();
            let large = writer.finish().unwrap().unwrap();
            for (frame, step) in [(whole, 7), (large, 997)] {
                for cut in (0..frame.len()).step_by(step) {
                    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
                    let path = Path::from("a.b2nd");
                    let part = frame.get(..cut).unwrap().to_vec();
                    store.put(&path, part.into()).await.unwrap();
                    assert!(ObjectArray::open(store, path).await.is_err(), "{cut}");
                }
            }
        });
    }

    #[test]
    fn chunks_of_sparse_frames_that_are_cut_are_errors() {
        futures::executor::block_on(async {
            let samples = samples().into_iter();
            let sparse = |sample: &serde_json::Value| {
                sample["layout"] != "contiguous" && !sample["nd"].is_null()
            };
            for sample in samples.filter(sparse) {
                let name = sample["file"].as_str().unwrap();
                let (store, path) = (InMemory::new(), Path::from(name));
                let mut chunk = None;
                for entry in std::fs::read_dir(folder().join(name)).unwrap() {
                    let entry = entry.unwrap();
                    let file = entry.file_name().to_string_lossy().into_owned();
                    let bytes = std::fs::read(entry.path()).unwrap();
                    let object = path.clone().join(file.as_str());
                    store.put(&object, bytes.clone().into()).await.unwrap();
                    if file.ends_with(".chunk") {
                        chunk = Some((object, bytes));
                    }
                }
                let (store, Some((object, bytes))) = (Arc::new(store), chunk) else {
                    continue;
                };
                for cut in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
                    let part = bytes.get(..cut).unwrap().to_vec();
                    store.put(&object, part.into()).await.unwrap();
                    let shared: Arc<dyn ObjectStore> = store.clone();
                    let array = ObjectArray::open_sparse(shared, path.clone())
                        .await
                        .unwrap();
                    let all = Selection::all(&array.geometry().shape).unwrap();
                    assert!(array.read(&all).await.is_err(), "{name} {cut}");
                }
            }
        });
    }

    #[test]
    fn reads_can_move_between_threads() {
        fn movable<T: Send>(task: T) -> T {
            task
        }
        futures::executor::block_on(async {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let path = Path::from("a.b2nd");
            store.put(&path, frame(1).into()).await.unwrap();
            let array = movable(ObjectArray::open(store, path)).await.unwrap();
            let all = Selection::all(&[64, 64]).unwrap();
            assert_eq!(movable(array.read(&all)).await.unwrap().len(), 64 * 64);
        });
    }
}

//! Arrays in object stores give the same items, with few requests.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_caterva::{Array, Error, Frame, ReadOptions, Selection, WriteOptions, Writer};
use zvf_io::{FileLocation, IoError, IoOptions, IoTrace, ObjectLocation, blocking};

use crate::support::{boxed, folder, numbers, samples, sha};

/// A location in a bucket.
fn place(store: &Arc<InMemory>, name: &str, trace: &IoTrace) -> ObjectLocation {
    let options = IoOptions::new()
        .with_trace(trace.clone())
        .with_object_store(Arc::clone(store) as Arc<dyn ObjectStore>);
    match FileLocation::resolve(&format!("memory:///{name}"), &options).unwrap() {
        FileLocation::Object(place) => *place,
        FileLocation::Local(path) => panic!("a bucket is not the disk: {}", path.display()),
    }
}

async fn put(store: &InMemory, name: &str, bytes: Vec<u8>) {
    store.put(&Path::from(name), bytes.into()).await.unwrap();
}

/// The array in an object.
async fn open(place: &ObjectLocation) -> Result<Array, Error> {
    let file = place.open().await.unwrap().unwrap();
    blocking(|| Frame::from_source(Box::new(file), 0)?.into_array())
        .await
        .unwrap()
}

/// The array of a sparse frame.
async fn open_sparse(place: &ObjectLocation) -> Result<Array, Error> {
    let head = place.join(Frame::HEAD).open().await.unwrap().unwrap();
    let folder = Box::new(place.folder().unwrap());
    blocking(|| Frame::from_folder(Box::new(head), folder)?.into_array())
        .await
        .unwrap()
}

/// All items of an array.
async fn read_all(array: &Arc<Array>) -> Result<Vec<u8>, Error> {
    let array = Arc::clone(array);
    blocking(move || array.read_all()).await.unwrap()
}

#[tokio::test]
async fn samples_in_objects() {
    for sample in samples()
        .into_iter()
        .filter(|sample| !sample["nd"].is_null())
    {
        let name = sample["file"].as_str().unwrap().to_owned();
        let store = Arc::new(InMemory::new());
        let trace = IoTrace::on();
        let place = place(&store, &name, &trace);
        let array = if sample["layout"] == "contiguous" {
            let bytes = std::fs::read(folder().join(&name)).unwrap();
            put(&store, &name, bytes).await;
            open(&place).await.unwrap()
        } else {
            let mut listing = std::fs::read_dir(folder().join(&name)).unwrap();
            while let Some(Ok(entry)) = listing.next() {
                let bytes = std::fs::read(entry.path()).unwrap();
                let file = format!("{name}/{}", entry.file_name().to_string_lossy());
                put(&store, &file, bytes).await;
            }
            open_sparse(&place).await.unwrap()
        };
        assert!(array.counts().reads <= 2, "{name}");
        assert!(trace.take().len() <= 2, "{name}");
        let work = move || {
            for slice in sample["slices"].as_array().unwrap() {
                let shape = array.geometry().shape;
                let selection = boxed(&numbers(&slice["start"]), &numbers(&slice["stop"]), &shape);
                let items = array.read(&selection).unwrap();
                assert_eq!(sha(&items), slice["sha256"].as_str().unwrap(), "{name}");
                // Block by block, and whole chunks.
                for (threads, whole_chunk) in [(0, 0), (1, 64 << 10), (3, 64 << 10)] {
                    let mut again = vec![0; items.len()];
                    let options = ReadOptions {
                        threads,
                        whole_chunk,
                        gap: 0,
                        ..ReadOptions::default()
                    };
                    array.read_into(&selection, &mut again, &options).unwrap();
                    assert_eq!(again, items, "{name}");
                }
            }
            let wanted = Array::open(folder().join(&name))
                .unwrap()
                .read_all()
                .unwrap();
            assert_eq!(array.read_all().unwrap(), wanted, "{name}");
        };
        blocking(work).await.unwrap();
    }
}

/// A frame with this shape, chunk shape and block shape; not compressed.
fn frame(items: &[u8], shape: &[u64], chunk: &[u64], block: &[u64]) -> Vec<u8> {
    let options = WriteOptions::new(1, chunk, block).with_codec(None, 0);
    let mut writer = Writer::in_memory(shape, options).unwrap();
    writer.write_all(items).unwrap();
    writer.finish().unwrap().unwrap()
}

/// A frame of 64 x 64 bytes in chunks of 32 x 32, each byte `first` or more.
fn small(first: u8) -> Vec<u8> {
    let items: Vec<u8> = (0..64 * 64).map(|i| first + (i % 3) as u8).collect();
    frame(&items, &[64, 64], &[32, 32], &[8, 8])
}

/// A frame of 200000 bytes in chunks of 70000.
fn large(factor: u32) -> Vec<u8> {
    let items: Vec<u8> = (0..200_000_u32)
        .map(|i| (i.wrapping_mul(i).wrapping_mul(factor) >> 7) as u8)
        .collect();
    frame(&items, &[200_000], &[70_000], &[700])
}

#[tokio::test]
async fn another_frame_in_its_place_is_not_mixed_with_the_first_one() {
    let store = Arc::new(InMemory::new());
    put(&store, "a.b2nd", large(1)).await;
    let place = place(&store, "a.b2nd", &IoTrace::off());
    let array = Arc::new(open(&place).await.unwrap());
    assert!(read_all(&array).await.is_ok());
    put(&store, "a.b2nd", large(3)).await;
    match read_all(&array).await.unwrap_err() {
        Error::Io { source, .. } => {
            let error = source.downcast::<IoError>().unwrap();
            assert!(matches!(error, IoError::SourceChanged { .. }), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn blocks_of_a_chunk_are_asked_for_together_and_small_chunks_whole() {
    let store = Arc::new(InMemory::new());
    let trace = IoTrace::on();
    put(&store, "a.b2nd", large(1)).await;
    let place = place(&store, "a.b2nd", &trace);
    let array = open(&place).await.unwrap();
    trace.take();
    // The second chunk is not in the first 64 KiB of the file: its block table, then three of its blocks.
    let work = move || {
        for requests in [4, 3] {
            let axis = zvf_caterva::Axis::new(70_000, 140_000, 30_000);
            let wanted = Selection::new(&[axis], &[200_000]).unwrap();
            array.read(&wanted).unwrap();
            assert_eq!(trace.take().len(), requests);
        }
    };
    blocking(work).await.unwrap();
}

#[tokio::test]
async fn objects_that_are_cut_are_errors() {
    // The large frame's end is not in the first request.
    for (frame, step) in [(small(1), 7), (large(1), 997)] {
        for cut in (1..frame.len()).step_by(step) {
            let store = Arc::new(InMemory::new());
            let part = frame.get(..cut).unwrap().to_vec();
            put(&store, "a.b2nd", part).await;
            let place = place(&store, "a.b2nd", &IoTrace::off());
            assert!(open(&place).await.is_err(), "{cut}");
        }
    }
}

#[tokio::test]
async fn chunks_of_sparse_frames_that_are_cut_are_errors() {
    let samples = samples().into_iter();
    let sparse =
        |sample: &serde_json::Value| sample["layout"] != "contiguous" && !sample["nd"].is_null();
    for sample in samples.filter(sparse) {
        let name = sample["file"].as_str().unwrap();
        let store = Arc::new(InMemory::new());
        let mut chunk = None;
        for entry in std::fs::read_dir(folder().join(name)).unwrap() {
            let entry = entry.unwrap();
            let file = entry.file_name().to_string_lossy().into_owned();
            let bytes = std::fs::read(entry.path()).unwrap();
            let object = format!("{name}/{file}");
            put(&store, &object, bytes.clone()).await;
            if file.ends_with(".chunk") {
                chunk = Some((object, bytes));
            }
        }
        let Some((object, bytes)) = chunk else {
            continue;
        };
        let place = place(&store, name, &IoTrace::off());
        for cut in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let part = bytes.get(..cut).unwrap().to_vec();
            put(&store, &object, part).await;
            let array = Arc::new(open_sparse(&place).await.unwrap());
            assert!(read_all(&array).await.is_err(), "{name} {cut}");
        }
        store.delete(&Path::from(object)).await.unwrap();
        let array = Arc::new(open_sparse(&place).await.unwrap());
        assert!(read_all(&array).await.is_err(), "{name}");
    }
}

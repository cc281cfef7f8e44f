//! Object stores give the same results, with few requests.

use std::io;
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_io::{FileLocation, IoError, IoOptions, IoTrace, Merge, blocking};
use zvf_tet::{
    Axis, Class, DType, DatasetSpec, Error, OpenOptions, Profile, ReadAt, TetFile, TetWriter,
    WriteOptions,
};

use crate::support::{axes, bytes, files, sha256};

/// A bucket with one object. Requests are merged across gaps of at most `gap` bytes.
struct Bucket {
    store: Arc<InMemory>,
    name: String,
    gap: u64,
    most: u64,
    trace: IoTrace,
}

impl Bucket {
    async fn new(name: &str, bytes: Vec<u8>) -> Self {
        let bucket = Self {
            store: Arc::new(InMemory::new()),
            name: name.to_owned(),
            gap: 0,
            most: Merge::BUCKET.most,
            trace: IoTrace::on(),
        };
        bucket.put(bytes).await;
        bucket
    }

    async fn put(&self, bytes: Vec<u8>) {
        let path = Path::parse(&self.name).unwrap();
        self.store.put(&path, bytes.into()).await.unwrap();
    }

    async fn object(&self) -> Option<Box<dyn ReadAt>> {
        let merge = Merge {
            gap: self.gap,
            most: self.most,
        };
        let mut options = IoOptions::new()
            .with_trace(self.trace.clone())
            .with_object_store(Arc::clone(&self.store) as Arc<dyn ObjectStore>);
        options.merge = Some(merge);
        let address = format!("memory:///{}", self.name);
        let FileLocation::Object(place) = FileLocation::resolve(&address, &options).unwrap() else {
            panic!("a bucket is not the disk");
        };
        let file = place.open().await.unwrap()?;
        Some(Box::new(file))
    }

    /// Runs `work` with the opened file on a blocking thread.
    async fn read<T: Send + 'static>(
        &self,
        options: OpenOptions,
        work: impl FnOnce(Result<TetFile, Error>) -> T + Send + 'static,
    ) -> T {
        let object = self.object().await.unwrap();
        blocking(move || work(TetFile::from_source_with(object, options)))
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn good_files_give_the_slices_of_the_manifest() {
    for entry in files("manifest.json") {
        let name = entry["file"].as_str().unwrap().to_owned();
        let mut bucket = Bucket::new(&name, bytes(&name)).await;
        for (threads, gap) in [(1, 0), (3, 1 << 20)] {
            bucket.gap = gap;
            let (entry, name) = (entry.clone(), name.clone());
            let options = OpenOptions::default().with_threads(threads);
            let work = move |file: Result<TetFile, Error>| {
                let file = file.unwrap();
                for (dataset, expected) in file
                    .datasets()
                    .iter()
                    .zip(entry["datasets"].as_array().unwrap())
                {
                    for slice in expected["selections"].as_array().unwrap() {
                        let selection = dataset.select(&axes(&slice["start_stop_step"])).unwrap();
                        let (found, stats) = file.read(dataset, &selection).unwrap();
                        assert_eq!(sha256(&found), slice["le_sha256"], "{name}");
                        assert_eq!(stats.tiles, slice["touched_count"]);
                        if gap > 0 {
                            assert!(stats.requests <= stats.tiles);
                        }
                    }
                }
            };
            bucket.read(options, work).await;
        }
    }
}

#[tokio::test]
async fn a_small_file_is_one_request() {
    let name = "f64_2d_edge_zstd.tet";
    let bucket = Bucket::new(name, bytes(name)).await;
    let work = |file: Result<TetFile, Error>| {
        let file = file.unwrap();
        let grid = file.dataset("grid").unwrap();
        file.read(grid, &grid.all()).unwrap();
        zvf_tet::verify(&Ok(file))
    };
    let report = bucket.read(OpenOptions::default(), work).await;
    assert!(report.is_ok() && report.tiles > 0, "{report:?}");
    assert_eq!(bucket.trace.take().len(), 1);
}

#[tokio::test]
async fn changed_files_get_their_verdict() {
    for entry in files("derived/manifest.json") {
        let name = entry["file"].as_str().unwrap();
        let bucket = Bucket::new(name, bytes(name)).await;
        for profile in [Profile::Strict, Profile::Lenient] {
            let options = OpenOptions::default().with_profile(profile);
            let work = |file: Result<TetFile, Error>| {
                let file = file?;
                for dataset in file.datasets() {
                    file.read(dataset, &dataset.all())?;
                }
                Ok(())
            };
            let judged: Result<(), Error> = bucket.read(options, work).await;
            let refused = entry["verdict"] == "reject"
                || (entry["verdict"] == "reject_strict" && profile == Profile::Strict);
            assert_eq!(judged.is_err(), refused, "{name}");
            if let Err(error) = judged {
                assert_eq!(
                    error.class().map(Class::name),
                    entry["class"].as_str(),
                    "{name}: {error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn neighbouring_tiles_are_one_request() {
    let spec = DatasetSpec::new("a", DType::U8, &[64, 64], &[8, 8]);
    let mut writer = TetWriter::new(
        io::Cursor::new(Vec::new()),
        vec![spec],
        WriteOptions::default(),
    )
    .unwrap();
    let elements: Vec<u8> = (0..4096_u32).map(|n| n as u8).collect();
    writer.write_array(&elements).unwrap();
    let bucket = Bucket::new("a.tet", writer.finish_into().unwrap().into_inner()).await;
    let work = move |file: Result<TetFile, Error>| {
        let file = file.unwrap();
        let dataset = file.dataset("a").unwrap();
        let (all, stats) = file.read(dataset, &dataset.all()).unwrap();
        assert_eq!((all, stats.requests, stats.bytes), (elements, 1, 4096));
        // Two rows of tiles, the middle two of each.
        let middle = dataset
            .select(&[Axis::new(8, 24, 1), Axis::new(24, 40, 1)])
            .unwrap();
        let (_, stats) = file.read(dataset, &middle).unwrap();
        assert_eq!((stats.tiles, stats.requests, stats.bytes), (4, 2, 256));
    };
    bucket.read(OpenOptions::default(), work).await;
}

/// A file of 256 x 8192 numbers in four raw tiles of 2 MiB.
fn large() -> Vec<u8> {
    let spec = DatasetSpec::new("a", DType::U32, &[256, 8192], &[64, 8192]);
    let writer = io::Cursor::new(Vec::new());
    let mut writer = TetWriter::new(writer, vec![spec], WriteOptions::default()).unwrap();
    let elements: Vec<u8> = (0..256 * 8192_u32).flat_map(u32::to_le_bytes).collect();
    writer.write_array(&elements).unwrap();
    writer.finish_into().unwrap().into_inner()
}

#[tokio::test]
async fn another_file_in_its_place_is_not_mixed_with_the_first_one() {
    let bucket = Bucket::new("a.tet", large()).await;
    let object = bucket.object().await.unwrap();
    let open = move || TetFile::from_source(object).unwrap();
    let file = Arc::new(blocking(open).await.unwrap());
    let read = |file: Arc<TetFile>| {
        blocking(move || {
            let dataset = file.dataset("a")?;
            Ok::<_, Error>(file.read(dataset, &dataset.all())?.0.len())
        })
    };
    assert_eq!(
        read(Arc::clone(&file)).await.unwrap().unwrap(),
        256 * 8192 * 4
    );
    let changed = |error: Error| match error {
        Error::Io(error) => error.downcast::<IoError>().ok(),
        _ => None,
    };
    // Replaced by an object of the same length, by a shorter one, and deleted.
    bucket.put(large()).await;
    let error = read(Arc::clone(&file)).await.unwrap().unwrap_err();
    assert!(matches!(
        changed(error),
        Some(IoError::SourceChanged { .. })
    ));
    bucket.put(bytes("empty.tet")).await;
    let error = read(Arc::clone(&file)).await.unwrap().unwrap_err();
    assert!(matches!(
        changed(error),
        Some(IoError::SourceChanged { .. })
    ));
    let path = Path::parse("a.tet").unwrap();
    bucket.store.delete(&path).await.unwrap();
    let error = read(file).await.unwrap().unwrap_err();
    assert!(error.is_io());
    assert!(matches!(
        changed(error),
        Some(IoError::SourceChanged { .. })
    ));
    assert!(bucket.object().await.is_none());
}

#[tokio::test]
async fn a_column_asks_for_little_where_gaps_are_worth_requests() {
    // Four whole tiles, or 64 elements of each. The first 64 KiB of the file came with its first request.
    for (gap, requests, bytes) in [(256 << 10, 4, 4 * 64 * 8192 * 4), (0, 256, 1024)] {
        let mut bucket = Bucket::new("a.tet", large()).await;
        (bucket.gap, bucket.most) = (gap, 0);
        let work = move |file: Result<TetFile, Error>| {
            let file = file.unwrap();
            let dataset = file.dataset("a").unwrap();
            let column = dataset.select(&[Axis::all(256), Axis::at(5)]).unwrap();
            let (found, stats) = file.read(dataset, &column).unwrap();
            let expected = (0..256_u32).flat_map(|row| (row * 8192 + 5).to_le_bytes());
            assert!(expected.eq(found));
            assert_eq!(
                (stats.tiles, stats.requests, stats.bytes),
                (4, requests, bytes)
            );
        };
        bucket.read(OpenOptions::default(), work).await;
    }
}

#[tokio::test]
async fn a_runtime_that_is_gone_is_an_error() {
    let bucket = Bucket::new("a.tet", large()).await;
    let work = move || {
        let other = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let object = other.block_on(bucket.object()).unwrap();
        drop(other);
        TetFile::from_source(object).map(|file| {
            let dataset = file.dataset("a").unwrap();
            file.read(dataset, &dataset.all()).unwrap_err()
        })
    };
    let error = blocking(work).await.unwrap().unwrap();
    assert!(error.to_string().contains("shut down"), "{error}");
}

//! A writer that dies at any of its writes: there is no store, or a complete one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use zvf_query::Query;
use zvf_store::{OpenOptions, Retry, Store};
use zvf_testkit::faults::Dying;
use zvf_write::{
    Batch, Kind, StaleFiles, StoreSpec, StoreWriter, Summary, TargetVersion, WriteError,
    WriteOptions,
};

use crate::support::{ADDRESS, Memory, ask, check_documents};

async fn write(
    (target, shards): (TargetVersion, u64),
    backend: Arc<dyn ObjectStore>,
    stale_files: StaleFiles,
) -> std::result::Result<Summary, WriteError> {
    let mut open = OpenOptions::new().with_object_store(backend);
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    let options = WriteOptions::new()
        .with_open(open)
        .with_stale_files(stale_files)
        .with_threads(1);
    let mut spec = StoreSpec::new(Kind::Graph, [10.0; 2]).with_target(target);
    if shards > 0 {
        spec = spec.with_shard_shape([shards; 2]);
    }
    let mut writer = StoreWriter::create(ADDRESS, spec, options).await?;
    let rows: Vec<f32> = (0..12).flat_map(|n| [n as f32 * 4.0, n as f32]).collect();
    let links: Vec<u64> = (0..11).flat_map(|n| [n, n + 1]).collect();
    writer.push(&Batch::new(rows).with_links(links))?;
    writer.finish().await
}

async fn is_whole(memory: &Memory) {
    check_documents(&memory.files().await);
    let got = ask(&memory.open().await, Query::default()).await;
    assert_eq!(
        (
            got.vertices.num_rows(),
            got.links.map(|links| links.num_rows())
        ),
        (12, Some(11))
    );
}

#[tokio::test]
async fn a_crash_at_every_single_write_leaves_nothing_or_all() {
    for (target, shards) in [
        (TargetVersion::V0_9_2, 0),
        (TargetVersion::V0_9_2, 2),
        (TargetVersion::V0_8_1, 0),
    ] {
        crash_at_every_single_write((target, shards)).await;
    }
}

async fn crash_at_every_single_write(target: (TargetVersion, u64)) {
    let mut committed = 0;
    for through in [false, true] {
        for writes in 1.. {
            let memory = Memory::default();
            let dying = Dying::new(memory.0.clone(), writes, through);
            let done = write(target, Arc::new(dying), StaleFiles::Refuse).await;
            let there = Store::open_with(ADDRESS, memory.open_options())
                .await
                .is_ok();
            match &done {
                Ok(_) => assert!(there),
                // A writer that died during the write of the last document cannot know.
                Err(error) if error.is_committed() => assert!(there),
                Err(_) => {}
            }
            if there {
                committed += 1;
                is_whole(&memory).await;
            } else if memory.files().await.is_empty() {
                write(target, memory.0.clone(), StaleFiles::Refuse)
                    .await
                    .unwrap();
                is_whole(&memory).await;
            } else {
                // The next writer gets an error, and may take over the address.
                let told = write(target, memory.0.clone(), StaleFiles::Refuse)
                    .await
                    .unwrap_err();
                assert!(told.to_string().contains("unfinished"), "{told}");
                write(target, memory.0.clone(), StaleFiles::Remove)
                    .await
                    .unwrap();
                is_whole(&memory).await;
                assert!(!memory.files().await.contains_key("zvf-unfinished.json"));
            }
            if done.is_ok() {
                assert!(writes > 20, "{writes} writes");
                break;
            }
        }
    }
    assert!(committed >= 3);
}

/// A backend that loses the response to the last write once: the writer sends it again and must recognize its own root.
#[tokio::test]
async fn a_lost_answer_to_the_last_write_is_no_other_store() {
    #[derive(Debug)]
    struct Losing {
        inner: Arc<InMemory>,
        lost: AtomicBool,
    }
    impl Losing {
        fn answer_is_lost() -> Error {
            Error::Generic {
                store: "losing",
                source: "the answer was lost".into(),
            }
        }
    }
    impl fmt::Display for Losing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("losing")
        }
    }
    #[async_trait]
    impl ObjectStore for Losing {
        async fn put_opts(
            &self,
            at: &Path,
            payload: PutPayload,
            options: PutOptions,
        ) -> Result<PutResult> {
            let done = self.inner.put_opts(at, payload, options).await?;
            let root = at.as_ref().ends_with("points.zarrvectors/zarr.json");
            if root && !self.lost.swap(true, Ordering::SeqCst) {
                return Err(Self::answer_is_lost());
            }
            Ok(done)
        }
        async fn put_multipart_opts(
            &self,
            _: &Path,
            _: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            Err(Self::answer_is_lost())
        }
        async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
            self.inner.get_opts(at, options).await
        }
        fn delete_stream(
            &self,
            paths: BoxStream<'static, Result<Path>>,
        ) -> BoxStream<'static, Result<Path>> {
            self.inner.delete_stream(paths)
        }
        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.inner.list(prefix)
        }
        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.inner.list_with_delimiter(prefix).await
        }
        async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
            Err(Self::answer_is_lost())
        }
    }
    let memory = Memory::default();
    let losing = Losing {
        inner: memory.0.clone(),
        lost: AtomicBool::new(false),
    };
    let open = OpenOptions::new().with_object_store(Arc::new(losing));
    let options = WriteOptions::new().with_open(open);
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, options).await.unwrap();
    let rows: Vec<f32> = (0..12).flat_map(|n| [n as f32 * 4.0, n as f32]).collect();
    let links: Vec<u64> = (0..11).flat_map(|n| [n, n + 1]).collect();
    writer.push(&Batch::new(rows).with_links(links)).unwrap();
    writer.finish().await.unwrap();
    is_whole(&memory).await;
}

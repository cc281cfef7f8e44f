//! A program that dies at one of its writes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// A backend whose program dies: after so many writes and removals, nothing is answered any more.
#[derive(Debug, Clone)]
pub struct Dying {
    inner: Arc<dyn ObjectStore>,
    /// Writes and removals until it dies, that one included.
    left: Arc<AtomicUsize>,
    /// Whether the write at which it dies still comes through.
    through: bool,
}

impl Dying {
    /// Dies at write or removal number `at`, counted from 1; `through` says whether that one still comes through.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, at: usize, through: bool) -> Self {
        Self {
            inner,
            left: Arc::new(AtomicUsize::new(at)),
            through,
        }
    }

    /// Whether one more write is done; else whether it is the last one and comes through.
    fn change(&self) -> Option<bool> {
        let before = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        match before {
            Err(_) => None,
            Ok(1) => Some(false),
            Ok(_) => Some(true),
        }
    }

    fn dead(&self) -> Error {
        Error::Generic {
            store: "dying",
            source: "the program died".into(),
        }
    }

    fn alive(&self) -> Result<()> {
        if self.left.load(Ordering::SeqCst) == 0 {
            Err(self.dead())
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Dying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dying")
    }
}

#[async_trait]
impl ObjectStore for Dying {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        match self.change() {
            None => Err(self.dead()),
            Some(true) => self.inner.put_opts(at, payload, options).await,
            Some(false) => {
                if self.through {
                    self.inner.put_opts(at, payload, options).await?;
                }
                Err(self.dead())
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(self.dead())
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.alive()?;
        self.inner.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.alive()?;
        self.inner.get_ranges(at, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.change() {
            Some(true) => self.inner.delete_stream(paths),
            _ => Box::pin(futures::stream::once(std::future::ready(Err(self.dead())))),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        match self.change() {
            None => Err(self.dead()),
            Some(true) => self.inner.copy_opts(from, to, options).await,
            Some(false) => {
                if self.through {
                    self.inner.copy_opts(from, to, options).await?;
                }
                Err(self.dead())
            }
        }
    }
}

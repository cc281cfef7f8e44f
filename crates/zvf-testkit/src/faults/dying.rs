//! A backend that fails from one of its writes on, as if the program had been killed there.

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

/// A backend that fails from a given write, copy or removal on, and then also for reads of objects, as if the program had been killed. Listings
/// still succeed. Multipart uploads always fail.
#[derive(Debug, Clone)]
pub struct Dying {
    inner: Arc<dyn ObjectStore>,
    /// Writes, copies and removals up to the one that fails, inclusive.
    left: Arc<AtomicUsize>,
    /// Whether the first write or copy that fails is carried out.
    through: bool,
}

impl Dying {
    /// Fails from write, copy or removal number `at` on, counted from 1. If `through` is true, that write or copy is carried out although it fails; a
    /// removal is not.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, at: usize, through: bool) -> Self {
        Self {
            inner,
            left: Arc::new(AtomicUsize::new(at)),
            through,
        }
    }

    /// Counts one change: true if it succeeds, false if it is the first one that fails; `None` for later ones.
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

//! A backend that fails some requests of one kind, including writes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::rule::{Fault, refusal, reset};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A write that overwrites any object with the key.
    Put,
    /// A write that fails if the object exists.
    PutNew,
    /// A write that replaces a known version of the object.
    Replace,
    /// A copy of an object.
    Copy,
    /// The removal of an object.
    Delete,
    /// A listing.
    List,
    /// A read of an object or a part of it.
    Get,
    /// A read of an object's metadata.
    Head,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// It fails and is not carried out. After a [`Fault::Delay`], it is carried out.
    Before(Fault),
    /// It is carried out, and the connection is reset before the response.
    After,
    /// The connection is reset at once, and the request is carried out after this time.
    Late(Duration),
}

/// A backend that wraps another one and fails requests of one kind.
#[derive(Debug, Clone)]
pub struct Unsteady {
    inner: Arc<dyn ObjectStore>,
    sort: Sort,
    trouble: Trouble,
    /// Which of the requests of this kind fail, counted from 0.
    which: Range<u64>,
    came: Arc<AtomicU64>,
}

impl Unsteady {
    /// Applies `trouble` to the requests of one kind with the numbers `which`, counted from 0. Requests that are sent again count, too.
    #[must_use]
    pub fn new(
        inner: Arc<dyn ObjectStore>,
        sort: Sort,
        trouble: Trouble,
        which: Range<u64>,
    ) -> Self {
        Self {
            inner,
            sort,
            trouble,
            which,
            came: Arc::default(),
        }
    }

    /// How many requests of the kind arrived.
    #[must_use]
    pub fn came(&self) -> u64 {
        self.came.load(Ordering::SeqCst)
    }

    fn meets(&self, sort: Sort) -> bool {
        sort == self.sort
            && self
                .which
                .contains(&self.came.fetch_add(1, Ordering::SeqCst))
    }

    /// Applies the trouble to a request.
    async fn troubled<T: Send + 'static>(
        &self,
        key: &str,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        match &self.trouble {
            Trouble::Before(Fault::Hang) => {
                futures::future::pending::<()>().await;
                Err(reset())
            }
            Trouble::Before(Fault::Delay(by)) => {
                tokio::time::sleep(*by).await;
                work.await
            }
            Trouble::Before(fault) => Err(refusal(fault, key).unwrap_or_else(reset)),
            Trouble::After => {
                work.await?;
                Err(reset())
            }
            Trouble::Late(by) => {
                let by = *by;
                tokio::spawn(async move {
                    tokio::time::sleep(by).await;
                    // The caller already received an error.
                    let _ = work.await;
                });
                Err(reset())
            }
        }
    }
}

impl fmt::Display for Unsteady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unsteady {}", self.inner)
    }
}

fn unsupported() -> Error {
    Error::NotImplemented {
        operation: "another kind of request".to_owned(),
        implementer: "unsteady".to_owned(),
    }
}

#[async_trait]
impl ObjectStore for Unsteady {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let sort = match options.mode {
            PutMode::Overwrite => Sort::Put,
            PutMode::Create => Sort::PutNew,
            PutMode::Update(_) => Sort::Replace,
        };
        if !self.meets(sort) {
            return self.inner.put_opts(at, payload, options).await;
        }
        let (inner, path) = (Arc::clone(&self.inner), at.clone());
        let work = async move { inner.put_opts(&path, payload, options).await };
        self.troubled(at.as_ref(), work).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(unsupported())
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let sort = if options.head { Sort::Head } else { Sort::Get };
        if !self.meets(sort) {
            return self.inner.get_opts(at, options).await;
        }
        let (inner, path) = (Arc::clone(&self.inner), at.clone());
        let work = async move { inner.get_opts(&path, options).await };
        self.troubled(at.as_ref(), work).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let each = move |path: Result<Path>| {
            let this = this.clone();
            async move {
                let path = path?;
                let (inner, at) = (Arc::clone(&this.inner), path.clone());
                let one = async move { Ok(at) };
                let work = async move {
                    let mut done = inner.delete_stream(futures::stream::once(one.boxed()).boxed());
                    done.try_next().await
                };
                match this.meets(Sort::Delete) {
                    true => this.troubled(path.as_ref(), work).await?,
                    false => work.await?,
                };
                Ok(path)
            }
        };
        paths.then(each).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if !self.meets(Sort::List) {
            return self.inner.list(prefix);
        }
        let (this, listing) = (self.clone(), self.inner.list(prefix));
        let work = async move { listing.try_collect::<Vec<_>>().await };
        let all = async move { this.troubled("", work).await };
        let all = all.map_ok(|found| futures::stream::iter(found.into_iter().map(Ok)));
        futures::stream::once(all).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        if !self.meets(Sort::List) {
            return self.inner.list_with_delimiter(prefix).await;
        }
        let (inner, prefix) = (Arc::clone(&self.inner), prefix.cloned());
        let work = async move { inner.list_with_delimiter(prefix.as_ref()).await };
        self.troubled("", work).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        if !self.meets(Sort::Copy) {
            return self.inner.copy_opts(from, to, options).await;
        }
        let (inner, source, path) = (Arc::clone(&self.inner), from.clone(), to.clone());
        let work = async move { inner.copy_opts(&source, &path, options).await };
        self.troubled(to.as_ref(), work).await
    }
}

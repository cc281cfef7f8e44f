//! An object store in memory with ETags of the content, correct conditional requests, and modification times.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

/// How a bucket identifies the version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tags {
    /// By an ETag computed from the content, as in S3, and the modification time.
    #[default]
    Content,
    /// Only by the modification time, as many web servers do.
    Absent,
}

/// A read-only backend in memory.
#[derive(Debug)]
pub struct Bucket {
    objects: RwLock<BTreeMap<String, Stored>>,
    tags: Tags,
}

#[derive(Debug, Clone)]
struct Stored {
    bytes: Bytes,
    tag: String,
    written: DateTime<Utc>,
}

impl Stored {
    fn new(bytes: Vec<u8>, written: DateTime<Utc>) -> Self {
        let tag = format!("\"{:08x}-{:x}\"", crc32c::crc32c(&bytes), bytes.len());
        Self {
            bytes: bytes.into(),
            tag,
            written,
        }
    }
}

impl Bucket {
    /// A bucket of these objects, all written an hour ago.
    #[must_use]
    pub fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let written = Utc::now() - TimeDelta::hours(1);
        let stored = |(key, bytes)| (key, Stored::new(bytes, written));
        Self {
            objects: RwLock::new(files.into_iter().map(stored).collect()),
            tags: Tags::Content,
        }
    }

    /// A bucket with one bundled store at its root.
    ///
    /// # Errors
    ///
    /// As [`files`](crate::files).
    pub fn of(case: &str) -> anyhow::Result<Self> {
        Ok(Self::new(crate::files(case)?))
    }

    /// Sets how versions of objects are identified.
    #[must_use]
    pub fn tags(mut self, tags: Tags) -> Self {
        self.tags = tags;
        self
    }

    /// Writes one object, now.
    pub fn write(&self, key: &str, bytes: Vec<u8>) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(key.to_owned(), Stored::new(bytes, Utc::now()));
    }

    /// Removes one object, if it exists.
    pub fn remove(&self, key: &str) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.remove(key);
    }

    fn meta(&self, key: &str, stored: &Stored) -> Result<ObjectMeta> {
        Ok(ObjectMeta {
            location: Path::parse(key)?,
            last_modified: stored.written,
            size: stored.bytes.len() as u64,
            e_tag: (self.tags == Tags::Content).then(|| stored.tag.clone()),
            version: None,
        })
    }

    /// All objects below a prefix, which ends at a slash.
    fn below(&self, prefix: Option<&Path>) -> Vec<Result<ObjectMeta>> {
        let prefix = match prefix {
            Some(prefix) if !prefix.is_root() => format!("{prefix}/"),
            _ => String::new(),
        };
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix))
            .map(|(key, stored)| self.meta(key, stored))
            .collect()
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bucket in memory")
    }
}

/// The error of every write through the trait: the backends of this module are read-only.
pub(super) fn read_only() -> Error {
    Error::NotSupported {
        source: "this backend is read-only".into(),
    }
}

#[async_trait]
impl ObjectStore for Bucket {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = {
            let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
            objects.get(location.as_ref()).cloned()
        };
        let stored = found.ok_or_else(|| Error::NotFound {
            path: location.to_string(),
            source: "no such object".into(),
        })?;
        let meta = self.meta(location.as_ref(), &stored)?;
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            None => 0..meta.size,
            Some(range) => range.as_range(meta.size).map_err(|source| Error::Generic {
                store: "bucket",
                source: Box::new(source),
            })?,
        };
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let bytes = if options.head {
            Bytes::new()
        } else {
            stored.bytes.slice(at(range.start)..at(range.end))
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(futures::stream::iter([Ok(bytes)]).boxed()),
            meta,
            range,
            attributes: Attributes::default(),
            extensions: object_store::Extensions::default(),
        })
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        futures::stream::iter([Err(read_only())]).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::iter(self.below(prefix)).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let root = Path::default();
        let folder = prefix.unwrap_or(&root);
        let (mut objects, mut prefixes) = (Vec::new(), Vec::new());
        for meta in self.below(prefix) {
            let meta = meta?;
            let mut rest = meta.location.prefix_match(folder).into_iter().flatten();
            let Some(first) = rest.next() else { continue };
            if rest.next().is_none() {
                drop(rest);
                objects.push(meta);
            } else {
                let below = folder.clone().join(first.as_ref());
                if prefixes.last() != Some(&below) {
                    prefixes.push(below);
                }
            }
        }
        prefixes.sort();
        prefixes.dedup();
        Ok(ListResult {
            common_prefixes: prefixes,
            objects,
            extensions: object_store::Extensions::default(),
        })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only())
    }
}

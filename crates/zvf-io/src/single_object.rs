//! Single files, for readers of other formats: [`FileLocation`], and requests of [`Kv`] as an `object_store` backend.
//!
//! Retries, time-outs, limits and the trace are the same as for stores. If a server refuses HEAD, the first byte is requested instead; if it
//! refuses ranges, the whole object, which is kept in memory while it is read.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult,
};

use crate::kv::{Backend, Kv};
use crate::location::{Location, scheme};
use crate::remote::{Got, Part, Remote, Use};
use crate::task::driven;
use crate::versions::{Role, State};
use crate::{Ask, Cap, IoError, IoOptions, Object};

/// One file: on the local disk, or an object.
#[derive(Debug, Clone)]
pub enum FileLocation {
    /// A path of the local disk.
    Local(PathBuf),
    /// An object of an object store, with the retries, time-outs and limits of [`Kv`]. Its errors are [`object_store::Error::Generic`] around a [`IoError`].
    Object(Arc<dyn ObjectStore>, Path),
}

impl FileLocation {
    /// Resolves the address of one file: a path, or a URL of a scheme that is compiled in, with the credentials and options
    /// that a store there would be opened with.
    ///
    /// # Errors
    /// Misuse: no backend knows the address, or it names no file.
    pub fn resolve(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        let bad = |what: &str| IoError::Address {
            url: address.to_owned(),
            what: what.to_owned(),
        };
        // The client of a web server is created for a folder.
        let (base, name) = match scheme(address) {
            Some("http" | "https") => match address.rsplit_once('/') {
                Some((base, name)) if !name.is_empty() && !base.ends_with('/') => (base, name),
                _ => return Err(bad("names no file")),
            },
            _ => (address, ""),
        };
        match Location::resolve(base, options)? {
            Location::Local(path) => Ok(Self::Local(path)),
            Location::Remote {
                store,
                prefix,
                backs,
            } => {
                let key = match (prefix.as_str(), name) {
                    ("", name) => name.to_owned(),
                    (prefix, "") => prefix.to_owned(),
                    (prefix, name) => format!("{prefix}/{name}"),
                };
                let path = Path::parse(key).map_err(|error| bad(&error.to_string()))?;
                let bucket = Location::Remote {
                    store: Arc::clone(&store),
                    prefix: String::new(),
                    backs,
                };
                let steady = SingleObjects::new(Kv::at(bucket, options));
                let store = steady.map_or(store, |steady| Arc::new(steady) as Arc<dyn ObjectStore>);
                Ok(Self::Object(store, path))
            }
        }
    }
}

/// A backend that is only read, with the patience of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SingleObjects(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kv: Kv,
    remote: Remote,
    /// Whether a range was ever answered as one.
    ranges: AtomicBool,
    /// The object that was read whole last, where ranges are not answered.
    whole: Mutex<Option<(String, Got)>>,
}

/// The object does not exist, or has another version.
enum Outcome {
    Got(Got, Range<u64>),
    Absent,
    Changed,
}

impl SingleObjects {
    /// Reads through `kv`; `None` if that is the local disk.
    pub(crate) fn new(kv: Kv) -> Option<Self> {
        let Backend::Remote(remote) = kv.backend() else {
            return None;
        };
        let remote = remote.clone();
        Some(Self(Arc::new(Inner {
            kv,
            remote,
            ranges: AtomicBool::new(false),
            whole: Mutex::default(),
        })))
    }
}

impl Inner {
    fn kept(&self) -> MutexGuard<'_, Option<(String, Got)>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn purpose(&self) -> Use {
        Use {
            cap: Cap::cell(self.kv.limits()),
            role: None,
        }
    }

    async fn answer(&self, key: &str, options: GetOptions) -> Result<Outcome, IoError> {
        let part = match (options.head, options.range) {
            (true, _) => Part::State,
            (false, None) => Part::Bytes(Ask::Whole),
            (false, Some(GetRange::Bounded(range))) => Part::Bytes(Ask::Range(range)),
            (false, Some(GetRange::Suffix(length))) => Part::Bytes(Ask::Suffix(length)),
            (false, Some(GetRange::Offset(_))) => {
                return Err(IoError::misuse("a range without an end"));
            }
        };
        let Some(got) = self.get(key, &part).await? else {
            return Ok(Outcome::Absent);
        };
        // The answer is looked at, too: not every server heeds the condition, or gives the versions it compares.
        if options.if_match.is_some() && options.if_match != got.state.etag {
            return Ok(Outcome::Changed);
        }
        let range = part.of(got.state.size);
        Ok(Outcome::Got(got, range))
    }

    async fn get(&self, key: &str, part: &Part) -> Result<Option<Got>, IoError> {
        if let Some((_, got)) = self.kept().as_ref().filter(|(kept, _)| kept == key) {
            return Ok(Some(piece(got, part)));
        }
        let asked = match part {
            Part::Bytes(Ask::Whole) => Err(false),
            Part::State => match self.send(key, Part::State).await {
                Ok(Some(got)) => Ok(Some(got)),
                Err(error) if error.is_transient() => return Err(error),
                // Some servers refuse HEAD, or answer it as if the object were not there.
                Ok(None) | Err(_) => self.ranged(key, Part::Bytes(Ask::Range(0..1))).await?,
            },
            part => self.ranged(key, part.clone()).await?,
        };
        match asked {
            Ok(got) => Ok(got),
            Err(keep) => self.whole(key, part, keep).await,
        }
    }

    async fn send(&self, key: &str, part: Part) -> Result<Option<Got>, IoError> {
        self.remote.send(&self.kv, key, part, self.purpose()).await
    }

    /// Asks for a range; `Err(true)`: the server sends none.
    async fn ranged(&self, key: &str, part: Part) -> Result<Result<Option<Got>, bool>, IoError> {
        match self.send(key, part).await {
            Ok(got) => {
                let found = got.is_some();
                self.ranges.fetch_or(found, Ordering::Relaxed);
                Ok(Ok(got))
            }
            // One that did before says that the object ends before the range begins.
            Err(error @ IoError::NotSupported { .. }) => {
                match self.ranges.load(Ordering::Relaxed) {
                    true => Err(error),
                    false => Ok(Err(true)),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Reads an object whole, once for all who want it at one time.
    async fn whole(&self, key: &str, part: &Part, keep: bool) -> Result<Option<Got>, IoError> {
        let cap = Cap::cell(self.kv.limits());
        let work = self
            .remote
            .get(&self.kv, key, Ask::Whole, cap, Role::Content);
        let Some(object) = work.await? else {
            return Ok(None);
        };
        let state = State {
            etag: object.etag.clone(),
            modified: 0,
            size: object.size,
        };
        let got = Got { object, state };
        let asked = piece(&got, part);
        if keep {
            *self.kept() = Some((key.to_owned(), got));
        }
        Ok(Some(asked))
    }
}

/// Part of a whole object.
fn piece(got: &Got, part: &Part) -> Got {
    let range = part.of(got.state.size);
    let start = range.start;
    let ask = Ask::Range(range);
    let object = Object {
        start,
        ..got.object.clone().part(&ask)
    };
    Got {
        object,
        state: got.state.clone(),
    }
}

/// The corresponding error of a backend.
fn said(error: IoError) -> Error {
    Error::Generic {
        store: "zvf",
        source: Box::new(error),
    }
}

fn read_only(operation: &str) -> Error {
    Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "a reader of single objects".to_owned(),
    }
}

impl fmt::Display for SingleObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.remote.store)
    }
}

#[async_trait::async_trait]
impl ObjectStore for SingleObjects {
    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let (inner, key) = (Arc::clone(&self.0), location.as_ref().to_owned());
        let outcome = driven(async move { inner.answer(&key, options).await }).await;
        match outcome.map_err(said)? {
            Outcome::Absent => Err(Error::NotFound {
                path: location.to_string(),
                source: "no such object".into(),
            }),
            Outcome::Changed => Err(Error::Precondition {
                path: location.to_string(),
                source: "the object has another version".into(),
            }),
            Outcome::Got(got, range) => {
                let bytes = got.object.bytes;
                Ok(GetResult {
                    payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
                    meta: ObjectMeta {
                        location: location.clone(),
                        last_modified: Default::default(),
                        size: got.state.size,
                        e_tag: got.state.etag,
                        version: None,
                    },
                    range,
                    attributes: Default::default(),
                    extensions: Default::default(),
                })
            }
        }
    }

    async fn put_opts(
        &self,
        _: &Path,
        _: PutPayload,
        _: PutOptions,
    ) -> object_store::Result<PutResult> {
        Err(read_only("put"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        Err(read_only("put"))
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        stream::iter([Err(read_only("delete"))]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        stream::iter([Err(read_only("list"))]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> object_store::Result<ListResult> {
        Err(read_only("list"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> object_store::Result<()> {
        Err(read_only("copy"))
    }
}

//! Single files of other formats: [`FileLocation`], [`ObjectLocation`], and an object as a [`ReadAt`].
//!
//! Retries, time-outs, limits and the trace work as for stores.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};
use object_store::path::Path;
use tokio::runtime::Handle;
use zvf_grid::int::wide;
use zvf_sys::{ReadAt, ReadFolder, RequestCost};

use crate::kv::{Backend, Kv};
use crate::location::{Location, parsed, scheme};
use crate::remote::{Got, Remote, SaveProgress, Use, WantedPart};
use crate::task::{driven, runtime};
use crate::versions::{ReportedState, changed};
use crate::{Ask, Cap, IoError, IoOptions};

/// Bytes of the first request for an object, and bytes that the first request at its end should include.
const AHEAD: u64 = 64 << 10;

/// One file: on the local disk, or an object.
#[derive(Debug, Clone)]
pub enum FileLocation {
    /// A path of the local disk, which [`zvf_sys::FileAt`] reads.
    Local(PathBuf),
    /// An object of a bucket or web server.
    Object(Box<ObjectLocation>),
}

impl FileLocation {
    /// Resolves the address of one file: a path, or a URL of a scheme that is compiled in. Credentials and options apply as for a store at
    /// that address. Sends no request.
    ///
    /// # Errors
    /// Misuse: no backend supports the address, or it does not name a file.
    pub fn resolve(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        let bad = |what: &str| IoError::Address {
            url: address.to_owned(),
            what: what.to_owned(),
        };
        // The client of a web server is created for a folder, with the query of the address, and escapes the name again.
        let (base, name) = match scheme(address) {
            Some("http" | "https") => {
                let mut url = parsed(address)?;
                let names = url.path().rsplit_once('/');
                let (above, name) = names.map_or(("", ""), |(above, name)| (above, name));
                if name.is_empty() || above.ends_with('/') {
                    return Err(bad(
                        "found no name after the last slash, expected that of a file",
                    ));
                }
                let name = Path::from_url_path(name).map_err(|e| bad(&e.to_string()))?;
                let above = above.to_owned();
                url.set_path(&above);
                (url.to_string(), String::from(name))
            }
            _ => (address.to_owned(), String::new()),
        };
        match Location::resolve(&base, options)? {
            Location::Local(path) => Ok(Self::Local(path)),
            Location::Remote {
                store,
                prefix,
                backs,
            } => {
                let key = match (prefix.as_str(), name.as_str()) {
                    ("", _) => name,
                    (_, "") => prefix,
                    (prefix, name) => format!("{prefix}/{name}"),
                };
                let bucket = Location::Remote {
                    store,
                    prefix: String::new(),
                    backs,
                };
                let kv = Kv::at(bucket, options);
                let Backend::Remote(remote) = kv.backend().clone() else {
                    return Ok(Self::Local(PathBuf::from(address)));
                };
                remote.path(&key)?;
                Ok(Self::Object(Box::new(ObjectLocation { kv, remote, key })))
            }
        }
    }
}

/// The location of an object, or of a folder of objects. Cheap to clone; clones share limits and the trace.
#[derive(Debug, Clone)]
pub struct ObjectLocation {
    kv: Kv,
    remote: Remote,
    key: String,
}

impl ObjectLocation {
    /// An object below this location.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self {
            key: format!("{}/{name}", self.key),
            ..self.clone()
        }
    }

    /// The last part of its key: the name at the end of the URL, without escapes.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or(&self.key)
    }

    /// Opens the object with a request for its first 64 KiB; `None` if it does not exist. If the server does not support ranges, the whole
    /// object is read into memory.
    ///
    /// # Errors
    /// I/O; limit: an object that is read whole and has more than [`Limits::cell_bytes`](crate::Limits::cell_bytes) bytes; misuse: no
    /// tokio runtime is running.
    pub fn open(&self) -> BoxFuture<'_, Result<Option<ObjectFile>, IoError>> {
        Box::pin(async move {
            let file = self.file(runtime()?);
            let inner = Arc::clone(&file.inner);
            let found = driven(async move { inner.first().await.map(|first| first.is_some()) });
            Ok(found.await?.then_some(file))
        })
    }

    /// As [`open`](Self::open), but never reads the whole object.
    ///
    /// # Errors
    /// I/O; [`IoError::NotSupported`] if the server does not support ranges; misuse: no tokio runtime is running.
    pub fn open_ranges(&self) -> BoxFuture<'_, Result<Option<ObjectFile>, IoError>> {
        Box::pin(async move {
            let file = self.file(runtime()?);
            let inner = Arc::clone(&file.inner);
            let found = driven(async move { inner.start().await.map(|first| first.is_some()) });
            Ok(found.await?.then_some(file))
        })
    }

    /// Reads the whole object into memory; `None` if it does not exist.
    ///
    /// # Cost
    /// One request.
    ///
    /// # Errors
    /// I/O; limit: more bytes than `cap` allows. Reading stops at the limit.
    pub fn read(&self, cap: Cap) -> BoxFuture<'_, Result<Option<Bytes>, IoError>> {
        let Self { kv, remote, key } = self.clone();
        let purpose = Use { cap, role: None };
        let part = WantedPart::Bytes(Ask::Whole);
        let read = async move { remote.send(&kv, &key, part, purpose).await };
        let read = driven(read);
        Box::pin(async move { Ok(read.await?.map(|got| got.object.bytes)) })
    }

    /// Writes the whole object to a file, from the file's start; returns the number of bytes, or `None` if the object does not exist.
    /// `progress` is called after each piece of the answer.
    ///
    /// # Cost
    /// One request, which is restarted after a failure; one piece of the answer is in memory.
    ///
    /// # Errors
    /// I/O, of the server or of the file.
    pub fn save(
        &self,
        file: File,
        progress: SaveProgress,
    ) -> BoxFuture<'_, Result<Option<u64>, IoError>> {
        let Self { kv, remote, key } = self.clone();
        let save = async move { remote.save(&kv, &key, &file, &progress).await };
        Box::pin(driven(save))
    }

    /// The objects below this location. The first read of an object sends the first request for it.
    ///
    /// # Errors
    /// Misuse: no tokio runtime is running.
    pub fn folder(&self) -> Result<ObjectFolder, IoError> {
        Ok(ObjectFolder {
            place: self.clone(),
            runtime: runtime()?,
        })
    }

    fn file(&self, runtime: Handle) -> ObjectFile {
        let inner = SingleObjectInner {
            place: self.clone(),
            version: OnceLock::new(),
        };
        ObjectFile {
            inner: Arc::new(inner),
            runtime,
        }
    }
}

/// Objects below a common location, by name. Created by [`ObjectLocation::folder`].
#[derive(Debug)]
pub struct ObjectFolder {
    place: ObjectLocation,
    runtime: Handle,
}

impl ReadFolder for ObjectFolder {
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        Ok(Box::new(self.place.join(name).file(self.runtime.clone())))
    }
}

/// One version of one object, for blocking readers. Created by [`ObjectLocation::open`].
///
/// The first answer determines the version; a later answer with another version is [`IoError::SourceChanged`]. Errors of [`ReadAt`] are an
/// [`io::Error`] that contains an [`IoError`].
///
/// # Blocking
/// The runtime in which the object was opened sends the requests, and the methods of this type wait for them. Call them on a blocking thread
/// ([`blocking`](crate::blocking)), never in a task.
#[derive(Debug)]
pub struct ObjectFile {
    inner: Arc<SingleObjectInner>,
    runtime: Handle,
}

#[derive(Debug)]
struct SingleObjectInner {
    place: ObjectLocation,
    version: OnceLock<PinnedObject>,
}

/// The version that is read and, if they were read, its first bytes: all bytes if the server does not support ranges.
#[derive(Debug)]
struct PinnedObject {
    state: ReportedState,
    front: Option<Bytes>,
}

impl PinnedObject {
    /// Fails if the answer has another version.
    fn check(&self, key: &str, now: &ReportedState) -> Result<(), IoError> {
        let same = match (&self.state.etag, &now.etag) {
            // Servers without ETags usually state the time of the last change.
            (None, None) => self.state.modified == now.modified,
            (None, _) => true,
            (first, now) => first == now,
        };
        match same && self.state.size == now.size {
            true => Ok(()),
            false => Err(changed(key, &self.state, now)),
        }
    }

    /// A range, if it is within the first bytes.
    fn kept(&self, range: &Range<u64>) -> Option<&[u8]> {
        let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
        self.front.as_deref()?.get(start.ok()?..end.ok()?)
    }
}

impl SingleObjectInner {
    /// The version, which the first call requests along with the first bytes; `None` if the object does not exist.
    async fn first(&self) -> Result<Option<&PinnedObject>, IoError> {
        if let Some(version) = self.version.get() {
            return Ok(Some(version));
        }
        match self.start().await {
            // The server does not support ranges, or the object is empty.
            Err(IoError::NotSupported { .. }) => {
                let got = self.send(WantedPart::Bytes(Ask::Whole)).await?;
                self.begin(got)
            }
            answer => answer,
        }
    }

    /// As [`first`](Self::first), but only with a range request.
    async fn start(&self) -> Result<Option<&PinnedObject>, IoError> {
        let got = self.send(WantedPart::Bytes(Ask::Range(0..AHEAD))).await?;
        self.begin(got)
    }

    /// Takes the version from an answer; fails if another answer had another version.
    fn begin(&self, got: Option<Got>) -> Result<Option<&PinnedObject>, IoError> {
        let Some(Got { object, state }) = got else {
            return Ok(None);
        };
        let found = state.clone();
        let version = self.version.get_or_init(|| PinnedObject {
            state,
            front: Some(object.bytes),
        });
        version.check(&self.place.key, &found)?;
        Ok(Some(version))
    }

    async fn send(&self, part: WantedPart) -> Result<Option<Got>, IoError> {
        let ObjectLocation { kv, remote, key } = &self.place;
        let purpose = Use {
            cap: Cap::cell(kv.limits()),
            role: None,
        };
        remote.send(kv, key, part, purpose).await
    }

    /// One range, which must be inside the object.
    async fn range(&self, range: Range<u64>) -> Result<Bytes, IoError> {
        let key = &self.place.key;
        let got = match self
            .send(WantedPart::Bytes(Ask::Range(range.clone())))
            .await
        {
            // No range request has succeeded so far, so the server may not support them.
            Err(IoError::NotSupported { .. }) if self.version.get().is_none() => {
                let version = self.first().await?.ok_or_else(|| self.missing())?;
                let kept = version.kept(&range).map(Bytes::copy_from_slice);
                return kept.ok_or_else(|| changed(key, &version.state, &"shorter"));
            }
            // The range is inside the known version, so the object was replaced by a shorter one.
            Err(IoError::NotSupported { .. }) => None,
            answer => answer?,
        };
        let Got { object, state } = got.ok_or_else(|| self.missing())?;
        let found = state.clone();
        let version = self
            .version
            .get_or_init(|| PinnedObject { state, front: None });
        version.check(key, &found)?;
        match wide(object.bytes.len()) == range.end.saturating_sub(range.start) {
            true => Ok(object.bytes),
            false => Err(changed(key, &"longer", &version.state)),
        }
    }

    #[cold]
    fn missing(&self) -> IoError {
        let key = &self.place.key;
        match self.version.get() {
            Some(version) => changed(key, &version.state, &"shorter or gone"),
            None => IoError::file(key, io::ErrorKind::NotFound.into()),
        }
    }
}

impl ObjectFile {
    /// Blocks until the runtime has sent the requests.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, IoError>> + Send + 'static,
    ) -> io::Result<T> {
        let (to, answer) = std::sync::mpsc::sync_channel(1);
        // The answer is dropped if the caller no longer waits.
        self.runtime.spawn(async move { drop(to.send(work.await)) });
        let stopped = || IoError::misuse("the runtime was shut down while the object was read");
        let answer = answer.recv().unwrap_or_else(|_| Err(stopped()));
        answer.map_err(io::Error::other)
    }
}

impl ReadAt for ObjectFile {
    fn size(&self) -> io::Result<u64> {
        if let Some(version) = self.inner.version.get() {
            return Ok(version.state.size);
        }
        let inner = Arc::clone(&self.inner);
        self.wait(async move {
            let first = inner.first().await?;
            Ok(first.ok_or_else(|| inner.missing())?.state.size)
        })
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_all(&mut [(at, out)])
    }

    fn read_all(&self, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let version = self.inner.version.get();
        let (mut missing, mut ranges) = (Vec::new(), Vec::new());
        for (at, out) in parts.iter_mut().filter(|(_, out)| !out.is_empty()) {
            let end = at.checked_add(wide(out.len()));
            let most = version.map_or(u64::MAX, |version| version.state.size);
            let end = end.filter(|end| *end <= most);
            let range = *at..end.ok_or(io::ErrorKind::UnexpectedEof)?;
            match version.and_then(|version| version.kept(&range)) {
                Some(kept) => out.copy_from_slice(kept),
                None => {
                    missing.push(out);
                    ranges.push(range);
                }
            }
        }
        if ranges.is_empty() {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let got = self.wait(async move {
            try_join_all(ranges.into_iter().map(|range| inner.range(range))).await
        })?;
        for (out, bytes) in missing.into_iter().zip(got) {
            out.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn requests(&self) -> Option<RequestCost> {
        Some(RequestCost {
            merge: self.inner.place.kv.merge(),
            ahead: AHEAD,
        })
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::FileLocation;
    use crate::IoOptions;

    #[test]
    fn names_of_web_servers_are_decoded() {
        let options = IoOptions::new();
        for (address, name) in [
            ("http://host/a/sub-7.csv", "sub-7.csv"),
            ("http://host/a/sub%207.csv", "sub 7.csv"),
            ("http://host/a%20b/sub 7.csv", "sub 7.csv"),
            ("https://host/%C3%BC.csv", "\u{fc}.csv"),
            ("http://host/100%25%23.csv", "100%#.csv"),
            ("http://host/a/b.csv?signature=1/2", "b.csv"),
        ] {
            match FileLocation::resolve(address, &options).unwrap() {
                FileLocation::Object(place) => assert_eq!(place.name(), name, "{address}"),
                FileLocation::Local(path) => panic!("{}", path.display()),
            }
        }
        for address in ["http://host", "http://host/a/", "http://host/a//b.csv"] {
            let error = FileLocation::resolve(address, &options).unwrap_err();
            assert!(error.to_string().contains("no name"), "{error}");
        }
        let error = FileLocation::resolve("http://host/a.csv#1", &options).unwrap_err();
        assert!(error.to_string().contains("%23"), "{error}");
    }
}

//! Requests to an `object_store` backend.

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    Attribute, Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::classify::{Failure, sort};
use crate::context::Context;
use crate::error::CELL_BYTES;
use crate::location::Backs;
use crate::overlay::placed;
use crate::retry::{Tries, transfer};
use crate::single_flight::SingleFlight;
use crate::versions::{ReportedState, SnapshotRole};
use crate::{Ask, Cap, IoError, IoOptions, Method, Object, Overlay, Question, Reply, Retry};
use zvf_grid::int::wide;

/// Called after each piece of a download, with the number of bytes saved so far and, if the server states it, the length of the
/// object. After a failure that is retried, the number starts at 0 again.
pub type SaveProgress = Arc<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// A prefix of an object store.
#[derive(Debug, Clone)]
pub struct Remote {
    pub(crate) store: Arc<dyn ObjectStore>,
    prefix: Arc<str>,
    shared: Arc<RemoteState>,
    retry: Retry,
    silence: std::time::Duration,
    /// The replacements of an unfinished edit.
    overlay: Option<Arc<Overlay>>,
}

/// The detected features of a backend, and the pending requests.
#[derive(Debug)]
struct RemoteState {
    can: Can,
    /// By key, part, cap, and the snapshot that notes the state of the object: another snapshot may have seen another state.
    objects: SingleFlight<(String, Ask, u64, usize), Option<Object>>,
    names: SingleFlight<Question, Option<Vec<String>>>,
    connections: Arc<Connections>,
}

/// Most concurrent requests to a server that closes each connection after its answer. Such servers are simple ones, like Python's `http.server`, whose
/// queue of new connections holds five: further connections are dropped without an error, and their clients wait for seconds.
const NEW_CONNECTIONS: usize = 4;

/// How the connections of a server end.
#[derive(Debug)]
struct Connections {
    /// Whether an answer ended its connection.
    close: AtomicBool,
    new: Arc<Semaphore>,
}

impl Connections {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            close: AtomicBool::new(false),
            new: Arc::new(Semaphore::new(NEW_CONNECTIONS)),
        })
    }

    /// Notes whether the server closes the connection of an answer.
    fn note(&self, result: &GetResult) {
        #[cfg(feature = "http")]
        if result
            .extensions
            .get::<crate::web_answers::Closes>()
            .is_some()
        {
            self.close.store(true, Ordering::Relaxed);
        }
        #[cfg(not(feature = "http"))]
        let _ = (self, result);
    }
}

/// The permission to send one request.
#[derive(Debug)]
pub(crate) struct Turn {
    _slot: OwnedSemaphorePermit,
    _connection: Option<OwnedSemaphorePermit>,
}

/// The features of a backend. A missing feature is detected by the first refusal.
#[derive(Debug)]
struct Can {
    list: AtomicBool,
    suffix: AtomicBool,
    range: AtomicBool,
    /// Whether a HEAD request has found an object. Unlike the others, this is false until it is known.
    head: AtomicBool,
}

/// The part of an object that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedPart {
    /// Only its state.
    State,
    Bytes(Ask),
}

impl WantedPart {
    /// Offset and length for the trace.
    fn traced(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::State => (None, None),
            Self::Bytes(ask) => ask.traced(),
        }
    }

    fn options(&self) -> GetOptions {
        let options = GetOptions::new();
        match self {
            Self::State => options.with_head(true),
            Self::Bytes(Ask::Whole) => options,
            Self::Bytes(Ask::Prefix(n)) => options.with_range(Some(GetRange::Bounded(0..*n))),
            Self::Bytes(Ask::Suffix(n)) => options.with_range(Some(GetRange::Suffix(*n))),
            Self::Bytes(Ask::Range(r)) => options.with_range(Some(GetRange::Bounded(r.clone()))),
        }
    }

    /// The bytes that the answer must contain, for an object of `size` bytes.
    pub(crate) fn of(&self, size: u64) -> Range<u64> {
        match self {
            Self::State => 0..0,
            Self::Bytes(ask) => ask.of(size),
        }
    }
}

/// The received object, or part of it, and its state.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) object: Object,
    pub(crate) state: ReportedState,
}

/// The purpose of an answer: its limit, and its role in the snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) cap: Cap,
    pub(crate) role: Option<SnapshotRole>,
}

impl Remote {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: String,
        backs: Backs,
        options: &IoOptions,
    ) -> Self {
        let can = Can {
            list: AtomicBool::new(backs.lists),
            suffix: AtomicBool::new(backs.suffixes),
            range: AtomicBool::new(true),
            head: AtomicBool::new(false),
        };
        Self {
            store,
            prefix: prefix.into(),
            shared: Arc::new(RemoteState {
                can,
                objects: SingleFlight::default(),
                names: SingleFlight::default(),
                connections: Connections::new(),
            }),
            retry: options.retry,
            silence: options.request_timeout,
            overlay: None,
        }
    }

    /// The same prefix under an overlay, with pending requests of its own.
    pub(crate) fn under(&self, overlay: Overlay) -> Self {
        let shared = RemoteState {
            can: Can {
                list: AtomicBool::new(self.lists()),
                suffix: AtomicBool::new(self.shared.can.suffix.load(Ordering::Relaxed)),
                range: AtomicBool::new(self.shared.can.range.load(Ordering::Relaxed)),
                head: AtomicBool::new(self.had_head()),
            },
            objects: SingleFlight::default(),
            names: SingleFlight::default(),
            connections: Arc::clone(&self.shared.connections),
        };
        Self {
            shared: Arc::new(shared),
            overlay: Some(Arc::new(overlay)),
            ..self.clone()
        }
    }

    /// The backend's path of the object that is read for `key`; `None` if the object is removed.
    fn place(&self, key: &str) -> Result<Option<Path>, IoError> {
        let key = placed(self.overlay(), key);
        key.map(|key| self.path(&key)).transpose()
    }

    /// The overlay through which objects are read.
    pub(crate) fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    /// Whether listings are supported, as far as is known.
    pub(crate) fn lists(&self) -> bool {
        self.shared.can.list.load(Ordering::Relaxed)
    }

    /// Records that listings are refused.
    pub(crate) fn cannot_list(&self) {
        self.shared.can.list.store(false, Ordering::Relaxed);
    }

    /// Waits until a request may be sent.
    ///
    /// # Errors
    /// I/O: the work was cancelled.
    pub(crate) async fn turn(&self, context: &Context) -> Result<Turn, IoError> {
        let slot = context.slot().await?;
        let connections = &self.shared.connections;
        let connection = match connections.close.load(Ordering::Relaxed) {
            true => Arc::clone(&connections.new).acquire_owned().await.ok(),
            false => None,
        };
        Ok(Turn {
            _slot: slot,
            _connection: connection,
        })
    }

    pub(crate) fn tries(&self) -> Tries {
        Tries::new(self.retry, self.silence)
    }

    /// The backend's path of a key. `Path::parse` keeps every character; `Path::from` would escape some.
    pub(crate) fn path(&self, key: &str) -> Result<Path, IoError> {
        let full = match (self.prefix.is_empty(), key.is_empty()) {
            (true, _) => Path::parse(key),
            (false, true) => Path::parse(&self.prefix),
            (false, false) => Path::parse(format!("{}/{key}", self.prefix)),
        };
        full.map_err(|e| IoError::misuse(format!("{key:?} cannot be a key: {e}")))
    }

    /// Whether a HEAD request has found an object.
    pub(crate) fn had_head(&self) -> bool {
        self.shared.can.head.load(Ordering::Relaxed)
    }

    /// Notes that a HEAD request has found an object.
    pub(crate) fn has_head(&self) {
        self.shared.can.head.store(true, Ordering::Relaxed);
    }

    /// Reads an object or part of it; identical concurrent requests of one snapshot are sent once.
    pub(crate) async fn get(
        &self,
        context: &Context,
        key: &str,
        ask: Ask,
        cap: Cap,
        role: SnapshotRole,
    ) -> Result<Option<Object>, IoError> {
        let id = (key.to_owned(), ask.clone(), cap.most, context.snapshot());
        let purpose = Use {
            cap,
            role: Some(role),
        };
        // Boxed: each enclosing future would contain its size twice, and all of them are on one stack.
        let work = Box::pin(self.get_alone(context, key, &ask, purpose));
        self.shared.objects.share(id, work).await
    }

    /// Reads an object or part of it in a form that the backend supports.
    async fn get_alone(
        &self,
        context: &Context,
        key: &str,
        ask: &Ask,
        purpose: Use,
    ) -> Result<Option<Object>, IoError> {
        let can = &self.shared.can;
        let object = |got: Option<Got>| got.map(|got| got.object);
        if let Ask::Suffix(length) = ask {
            if can.suffix.load(Ordering::Relaxed) {
                let part = WantedPart::Bytes(ask.clone());
                match self.send(context, key, part, purpose).await {
                    Err(IoError::NotSupported { .. }) => {
                        can.suffix.store(false, Ordering::Relaxed);
                    }
                    other => return other.map(object),
                }
            }
            let head = match can.range.load(Ordering::Relaxed) {
                true => self.send(context, key, WantedPart::State, purpose).await,
                false => Ok(None),
            };
            let size = match head {
                Ok(head) => head.map_or(0, |head| head.state.size),
                // All attempts failed; a GET would fail in the same way.
                Err(error) if error.is_transient() => return Err(error),
                // A server that does not answer HEAD may answer GET.
                Err(_) => 0,
            };
            if size > 0 {
                let range = size.saturating_sub(*length)..size;
                match self
                    .send(context, key, WantedPart::Bytes(Ask::Range(range)), purpose)
                    .await
                {
                    Err(IoError::NotSupported { .. }) => {
                        can.range.store(false, Ordering::Relaxed);
                    }
                    other => return other.map(object),
                }
            }
        }
        if matches!(ask, Ask::Range(_) | Ask::Prefix(_)) && can.range.load(Ordering::Relaxed) {
            let part = WantedPart::Bytes(ask.clone());
            match self.send(context, key, part, purpose).await {
                // The object may also end before the range begins; reading the whole object shows this.
                Err(IoError::NotSupported { .. }) => {}
                other => return other.map(object),
            }
        }
        let got = self
            .send(context, key, WantedPart::Bytes(Ask::Whole), purpose)
            .await?;
        // The object could only be read as a whole, so ranges are no longer requested, unless it is just too short for this range.
        let short = got.as_ref().is_some_and(|got| match ask {
            Ask::Range(range) => range.start >= got.state.size,
            _ => got.state.size == 0,
        });
        if *ask != Ask::Whole && !short && got.is_some() {
            can.range.store(false, Ordering::Relaxed);
        }
        Ok(object(got).map(|object| object.part(ask)))
    }

    /// Sends one request, with retries. `None` if the object does not exist.
    pub(crate) async fn send(
        &self,
        context: &Context,
        key: &str,
        part: WantedPart,
        purpose: Use,
    ) -> Result<Option<Got>, IoError> {
        let Some(path) = self.place(key)? else {
            return Ok(None);
        };
        let mut tries = self.tries();
        // The slot is kept between attempts, because queueing again among thousands of failing requests would exceed the deadline.
        let _turn = self.turn(context).await?;
        loop {
            tries.made = tries.made.saturating_add(1);
            let start = context.trace().start();
            let result = self
                .once(context, key, &path, &part, purpose, &mut tries)
                .await;
            let came = result.as_ref();
            let came = came.map(|got| got.as_ref().map(|got| wide(got.object.bytes.len())));
            record(context, start, (key, &part), tries.made, came);
            match result {
                Ok(got) => return Ok(got),
                Err(failure) => tries.after(key, failure).await?,
            }
        }
    }

    /// Writes a whole object to a file; returns its length, or `None` if it does not exist.
    pub(crate) async fn save(
        &self,
        context: &Context,
        key: &str,
        file: &File,
        progress: &SaveProgress,
    ) -> Result<Option<u64>, IoError> {
        let Some(path) = self.place(key)? else {
            return Ok(None);
        };
        let mut tries = self.tries();
        let _turn = self.turn(context).await?;
        loop {
            tries.made = tries.made.saturating_add(1);
            let start = context.trace().start();
            let result = self.save_once((key, &path), file, progress, &mut tries);
            let result = result.await;
            let whole = WantedPart::Bytes(Ask::Whole);
            record(
                context,
                start,
                (key, &whole),
                tries.made,
                result.as_ref().copied(),
            );
            match result {
                Ok(saved) => return Ok(saved),
                Err(failure) => tries.after(key, failure).await?,
            }
        }
    }

    /// Makes one attempt to save an object. Limits only the time without progress, because the time for a large object is not known.
    async fn save_once(
        &self,
        (key, path): (&str, &Path),
        mut file: &File,
        progress: &SaveProgress,
        tries: &mut Tries,
    ) -> Result<Option<u64>, Failure> {
        let head = tries.step(0, self.store.get_opts(path, GetOptions::default()));
        let result = match head.await? {
            Ok(result) => result,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(sort(key, error)),
        };
        self.shared.connections.note(&result);
        check_encoding(&result, key, path)?;
        let announced = (!is_unannounced(&result)).then_some(result.meta.size);
        let failed = |error| Failure::Final(IoError::file(key, error));
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let mut pieces = result.into_stream();
        let (mut saved, silence) = (0_u64, tries.silence());
        while let Some(piece) = next_piece(&mut pieces, key, silence).await? {
            file.write_all(&piece).map_err(failed)?;
            saved = saved.saturating_add(wide(piece.len()));
            progress(saved, announced);
        }
        match announced {
            Some(announced) if announced != saved => Err(Failure::passing(format!(
                "received {saved} bytes, expected {announced} as announced"
            ))),
            _ => Ok(Some(saved)),
        }
    }

    /// Makes one attempt of a request.
    async fn once(
        &self,
        context: &Context,
        key: &str,
        path: &Path,
        part: &WantedPart,
        purpose: Use,
        tries: &mut Tries,
    ) -> Result<Option<Got>, Failure> {
        let head = tries.step(0, self.store.get_opts(path, part.options()));
        let result = match head.await? {
            Ok(result) => result,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(sort(key, error)),
        };
        self.shared.connections.note(&result);
        check_encoding(&result, key, path)?;
        let mut state = state_of(&result.meta);
        if is_unannounced(&result) {
            return match part {
                WantedPart::Bytes(Ask::Whole) => {
                    let bytes = unannounced(result, key, context, purpose.cap, tries).await?;
                    check_page(key, part, &bytes)?;
                    state.size = wide(bytes.len());
                    if let Some(role) = purpose.role {
                        context.versions().note(key, &state, role, &bytes)?;
                    }
                    let object = Object {
                        bytes,
                        start: 0,
                        size: state.size,
                        etag: state.etag.clone(),
                    };
                    Ok(Some(Got { object, state }))
                }
                _ => Err(Failure::Final(IoError::NotSupported {
                    key: key.to_owned(),
                    what: "the server's response does not state the size of the object".to_owned(),
                })),
            };
        }
        let range = part.of(state.size);
        if *part != WantedPart::State && result.range != range {
            let found = &result.range;
            return Err(Failure::passing(format!(
                "received bytes {} to {} of {}, requested {} to {}",
                found.start, found.end, state.size, range.start, range.end
            )));
        }
        let length = range.end.saturating_sub(range.start);
        let bytes = match part {
            WantedPart::State => Bytes::new(),
            _ => {
                purpose.cap.check(key, length)?;
                let room = context.room(length).await?;
                let silence = tries.silence();
                let bytes = tries
                    .step(length, body(result, length, key, silence))
                    .await??;
                drop(room);
                bytes
            }
        };
        check_page(key, part, &bytes)?;
        if let Some(role) = purpose.role {
            context.versions().note(key, &state, role, &bytes)?;
        }
        let object = Object {
            bytes,
            start: range.start,
            size: state.size,
            etag: state.etag.clone(),
        };
        Ok(Some(Got { object, state }))
    }

    /// Answers one question about the tree.
    pub(crate) async fn answer(
        &self,
        context: &Context,
        question: &Question,
    ) -> Result<Reply, IoError> {
        match question {
            Question::Document(key) => {
                let cap = question.cap(context.limits());
                let reply = self
                    .get(context, key, Ask::Whole, cap, SnapshotRole::Document)
                    .await;
                if let Ok(None) | Err(IoError::Denied { .. }) = reply {
                    context.versions().note_absent(key)?;
                }
                reply.map(Reply::Document)
            }
            Question::Names(prefix) | Question::Cells(prefix) | Question::Keys(prefix) => {
                let work = async {
                    match question {
                        Question::Keys(_) => self.keys(context, prefix).await,
                        _ => {
                            let cap = question.cap(context.limits());
                            self.folders(context, prefix, cap).await
                        }
                    }
                };
                let names = self.shared.names.share(question.clone(), work).await?;
                if let (Question::Names(_), Some(names)) = (question, &names) {
                    context.versions().note_listed(prefix, names);
                }
                Ok(Reply::Names(names))
            }
        }
    }
}

/// The state of an object, as the backend reports it.
pub(crate) fn state_of(meta: &ObjectMeta) -> ReportedState {
    ReportedState {
        etag: meta.e_tag.clone(),
        modified: meta.last_modified.timestamp_micros(),
        size: meta.size,
    }
}

/// Content codings that change the bytes; "aws-chunked", which some buckets keep from the upload, does not.
const COMPRESSIONS: [&str; 6] = ["gzip", "x-gzip", "deflate", "compress", "br", "zstd"];

/// Extensions of files that are compressed as stored, which many servers declare as a content coding.
const COMPRESSED: [&str; 8] = ["gz", "tgz", "z", "br", "zst", "zstd", "xz", "bz2"];

/// Fails if the bytes of an answer differ from the stored ones. Requests accept no content coding, but some servers compress anyway.
fn check_encoding(result: &GetResult, key: &str, path: &Path) -> Result<(), Failure> {
    let Some(coding) = result.attributes.get(&Attribute::ContentEncoding) else {
        return Ok(());
    };
    let is = |names: &[&str], found: &str| names.iter().any(|one| found.eq_ignore_ascii_case(one));
    let compressed = coding.split(',').any(|one| is(&COMPRESSIONS, one.trim()));
    if !compressed || path.extension().is_some_and(|found| is(&COMPRESSED, found)) {
        return Ok(());
    }
    let coding: &str = coding;
    let what = format!(
        "the server compresses what it sends (Content-Encoding: {coding}), which zvf does not read: turn that off for stores"
    );
    Err(Failure::Final(IoError::backend(key, what)))
}

/// Documents of Zarr nodes, which are JSON.
const DOCUMENTS: [&str; 4] = ["zarr.json", ".zarray", ".zgroup", ".zattrs"];

/// Fails if the answer for a document is a web page. Some servers send a page with the status 200 if an object is missing; without this check the store
/// would be reported as damaged.
fn check_page(key: &str, part: &WantedPart, bytes: &[u8]) -> Result<(), Failure> {
    let name = key.rsplit('/').next().unwrap_or(key);
    let is_page = bytes.trim_ascii_start().first() == Some(&b'<');
    if *part != WantedPart::Bytes(Ask::Whole) || !is_page || !DOCUMENTS.contains(&name) {
        return Ok(());
    }
    let what = "the server sent a web page, expected JSON: for an object that does not exist the status must be 404";
    Err(Failure::Final(IoError::backend(key, what)))
}

/// Whether a body has no announced length.
fn is_unannounced(result: &GetResult) -> bool {
    #[cfg(feature = "http")]
    return result
        .extensions
        .get::<crate::web_answers::Unannounced>()
        .is_some();
    #[cfg(not(feature = "http"))]
    {
        let _ = result;
        false
    }
}

/// Reads a body of unknown length to its end.
async fn unannounced(
    result: GetResult,
    key: &str,
    context: &Context,
    cap: Cap,
    tries: &mut Tries,
) -> Result<Bytes, Failure> {
    let GetResultPayload::Stream(stream) = result.payload else {
        return result.bytes().await.map_err(|e| sort(key, e));
    };
    // The length is known only at the end.
    let _room = context.room(cap.most.min(RESERVED)).await?;
    let silence = tries.silence();
    let work = collect(stream, None, cap, key, silence);
    tries.step(cap.most, work).await?
}

/// Reads a body of exactly `length` bytes, without a pause longer than `silence`.
async fn body(
    result: GetResult,
    length: u64,
    key: &str,
    silence: std::time::Duration,
) -> Result<Bytes, Failure> {
    let bytes = match result.payload {
        GetResultPayload::Stream(stream) => {
            let cap = Cap {
                what: CELL_BYTES,
                most: length,
            };
            collect(stream, Some(length), cap, key, silence).await?
        }
        // Only the local file backend returns files, and only if a caller injects it.
        _ => result.bytes().await.map_err(|e| sort(key, e))?,
    };
    let found = wide(bytes.len());
    if found != length {
        return Err(Failure::passing(format!(
            "received {found} bytes, expected {length} as announced"
        )));
    }
    Ok(bytes)
}

/// Records an attempt of a request: the received bytes, or the failure.
fn record(
    context: &Context,
    start: Option<Instant>,
    (key, part): (&str, &WantedPart),
    made: u32,
    came: Result<Option<u64>, &Failure>,
) {
    if !context.trace().is_on() {
        return;
    }
    let method = match part {
        WantedPart::State => Method::Head,
        _ => Method::Get,
    };
    let (bytes, failed) = match came {
        Ok(bytes) => (bytes, None),
        Err(failure) => (None, Some(failure.to_string())),
    };
    context.record_try(start, method, key, part.traced(), (bytes, made, failed));
}

/// The next piece of a body; `None` at its end.
async fn next_piece(
    stream: &mut BoxStream<'static, object_store::Result<Bytes>>,
    key: &str,
    silence: std::time::Duration,
) -> Result<Option<Bytes>, Failure> {
    let piece = tokio::time::timeout(silence, stream.try_next()).await;
    let piece = piece.map_err(|_| {
        Failure::passing(format!(
            "the response stopped: no byte was received for {silence:.1?}"
        ))
    })?;
    piece.map_err(|error| sort(key, error))
}

/// The capacity that is reserved before the bytes arrive.
const RESERVED: u64 = 4 << 20;

/// Collects a body, without a copy if it arrives in one piece.
async fn collect(
    mut stream: BoxStream<'static, object_store::Result<Bytes>>,
    length: Option<u64>,
    cap: Cap,
    key: &str,
    silence: std::time::Duration,
) -> Result<Bytes, Failure> {
    let start = tokio::time::Instant::now();
    let mut whole = Bytes::new();
    let mut pieces = BytesMut::new();
    loop {
        let Some(piece) = next_piece(&mut stream, key, silence).await? else {
            break;
        };
        if whole.is_empty() && pieces.is_empty() {
            whole = piece;
        } else {
            if pieces.is_empty() {
                let expected = length.unwrap_or(RESERVED).min(RESERVED);
                pieces.reserve(usize::try_from(expected).unwrap_or(0));
                pieces.extend_from_slice(&whole);
            }
            pieces.extend_from_slice(&piece);
        }
        let found = wide(whole.len().max(pieces.len()));
        match length {
            Some(length) if found > length => {
                return Err(Failure::passing(format!(
                    "received more than {length} bytes, the announced size"
                )));
            }
            Some(_) => {}
            None => {
                cap.check(key, found)?;
                // Without an announced length, the time limit grows with the received bytes.
                if start.elapsed() > silence.saturating_add(transfer(found)) {
                    return Err(Failure::passing(format!(
                        "the response did not end: received {found} bytes in {:.1?}",
                        start.elapsed()
                    )));
                }
            }
        }
    }
    Ok(if pieces.is_empty() {
        whole
    } else {
        pieces.freeze()
    })
}

//! Files in buckets and on web servers, by ranges: [`RemoteTet`].

use std::borrow::Cow;
use std::io;
use std::ops::{Deref, Range};
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::vec::Vec;

use bytes::Bytes;
use futures::channel::oneshot;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use zvf_grid::{Dims, GridError, Merge, Selection};

use super::budget::available_memory;
use super::catalog::{Catalog, Dataset, OpenOptions, within};
use super::error::Error;
use super::opening::{Known, Stop, open};
use super::plan::{Plan, Tiles};
use super::read::{PARALLEL, ReadStats};
use super::requests::{Piece, fill, pieces, requests};
use super::tile::{Decoder, Tile};
use zvf_grid::int::wide;

/// Most pieces that are decoded together: small ones shall not add up to much memory.
const BATCH: usize = 64;

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Bytes of the first request for the front, and of the one for the end.
    pub first: u64,
    /// When neighbouring payloads are fetched together.
    pub merge: Merge,
    /// Requests under way at the same time.
    pub concurrency: usize,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            first: 64 << 10,
            merge: Merge::BUCKET,
            concurrency: 8,
        }
    }
}

/// A file of an object store that was checked and can be read. The same answers as [`TetFile`](crate::TetFile).
///
/// Opening takes a HEAD, then front and end at the same time, then what of the index or the footer was not in them.
/// Reading takes one merged range for neighbouring payloads. Every request asks for the version that was opened, where
/// the store knows versions. Tiles are decoded by the threads of the rayon pool, as many as [`OpenOptions::threads`] says,
/// while further requests are under way; with one thread, or where the task that polls runs on a thread of that pool, in
/// that task.
///
/// What the checks found is its [`Catalog`]: datasets, footer, proof.
#[derive(Debug)]
pub struct RemoteTet {
    object: Object,
    front: Vec<u8>,
    catalog: Catalog,
    options: OpenOptions,
    remote: RemoteOptions,
}

/// One version of one object.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    len: u64,
    e_tag: Option<String>,
}

impl Object {
    async fn get(&self, offset: u64, len: u64) -> Result<Bytes, Error> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        let stop = offset
            .checked_add(len)
            .filter(|stop| *stop <= self.len)
            .ok_or(Error::Changed {
                what: "a range ends behind the object",
            })?;
        let options = GetOptions {
            range: Some(GetRange::Bounded(offset..stop)),
            if_match: self.e_tag.clone(),
            ..GetOptions::default()
        };
        let answer = match self.store.get_opts(&self.path, options).await {
            Err(object_store::Error::Precondition { .. }) => {
                return Err(Error::Changed {
                    what: "the object has another version",
                });
            }
            answer => answer?,
        };
        let bytes = answer.bytes().await?;
        if wide(bytes.len()) == len {
            Ok(bytes)
        } else {
            Err(Error::Changed {
                what: "a range came back with another length",
            })
        }
    }
}

impl Deref for RemoteTet {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.catalog
    }
}

impl RemoteTet {
    /// Opens an object, strictly.
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub async fn open(store: Arc<dyn ObjectStore>, path: &Path) -> Result<Self, Error> {
        Self::open_with(
            store,
            path,
            OpenOptions::default(),
            RemoteOptions::default(),
        )
        .await
    }

    /// Opens an object.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Format`] and [`Error::Json`] for what is wrong with the file; [`Error::Limit`] for a
    /// front or footer over [`OpenOptions::front_limit`]; [`Error::Changed`].
    pub async fn open_with(
        store: Arc<dyn ObjectStore>,
        path: &Path,
        options: OpenOptions,
        remote: RemoteOptions,
    ) -> Result<Self, Error> {
        let meta = store.head(path).await?;
        let object = Object {
            store,
            path: path.clone(),
            len: meta.size,
            e_tag: meta.e_tag,
        };
        let len = object.len;
        let first = remote.first.min(len);
        let tail = remote.first.min(len - first);
        let (front, end) = futures::try_join!(object.get(0, first), object.get(len - tail, tail))?;
        let mut known = Known::new(len, &options);
        known.add(0, Cow::Owned(front.to_vec()));
        known.add(len - tail, Cow::Owned(end.to_vec()));
        let catalog = loop {
            match open(&known, &options) {
                Ok(catalog) => break catalog,
                Err(Stop::Refused(error)) => return Err(error),
                Err(Stop::Lacks(range)) => {
                    let bytes = object.get(range.start, range.end - range.start).await?;
                    known.add(range.start, Cow::Owned(bytes.to_vec()));
                }
            }
        };
        let front = known.into_front()?;
        Ok(Self {
            object,
            front,
            catalog,
            options,
            remote,
        })
    }

    /// The tiles that a selection meets, and their bytes. Makes no request.
    ///
    /// # Errors
    /// [`Error::Grid`] for a selection of another shape.
    pub fn plan<'f>(
        &'f self,
        dataset: &'f Dataset,
        selection: &Selection,
    ) -> Result<Plan<'f>, Error> {
        Plan::new(&self.catalog, &self.front, dataset, selection)
    }

    /// Reads a selection: little-endian elements in C order.
    ///
    /// # Cost
    /// One request for neighbouring payloads. Memory for the result, and for the requests under way and what is decoded of
    /// them.
    ///
    /// # Errors
    /// [`Error::Limit`] for a result or a payload over the memory budget; [`Error::Store`]; [`Error::Changed`];
    /// [`Error::Format`] with the classes `zstd_decode` and `decoded_length_mismatch`.
    pub async fn read(
        &self,
        dataset: &Dataset,
        selection: &Selection,
    ) -> Result<(Vec<u8>, ReadStats), Error> {
        let header = self.catalog.header(&self.front);
        let limit = self.options.budget.resolve(header, available_memory());
        let bytes = dataset.result_bytes(selection)?;
        let mut result = std::vec![0; within("the result", bytes, limit)?];
        let shape = selection.shape();
        let mut stats = ReadStats::default();
        let requests_made = AtomicU64::new(0);
        let tiles = Tiles::new(&self.catalog, &self.front, dataset, selection, limit)?;
        let merge = self.remote.merge;
        let mut pieces = pieces(tiles, merge.gap);
        let mut window = Vec::new();
        // One window after another; what is asked for of one may be under way while the next is planned.
        let windows = std::iter::from_fn(move || match fill(&mut pieces, &mut window) {
            Ok(false) => None,
            Ok(true) => Some(
                requests(&window, merge)
                    .map(|(range, own)| Ok((range, own.to_vec())))
                    .collect::<Vec<_>>(),
            ),
            Err(error) => Some(std::vec![Err(error)]),
        });
        let threads = self.options.thread_count();
        let mut decoded = stream::iter(windows.flatten())
            .map(|request| self.fetch(request, limit, &requests_made))
            .buffer_unordered(self.remote.concurrency.max(1))
            .map_ok(|fetched| stream::iter(fetched.batches()))
            .try_flatten()
            .map(|batch| async move { batch?.decode_on_pool(threads).await })
            .buffer_unordered(threads);
        while let Some(batch) = decoded.next().await {
            for piece in batch? {
                piece.put(&mut result, &shape)?;
                stats.count(&piece.piece);
            }
        }
        drop(decoded);
        stats.requests = requests_made.into_inner();
        Ok((result, stats))
    }

    /// The bytes of neighbouring pieces.
    async fn fetch(
        &self,
        request: Result<(Range<u64>, Vec<Piece>), Error>,
        limit: u64,
        requests: &AtomicU64,
    ) -> Result<Fetched, Error> {
        let (range, pieces) = request?;
        let len = range.end - range.start;
        within("one request", len, limit.max(self.remote.merge.most))?;
        let bytes = self.object.get(range.start, len).await?;
        requests.fetch_add(1, Relaxed);
        Ok(Fetched {
            start: range.start,
            bytes,
            pieces,
        })
    }
}

/// The answer to a request.
struct Fetched {
    start: u64,
    bytes: Bytes,
    pieces: Vec<Piece>,
}

/// Pieces that are decoded together, with their bytes: of small tiles several.
struct Batch(Vec<(Piece, Bytes)>);

/// A piece that can be put to its place.
struct Ready {
    piece: Piece,
    elements: Elements,
}

enum Elements {
    /// As they lie in the file.
    Raw(Bytes),
    /// The wanted part of a tile, as a result of its own.
    Decoded(Vec<u8>),
}

impl Fetched {
    fn batches(self) -> impl Iterator<Item = Result<Batch, Error>> {
        let mut pieces = self.pieces.into_iter();
        std::iter::from_fn(move || {
            let (mut batch, mut decoded) = (Vec::new(), 0_u64);
            while batch.len() < BATCH && decoded < PARALLEL {
                let Some(piece) = pieces.next() else { break };
                let range = match piece.place(self.start, self.bytes.len()) {
                    Ok(range) => range,
                    Err(error) => return Some(Err(error)),
                };
                if !piece.tile.is_raw() {
                    decoded = decoded.saturating_add(piece.tile.entry.raw_byte_len.get());
                }
                batch.push((piece, self.bytes.slice(range)));
            }
            (!batch.is_empty()).then_some(Ok(Batch(batch)))
        })
    }
}

impl Batch {
    fn decode(self) -> Result<Vec<Ready>, Error> {
        let mut decoder = Decoder::new();
        let pieces = self.0.into_iter().map(|(piece, bytes)| {
            let tile = &piece.tile;
            if tile.is_raw() {
                let elements = Elements::Raw(bytes);
                return Ok(Ready { piece, elements });
            }
            let part = tile.part.alone();
            let length = part
                .count()
                .and_then(|count| usize::try_from(count).ok()?.checked_mul(tile.item));
            let mut alone = std::vec![0; length.ok_or(GridError::TooLarge)?];
            let of_it = Tile { part, ..*tile };
            of_it.put(&mut decoder, &bytes, &mut alone, &part.shape())?;
            let elements = Elements::Decoded(alone);
            Ok(Ready { piece, elements })
        });
        pieces.collect()
    }

    /// Decodes on the rayon pool, so that the waiting task continues with its requests; in that task where there is nothing
    /// to decode, only one thread, or where it is one of the pool's own: a pool whose threads all wait does no work.
    async fn decode_on_pool(self, threads: usize) -> Result<Vec<Ready>, Error> {
        let raw = self.0.iter().all(|(piece, _)| piece.tile.is_raw());
        if threads <= 1 || raw || rayon::current_thread_index().is_some() {
            return self.decode();
        }
        let (done, decoded) = oneshot::channel();
        rayon::spawn(move || {
            // The read was dropped.
            let _ = done.send(self.decode());
        });
        match decoded.await {
            Ok(decoded) => decoded,
            Err(_) => Err(io::Error::other("a thread of the pool stopped").into()),
        }
    }
}

impl Ready {
    fn put(&self, into: &mut [u8], shape: &Dims) -> Result<(), Error> {
        match &self.elements {
            Elements::Raw(bytes) => self.piece.copy(bytes, into, shape),
            Elements::Decoded(bytes) => {
                let tile = &self.piece.tile;
                Ok(tile.part.place(tile.item, bytes, into, shape)?)
            }
        }
    }
}

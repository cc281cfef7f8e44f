//! Files in buckets and on web servers, by ranges: [`RemoteTet`].

use std::ops::Deref;
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::vec::Vec;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use zvf_grid::Selection;

use super::budget::available_memory;
use super::catalog::{Catalog, Dataset, End, OpenOptions, within};
use super::plan::Plan;
use super::read::ReadStats;
use super::trouble::Error;
use super::wanted::{Batches, Group, Groups, Tiles, unpack};
use crate::footer::FooterPlace;
use crate::view::{Tet, head_len};
use zvf_grid::int::wide;

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Bytes of the first request for the front, and of the one for the end.
    pub first: u64,
    /// Unwanted bytes that are rather fetched than jumped over.
    pub gap: u64,
    /// Longest merged request; a single longer payload is fetched in one.
    pub request: u64,
    /// Requests under way at the same time.
    pub concurrency: usize,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            first: 64 << 10,
            gap: 256 << 10,
            request: 16 << 20,
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
        let first = remote.first.max(40).min(len);
        let tail = remote.first.max(16).min(len - first);
        let (front, end) = futures::try_join!(object.get(0, first), object.get(len - tail, tail))?;
        // What is known of the file: its start, and its end behind that.
        let known = Known {
            front: &front,
            end: &end,
            len,
        };
        let need = head_len(&front, len)?;
        within("front", need, options.front_limit)?;
        let mut head = front.to_vec();
        head.truncate(usize::try_from(need).unwrap_or(usize::MAX));
        let have = wide(head.len());
        if need > have {
            head.extend_from_slice(&object.get(have, need - have).await?);
        }
        let tet = Tet::parse(&head, len, options.profile)?;
        let end = if tet.has_footer() {
            let floor = tet.index_stop();
            let size = len.min(16);
            let last = object.known_or_get(&known, len - size, size).await?;
            let place = FooterPlace::parse(&last, len, floor)?;
            within("footer", place.json_len, options.front_limit)?;
            let json = object
                .known_or_get(&known, place.json_start, place.json_len)
                .await?;
            Some(End::new(&json, place, floor)?)
        } else {
            None
        };
        let mut catalog = Catalog::open(&head, len, &options, end.as_ref())?;
        if let Some(end) = end {
            let spilled = match end.refs.metadata {
                Some(spill) => {
                    within("metadata", spill.len, options.front_limit)?;
                    Some(object.known_or_get(&known, spill.offset, spill.len).await?)
                }
                None => None,
            };
            catalog.take_footer(end, spilled.as_deref())?;
        }
        Ok(Self {
            object,
            front: head,
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
        let requests = AtomicU64::new(0);
        let tiles = Tiles::new(&self.catalog, &self.front, dataset, selection, limit)?;
        let groups = Groups::new(tiles.clone(), self.remote.gap, self.remote.request);
        let threads = self.options.thread_count();
        let mut pieces = stream::iter(groups)
            .map(|group| self.fetch(group, limit, &requests))
            .buffer_unordered(self.remote.concurrency.max(1))
            .map_ok(|(group, bytes)| stream::iter(Batches::new(&tiles, group, bytes)))
            .try_flatten()
            .map(|batch| async move { unpack(batch?, threads).await })
            .buffer_unordered(threads);
        while let Some(unpacked) = pieces.next().await {
            for piece in unpacked? {
                piece.place(dataset.item(), &mut result, &shape)?;
                stats.tiles += 1;
                stats.bytes += piece.fetched;
            }
        }
        drop(pieces);
        stats.requests = requests.into_inner();
        Ok((result, stats))
    }

    /// The bytes of neighbouring tiles.
    async fn fetch(
        &self,
        group: Result<Group, Error>,
        limit: u64,
        requests: &AtomicU64,
    ) -> Result<(Group, Bytes), Error> {
        let group = group?;
        let len = group.stop - group.start;
        within("one request", len, limit.max(self.remote.request))?;
        let bytes = self.object.get(group.start, len).await?;
        requests.fetch_add(1, Relaxed);
        Ok((group, bytes))
    }
}

/// The two pieces that opening begins with.
struct Known<'a> {
    front: &'a Bytes,
    end: &'a Bytes,
    len: u64,
}

impl Object {
    async fn known_or_get(&self, known: &Known<'_>, offset: u64, len: u64) -> Result<Bytes, Error> {
        let pieces = [
            (0, known.front),
            (known.len - wide(known.end.len()), known.end),
        ];
        for (start, piece) in pieces {
            let inside = offset
                .checked_sub(start)
                .and_then(|at| usize::try_from(at).ok())
                .zip(usize::try_from(len).ok());
            if let Some((from, len)) = inside
                && let Some(to) = from.checked_add(len).filter(|to| *to <= piece.len())
            {
                return Ok(piece.slice(from..to));
            }
        }
        self.get(offset, len).await
    }
}

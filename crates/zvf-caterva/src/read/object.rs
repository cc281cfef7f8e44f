//! Arrays in object stores: the same plan, asynchronous range requests.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::oneshot;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use zvf_blosc::{Body, Special};
use zvf_grid::{CellPart, GridError, Selection};

use super::array::{buffer, check_selection, dtype};
use super::cache::{Table, Workspace};
use super::decode::Visit;
use super::fetch::{Fetched, coalesce};
use super::parts::{Parts, Stop, TableRead};
use super::{Counts, Error, ReadOptions};
use crate::dtype::Dtype;
use crate::{Entry, FrameHeader, Geometry, Layout, NdKind};
use zvf_grid::int::wide;

/// Chunks whose bytes are being fetched at the same time, and requests for one of them.
const IN_FLIGHT: usize = 16;

/// An n-d array in an object store, contiguous or sparse.
///
/// Every request for a contiguous frame asks for the version that was opened, where the store knows versions. Objects of the
/// chunks of a sparse frame are versions of their own: one that is replaced between two reads goes unnoticed, unless a
/// read of that chunk is under way.
///
/// # Cost
///
/// Opening takes two range requests, without asking for the size first. A read takes, for each chunk it meets, one
/// request where the chunk is small, otherwise one for its block table (kept afterwards) and one for each run of needed
/// blocks. Up to 16 chunks are fetched at the same time. They are decoded by the threads of the rayon pool while further
/// requests are under way, which takes memory for what is wanted of as many chunks. With one thread, with an observer, or
/// where the task that polls runs on a thread of that pool, they are decoded in that task.
#[derive(Debug)]
pub struct ObjectArray {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// ETag of a contiguous frame.
    e_tag: Option<String>,
    parts: Arc<Parts>,
    geometry: Geometry,
    kind: NdKind,
    dtype: Option<(u8, Vec<u8>)>,
}

/// The bytes of one chunk that a read needs.
struct Arrived {
    chunk: u64,
    part: CellPart,
    content: Content,
}

enum Content {
    Special(zvf_blosc::SpecialKind),
    Whole(Arc<Table>, Bytes),
    Pieces(Arc<Table>, Vec<u8>, Vec<(usize, usize, usize)>),
}

/// What is to be put into a result.
enum Ready {
    /// A chunk that is decoded into the result.
    Arrived(Arrived),
    /// The wanted part of a chunk, as a result of its own.
    Decoded(CellPart, Vec<u8>),
}

/// Where a chunk lies.
struct Place {
    path: Path,
    /// The version that is asked for, where one is known.
    e_tag: Option<String>,
    start: u64,
    /// Most bytes up to its end; as many as there are where that is not known.
    most: u64,
}

/// A range of an object, of one version where that is known; and the version that it is of.
async fn get(
    store: &dyn ObjectStore,
    path: &Path,
    range: Range<u64>,
    e_tag: Option<&String>,
) -> Result<(Bytes, Option<String>), Error> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(range)),
        if_match: e_tag.cloned(),
        ..GetOptions::default()
    };
    match store.get_opts(path, options).await {
        Err(object_store::Error::Precondition { .. }) => Err(Error::Changed {
            path: path.to_string(),
        }),
        answer => {
            let answer = answer?;
            let e_tag = answer.meta.e_tag.clone();
            Ok((answer.bytes().await?, e_tag))
        }
    }
}

impl ObjectArray {
    /// Opens the array in one object, a contiguous frame.
    ///
    /// # Errors
    ///
    /// The store's; those of [`super::Frame::open`] and [`super::Frame::into_array`].
    pub async fn open(store: Arc<dyn ObjectStore>, path: Path) -> Result<Self, Error> {
        Self::new(store, path.clone(), path, Layout::Contiguous).await
    }

    /// Opens the array of a sparse frame, whose objects lie below `folder`.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub async fn open_sparse(store: Arc<dyn ObjectStore>, folder: Path) -> Result<Self, Error> {
        let head = folder.clone().join("chunks.b2frame");
        Self::new(store, folder, head, Layout::Sparse).await
    }

    async fn new(
        store: Arc<dyn ObjectStore>,
        path: Path,
        head_path: Path,
        layout: Layout,
    ) -> Result<Self, Error> {
        let first = wide(Parts::FIRST);
        let (mut head, e_tag) = get(&*store, &head_path, 0..first, None).await?;
        // An object that ends here is of known length.
        let mut size = Some(wide(head.len())).filter(|size| *size < first);
        let (mut tail, mut reads) = (None, vec![head.len()]);
        let parts = loop {
            match Parts::open(&head, tail.as_deref(), size, layout) {
                Ok(parts) => break parts,
                Err(Stop::Refused(error)) => return Err(error),
                Err(Stop::Lacks(range)) => {
                    let Range { start, end } = range;
                    let bytes = get(&*store, &head_path, range, e_tag.as_ref()).await?.0;
                    reads.push(bytes.len());
                    if start > 0 {
                        tail = Some(bytes);
                        continue;
                    }
                    size = Some(wide(bytes.len())).filter(|size| *size < end);
                    head = bytes;
                }
            }
        };
        reads.into_iter().for_each(|n| parts.counters.read(n));
        let (geometry, kind, dtype) = parts.array()?;
        Ok(Self {
            store,
            path,
            e_tag: e_tag.filter(|_| layout == Layout::Contiguous),
            parts: Arc::new(parts),
            geometry,
            kind,
            dtype,
        })
    }

    /// Shapes and sizes.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The fixed header.
    #[must_use]
    pub fn header(&self) -> &FrameHeader {
        &self.parts.header
    }

    /// Which metalayer describes the array.
    #[must_use]
    pub const fn kind(&self) -> NdKind {
        self.kind
    }

    /// The item type; opaque where the metalayer has none, or one that is not understood.
    #[must_use]
    pub fn dtype(&self) -> Dtype<'_> {
        dtype(self.dtype.as_ref(), self.geometry.item)
    }

    /// The decoded content of one variable-length metalayer, of at most `cap` bytes; none where there is no such name.
    ///
    /// # Errors
    ///
    /// Those of [`zvf_blosc::Chunk::decode_vec`].
    pub fn vlmeta(&self, name: &str, cap: usize) -> Result<Option<Vec<u8>>, Error> {
        self.parts.vlmeta(name, cap)
    }

    /// Requests and decodes since the array was opened.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.parts.counters.get()
    }

    /// Reads a selection; see [`super::Array::read`].
    ///
    /// # Errors
    ///
    /// As there; [`Error::Store`].
    pub async fn read(&self, selection: &Selection) -> Result<Vec<u8>, Error> {
        let mut out = buffer(selection, self.geometry.item)?;
        let options = ReadOptions {
            gap: 16 << 10,
            ..ReadOptions::default()
        };
        self.read_into(selection, &mut out, &options).await?;
        Ok(out)
    }

    /// Reads a selection into `out`, which is as long as its result; see [`super::Array::read_into`].
    ///
    /// # Errors
    ///
    /// As there; [`Error::Store`].
    pub async fn read_into(
        &self,
        selection: &Selection,
        out: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        check_selection(&self.geometry, selection, out.len())?;
        if selection.is_empty() {
            return Ok(());
        }
        let shape = selection.shape();
        let threads = options.thread_count();
        // A pool whose threads all wait for it does no work.
        let on_pool =
            threads > 1 && options.observer.is_none() && rayon::current_thread_index().is_none();
        let chunks = self.geometry.chunks_of(selection)?;
        let mut ready = stream::iter(chunks)
            .map(|(chunk, part)| self.fetch(chunk, part, &shape, options))
            .buffered(IN_FLIGHT)
            .map(|arrived| self.ready(arrived, on_pool))
            .buffered(threads);
        let mut work = self.parts.pool.take();
        let item = self.geometry.item;
        while let Some(ready) = ready.try_next().await? {
            match ready {
                Ready::Decoded(part, bytes) => part.place(item, &bytes, out, &shape)?,
                Ready::Arrived(arrived) => {
                    let place = (arrived.chunk, arrived.part);
                    let visit = Visit::new(&self.geometry, &self.parts, place, &shape, options);
                    decode(&visit, &arrived.content, &mut work, out)?;
                }
            }
        }
        self.parts.pool.put(work);
        Ok(())
    }

    /// Decodes what has arrived on the rayon pool, where that is wished for and there is something to decode.
    async fn ready(&self, arrived: Result<Arrived, Error>, on_pool: bool) -> Result<Ready, Error> {
        let arrived = arrived?;
        if !on_pool || arrived.is_special() {
            return Ok(Ready::Arrived(arrived));
        }
        let (parts, geometry) = (Arc::clone(&self.parts), self.geometry);
        let (done, decoded) = oneshot::channel();
        rayon::spawn(move || {
            // The read was dropped.
            let _ = done.send(arrived.decode(&parts, &geometry));
        });
        match decoded.await {
            Ok(decoded) => decoded,
            Err(_) => Err(Error::io("decoding")(std::io::Error::other(
                "a thread of the pool stopped",
            ))),
        }
    }

    /// Where a chunk's bytes are.
    fn place(&self, at: u64) -> Place {
        match self.parts.header.layout {
            Layout::Contiguous => Place {
                path: self.path.clone(),
                e_tag: self.e_tag.clone(),
                start: u64::from(self.parts.header.header_len).saturating_add(at),
                most: self.parts.index.next_above(at).saturating_sub(at),
            },
            Layout::Sparse => Place {
                path: self.path.clone().join(format!("{at:08X}.chunk")),
                e_tag: None,
                start: 0,
                most: u64::MAX,
            },
        }
    }

    /// A range of a chunk, and the version of the object that it lies in.
    async fn get(
        &self,
        place: &Place,
        range: Range<usize>,
    ) -> Result<(Bytes, Option<String>), Error> {
        let from = place.start.saturating_add(wide(range.start));
        let to = place.start.saturating_add(wide(range.end));
        let got = get(&*self.store, &place.path, from..to, place.e_tag.as_ref()).await?;
        self.parts.counters.read(got.0.len());
        Ok(got)
    }

    async fn fetch(
        &self,
        chunk: u64,
        part: CellPart,
        shape: &[u64],
        options: &ReadOptions<'_>,
    ) -> Result<Arrived, Error> {
        let bad = Error::chunk(chunk);
        let arrived = |content| Arrived {
            chunk,
            part,
            content,
        };
        let at = match self.parts.index.entry(chunk).map_err(&bad)? {
            Entry::Special(kind) => return Ok(arrived(Content::Special(kind))),
            Entry::At(at) => at,
        };
        let mut place = self.place(at);
        let mut begun = Bytes::new();
        let mut guess = Parts::table_guess(self.geometry.block_count);
        let whole = options.whole_chunk;
        // A chunk of a sparse frame may be small, too.
        if place.most == u64::MAX || place.most <= wide(whole) {
            guess = guess.max(whole);
        }
        let table = loop {
            match self.parts.table(chunk, &begun, place.most, guess)? {
                TableRead::Table(table) => break table,
                TableRead::Lacks(n) => {
                    let version;
                    (begun, version) = self.get(&place, 0..n).await?;
                    place.e_tag = place.e_tag.or(version);
                    if begun.len() < n {
                        // The object ends here.
                        place.most = wide(begun.len());
                    }
                }
            }
        };
        let cbytes = table.header.cbytes();
        if begun.len() >= cbytes || matches!(table.header.body(), Body::Special(_)) {
            return Ok(arrived(Content::Whole(table, begun)));
        }
        let visit = Visit::new(&self.geometry, &self.parts, (chunk, part), shape, options);
        let mut extents = Vec::new();
        for window in visit.windows(&table)? {
            visit.extents(&table, &window?, None, &mut extents)?;
        }
        let ranges = if extents.len() > table.header.block_count() / 2 {
            std::iter::once(0..cbytes).collect()
        } else {
            coalesce(cbytes, &mut extents, options)
        };
        let got: Vec<(Bytes, _)> = stream::iter(ranges.clone())
            .map(|range| self.get(&place, range))
            .buffered(IN_FLIGHT)
            .try_collect()
            .await?;
        let (mut raw, mut segments) = (Vec::new(), Vec::new());
        for (range, (bytes, _)) in ranges.iter().zip(&got) {
            segments.push((range.start, bytes.len(), raw.len()));
            raw.extend_from_slice(bytes);
        }
        Ok(arrived(Content::Pieces(table, raw, segments)))
    }
}

impl Arrived {
    /// Whether there is nothing to decode.
    fn is_special(&self) -> bool {
        match &self.content {
            Content::Special(_) => true,
            Content::Whole(table, _) | Content::Pieces(table, ..) => {
                matches!(table.header.body(), Body::Special(_))
            }
        }
    }

    /// Decodes the wanted part of the chunk as a result of its own.
    fn decode(self, parts: &Parts, geometry: &Geometry) -> Result<Ready, Error> {
        let bytes = self
            .part
            .count()
            .and_then(|n| n.checked_mul(wide(geometry.item)));
        let bytes = bytes.ok_or(GridError::TooLarge)?;
        let n = usize::try_from(bytes).map_err(|_| Error::Memory { bytes })?;
        let shape = self.part.shape();
        let (place, options) = ((self.chunk, self.part.alone()), ReadOptions::default());
        let visit = Visit::new(geometry, parts, place, &shape, &options);
        // No more than the result, which is there.
        let mut out = vec![0; n];
        let mut work = parts.pool.take();
        let decoded = decode(&visit, &self.content, &mut work, &mut out);
        parts.pool.put(work);
        decoded.map(|()| Ready::Decoded(self.part, out))
    }
}

/// Brings the wanted part of a chunk to its place in the result of a visit.
fn decode(
    visit: &Visit<'_>,
    content: &Content,
    work: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    let bad = Error::chunk(visit.chunk);
    let (table, fetched) = match content {
        Content::Special(kind) => {
            let special = Special::of(*kind, visit.geometry.item).map_err(bad)?;
            return visit.fill(special, out);
        }
        Content::Whole(table, bytes) => (table, Fetched::Whole(bytes)),
        Content::Pieces(table, raw, segments) => (table, Fetched::Pieces(raw, segments)),
    };
    if let Some(special) = table.special().map_err(bad)? {
        return visit.fill(special, out);
    }
    let (mut buffers, _) = work.split();
    let mut windows = visit.windows(table)?;
    windows.try_for_each(|window| visit.decode(table, fetched, &window?, &mut buffers, out))
}

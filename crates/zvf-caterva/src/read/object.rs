//! Arrays in object stores: the same plan, asynchronous range requests.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_blosc::{Body, LONG, Special};
use zvf_grid::{CellPart, Selection};

use super::array::{buffer, check_selection, dtype};
use super::cache::{Table, Workspace};
use super::decode::Visit;
use super::fetch::{Fetched, check_end, coalesce};
use super::frame::check_layout;
use super::parts::Parts;
use super::{Counts, Error, ReadOptions};
use crate::dtype::Dtype;
use crate::int::{size, wide};
use crate::{Entry, FrameHeader, Geometry, Layout, NdKind};

/// Chunks whose bytes are being fetched at the same time.
const IN_FLIGHT: usize = 16;

/// An n-d array in an object store, contiguous or sparse.
///
/// # Cost
///
/// Opening takes two range requests, without asking for the size first. A read takes, for each chunk it meets, one
/// request where the chunk is small, otherwise one for its block table (kept afterwards) and one for each run of needed
/// blocks. Up to 16 chunks are fetched at the same time; decoding happens in the task that polls.
#[derive(Debug)]
pub struct ObjectArray {
    store: Arc<dyn ObjectStore>,
    path: Path,
    parts: Parts,
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
        let mut head = store.get_range(&head_path, 0..first).await?;
        let mut reads = vec![head.len()];
        let header = FrameHeader::parse(&head).map_err(Error::Frame)?;
        check_layout(&header, layout)?;
        if wide(head.len()) < first {
            // The object ends here: its length is known.
            header
                .check_available(wide(head.len()))
                .map_err(Error::Frame)?;
        }
        if size(header.header_len) > head.len() {
            head = store
                .get_range(&head_path, 0..u64::from(header.header_len))
                .await?;
            reads.push(head.len());
        }
        let from = header.index_start().unwrap_or(u64::MAX);
        let tail = match head.get(usize::try_from(from).unwrap_or(usize::MAX)..) {
            Some(rest) if wide(head.len()) >= header.frame_len => {
                let length = usize::try_from(header.frame_len - from).unwrap_or(usize::MAX);
                Bytes::copy_from_slice(rest.get(..length).unwrap_or(rest))
            }
            _ => {
                let tail = store.get_range(&head_path, from..header.frame_len).await?;
                reads.push(tail.len());
                let have = from.saturating_add(wide(tail.len()));
                header.check_available(have).map_err(Error::Frame)?;
                tail
            }
        };
        let parts = Parts::new(header, head.to_vec(), &tail)?;
        for n in reads {
            parts.counters.read(n);
        }
        let (geometry, kind, dtype) = parts.array()?;
        Ok(Self {
            store,
            path,
            parts,
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
    pub const fn header(&self) -> &FrameHeader {
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
        let chunks = self.geometry.chunks_of(selection)?;
        let mut arriving = stream::iter(chunks)
            .map(|(chunk, part)| self.fetch(chunk, part, &shape, options))
            .buffered(IN_FLIGHT);
        let mut work = Workspace::default();
        while let Some(arrived) = arriving.try_next().await? {
            self.decode(&arrived, &shape, options, &mut work, out)?;
        }
        Ok(())
    }

    fn visit<'v>(
        &'v self,
        chunk: u64,
        part: CellPart,
        shape: &'v [u64],
        options: &'v ReadOptions<'v>,
    ) -> Visit<'v> {
        let (geometry, counters) = (&self.geometry, &self.parts.counters);
        Visit {
            geometry,
            chunk,
            part,
            shape,
            options,
            counters,
        }
    }

    fn decode(
        &self,
        arrived: &Arrived,
        shape: &[u64],
        options: &ReadOptions<'_>,
        work: &mut Workspace,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let visit = self.visit(arrived.chunk, arrived.part, shape, options);
        let bad = Error::chunk(arrived.chunk);
        let (table, fetched) = match &arrived.content {
            Content::Special(kind) => {
                let special = Special::of(*kind, self.geometry.item).map_err(bad)?;
                return visit.fill(special, out);
            }
            Content::Whole(table, bytes) => (table, Fetched::Whole(bytes)),
            Content::Pieces(table, raw, segments) => (table, Fetched::Pieces(raw, segments)),
        };
        if let Body::Special(kind) = table.header.body() {
            let special = match kind {
                zvf_blosc::SpecialKind::Value => Special::Value(table.value()),
                kind => Special::of(kind, table.header.typesize()).map_err(bad)?,
            };
            return visit.fill(special, out);
        }
        let (mut buffers, _) = work.split();
        visit.decode(table, fetched, &visit.needed(table)?, &mut buffers, out)
    }

    /// Where a chunk's bytes are: the object, its first byte there, and most bytes up to its end where that is known.
    fn place(&self, at: u64) -> (Path, u64, Option<u64>) {
        match self.parts.header.layout {
            Layout::Contiguous => {
                let start = u64::from(self.parts.header.header_len).saturating_add(at);
                let most = self.parts.index.next_above(at).saturating_sub(at);
                (self.path.clone(), start, Some(most))
            }
            Layout::Sparse => (self.path.clone().join(format!("{at:08X}.chunk")), 0, None),
        }
    }

    async fn get(&self, path: &Path, start: u64, range: Range<usize>) -> Result<Bytes, Error> {
        let from = start.saturating_add(wide(range.start));
        let to = start.saturating_add(wide(range.end));
        let bytes = self.store.get_range(path, from..to).await?;
        self.parts.counters.read(bytes.len());
        Ok(bytes)
    }

    async fn fetch(
        &self,
        chunk: u64,
        part: CellPart,
        shape: &[u64],
        options: &ReadOptions<'_>,
    ) -> Result<Arrived, Error> {
        let bad = Error::chunk(chunk);
        let at = match self.parts.index.entry(chunk).map_err(&bad)? {
            Entry::Special(kind) => {
                return Ok(Arrived {
                    chunk,
                    part,
                    content: Content::Special(kind),
                });
            }
            Entry::At(at) => at,
        };
        let (path, start, most) = self.place(at);
        let mut begun = Bytes::new();
        let table = match self.parts.tables.get(chunk) {
            Some(table) => table,
            None => {
                let blocks = self.geometry.block_count;
                let guess = LONG.saturating_add(blocks.saturating_mul(4)).min(64 << 10);
                let small = most.is_none_or(|most| most <= wide(options.whole_chunk));
                let first = if small {
                    options.whole_chunk.max(guess)
                } else {
                    guess
                };
                let limit = most.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
                begun = self.get(&path, start, 0..first.min(limit)).await?;
                let header = self.parts.chunk_header(chunk, &begun).map_err(&bad)?;
                if let Some(most) = most {
                    check_end(&header, most).map_err(&bad)?;
                }
                for _ in 0..2 {
                    let needs = Table::needs(&header, &begun);
                    if needs > begun.len() {
                        begun = self.get(&path, start, 0..needs).await?;
                    }
                }
                let typesize = size(self.parts.header.typesize);
                let table = Table::new(header, &begun, typesize).map_err(&bad)?;
                self.parts.tables.keep(chunk, table)
            }
        };
        let cbytes = table.header.cbytes();
        if begun.len() >= cbytes || matches!(table.header.body(), Body::Special(_)) {
            let content = Content::Whole(table, begun);
            return Ok(Arrived {
                chunk,
                part,
                content,
            });
        }
        let visit = self.visit(chunk, part, shape, options);
        let mut extents = Vec::new();
        visit.extents(&table, &visit.needed(&table)?, None, &mut extents)?;
        let ranges = if extents.len() > table.header.block_count() / 2 {
            std::iter::once(0..cbytes).collect()
        } else {
            coalesce(cbytes, &mut extents, options)
        };
        let wanted = ranges
            .iter()
            .map(|range| self.get(&path, start, range.clone()));
        let got = futures::future::try_join_all(wanted).await?;
        let (mut raw, mut segments) = (Vec::new(), Vec::new());
        for (range, bytes) in ranges.iter().zip(&got) {
            segments.push((range.start, bytes.len(), raw.len()));
            raw.extend_from_slice(bytes);
        }
        Ok(Arrived {
            chunk,
            part,
            content: Content::Pieces(table, raw, segments),
        })
    }
}

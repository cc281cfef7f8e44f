//! Slices of arrays.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use zvf_blosc::Special;
use zvf_grid::{CellPart, GridError, Selection};
use zvf_sys::in_parallel;

use super::cache::Workspace;
use super::decode::ChunkRead;
use super::fetch::{FetchedBytes, coalesce};
use super::{Error, Frame, ReadCounts, ReadOptions};
use crate::dtype::Dtype;
use crate::{Entry, Geometry, NdKind};
use zvf_grid::int::wide;

/// Chunks of a remote frame that are read concurrently.
const IN_FLIGHT: usize = 16;
/// Largest gap, in bytes, between two needed blocks of a remote chunk that one read spans.
const REMOTE_GAP: usize = 16 << 10;

/// An n-d array in a frame.
///
/// # Shape
///
/// Results are dense C-order arrays of the selection's shape, items as stored: little-endian unless the dtype says
/// otherwise.
///
/// # Examples
///
/// ```no_run
/// use zvf_caterva::{Array, Axis, Selection};
///
/// let array = Array::open("volume.b2nd")?;
/// let shape = array.geometry().shape;
/// // One plane: only the blocks that it intersects are read and decoded.
/// let plane = Selection::new(&[Axis::all(shape[0]), Axis::at(200), Axis::all(shape[2])], &shape)?;
/// let items = array.read(&plane)?;
/// # Ok::<(), zvf_caterva::Error>(())
/// ```
#[derive(Debug)]
pub struct Array {
    frame: Frame,
    geometry: Geometry,
    kind: NdKind,
    dtype: Option<(u8, Vec<u8>)>,
}

impl Frame {
    /// Returns the array, if the frame has an n-d metalayer that agrees with its header.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnArray`]; [`Error::Frame`], as for [`NdMeta::parse`](crate::NdMeta::parse) and [`Geometry::of_frame`].
    pub fn into_array(self) -> Result<Array, Error> {
        let (geometry, kind, dtype) = self.parts.array()?;
        Ok(Array {
            frame: self,
            geometry,
            kind,
            dtype,
        })
    }
}

impl Array {
    /// Opens an array in a file, or in the folder of a sparse frame.
    ///
    /// # Errors
    ///
    /// As [`Frame::open`] and [`Frame::into_array`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Frame::open(path)?.into_array()
    }

    /// An array in a frame at the start of bytes in memory.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, Error> {
        Frame::from_bytes(bytes)?.into_array()
    }

    /// The frame.
    #[must_use]
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Shapes and sizes.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Which metalayer describes the array.
    #[must_use]
    pub const fn kind(&self) -> NdKind {
        self.kind
    }

    /// The item type; opaque if the metalayer has none, or an unknown one.
    #[must_use]
    pub fn dtype(&self) -> Dtype<'_> {
        dtype(self.dtype.as_ref(), self.geometry.item)
    }

    /// Reads a selection.
    ///
    /// # Cost
    ///
    /// Decodes only the blocks that the selection intersects, and block 0 of chunks with delta. Chunks that
    /// the index marks as special are filled in without being read.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] and [`Error::Block`] name the first chunk or block that cannot be read; with several threads, the
    /// one that failed first. [`Error::Selection`]: the selection does not fit the array. [`Error::Io`]; [`Error::Memory`].
    pub fn read(&self, selection: &Selection) -> Result<Vec<u8>, Error> {
        let mut out = buffer(selection, self.geometry.item)?;
        let mut options = ReadOptions::default();
        if self.frame.remote {
            options.gap = REMOTE_GAP;
        }
        self.read_into(selection, &mut out, &options)?;
        Ok(out)
    }

    /// Reads the whole array.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_all(&self) -> Result<Vec<u8>, Error> {
        self.read(&Selection::all(&self.geometry.shape)?)
    }

    /// Reads a selection into `out`, which is as long as its result.
    ///
    /// After an error the contents of `out` are unspecified.
    ///
    /// # Errors
    ///
    /// As [`Self::read`]; [`Error::Selection`] also if `out` has another length.
    pub fn read_into(
        &self,
        selection: &Selection,
        out: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        check_selection(&self.geometry, selection, out.len())?;
        if selection.is_empty() {
            return Ok(());
        }
        if self.frame.remote {
            return self.read_remote(selection, out, options);
        }
        let threads = options.thread_count();
        if threads > 1 {
            let slabs = split(&self.geometry, selection, threads, out)?;
            if slabs.len() > 1 {
                return self.read_slabs(slabs, threads, options);
            }
            return match slabs.into_iter().next() {
                Some((selection, out)) => self.read_serial(&selection, out, options),
                None => Ok(()),
            };
        }
        self.read_serial(selection, out, options)
    }

    /// Threads, this one included, take slabs from a shared list.
    fn read_slabs(
        &self,
        slabs: Vec<(Selection, &mut [u8])>,
        threads: usize,
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        let threads = threads.min(slabs.len());
        let list = Mutex::new(slabs.into_iter());
        let failed = AtomicBool::new(false);
        let first = Mutex::new(None);
        let worker = || {
            while !failed.load(Relaxed) {
                let next = list.lock().ok().and_then(|mut list| list.next());
                let Some((selection, out)) = next else {
                    return;
                };
                if let Err(error) = self.read_serial(&selection, out, options) {
                    failed.store(true, Relaxed);
                    if let Ok(mut first) = first.lock() {
                        first.get_or_insert(error);
                    }
                }
            }
        };
        rayon::in_place_scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| worker());
            }
            worker();
        });
        match first.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn read_serial(
        &self,
        selection: &Selection,
        out: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        let mut work = self.frame.parts.pool.take();
        let done = self.read_chunks(selection, out, options, &mut work);
        self.frame.parts.pool.put(work);
        done
    }

    fn read_chunks(
        &self,
        selection: &Selection,
        out: &mut [u8],
        options: &ReadOptions<'_>,
        work: &mut Workspace,
    ) -> Result<(), Error> {
        let shape = selection.shape();
        self.geometry
            .chunks_of(selection)?
            .try_for_each(|part| self.read_part(part, &shape, options, work, out))
    }

    /// Reads a selection from a server: several chunks concurrently. The thread that waits for a chunk also decodes it.
    fn read_remote(
        &self,
        selection: &Selection,
        out: &mut [u8],
        options: &ReadOptions<'_>,
    ) -> Result<(), Error> {
        let (item, pool) = (self.geometry.item, &self.frame.parts.pool);
        let start = || {
            |(chunk, part): (u64, CellPart), emit: &mut dyn FnMut((CellPart, Vec<u8>))| {
                let bytes = part.count().and_then(|n| n.checked_mul(wide(item)));
                let bytes = bytes.ok_or(GridError::TooLarge)?;
                let n = usize::try_from(bytes).map_err(|_| Error::Memory { bytes })?;
                // Not larger than the result, which is already allocated.
                let mut own = vec![0; n];
                let mut work = pool.take();
                let alone = (chunk, part.alone());
                let done = self.read_part(alone, &part.shape(), options, &mut work, &mut own);
                pool.put(work);
                done?;
                emit((part, own));
                Ok::<(), Error>(())
            }
        };
        let chunks = self.geometry.chunks_of(selection)?;
        let shape = selection.shape();
        in_parallel(IN_FLIGHT, chunks, start, |(part, bytes)| {
            Ok(part.place(item, &bytes, out, &shape)?)
        })
    }

    /// Copies the selected items of a chunk into a result of `shape`.
    fn read_part(
        &self,
        (chunk, part): (u64, CellPart),
        shape: &[u64],
        options: &ReadOptions<'_>,
        work: &mut Workspace,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let parts = &self.frame.parts;
        let visit = ChunkRead::new(&self.geometry, parts, (chunk, part), shape, options);
        match parts.index.entry(chunk).map_err(Error::chunk(chunk))? {
            Entry::Special(kind) => {
                let special = Special::of(kind, self.geometry.item);
                visit.fill(special.map_err(Error::chunk(chunk))?, out)
            }
            Entry::At(at) => self.read_chunk(&visit, at, work, out),
        }
    }

    fn read_chunk(
        &self,
        visit: &ChunkRead<'_>,
        at: u64,
        work: &mut Workspace,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let source = self.frame.chunk_source(visit.chunk, at)?;
        let (table, begun) = self.frame.table(&source, visit.options.whole_chunk)?;
        if let Some(special) = table.special().map_err(Error::chunk(visit.chunk))? {
            return visit.fill(special, out);
        }
        let cbytes = table.header.cbytes();
        let mut windows = visit.windows(&table)?;
        if let Some(bytes) = source.bytes(cbytes).or(begun.get(..cbytes)) {
            let (mut buffers, _) = work.split();
            let fetched = FetchedBytes::Whole(bytes);
            return windows
                .try_for_each(|window| visit.decode(&table, fetched, &window?, &mut buffers, out));
        }
        let mut extents = std::mem::take(&mut work.extents);
        extents.clear();
        let done = if self.frame.remote {
            // All requests of a chunk at once.
            let listed = windows.try_for_each(|window| {
                visit.extents(&table, &window?, work.reference_of, &mut extents)
            });
            let most = table.header.block_count() / 2;
            listed.and_then(|()| {
                let ranges = if extents.len() > most {
                    std::iter::once(0..cbytes).collect()
                } else {
                    coalesce(cbytes, &mut extents, visit.options)
                };
                source.read_ranges(&ranges, work)?;
                let (mut buffers, fetched) = work.split();
                visit.windows(&table)?.try_for_each(|window| {
                    visit.decode(&table, fetched, &window?, &mut buffers, out)
                })
            })
        } else {
            windows.try_for_each(|window| {
                let window = window?;
                let mut rest = window.as_slice();
                while !rest.is_empty() {
                    let piece;
                    (piece, rest) = rest.split_at(visit.piece(&table, rest));
                    extents.clear();
                    visit.extents(&table, piece, work.reference_of, &mut extents)?;
                    let ranges = coalesce(cbytes, &mut extents, visit.options);
                    source.read_ranges(&ranges, work)?;
                    let (mut buffers, fetched) = work.split();
                    visit.decode(&table, fetched, piece, &mut buffers, out)?;
                }
                Ok(())
            })
        };
        work.extents = extents;
        done
    }

    /// Counts of reads and decoded blocks, including the reads of opening.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        self.frame.counts()
    }
}

fn dtype(stored: Option<&(u8, Vec<u8>)>, item: usize) -> Dtype<'_> {
    let text = match stored {
        Some((0, text)) => std::str::from_utf8(text).unwrap_or_default(),
        _ => "",
    };
    Dtype::new(text, item)
}

fn check_selection(geometry: &Geometry, selection: &Selection, found: usize) -> Result<(), Error> {
    if selection.rank() != geometry.shape.len() {
        let (found, expected) = (selection.rank(), geometry.shape.len());
        return Err(GridError::RankMismatch { found, expected }.into());
    }
    for (axis, (range, extent)) in selection
        .axes()
        .iter()
        .zip(geometry.shape.iter())
        .enumerate()
    {
        if range.stop > *extent && !selection.is_empty() {
            let (start, stop, step) = (range.start, range.stop, range.step);
            return Err(GridError::BadRange {
                axis,
                start,
                stop,
                step,
                extent: *extent,
            }
            .into());
        }
    }
    let expected = selection
        .count()
        .and_then(|n| n.checked_mul(wide(geometry.item)));
    let expected = expected.ok_or(GridError::TooLarge)?;
    let found = wide(found);
    if found != expected {
        return Err(GridError::BufferLength { found, expected }.into());
    }
    Ok(())
}

/// Allocates the buffer for the result of a selection, or fails if there is not enough memory.
fn buffer(selection: &Selection, item: usize) -> Result<Vec<u8>, Error> {
    let bytes = selection.count().and_then(|n| n.checked_mul(wide(item)));
    let bytes = bytes.ok_or(GridError::TooLarge)?;
    let n = usize::try_from(bytes).map_err(|_| Error::Memory { bytes })?;
    // `try_reserve_exact` reports a lack of memory, where `vec!` would abort. `vec!` gets pages that are already zero.
    Vec::<u8>::new()
        .try_reserve_exact(n)
        .map_err(|_| Error::Memory { bytes })?;
    Ok(vec![0; n])
}

/// Cuts a selection and its result into slabs for `threads` threads.
///
/// Slabs end at chunk borders if there are enough chunks to keep all threads busy. Otherwise they end at block borders,
/// if the blocks of all chunks align to one grid.
fn split<'o>(
    geometry: &Geometry,
    selection: &Selection,
    threads: usize,
    mut out: &'o mut [u8],
) -> Result<Vec<(Selection, &'o mut [u8])>, Error> {
    let most = wide(threads).saturating_mul(4);
    let by_chunks: Vec<Selection> = selection.slabs(&geometry.chunk, most).collect();
    let aligned = geometry
        .chunk
        .iter()
        .zip(geometry.block.iter())
        .all(|(chunk, block)| *block > 0 && chunk.is_multiple_of(*block));
    let even = by_chunks.len() >= 2 * threads || by_chunks.len() == threads;
    let slabs = if even || !aligned {
        by_chunks
    } else {
        selection.slabs(&geometry.block, most).collect()
    };
    let mut pieces = Vec::with_capacity(slabs.len());
    for slab in slabs {
        let n = slab
            .count()
            .and_then(|n| n.checked_mul(wide(geometry.item)));
        let n = n
            .and_then(|n| usize::try_from(n).ok())
            .ok_or(GridError::TooLarge)?;
        let rest = out.split_at_mut_checked(n);
        let (piece, rest) = rest.ok_or(GridError::BufferLength {
            found: 0,
            expected: wide(n),
        })?;
        pieces.push((slab, piece));
        out = rest;
    }
    Ok(pieces)
}

//! Writing contiguous frames, chunk by chunk (`spec/caterva-b2nd.md` 10).

mod bytes;
mod options;
mod sink;

use std::path::Path;

use rayon::prelude::*;
use zvf_blosc::{ChunkBody, Encoder};
use zvf_grid::{Dims, GridError, Run, Selection, copy};

pub use options::WriteOptions;
use sink::FrameSink;

use crate::{Entry, Error, Geometry, SpecialKind};
use zvf_grid::int::wide;

/// The part of the array that one chunk holds.
#[derive(Debug, Clone, Copy)]
pub struct ChunkRegion {
    /// The chunk's number.
    pub chunk: u64,
    /// Its first item in the array.
    pub origin: Dims,
    /// Its extents, clipped to the array.
    pub extent: Dims,
}

/// Writes one array into a new frame.
///
/// Chunks are compressed and appended in order. The writer holds at most twice as many chunks as it has threads, and 8 bytes
/// of index for each chunk. A file is written under a temporary name in the same folder, synced, and renamed by
/// [`Writer::finish`]. A writer that is dropped before that leaves no file.
///
/// # Examples
///
/// ```
/// use zvf_caterva::{Array, WriteOptions, Writer};
///
/// let items: Vec<u8> = (0..35u32).flat_map(u32::to_le_bytes).collect();
/// let options = WriteOptions::new(4, &[3, 4], &[2, 2]).with_dtype("<u4");
/// let mut writer = Writer::in_memory(&[5, 7], options)?;
/// writer.write_all(&items)?;
/// let frame = writer.finish()?.unwrap_or_default();
/// assert_eq!(Array::from_bytes(frame)?.read_all()?, items);
/// # Ok::<(), zvf_caterva::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    geometry: Geometry,
    options: WriteOptions,
    sink: FrameSink,
    header_len: usize,
    trailer: Vec<u8>,
    entries: Vec<i64>,
    cbytes: u64,
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates a writer of a new file; an existing file at `path` is replaced when the writer finishes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; shapes, settings or metalayers that the format or this build does not support; more chunks than an
    /// index can list.
    pub fn create(
        path: impl AsRef<Path>,
        shape: &[u64],
        options: WriteOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::new(shape, options, |head| FrameSink::file(path, head))
    }

    /// Creates a writer into memory.
    ///
    /// # Errors
    ///
    /// As [`Self::create`], without I/O.
    pub fn in_memory(shape: &[u64], options: WriteOptions) -> Result<Self, Error> {
        Self::new(shape, options, |head| Ok(FrameSink::Memory(head)))
    }

    fn new(
        shape: &[u64],
        options: WriteOptions,
        sink: impl FnOnce(Vec<u8>) -> Result<FrameSink, Error>,
    ) -> Result<Self, Error> {
        let geometry = options.geometry(shape)?;
        let settings = options.settings(&geometry);
        let encoder = Encoder::new(settings)?;
        // Invalid metalayers are refused before the first chunk is written.
        bytes::index_len(geometry.chunk_count)?;
        let trailer = bytes::trailer(&options)?;
        let header = bytes::header(&geometry, &options, &settings, bytes::Lengths::default())?;
        let header_len = header.len();
        Ok(Self {
            sink: sink(header)?,
            geometry,
            options,
            header_len,
            trailer,
            entries: Vec::new(),
            cbytes: 0,
            encoder,
            bytes: Vec::new(),
        })
    }

    /// Shapes and sizes.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The next chunk to write; `None` if all are written.
    ///
    /// # Errors
    ///
    /// None for the geometry of a writer.
    pub fn next_region(&self) -> Result<Option<ChunkRegion>, Error> {
        self.region(wide(self.entries.len()))
    }

    fn region(&self, chunk: u64) -> Result<Option<ChunkRegion>, Error> {
        let geometry = &self.geometry;
        if chunk >= geometry.chunk_count {
            return Ok(None);
        }
        let mut coord = geometry.chunks;
        let mut rest = chunk;
        for (place, count) in coord.as_mut().iter_mut().zip(geometry.chunks.iter()).rev() {
            *place = rest % count.max(&1);
            rest /= count.max(&1);
        }
        let extent = Dims::clipped(&coord, &geometry.chunk, &geometry.shape)?;
        let mut origin = coord;
        for (place, each) in origin.as_mut().iter_mut().zip(geometry.chunk.iter()) {
            *place = place.saturating_mul(*each);
        }
        Ok(Some(ChunkRegion {
            chunk,
            origin,
            extent,
        }))
    }

    /// Writes the next chunk: its items in C order, without padding ([`Self::next_region`] returns the extents).
    ///
    /// # Errors
    ///
    /// [`Error::Usage`]: no chunk is left, or `items` is not as long as the region. [`Error::Encode`]: the codec failed.
    /// [`Error::Io`].
    pub fn write_chunk(&mut self, items: &[u8]) -> Result<(), Error> {
        let region = self.next_region()?.ok_or(Error::Usage {
            what: "chunks",
            found: self.geometry.chunk_count.saturating_add(1),
            expected: self.geometry.chunk_count,
        })?;
        let mut blocks = std::mem::take(&mut self.bytes);
        to_blocks(&self.geometry, &region.extent, items, &mut blocks)?;
        let mut out = Vec::new();
        let written = self.encoder.encode(&blocks, &mut out);
        self.bytes = blocks;
        self.append(written?, &out)
    }

    /// Writes all remaining chunks, several concurrently. `fill` puts the items of a region, in C order, into a
    /// buffer of zero bytes. It is called from several threads, once for each region.
    ///
    /// # Errors
    ///
    /// The errors of `fill`, and as [`Self::write_chunk`].
    pub fn write_with(
        &mut self,
        fill: impl Fn(&ChunkRegion, &mut [u8]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let threads = match self.options.threads {
            0 => rayon::current_num_threads(),
            n => n,
        };
        let settings = *self.encoder.settings();
        let geometry = self.geometry;
        let encode = |region: &ChunkRegion| -> Result<(ChunkBody, Vec<u8>), Error> {
            let n = region
                .extent
                .count()
                .and_then(|n| n.checked_mul(wide(geometry.item)));
            let n = n
                .and_then(|n| usize::try_from(n).ok())
                .ok_or(GridError::TooLarge)?;
            let (mut items, mut blocks, mut out) = (vec![0; n], Vec::new(), Vec::new());
            fill(region, &mut items)?;
            to_blocks(&geometry, &region.extent, &items, &mut blocks)?;
            let written = Encoder::new(settings)?.encode(&blocks, &mut out)?;
            Ok((written, out))
        };
        loop {
            let first = wide(self.entries.len());
            let mut regions = Vec::new();
            while let Some(region) = self.region(first.saturating_add(wide(regions.len())))? {
                regions.push(region);
                if regions.len() >= 2 * threads {
                    break;
                }
            }
            if regions.is_empty() {
                return Ok(());
            }
            let encoded: Vec<_> = if threads > 1 {
                regions.par_iter().map(encode).collect()
            } else {
                regions.iter().map(encode).collect()
            };
            for one in encoded {
                let (written, out) = one?;
                self.append(written, &out)?;
            }
        }
    }

    /// Writes the whole array from its items in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Selection`] if `items` is not as long as the array; otherwise as [`Self::write_chunk`].
    pub fn write_all(&mut self, items: &[u8]) -> Result<(), Error> {
        let geometry = self.geometry;
        let (found, expected) = (wide(items.len()), geometry.nbytes());
        if found != expected {
            return Err(GridError::BufferLength { found, expected }.into());
        }
        self.write_with(|region, out| {
            let mut runs = [Run::default(); zvf_grid::MAX_RANK];
            for ((run, origin), extent) in runs
                .iter_mut()
                .zip(region.origin.iter())
                .zip(region.extent.iter())
            {
                *run = Run {
                    src: *origin,
                    step: 1,
                    dst: 0,
                    count: *extent,
                };
            }
            let runs = runs.get(..region.extent.len()).unwrap_or_default();
            copy(
                geometry.item,
                items,
                &geometry.shape,
                out,
                &region.extent,
                runs,
            )?;
            Ok(())
        })
    }

    fn append(&mut self, written: ChunkBody, bytes: &[u8]) -> Result<(), Error> {
        let entry = match written {
            ChunkBody::Zeros => Entry::Special(SpecialKind::Zeros),
            _ => {
                let at = self.cbytes;
                self.sink.append(bytes)?;
                self.cbytes = self.cbytes.saturating_add(wide(bytes.len()));
                Entry::At(at)
            }
        };
        self.entries.push(entry.raw());
        Ok(())
    }

    /// Writes index, trailer and header, and renames the file to its final name. Returns the bytes of a frame in
    /// memory.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`]: chunks are missing. [`Error::Io`].
    pub fn finish(mut self) -> Result<Option<Vec<u8>>, Error> {
        let (found, expected) = (wide(self.entries.len()), self.geometry.chunk_count);
        if found != expected {
            return Err(Error::Usage {
                what: "chunks written",
                found,
                expected,
            });
        }
        let mut tail = bytes::index(&self.entries)?;
        tail.extend(&self.trailer);
        self.sink.append(&tail)?;
        let chunks = wide(self.header_len).saturating_add(self.cbytes);
        let lengths = bytes::Lengths {
            frame: chunks.saturating_add(wide(tail.len())),
            cbytes: self.cbytes,
        };
        let settings = *self.encoder.settings();
        let header = bytes::header(&self.geometry, &self.options, &settings, lengths)?;
        self.sink.finish(&header)
    }
}

/// Arranges the items of a clipped chunk block by block; padding is zero.
fn to_blocks(
    geometry: &Geometry,
    extent: &Dims,
    items: &[u8],
    blocks: &mut Vec<u8>,
) -> Result<(), Error> {
    let found = wide(items.len());
    let expected = extent
        .count()
        .and_then(|n| n.checked_mul(wide(geometry.item)));
    if expected != Some(found) {
        let expected = expected.unwrap_or(u64::MAX);
        return Err(Error::Usage {
            what: "bytes of a chunk",
            found,
            expected,
        });
    }
    blocks.clear();
    blocks.resize(geometry.chunk_bytes, 0);
    for cell in Selection::all(extent)?.cells(&geometry.block)? {
        let number = geometry
            .blocks
            .position(&cell.coord())
            .and_then(|n| usize::try_from(n).ok());
        let from = number.and_then(|n| n.checked_mul(geometry.block_bytes));
        let block = from.and_then(|from| blocks.get_mut(from..from + geometry.block_bytes));
        let block = block.ok_or(GridError::TooLarge)?;
        // The selection's runs copy from the block to the chunk; swapped, they copy from the chunk to the block.
        let mut runs = [Run::default(); zvf_grid::MAX_RANK];
        for (run, part) in runs.iter_mut().zip(cell.runs()) {
            *run = Run {
                src: part.dst,
                step: 1,
                dst: part.src,
                count: part.count,
            };
        }
        let runs = runs.get(..extent.len()).unwrap_or_default();
        copy(geometry.item, items, extent, block, &geometry.block, runs)?;
    }
    Ok(())
}

//! Selections out of local sources, on several threads.

use std::sync::Mutex;
use std::vec::Vec;

use zvf_grid::{Dims, Selection, copy};

use super::catalog::{Catalog, Dataset, within};
use super::decode::{Decoder, Tile};
use super::plan::Plan;
use super::source::Source;
use super::trouble::Error;
use crate::layout::Codec;
use zvf_grid::int::wide;

/// What a read took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadStats {
    /// Tiles that were visited.
    pub tiles: u64,
    /// Bytes of payloads that were read, or looked at where they lie in memory.
    pub bytes: u64,
    /// Requests for them: reads of the file, or of the object store. 0 where they lie in memory.
    pub requests: u64,
}

impl ReadStats {
    pub(crate) fn add(&mut self, other: Self) {
        self.tiles += other.tiles;
        self.bytes += other.bytes;
        self.requests += other.requests;
    }
}

/// Bytes between two pieces of a tile that are rather read than jumped over.
const GAP: u64 = 16 << 10;

/// What copies or unpacks fewer bytes than this is done by one thread.
pub(crate) const PARALLEL: u64 = 1 << 20;

/// What all threads of one read share.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'f> {
    pub(crate) source: &'f Source,
    pub(crate) front: &'f [u8],
    pub(crate) catalog: &'f Catalog,
    pub(crate) dataset: &'f Dataset,
    /// Most bytes of one tile that is not decoded to its place.
    pub(crate) limit: u64,
    pub(crate) threads: usize,
}

impl Reader<'_> {
    /// Fills `into`, which is as long as the result.
    pub(crate) fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<ReadStats, Error> {
        let bytes = wide(into.len());
        let threads = self.threads;
        if threads == 1 || self.work(selection, bytes)? < PARALLEL {
            return self.read_slab(&mut Decoder::new(), selection, into);
        }
        let mut slabs = Vec::new();
        let mut rest = into;
        let most = wide(threads).saturating_mul(8);
        for slab in selection.slabs(&self.dataset.geometry().chunk_shape, most) {
            let length = slab.count().and_then(|count| {
                usize::try_from(count)
                    .ok()?
                    .checked_mul(self.dataset.item())
            });
            let Some((head, tail)) = length.and_then(|length| rest.split_at_mut_checked(length))
            else {
                return Err(zvf_grid::GridError::TooLarge.into());
            };
            rest = tail;
            slabs.push((slab, head));
        }
        let workers = threads.min(slabs.len());
        let queue = Mutex::new(slabs.into_iter());
        let work = || {
            let mut decoder = Decoder::new();
            let mut stats = ReadStats::default();
            loop {
                let next = match queue.lock() {
                    Ok(mut queue) => queue.next(),
                    Err(_) => None,
                };
                let Some((slab, into)) = next else {
                    return Ok(stats);
                };
                stats.add(self.read_slab(&mut decoder, &slab, into)?);
            }
        };
        if workers <= 1 {
            return work();
        }
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for other in others {
                let stats = match other.join() {
                    Ok(stats) => stats,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                all = all.and_then(|mut all: ReadStats| {
                    all.add(stats?);
                    Ok(all)
                });
            }
            all
        })
    }

    /// Bytes that are copied or unpacked for a result of `bytes`, by the codec of the first tile.
    fn work(&self, selection: &Selection, bytes: u64) -> Result<u64, Error> {
        let mut plan = Plan::new(self.catalog, self.front, self.dataset, selection)?;
        let tiles = plan.total().unwrap_or(u64::MAX);
        Ok(match plan.next() {
            Some(first) if first.codec == Codec::Zstd => first.raw_byte_len.saturating_mul(tiles),
            _ => bytes,
        })
    }

    fn read_slab(
        &self,
        decoder: &mut Decoder,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<ReadStats, Error> {
        let mut slab = Slab {
            decoder,
            into,
            shape: selection.shape(),
            stats: ReadStats::default(),
        };
        let plan = Plan::new(self.catalog, self.front, self.dataset, selection)?;
        plan.for_each_tile(self.limit, |tile| {
            slab.stats.tiles += 1;
            match tile.entry.codec() {
                Some(Codec::Zstd) => self.zstd_tile(tile, &mut slab),
                _ => self.raw_tile(tile, &mut slab),
            }
        })?;
        Ok(slab.stats)
    }

    fn zstd_tile(&self, tile: &Tile<'_>, slab: &mut Slab<'_>) -> Result<(), Error> {
        let (offset, len) = span(tile);
        slab.stats.bytes += len;
        if let Some(stored) = self.source.slice(offset, len) {
            return slab.inflate(tile, stored);
        }
        let mut stored = std::mem::take(&mut slab.decoder.stored);
        stored.resize(within("one payload", len, self.limit)?, 0);
        slab.stats.requests += 1;
        let done = self
            .source
            .read_at(offset, &mut stored)
            .map_err(Error::from)
            .and_then(|()| slab.inflate(tile, &stored));
        slab.decoder.stored = stored;
        done
    }

    fn raw_tile(&self, tile: &Tile<'_>, slab: &mut Slab<'_>) -> Result<(), Error> {
        let (offset, len) = span(tile);
        if let Some(bytes) = self.source.slice(offset, len) {
            slab.stats.bytes += tile.trim()?.len;
            return Ok(tile.copy_part(bytes, slab.into, &slab.shape)?);
        }
        if let Some(place) = tile.place_in(slab.into.len(), &slab.shape)
            && let Some(place) = slab.into.get_mut(place)
        {
            slab.stats.bytes += len;
            slab.stats.requests += 1;
            return Ok(self.source.read_at(offset, place)?);
        }
        let read = &mut slab.decoder.stored;
        for block in tile.blocks(GAP) {
            let block = block?;
            read.resize(within("one piece of a tile", block.len, self.limit)?, 0);
            slab.stats.bytes += block.len;
            slab.stats.requests += 1;
            self.source
                .read_at(offset.saturating_add(block.offset), read)?;
            let (into, shape) = (&mut *slab.into, &slab.shape);
            copy(tile.item, read, &block.shape, into, shape, block.runs())?;
        }
        Ok(())
    }
}

/// A part of a result on its way.
struct Slab<'s> {
    decoder: &'s mut Decoder,
    into: &'s mut [u8],
    shape: Dims,
    stats: ReadStats,
}

impl Slab<'_> {
    fn inflate(&mut self, tile: &Tile<'_>, stored: &[u8]) -> Result<(), Error> {
        self.decoder
            .inflate_part(tile, stored, self.into, &self.shape)
    }
}

/// Where the payload of a tile lies.
fn span(tile: &Tile<'_>) -> (u64, u64) {
    (
        tile.entry.payload_offset.get(),
        tile.entry.stored_byte_len.get(),
    )
}

impl Reader<'_> {
    /// Decodes every tile of the dataset and drops it.
    pub(crate) fn decode_all(&self) -> Result<u64, Error> {
        let mut decoder = Decoder::new();
        let mut scratch = Vec::new();
        let mut stats = ReadStats::default();
        let all = self.dataset.all();
        let plan = Plan::new(self.catalog, self.front, self.dataset, &all)?;
        plan.for_each_tile(self.limit, |tile| {
            stats.tiles += 1;
            if tile.entry.codec() == Some(Codec::Raw) {
                // Lengths and bounds were checked at opening: there is nothing to decode.
                return Ok(());
            }
            let (offset, len) = span(tile);
            scratch.resize(tile.raw_len(len)?, 0);
            if let Some(stored) = self.source.slice(offset, len) {
                return Ok(decoder.inflate(stored, &mut scratch, tile.row, tile.entry)?);
            }
            let mut stored = std::mem::take(&mut decoder.stored);
            stored.resize(within("one payload", len, self.limit)?, 0);
            self.source.read_at(offset, &mut stored)?;
            let done = decoder.inflate(&stored, &mut scratch, tile.row, tile.entry);
            decoder.stored = stored;
            Ok(done?)
        })?;
        Ok(stats.tiles)
    }
}

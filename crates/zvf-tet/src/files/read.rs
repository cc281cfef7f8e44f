//! Reads selections from local sources, on several threads.

use std::ops::Range;
use std::vec::Vec;

use zvf_grid::{GridError, Merge, Selection};
use zvf_sys::{ReadAt, in_parallel};

use super::catalog::{Catalog, Dataset, within};
use super::error::Error;
use super::plan::{PlannedTiles, TilePlan};
use super::requests::{TileBytes, fill, pieces, requests};
use super::tile::TileDecoder;
use crate::layout::TileCodec;
use zvf_grid::int::wide;

/// The cost of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadStats {
    /// Tiles that were read.
    pub tiles: u64,
    /// Bytes of payloads that were read, or used in memory.
    pub bytes: u64,
    /// Reads of the file, or requests to the server. 0 for files in memory.
    pub requests: u64,
}

impl ReadStats {
    pub(crate) fn count(&mut self, piece: &TileBytes) {
        self.tiles += u64::from(piece.begins());
        self.bytes += piece.len;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tiles += other.tiles;
        self.bytes += other.bytes;
        self.requests += other.requests;
    }
}

/// Limits the length of file reads, so that bytes are decoded while they are in the processor's cache.
const MERGE: Merge = Merge {
    most: 1 << 20,
    ..Merge::DISK
};

/// Reads that copy or decompress fewer bytes than this use one thread.
pub(crate) const PARALLEL: u64 = 1 << 20;

/// The data that all threads of one read share.
#[derive(Clone, Copy)]
pub(crate) struct DatasetReader<'f> {
    pub(crate) source: &'f dyn ReadAt,
    pub(crate) front: &'f [u8],
    pub(crate) catalog: &'f Catalog,
    pub(crate) dataset: &'f Dataset,
    /// Most bytes of one tile that is not decoded in place.
    pub(crate) limit: u64,
    pub(crate) threads: usize,
}

impl DatasetReader<'_> {
    /// Fills `into`, which is as long as the result.
    pub(crate) fn read(&self, selection: &Selection, into: &mut [u8]) -> Result<ReadStats, Error> {
        if let Some(cost) = self.source.requests() {
            return self.read_remote(cost.merge, selection, into);
        }
        let bytes = wide(into.len());
        let threads = self.threads;
        if threads == 1 || self.work(selection, bytes)? < PARALLEL {
            return self.read_slab(&mut TileDecoder::new(), selection, into);
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
                return Err(GridError::TooLarge.into());
            };
            rest = tail;
            slabs.push((slab, head));
        }
        let mut stats = ReadStats::default();
        let start = || {
            let mut decoder = TileDecoder::new();
            move |(slab, into): (Selection, &mut [u8]), emit: &mut dyn FnMut(ReadStats)| {
                emit(self.read_slab(&mut decoder, &slab, into)?);
                Ok::<(), Error>(())
            }
        };
        in_parallel(threads, slabs, start, |one| {
            stats.add(one);
            Ok(())
        })?;
        Ok(stats)
    }

    /// Bytes that are copied or decompressed for a result of `bytes`, estimated from the first tile.
    fn work(&self, selection: &Selection, bytes: u64) -> Result<u64, Error> {
        let mut plan = TilePlan::new(self.catalog, self.front, self.dataset, selection)?;
        let tiles = plan.total().unwrap_or(u64::MAX);
        Ok(match plan.next() {
            Some(first) if first.codec == TileCodec::Zstd => {
                first.raw_byte_len.saturating_mul(tiles)
            }
            _ => bytes,
        })
    }

    pub(super) fn tiles(&self, selection: &Selection) -> Result<PlannedTiles<'_>, Error> {
        let (catalog, front) = (self.catalog, self.front);
        PlannedTiles::new(catalog, front, self.dataset, selection, self.limit)
    }

    fn read_slab(
        &self,
        decoder: &mut TileDecoder,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<ReadStats, Error> {
        let shape = selection.shape();
        let mut stats = ReadStats::default();
        let tiles = self.tiles(selection)?;
        if self.source.bytes().is_some() {
            for tile in tiles {
                let tile = tile?;
                let (start, len) = (tile.entry.payload_offset, tile.entry.stored_byte_len);
                let payload = self.source.slice(start.get(), len.get());
                let payload = payload.ok_or(GridError::TooLarge)?;
                stats.tiles += 1;
                stats.bytes += if tile.is_raw() {
                    tile.trim()?.len
                } else {
                    len.get()
                };
                tile.put(decoder, payload, into, &shape)?;
            }
            return Ok(stats);
        }
        let mut pieces = pieces(tiles, MERGE.gap);
        let (mut window, mut buffer) = (Vec::new(), Vec::new());
        while fill(&mut pieces, &mut window)? {
            for (range, pieces) in requests(&window, MERGE) {
                stats.requests += 1;
                pieces.iter().for_each(|piece| stats.count(piece));
                if let [piece] = pieces
                    && let Some(place) = piece.place_in(into.len(), &shape)
                    && let Some(place) = into.get_mut(place)
                {
                    self.source.read_at(range.start, place)?;
                    continue;
                }
                let bytes = self.bytes(&range, &mut buffer)?;
                for piece in pieces {
                    piece.put(decoder, piece.bytes(range.start, bytes)?, into, &shape)?;
                }
            }
        }
        Ok(stats)
    }

    /// The rules by which neighbouring payloads are merged into one read.
    fn merge(&self) -> Merge {
        self.source.requests().map_or(MERGE, |cost| cost.merge)
    }

    /// The bytes of a request, in place or in `buffer`.
    fn bytes<'b>(&'b self, range: &Range<u64>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Error> {
        let len = range.end - range.start;
        if let Some(bytes) = self.source.slice(range.start, len) {
            return Ok(bytes);
        }
        // Merging makes no request longer than `most`; a single piece may be longer, up to `limit`.
        buffer.resize(
            within("one request", len, self.limit.max(self.merge().most))?,
            0,
        );
        self.source.read_at(range.start, buffer)?;
        Ok(buffer)
    }

    /// Decodes every tile of the dataset and drops it.
    pub(crate) fn decode_all(&self) -> Result<u64, Error> {
        let (mut decoder, mut decoded) = (TileDecoder::new(), Vec::new());
        let mut tiles = 0;
        let merge = self.merge();
        let all = pieces(self.tiles(&self.dataset.all())?, u64::MAX).inspect(|_| tiles += 1);
        // Lengths and bounds of raw tiles were checked when the file was opened; they need no decoding.
        let mut packed = all.filter(|piece| !piece.as_ref().is_ok_and(|piece| piece.tile.is_raw()));
        let (mut window, mut buffer) = (Vec::new(), Vec::new());
        while fill(&mut packed, &mut window)? {
            for (range, pieces) in requests(&window, merge) {
                let bytes = self.bytes(&range, &mut buffer)?;
                for piece in pieces {
                    let own = piece.bytes(range.start, bytes)?;
                    decoded.resize(piece.tile.raw_len(piece.len)?, 0);
                    decoder.inflate(own, &mut decoded, &piece.tile)?;
                }
            }
        }
        drop(packed);
        Ok(tiles)
    }
}

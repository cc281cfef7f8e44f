//! Decodes blocks and copies them to their place in the result.

use std::ops::Range;

use zvf_blosc::filters::unshuffle_some;
use zvf_blosc::stream::{BlockContext, decode_block, join_streams};
use zvf_blosc::{Body, DecodeError, Special};
use zvf_grid::{CellPart, Run, copy, fill};

use super::cache::{ChunkHead, Workspace};
use super::fetch::FetchedBytes;
use super::parts::{FrameParts, ReadCounters};
use super::plan::BlockPart;
use super::{Error, ReadOptions};
use crate::Geometry;
use zvf_grid::int::wide;

/// Blocks up to this size are always decoded; larger ones only if their stored bytes can produce that size.
const FREE: usize = 64 << 20;
/// Most stored bytes of a run.
const RUN: usize = 5;
/// Most decoded bytes per stored byte of another stream: a run in Zstandard.
const GAIN: usize = 1 << 18;

/// Most blocks that are listed at a time. A list of all blocks of a chunk could be a hundred times as large as its block table.
const WINDOW: usize = 1024;

/// If at most one in this many items of a shuffled block is selected, only the selected items are unshuffled.
const SOME: usize = 4;

/// Whether to unshuffle only the selected items of a block of `items` items, line by line. This is faster if they are very
/// few, or if they are few and their lines are long.
fn few(block: &BlockPart, shape: &[u64], items: usize) -> bool {
    let count = block.part.count().unwrap_or(u64::MAX);
    let lines = block.part.runs().iter().zip(shape);
    let line = lines.rev().find(|(_, result)| **result > 1);
    let line = line.map_or(1, |(run, _)| run.count);
    count <= 64 || (line >= 8 && count <= wide(items / SOME))
}

/// A block with selected items.
#[derive(Debug)]
pub(crate) struct Needed {
    part: BlockPart,
    /// The position of its first byte in the chunk.
    start: usize,
    /// Its stored bytes.
    stored: usize,
}

/// The part of a read that concerns one chunk.
pub(crate) struct ChunkRead<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) chunk: u64,
    /// The part of the chunk that is selected.
    pub(crate) part: CellPart,
    /// The extents of the result that `part` belongs to.
    pub(crate) shape: &'a [u64],
    pub(crate) options: &'a ReadOptions<'a>,
    pub(crate) counters: &'a ReadCounters,
}

impl<'a> ChunkRead<'a> {
    /// Creates the read of `part` of a chunk for a result of `shape`.
    pub(crate) fn new(
        geometry: &'a Geometry,
        parts: &'a FrameParts,
        (chunk, part): (u64, CellPart),
        shape: &'a [u64],
        options: &'a ReadOptions<'a>,
    ) -> Self {
        Self {
            geometry,
            chunk,
            part,
            shape,
            options,
            counters: &parts.counters,
        }
    }

    /// Fills the part of a special chunk.
    pub(crate) fn fill(&self, special: Special<'_>, out: &mut [u8]) -> Result<(), Error> {
        let item = self.geometry.item;
        let mut value = vec![0; item];
        match special {
            // The length of the value does not divide the item size.
            Special::Value(bytes) if !item.is_multiple_of(bytes.len().max(1)) => {
                return self.fill_blocks(special, out);
            }
            _ => special.fill(0, &mut value),
        }
        fill(&value, out, self.shape, self.part.runs())?;
        Ok(())
    }

    /// Fills from a value whose length does not divide the item size: the chunk is this value, repeated.
    fn fill_blocks(&self, special: Special<'_>, out: &mut [u8]) -> Result<(), Error> {
        let Geometry {
            item, block_bytes, ..
        } = *self.geometry;
        if block_bytes > FREE {
            let error = DecodeError::limit("block", 0, wide(block_bytes), wide(FREE));
            return Err(Error::chunk(self.chunk)(error));
        }
        let mut bytes = vec![0; block_bytes];
        for block in self.geometry.blocks_of(&self.part)? {
            special.fill(block.number.saturating_mul(block_bytes), &mut bytes);
            let runs = self.part.nested(&block.part);
            copy(
                item,
                &bytes,
                &self.geometry.block,
                out,
                self.shape,
                self.runs(&runs),
            )?;
        }
        Ok(())
    }

    fn runs<'r>(&self, runs: &'r [Run]) -> &'r [Run] {
        runs.get(..self.shape.len()).unwrap_or_default()
    }

    /// The blocks of the chunk's own block table (*header blocks*) that hold one block of the array.
    pub(crate) fn header_blocks(&self, table: &ChunkHead, block: usize) -> Range<usize> {
        let (each, n) = (table.header.blocksize().max(1), self.geometry.block_bytes);
        if each == n {
            return block..block + 1;
        }
        let from = block.saturating_mul(n);
        let to = from.saturating_add(n).min(table.header.nbytes());
        from / each..to.div_ceil(each)
    }

    /// Iterates over the blocks that the part needs, in windows. Windows follow C order. Inside a window, blocks are sorted
    /// by their position in the chunk; the two orders can differ if several threads wrote the chunk.
    pub(crate) fn windows<'v>(
        &'v self,
        table: &'v ChunkHead,
    ) -> Result<impl Iterator<Item = Result<Vec<Needed>, Error>> + 'v, Error> {
        let blocks = self.geometry.blocks_of(&self.part)?;
        let mut blocks = blocks.map(move |part| self.needed(table, part));
        Ok(std::iter::from_fn(move || {
            let window: Result<Vec<Needed>, Error> = blocks.by_ref().take(WINDOW).collect();
            let sorted = window.map(|mut window| {
                window.sort_by_key(|block| block.start);
                window
            });
            Some(sorted).filter(|window| !matches!(window, Ok(none) if none.is_empty()))
        }))
    }

    fn needed(&self, table: &ChunkHead, part: BlockPart) -> Result<Needed, Error> {
        let (mut start, mut stored) = (usize::MAX, 0usize);
        for extent in self.block_extents(table, part.number) {
            let extent = extent?;
            start = start.min(extent.start);
            stored = stored.saturating_add(extent.len());
        }
        Ok(Needed {
            part,
            start,
            stored,
        })
    }

    /// The ranges of the header blocks that hold one block of the array.
    fn block_extents<'v>(
        &'v self,
        table: &'v ChunkHead,
        block: usize,
    ) -> impl Iterator<Item = Result<Range<usize>, Error>> + 'v {
        let extent = |number| {
            let extent = table.extent(number);
            extent.map_err(Error::block(self.chunk, number))
        };
        self.header_blocks(table, block).map(extent)
    }

    /// The number of these blocks to read together, 1 or more.
    pub(crate) fn piece(&self, table: &ChunkHead, needed: &[Needed]) -> usize {
        if table.header.cbytes() <= self.options.whole_chunk {
            return needed.len();
        }
        let mut stored = 0usize;
        let before = needed.iter().position(|block| {
            stored = stored.saturating_add(block.stored);
            stored > self.options.piece
        });
        before.map_or(needed.len(), |before| before.max(1))
    }

    /// Adds the extents of the needed blocks to `extents`. With delta, adds block 0 too, unless `reference_of` is this chunk.
    pub(crate) fn extents(
        &self,
        table: &ChunkHead,
        needed: &[Needed],
        reference_of: Option<u64>,
        extents: &mut Vec<Range<usize>>,
    ) -> Result<(), Error> {
        let delta = table.pipeline.is_some_and(|pipeline| pipeline.has_delta());
        if delta && reference_of != Some(self.chunk) {
            let extent = table.extent(0);
            extents.push(extent.map_err(Error::block(self.chunk, 0))?);
        }
        for block in needed {
            for extent in self.block_extents(table, block.part.number) {
                extents.push(extent?);
            }
        }
        Ok(())
    }

    /// Decodes blocks from fetched bytes, and copies their selected items to `out`.
    pub(crate) fn decode(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'_>,
        needed: &[Needed],
        work: &mut Buffers<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        needed
            .iter()
            .try_for_each(|block| self.block(table, fetched, &block.part, work, out))
    }

    fn block(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'_>,
        block: &BlockPart,
        work: &mut Buffers<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let geometry = self.geometry;
        let n = geometry.block_bytes;
        let runs = self.part.nested(&block.part);
        let runs = self.runs(&runs);
        let spanned = self.header_blocks(table, block.number);
        let one = spanned.len() == 1 && table.header.block_len(spanned.start) == n;
        if one && table.header.body() == Body::Stored {
            let bytes = self.stored(table, fetched, block.number)?;
            copy(geometry.item, bytes, &geometry.block, out, self.shape, runs)?;
            return Ok(());
        }
        if one
            && let Some(place) = self
                .place(block, runs)
                .and_then(|at| out.get_mut(at..at + n))
        {
            return self.header_block(table, fetched, block.number, work, place);
        }
        if one
            && let Some(width) = table.pipeline.and_then(|pipeline| pipeline.only_shuffle())
            && width == geometry.item
            && few(block, self.shape, n / width)
        {
            return self.some_items(table, fetched, block.number, runs, work, out);
        }
        let mut bytes = std::mem::take(work.block);
        let decoded = self.whole_block(table, fetched, block.number, work, &mut bytes);
        let moved = decoded.and_then(|()| {
            let bytes = bytes.get(..n).unwrap_or_default();
            Ok(copy(
                geometry.item,
                bytes,
                &geometry.block,
                out,
                self.shape,
                runs,
            )?)
        });
        *work.block = bytes;
        moved
    }

    /// Decodes a block and unshuffles only the few selected items.
    fn some_items(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'_>,
        block: usize,
        runs: &[Run],
        work: &mut Buffers<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let geometry = self.geometry;
        let n = geometry.block_bytes;
        let bad = Error::block(self.chunk, block);
        self.check_size(table, n, block..block + 1)?;
        let (start, bytes) = self.bytes(table, fetched, block)?;
        let Some(pipeline) = &table.pipeline else {
            return Ok(());
        };
        if work.scratch.len() < n {
            work.scratch.resize(n, 0);
        }
        let planes = work.scratch.get_mut(..n).unwrap_or_default();
        let header = &table.header;
        let context = BlockContext {
            header,
            pipeline,
            dictionary: table.dictionary(),
            reference: None,
        };
        join_streams(context, block, bytes, planes, work.codecs)
            .map_err(|error| bad(error.shifted(wide(start))))?;
        gather(
            geometry.item,
            planes,
            &geometry.block,
            out,
            self.shape,
            runs,
        );
        Ok(())
    }

    /// The position of the block in the result, if the whole block is stored there as one run.
    fn place(&self, block: &BlockPart, runs: &[Run]) -> Option<usize> {
        let shape = &self.geometry.block;
        if !block.part.is_whole(shape) {
            return None;
        }
        let mut at = 0u64;
        let mut inner_whole = true;
        let mut each = wide(self.geometry.item);
        for ((run, extent), result) in runs.iter().zip(shape.iter()).zip(self.shape).rev() {
            if !inner_whole && *extent != 1 {
                return None;
            }
            at = at.checked_add(run.dst.checked_mul(each)?)?;
            each = each.checked_mul(*result)?;
            inner_whole &= extent == result;
        }
        usize::try_from(at).ok()
    }

    /// Decodes one block of the array into the start of `bytes`, from the header blocks that hold it.
    fn whole_block(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'_>,
        block: usize,
        work: &mut Buffers<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let n = self.geometry.block_bytes;
        let spanned = self.header_blocks(table, block);
        self.check_size(table, n, spanned.clone())?;
        if bytes.len() < n {
            bytes.resize(n, 0);
        }
        let bytes = bytes.get_mut(..n).unwrap_or_default();
        if spanned.len() == 1 && table.header.block_len(spanned.start) == n {
            return self.header_block(table, fetched, block, work, bytes);
        }
        let (each, first) = (table.header.blocksize(), block.saturating_mul(n));
        for number in spanned {
            let length = table.header.block_len(number);
            self.check_size(table, length, number..number + 1)?;
            let mut piece = std::mem::take(work.piece);
            piece.resize(length, 0);
            let decoded = self.header_block(table, fetched, number, work, &mut piece);
            let start = number.saturating_mul(each);
            let from = first.max(start);
            let to = (first + n).min(start + length);
            if let (Some(to_place), Some(from_place)) = (
                bytes.get_mut(from.saturating_sub(first)..to.saturating_sub(first)),
                piece.get(from - start..to.saturating_sub(start).max(from - start)),
            ) && to_place.len() == from_place.len()
            {
                to_place.copy_from_slice(from_place);
            }
            *work.piece = piece;
            decoded?;
        }
        Ok(())
    }

    /// Fails, before memory is allocated, if the stored bytes of the blocks cannot decode to `n` bytes.
    fn check_size(&self, table: &ChunkHead, n: usize, blocks: Range<usize>) -> Result<(), Error> {
        if n <= FREE || table.header.body() != Body::Compressed {
            return Ok(());
        }
        // Each stream of a block may be a run, whose length does not depend on its stored bytes.
        let runs = RUN.saturating_mul(table.header.typesize().max(1));
        let mut most = 0usize;
        for block in blocks.clone() {
            let extent = table
                .extent(block)
                .map_err(Error::block(self.chunk, block))?;
            most = most.saturating_add(match extent.len() <= runs {
                true => table.header.blocksize(),
                false => extent.len().saturating_mul(GAIN),
            });
        }
        let most = FREE.max(most);
        if n > most {
            let error = DecodeError::limit("block", 0, wide(n), wide(most));
            return Err(Error::block(self.chunk, blocks.start)(error));
        }
        Ok(())
    }

    fn bytes<'f>(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'f>,
        block: usize,
    ) -> Result<(usize, &'f [u8]), Error> {
        let bad = Error::block(self.chunk, block);
        let extent = table.extent(block).map_err(&bad)?;
        let found = fetched.get(&extent).ok_or_else(|| {
            bad(DecodeError::truncated(
                "block",
                wide(extent.start),
                0,
                wide(extent.len()),
            ))
        })?;
        self.options.decoding(self.chunk, block);
        self.counters
            .blocks
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok((extent.start, found))
    }

    fn stored<'f>(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'f>,
        block: usize,
    ) -> Result<&'f [u8], Error> {
        Ok(self.bytes(table, fetched, block)?.1)
    }

    /// Decodes one block of the chunk's block table into exactly `out`.
    fn header_block(
        &self,
        table: &ChunkHead,
        fetched: FetchedBytes<'_>,
        block: usize,
        work: &mut Buffers<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let bad = Error::block(self.chunk, block);
        let Some(pipeline) = &table.pipeline else {
            let bytes = self.stored(table, fetched, block)?;
            if bytes.len() == out.len() {
                out.copy_from_slice(bytes);
            }
            return Ok(());
        };
        self.check_size(table, out.len(), block..block + 1)?;
        if work.scratch.len() < out.len() {
            work.scratch.resize(out.len(), 0);
        }
        let mut reference = None;
        if pipeline.has_delta() && block != 0 {
            if *work.reference_of != Some(self.chunk) {
                let mut first = std::mem::take(work.reference);
                *work.reference_of = None;
                first.resize(table.header.block_len(0), 0);
                let decoded = self.header_block(table, fetched, 0, work, &mut first);
                *work.reference = first;
                decoded?;
                *work.reference_of = Some(self.chunk);
            }
            reference = Some(work.reference.as_slice());
        }
        let (start, bytes) = self.bytes(table, fetched, block)?;
        let context = BlockContext {
            header: &table.header,
            pipeline,
            dictionary: table.dictionary(),
            reference,
        };
        decode_block(context, block, bytes, out, work.scratch, work.codecs)
            .map_err(|error| bad(error.shifted(wide(start))))
    }
}

/// Copies the items that `runs` select from the shuffled planes of a block of shape `block` to a result of shape `shape`.
fn gather(item: usize, planes: &[u8], block: &[u64], out: &mut [u8], shape: &[u64], runs: &[Run]) {
    // Trailing axes on which the result has one item are skipped; lines run along the last axis before them.
    let rank = shape.iter().rposition(|result| *result > 1);
    let rank = rank.map_or(1, |last| last + 1).min(runs.len());
    let (mut tail, mut at) = (1, 0);
    for (run, extent) in runs.iter().zip(block).skip(rank) {
        tail *= extent;
        at = at * extent + run.src;
    }
    let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut line = |src: u64, dst: u64, run: &Run| {
        let from = place(dst).saturating_mul(item);
        let n = place(run.count).saturating_mul(item);
        if let Some(out) = out.get_mut(from..from.saturating_add(n)) {
            let (first, step) = (place(src * tail + at), place(run.step * tail));
            unshuffle_some(planes, item, first, step, out);
        }
    };
    let axes: Vec<(Run, u64, u64)> = runs
        .iter()
        .zip(block)
        .zip(shape)
        .take(rank)
        .map(|((run, block), shape)| (*run, *block, *shape))
        .collect();
    lines(&axes, 0, 0, &mut line);
}

/// Calls `line` with the index of the first item of every line along the last axis: in the block, and in the result.
fn lines(axes: &[(Run, u64, u64)], src: u64, dst: u64, line: &mut impl FnMut(u64, u64, &Run)) {
    let Some(((run, block, shape), rest)) = axes.split_first() else {
        let one = Run {
            count: 1,
            ..Run::default()
        };
        return line(src, dst, &one);
    };
    let (src, dst) = (src * block, dst * shape);
    if rest.is_empty() {
        return line(src + run.src, dst + run.dst, run);
    }
    for i in 0..run.count {
        lines(rest, src + run.src + i * run.step, dst + run.dst + i, line);
    }
}

/// The buffers of a workspace that decoding needs, apart from the bytes that were read.
pub(crate) struct Buffers<'a> {
    codecs: &'a mut zvf_blosc::Codecs,
    scratch: &'a mut Vec<u8>,
    block: &'a mut Vec<u8>,
    piece: &'a mut Vec<u8>,
    reference: &'a mut Vec<u8>,
    reference_of: &'a mut Option<u64>,
}

impl Workspace {
    /// The buffers, and the segments that were read.
    pub(crate) fn split(&mut self) -> (Buffers<'_>, FetchedBytes<'_>) {
        let buffers = Buffers {
            codecs: &mut self.codecs,
            scratch: &mut self.scratch,
            block: &mut self.block,
            piece: &mut self.piece,
            reference: &mut self.reference,
            reference_of: &mut self.reference_of,
        };
        (buffers, FetchedBytes::Pieces(&self.raw, &self.segments))
    }
}

//! One tile: which of its bytes are needed, and how they are copied to their place in the result. No I/O.

use std::ops::Range;
use std::vec::Vec;

use zstd::zstd_safe::DCtx;
use zvf_grid::{CellPart, Dims, GridError, MAX_RANK, Run, copy};

use super::error::Error;
use crate::error::{Class, Expected, FieldOwner, TetError};
use crate::layout::{IndexEntry, TileCodec};
use zvf_grid::int::wide;

/// The decoder of one thread.
pub(crate) struct TileDecoder {
    context: DCtx<'static>,
    /// A decoded tile, unless the whole tile is decoded directly into the result.
    raw: Vec<u8>,
}

/// One tile of a selection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tile {
    /// Its row in the chunk index.
    pub(crate) row: u64,
    pub(crate) entry: IndexEntry,
    pub(crate) extent: Dims,
    /// The selected part.
    pub(crate) part: CellPart,
    pub(crate) item: usize,
    /// Most bytes that may be allocated to decode the tile.
    pub(crate) limit: u64,
}

/// A run of bytes of a raw tile that holds the selected part, or one slice of it. One index is fixed on each of the leading
/// axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileBlock {
    /// From the start of the tile.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) shape: Dims,
    runs: [Run; MAX_RANK],
    rank: usize,
}

impl TileBlock {
    fn runs(&self) -> &[Run] {
        self.runs.get(..self.rank).unwrap_or(&[])
    }

    /// The range of the block in the result, if all of the block is wanted and contiguous there.
    pub(crate) fn place_in(&self, item: usize, len: usize, shape: &Dims) -> Option<Range<usize>> {
        place_in(item, &self.shape, self.runs(), len, shape)
    }

    /// Copies the wanted part of the bytes of the block to its place in `into`, a result of `shape`.
    pub(crate) fn copy(
        &self,
        item: usize,
        bytes: &[u8],
        into: &mut [u8],
        shape: &Dims,
    ) -> Result<(), GridError> {
        copy(item, bytes, &self.shape, into, shape, self.runs())
    }
}

impl TileDecoder {
    pub(crate) fn new() -> Self {
        Self {
            context: DCtx::create(),
            raw: Vec::new(),
        }
    }

    /// Decodes a zstd payload into a buffer that has the expected length of the tile.
    pub(crate) fn inflate(
        &mut self,
        stored: &[u8],
        into: &mut [u8],
        tile: &Tile,
    ) -> Result<(), TetError> {
        /// The destination is too small: the stable number of this error in the library.
        const TOO_SMALL: usize = 70;
        let at = tile.entry.payload_offset.get();
        let want = wide(into.len());
        let fault = |class, found, expected| {
            Err(TetError::new(class, "payload", at, found, expected)
                .of(FieldOwner::Entry(tile.row)))
        };
        if stored.is_empty() {
            return fault(
                Class::ZstdDecode,
                0,
                Expected::Text("a Zstandard frame of at least one byte"),
            );
        }
        // Decodes directly into the destination: no window is allocated, and nothing is written past its end.
        match self.context.decompress(into, stored) {
            Ok(length) if length == into.len() => Ok(()),
            Ok(length) => fault(
                Class::DecodedLengthMismatch,
                wide(length),
                Expected::Exactly(want),
            ),
            Err(code) if 0_usize.wrapping_sub(code) == TOO_SMALL => fault(
                Class::DecodedLengthMismatch,
                want.saturating_add(1),
                Expected::Exactly(want),
            ),
            Err(_) => fault(
                Class::ZstdDecode,
                wide(stored.len()),
                Expected::Text("whole Zstandard frames"),
            ),
        }
    }
}

impl Tile {
    pub(crate) fn is_raw(&self) -> bool {
        self.entry.codec() != Some(TileCodec::Zstd)
    }

    /// Decodes a payload and copies the wanted part to its place in `into`, a result of `shape`.
    pub(crate) fn put(
        &self,
        decoder: &mut TileDecoder,
        stored: &[u8],
        into: &mut [u8],
        shape: &Dims,
    ) -> Result<(), Error> {
        let (item, extent, runs) = (self.item, &self.extent, self.part.runs());
        if self.is_raw() {
            return Ok(copy(item, stored, extent, into, shape, runs)?);
        }
        if let Some(place) = place_in(item, extent, runs, into.len(), shape)
            && let Some(place) = into.get_mut(place)
        {
            return Ok(decoder.inflate(stored, place, self)?);
        }
        let mut raw = std::mem::take(&mut decoder.raw);
        let done = self.raw_len(wide(stored.len())).and_then(|length| {
            raw.resize(length, 0);
            decoder.inflate(stored, &mut raw, self)?;
            Ok(copy(item, &raw, extent, into, shape, runs)?)
        });
        decoder.raw = raw;
        done
    }

    /// Returns the decoded length, if a payload of `stored` bytes can decode to it and the limit allows it.
    pub(crate) fn raw_len(&self, stored: u64) -> Result<usize, Error> {
        /// Most bytes that four bytes of a Zstandard frame decode to: a block of one repeated byte.
        const BLOCK: u64 = 128 << 10;
        let raw = self.entry.raw_byte_len.get();
        let most = stored.saturating_mul(BLOCK / 4).saturating_add(BLOCK);
        if raw > most {
            return Err(TetError::new(
                Class::DecodedLengthMismatch,
                "payload",
                self.entry.payload_offset.get(),
                most,
                Expected::Exactly(raw),
            )
            .of(FieldOwner::Entry(self.row))
            .into());
        }
        super::catalog::within("one decoded tile", raw, self.limit)
    }

    /// The shortest run of bytes of the raw tile that holds everything that is wanted.
    pub(crate) fn trim(&self) -> Result<TileBlock, Error> {
        let runs = self.part.runs();
        let fixed = runs.iter().take_while(|run| run.count == 1).count();
        Ok(self.block(fixed, 0)?)
    }

    /// The number of leading axes on which each index is read separately, because its neighbours are more than `gap`
    /// bytes apart or because it is the only index.
    fn apart(&self, gap: u64) -> usize {
        let mut stride = wide(self.item);
        let mut span = stride;
        let mut apart = 0;
        for (axis, (run, extent)) in self
            .part
            .runs()
            .iter()
            .zip(self.extent.iter())
            .enumerate()
            .rev()
        {
            let step = run.step.saturating_mul(stride);
            if apart == 0 && run.count > 1 && step.saturating_sub(span) > gap {
                apart = axis + 1;
            }
            span = span.saturating_add(step.saturating_mul(run.count.saturating_sub(1)));
            stride = stride.saturating_mul(*extent);
        }
        let fixed = self.part.runs().iter().take_while(|run| run.count == 1);
        apart.max(fixed.count())
    }

    /// The blocks to read if a read costs about as much as `gap` bytes: the number of axes that are read index by index,
    /// and the resulting number of blocks.
    pub(crate) fn blocks(&self, gap: u64) -> (usize, u64) {
        let apart = self.apart(gap);
        let turns = self.part.runs().iter().take(apart);
        let count = turns.fold(1_u64, |all, run| all.saturating_mul(run.count));
        (apart, count)
    }

    /// Block number `turn`, if the first `apart` axes are read index by index.
    pub(crate) fn block(&self, apart: usize, turn: u64) -> Result<TileBlock, GridError> {
        let rank = self.extent.len();
        let mut block = TileBlock {
            offset: 0,
            len: wide(self.item),
            shape: self.extent,
            runs: [Run::default(); MAX_RANK],
            rank,
        };
        let mut turn = turn;
        let mut stride = wide(self.item);
        let axes = self.part.runs().iter().zip(self.extent.iter()).enumerate();
        for (axis, (run, extent)) in axes.rev() {
            let mut kept = *run;
            let mut taken = *extent;
            if axis < apart {
                let index = turn % run.count.max(1);
                turn /= run.count.max(1);
                let src = run.src.saturating_add(index.saturating_mul(run.step));
                block.offset = block.offset.saturating_add(src.saturating_mul(stride));
                kept = Run {
                    src: 0,
                    step: 1,
                    dst: run.dst.saturating_add(index),
                    count: 1,
                };
                taken = 1;
            } else if axis == apart {
                let last = run.count.saturating_sub(1).saturating_mul(run.step);
                block.offset = block.offset.saturating_add(run.src.saturating_mul(stride));
                kept.src = 0;
                taken = last.saturating_add(1);
            }
            block.len = block.len.checked_mul(taken).ok_or(GridError::TooLarge)?;
            stride = stride.checked_mul(*extent).ok_or(GridError::TooLarge)?;
            if let (Some(slot), Some(run)) =
                (block.shape.as_mut().get_mut(axis), block.runs.get_mut(axis))
            {
                *slot = taken;
                *run = kept;
            }
        }
        Ok(block)
    }
}

/// The range of an array of `extent` in a result of `shape` and `len` bytes, if the whole array is selected and its
/// bytes are contiguous there.
fn place_in(
    item: usize,
    extent: &Dims,
    runs: &[Run],
    len: usize,
    shape: &Dims,
) -> Option<Range<usize>> {
    let mut count = 1_u64;
    for (run, extent) in runs.iter().zip(extent.iter()) {
        if run.src != 0 || run.count != *extent || (run.step != 1 && run.count > 1) {
            return None;
        }
        count = count.checked_mul(*extent)?;
    }
    let places = runs.iter().map(|run| (run.dst, 1, run.count));
    let start = usize::try_from(side_by_side(places, shape)?)
        .ok()?
        .checked_mul(item)?;
    let stop = start.checked_add(usize::try_from(count).ok()?.checked_mul(item)?)?;
    (stop <= len).then_some(start..stop)
}

/// The first element of a box (start, step and count for each axis) in an array of `shape`, if its elements are contiguous.
pub(crate) fn side_by_side(
    axes: impl DoubleEndedIterator<Item = (u64, u64, u64)> + ExactSizeIterator,
    shape: &[u64],
) -> Option<u64> {
    let (mut start, mut stride, mut full) = (0_u64, 1_u64, true);
    for ((first, step, count), extent) in axes.zip(shape.iter().copied()).rev() {
        if count > 1 && (!full || step != 1) {
            return None;
        }
        start = start.checked_add(first.checked_mul(stride)?)?;
        full &= count == extent;
        stride = stride.checked_mul(extent)?;
    }
    Some(start)
}

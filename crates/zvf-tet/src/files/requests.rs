//! Computes which bytes of a file a read needs, merges them into requests, and copies or decodes the received bytes. No
//! I/O: local and remote readers differ in how they fetch the bytes of a request.

use std::ops::Range;
use std::vec::Vec;

use zvf_grid::{Dims, GridError, Merge};

use super::error::Error;
use super::plan::PlannedTiles;
use super::tile::{Tile, TileDecoder};

/// Most pieces that are sorted and merged together, so that a read of very many small tiles needs little memory.
const WINDOW: usize = 4096;

/// A run of bytes of the file that a read needs from one tile: a payload, or a block of a raw tile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileBytes {
    pub(crate) tile: Tile,
    /// Identifies the block; see [`Tile::block`].
    apart: usize,
    turn: u64,
    start: u64,
    pub(crate) len: u64,
}

impl TileBytes {
    fn new(tile: Tile, apart: usize, turn: u64) -> Result<Self, Error> {
        let mut start = tile.entry.payload_offset.get();
        let mut len = tile.entry.stored_byte_len.get();
        if tile.is_raw() {
            let block = tile.block(apart, turn)?;
            start = start.saturating_add(block.offset);
            len = block.len;
        }
        Ok(Self {
            tile,
            apart,
            turn,
            start,
            len,
        })
    }

    fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.len)
    }

    /// Whether it is the first one of its tile.
    pub(crate) const fn begins(&self) -> bool {
        self.turn == 0
    }

    /// The range of its bytes within the `len` bytes of its request, which begins at `start`.
    pub(crate) fn place(&self, start: u64, len: usize) -> Result<Range<usize>, Error> {
        let from = self.start.checked_sub(start);
        let from = from.and_then(|from| usize::try_from(from).ok());
        let place = from.and_then(|from| {
            let stop = from.checked_add(usize::try_from(self.len).ok()?)?;
            (stop <= len).then_some(from..stop)
        });
        Ok(place.ok_or(GridError::TooLarge)?)
    }

    /// Its bytes, within its request.
    pub(crate) fn bytes<'b>(&self, start: u64, request: &'b [u8]) -> Result<&'b [u8], Error> {
        let place = self.place(start, request.len())?;
        Ok(request.get(place).ok_or(GridError::TooLarge)?)
    }

    /// The range of the result into which its bytes can be read directly, if the block has the same layout in both.
    pub(crate) fn place_in(&self, len: usize, shape: &Dims) -> Option<Range<usize>> {
        if !self.tile.is_raw() {
            return None;
        }
        let block = self.tile.block(self.apart, self.turn).ok()?;
        block.place_in(self.tile.item, len, shape)
    }

    /// Decodes its bytes and copies the wanted part to its place in `into`, a result of `shape`.
    pub(crate) fn put(
        &self,
        decoder: &mut TileDecoder,
        bytes: &[u8],
        into: &mut [u8],
        shape: &Dims,
    ) -> Result<(), Error> {
        if self.tile.is_raw() {
            self.copy(bytes, into, shape)
        } else {
            self.tile.put(decoder, bytes, into, shape)
        }
    }

    /// Copies the wanted part of a block of a raw tile to its place in `into`.
    pub(crate) fn copy(&self, bytes: &[u8], into: &mut [u8], shape: &Dims) -> Result<(), Error> {
        let block = self.tile.block(self.apart, self.turn)?;
        Ok(block.copy(self.tile.item, bytes, into, shape)?)
    }
}

/// The pieces of tiles that a read needs, if reading `gap` unneeded bytes costs less than another request.
pub(crate) fn pieces(
    tiles: PlannedTiles<'_>,
    gap: u64,
) -> impl Iterator<Item = Result<TileBytes, Error>> + use<'_> {
    tiles.flat_map(move |tile| {
        let (pieces, error) = match tile {
            Err(error) => (None, Some(Err(error))),
            Ok(tile) => {
                let (apart, count) = if tile.is_raw() {
                    tile.blocks(gap)
                } else {
                    (0, 1)
                };
                (
                    Some((0..count).map(move |turn| TileBytes::new(tile, apart, turn))),
                    None,
                )
            }
        };
        pieces.into_iter().flatten().chain(error)
    })
}

/// Takes the next pieces and sorts them by position. `false` if none are left.
pub(crate) fn fill(
    pieces: &mut impl Iterator<Item = Result<TileBytes, Error>>,
    window: &mut Vec<TileBytes>,
) -> Result<bool, Error> {
    window.clear();
    for piece in pieces.take(WINDOW) {
        window.push(piece?);
    }
    window.sort_unstable_by_key(|piece| piece.start);
    Ok(!window.is_empty())
}

/// Merges pieces, which are sorted by position, into requests; returns each request with its pieces.
pub(crate) fn requests(
    window: &[TileBytes],
    merge: Merge,
) -> impl Iterator<Item = (Range<u64>, &[TileBytes])> {
    let mut rest = window;
    let requests = merge.requests(window.iter().map(TileBytes::range));
    requests.map_while(move |(range, count)| {
        let (own, after) = rest.split_at_checked(count)?;
        rest = after;
        Some((range, own))
    })
}

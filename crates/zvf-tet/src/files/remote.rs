//! Reads of files on a server: each read is a request.

use std::ops::Range;
use std::vec::Vec;

use zvf_grid::{GridError, Merge, Selection};
use zvf_sys::in_parallel;

use super::catalog::within;
use super::error::Error;
use super::read::{DatasetReader, PARALLEL, ReadStats};
use super::requests::{TileBytes, fill, pieces, requests};
use super::tile::{Tile, TileDecoder};

/// Most concurrent requests of one read.
const IN_FLIGHT: usize = 8;

/// Most pieces that are decoded together, to bound the memory for many small pieces.
const BATCH: usize = 64;

/// A request: a range, and the pieces of tiles in it.
type TileRequest = (Range<u64>, Vec<TileBytes>);

/// A result of a request.
enum Arrived {
    /// Raw pieces, whose bytes are elements; the position of the first byte of their request; and the bytes of the request.
    Raw(Vec<TileBytes>, u64, Vec<u8>),
    /// The wanted part of each tile, in its own buffer.
    Decoded(Vec<(TileBytes, Vec<u8>)>),
    /// The response to a request arrived.
    Answered,
}

impl DatasetReader<'_> {
    /// Fills `into` with few requests: neighbouring pieces are merged, and several requests run concurrently. Tiles are decoded
    /// while other requests run.
    pub(super) fn read_remote(
        &self,
        merge: Merge,
        selection: &Selection,
        into: &mut [u8],
    ) -> Result<ReadStats, Error> {
        let mut pieces = pieces(self.tiles(selection)?, merge.gap);
        let mut window = Vec::new();
        let windows = std::iter::from_fn(move || match fill(&mut pieces, &mut window) {
            Ok(false) => None,
            Ok(true) => Some(
                requests(&window, merge)
                    .map(|(range, own)| Ok((range, own.to_vec())))
                    .collect::<Vec<_>>(),
            ),
            Err(error) => Some(std::vec![Err(error)]),
        });
        let start = || {
            |request: Result<TileRequest, Error>, emit: &mut dyn FnMut(Arrived)| {
                self.fetch(request?, merge, emit)
            }
        };
        let shape = selection.shape();
        let mut stats = ReadStats::default();
        in_parallel(IN_FLIGHT, windows.flatten(), start, |arrived| {
            match arrived {
                Arrived::Answered => stats.requests += 1,
                Arrived::Raw(pieces, start, bytes) => {
                    for piece in pieces {
                        piece.copy(piece.bytes(start, &bytes)?, into, &shape)?;
                        stats.count(&piece);
                    }
                }
                Arrived::Decoded(parts) => {
                    for (piece, bytes) in parts {
                        let tile = &piece.tile;
                        tile.part.place(tile.item, &bytes, into, &shape)?;
                        stats.count(&piece);
                    }
                }
            }
            Ok(())
        })?;
        Ok(stats)
    }

    /// Sends one request and decodes its tiles, on several threads if there are many.
    fn fetch(
        &self,
        (range, pieces): TileRequest,
        merge: Merge,
        emit: &mut dyn FnMut(Arrived),
    ) -> Result<(), Error> {
        let len = range.end - range.start;
        let mut bytes = std::vec![0; within("one request", len, self.limit.max(merge.most))?];
        self.source.read_at(range.start, &mut bytes)?;
        emit(Arrived::Answered);
        let (raw, packed): (Vec<TileBytes>, _) =
            pieces.into_iter().partition(|piece| piece.tile.is_raw());
        let start = || {
            let mut decoder = TileDecoder::new();
            let bytes = &bytes;
            move |batch: Vec<TileBytes>, emit: &mut dyn FnMut(Arrived)| {
                let parts = batch.into_iter().map(|piece| {
                    let part = alone(&piece.tile, piece.bytes(range.start, bytes)?, &mut decoder)?;
                    Ok((piece, part))
                });
                emit(Arrived::Decoded(parts.collect::<Result<_, Error>>()?));
                Ok::<(), Error>(())
            }
        };
        in_parallel(self.threads, batches(packed), start, |arrived| {
            emit(arrived);
            Ok(())
        })?;
        if !raw.is_empty() {
            emit(Arrived::Raw(raw, range.start, bytes));
        }
        Ok(())
    }
}

/// Groups pieces into batches that are decoded together. A batch has several pieces if tiles are small.
fn batches(pieces: Vec<TileBytes>) -> impl Iterator<Item = Vec<TileBytes>> {
    let mut pieces = pieces.into_iter();
    std::iter::from_fn(move || {
        let (mut batch, mut decoded) = (Vec::new(), 0_u64);
        while batch.len() < BATCH && decoded < PARALLEL {
            let Some(piece) = pieces.next() else { break };
            decoded = decoded.saturating_add(piece.tile.entry.raw_byte_len.get());
            batch.push(piece);
        }
        (!batch.is_empty()).then_some(batch)
    })
}

/// Decodes the wanted part of a tile into a buffer of its own.
fn alone(tile: &Tile, stored: &[u8], decoder: &mut TileDecoder) -> Result<Vec<u8>, Error> {
    let part = tile.part.alone();
    let length = part
        .count()
        .and_then(|count| usize::try_from(count).ok()?.checked_mul(tile.item));
    let mut result = std::vec![0; length.ok_or(GridError::TooLarge)?];
    let tile = Tile { part, ..*tile };
    tile.put(decoder, stored, &mut result, &part.shape())?;
    Ok(result)
}

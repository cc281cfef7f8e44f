//! Tiles of a remote file on their way: found, merged into requests, decoded, put to their place.

use std::boxed::Box;
use std::io;
use std::vec::Vec;

use bytes::Bytes;
use futures::channel::oneshot;
use zvf_grid::{CellPart, Cells, Dims, GridError, Selection, copy};

use super::catalog::{Catalog, Dataset};
use super::decode::{Block, Decoder, Tile};
use super::read::PARALLEL;
use super::trouble::Error;
use crate::layout::{Codec, Entry};

/// Most tiles that are decoded together: small ones shall not add up to much memory.
const BATCH: usize = 64;

/// A tile, and which bytes of the file are needed of it.
pub(crate) struct Wanted {
    row: u64,
    entry: Entry,
    extent: Dims,
    part: CellPart,
    offset: u64,
    len: u64,
}

/// The tiles of a selection one by one.
#[derive(Clone)]
pub(crate) struct Tiles<'f> {
    catalog: &'f Catalog,
    entries: &'f [Entry],
    dataset: &'f Dataset,
    cells: Cells,
    /// Most bytes of one decoded tile.
    limit: u64,
}

impl<'f> Tiles<'f> {
    pub(crate) fn new(
        catalog: &'f Catalog,
        front: &'f [u8],
        dataset: &'f Dataset,
        selection: &Selection,
        limit: u64,
    ) -> Result<Self, Error> {
        Ok(Self {
            catalog,
            entries: catalog.entries(front),
            dataset,
            cells: selection.cells(&dataset.geometry().chunk_shape)?,
            limit,
        })
    }

    fn wanted(&self, part: CellPart) -> Result<Wanted, Error> {
        let coord = part.coord();
        let found = self.catalog.entry(self.entries, self.dataset, &coord);
        let extent = self.dataset.geometry().extent(&coord);
        let Some(((row, entry), extent)) = found.zip(extent) else {
            return Err(Error::Changed {
                what: "an entry of the index is gone",
            });
        };
        let mut wanted = Wanted {
            row,
            entry: *entry,
            extent,
            part,
            offset: entry.payload_offset.get(),
            len: entry.stored_byte_len.get(),
        };
        if entry.codec() == Some(Codec::Raw) {
            let block = wanted.tile(self.dataset.item(), u64::MAX).trim()?;
            wanted.offset = wanted.offset.saturating_add(block.offset);
            wanted.len = block.len;
        }
        Ok(wanted)
    }
}

impl Iterator for Tiles<'_> {
    type Item = Result<Wanted, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.cells.next()?;
        Some(self.wanted(part))
    }
}

impl Wanted {
    fn tile(&self, item: usize, limit: u64) -> Tile<'_> {
        Tile {
            row: self.row,
            entry: &self.entry,
            extent: self.extent,
            part: &self.part,
            item,
            limit,
        }
    }
}

/// Neighbouring tiles that are fetched together. They are found again when their bytes are there, so that a request for
/// very many small tiles takes no more memory than its bytes.
pub(crate) struct Group {
    /// From the first tile on.
    cells: Cells,
    count: u64,
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

/// Merges neighbours, as they come.
pub(crate) struct Groups<'f> {
    tiles: Tiles<'f>,
    gap: u64,
    request: u64,
}

impl<'f> Groups<'f> {
    pub(crate) const fn new(tiles: Tiles<'f>, gap: u64, request: u64) -> Self {
        Self {
            tiles,
            gap,
            request,
        }
    }
}

impl Iterator for Groups<'_> {
    type Item = Result<Group, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let cells = self.tiles.cells.clone();
        let first = match self.tiles.next()? {
            Ok(first) => first,
            Err(error) => return Some(Err(error)),
        };
        let mut group = Group {
            cells,
            count: 1,
            start: first.offset,
            stop: first.offset.saturating_add(first.len),
        };
        loop {
            let before = self.tiles.cells.clone();
            let wanted = match self.tiles.next() {
                None => return Some(Ok(group)),
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(wanted)) => wanted,
            };
            let stop = wanted.offset.saturating_add(wanted.len);
            let near = wanted
                .offset
                .checked_sub(group.stop)
                .is_some_and(|gap| gap <= self.gap);
            if !near || stop - group.start > self.request {
                self.tiles.cells = before;
                return Some(Ok(group));
            }
            group.stop = stop;
            group.count += 1;
        }
    }
}

/// Tiles that are decoded together, with their bytes.
pub(crate) struct Batch {
    tiles: Vec<(Wanted, Bytes)>,
    item: usize,
    limit: u64,
}

/// Cuts the tiles of a group into batches.
pub(crate) struct Batches<'f> {
    tiles: Tiles<'f>,
    left: u64,
    /// Where the bytes lie in the file.
    start: u64,
    bytes: Bytes,
}

impl<'f> Batches<'f> {
    /// The tiles of a group, which is one of `tiles`.
    pub(crate) fn new(tiles: &Tiles<'f>, group: Group, bytes: Bytes) -> Self {
        Self {
            tiles: Tiles {
                cells: group.cells,
                ..*tiles
            },
            left: group.count,
            start: group.start,
            bytes,
        }
    }

    fn tile(&mut self) -> Option<Result<(Wanted, Bytes), Error>> {
        self.left = self.left.checked_sub(1)?;
        Some(self.tiles.next()?.and_then(|wanted| {
            let range = wanted
                .offset
                .checked_sub(self.start)
                .and_then(|at| usize::try_from(at).ok())
                .zip(usize::try_from(wanted.len).ok())
                .and_then(|(from, len)| Some(from..from.checked_add(len)?))
                .filter(|range| range.end <= self.bytes.len())
                .ok_or(GridError::TooLarge)?;
            let payload = self.bytes.slice(range);
            Ok((wanted, payload))
        }))
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut tiles, mut decoded) = (Vec::new(), 0_u64);
        while tiles.len() < BATCH && decoded < PARALLEL {
            match self.tile() {
                None => break,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok((wanted, payload))) => {
                    decoded = decoded.saturating_add(wanted.entry.raw_byte_len.get());
                    tiles.push((wanted, payload));
                }
            }
        }
        (!tiles.is_empty()).then(|| {
            Ok(Batch {
                tiles,
                item: self.tiles.dataset.item(),
                limit: self.tiles.limit,
            })
        })
    }
}

/// A tile that can be put to its place.
pub(crate) struct Piece {
    part: CellPart,
    /// Its elements; those of a raw tile as they lie in the file, others as a result of their own.
    elements: Elements,
    /// Bytes that were fetched for it.
    pub(crate) fetched: u64,
}

enum Elements {
    Raw(Bytes, Box<Block>),
    Alone(Vec<u8>),
}

impl Piece {
    pub(crate) fn place(
        &self,
        item: usize,
        into: &mut [u8],
        shape: &Dims,
    ) -> Result<(), GridError> {
        match &self.elements {
            Elements::Alone(bytes) => self.part.place(item, bytes, into, shape),
            Elements::Raw(bytes, block) => {
                copy(item, bytes, &block.shape, into, shape, block.runs())
            }
        }
    }
}

impl Batch {
    fn is_raw(&self) -> bool {
        self.tiles
            .iter()
            .all(|(wanted, _)| wanted.entry.codec() != Some(Codec::Zstd))
    }

    fn unpack(self) -> Result<Vec<Piece>, Error> {
        let mut decoder = Decoder::new();
        let (item, limit) = (self.item, self.limit);
        let pieces = self.tiles.into_iter().map(|(wanted, payload)| {
            let tile = wanted.tile(item, limit);
            let elements = if wanted.entry.codec() == Some(Codec::Zstd) {
                let part = wanted.part.alone();
                let bytes = part
                    .count()
                    .and_then(|count| usize::try_from(count).ok()?.checked_mul(item));
                let mut bytes = std::vec![0; bytes.ok_or(GridError::TooLarge)?];
                let tile = Tile {
                    part: &part,
                    ..tile
                };
                decoder.inflate_part(&tile, &payload, &mut bytes, &part.shape())?;
                Elements::Alone(bytes)
            } else {
                Elements::Raw(payload, Box::new(tile.trim()?))
            };
            Ok(Piece {
                part: wanted.part,
                elements,
                fetched: wanted.len,
            })
        });
        pieces.collect()
    }
}

/// Decodes a batch on the rayon pool, so that the waiting task continues with its requests; in that task where there is
/// nothing to decode, only one thread, or where it is one of the pool's own: a pool whose threads all wait does no work.
pub(crate) async fn unpack(batch: Batch, threads: usize) -> Result<Vec<Piece>, Error> {
    if threads <= 1 || batch.is_raw() || rayon::current_thread_index().is_some() {
        return batch.unpack();
    }
    let (done, unpacked) = oneshot::channel();
    rayon::spawn(move || {
        // The read was dropped.
        let _ = done.send(batch.unpack());
    });
    match unpacked.await {
        Ok(unpacked) => unpacked,
        Err(_) => Err(io::Error::other("a thread of the pool stopped").into()),
    }
}

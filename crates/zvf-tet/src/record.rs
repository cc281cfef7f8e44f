//! Records of the dataset directory, `spec/tet-v1.md` 4.

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;
use zvf_grid::{Dims, GridError};

use crate::error::{Class, Expected, FieldOwner, TetError};
use crate::layout::{MAX_RANK, RECORDS_AT, RecordHead};
use crate::{DType, Warnings};
use zvf_grid::int::wide;

/// The record of one dataset, borrowed from the file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    number: u64,
    at: u64,
    head: &'a RecordHead,
    name: &'a str,
    padding: &'a [u8],
    shape: Dims,
    chunk_shape: Dims,
}

impl<'a> Record<'a> {
    /// Parses the record at the start of `bytes`, which begin at byte `at` of the file; returns it with the rest.
    fn parse(number: u64, at: u64, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), TetError> {
        let short = |what, need: u64| {
            TetError::new(
                Class::Truncated,
                what,
                at,
                wide(bytes.len()),
                Expected::AtLeast(need),
            )
            .of(FieldOwner::Dataset(number))
        };
        let (head, rest) =
            RecordHead::ref_from_prefix(bytes).map_err(|_| short("record head", 16))?;
        let rank = usize::try_from(head.ndim.get())
            .ok()
            .filter(|rank| (1..=MAX_RANK).contains(rank))
            .ok_or_else(|| {
                TetError::new(
                    Class::BadRank,
                    "ndim",
                    at + 8,
                    u64::from(head.ndim.get()),
                    Expected::Text("1 to 8"),
                )
                .of(FieldOwner::Dataset(number))
            })?;
        let name_len = u64::from(head.name_len.get());
        let padded = head.padded_name();
        let fits = usize::try_from(padded)
            .ok()
            .and_then(|padded| rest.split_at_checked(padded))
            .zip(usize::try_from(name_len).ok());
        let Some(((name, rest), length)) = fits else {
            return Err(short("name", 16 + padded));
        };
        let (name, padding) = name.split_at_checked(length).unwrap_or((name, &[]));
        let name = core::str::from_utf8(name).map_err(|error| {
            TetError::new(
                Class::BadNameUtf8,
                "name",
                at + 16,
                wide(error.valid_up_to()),
                Expected::Text("as many bytes of valid UTF-8 as the name has"),
            )
            .of(FieldOwner::Dataset(number))
        })?;
        let need = 16 + padded + 16 * wide(rank);
        let (shape, rest) =
            <[U64]>::ref_from_prefix_with_elems(rest, rank).map_err(|_| short("shape", need))?;
        let (chunk_shape, rest) = <[U64]>::ref_from_prefix_with_elems(rest, rank)
            .map_err(|_| short("chunk_shape", need))?;
        let extents = |values| dims(values).map_err(|_| short("shape", need));
        let (shape, chunk_shape) = (extents(shape)?, extents(chunk_shape)?);
        let record = Self {
            number,
            at,
            head,
            name,
            padding,
            shape,
            chunk_shape,
        };
        Ok((record, rest))
    }

    /// Number of the record, from 0: the `dataset_id` of its entries.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Byte of the file at which the record begins.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the record.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        16 + wide(self.name.len() + self.padding.len()) + 16 * wide(self.shape.len())
    }

    /// The name; may be empty, and need not be unique.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Tag of the element type, as stored.
    #[must_use]
    pub fn dtype_tag(&self) -> u32 {
        self.head.dtype.get()
    }

    /// Type of the elements. `None` for a tag that this crate does not know.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        DType::from_tag(self.dtype_tag())
    }

    /// Axes, 1 to 8.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Extents of the dataset.
    #[must_use]
    pub const fn shape(&self) -> Dims {
        self.shape
    }

    /// Extents of a tile; tiles at the end of an axis are clipped.
    #[must_use]
    pub const fn chunk_shape(&self) -> Dims {
        self.chunk_shape
    }

    /// Tiles on each axis.
    ///
    /// # Errors
    /// [`GridError::EmptyCell`] for a 0 in the chunk shape.
    pub fn grid(&self) -> Result<Dims, GridError> {
        Dims::grid(&self.shape(), &self.chunk_shape())
    }

    /// Step 15 of the checks: the type is known, no extent is 0, size and grid fit 64 bits.
    ///
    /// # Errors
    /// [`Class::UnknownDtype`], [`Class::ZeroExtent`], [`Class::SizeOverflow`].
    pub fn check(&self) -> Result<DatasetGeometry, TetError> {
        let fault = |class, what, at, found, expected| {
            TetError::new(class, what, at, found, expected).of(FieldOwner::Dataset(self.number))
        };
        let dtype = self.dtype().ok_or_else(|| {
            fault(
                Class::UnknownDtype,
                "dtype",
                self.at + 4,
                u64::from(self.dtype_tag()),
                Expected::Text("1 to 10"),
            )
        })?;
        let shapes_at = self.at + 16 + wide(self.name.len() + self.padding.len());
        let (shape, chunk_shape) = (self.shape(), self.chunk_shape());
        for (extents, what, at) in [
            (&shape, "shape", shapes_at),
            (
                &chunk_shape,
                "chunk_shape",
                shapes_at + 8 * wide(shape.len()),
            ),
        ] {
            if let Some(axis) = extents.iter().position(|extent| *extent == 0) {
                let at = at + 8 * wide(axis);
                return Err(fault(Class::ZeroExtent, what, at, 0, Expected::AtLeast(1)));
            }
        }
        let overflow = |what| {
            fault(
                Class::SizeOverflow,
                what,
                shapes_at,
                shape.iter().copied().max().unwrap_or(0),
                Expected::Text("extents whose product fits 64 bits"),
            )
        };
        let bytes = shape
            .count()
            .and_then(|count| count.checked_mul(wide(dtype.size())))
            .ok_or_else(|| overflow("bytes of the dataset"))?;
        let grid = Dims::grid(&shape, &chunk_shape).map_err(|_| overflow("grid"))?;
        let tiles = grid.count().ok_or_else(|| overflow("tiles of the grid"))?;
        Ok(DatasetGeometry {
            dtype,
            shape,
            chunk_shape,
            grid,
            bytes,
            tiles,
        })
    }

    /// Reports reserved fields and padding that are not 0.
    pub(crate) fn warn(&self, warnings: &mut Warnings) {
        if self.head.reserved.get() != 0 {
            warnings.add(Class::ReservedNonzero, "record reserved", self.at + 12);
        }
        if self.padding.iter().any(|byte| *byte != 0) {
            warnings.add(
                Class::ReservedNonzero,
                "name padding",
                self.at + 16 + wide(self.name.len()),
            );
        }
    }
}

/// A checked record: shapes without zeros, sizes that fit in 64 bits.
#[derive(Debug, Clone, Copy)]
pub struct DatasetGeometry {
    /// Type of the elements.
    pub dtype: DType,
    /// Extents of the dataset.
    pub shape: Dims,
    /// Extents of a tile.
    pub chunk_shape: Dims,
    /// Tiles on each axis.
    pub grid: Dims,
    /// Bytes of all elements.
    pub bytes: u64,
    /// Number of all tiles.
    pub tiles: u64,
}

impl DatasetGeometry {
    /// Extents of the tile at `coord`, clipped to the dataset. `None` outside the grid.
    #[must_use]
    pub fn extent(&self, coord: &[u64]) -> Option<Dims> {
        let inside = coord.len() == self.grid.len()
            && coord.iter().zip(self.grid.iter()).all(|(c, n)| c < n);
        inside
            .then(|| Dims::clipped(coord, &self.chunk_shape, &self.shape).ok())
            .flatten()
    }

    /// Decoded bytes of the tile at `coord`. `None` outside the grid.
    #[must_use]
    pub fn tile_bytes(&self, coord: &[u64]) -> Option<u64> {
        self.extent(coord)?
            .count()?
            .checked_mul(wide(self.dtype.size()))
    }

    /// Whether the tiles in canonical order, concatenated, are the dataset in row-major order. This holds if tiles
    /// have extent 1 on every axis before the last axis with more than one tile (`spec/tet-v1.md` 13.1).
    #[must_use]
    pub fn tiles_are_row_major(&self) -> bool {
        let last = self.grid.iter().rposition(|tiles| *tiles > 1).unwrap_or(0);
        self.shape
            .iter()
            .zip(self.chunk_shape.iter())
            .take(last)
            .all(|(extent, chunk)| (*extent).min(*chunk) == 1)
    }
}

/// Decodes the numbers of a shape.
fn dims(values: &[U64]) -> Result<Dims, GridError> {
    let mut copy = Dims::zeros(values.len())?;
    for (slot, value) in copy.as_mut().iter_mut().zip(values) {
        *slot = value.get();
    }
    Ok(copy)
}

/// Iterates over the records of a directory, in order; ends before the first invalid one.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    at: u64,
    number: u64,
    count: u64,
}

impl<'a> Records<'a> {
    pub(crate) const fn new(bytes: &'a [u8], count: u64) -> Self {
        Self {
            rest: bytes,
            at: RECORDS_AT,
            number: 0,
            count,
        }
    }

    /// Number of bytes after the last record that was taken.
    pub(crate) const fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next record, or the error in it.
    pub(crate) fn advance(&mut self) -> Option<Result<Record<'a>, TetError>> {
        if self.number >= self.count {
            return None;
        }
        match Record::parse(self.number, self.at, self.rest) {
            Ok((record, rest)) => {
                self.at = self.at.saturating_add(record.byte_len());
                self.number += 1;
                self.rest = rest;
                Some(Ok(record))
            }
            Err(error) => {
                self.number = self.count;
                Some(Err(error))
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        self.advance()?.ok()
    }
}

//! One numeric array with room for the longest cell in each chunk.
//!
//! ```text
//! shape        (*grid, N_max, W...)       W... is empty if a row is one number
//! chunk_shape  (1..., n, W...)            n = N_max, less if the array grew after it was made
//! ```
//!
//! A cell consists of its rows without the padding after them. The number of rows is determined from the fragment index of the same chunk; without
//! one, from the last row that is not all fill. A chunk that is not stored is all fill.
//!
//! Source: page "Chunk arrays".

use std::sync::Arc;

use bytes::Bytes;
use zvf_format::dtype::{ByteOrder, DType};
use zvf_meta::ArrayDoc;

use super::GridArray;
use crate::chunks::{CheckedFragments, IndexSizes};
use crate::codec::decode;
use crate::coord::product;
use crate::layout::ChunkDecoding;
use crate::types::{dtype_of, fill};
use crate::{Limits, StoreError};
use zvf_codec::{Chain, Data};
use zvf_format::int::wide;
use zvf_io::Cap;

/// Most stored objects of one cell.
const MOST_PIECES: u64 = 4096;

/// A padded array.
#[derive(Debug, Clone)]
pub(crate) struct Padded {
    /// Rows of a padded cell.
    rows: u64,
    /// Elements per row.
    pub(crate) width: u64,
    row_bytes: usize,
    /// One element of padding, in the stored byte order.
    fill: Vec<u8>,
    pub(crate) reader: ChunkDecoding<PaddedBlocks>,
    pub(crate) count: Count,
}

/// How blocks are stored.
#[derive(Debug, Clone)]
pub(crate) struct PaddedBlocks {
    chain: Chain,
    /// Rows of a stored object.
    piece_rows: u64,
}

/// How the rows of a cell are counted.
#[derive(Debug, Clone)]
pub(crate) enum Count {
    /// The last row that is not all fill.
    Fill,
    /// One more than the largest row in the fragment index of the chunk.
    Extent(Arc<GridArray>),
    /// The number of fragments in the fragment index of the chunk.
    Fragments(Arc<GridArray>),
    /// The rows of the same chunk in another padded array.
    Rows(Arc<GridArray>),
    /// The cell is a fragment index, whose head determines its length.
    Index,
}

impl Count {
    /// The array whose cells are read together with the cells of this padded array.
    pub(crate) fn companion(&self) -> Option<&Arc<GridArray>> {
        match self {
            Self::Extent(array) | Self::Fragments(array) | Self::Rows(array) => Some(array),
            Self::Fill | Self::Index => None,
        }
    }
}

impl Padded {
    /// Reads the document of a padded array with `rank` grid axes.
    ///
    /// # Errors
    /// Malformed: a data type that is not supported; an array without a row axis after its grid axes; rows without elements; a type without
    /// size; a stored chunk of several cells or of parts of rows; an invalid fill value. Limit: a cell beyond `cell_bytes`.
    pub(crate) fn new(
        path: &str,
        doc: &ArrayDoc,
        rank: usize,
        limits: &Limits,
    ) -> Result<(Self, DType), StoreError> {
        let key = || format!("{path}/zarr.json");
        let dtype = dtype_of(&doc.data_type).ok_or_else(|| {
            StoreError::unsupported(key(), format!("data_type {:?}", doc.data_type.name))
        })?;
        let Some((rows, rest)) = doc.shape.get(rank..).and_then(<[u64]>::split_first) else {
            return Err(StoreError::malformed(
                key(),
                format!(
                    "data_type is {:?} and shape {:?}: expected \"variable_length_bytes\", or {rank} grid axes and at least an axis of rows",
                    doc.data_type.name, doc.shape
                ),
            ));
        };
        let width = product(rest);
        let size = wide(dtype.size());
        let row_bytes = width.and_then(|width| width.checked_mul(size));
        let bytes = row_bytes
            .and_then(|row| row.checked_mul(*rows))
            .unwrap_or(u64::MAX);
        Cap::cell(limits).check(&key(), bytes)?;
        let row_bytes = row_bytes.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        if row_bytes == 0 {
            return Err(StoreError::malformed(
                key(),
                format!(
                    "shape is {:?}, expected rows of at least one element",
                    doc.shape
                ),
            ));
        }
        let plain = doc
            .codecs
            .first()
            .is_some_and(|codec| codec.name == "bytes");
        let (grid, block) = doc.chunk_shape.split_at(rank.min(doc.chunk_shape.len()));
        if plain && (grid.iter().any(|n| *n != 1) || block.get(1..) != Some(rest)) {
            return Err(StoreError::malformed(
                key(),
                format!(
                    "chunk_shape is {:?} of shape {:?}, expected one cell per chunk",
                    doc.chunk_shape, doc.shape
                ),
            ));
        }
        let (reader, order) = reader(doc, rank, *rows);
        let mut fill = fill::bytes(&doc.fill_value, dtype).ok_or_else(|| {
            StoreError::malformed(
                key(),
                format!(
                    "fill_value is {}, expected a value of type {dtype}",
                    doc.fill_value
                ),
            )
        })?;
        if order == ByteOrder::Big {
            fill.chunks_mut(dtype.number_size())
                .for_each(<[u8]>::reverse);
        }
        let padded = Self {
            rows: *rows,
            width: width.unwrap_or(0),
            row_bytes,
            fill,
            reader,
            count: Count::Fill,
        };
        let kind = dtype.kind;
        Ok((padded, DType { kind, order }))
    }

    /// The indices of the stored objects that contain the block of a chunk.
    pub(crate) fn pieces(&self, doc: &ArrayDoc, index: &[u64]) -> Vec<Vec<u64>> {
        let ChunkDecoding::Own(PaddedBlocks { piece_rows, .. }) = &self.reader else {
            return Vec::new();
        };
        let behind = doc.shape.len().saturating_sub(index.len() + 1);
        (0..self.rows.div_ceil((*piece_rows).max(1)))
            .map(|piece| {
                let mut index = index.to_vec();
                index.push(piece);
                index.extend(std::iter::repeat_n(0, behind));
                index
            })
            .collect()
    }

    /// Decodes one stored object.
    pub(crate) fn decode(&self, key: &str, data: Data<'_>, cap: Cap) -> Result<Bytes, StoreError> {
        let ChunkDecoding::Own(PaddedBlocks { chain, piece_rows }) = &self.reader else {
            return Ok(Bytes::new());
        };
        let data = decode(chain, key, data, cap)?;
        let expected = usize::try_from(*piece_rows)
            .ok()
            .and_then(|rows| rows.checked_mul(self.row_bytes));
        let found = data.as_slice().len();
        if Some(found) != expected {
            return Err(StoreError::malformed(
                key,
                format!(
                    "{found} bytes found, expected {piece_rows} rows of {} bytes",
                    self.row_bytes
                ),
            ));
        }
        Ok(data.into_bytes())
    }

    /// Joins the decoded objects of a chunk, in order, into its block; `None` if none of them is stored.
    pub(crate) fn join(&self, pieces: Vec<Option<Bytes>>) -> Option<Bytes> {
        let length = self.bytes(self.rows);
        let ChunkDecoding::Own(PaddedBlocks { piece_rows, .. }) = &self.reader else {
            return None;
        };
        match pieces.as_slice() {
            all if all.iter().all(Option::is_none) => None,
            [Some(only)] => Some(only.slice(..length.min(only.len()))),
            several => {
                let mut block = Vec::with_capacity(length);
                for piece in several {
                    match piece {
                        Some(bytes) => block.extend_from_slice(bytes),
                        None => self.pad(&mut block, self.bytes(*piece_rows)),
                    }
                }
                block.truncate(length);
                Some(block.into())
            }
        }
    }

    /// The rows of a cell without padding. `block` is `None` if no object is stored; `companion` is the cell of the companion array.
    ///
    /// # Errors
    /// Malformed: an invalid fragment index, or more rows than a padded cell has.
    pub(crate) fn trim(
        &self,
        name: &dyn Fn() -> String,
        block: Option<Bytes>,
        companion: Option<&Bytes>,
    ) -> Result<Option<Bytes>, StoreError> {
        let sizes = |index: &Bytes| {
            CheckedFragments::sizes(index).map_err(|e| StoreError::decode(name(), e))
        };
        let rows = match (&self.count, companion) {
            (Count::Index, _) => return self.index(block, sizes),
            (Count::Extent(_), Some(index)) => sizes(index)?.extent,
            (Count::Fragments(_), Some(index)) => u64::from(sizes(index)?.fragments),
            (Count::Rows(other), Some(cell)) => other.rows_of(cell),
            (Count::Rows(_), None) => 0,
            (Count::Fill | Count::Extent(_) | Count::Fragments(_), _) => {
                block.as_deref().map_or(0, |block| self.by_fill(block))
            }
        };
        if rows > self.rows {
            return Err(StoreError::malformed(
                name(),
                format!(
                    "the fragment index names {rows} rows, the chunk has room for {}",
                    self.rows
                ),
            ));
        }
        let length = self.bytes(rows);
        if length == 0 {
            return Ok(None);
        }
        Ok(Some(match block {
            Some(block) => block.slice(..length.min(block.len())),
            None => {
                let mut rows = Vec::with_capacity(length);
                self.pad(&mut rows, length);
                rows.into()
            }
        }))
    }

    /// A fragment index without the padding after it.
    fn index(
        &self,
        block: Option<Bytes>,
        sizes: impl Fn(&Bytes) -> Result<IndexSizes, StoreError>,
    ) -> Result<Option<Bytes>, StoreError> {
        let Some(block) = block.filter(|block| self.by_fill(block) > 0) else {
            return Ok(None);
        };
        let padding = block.len().saturating_sub(sizes(&block)?.trailing);
        // Bytes that are not padding are left for the reader of the index to report.
        let is_padding = block
            .get(padding..)
            .is_some_and(|rest| rest.chunks(self.fill.len()).all(|e| e == self.fill));
        Ok(Some(if is_padding {
            block.slice(..padding)
        } else {
            block
        }))
    }

    /// Number of rows up to and including the last one that is not all fill.
    fn by_fill(&self, block: &[u8]) -> u64 {
        let is_fill = |row: &[u8]| row.chunks(self.fill.len()).all(|e| e == self.fill);
        let last = block.chunks(self.row_bytes).rposition(|row| !is_fill(row));
        last.map_or(0, |last| wide(last).saturating_add(1))
    }

    /// Rows in a trimmed cell.
    pub(super) fn rows_in(&self, cell: &[u8]) -> u64 {
        wide(cell.len().checked_div(self.row_bytes).unwrap_or(0))
    }

    /// Bytes of `rows` rows; the product for all rows was checked when the document was read.
    fn bytes(&self, rows: u64) -> usize {
        usize::try_from(rows)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.row_bytes)
    }

    fn pad(&self, block: &mut Vec<u8>, bytes: usize) {
        let elements = bytes.checked_div(self.fill.len()).unwrap_or(0);
        if self.fill.iter().all(|b| *b == 0) {
            block.resize(block.len().saturating_add(bytes), 0);
        } else {
            (0..elements).for_each(|_| block.extend_from_slice(&self.fill));
        }
    }
}

/// The reader for the blocks of an array, and their byte order.
fn reader(doc: &ArrayDoc, rank: usize, rows: u64) -> (ChunkDecoding<PaddedBlocks>, ByteOrder) {
    let foreign = |what| (ChunkDecoding::foreign(what), ByteOrder::Little);
    let (order, chain) = match ChunkDecoding::of_numbers(doc) {
        Ok(own) => own,
        Err(other) => return (other, ByteOrder::Little),
    };
    let Some(&piece_rows) = doc.chunk_shape.get(rank) else {
        return foreign("a chunk without rows".to_owned());
    };
    if rows.div_ceil(piece_rows.max(1)) > MOST_PIECES {
        return foreign(format!("padded rows in chunks of {:?}", doc.chunk_shape));
    }
    (
        ChunkDecoding::Own(PaddedBlocks { chain, piece_rows }),
        order,
    )
}

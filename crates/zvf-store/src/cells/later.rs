//! Cells that are decoded lazily: only when they are used, and only the parts that are used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use zvf_codec::{CodecError, RangeDecoder, StoredBytes};
use zvf_format::int::{index, wide};
use zvf_format::vlen::{ElementHead, VlenChunk, VlenHead};

use crate::container::GridArray;
use crate::rows::RowSet;
use crate::{StoreError, codec};
use zvf_io::Cap;

/// The number of decoded bytes of one batch, to which all of its cells add.
#[derive(Debug)]
pub(crate) struct Spent {
    bytes: AtomicU64,
    most: Cap,
}

impl Spent {
    /// Nothing counted yet; the limit is `most`.
    pub(super) fn new(most: Cap) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            most,
        }
    }

    /// Counts decoded bytes.
    ///
    /// # Errors
    /// Limit: more than [`Limits::batch_bytes`](crate::Limits::batch_bytes).
    pub(super) fn add(&self, key: &str, bytes: usize) -> Result<(), StoreError> {
        let bytes = wide(bytes);
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(self.most.check(key, before.saturating_add(bytes))?)
    }
}

/// A cell as it was read.
#[derive(Debug)]
pub(crate) enum FetchedCell {
    /// The bytes of the cell.
    Decoded(Bytes),
    /// The only element of a chunk that is not decoded yet.
    Stored(Box<StoredCell>),
}

/// A chunk of one cell, not decoded yet.
#[derive(Debug)]
pub(crate) struct StoredCell {
    /// Name of the chunk in messages.
    pub(super) name: String,
    pub(super) array: Arc<GridArray>,
    pub(super) stored: StoredBytes,
    pub(super) cap: Cap,
    pub(super) spent: Arc<Spent>,
}

/// A cell of known length that is decoded range by range.
#[derive(Debug)]
pub(crate) enum OpenCell {
    /// All bytes of the cell.
    Decoded(Bytes),
    /// A part of the decoded bytes of a chunk.
    Ranges(Box<CellRanges>),
}

/// The decoder of one cell.
#[derive(Debug)]
pub(crate) struct CellRanges {
    name: String,
    decoder: RangeDecoder,
    length: usize,
    cap: Cap,
    spent: Arc<Spent>,
}

/// Bytes of a chunk before its only cell: the number of cells, and the length of the cell.
const HEAD: usize = size_of::<VlenHead>() + size_of::<ElementHead>();

impl FetchedCell {
    /// Reads the length of the cell; `None` for an empty one.
    ///
    /// # Errors
    /// As [`CellRanges::rows`]; damaged framing.
    pub(crate) fn open(self) -> Result<Option<OpenCell>, StoreError> {
        self.open_of(None)
    }

    /// As [`open`](Self::open). `known` is the length of the cell at an earlier read. If it matches the length of the chunk, the framing of the cell is
    /// not decoded again.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_of(self, known: Option<usize>) -> Result<Option<OpenCell>, StoreError> {
        match self {
            Self::Decoded(bytes) => Ok((!bytes.is_empty()).then_some(OpenCell::Decoded(bytes))),
            Self::Stored(cell) => cell.open(known),
        }
    }

    /// All bytes of the cell; `None` for an empty one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn whole(self) -> Result<Option<Bytes>, StoreError> {
        self.open()?.map(OpenCell::whole).transpose()
    }
}

impl StoredCell {
    fn open(self, known: Option<usize>) -> Result<Option<OpenCell>, StoreError> {
        let Self {
            name,
            array,
            stored,
            cap,
            spent,
        } = self;
        let layout = array.layout();
        let layout = layout.ok_or_else(|| StoreError::bug("a stored cell without a layout"))?;
        let failed = |error: CodecError| codec::failed(&name, cap, error);
        let mut decoder = layout.chain.ranges(stored, cap.most).map_err(failed)?;
        let there = usize::try_from(decoder.len()).unwrap_or(usize::MAX);
        let ranges = |decoder, length| {
            OpenCell::Ranges(Box::new(CellRanges {
                name: name.clone(),
                decoder,
                length,
                cap,
                spent: Arc::clone(&spent),
            }))
        };
        if let Some(length) = known.filter(|length| HEAD.checked_add(*length) == Some(there)) {
            return Ok(Some(ranges(decoder, length)));
        }
        let mut head = Vec::with_capacity(HEAD);
        decoder
            .read(0..HEAD.min(there), &mut head)
            .map_err(failed)?;
        let stated = head.last_chunk::<4>().map(|one| u32::from_le_bytes(*one));
        let length = match stated {
            Some(length) if head.len() == HEAD => index(length),
            _ => 0,
        };
        let whole = HEAD.checked_add(length).is_some_and(|end| end <= there);
        if !whole || head.first_chunk::<4>() != Some(&1_u32.to_le_bytes()) {
            // The parser of whole chunks reports the error.
            let all = decoder.whole().map_err(failed)?;
            return match VlenChunk::parse_cell(&all) {
                Err(error) => Err(StoreError::decode(name, error)),
                Ok(_) => Err(StoreError::bug("two readings of one chunk differ")),
            };
        }
        Ok((length > 0).then(|| ranges(decoder, length)))
    }
}

impl OpenCell {
    /// Bytes of the cell.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Decoded(bytes) => bytes.len(),
            Self::Ranges(cell) => cell.length,
        }
    }

    /// All bytes of the cell.
    ///
    /// # Errors
    /// As [`CellRanges::rows`].
    pub(crate) fn whole(self) -> Result<Bytes, StoreError> {
        match self {
            Self::Decoded(bytes) => Ok(bytes),
            Self::Ranges(cell) => cell.whole(),
        }
    }

    /// The bytes of some rows of `row_bytes` bytes, one after another; `None` if they cover so much of the cell that decoding it
    /// whole is better, or if it is already decoded.
    ///
    /// # Errors
    /// Malformed: a damaged chunk, rows that the cell does not have; I/O; a limit.
    pub(crate) fn rows(
        &mut self,
        rows: &RowSet,
        row_bytes: usize,
    ) -> Result<Option<Bytes>, StoreError> {
        match self {
            Self::Decoded(_) => Ok(None),
            Self::Ranges(cell) => cell.rows(rows, row_bytes),
        }
    }
}

impl CellRanges {
    fn whole(self) -> Result<Bytes, StoreError> {
        let chunk = self.decoder.whole();
        let chunk = chunk.map_err(|error| codec::failed(&self.name, self.cap, error))?;
        self.spent.add(&self.name, chunk.len())?;
        let end = HEAD.saturating_add(self.length);
        if chunk.len() < end {
            return Err(StoreError::bug(
                "a decoded chunk is shorter than its decoder reported",
            ));
        }
        Ok(chunk.slice(HEAD..end))
    }

    fn rows(&mut self, rows: &RowSet, row_bytes: usize) -> Result<Option<Bytes>, StoreError> {
        let ranges = rows.ranges().map(|run| {
            let [start, end] = [run.start, run.end].map(|row| index(row).saturating_mul(row_bytes));
            HEAD.saturating_add(start)..HEAD.saturating_add(end)
        });
        if self.decoder.is_mostly(ranges.clone()) {
            return Ok(None);
        }
        let end = ranges.clone().next_back().map_or(0, |range| range.end);
        if end > HEAD.saturating_add(self.length) {
            let what = format!(
                "found {} bytes, expected rows up to byte {}",
                self.length,
                end - HEAD
            );
            return Err(StoreError::malformed(&self.name, what));
        }
        let length = index(rows.len()).saturating_mul(row_bytes);
        self.spent.add(&self.name, length)?;
        let mut bytes = Vec::with_capacity(length);
        for range in ranges {
            let read = self.decoder.read(range, &mut bytes);
            read.map_err(|error| codec::failed(&self.name, self.cap, error))?;
        }
        Ok(Some(bytes.into()))
    }
}

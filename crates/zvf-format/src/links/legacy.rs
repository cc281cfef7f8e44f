//! Link records of 0.7, `spec/zvf-0.7.md` section 9.4.
//!
//! The cells of 0.8 (`spec/zvf-0.8.md` section 9.4) are ragged blobs with a permutation column, one group for each
//! record: read them as a [`LinkCell`](super::LinkCell) with `has_perm` and `ragged`.
//!
//! ```text
//! cross_chunk_links/<delta>/data: records back to back
//!       L times: i64 chunk[A], i64 row                             8 L (A + 1) bytes
//! ```

use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::I64;

use crate::error::{DecodeError, Expected};
use crate::int::{signed, wide};

/// The records of one `data` blob of 0.7, borrowed.
///
/// # Shape
/// N records of L endpoints. Each endpoint has A chunk numbers and a row, in the application's order.
#[derive(Debug, Clone, Copy)]
pub struct FlatRecords<'a> {
    values: &'a [I64],
    link_width: usize,
    key_rank: usize,
}

impl<'a> FlatRecords<'a> {
    /// Parses records of `link_width` endpoints with chunk coordinates of `key_rank` numbers.
    ///
    /// # Cost
    /// O(1).
    ///
    /// # Errors
    /// Malformed if the bytes are not a whole number of records; limit for a width of 0, and for
    /// records of 1 GiB or more.
    ///
    /// # Panics
    /// Never.
    pub fn parse(bytes: &'a [u8], link_width: usize, key_rank: usize) -> Result<Self, DecodeError> {
        let record = record_bytes(link_width, key_rank.saturating_add(1).saturating_mul(8))?;
        whole_records(bytes, record)?;
        let values = <[I64]>::ref_from_bytes(bytes).map_err(|_| {
            DecodeError::truncated("link records", 0, wide(bytes.len()), wide(record))
        })?;
        Ok(Self {
            values,
            link_width,
            key_rank,
        })
    }

    /// N, the number of records; `num_links` must agree.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / (self.link_width * (self.key_rank + 1)).max(1)
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Chunk and row of endpoint `e` of record `i`; `None` past the last record or endpoint.
    #[must_use]
    pub fn endpoint(&self, i: usize, e: usize) -> Option<(&'a [I64], i64)> {
        if e >= self.link_width {
            return None;
        }
        let from = i
            .checked_mul(self.link_width)?
            .checked_add(e)?
            .checked_mul(self.key_rank + 1)?;
        let endpoint = self
            .values
            .get(from..from.checked_add(self.key_rank + 1)?)?;
        let (row, chunk) = endpoint.split_last()?;
        Some((chunk, row.get()))
    }
}

/// Bytes of one record of `link_width` endpoints, which have `endpoint` bytes each.
fn record_bytes(link_width: usize, endpoint: usize) -> Result<usize, DecodeError> {
    match link_width.checked_mul(endpoint) {
        Some(bytes) if bytes > 0 && bytes < 1 << 30 => Ok(bytes),
        _ => Err(DecodeError::limit(
            "link width",
            0,
            wide(link_width),
            (1 << 30) / wide(endpoint.max(1)),
        )),
    }
}

fn whole_records(bytes: &[u8], record: usize) -> Result<(), DecodeError> {
    if bytes.len().is_multiple_of(record) {
        return Ok(());
    }
    let expected = Expected::Exactly(signed(bytes.len() / record * record));
    Err(DecodeError::malformed(
        "link records length",
        0,
        signed(bytes.len()),
        expected,
    ))
}

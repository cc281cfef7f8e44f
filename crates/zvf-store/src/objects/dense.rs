//! Manifests as arrays of integers: layout `dense_manifests_v1`.
//!
//! ```text
//! object_index/manifest_spans     int64 (n, 2)        first block and number of blocks of each object
//! object_index/manifest_blocks    int64 (b, K + 1)    chunk coordinate and fragment of each block
//! object_index/object_ids         int64 (n)           as in the second layout; absent: row numbers
//! ```
//!
//! Blocks outside of all spans are stale: edits replaced them. Both arrays may have several stored chunks, sharded or not;
//! a chunk that is not stored is zeros: objects without blocks, and blocks of chunk 0 and fragment 0.
//!
//! Only the stored chunks that have requested rows are read. The result is the manifest of the other layouts, with
//! one block for each fragment.
//!
//! Source: the reference's module of dense manifests (0.9.4).

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;

use crate::Limits;
use crate::StoreError;
use crate::elements::Elements;
use crate::once_cache::OnceCache;
use crate::ordered::all_in_order;
use crate::typed::TypedArray;
use zvf_format::int::wide;
use zvf_io::{Cap, blocking};

/// The two arrays.
#[derive(Debug)]
pub(crate) struct Dense {
    spans: TablePieces,
    blocks: TablePieces,
    key_rank: usize,
    /// Most bytes of manifests that are built at once.
    most: Cap,
    /// Most pieces read at once.
    most_pieces: Cap,
}

/// First block and number of blocks of one object.
#[derive(Debug, Clone, Copy)]
struct BlockSpan {
    start: u64,
    count: u64,
}

impl BlockSpan {
    fn rows(self) -> Range<u64> {
        self.start..self.start.saturating_add(self.count)
    }
}

impl Dense {
    /// Checks the shapes of the two arrays.
    ///
    /// # Errors
    /// Spans that are not pairs, blocks that are not a coordinate and a fragment.
    pub(crate) fn new(
        spans: TypedArray,
        blocks: TypedArray,
        key_rank: usize,
        limits: &Limits,
    ) -> Result<Self, StoreError> {
        let columns = key_rank.saturating_add(1);
        for (table, width) in [(&spans, 2), (&blocks, columns)] {
            if usize::try_from(table.width()) != Ok(width) || table.shape().len() != 2 {
                return Err(StoreError::malformed(
                    format!("{}/zarr.json", table.path()),
                    format!("shape is {:?}, expected rows of {width}", table.shape()),
                ));
            }
        }
        Ok(Self {
            spans: TablePieces::new(spans, limits.cache_bytes),
            blocks: TablePieces::new(blocks, limits.cache_bytes),
            key_rank,
            most: Cap::cell(limits),
            most_pieces: Cap::cells(limits),
        })
    }

    pub(super) fn path(&self) -> &str {
        self.spans.table.path()
    }

    /// Rows of the spans.
    pub(super) fn rows(&self) -> u64 {
        self.spans.table.rows()
    }

    /// Rows of a stored chunk of the spans, or fewer if the chunk is large.
    pub(super) fn per_part(&self) -> u64 {
        const MOST: u64 = 1 << 16;
        self.spans.per.min(MOST)
    }

    /// The manifests of consecutive rows that are loaded together.
    pub(super) async fn part(
        self: &Arc<Self>,
        round: u32,
        rows: Range<u64>,
    ) -> Result<Arc<Elements>, StoreError> {
        let slots: Vec<u64> = rows.collect();
        self.build(round, slots).await
    }

    /// The manifests of some rows below `rows`; empty for the others.
    pub(super) async fn of(
        self: &Arc<Self>,
        round: u32,
        slots: &[u64],
        rows: u64,
    ) -> Result<Vec<Bytes>, StoreError> {
        let mut wanted: Vec<u64> = slots.iter().copied().filter(|s| *s < rows).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let cut = self.build(round, wanted.clone()).await?;
        Ok(slots
            .iter()
            .map(|slot| {
                let at = wanted.binary_search(slot).ok();
                at.and_then(|at| cut.get_shared(at)).unwrap_or_default()
            })
            .collect())
    }

    /// Reads the spans of ascending slots, then their blocks, and makes manifests of them.
    async fn build(
        self: &Arc<Self>,
        round: u32,
        slots: Vec<u64>,
    ) -> Result<Arc<Elements>, StoreError> {
        let ranges: Vec<Range<u64>> = slots
            .iter()
            .map(|slot| *slot..slot.saturating_add(1))
            .collect();
        let rows = self.spans.rows(round, &ranges, self.most_pieces).await?;
        let mut spans = Vec::with_capacity(slots.len());
        for slot in &slots {
            spans.push(self.span(*slot, &rows)?);
        }
        let most = self.total(&spans)?;
        let ranges: Vec<Range<u64>> = spans.iter().map(|span| span.rows()).collect();
        // The wanted blocks are known only now, so they belong to the next round.
        let next = round.saturating_add(1);
        let blocks = self.blocks.rows(next, &ranges, self.most_pieces).await?;
        let dense = Arc::clone(self);
        blocking(move || dense.encode(&spans, &blocks, most)).await?
    }

    fn span(&self, slot: u64, rows: &LoadedPieces) -> Result<BlockSpan, StoreError> {
        let blocks = self.blocks.table.rows();
        let row = rows.row(slot).unwrap_or(&[0, 0]);
        let legal = match row {
            [start, count] => u64::try_from(*start).ok().zip(u64::try_from(*count).ok()),
            _ => None,
        };
        match legal {
            Some((_, 0)) => Ok(BlockSpan { start: 0, count: 0 }),
            Some((start, count)) if start.checked_add(count).is_some_and(|end| end <= blocks) => {
                Ok(BlockSpan { start, count })
            }
            _ => Err(StoreError::malformed(
                format!("{} row {slot}", self.path()),
                format!("span {row:?} lies outside the {blocks} blocks"),
            )),
        }
    }

    /// Bytes of the manifests of all spans.
    fn total(&self, spans: &[BlockSpan]) -> Result<usize, StoreError> {
        let block = wide(self.key_rank).saturating_mul(8).saturating_add(9);
        let total = spans.iter().fold(0u64, |sum, span| {
            sum.saturating_add(4)
                .saturating_add(span.count.saturating_mul(block))
        });
        usize::try_from(total)
            .ok()
            .filter(|_| total <= self.most.most)
            .ok_or_else(|| self.most.exceeded(self.path(), total).into())
    }

    /// Writes the manifests: for each the number of blocks, and for each block the chunk, mode 0 and the fragment.
    fn encode(
        &self,
        spans: &[BlockSpan],
        blocks: &LoadedPieces,
        most: usize,
    ) -> Result<Arc<Elements>, StoreError> {
        let mut bytes = Vec::with_capacity(most);
        let mut starts = Vec::with_capacity(spans.len().saturating_add(1));
        for span in spans {
            starts.push(bytes.len());
            let count = u32::try_from(span.count).map_err(|_| {
                StoreError::limit(self.path(), "blocks", span.count, u32::MAX.into())
            })?;
            bytes.extend_from_slice(&count.to_le_bytes());
            for row in span.rows() {
                let Some((fragment, chunk)) = blocks.row(row).and_then(<[i64]>::split_last) else {
                    return Err(StoreError::bug("a block of a manifest was not read"));
                };
                chunk
                    .iter()
                    .for_each(|c| bytes.extend_from_slice(&c.to_le_bytes()));
                bytes.push(0);
                bytes.extend_from_slice(&fragment.to_le_bytes());
            }
        }
        starts.push(bytes.len());
        Ok(Arc::new(Elements::new(bytes.into(), starts, 0)))
    }
}

/// A table of integers that is read in pieces, its stored chunks, which are cached.
#[derive(Debug)]
struct TablePieces {
    table: Arc<TypedArray>,
    /// Rows of a piece.
    per: u64,
    cache: Arc<OnceCache<u64, Arc<Vec<i64>>>>,
}

/// Some pieces of a table, by number.
#[derive(Debug)]
struct LoadedPieces {
    per: u64,
    width: usize,
    pieces: Vec<(u64, Arc<Vec<i64>>)>,
}

impl LoadedPieces {
    fn row(&self, row: u64) -> Option<&[i64]> {
        let number = row.checked_div(self.per)?;
        let at = self
            .pieces
            .binary_search_by_key(&number, |(n, _)| *n)
            .ok()?;
        let (_, values) = self.pieces.get(at)?;
        let from = usize::try_from(row.checked_rem(self.per)?)
            .ok()?
            .checked_mul(self.width)?;
        values.get(from..from.checked_add(self.width)?)
    }
}

impl TablePieces {
    fn new(table: TypedArray, limit: u64) -> Self {
        let weight =
            |values: &Arc<Vec<i64>>| wide(values.len().saturating_mul(8).saturating_add(64));
        Self {
            per: table.chunk_rows(),
            table: Arc::new(table),
            cache: Arc::new(OnceCache::new(limit, weight)),
        }
    }

    /// The pieces with some rows of the table.
    async fn rows(
        &self,
        round: u32,
        ranges: &[Range<u64>],
        most: Cap,
    ) -> Result<LoadedPieces, StoreError> {
        let mut numbers = Vec::new();
        for range in ranges.iter().filter(|range| range.start < range.end) {
            let last = range.end.saturating_sub(1) / self.per;
            let first = range.start / self.per;
            // Consecutive ranges are mostly in one piece.
            let first = match numbers.last() {
                Some(before) if *before == first => first.saturating_add(1),
                _ => first,
            };
            let have = wide(numbers.len());
            let want = have.saturating_add(last.saturating_add(1).saturating_sub(first));
            most.check(self.table.path(), want)?;
            numbers.extend(first..=last);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let loads = numbers.iter();
        let loads = loads.map(|number| self.piece(round, *number).boxed());
        let pieces = all_in_order(loads.collect()).await?;
        Ok(LoadedPieces {
            per: self.per,
            width: usize::try_from(self.table.width()).unwrap_or(usize::MAX),
            pieces: numbers.into_iter().zip(pieces).collect(),
        })
    }

    async fn piece(&self, round: u32, number: u64) -> Result<Arc<Vec<i64>>, StoreError> {
        let (table, per) = (Arc::clone(&self.table), self.per);
        let load = async move {
            let first = number.saturating_mul(per);
            let rows = first..first.saturating_add(per);
            let values = table.read_rows_in(round, rows).await?;
            let path = table.path().to_owned();
            blocking(move || {
                values.to_i64().map(Arc::new).ok_or_else(|| {
                    StoreError::malformed(
                        path,
                        format!(
                            "elements are {}, expected integers within 64 bits",
                            values.dtype
                        ),
                    )
                })
            })
            .await?
        };
        self.cache.get(number, load).await
    }
}

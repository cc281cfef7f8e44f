//! The last rows of an answer.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;
use zvf_store::format::int;
use zvf_store::{Need, Store};

use crate::error::OrBug;
use crate::object_relation::resolve;
use crate::prepare::chain;
use crate::row_samples::{add_warnings, bytes_of, check_bytes, to_index, vertices_of};
use crate::splits::rows_of;
use crate::{ChunkRange, Query, QueryError, RowSample, Table, Target};

/// Approximate number of rows of a piece of a query of whole objects.
const PIECE: u64 = 1 << 18;

/// The last rows of a query, in its order.
///
/// # Cost
///
/// In the order of chunks: estimates from the level's document how many of the last chunks hold these rows, and reads them; until there are enough
/// rows, then reads twice as many chunks before them. By object: reads splits of the query with about 262,144 rows (or as many as are requested),
/// beginning with the last one. A condition that few rows satisfy may need the whole answer. For an additive level with rows in several levels, reads
/// the whole answer. Memory: the rows, at most the memory budget of the query.
///
/// # Errors
///
/// Misuse: a query with a limit. Limit: rows of more bytes than the memory budget. The errors of [`query`](crate::query) and
/// [`Query::splits`].
pub fn last_rows<'a>(
    store: &'a Store,
    query: Query,
    rows: u64,
) -> BoxFuture<'a, Result<RowSample, QueryError>> {
    Box::pin(async move {
        let asked = vertices_of(query);
        if asked.limit.is_some() {
            return Err(QueryError::misuse(
                "found a limit, expected none: the last rows are those of the query without a limit",
            ));
        }
        let mut remarks = Vec::new();
        let asked = resolve(store, asked, &mut remarks).await?;
        let budget = asked.memory_budget;
        let mut found: Option<RowSample> = None;
        let mut left = rows;
        // If no rows are requested, the first piece provides the columns.
        for piece in from_the_end(store, &asked, rows).await? {
            let mut answer = crate::query(store, piece).await?;
            let schema = answer.schema(Table::Vertices).cloned();
            let schema = schema.or_bug("an answer without vertices")?;
            let mut seen = 0_u64;
            let mut kept: VecDeque<RecordBatch> = VecDeque::new();
            let mut count = 0_u64;
            while let Some((table, batch)) = answer.next().await? {
                if table != Table::Vertices || batch.num_rows() == 0 {
                    continue;
                }
                seen += int::wide(batch.num_rows());
                count += int::wide(batch.num_rows());
                kept.push_back(batch);
                // Drops batches before the last rows.
                while let Some(first) = kept.front().map(|first| int::wide(first.num_rows())) {
                    if count - first < left {
                        break;
                    }
                    count -= first;
                    kept.pop_front();
                }
                let later = found.iter().flat_map(|found| &found.batches);
                check_bytes(kept.iter().chain(later).map(bytes_of).sum(), budget)?;
            }
            if let Some(first) = kept.front_mut() {
                let skipped = to_index(count.saturating_sub(left))?;
                *first = first.slice(skipped, first.num_rows().saturating_sub(skipped));
            }
            left = left.saturating_sub(count);
            let summary = answer.summary();
            let sample = found.get_or_insert_with(|| RowSample {
                schema,
                batches: Vec::new(),
                seen: 0,
                levels: summary.levels.clone(),
                warnings: Vec::new(),
            });
            sample.batches.splice(..0, kept);
            sample.seen += seen;
            add_warnings(&mut remarks, summary.warnings.clone());
            if left == 0 {
                break;
            }
        }
        let mut found = found.or_bug("a query of no piece")?;
        found.warnings = remarks;
        Ok(found)
    })
}

/// The query in pieces, beginning with the last one.
async fn from_the_end(store: &Store, asked: &Query, rows: u64) -> Result<Vec<Query>, QueryError> {
    let levels = chain(store, asked.level, asked.own_level_only, &Need::nothing()).await?;
    let [level] = levels.as_slice() else {
        // The answer is ordered by level, but a split has rows of all levels.
        return Ok(vec![asked.clone()]);
    };
    if asked.is_by_object() {
        let splits = asked.splits(store, Target::Rows(rows.max(PIECE))).await?;
        let query = |split: &crate::Split| {
            Ok(Query {
                memory_budget: asked.memory_budget,
                batch_rows: asked.batch_rows,
                ..split.query()?
            })
        };
        return splits.iter().rev().map(query).collect();
    }
    let range = asked.chunks.clone().unwrap_or_default();
    let presence = level.vertices().presence();
    let mut chunks: Vec<Vec<i64>> = presence.iter().map(<[i64]>::to_vec).collect();
    chunks.retain(|chunk| range.contains(chunk));
    chunks.sort_unstable();
    let of_one = (rows_of(level) / int::wide(presence.len()).max(1)).max(1);
    let mut count = to_index(rows.div_ceil(of_one))?.max(1);
    let (mut until, mut end) = (range.until, chunks.len());
    let mut pieces = Vec::new();
    loop {
        let start = end.saturating_sub(count);
        let first = chunks.get(start).filter(|_| start > 0);
        let from = match first {
            Some(first) => Some(first.clone()),
            // The first piece begins where the query does.
            None => range.from.clone(),
        };
        let piece = ChunkRange {
            from: from.clone(),
            until: std::mem::replace(&mut until, from),
        };
        pieces.push(Query {
            chunks: Some(piece),
            ..asked.clone()
        });
        if start == 0 {
            return Ok(pieces);
        }
        end = start;
        count = count.saturating_mul(2);
    }
}

//! The last rows of an answer, or random rows.

use std::collections::{BinaryHeap, VecDeque};

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use futures::future::BoxFuture;
use zvf_store::format::int;
use zvf_store::{Need, Store};

use crate::error::OrBug;
use crate::prepare::chain;
use crate::{Outputs, Place, Query, QueryError, Summary, Table, Target};

/// Approximate number of rows of a piece; the last rows are searched piece by piece.
const PIECE: u64 = 1 << 18;

/// Rows of the vertex table of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowSample {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, in the order of the answer.
    pub batches: Vec<RecordBatch>,
    /// Number of rows that were read.
    pub seen: u64,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// Defects of the store that did not prevent an answer, each once.
    pub warnings: Vec<String>,
}

/// The last rows of a query, in its order.
///
/// # Cost
///
/// Reads splits of the query with about 262,144 rows (or as many as are requested), beginning with the last one, until there are enough rows. A
/// condition that few rows satisfy may need all splits. For an additive level with rows in several levels, reads the whole answer. Memory: the rows,
/// at most the memory budget of the query.
///
/// # Errors
///
/// Misuse: a query with a limit. Limit: rows of more bytes than the memory budget. As [`query`](crate::query) and [`Query::splits`].
pub fn last_rows<'a>(
    store: &'a Store,
    query: Query,
    rows: u64,
) -> BoxFuture<'a, Result<RowSample, QueryError>> {
    Box::pin(async move {
        let mut asked = vertices_of(query);
        let limit = asked.limit.take();
        if limit.is_some() {
            return Err(QueryError::misuse(
                "found a limit, expected none: the last rows are those of the query without a limit",
            ));
        }
        let budget = asked.memory_budget;
        let levels = chain(store, asked.level, asked.own_level_only, &Need::nothing()).await?;
        // The answer is ordered by level, but a piece has rows of all levels. So several levels are read as one piece.
        let target = match levels.len() {
            0 | 1 => Target::Rows(rows.max(PIECE)),
            _ => Target::Count(1),
        };
        let pieces = asked.splits(store, target).await?;
        let mut found: Option<RowSample> = None;
        let mut left = rows;
        // Without rows, the first piece provides the columns.
        for piece in pieces.iter().rev() {
            let query = Query {
                memory_budget: budget,
                batch_rows: asked.batch_rows,
                ..piece.query()?
            };
            let mut answer = crate::query(store, query).await?;
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
            let later = found.take();
            let mut batches = Vec::from(kept);
            let mut sample = RowSample {
                schema,
                batches: Vec::new(),
                seen,
                levels: answer.summary().levels.clone(),
                warnings: answer.summary().warnings.clone(),
            };
            if let Some(later) = later {
                batches.extend(later.batches);
                sample.schema = later.schema;
                sample.seen += later.seen;
                let new = |warning: &String| !sample.warnings.contains(warning);
                let more: Vec<String> = later
                    .warnings
                    .iter()
                    .filter(|one| new(one))
                    .cloned()
                    .collect();
                sample.warnings.extend(more);
            }
            sample.batches = batches;
            found = Some(sample);
            if left == 0 {
                break;
            }
        }
        found.or_bug("a query of no piece")
    })
}

/// Random rows of a query, in its order: each set of `rows` rows has the same probability; all rows if the answer has fewer. The same `seed` draws the
/// same rows from the same answer, regardless of batches and threads.
///
/// # Cost
///
/// One pass over the answer. Memory: up to twice the number of drawn rows and 4,096 more, at most the memory budget of the query.
///
/// # Errors
///
/// Limit: rows of more bytes than the memory budget. As [`query`](crate::query).
pub fn sample_rows<'a>(
    store: &'a Store,
    query: Query,
    rows: u64,
    seed: u64,
) -> BoxFuture<'a, Result<RowSample, QueryError>> {
    Box::pin(async move {
        let asked = vertices_of(query);
        let budget = asked.memory_budget;
        let mut answer = crate::query(store, asked).await?;
        let schema = answer.schema(Table::Vertices).cloned();
        let schema = schema.or_bug("an answer without vertices")?;
        let mut drawn = Drawn::new(rows, seed);
        while let Some((table, batch)) = answer.next().await? {
            if table == Table::Vertices {
                drawn.add(&batch)?;
                if drawn.bytes > budget {
                    drawn.drop_lost()?;
                }
                check_bytes(drawn.bytes, budget)?;
            }
        }
        drawn.drop_lost()?;
        let held = drawn.held.iter().map(|(_, batch)| batch);
        let whole = concat_batches(&schema, held);
        let whole = whole
            .ok()
            .or_bug("batches of other columns than their answer")?;
        Ok(sample_of(schema, whole, drawn.seen, answer.summary()))
    })
}

fn sample_of(schema: SchemaRef, batch: RecordBatch, seen: u64, summary: &Summary) -> RowSample {
    RowSample {
        schema,
        batches: vec![batch],
        seen,
        levels: summary.levels.clone(),
        warnings: summary.warnings.clone(),
    }
}

/// The query for its vertex table alone.
fn vertices_of(query: Query) -> Query {
    Query {
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..query
    }
}

pub(crate) fn bytes_of(batch: &RecordBatch) -> u64 {
    int::wide(batch.get_array_memory_size())
}

/// Checks that kept rows are within the budget.
fn check_bytes(bytes: u64, budget: u64) -> Result<(), QueryError> {
    match bytes > budget {
        true => Err(QueryError::limit(
            Place::default(),
            "bytes of the requested rows (the memory budget can be raised)",
            bytes,
            budget,
        )),
        false => Ok(()),
    }
}

fn to_index(rows: u64) -> Result<usize, QueryError> {
    usize::try_from(rows)
        .ok()
        .or_bug("more rows than memory has")
}

/// The rows with the smallest keys; the key of a row depends only on the seed and the row number.
#[derive(Debug)]
struct Drawn {
    rows: u64,
    seed: u64,
    seen: u64,
    /// Keys of the currently drawn rows, with their numbers.
    smallest: BinaryHeap<(u64, u64)>,
    /// Rows that were drawn when they were read, with their numbers; some of them were replaced later.
    held: Vec<(Vec<u64>, RecordBatch)>,
    count: u64,
    bytes: u64,
}

impl Drawn {
    fn new(rows: u64, seed: u64) -> Self {
        Self {
            rows,
            seed: mixed(seed),
            seen: 0,
            smallest: BinaryHeap::new(),
            held: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    fn key(&self, number: u64) -> (u64, u64) {
        (mixed(self.seed ^ mixed(number)), number)
    }

    /// Draws from the rows of a batch.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        let (mut indexes, mut numbers) = (Vec::new(), Vec::new());
        for index in 0..batch.num_rows() {
            let number = self.seen;
            self.seen += 1;
            let key = self.key(number);
            if int::wide(self.smallest.len()) >= self.rows {
                // If no rows are drawn, there is no key.
                if self.smallest.peek().is_none_or(|largest| *largest < key) {
                    continue;
                }
                self.smallest.pop();
            }
            self.smallest.push(key);
            indexes.push(u32::try_from(index).ok().or_bug("a batch of 2^32 rows")?);
            numbers.push(number);
        }
        if indexes.is_empty() {
            return Ok(());
        }
        let taken = take_record_batch(batch, &UInt32Array::from(indexes));
        let taken = taken.ok().or_bug("rows beyond their batch")?;
        self.count += int::wide(numbers.len());
        self.bytes += bytes_of(&taken);
        self.held.push((numbers, taken));
        if self.count > self.rows.saturating_mul(2).saturating_add(1 << 12) {
            self.drop_lost()?;
        }
        Ok(())
    }

    /// Drops the rows that were replaced.
    fn drop_lost(&mut self) -> Result<(), QueryError> {
        let largest = self.smallest.peek().copied();
        let mut kept = Vec::with_capacity(self.held.len());
        (self.count, self.bytes) = (0, 0);
        for (numbers, batch) in std::mem::take(&mut self.held) {
            let stays = |number: &u64| Some(self.key(*number)) <= largest;
            let mask: BooleanArray = numbers.iter().map(|one| Some(stays(one))).collect();
            if mask.true_count() == 0 {
                continue;
            }
            let batch = filter_record_batch(&batch, &mask);
            let batch = batch.ok().or_bug("a mask of other rows")?;
            let numbers: Vec<u64> = numbers.into_iter().filter(|one| stays(one)).collect();
            self.count += int::wide(numbers.len());
            self.bytes += bytes_of(&batch);
            kept.push((numbers, batch));
        }
        self.held = kept;
        Ok(())
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014), which mixes the bits of a number.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::{ArrayRef, Float32Array, UInt64Array};

    use super::*;

    fn numbers(from: u64, until: u64) -> RecordBatch {
        let column: ArrayRef = Arc::new(UInt64Array::from_iter_values(from..until));
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    fn drawn(rows: u64, seed: u64, total: u64, batch: u64) -> Vec<u64> {
        let mut drawn = Drawn::new(rows, seed);
        let mut from = 0;
        while from < total {
            let until = (from + batch).min(total);
            drawn.add(&numbers(from, until)).unwrap();
            from = until;
        }
        drawn.drop_lost().unwrap();
        assert_eq!(drawn.seen, total);
        let batches = drawn.held.iter();
        let values =
            batches.map(|(_, batch)| batch.column(0).as_primitive::<UInt64Type>().values());
        values.flatten().copied().collect()
    }

    #[test]
    fn batches_do_not_change_what_is_drawn() {
        for (rows, total) in [
            (0, 100),
            (1, 100),
            (7, 100),
            (100, 100),
            (200, 100),
            (50, 20_000),
        ] {
            let wanted = drawn(rows, 5, total, total);
            assert_eq!(wanted.len() as u64, rows.min(total));
            assert!(wanted.is_sorted_by(|a, b| a < b), "{wanted:?}");
            for batch in [1, 3, 64, 4096] {
                assert_eq!(drawn(rows, 5, total, batch), wanted, "{rows} of {total}");
            }
        }
        assert_ne!(drawn(7, 5, 100, 10), drawn(7, 6, 100, 10));
    }

    /// Each row is drawn with the same frequency: the chi-square value over 4000 seeds is far below its limit for 1 in 10^6.
    #[test]
    fn every_row_is_as_likely() {
        let mut hits = [0_u32; 50];
        for seed in 0..4000 {
            for row in drawn(5, seed, 50, 16) {
                hits[usize::try_from(row).unwrap()] += 1;
            }
        }
        let wanted = 400.0;
        let chi: f64 = hits
            .iter()
            .map(|hit| (f64::from(*hit) - wanted).powi(2) / wanted)
            .sum();
        assert!(chi < 110.0, "{chi}: {hits:?}");
    }

    #[test]
    fn rows_beyond_the_budget_are_a_limit() {
        let column: ArrayRef = Arc::new(Float32Array::from(vec![0.0; 1000]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        assert!(check_bytes(bytes_of(&batch), 1 << 20).is_ok());
        let error = check_bytes(bytes_of(&batch), 100).unwrap_err();
        assert_eq!(error.class(), zvf_store::Class::Limit);
    }
}

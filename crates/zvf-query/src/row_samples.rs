//! Random rows of an answer.

use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use futures::future::BoxFuture;
use zvf_store::format::int;
use zvf_store::{Class, Need, Store};

use crate::error::OrBug;
use crate::object_relation::resolve;
use crate::prepare::chain;
use crate::scan::counts::{self, CountedChunks};
use crate::{Outputs, Place, Query, QueryError, Table};

/// Rows of the vertex table of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowSample {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, in the order of the answer.
    pub batches: Vec<RecordBatch>,
    /// Number of rows of the answer, from which the sample was drawn.
    pub seen: u64,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// Defects of the store that did not prevent an answer, each once.
    pub warnings: Vec<String>,
}

/// Random rows of a query, in its order: each set of `rows` rows has the same probability; all rows if the answer has fewer. The same `seed` draws the
/// same rows from the same answer, regardless of batches and threads.
///
/// # Cost
///
/// If fewer rows are requested than half the number of chunks: reads what conditions need and the number of rows of each chunk, from the length of a
/// cell, then the chunks with drawn rows. Otherwise, and for whole objects, a limit or several additive levels: one pass over the answer. Memory: up to
/// twice the number of drawn rows and 4,096 more, at most the memory budget of the query; the coordinates of the chunks.
///
/// # Errors
///
/// Limit: the rows need more bytes than the memory budget. Also the errors of [`query`](crate::query).
pub fn sample_rows<'a>(
    store: &'a Store,
    query: Query,
    rows: u64,
    seed: u64,
) -> BoxFuture<'a, Result<RowSample, QueryError>> {
    Box::pin(async move {
        let mut remarks = Vec::new();
        let asked = resolve(store, vertices_of(query), &mut remarks).await?;
        let few = match chunks_of(store, &asked).await? {
            Some(chunks) if rows < chunks / 2 => few_rows(store, &asked, rows, seed).await,
            _ => Ok(None),
        };
        let few = match few {
            // One pass can also read rows that are outside the chunk of their key.
            Err(error) if error.class() == Class::Malformed => None,
            few => few?,
        };
        let mut found = match few {
            Some(found) => found,
            None => one_pass(store, asked, rows, seed).await?,
        };
        add_warnings(&mut remarks, found.warnings);
        found.warnings = remarks;
        Ok(found)
    })
}

/// Draws from all rows of an answer.
async fn one_pass(
    store: &Store,
    asked: Query,
    rows: u64,
    seed: u64,
) -> Result<RowSample, QueryError> {
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
    Ok(RowSample {
        schema,
        batches: vec![whole],
        seen: drawn.draw.seen,
        levels: answer.summary().levels.clone(),
        warnings: answer.summary().warnings.clone(),
    })
}

/// Draws numbers of rows, and reads only the chunks with these rows. `None` if these chunks alone give another number of rows than was counted, because
/// rows are outside the chunk of their key.
async fn few_rows(
    store: &Store,
    asked: &Query,
    rows: u64,
    seed: u64,
) -> Result<Option<RowSample>, QueryError> {
    let mut draw = Draw::new(rows, seed);
    let each = |rows| {
        for _ in 0..rows {
            draw.next();
        }
    };
    let counts = counts::count(store, asked.clone(), each).await?;
    let (seen, mut warnings) = (draw.seen, counts.warnings);
    let (within, places) = chunks_of_rows(counts.chunks, &draw.numbers());
    let expected = within.iter().map(|(_, rows)| *rows).sum::<u64>();
    let mut within: Vec<Vec<i64>> = within.into_iter().map(|(chunk, _)| chunk).collect();
    within.sort_unstable();
    let reading = Query {
        within: Some(Arc::new(within)),
        ..asked.clone()
    };
    let mut answer = crate::query(store, reading).await?;
    let schema = answer.schema(Table::Vertices).cloned();
    let schema = schema.or_bug("an answer without vertices")?;
    let (mut batches, mut bytes, mut first) = (Vec::new(), 0, 0_u64);
    let mut left = places.as_slice();
    while let Some((table, batch)) = answer.next().await? {
        if table != Table::Vertices {
            continue;
        }
        let end = first + int::wide(batch.num_rows());
        let (own, later) = left.split_at(left.partition_point(|place| *place < end));
        left = later;
        let indexes = own.iter().map(|place| u32::try_from(place - first));
        let indexes: Result<Vec<u32>, _> = indexes.collect();
        first = end;
        if own.is_empty() {
            continue;
        }
        let indexes = indexes.ok().or_bug("a batch of 2^32 rows")?;
        let taken = take_record_batch(&batch, &UInt32Array::from(indexes));
        let taken = taken.ok().or_bug("rows beyond their batch")?;
        bytes += bytes_of(&taken);
        check_bytes(bytes, asked.memory_budget)?;
        batches.push(taken);
    }
    if first != expected {
        return Ok(None);
    }
    let whole = concat_batches(&schema, &batches);
    let whole = whole
        .ok()
        .or_bug("batches of other columns than their answer")?;
    add_warnings(&mut warnings, answer.summary().warnings.clone());
    Ok(Some(RowSample {
        schema,
        batches: vec![whole],
        seen,
        levels: answer.summary().levels.clone(),
        warnings,
    }))
}

/// The number of chunks of the level of a query, if the answer is in the chunk order of this one level; `None` otherwise.
///
/// # Errors
///
/// As [`query`](crate::query), for levels that do not exist.
async fn chunks_of(store: &Store, asked: &Query) -> Result<Option<u64>, QueryError> {
    if asked.is_by_object() || asked.limit.is_some() {
        return Ok(None);
    }
    let levels = chain(store, asked.level, asked.own_level_only, &Need::nothing()).await?;
    Ok(match levels.as_slice() {
        [level] => Some(int::wide(level.vertices().presence().len())),
        _ => None,
    })
}

/// The chunks that have the rows with these ascending numbers, and the numbers of the same rows in an answer from only these chunks.
fn chunks_of_rows(chunks: CountedChunks, numbers: &[u64]) -> (CountedChunks, Vec<u64>) {
    let (mut first, mut kept) = (0, 0);
    let (mut found, mut places) = (Vec::new(), Vec::new());
    let mut left = numbers;
    for (chunk, rows) in chunks {
        let end = first + rows;
        let (own, later) = left.split_at(left.partition_point(|number| *number < end));
        left = later;
        if !own.is_empty() {
            places.extend(own.iter().map(|number| kept + (number - first)));
            kept += rows;
            found.push((chunk, rows));
        }
        first = end;
    }
    (found, places)
}

/// Appends the warnings that are not in the list.
pub(crate) fn add_warnings(warnings: &mut Vec<String>, more: Vec<String>) {
    for one in more {
        if !warnings.contains(&one) {
            warnings.push(one);
        }
    }
}

/// The query with the vertex table as its only output.
pub(crate) fn vertices_of(query: Query) -> Query {
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

/// Checks that the bytes of kept rows are within the memory budget.
pub(crate) fn check_bytes(bytes: u64, budget: u64) -> Result<(), QueryError> {
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

pub(crate) fn to_index(rows: u64) -> Result<usize, QueryError> {
    usize::try_from(rows)
        .ok()
        .or_bug("more rows than memory has")
}

/// Draws numbers of rows: those with the smallest keys. The key of a row depends only on the seed and the number of the row.
#[derive(Debug)]
struct Draw {
    rows: u64,
    seed: u64,
    seen: u64,
    /// Keys of the currently drawn rows, with their numbers.
    smallest: BinaryHeap<(u64, u64)>,
}

impl Draw {
    fn new(rows: u64, seed: u64) -> Self {
        Self {
            rows,
            seed: mixed(seed),
            seen: 0,
            smallest: BinaryHeap::new(),
        }
    }

    fn key(&self, number: u64) -> (u64, u64) {
        (mixed(self.seed ^ mixed(number)), number)
    }

    /// The number of the next row, if it is drawn; a later row may replace it.
    fn next(&mut self) -> Option<u64> {
        let number = self.seen;
        self.seen += 1;
        let key = self.key(number);
        if int::wide(self.smallest.len()) >= self.rows {
            // If `rows` is 0, there is no largest key.
            if self.smallest.peek().is_none_or(|largest| *largest < key) {
                return None;
            }
            self.smallest.pop();
        }
        self.smallest.push(key);
        Some(number)
    }

    /// The drawn numbers, ascending.
    fn numbers(self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self
            .smallest
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The drawn rows of an answer that is read in one pass.
#[derive(Debug)]
struct Drawn {
    draw: Draw,
    /// Rows that were drawn when they were read, with their numbers; some of them were replaced later.
    held: Vec<(Vec<u64>, RecordBatch)>,
    count: u64,
    bytes: u64,
}

impl Drawn {
    fn new(rows: u64, seed: u64) -> Self {
        Self {
            draw: Draw::new(rows, seed),
            held: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    /// Draws from the rows of a batch.
    fn add(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        let (mut indexes, mut numbers) = (Vec::new(), Vec::new());
        for index in 0..batch.num_rows() {
            if let Some(number) = self.draw.next() {
                indexes.push(u32::try_from(index).ok().or_bug("a batch of 2^32 rows")?);
                numbers.push(number);
            }
        }
        if indexes.is_empty() {
            return Ok(());
        }
        let taken = take_record_batch(batch, &UInt32Array::from(indexes));
        let taken = taken.ok().or_bug("rows beyond their batch")?;
        self.count += int::wide(numbers.len());
        self.bytes += bytes_of(&taken);
        self.held.push((numbers, taken));
        if self.count > self.draw.rows.saturating_mul(2).saturating_add(1 << 12) {
            self.drop_lost()?;
        }
        Ok(())
    }

    /// Drops the rows that later rows replaced.
    fn drop_lost(&mut self) -> Result<(), QueryError> {
        let largest = self.draw.smallest.peek().copied();
        let mut kept = Vec::with_capacity(self.held.len());
        (self.count, self.bytes) = (0, 0);
        for (numbers, batch) in std::mem::take(&mut self.held) {
            let stays = |number: &u64| Some(self.draw.key(*number)) <= largest;
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
        assert_eq!(drawn.draw.seen, total);
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

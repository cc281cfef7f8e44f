//! Makes link batches on worker threads, and sends them in order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::QueryError;
use crate::answer::{Emit, Table};
use crate::jobs::Jobs;
use crate::links::records::RecordCell;
use crate::workers::{WORKERS, Workers, started};

/// Sends the batches that `make` creates from the remaining link cells, while the next cells are read. Returns the number of links.
///
/// # Errors
///
/// I/O; malformed cells; the errors of `make`.
pub(crate) async fn send_stored<T: Send + 'static>(
    jobs: &mut Jobs<T>,
    workers: &Workers,
    make: impl Fn(&[RecordCell]) -> Result<RecordBatch, QueryError> + Send + Sync + 'static,
    emit: &mut Emit,
    batch_rows: usize,
) -> Result<u64, QueryError> {
    let make = Arc::new(make);
    let mut waiting = VecDeque::new();
    let mut sent = 0;
    loop {
        let cells = jobs.next_links().await?;
        let end = cells.is_none();
        if let Some(cells) = cells {
            let make = Arc::clone(&make);
            waiting.push_back(started(workers.run(move || make(&cells))).await);
        }
        while waiting.len() >= WORKERS || end {
            let Some(batch) = waiting.pop_front() else {
                break;
            };
            sent += emit.send(Table::Links, &batch.await?, batch_rows).await;
        }
        if end {
            return Ok(sent);
        }
    }
}

/// Sends the batch that `make` creates from each range. Returns the number of links.
///
/// # Errors
///
/// Errors of `make`.
pub(crate) async fn send_ranges(
    ranges: Vec<Range<usize>>,
    workers: &Workers,
    make: impl Fn(Range<usize>) -> Result<RecordBatch, QueryError> + Send + Sync + 'static,
    emit: &mut Emit,
    batch_rows: usize,
) -> Result<u64, QueryError> {
    let make = Arc::new(make);
    let batches = ranges.into_iter().map(|range| {
        let make = Arc::clone(&make);
        workers.run(move || make(range))
    });
    let mut batches = stream::iter(batches).buffered(WORKERS);
    let mut sent = 0;
    while let Some(batch) = batches.try_next().await? {
        sent += emit.send(Table::Links, &batch, batch_rows).await;
    }
    Ok(sent)
}

/// Splits a list of items into ranges of indices with at least `rows` rows each, except for the last one. `lengths` are the numbers of rows of the
/// items.
pub(crate) fn ranges(lengths: impl Iterator<Item = u64>, rows: u64) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut end, mut sum) = (0, 0, 0_u64);
    for length in lengths {
        end += 1;
        sum = sum.saturating_add(length);
        if sum >= rows {
            ranges.push(start..end);
            (start, sum) = (end, 0);
        }
    }
    if start < end {
        ranges.push(start..end);
    }
    ranges
}

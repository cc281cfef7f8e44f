//! Links and objects of a result by object, once its vertices are out.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::fetch::Job;
use super::index::RowIndex;
use super::links::{Lines, Placed, Trees, stored};
use super::outlet::{INLINE, Keep, Sent};
use super::plan::Run;
use super::select::Pick;
use crate::answer::{Emit, Table};
use crate::flat::run::{WORKERS, send};
use crate::flat::scan::{offload, produce, started};
use crate::links::Rule;
use crate::links::branches::Parents;
use crate::links::records::RecordCell;
use crate::links::table::{LinkSink, LinkTable};
use crate::objects::{Form, ObjectRow, ObjectTable, ObjectValues};
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::{QueryError, Select, int};

impl Run {
    async fn next_links(&mut self) -> Result<Option<Vec<RecordCell>>, QueryError> {
        if let Some(cells) = self.ready_links.take() {
            return Ok(Some(cells));
        }
        while let Some(job) = self.jobs.try_next().await? {
            if let Job::Links(cells, count) = job {
                self.cells_read += count;
                return Ok(Some(cells));
            }
        }
        Ok(None)
    }

    pub(super) async fn links(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: LinkTable,
        answer: &mut Sent,
    ) -> Result<u64, QueryError> {
        if answer.keep == Keep::Chains {
            let chains = std::mem::take(&mut answer.chains);
            return self.chains(p, emit, table, chains).await;
        }
        let placed = Arc::new(Placed {
            pieces: std::mem::take(&mut answer.pieces),
            fragments: std::mem::take(&mut answer.fragments),
        });
        let buffers = Arc::new(std::mem::take(&mut answer.buffers));
        let rows = p.query.batch_rows;
        let mut sent = 0;
        if p.rule == Rule::Stored {
            let index = Arc::new(RowIndex::new(&placed.pieces, &placed.fragments));
            let mut waiting: VecDeque<BoxFuture<'static, Result<RecordBatch, QueryError>>> =
                VecDeque::new();
            loop {
                let cells = self.next_links().await?;
                let end = cells.is_none();
                if let (Some(cells), Some(family)) = (cells, table.family.clone()) {
                    let (table, index, buffers) =
                        (table.clone(), Arc::clone(&index), Arc::clone(&buffers));
                    let placed = Arc::clone(&placed);
                    let work = move || {
                        let of = |slot: Slot| buffers.get(int::index(slot)).copied().flatten();
                        let fragments =
                            |slot: Slot| placed.fragments.get(int::index(slot))?.as_deref();
                        cells.iter().try_for_each(|cell| {
                            family.check_rows(cell, of)?;
                            family.check_groups(cell, fragments)
                        })?;
                        stored(&table, &cells, &index)
                    };
                    waiting.push_back(started(offload(&self.reader, self.round, work)).await);
                }
                while waiting.len() >= WORKERS || (end && !waiting.is_empty()) {
                    let Some(batch) = waiting.pop_front() else {
                        break;
                    };
                    sent += send(emit, Table::Links, &batch.await?, rows).await;
                }
                if end {
                    return Ok(sent);
                }
            }
        }
        let mut cells = Vec::new();
        while let Some(mut more) = self.next_links().await? {
            if let Some(family) = &table.family {
                let of = |slot: Slot| buffers.get(int::index(slot)).copied().flatten();
                more.iter()
                    .try_for_each(|cell| family.check_rows(cell, of))?;
            }
            cells.append(&mut more);
        }
        type Make = Arc<dyn Fn(Range<usize>) -> Result<RecordBatch, QueryError> + Send + Sync>;
        let make: Make = if p.rule == Rule::Branches {
            let index = RowIndex::new(&placed.pieces, &placed.fragments);
            let parents = Parents::new(table.family.as_deref(), cells)?;
            let trees = Trees {
                table,
                placed: Arc::clone(&placed),
                index,
                parents,
            };
            Arc::new(move |range| trees.batch(range))
        } else {
            let lines = Lines::new(table, Arc::clone(&placed), cells);
            Arc::new(move |range| lines.batch(range))
        };
        if answer.rows <= INLINE {
            let batch = make(0..placed.pieces.len())?;
            return Ok(send(emit, Table::Links, &batch, rows).await);
        }
        let (reader, round) = (Arc::clone(&self.reader), self.round);
        let batches = placed
            .ranges(int::wide(rows))
            .into_iter()
            .map(move |range| {
                let make = Arc::clone(&make);
                offload(&reader, round, move || make(range))
            });
        let mut batches = stream::iter(batches).buffered(WORKERS);
        while let Some(batch) = batches.try_next().await? {
            sent += send(emit, Table::Links, &batch, rows).await;
        }
        Ok(sent)
    }

    /// Links of rows that follow each other.
    async fn chains(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: LinkTable,
        chains: Vec<Range<u64>>,
    ) -> Result<u64, QueryError> {
        let rows = p.query.batch_rows.max(1);
        let mut batches = produce(&self.reader, self.round, move |hand_over| {
            for part in parts(chains, int::wide(rows)) {
                let mut sink = LinkSink::new(&table, rows);
                for rows in part {
                    sink.push_run(rows.start, rows.end.saturating_sub(1));
                }
                if !hand_over(sink.finish()?) {
                    break;
                }
            }
            Ok(())
        });
        let mut sent = 0;
        while let Some(batch) = batches.try_next().await? {
            sent += send(emit, Table::Links, &batch, rows).await;
        }
        Ok(sent)
    }

    pub(super) async fn objects(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: &ObjectTable,
        values: ObjectValues,
        answer: &Sent,
    ) -> Result<u64, QueryError> {
        let most = p.query.batch_rows.max(1);
        let mut rows = Vec::new();
        let (mut start, mut sent) = (0, 0);
        let drop_empty = p.query.select == Select::Objects;
        for (number, pick) in self.picks.iter().enumerate().take(answer.picks) {
            let length = answer.lengths.get(number).copied().unwrap_or(0);
            if length > 0 || !drop_empty {
                rows.push(ObjectRow {
                    id: pick.id,
                    row: Some(pick.row),
                    numbers: [start, length, 0],
                    empty: self.empty.get(number).copied().unwrap_or(true),
                });
            }
            start += length;
            if rows.len() == most {
                let batch = table.batch(Form::Grouped, &rows, &values)?;
                sent += send(emit, Table::Objects, &batch, most).await;
                rows.clear();
            }
        }
        if !rows.is_empty() {
            let batch = table.batch(Form::Grouped, &rows, &values)?;
            sent += send(emit, Table::Objects, &batch, most).await;
        }
        Ok(sent)
    }
}

/// Ranges of linked rows, cut into parts of `most` links each.
fn parts(chains: Vec<Range<u64>>, most: u64) -> impl Iterator<Item = Vec<Range<u64>>> {
    let mut chains = chains.into_iter();
    let mut rest: Option<Range<u64>> = None;
    std::iter::from_fn(move || {
        let mut part = Vec::new();
        let mut room = most;
        while room > 0 {
            let Some(rows) = rest.take().or_else(|| chains.next()) else {
                break;
            };
            let links = rows.end.saturating_sub(rows.start).saturating_sub(1);
            let taken = links.min(room);
            if taken == 0 {
                continue;
            }
            let end = rows.start.saturating_add(taken);
            part.push(rows.start..end.saturating_add(1));
            if taken < links {
                rest = Some(end..rows.end);
            }
            room -= taken;
        }
        (!part.is_empty()).then_some(part)
    })
}

/// Attribute values of the objects of an answer.
pub(super) async fn read_values(
    table: Option<&ObjectTable>,
    picks: &[Pick],
    round: u32,
) -> Result<Option<ObjectValues>, QueryError> {
    let Some(table) = table else { return Ok(None) };
    let first = picks.iter().map(|pick| pick.row).min().unwrap_or(0);
    let last = picks
        .iter()
        .map(|pick| pick.row.saturating_add(1))
        .max()
        .unwrap_or(0);
    table.read(first..last, round).await.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chains: &[(u64, u64)], most: u64) -> Vec<Vec<(u64, u64)>> {
        let chains = chains.iter().map(|(start, end)| *start..*end).collect();
        let found = parts(chains, most);
        let pairs = |part: Vec<Range<u64>>| {
            part.into_iter()
                .map(|rows| (rows.start, rows.end))
                .collect()
        };
        found.map(pairs).collect()
    }

    #[test]
    fn chains_are_cut_into_equal_parts() {
        let chains = [(0, 4), (4, 5), (5, 7), (9, 10), (10, 17)];
        let expected = [vec![(0, 4), (5, 7)], vec![(10, 15)], vec![(14, 17)]];
        assert_eq!(cut(&chains, 4), expected);
        assert!(cut(&[(3, 4)], 1).is_empty());
        assert!(cut(&[], 1).is_empty());
    }
}

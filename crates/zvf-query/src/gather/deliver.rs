//! Sends the links and objects of a result by object after its vertices.

use std::ops::Range;

use futures::stream::TryStreamExt;

use super::links::{Lines, Placed, Trees, stored};
use super::outlet::{INLINE, Sent};
use super::plan::Run;
use super::row_index::RowIndex;
use super::select::Pick;
use crate::QueryError;
use crate::answer::{Emit, Table};
use crate::link_batches::{ranges, send_ranges, send_stored};
use crate::links::Rule;
use crate::links::branches::Parents;
use crate::links::records::RecordCell;
use crate::links::sequential::Stored;
use crate::links::table::LinkTable;
use crate::objects::{ObjectRow, ObjectTable, ObjectValues};
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use zvf_store::format::int;

impl Run {
    pub(super) async fn links(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: LinkTable,
        answer: &mut Sent,
    ) -> Result<u64, QueryError> {
        let placed = Placed {
            pieces: std::mem::take(&mut answer.pieces),
            fragments: std::mem::take(&mut answer.fragments),
        };
        let buffers = std::mem::take(&mut answer.buffers);
        let rows = p.query.batch_rows;
        let of = move |slot: Slot| buffers.get(int::index(slot)).copied().flatten();
        let family = table.family.clone();
        if p.rule == Rule::Stored {
            let index = RowIndex::new(&placed.pieces, &placed.fragments)?;
            let make = move |cells: &[RecordCell]| {
                let fragments = |slot: Slot| placed.fragments.get(int::index(slot))?.as_deref();
                if let Some(family) = &family {
                    for cell in cells {
                        family.check_rows(cell, &of)?;
                        family.check_groups(cell, fragments)?;
                    }
                }
                stored(&table, cells, &index)
            };
            return send_stored(&mut self.jobs, &self.workers, make, emit, rows).await;
        }
        let check = |cell: &RecordCell| match &family {
            Some(family) => family.check_rows(cell, &of),
            None => Ok(()),
        };
        // Link cells are read for attributes, and for the parents of rows.
        let cells = match self.cells.is_empty() {
            true => Vec::new(),
            false => self.jobs.all_links(check).await?,
        };
        if p.rule == Rule::Branches {
            let lengths = placed.pieces.iter().map(|piece| u64::from(piece.taken));
            let most = match answer.rows <= INLINE {
                true => INLINE,
                false => int::wide(rows),
            };
            let ranges = ranges(lengths, most.max(1));
            let index = RowIndex::new(&placed.pieces, &placed.fragments)?;
            let parents = Parents::new(table.family.as_deref(), cells)?;
            let trees = Trees {
                table,
                placed,
                index,
                parents,
            };
            let make = move |range| trees.batch(range);
            return send_ranges(ranges, &self.workers, make, emit, rows).await;
        }
        let index = RowIndex::new(&placed.pieces, &placed.fragments)?;
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let stored = Stored::new(cells, |a, b, links| {
            index.all_hits(a, &mut from);
            index.all_hits(b, &mut to);
            let next = from
                .iter()
                .map(|(pick, row)| (*pick, row.saturating_add(1)));
            let next = next.filter(|next| to.binary_search(next).is_ok());
            links.extend(next.map(|(_, row)| (row.saturating_sub(1), row)));
        });
        // Either pieces or chains were recorded.
        for piece in &placed.pieces {
            answer.chain(piece);
        }
        let chains = std::mem::take(&mut answer.chains);
        let lines = Lines { table, stored };
        if answer.rows <= INLINE {
            let mut sent = 0;
            for part in parts(chains, int::wide(rows.max(1))) {
                sent += emit.send(Table::Links, &lines.batch(&part)?, rows).await;
            }
            return Ok(sent);
        }
        let mut batches = self.workers.produce(move |hand_over| {
            for part in parts(chains, int::wide(rows.max(1))) {
                if !hand_over(lines.batch(&part)?) {
                    break;
                }
            }
            Ok(())
        });
        let mut sent = 0;
        while let Some(batch) = batches.try_next().await? {
            sent += emit.send(Table::Links, &batch, rows).await;
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
        let keep_empty = p.empty_objects;
        let mut start = 0;
        let picks = self.picks.iter().take(answer.picks);
        let rows = picks.zip(&answer.lengths);
        let rows = rows.filter_map(move |(pick, length)| {
            let row = ObjectRow {
                id: pick.id,
                row: Some(pick.row),
                numbers: [start, *length, 0],
            };
            start += length;
            (*length > 0 || keep_empty).then_some(row)
        });
        let (round, most) = (self.round, p.query.batch_rows);
        table.send(rows, Some(&values), round, most, emit).await
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
    let rows = picks.iter().map(|pick| pick.row).collect();
    table.read(rows, round).await.map(Some)
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

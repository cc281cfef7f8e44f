//! Links of a result by object.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::row_index::{Hit, RowIndex, rows_of};
use super::step::Piece;
use crate::QueryError;
use crate::columns::gather::Rows;
use crate::error::OrBug;
use crate::fragments::Fragments;
use crate::links::branches::{Parents, StoredParent};
use crate::links::records::RecordCell;
use crate::links::sequential::Stored;
use crate::links::table::{LinkSink, LinkTable};
use crate::manifests::Entry;
use zvf_store::format::int;

/// The contents of the answer.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) pieces: Vec<Piece>,
    /// By chunk.
    pub(crate) fragments: Vec<Option<Arc<Fragments>>>,
}

/// Links of lines: ranges of consecutive rows.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) table: LinkTable,
    /// The stored links, for attributes.
    pub(crate) stored: Stored,
}

impl Lines {
    /// The links inside some ranges.
    ///
    /// # Errors
    ///
    /// Malformed link attributes.
    pub(crate) fn batch(&self, ranges: &[Range<u64>]) -> Result<RecordBatch, QueryError> {
        let links = ranges
            .iter()
            .map(|rows| rows.end.saturating_sub(rows.start));
        let links = links.fold(0, u64::saturating_add);
        let mut sink = LinkSink::new(&self.table, usize::try_from(links).unwrap_or(usize::MAX));
        for rows in ranges {
            let last = rows.end.saturating_sub(1);
            if !sink.has_attributes() {
                sink.push_run(rows.start, last);
                continue;
            }
            for row in rows.start..last {
                self.stored.push(&mut sink, row, row + 1)?;
            }
        }
        sink.finish()
    }
}

/// Links of skeletons, from a row to its parent.
#[derive(Debug)]
pub(crate) struct Trees {
    pub(crate) table: LinkTable,
    pub(crate) placed: Placed,
    pub(crate) index: RowIndex,
    pub(crate) parents: Parents,
}

impl Trees {
    /// The links of the rows of some pieces, in ascending order of children.
    ///
    /// # Errors
    ///
    /// Malformed link attributes.
    pub(crate) fn batch(&self, range: Range<usize>) -> Result<RecordBatch, QueryError> {
        let mut sink = LinkSink::new(&self.table, 1 << 12);
        let (mut children, mut parents) = (Vec::new(), Vec::new());
        for piece in self.placed.pieces.get(range).unwrap_or(&[]) {
            if piece.slot == Entry::GAP || piece.taken == 0 {
                continue;
            }
            let rows = rows_of(piece, &self.placed.fragments)?;
            let mut before: Option<u32> = None;
            for number in 0..piece.taken {
                let position = match &piece.positions {
                    Some(positions) => *positions
                        .get(int::index(number))
                        .or_bug("a piece of fewer rows than were taken")?,
                    None => number,
                };
                let out = piece.out + u64::from(number);
                let follows =
                    position.checked_sub(1).is_some() && before == position.checked_sub(1);
                before = Some(position);
                let record = self.record(piece.slot, rows, position);
                let parent = match record {
                    Some(record) => {
                        self.index.hits(record.child, &mut children);
                        self.index.hits(record.parent, &mut parents);
                        parent_of(piece.pick, &children, &parents)
                    }
                    None => follows.then(|| out - 1),
                };
                if let Some(parent) = parent {
                    self.parents.push(&mut sink, out, parent, record)?;
                }
            }
        }
        sink.finish()
    }

    fn record(&self, slot: u32, rows: Rows<'_>, position: u32) -> Option<&StoredParent> {
        let row = rows.get(position)?;
        self.parents.of(slot, row..row.checked_add(1)?).first()
    }
}

/// The parent of a child of object `pick`: in the same object if it has the parent. Otherwise in the first object with the parent, but only if
/// `pick` is the first object with the child.
fn parent_of(pick: u32, children: &[Hit], parents: &[Hit]) -> Option<u64> {
    if let Some((_, parent)) = parents.iter().find(|(object, _)| *object == pick) {
        return Some(*parent);
    }
    let shared = children
        .iter()
        .any(|(child, _)| parents.iter().any(|(parent, _)| parent == child));
    let first = children.first().is_some_and(|(object, _)| *object == pick);
    if first && !shared {
        parents.first().map(|(_, parent)| *parent)
    } else {
        None
    }
}

/// Stored links, in the order of their records: one link for each object that has all ends; if no object has all ends, one link across objects.
///
/// # Errors
///
/// Malformed link attributes.
pub(crate) fn stored(
    table: &LinkTable,
    cells: &[RecordCell],
    index: &RowIndex,
) -> Result<RecordBatch, QueryError> {
    let mut sink = LinkSink::new(table, 1 << 12);
    let mut ends: Vec<Vec<Hit>> = vec![Vec::new(); table.width];
    for cell in cells {
        let mut rows = Vec::new();
        for (at, keys) in cell.keys.chunks_exact(table.width).enumerate() {
            // Most links of a chunk belong to other objects; the first end is tested first.
            let mut found = keys.iter().zip(&mut ends);
            let all = found.all(|(key, hits)| {
                index.hits(*key, hits);
                !hits.is_empty()
            });
            if !all {
                continue;
            }
            let before = rows.len();
            let objects = ends.first().map_or(&[][..], Vec::as_slice);
            for (object, _) in objects {
                let row_in = |hits: &Vec<Hit>| {
                    hits.iter()
                        .find(|(pick, _)| pick == object)
                        .map(|(_, out)| *out)
                };
                if ends.iter().all(|hits| row_in(hits).is_some()) {
                    sink.push_vertices(ends.iter().filter_map(row_in));
                    rows.push(cell.row(at));
                }
            }
            if rows.len() == before {
                sink.push_vertices(
                    ends.iter()
                        .filter_map(|hits| hits.first().map(|(_, out)| *out)),
                );
                rows.push(cell.row(at));
            }
        }
        sink.push_attributes(cell, &rows)?;
    }
    sink.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_looked_for_in_the_same_object_first() {
        assert_eq!(parent_of(1, &[(0, 5), (1, 9)], &[(1, 7)]), Some(7));
        assert_eq!(parent_of(0, &[(0, 5), (1, 9)], &[(1, 7)]), None);
        assert_eq!(parent_of(0, &[(0, 5)], &[(1, 7), (2, 8)]), Some(7));
        assert_eq!(parent_of(1, &[(0, 5), (1, 6)], &[(2, 8)]), None);
        assert_eq!(parent_of(0, &[(0, 5)], &[]), None);
    }
}

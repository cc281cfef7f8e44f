//! Skeletons: the parent of a row is the previous row in its fragment, unless a stored record names another one (`zvf-0.9`, section 14.3).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::records::{Family, RecordCell};
use super::table::{LinkSink, LinkTable};
use crate::QueryError;
use crate::error::{OrBug, Place};
use crate::fragments::Fragments;
use crate::plan::chunks::Slot;
use crate::row_map::{Key, RowMap};
use zvf_store::format::int;

/// Stored parents, by child.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    cells: Vec<RecordCell>,
    /// Sorted by child, each child once.
    records: Vec<StoredParent>,
}

/// One stored record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredParent {
    pub(crate) child: Key,
    /// [`Key::OUTSIDE`] if it is in a chunk that is not part of the query.
    pub(crate) parent: Key,
    cell: usize,
    row: u32,
}

impl Parents {
    /// Sorts the records of a family. If a child has several records, the last one counts.
    ///
    /// Records of `directed` families, which streamed skeletons have, go from parent to child if they cross
    /// chunks (trap T5).
    ///
    /// # Errors
    ///
    /// Malformed: a family with records that are not pairs.
    pub(crate) fn new(family: Option<&Family>, cells: Vec<RecordCell>) -> Result<Self, QueryError> {
        let mut records = Vec::new();
        let Some(family) = family else {
            return Ok(Self::default());
        };
        if family.width() != 2 {
            let place = Place::array(family.level, "links/0");
            return Err(QueryError::malformed(
                place,
                format!("link_width is {}, expected 2", family.width()),
            ));
        }
        for (number, cell) in cells.iter().enumerate() {
            let reversed = cell.parent_first;
            for (at, pair) in cell.keys.chunks_exact(2).enumerate() {
                if let [a, b] = pair {
                    let (child, parent) = if reversed { (*b, *a) } else { (*a, *b) };
                    records.push(StoredParent {
                        child,
                        parent,
                        cell: number,
                        row: cell.row(at),
                    });
                }
            }
        }
        records.sort_by_key(|record| record.child);
        // Keeps the last record of each child.
        records.reverse();
        records.dedup_by_key(|record| record.child);
        records.reverse();
        Ok(Self { cells, records })
    }

    /// The records of children in a range of rows of one chunk.
    pub(crate) fn of(&self, slot: Slot, rows: Range<u32>) -> &[StoredParent] {
        let from = self
            .records
            .partition_point(|record| record.child < Key::new(slot, rows.start));
        let until = self
            .records
            .partition_point(|record| record.child < Key::new(slot, rows.end));
        self.records.get(from..until).unwrap_or(&[])
    }

    /// Appends a link with the attributes of its stored record; without a record, the attributes are missing.
    pub(crate) fn push(
        &self,
        sink: &mut LinkSink,
        child: u64,
        parent: u64,
        record: Option<&StoredParent>,
    ) -> Result<(), QueryError> {
        sink.push_vertices([child, parent].into_iter());
        match record {
            Some(record) if sink.has_attributes() => {
                let cell = self.cells.get(record.cell);
                let cell = cell.or_bug("a record of no cell")?;
                sink.push_attributes(cell, &[record.row])
            }
            _ => {
                sink.push_missing(1);
                Ok(())
            }
        }
    }
}

/// The data from which the links of a result in chunk order are made.
#[derive(Debug)]
pub(crate) struct Branches {
    pub(crate) table: LinkTable,
    pub(crate) kept: Arc<RowMap>,
    pub(crate) parents: Parents,
}

impl Branches {
    /// The links of the rows of some chunks, ordered by child.
    ///
    /// # Errors
    ///
    /// Malformed link attributes.
    pub(crate) fn batch(&self, slots: Range<Slot>) -> Result<RecordBatch, QueryError> {
        let mut sink = LinkSink::new(&self.table, 1 << 12);
        for slot in slots {
            let Some(chunk) = self.kept.get(slot) else {
                continue;
            };
            let Some(rows) = chunk.rows else { continue };
            let implied = match &chunk.fragments {
                Some(fragments) => implied_parents(fragments, rows),
                None => vec![NONE; int::index(rows)],
            };
            let mut stored = self.parents.of(slot, 0..rows).iter().peekable();
            for (global, row) in (chunk.base..).zip(chunk.kept.iter()) {
                while stored.next_if(|record| record.child.row() < row).is_some() {}
                let record = stored.next_if(|record| record.child.row() == row);
                let parent = match record {
                    Some(record) => self.kept.global(record.parent),
                    None => implied
                        .get(int::index(row))
                        .and_then(|parent| chunk.global(*parent)),
                };
                if let Some(parent) = parent {
                    self.parents.push(&mut sink, global, parent, record)?;
                }
            }
        }
        sink.finish()
    }
}

/// Marks a missing parent.
pub(crate) const NONE: u32 = u32::MAX;

/// The previous row of each row, in the lowest fragment that contains it.
pub(crate) fn implied_parents(fragments: &Fragments, rows: u32) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX - 1;
    let mut parents = vec![UNSEEN; int::index(rows)];
    for (_, rows) in fragments.iter() {
        let mut before = NONE;
        for row in rows.iter() {
            if let Some(parent) = parents
                .get_mut(int::index(row))
                .filter(|parent| **parent == UNSEEN)
            {
                *parent = before;
            }
            before = row;
        }
    }
    parents
        .iter_mut()
        .filter(|parent| **parent == UNSEEN)
        .for_each(|parent| *parent = NONE);
    parents
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_store::format::fragments::FragmentIndexBuilder;

    #[test]
    fn first_rows_have_no_parent() {
        let mut builder = FragmentIndexBuilder::new();
        builder.push_range(0, 3).unwrap();
        builder.push_range(3, 1).unwrap();
        builder.push_rows(&[5, 2, 4]).unwrap();
        let fragments = Fragments::decode(&builder.finish(), 7).unwrap();
        assert_eq!(
            implied_parents(&fragments, 7),
            [NONE, 0, 1, NONE, 2, NONE, NONE]
        );
    }
}

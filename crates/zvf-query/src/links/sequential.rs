//! Lines, polylines, streamlines: consecutive rows of an object are linked (`zvf-0.9`, section 14.2).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::records::RecordCell;
use super::table::{LinkSink, LinkTable};
use crate::QueryError;
use crate::columns::gather::{Kept, Rows};
use crate::object_counts::ObjectCounts;
use crate::plan::chunks::Slot;
use crate::row_map::{ChunkRows, Key, RowMap};

/// The data from which the links of a result in chunk order are made.
#[derive(Debug)]
pub(crate) struct Sequential {
    pub(crate) table: LinkTable,
    pub(crate) kept: Arc<RowMap>,
    /// `None` without an object index; all fragments are used then.
    pub(crate) resolved: Option<Arc<ObjectCounts>>,
    pub(crate) stored: Stored,
}

/// Stored records by their vertices in the result, for link attributes.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    cells: Vec<RecordCell>,
    /// Vertices, number of the cell, row of the cell; sorted, each pair of vertices once.
    records: Vec<((u64, u64), usize, u32)>,
}

impl Stored {
    /// Sorts the records. `links` receives the two endpoints of a record, and appends the links of the result that belong to them, as pairs of rows. If
    /// several records belong to one link, the first is used.
    pub(crate) fn new(
        cells: Vec<RecordCell>,
        mut links: impl FnMut(Key, Key, &mut Vec<(u64, u64)>),
    ) -> Self {
        let mut records = Vec::new();
        let mut pairs = Vec::new();
        for (number, cell) in cells.iter().enumerate() {
            for (at, pair) in cell.keys.chunks_exact(2).enumerate() {
                if let [a, b] = pair {
                    links(*a, *b, &mut pairs);
                    records.extend(pairs.drain(..).map(|pair| (pair, number, cell.row(at))));
                }
            }
        }
        records.sort_by_key(|(pair, _, _)| *pair);
        records.dedup_by_key(|(pair, _, _)| *pair);
        Self { cells, records }
    }

    fn pairs(&self) -> Vec<(u64, u64)> {
        self.records.iter().map(|(pair, _, _)| *pair).collect()
    }

    /// Appends a link with its attributes; they are missing if no record is stored.
    pub(crate) fn push(&self, sink: &mut LinkSink, a: u64, b: u64) -> Result<(), QueryError> {
        sink.push_vertices([a, b].into_iter());
        let found = self
            .records
            .binary_search_by_key(&(a, b), |(pair, _, _)| *pair)
            .ok();
        match found.and_then(|at| self.records.get(at)) {
            Some((_, cell, row)) if sink.has_attributes() => match self.cells.get(*cell) {
                Some(cell) => sink.push_attributes(cell, &[*row]),
                None => Ok(()),
            },
            _ => {
                sink.push_missing(1);
                Ok(())
            }
        }
    }
}

impl Sequential {
    /// The links that start in some chunks, sorted.
    ///
    /// # Errors
    ///
    /// Malformed link attributes.
    pub(crate) fn batch(&self, slots: Range<Slot>) -> Result<RecordBatch, QueryError> {
        let own = self.stored_pairs();
        let rows = |slot| self.kept.get(slot).map_or(0, |chunk| chunk.kept.len());
        let room = slots.clone().map(rows).sum::<usize>();
        let mut sink = LinkSink::new(&self.table, room.saturating_add(room / 8));
        let (mut inner, mut bridges) = (Vec::new(), Vec::new());
        for slot in slots {
            let Some(chunk) = self.kept.get(slot) else {
                continue;
            };
            match &self.resolved {
                Some(resolved) => resolved.bridges.of(slot, &self.kept, &mut bridges),
                None => {
                    let end = chunk.base + zvf_store::format::int::wide(chunk.kept.len());
                    let from = own.partition_point(|(a, _)| *a < chunk.base);
                    let until = own.partition_point(|(a, _)| *a < end);
                    bridges.clear();
                    bridges.extend_from_slice(own.get(from..until).unwrap_or(&[]));
                }
            }
            let rising = chunk
                .fragments
                .as_ref()
                .is_some_and(|fragments| fragments.disjoint());
            // Stored records may start at any row, links from manifests only at the last row of a fragment.
            if rising && self.resolved.is_some() && !sink.has_attributes() {
                self.rising(slot, chunk, &bridges, &mut sink);
                continue;
            }
            inner.clear();
            self.inside(slot, chunk, &mut inner);
            merge(&inner, &bridges, |a, b| {
                if sink.has_attributes() {
                    return self.stored.push(&mut sink, a, b);
                }
                sink.push_pair(a, b);
                Ok(())
            })?;
        }
        sink.finish()
    }

    /// The links of a chunk whose fragments are rising ranges: for each fragment, its own links, then the links that start at its last row. This
    /// order is sorted.
    fn rising(&self, slot: Slot, chunk: &ChunkRows, bridges: &[(u64, u64)], sink: &mut LinkSink) {
        let Some(fragments) = &chunk.fragments else {
            return;
        };
        let used = self
            .resolved
            .as_ref()
            .map(|resolved| resolved.used.of(slot));
        let mut bridges = bridges.iter().copied().peekable();
        let mut ranks = Vec::new();
        for (fragment, rows) in fragments.iter() {
            let at = zvf_store::format::int::index(fragment);
            if used.is_some_and(|used| used.get(at).is_none_or(|mark| *mark == 0)) {
                continue;
            }
            let end = match (rows, &chunk.kept) {
                (Rows::Range { count: 0, .. }, _) => continue,
                (Rows::Range { start, count }, Kept::All(_)) => {
                    let first = chunk.base + u64::from(start);
                    let last = first + u64::from(count) - 1;
                    sink.push_run(first, last);
                    last
                }
                _ => {
                    ranks.clear();
                    pairs(rows, chunk, &mut ranks);
                    ranks.iter().for_each(|(a, b)| sink.push_pair(*a, *b));
                    match rows.ends().and_then(|(_, last)| chunk.global(last)) {
                        Some(last) => last,
                        None => continue,
                    }
                }
            };
            while let Some((a, b)) = bridges.next_if(|(a, _)| *a <= end) {
                sink.push_pair(a, b);
            }
        }
    }

    /// The links between fragments without an object index: only stored records.
    fn stored_pairs(&self) -> Vec<(u64, u64)> {
        if self.resolved.is_some() {
            Vec::new()
        } else {
            self.stored.pairs()
        }
    }

    /// Links inside the fragments of one chunk, sorted, each once.
    fn inside(&self, slot: Slot, chunk: &ChunkRows, out: &mut Vec<(u64, u64)>) {
        let Some(fragments) = &chunk.fragments else {
            return;
        };
        let used = self
            .resolved
            .as_ref()
            .map(|resolved| resolved.used.of(slot));
        for (fragment, rows) in fragments.iter() {
            let used = used.is_none_or(|used| {
                used.get(zvf_store::format::int::index(fragment))
                    .is_some_and(|mark| *mark > 0)
            });
            if used {
                pairs(rows, chunk, out);
            }
        }
        if !fragments.disjoint() {
            out.retain(|(a, b)| a != b);
            out.sort_unstable();
            out.dedup();
        }
    }
}

/// Consecutive kept rows of one fragment.
fn pairs(rows: Rows<'_>, chunk: &ChunkRows, out: &mut Vec<(u64, u64)>) {
    match (rows, &chunk.kept) {
        (Rows::Range { start, count }, Kept::All(_)) => {
            let first = chunk.base + u64::from(start);
            let last = first + u64::from(count.saturating_sub(1));
            out.extend((first..last).map(|row| (row, row + 1)));
        }
        (Rows::Range { start, count }, Kept::Rows(kept)) => {
            let from = kept.partition_point(|row| *row < start);
            let until = kept.partition_point(|row| *row < start.saturating_add(count));
            let inside = kept.get(from..until).unwrap_or(&[]);
            for (rank, pair) in
                (chunk.base + zvf_store::format::int::wide(from)..).zip(inside.windows(2))
            {
                if matches!(pair, [a, b] if *b == a + 1) {
                    out.push((rank, rank + 1));
                }
            }
        }
        (Rows::List(list), _) => {
            for pair in list.windows(2) {
                if let [a, b] = pair
                    && let (Some(a), Some(b)) = (chunk.global(*a), chunk.global(*b))
                {
                    out.push((a, b));
                }
            }
        }
    }
}

/// Merges two sorted lists; equal pairs are visited once.
fn merge(
    left: &[(u64, u64)],
    right: &[(u64, u64)],
    mut each: impl FnMut(u64, u64) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let mut left = left.iter().copied();
    let mut waiting = left.next();
    for &(a, b) in right {
        while let Some(pair) = waiting.filter(|pair| *pair < (a, b)) {
            each(pair.0, pair.1)?;
            waiting = left.next();
        }
        if waiting == Some((a, b)) {
            waiting = left.next();
        }
        each(a, b)?;
    }
    for (a, b) in waiting.into_iter().chain(left) {
        each(a, b)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragments::Fragments;
    use zvf_store::format::fragments::FragmentIndexBuilder;

    fn chunk(kept: Kept, build: impl FnOnce(&mut FragmentIndexBuilder)) -> ChunkRows {
        let mut builder = FragmentIndexBuilder::new();
        build(&mut builder);
        let fragments = Arc::new(Fragments::decode(&builder.finish(), 10).unwrap());
        ChunkRows {
            base: 100,
            rows: Some(10),
            kept,
            fragments: Some(fragments),
        }
    }

    fn links(chunk: &ChunkRows) -> Vec<(u64, u64)> {
        let state = Sequential {
            table: LinkTable::new(None, std::collections::HashMap::default()).unwrap(),
            kept: Arc::new(RowMap::default()),
            resolved: None,
            stored: Stored::default(),
        };
        let mut out = Vec::new();
        state.inside(0, chunk, &mut out);
        out
    }

    #[test]
    fn kept_neighbours_are_linked() {
        let ranges = |builder: &mut FragmentIndexBuilder| {
            builder.push_range(0, 3).unwrap();
            builder.push_range(3, 1).unwrap();
            builder.push_range(4, 6).unwrap();
        };
        let all = links(&chunk(Kept::All(10), ranges));
        assert_eq!(
            all,
            [
                (100, 101),
                (101, 102),
                (104, 105),
                (105, 106),
                (106, 107),
                (107, 108),
                (108, 109)
            ]
        );
        let some = links(&chunk(Kept::Rows(vec![1, 2, 3, 4, 5, 7, 9]), ranges));
        assert_eq!(some, [(100, 101), (103, 104)]);
    }

    #[test]
    fn lists_and_overlaps_give_each_link_once() {
        let lists = |builder: &mut FragmentIndexBuilder| {
            builder.push_rows(&[5, 2, 2, 3]).unwrap();
            builder.push_range(2, 3).unwrap();
        };
        assert_eq!(
            links(&chunk(Kept::All(10), lists)),
            [(102, 103), (103, 104), (105, 102)]
        );
    }

    #[test]
    fn merging_keeps_order_and_drops_repeats() {
        let mut out = Vec::new();
        merge(
            &[(0, 1), (2, 3), (5, 6)],
            &[(1, 9), (2, 3), (7, 0)],
            |a, b| {
                out.push((a, b));
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(out, [(0, 1), (1, 9), (2, 3), (5, 6), (7, 0)]);
    }
}

//! Checks the records of one cell: endpoints, placement, copies, and the rules of the kind of geometry.

use zvf_format::links::lehmer::MAX_WIDTH;
use zvf_meta::{Kind, LinkStore};
use zvf_store::{ChunkCoord, Endpoint, LinkCell};

use super::{FamilySums, LinkCheckInput};
use crate::chains::{has_rows, hash, step};
use crate::check::Check;
use crate::finding::Findings;
use zvf_format::int::wide;

/// A cell of records.
pub(super) struct LinkRecordCell<'c> {
    key: &'c [i64],
    /// The chunk of each stored endpoint.
    chunks: Vec<&'c [i64]>,
    /// The indexes of these chunks in the level of the first endpoint.
    here: Vec<Option<usize>>,
    /// The indexes of these chunks in the level of the other endpoints.
    there: Vec<Option<usize>>,
    /// Whether the records are copies of the records of another cell.
    copy: bool,
}

impl<'c> LinkRecordCell<'c> {
    fn chunk(&self, end: &Endpoint) -> &'c [i64] {
        self.chunks.get(end.which).copied().unwrap_or_default()
    }

    /// The index of the chunk of an endpoint, from one of the two lists.
    fn slot(end: &Endpoint, slots: &[Option<usize>]) -> Option<usize> {
        slots.get(end.which).copied().flatten()
    }
}

impl LinkCheckInput<'_> {
    /// The cell at `key` with endpoints in the chunks `ends`.
    pub(super) fn record_cell<'c>(
        &self,
        key: &'c [i64],
        ends: &'c [i64],
        copy: bool,
    ) -> LinkRecordCell<'c> {
        let rank = self.array.chunk_rank().max(1);
        let chunks: Vec<&[i64]> = ends.chunks_exact(rank).collect();
        let here: Vec<Option<usize>> = chunks.iter().map(|one| self.state.slot(one)).collect();
        let there = match (self.family.delta(), self.target) {
            (0, _) => here.clone(),
            (_, Some(target)) => chunks.iter().map(|one| target.slot(one)).collect(),
            (_, None) => Vec::new(),
        };
        LinkRecordCell {
            key,
            chunks,
            here,
            there,
            copy,
        }
    }

    /// Checks every record of a cell.
    pub(super) fn records(
        &self,
        cell: &LinkRecordCell<'_>,
        records: &LinkCell<'_>,
        sums: &mut FamilySums,
        findings: &mut Findings,
    ) {
        let mut distinct = cell.chunks.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let duplicates = self.family.store() == LinkStore::Duplicate && self.family.delta() == 0;
        let canonical = self.family.delta() == 0
            && !duplicates
            && !self.family.directed()
            && self.array.has_perm();
        let mut out = [Endpoint::default(); MAX_WIDTH];
        let Some(out) = out.get_mut(..self.array.width()) else {
            return;
        };
        let mut stranger = false;
        for number in 0..records.len() {
            if !records.record(number, out) {
                continue;
            }
            let known = self.are_known(cell, number, out, &mut stranger, findings);
            if canonical && !in_order(out, &cell.chunks) {
                let place = self.place(cell.key).row(wide(number));
                let expected =
                    "endpoints in the order of chunk and row, and the permutation of this order";
                findings.add(Check::LinkPlacement, place, "another order", expected);
            }
            if duplicates {
                let ends: Vec<(&[i64], i64)> =
                    out.iter().map(|end| (cell.chunk(end), end.row)).collect();
                let hash = hash(&ends);
                sums.copies = if cell.copy {
                    sums.copies.wrapping_sub(hash)
                } else {
                    let more = wide(distinct.len()).saturating_sub(1);
                    sums.copies.wrapping_add(hash.wrapping_mul(more))
                };
            }
            if known && !cell.copy {
                self.meaning(cell, number, out, sums, findings);
            } else if !known {
                sums.damaged |= self.family.rows_trusted();
            }
        }
    }

    /// Whether the endpoints of a record are existing rows. Only the first missing chunk of a cell is reported; `stranger` is set when it is.
    fn are_known(
        &self,
        cell: &LinkRecordCell<'_>,
        number: usize,
        ends: &[Endpoint],
        stranger: &mut bool,
        findings: &mut Findings,
    ) -> bool {
        let place = || self.place(cell.key).row(wide(number));
        let mut known = true;
        for (original, end) in ends.iter().enumerate() {
            let (level, slots) = if original == 0 || self.family.delta() == 0 {
                (Some(self.state), &cell.here)
            } else {
                (self.target, &cell.there)
            };
            let Some(level) = level else {
                known = false;
                continue;
            };
            let Some(slot) = LinkRecordCell::slot(end, slots) else {
                known = false;
                if !*stranger && (level.whole || original == 0) {
                    *stranger = true;
                    let chunk = ChunkCoord::new(cell.chunk(end));
                    let found = format!("an endpoint in chunk {chunk}");
                    let expected = format!("a chunk of level {} with vertices", level.number());
                    findings.add(Check::LinkChunk, place(), found, expected);
                }
                continue;
            };
            let Some(rows) = level.rows_of(slot) else {
                known = false;
                continue;
            };
            let fits = u32::try_from(end.row).is_ok_and(|row| row < rows);
            if !fits && self.family.rows_trusted() {
                let chunk = ChunkCoord::new(cell.chunk(end));
                let found = format!("row {} of chunk {chunk}", end.row);
                let expected = format!("a row below {rows}");
                findings.add(Check::LinkRow, place(), found, expected);
            }
            known &= fits;
        }
        known
    }

    /// Checks a record with existing endpoints against the rules of its kind of geometry, and adds it to the sums.
    fn meaning(
        &self,
        cell: &LinkRecordCell<'_>,
        number: usize,
        ends: &[Endpoint],
        sums: &mut FamilySums,
        findings: &mut Findings,
    ) {
        let here = |end: &Endpoint| LinkRecordCell::slot(end, &cell.here);
        let row = |end: &Endpoint| u32::try_from(end.row).unwrap_or(u32::MAX);
        let at = |end: &Endpoint| -> Option<u64> {
            let base = self.bases.get(here(end)?)?;
            base.checked_add(u64::from(row(end)))
        };
        if self.family.delta() != 0 {
            if let [first, second] = ends
                && let Some((a, b)) = here(first).zip(LinkRecordCell::slot(second, &cell.there))
            {
                let (mine, other) = ((a, row(first)), (b, row(second)));
                let (fine, coarse) = if self.family.delta() > 0 {
                    (mine, other)
                } else {
                    (other, mine)
                };
                sums.between.add(step(fine, coarse));
                if self.coverage {
                    sums.sources.extend(at(first));
                }
            }
            return;
        }
        let same = |a: &Endpoint, b: &Endpoint| {
            a.which == b.which && a.row == b.row || (here(a), a.row) == (here(b), b.row)
        };
        if let [first, second] = ends
            && let Some((a, b)) = here(first).zip(here(second))
        {
            if a != b {
                let trusted = has_rows(self.kind);
                let row = |end: &Endpoint| if trusted { row(end) } else { 0 };
                sums.steps.add(step((a, row(first)), (b, row(second))));
            }
            if self.tree {
                sums.pairs.extend(at(first).zip(at(second)));
            }
            if self.deep && self.kind == Kind::Graph && same(first, second) {
                let place = self.place(cell.key).row(wide(number));
                findings.add(
                    Check::SelfLoop,
                    place,
                    "an edge from a vertex to itself",
                    "two vertices",
                );
            }
        }
        if self.deep && self.kind == Kind::Mesh {
            let mut pairs = ends.iter().enumerate().flat_map(|(i, a)| {
                ends.iter()
                    .enumerate()
                    .skip(i + 1)
                    .map(move |(j, b)| (i, a, j, b))
            });
            let last = ends.len().saturating_sub(1);
            let degenerate = pairs.any(|(i, a, j, b)| {
                // In a mesh of quads, a triangle repeats its last corner.
                same(a, b) && !(ends.len() > 3 && j == last && i + 1 == last)
            });
            if degenerate {
                let place = self.place(cell.key).row(wide(number));
                findings.add(
                    Check::FaceDegenerate,
                    place,
                    "a corner twice",
                    "corners that differ",
                );
            }
        }
    }
}

/// Whether stored endpoints are in canonical order: by chunk, row, and position in the record of the application.
fn in_order(out: &[Endpoint], chunks: &[&[i64]]) -> bool {
    let mut stored: Vec<Option<(&[i64], i64, usize)>> = vec![None; out.len()];
    for (original, end) in out.iter().enumerate() {
        if let (Some(place), Some(chunk)) = (stored.get_mut(end.which), chunks.get(end.which)) {
            *place = Some((chunk, end.row, original));
        }
    }
    stored.is_sorted()
}

//! The records of one cell: endpoints, placement, copies; and what a kind of geometry asks of each.

use zvf_format::links::lehmer::MAX_WIDTH;
use zvf_meta::{Kind, LinkStore};
use zvf_store::{ChunkCoord, Endpoint, LinkCell};

use super::{Plan, Sums};
use crate::chains::{has_rows, hash, step};
use crate::check::Check;
use crate::finding::Findings;
use zvf_format::int::wide;

impl Plan<'_> {
    /// Looks at every record of a cell.
    pub(super) fn records(
        &self,
        key: &[i64],
        records: &LinkCell<'_>,
        ends: &[i64],
        copy: bool,
        sums: &mut Sums,
        findings: &mut Findings,
    ) {
        let width = self.array.width();
        let rank = self.array.chunk_rank().max(1);
        let chunks: Vec<&[i64]> = ends.chunks_exact(rank).collect();
        let here: Vec<Option<usize>> = chunks.iter().map(|one| self.state.slot(one)).collect();
        let there: Vec<Option<usize>> = match (self.family.delta(), self.target) {
            (0, _) => here.clone(),
            (_, Some(target)) => chunks.iter().map(|one| target.slot(one)).collect(),
            (_, None) => Vec::new(),
        };
        let mut distinct = chunks.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let duplicates = self.family.store() == LinkStore::Duplicate && self.family.delta() == 0;
        let canonical = self.family.delta() == 0
            && !duplicates
            && !self.family.directed()
            && self.array.has_perm();
        let trusted = self.family.rows_trusted();
        let mut out = [Endpoint::default(); MAX_WIDTH];
        let Some(out) = out.get_mut(..width) else {
            return;
        };
        let mut stranger = false;
        for number in 0..records.len() {
            if !records.record(number, out) {
                continue;
            }
            let mut known = true;
            for (original, end) in out.iter().enumerate() {
                let (level, slots) = if original == 0 || self.family.delta() == 0 {
                    (Some(self.state), &here)
                } else {
                    (self.target, &there)
                };
                let Some(level) = level else {
                    known = false;
                    continue;
                };
                let Some(Some(slot)) = slots.get(end.which).copied() else {
                    known = false;
                    if !stranger && (level.whole || original == 0) {
                        stranger = true;
                        let chunk = chunks.get(end.which).copied().unwrap_or(&[]);
                        let found = format!("an endpoint in chunk {}", ChunkCoord::new(chunk));
                        let place = self.place(key).row(wide(number));
                        findings.add(
                            Check::LinkChunk,
                            place,
                            found,
                            format!("a chunk of level {} with vertices", level.number()),
                        );
                    }
                    continue;
                };
                let Some(rows) = level.rows_of(slot) else {
                    known = false;
                    continue;
                };
                let fits = u32::try_from(end.row).is_ok_and(|row| row < rows);
                if !fits && trusted {
                    known = false;
                    let chunk = chunks.get(end.which).copied().unwrap_or(&[]);
                    let found = format!("row {} of chunk {}", end.row, ChunkCoord::new(chunk));
                    let place = self.place(key).row(wide(number));
                    findings.add(Check::LinkRow, place, found, format!("a row below {rows}"));
                }
                known &= fits;
            }
            if canonical && !in_order(out, &chunks) {
                let place = self.place(key).row(wide(number));
                let expected =
                    "endpoints in the order of chunk and row, and the permutation that says so";
                findings.add(Check::LinkPlacement, place, "another order", expected);
            }
            if duplicates {
                let ends: Vec<(&[i64], i64)> = out
                    .iter()
                    .map(|end| (chunks.get(end.which).copied().unwrap_or(&[]), end.row))
                    .collect();
                let hash = hash(&ends);
                sums.copies = if copy {
                    sums.copies.wrapping_sub(hash)
                } else {
                    let more = wide(distinct.len()).saturating_sub(1);
                    sums.copies.wrapping_add(hash.wrapping_mul(more))
                };
            }
            if known && !copy {
                self.meaning(key, number, out, &here, &there, sums, findings);
            } else if !known {
                sums.damaged |= trusted;
            }
        }
    }

    /// What a record whose endpoints are known says.
    #[expect(clippy::too_many_arguments, reason = "one record in its cell")]
    fn meaning(
        &self,
        key: &[i64],
        number: usize,
        ends: &[Endpoint],
        here: &[Option<usize>],
        there: &[Option<usize>],
        sums: &mut Sums,
        findings: &mut Findings,
    ) {
        let slot =
            |end: &Endpoint, slots: &[Option<usize>]| slots.get(end.which).copied().flatten();
        let row = |end: &Endpoint| u32::try_from(end.row).unwrap_or(u32::MAX);
        let at = |end: &Endpoint| -> Option<u64> {
            let base = self.bases.get(slot(end, here)?)?;
            base.checked_add(u64::from(row(end)))
        };
        if self.family.delta() != 0 {
            if let [first, second] = ends
                && let Some((a, b)) = slot(first, here).zip(slot(second, there))
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
            a.which == b.which && a.row == b.row || (slot(a, here), a.row) == (slot(b, here), b.row)
        };
        if let [first, second] = ends
            && let Some((a, b)) = slot(first, here).zip(slot(second, here))
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
                let place = self.place(key).row(wide(number));
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
                // A triangle among quads has its last corner twice.
                same(a, b) && !(ends.len() > 3 && j == last && i + 1 == last)
            });
            if degenerate {
                let place = self.place(key).row(wide(number));
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

/// Whether stored endpoints are in canonical order: by chunk, row, and place in the record of the application.
fn in_order(out: &[Endpoint], chunks: &[&[i64]]) -> bool {
    let mut stored: Vec<Option<(&[i64], i64, usize)>> = vec![None; out.len()];
    for (original, end) in out.iter().enumerate() {
        if let (Some(place), Some(chunk)) = (stored.get_mut(end.which), chunks.get(end.which)) {
            *place = Some((chunk, end.row, original));
        }
    }
    stored.is_sorted()
}

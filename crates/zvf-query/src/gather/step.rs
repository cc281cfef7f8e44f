//! Gathers the rows of a batch of manifest entries, on a worker thread.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::joint::retain;
use crate::QueryError;
use crate::columns::gather::{Kept, Rows};
use crate::error::{OrBug, Place};
use crate::manifests::{Entries, Entry};
use crate::object_counts::no_fragment;
use crate::plan::chunks::Slot;
use crate::reader::{Decoded, Reader};
use crate::vertex_table::{Gathered, TablePlan};
use zvf_store::format::int;

/// Number of pieces after which a step ends.
pub(super) const MOST_PIECES: usize = 1 << 18;

/// The rows of one fragment of one object in the answer.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Number of the object within the answer.
    pub(crate) pick: u32,
    pub(crate) slot: Slot,
    pub(crate) fragment: u32,
    /// Row of the answer for the first kept row; set when the piece is placed.
    pub(crate) out: u64,
    /// Kept rows.
    pub(crate) taken: u32,
    /// The kept positions of the fragment; `None`: all.
    pub(crate) positions: Option<Box<[u32]>>,
    /// Whether the first kept row directly follows the last kept row of the previous piece in the object.
    pub(crate) joined: bool,
    /// Whether the first and the last row of the fragment are kept; `None` for an empty fragment.
    pub(crate) ends: Option<(bool, bool)>,
}

/// The position at which a batch continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) entry: usize,
    pub(crate) fragment: u32,
}

/// The result of a step of gathering.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) gathered: Gathered,
    pub(crate) pieces: Vec<Piece>,
    /// Where the next step continues, if this one reached the limit of rows or pieces before the end of the batch.
    pub(crate) rest: Option<Cursor>,
    pub(crate) misplaced: Option<Slot>,
}

impl Step {
    /// A step without rows.
    pub(super) fn empty(plan: &GatherPlan) -> Self {
        Self {
            gathered: Gathered::with_capacity(&plan.table, &plan.reader, 0),
            pieces: Vec::new(),
            rest: None,
            misplaced: None,
        }
    }
}

/// The data that the steps of a query share.
#[derive(Debug)]
pub(crate) struct GatherPlan {
    pub(crate) reader: Arc<Reader>,
    pub(crate) table: TablePlan,
    pub(crate) entries: Entries,
    /// The first entry of each object, and the end.
    pub(crate) starts: Vec<usize>,
    pub(crate) ids: Vec<i64>,
    /// Number of rows after which a step ends.
    pub(crate) most_rows: usize,
}

impl GatherPlan {
    /// The entries of a range, with their numbers and the numbers of their objects.
    pub(super) fn entries(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Entry, u32)> {
        let mut pick = 0;
        let entries = range.clone().zip(self.entries.iter(range.start));
        entries.map(move |(at, entry)| {
            pick = self.pick(at, pick);
            (at, entry, pick)
        })
    }

    /// The index of the object of an entry. The search begins at `before`, the object of an earlier entry, or 0.
    fn pick(&self, entry: usize, before: u32) -> u32 {
        // Most objects have a few entries, so that the next entry belongs to one of the next objects. A short linear search reads memory in
        // order; a binary search would miss the cache.
        const NEAR: usize = 16;
        let rest = self.starts.get(int::index(before).saturating_add(1)..);
        let rest = rest.unwrap_or(&[]);
        let near = rest.iter().take(NEAR).take_while(|start| **start <= entry);
        let more = match near.count() {
            NEAR => rest.partition_point(|start| *start <= entry),
            more => more,
        };
        before.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
    }

    /// The id of the object of an entry, for errors.
    fn id_of(&self, entry: usize) -> Option<i64> {
        self.ids.get(int::index(self.pick(entry, 0))).copied()
    }

    /// Gathers from `from` to the entry `end`, or until the limit of rows or pieces is reached.
    ///
    /// # Errors
    ///
    /// Malformed: a manifest that names a chunk or fragment that does not exist.
    pub(crate) fn step(
        &self,
        from: Cursor,
        end: usize,
        chunks: &HashMap<Slot, Arc<Decoded>>,
    ) -> Result<Step, QueryError> {
        let mut step = Step {
            misplaced: chunks
                .values()
                .filter(|chunk| !chunk.in_place)
                .map(|chunk| chunk.slot)
                .min(),
            ..Step::empty(self)
        };
        let mut rows = Vec::new();
        for (at, entry, pick) in self.entries(from.entry..end) {
            let first = if at == from.entry { from.fragment } else { 0 };
            if entry.slot == Entry::GAP {
                step.pieces.push(gap(pick));
                continue;
            }
            let chunk = chunks
                .get(&entry.slot)
                .or_bug(format_args!("the chunk of entry {at} was not read"))?;
            if chunk.absent {
                self.check_listed(chunk, at)?;
                step.pieces.push(gap(pick));
                continue;
            }
            for (number, fragment) in (0_u32..).zip(entry.fragments()) {
                if number < first {
                    continue;
                }
                if step.gathered.rows >= self.most_rows || step.pieces.len() >= MOST_PIECES {
                    step.rest = Some(Cursor {
                        entry: at,
                        fragment: number,
                    });
                    return Ok(step);
                }
                let piece = self.piece(chunk, at, fragment, &mut rows, &mut step.gathered)?;
                step.pieces.push(Piece { pick, ..piece });
            }
        }
        Ok(step)
    }

    /// Gathers one fragment of an entry. Sets `pick` to 0, because only some callers need the number of the object: searching for it in millions of
    /// unordered entries took a tenth of the time of a full read by object.
    pub(super) fn piece(
        &self,
        chunk: &Decoded,
        entry: usize,
        fragment: u32,
        rows: &mut Vec<u32>,
        gathered: &mut Gathered,
    ) -> Result<Piece, QueryError> {
        let count = chunk
            .fragments
            .as_ref()
            .map_or(0, |fragments| fragments.len());
        let Some(found) = chunk
            .fragments
            .as_ref()
            .and_then(|fragments| fragments.get(fragment))
        else {
            let id = self.id_of(entry);
            return Err(no_fragment(&self.reader, chunk.slot, fragment, count, id));
        };
        let length = found.len();
        let mut positions = None;
        match (&chunk.kept, &self.reader.joint) {
            (Kept::All(_), None) => {
                gathered.push(&self.table, &self.reader, chunk, found, Some(fragment))?;
            }
            (some, joint) => {
                let mut kept = Vec::new();
                rows.clear();
                for (position, row) in (0_u32..).zip(found.iter()) {
                    if some.rank(row).is_some() {
                        kept.push(position);
                        rows.push(row);
                    }
                }
                if let Some(joint) = joint {
                    let id = self.id_of(entry).or_bug("an entry of no object")?;
                    retain(joint, (&self.reader, chunk), id, rows, &mut kept)?;
                }
                gathered.push(
                    &self.table,
                    &self.reader,
                    chunk,
                    Rows::List(rows),
                    Some(fragment),
                )?;
                if kept.len() < length {
                    positions = Some(kept.into_boxed_slice());
                }
            }
        }
        let length = u32::try_from(length)
            .ok()
            .or_bug("a fragment of more rows than a chunk")?;
        let ends = length.checked_sub(1).map(|last| match &positions {
            None => (true, true),
            Some(kept) => (kept.first() == Some(&0), kept.last() == Some(&last)),
        });
        let taken = match &positions {
            None => length,
            Some(kept) => u32::try_from(kept.len())
                .ok()
                .or_bug("more rows kept than a chunk has")?,
        };
        Ok(Piece {
            pick: 0,
            slot: chunk.slot,
            fragment,
            out: 0,
            taken,
            positions,
            joined: false,
            ends,
        })
    }

    /// Fails for a chunk without vertices that the level does not list.
    pub(crate) fn check_listed(&self, chunk: &Decoded, entry: usize) -> Result<(), QueryError> {
        let coord = self.reader.table.get(chunk.slot);
        if self.reader.level.vertices().presence().contains(coord) {
            return Ok(());
        }
        let place = Place::cell(self.reader.number, "object_index/manifests", coord);
        let place = place.of(self.id_of(entry));
        Err(QueryError::malformed(
            place,
            "the manifest names a chunk that has no vertices",
        ))
    }
}

/// A piece without rows, in place of rows of an object that are not part of the query.
pub(super) fn gap(pick: u32) -> Piece {
    Piece {
        pick,
        slot: Entry::GAP,
        fragment: 0,
        out: 0,
        taken: 0,
        positions: None,
        joined: false,
        ends: Some((false, false)),
    }
}

/// Places pieces in the answer, in order.
#[derive(Debug, Default)]
pub(crate) struct Placer {
    next: u64,
    pick: Option<u32>,
    /// Whether the last row of the object so far is kept.
    open: bool,
}

impl Placer {
    /// Sets the first row of a piece, and whether it joins the previous one.
    pub(crate) fn place(&mut self, piece: &mut Piece) {
        if self.pick != Some(piece.pick) {
            self.pick = Some(piece.pick);
            self.open = false;
        }
        piece.out = self.next;
        self.next += u64::from(piece.taken);
        // An empty fragment does not separate the rows before and after it.
        if let Some((first, last)) = piece.ends {
            piece.joined = self.open && first;
            self.open = last;
        }
    }
}

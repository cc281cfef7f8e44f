//! From the sorted runs of the temporary file to rows in the order of the objects.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::gather::{GatherPlan, MOST_PIECES, Piece, Step, gap};
use super::scatter::{BUCKET, Page, Record, Run};
use crate::error::{OrBug, internal};
use crate::plan::chunks::Slot;
use crate::spool::{Extent, Spool, take_bytes};
use crate::stored_rows::StoredRows;
use crate::vertex_table::Gathered;
use crate::walk::Entry;
use crate::{QueryError, int};

/// Most entries that are put together at one time.
const ENTRIES: usize = 1 << 16;

/// All runs of a pass.
#[derive(Debug)]
pub(crate) struct Assembly {
    plan: Arc<GatherPlan>,
    spool: Arc<Spool>,
    runs: Vec<Vec<Page>>,
    /// Bytes of each bucket of entries.
    sizes: Vec<u64>,
    /// What is read, used again.
    buffer: Mutex<Vec<u8>>,
}

/// Where the pieces of an entry are.
#[derive(Debug, Clone, Copy)]
struct Found {
    page: u32,
    /// Byte of the first record.
    record: u32,
    row: u32,
}

impl Assembly {
    /// No runs yet.
    pub(crate) fn new(plan: Arc<GatherPlan>, spool: Arc<Spool>) -> Self {
        let buckets = plan.entries.len().div_ceil(int::index(BUCKET));
        Self {
            plan,
            spool,
            runs: Vec::new(),
            sizes: vec![0; buckets],
            buffer: Mutex::default(),
        }
    }

    /// Adds a run.
    ///
    /// # Errors
    ///
    /// Bug: entries that the plan does not have.
    pub(crate) fn add(&mut self, run: &mut Run) -> Result<(), QueryError> {
        for (bucket, bytes) in run.sizes.drain(..) {
            let sum = self.sizes.get_mut(int::index(bucket));
            *sum.or_bug("a run has entries that the plan does not have")? += bytes;
        }
        self.runs.push(std::mem::take(&mut run.pages));
        Ok(())
    }

    /// Ranges of entries, from one on, of about so many bytes each.
    pub(crate) fn ranges(&self, from: usize, bytes: u64) -> Vec<Range<usize>> {
        let end = self.plan.entries.len();
        let mut ranges = Vec::new();
        let (mut start, mut sum) = (from, 0_u64);
        for (bucket, size) in self.sizes.iter().enumerate() {
            let first = bucket.saturating_mul(int::index(BUCKET));
            let full = sum > 0 && sum.saturating_add(*size) > bytes;
            if first > start && (full || first - start >= ENTRIES) {
                ranges.push(start..first);
                (start, sum) = (first, 0);
            }
            sum = sum.saturating_add(*size);
        }
        if start < end {
            ranges.push(start..end);
        }
        ranges
    }

    /// The rows and pieces of some entries, in order.
    ///
    /// # Errors
    ///
    /// Malformed: columns of different widths. I/O of the temporary file.
    pub(crate) fn steps(&self, range: Range<usize>) -> Result<Vec<Step>, QueryError> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.clear();
        self.read(&range, &mut buffer)?;
        self.steps_of(range, &buffer)
    }

    fn steps_of(&self, range: Range<usize>, mut rest: &[u8]) -> Result<Vec<Step>, QueryError> {
        let mut pages: Vec<(&[u8], StoredRows<'_>)> = Vec::new();
        while !rest.is_empty() {
            let records = take_bytes(&mut rest)?;
            pages.push((records, StoredRows::read(&mut rest)?));
        }
        let (places, rows, pieces) = places(&pages, &range)?;
        let plan = &self.plan;
        let mut steps = Steps::new(self, &pages, rows, pieces);
        for (at, place) in range.zip(places) {
            let entry = *plan.entries.get(at).or_bug("an entry that is not there")?;
            let pick = *plan.picks.get(at).or_bug("an entry without object")?;
            if entry.slot == Entry::GAP {
                steps.piece(gap(pick))?;
                continue;
            }
            let Some(place) = place else {
                internal!(entry.count == 0, "entry {at} is not in the temporary file");
                continue;
            };
            let (records, _) = pages
                .get(int::index(place.page))
                .or_bug("a page that is not there")?;
            let mut rest = records
                .get(int::index(place.record)..)
                .or_bug("no such record")?;
            let mut row = int::index(place.row);
            while !rest.is_empty() {
                let record = Record::read(&mut rest)?;
                if int::index(record.entry) != at {
                    break;
                }
                if record.absent {
                    steps.absent();
                    steps.piece(gap(pick))?;
                    continue;
                }
                steps.rows(int::index(place.page), row, &record, entry.slot)?;
                steps.piece(piece(&record, pick, entry.slot))?;
                row = row.saturating_add(int::index(record.taken));
            }
        }
        steps.finish()
    }

    /// The pages that have the entries.
    fn read(&self, range: &Range<usize>, buffer: &mut Vec<u8>) -> Result<(), QueryError> {
        for run in &self.runs {
            let from = run.partition_point(|page| int::index(page.last) < range.start);
            let until = run.partition_point(|page| int::index(page.first) < range.end);
            let pages = run.get(from..until).unwrap_or(&[]);
            // Pages that lie behind each other are read together.
            let follows =
                |a: &Page, b: &Page| a.extent.at.checked_add(a.extent.len) == Some(b.extent.at);
            for pages in pages.chunk_by(follows) {
                let at = pages.first().map_or(0, |page| page.extent.at);
                let len = pages.iter().map(|page| page.extent.len).sum();
                self.spool.read(Extent { at, len }, buffer)?;
            }
        }
        Ok(())
    }
}

/// Where each entry is; rows and pieces of all of them.
fn places(
    pages: &[(&[u8], StoredRows<'_>)],
    range: &Range<usize>,
) -> Result<(Vec<Option<Found>>, usize, usize), QueryError> {
    let mut places = vec![None; range.len()];
    let (mut rows, mut pieces) = (0_usize, 0_usize);
    for (page, (records, _)) in (0_u32..).zip(pages) {
        let mut rest = *records;
        let mut row = 0_u32;
        let mut before = None;
        while !rest.is_empty() {
            let record = u32::try_from(records.len().saturating_sub(rest.len()));
            let record = record.ok().or_bug("a page of more than 4 GiB")?;
            let found = Record::read(&mut rest)?;
            if range.contains(&int::index(found.entry)) {
                rows = rows.saturating_add(int::index(found.taken));
                pieces += 1;
            }
            if before != Some(found.entry) {
                before = Some(found.entry);
                let at = int::index(found.entry).checked_sub(range.start);
                if let Some(place) = at.and_then(|at| places.get_mut(at)) {
                    internal!(place.is_none(), "entry {} is there twice", found.entry);
                    *place = Some(Found { page, record, row });
                }
            }
            row = row.saturating_add(found.taken);
        }
    }
    Ok((places, rows, pieces))
}

fn piece(record: &Record<'_>, pick: u32, slot: Slot) -> Piece {
    let positions = record.positions.map(|positions| {
        let (positions, _) = positions.as_chunks::<4>();
        positions
            .iter()
            .map(|one| u32::from_le_bytes(*one))
            .collect()
    });
    Piece {
        pick,
        slot,
        fragment: record.fragment,
        out: 0,
        taken: record.taken,
        positions,
        joined: false,
        ends: record.ends,
    }
}

/// Steps being made.
struct Steps<'a> {
    assembly: &'a Assembly,
    pages: &'a [(&'a [u8], StoredRows<'a>)],
    done: Vec<Step>,
    step: Step,
    /// Rows of one page that are copied with those that follow them; a chunk that has some.
    waiting: (usize, Range<usize>, Slot),
}

impl<'a> Steps<'a> {
    fn new(
        assembly: &'a Assembly,
        pages: &'a [(&'a [u8], StoredRows<'a>)],
        rows: usize,
        pieces: usize,
    ) -> Self {
        let plan = &assembly.plan;
        let mut step = Step::empty(plan);
        step.gathered =
            Gathered::with_capacity(&plan.table, &plan.reader, rows.min(plan.most_rows));
        step.pieces.reserve_exact(pieces.min(MOST_PIECES));
        Self {
            assembly,
            pages,
            done: Vec::new(),
            step,
            waiting: (0, 0..0, 0),
        }
    }

    fn absent(&mut self) {
        self.step.absent += 1;
    }

    fn rows(
        &mut self,
        page: usize,
        row: usize,
        record: &Record<'_>,
        slot: Slot,
    ) -> Result<(), QueryError> {
        let end = row.saturating_add(int::index(record.taken));
        let (before, range, _) = &self.waiting;
        if page == *before && range.end == row && !range.is_empty() {
            self.waiting.1.end = end;
            return Ok(());
        }
        self.copy()?;
        self.waiting = (page, row..end, slot);
        Ok(())
    }

    fn copy(&mut self) -> Result<(), QueryError> {
        let (page, range, slot) = std::mem::replace(&mut self.waiting, (0, 0..0, 0));
        if range.is_empty() {
            return Ok(());
        }
        let (_, rows) = self.pages.get(page).or_bug("a page that is not there")?;
        let reader = &self.assembly.plan.reader;
        rows.push_to(
            range,
            &mut self.step.gathered,
            |column, what| match reader.columns.get(column) {
                Some(spec) => {
                    let place = reader.column_place(spec, reader.table.get(slot));
                    QueryError::malformed(place, what)
                }
                None => QueryError::bug(what),
            },
        )
    }

    fn piece(&mut self, piece: Piece) -> Result<(), QueryError> {
        self.step.pieces.push(piece);
        let rows = self.step.gathered.rows.saturating_add(self.waiting.1.len());
        let plan = &self.assembly.plan;
        if rows >= plan.most_rows || self.step.pieces.len() >= MOST_PIECES {
            self.copy()?;
            let step = std::mem::replace(&mut self.step, Step::empty(plan));
            self.done.push(step);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Step>, QueryError> {
        self.copy()?;
        self.done.push(self.step);
        Ok(self.done)
    }
}

//! Merges the sorted runs of the temporary file to rows in the order of the objects.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::scatter::{BUCKET, Page, Record, Run};
use super::step::{GatherPlan, MOST_PIECES, Piece, Step, gap};
use crate::QueryError;
use crate::error::{OrBug, internal};
use crate::manifests::Entry;
use crate::plan::chunks::Slot;
use crate::spool::{Extent, Spool, take_bytes};
use crate::stored_rows::StoredRows;
use crate::vertex_table::Gathered;
use zvf_store::format::int;

/// Most entries that are merged at a time.
const ENTRIES: usize = 1 << 16;

/// All runs of a pass.
#[derive(Debug)]
pub(crate) struct Assembly {
    plan: Arc<GatherPlan>,
    spool: Arc<Spool>,
    runs: Vec<Vec<Page>>,
    /// Bytes of each bucket of entries.
    sizes: Vec<u64>,
    /// A buffer for reads, reused.
    buffer: Mutex<Vec<u8>>,
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
    /// Bug: entries that are not in the plan.
    pub(crate) fn add(&mut self, run: &mut Run) -> Result<(), QueryError> {
        for (bucket, bytes) in run.sizes.drain(..) {
            let sum = self.sizes.get_mut(int::index(bucket));
            *sum.or_bug("a run has entries that the plan does not have")? += bytes;
        }
        self.runs.push(std::mem::take(&mut run.pages));
        Ok(())
    }

    /// Splits the entries from `from` on into ranges of about `bytes` bytes.
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
        let mut pages: Vec<StoredRows<'_>> = Vec::new();
        // Each record, its page, and its first row in that page. All records of an entry are consecutive records of one page.
        let mut records: Vec<(Record<'_>, usize, usize)> = Vec::new();
        // The first record of each entry.
        let mut firsts: Vec<Option<NonZeroUsize>> = vec![None; range.len()];
        while !rest.is_empty() {
            let mut page = take_bytes(&mut rest)?;
            let mut row = 0_usize;
            while !page.is_empty() {
                let record = Record::read(&mut page)?;
                let number = int::index(record.entry).checked_sub(range.start);
                if let Some(first) = number.and_then(|number| firsts.get_mut(number)) {
                    records.push((record, pages.len(), row));
                    *first = first.or(NonZeroUsize::new(records.len()));
                }
                row = row.saturating_add(int::index(record.taken));
            }
            pages.push(StoredRows::read(&mut rest)?);
        }
        let mut steps = Steps::new(self, &pages, &records);
        let mut used = 0_usize;
        for ((at, entry, pick), first) in self.plan.entries(range).zip(firsts) {
            if entry.slot == Entry::GAP {
                steps.piece(gap(pick))?;
                continue;
            }
            internal!(
                entry.count == 0 || first.is_some(),
                "entry {at} is not in the temporary file"
            );
            let own = first.and_then(|first| records.get(first.get() - 1..));
            let own = own.unwrap_or(&[]).iter();
            for (record, page, row) in own.take_while(|(one, ..)| int::index(one.entry) == at) {
                steps.rows(*page, *row, record, entry.slot)?;
                steps.piece(piece(record, pick, entry.slot))?;
                used = used.saturating_add(1);
            }
        }
        internal!(used == records.len(), "records of an entry in two pages");
        steps.finish()
    }

    /// Reads the pages with the entries.
    fn read(&self, range: &Range<usize>, buffer: &mut Vec<u8>) -> Result<(), QueryError> {
        for run in &self.runs {
            let from = run.partition_point(|page| int::index(page.last) < range.start);
            let until = run.partition_point(|page| int::index(page.first) < range.end);
            let pages = run.get(from..until).unwrap_or(&[]);
            // Consecutive pages are read together.
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

/// Builds steps.
struct Steps<'a> {
    assembly: &'a Assembly,
    pages: &'a [StoredRows<'a>],
    done: Vec<Step>,
    step: Step,
    /// Rows and pieces that are not in `done`.
    rest: (usize, usize),
    /// Consecutive rows of one page that are not copied yet; one of their chunks.
    waiting: (usize, Range<usize>, Slot),
}

impl<'a> Steps<'a> {
    fn new(
        assembly: &'a Assembly,
        pages: &'a [StoredRows<'a>],
        records: &[(Record<'_>, usize, usize)],
    ) -> Self {
        let taken = records.iter().map(|(record, ..)| int::index(record.taken));
        let rest = (taken.fold(0, usize::saturating_add), records.len());
        Self {
            assembly,
            pages,
            done: Vec::new(),
            step: Self::step(&assembly.plan, rest),
            rest,
            waiting: (0, 0..0, 0),
        }
    }

    /// A step without rows, with room for the next ones.
    fn step(plan: &GatherPlan, (rows, pieces): (usize, usize)) -> Step {
        // The last piece of a step may exceed the limit of rows.
        let rows = rows.min(plan.most_rows.saturating_add(plan.most_rows / 16));
        let mut step = Step::empty(plan);
        step.gathered = Gathered::with_capacity(&plan.table, &plan.reader, rows);
        step.pieces.reserve_exact(pieces.min(MOST_PIECES));
        step
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
        let rows = self.pages.get(page).or_bug("a page that is not there")?;
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
            let (rows, pieces) = self.rest;
            let rows = rows.saturating_sub(self.step.gathered.rows);
            self.rest = (rows, pieces.saturating_sub(self.step.pieces.len()));
            let step = std::mem::replace(&mut self.step, Self::step(plan, self.rest));
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

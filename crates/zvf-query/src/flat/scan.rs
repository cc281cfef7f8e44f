//! One pass over the chunks of a query: which chunks, in which groups, and what is asked for beside them.
//!
//! Everything that does not depend on anything else is asked for at once: vertices, fragments, attributes, link
//! cells, manifests, ids, object attributes are one round of requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures::channel::mpsc;
use futures::future::{BoxFuture, FutureExt};
use futures::sink::SinkExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::plan::{Ask, plan_pass, probe};
use super::requests::{GroupOut, Job, Side, jobs, placed, side};
use crate::error::Place;
use crate::links::records::RecordCell;
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader};
use crate::row_map::{ChunkRows, RowMap};
use crate::vertex_table::TablePlan;
use crate::{QueryError, int};

/// Groups of a box that are read before the first row goes out.
const LOOK_AHEAD: usize = 16;

/// A pass under way.
pub(crate) struct Scan {
    pub(crate) reader: Arc<Reader>,
    pub(crate) table: TablePlan,
    pub(crate) side: Side,
    pub(crate) kept: RowMap,
    pub(crate) held: Vec<Decoded>,
    pub(crate) truncated: bool,
    pub(crate) vertices: u64,
    pub(crate) chunks: u64,
    pub(crate) cells: u64,
    pub(crate) warnings: Vec<String>,
    jobs: BoxStream<'static, Result<Job, QueryError>>,
    ready: VecDeque<Box<GroupOut>>,
    ready_links: Option<Vec<RecordCell>>,
    stop: Arc<AtomicBool>,
    remaining: Option<u64>,
    hold: u64,
    keep_fragments: bool,
    missing: Vec<u64>,
    short: Vec<u64>,
    absent: u64,
    round: u32,
}

impl Scan {
    /// Plans a pass and waits for what its first batch needs.
    ///
    /// A cell whose rows lie elsewhere than its key says (trap T12) makes the keys worthless: the pass starts again
    /// over all chunks.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells and manifests; a limit.
    pub(crate) async fn start(p: &Prepared, ask: &Ask) -> Result<Self, QueryError> {
        let (mut scan, placed) = Self::attempt(p, ask, true).await?;
        if placed {
            return Ok(scan);
        }
        if p.query.chunks.is_some() {
            // Other pieces may not see it, and would leave the chunks out.
            let place = Place::array(p.query.level, "vertices");
            let what = "rows lie in other chunks than chunk_shape says: a box cannot be split";
            return Err(QueryError::malformed(place, what));
        }
        let what = "rows lie in other chunks than chunk_shape says: all chunks are read";
        (scan, _) = Self::attempt(p, ask, false).await?;
        scan.warnings
            .push(format!("level {}: {what}", p.query.level));
        Ok(scan)
    }

    async fn attempt(p: &Prepared, ask: &Ask, prune: bool) -> Result<(Self, bool), QueryError> {
        let pass = plan_pass(p, ask, prune)?;
        let (prune, scope, probe) = (pass.pruned, pass.scope.clone(), probe(p, &pass));
        let reader = Arc::clone(&pass.vertices.reader);
        let stop = Arc::new(AtomicBool::new(false));
        let mut jobs = jobs(p, pass, &stop);
        let side = side(p, ask, &reader, scope);
        let placed = placed(p, &reader, probe);
        let (first, side, placed) = futures::join!(jobs.next(), side, placed);
        let first = first.transpose()?;
        let placed = placed?;
        let mut scan = Self {
            kept: RowMap::new(reader.table.len()),
            missing: vec![0; reader.columns.len()],
            short: vec![0; reader.columns.len()],
            table: ask.table.clone(),
            reader,
            side: side?,
            held: Vec::new(),
            truncated: false,
            vertices: 0,
            chunks: 0,
            cells: 0,
            warnings: Vec::new(),
            jobs,
            ready: VecDeque::new(),
            ready_links: None,
            stop,
            remaining: ask.limit,
            hold: ask.hold,
            keep_fragments: ask.keep_fragments,
            absent: 0,
            round: p.round,
        };
        let mut next = first;
        while let Some(job) = next.take() {
            match job {
                Job::Vertices(group) => {
                    if group.misplaced.is_some() {
                        return Ok((scan, false));
                    }
                    scan.ready.push_back(group);
                }
                Job::Links(cells, count) => scan.take_links(cells, count),
            }
            // A few groups are looked at before anything goes out, so that the pass can still start again.
            let look = prune && ask.limit.is_none() && scan.ready.len() < LOOK_AHEAD;
            if look && scan.ready_links.is_none() {
                next = scan.jobs.try_next().await?;
            }
        }
        Ok((scan, placed))
    }

    /// Sets how many rows are wanted at most, before the first of them is taken.
    pub(crate) fn limit(&mut self, rows: u64) {
        self.remaining = Some(rows);
    }

    /// Reads groups until the width of every wanted attribute is known, or until nothing can tell it. Returns the
    /// widths.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub(crate) async fn widths(&mut self) -> Result<Vec<Option<usize>>, QueryError> {
        let mut widths = vec![None; self.reader.columns.len()];
        for group in &self.ready {
            group.gathered.widths(&mut widths);
        }
        let reader = Arc::clone(&self.reader);
        let table = self.table.clone();
        let open = |widths: &[Option<usize>]| {
            reader
                .columns
                .iter()
                .zip(widths)
                .enumerate()
                .any(|(index, (column, width))| {
                    width.is_none()
                        && column.declared.is_none()
                        && table.has(crate::vertex_table::Out::Attribute(index))
                        && reader.has_cells(column)
                })
        };
        while open(&widths) && self.ready_links.is_none() {
            let Some(job) = self.jobs.try_next().await? else {
                break;
            };
            match job {
                Job::Vertices(group) => {
                    group.gathered.widths(&mut widths);
                    self.ready.push_back(group);
                }
                Job::Links(cells, count) => self.take_links(cells, count),
            }
        }
        Ok(widths)
    }

    /// The next group of chunks, cut at the limit; its rows are entered into `kept`. `None` after the last.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells; rows in other chunks than their keys say, after rows have been handed out.
    pub(crate) async fn next(&mut self) -> Result<Option<(Box<GroupOut>, usize)>, QueryError> {
        while self.ready.is_empty() && self.ready_links.is_none() {
            match self.jobs.try_next().await? {
                Some(Job::Vertices(group)) => self.ready.push_back(group),
                Some(Job::Links(cells, count)) => self.take_links(cells, count),
                None => return Ok(None),
            }
        }
        let Some(mut group) = self.ready.pop_front() else {
            return Ok(None);
        };
        self.cells += group.cells;
        if let Some(slot) = group.misplaced {
            let chunk = self.reader.table.get(slot);
            let place = self
                .reader
                .place(self.reader.level.vertices().path(), chunk);
            return Err(QueryError::malformed(
                place,
                "rows lie outside their chunk, so that a box cannot be found",
            ));
        }
        let mut taken = 0;
        for chunk in &mut group.chunks {
            self.chunks += 1;
            if let Some(remaining) = &mut self.remaining {
                let room = usize::try_from(*remaining).unwrap_or(usize::MAX);
                if chunk.kept.len() > room {
                    self.truncated = true;
                    self.stop.store(true, Ordering::Relaxed);
                    chunk.kept.truncate(room);
                }
                *remaining -= int::wide(chunk.kept.len());
            }
            taken += chunk.kept.len();
            if let Some(place) = self.kept.chunks.get_mut(int::index(chunk.slot)) {
                *place = ChunkRows {
                    base: self.vertices,
                    rows: chunk.rows,
                    kept: chunk.kept.clone(),
                    fragments: chunk.fragments.clone().filter(|_| self.keep_fragments),
                };
            }
            self.vertices += int::wide(chunk.kept.len());
        }
        self.absent += group.absent;
        for (sum, missing) in self.missing.iter_mut().zip(&group.missing) {
            *sum += missing;
        }
        for (sum, short) in self.short.iter_mut().zip(&group.short) {
            *sum += short;
        }
        for chunk in group.held.drain(..) {
            let size = int::wide(chunk.positions.len());
            if size <= self.hold {
                self.hold -= size;
                self.held.push(chunk);
            }
        }
        Ok(Some((group, taken)))
    }

    /// The next stored links, in order; only after [`next`](Self::next) has returned `None`.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells.
    pub(crate) async fn next_links(&mut self) -> Result<Option<Vec<RecordCell>>, QueryError> {
        if let Some(cells) = self.ready_links.take() {
            return Ok(Some(cells));
        }
        while let Some(job) = self.jobs.try_next().await? {
            if let Job::Links(cells, count) = job {
                self.cells += count;
                return Ok(Some(cells));
            }
        }
        Ok(None)
    }

    fn take_links(&mut self, cells: Vec<RecordCell>, count: u64) {
        self.cells += count;
        self.ready_links = Some(cells);
    }

    /// Runs CPU work on a worker thread.
    ///
    /// # Errors
    ///
    /// The work's own.
    pub(crate) fn offload<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, QueryError> + Send + 'static,
    ) -> BoxFuture<'static, Result<R, QueryError>> {
        offload(&self.reader, self.round, work)
    }

    /// What the chunks got wrong, once all are read.
    pub(crate) fn remarks(&mut self) {
        let number = self.reader.number;
        if self.absent > 0 {
            let what = format!(
                "level {number}, vertices: {} listed chunks have no object",
                self.absent
            );
            self.warnings.push(what);
        }
        let shown = |index| self.table.has(crate::vertex_table::Out::Attribute(index));
        let found = gaps(&self.reader, &self.missing, &self.short, shown);
        self.warnings.extend(found);
    }
}

/// What is said about attributes that lack values: chunks without a cell, and cells of fewer rows.
pub(crate) fn gaps(
    reader: &Reader,
    missing: &[u64],
    short: &[u64],
    shown: impl Fn(usize) -> bool,
) -> Vec<String> {
    let counts = missing.iter().zip(short);
    let mut warnings = Vec::new();
    if reader.short.load(Ordering::Relaxed) {
        warnings.push(format!(
            "level {}: fragments reach over a part of the rows of their chunk: the dtype of vertices may be too short",
            reader.number
        ));
    }
    if reader.displaced.load(Ordering::Relaxed) {
        warnings.push(format!(
            "level {}: rows lie in other chunks than chunk_shape says: it is wrong, or the dtype of vertices is",
            reader.number
        ));
    }
    for (index, (column, (missing, short))) in reader.columns.iter().zip(counts).enumerate() {
        let (level, name) = (reader.number, &column.name);
        let wider = column.wider.as_ref();
        if wider.is_some_and(|wider| wider.load(Ordering::Relaxed)) && shown(index) {
            warnings.push(format!(
                "level {level}, attribute {name}: row_shape states one value a row, but cells hold more: read as they are"
            ));
        }
        if *missing > 0 && shown(index) {
            warnings.push(format!(
                "level {level}, attribute {name}: no cell for {missing} chunks, values are null"
            ));
        }
        if *short > 0 && shown(index) {
            warnings.push(format!(
                "level {level}, attribute {name}: fewer rows than vertices in {short} chunks, values of appended vertices are null"
            ));
        }
    }
    warnings
}

/// Runs CPU work on a worker thread.
pub(crate) fn offload<R: Send + 'static>(
    reader: &Reader,
    round: u32,
    work: impl FnOnce() -> Result<R, QueryError> + Send + 'static,
) -> BoxFuture<'static, Result<R, QueryError>> {
    let run = reader
        .level
        .store()
        .fetch_map(round, Vec::new(), move |_| work());
    async move { run.await? }.boxed()
}

/// Runs CPU work on one worker thread. `work` passes its results one by one to the function that it is given, which waits until the
/// stream is read and returns false once the stream was dropped.
///
/// One thread and not a pool: the allocator keeps, for each thread that allocated them, buffers that other threads freed. With many
/// threads that allocate large buffers in turn this is several times what is in use.
pub(crate) fn produce<T: Send + 'static>(
    reader: &Reader,
    round: u32,
    work: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<(), QueryError> + Send + 'static,
) -> BoxStream<'static, Result<T, QueryError>> {
    let (mut sender, receiver) = mpsc::channel(0);
    let run = offload(reader, round, move || {
        work(&mut |made| futures::executor::block_on(sender.send(made)).is_ok())
    });
    let end = run
        .into_stream()
        .filter_map(|end| async move { end.err().map(Err) });
    stream::select(receiver.map(Ok), end).boxed()
}

/// Starts a future that is waited for later: what it hands to other threads runs meanwhile.
pub(crate) async fn started<T: Send + 'static>(
    mut work: BoxFuture<'static, T>,
) -> BoxFuture<'static, T> {
    match futures::poll!(&mut work) {
        Poll::Ready(done) => futures::future::ready(done).boxed(),
        Poll::Pending => work,
    }
}

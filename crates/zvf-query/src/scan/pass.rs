//! One pass over the chunks of a query, in groups, with all other data that it needs.
//!
//! All requests that do not depend on others are sent in one round: vertices, fragments, attributes, link cells, manifests, ids, object
//! attributes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::owners::Owners;
use super::plan::{Ask, plan_pass, probe};
use super::requests::{GroupOut, Side, jobs, placed, side};
use crate::QueryError;
use crate::error::{OrBug, Place};
use crate::gaps::Gaps;
use crate::jobs::Jobs;
use crate::manifests::{Walk, walk_all};
use crate::owner_cells::{OwnerCells, walk_of_kept};
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader};
use crate::row_ids::RowIds;
use crate::row_map::RowMap;
use crate::vertex_table::{Out, TablePlan};
use crate::workers::Workers;
use zvf_store::format::int;

/// Number of groups that are read before the first row is sent, if chunks were excluded by their keys.
const LOOK_AHEAD: usize = 16;

/// A running pass.
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
    pub(crate) workers: Workers,
    /// Whether the pass is so small that it runs on the calling thread.
    pub(crate) here: bool,
    pub(crate) jobs: Jobs<Box<GroupOut>>,
    ready: VecDeque<Box<GroupOut>>,
    stop: Arc<AtomicBool>,
    remaining: Option<u64>,
    hold: u64,
    keep_fragments: bool,
    gaps: Gaps,
}

impl Scan {
    /// Plans a pass and waits for the data of its first batch.
    ///
    /// If rows are outside the chunks of their keys (trap T12), keys are unusable, and the pass starts again over all chunks.
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
            // Other pieces may not detect this, and would exclude the chunks.
            let place = Place::array(p.query.level, "vertices");
            let what = "rows are stored in other chunks than chunk_shape determines: a box cannot be split";
            return Err(QueryError::malformed(place, what));
        }
        let what =
            "rows are stored in other chunks than chunk_shape determines: all chunks are read";
        (scan, _) = Self::attempt(p, ask, false).await?;
        scan.warnings
            .push(format!("level {}: {what}", p.query.level));
        Ok(scan)
    }

    async fn attempt(p: &Prepared, ask: &Ask, prune: bool) -> Result<(Self, bool), QueryError> {
        let pass = plan_pass(p, ask, prune)?;
        let (prune, scope, probe) = (pass.pruned, pass.scope.clone(), probe(p, &pass));
        let (reader, here) = (Arc::clone(&pass.vertices.reader), pass.vertices.here);
        let expected = pass.expected(p, ask.limit);
        let stop = Arc::new(AtomicBool::new(false));
        let mut jobs = jobs(p, pass, &stop);
        let side = side(p, ask, &reader, scope, expected);
        let placed = placed(p, &reader, probe);
        let (first, side, placed) = futures::join!(jobs.next(), side, placed);
        let (first, placed) = (first?, placed?);
        let mut scan = Self {
            kept: RowMap::new(reader.table.len()),
            gaps: Gaps::new(reader.columns.len()),
            here,
            workers: Workers::new(p.level.store(), p.round),
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
            stop,
            remaining: ask.limit,
            hold: ask.hold,
            keep_fragments: ask.keep_fragments,
        };
        let mut next = first;
        while let Some(group) = next.take() {
            if group.misplaced.is_some() {
                return Ok((scan, false));
            }
            scan.ready.push_back(group);
            // A few groups are read before rows are sent, so that the pass can still start again.
            if prune && ask.limit.is_none() && scan.ready.len() < LOOK_AHEAD {
                next = scan.jobs.next().await?;
            }
        }
        Ok((scan, placed))
    }

    /// The objects of fragments, if known.
    pub(crate) fn owners(&self) -> Option<Owners> {
        let side = &self.side;
        match (&side.cells, &side.walk, &side.ids) {
            (Some(cells), _, ids) => Some(Owners::Column(Arc::clone(cells), ids.clone())),
            (None, Some(walk), Some(ids)) => {
                Some(Owners::new(walk, self.reader.table.len(), Arc::clone(ids)))
            }
            _ => None,
        }
    }

    /// The objects of kept rows with their fragments, after the last group; with `order`, in the order of the manifests.
    ///
    /// # Errors
    ///
    /// I/O; malformed manifests.
    pub(crate) async fn walk(
        &mut self,
        p: &Prepared,
        kept: &RowMap,
        order: bool,
    ) -> Result<Option<(Arc<Walk>, Arc<RowIds>)>, QueryError> {
        let side = &self.side;
        let index = p.level.object_index();
        let (Some(cells), Some(index), Some(scope)) = (&side.cells, index, &side.scope) else {
            let known = side.walk.clone().zip(side.ids.clone());
            return Ok(known.map(|(walk, ids)| (walk, Arc::new(RowIds::All(ids)))));
        };
        // Ids and manifests are read after the rows, in the next round.
        let next = (scope, p.round.saturating_add(1));
        let (walk, ids) = walk_of_kept(cells, &self.reader, kept, index, next, order).await?;
        Ok(Some((Arc::new(walk), Arc::new(ids))))
    }

    /// Reads the owners of the chunks of a group if [`start`](Self::start) did not read them, because it expected the limit to need fewer chunks.
    /// Returns whether it read some; [`owners`](Self::owners) has to be called again then.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells and manifests.
    pub(crate) async fn read_owners(
        &mut self,
        p: &Prepared,
        group: &GroupOut,
    ) -> Result<bool, QueryError> {
        let side = &mut self.side;
        let last = group.chunks.iter().map(|(slot, _)| *slot).max();
        let (Some(cells), Some(index), Some(scope), Some(last)) =
            (&side.cells, p.level.object_index(), &side.scope, last)
        else {
            return Ok(false);
        };
        if cells.has(last) {
            return Ok(false);
        }
        let round = p.round + 1;
        let more = OwnerCells::read_until(&self.reader, last + 1, round, Some(cells)).await?;
        if let Some(more) = more {
            side.cells = Some(Arc::new(more));
            return Ok(true);
        }
        let (ids, walk) = walk_all(index, &self.reader, scope, round).await?;
        (side.ids, side.walk, side.cells) = (Some(ids), Some(Arc::new(walk)), None);
        Ok(true)
    }

    /// Sets the limit on rows, before the first one is read.
    pub(crate) fn limit(&mut self, rows: u64) {
        self.remaining = Some(rows);
    }

    /// Reads groups until the width of every requested attribute is known, or no group is left. Returns the widths.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub(crate) async fn widths(&mut self) -> Result<Vec<Option<usize>>, QueryError> {
        let mut widths = vec![None; self.reader.columns.len()];
        for group in &self.ready {
            group.gathered.widths(&mut widths);
        }
        while self.table.is_open(&self.reader, &widths) {
            let Some(group) = self.jobs.next().await? else {
                break;
            };
            group.gathered.widths(&mut widths);
            self.ready.push_back(group);
        }
        Ok(widths)
    }

    /// The next group of chunks, cut at the limit; its rows are entered into `kept`. `None` after the last.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells; rows outside the chunks of their keys, if rows were already returned.
    pub(crate) async fn next(&mut self) -> Result<Option<(Box<GroupOut>, usize)>, QueryError> {
        let group = match self.ready.pop_front() {
            Some(group) => Some(group),
            None => self.jobs.next().await?,
        };
        let Some(mut group) = group else {
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
                "rows are outside of their chunk, so that the rows of a box cannot be found",
            ));
        }
        let mut taken = 0;
        for (slot, chunk) in &mut group.chunks {
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
            chunk.base = self.vertices;
            self.vertices += int::wide(chunk.kept.len());
            let place = self.kept.chunks.get_mut(int::index(*slot));
            let place = place.or_bug("rows of a chunk that the query does not have")?;
            place.clone_from(chunk);
            if !self.keep_fragments {
                place.fragments = None;
            }
        }
        self.gaps.add(&group.gaps);
        for chunk in group.held.drain(..) {
            let size = chunk.bytes();
            if size <= self.hold {
                self.hold -= size;
                self.held.push(chunk);
            }
        }
        Ok(Some((group, taken)))
    }

    /// Adds warnings about defects of the chunks, after all are read.
    pub(crate) fn remarks(&mut self) {
        let shown = |index| self.table.has(Out::Attribute(index));
        let found = self.gaps.warnings(&self.reader, shown);
        self.warnings.extend(found);
    }
}

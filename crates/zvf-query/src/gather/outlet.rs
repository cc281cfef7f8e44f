//! Converts gathered steps to the batches of the answer: schema, placement, limit.

use std::collections::{HashMap, VecDeque, hash_map};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::Int64Builder;
use arrow_schema::SchemaRef;
use futures::future::{BoxFuture, FutureExt};

use super::row_index::rows_of;
use super::step::{Cursor, GatherPlan, Piece, Placer, Step};
use crate::QueryError;
use crate::answer::{Emit, Schemas, Table};
use crate::columns::gather::Kept;
use crate::error::{OrBug, Place};
use crate::fragments::Fragments;
use crate::links::Rule;
use crate::links::table::LinkTable;
use crate::manifests::Entry;
use crate::objects::{ObjectTable, ObjectValues};
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::Decoded;
use crate::row_map::ChunkRows;
use crate::scan::owners::Owners;
use crate::vertex_table::{Out, OwnerColumns};
use crate::workers::{Workers, started};
use zvf_store::format::int;

/// Steps with fewer rows are not worth another thread.
pub(crate) const INLINE: u64 = 20_000;

/// Most fragments, or ranges of rows, that are recorded for the links and the limit of one answer.
const MOST_PIECES: usize = 1 << 26;

/// The state that is kept about sent rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing: there are no links.
    Nothing,
    /// Ranges of consecutive rows, for links that are implied by them.
    Chains,
    /// Every fragment, for other links and for a limit.
    Pieces,
}

impl Keep {
    /// The state that the links of a query need.
    pub(crate) fn of(p: &Prepared, links: Option<&LinkTable>) -> Self {
        let Some(links) = links.filter(|_| p.query.limit.is_none()) else {
            return if p.query.limit.is_some() {
                Self::Pieces
            } else {
                Self::Nothing
            };
        };
        let plain = links
            .family
            .as_ref()
            .is_none_or(|family| family.columns.is_empty());
        if p.rule == Rule::Sequential && plain {
            Self::Chains
        } else {
            Self::Pieces
        }
    }
}

/// The vertex table as it was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) keep: Keep,
    /// Ranges of rows, each linked to the next one of its range; ascending.
    pub(crate) chains: Vec<Range<u64>>,
    pub(crate) pieces: Vec<Piece>,
    /// By chunk.
    pub(crate) fragments: Vec<Option<Arc<Fragments>>>,
    /// Rows of the buffers, by chunk.
    pub(crate) buffers: Vec<Option<u32>>,
    /// Rows of each object.
    pub(crate) lengths: Vec<u64>,
    pub(crate) rows: u64,
    pub(crate) truncated: bool,
    /// How many of the chosen objects are in the answer: the first ones.
    pub(crate) picks: usize,
    pub(crate) objects: Option<(ObjectTable, ObjectValues)>,
}

impl Sent {
    /// Records the pieces of a batch.
    ///
    /// # Errors
    ///
    /// Bug: a piece without an object.
    fn remember(&mut self, pieces: &mut Vec<Piece>) -> Result<(), QueryError> {
        if self.keep == Keep::Pieces {
            self.pieces.append(pieces);
            return Ok(());
        }
        add_lengths(&mut self.lengths, pieces)?;
        if self.keep == Keep::Chains {
            for piece in pieces.iter().filter(|piece| piece.taken > 0) {
                self.chain(piece);
            }
        }
        Ok(())
    }

    /// Links the rows of a piece.
    pub(crate) fn chain(&mut self, piece: &Piece) {
        let end = piece.out.saturating_add(u64::from(piece.taken));
        let Some(positions) = &piece.positions else {
            self.link(piece.out..end, piece.joined);
            return;
        };
        let mut start = piece.out;
        let mut joined = piece.joined;
        for part in positions.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            let end = start.saturating_add(int::wide(part.len()));
            self.link(start..end, joined);
            (start, joined) = (end, false);
        }
    }

    /// Appends consecutive rows, and the row before them if it is joined to the first.
    fn link(&mut self, rows: Range<u64>, joined: bool) {
        if let Some(last) = self.chains.last_mut() {
            if joined && last.end == rows.start {
                last.end = rows.end;
                return;
            }
            // A row without links.
            if last.end.saturating_sub(last.start) < 2 {
                *last = rows;
                return;
            }
        }
        self.chains.push(rows);
    }
}

fn add_lengths(lengths: &mut [u64], pieces: &[Piece]) -> Result<(), QueryError> {
    for piece in pieces {
        let length = lengths.get_mut(int::index(piece.pick));
        *length.or_bug("rows of no object")? += u64::from(piece.taken);
    }
    Ok(())
}

/// A running step.
pub(crate) struct Waiting {
    end: usize,
    chunks: Arc<HashMap<Slot, Arc<Decoded>>>,
    step: BoxFuture<'static, Result<Step, QueryError>>,
}

impl Waiting {
    /// Starts to gather a batch.
    pub(crate) async fn start(
        plan: &Arc<GatherPlan>,
        workers: &Workers,
        entries: Range<usize>,
        chunks: HashMap<Slot, Arc<Decoded>>,
    ) -> Self {
        let from = Cursor {
            entry: entries.start,
            fragment: 0,
        };
        let found = Self::at(plan, workers, from, entries.end, Arc::new(chunks));
        Self {
            step: started(found.step).await,
            ..found
        }
    }

    fn at(
        plan: &Arc<GatherPlan>,
        workers: &Workers,
        from: Cursor,
        end: usize,
        chunks: Arc<HashMap<Slot, Arc<Decoded>>>,
    ) -> Self {
        // For chunks that are read in parts, only the rows that were read count.
        let rows = chunks.values().map(|chunk| int::wide(chunk.rows_read()));
        let rows: u64 = rows.sum();
        let (worker, data) = (Arc::clone(plan), Arc::clone(&chunks));
        let work = move || worker.step(from, end, &data);
        let step = if rows <= INLINE {
            async move { work() }.boxed()
        } else {
            workers.run(work)
        };
        Self { end, chunks, step }
    }

    /// Waits for the step; a batch with very many rows continues in another step.
    ///
    /// # Errors
    ///
    /// The errors of the step.
    pub(crate) async fn finish(
        self,
        plan: &Arc<GatherPlan>,
        workers: &Workers,
    ) -> Result<(Step, Option<Self>), QueryError> {
        let step = self.step.await?;
        let rest = step
            .rest
            .map(|from| Self::at(plan, workers, from, self.end, self.chunks));
        Ok((step, rest))
    }
}

/// Sends rows to the answer.
pub(crate) struct Outlet {
    plan: Arc<GatherPlan>,
    schemas: Option<Schemas>,
    schema: Option<SchemaRef>,
    widths: Vec<Option<usize>>,
    vertices: bool,
    batch_rows: usize,
    limit: Option<u64>,
    /// Whether the limit must not cut objects.
    whole: bool,
    /// Whether this is the answer of one of several additive levels, whose joint answer is cut at the limit later.
    part: bool,
    owners: Option<Owners>,
    placer: Placer,
    /// Steps before the schema is known.
    pending: VecDeque<Step>,
    /// Batches whose last object is not complete.
    held: VecDeque<RecordBatch>,
    /// Number of sent rows.
    released: u64,
    full: bool,
}

impl Outlet {
    /// An outlet for one answer.
    pub(crate) fn new(
        p: &Prepared,
        schemas: Schemas,
        plan: Arc<GatherPlan>,
        owners: Option<Owners>,
    ) -> Self {
        Self {
            widths: vec![None; plan.reader.columns.len()],
            plan,
            schemas: Some(schemas),
            schema: None,
            vertices: p.query.outputs.vertices || p.part.is_some(),
            batch_rows: p.query.batch_rows,
            limit: p.query.limit,
            whole: p.query.limit_of_whole().is_some() && p.part.is_none(),
            part: p.part.is_some(),
            owners,
            placer: Placer::default(),
            pending: VecDeque::new(),
            held: VecDeque::new(),
            released: 0,
            full: false,
        }
    }

    /// Sets the widths of columns from decoded cells.
    pub(crate) fn widths(&mut self, found: &[Option<usize>]) {
        for (width, found) in self.widths.iter_mut().zip(found) {
            *width = width.or(*found);
        }
    }

    /// Whether rows were sent.
    pub(crate) fn sent(&self) -> bool {
        self.schema.is_some()
    }

    /// Whether the limit is reached and rows are left out.
    pub(crate) fn full(&self) -> bool {
        self.full
    }

    /// Adds a step; sends complete batches.
    ///
    /// # Errors
    ///
    /// Malformed: columns of different widths.
    pub(crate) async fn take(
        &mut self,
        step: Step,
        emit: &mut Emit,
        sent: &mut Sent,
    ) -> Result<(), QueryError> {
        step.gathered.widths(&mut self.widths);
        self.pending.push_back(step);
        if self.schema.is_none() && self.plan.table.is_open(&self.plan.reader, &self.widths) {
            return Ok(());
        }
        self.drain(emit, sent).await
    }

    /// Sends the remaining rows, and the schemas if they were not sent.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub(crate) async fn finish(
        &mut self,
        emit: &mut Emit,
        sent: &mut Sent,
    ) -> Result<(), QueryError> {
        self.drain(emit, sent).await?;
        self.release(sent.rows, emit).await;
        if sent.keep == Keep::Pieces {
            add_lengths(&mut sent.lengths, &sent.pieces)?;
        }
        Ok(())
    }

    async fn drain(&mut self, emit: &mut Emit, sent: &mut Sent) -> Result<(), QueryError> {
        let plan = Arc::clone(&self.plan);
        let schema = match &self.schema {
            Some(schema) => Arc::clone(schema),
            None => {
                let schema = plan.table.schema(&plan.reader, &self.widths)?;
                let mut schemas = self.schemas.take().unwrap_or_default();
                schemas.vertices = self.vertices.then(|| Arc::clone(&schema));
                schemas.guessed = plan.table.guessed(&plan.reader, &self.widths);
                emit.schemas(schemas).await;
                self.schema = Some(Arc::clone(&schema));
                schema
            }
        };
        while let Some(step) = self.pending.pop_front() {
            if !self.full {
                self.process(step, &schema, emit, sent).await?;
            }
        }
        Ok(())
    }

    async fn process(
        &mut self,
        mut step: Step,
        schema: &SchemaRef,
        emit: &mut Emit,
        sent: &mut Sent,
    ) -> Result<(), QueryError> {
        for piece in &mut step.pieces {
            self.placer.place(piece);
        }
        let plan = Arc::clone(&self.plan);
        let rows = step.gathered.rows;
        let before = sent.rows;
        let batch = if self.vertices && rows > 0 {
            let owners = self.columns(&step, sent)?;
            Some(
                step.gathered
                    .finish(&plan.table, &plan.reader, schema, &self.widths, owners)?,
            )
        } else {
            None
        };
        sent.remember(&mut step.pieces)?;
        let remembered = sent.pieces.len().max(sent.chains.len());
        if remembered > MOST_PIECES {
            let place = Place::array(self.plan.reader.number, "object_index/manifests");
            let found = int::wide(remembered);
            return Err(QueryError::limit(
                place,
                "fragments of one answer",
                found,
                int::wide(MOST_PIECES),
            ));
        }
        sent.rows = before.saturating_add(int::wide(rows));
        if let Some(limit) = self.limit.filter(|limit| sent.rows > *limit) {
            self.full = true;
            if !self.part {
                self.cut(limit, sent);
            }
        }
        if let Some(batch) = batch {
            let room = usize::try_from(sent.rows.saturating_sub(before)).unwrap_or(usize::MAX);
            self.held
                .push_back(batch.slice(0, room.min(batch.num_rows())));
        }
        // With a limit, an object is sent only when it is known to fit.
        let ready = match sent.pieces.last() {
            Some(last) if self.whole && !self.full => {
                let first = sent.pieces.partition_point(|piece| piece.pick < last.pick);
                sent.pieces.get(first).map_or(sent.rows, |piece| piece.out)
            }
            _ => sent.rows,
        };
        self.release(ready, emit).await;
        Ok(())
    }

    /// Cuts the answer at the limit: at a row, or after the last object that fits.
    fn cut(&mut self, limit: u64, sent: &mut Sent) {
        sent.truncated = true;
        let at = sent
            .pieces
            .partition_point(|piece| piece.out.saturating_add(u64::from(piece.taken)) <= limit);
        let Some(crossing) = sent.pieces.get(at).map(|piece| piece.pick) else {
            return;
        };
        if self.whole {
            let first = sent.pieces.partition_point(|piece| piece.pick < crossing);
            sent.rows = sent.pieces.get(first).map_or(0, |piece| piece.out);
            sent.pieces.truncate(first);
            sent.picks = int::index(crossing);
            return;
        }
        sent.rows = limit;
        if let Some(piece) = sent.pieces.get_mut(at) {
            let room = u32::try_from(limit.saturating_sub(piece.out)).unwrap_or(u32::MAX);
            let kept: Vec<u32> = match &piece.positions {
                Some(positions) => positions.iter().copied().take(int::index(room)).collect(),
                None => (0..room).collect(),
            };
            piece.taken = room;
            piece.positions = Some(kept.into_boxed_slice());
        }
        sent.pieces.truncate(at.saturating_add(1));
        let started = sent
            .pieces
            .iter()
            .any(|piece| piece.pick == crossing && piece.taken > 0);
        sent.picks = int::index(crossing) + usize::from(started);
    }

    /// Sends held rows up to a row of the answer.
    async fn release(&mut self, until: u64, emit: &mut Emit) {
        while let Some(batch) = self.held.pop_front() {
            let rows = int::wide(batch.num_rows());
            let room = until.saturating_sub(self.released).min(rows);
            let cut = usize::try_from(room).unwrap_or(usize::MAX);
            if room > 0 {
                self.released += emit
                    .send(Table::Vertices, &batch.slice(0, cut), self.batch_rows)
                    .await;
            }
            if room < rows {
                if !self.full {
                    self.held
                        .push_front(batch.slice(cut, batch.num_rows() - cut));
                }
                return;
            }
        }
    }

    /// The object of every row, and all its owners if requested.
    ///
    /// # Errors
    ///
    /// Bug: a row without an object, or outside its fragment.
    fn columns(&self, step: &Step, sent: &Sent) -> Result<OwnerColumns, QueryError> {
        let (plan, pieces) = (&self.plan, &step.pieces);
        let mut columns = OwnerColumns::default();
        if plan.table.has(Out::Pick) {
            columns.picks.reserve_exact(step.gathered.rows);
            for piece in pieces {
                let picks = std::iter::repeat_n(piece.pick, int::index(piece.taken));
                columns.picks.extend(picks);
            }
        }
        if plan.table.has(Out::ObjectId) {
            columns.first = Int64Builder::with_capacity(step.gathered.rows);
            for piece in pieces {
                let id = *plan
                    .ids
                    .get(int::index(piece.pick))
                    .or_bug("rows of no object")?;
                columns.first.append_value_n(id, int::index(piece.taken));
            }
        }
        let Some(owners) = &self.owners else {
            return Ok(columns);
        };
        let mut known: HashMap<Slot, Vec<Vec<i64>>> = HashMap::new();
        for piece in pieces
            .iter()
            .filter(|piece| piece.slot != Entry::GAP && piece.taken > 0)
        {
            let all = match known.entry(piece.slot) {
                hash_map::Entry::Occupied(known) => known.into_mut(),
                hash_map::Entry::Vacant(new) => {
                    let at = int::index(piece.slot);
                    let rows = sent.buffers.get(at).copied().flatten();
                    let chunk = ChunkRows {
                        base: 0,
                        rows,
                        kept: Kept::All(rows.unwrap_or(0)),
                        fragments: sent.fragments.get(at).cloned().flatten(),
                    };
                    let mut found = OwnerColumns::default();
                    owners.push(&plan.reader, (piece.slot, &chunk), true, &mut found)?;
                    new.insert(found.all)
                }
            };
            let rows = rows_of(piece, &sent.fragments)?;
            for number in 0..piece.taken {
                let position = match &piece.positions {
                    Some(positions) => positions.get(int::index(number)).copied(),
                    None => Some(number),
                };
                let row = position.and_then(|position| rows.get(position));
                let owners = row.and_then(|row| all.get(int::index(row)));
                let owners = owners.or_bug("a row that is not in its chunk")?;
                columns.all.push(owners.clone());
            }
        }
        Ok(columns)
    }
}

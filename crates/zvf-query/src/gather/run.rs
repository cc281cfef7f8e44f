//! Runs a query by object.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::future::FutureExt;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};

use super::assemble::Assembly;
use super::batches::Batch;
use super::deliver::read_values;
use super::fetch::jobs;
use super::hits::hits;
use super::outlet::{Outlet, Sent, Waiting};
use super::plan::Run;
use super::scatter::{PAGE, Scatter};
use super::select::{self, Pick};
use crate::answer::{Emit, Schemas, Summary};
use crate::by_slot::BySlot;
use crate::columns::attribute::Cell;
use crate::error::Place;
use crate::jobs::Jobs;
use crate::links::Rule;
use crate::links::table::LinkTable;
use crate::manifests::{Scope, walk_all};
use crate::objects::{Form, ObjectTable};
use crate::owner_cells::OwnerCells;
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::Decoded;
use crate::scan::owners::Owners;
use crate::scan::plan::{Load, Pace};
use crate::scan::run::link_table;
use crate::spool::Spool;
use crate::vertex_table::Out;
use crate::workers::WORKERS;
use crate::{QueryError, Select};
use zvf_store::format::int;

/// The chosen objects of an answer.
pub(crate) struct Choice {
    pub(crate) picks: Vec<Pick>,
    /// Chunks that were read to choose them.
    pub(crate) held: HashMap<Vec<i64>, Decoded>,
    pub(crate) summary: Summary,
}

/// Runs a query that is answered by object.
///
/// # Errors
///
/// Misuse: objects in a store without objects, unknown ids and groups. I/O; malformed cells and manifests; a limit.
pub(crate) async fn run(p: Prepared, emit: &mut Emit) -> Result<Summary, QueryError> {
    let index = Arc::clone(select::index(&p)?);
    let asked = select::picks(&p, &index).await?;
    let choice = choose(&p, asked).await?;
    deliver(p, choice, emit).await
}

/// Chooses objects: the requested ones (`asked`), else all. With conditions and [`Select::Objects`], chooses only objects with a row that satisfies
/// the conditions.
///
/// # Errors
///
/// As [`run`].
pub(crate) async fn choose(p: &Prepared, asked: Option<Vec<Pick>>) -> Result<Choice, QueryError> {
    let mut summary = Summary {
        levels: vec![p.query.level],
        ..Summary::default()
    };
    let mut held = HashMap::new();
    let conditions = p.query.bbox.is_some() || p.query.filter.is_some();
    let picks = match asked {
        Some(found) if p.query.select != Select::Objects || !conditions => found,
        asked if conditions => hits(p, asked, &mut summary, &mut held).await?,
        _ => select::all(p).await?,
    };
    Ok(Choice {
        picks,
        held,
        summary,
    })
}

/// Delivers chosen objects.
///
/// # Errors
///
/// I/O; malformed cells and manifests; a limit.
pub(crate) async fn deliver(
    mut p: Prepared,
    choice: Choice,
    emit: &mut Emit,
) -> Result<Summary, QueryError> {
    let Choice {
        picks,
        held,
        mut summary,
    } = choice;
    let mut warnings = std::mem::take(&mut p.warnings);
    let links = link_table(&p)?;
    let mut run = Run::plan(&p, picks, links.as_ref(), held, true).await?;
    emit.here = run.fetch.here;
    let mut answer = run
        .vertices(&p, emit, links.as_ref(), &mut warnings)
        .await?;
    if answer.is_none() {
        // Rows are not in the chunks of their keys (trap T12), so that the box cannot exclude chunks.
        warnings.push(format!(
            "level {}: rows are stored in other chunks than chunk_shape determines: all chunks are read",
            p.query.level
        ));
        let picks = std::mem::take(&mut run.picks);
        run = Run::plan(&p, picks, links.as_ref(), HashMap::new(), false).await?;
        answer = run
            .vertices(&p, emit, links.as_ref(), &mut warnings)
            .await?;
    }
    let Some(mut answer) = answer else {
        let place = Place::array(p.query.level, "vertices");
        return Err(QueryError::malformed(
            place,
            "rows are outside of their chunks",
        ));
    };
    summary.vertices = answer.rows;
    summary.truncated = answer.truncated;
    if let Some(table) = links {
        summary.links = run.links(&p, emit, table, &mut answer).await?;
        let family = p.family.as_ref();
        summary.link_rows_read = family.map_or(0, |family| family.rows_read());
        if p.rule == Rule::Branches
            && let Some(family) = family
        {
            warnings.extend(family.check_parents()?);
        }
        warnings.extend(family.into_iter().flat_map(|family| family.warnings()));
    }
    if let Some((table, values)) = answer.objects.take() {
        summary.objects = run.objects(&p, emit, &table, values, &answer).await?;
    }
    summary.chunks_read = summary.chunks_read.saturating_add(run.chunks_read);
    let cells = run.cells_read.saturating_add(run.jobs.link_cells);
    summary.cells_read = summary.cells_read.saturating_add(cells);
    let shown = |index| p.table.has(Out::Attribute(index));
    warnings.extend(run.gaps.warnings(&run.reader, shown));
    warnings.append(&mut summary.warnings);
    summary.warnings = warnings;
    Ok(summary)
}

/// The reason why gathering ended.
enum Ended {
    /// All rows were sent, or the limit is reached.
    Done,
    /// Some rows are outside their chunks.
    Misplaced,
    /// Too many chunks would be read again: the entries from this one on are sorted instead.
    Sort(usize),
    /// The entries from this one on are not sorted: their objects share so many rows that it is not worth it, or there are 2^32 entries or more.
    Batches(usize),
}

impl Run {
    /// Sends the vertex table. `None` if some rows are outside their chunks; nothing was sent then.
    async fn vertices(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        links: Option<&LinkTable>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Sent>, QueryError> {
        let objects = (p.query.outputs.objects).then(|| {
            let (number, attributes) = (p.level.number(), p.level.object_attributes());
            let metadata = p.table.metadata.clone();
            ObjectTable::new(number, attributes, Form::Grouped, metadata, warnings)
        });
        let values = read_values(objects.as_ref(), &self.picks, self.round);
        // A sorting run has no jobs yet.
        let (first, values) = futures::join!(self.jobs.next(), values);
        let values = values?;
        let first = first?;
        let owners = self.all_owners(p).await?;
        let chunks = self.reader.table.len();
        let mut sent = Sent {
            keep: self.keep,
            pieces: Vec::new(),
            chains: Vec::new(),
            fragments: vec![None; chunks],
            buffers: vec![None; chunks],
            lengths: vec![0; self.picks.len()],
            rows: 0,
            truncated: false,
            picks: self.picks.len(),
            objects: None,
        };
        let schemas = Schemas {
            vertices: None,
            links: links.map(|table| Arc::clone(&table.schema)),
            objects: objects.as_ref().map(|table| Arc::clone(&table.schema)),
            guessed: Vec::new(),
        };
        sent.objects = objects.zip(values);
        let mut out = Outlet::new(p, schemas, Arc::clone(&self.plan), owners);
        let mut ended = if self.sorted {
            Ended::Sort(0)
        } else {
            let most = chunks / 2;
            self.gather(p, emit, &mut sent, &mut out, first, most)
                .await?
        };
        loop {
            ended = match ended {
                Ended::Done => break,
                Ended::Misplaced if !out.sent() => return Ok(None),
                Ended::Misplaced => {
                    let place = Place::array(p.query.level, "vertices");
                    return Err(QueryError::malformed(
                        place,
                        "rows are outside of their chunks, so that the rows of a box cannot be found",
                    ));
                }
                Ended::Sort(from) => self.sort(p, emit, &mut sent, &mut out, from).await?,
                Ended::Batches(from) => {
                    let batches = self.batches(from);
                    self.start(p, batches);
                    let first = self.jobs.next().await?;
                    self.gather(p, emit, &mut sent, &mut out, first, usize::MAX)
                        .await?
                }
            };
        }
        out.finish(emit, &mut sent).await?;
        Ok(Some(sent))
    }

    /// Gathers batch by batch. Ends if more than `most` chunks are read again.
    async fn gather(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        sent: &mut Sent,
        out: &mut Outlet,
        first: Option<(Batch, Vec<Decoded>)>,
        most: usize,
    ) -> Result<Ended, QueryError> {
        let mut cache: HashMap<Slot, Arc<Decoded>> = HashMap::new();
        let mut waiting: VecDeque<Waiting> = VecDeque::new();
        let mut number = 0;
        let mut again = 0_usize;
        let mut next = first;
        let mut ended = Ended::Done;
        loop {
            let mut done = next.is_none();
            if let Some((batch, new)) = next.take() {
                for chunk in new {
                    self.note(&chunk, sent);
                    cache.insert(chunk.slot, Arc::new(chunk));
                }
                // Chunks that were dropped from memory are read again.
                let slots = batch.slots.iter().copied();
                let gone: Vec<Slot> = slots.filter(|slot| !cache.contains_key(slot)).collect();
                again = again.saturating_add(gone.len());
                if again > most {
                    ended = Ended::Sort(batch.entries.start);
                    done = true;
                } else {
                    for chunk in self.fetch.chunks(gone, HashMap::new()).await? {
                        cache.insert(chunk.slot, Arc::new(chunk));
                    }
                    let slots = batch.slots.iter();
                    let data = slots.filter_map(|slot| Some((*slot, Arc::clone(cache.get(slot)?))));
                    let (plan, data) = (&self.plan, data.collect());
                    waiting.push_back(
                        Waiting::start(plan, &self.workers, batch.entries.clone(), data).await,
                    );
                    let budget = p.query.memory_budget / 2;
                    shrink(&mut cache, &self.last_use, number, budget);
                    number += 1;
                }
            }
            while waiting.len() >= WORKERS || done {
                let Some(mut step) = waiting.pop_front() else {
                    break;
                };
                loop {
                    let (made, rest) = step.finish(&self.plan, &self.workers).await?;
                    if made.misplaced.is_some() && self.pruned {
                        return Ok(Ended::Misplaced);
                    }
                    out.take(made, emit, sent).await?;
                    match rest {
                        Some(rest) if !out.full() => step = rest,
                        _ => break,
                    }
                }
                if out.full() {
                    return Ok(Ended::Done);
                }
            }
            if done {
                return Ok(ended);
            }
            next = self.jobs.next().await?;
        }
    }

    /// Reads all chunks of the entries from `from` on once, in chunk order, writes their rows to a temporary file, and sends them in the order of
    /// the entries. No rows of these entries were sent before.
    async fn sort(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        sent: &mut Sent,
        out: &mut Outlet,
        from: usize,
    ) -> Result<Ended, QueryError> {
        let chunks = self.reader.table.len();
        // Requests in flight are not needed.
        self.jobs = Jobs::none();
        let (first, entries) = (u32::try_from(from), &self.plan.entries);
        let (Ok(first), Ok(_)) = (first, u32::try_from(entries.len())) else {
            return Ok(Ended::Batches(from));
        };
        let slots = || entries.iter(from).map(|entry| entry.slot);
        let entries = BySlot::new(chunks, || slots().zip(first..));
        let (plan, spool) = (Arc::clone(&self.plan), Arc::new(Spool::default()));
        let mut assembly = Assembly::new(Arc::clone(&plan), Arc::clone(&spool));
        let scatter = Arc::new(Scatter {
            plan,
            entries,
            spool,
        });
        let (budget, row) = (self.load.budget, self.load.row_bytes.max(1));
        // A part of the answer covers about two pages of each run, so that few rows of these pages belong to other parts.
        let total = self.load.chunk_bytes().saturating_mul(int::wide(chunks));
        let pages = total.saturating_mul(2 * int::wide(PAGE));
        let part = pages.isqrt().clamp(budget / 64, budget / 32);
        let pace = self.pace(Load {
            batch_rows: (part / row).max(1),
            // Four groups at a time, so that a slow one does not leave a core idle.
            budget: part.saturating_mul(8),
            ..self.load
        });
        let of_chunks = Arc::clone(&scatter);
        let wanted = move |slot: Slot| !scatter.entries.of(slot).is_empty();
        let work = move |chunks| of_chunks.group(chunks);
        let mut runs = self.groups(pace, wanted, Arc::new(work));
        while let Some(mut run) = runs.try_next().await? {
            if self.pruned && run.chunks.iter().any(|chunk| !chunk.in_place) {
                return Ok(Ended::Misplaced);
            }
            if run.shared {
                return Ok(Ended::Batches(from));
            }
            out.widths(&run.widths);
            for chunk in run.chunks.drain(..) {
                self.note(&chunk, sent);
            }
            assembly.add(&mut run)?;
        }
        drop(runs);
        let ranges = assembly.ranges(from, part);
        let mut steps = self.workers.produce(move |hand_over| {
            for range in ranges {
                for step in assembly.steps(range)? {
                    if !hand_over(step) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        while let Some(step) = steps.try_next().await? {
            out.take(step, emit, sent).await?;
            if out.full() {
                break;
            }
        }
        drop(steps);
        let none = HashMap::new();
        self.jobs = jobs(p, &self.fetch, Vec::new(), none, self.cells.clone());
        Ok(Ended::Done)
    }

    /// The groups in which all chunks are read.
    pub(super) fn pace(&self, load: Load) -> Pace {
        // Chunks are numbered with 32 bits.
        let chunks = u32::try_from(self.reader.table.len()).unwrap_or(Slot::MAX);
        Pace::new(chunks, load)
    }

    /// Reads the wanted chunks of each group once, in order, and runs `work` on them on worker threads.
    pub(super) fn groups<R: Send + 'static>(
        &mut self,
        pace: Pace,
        wanted: impl Fn(Slot) -> bool + Send + 'static,
        work: Arc<dyn Fn(Vec<Decoded>) -> Result<R, QueryError> + Send + Sync>,
    ) -> BoxStream<'static, Result<R, QueryError>> {
        let mut held = std::mem::take(&mut self.held);
        let (fetch, workers) = (Arc::clone(&self.fetch), self.workers.clone());
        let runs = pace.groups.into_iter().map(move |slots| {
            let slots: Vec<Slot> = slots.filter(|slot| wanted(*slot)).collect();
            let known = slots
                .iter()
                .filter_map(|slot| Some((*slot, held.remove(slot)?)))
                .collect();
            let read = fetch.chunks(slots, known);
            let (work, workers) = (Arc::clone(&work), workers.clone());
            async move {
                let chunks = read.await?;
                workers.run(move || work(chunks)).await
            }
            .boxed()
        });
        futures::stream::iter(runs).buffered(pace.window).boxed()
    }

    /// Owners of every row, if all of them are requested.
    async fn all_owners(&mut self, p: &Prepared) -> Result<Option<Owners>, QueryError> {
        if !p.table.has(Out::ObjectIds) {
            return Ok(None);
        }
        let index = select::index(p)?;
        if let Some(cells) = OwnerCells::read(&self.reader, self.round).await? {
            let ids = Some(index.ids_in(self.round).await?);
            return Ok(Some(Owners::Column(Arc::new(cells), ids)));
        }
        let (ids, walk) = walk_all(index, &self.reader, &Scope::Any, self.round).await?;
        Ok(Some(Owners::new(&walk, self.reader.table.len(), ids)))
    }

    fn note(&mut self, chunk: &Decoded, sent: &mut Sent) {
        match self.noted.get_mut(int::index(chunk.slot)) {
            Some(noted) if !*noted => *noted = true,
            _ => return,
        }
        if let Some(into) = sent.fragments.get_mut(int::index(chunk.slot))
            && self.fragments
        {
            into.clone_from(&chunk.fragments);
        }
        if let Some(into) = sent.buffers.get_mut(int::index(chunk.slot)) {
            *into = (!chunk.absent).then_some(chunk.rows);
        }
        self.cells_read += 1 + u64::from(chunk.fragments.is_some());
        let read = |cell: &&Cell| matches!(cell, Cell::Rows { .. } | Cell::Short { .. });
        self.cells_read += int::wide(chunk.cells.iter().filter(read).count());
        self.gaps.count(&self.reader, chunk, chunk.rows > 0);
    }
}

/// Drops chunks that no later batch uses; above the budget also others, beginning with those that are needed last.
fn shrink(cache: &mut HashMap<Slot, Arc<Decoded>>, last_use: &[usize], batch: usize, budget: u64) {
    let last = |slot: &Slot| last_use.get(int::index(*slot)).copied().unwrap_or(0);
    cache.retain(|slot, _| last(slot) > batch);
    let mut total: u64 = cache.values().map(|chunk| chunk.bytes()).sum();
    if total <= budget {
        return;
    }
    let mut slots: Vec<Slot> = cache.keys().copied().collect();
    slots.sort_unstable_by_key(|slot| (std::cmp::Reverse(last(slot)), *slot));
    for slot in slots {
        if total <= budget {
            break;
        }
        total -= cache.remove(&slot).map_or(0, |chunk| chunk.bytes());
    }
}

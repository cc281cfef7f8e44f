//! A result by object, from first to last batch.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use zvf_store::IdTable;

use super::batches::cut;
use super::fetch::{Fetch, Job, jobs};
use super::gather::GatherPlan;
use super::index::RowIndex;
use super::links::{Lines, Placed, Trees, stored};
use super::outlet::{INLINE, Outlet, Sent, Waiting};
use super::select::{self, Pick};
use crate::answer::{Emit, Schemas, Summary, Table};
use crate::columns::attribute::Cell;
use crate::error::Place;
use crate::flat::owners::Owners;
use crate::flat::run::{link_table, send};
use crate::flat::scan::{Ask, Scan, offload, started};
use crate::links::Rule;
use crate::links::branches::Parents;
use crate::links::records::{RecordCell, Touch};
use crate::links::table::LinkTable;
use crate::objects::{Form, ObjectRow, ObjectTable, ObjectValues};
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader, RowTest, What};
use crate::resolve::resolve;
use crate::vertex_table::{Out, TablePlan};
use crate::walk::{Chosen, Entry, Scope, choose, walk_all};
use crate::{QueryError, Select, int};

/// Steps, and link batches, that are made at one time.
const WORKERS: usize = 2;

/// Runs a query whose result is by object.
///
/// # Errors
///
/// Misuse: objects where there are none, unknown ids and groups. I/O; malformed cells and manifests; a limit.
pub(crate) async fn run(mut p: Prepared, mut emit: Emit) -> Result<Summary, QueryError> {
    let index = Arc::clone(select::index(&p)?);
    let asked = select::picks(&p, &index).await?;
    let mut warnings = std::mem::take(&mut p.warnings);
    let mut summary = Summary::default();
    let mut held = HashMap::new();
    let conditions = p.query.bbox.is_some() || p.query.filter.is_some();
    let (ids, picks) = match asked {
        Some(found) if p.query.select != Select::Objects || !conditions => found,
        asked if conditions => hits(&p, asked, &mut summary, &mut held).await?,
        _ => {
            let ids = index.ids_in(p.round).await?;
            let picks = (0..index.len())
                .map(|row| Pick {
                    id: ids.id(row),
                    row,
                })
                .collect();
            (ids, picks)
        }
    };
    let links = link_table(&p)?;
    let mut run = Run::plan(&p, ids, picks, links.as_ref(), held, true).await?;
    let mut answer = run
        .vertices(&p, &mut emit, links.as_ref(), &mut warnings)
        .await?;
    if answer.is_none() {
        // Rows lie in other chunks than their keys say (trap T12), so that the box cannot leave chunks out.
        warnings.push(format!(
            "level {}: rows lie in other chunks than chunk_shape says: all chunks are read",
            p.query.level
        ));
        let (ids, picks) = (Arc::clone(&run.ids), std::mem::take(&mut run.picks));
        run = Run::plan(&p, ids, picks, links.as_ref(), HashMap::new(), false).await?;
        answer = run
            .vertices(&p, &mut emit, links.as_ref(), &mut warnings)
            .await?;
    }
    let Some(mut answer) = answer else {
        let place = Place::array(p.query.level, "vertices");
        return Err(QueryError::malformed(
            place,
            "rows lie outside their chunks",
        ));
    };
    summary.vertices = answer.rows;
    summary.truncated = answer.truncated;
    if let Some(table) = links {
        summary.links = run.links(&p, &mut emit, table, &mut answer).await?;
    }
    if let Some((table, values)) = answer.objects.take() {
        summary.objects = run.objects(&p, &mut emit, &table, values, &answer).await?;
    }
    summary.chunks_read = summary.chunks_read.saturating_add(run.chunks_read);
    summary.cells_read = summary.cells_read.saturating_add(run.cells_read);
    if answer.absent > 0 {
        let count = answer.absent;
        warnings.push(format!(
            "level {}, vertices: {count} listed chunks have no object",
            p.query.level
        ));
    }
    for (column, missing) in run.reader.columns.iter().zip(&run.missing) {
        if *missing > 0 {
            let name = &column.name;
            let level = p.query.level;
            warnings.push(format!(
                "level {level}, attribute {name}: no cell for {missing} chunks, values are null"
            ));
        }
    }
    warnings.append(&mut summary.warnings);
    summary.warnings = warnings;
    Ok(summary)
}

/// The objects of which at least one row satisfies the conditions: those asked for, else all, by row. What was read
/// to find them is kept in `held`.
async fn hits(
    p: &Prepared,
    asked: Option<(Arc<IdTable>, Vec<Pick>)>,
    summary: &mut Summary,
    held: &mut HashMap<Vec<i64>, Decoded>,
) -> Result<(Arc<IdTable>, Vec<Pick>), QueryError> {
    let ask = Ask {
        fragments: true,
        walk: true,
        links: None,
        objects: None,
        hold: p.query.memory_budget / 2,
        limit: None,
        table: TablePlan {
            outs: Vec::new(),
            metadata: HashMap::new(),
        },
    };
    let mut scan = Scan::start(p, &ask).await?;
    while scan.next().await?.is_some() {}
    let (Some(walk), Some(ids)) = (scan.side.walk.clone(), scan.side.ids.clone()) else {
        return Err(QueryError::misuse("the level has no object index"));
    };
    let kept = std::mem::take(&mut scan.kept);
    let (reader, table) = (Arc::clone(&scan.reader), Arc::clone(&ids));
    let resolved = scan
        .offload(move || resolve(&reader, &walk, &kept, false, &table))
        .await?;
    scan.remarks();
    summary.chunks_read = scan.chunks;
    summary.cells_read = scan.cells;
    summary.warnings.append(&mut scan.warnings);
    for chunk in scan.held.drain(..) {
        held.insert(scan.reader.table.get(chunk.slot).to_vec(), chunk);
    }
    let hit = |row: u64| {
        resolved
            .counts
            .binary_search_by_key(&row, |(row, _)| u64::from(*row))
            .is_ok()
    };
    let picks = match asked {
        Some((_, picks)) => picks.into_iter().filter(|pick| hit(pick.row)).collect(),
        None => resolved
            .counts
            .iter()
            .map(|(row, _)| Pick {
                id: ids.id(u64::from(*row)),
                row: u64::from(*row),
            })
            .collect(),
    };
    Ok((ids, picks))
}

/// A result by object under way.
struct Run {
    ids: Arc<IdTable>,
    picks: Vec<Pick>,
    /// Objects without any manifest entry.
    empty: Vec<bool>,
    reader: Arc<Reader>,
    plan: Arc<GatherPlan>,
    fetch: Arc<Fetch>,
    jobs: BoxStream<'static, Result<Job, QueryError>>,
    ready_links: Option<Vec<RecordCell>>,
    last_use: Vec<usize>,
    pruned: bool,
    chunks_read: u64,
    cells_read: u64,
    missing: Vec<u64>,
    round: u32,
}

impl Run {
    /// Reads the manifests and plans the rest.
    async fn plan(
        p: &Prepared,
        ids: Arc<IdTable>,
        picks: Vec<Pick>,
        links: Option<&LinkTable>,
        held: HashMap<Vec<i64>, Decoded>,
        prune: bool,
    ) -> Result<Self, QueryError> {
        let index = select::index(p)?;
        let rows: Vec<u64> = picks.iter().map(|pick| pick.row).collect();
        let blobs = index.manifests_in(p.round, &rows).await?;
        let whole = p.query.select == Select::Objects;
        let scope = match &p.query.bbox {
            Some(bbox) if prune && !whole => {
                Some(p.reader.grid.candidates(bbox, &p.reader.position.world))
            }
            _ => None,
        };
        let visible = |chunk: &[i64]| {
            whole
                || (scope.as_ref().is_none_or(|scope| scope.contains(chunk))
                    && !p.reader.rules_out(chunk))
        };
        let names: Vec<i64> = picks.iter().map(|pick| pick.id).collect();
        let rank = p.level.key_rank();
        if index.key_rank() != rank {
            let place = Place::array(p.query.level, "object_index");
            return Err(QueryError::malformed(
                place,
                format!("sid_ndim is {}, expected {rank}", index.key_rank()),
            ));
        }
        let Chosen {
            table,
            starts,
            entries,
        } = choose(&blobs, &names, p.query.level, rank, visible)?;
        let mut reader = p.reader.clone();
        reader.table = table;
        reader.test.placed = scope.is_some();
        if whole {
            reader.test = RowTest::default();
            reader.filter = None;
        }
        let reader = Arc::new(reader);
        let owners: Vec<u32> = owners(&starts);
        check_grid(&reader, &entries, &owners, &names)?;
        let filtered = |name: &String| {
            !whole
                && p.query
                    .filter
                    .as_ref()
                    .is_some_and(|filter| filter.names().contains(name))
        };
        let what = What {
            vertices: true,
            fragments: true,
            attributes: reader
                .columns
                .iter()
                .enumerate()
                .map(|(index, column)| p.table.has(Out::Attribute(index)) || filtered(&column.name))
                .collect(),
        };
        let batches = cut(&entries, reader.table.len());
        let cells = match (&p.family, links.and_then(|table| table.family.as_ref())) {
            (Some(family), Some(_)) if p.rule != Rule::Sequential || !family.columns.is_empty() => {
                let touch = if p.rule == Rule::Branches {
                    Touch::Any
                } else {
                    Touch::All
                };
                family.cells(&reader.table, false, touch)?
            }
            _ => Vec::new(),
        };
        // Manifests came in the round before.
        let round = p.round + 1;
        let chunk_count = reader.table.len();
        let fetch = Arc::new(Fetch {
            reader: Arc::clone(&reader),
            what,
            round,
        });
        let jobs = jobs(p, &fetch, batches.list, held, cells);
        let plan = GatherPlan {
            reader: Arc::clone(&reader),
            table: p.table.clone(),
            entries,
            picks: owners,
            ids: names,
            most_rows: p.query.batch_rows.max(1).saturating_mul(4),
        };
        Ok(Self {
            ids,
            empty: blobs.iter().map(|blob| blob.len() <= 4).collect(),
            picks,
            missing: vec![0; reader.columns.len()],
            reader,
            plan: Arc::new(plan),
            fetch,
            jobs,
            ready_links: None,
            last_use: batches.last_use,
            pruned: scope.is_some(),
            chunks_read: int::wide(chunk_count),
            cells_read: 0,
            round,
        })
    }

    /// Sends the vertex table. `None`: rows lie outside their chunks, and nothing was sent.
    async fn vertices(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        links: Option<&LinkTable>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Sent>, QueryError> {
        let objects =
            p.query.outputs.objects.then(|| {
                ObjectTable::new(&p.level, Form::Grouped, p.table.metadata.clone(), warnings)
            });
        let values = read_values(objects.as_ref(), &self.picks, self.round);
        let (first, values) = futures::join!(self.jobs.next(), values);
        let values = values?;
        let owners = self.all_owners(p).await?;
        let chunks = self.reader.table.len();
        let mut sent = Sent {
            pieces: Vec::new(),
            fragments: vec![None; chunks],
            buffers: vec![None; chunks],
            lengths: vec![0; self.picks.len()],
            rows: 0,
            truncated: false,
            picks: self.picks.len(),
            absent: 0,
            objects: None,
        };
        let schemas = Schemas {
            vertices: None,
            links: links.map(|table| Arc::clone(&table.schema)),
            objects: objects.as_ref().map(|table| Arc::clone(&table.schema)),
        };
        sent.objects = objects.zip(values);
        let mut out = Outlet::new(p, schemas, Arc::clone(&self.reader), owners);
        let mut cache: HashMap<Slot, Arc<Decoded>> = HashMap::new();
        let mut waiting: VecDeque<Waiting> = VecDeque::new();
        let mut number = 0;
        let mut next = first.transpose()?;
        let mut done = false;
        while !done {
            match next.take() {
                Some(Job::Chunks(batch, new)) => {
                    for chunk in new {
                        self.note(&chunk, &mut sent);
                        cache.insert(chunk.slot, Arc::new(chunk));
                    }
                    // Chunks that had to make room are read again.
                    let gone: Vec<Slot> = batch
                        .slots
                        .iter()
                        .copied()
                        .filter(|slot| !cache.contains_key(slot))
                        .collect();
                    for chunk in self.fetch.chunks(gone, HashMap::new()).await? {
                        cache.insert(chunk.slot, Arc::new(chunk));
                    }
                    let data: HashMap<Slot, Arc<Decoded>> = batch
                        .slots
                        .iter()
                        .filter_map(|slot| Some((*slot, Arc::clone(cache.get(slot)?))))
                        .collect();
                    waiting.push_back(
                        Waiting::start(&self.plan, self.round, batch.entries.clone(), data).await,
                    );
                    shrink(
                        &mut cache,
                        &self.last_use,
                        number,
                        p.query.memory_budget / 2,
                    );
                    number += 1;
                }
                Some(Job::Links(cells, count)) => {
                    self.cells_read += count;
                    self.ready_links = Some(cells);
                    done = true;
                }
                None => done = true,
            }
            while waiting.len() >= WORKERS || (done && !waiting.is_empty()) {
                let Some(mut step) = waiting.pop_front() else {
                    break;
                };
                loop {
                    let (made, rest) = step.finish(&self.plan, self.round).await?;
                    if made.misplaced.is_some() && self.pruned {
                        if out.sent() {
                            let place = Place::array(p.query.level, "vertices");
                            return Err(QueryError::malformed(
                                place,
                                "rows lie outside their chunks, so that a box cannot be found",
                            ));
                        }
                        return Ok(None);
                    }
                    sent.absent += made.absent;
                    out.take(made, &self.plan, emit, &mut sent).await?;
                    match rest {
                        Some(rest) if !out.full() => step = rest,
                        _ => break,
                    }
                }
                if out.full() {
                    waiting.clear();
                    break;
                }
            }
            if out.full() {
                break;
            }
            if !done {
                next = self.jobs.try_next().await?;
            }
        }
        out.finish(&self.plan, emit, &mut sent).await?;
        Ok(Some(sent))
    }

    /// Owners of every row, where all of them are asked for.
    async fn all_owners(
        &mut self,
        p: &Prepared,
    ) -> Result<Option<(Owners, Arc<IdTable>)>, QueryError> {
        if !p.table.has(Out::ObjectIds) {
            return Ok(None);
        }
        let index = select::index(p)?;
        let (ids, walk) = walk_all(index, &self.reader, &Scope::Any, self.round).await?;
        Ok(Some((Owners::new(&walk, self.reader.table.len()), ids)))
    }

    fn note(&mut self, chunk: &Decoded, sent: &mut Sent) {
        if let Some(into) = sent.fragments.get_mut(int::at(chunk.slot)) {
            into.clone_from(&chunk.fragments);
        }
        if let Some(into) = sent.buffers.get_mut(int::at(chunk.slot)) {
            *into = (!chunk.absent).then_some(chunk.rows);
        }
        self.cells_read += 1 + u64::from(chunk.fragments.is_some());
        for (index, (cell, missing)) in chunk.cells.iter().zip(&mut self.missing).enumerate() {
            self.cells_read += u64::from(matches!(cell, Cell::Rows { .. }));
            let shown = self.plan.table.has(Out::Attribute(index)) && chunk.rows > 0;
            *missing += u64::from(shown && matches!(cell, Cell::Missing));
        }
    }

    async fn next_links(&mut self) -> Result<Option<Vec<RecordCell>>, QueryError> {
        if let Some(cells) = self.ready_links.take() {
            return Ok(Some(cells));
        }
        while let Some(job) = self.jobs.try_next().await? {
            if let Job::Links(cells, count) = job {
                self.cells_read += count;
                return Ok(Some(cells));
            }
        }
        Ok(None)
    }

    async fn links(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: LinkTable,
        answer: &mut Sent,
    ) -> Result<u64, QueryError> {
        let placed = Arc::new(Placed {
            pieces: std::mem::take(&mut answer.pieces),
            fragments: std::mem::take(&mut answer.fragments),
        });
        let buffers = Arc::new(std::mem::take(&mut answer.buffers));
        let rows = p.query.batch_rows;
        let mut sent = 0;
        if p.rule == Rule::Stored {
            let index = Arc::new(RowIndex::new(&placed.pieces, &placed.fragments));
            let mut waiting: VecDeque<BoxFuture<'static, Result<RecordBatch, QueryError>>> =
                VecDeque::new();
            loop {
                let cells = self.next_links().await?;
                let end = cells.is_none();
                if let (Some(cells), Some(family)) = (cells, table.family.clone()) {
                    let (table, index, buffers) =
                        (table.clone(), Arc::clone(&index), Arc::clone(&buffers));
                    let work = move || {
                        let of = |slot: Slot| buffers.get(int::at(slot)).copied().flatten();
                        cells
                            .iter()
                            .try_for_each(|cell| family.check_rows(cell, of))?;
                        stored(&table, &cells, &index)
                    };
                    waiting.push_back(started(offload(&self.reader, self.round, work)).await);
                }
                while waiting.len() >= WORKERS || (end && !waiting.is_empty()) {
                    let Some(batch) = waiting.pop_front() else {
                        break;
                    };
                    sent += send(emit, Table::Links, &batch.await?, rows).await;
                }
                if end {
                    return Ok(sent);
                }
            }
        }
        let mut cells = Vec::new();
        while let Some(mut more) = self.next_links().await? {
            if let Some(family) = &table.family {
                let of = |slot: Slot| buffers.get(int::at(slot)).copied().flatten();
                more.iter()
                    .try_for_each(|cell| family.check_rows(cell, of))?;
            }
            cells.append(&mut more);
        }
        type Make = Arc<dyn Fn(Range<usize>) -> Result<RecordBatch, QueryError> + Send + Sync>;
        let make: Make = if p.rule == Rule::Branches {
            let index = RowIndex::new(&placed.pieces, &placed.fragments);
            let parents = Parents::new(table.family.as_deref(), cells)?;
            let trees = Trees {
                table,
                placed: Arc::clone(&placed),
                index,
                parents,
            };
            Arc::new(move |range| trees.batch(range))
        } else {
            let lines = Lines::new(table, Arc::clone(&placed), cells);
            Arc::new(move |range| lines.batch(range))
        };
        if answer.rows <= INLINE {
            let batch = make(0..placed.pieces.len())?;
            return Ok(send(emit, Table::Links, &batch, rows).await);
        }
        let (reader, round) = (Arc::clone(&self.reader), self.round);
        let batches = placed
            .ranges(int::wide(rows))
            .into_iter()
            .map(move |range| {
                let make = Arc::clone(&make);
                offload(&reader, round, move || make(range))
            });
        let mut batches = stream::iter(batches).buffered(WORKERS);
        while let Some(batch) = batches.try_next().await? {
            sent += send(emit, Table::Links, &batch, rows).await;
        }
        Ok(sent)
    }

    async fn objects(
        &mut self,
        p: &Prepared,
        emit: &mut Emit,
        table: &ObjectTable,
        values: ObjectValues,
        answer: &Sent,
    ) -> Result<u64, QueryError> {
        let mut rows = Vec::with_capacity(answer.picks);
        let mut start = 0;
        let drop_empty = p.query.select == Select::Objects;
        for (number, pick) in self.picks.iter().enumerate().take(answer.picks) {
            let length = answer.lengths.get(number).copied().unwrap_or(0);
            if length > 0 || !drop_empty {
                rows.push(ObjectRow {
                    id: pick.id,
                    row: Some(pick.row),
                    numbers: [start, length, 0],
                    empty: self.empty.get(number).copied().unwrap_or(true),
                });
            }
            start += length;
        }
        let mut sent = 0;
        for rows in rows.chunks(p.query.batch_rows.max(1)) {
            let batch = table.batch(Form::Grouped, rows, &values)?;
            sent += send(emit, Table::Objects, &batch, p.query.batch_rows).await;
        }
        Ok(sent)
    }
}

/// Drops chunks that no later batch uses; past the budget also others, those first that are used last.
fn shrink(cache: &mut HashMap<Slot, Arc<Decoded>>, last_use: &[usize], batch: usize, budget: u64) {
    let last = |slot: &Slot| last_use.get(int::at(*slot)).copied().unwrap_or(0);
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

/// Number of the object of each entry.
fn owners(starts: &[usize]) -> Vec<u32> {
    let spans = starts.windows(2).map(|pair| match pair {
        [start, end] => end.saturating_sub(*start),
        _ => 0,
    });
    (0_u32..)
        .zip(spans)
        .flat_map(|(pick, count)| std::iter::repeat_n(pick, count))
        .collect()
}

/// Manifests may only name chunks that the grid can hold.
fn check_grid(
    reader: &Reader,
    entries: &[Entry],
    owners: &[u32],
    ids: &[i64],
) -> Result<(), QueryError> {
    let bad = (0_u32..)
        .zip(reader.table.iter())
        .find(|(_, chunk)| !reader.in_grid(chunk));
    let Some((slot, chunk)) = bad else {
        return Ok(());
    };
    let owner = entries
        .iter()
        .position(|entry| entry.slot == slot)
        .and_then(|at| owners.get(at));
    let id = owner.and_then(|owner| ids.get(int::at(*owner))).copied();
    let place = Place::cell(reader.number, "object_index/manifests", chunk).of(id);
    Err(QueryError::malformed(
        place,
        "the manifest names a chunk outside the grid",
    ))
}

/// Attribute values of the objects of an answer.
async fn read_values(
    table: Option<&ObjectTable>,
    picks: &[Pick],
    round: u32,
) -> Result<Option<ObjectValues>, QueryError> {
    let Some(table) = table else { return Ok(None) };
    let first = picks.iter().map(|pick| pick.row).min().unwrap_or(0);
    let last = picks
        .iter()
        .map(|pick| pick.row.saturating_add(1))
        .max()
        .unwrap_or(0);
    table.read(first..last, round).await.map(Some)
}

//! A chain of levels by object: each object is what all levels have of it, the finest level first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::try_join_all;
use zvf_store::IdTable;

use super::flat::{Tables, object_table, plain, send_links, start};
use super::links::Placement;
use super::objects::{UnionRow, bit, share};
use super::part::{PartAnswer, add};
use super::union::fitted;
use crate::answer::{Emit, Summary, Table, items};
use crate::flat::run::send;
use crate::grouped::run::{Choice, choose, deliver};
use crate::grouped::select::{self, Pick};
use crate::objects::Form;
use crate::prepare::{Part, Prepared};
use crate::{Query, QueryError, Select, int};

/// Runs a query over a chain of levels whose result is by object.
///
/// # Errors
///
/// Those of each level; misuse: an id that no level of the chain has. Unsupported: values of one column that fit no
/// common type.
pub(crate) async fn run(mut levels: Vec<Prepared>, emit: &mut Emit) -> Result<Summary, QueryError> {
    let Some(asked) = levels.first().map(|first| first.query.clone()) else {
        return Ok(Summary::default());
    };
    // Object attributes come last.
    let round = levels
        .first()
        .map_or(0, |first| first.round.saturating_add(2));
    let mut summary = Summary {
        levels: levels.iter().map(|p| p.query.level).collect(),
        ..Summary::default()
    };
    let objects = object_table(&levels, Form::Grouped, &mut summary.warnings)?;
    let plain = plain(&levels);
    for p in &mut levels {
        p.part = Some(Part {
            gate: None,
            first: None,
        });
    }
    let (order, choices) = choose_all(&levels).await?;
    let chosen = levels.into_iter().zip(choices).enumerate();
    let chosen = chosen.filter_map(|(at, (p, choice))| Some((at, p, choice?)));
    let (mut waiting, mut merges, mut prepared) = (HashMap::new(), Vec::new(), Vec::new());
    for (at, p, (choice, positions)) in chosen {
        waiting.insert(p.query.level, choice);
        merges.push((at, positions));
        prepared.push(p);
    }
    let waiting = std::sync::Mutex::new(waiting);
    let mut parts = start(prepared, |p| {
        let mut waiting = waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let choice = waiting.remove(&p.query.level);
        items(|mut emit| async move {
            let summary = match choice {
                Some(choice) => deliver(p, choice, &mut emit).await?,
                None => Summary::default(),
            };
            emit.flush().await;
            Ok(summary)
        })
    })
    .await?;
    let tables = Tables::new(&parts, &plain)?;
    emit.schemas(tables.schemas(objects.as_ref())).await;
    let merge = Merge {
        query: &asked,
        lines: merges
            .into_iter()
            .map(|(at, positions)| Line::new(at, positions))
            .collect(),
        rows: 0,
        truncated: false,
        included: order.len(),
        lengths: vec![0; order.len()],
        live: vec![0; order.len()],
        waiting: Vec::new(),
        waiting_rows: 0,
    };
    let merge = merge.run(&mut parts, &tables, emit).await?;
    summary.vertices = merge.rows;
    summary.truncated = merge.truncated;
    let placements: Vec<Placement> = merge.lines.into_iter().map(|line| line.placement).collect();
    send_links(&mut parts, &placements, &tables, &mut summary, emit).await?;
    if let Some(table) = objects {
        let mut rows = Vec::with_capacity(merge.included);
        let mut first = 0_u64;
        let known = order.iter().zip(merge.lengths.iter().zip(&merge.live));
        for (id, (length, live)) in known.take(merge.included) {
            if *length > 0 || asked.select != Select::Objects {
                rows.push(UnionRow {
                    id: *id,
                    numbers: [first, *length, 0],
                    live: *live,
                });
            }
            first = first.saturating_add(*length);
        }
        let budget = share(asked.memory_budget, 1);
        summary.objects = table
            .send(&rows, round, asked.batch_rows, budget, emit)
            .await?;
    }
    for part in &parts {
        add(&mut summary, &part.summary);
    }
    Ok(summary)
}

/// What one level delivers: its objects, and their places in the answer.
type OneChoice = Option<(Choice, Vec<u32>)>;

/// Chooses the objects of the answer and, for each level that has an object index, those it has: an object is taken on
/// every level of the chain as soon as one of them satisfies the conditions.
async fn choose_all(levels: &[Prepared]) -> Result<(Vec<i64>, Vec<OneChoice>), QueryError> {
    let Some(first) = levels.first() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let tables = levels.iter().map(|p| async move {
        match p.level.object_index() {
            Some(index) => Ok::<_, QueryError>(Some(index.ids_in(p.round).await?)),
            None => Ok(None),
        }
    });
    let tables: Vec<Option<Arc<IdTable>>> = try_join_all(tables).await?;
    if tables.iter().all(Option::is_none) {
        select::index(first)?;
    }
    let known = |id: i64| {
        tables
            .iter()
            .enumerate()
            .find_map(|(at, ids)| Some((at, ids.as_ref()?.slot(id)?)))
    };
    let query = &first.query;
    let asked = if query.objects.is_some() || query.groups.is_some() {
        let members = members(levels).await?;
        Some(select::named(first, members, &|id| known(id).is_some())?)
    } else {
        None
    };
    let conditions = query.bbox.is_some() || query.filter.is_some();
    let hitting = conditions && query.select == Select::Objects;
    let chosen = levels.iter().zip(&tables).map(|(p, ids)| {
        let asked = asked.as_deref();
        async move {
            let Some(ids) = ids else { return Ok(None) };
            let asked = asked.map(|asked| (Arc::clone(ids), picks(ids, asked).0));
            if hitting || asked.is_none() {
                return choose(p, asked).await.map(Some);
            }
            Ok::<_, QueryError>(Some(Choice {
                ids: Arc::clone(ids),
                picks: Vec::new(),
                held: HashMap::new(),
                summary: Summary::default(),
            }))
        }
    });
    let mut chosen: Vec<Option<Choice>> = try_join_all(chosen).await?;
    let hits: HashSet<i64> = chosen
        .iter()
        .flatten()
        .flat_map(|choice| choice.picks.iter().map(|pick| pick.id))
        .collect();
    let order: Vec<i64> = match asked {
        Some(asked) if hitting => asked.into_iter().filter(|id| hits.contains(id)).collect(),
        Some(asked) => asked,
        None => {
            let mut all: Vec<(usize, u64, i64)> = hits
                .into_iter()
                .filter_map(|id| known(id).map(|(at, row)| (at, row, id)))
                .collect();
            all.sort_unstable();
            all.into_iter().map(|(_, _, id)| id).collect()
        }
    };
    let choices = chosen.drain(..).map(|choice| {
        let mut choice = choice?;
        let (picks, positions) = picks(&choice.ids, &order);
        choice.picks = picks;
        Some((choice, positions))
    });
    let choices = choices.collect();
    Ok((order, choices))
}

/// The objects of a list that a level knows, and their places in the list.
fn picks(ids: &IdTable, list: &[i64]) -> (Vec<Pick>, Vec<u32>) {
    let found = (0_u32..).zip(list);
    found
        .filter_map(|(at, id)| {
            Some((
                Pick {
                    id: *id,
                    row: ids.slot(*id)?,
                },
                at,
            ))
        })
        .unzip()
}

/// Members of the groups asked for, from the first level of the chain that has groups.
async fn members(levels: &[Prepared]) -> Result<Option<Vec<i64>>, QueryError> {
    let own = levels.iter().find(|p| p.level.groups().is_some());
    match own.or(levels.first()) {
        Some(p) => select::members(p).await,
        None => Ok(None),
    }
}

/// The vertex table of one level on its way into the answer.
struct Line {
    /// Place in the chain.
    at: usize,
    /// Place in the answer of each of its objects, rising.
    positions: Vec<u32>,
    /// Batches that came, in the answer's schema.
    batches: VecDeque<RecordBatch>,
    placement: Placement,
}

impl Line {
    fn new(at: usize, positions: Vec<u32>) -> Self {
        Self {
            at,
            positions,
            batches: VecDeque::new(),
            placement: Placement::default(),
        }
    }

    fn position(&self, pick: u32) -> Option<u32> {
        self.positions.get(int::index(pick)).copied()
    }

    /// Takes the next item of the level; whether there was one of its vertex table.
    async fn step(&mut self, part: &mut PartAnswer, tables: &Tables) -> Result<bool, QueryError> {
        if part.vertices.is_some() || !part.step().await? {
            return Ok(false);
        }
        if let (Some(batch), Some(schema)) = (part.stepped(), &tables.vertices) {
            self.batches
                .push_back(fitted(part.level, "vertices", schema, &batch)?);
        }
        Ok(true)
    }

    /// The place in the answer of the object whose rows come next; `None` at the end.
    async fn head(
        &mut self,
        part: &mut PartAnswer,
        tables: &Tables,
    ) -> Result<Option<u32>, QueryError> {
        loop {
            if let Some((pick, _)) = part.runs.front() {
                return Ok(self.position(*pick));
            }
            if !self.step(part, tables).await? {
                return Ok(None);
            }
        }
    }

    /// All rows that the level has of the object at a place, once they are known.
    async fn total(
        &mut self,
        part: &mut PartAnswer,
        tables: &Tables,
        place: u32,
    ) -> Result<u64, QueryError> {
        let own = |line: &Self, pick: u32| line.position(pick) == Some(place);
        loop {
            let last = part.runs.back().copied();
            let open = last.is_none_or(|(pick, _)| {
                self.position(pick).is_none_or(|position| position <= place)
            });
            if !open || !self.step(part, tables).await? {
                break;
            }
        }
        let runs = part.runs.iter().take_while(|(pick, _)| own(self, *pick));
        Ok(runs.map(|(_, rows)| *rows).sum())
    }
}

/// The vertex tables of all levels as one, object after object.
struct Merge<'q> {
    query: &'q Query,
    lines: Vec<Line>,
    rows: u64,
    truncated: bool,
    /// The objects of the answer are those before this place.
    included: usize,
    /// Rows of each object.
    lengths: Vec<u64>,
    /// Levels that have rows of each object.
    live: Vec<u64>,
    /// Rows that wait until there are enough for a batch.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

impl Merge<'_> {
    async fn run(
        mut self,
        parts: &mut [PartAnswer],
        tables: &Tables,
        emit: &mut Emit,
    ) -> Result<Self, QueryError> {
        let whole = self.query.select == Select::Objects;
        let mut lines = std::mem::take(&mut self.lines);
        'objects: loop {
            let mut next: Option<u32> = None;
            for (line, part) in lines.iter_mut().zip(parts.iter_mut()) {
                let head = line.head(part, tables).await?;
                next = match (next, head) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
            let Some(place) = next else { break };
            if let Some(limit) = self.query.limit.filter(|_| whole) {
                let mut total = 0_u64;
                for (line, part) in lines.iter_mut().zip(parts.iter_mut()) {
                    total = total.saturating_add(line.total(part, tables, place).await?);
                }
                if total > limit.saturating_sub(self.rows) {
                    self.truncated = true;
                    self.included = int::index(place);
                    break;
                }
            }
            for (line, part) in lines.iter_mut().zip(parts.iter_mut()) {
                while line.head(part, tables).await? == Some(place) {
                    let Some((_, rows)) = part.runs.pop_front() else {
                        break;
                    };
                    let room = self
                        .query
                        .limit
                        .map_or(rows, |limit| limit.saturating_sub(self.rows));
                    let taken = rows.min(room);
                    self.take(line, part, tables, taken, emit).await?;
                    if let Some(length) = self.lengths.get_mut(int::index(place)) {
                        *length = length.saturating_add(taken);
                    }
                    if let Some(live) = self.live.get_mut(int::index(place)) {
                        *live |= bit(line.at);
                    }
                    if taken < rows {
                        self.truncated = true;
                        let started = self
                            .lengths
                            .get(int::index(place))
                            .is_some_and(|rows| *rows > 0);
                        self.included = int::index(place) + usize::from(started);
                        break 'objects;
                    }
                }
            }
        }
        self.flush(emit).await?;
        self.lines = lines;
        Ok(self)
    }

    /// Takes the next rows of a level.
    async fn take(
        &mut self,
        line: &mut Line,
        part: &mut PartAnswer,
        tables: &Tables,
        rows: u64,
        emit: &mut Emit,
    ) -> Result<(), QueryError> {
        line.placement.push(rows, self.rows);
        self.rows = self.rows.saturating_add(rows);
        let mut left = usize::try_from(rows).unwrap_or(usize::MAX);
        while tables.vertices.is_some() && left > 0 {
            let Some(batch) = line.batches.pop_front() else {
                if line.step(part, tables).await? {
                    continue;
                }
                break;
            };
            let cut = left.min(batch.num_rows());
            self.waiting.push(batch.slice(0, cut));
            self.waiting_rows += cut;
            left -= cut;
            if cut < batch.num_rows() {
                line.batches
                    .push_front(batch.slice(cut, batch.num_rows() - cut));
            }
            if self.waiting_rows >= self.query.batch_rows {
                self.flush(emit).await?;
            }
        }
        Ok(())
    }

    /// Sends what waits.
    async fn flush(&mut self, emit: &mut Emit) -> Result<(), QueryError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_rows = 0;
        let Some(first) = waiting.first() else {
            return Ok(());
        };
        let batch = if waiting.len() == 1 {
            first.clone()
        } else {
            arrow_select::concat::concat_batches(first.schema_ref(), &waiting)
                .map_err(|error| super::union::wrong(self.query.level, "vertices", &error))?
        };
        send(emit, Table::Vertices, &batch, self.query.batch_rows).await;
        Ok(())
    }
}

//! Queries of a chain of levels by object: each object has its rows of all levels, the finest level first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use futures::future::try_join_all;
use zvf_store::IdTable;

use super::level_answer::LevelAnswer;
use super::objects::{UnionRow, bit};
use super::schema::{fitted, wrong};
use super::tables::{Tables, object_table, plain};
use crate::answer::{Emit, Summary, Table};
use crate::error::OrBug;
use crate::gather::run::{Choice, choose, deliver};
use crate::gather::select::{self, Pick};
use crate::objects::Form;
use crate::prepare::{Part, Prepared};
use crate::vertex_table::Out;
use crate::{Query, QueryError, Select};
use zvf_store::format::int;

/// Runs a query over a chain of levels with a result by object.
///
/// # Errors
///
/// The errors of each level; misuse: an id that no level of the chain has. Unsupported: values of one column that fit no
/// common type.
pub(crate) async fn run(mut levels: Vec<Prepared>, emit: &mut Emit) -> Result<Summary, QueryError> {
    let Some(first) = levels.first() else {
        return Ok(Summary::default());
    };
    let (asked, empty_objects) = (first.query.clone(), first.empty_objects);
    // Object attributes are requested in the last round.
    let round = first.round.saturating_add(2);
    let mut summary = Summary {
        levels: levels.iter().map(|p| p.query.level).collect(),
        ..Summary::default()
    };
    let objects = object_table(&levels, Form::Grouped, &mut summary.warnings)?;
    let plain = plain(&levels);
    for p in &mut levels {
        p.part = Some(Part::default());
        // The object table is made here, from the rows of the levels; the column `Pick` numbers their objects.
        p.query.outputs.objects = false;
        p.table.outs.push(Out::Pick);
    }
    let (order, choices) = choose_all(&levels).await?;
    let (mut starts, mut places) = (Vec::new(), Vec::new());
    for (at, (p, choice)) in levels.into_iter().zip(choices).enumerate() {
        let Some((choice, positions)) = choice else {
            continue;
        };
        places.push((at, positions));
        let level = p.query.level;
        starts.push(LevelAnswer::start(level, |mut emit| async move {
            let summary = deliver(p, choice, &mut emit).await?;
            emit.flush().await;
            Ok(summary)
        }));
    }
    let answers = try_join_all(starts).await?;
    let tables = Tables::new(&answers, &plain, asked.outputs.vertices)?;
    emit.schemas(tables.schemas(objects.as_ref())).await;
    let lines = answers.into_iter().zip(places);
    let lines = lines.map(|(answer, (at, places))| Line {
        at,
        answer,
        places,
        runs: VecDeque::new(),
    });
    let mut lines: Vec<Line> = lines.collect();
    let mut merge = Merge {
        query: &asked,
        tables: &tables,
        rows: 0,
        truncated: false,
        included: order.len(),
        lengths: vec![0; order.len()],
        live: vec![0; order.len()],
        waiting: Vec::new(),
        waiting_rows: 0,
    };
    merge.run(&mut lines, emit).await?;
    summary.vertices = merge.rows;
    summary.truncated = merge.truncated;
    for line in &mut lines {
        let of = &mut line.answer;
        tables.send_links(of, &mut summary, emit).await?;
        of.finish(&mut summary).await?;
    }
    if let Some(table) = objects {
        let mut rows = Vec::with_capacity(merge.included);
        let mut first = 0_u64;
        let known = order.iter().zip(merge.lengths.iter().zip(&merge.live));
        for (id, (length, live)) in known.take(merge.included) {
            if *length > 0 || empty_objects {
                rows.push(UnionRow {
                    id: *id,
                    numbers: [first, *length, 0],
                    live: *live,
                });
            }
            first = first.saturating_add(*length);
        }
        let budget = asked.memory_budget / 4;
        summary.objects = table
            .send(&rows, round, asked.batch_rows, budget, emit)
            .await?;
    }
    Ok(summary)
}

/// The objects of one level, and their places in the answer.
type OneChoice = Option<(Choice, Vec<u32>)>;

/// Chooses the objects of the answer and, for each level with an object index, those that it has. If an object satisfies the conditions on one
/// level, its rows of all levels are in the answer.
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
            let asked = asked.map(|asked| picks(ids, asked).0);
            if hitting || asked.is_none() {
                return choose(p, asked).await.map(Some);
            }
            Ok::<_, QueryError>(Some(Choice {
                picks: Vec::new(),
                held: HashMap::new(),
                summary: Summary::default(),
            }))
        }
    });
    let chosen: Vec<Option<Choice>> = try_join_all(chosen).await?;
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
    let choices = chosen.into_iter().zip(&tables).map(|(choice, ids)| {
        let (mut choice, ids) = (choice?, ids.as_deref()?);
        let (picks, positions) = picks(ids, &order);
        choice.picks = picks;
        Some((choice, positions))
    });
    let choices = choices.collect();
    Ok((order, choices))
}

/// The objects of a list that a level has, and their places in the list.
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

/// Members of the requested groups, from the first level of the chain with groups.
async fn members(levels: &[Prepared]) -> Result<Option<Vec<i64>>, QueryError> {
    let own = levels.iter().find(|p| p.level.groups().is_some());
    match own.or(levels.first()) {
        Some(p) => select::members(p).await,
        None => Ok(None),
    }
}

/// The state of the vertex table of one level.
struct Line {
    /// Place in the chain.
    at: usize,
    answer: LevelAnswer,
    /// Place in the answer of each of its objects, rising.
    places: Vec<u32>,
    /// Consecutive rows of one object, with its place; in the columns of the answer.
    runs: VecDeque<(u32, RecordBatch)>,
}

impl Line {
    /// Reads the next batch of the level; returns whether there was one.
    async fn fill(&mut self, tables: &Tables) -> Result<bool, QueryError> {
        let Some(mut batch) = self.answer.next(Table::Vertices).await? else {
            return Ok(false);
        };
        let picks = batch.columns().last().cloned();
        let picks = picks
            .as_ref()
            .and_then(|picks| picks.as_primitive_opt::<UInt32Type>());
        let picks = picks.or_bug("rows without the numbers of their objects")?;
        if let Some(schema) = &tables.vertices {
            batch = fitted(self.answer.level, "vertices", schema, &batch)?;
        }
        let mut start = 0;
        for run in picks.values().chunk_by(|a, b| a == b) {
            let pick = run.first().and_then(|pick| usize::try_from(*pick).ok());
            let place = pick.and_then(|pick| self.places.get(pick));
            let place = *place.or_bug("rows of an object that is not there")?;
            self.runs.push_back((place, batch.slice(start, run.len())));
            start += run.len();
        }
        Ok(true)
    }

    /// The place of the object with the next rows; `None` at the end.
    async fn next_place(&mut self, tables: &Tables) -> Result<Option<u32>, QueryError> {
        while self.runs.is_empty() {
            if !self.fill(tables).await? {
                return Ok(None);
            }
        }
        Ok(self.runs.front().map(|(place, _)| *place))
    }

    /// The number of rows of the object at a place, which is the next one or later.
    async fn total(&mut self, tables: &Tables, place: u32) -> Result<u64, QueryError> {
        while self.runs.back().is_none_or(|(last, _)| *last <= place) {
            if !self.fill(tables).await? {
                break;
            }
        }
        let own = self.runs.iter().take_while(|(of, _)| *of == place);
        Ok(own.map(|(_, rows)| int::wide(rows.num_rows())).sum())
    }
}

/// Merges the vertex tables of all levels, object by object.
struct Merge<'q> {
    query: &'q Query,
    tables: &'q Tables,
    rows: u64,
    truncated: bool,
    /// How many of the chosen objects are in the answer: the first ones.
    included: usize,
    /// Rows of each object.
    lengths: Vec<u64>,
    /// The levels with rows of each object, as bits.
    live: Vec<u64>,
    /// Rows of the next batch.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

impl Merge<'_> {
    async fn run(&mut self, lines: &mut [Line], emit: &mut Emit) -> Result<(), QueryError> {
        loop {
            let mut next: Option<u32> = None;
            for line in lines.iter_mut() {
                let place = line.next_place(self.tables).await?;
                next = next.into_iter().chain(place).min();
            }
            let Some(place) = next else { break };
            if !self.object(lines, place, emit).await? {
                self.truncated = true;
                break;
            }
        }
        self.flush(emit).await
    }

    /// Adds the rows of the object at a place from all levels; returns whether they are within the limit.
    async fn object(
        &mut self,
        lines: &mut [Line],
        place: u32,
        emit: &mut Emit,
    ) -> Result<bool, QueryError> {
        let number = int::index(place);
        let limit = self.query.limit;
        let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.rows));
        if self.query.limit_of_whole().is_some() {
            let mut total = 0_u64;
            for line in lines.iter_mut() {
                total = total.saturating_add(line.total(self.tables, place).await?);
            }
            if total > room {
                self.included = number;
                return Ok(false);
            }
        }
        let mut length = 0_u64;
        for line in lines {
            while line.next_place(self.tables).await? == Some(place) {
                let (_, rows) = line.runs.pop_front().or_bug("no rows at a place")?;
                let left = usize::try_from(room.saturating_sub(length)).unwrap_or(usize::MAX);
                let taken = rows.num_rows().min(left);
                line.answer.placement.push(int::wide(taken), self.rows);
                length = length.saturating_add(int::wide(taken));
                self.rows = self.rows.saturating_add(int::wide(taken));
                let none = "a place of no object";
                *self.lengths.get_mut(number).or_bug(none)? = length;
                *self.live.get_mut(number).or_bug(none)? |= bit(line.at);
                self.waiting.push(rows.slice(0, taken));
                self.waiting_rows += taken;
                if self.waiting_rows >= self.query.batch_rows {
                    self.flush(emit).await?;
                }
                if taken < rows.num_rows() {
                    self.included = number + usize::from(length > 0);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Sends the waiting rows.
    async fn flush(&mut self, emit: &mut Emit) -> Result<(), QueryError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_rows = 0;
        let Some(schema) = &self.tables.vertices else {
            return Ok(());
        };
        if !waiting.is_empty() {
            let batch = arrow_select::concat::concat_batches(schema, &waiting)
                .map_err(|error| wrong(self.query.level, "vertices", &error))?;
            emit.send(Table::Vertices, &batch, self.query.batch_rows)
                .await;
        }
        Ok(())
    }
}

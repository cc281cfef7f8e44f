//! Queries of a chain of levels in chunk order: the rows of the finest level first, each level as in a query of a single level.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use futures::future::try_join_all;
use futures_channel::oneshot;

use super::level_answer::LevelAnswer;
use super::objects::Sums;
use super::schema::fitted;
use super::tables::{Tables, object_table, plain};
use crate::QueryError;
use crate::answer::{Emit, Summary, Table};
use crate::error::OrBug;
use crate::objects::Form;
use crate::prepare::{Part, Prepared};
use zvf_store::format::int;

/// Runs a query over a chain of levels with a result in chunk order.
///
/// # Errors
///
/// The errors of each level; unsupported: values of one column that fit no common type.
pub(crate) async fn run(mut levels: Vec<Prepared>, emit: &mut Emit) -> Result<Summary, QueryError> {
    let Some(first) = levels.first() else {
        return Ok(Summary::default());
    };
    let (asked, grid) = (first.query.clone(), first.reader.grid.clone());
    // Object attributes are requested in the last round.
    let round = first.round.saturating_add(2);
    let plain = plain(&levels);
    let mut summary = Summary {
        levels: levels.iter().map(|p| p.query.level).collect(),
        ..Summary::default()
    };
    let objects = object_table(&levels, Form::Counted, &mut summary.warnings)?;
    let mut gates = Vec::with_capacity(levels.len());
    for (at, p) in levels.iter_mut().enumerate() {
        let (open, gate) = oneshot::channel();
        gates.push(open);
        p.part = Some(Part {
            gate: asked.limit.map(|_| gate),
            first: (at > 0).then(|| grid.clone()),
        });
    }
    let starts = levels.into_iter().map(|p| {
        LevelAnswer::start(p.query.level, |mut emit| async move {
            let summary = crate::scan::run::run(p, &mut emit).await?;
            emit.flush().await;
            Ok(summary)
        })
    });
    let mut answers = try_join_all(starts).await?;
    let tables = Tables::new(&answers, &plain, asked.outputs.vertices)?;
    emit.schemas(tables.schemas(objects.as_ref())).await;

    for (of, gate) in answers.iter_mut().zip(gates) {
        // The send fails if the level has already ended.
        let limit = asked.limit.unwrap_or(u64::MAX);
        let _ = gate.send(limit.saturating_sub(summary.vertices));
        while let Some(batch) = of.next(Table::Vertices).await? {
            let rows = int::wide(batch.num_rows());
            of.placement.push(rows, summary.vertices);
            summary.vertices = summary.vertices.saturating_add(rows);
            if let Some(schema) = &tables.vertices {
                let batch = fitted(of.level, "vertices", schema, &batch)?;
                emit.batch(Table::Vertices, batch).await;
            }
        }
    }
    let mut sums = Sums::default();
    for (at, of) in answers.iter_mut().enumerate() {
        tables.send_links(of, &mut summary, emit).await?;
        while let Some(batch) = of.next(Table::Objects).await? {
            let [ids, counts] = [0, 1].map(|at| batch.columns().get(at));
            let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
            let counts = counts.and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
            let (ids, counts) = ids.zip(counts).or_bug("objects without ids and counts")?;
            for (id, rows) in ids.values().iter().zip(counts.values()) {
                sums.add(at, *id, [*rows, 0, 0]);
            }
        }
        of.finish(&mut summary).await?;
        summary.truncated |= of.answer.summary().truncated;
    }
    if let Some(table) = objects {
        let budget = asked.memory_budget / 4;
        summary.objects = table
            .send(&sums.rows, round, asked.batch_rows, budget, emit)
            .await?;
    }
    Ok(summary)
}

//! A chain of levels in chunk order: the rows of the finest level first, each level as it would stand alone.

use futures::channel::oneshot;
use futures::future::try_join_all;
use zvf_store::Level;

use super::links::{Placement, renumbered};
use super::objects::{ObjectUnion, Sums, share};
use super::part::{PartAnswer, add};
use super::union::{self, Source, fitted, wrong};
use crate::QueryError;
use crate::answer::{Emit, Schemas, Summary, Table, items};
use crate::objects::Form;
use crate::prepare::{Part, Prepared};
use crate::vertex_table::Out;

/// Runs a query over a chain of levels whose result is in chunk order.
///
/// # Errors
///
/// Those of each level; unsupported: values of one column that fit no common type.
pub(crate) async fn run(mut levels: Vec<Prepared>, emit: &mut Emit) -> Result<Summary, QueryError> {
    let Some(asked) = levels.first().map(|first| first.query.clone()) else {
        return Ok(Summary::default());
    };
    // Object attributes come last.
    let round = levels
        .first()
        .map_or(0, |first| first.round.saturating_add(2));
    let plain = plain(&levels);
    let mut summary = Summary {
        levels: levels.iter().map(|p| p.query.level).collect(),
        ..Summary::default()
    };
    let objects = object_table(&levels, Form::Counted, &mut summary.warnings)?;
    let budget = share(asked.memory_budget, 1);
    let grid = levels.first().map(|first| first.reader.grid.clone());
    let mut gates = Vec::with_capacity(levels.len());
    for (at, p) in levels.iter_mut().enumerate() {
        let (open, gate) = oneshot::channel();
        gates.push(open);
        p.part = Some(Part {
            gate: asked.limit.map(|_| gate),
            first: grid.clone().filter(|_| at > 0),
        });
    }
    let mut parts = start(levels, |p| {
        items(|mut emit| async move {
            let summary = crate::flat::run::run(p, &mut emit).await?;
            emit.flush().await;
            Ok(summary)
        })
    })
    .await?;
    let tables = Tables::new(&parts, &plain)?;
    emit.schemas(tables.schemas(objects.as_ref())).await;

    let mut placements = Vec::with_capacity(parts.len());
    for (part, gate) in parts.iter_mut().zip(gates) {
        // A level that has ended already does not listen.
        let _ = gate.send(
            asked
                .limit
                .unwrap_or(u64::MAX)
                .saturating_sub(summary.vertices),
        );
        while let Some(batch) = part.next(Table::Vertices).await? {
            if let Some(schema) = &tables.vertices {
                let batch = fitted(part.level, "vertices", schema, &batch)?;
                emit.batch(Table::Vertices, batch).await;
            }
        }
        let mut placement = Placement::default();
        if let Some(end) = part.vertices {
            placement.push(end.rows, summary.vertices);
            summary.vertices = summary.vertices.saturating_add(end.rows);
            summary.truncated |= end.truncated;
        }
        placements.push(placement);
    }
    send_links(&mut parts, &placements, &tables, &mut summary, emit).await?;
    if let Some(table) = objects {
        let mut sums = Sums::default();
        for (at, part) in parts.iter().enumerate() {
            for count in &part.counts {
                sums.add(at, count.id, [count.rows, 0, 0]);
            }
        }
        summary.objects = table
            .send(&sums.rows, round, asked.batch_rows, budget, emit)
            .await?;
    }
    for part in &parts {
        add(&mut summary, &part.summary);
    }
    Ok(summary)
}

/// Starts all levels and waits for their schemas.
pub(super) async fn start(
    levels: Vec<Prepared>,
    run: impl Fn(Prepared) -> crate::answer::Items,
) -> Result<Vec<PartAnswer>, QueryError> {
    let starts = levels.into_iter().map(|p| {
        let level = p.query.level;
        PartAnswer::start(level, run(p))
    });
    try_join_all(starts).await
}

/// For each column of the vertex table whether levels have other categories of it, so that one dictionary cannot hold
/// its values.
pub(super) fn plain(levels: &[Prepared]) -> Vec<bool> {
    let Some(first) = levels.first() else {
        return Vec::new();
    };
    let differs = |index: usize| {
        let columns = levels.iter().filter_map(|p| p.reader.columns.get(index));
        let mut stored = columns.filter(|column| !column.absent);
        let categories = stored.next().and_then(|column| column.categories.clone());
        stored.any(|column| column.categories != categories)
    };
    first
        .table
        .outs
        .iter()
        .map(|out| matches!(out, Out::Attribute(index) if differs(*index)))
        .collect()
}

/// The object table of a chain, where it is asked for.
pub(super) fn object_table(
    levels: &[Prepared],
    form: Form,
    warnings: &mut Vec<String>,
) -> Result<Option<ObjectUnion>, QueryError> {
    let Some(first) = levels.first().filter(|first| first.query.outputs.objects) else {
        return Ok(None);
    };
    let chain: Vec<Level> = levels.iter().map(|p| p.level.clone()).collect();
    ObjectUnion::new(&chain, form, &first.table.metadata, warnings)
}

/// The schemas of a chain's tables.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) vertices: Option<arrow_schema::SchemaRef>,
    pub(super) links: Option<arrow_schema::SchemaRef>,
}

impl Tables {
    /// Joins the schemas of all levels.
    ///
    /// # Errors
    ///
    /// Unsupported: values of one column that fit no common type.
    pub(super) fn new(parts: &[PartAnswer], plain: &[bool]) -> Result<Self, QueryError> {
        let vertices: Vec<Source<'_>> = parts
            .iter()
            .filter_map(|part| {
                Some(Source {
                    level: part.level,
                    schema: part.schemas.vertices.as_ref()?,
                    guessed: &part.schemas.guessed,
                    plain,
                })
            })
            .collect();
        let links: Vec<Source<'_>> = parts
            .iter()
            .filter_map(|part| {
                Some(Source {
                    level: part.level,
                    schema: part.schemas.links.as_ref()?,
                    guessed: &[],
                    plain: &[],
                })
            })
            .collect();
        Ok(Self {
            vertices: union::schema("vertices", &vertices)?,
            links: union::schema("links", &links)?,
        })
    }

    pub(super) fn schemas(&self, objects: Option<&ObjectUnion>) -> Schemas {
        Schemas {
            vertices: self.vertices.clone(),
            links: self.links.clone(),
            objects: objects.map(|table| table.schema.clone()),
            guessed: Vec::new(),
        }
    }
}

/// Sends the links of all levels, in rows of the chain's vertex table. There are none between levels.
pub(super) async fn send_links(
    parts: &mut [PartAnswer],
    placements: &[Placement],
    tables: &Tables,
    summary: &mut Summary,
    emit: &mut Emit,
) -> Result<(), QueryError> {
    for (part, placement) in parts.iter_mut().zip(placements) {
        while let Some(batch) = part.next(Table::Links).await? {
            let Some(schema) = &tables.links else {
                continue;
            };
            let level = part.level;
            let batch =
                renumbered(&batch, placement).map_err(|error| wrong(level, "links", &error))?;
            let batch = fitted(level, "links", schema, &batch)?;
            summary.links = summary
                .links
                .saturating_add(crate::int::wide(batch.num_rows()));
            emit.batch(Table::Links, batch).await;
        }
        part.finish().await?;
    }
    Ok(())
}

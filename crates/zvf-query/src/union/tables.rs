//! The vertex and link tables of a chain.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use zvf_store::Level;

use super::level_answer::LevelAnswer;
use super::links::renumbered;
use super::objects::ObjectUnion;
use super::schema::{self, Source, fitted, wrong};
use crate::QueryError;
use crate::answer::{Emit, Schemas, Summary, Table};
use crate::error::OrBug;
use crate::objects::Form;
use crate::prepare::Prepared;
use crate::vertex_table::{Out, PICK};
use zvf_store::format::int;

/// The schemas of a chain's tables.
#[derive(Debug)]
pub(super) struct Tables {
    /// `None` if the table is not requested.
    pub(super) vertices: Option<SchemaRef>,
    links: Option<SchemaRef>,
}

impl Tables {
    /// Combines the schemas of all levels; `plain` as in [`plain`]. `vertices`: whether the vertex table is requested.
    ///
    /// # Errors
    ///
    /// Unsupported: values of one column that fit no common type.
    pub(super) fn new<'a>(
        levels: &'a [LevelAnswer],
        plain: &'a [bool],
        vertices: bool,
    ) -> Result<Self, QueryError> {
        let sources = |table: Table| -> Vec<Source<'a>> {
            let vertices = table == Table::Vertices;
            let schemas = levels
                .iter()
                .filter_map(|of| Some((of, of.answer.schema(table)?)));
            let source = |(of, schema): (&'a LevelAnswer, &'a SchemaRef)| Source {
                level: of.level,
                schema,
                guessed: if vertices { of.answer.guessed() } else { &[] },
                plain: if vertices { plain } else { &[] },
            };
            schemas.map(source).collect()
        };
        let joined = schema::schema("vertices", &sources(Table::Vertices))?;
        let shown = joined.filter(|_| vertices).map(|joined| {
            let fields = joined.fields().iter().filter(|field| field.name() != PICK);
            let fields: Vec<_> = fields.cloned().collect();
            Arc::new(Schema::new_with_metadata(fields, joined.metadata().clone()))
        });
        Ok(Self {
            vertices: shown,
            links: schema::schema("links", &sources(Table::Links))?,
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

    /// Sends the links of a level, renumbered for the chain's vertex table. There are no links between levels.
    ///
    /// # Errors
    ///
    /// Errors of the query of the level.
    pub(super) async fn send_links(
        &self,
        of: &mut LevelAnswer,
        summary: &mut Summary,
        emit: &mut Emit,
    ) -> Result<(), QueryError> {
        while let Some(batch) = of.next(Table::Links).await? {
            let schema = self.links.as_ref().or_bug("links without a table")?;
            let batch = renumbered(&batch, &of.placement)
                .map_err(|error| wrong(of.level, "links", &error))?;
            let batch = fitted(of.level, "links", schema, &batch)?;
            summary.links = summary.links.saturating_add(int::wide(batch.num_rows()));
            emit.batch(Table::Links, batch).await;
        }
        Ok(())
    }
}

/// For each column of the vertex table, whether levels have different categories, so that no dictionary has all of them.
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

/// The object table of a chain, if requested.
///
/// # Errors
///
/// Errors of [`ObjectUnion::new`].
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

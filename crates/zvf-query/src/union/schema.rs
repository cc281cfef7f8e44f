//! Combines the schemas of the tables of several levels.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::widen::{common, fit};
use crate::QueryError;
use crate::error::Place;

/// The schema of the table of one level.
#[derive(Debug, Clone)]
pub(crate) struct Source<'a> {
    pub(crate) level: u32,
    pub(crate) schema: &'a SchemaRef,
    /// For each column, whether its type is unknown, because all values are null.
    pub(crate) guessed: &'a [bool],
    /// For each column, whether levels have different categories, so that no dictionary has all of them.
    pub(crate) plain: &'a [bool],
}

impl<'a> Source<'a> {
    /// A table with known types.
    pub(crate) fn new(level: u32, schema: &'a SchemaRef) -> Self {
        Self {
            level,
            schema,
            guessed: &[],
            plain: &[],
        }
    }
}

/// The schema for the rows of all tables: the columns of the first table in order, then columns that only later tables have.
///
/// # Errors
///
/// Unsupported: a column with values on two levels that fit no common type.
pub(crate) fn schema(table: &str, sources: &[Source<'_>]) -> Result<Option<SchemaRef>, QueryError> {
    let Some(first) = sources.first() else {
        return Ok(None);
    };
    let mut fields: Vec<(Field, Option<u32>)> = Vec::new();
    for source in sources {
        for (at, field) in source.schema.fields().iter().enumerate() {
            let is = |flags: &[bool]| flags.get(at).copied().unwrap_or(false);
            let stated = (!is(source.guessed)).then_some(source.level);
            let mut field = field.as_ref().clone();
            if let (true, DataType::Dictionary(_, values)) = (is(source.plain), field.data_type()) {
                let values = values.as_ref().clone();
                field = field.with_data_type(values);
            }
            let known = fields
                .iter_mut()
                .find(|(known, _)| known.name() == field.name());
            match known {
                None => fields.push((field, stated)),
                Some((known, by @ None)) if stated.is_some() => (*known, *by) = (field, stated),
                Some((known, Some(by))) if stated.is_some() => {
                    let both = common(known.data_type(), field.data_type());
                    let both = both.ok_or_else(|| {
                        let what = format!(
                            "column {:?} of type {}, and {} on level {by},",
                            field.name(),
                            field.data_type(),
                            known.data_type()
                        );
                        QueryError::unsupported(Place::array(source.level, table), what)
                    })?;
                    let nullable = known.is_nullable() || field.is_nullable();
                    *known = known.clone().with_data_type(both).with_nullable(nullable);
                }
                Some(_) => {}
            }
        }
    }
    let everywhere = |field: &Field| {
        sources
            .iter()
            .all(|source| source.schema.field_with_name(field.name()).is_ok())
    };
    let fields: Vec<Field> = fields
        .into_iter()
        .map(|(field, _)| {
            let nullable = field.is_nullable() || !everywhere(&field);
            field.with_nullable(nullable)
        })
        .collect();
    let metadata = first.schema.metadata().clone();
    Ok(Some(Arc::new(Schema::new_with_metadata(fields, metadata))))
}

/// Converts a batch of one level to the schema of the union; missing columns are null.
///
/// # Errors
///
/// Malformed: values that contradict the schema of the level.
pub(crate) fn fitted(
    level: u32,
    table: &str,
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<RecordBatch, QueryError> {
    if batch.schema_ref().fields() == schema.fields() {
        return RecordBatch::try_new_with_options(
            Arc::clone(schema),
            batch.columns().to_vec(),
            &options(batch.num_rows()),
        )
        .map_err(|error| wrong(level, table, &error));
    }
    let columns = schema
        .fields()
        .iter()
        .map(|field| -> Result<ArrayRef, QueryError> {
            match batch.column_by_name(field.name()) {
                Some(column) => {
                    fit(column, field.data_type()).map_err(|error| wrong(level, table, &error))
                }
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
            }
        });
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options(batch.num_rows()))
        .map_err(|error| wrong(level, table, &error))
}

fn options(rows: usize) -> RecordBatchOptions {
    RecordBatchOptions::new().with_row_count(Some(rows))
}

#[cold]
pub(crate) fn wrong(level: u32, table: &str, error: &arrow_schema::ArrowError) -> QueryError {
    QueryError::malformed(Place::array(level, table), error.to_string())
}

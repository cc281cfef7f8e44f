//! Computes the values of an attribute from an expression.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, new_empty_array};
use arrow_schema::{DataType, Field, Schema};
use zvf_edit::Scope;
use zvf_encode::error::OrBug;
use zvf_query::{
    Column, ComputedColumn, Expression, Names, Outputs, Query, QueryError, list_links,
};
use zvf_store::{Need, Store};
use zvf_write::{AttributeSpec, AttributeType, NumberType};

use crate::error::Result;
use crate::tables::EditTable;
use crate::{Context, JobError};

/// The values of an expression for every vertex, object or link of level 0, under the name of the attribute. Vertices are in the order of a query,
/// links in the order of their list; objects come with their ids. Also returns the warnings of the query.
///
/// # Cost
///
/// Reads all data that the expression names, and keeps one value for each row.
///
/// # Errors
///
/// Misuse: an expression that is wrong for this store, or whose values have a unit while the attribute has none. I/O; malformed data.
pub(super) async fn computed(
    store: &str,
    scope: Scope,
    expression: &Expression,
    attribute: &AttributeSpec,
    context: &Context,
) -> Result<(EditTable, Vec<String>)> {
    let opened = context.open(store, 0, Need::nothing()).await?;
    let numbers = numbers_of(attribute);
    let found = match scope {
        Scope::Vertex => of_vertices(&opened, expression, &numbers).await,
        Scope::Object => of_objects(&opened, expression, &numbers).await,
        Scope::Link => of_links(&opened, expression, &numbers).await,
    };
    let ComputedValues {
        ids,
        field,
        columns,
        warnings,
    } = found.map_err(JobError::query(store))?;
    let unit = field.metadata().get("zvf.unit");
    if let (Some(unit), Some(_), None) = (unit, attribute.values.number(), &attribute.unit) {
        return Err(JobError::usage(format!(
            "{store}: expression: found values of unit {unit}, expected numbers without a unit for attribute {}: a product has no unit, as in `({expression}) * 1`",
            attribute.name
        )));
    }
    let name = match scope {
        // Without the prefix, a name such as `position` or `x` would be read as a position.
        Scope::Vertex => format!("attribute:{}", attribute.name),
        _ => attribute.name.clone(),
    };
    let parts: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let values = match parts.is_empty() {
        true => new_empty_array(field.data_type()),
        false => arrow_select::concat::concat(&parts).or_bug("columns of several types")?,
    };
    let mut all = vec![(Arc::new(field.with_name(name)), values)];
    if let Some(ids) = ids {
        let field = Field::new("object_id", DataType::Int64, false);
        all.push((Arc::new(field), Arc::new(Int64Array::from(ids)) as ArrayRef));
    }
    let (fields, columns): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    let batch = batch.or_bug("columns of different lengths")?;
    Ok((EditTable::of("expr", batch)?, warnings))
}

/// Values of an expression, in batches.
struct ComputedValues {
    ids: Option<Vec<i64>>,
    field: Field,
    columns: Vec<ArrayRef>,
    warnings: Vec<String>,
}

/// The Arrow type in which the numbers of an attribute are computed.
fn numbers_of(attribute: &AttributeSpec) -> DataType {
    match attribute.values {
        AttributeType::Number(NumberType::U64) => DataType::UInt64,
        AttributeType::Number(NumberType::F16 | NumberType::F32 | NumberType::F64) => {
            DataType::Float64
        }
        _ => DataType::Int64,
    }
}

/// The query for all of level 0.
fn whole() -> Query {
    Query {
        own_level_only: true,
        ..Query::default()
    }
}

async fn of_vertices(
    store: &Store,
    expression: &Expression,
    numbers: &DataType,
) -> std::result::Result<ComputedValues, QueryError> {
    let mut query = Query {
        attributes: Names::None,
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..whole()
    };
    let bound = expression.of_vertices(store, &query).await?;
    query.columns = bound.columns();
    if query.columns.is_empty() {
        // An expression without names still has a value for each row.
        query.columns = vec![Column::Row];
    }
    let mut answer = zvf_query::query(store, query).await?;
    let mut values = ComputedValues::none();
    while let Some((_, batch)) = answer.next().await? {
        values.add(bound.evaluate(&batch, numbers)?);
    }
    values.warnings.clone_from(&answer.summary().warnings);
    Ok(values)
}

async fn of_objects(
    store: &Store,
    expression: &Expression,
    numbers: &DataType,
) -> std::result::Result<ComputedValues, QueryError> {
    let query = whole();
    let (ids, column) = expression.of_objects(store, &query, numbers).await?;
    let mut values = ComputedValues::none();
    values.add(column);
    values.ids = Some(ids);
    Ok(values)
}

async fn of_links(
    store: &Store,
    expression: &Expression,
    numbers: &DataType,
) -> std::result::Result<ComputedValues, QueryError> {
    let mut values = ComputedValues::none();
    let mut answer = list_links(store, 0, 0, true).await?;
    while let Some((_, batch)) = answer.next().await? {
        values.add(expression.of_links(&batch, numbers)?);
    }
    values.warnings.clone_from(&answer.summary().warnings);
    Ok(values)
}

impl ComputedValues {
    fn none() -> Self {
        Self {
            ids: None,
            field: Field::new("value", DataType::Float64, true),
            columns: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn add(&mut self, (field, column): ComputedColumn) {
        self.field = field;
        self.columns.push(column);
    }
}

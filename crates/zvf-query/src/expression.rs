//! Values that are computed from the columns of a store.

use std::collections::HashMap;
use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use futures::future::BoxFuture;
use zvf_store::Store;

use crate::condition_columns::{columns_of, computed, values_of};
use crate::error::OrBug;
use crate::filter::{Expr, Filter, Val, Values, exactly, is_of_object};
use crate::object_terms::{object_attributes, object_columns, resolve_exact_names};
use crate::{Column, Names, Outputs, Query, QueryError};

/// A value for each vertex, object or link, computed in the arithmetic of conditions ([`Filter`]): `sqrt(x * x + y * y)`, `fa * 100`,
/// `fa - object.mean_fa`, and conditions themselves: `intensity > 0.5 and label == 3`.
///
/// Names are resolved as in conditions. Arithmetic of whole numbers is whole, except `/` and `sqrt`; all other arithmetic is float64. If a value is
/// missing, so is the result of the expression. The result of a condition that is unknown is missing, too.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// let expression = zvf_query::Expression::parse("abs(x - start.x) / length()")?;
/// assert_eq!(expression.names(), ["x", "start.x"]);
/// assert!(zvf_query::Expression::parse("x +").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(Filter);

/// An [`Expression`], resolved for the vertices of a level.
#[derive(Debug, Clone)]
pub struct VertexExpression {
    expression: Filter,
    /// The names of columns of the vertex table.
    names: Vec<String>,
    /// The row of each object in the columns of objects, by id.
    rows: HashMap<i64, usize>,
    columns: HashMap<String, Values>,
}

/// A computed column, with its field.
pub type ComputedColumn = (Field, ArrayRef);

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Misuse: a syntax error; the message states its byte and marks it. The names are checked when the expression is resolved.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Filter::parse_expression(text).map(Self)
    }

    /// The names, each once, in order of first appearance, without `length()` and `count()`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.names()
    }

    /// Whether the expression is a single value of objects: `object_id`, `object.weight`, `start.x`.
    #[must_use]
    pub fn is_of_object(&self) -> bool {
        matches!(self.0.expr(), Expr::Name { name, .. } if is_of_object(name))
    }

    /// Resolves the names for the vertices of a level. Of `query`, only the members that determine the level are used.
    ///
    /// # Cost
    ///
    /// Nothing for attributes of vertices, axes and `object_id`. For values of objects, the cost of a condition on them, and memory for one value for
    /// each object.
    ///
    /// # Errors
    ///
    /// Misuse: values of groups, no object index, an object attribute that does not exist; other unknown names are errors of the query. I/O; malformed data.
    pub fn of_vertices<'a>(
        &'a self,
        store: &'a Store,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<VertexExpression, QueryError>> {
        Box::pin(async move {
            let mut expression = self.0.clone();
            // A vertex attribute takes precedence over an object attribute of the same name, even if `query` does not read it.
            let named = Query {
                attributes: Names::List(expression.names_of_rows()),
                columns: Vec::new(),
                outputs: Outputs {
                    vertices: true,
                    links: false,
                    objects: false,
                },
                ..query.clone()
            };
            resolve_exact_names(store, &named, &mut expression).await?;
            let attributes = object_attributes(store, &named, &expression).await?;
            let of_objects = |name: &String| is_of_object(name) || attributes.contains(name);
            let names = columns_of(expression.expr());
            let (mut own, mut names): (Vec<String>, Vec<String>) =
                names.into_iter().partition(of_objects);
            if !own.is_empty() {
                names.push(OBJECT_ID.to_owned());
            }
            // Ids are not computed for each object: the vertex table has a column of them.
            own.retain(|name| name != OBJECT_ID);
            let (ids, columns) = match own.is_empty() {
                true => (Vec::new(), HashMap::new()),
                false => object_columns(store, query, own, &expression).await?,
            };
            let rows = ids.into_iter().enumerate().map(|(row, id)| (id, row));
            Ok(VertexExpression {
                expression,
                names,
                rows: rows.collect(),
                columns,
            })
        })
    }

    /// The ids of all objects of the query's level, in the order of [`list_objects`](crate::list_objects), and the value of each.
    /// `numbers` is the type of numbers: see [`VertexExpression::evaluate`].
    ///
    /// # Cost
    ///
    /// As conditions on the same values, without a selection of objects.
    ///
    /// # Errors
    ///
    /// Misuse: a name that is not of objects, values of groups, no object index, whole numbers that the type does not hold. I/O; malformed data.
    pub fn of_objects<'a>(
        &'a self,
        store: &'a Store,
        query: &'a Query,
        numbers: &'a DataType,
    ) -> BoxFuture<'a, Result<(Vec<i64>, ComputedColumn), QueryError>> {
        Box::pin(async move {
            let mut expression = self.0.clone();
            resolve_exact_names(store, query, &mut expression).await?;
            // A name that is still in backquotes is taken as the name of an object attribute.
            expression.rename(&|name| exactly(name).map(|name| format!("object.{name}")));
            let names = columns_of(expression.expr());
            let (ids, columns) = object_columns(store, query, names, &expression).await?;
            let found = computed(expression.expr(), &columns, ids.len(), numbers)?;
            Ok((ids, field(found)))
        })
    }

    /// The value of each row of a table of links; names are attributes of the links. `numbers` is the type of numbers: see
    /// [`VertexExpression::evaluate`].
    ///
    /// # Errors
    ///
    /// Misuse: another name, an attribute without single values; whole numbers that the type does not hold.
    pub fn of_links(
        &self,
        batch: &RecordBatch,
        numbers: &DataType,
    ) -> Result<ComputedColumn, QueryError> {
        let schema = batch.schema_ref().fields().iter();
        let names = schema.map(|field| field.name().as_str());
        let attributes: Vec<&str> = names
            .filter(|name| !PLACES.contains(name))
            .map(|name| name.strip_prefix("attribute:").unwrap_or(name))
            .collect();
        let mut columns = HashMap::new();
        for name in columns_of(self.0.expr()) {
            let plain = exactly(&name).unwrap_or_else(|| name.clone());
            if !attributes.contains(&plain.as_str()) {
                let known = attributes.join(", ");
                return Err(QueryError::misuse(format!(
                    "no link attribute {plain:?}: there are {known}{}",
                    self.0.marked(&name)
                )));
            }
            columns.insert(name, attribute(batch, &plain)?);
        }
        computed(self.0.expr(), &columns, batch.num_rows(), numbers).map(field)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl VertexExpression {
    /// The columns that a query has to return, so that [`evaluate`](Self::evaluate) can compute the value.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let column = |name: &String| match name.as_str() {
            OBJECT_ID => Column::ObjectId,
            name => Column::Attribute(exactly(name).unwrap_or_else(|| name.to_owned())),
        };
        self.names.iter().map(column).collect()
    }

    /// The value of each row of a vertex table that has the [`columns`](Self::columns). Rows of no object have no values of
    /// objects; rows that belong to several objects have the values of the first one.
    ///
    /// Numbers are of type `numbers` if that is `UInt64` or `Float64`, else `Int64` if all are whole, else `Float64`. Dates, times and durations are
    /// whole numbers of the unit that the field states, as in other columns.
    ///
    /// # Errors
    ///
    /// Misuse: a value without arithmetic, a list without the number of a channel; whole numbers that the type does not hold.
    pub fn evaluate(
        &self,
        batch: &RecordBatch,
        numbers: &DataType,
    ) -> Result<ComputedColumn, QueryError> {
        let mut columns = HashMap::new();
        for name in &self.names {
            let values = match name.as_str() {
                OBJECT_ID => column(batch, OBJECT_ID)?,
                name => attribute(batch, &exactly(name).unwrap_or_else(|| name.to_owned()))?,
            };
            columns.insert(name.clone(), values);
        }
        if !self.columns.is_empty() {
            let ids = batch.column_by_name(OBJECT_ID);
            let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
            let ids = ids.or_bug("a table without object_id")?;
            let rows: Vec<Option<usize>> =
                ids.iter().map(|id| self.rows.get(&id?).copied()).collect();
            for (name, values) in &self.columns {
                let missing = vec![Val::Null; values.width];
                let row = |row: &Option<usize>| values.row((*row)?);
                let found = rows.iter().map(|at| row(at).unwrap_or(&missing));
                let found = Values {
                    values: found.flatten().cloned().collect(),
                    width: values.width,
                    kind: values.kind,
                };
                columns.insert(name.clone(), found);
            }
        }
        computed(self.expression.expr(), &columns, batch.num_rows(), numbers).map(field)
    }
}

const OBJECT_ID: &str = "object_id";

/// The columns of a table of links that are not attributes.
const PLACES: [&str; 3] = ["level", "chunks", "rows"];

/// The values of an attribute or axis in a table, with a prefix where another column has its name.
fn attribute(batch: &RecordBatch, name: &str) -> Result<Values, QueryError> {
    let prefixed = format!("attribute:{name}");
    match batch.schema_ref().index_of(&prefixed) {
        Ok(_) => column(batch, &prefixed),
        Err(_) => column(batch, name),
    }
}

/// The values of a column of a table.
fn column(batch: &RecordBatch, name: &str) -> Result<Values, QueryError> {
    let found = batch.schema_ref().column_with_name(name);
    let (at, field) = found.or_bug(format_args!("a table without the column {name}"))?;
    let values = values_of(batch.column(at), field.metadata().get("zvf.unit"));
    values.ok_or_else(|| {
        QueryError::misuse(format!(
            "expression: {name:?} of type {} has no single values",
            field.data_type()
        ))
    })
}

fn field((column, unit): (ArrayRef, Option<String>)) -> ComputedColumn {
    let field = Field::new("value", column.data_type().clone(), true);
    let metadata = unit.map(|unit| ("zvf.unit".to_owned(), unit));
    (field.with_metadata(metadata.into_iter().collect()), column)
}

//! The flat table for SQL: a column for each axis and each component of the chunk, besides attributes and `object_id`.
//!
//! NaN becomes null, because engines differ in comparisons with NaN, but not with null. So do missing dates, moments and durations, which stores
//! mark by the smallest integer.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Float32Array, Float64Array,
    PrimitiveArray, RecordBatch, RecordBatchOptions, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use zvf_meta::moments::{MISSING, Moments};
use zvf_query::Column;
use zvf_store::Class;

use crate::errors::Failure;

#[cold]
fn fault(class: Class, what: String) -> Failure {
    let error: Box<dyn std::error::Error> = what.into();
    Failure::of(class, error.as_ref())
}

#[cold]
fn bug(what: String) -> Failure {
    fault(Class::Bug, what)
}

/// What a column of the flat table is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// An axis of `position`.
    Axis(usize),
    /// A component of `chunk`.
    Chunk(usize),
    /// A column of the vertex table.
    Column,
}

/// A column of the flat table.
#[derive(Debug, Clone)]
pub(crate) struct FlatColumn {
    field: Field,
    /// The column of the query from which it is made.
    from: Column,
    source: Source,
}

/// Turns batches of vertices into batches of the flat table.
#[derive(Debug)]
pub(crate) struct Flatten {
    /// Each column, and the index of the column of the batch that it is made from.
    columns: Vec<(FlatColumn, usize)>,
    schema: SchemaRef,
}

/// The names of the flat table, for finding the columns of the query that they are made from.
#[derive(Debug)]
pub(crate) struct FlatNames {
    axes: Vec<String>,
    chunks: Vec<String>,
    /// Columns of the query that are not attributes.
    own: Vec<Column>,
    attributes: Vec<String>,
}

impl FlatNames {
    /// The names in the flat table of a query with these columns, for a level with these `attributes`.
    pub(crate) fn new(
        axes: &[String],
        chunks: Vec<String>,
        query: &[Column],
        attributes: Vec<String>,
    ) -> Self {
        let own = query
            .iter()
            .filter(|column| !matches!(column, Column::Attribute(_) | Column::Attributes));
        let own: Vec<Column> = own.cloned().collect();
        let names = |column: Column, names: &[String]| match own.contains(&column) {
            true => names.to_vec(),
            false => Vec::new(),
        };
        Self {
            axes: names(Column::Position, axes),
            chunks: names(Column::Chunk, &chunks),
            own,
            attributes,
        }
    }

    /// The column of a query that a column of the flat table is made from, and how.
    fn source(&self, name: &str) -> (Column, Source) {
        let at = |names: &[String]| names.iter().position(|one| one == name);
        if let Some(axis) = at(&self.axes) {
            return (Column::Position, Source::Axis(axis));
        }
        if let Some(component) = at(&self.chunks) {
            return (Column::Chunk, Source::Chunk(component));
        }
        let is_own = |name: &str| self.own.iter().find(|own| own.to_string() == name);
        if let Some(own) = is_own(name) {
            return (own.clone(), Source::Column);
        }
        // The flat table adds this prefix to a name that is in use; but the name of an attribute may begin with it, too.
        let plain = name.strip_prefix("attribute:").filter(|plain| {
            let taken = |names: &[String]| names.iter().any(|one| one == plain);
            let clashes = taken(&self.axes) || taken(&self.chunks) || is_own(plain).is_some();
            clashes && !taken_by(&self.attributes, name)
        });
        let name = plain.unwrap_or(name).to_owned();
        (Column::Attribute(name), Source::Column)
    }

    /// The columns of a query from which these columns of the flat table are made. Returns at least one column, from which rows can be counted.
    pub(crate) fn asked<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Vec<Column> {
        let mut asked = Vec::new();
        for name in names {
            let (from, _) = self.source(name);
            if !asked.contains(&from) {
                asked.push(from);
            }
        }
        if asked.is_empty() {
            asked.push(Column::Row);
        }
        asked
    }

    /// A column of the flat table, for a vertex table with the columns `asked`; `None` if the table lacks the column that it is made from.
    pub(crate) fn column(
        &self,
        name: &str,
        asked: &[Column],
        vertices: &Schema,
    ) -> Option<FlatColumn> {
        let (from, source) = self.source(name);
        let field = vertices
            .fields()
            .get(asked.iter().position(|one| *one == from)?)?;
        let field = match source {
            Source::Axis(_) => Field::new(name, DataType::Float64, true),
            Source::Chunk(_) => Field::new(name, DataType::Int64, false),
            Source::Column => Field::new(name, flat_type(field.data_type()), true)
                .with_metadata(field.metadata().clone()),
        };
        Some(FlatColumn {
            field,
            from,
            source,
        })
    }
}

fn taken_by(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one == name)
}

/// The flat columns of a vertex table. An attribute with the name of another column is named `attribute:NAME`.
pub(crate) fn columns(vertices: &Schema, names: &FlatNames) -> Vec<FlatColumn> {
    let mut found: Vec<Field> = Vec::new();
    let mut chunks = Vec::new();
    for field in vertices.fields() {
        match field.name().as_str() {
            "position" if !names.axes.is_empty() => {
                let axes = names.axes.iter();
                found.extend(axes.map(|name| Field::new(name, DataType::Float64, true)));
            }
            "chunk" if !names.chunks.is_empty() => {
                let all = names.chunks.iter();
                chunks.extend(all.map(|name| Field::new(name, DataType::Int64, false)));
            }
            name => {
                let taken = [&names.axes, &names.chunks];
                let name = match taken.into_iter().any(|taken| taken_by(taken, name)) {
                    true => format!("attribute:{name}"),
                    false => name.to_owned(),
                };
                let flat = Field::new(name, flat_type(field.data_type()), true);
                found.push(flat.with_metadata(field.metadata().clone()));
            }
        }
    }
    let all = found.into_iter().chain(chunks);
    all.map(|field| {
        let (from, source) = names.source(field.name());
        FlatColumn {
            field,
            from,
            source,
        }
    })
    .collect()
}

/// Names of the columns for the components of a chunk: the attribute that divides chunks, if there is one, then the axes.
pub(crate) fn chunk_names(axes: &[String], key: Option<&str>, rank: usize) -> Vec<String> {
    let extra = rank.saturating_sub(axes.len());
    let name = |component: usize| match component.checked_sub(extra) {
        Some(axis) => axes.get(axis).map(String::as_str),
        None => key,
    };
    (0..rank)
        .map(|component| match name(component) {
            Some(name) => format!("chunk_{name}"),
            None => format!("chunk_{component}"),
        })
        .collect()
}

/// The type of a flat column, which every engine can compare: texts for dictionaries of texts, float32 for float16, also in lists.
fn flat_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => flat_type(values),
        DataType::Float16 => DataType::Float32,
        DataType::FixedSizeList(item, width) => {
            let flat = flat_type(item.data_type());
            let item = item.as_ref().clone().with_data_type(flat);
            DataType::FixedSizeList(Arc::new(item.with_nullable(true)), *width)
        }
        other => other.clone(),
    }
}

impl FlatColumn {
    pub(crate) fn name(&self) -> &str {
        self.field.name()
    }

    /// What the column holds: `axis`, `chunk` or `column`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.source {
            Source::Axis(_) => "axis",
            Source::Chunk(_) => "chunk",
            Source::Column => "column",
        }
    }

    /// The column of the query from which it is made.
    pub(crate) fn from(&self) -> &Column {
        &self.from
    }
}

/// The schema of flat columns, with the metadata of the vertex table.
pub(crate) fn schema(columns: &[FlatColumn], metadata: &Schema) -> SchemaRef {
    let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
    Arc::new(Schema::new_with_metadata(
        fields,
        metadata.metadata().clone(),
    ))
}

impl Flatten {
    /// Makes these flat columns from the answer of a query with the columns `asked`.
    ///
    /// # Errors
    /// Bug: a flat column is made from a column that is not among `asked`.
    pub(crate) fn new(
        columns: Vec<FlatColumn>,
        asked: &[Column],
        metadata: &Schema,
    ) -> Result<Self, Failure> {
        let schema = schema(&columns, metadata);
        let placed = columns.into_iter().map(|column| {
            let at = asked.iter().position(|one| *one == column.from);
            let at = at.ok_or_else(|| bug(format!("a query without {}", column.from)))?;
            Ok((column, at))
        });
        Ok(Self {
            columns: placed.collect::<Result<_, Failure>>()?,
            schema,
        })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Converts a batch of vertices to a batch of the flat table.
    ///
    /// # Errors
    /// Bug: a column that the batch does not have. Malformed: an attribute of another type or width than in the first chunk.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let made = self.columns.iter().map(|(column, at)| {
            let from = batch.columns().get(*at);
            let from = from.ok_or_else(|| bug(format!("a batch without {}", column.from)))?;
            column.make(from)
        });
        let made = made.collect::<Result<Vec<_>, Failure>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), made, &options)
            .map_err(|error| bug(format!("a batch of the flat table: {error}")))
    }
}

impl FlatColumn {
    /// Whether the values are dates, moments or durations.
    fn is_of_time(&self) -> bool {
        let unit = self.field.metadata().get("zvf.unit");
        unit.and_then(|unit| Moments::of_unit(unit)).is_some()
    }

    fn make(&self, from: &ArrayRef) -> Result<ArrayRef, Failure> {
        let list = || {
            let list = from.as_any().downcast_ref::<FixedSizeListArray>();
            list.ok_or_else(|| bug(format!("{} is no list of fixed size", self.from)))
        };
        match self.source {
            Source::Axis(axis) => {
                let found = component(list()?, axis).and_then(|values| floats(&values));
                found.ok_or_else(|| bug(format!("positions of {}", from.data_type())))
            }
            Source::Chunk(number) => component(list()?, number)
                .ok_or_else(|| bug(format!("chunks of {}", from.data_type()))),
            Source::Column => self.column(from),
        }
    }

    /// Converts values to their [`flat_type`]. Those that mean missing become null.
    fn flat(&self, from: &ArrayRef) -> Result<ArrayRef, Failure> {
        let failed = |error| bug(format!("{}: {error}", self.from));
        Ok(match from.data_type() {
            DataType::Dictionary(..) => {
                let coded = from.as_any_dictionary();
                arrow_select::take::take(coded.values(), coded.keys(), None).map_err(failed)?
            }
            DataType::Float16 => {
                let halves = from.as_primitive::<Float16Type>();
                let singles: Float32Array = halves.unary(f32::from);
                let singles: ArrayRef = Arc::new(singles);
                known::<Float32Type>(&singles, |one| one.is_nan())
            }
            DataType::Float32 => known::<Float32Type>(from, |one| one.is_nan()),
            DataType::Float64 => known::<Float64Type>(from, |one| one.is_nan()),
            DataType::Int64 if self.is_of_time() => known::<Int64Type>(from, |one| one == MISSING),
            kind @ DataType::FixedSizeList(_, 1..) => {
                let list = from.as_fixed_size_list();
                let DataType::FixedSizeList(item, width) = flat_type(kind) else {
                    return Err(bug(format!("{} is no list of fixed size", self.from)));
                };
                let values = self.flat(list.values())?;
                let lists = FixedSizeListArray::try_new(item, width, values, list.nulls().cloned());
                Arc::new(lists.map_err(failed)?)
            }
            _ => Arc::clone(from),
        })
    }

    fn column(&self, from: &ArrayRef) -> Result<ArrayRef, Failure> {
        let kind = self.field.data_type();
        let made = self.flat(from)?;
        if made.data_type() == kind {
            return Ok(made);
        }
        // Without a value in these chunks, the type of the attribute is not known.
        if made.null_count() == made.len() || *made.data_type() == DataType::Null {
            return Ok(new_null_array(kind, made.len()));
        }
        Err(fault(
            Class::Malformed,
            format!(
                "attribute {}: found {}, expected {kind} as in the first chunk",
                self.name(),
                made.data_type()
            ),
        ))
    }
}

/// One component of each list.
fn component(list: &FixedSizeListArray, number: usize) -> Option<ArrayRef> {
    let width = usize::try_from(list.value_length()).ok()?;
    if number >= width {
        return None;
    }
    let start = list.offset().checked_mul(width)?;
    let values = list.values().slice(start, list.len().checked_mul(width)?);
    fn of<T: ArrowPrimitiveType>(values: &ArrayRef, number: usize, width: usize) -> ArrayRef {
        let all = values.as_primitive::<T>().values().iter();
        let some = all.skip(number).step_by(width).copied();
        Arc::new(PrimitiveArray::<T>::from_iter_values(some))
    }
    Some(match values.data_type() {
        DataType::Int8 => of::<Int8Type>(&values, number, width),
        DataType::Int16 => of::<Int16Type>(&values, number, width),
        DataType::Int32 => of::<Int32Type>(&values, number, width),
        DataType::Int64 => of::<Int64Type>(&values, number, width),
        DataType::UInt8 => of::<UInt8Type>(&values, number, width),
        DataType::UInt16 => of::<UInt16Type>(&values, number, width),
        DataType::UInt32 => of::<UInt32Type>(&values, number, width),
        DataType::UInt64 => of::<UInt64Type>(&values, number, width),
        DataType::Float16 => of::<Float16Type>(&values, number, width),
        DataType::Float32 => of::<Float32Type>(&values, number, width),
        DataType::Float64 => of::<Float64Type>(&values, number, width),
        _ => return None,
    })
}

/// Numbers as float64; NaN becomes null.
#[expect(
    clippy::cast_precision_loss,
    reason = "whole numbers beyond 2^53 are rounded, as the documentation of the table states"
)]
fn floats(values: &ArrayRef) -> Option<ArrayRef> {
    let all: Float64Array = match values.data_type() {
        DataType::Int8 => values.as_primitive::<Int8Type>().unary(f64::from),
        DataType::Int16 => values.as_primitive::<Int16Type>().unary(f64::from),
        DataType::Int32 => values.as_primitive::<Int32Type>().unary(f64::from),
        DataType::Int64 => values.as_primitive::<Int64Type>().unary(|one| one as f64),
        DataType::UInt8 => values.as_primitive::<UInt8Type>().unary(f64::from),
        DataType::UInt16 => values.as_primitive::<UInt16Type>().unary(f64::from),
        DataType::UInt32 => values.as_primitive::<UInt32Type>().unary(f64::from),
        DataType::UInt64 => values.as_primitive::<UInt64Type>().unary(|one| one as f64),
        DataType::Float16 => values.as_primitive::<Float16Type>().unary(f64::from),
        DataType::Float32 => values.as_primitive::<Float32Type>().unary(f64::from),
        DataType::Float64 => values.as_primitive::<Float64Type>().clone(),
        _ => return None,
    };
    let all: ArrayRef = Arc::new(all);
    Some(known::<Float64Type>(&all, |one| one.is_nan()))
}

/// Replaces numbers that mean missing by null.
fn known<T: ArrowPrimitiveType>(values: &ArrayRef, is_missing: fn(T::Native) -> bool) -> ArrayRef {
    let all = values.as_primitive::<T>();
    if !all.values().iter().any(|one| is_missing(*one)) {
        return Arc::clone(values);
    }
    let some: PrimitiveArray<T> = all
        .iter()
        .map(|one| one.filter(|one| !is_missing(*one)))
        .collect();
    Arc::new(some)
}

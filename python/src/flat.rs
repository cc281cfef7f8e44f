//! The flat table of SQL: one column an axis and one a component of the chunk, beside attributes and `object_id`.
//!
//! Floats that are not a number are null: engines compare NaN each in its own way, and null alike.

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

/// Where a column of the flat table comes from.
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
    /// Column of the vertex table that it is made from.
    from: String,
    source: Source,
}

/// Turns batches of vertices into batches of the flat table.
#[derive(Debug)]
pub(crate) struct Flatten {
    columns: Vec<FlatColumn>,
    schema: SchemaRef,
}

/// The flat columns of a vertex table with `position` and `chunk` in it. An attribute with the name of another column is
/// `attribute:NAME`.
pub(crate) fn columns(vertices: &Schema, axes: &[String], key: Option<&str>) -> Vec<FlatColumn> {
    let mut found = Vec::new();
    let mut chunks = Vec::new();
    for field in vertices.fields() {
        let width = match field.data_type() {
            DataType::FixedSizeList(_, width) => usize::try_from(*width).unwrap_or(0),
            _ => 1,
        };
        let one = |field: Field, source: Source, from: &str| FlatColumn {
            field,
            from: from.to_owned(),
            source,
        };
        match field.name().as_str() {
            "position" => {
                for (axis, name) in axes.iter().enumerate().take(width) {
                    let field = Field::new(name, DataType::Float64, true);
                    found.push(one(field, Source::Axis(axis), "position"));
                }
            }
            "chunk" => {
                for (component, name) in chunk_names(axes, key, width).into_iter().enumerate() {
                    let field = Field::new(name, DataType::Int64, false);
                    chunks.push(one(field, Source::Chunk(component), "chunk"));
                }
            }
            name => {
                let kind = flat_type(field.data_type());
                let flat = Field::new(name, kind, true);
                found.push(one(
                    flat.with_metadata(field.metadata().clone()),
                    Source::Column,
                    name,
                ));
            }
        }
    }
    found.append(&mut chunks);
    let taken: Vec<String> = found
        .iter()
        .filter(|column| column.source != Source::Column)
        .map(|column| column.field.name().clone())
        .collect();
    for column in &mut found {
        if column.source == Source::Column && taken.contains(column.field.name()) {
            let name = format!("attribute:{}", column.field.name());
            column.field.set_name(name);
        }
    }
    found
}

/// Names of the columns of a chunk's components, of which the one before the axes stands for an attribute.
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

/// Types that every engine compares: texts for dictionaries of them, float32 for float16.
fn flat_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => flat_type(values),
        DataType::Float16 => DataType::Float32,
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

    /// The column of the vertex table that it is made from.
    pub(crate) fn from(&self) -> &str {
        &self.from
    }
}

impl Flatten {
    pub(crate) fn new(columns: Vec<FlatColumn>, metadata: &Schema) -> Self {
        let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
        let schema = Schema::new_with_metadata(fields, metadata.metadata().clone());
        Self {
            columns,
            schema: Arc::new(schema),
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of a batch of vertices.
    ///
    /// # Errors
    /// Bug: a column that the batch does not have. Malformed: an attribute of another width than before.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let made = self.columns.iter().map(|column| {
            let from = batch.column_by_name(&column.from);
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

    fn column(&self, from: &ArrayRef) -> Result<ArrayRef, Failure> {
        let kind = self.field.data_type();
        let made: ArrayRef = match from.data_type() {
            DataType::Dictionary(..) => {
                let coded = from.as_any_dictionary();
                let taken = arrow_select::take::take(coded.values(), coded.keys(), None);
                taken.map_err(|error| bug(format!("{}: {error}", self.from)))?
            }
            DataType::Float16 => {
                let halves = from.as_primitive::<Float16Type>();
                let singles: Float32Array = halves.unary(f32::from);
                Arc::new(singles)
            }
            _ => Arc::clone(from),
        };
        if made.data_type() == kind {
            return Ok(match kind {
                DataType::Float32 => known::<Float32Type>(&made, |one| one.is_nan()),
                DataType::Float64 => known::<Float64Type>(&made, |one| one.is_nan()),
                _ => made,
            });
        }
        // What no cell of these chunks tells.
        if made.null_count() == made.len() || *made.data_type() == DataType::Null {
            return Ok(new_null_array(kind, made.len()));
        }
        Err(fault(
            Class::Malformed,
            format!(
                "attribute {}: found {}, expected {kind} as in the first chunk",
                self.from,
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

/// Numbers as float64; what is not a number becomes null.
#[expect(
    clippy::cast_precision_loss,
    reason = "whole numbers beyond 2^53 are rounded, as the documentation of the table says"
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

/// Floats with null in the place of what is not a number: engines disagree on how to compare it, but not on null.
fn known<T: ArrowPrimitiveType>(values: &ArrayRef, is_nan: fn(T::Native) -> bool) -> ArrayRef {
    let all = values.as_primitive::<T>();
    if !all.values().iter().any(|one| is_nan(*one)) {
        return Arc::clone(values);
    }
    let some: PrimitiveArray<T> = all
        .iter()
        .map(|one| one.filter(|one| !is_nan(*one)))
        .collect();
    Arc::new(some)
}

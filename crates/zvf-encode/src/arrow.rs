//! Arrow input and output: the tables that queries return, converted to batches of vertices, links and objects, and back.
//!
//! | table | columns | in | out |
//! |---|---|---|---|
//! | vertices | `position` (list of fixed size, one number per axis), `object_id` (int64) | [`Batch::from_records`] | [`Batch::to_records`] |
//! | links | `vertices` (list of fixed size): numbers of vertices, counted through all batches that were pushed | [`Batch::with_link_records`] | [`Batch::to_records`] |
//! | objects | `object_id` (int64) | [`ObjectTable::from_records`] | [`ObjectTable::to_records`] |
//! | groups | `object_ids` (list of int64), `name` (text) where groups have names; one row per group | [`Groups::from_records`] | [`Groups::to_records`] |
//!
//! Instead of `position`, an input table may have a column of numbers for each axis, with the name of the axis ([`StoreSpec::batch_of_records`]). Every
//! other column is an attribute: numbers or booleans, one per row or a list of fixed size, or texts, one per row, also as a dictionary. Columns with the
//! metadata `zvf.column` = `place` are ignored: in query results they locate a row, such as `chunk` of vertices and `start` of objects. An attribute
//! with the name of a column above is in the column `attribute:NAME`. Missing texts stay missing, and so do missing numbers of objects and groups. In
//! tables of vertices and links, missing floats become NaN, and missing whole numbers are an error. Missing booleans are always an error.
//!
//! A batch that is converted to tables and back has the same vertices, links and values in the same order, in the number types of the specification,
//! with an id for each vertex, and with links numbered through all batches. Attributes of fragments are not converted.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, types::Float32Type};
//! use zvf_encode::{Batch, Kind, StoreSpec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let places = [Some(vec![Some(1.0), Some(1.0)]), Some(vec![Some(9.0), Some(2.0)]), Some(vec![Some(9.5), Some(3.0)])];
//! let columns: [(&str, ArrayRef); 3] = [
//!     ("position", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(places, 2))),
//!     ("fa", Arc::new(Float32Array::from(vec![0.5, 0.25, 0.75]))),
//!     ("object_id", Arc::new(Int64Array::from(vec![7, 7, 7]))),
//! ];
//! let table = RecordBatch::try_from_iter(columns)?;
//!
//! let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]).with_vertex_records(&table.schema())?;
//! assert_eq!(spec.vertex_attributes[0].name, "fa");
//! assert_eq!(Batch::from_records(&table)?.positions().len(), 6);
//! # Ok(())
//! # }
//! ```

mod axes;
mod records;
mod units;

pub use records::array;
pub use units::{check_unit, in_stored_units, stated_unit};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use half::f16;
use serde_json::{Value, json};
use zvf_meta::Axis;

use crate::WriteError;
use crate::batches::batch::{Batch, Groups, Numbering, ObjectTable, Owners};
use crate::error::OrBug;
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec};
use crate::values::column::Values;
use crate::values::number::NumberType;

/// The unit of the values of a column, in the metadata of its field.
pub const UNIT: &str = "zvf.unit";
/// The level whose rows a table has, in the metadata of its schema.
pub const LEVEL: &str = "zvf.level";
/// The levels that the links of a table span, in the metadata of its schema: `0`, `+1`, `-1`.
pub const DELTA: &str = "zvf.delta";
/// The order of the rows of a table, in the metadata of its schema: `chunk` or `object`.
pub const ORDER: &str = "zvf.order";
/// In the metadata of its schema: whether a table may lack rows of its level, because a query selected the others. Absent if it has all rows.
pub const SELECTED: &str = "zvf.selected";
/// The description of the values of a column, in the metadata of its field.
pub const DESCRIPTION: &str = "zvf.description";
/// Columns of vertices that are not attributes.
const OF_VERTICES: [&str; 2] = ["position", "object_id"];
/// The column of objects that is not an attribute.
const OF_OBJECTS: [&str; 1] = ["object_id"];
/// The column of links that is not an attribute.
const OF_LINKS: [&str; 1] = ["vertices"];
/// Columns in the tables of edits that are not attributes: the positions of vertices, and columns that identify vertices or links.
pub const OF_EDITS: [&str; 4] = ["position", "object_id", "vertex", "vertices"];
/// Columns of groups that are not attributes.
const OF_GROUPS: [&str; 2] = ["object_ids", "name"];

/// The same column with these nulls: one bit per row, `None` for no nulls.
///
/// # Errors
/// Bug: another number of rows.
pub fn with_nulls(column: &ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef, WriteError> {
    let data = column.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(data.or_bug("nulls of another number of rows")?))
}

/// The same column without nulls: of missing rows it has some value. Items of a list that is not missing keep their nulls.
///
/// # Errors
/// Bug: items of another length.
pub fn without_nulls(column: &ArrayRef) -> Result<ArrayRef, WriteError> {
    let (Some(list), Some(rows)) = (column.as_fixed_size_list_opt(), column.nulls()) else {
        return with_nulls(column, None);
    };
    // Builders make the items of a missing list missing, too.
    let width = usize::try_from(list.value_length()).or_bug("a list of a negative size")?;
    let width = width.max(1);
    let nulls = list.values().logical_nulls().map(|items| {
        let valid = (0..items.len()).map(|at| items.is_valid(at) || rows.is_null(at / width));
        NullBuffer::from_iter(valid)
    });
    let items = with_nulls(list.values(), nulls.filter(|nulls| nulls.null_count() > 0))?;
    let data = column.to_data().into_builder().nulls(None);
    let data = data.child_data(vec![items.to_data()]).build();
    Ok(make_array(data.or_bug("items of another length")?))
}

/// The table with these columns, which have the same length.
fn rebuilt(
    table: &RecordBatch,
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, WriteError> {
    let metadata = table.schema_ref().metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let rows = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &rows).or_bug("columns of other lengths")
}

/// The type of the attribute that a column becomes, and the number of values in a row; `None` for a type that a store cannot hold.
pub fn column_type(column: &DataType) -> Option<(AttributeType, usize)> {
    if let DataType::FixedSizeList(item, width) = column {
        let width = usize::try_from(*width).ok().filter(|width| *width > 0)?;
        return match column_type(item.data_type())? {
            (AttributeType::Number(number), 1) => Some((AttributeType::Number(number), width)),
            _ => None,
        };
    }
    let is_text = |one: &DataType| {
        matches!(
            one,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
    };
    let number = match column {
        DataType::Boolean => NumberType::Bool,
        DataType::Int8 => NumberType::I8,
        DataType::Int16 => NumberType::I16,
        DataType::Int32 => NumberType::I32,
        DataType::Int64 => NumberType::I64,
        DataType::UInt8 => NumberType::U8,
        DataType::UInt16 => NumberType::U16,
        DataType::UInt32 => NumberType::U32,
        DataType::UInt64 => NumberType::U64,
        DataType::Float16 => NumberType::F16,
        DataType::Float32 => NumberType::F32,
        DataType::Float64 => NumberType::F64,
        DataType::Dictionary(_, words) if is_text(words) => {
            return Some((AttributeType::Category, 1));
        }
        text if is_text(text) => return Some((AttributeType::Category, 1)),
        _ => return None,
    };
    Some((AttributeType::Number(number), 1))
}

/// The elements of a column, and their number per row: the items of a list of fixed size, or the rows themselves.
///
/// # Errors
/// Bug: a list of a negative size, which Arrow does not allow.
pub fn elements(column: &ArrayRef) -> Result<(&ArrayRef, usize), WriteError> {
    match column.as_fixed_size_list_opt() {
        Some(list) => {
            let width = usize::try_from(list.value_length());
            Ok((
                list.values(),
                width.or_bug("rows of a negative number of elements")?,
            ))
        }
        None => Ok((column, 1)),
    }
}

/// The values of a column, all elements of a row together.
///
/// # Cost
/// None for numbers and booleans; one copy of texts, and of floats if some are missing.
///
/// # Errors
/// Misuse: a type that a store cannot hold. Malformed data: a missing whole number or boolean.
pub fn values(name: &str, column: &ArrayRef) -> Result<Values, WriteError> {
    let Some((kind, _)) = column_type(column.data_type()) else {
        return Err(WriteError::input(
            name,
            column.data_type().to_string(),
            "numbers or booleans, one per row or a list of fixed size, or texts, one per row",
        ));
    };
    if kind == AttributeType::Category {
        let texts = texts(column).or_bug("a column of texts without texts")?;
        return Ok(Values::optional_texts(texts));
    }
    let (items, width) = elements(column)?;
    let holes = column.null_count() > 0 || items.null_count() > 0;
    let absent = |at: usize| {
        items.is_null(at) || at.checked_div(width).is_some_and(|row| column.is_null(row))
    };
    let whole = || match holes {
        true => {
            let expected = "a value in every row: this type has no value that means missing";
            Err(WriteError::data(name, "rows without a value", expected))
        }
        false => Ok(()),
    };
    macro_rules! number {
        ($type:ty, $variant:ident) => {{
            whole()?;
            Values::$variant(items.as_primitive::<$type>().values().clone())
        }};
    }
    macro_rules! float {
        ($type:ty, $variant:ident, $nan:expr) => {{
            let list = items.as_primitive::<$type>().values();
            Values::$variant(match holes {
                false => list.clone(),
                true => {
                    let all = list.iter().enumerate();
                    all.map(|(at, one)| if absent(at) { $nan } else { *one })
                        .collect()
                }
            })
        }};
    }
    Ok(match items.data_type() {
        DataType::Boolean => {
            whole()?;
            Values::Bool(items.as_boolean().values().clone())
        }
        DataType::Int8 => number!(Int8Type, I8),
        DataType::Int16 => number!(Int16Type, I16),
        DataType::Int32 => number!(Int32Type, I32),
        DataType::Int64 => number!(Int64Type, I64),
        DataType::UInt8 => number!(UInt8Type, U8),
        DataType::UInt16 => number!(UInt16Type, U16),
        DataType::UInt32 => number!(UInt32Type, U32),
        DataType::UInt64 => number!(UInt64Type, U64),
        DataType::Float16 => float!(Float16Type, F16, f16::NAN),
        DataType::Float32 => float!(Float32Type, F32, f32::NAN),
        _ => float!(Float64Type, F64, f64::NAN),
    })
}

/// The values of a column, and for numbers and booleans the rows without a value, where the values are NaN or zero. Missing texts are null in the values.
///
/// # Cost
/// As [`values`]; one copy of whole numbers if some are missing.
///
/// # Errors
/// Misuse: a type that a store cannot hold. Malformed data: a missing whole number or boolean inside a list.
pub fn values_with_gaps(
    name: &str,
    column: &ArrayRef,
) -> Result<(Values, BTreeSet<usize>), WriteError> {
    let number = match column_type(column.data_type()) {
        Some((AttributeType::Number(number), _)) => Some(number),
        _ => None,
    };
    let (Some(number), Some(valid)) = (number, column.logical_nulls()) else {
        return Ok((values(name, column)?, BTreeSet::new()));
    };
    let absent: BTreeSet<usize> = (0..valid.len()).filter(|row| valid.is_null(*row)).collect();
    if number.is_float() {
        return Ok((values(name, column)?, absent));
    }
    let given = values(name, &without_nulls(column)?)?;
    let bytes = given.bytes_as(number).or_bug("numbers of another type")?;
    let mut bytes = bytes.into_owned();
    let width = bytes.len().checked_div(column.len()).unwrap_or(1).max(1);
    let rows = bytes.chunks_mut(width).enumerate();
    let gaps = rows.filter(|(row, _)| absent.contains(row));
    gaps.for_each(|(_, row)| row.fill(0));
    Ok((Values::of_bytes(number, &bytes), absent))
}

/// The texts of a column of texts, or of a dictionary of texts; `None` for other columns.
pub fn texts(column: &ArrayRef) -> Option<Vec<Option<Cow<'_, str>>>> {
    Some(match column.data_type() {
        DataType::Utf8 => {
            let list = column.as_string::<i32>();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::LargeUtf8 => {
            let list = column.as_string::<i64>();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::Utf8View => {
            let list = column.as_string_view();
            list.iter().map(|text| text.map(Cow::Borrowed)).collect()
        }
        DataType::Dictionary(..) => {
            let coded = column.as_any_dictionary_opt()?;
            let words = texts(coded.values())?;
            if words.is_empty() {
                return Some(vec![None; column.len()]);
            }
            let word = |(row, code): (usize, usize)| {
                let word = words.get(code).filter(|_| !coded.keys().is_null(row));
                word.cloned().flatten()
            };
            let codes = coded.normalized_keys().into_iter().enumerate();
            codes.map(word).collect()
        }
        _ => return None,
    })
}

/// The declaration of an attribute of vertices, links or objects. `texts` is the type for columns of texts: categories for vertices, texts for
/// objects. Units, descriptions and names of channels are in the metadata of the field, as queries write them.
///
/// # Errors
/// Misuse: a type that a store cannot hold. As [`described`].
pub fn declare(field: &Field, texts: AttributeType) -> Result<AttributeSpec, WriteError> {
    let name = field.name();
    let Some((kind, width)) = column_type(field.data_type()) else {
        let found = field.data_type().to_string();
        return Err(WriteError::input(name, found, "numbers, booleans or texts"));
    };
    let spec = match kind {
        AttributeType::Number(number) => AttributeSpec::number(name, number).with_channels(width),
        _ if texts == AttributeType::Text => AttributeSpec::text(name),
        _ => AttributeSpec::category(name),
    };
    described(spec, field)
}

/// The specification of an attribute with the unit, the description and the names of channels from the metadata of its field, as queries write them.
/// An existing unit or description of the specification stays.
///
/// # Errors
/// Misuse: names of channels that are not a JSON list; periods of pandas, because only their type states the unit that their numbers count, such as
/// months; tensors with a permutation of their dimensions, or with metadata that is not JSON.
pub fn described(mut spec: AttributeSpec, field: &Field) -> Result<AttributeSpec, WriteError> {
    let word = |key: &str| field.metadata().get(key);
    let refused = |found: String, expected| {
        let column = format!("column {}", field.name());
        Err(WriteError::input(column, found, expected))
    };
    match word("ARROW:extension:name").map(String::as_str) {
        Some("pandas.period") => {
            let expected = "timestamps: convert the column with column.dt.to_timestamp() in pandas";
            return refused("periods of pandas".to_owned(), expected);
        }
        Some("arrow.fixed_shape_tensor") => {
            let facts = word("ARROW:extension:metadata").map_or("{}", String::as_str);
            let order = match serde_json::from_str::<Value>(facts) {
                Ok(facts) => facts.get("permutation").cloned().unwrap_or_default(),
                Err(error) => {
                    return refused(
                        format!("{facts:?} ({error})"),
                        "the shape of tensors as JSON",
                    );
                }
            };
            if !is_identity(&order) {
                let found = format!("tensors whose dimensions are in the order {order}");
                return refused(found, "tensors without a permutation");
            }
        }
        _ => {}
    }
    if let Some(names) = word("zvf.channel_names") {
        let names: Vec<String> = serde_json::from_str(names).map_err(|error| {
            let found = format!("{names:?} ({error})");
            WriteError::input("zvf.channel_names", found, "a list of names as JSON")
        })?;
        spec = spec.with_channel_names(names);
    }
    spec.unit = spec.unit.take().or_else(|| word(UNIT).cloned());
    let description = || word(DESCRIPTION).cloned();
    spec.description = spec.description.take().or_else(description);
    Ok(spec)
}

/// Whether a permutation is 0, 1, 2 and so on, or null, which means absent.
fn is_identity(order: &Value) -> bool {
    match order {
        Value::Null => true,
        Value::Array(list) => (0_u64..)
            .zip(list)
            .all(|(at, place)| place.as_u64() == Some(at)),
        _ => false,
    }
}

/// A required column of a table.
///
/// # Errors
/// Misuse: a table without it.
pub fn column<'a>(table: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, WriteError> {
    table.column_by_name(name).ok_or_else(|| {
        let names: Vec<&str> = table
            .schema_ref()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        WriteError::input("columns", names.join(", "), format!("one named {name}"))
    })
}

/// Whether a column locates rows, as queries mark it (`zvf.column` = `place`): it is not an attribute, whatever its name.
#[must_use]
pub fn is_place(field: &Field) -> bool {
    let column = field.metadata().get("zvf.column");
    column.is_some_and(|word| word == "place")
}

/// The column of an attribute: `attribute:NAME` if the table has it, because queries use this name if another column is called NAME; otherwise NAME.
pub fn attribute_column<'t>(table: &'t RecordBatch, name: &str) -> Option<&'t ArrayRef> {
    let beside = table.column_by_name(&format!("attribute:{name}"));
    beside.or_else(|| {
        let found = table.schema_ref().column_with_name(name);
        let (at, _) = found.filter(|(_, field)| !is_place(field))?;
        table.columns().get(at)
    })
}

/// The name of the attribute in a column; `None` if the column is not an attribute. Queries name an attribute `attribute:NAME` if another column has
/// its name; tables of edits may do so for each of [`OF_EDITS`].
fn attribute_name<'n>(schema: &Schema, field: &'n Field, other: &[&str]) -> Option<&'n str> {
    let name = field.name().as_str();
    if other.contains(&name) || is_place(field) {
        return None;
    }
    let own = |plain: &&str| other.contains(plain) || OF_EDITS.contains(plain);
    let taken = |plain: &&str| own(plain) || schema.column_with_name(plain).is_some();
    let plain = name.strip_prefix("attribute:").filter(taken);
    Some(plain.unwrap_or(name))
}

/// The attributes of a table with their names: every column except those in `other` and those that locate a row.
///
/// # Cost
/// As [`values`].
///
/// # Errors
/// As [`values`].
pub fn attributes(
    table: &RecordBatch,
    other: &[&str],
) -> Result<Vec<(String, Values)>, WriteError> {
    let schema = table.schema_ref();
    let mut found = Vec::new();
    for (field, column) in schema.fields().iter().zip(table.columns()) {
        if let Some(name) = attribute_name(schema, field, other) {
            found.push((name.to_owned(), values(name, column)?));
        }
    }
    Ok(found)
}

/// The attributes of a table of objects; for numbers also the rows without a value, as [`values_with_gaps`] returns them.
///
/// # Errors
/// Misuse: columns of types that a store cannot hold. Malformed data: missing booleans, and missing whole numbers inside a list.
pub fn object_attributes(
    table: &RecordBatch,
) -> Result<Vec<(String, Values, BTreeSet<usize>)>, WriteError> {
    let schema = table.schema_ref();
    let mut found = Vec::new();
    for (field, column) in schema.fields().iter().zip(table.columns()) {
        let Some(name) = attribute_name(schema, field, &OF_OBJECTS) else {
            continue;
        };
        let (values, absent) = match column_type(column.data_type()) {
            Some((AttributeType::Number(number), _)) if number != NumberType::Bool => {
                values_with_gaps(name, column)?
            }
            _ => (values(name, column)?, BTreeSet::new()),
        };
        found.push((name.to_owned(), values, absent));
    }
    Ok(found)
}

/// The numbers of a column in one type, such as int64 ids or uint64 numbers of vertices.
///
/// # Errors
/// As [`values`]. Misuse: numbers outside the range of the type; floats and texts.
pub fn numbers<T: ArrowNativeType>(
    name: &str,
    column: &ArrayRef,
) -> Result<ScalarBuffer<T>, WriteError>
where
    Values: From<ScalarBuffer<T>>,
    ScalarBuffer<T>: TryFrom<Values, Error = Values>,
{
    let expected = || Values::from(ScalarBuffer::<T>::default()).type_name();
    let values = values(name, column)?;
    let wanted = Values::from(ScalarBuffer::<T>::default()).number_type();
    // Other libraries may use other integer types for ids and row numbers.
    let whole = values.number_type().filter(|one| !one.is_float());
    let values = match whole.and(wanted) {
        Some(wanted) => values.exactly(wanted).ok_or_else(|| {
            let expected = format!("{} without loss", expected());
            WriteError::input(name, values.type_name(), expected)
        })?,
        None => values,
    };
    let numbers = ScalarBuffer::try_from(values);
    numbers.map_err(|other| WriteError::input(name, other.type_name(), expected()))
}

impl Batch {
    /// Vertices of a table in the form that queries return; see the [module](crate::arrow).
    ///
    /// # Errors
    /// Misuse: a table without `position`, or with columns of types that a store cannot hold. Malformed data: missing whole numbers or booleans.
    pub fn from_records(vertices: &RecordBatch) -> Result<Self, WriteError> {
        let mut batch = Self::new(values("position", column(vertices, "position")?)?);
        if let Some(owners) = vertices.column_by_name("object_id") {
            batch.objects = Owners::Each(numbers("object_id", owners)?);
        }
        batch.attributes = attributes(vertices, &OF_VERTICES)?;
        Ok(batch)
    }

    /// Sets the links and their attributes from a table in the form that queries return. Vertices are numbered through all batches, up to and including
    /// this one, in the order in which they were pushed.
    ///
    /// # Errors
    /// Misuse: a table without `vertices`, vertex numbers that are not whole numbers or do not fit uint64. As [`from_records`](Self::from_records) for
    /// the attributes.
    pub fn with_link_records(mut self, links: &RecordBatch) -> Result<Self, WriteError> {
        self.links = numbers("vertices", column(links, "vertices")?)?;
        self.numbering = Numbering::All;
        self.link_attributes = attributes(links, &OF_LINKS)?;
        Ok(self)
    }
}

impl ObjectTable {
    /// Objects of a table in the form that queries return; see the [module](crate::arrow).
    ///
    /// # Errors
    /// Misuse: a table without `object_id`. Malformed data: a missing id. As [`object_attributes`].
    pub fn from_records(objects: &RecordBatch) -> Result<Self, WriteError> {
        let ids: ScalarBuffer<i64> = numbers("object_id", column(objects, "object_id")?)?;
        let mut found = Self::new(&*ids);
        for (name, values, absent) in object_attributes(objects)? {
            found = found.with_gaps(name, values, absent);
        }
        Ok(found)
    }
}

impl Groups {
    /// Groups of a table, one per row; see the [module](crate::arrow).
    ///
    /// # Errors
    /// Misuse: a table without `object_ids`, or with columns of types that a store cannot hold. Malformed data: a group without a list or a name.
    pub fn from_records(groups: &RecordBatch) -> Result<Self, WriteError> {
        let lists = column(groups, "object_ids")?;
        let Some(lists) = lists.as_list_opt::<i32>() else {
            let found = lists.data_type().to_string();
            return Err(WriteError::input("object_ids", found, "lists of int64"));
        };
        let lost = |name| WriteError::data(name, "rows without a value", "a value in every row");
        let members = lists.iter().map(|list| {
            let list = list.ok_or_else(|| lost("object_ids"))?;
            Ok(numbers("object_ids", &list)?.to_vec())
        });
        let mut found = Self::new(members.collect::<Result<_, WriteError>>()?);
        if let Some(names) = groups.column_by_name("name") {
            let Values::Text(names) = values("name", names)? else {
                let found = names.data_type().to_string();
                return Err(WriteError::input("name", found, "texts"));
            };
            let names = names.iter().collect::<Option<Vec<_>>>();
            found = found.with_names(names.ok_or_else(|| lost("name"))?);
        }
        let mut absent = BTreeMap::new();
        let columns = groups.schema_ref().fields().iter().zip(groups.columns());
        let columns = columns.map(|(field, column)| {
            let number = match column_type(column.data_type()) {
                Some((AttributeType::Number(number), _)) => Some(number),
                _ => None,
            };
            let (Some(number), Some(valid)) = (number, column.logical_nulls()) else {
                return Ok(Arc::clone(column));
            };
            let rows = (0..valid.len()).filter(|row| valid.is_null(*row));
            if let Some(name) = attribute_name(groups.schema_ref(), field, &OF_GROUPS) {
                absent.insert(name.to_owned(), rows.collect::<BTreeSet<_>>());
            }
            match number.is_float() {
                true => Ok(Arc::clone(column)),
                false => without_nulls(column),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, WriteError>>()?;
        let plain = RecordBatch::try_new(groups.schema(), columns);
        found.attributes = attributes(&plain.or_bug("a table of other columns")?, &OF_GROUPS)?;
        absent.retain(|_, rows| !rows.is_empty());
        found.absent = absent;
        Ok(found)
    }
}

/// The axes that the schema of a table states, in the order of its positions: names, types and units in `zvf.axes`; units alone in
/// `zvf.units`, with empty names. `None` if the schema states neither.
///
/// # Errors
/// Misuse: metadata that is not such a list.
pub fn stated_axes(schema: &Schema) -> Result<Option<Vec<Axis>>, WriteError> {
    let list = |key: &str, expected: &str| {
        let Some(text) = schema.metadata().get(key) else {
            return Ok(None);
        };
        let list: Option<Vec<Value>> = serde_json::from_str(text).ok();
        let wrong = || WriteError::input(key, text.clone(), expected);
        list.ok_or_else(wrong).map(Some)
    };
    let word = |one: &Value, key: &str| one.get(key)?.as_str().map(str::to_owned);
    let units = list("zvf.units", "a list of units as JSON")?;
    let units: Option<Vec<Option<String>>> = units.map(|units| {
        let unit = |one: &Value| one.as_str().map(str::to_owned);
        units.iter().map(unit).collect()
    });
    let expected = "a list of axes as JSON";
    let Some(axes) = list("zvf.axes", expected)? else {
        let named = |unit| Axis {
            unit,
            ..Axis::new("", "space")
        };
        return Ok(units.map(|units| units.into_iter().map(named).collect()));
    };
    let axis = |one: &Value| match one {
        Value::String(name) => Some(Axis::named(name)),
        other => {
            let name = word(other, "name")?;
            let mut axis = match word(other, "type") {
                Some(kind) => Axis::new(name, kind),
                None => Axis::named(name),
            };
            axis.unit = word(other, "unit");
            Some(axis)
        }
    };
    let found: Option<Vec<Axis>> = axes.iter().map(axis).collect();
    let wrong = || WriteError::input("zvf.axes", json!(axes).to_string(), expected);
    let mut found = found.ok_or_else(wrong)?;
    // Units may be stated separately.
    if let Some(units) = units.filter(|units| units.len() == found.len()) {
        for (axis, unit) in found.iter_mut().zip(units) {
            axis.unit = axis.unit.take().or(unit);
        }
    }
    Ok(Some(found))
}

impl StoreSpec {
    /// Takes the number type of positions, the attributes of vertices, and axes with their units from the schema of a table in the form that queries
    /// return.
    ///
    /// # Errors
    /// Misuse: a schema without `position` and without a column for each axis, with another number of axes than [`chunk_shape`](Self::chunk_shape) has, or
    /// with columns of types that a store cannot hold; as [`stated_axes`] and [`described`].
    pub fn with_vertex_records(mut self, schema: &Schema) -> Result<Self, WriteError> {
        let table = RecordBatch::new_empty(Arc::new(schema.clone()));
        let table = axes::with_positions(&table, &self.axes)?;
        let schema = &*table.schema();
        let place = schema.field_with_name("position").ok();
        let Some((AttributeType::Number(number), axes)) =
            place.and_then(|field| column_type(field.data_type()))
        else {
            let found = place.map_or_else(|| "none".to_owned(), |one| one.data_type().to_string());
            let names: Vec<&str> = self.axes.iter().map(|axis| &*axis.name).collect();
            let names = names.join(", ");
            let expected =
                format!("a list of numbers of fixed size, or a column for each of {names}");
            return Err(WriteError::input("column position", found, expected));
        };
        if axes != self.chunk_shape.len() {
            let expected = format!("{}, as chunk_shape has", self.chunk_shape.len());
            return Err(WriteError::input(
                "axes of position",
                axes.to_string(),
                expected,
            ));
        }
        self.positions = number;
        self.objects |= schema.field_with_name("object_id").is_ok();
        if let Some(stated) = stated_axes(schema)? {
            if stated.len() != axes {
                let expected = format!("{axes} axes, as position has");
                let found = format!("{} axes", stated.len());
                return Err(WriteError::input("zvf.axes", found, expected));
            }
            for (axis, stated) in self.axes.iter_mut().zip(stated) {
                if stated.name.is_empty() {
                    axis.unit = stated.unit;
                } else {
                    *axis = stated;
                }
            }
        }
        let specs = specs(schema, &OF_VERTICES, AttributeType::Category)?;
        self.vertex_attributes.extend(specs);
        Ok(self)
    }

    /// Takes the width and the attributes of links from the schema of a table in the form that queries return.
    ///
    /// # Errors
    /// Misuse: a schema without `vertices`, or with columns of types that a store cannot hold; as [`described`].
    pub fn with_link_records(mut self, schema: &Schema) -> Result<Self, WriteError> {
        let ends = schema.field_with_name("vertices").ok();
        let Some((_, width)) = ends.and_then(|field| column_type(field.data_type())) else {
            let found = ends.map_or_else(|| "none".to_owned(), |one| one.data_type().to_string());
            let expected = "a list of vertex numbers of fixed size";
            return Err(WriteError::input("column vertices", found, expected));
        };
        self.links.width = width;
        let specs = specs(schema, &OF_LINKS, AttributeType::Category)?;
        self.links.attributes.extend(specs);
        Ok(self)
    }

    /// Takes the attributes of objects from the schema of a table in the form that queries return.
    ///
    /// # Errors
    /// Misuse: columns of types that a store cannot hold; as [`described`].
    pub fn with_object_records(mut self, schema: &Schema) -> Result<Self, WriteError> {
        let specs = specs(schema, &OF_OBJECTS, AttributeType::Text)?;
        self.object_attributes.extend(specs);
        Ok(self)
    }
}

/// The attributes that a schema declares: every column except those in `other`.
fn specs(
    schema: &Schema,
    other: &[&str],
    texts: AttributeType,
) -> Result<Vec<AttributeSpec>, WriteError> {
    let mut found = Vec::new();
    for field in schema.fields() {
        if let Some(name) = attribute_name(schema, field, other) {
            let field = field.as_ref().clone().with_name(name);
            found.push(declare(&field, texts)?);
        }
    }
    Ok(found)
}

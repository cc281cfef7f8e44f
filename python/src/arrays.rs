//! Converts columns to buffers that NumPy can view, and buffers of NumPy to columns.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use half::f16;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use zvf_convert::moments_as_numbers;
use zvf_meta::moments::Moments;
use zvf_write::arrow::UNIT;

use crate::border::Bytes;
use crate::errors::{bug, misuse};
use crate::table::{Table, foreign};

/// The parts of a column, as a dictionary: `name`, and
///
/// - numbers and booleans: `data` (a buffer), `dtype` (NumPy's name), `width` (elements of a row, or None);
/// - texts: `texts` (a list), with `codes` (a buffer of int64, -1 for none) where the column is a dictionary;
/// - lists: `data`, `dtype` and `offsets` (a buffer of int64);
///
/// and `missing` (a buffer of one byte a row) where rows lack a value, and `times` (NumPy's name, such as `datetime64[s]`) where the numbers are dates,
/// moments or durations, or `unit` (that of the attribute) where NumPy has no type for them: times of day, and moments with a time zone.
pub(crate) fn column<'py>(
    py: Python<'py>,
    name: &str,
    column: &ArrayRef,
) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("name", name)?;
    if column.null_count() > 0 {
        let missing: Vec<u8> = (0..column.len())
            .map(|row| u8::from(column.is_null(row)))
            .collect();
        parts.set_item("missing", buffer(py, Buffer::from_vec(missing))?)?;
    }
    match column.data_type() {
        DataType::FixedSizeList(_, width) => {
            let list = column.as_fixed_size_list();
            let width = size(*width)?;
            // Arrow slices the values together with the lists, so `offset` is 0 and the values hold `len` lists.
            let values = list
                .values()
                .slice(list.offset() * width, list.len() * width);
            elements(&parts, name, &values)?;
            parts.set_item("width", width)?;
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let offsets = list.value_offsets();
            let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
                return Err(bug("a list column without offsets"));
            };
            let start = size(first)?;
            let values = list.values().slice(start, size(last)? - start);
            elements(&parts, name, &values)?;
            let offsets: Vec<i64> = offsets
                .iter()
                .map(|offset| i64::from(*offset) - i64::from(first))
                .collect();
            parts.set_item("offsets", buffer(py, Buffer::from_vec(offsets))?)?;
        }
        DataType::Dictionary(..) => {
            let coded = column.as_any_dictionary();
            let words = texts(py, name, coded.values())?;
            parts.set_item("texts", words)?;
            let keys = match coded.values().is_empty() {
                true => vec![0; coded.len()],
                false => coded.normalized_keys(),
            };
            let codes = keys
                .into_iter()
                .enumerate()
                .map(|(row, key)| match coded.keys().is_null(row) {
                    true => Ok(-1),
                    false => i64::try_from(key).map_err(|_| bug("a dictionary key past 2^63")),
                })
                .collect::<PyResult<Vec<i64>>>()?;
            parts.set_item("codes", buffer(py, Buffer::from_vec(codes))?)?;
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            parts.set_item("texts", texts(py, name, column)?)?;
        }
        _ => numbers(&parts, name, column)?,
    }
    Ok(parts)
}

/// A size or offset of an Arrow array; Arrow has checked that it is not negative.
fn size(stored: i32) -> PyResult<usize> {
    usize::try_from(stored).map_err(|_| bug("an Arrow array with a negative offset"))
}

/// A buffer that NumPy can view without a copy, and that lives as long as the view.
fn buffer(py: Python<'_>, buffer: Buffer) -> PyResult<Py<Bytes>> {
    Py::new(py, Bytes(buffer))
}

/// The elements of lists. A missing float is NaN; in other types, a missing element is an error.
fn elements(parts: &Bound<'_, PyDict>, name: &str, values: &ArrayRef) -> PyResult<()> {
    fn filled<T: ArrowPrimitiveType>(values: &ArrayRef, nan: T::Native) -> ArrayRef {
        let all = values.as_primitive::<T>().iter();
        let all = all.map(|one| one.unwrap_or(nan));
        Arc::new(PrimitiveArray::<T>::from_iter_values(all))
    }
    let filled = match values.data_type() {
        _ if values.null_count() == 0 => Arc::clone(values),
        DataType::Float16 => filled::<Float16Type>(values, f16::NAN),
        DataType::Float32 => filled::<Float32Type>(values, f32::NAN),
        DataType::Float64 => filled::<Float64Type>(values, f64::NAN),
        _ => {
            return Err(misuse(format!(
                "column {name}: found lists with missing elements, which NumPy cannot hold; read it through __arrow_c_stream__"
            )));
        }
    };
    numbers(parts, name, &filled)
}

fn numbers(parts: &Bound<'_, PyDict>, name: &str, values: &ArrayRef) -> PyResult<()> {
    fn of<T: ArrowPrimitiveType>(values: &ArrayRef) -> Buffer {
        values.as_primitive::<T>().values().inner().clone()
    }
    let (dtype, data) = match values.data_type() {
        DataType::Boolean => {
            let bits = values.as_boolean().values();
            let bytes: Vec<u8> = bits.iter().map(u8::from).collect();
            ("bool", Buffer::from_vec(bytes))
        }
        DataType::Int8 => ("int8", of::<Int8Type>(values)),
        DataType::Int16 => ("int16", of::<Int16Type>(values)),
        DataType::Int32 => ("int32", of::<Int32Type>(values)),
        DataType::Int64 => ("int64", of::<Int64Type>(values)),
        DataType::UInt8 => ("uint8", of::<UInt8Type>(values)),
        DataType::UInt16 => ("uint16", of::<UInt16Type>(values)),
        DataType::UInt32 => ("uint32", of::<UInt32Type>(values)),
        DataType::UInt64 => ("uint64", of::<UInt64Type>(values)),
        DataType::Float16 => ("float16", of::<Float16Type>(values)),
        DataType::Float32 => ("float32", of::<Float32Type>(values)),
        DataType::Float64 => ("float64", of::<Float64Type>(values)),
        DataType::Null => {
            // A column whose type no cell determines: all values are missing.
            let nan = vec![f32::NAN; values.len()];
            ("float32", Buffer::from_vec(nan))
        }
        // Numbers in the unit of the attribute, as in the tables of queries.
        times if times.is_temporal() && !matches!(times, DataType::Interval(_)) => {
            let one = RecordBatch::try_from_iter([(name, Arc::clone(values))]);
            let numbers = one.and_then(|one| moments_as_numbers(&one));
            let numbers = numbers.map_err(|error| foreign(&error))?;
            let field = numbers.schema_ref().fields().first();
            let unit = field.and_then(|field| field.metadata().get(UNIT).cloned());
            let Some(numbers) = numbers.columns().first() else {
                return Err(bug("a table without its column"));
            };
            let Some(numbers) = numbers.as_primitive_opt::<Int64Type>() else {
                return Err(bug("times that are not int64"));
            };
            let unit = unit.ok_or_else(|| bug("times without a unit"))?;
            match word_of_times(times) {
                Some(word) => parts.set_item("times", word)?,
                None => parts.set_item("unit", unit)?,
            }
            ("int64", numbers.values().inner().clone())
        }
        other => {
            return Err(misuse(format!(
                "column {name}: found {other}, a type that NumPy lacks; read it through __arrow_c_stream__"
            )));
        }
    };
    parts.set_item("dtype", dtype)?;
    parts.set_item("data", buffer(parts.py(), data)?)
}

/// NumPy's type for dates, moments and durations; `None` for times of day and for moments with a time zone, which NumPy lacks.
fn word_of_times(times: &DataType) -> Option<String> {
    let (word, unit) = match times {
        DataType::Date32 => return Some("datetime64[D]".to_owned()),
        DataType::Date64 => return Some("datetime64[ms]".to_owned()),
        DataType::Timestamp(unit, None) => ("datetime64", unit),
        DataType::Duration(unit) => ("timedelta64", unit),
        _ => return None,
    };
    let unit = match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    Some(format!("{word}[{unit}]"))
}

fn texts<'py>(py: Python<'py>, name: &str, values: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match zvf_write::arrow::texts(values) {
        Some(texts) => PyList::new(py, texts),
        None => Err(misuse(format!(
            "column {name}: found a dictionary of {}, expected one of texts",
            values.data_type()
        ))),
    }
}

/// A column to convert: its name; its values (a buffer in C order, int64 for moments and durations; or a list of texts); NumPy's name of their type, or
/// `text`; the number of elements of a row if rows are lists; a buffer with one byte for each value, not 0 for a missing one, if some are missing; and
/// the unit if the type does not state it.
type Given<'py> = (
    String,
    Bound<'py, PyAny>,
    String,
    Option<usize>,
    Option<PyBuffer<u8>>,
    Option<String>,
);

/// A table of one batch from columns of NumPy. The values are copied.
#[pyfunction]
pub(crate) fn table_of_columns(columns: Vec<Given<'_>>, rows: usize) -> PyResult<Table> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for (name, given, dtype, width, missing, unit) in columns {
        let moments = Moments::unit_of_type(&dtype);
        let dtype = if moments.is_some() { "int64" } else { &dtype };
        let mut values = values(&name, &given, dtype)?;
        let missing = missing.map(|missing| missing.to_vec(given.py()));
        let missing = missing.transpose()?;
        if let Some(missing) = &missing {
            let known: NullBuffer = missing.iter().map(|byte| *byte == 0).collect();
            let data = values.to_data().into_builder().nulls(Some(known)).build();
            values = make_array(data.map_err(|error| misuse(format!("{name}: {error}")))?);
        }
        let array = match width {
            None => values,
            Some(width) => {
                let wrong = || misuse(format!("{name}: found {width} values a row"));
                let size = i32::try_from(width).map_err(|_| wrong())?;
                // A row whose elements are all missing is missing itself.
                let rows = missing.map(|missing| {
                    let rows = missing.chunks(width.max(1));
                    let known = rows.map(|row| row.contains(&0));
                    known.collect::<NullBuffer>()
                });
                let kind = values.data_type().clone();
                let item = Arc::new(Field::new("item", kind, values.is_nullable()));
                let list = FixedSizeListArray::try_new(item, size, values, rows);
                Arc::new(list.map_err(|error| misuse(format!("{name}: {error}")))?)
            }
        };
        if array.len() != rows {
            let found = array.len();
            return Err(misuse(format!(
                "{name}: found {found} rows, expected {rows}"
            )));
        }
        let field = Field::new(name, array.data_type().clone(), array.is_nullable());
        let unit = moments.or(unit).map(|unit| (UNIT.to_owned(), unit));
        fields.push(field.with_metadata(unit.into_iter().collect()));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options);
    let batch = batch.map_err(|error| misuse(error.to_string()))?;
    Ok(Table {
        schema,
        batches: vec![batch],
    })
}

fn values(name: &str, given: &Bound<'_, PyAny>, dtype: &str) -> PyResult<ArrayRef> {
    fn copied<E: Element>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<E>> {
        let buffer =
            PyBuffer::<E>::get(given).map_err(|error| misuse(format!("{name}: {error}")))?;
        buffer.to_vec(given.py())
    }
    fn of<T>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<ArrayRef>
    where
        T: ArrowPrimitiveType<Native: Element>,
    {
        let list = ScalarBuffer::from(copied::<T::Native>(name, given)?);
        Ok(Arc::new(PrimitiveArray::<T>::new(list, None)))
    }
    Ok(match dtype {
        "int8" => of::<Int8Type>(name, given)?,
        "int16" => of::<Int16Type>(name, given)?,
        "int32" => of::<Int32Type>(name, given)?,
        "int64" => of::<Int64Type>(name, given)?,
        "uint8" => of::<UInt8Type>(name, given)?,
        "uint16" => of::<UInt16Type>(name, given)?,
        "uint32" => of::<UInt32Type>(name, given)?,
        "uint64" => of::<UInt64Type>(name, given)?,
        "float32" => of::<Float32Type>(name, given)?,
        "float64" => of::<Float64Type>(name, given)?,
        // Passed as uint16, because the buffers of PyO3 do not support half floats.
        "float16" => {
            let bits = copied::<u16>(name, given)?;
            let list: Vec<f16> = bits.into_iter().map(f16::from_bits).collect();
            Arc::new(PrimitiveArray::<Float16Type>::new(list.into(), None))
        }
        // Passed as uint8.
        "bool" => {
            let bytes = copied::<u8>(name, given)?;
            let bits: BooleanBuffer = bytes.into_iter().map(|byte| byte != 0).collect();
            Arc::new(BooleanArray::new(bits, None))
        }
        "text" => {
            let list = given.extract::<Vec<Option<String>>>()?;
            if list.is_empty() {
                return Ok(new_empty_array(&DataType::Utf8));
            }
            let mut builder = StringBuilder::new();
            builder.extend(list);
            Arc::new(builder.finish())
        }
        other => {
            return Err(misuse(format!(
                "{name}: found values of {other}, expected numbers, booleans or texts"
            )));
        }
    })
}

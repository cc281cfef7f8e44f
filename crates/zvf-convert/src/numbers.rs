//! Numbers of Arrow columns, and numbers as text.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use zvf_encode::error::OrBug;
use zvf_query::numbers::measured;
pub use zvf_query::numbers::{Floats, floats, shape};
use zvf_write::arrow::stated_axes;
use zvf_write::{Axis, WriteError, narrow};

use crate::records::values::wide;
use crate::{ConvertError, Format};

/// The numbers of a column of an answer, where missing values are NaN, missing dates and times among them.
///
/// # Errors
///
/// Bug: no such column.
pub(crate) fn numbers_of(batch: &RecordBatch, name: &str) -> Result<Floats, WriteError> {
    let found = batch.schema_ref().column_with_name(name);
    let found = found.and_then(|(at, field)| Some((field, batch.columns().get(at)?)));
    let (field, column) = found.or_bug("a column that is gone")?;
    Ok(measured(field, column, 0.0))
}

/// The rows of a column of whole numbers without a value, dates and times among them; none for other columns.
///
/// # Errors
///
/// Bug: no such column.
pub(crate) fn rows_without_value(
    batch: &RecordBatch,
    name: &str,
) -> Result<Vec<usize>, WriteError> {
    let column = batch.column_by_name(name).or_bug("a column that is gone")?;
    let whole = shape(column.data_type()).filter(|(_, element)| element.is_integer());
    let Some((width, element)) = whole else {
        return Ok(Vec::new());
    };
    // Missing dates and times are marked by a number.
    if *element != DataType::Int64 && column.logical_null_count() == 0 {
        return Ok(Vec::new());
    }
    let values = numbers_of(batch, name)?.values;
    let rows = values.chunks(width.max(1)).enumerate();
    let gone = rows.filter(|(_, row)| row.iter().any(|value| value.is_nan()));
    Ok(gone.map(|(row, _)| row).collect())
}

/// A column of integers as int64; `None` if a value is missing or beyond int64, or for another type.
pub(crate) fn whole(column: &ArrayRef) -> Option<Vec<i64>> {
    if column.null_count() > 0 || !column.data_type().is_integer() {
        return None;
    }
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return Some(numbers.values().to_vec());
    }
    wide(column)
        .map(|number| i64::try_from(number).ok())
        .collect()
}

/// The values of a column of float32 or float64 as whole numbers. `None` for a value that is missing, not whole, or so large that its type does not
/// represent its neighbours; `None` for a column of another type.
pub(crate) fn floats_as_whole(column: &ArrayRef) -> Option<Vec<Option<i64>>> {
    #[expect(clippy::cast_possible_truncation, reason = "checked just here")]
    let whole = |value: f64, most: f64| {
        (value.fract() == 0.0 && value.abs() < most).then_some(value as i64)
    };
    if let Some(list) = column.as_primitive_opt::<Float32Type>() {
        let most = 16_777_216.0;
        let whole = list
            .iter()
            .map(|value| value.and_then(|value| whole(value.into(), most)));
        return Some(whole.collect());
    }
    let list = column.as_primitive_opt::<Float64Type>()?;
    let most = 9_007_199_254_740_992.0;
    let whole = list
        .iter()
        .map(|value| value.and_then(|value| whole(value, most)));
    Some(whole.collect())
}

/// A column of floats as int64 if all values are whole numbers, as in pandas, which stores integers with missing values
/// as floats. Any other column is unchanged.
pub(crate) fn without_points(column: &ArrayRef) -> ArrayRef {
    let whole: Option<Vec<i64>> =
        floats_as_whole(column).and_then(|whole| whole.into_iter().collect());
    match whole {
        Some(whole) => Arc::new(Int64Array::from(whole)),
        None => ArrayRef::clone(column),
    }
}

/// A number as a count or an index; `None` if it is not a whole number, or negative.
pub(crate) fn whole_number(value: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just here"
    )]
    let number = ((0.0..=9e15).contains(&value) && value.fract() == 0.0).then_some(value as u64);
    number
}

/// The numbers of a column with missing values replaced: floats by NaN, integers by `fill`, or by 0 if the type cannot hold `fill`.
pub(crate) fn without_nulls(items: &ArrayRef, column: &ArrayRef, fill: i64) -> ArrayRef {
    let width = items.len().checked_div(column.len()).unwrap_or(1).max(1);
    let absent = |at: usize| items.is_null(at) || column.is_null(at / width);
    macro_rules! fill {
        ($($data:ident $type:ty, $value:expr;)*) => {
            match items.data_type() {
                $(DataType::$data => match items.as_primitive_opt::<$type>() {
                    Some(list) => {
                        let values = list.values().iter().enumerate();
                        let values = values.map(|(at, &value)| if absent(at) { $value } else { value });
                        Arc::new(PrimitiveArray::<$type>::from_iter_values(values))
                    }
                    None => ArrayRef::clone(items),
                },)*
                DataType::Boolean => match items.as_boolean_opt() {
                    Some(list) => {
                        let values = list.values().iter().enumerate();
                        let values: Vec<bool> = values.map(|(at, value)| value && !absent(at)).collect();
                        Arc::new(BooleanArray::from(values))
                    }
                    None => ArrayRef::clone(items),
                },
                _ => ArrayRef::clone(items),
            }
        };
    }
    fill!(
        Int8 Int8Type, i8::try_from(fill).unwrap_or_default();
        Int16 Int16Type, i16::try_from(fill).unwrap_or_default();
        Int32 Int32Type, i32::try_from(fill).unwrap_or_default();
        Int64 Int64Type, fill;
        UInt8 UInt8Type, u8::try_from(fill).unwrap_or_default();
        UInt16 UInt16Type, u16::try_from(fill).unwrap_or_default();
        UInt32 UInt32Type, u32::try_from(fill).unwrap_or_default();
        UInt64 UInt64Type, u64::try_from(fill).unwrap_or_default();
        Float16 Float16Type, half::f16::NAN;
        Float32 Float32Type, f32::NAN;
        Float64 Float64Type, f64::NAN;
    )
}

/// The positions of a batch of vertices for formats whose coordinates are x, y and z: in this order if the axes that the batch states have these
/// names, else in the order of the axes.
///
/// # Errors
///
/// Bug: the batch is not a table of vertices.
pub(crate) fn positions(batch: &RecordBatch) -> Result<Floats, WriteError> {
    let column = batch.column_by_name("position");
    let mut found = floats(column.or_bug("vertices without positions")?);
    let axes = stated_axes(batch.schema_ref())?;
    if let Some([x, y, z]) = axes.as_deref().and_then(places_of_xyz) {
        for position in found.values.as_chunks_mut::<3>().0 {
            let stored = *position;
            let at = |axis: usize| stored.get(axis).copied().or_bug("an axis beyond the third");
            *position = [at(x)?, at(y)?, at(z)?];
        }
    }
    Ok(found)
}

/// The indices of x, y and z among three axes; `None` if they are in this order, or if the axes have other names.
pub(crate) fn places_of_xyz(axes: &[Axis]) -> Option<[usize; 3]> {
    let place = |name: &str| axes.iter().position(|axis| axis.name == name);
    let places = [place("x")?, place("y")?, place("z")?];
    (axes.len() == 3 && places != [0, 1, 2]).then_some(places)
}

/// Refuses positions with NaN or an infinity: many readers of `format` reject them, or interpret them as end marks.
///
/// # Errors
///
/// Misuse: a coordinate that is not finite in the number type of the file.
pub(crate) fn check_finite(
    format: Format,
    positions: &[f64],
    element: &DataType,
) -> Result<(), ConvertError> {
    // One loop for each type, which the compiler can inline: it visits every coordinate of an export.
    let mut each = positions.iter();
    let (kind, bad) = match element {
        DataType::Float16 => (
            "float16",
            each.find(|one| !zvf_store::nearest_f16(**one).is_finite()),
        ),
        DataType::Float32 => ("float32", each.find(|one| !narrow(**one).is_finite())),
        _ => ("float64", each.find(|one| !one.is_finite())),
    };
    let Some(bad) = bad else {
        return Ok(());
    };
    let name = format.name();
    Err(ConvertError::usage(
        "position",
        format!("the coordinate {bad:?}"),
        format!(
            "coordinates of {name} that are finite as {kind}: `--bbox` leaves other rows out, and CSV, PLY, Arrow, Parquet and NPZ hold them"
        ),
    ))
}

/// Whether the numbers of a column are written with the digits of float32.
pub(crate) fn single(schema: &Schema, column: &str) -> bool {
    let field = schema.field_with_name(column).ok();
    let element = field.and_then(|field| shape(field.data_type()));
    matches!(element, Some((_, DataType::Float16 | DataType::Float32)))
}

/// Whether a float32 is a whole number from 2^24 on, for which all digits are written.
pub(crate) fn is_long(value: f64) -> bool {
    (16_777_216.0..1e16).contains(&value.abs())
}

/// Appends a number with the fewest digits that read back as the same float32, or float64; a whole float32 from 2^24 on has all digits.
pub(crate) fn put(out: &mut String, value: f64, single: bool) {
    // Writing to a String cannot fail.
    let near = f64::from(narrow(value));
    let _ = if single && is_long(near) {
        write!(out, "{near:.1}")
    } else if single {
        write!(out, "{:?}", narrow(value))
    } else {
        write!(out, "{value:?}")
    };
}

/// Appends numbers, with a blank before each.
pub(crate) fn put_all(out: &mut String, values: &[f64], single: bool) {
    for &value in values {
        out.push(' ');
        put(out, value, single);
    }
}

/// The float32 nearest to a number, and whether both are equal.
pub(crate) fn rounded(value: f64) -> (f32, bool) {
    let near = narrow(value);
    (near, value.is_nan() || f64::from(near) == value)
}

//! Converts gathered bytes to Arrow arrays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float64Array, Int64Array,
    PrimitiveArray, StringArray, UInt64Array, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit as ArrowUnit};
use serde_json::{Value, json};
use zvf_store::Store;
use zvf_store::format::dtype::{ByteOrder, DType, DTypeKind, TimeUnit};

use super::gather::swap;
use super::scalar::{Utf32, unpadded};
use crate::Query;

/// The Arrow type of one element. `None` for `object`: its bytes are not values (trap T14).
pub(crate) fn element_type(dtype: DType) -> Option<DataType> {
    Some(match dtype.kind {
        DTypeKind::Bool => DataType::Boolean,
        DTypeKind::I8 => DataType::Int8,
        DTypeKind::I16 => DataType::Int16,
        DTypeKind::I32 => DataType::Int32,
        DTypeKind::I64 => DataType::Int64,
        DTypeKind::U8 => DataType::UInt8,
        DTypeKind::U16 => DataType::UInt16,
        DTypeKind::U32 => DataType::UInt32,
        DTypeKind::U64 => DataType::UInt64,
        DTypeKind::F16 => DataType::Float16,
        DTypeKind::F32 => DataType::Float32,
        DTypeKind::F64 => DataType::Float64,
        DTypeKind::C64 => pair(DataType::Float32),
        DTypeKind::C128 => pair(DataType::Float64),
        DTypeKind::Utf32 { .. } => DataType::Utf8,
        DTypeKind::Bytes { .. } => DataType::Binary,
        DTypeKind::Datetime { unit } => match scale(unit) {
            Some((unit, _)) => DataType::Timestamp(unit, None),
            None => DataType::Int64,
        },
        DTypeKind::Timedelta { unit } => match scale(unit) {
            Some((unit, _)) => DataType::Duration(unit),
            None => DataType::Int64,
        },
        _ => return None,
    })
}

/// Marks a column that states the place of a row in the store or the answer. Such a column is not an attribute, and is left out of files that are
/// written from an answer.
pub(crate) fn placed(field: Field) -> Field {
    let mark = ("zvf.column".to_owned(), "place".to_owned());
    field.with_metadata([mark].into())
}

/// Whether a column of an answer states the place of a row in the store or the answer, and is not an attribute.
#[must_use]
pub fn is_placed(field: &Field) -> bool {
    let mark = field.metadata().get("zvf.column");
    mark.is_some_and(|word| word == "place")
}

fn pair(item: DataType) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new("item", item, false)), 2)
}

/// The Arrow unit for a date or time, and how many of these units a stored step has. `None` for steps without a fixed length or below a
/// nanosecond; such columns remain plain integers.
fn scale(unit: TimeUnit) -> Option<(ArrowUnit, i64)> {
    Some(match unit {
        TimeUnit::Week => (ArrowUnit::Second, 604_800),
        TimeUnit::Day => (ArrowUnit::Second, 86_400),
        TimeUnit::Hour => (ArrowUnit::Second, 3600),
        TimeUnit::Minute => (ArrowUnit::Second, 60),
        TimeUnit::Second => (ArrowUnit::Second, 1),
        TimeUnit::Millisecond => (ArrowUnit::Millisecond, 1),
        TimeUnit::Microsecond => (ArrowUnit::Microsecond, 1),
        TimeUnit::Nanosecond => (ArrowUnit::Nanosecond, 1),
        _ => return None,
    })
}

/// The Arrow type of rows of `width` elements.
pub(crate) fn row_type(element: DataType, width: usize) -> DataType {
    match i32::try_from(width) {
        Ok(1) | Err(_) => element,
        Ok(width) => DataType::FixedSizeList(Arc::new(Field::new("item", element, true)), width),
    }
}

/// The Arrow type of rows of `width` values without nulls.
pub(crate) fn fixed_list(item: DataType, width: usize) -> DataType {
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    DataType::FixedSizeList(Arc::new(Field::new("item", item, false)), width)
}

/// An array of rows of `width` elements from their bytes, row-major. `valid` is the validity of rows.
pub(crate) fn rows(
    dtype: DType,
    width: usize,
    bytes: MutableBuffer,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    if width == 1 {
        return elements(dtype, bytes, valid);
    }
    let element = element_type(dtype)
        .ok_or_else(|| ArrowError::NotYetImplemented(format!("type {dtype}")))?;
    let count = bytes
        .len()
        .checked_div(width.saturating_mul(dtype.size()))
        .unwrap_or(0);
    let items = elements(dtype, bytes, None)?;
    list(
        Field::new("item", element, true),
        width,
        items,
        count,
        valid,
    )
}

/// A fixed-size list over the items of `count` rows.
pub(crate) fn list(
    field: Field,
    width: usize,
    items: ArrayRef,
    count: usize,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let width = i32::try_from(width)
        .map_err(|_| ArrowError::InvalidArgumentError(format!("{width} columns")))?;
    let array =
        FixedSizeListArray::try_new_with_length(Arc::new(field), width, items, valid, count)?;
    Ok(Arc::new(array))
}

/// An array of single elements from their bytes.
pub(crate) fn elements(
    dtype: DType,
    mut bytes: MutableBuffer,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let native = if cfg!(target_endian = "big") {
        ByteOrder::Big
    } else {
        ByteOrder::Little
    };
    let part = match dtype.kind {
        DTypeKind::C64 | DTypeKind::C128 => dtype.size() / 2,
        DTypeKind::Utf32 { .. } | DTypeKind::Bytes { .. } => 1,
        _ => dtype.size(),
    };
    if dtype.order != native {
        swap(bytes.as_slice_mut(), part);
    }
    let count = bytes.len().checked_div(dtype.size()).unwrap_or(0);
    let data_type = element_type(dtype)
        .ok_or_else(|| ArrowError::NotYetImplemented(format!("type {dtype}")))?;
    Ok(match dtype.kind {
        DTypeKind::Bool => {
            let bits = BooleanBuffer::collect_bool(count, |i| {
                bytes.as_slice().get(i).is_some_and(|byte| *byte != 0)
            });
            Arc::new(BooleanArray::new(bits, valid))
        }
        DTypeKind::C64 | DTypeKind::C128 => {
            let item = match dtype.kind {
                DTypeKind::C64 => DataType::Float32,
                _ => DataType::Float64,
            };
            let items = primitive(item.clone(), part, bytes.into(), None)?;
            list(Field::new("item", item, false), 2, items, count, valid)?
        }
        DTypeKind::Utf32 { .. } => texts(dtype, bytes.as_slice(), valid.as_ref())?,
        DTypeKind::Bytes { .. } => {
            let mut array = BinaryBuilder::with_capacity(count, bytes.len());
            for (row, item) in bytes.as_slice().chunks_exact(dtype.size()).enumerate() {
                if valid.as_ref().is_none_or(|valid| valid.is_valid(row)) {
                    array.append_value(unpadded(item));
                } else {
                    array.append_null();
                }
            }
            Arc::new(array.finish())
        }
        DTypeKind::Datetime { unit } | DTypeKind::Timedelta { unit } => {
            let by = scale(unit).map_or(1, |(_, by)| by);
            typed(&time(bytes.into(), by, valid.as_ref()), data_type)?
        }
        _ => primitive(data_type, part, bytes.into(), valid)?,
    })
}

/// Numbers of `size` bytes.
fn primitive(
    data_type: DataType,
    size: usize,
    bytes: Buffer,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    fn of<T: ArrowPrimitiveType>(
        bytes: Buffer,
        valid: Option<NullBuffer>,
        data_type: DataType,
    ) -> Result<ArrayRef, ArrowError> {
        let values = ScalarBuffer::<T::Native>::from(bytes);
        typed(&PrimitiveArray::<T>::try_new(values, valid)?, data_type)
    }
    match size {
        1 => of::<UInt8Type>(bytes, valid, data_type),
        2 => of::<UInt16Type>(bytes, valid, data_type),
        4 => of::<UInt32Type>(bytes, valid, data_type),
        _ => of::<UInt64Type>(bytes, valid, data_type),
    }
}

/// The same bytes as numbers of another type of that size.
fn typed(array: &dyn Array, data_type: DataType) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data().into_builder().data_type(data_type);
    Ok(make_array(data.build()?))
}

/// Dates and times: the smallest number is "not a time", and coarse steps are counted in seconds.
fn time(bytes: Buffer, by: i64, valid: Option<&NullBuffer>) -> Int64Array {
    let values = ScalarBuffer::<i64>::from(bytes);
    let number = |(row, value): (usize, &i64)| {
        let known = *value != i64::MIN && valid.is_none_or(|valid| valid.is_valid(row));
        if known { value.checked_mul(by) } else { None }
    };
    values.iter().enumerate().map(number).collect()
}

fn texts(dtype: DType, bytes: &[u8], valid: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let size = dtype.size();
    let mut array =
        StringBuilder::with_capacity(bytes.len().checked_div(size).unwrap_or(0), bytes.len() / 4);
    let mut text = String::new();
    for (row, item) in bytes.chunks_exact(size).enumerate() {
        if valid.is_some_and(|valid| valid.is_null(row)) {
            array.append_null();
            continue;
        }
        text.clear();
        for code in Utf32::new(item, dtype.order).codes() {
            let Some(c) = char::from_u32(code) else {
                return Err(ArrowError::InvalidArgumentError(format!(
                    "row {row}: {code:#x} is not a Unicode code point"
                )));
            };
            text.push(c);
        }
        array.append_value(&text);
    }
    Ok(Arc::new(array.finish()))
}

/// Categories as an array: texts, integers, booleans or numbers if all are of one kind, else their JSON text, which is exact for integers that no
/// common type holds.
pub(crate) fn categories(values: &[Value]) -> ArrayRef {
    let all = |test: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || test(value));
    if all(Value::is_string) {
        return Arc::new(values.iter().map(Value::as_str).collect::<StringArray>());
    }
    if all(Value::is_boolean) {
        return Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>());
    }
    if all(Value::is_i64) {
        return Arc::new(values.iter().map(Value::as_i64).collect::<Int64Array>());
    }
    if all(Value::is_u64) {
        return Arc::new(values.iter().map(Value::as_u64).collect::<UInt64Array>());
    }
    // Integers up to 2^53 are floats, too.
    let is_float = |value: &Value| {
        let small = |number: i64| number.unsigned_abs() <= 1 << 53;
        value.is_f64() || value.as_i64().is_some_and(small)
    };
    if all(is_float) {
        return Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>());
    }
    Arc::new(
        values
            .iter()
            .map(|value| Some(value.to_string()))
            .collect::<StringArray>(),
    )
}

/// The metadata of the column of an attribute.
pub(crate) fn metadata(
    unit: Option<&str>,
    description: Option<&str>,
    channel_names: Option<&[String]>,
) -> HashMap<String, String> {
    let names = channel_names.map(|names| json!(names).to_string());
    let members = [
        ("zvf.unit", unit),
        ("zvf.description", description),
        ("zvf.channel_names", names.as_deref()),
    ];
    let stated = members
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), text?.to_owned())));
    stated.collect()
}

/// The metadata of every table about its source.
pub(crate) fn about_source(store: &Store, query: &Query) -> HashMap<String, String> {
    let root = store.root();
    let axes: Vec<_> = root
        .axes()
        .iter()
        .map(|axis| json!({ "name": axis.name, "type": axis.kind(), "unit": axis.unit }))
        .collect();
    let units: Vec<_> = root.axes().iter().map(|axis| axis.unit.clone()).collect();
    let crs = root.zarr_vectors.crs.as_ref();
    let crs = crs.map(|crs| ("zvf.crs", crs.to_string()));
    let order = if query.is_by_object() {
        "object"
    } else {
        "chunk"
    };
    let stated = [
        ("zvf.axes", json!(axes).to_string()),
        ("zvf.units", json!(units).to_string()),
        ("zvf.kind", store.kind().name().to_owned()),
        ("zvf.level", query.level.to_string()),
        ("zvf.order", order.to_owned()),
        ("zvf.version", root.zarr_vectors.zv_version.clone()),
    ];
    let selected = query
        .is_selective()
        .then(|| ("zvf.selected", "true".to_owned()));
    let stated = stated.into_iter().chain(crs).chain(selected);
    stated
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Whole numbers as an array of their declared type; `None` if the declared type is not an integer type, or cannot hold all of them.
pub(crate) fn whole_numbers(dtype: DType, values: &[Value]) -> Option<ArrayRef> {
    macro_rules! all {
        ($type:ty) => {{
            let whole = |value: &Value| match (value.as_i64(), value.as_u64()) {
                (Some(number), _) => number.try_into().ok(),
                (None, number) => number?.try_into().ok(),
            };
            let numbers: Option<Vec<<$type as ArrowPrimitiveType>::Native>> =
                values.iter().map(whole).collect();
            Arc::new(PrimitiveArray::<$type>::from(numbers?))
        }};
    }
    Some(match dtype.kind {
        DTypeKind::I8 => all!(Int8Type),
        DTypeKind::I16 => all!(Int16Type),
        DTypeKind::I32 => all!(Int32Type),
        DTypeKind::I64 => all!(Int64Type),
        DTypeKind::U8 => all!(UInt8Type),
        DTypeKind::U16 => all!(UInt16Type),
        DTypeKind::U32 => all!(UInt32Type),
        DTypeKind::U64 => all!(UInt64Type),
        _ => return None,
    })
}

/// A dictionary array of codes. `fill` is the code of missing values; codes were checked when they were read.
pub(crate) fn dictionary(
    dtype: DType,
    bytes: MutableBuffer,
    fill: Option<i64>,
    categories: &ArrayRef,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    macro_rules! codes {
        ($type:ty) => {{
            let codes = elements(dtype, bytes, valid)?;
            let codes = codes
                .as_any()
                .downcast_ref::<PrimitiveArray<$type>>()
                .cloned();
            let codes = codes.ok_or_else(|| ArrowError::CastError("codes".to_owned()))?;
            let fill =
                fill.and_then(|fill| <$type as ArrowPrimitiveType>::Native::try_from(fill).ok());
            let codes: PrimitiveArray<$type> = match fill {
                Some(fill) if codes.values().contains(&fill) => codes
                    .iter()
                    .map(|code| code.filter(|code| *code != fill))
                    .collect(),
                _ => codes,
            };
            Ok(Arc::new(DictionaryArray::<$type>::try_new(
                codes,
                Arc::clone(categories),
            )?))
        }};
    }
    match dtype.kind {
        DTypeKind::I8 => codes!(Int8Type),
        DTypeKind::I16 => codes!(Int16Type),
        DTypeKind::I32 => codes!(Int32Type),
        DTypeKind::I64 => codes!(Int64Type),
        DTypeKind::U8 => codes!(UInt8Type),
        DTypeKind::U16 => codes!(UInt16Type),
        DTypeKind::U32 => codes!(UInt32Type),
        DTypeKind::U64 => codes!(UInt64Type),
        _ => Err(ArrowError::InvalidArgumentError(format!(
            "codes of type {dtype}"
        ))),
    }
}

/// A column of plain counts.
pub(crate) fn counts(values: Vec<u64>) -> ArrayRef {
    Arc::new(PrimitiveArray::<UInt64Type>::new(
        ScalarBuffer::from(values),
        None,
    ))
}

/// Validity from ranges of missing rows.
pub(crate) fn validity(rows: usize, missing: &[(usize, usize)]) -> Option<NullBuffer> {
    if missing.is_empty() {
        return None;
    }
    let mut bits = vec![true; rows];
    for (start, count) in missing {
        if let Some(gap) = bits.get_mut(*start..start.saturating_add(*count)) {
            gap.fill(false);
        }
    }
    Some(NullBuffer::from(bits))
}

/// A buffer with a capacity of `bytes`, at most 64 MiB.
pub(crate) fn buffer(bytes: u64) -> MutableBuffer {
    MutableBuffer::with_capacity(usize::try_from(bytes.min(64 << 20)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{
        DurationNanosecondType, Float16Type, Float32Type, TimestampSecondType,
    };

    fn of(name: &str, bytes: &[u8], width: usize) -> ArrayRef {
        let mut buffer = MutableBuffer::new(0);
        buffer.extend_from_slice(bytes);
        let array = rows(DType::parse(name).unwrap(), width, buffer, None).unwrap();
        let element = element_type(DType::parse(name).unwrap()).unwrap();
        assert_eq!(*array.data_type(), row_type(element, width), "{name}");
        array
    }

    #[test]
    fn numbers_keep_type_and_value() {
        assert_eq!(
            of("int16", &[1, 0, 0xff, 0xff], 1)
                .as_primitive::<Int16Type>()
                .values(),
            &[1, -1]
        );
        assert_eq!(
            of(">f4", &[0x3f, 0x80, 0, 0], 1)
                .as_primitive::<Float32Type>()
                .values(),
            &[1.0]
        );
        assert_eq!(
            of("float16", &[0, 0x3c], 1)
                .as_primitive::<Float16Type>()
                .value(0)
                .to_f32(),
            1.0
        );
        assert!(of("bool", &[0, 1], 1).as_boolean().value(1));
        let wide = of("uint8", &[1, 2, 3, 4, 5, 6], 3);
        assert_eq!(
            (wide.len(), wide.as_fixed_size_list().value_length()),
            (2, 3)
        );
    }

    #[test]
    fn complex_numbers_are_pairs() {
        let bytes: Vec<u8> = [1.0_f32, -2.0]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let array = of("complex64", &bytes, 1);
        assert_eq!(
            array
                .as_fixed_size_list()
                .value(0)
                .as_primitive::<Float32Type>()
                .values(),
            &[1.0, -2.0]
        );
        let twice: Vec<u8> = bytes.iter().chain(&bytes).copied().collect();
        assert_eq!(of("complex64", &twice, 2).len(), 1);
    }

    #[test]
    fn texts_lose_their_padding() {
        let bytes: Vec<u8> = ['é', '\0', 'a', 'b']
            .iter()
            .flat_map(|c| u32::from(*c).to_le_bytes())
            .collect();
        assert_eq!(
            of("<U2", &bytes, 1)
                .as_string::<i32>()
                .iter()
                .flatten()
                .collect::<Vec<_>>(),
            ["é", "ab"]
        );
        assert_eq!(of("|S2", b"a\0bc", 1).as_binary::<i32>().value(0), b"a");
        let mut buffer = MutableBuffer::new(0);
        buffer.extend_from_slice(&[0xff_u8; 4]);
        assert!(rows(DType::parse("<U1").unwrap(), 1, buffer, None).is_err());
    }

    #[test]
    fn times_are_counted_in_arrow_units() {
        let day = 2_i64.to_le_bytes();
        assert_eq!(
            of("datetime64[D]", &day, 1)
                .as_primitive::<TimestampSecondType>()
                .value(0),
            172_800
        );
        let none = i64::MIN.to_le_bytes();
        assert!(
            of("timedelta64[ns]", &none, 1)
                .as_primitive::<DurationNanosecondType>()
                .is_null(0)
        );
        assert_eq!(
            of("datetime64[Y]", &day, 1)
                .as_primitive::<Int64Type>()
                .value(0),
            2
        );
    }

    #[test]
    fn categories_of_integers_are_exact() {
        let text = |values: &[Value]| {
            let array = categories(values);
            let texts = array.as_string_opt::<i32>();
            texts.map(|texts| {
                texts
                    .iter()
                    .flatten()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
        };
        let far = 9_223_372_036_854_775_809_u64;
        assert_eq!(
            text(&[(-5).into(), far.into()]).unwrap(),
            ["-5", "9223372036854775809"]
        );
        assert_eq!(
            text(&[1.5.into(), far.into()]).unwrap(),
            ["1.5", "9223372036854775809"]
        );
        assert!(text(&[1.5.into(), (1_i64 << 53).into()]).is_none());
        assert!(text(&[5.into(), far.into()]).is_none());
    }

    #[test]
    fn codes_become_categories_and_fill_becomes_null() {
        let values = categories(&["x".into(), "y".into()]);
        let mut bytes = MutableBuffer::new(0);
        bytes.extend_from_slice(&[1_u8, 0xff, 0]);
        let array = dictionary(
            DType::parse("int8").unwrap(),
            bytes,
            Some(-1),
            &values,
            None,
        )
        .unwrap();
        let array = array.as_dictionary::<Int8Type>();
        assert!(array.is_null(1) && array.is_valid(2));
        assert_eq!(array.keys().value(0), 1);
    }
}

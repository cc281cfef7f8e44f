//! One value of an Arrow column as text or JSON.
//!
//! Floats are written with the fewest digits that read back as the same value, except whole float32 from 2^24 on, which have all digits. A
//! missing value is empty text and JSON `null`. NaN and the infinities, which JSON lacks, are the strings `"NaN"`, `"Infinity"` and
//! `"-Infinity"`, as in Zarr documents.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::numbers::is_long;
use crate::time::per_second;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Plain text; lists are joined with blanks.
    Text,
    /// JSON.
    Json,
}

/// Appends the value in `row` of `array`; a row past the end counts as absent.
pub fn write_value(out: &mut String, array: &dyn Array, row: usize, style: Style) {
    if row >= array.len() || array.is_null(row) {
        if style == Style::Json {
            out.push_str("null");
        }
        return;
    }
    macro_rules! number {
        ($type:ty) => {{
            let value = array.as_primitive::<$type>().value(row);
            out.push_str(itoa::Buffer::new().format(value));
        }};
    }
    match array.data_type() {
        DataType::Boolean => out.push_str(if array.as_boolean().value(row) {
            "true"
        } else {
            "false"
        }),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => {
            write_float(
                out,
                array.as_primitive::<Float16Type>().value(row).to_f32(),
                style,
            );
        }
        DataType::Float32 => {
            write_float(out, array.as_primitive::<Float32Type>().value(row), style);
        }
        DataType::Float64 => {
            write_float(out, array.as_primitive::<Float64Type>().value(row), style);
        }
        DataType::Utf8 => write_str(out, array.as_string::<i32>().value(row), style),
        DataType::LargeUtf8 => write_str(out, array.as_string::<i64>().value(row), style),
        DataType::Binary => write_hex(out, array.as_binary::<i32>().value(row), style),
        DataType::FixedSizeBinary(_) => {
            write_hex(out, array.as_fixed_size_binary().value(row), style)
        }
        DataType::FixedSizeList(_, _) => {
            write_list(out, &array.as_fixed_size_list().value(row), style)
        }
        DataType::List(_) => write_list(out, &array.as_list::<i32>().value(row), style),
        DataType::LargeList(_) => write_list(out, &array.as_list::<i64>().value(row), style),
        DataType::Dictionary(key, _) => match key.as_ref() {
            DataType::Int8 => write_coded::<Int8Type>(out, array, row, style),
            DataType::Int16 => write_coded::<Int16Type>(out, array, row, style),
            DataType::Int32 => write_coded::<Int32Type>(out, array, row, style),
            DataType::Int64 => write_coded::<Int64Type>(out, array, row, style),
            DataType::UInt8 => write_coded::<UInt8Type>(out, array, row, style),
            DataType::UInt16 => write_coded::<UInt16Type>(out, array, row, style),
            DataType::UInt32 => write_coded::<UInt32Type>(out, array, row, style),
            _ => write_coded::<UInt64Type>(out, array, row, style),
        },
        DataType::Utf8View => write_str(out, array.as_string_view().value(row), style),
        DataType::Timestamp(unit, zone) => {
            let value = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().value(row)
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<TimestampMicrosecondType>().value(row)
                }
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            let mut text = timestamp(value, per_second(*unit));
            if zone.is_some() {
                text.push('Z');
            }
            write_str(out, &text, style);
        }
        DataType::Date32 => {
            let days = i64::from(array.as_primitive::<Date32Type>().value(row));
            write_str(out, &date(days), style);
        }
        DataType::Date64 => {
            let value = array.as_primitive::<Date64Type>().value(row);
            write_str(out, &date(value.div_euclid(86_400_000)), style);
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let value = match unit {
                TimeUnit::Second => i64::from(array.as_primitive::<Time32SecondType>().value(row)),
                TimeUnit::Millisecond => {
                    i64::from(array.as_primitive::<Time32MillisecondType>().value(row))
                }
                TimeUnit::Microsecond => array.as_primitive::<Time64MicrosecondType>().value(row),
                TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().value(row),
            };
            let per_second = per_second(*unit);
            let seconds = value.div_euclid(per_second);
            write_str(
                out,
                &clock(seconds, value.rem_euclid(per_second), per_second),
                style,
            );
        }
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            let text = match array.data_type() {
                DataType::Decimal32(..) => {
                    array.as_primitive::<Decimal32Type>().value_as_string(row)
                }
                DataType::Decimal64(..) => {
                    array.as_primitive::<Decimal64Type>().value_as_string(row)
                }
                DataType::Decimal128(..) => {
                    array.as_primitive::<Decimal128Type>().value_as_string(row)
                }
                _ => array.as_primitive::<Decimal256Type>().value_as_string(row),
            };
            out.push_str(&text);
        }
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => number!(DurationSecondType),
            TimeUnit::Millisecond => number!(DurationMillisecondType),
            TimeUnit::Microsecond => number!(DurationMicrosecondType),
            TimeUnit::Nanosecond => number!(DurationNanosecondType),
        },
        other => write_str(out, &format!("<{other}>"), style),
    }
}

/// A float with the fewest digits that read back as the same value.
fn write_float<F: zmij::Float + Into<f64> + std::fmt::Debug + Copy>(
    out: &mut String,
    value: F,
    style: Style,
) {
    let wide: f64 = value.into();
    let name = match (wide.is_nan(), wide.is_infinite(), style) {
        (true, ..) => "NaN",
        (_, true, Style::Json) if wide > 0.0 => "Infinity",
        (_, true, Style::Json) => "-Infinity",
        (_, true, Style::Text) if wide > 0.0 => "inf",
        (_, true, Style::Text) => "-inf",
        // The shortest text has zeros in place of the last digits, so that a reader of float64 would get another number.
        _ if size_of::<F>() == 4 && is_long(wide) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{wide:.1}");
            return;
        }
        _ if wide == 0.0 || (1e-4..1e12).contains(&wide.abs()) => {
            out.push_str(zmij::Buffer::new().format_finite(value));
            return;
        }
        // Outside of this range, zmij writes exponents, in the form "1e+30".
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{value:?}");
            return;
        }
    };
    write_str(out, name, style);
}

/// Text, quoted and escaped in JSON.
fn write_str(out: &mut String, text: &str, style: Style) {
    match style {
        Style::Text => out.push_str(text),
        Style::Json => write_json_str(out, text),
    }
}

/// A JSON string with its quotes.
pub fn write_json_str(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Bytes as lowercase hexadecimal digits.
fn write_hex(out: &mut String, bytes: &[u8], style: Style) {
    let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    write_str(out, &hex, style);
}

/// Elements joined with blanks, or a JSON array.
fn write_list(out: &mut String, items: &ArrayRef, style: Style) {
    if style == Style::Json {
        out.push('[');
    }
    for i in 0..items.len() {
        if i > 0 {
            out.push(if style == Style::Json { ',' } else { ' ' });
        }
        write_value(out, items.as_ref(), i, style);
    }
    if style == Style::Json {
        out.push(']');
    }
}

/// Writes the value of a dictionary code.
fn write_coded<K: ArrowDictionaryKeyType>(
    out: &mut String,
    array: &dyn Array,
    row: usize,
    style: Style,
) {
    let Some(coded) = array.as_dictionary_opt::<K>() else {
        return;
    };
    write_value(
        out,
        coded.values().as_ref(),
        coded.key(row).unwrap_or(usize::MAX),
        style,
    );
}

/// ISO 8601 text of a timestamp counted from 1970 in units of 1/`per_second` s, UTC, without a zone.
fn timestamp(value: i64, per_second: i64) -> String {
    let seconds = value.div_euclid(per_second);
    let mut text = date(seconds.div_euclid(86_400));
    text.push('T');
    let fraction = value.rem_euclid(per_second);
    text.push_str(&clock(seconds.rem_euclid(86_400), fraction, per_second));
    text
}

/// ISO 8601 text of a time of day.
fn clock(second: i64, fraction: i64, per_second: i64) -> String {
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let mut text = format!("{hour:02}:{minute:02}:{:02}", second % 60);
    if per_second > 1 {
        let digits = per_second.ilog10() as usize;
        let _ = write!(text, ".{fraction:0digits$}");
    }
    text
}

/// ISO 8601 text of a count of days since 1970-01-01.
fn date(days: i64) -> String {
    let (year, month, day) = civil(days);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// Year, month and day of a count of days since 1970-01-01 in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that start in March put the leap day last; 146 097 days are one era of 400 years.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int64Array,
        StringArray, TimestampMillisecondArray, TimestampNanosecondArray,
    };

    use super::*;

    fn both(array: &dyn Array, row: usize) -> (String, String) {
        let (mut text, mut json) = (String::new(), String::new());
        write_value(&mut text, array, row, Style::Text);
        write_value(&mut json, array, row, Style::Json);
        (text, json)
    }

    #[test]
    fn floats_read_back_and_are_as_short_as_those_of_the_standard_library() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        let mut edges: Vec<f64> = (-30..30).map(|power| 10f64.powi(power)).collect();
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            edges.push(f64::from_bits(bits));
            let scale = 10f64.powi(i32::from((bits >> 50) as u8 % 24) - 8);
            edges.push((bits >> 20) as f64 / 1e13 * scale);
        }
        for wide in edges.into_iter().filter(|one| one.is_finite()) {
            for wide in [wide, -wide] {
                let mut text = String::new();
                write_float(&mut text, wide, Style::Text);
                assert_eq!(text.parse(), Ok(wide));
                assert_eq!(text.len(), format!("{wide:?}").len(), "{text}");
                let narrow = wide as f32;
                if narrow.is_finite() {
                    text.clear();
                    write_float(&mut text, narrow, Style::Text);
                    assert_eq!(text.parse(), Ok(narrow));
                    if is_long(f64::from(narrow)) {
                        assert_eq!(text.parse(), Ok(f64::from(narrow)), "{text}");
                    } else {
                        assert_eq!(text.len(), format!("{narrow:?}").len(), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_read_back() {
        let floats = Float32Array::from(vec![
            Some(0.1),
            Some(f32::NAN),
            Some(f32::NEG_INFINITY),
            None,
            Some(1e30),
            Some(3.0),
        ]);
        let texts: Vec<_> = (0..7).map(|i| both(&floats, i)).collect();
        let want = [
            ("0.1", "0.1"),
            ("NaN", "\"NaN\""),
            ("-inf", "\"-Infinity\""),
            ("", "null"),
            ("1e30", "1e30"),
            ("3.0", "3.0"),
            ("", "null"),
        ];
        for (got, want) in texts.iter().zip(want) {
            assert_eq!((got.0.as_str(), got.1.as_str()), want);
        }
        assert_eq!(
            both(&Float64Array::from(vec![1.0 / 3.0]), 0).0,
            "0.3333333333333333"
        );
        assert_eq!(
            both(&Int64Array::from(vec![i64::MIN]), 0).0,
            "-9223372036854775808"
        );
        assert_eq!(both(&BooleanArray::from(vec![true]), 0).1, "true");
    }

    #[test]
    fn text_lists_and_codes() {
        assert_eq!(
            both(&StringArray::from(vec!["a\"\n\u{1}é"]), 0).1,
            "\"a\\\"\\n\\u0001é\""
        );
        assert_eq!(
            both(&BinaryArray::from(vec![&[0u8, 255][..]]), 0),
            ("00ff".into(), "\"00ff\"".into())
        );
        let mut list = ListBuilder::new(Int64Builder::new());
        list.append_value([Some(1), None, Some(3)]);
        assert_eq!(
            both(&list.finish(), 0),
            ("1  3".into(), "[1,null,3]".into())
        );
        let coded: DictionaryArray<Int8Type> = vec![Some("glia"), None, Some("neuron")]
            .into_iter()
            .collect();
        assert_eq!(both(&coded, 2), ("neuron".into(), "\"neuron\"".into()));
        assert_eq!(both(&coded, 1).1, "null");
        let coded: ArrayRef = Arc::new(coded);
        assert_eq!(both(coded.as_ref(), 0).0, "glia");
    }

    #[test]
    fn moments() {
        assert_eq!(
            both(&TimestampMillisecondArray::from(vec![0]), 0).0,
            "1970-01-01T00:00:00.000"
        );
        assert_eq!(
            both(&TimestampNanosecondArray::from(vec![-1]), 0).0,
            "1969-12-31T23:59:59.999999999"
        );
        assert_eq!(timestamp(951_782_400, 1), "2000-02-29T00:00:00");
        assert_eq!(date(-800_000), "-0221-09-04");
        assert_eq!(timestamp(1_735_689_599, 1), "2024-12-31T23:59:59");
        let _ = timestamp(i64::MIN, 1);
        let _ = timestamp(i64::MAX, 1);
    }
}

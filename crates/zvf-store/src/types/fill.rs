//! Fill values of JSON documents, as the bytes of one element.

use serde_json::Value;
use zvf_format::dtype::{DType, DTypeKind};

/// The bytes of one little-endian element; `None` if the value does not have that type.
pub(crate) fn bytes(value: &Value, dtype: DType) -> Option<Vec<u8>> {
    let size = dtype.size();
    if value.is_null() {
        return Some(vec![0; size]);
    }
    Some(match dtype.kind {
        DTypeKind::Bool => vec![u8::from(value.as_bool()?)],
        DTypeKind::I8 => i8::try_from(value.as_i64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::I16 => i16::try_from(value.as_i64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::I32 => i32::try_from(value.as_i64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::I64 => value.as_i64()?.to_le_bytes().to_vec(),
        DTypeKind::U8 => u8::try_from(value.as_u64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::U16 => u16::try_from(value.as_u64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::U32 => u32::try_from(value.as_u64()?).ok()?.to_le_bytes().to_vec(),
        DTypeKind::U64 => value.as_u64()?.to_le_bytes().to_vec(),
        DTypeKind::F16 | DTypeKind::F32 | DTypeKind::F64 => float(value, size)?,
        DTypeKind::C64 | DTypeKind::C128 => {
            let [re, im] = value.as_array()?.as_slice() else {
                return None;
            };
            let mut both = float(re, size / 2)?;
            both.extend(float(im, size / 2)?);
            both
        }
        DTypeKind::Utf32 { .. } => {
            let mut text: Vec<u8> = value
                .as_str()?
                .chars()
                .flat_map(|c| u32::from(c).to_le_bytes())
                .collect();
            if text.len() > size {
                return None;
            }
            text.resize(size, 0);
            text
        }
        DTypeKind::Bytes { .. } => {
            let mut raw = base64(value.as_str()?)?;
            if raw.len() > size {
                return None;
            }
            raw.resize(size, 0);
            raw
        }
        DTypeKind::Datetime { .. } | DTypeKind::Timedelta { .. } => match value {
            Value::String(text) if text == "NaT" => i64::MIN.to_le_bytes().to_vec(),
            value => value.as_i64()?.to_le_bytes().to_vec(),
        },
        _ => return None,
    })
}

/// A float: a number, `"NaN"`, `"Infinity"`, `"-Infinity"`, or its bits as `"0x…"`.
fn float(value: &Value, size: usize) -> Option<Vec<u8>> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            other => {
                let digits = other.strip_prefix("0x").filter(|d| d.len() == size * 2)?;
                let bits = u64::from_str_radix(digits, 16).ok()?;
                return bits.to_le_bytes().get(..size).map(<[u8]>::to_vec);
            }
        },
        _ => return None,
    };
    Some(match size {
        2 => super::half::nearest_f16(number).to_le_bytes().to_vec(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the document rounds to the array's type"
        )]
        4 => (number as f32).to_le_bytes().to_vec(),
        8 => number.to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// Standard base64; padding may be missing.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for c in text.trim_end_matches('=').bytes() {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xFF).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zvf_format::dtype::DType;

    use super::bytes;

    fn of(value: serde_json::Value, dtype: &str) -> Option<Vec<u8>> {
        bytes(&value, DType::parse(dtype).unwrap())
    }

    #[test]
    fn values_of_every_kind() {
        assert_eq!(of(json!("NaN"), "float32").unwrap(), f32::NAN.to_le_bytes());
        assert_eq!(
            of(json!("-Infinity"), "float64").unwrap(),
            f64::NEG_INFINITY.to_le_bytes()
        );
        assert_eq!(of(json!("NaN"), "float16").unwrap().len(), 2);
        assert_eq!(
            of(json!("0x7fc00001"), "float32").unwrap(),
            0x7fc0_0001u32.to_le_bytes()
        );
        assert_eq!(of(json!(-5), "int16").unwrap(), (-5i16).to_le_bytes());
        assert_eq!(
            of(json!(u64::MAX), "uint64").unwrap(),
            u64::MAX.to_le_bytes()
        );
        assert_eq!(of(json!([1.0, "NaN"]), "complex64").unwrap().len(), 8);
        assert_eq!(
            of(json!("aß"), "<U3").unwrap(),
            [97, 0, 0, 0, 0xDF, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(of(json!("aGk="), "|S3").unwrap(), b"hi\0");
        assert_eq!(
            of(json!("NaT"), "datetime64[ns]").unwrap(),
            i64::MIN.to_le_bytes()
        );
    }

    #[test]
    fn values_of_another_type_are_refused() {
        assert_eq!(of(json!(300), "uint8"), None);
        assert_eq!(of(json!("x"), "float32"), None);
        assert_eq!(of(json!("abcd"), "<U3"), None);
        assert_eq!(of(json!(1), "bool"), None);
    }
}

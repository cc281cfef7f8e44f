//! Parses texts as floats, and detects numbers that the float type would silently change.

use crate::values::column::Values;
use crate::values::number::{NumberType, narrow};

/// Parses a number as a float type. `None` if it is not a number, or if the type would turn it into another
/// number, such as `1e400` (infinite), `1e-400` (0) or 9007199254740993 (another integer in float64). Decimals are rounded.
#[must_use]
pub fn float(text: &str, number: NumberType) -> Option<f64> {
    let wide = text.parse::<f64>().ok()?;
    if out_of_range(text, wide) {
        return None;
    }
    let value = match number {
        NumberType::F64 => wide,
        NumberType::F32 => f64::from(narrow(wide)),
        _ => {
            let bytes = Values::from(vec![wide]).bytes_as(number)?.into_owned();
            *number.to_f64(&bytes).first()?
        }
    };
    let lost = value.is_infinite() && wide.is_finite() || value == 0.0 && wide != 0.0;
    (!lost && !rounds_in(text, value, number)).then_some(value)
}

/// Whether a number is too large or too small for float64: its parsed `value` is infinite although the text has digits, or is 0 although the digits
/// before the exponent are not all 0.
#[must_use]
pub fn out_of_range(text: &str, value: f64) -> bool {
    if value.is_infinite() {
        return text.bytes().any(|byte| byte.is_ascii_digit());
    }
    let digits = text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    value == 0.0 && { digits }.any(|byte| (b'1'..=b'9').contains(&byte))
}

/// Whether a text is a number without exponent whose integer part cannot be represented in float64; `value` is the parsed number.
#[must_use]
pub fn rounds(text: &str, value: f64) -> bool {
    rounds_in(text, value, NumberType::F64)
}

/// Like [`rounds`], for the value in another float type.
fn rounds_in(text: &str, value: f64, number: NumberType) -> bool {
    // Up to these limits, every whole number can be represented.
    let exact = match number {
        NumberType::F64 => 9_007_199_254_740_992.0,
        NumberType::F32 => 16_777_216.0,
        _ => 2_048.0,
    };
    if value.abs() < exact {
        return false;
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && are_digits(decimals)
        && format!("{:.0}", value.abs()) != whole.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::float;
    use crate::values::number::NumberType::{F16, F32, F64};

    #[test]
    fn what_a_type_would_make_another_number_of_is_refused() {
        for (text, number) in [
            ("9007199254740993", F64),
            ("-9007199254740993.0", F64),
            ("+09007199254740993", F64),
            ("1e400", F64),
            ("1e-400", F64),
            ("16777217", F32),
            ("16777217.5", F32),
            ("1e39", F32),
            ("1e-60", F32),
            ("2049", F16),
            ("70000", F16),
            ("x", F64),
            ("", F32),
        ] {
            assert_eq!(float(text, number), None, "{text} {number}");
        }
    }

    #[test]
    fn what_it_holds_and_decimals_are_taken() {
        for (text, number, value) in [
            ("9007199254740992", F64, 9_007_199_254_740_992.0),
            ("9007199254740994.0", F64, 9_007_199_254_740_994.0),
            ("0.1", F64, 0.1),
            ("1e23", F64, 1e23),
            ("16777216", F32, 16_777_216.0),
            ("0.1", F32, f64::from(0.1_f32)),
            ("1234567.89", F32, f64::from(1_234_567.9_f32)),
            ("-0", F32, -0.0),
            ("0.000", F64, 0.0),
            ("2048", F16, 2048.0),
            ("inf", F32, f64::INFINITY),
        ] {
            assert_eq!(float(text, number), Some(value), "{text} {number}");
        }
        assert!(float("NaN", F32).is_some_and(f64::is_nan));
    }
}

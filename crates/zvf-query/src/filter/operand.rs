//! Values, operands and results of resolved conditions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use half::f16;
use serde_json::Value;
use zvf_store::format::dtype::DType;

use super::expr::{Literal, Op};
use crate::QueryError;

/// Three-valued truth of every row, one byte each: 0 false, 1 unknown, 2 true.
pub(crate) type Truths = Vec<u8>;

pub(super) const FALSE: u8 = 0;
pub(super) const UNKNOWN: u8 = 1;
pub(super) const TRUE: u8 = 2;

/// The type of an attribute's values.
#[derive(Debug, Clone)]
pub(crate) struct OperandType {
    pub(crate) dtype: DType,
    pub(crate) categories: Option<Arc<Vec<Value>>>,
    pub(crate) fill_code: Option<i64>,
    /// The channel that the name selects: an axis is a channel of positions.
    pub(crate) axis: Option<usize>,
    /// Whether the operand is decoded values, which have no categories, instead of stored bytes.
    pub(crate) is_decoded: bool,
}

/// Returns the index and type of an attribute.
pub(crate) type Find<'a> = dyn Fn(&str) -> Result<(usize, OperandType), QueryError> + 'a;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i128),
    F16(f16),
    F32(f32),
    F64(f64),
    /// UTF-8, or the raw bytes of a file.
    Text(Cow<'a, [u8]>),
}

impl Val<'_> {
    /// A number as `f64`.
    pub(crate) fn double(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(float(*number)),
            Self::F16(number) => Some(number.to_f64()),
            Self::F32(number) => Some(f64::from(*number)),
            Self::F64(number) => Some(*number),
            _ => None,
        }
    }
}

/// The values of one attribute in one chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operand<'a> {
    /// Every value is missing.
    Missing,
    /// Not read yet; used to rule out chunks before they are read.
    Unread,
    /// Row-major values with `width` elements in a row.
    Rows { bytes: &'a [u8], width: usize },
    /// One code for all rows.
    Code(i64),
    /// Row-major decoded values, `width` in a row.
    Values { values: &'a [Val<'a>], width: usize },
    /// The decoded values of one row, which are the values of all rows.
    Constant(&'a [Val<'a>]),
}

/// Why a filter could not be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// The filter does not fit the attribute.
    Misuse(String),
    /// The attribute's values contradict its document.
    Malformed { name: String, what: String },
    /// An operand of another form than the filter was resolved for.
    Bug { name: String },
}

impl Fault {
    /// Converts the fault to an error. `malformed` makes the error for values that contradict the document of the named attribute.
    pub(crate) fn error(self, malformed: impl FnOnce(&str, String) -> QueryError) -> QueryError {
        match self {
            Self::Misuse(what) => QueryError::misuse(what),
            Self::Malformed { name, what } => malformed(&name, what),
            Self::Bug { name } => {
                QueryError::bug(format!("an operand of {name:?} of another form"))
            }
        }
    }
}

/// The channel of a name; an axis is a channel of positions, and has a single one itself.
pub(super) fn channel_in(
    name: &str,
    channel: Option<usize>,
    axis: Option<usize>,
) -> Result<Option<usize>, QueryError> {
    match (axis, channel) {
        (Some(_), Some(number @ 1..)) => Err(QueryError::misuse(format!(
            "filter names channel {number} of axis {name:?}, which has 1"
        ))),
        (Some(axis), _) => Ok(Some(axis)),
        (None, channel) => Ok(channel),
    }
}

/// The channel that a name selects of `width` channels.
pub(super) fn channel_of(
    name: &str,
    channel: Option<usize>,
    width: usize,
    rows: usize,
) -> Result<usize, Fault> {
    match channel {
        Some(channel) if channel < width => Ok(channel),
        Some(channel) => Err(Fault::Misuse(format!(
            "filter names channel {channel} of attribute {name:?}, which has {width}"
        ))),
        None if width == 1 || rows == 0 => Ok(0),
        None => Err(Fault::Misuse(format!(
            "attribute {name:?} has {width} channels: name one, as in {name}[0]"
        ))),
    }
}

/// The nearest float.
#[expect(clippy::cast_precision_loss, reason = "rounds to nearest")]
pub(super) fn float(number: i128) -> f64 {
    number as f64
}

/// Compares an integer with a float exactly, without rounding either; `None` for NaN.
pub(super) fn order_with_float(a: i128, b: f64) -> Option<Ordering> {
    // 2^127: floats below it are in the range of the integers.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if b.is_nan() {
        return None;
    }
    if b >= END {
        return Some(Ordering::Less);
    }
    if b < -END {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and in the range")]
    let whole = b.floor() as i128;
    let order = a.cmp(&whole);
    Some(match order {
        Ordering::Equal if b > b.floor() => Ordering::Less,
        other => other,
    })
}

/// Compares an integer with a literal exactly; `None` for NaN and texts.
pub(super) fn order_int(a: i128, b: &Literal) -> Option<Ordering> {
    match b {
        Literal::Int(b) => Some(a.cmp(b)),
        Literal::Bool(b) => Some(a.cmp(&i128::from(*b))),
        Literal::Float(b) => order_with_float(a, *b),
        Literal::Text(_) => None,
    }
}

/// Compares two literals exactly; `None` for NaN, and for a text and a number.
fn order_literals(a: &Literal, b: &Literal) -> Option<Ordering> {
    match (a, b) {
        (Literal::Text(a), Literal::Text(b)) => Some(a.cmp(b)),
        (Literal::Float(a), Literal::Float(b)) => a.partial_cmp(b),
        (Literal::Int(a), b) => order_int(*a, b),
        (Literal::Bool(a), b) => order_int(i128::from(*a), b),
        (a, Literal::Int(b)) => order_int(*b, a).map(Ordering::reverse),
        (a, Literal::Bool(b)) => order_int(i128::from(*b), a).map(Ordering::reverse),
        (Literal::Text(_), Literal::Float(_)) | (Literal::Float(_), Literal::Text(_)) => None,
    }
}

/// Sorts literals of one kind by value for binary searches, and removes NaN, which is not equal to any value.
pub(super) fn sort_literals(values: &mut Vec<Literal>) {
    values.retain(|value| order_literals(value, value).is_some());
    values.sort_by(|a, b| order_literals(a, b).unwrap_or(Ordering::Equal));
}

/// Whether an ordering satisfies an operator; `None` if one side is NaN.
pub(super) fn passes(op: Op, order: Option<Ordering>) -> bool {
    match op {
        Op::Equal => order == Some(Ordering::Equal),
        Op::NotEqual => order != Some(Ordering::Equal),
        Op::Less => order == Some(Ordering::Less),
        Op::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Op::Greater => order == Some(Ordering::Greater),
        Op::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

pub(super) fn shown(value: &Literal) -> String {
    match value {
        Literal::Int(value) => format!("number {value}"),
        Literal::Float(value) => format!("number {value}"),
        Literal::Text(value) => format!("text '{value}'"),
        Literal::Bool(value) => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        use Ordering::{Equal, Greater, Less};
        let end = 2_f64.powi(53);
        for (a, b, order) in [
            (9_007_199_254_740_992, end, Equal),
            (9_007_199_254_740_993, end, Greater),
            (-9_007_199_254_740_993, -end, Less),
            (u64::MAX.into(), 2_f64.powi(64), Less),
            (i64::MIN.into(), -(2_f64.powi(63)), Equal),
            (2, 2.5, Less),
            (3, 2.5, Greater),
            (-3, -2.5, Less),
            (-2, -2.5, Greater),
            (0, -0.0, Equal),
            (0, 1e-300, Less),
            (0, -1e-300, Greater),
            (i128::MAX, f64::INFINITY, Less),
            (i128::MIN, f64::NEG_INFINITY, Greater),
            (i128::MAX, 2_f64.powi(127), Less),
            (i128::MIN, -(2_f64.powi(127)), Equal),
        ] {
            assert_eq!(order_with_float(a, b), Some(order), "{a} and {b}");
        }
        assert_eq!(order_with_float(0, f64::NAN), None);
    }
}

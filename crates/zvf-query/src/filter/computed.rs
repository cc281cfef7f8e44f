//! Evaluates a resolved expression to a column.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow_schema::DataType;
use zvf_store::format::dtype::TimeUnit;
use zvf_store::meta::moments::Moments;

use super::bind::BoundFilter;
use super::expr::Expr;
use super::operand::{Fault, Find, Operand, TRUE, UNKNOWN, Val};
use super::value::{Term, Type, term};
use crate::QueryError;

/// An expression, resolved for some columns.
#[derive(Debug)]
pub(crate) struct BoundExpression(Resolved);

#[derive(Debug)]
enum Resolved {
    Condition(BoundFilter),
    Value(Term, Type),
}

impl BoundExpression {
    /// Resolves an expression. `find` returns the index and type of a column.
    ///
    /// # Errors
    ///
    /// As [`BoundFilter::bind`].
    pub(crate) fn bind(expr: &Expr, find: &Find<'_>) -> Result<Self, QueryError> {
        if expr.is_condition() {
            let condition = BoundFilter::bind(expr, find)?;
            return Ok(Self(Resolved::Condition(condition)));
        }
        let (term, kind) = term(expr, find)?;
        Ok(Self(Resolved::Value(term, kind)))
    }

    /// The unit that whole numbers have as dates, times or durations.
    pub(crate) fn unit(&self) -> Option<String> {
        let Resolved::Value(term, kind) = &self.0 else {
            return None;
        };
        let symbol = match kind.unit()? {
            TimeUnit::Day => "D",
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
            _ => return None,
        };
        let name = match term.origins() {
            0 => "timedelta64",
            1 => "datetime64",
            _ => return None,
        };
        Moments::unit_of_type(&format!("{name}[{symbol}]"))
    }

    /// The values of the rows. Numbers are `UInt64` or `Float64` if `numbers` is, else `Int64` if all are whole, else `Float64`. Unknown conditions
    /// and missing values are null.
    ///
    /// # Errors
    ///
    /// As [`BoundFilter::eval`]; misuse: whole numbers that the type does not hold.
    pub(crate) fn eval(
        &self,
        rows: usize,
        operands: &[Operand<'_>],
        numbers: &DataType,
    ) -> Result<ArrayRef, Fault> {
        let (term, kind) = match &self.0 {
            Resolved::Condition(condition) => {
                let truths = condition.eval(rows, operands)?.into_iter();
                let truths = truths.map(|truth| (truth != UNKNOWN).then_some(truth == TRUE));
                return Ok(Arc::new(truths.collect::<BooleanArray>()));
            }
            Resolved::Value(term, kind) => (term, kind),
        };
        let values = term.values(rows, operands)?;
        let values = values.unwrap_or_else(|| vec![Val::Null; rows]).into_iter();
        Ok(match kind {
            Type::Bool => Arc::new(values.map(|value| truth(&value)).collect::<BooleanArray>()),
            Type::Text => Arc::new(values.map(text).collect::<Result<StringArray, Fault>>()?),
            Type::Number | Type::Time(_) | Type::Span(_) => {
                if *numbers == DataType::Float64 || !term.is_whole() {
                    let floats = values.map(|value| value.double());
                    Arc::new(floats.collect::<Float64Array>())
                } else if *numbers == DataType::UInt64 {
                    let wholes = values.map(|value| whole(&value));
                    Arc::new(wholes.collect::<Result<UInt64Array, Fault>>()?)
                } else {
                    let wholes = values.map(|value| whole(&value));
                    Arc::new(wholes.collect::<Result<Int64Array, Fault>>()?)
                }
            }
        })
    }
}

fn truth(value: &Val<'_>) -> Option<bool> {
    match value {
        Val::Bool(truth) => Some(*truth),
        _ => None,
    }
}

/// A text, which must be UTF-8: attributes of bytes may have other bytes.
fn text(value: Val<'_>) -> Result<Option<String>, Fault> {
    let Val::Text(text) = value else {
        return Ok(None);
    };
    match String::from_utf8(text.into_owned()) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Fault::Misuse(
            "expression: found bytes that are no UTF-8, expected texts".to_owned(),
        )),
    }
}

/// A whole number. The only float here is the negative of the smallest 128-bit integer.
fn whole<T: TryFrom<i128>>(value: &Val<'_>) -> Result<Option<T>, Fault> {
    let found = match value {
        Val::Int(number) => match T::try_from(*number) {
            Ok(number) => return Ok(Some(number)),
            Err(_) => number.to_string(),
        },
        Val::F64(number) => number.to_string(),
        _ => return Ok(None),
    };
    Err(Fault::Misuse(format!(
        "expression: found {found}, expected whole numbers that the type of the attribute holds"
    )))
}

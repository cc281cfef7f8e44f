//! Values in conditions: columns, arithmetic and functions, evaluated row by row.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;
use zvf_store::format::dtype::{DType, DTypeKind, TimeUnit};
use zvf_store::nearest_f16;

use super::dates;
use super::expr::{Expr, Function, Literal, Math, Op, exactly};
use super::operand::{
    FALSE, Fault, Find, Operand, TRUE, Truths, UNKNOWN, Val, channel_in, channel_of, float,
    order_with_float, passes, shown, sort_literals,
};
use crate::QueryError;
use crate::columns::scalar::{self, Family, Scalar, narrow};

/// The type of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Text,
    Bool,
    /// An attribute of dates or moments, the only values that are compared with the text of a date.
    Time(TimeUnit),
    /// Durations, times of day, and sums and extremes of these or of moments.
    Span(TimeUnit),
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Bool => "true or false",
            Self::Time(_) => "a time",
            Self::Span(_) => "a length of time",
        }
    }

    /// The unit of times and durations.
    pub(super) fn unit(self) -> Option<TimeUnit> {
        match self {
            Self::Time(unit) | Self::Span(unit) => Some(unit),
            Self::Number | Self::Text | Self::Bool => None,
        }
    }
}

/// A resolved value.
#[derive(Debug, Clone)]
pub(super) enum Term {
    Literal(Literal),
    Column(Column),
    Negate(Box<Term>),
    Math(Math, Box<Term>, Box<Term>),
    Call(Function, Vec<Term>),
}

/// A column as a value.
#[derive(Debug, Clone)]
pub(super) struct Column {
    name: String,
    operand: usize,
    channel: Option<usize>,
    dtype: DType,
    categories: Option<Vec<Val<'static>>>,
    fill: Option<i64>,
}

/// A test of values other than the comparison of a column with literals.
#[derive(Debug, Clone)]
pub(super) enum Check {
    Compare(Op, Term, Term),
    /// Whether a value equals one of these literals, which are in ascending order, without NaN.
    OneOf(Term, Vec<Val<'static>>),
    Like(Term, Vec<char>),
    IsNull(Term),
    IsNan(Term),
}

/// Advice for times in different units.
const MULTIPLY: &str = ": multiply those of one unit by a number, as in `seconds * 1000`";

fn misuse(what: String) -> QueryError {
    QueryError::misuse(format!("expression: {what}"))
}

/// Resolves a value.
///
/// # Errors
///
/// Misuse: arithmetic with other values than numbers, or with times in several units.
pub(super) fn term(expr: &Expr, find: &Find<'_>) -> Result<(Term, Type), QueryError> {
    let mut unit = None;
    let mut number = |part: &Expr| match term(part, find)? {
        (term, Type::Number) => Ok(term),
        (term, Type::Time(own) | Type::Span(own)) if *unit.get_or_insert(own) == own => Ok(term),
        (_, Type::Time(_) | Type::Span(_)) => Err(misuse(format!(
            "found times in several units in `{expr}`, expected one unit{MULTIPLY}"
        ))),
        (_, other) => Err(misuse(format!(
            "found {} in `{expr}`, expected a number",
            other.name()
        ))),
    };
    let in_unit = |unit: Option<TimeUnit>| unit.map_or(Type::Number, Type::Span);
    Ok(match expr {
        Expr::Literal(literal) => {
            let kind = match literal {
                Literal::Int(_) | Literal::Float(_) => Type::Number,
                Literal::Text(_) => Type::Text,
                Literal::Bool(_) => Type::Bool,
            };
            (Term::Literal(literal.clone()), kind)
        }
        Expr::Name { name, channel } => column(name, *channel, find)?,
        Expr::Negate(part) => (Term::Negate(Box::new(number(part)?)), in_unit(unit)),
        Expr::Math(math, left, right) => {
            let (left, right) = (number(left)?, number(right)?);
            let kind = match math {
                Math::Add | Math::Subtract => in_unit(unit),
                // Numbers without a unit: a product such as `seconds * 1000` converts a unit.
                Math::Multiply | Math::Divide | Math::Remainder => Type::Number,
            };
            (Term::Math(*math, Box::new(left), Box::new(right)), kind)
        }
        Expr::Call(function @ (Function::Length | Function::Count), _) => {
            column(&format!("{}()", function.name()), None, find)?
        }
        Expr::Call(function, parts) => {
            let parts = parts.iter().map(&mut number).collect::<Result<_, _>>()?;
            let kind = match function {
                Function::Abs | Function::Min | Function::Max => in_unit(unit),
                Function::Sqrt | Function::Length | Function::Count => Type::Number,
            };
            (Term::Call(*function, parts), kind)
        }
        other => return Err(misuse(format!("found `{other}`, expected a value"))),
    })
}

fn column(name: &str, channel: Option<usize>, find: &Find<'_>) -> Result<(Term, Type), QueryError> {
    let (operand, found) = find(name)?;
    let is_time = scalar::family(found.dtype) == Family::Time;
    let kind = match found.categories.as_ref().filter(|_| !is_time) {
        None => match (scalar::family(found.dtype), found.dtype.kind) {
            (Family::Bool, _) => Type::Bool,
            (Family::Int | Family::Float, _) => Type::Number,
            (Family::Text, _) => Type::Text,
            (Family::Time, DTypeKind::Datetime { unit }) => Type::Time(unit),
            (Family::Time, DTypeKind::Timedelta { unit }) => Type::Span(unit),
            _ => {
                return Err(misuse(format!(
                    "attribute {name:?} of type {} has no single values",
                    found.dtype
                )));
            }
        },
        Some(categories) => {
            let all = |is: fn(&Value) -> bool| categories.iter().all(is);
            match () {
                () if all(Value::is_string) => Type::Text,
                () if all(Value::is_number) => Type::Number,
                () if all(Value::is_boolean) => Type::Bool,
                () => {
                    return Err(misuse(format!(
                        "attribute {name:?} has categories of several types: it is compared with literals only"
                    )));
                }
            }
        }
    };
    let categories = found
        .categories
        .map(|categories| categories.iter().map(category).collect());
    let column = Column {
        name: exactly(name).unwrap_or_else(|| name.to_owned()),
        operand,
        channel: channel_in(name, channel, found.axis)?,
        dtype: found.dtype,
        categories,
        fill: found.fill_code,
    };
    Ok((Term::Column(column), kind))
}

fn category(value: &Value) -> Val<'static> {
    match value {
        Value::String(text) => Val::Text(Cow::Owned(text.clone().into_bytes())),
        Value::Bool(truth) => Val::Bool(*truth),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Val::Int(number.into()),
            (_, Some(number)) => Val::Int(number.into()),
            _ => number.as_f64().map_or(Val::Null, Val::F64),
        },
        _ => Val::Null,
    }
}

fn val(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Int(number) => Val::Int(*number),
        Literal::Float(number) => Val::F64(*number),
        Literal::Text(text) => Val::Text(Cow::Owned(text.clone().into_bytes())),
        Literal::Bool(truth) => Val::Bool(*truth),
    }
}

impl Check {
    /// Resolves a comparison of two values.
    ///
    /// # Errors
    ///
    /// Misuse: values that cannot be compared.
    pub(super) fn compare(
        op: Op,
        (left, right): (&Expr, &Expr),
        find: &Find<'_>,
    ) -> Result<Self, QueryError> {
        let (mut a, mut b) = (term(left, find)?, term(right, find)?);
        let types = (a.1, b.1);
        for (time, text) in [(types.0, &mut b), (types.1, &mut a)] {
            if let (Type::Time(unit), Term::Literal(Literal::Text(literal))) = (time, &text.0) {
                *text = (Term::Literal(dates::literal(literal, unit)?), time);
            }
        }
        let fits = match (a.1, b.1) {
            (Type::Time(_) | Type::Span(_) | Type::Bool, Type::Number)
            | (Type::Number, Type::Time(_) | Type::Span(_) | Type::Bool) => true,
            (a, b) => match (a.unit(), b.unit()) {
                (Some(a), Some(b)) if a != b => {
                    return Err(misuse(format!(
                        "`{left}` and `{right}` are times in different units, and cannot be compared{MULTIPLY}"
                    )));
                }
                (Some(_), Some(_)) => true,
                _ => a == b,
            },
        };
        if !fits {
            return Err(misuse(format!(
                "`{left}` is {}, and cannot be compared with `{right}`, which is {}",
                a.1.name(),
                b.1.name()
            )));
        }
        Ok(Self::Compare(op, a.0, b.0))
    }

    /// Resolves a test for literals that a value may equal.
    ///
    /// # Errors
    ///
    /// As [`compare`](Self::compare).
    pub(super) fn one_of(
        value: &Expr,
        items: &[Expr],
        find: &Find<'_>,
    ) -> Result<Self, QueryError> {
        let (of, _) = term(value, find)?;
        let literal = |item| match Self::compare(Op::Equal, (value, item), find)? {
            Self::Compare(_, _, Term::Literal(literal)) => Ok(literal),
            _ => Err(QueryError::bug("an item of a list is not a literal")),
        };
        let literals = items.iter().map(literal);
        let mut literals = literals.collect::<Result<Vec<Literal>, QueryError>>()?;
        sort_literals(&mut literals);
        Ok(Self::OneOf(of, literals.iter().map(val).collect()))
    }

    /// Resolves a pattern.
    ///
    /// # Errors
    ///
    /// Misuse: a value that is not a text.
    pub(super) fn like(value: &Expr, pattern: &str, find: &Find<'_>) -> Result<Self, QueryError> {
        match term(value, find)? {
            (term, Type::Text) => Ok(Self::Like(term, pattern.chars().collect())),
            (_, other) => Err(misuse(format!(
                "`{value}` is {}, expected a text before `like`",
                other.name()
            ))),
        }
    }

    /// Resolves a test for missing values.
    pub(super) fn is_null(value: &Expr, find: &Find<'_>) -> Result<Self, QueryError> {
        Ok(Self::IsNull(term(value, find)?.0))
    }

    /// Resolves a test for NaN.
    ///
    /// # Errors
    ///
    /// Misuse: a value that is neither a number nor a duration.
    pub(super) fn is_nan(value: &Expr, find: &Find<'_>) -> Result<Self, QueryError> {
        match term(value, find)? {
            (term, Type::Number | Type::Span(_)) => Ok(Self::IsNan(term)),
            (_, other) => Err(misuse(format!(
                "`{value}` is {}, expected a number before `is nan`",
                other.name()
            ))),
        }
    }

    /// The result for every row.
    pub(super) fn eval(&self, rows: usize, operands: &[Operand<'_>]) -> Result<Truths, Fault> {
        let truth = |truth: bool| if truth { TRUE } else { FALSE };
        let of = |term: &Term, test: &dyn Fn(&Val<'_>) -> u8| {
            let values = term.values(rows, operands)?;
            Ok(match values {
                Some(values) => values.iter().map(test).collect(),
                None => vec![UNKNOWN; rows],
            })
        };
        match self {
            Self::Compare(op, left, right) => {
                let (a, b) = (left.values(rows, operands)?, right.values(rows, operands)?);
                let (Some(a), Some(b)) = (a, b) else {
                    return Ok(vec![UNKNOWN; rows]);
                };
                let literal = |term: &Term| matches!(term, Term::Literal(_));
                let rounded = (literal(left), literal(right));
                let pairs = a.iter().zip(&b);
                Ok(pairs
                    .map(|(a, b)| match (a, b) {
                        (Val::Null, _) | (_, Val::Null) => UNKNOWN,
                        (a, b) => truth(passes(*op, order(a, b, rounded))),
                    })
                    .collect())
            }
            Self::OneOf(value, literals) => {
                let rounded = (matches!(value, Term::Literal(_)), true);
                of(value, &|value| match value {
                    Val::Null => UNKNOWN,
                    value => {
                        // Rounding literals to the type of the value keeps their order. A NaN equals none of them.
                        let search = |literal: &Val<'_>| {
                            order(value, literal, rounded).map_or(Ordering::Less, Ordering::reverse)
                        };
                        truth(literals.binary_search_by(search).is_ok())
                    }
                })
            }
            Self::Like(value, pattern) => of(value, &|value| match value {
                Val::Null => UNKNOWN,
                Val::Text(text) => truth(like(&String::from_utf8_lossy(text), pattern)),
                _ => FALSE,
            }),
            Self::IsNull(value) => of(value, &|value| truth(*value == Val::Null)),
            Self::IsNan(value) => of(value, &|value| match value {
                Val::Null => UNKNOWN,
                Val::F16(number) => truth(number.is_nan()),
                Val::F32(number) => truth(number.is_nan()),
                Val::F64(number) => truth(number.is_nan()),
                _ => FALSE,
            }),
        }
    }
}

/// Compares two values. `rounded`: which of them are literals; these are rounded to the float type of the other value, as in comparisons of a column with
/// literals. All other numbers are compared exactly.
fn order(a: &Val<'_>, b: &Val<'_>, rounded: (bool, bool)) -> Option<Ordering> {
    match (a, b) {
        (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Bool(a), b) => order(&Val::Int((*a).into()), b, rounded),
        (a, Val::Bool(b)) => order(a, &Val::Int((*b).into()), rounded),
        (Val::F16(a), b) if rounded.1 => a.partial_cmp(&nearest_f16(double(b)?)),
        (a, Val::F16(b)) if rounded.0 => nearest_f16(double(a)?).partial_cmp(b),
        (Val::F32(a), b) if rounded.1 => a.partial_cmp(&narrow(double(b)?)),
        (a, Val::F32(b)) if rounded.0 => narrow(double(a)?).partial_cmp(b),
        (Val::Int(a), b) if !rounded.0 => order_with_float(*a, double(b)?),
        (a, Val::Int(b)) if !rounded.1 => order_with_float(*b, double(a)?).map(Ordering::reverse),
        (a, b) => double(a)?.partial_cmp(&double(b)?),
    }
}

fn double(value: &Val<'_>) -> Option<f64> {
    value.double()
}

/// Whether a text matches a pattern: `%` is any text, `_` any character.
pub(super) fn like(text: &str, pattern: &[char]) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut in_pattern) = (0, 0);
    // The position of the last `%`, and the end of the text that it matches.
    let mut any: Option<(usize, usize)> = None;
    while let Some(c) = text.get(at) {
        match pattern.get(in_pattern) {
            Some('%') => {
                any = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(p) if *p == '_' || p == c => {
                at += 1;
                in_pattern += 1;
            }
            _ => match &mut any {
                Some((from, end)) => {
                    *end += 1;
                    (in_pattern, at) = (*from + 1, *end);
                }
                None => return false,
            },
        }
    }
    let rest = pattern.get(in_pattern..).unwrap_or(&[]);
    rest.iter().all(|p| *p == '%')
}

type Values<'a> = Option<Vec<Val<'a>>>;

impl Term {
    /// Whether all values are whole numbers.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Literal(literal) => matches!(literal, Literal::Int(_)),
            Self::Column(column) => match &column.categories {
                Some(categories) => categories.iter().all(|one| matches!(one, Val::Int(_))),
                None => matches!(scalar::family(column.dtype), Family::Int | Family::Time),
            },
            Self::Negate(part) => part.is_whole(),
            Self::Math(math, left, right) => {
                *math != Math::Divide && left.is_whole() && right.is_whole()
            }
            Self::Call(Function::Sqrt, _) => false,
            Self::Call(_, parts) => parts.iter().all(Self::is_whole),
        }
    }

    /// How many times the values contain the origin of time: once for moments, and for sums of a moment with numbers or durations; not for differences
    /// of two moments.
    pub(super) fn origins(&self) -> i32 {
        match self {
            Self::Column(column) => {
                i32::from(matches!(column.dtype.kind, DTypeKind::Datetime { .. }))
            }
            Self::Negate(part) => -part.origins(),
            Self::Math(Math::Add, left, right) => left.origins() + right.origins(),
            Self::Math(Math::Subtract, left, right) => left.origins() - right.origins(),
            Self::Call(_, parts) => parts.first().map_or(0, Self::origins),
            Self::Literal(_) | Self::Math(..) => 0,
        }
    }

    /// The value of every row; `None` if it is not read yet.
    pub(super) fn values<'a>(
        &self,
        rows: usize,
        operands: &[Operand<'a>],
    ) -> Result<Values<'a>, Fault> {
        Ok(match self {
            Self::Literal(literal) => Some(vec![val(literal); rows]),
            Self::Column(column) => column.values(rows, operands)?,
            Self::Negate(part) => mapped(part.values(rows, operands)?, |value| match value {
                Val::Int(number) => match number.checked_neg() {
                    Some(number) => Val::Int(number),
                    None => Val::F64(-float(number)),
                },
                other => double(&other).map_or(Val::Null, |number| Val::F64(-number)),
            }),
            Self::Math(math, left, right) => {
                let (a, b) = (left.values(rows, operands)?, right.values(rows, operands)?);
                let (Some(a), Some(b)) = (a, b) else {
                    return Ok(None);
                };
                let values = a.iter().zip(&b).map(|(a, b)| self::math(*math, a, b));
                Some(values.collect::<Result<_, Fault>>()?)
            }
            Self::Call(function, parts) => {
                let mut parts = parts.iter().map(|part| part.values(rows, operands));
                let first = parts.next().transpose()?.flatten();
                match function {
                    Function::Abs => mapped(first, |value| match value {
                        Val::Int(number) => Val::Int(number.saturating_abs()),
                        other => double(&other).map_or(Val::Null, |number| Val::F64(number.abs())),
                    }),
                    Function::Sqrt => mapped(first, |value| {
                        double(&value).map_or(Val::Null, |number| Val::F64(number.sqrt()))
                    }),
                    Function::Min | Function::Max | Function::Length | Function::Count => {
                        let wanted = match function {
                            Function::Min => Ordering::Less,
                            _ => Ordering::Greater,
                        };
                        let mut best = first;
                        for part in parts {
                            best = joined(best, part?, |a, b| extreme(wanted, a, b));
                        }
                        best
                    }
                }
            }
        })
    }
}

fn mapped<'a>(values: Values<'a>, f: impl Fn(Val<'a>) -> Val<'a>) -> Values<'a> {
    values.map(|values| values.into_iter().map(f).collect())
}

fn joined<'a>(a: Values<'a>, b: Values<'a>, f: impl Fn(Val<'a>, Val<'a>) -> Val<'a>) -> Values<'a> {
    let (a, b) = (a?, b?);
    Some(a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect())
}

/// The lesser or greater of two numbers: missing if one is missing, else NaN if one is.
fn extreme<'a>(wanted: Ordering, a: Val<'a>, b: Val<'a>) -> Val<'a> {
    if a == Val::Null || b == Val::Null {
        return Val::Null;
    }
    match order(&a, &b, (false, false)) {
        Some(found) if found == wanted => a,
        // Of equal numbers, the integer: it is not rounded when it is compared.
        Some(Ordering::Equal) if matches!(a, Val::Int(_)) => a,
        Some(_) => b,
        None => Val::F64(f64::NAN),
    }
}

/// Integers remain integers except in quotients. A result beyond 128 bits is an error: as a float it would be another number.
fn math<'a>(math: Math, a: &Val<'a>, b: &Val<'a>) -> Result<Val<'a>, Fault> {
    if let (Val::Int(a), Val::Int(b)) = (a, b) {
        let whole = match math {
            Math::Add => Some(a.checked_add(*b)),
            Math::Subtract => Some(a.checked_sub(*b)),
            Math::Multiply => Some(a.checked_mul(*b)),
            Math::Remainder if *b == 0 => return Ok(Val::Null),
            Math::Remainder => Some(a.checked_rem(*b)),
            Math::Divide => None,
        };
        let large = || {
            let found = format!("found {a} and {b}, whose result has more than 128 bits");
            Fault::Misuse(format!(
                "{found}, expected smaller integers (+ 0.0 makes them floats)"
            ))
        };
        if let Some(whole) = whole {
            return whole.map(Val::Int).ok_or_else(large);
        }
    }
    let (Some(a), Some(b)) = (double(a), double(b)) else {
        return Ok(Val::Null);
    };
    Ok(Val::F64(match math {
        Math::Add => a + b,
        Math::Subtract => a - b,
        Math::Multiply => a * b,
        Math::Divide => a / b,
        Math::Remainder => a % b,
    }))
}

impl Column {
    fn values<'a>(&self, rows: usize, operands: &[Operand<'a>]) -> Result<Values<'a>, Fault> {
        let operand = operands.get(self.operand).copied();
        let (bytes, width) = match operand.unwrap_or(Operand::Missing) {
            Operand::Unread => return Ok(None),
            Operand::Missing => return Ok(Some(vec![Val::Null; rows])),
            Operand::Code(code) => return Ok(Some(vec![self.category(code.into())?; rows])),
            Operand::Values { values, width } => {
                let channel = channel_of(&self.name, self.channel, width, rows)?;
                let values = values.iter().skip(channel).step_by(width.max(1));
                return Ok(Some(values.cloned().collect()));
            }
            Operand::Constant(values) => {
                let channel = channel_of(&self.name, self.channel, values.len(), rows)?;
                // The channel can be missing only if there are no rows.
                let value = values.get(channel).cloned().unwrap_or(Val::Null);
                return Ok(Some(vec![value; rows]));
            }
            Operand::Rows { bytes, width } => (bytes, width),
        };
        let channel = channel_of(&self.name, self.channel, width, rows)?;
        let mut found = Vec::with_capacity(rows);
        let mut fault = None;
        let read = scalar::each(self.dtype, bytes, width, channel, |value| {
            found.push(match value {
                Scalar::Int(code) if self.categories.is_some() => {
                    self.category(code).unwrap_or_else(|error| {
                        fault.get_or_insert(error);
                        Val::Null
                    })
                }
                Scalar::Null => Val::Null,
                Scalar::Bool(truth) => Val::Bool(truth),
                Scalar::Int(number) => Val::Int(number),
                Scalar::F16(number) => Val::F16(number),
                Scalar::F32(number) => Val::F32(number),
                Scalar::F64(number) => Val::F64(number),
                Scalar::Utf32(text) => {
                    let chars = text.codes().filter_map(char::from_u32);
                    Val::Text(Cow::Owned(chars.collect::<String>().into_bytes()))
                }
                Scalar::Bytes(text) => Val::Text(Cow::Borrowed(text)),
            });
        });
        match fault {
            Some(fault) => Err(fault),
            None if read.is_err() => Err(Fault::Misuse(format!(
                "attribute {:?} of type {} cannot be compared",
                self.name, self.dtype
            ))),
            None => Ok(Some(found)),
        }
    }

    fn category(&self, code: i128) -> Result<Val<'static>, Fault> {
        if self.fill.is_some_and(|fill| i128::from(fill) == code) {
            return Ok(Val::Null);
        }
        let categories = self.categories.as_deref().unwrap_or(&[]);
        let found = usize::try_from(code).ok().and_then(|at| categories.get(at));
        found.cloned().ok_or_else(|| Fault::Malformed {
            name: self.name.clone(),
            what: format!(
                "code {code} has no category: there are {}",
                categories.len()
            ),
        })
    }
}

/// Converts texts to numbers in the unit of an attribute of dates; returns other values, and values for other types, unchanged.
///
/// # Errors
///
/// Misuse: a text that is not a date.
pub(super) fn of_times(kind: DTypeKind, values: Vec<Literal>) -> Result<Vec<Literal>, QueryError> {
    let DTypeKind::Datetime { unit } = kind else {
        return Ok(values);
    };
    let one = |value: Literal| match value {
        Literal::Text(text) => dates::literal(&text, unit),
        other => Ok(other),
    };
    values.into_iter().map(one).collect()
}

/// For every category, whether it matches a pattern.
pub(super) fn like_truths(categories: &[Value], pattern: &str) -> Vec<u8> {
    let pattern: Vec<char> = pattern.chars().collect();
    let holds = |value: &Value| value.as_str().is_some_and(|text| like(text, &pattern));
    let truth = |value: &Value| match value {
        // Shown as a missing value.
        Value::Null => UNKNOWN,
        value if holds(value) => TRUE,
        _ => FALSE,
    };
    categories.iter().map(truth).collect()
}

/// An error of a comparison with a literal.
pub(super) fn incomparable(name: &str, dtype: DType, value: &Literal) -> QueryError {
    QueryError::misuse(format!(
        "attribute {name:?} of type {dtype} cannot be compared with {}",
        shown(value)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, holds) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "_b_", true),
            ("abc", "%b", false),
            ("aXbXc", "a%X%c", true),
            ("aaab", "%ab", true),
            ("über", "_ber", true),
            ("a%", "a_", true),
            ("ABC", "abc", false),
        ] {
            let pattern: Vec<char> = pattern.chars().collect();
            assert_eq!(like(text, &pattern), holds, "{text} like {pattern:?}");
        }
        // A pattern with many `%` does not take exponential time.
        let pattern: Vec<char> = "%a".repeat(50).chars().collect();
        assert!(!like(&"b".repeat(5000), &pattern));
    }
}

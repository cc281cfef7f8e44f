//! A condition tied to the attributes of one level.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;
use zvf_store::format::dtype::DType;

use super::{Condition, Filter, Literal, Op};
use crate::QueryError;
use crate::columns::scalar::{self, Scalar};
use crate::int;

/// Three-valued truth of every row, one byte each: 0 false, 1 unknown, 2 true.
pub(crate) type Truths = Vec<u8>;

const FALSE: u8 = 0;
const UNKNOWN: u8 = 1;
const TRUE: u8 = 2;

/// What an attribute's values are.
#[derive(Debug, Clone)]
pub(crate) struct OperandType {
    pub(crate) dtype: DType,
    pub(crate) categories: Option<Arc<Vec<Value>>>,
    pub(crate) fill_code: Option<i64>,
}

/// The values of one attribute in one chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operand<'a> {
    /// Every value is missing.
    Missing,
    /// Nothing is known yet: used to rule out chunks before anything is read.
    Unread,
    /// Row-major values of `width` elements a row.
    Rows { bytes: &'a [u8], width: usize },
    /// One code for all rows.
    Code(i64),
}

/// Gives the number and type of an attribute.
pub(crate) type Find<'a> = dyn Fn(&str) -> Result<(usize, OperandType), QueryError> + 'a;

/// A filter whose names are numbers of operands and whose values have the attributes' types.
#[derive(Debug, Clone)]
pub(crate) struct BoundFilter {
    root: Node,
}

#[derive(Debug, Clone)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Leaf(Leaf),
}

#[derive(Debug, Clone)]
struct Leaf {
    name: String,
    operand: usize,
    channel: Option<usize>,
    dtype: DType,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    IsNull {
        fill: Option<i64>,
        coded: bool,
    },
    /// Truth by category, and the code of missing values.
    Codes {
        truths: Vec<u8>,
        fill: Option<i64>,
    },
    /// A value compared with each of `values`; true when one comparison is.
    Values {
        op: Op,
        values: Vec<Literal>,
    },
}

impl BoundFilter {
    /// Ties a filter to attributes. `find` gives the number and type of an attribute.
    ///
    /// # Errors
    ///
    /// Misuse: a value that the attribute cannot be compared with. Unknown names are whatever `find` says.
    pub(crate) fn bind(filter: &Filter, find: &Find<'_>) -> Result<Self, QueryError> {
        Ok(Self {
            root: bind(&filter.condition, find)?,
        })
    }

    /// Truth of every row.
    ///
    /// # Errors
    ///
    /// What is wrong with an operand, for the caller to place: a channel that is not there, a code without category.
    pub(crate) fn eval(&self, rows: usize, operands: &[Operand<'_>]) -> Result<Truths, Fault> {
        eval(&self.root, rows, operands)
    }

    /// Whether no row of a chunk can satisfy the filter, from what is known before reading.
    pub(crate) fn rules_out(&self, operands: &[Operand<'_>]) -> bool {
        matches!(self.eval(1, operands).as_deref(), Ok([FALSE]))
    }

    /// Whether a truth is plain true.
    pub(crate) fn holds(truth: u8) -> bool {
        truth == TRUE
    }
}

/// Why a filter could not be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// The filter does not fit the attribute.
    Misuse(String),
    /// The attribute's values contradict its document.
    Malformed { name: String, what: String },
}

fn bind(condition: &Condition, find: &Find<'_>) -> Result<Node, QueryError> {
    let many = |terms: &[Condition]| {
        terms
            .iter()
            .map(|term| bind(term, find))
            .collect::<Result<Vec<_>, _>>()
    };
    let (name, channel) = match condition {
        Condition::All(terms) => return Ok(Node::All(many(terms)?)),
        Condition::Any(terms) => return Ok(Node::Any(many(terms)?)),
        Condition::Not(term) => return Ok(Node::Not(Box::new(bind(term, find)?))),
        Condition::Compare { name, channel, .. }
        | Condition::In { name, channel, .. }
        | Condition::IsNull { name, channel } => (name, *channel),
    };
    let (operand, kind) = find(name)?;
    let (op, values) = match condition {
        Condition::Compare { op, value, .. } => (*op, vec![value.clone()]),
        Condition::In { values, .. } => (Op::Equal, values.clone()),
        _ => {
            let test = Test::IsNull {
                fill: kind.fill_code,
                coded: kind.categories.is_some(),
            };
            return Ok(Node::Leaf(Leaf {
                name: name.clone(),
                operand,
                channel,
                dtype: kind.dtype,
                test,
            }));
        }
    };
    let test = match &kind.categories {
        Some(categories) => Test::Codes {
            truths: category_truths(name, categories, op, &values)?,
            fill: kind.fill_code,
        },
        None => {
            for value in &values {
                if !comparable(kind.dtype, value) {
                    return Err(QueryError::misuse(format!(
                        "attribute {name:?} of type {} cannot be compared with {}",
                        kind.dtype,
                        shown(value)
                    )));
                }
            }
            Test::Values { op, values }
        }
    };
    Ok(Node::Leaf(Leaf {
        name: name.clone(),
        operand,
        channel,
        dtype: kind.dtype,
        test,
    }))
}

fn comparable(dtype: DType, value: &Literal) -> bool {
    match scalar::family(dtype) {
        scalar::Family::Bool => matches!(value, Literal::Bool(_) | Literal::Int(_)),
        scalar::Family::Int | scalar::Family::Float | scalar::Family::Time => {
            matches!(value, Literal::Int(_) | Literal::Float(_))
        }
        scalar::Family::Text => matches!(value, Literal::Text(_)),
        scalar::Family::Other => false,
    }
}

fn category_truths(
    name: &str,
    categories: &[Value],
    op: Op,
    values: &[Literal],
) -> Result<Vec<u8>, QueryError> {
    let mut truths = Vec::with_capacity(categories.len());
    let mut any = categories.is_empty();
    for category in categories {
        let found: Vec<Option<Ordering>> = values
            .iter()
            .map(|value| compare_json(category, value))
            .collect();
        any |= found.iter().any(Option::is_some);
        // A category of another type is unequal, and neither less nor more.
        let holds = found
            .iter()
            .any(|order| order.map_or(op == Op::NotEqual, |order| passes(op, Some(order))));
        truths.push(if holds { TRUE } else { FALSE });
    }
    if !any {
        let value = values.first().map_or_else(String::new, shown);
        return Err(QueryError::misuse(format!(
            "the categories of attribute {name:?} cannot be compared with {value}"
        )));
    }
    Ok(truths)
}

fn compare_json(category: &Value, value: &Literal) -> Option<Ordering> {
    match (category, value) {
        (Value::String(a), Literal::Text(b)) => Some(a.as_str().cmp(b)),
        (Value::Bool(a), Literal::Bool(b)) => Some(a.cmp(b)),
        (Value::Number(a), Literal::Int(b)) => match (a.as_i64(), a.as_u64()) {
            (Some(a), _) => Some(i128::from(a).cmp(b)),
            (_, Some(a)) => Some(i128::from(a).cmp(b)),
            _ => a.as_f64()?.partial_cmp(&float(*b)),
        },
        (Value::Number(a), Literal::Float(b)) => a.as_f64()?.partial_cmp(b),
        _ => None,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only reached where the other side is a float"
)]
fn float(number: i128) -> f64 {
    number as f64
}

/// Whether an ordering satisfies an operator; no ordering is NaN on one side.
fn passes(op: Op, order: Option<Ordering>) -> bool {
    match op {
        Op::Equal => order == Some(Ordering::Equal),
        Op::NotEqual => order != Some(Ordering::Equal),
        Op::Less => order == Some(Ordering::Less),
        Op::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Op::Greater => order == Some(Ordering::Greater),
        Op::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn eval(node: &Node, rows: usize, operands: &[Operand<'_>]) -> Result<Truths, Fault> {
    let fold = |terms: &[Node], start: u8, join: fn(u8, u8) -> u8| {
        let mut all = vec![start; rows];
        for term in terms {
            for (into, truth) in all.iter_mut().zip(eval(term, rows, operands)?) {
                *into = join(*into, truth);
            }
        }
        Ok(all)
    };
    match node {
        Node::All(terms) => fold(terms, TRUE, u8::min),
        Node::Any(terms) => fold(terms, FALSE, u8::max),
        Node::Not(term) => {
            let mut all = eval(term, rows, operands)?;
            all.iter_mut().for_each(|truth| *truth = TRUE - *truth);
            Ok(all)
        }
        Node::Leaf(leaf) => leaf.eval(
            rows,
            operands
                .get(leaf.operand)
                .copied()
                .unwrap_or(Operand::Missing),
        ),
    }
}

impl Leaf {
    fn eval(&self, rows: usize, operand: Operand<'_>) -> Result<Truths, Fault> {
        let (bytes, width) = match operand {
            Operand::Unread => return Ok(vec![UNKNOWN; rows]),
            Operand::Missing => {
                let truth = if matches!(self.test, Test::IsNull { .. }) {
                    TRUE
                } else {
                    UNKNOWN
                };
                return Ok(vec![truth; rows]);
            }
            Operand::Code(code) => return Ok(vec![self.code(i128::from(code))?; rows]),
            Operand::Rows { bytes, width } => (bytes, width),
        };
        let channel = match self.channel {
            Some(channel) if channel < width => channel,
            Some(channel) => {
                return Err(Fault::Misuse(format!(
                    "filter names channel {channel} of attribute {:?}, which has {width}",
                    self.name
                )));
            }
            None if width == 1 || rows == 0 => 0,
            None => {
                return Err(Fault::Misuse(format!(
                    "attribute {0:?} has {width} channels: name one, as in {0}[0]",
                    self.name
                )));
            }
        };
        let mut truths = Vec::with_capacity(rows);
        let mut fault = None;
        let read = scalar::each(self.dtype, bytes, width, channel, |value| {
            truths.push(self.value(value).unwrap_or_else(|found| {
                fault.get_or_insert(found);
                FALSE
            }));
        });
        match fault {
            Some(fault) => Err(fault),
            None if read.is_err() => Err(Fault::Misuse(format!(
                "attribute {:?} of type {} cannot be compared",
                self.name, self.dtype
            ))),
            None => Ok(truths),
        }
    }

    fn value(&self, value: Scalar<'_>) -> Result<u8, Fault> {
        match &self.test {
            Test::Codes { .. } | Test::IsNull { coded: true, .. } => match value {
                Scalar::Int(code) => self.code(code),
                _ => Ok(UNKNOWN),
            },
            Test::IsNull { .. } => Ok(if matches!(value, Scalar::Null) {
                TRUE
            } else {
                FALSE
            }),
            Test::Values { op, values } => {
                let holds = match value {
                    Scalar::Null => return Ok(UNKNOWN),
                    Scalar::Int(a) => values.iter().any(|b| passes(*op, order_int(a, b))),
                    Scalar::Bool(a) => values
                        .iter()
                        .any(|b| passes(*op, order_int(i128::from(a), b))),
                    Scalar::F16(a) => values.iter().any(|b| {
                        let b = half::f16::from_f64(number(b));
                        passes(*op, a.partial_cmp(&b))
                    }),
                    Scalar::F32(a) => values
                        .iter()
                        .any(|b| passes(*op, a.partial_cmp(&scalar::narrow(number(b))))),
                    Scalar::F64(a) => values
                        .iter()
                        .any(|b| passes(*op, a.partial_cmp(&number(b)))),
                    Scalar::Utf32(a) => values.iter().any(|b| match b {
                        Literal::Text(b) => passes(*op, Some(a.compare(b))),
                        _ => false,
                    }),
                    Scalar::Bytes(a) => values.iter().any(|b| match b {
                        Literal::Text(b) => passes(*op, Some(a.cmp(b.as_bytes()))),
                        _ => false,
                    }),
                };
                Ok(if holds { TRUE } else { FALSE })
            }
        }
    }

    fn code(&self, code: i128) -> Result<u8, Fault> {
        let is_fill = |fill: &Option<i64>| fill.is_some_and(|fill| i128::from(fill) == code);
        match &self.test {
            Test::IsNull { fill, .. } => Ok(if is_fill(fill) { TRUE } else { FALSE }),
            Test::Codes { fill, .. } if is_fill(fill) => Ok(UNKNOWN),
            Test::Codes { truths, .. } => {
                let truth = usize::try_from(code).ok().and_then(|code| truths.get(code));
                truth.copied().ok_or_else(|| Fault::Malformed {
                    name: self.name.clone(),
                    what: format!(
                        "code {code} has no category: there are {}",
                        int::wide(truths.len())
                    ),
                })
            }
            Test::Values { .. } => Ok(UNKNOWN),
        }
    }
}

fn order_int(a: i128, b: &Literal) -> Option<Ordering> {
    match b {
        Literal::Int(b) => Some(a.cmp(b)),
        Literal::Bool(b) => Some(a.cmp(&i128::from(*b))),
        Literal::Float(b) => float(a).partial_cmp(b),
        Literal::Text(_) => None,
    }
}

fn number(value: &Literal) -> f64 {
    match value {
        Literal::Int(value) => float(*value),
        Literal::Float(value) => *value,
        Literal::Bool(_) | Literal::Text(_) => f64::NAN,
    }
}

fn shown(value: &Literal) -> String {
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

    fn bound(
        text: &str,
        dtype: &str,
        categories: Option<Vec<Value>>,
    ) -> Result<BoundFilter, QueryError> {
        let filter = Filter::parse(text)?;
        BoundFilter::bind(&filter, &|name| {
            let fill_code = categories.is_some().then_some(-1);
            let categories = categories.clone().map(Arc::new);
            let dtype = DType::parse(dtype).map_err(|_| QueryError::misuse("no dtype"))?;
            Ok((
                usize::from(name == "b"),
                OperandType {
                    dtype,
                    categories,
                    fill_code,
                },
            ))
        })
    }

    fn truths(text: &str, dtype: &str, bytes: &[u8], rows: usize) -> Truths {
        let width = bytes.len() / rows / DType::parse(dtype).unwrap().size();
        bound(text, dtype, None)
            .unwrap()
            .eval(rows, &[Operand::Rows { bytes, width }, Operand::Missing])
            .unwrap()
    }

    #[test]
    fn floats_are_compared_in_their_own_type() {
        let bytes: Vec<u8> = [0.3_f32, 0.5, f32::NAN]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(truths("a == 0.3", "float32", &bytes, 3), [2, 0, 0]);
        assert_eq!(truths("a > 0.3", "float32", &bytes, 3), [0, 2, 0]);
        assert_eq!(truths("a != 0.3", "float32", &bytes, 3), [0, 2, 2]);
        assert_eq!(truths("not a > 0.3", "float32", &bytes, 3), [2, 0, 2]);
    }

    #[test]
    fn integers_are_exact_and_big_endian_is_read() {
        let bytes: Vec<u8> = [u64::MAX, u64::MAX - 1]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(
            truths("a == 18446744073709551615", "uint64", &bytes, 2),
            [2, 0]
        );
        let mut reversed = 258_i32.to_le_bytes();
        reversed.reverse();
        assert_eq!(truths("a == 258", ">i4", &reversed, 1), [2]);
        assert_eq!(truths("a > 257.5", ">i4", &reversed, 1), [2]);
    }

    #[test]
    fn a_missing_value_is_unknown() {
        let bytes = [1_u8, 0];
        assert_eq!(truths("a == 1 or b == 1", "uint8", &bytes, 2), [2, 1]);
        assert_eq!(truths("a == 1 and b == 1", "uint8", &bytes, 2), [1, 0]);
        assert_eq!(truths("not b == 1", "uint8", &bytes, 2), [1, 1]);
        assert_eq!(truths("b is null", "uint8", &bytes, 2), [2, 2]);
    }

    #[test]
    fn categories_are_compared_by_value() {
        let filter = bound(
            "a in ('x', 'z')",
            "int8",
            Some(vec!["x".into(), "y".into()]),
        )
        .unwrap();
        let eval = |bytes: &[u8]| filter.eval(bytes.len(), &[Operand::Rows { bytes, width: 1 }]);
        assert_eq!(eval(&[0, 1, 0xff]).unwrap(), [2, 0, 1]);
        assert!(matches!(eval(&[2]), Err(Fault::Malformed { .. })));
        assert!(bound("a == 3", "int8", Some(vec!["x".into()])).is_err());
        assert!(filter.rules_out(&[Operand::Code(1)]) && !filter.rules_out(&[Operand::Code(0)]));
        assert!(!filter.rules_out(&[Operand::Unread]));
    }

    #[test]
    fn channels_are_named_where_there_are_several() {
        let bytes: Vec<u8> = [1_i16, 2, 3, 4]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(truths("a[1] == 4", "int16", &bytes, 2), [0, 2]);
        let filter = bound("a == 4", "int16", None).unwrap();
        assert!(matches!(
            filter.eval(
                2,
                &[Operand::Rows {
                    bytes: &bytes,
                    width: 2
                }]
            ),
            Err(Fault::Misuse(_))
        ));
    }

    #[test]
    fn texts_are_compared_without_padding() {
        let bytes: Vec<u8> = ['a', '\0', 'a', 'b']
            .iter()
            .flat_map(|c| u32::from(*c).to_le_bytes())
            .collect();
        assert_eq!(truths("a == 'a'", "<U2", &bytes, 2), [2, 0]);
        assert_eq!(truths("a > 'a'", "|S2", b"a\0ab", 2), [0, 2]);
        assert!(bound("a > 1", "<U2", None).is_err());
    }
}

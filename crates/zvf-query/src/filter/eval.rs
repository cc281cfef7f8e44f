//! Evaluates a resolved condition for the rows of a chunk.

use std::cmp::Ordering;

use super::bind::{BoundFilter, Leaf, Node, Test};
use super::expr::{Literal, Op};
use super::operand::{
    FALSE, Fault, Operand, TRUE, Truths, UNKNOWN, channel_of, float, order_int, passes,
};
use crate::columns::scalar::{self, Scalar};
use zvf_store::format::int;

impl BoundFilter {
    /// Evaluates the condition for every row: true, false or unknown.
    ///
    /// # Errors
    ///
    /// An invalid operand, to which the caller adds the place: a channel that does not exist, a type that cannot be compared, a code without a category.
    pub(crate) fn eval(&self, rows: usize, operands: &[Operand<'_>]) -> Result<Truths, Fault> {
        eval(&self.root, rows, operands)
    }

    /// Whether the operands that are known before reading already rule out every row of a chunk.
    pub(crate) fn rules_out(&self, operands: &[Operand<'_>]) -> bool {
        matches!(self.eval(1, operands).as_deref(), Ok([FALSE]))
    }

    /// Whether a result of [`eval`](Self::eval) is true, neither false nor unknown.
    pub(crate) fn holds(truth: u8) -> bool {
        truth == TRUE
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
        Node::Check(check) => check.eval(rows, operands),
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
            Operand::Values { .. } | Operand::Constant(_) => {
                let name = self.name.clone();
                return Err(Fault::Bug { name });
            }
        };
        let channel = channel_of(&self.name, self.channel, width, rows)?;
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
            Test::IsNan => Ok(match value {
                Scalar::Null => UNKNOWN,
                Scalar::F16(a) if a.is_nan() => TRUE,
                Scalar::F32(a) if a.is_nan() => TRUE,
                Scalar::F64(a) if a.is_nan() => TRUE,
                _ => FALSE,
            }),
            Test::IsNull { .. } => Ok(if matches!(value, Scalar::Null) {
                TRUE
            } else {
                FALSE
            }),
            Test::Values { op, values } => {
                let holds = match value {
                    Scalar::Null => return Ok(UNKNOWN),
                    Scalar::Int(a) => one_passes(*op, values, |b| order_int(a, b)),
                    Scalar::Bool(a) => one_passes(*op, values, |b| order_int(i128::from(a), b)),
                    Scalar::F16(a) => one_passes(*op, values, |b| {
                        a.partial_cmp(&zvf_store::nearest_f16(number(b)))
                    }),
                    Scalar::F32(a) => {
                        one_passes(*op, values, |b| a.partial_cmp(&scalar::narrow(number(b))))
                    }
                    Scalar::F64(a) => one_passes(*op, values, |b| a.partial_cmp(&number(b))),
                    Scalar::Utf32(a) => one_passes(*op, values, |b| match b {
                        Literal::Text(b) => Some(a.compare(b)),
                        _ => None,
                    }),
                    Scalar::Bytes(a) => one_passes(*op, values, |b| match b {
                        Literal::Text(b) => Some(a.cmp(b.as_bytes())),
                        _ => None,
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
            Test::Values { .. } | Test::IsNan => Ok(UNKNOWN),
        }
    }
}

/// Whether a value satisfies `op` with one of the literals; `order` compares the value with a literal. The literals of `==` are in ascending order.
fn one_passes(op: Op, values: &[Literal], order: impl Fn(&Literal) -> Option<Ordering>) -> bool {
    if op == Op::Equal {
        // Rounding the literals to the type of the value keeps them in order. A NaN equals no literal.
        let search = |b: &Literal| order(b).map_or(Ordering::Less, Ordering::reverse);
        return values.binary_search_by(search).is_ok();
    }
    values.iter().any(|b| passes(op, order(b)))
}

fn number(value: &Literal) -> f64 {
    match value {
        Literal::Int(value) => float(*value),
        Literal::Float(value) => *value,
        Literal::Bool(_) | Literal::Text(_) => f64::NAN,
    }
}

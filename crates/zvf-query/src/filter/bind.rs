//! Resolves a condition for the attributes of one level.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::Value;
use zvf_store::format::dtype::DType;

use super::expr::{Expr, Literal, Op, exactly};
use super::is_geometry;
use super::operand::{
    FALSE, Find, OperandType, TRUE, UNKNOWN, channel_in, float, order_with_float, passes, shown,
    sort_literals,
};
use super::value::{Check, incomparable, like_truths, of_times};
use crate::QueryError;
use crate::columns::scalar;

/// A resolved filter: indices of operands instead of names, and literals converted to the types of the attributes.
#[derive(Debug, Clone)]
pub(crate) struct BoundFilter {
    pub(super) root: Node,
    /// Notes about parts of the condition that are easily misunderstood.
    pub(crate) remarks: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Leaf(Leaf),
    /// Another test than a comparison of one attribute with literals.
    Check(Check),
}

#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) operand: usize,
    pub(super) channel: Option<usize>,
    pub(super) dtype: DType,
    pub(super) test: Test,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    IsNull {
        fill: Option<i64>,
        coded: bool,
    },
    IsNan,
    /// The result for each category, and the code of missing values.
    Codes {
        truths: Vec<u8>,
        fill: Option<i64>,
    },
    /// Compares a value with each of `values`; true if one comparison is true. Values of `==` are in ascending order, without NaN.
    Values {
        op: Op,
        values: Vec<Literal>,
    },
}

impl BoundFilter {
    /// Resolves a condition. `find` returns the index and type of an attribute.
    ///
    /// # Errors
    ///
    /// Misuse: a value that the attribute cannot be compared with. The errors of `find` for unknown names.
    pub(crate) fn bind(condition: &Expr, find: &Find<'_>) -> Result<Self, QueryError> {
        let mut binder = Binder {
            find,
            remarks: Vec::new(),
        };
        let root = binder.node(condition)?;
        let remarks = binder.remarks;
        Ok(Self { root, remarks })
    }
}

struct Binder<'f> {
    find: &'f Find<'f>,
    remarks: Vec<String>,
}

impl Binder<'_> {
    /// Whether tests of an attribute read its stored bytes.
    fn is_stored(&self, name: &str) -> Result<bool, QueryError> {
        Ok(!(self.find)(name)?.1.is_decoded)
    }

    fn node(&mut self, condition: &Expr) -> Result<Node, QueryError> {
        Ok(match condition {
            Expr::All(parts) => Node::All(self.nodes(parts)?),
            Expr::Any(parts) => {
                let parts = self.alternatives(parts)?;
                match parts.as_slice() {
                    [only] => self.node(only)?,
                    parts => Node::Any(self.nodes(parts)?),
                }
            }
            Expr::Not(part) => Node::Not(Box::new(self.node(part)?)),
            Expr::Compare(op, left, right) => match (left.as_ref(), right.as_ref()) {
                (Expr::Name { name, channel }, Expr::Literal(value)) if self.is_stored(name)? => {
                    self.values((name, *channel), *op, vec![value.clone()])?
                }
                (Expr::Literal(value), Expr::Name { name, channel }) if self.is_stored(name)? => {
                    self.values((name, *channel), op.flipped(), vec![value.clone()])?
                }
                (left, right) => Node::Check(Check::compare(*op, (left, right), self.find)?),
            },
            Expr::Between(parts) => {
                let [value, low, high] = parts.as_ref();
                let end = |op, end: &Expr| {
                    Expr::Compare(op, Box::new(value.clone()), Box::new(end.clone()))
                };
                let ends = [end(Op::AtLeast, low), end(Op::AtMost, high)];
                Node::All(self.nodes(&ends)?)
            }
            Expr::In(value, items) => {
                let literals = items.iter().map(|item| match item {
                    Expr::Literal(literal) => Some(literal.clone()),
                    _ => None,
                });
                let literals: Option<Vec<Literal>> = literals.collect();
                match (value.as_ref(), literals) {
                    (Expr::Name { name, channel }, Some(literals)) if self.is_stored(name)? => {
                        self.values((name, *channel), Op::Equal, literals)?
                    }
                    (value, Some(_)) => Node::Check(Check::one_of(value, items, self.find)?),
                    (value, None) => {
                        let equal = |item: &Expr| {
                            Expr::Compare(
                                Op::Equal,
                                Box::new(value.clone()),
                                Box::new(item.clone()),
                            )
                        };
                        let items: Vec<Expr> = items.iter().map(equal).collect();
                        Node::Any(self.nodes(&items)?)
                    }
                }
            }
            Expr::Like(value, pattern) => {
                if let Expr::Name { name, channel } = value.as_ref() {
                    let (operand, kind) = (self.find)(name)?;
                    if let Some(categories) = &kind.categories {
                        let truths = like_truths(categories, pattern);
                        let fill = kind.fill_code;
                        let test = Test::Codes { truths, fill };
                        return leaf((name, *channel), operand, &kind, test);
                    }
                }
                Node::Check(Check::like(value, pattern, self.find)?)
            }
            Expr::IsNull(value) => match value.as_ref() {
                Expr::Name { name, channel } if self.is_stored(name)? => {
                    self.is_null((name, *channel))?
                }
                value => {
                    if let Expr::Name { name, .. } = value {
                        self.remark_nan(name)?;
                    }
                    Node::Check(Check::is_null(value, self.find)?)
                }
            },
            Expr::IsNan(value) => match value.as_ref() {
                Expr::Name { name, channel } if self.is_stored(name)? => {
                    self.is_nan((name, *channel))?
                }
                value => Node::Check(Check::is_nan(value, self.find)?),
            },
            value => {
                return Err(QueryError::misuse(format!(
                    "where: found the value `{value}`, expected a comparison"
                )));
            }
        })
    }

    /// The parts of an `or`, with all literals to which an attribute may be equal in one list: lists are searched, parts are tested one by one.
    fn alternatives(&self, parts: &[Expr]) -> Result<Vec<Expr>, QueryError> {
        let mut joined: Vec<Expr> = Vec::new();
        let mut lists: HashMap<(&str, Option<usize>), usize> = HashMap::new();
        for part in parts {
            let Some((name, channel, items)) = equal_to(part) else {
                joined.push(part.clone());
                continue;
            };
            if !self.is_stored(name)? {
                joined.push(part.clone());
                continue;
            }
            let at = *lists.entry((name, channel)).or_insert(joined.len());
            match joined.get_mut(at) {
                Some(Expr::In(_, known)) => known.extend_from_slice(items),
                _ => {
                    let name = name.to_owned();
                    let value = Box::new(Expr::Name { name, channel });
                    joined.push(Expr::In(value, items.to_vec()));
                }
            }
        }
        Ok(joined)
    }

    fn nodes(&mut self, parts: &[Expr]) -> Result<Vec<Node>, QueryError> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    /// Compares an attribute with literals; true if one comparison is true.
    fn values(
        &mut self,
        at: (&str, Option<usize>),
        op: Op,
        values: Vec<Literal>,
    ) -> Result<Node, QueryError> {
        let name = at.0;
        let (operand, kind) = (self.find)(name)?;
        let test = match &kind.categories {
            Some(categories) => {
                let values = of_times(kind.dtype.kind, values)?;
                self.remarks.extend(no_category(name, categories, &values));
                Test::Codes {
                    truths: category_truths(name, categories, op, &values)?,
                    fill: kind.fill_code,
                }
            }
            None => {
                let mut values = of_times(kind.dtype.kind, values)?;
                for value in &values {
                    if !comparable(kind.dtype, value) {
                        return Err(incomparable(name, kind.dtype, value));
                    }
                }
                if op == Op::Equal {
                    sort_literals(&mut values);
                }
                Test::Values { op, values }
            }
        };
        leaf(at, operand, &kind, test)
    }

    fn is_null(&mut self, at: (&str, Option<usize>)) -> Result<Node, QueryError> {
        self.remark_nan(at.0)?;
        let (operand, kind) = (self.find)(at.0)?;
        let test = Test::IsNull {
            fill: kind.fill_code,
            coded: kind.categories.is_some(),
        };
        leaf(at, operand, &kind, test)
    }

    /// Notes that NaN is not null, if the values are floats of an attribute.
    fn remark_nan(&mut self, name: &str) -> Result<(), QueryError> {
        let (_, kind) = (self.find)(name)?;
        if is_float(&kind) && kind.axis.is_none() && !is_geometry(name) {
            let attribute = exactly(name);
            let test = match &attribute {
                Some(_) => format!("{name} is nan"),
                None => format!("`{name} is nan`"),
            };
            let attribute = attribute.as_deref().unwrap_or(name);
            self.remarks.push(format!(
                "attribute {attribute:?} holds floats: missing floats of a file become NaN, which is not null; {test} finds them"
            ));
        }
        Ok(())
    }

    fn is_nan(&mut self, at: (&str, Option<usize>)) -> Result<Node, QueryError> {
        let name = at.0;
        let (operand, kind) = (self.find)(name)?;
        if !is_float(&kind) {
            return Err(QueryError::misuse(format!(
                "attribute {name:?} has no NaN, since its values are not floats: `is null` finds missing ones"
            )));
        }
        leaf(at, operand, &kind, Test::IsNan)
    }
}

/// The attribute, its channel and the literals of a test whether it is equal to one of them.
fn equal_to(part: &Expr) -> Option<(&str, Option<usize>, &[Expr])> {
    let is_literal = |item: &Expr| matches!(item, Expr::Literal(_));
    let (value, items) = match part {
        Expr::Compare(Op::Equal, left, right) if is_literal(right) => {
            (left, std::slice::from_ref(right.as_ref()))
        }
        Expr::Compare(Op::Equal, left, right) => (right, std::slice::from_ref(left.as_ref())),
        Expr::In(value, items) => (value, items.as_slice()),
        _ => return None,
    };
    match value.as_ref() {
        Expr::Name { name, channel } if items.iter().all(is_literal) => {
            Some((name, *channel, items))
        }
        _ => None,
    }
}

fn is_float(kind: &OperandType) -> bool {
    kind.categories.is_none() && scalar::family(kind.dtype) == scalar::Family::Float
}

fn leaf(
    (name, channel): (&str, Option<usize>),
    operand: usize,
    kind: &OperandType,
    test: Test,
) -> Result<Node, QueryError> {
    Ok(Node::Leaf(Leaf {
        name: exactly(name).unwrap_or_else(|| name.to_owned()),
        operand,
        channel: channel_in(name, channel, kind.axis)?,
        dtype: kind.dtype,
        test,
    }))
}

/// A note about texts that are not a category, if all categories are texts.
fn no_category(name: &str, categories: &[Value], values: &[Literal]) -> Option<String> {
    // Most categories in a note.
    const LISTED: usize = 8;
    let mut unknown = texts_of(values);
    for category in categories.iter().filter_map(Value::as_str) {
        unknown.remove(category);
    }
    let missing: Vec<String> = values
        .iter()
        .filter(|value| matches!(value, Literal::Text(text) if unknown.contains(text.as_str())))
        .map(shown)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let mut known: Vec<String> = categories
        .iter()
        .take(LISTED)
        .map(|one| match one.as_str() {
            Some(text) => format!("'{text}'"),
            None => one.to_string(),
        })
        .collect();
    if categories.len() > LISTED {
        known.push(format!(".. ({} in all)", categories.len()));
    }
    Some(format!(
        "attribute {name:?} has no category {}: there are {}",
        missing.join(", ").replace("text ", ""),
        known.join(", ")
    ))
}

/// The texts among literals.
fn texts_of(values: &[Literal]) -> HashSet<&str> {
    let texts = values.iter().filter_map(|value| match value {
        Literal::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
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
    let texts = texts_of(values);
    for category in categories {
        // Shown as a missing value.
        if category.is_null() {
            truths.push(UNKNOWN);
            continue;
        }
        if let (Value::String(text), Op::Equal) = (category, op) {
            any |= !texts.is_empty();
            let holds = texts.contains(text.as_str());
            truths.push(if holds { TRUE } else { FALSE });
            continue;
        }
        let found: Vec<Option<Ordering>> = values
            .iter()
            .map(|value| compare_json(category, value))
            .collect();
        any |= found.iter().any(Option::is_some);
        // A category of another type is unequal, and neither less nor greater.
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
        (Value::Bool(a), Literal::Int(b)) => Some(i128::from(*a).cmp(b)),
        (Value::Number(a), Literal::Int(b)) => match (a.as_i64(), a.as_u64()) {
            (Some(a), _) => Some(i128::from(a).cmp(b)),
            (_, Some(a)) => Some(i128::from(a).cmp(b)),
            _ => a.as_f64()?.partial_cmp(&float(*b)),
        },
        (Value::Number(a), Literal::Float(b)) => match (a.as_i64(), a.as_u64()) {
            (Some(a), _) => order_with_float(a.into(), *b),
            (_, Some(a)) => order_with_float(a.into(), *b),
            _ => a.as_f64()?.partial_cmp(b),
        },
        _ => None,
    }
}

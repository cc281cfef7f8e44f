//! Conditions on vertices and objects.

mod bind;
mod computed;
mod dates;
mod eval;
mod expr;
mod joint;
mod lex;
mod operand;
mod parse;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::sync::Arc;

use crate::QueryError;

pub(crate) use bind::BoundFilter;
pub(crate) use computed::BoundExpression;
pub(crate) use expr::{Expr, Function, exactly, write_joined};
use expr::{Literal, Op, plain_names};
pub(crate) use joint::{BoundJoint, Joint, Values};
pub(crate) use lex::SyntaxError;
pub(crate) use operand::{Fault, Operand, OperandType, Truths, Val};

/// A condition that rows or objects have to satisfy.
///
/// # Grammar
///
/// Comparisons `==` (or `=`), `!=` (or `<>`), `<`, `<=`, `>`, `>=` of two values; `value in (1, 2)`, `value between 1 and 2` (both included),
/// `text like 'a%'` (`%` is any text, `_` any character), `value is null`, `value is nan`, each of them with `not`
/// before the last word or words (`not in`, `not between`, `not like`, `is not null`, `is not nan`); joined by `and`, `or`, `not` and parentheses.
///
/// A value is a number, a `'text'`, `true` or `false`, a name, or an expression of these with `+`, `-`, `*`, `/`, `%` and the functions `abs`, `sqrt`,
/// `min` and `max`. Put spaces around `/`, which may be part of a name. A name is looked up among vertex attributes, then axes, then
/// object attributes; names that are not plain words are written in backquotes or double quotes; `name[1]` is a channel of an
/// attribute with several. Values of objects are `object_id`, `object.NAME` (an attribute), `length()` (along its links), `count()` (its vertices),
/// `start.x` and `end.x` (coordinates of its first and last vertex). Values of groups of objects are `group.NAME` (an attribute), `group.name` and
/// `group.number`, unless an attribute has that name. In quotes, such a name means the attribute of vertices, objects or groups with exactly this name, if
/// there is one: `` `start.x` `` is the attribute named `start.x`.
///
/// # Meaning
///
/// A comparison with a missing value is unknown, and a row is kept only if the whole condition is true. Integers are compared exactly, also with
/// floats. A number that is compared with an attribute of floats is first rounded to the type of the attribute, so that `score == 0.3` finds a stored
/// `float32` that prints as 0.3. NaN is a value and not null: it is unequal to every number, and `is nan` finds it. An import stores NaN for a missing
/// float. Categorical attributes are compared by category, times with numbers of their unit or with texts such as `'2024-05-31T12:30:00'`. Sums,
/// differences, products and remainders of whole numbers are whole; `/` is float division. An expression with a missing value is missing, and so is
/// the remainder of a whole number by zero (of a float it is NaN).
///
/// A condition that refers to objects selects objects, as [`Query::objects`](crate::Query::objects) does: the answer is then grouped by object, and
/// has no vertices that belong to no object. If `and` joins the parts, parts that refer to objects alone are evaluated first, and parts that refer to
/// vertices alone when a chunk is read. A part that refers to both, such as `fa > 0.5 or object.length > 40` or `x < start.x`, is tested for each
/// object and each of its vertices: a vertex of several objects may satisfy it with one of them. Such a part excludes no chunks, only objects for
/// which it cannot be true.
///
/// A part that refers to groups alone is true for an object that is a member of at least one group for which it is true, else false, also for objects
/// in no group. The part is as large as possible: everything below a `not`, an `or` or an `and` that refers to groups alone, and all operands of one
/// `and` that refer to groups alone, in any order. So `group.weight > 2 and count() > 9 and group.name like 'AF%'` requires one group with both
/// properties, and `not group.name == 'AF'` requires a group other than AF. Parts that refer to groups and to objects are joined by `and`, `or` and
/// `not`, which apply to the object: `not (group.name == 'AF' or object_id is null)` excludes the members of AF, since no id is null. Comparing a
/// value of groups with a value of objects or vertices is an error.
///
/// Parsing the output of `Display` gives the same condition.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// let filter = zvf_query::Filter::parse("intensity > 0.5 and label in (3, 4) and x < y + 10")?;
/// assert_eq!(filter.names(), ["intensity", "label", "x", "y"]);
/// assert_eq!(filter.to_string(), "intensity > 0.5 and label in (3, 4) and x < y + 10");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    condition: Expr,
    /// The parts that refer to vertices and to objects, once the objects of the query are chosen.
    joint: Option<Arc<Joint>>,
}

/// Compares the conditions alone.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition
    }
}

impl Filter {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Misuse: a syntax error; the message states its byte and marks it. The names are checked when a query runs.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let condition = parse::parse(text).map_err(|wrong| misplaced("where", text, wrong))?;
        Ok(Self::of(condition))
    }

    /// Parses an expression that may be a value.
    pub(crate) fn parse_expression(text: &str) -> Result<Self, QueryError> {
        let value = parse::parse_expression(text);
        let value = value.map_err(|wrong| misplaced("expression", text, wrong))?;
        Ok(Self::of(value))
    }

    /// The condition or value.
    pub(crate) fn expr(&self) -> &Expr {
        &self.condition
    }

    /// The names, each once, in order of first appearance.
    pub fn names(&self) -> Vec<String> {
        self.condition.plain_names()
    }

    /// The names that mean attributes of exactly these names; see [`exactly`].
    pub(crate) fn exact_names(&self) -> Vec<String> {
        let names = self.condition.names().into_iter();
        names.filter_map(|name| exactly(&name)).collect()
    }

    /// Replaces the names for which `new` returns another one.
    pub(crate) fn rename(&mut self, new: &dyn Fn(&str) -> Option<String>) {
        self.condition.rename(new);
    }

    /// A filter with this condition, whose objects are not chosen yet.
    pub(crate) fn of(condition: Expr) -> Self {
        Self {
            condition,
            joint: None,
        }
    }

    /// The condition with the values of objects for the parts that need them.
    pub(crate) fn with_joint(self, joint: Joint) -> Self {
        Self {
            joint: Some(Arc::new(joint)),
            ..self
        }
    }

    /// The parts that refer to vertices and to objects, if the objects are chosen.
    pub(crate) fn joint(&self) -> Option<&Arc<Joint>> {
        self.joint.as_ref()
    }

    /// The condition on rows, regardless of the objects that they belong to.
    pub(crate) fn of_rows(&self) -> Option<&Expr> {
        match &self.joint {
            Some(joint) => joint.of_rows(),
            None => Some(&self.condition),
        }
    }

    /// The names of attributes of vertices and of axes, and, if objects are not chosen, of attributes of objects.
    pub(crate) fn names_of_rows(&self) -> Vec<String> {
        let mut names = self.condition.names();
        let joint = self.joint.as_ref();
        names.retain(|name| {
            !is_of_object(name) && !joint.is_some_and(|joint| joint.is_of_object(name))
        });
        plain_names(names)
    }

    /// The text with a mark under a name.
    pub(crate) fn marked(&self, name: &str) -> String {
        let text = self.to_string();
        let at = text.find(name);
        at.map_or_else(String::new, |at| marked(&text, at))
    }

    /// The operands of `and` at the top: see [`Expr::conjuncts`].
    pub(crate) fn conjuncts(&self) -> Vec<&Expr> {
        self.condition.conjuncts()
    }

    /// The inclusive range of each axis outside which no row satisfies the condition; `None` if it restricts no axis.
    /// `rounded` rounds a literal to the number type of positions.
    pub(crate) fn ranges(
        &self,
        dims: usize,
        axis: &dyn Fn(&str) -> Option<usize>,
        rounded: &dyn Fn(f64) -> f64,
    ) -> Option<Vec<(f64, f64)>> {
        let mut ranges = vec![(f64::NEG_INFINITY, f64::INFINITY); dims];
        let mut any = false;
        for part in self.conjuncts() {
            let Some((name, low, high)) = range(part) else {
                continue;
            };
            if let Some(range) = axis(name).and_then(|axis| ranges.get_mut(axis)) {
                any = true;
                range.0 = range.0.max(low.min(rounded(low)).next_down());
                range.1 = range.1.min(high.max(rounded(high)).next_up());
            }
        }
        any.then_some(ranges)
    }
}

/// The error of a text that cannot be parsed, with a mark under the place.
fn misplaced(option: &str, text: &str, SyntaxError { at, what }: SyntaxError) -> QueryError {
    QueryError::misuse(format!(
        "{option}, at byte {at}: {what}{}",
        marked(text, at)
    ))
}

/// A name without a channel.
fn plain_name(value: &Expr) -> Option<&str> {
    match value {
        Expr::Name {
            name,
            channel: None,
        } => Some(name),
        _ => None,
    }
}

/// The name and the range to which a part limits it. Values that are not numbers do not satisfy the part.
fn range(part: &Expr) -> Option<(&str, f64, f64)> {
    const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    let number = |value: &Expr| match value {
        Expr::Literal(Literal::Int(number)) => Some(operand::float(*number)),
        Expr::Literal(Literal::Float(number)) => Some(*number),
        _ => None,
    };
    match part {
        Expr::Compare(op, left, right) => {
            let (op, name, bound) = match (plain_name(left), plain_name(right)) {
                (Some(name), None) => (*op, name, number(right)?),
                (None, Some(name)) => (op.flipped(), name, number(left)?),
                _ => return None,
            };
            let (low, high) = match op {
                Op::Equal => (bound, bound),
                Op::Less | Op::AtMost => (ALL.0, bound),
                Op::Greater | Op::AtLeast => (bound, ALL.1),
                Op::NotEqual => return None,
            };
            Some((name, low, high))
        }
        Expr::Between(parts) => {
            let [value, low, high] = parts.as_ref();
            Some((plain_name(value)?, number(low)?, number(high)?))
        }
        Expr::In(value, items) => {
            let name = plain_name(value)?;
            let numbers = items.iter().map(number).collect::<Option<Vec<f64>>>()?;
            let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Some((name, low, high))
        }
        _ => None,
    }
}

/// The part of a text around a byte, and a mark under it.
pub(crate) fn marked(text: &str, at: usize) -> String {
    // Characters that are shown before and after the place.
    const AROUND: usize = 50;
    let at = at.min(text.len());
    let (before, after) = (text.get(..at).unwrap_or(text), text.get(at..).unwrap_or(""));
    let skip = before.chars().count().saturating_sub(AROUND);
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let before: String = before.chars().skip(skip).map(plain).collect();
    let after: String = after.chars().take(AROUND).map(plain).collect();
    let gap = " ".repeat(before.chars().count());
    format!("\n  {before}{after}\n  {gap}^")
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)
    }
}

/// Whether a name refers to the object or its groups, regardless of attributes with that name.
pub(crate) fn is_of_object(name: &str) -> bool {
    matches!(name, "object_id" | "count()")
        || name.starts_with("object.")
        || group_value(name).is_some()
        || is_geometry(name)
}

/// The value of a group that a name refers to.
pub(crate) fn group_value(name: &str) -> Option<&str> {
    name.strip_prefix("group.")
}

/// Whether the value is computed from the vertices of the object.
pub(crate) fn is_geometry(name: &str) -> bool {
    name == "length()" || end_of(name).is_some()
}

/// The axis of `start.x` or `end.x`, and whether it is of the end.
pub(crate) fn end_of(name: &str) -> Option<(bool, &str)> {
    let start = name.strip_prefix("start.").map(|axis| (false, axis));
    start.or_else(|| name.strip_prefix("end.").map(|axis| (true, axis)))
}

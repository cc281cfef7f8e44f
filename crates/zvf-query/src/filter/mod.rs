//! Conditions on vertex attributes.

mod bind;
mod eval;
mod lex;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::QueryError;

pub(crate) use bind::{BoundFilter, OperandType, Truths};
pub(crate) use eval::{Fault, Operand};
use parse::Condition;

/// A condition on vertex attributes.
///
/// # Grammar
///
/// Comparisons `==` (or `=`), `!=` (or `<>`), `<`, `<=`, `>`, `>=` of an attribute with a number, a `'text'`, `true`
/// or `false`; `name in (1, 2)`, `name between 1 and 2` (both included), `name is null`, `name is nan`, each of them with `not`
/// before the last word or words (`not in`, `not between`, `is not null`, `is not nan`); joined by `and`, `or`, `not` and parentheses. Names that are not
/// plain words are written in backquotes or double quotes; `name[1]` is a channel of an attribute with several.
///
/// # Meaning
///
/// A missing value makes a comparison unknown, and a row is kept when the whole condition is true. Integers are
/// compared exactly. A number is first rounded to the attribute's float type, so that `score == 0.3` finds a stored
/// `float32` that prints as 0.3. NaN is a value, unequal to every number, which
/// `is nan` finds; floats that a file lacks become NaN, which is not null. Categorical attributes are compared
/// by category.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// let filter = zvf_query::Filter::parse("intensity > 0.5 and label in (3, 4)")?;
/// assert_eq!(filter.names(), ["intensity", "label"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    text: String,
    condition: Condition,
}

impl Filter {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Misuse, with the byte at which the expression goes wrong. Whether the attributes exist shows when a query
    /// runs.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Ok(Self {
            text: text.to_owned(),
            condition: parse::parse(text)?,
        })
    }

    /// The attributes named, each once, in order of first appearance.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.condition.names(&mut names);
        names
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

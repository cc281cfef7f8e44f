//! The syntax tree of a condition, and its text form.

use std::fmt;

use super::is_of_object;

/// A condition, or a value in one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// True if all parts are true; two or more parts.
    All(Vec<Expr>),
    /// True if at least one part is true; two or more parts.
    Any(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Op, Box<Expr>, Box<Expr>),
    /// A value, and the lowest and highest accepted values.
    Between(Box<[Expr; 3]>),
    In(Box<Expr>, Vec<Expr>),
    /// A value and a pattern, in which `%` is any text and `_` any character.
    Like(Box<Expr>, String),
    IsNull(Box<Expr>),
    IsNan(Box<Expr>),
    Literal(Literal),
    /// A name. If it means the attribute of exactly this name, it is stored in the form of [`exact_name`].
    Name {
        name: String,
        channel: Option<usize>,
    },
    Negate(Box<Expr>),
    Math(Math, Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Op {
    /// The comparison with its sides exchanged.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// Arithmetic of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Math {
    fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// A function of numbers, or of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Sqrt,
    Min,
    Max,
    /// Length of the object along its links, in world units.
    Length,
    /// Vertices of the object.
    Count,
}

impl Function {
    pub(crate) const ALL: [Self; 6] = [
        Self::Abs,
        Self::Sqrt,
        Self::Min,
        Self::Max,
        Self::Length,
        Self::Count,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Abs => "abs",
            Self::Sqrt => "sqrt",
            Self::Min => "min",
            Self::Max => "max",
            Self::Length => "length",
            Self::Count => "count",
        }
    }

    /// Fewest and most arguments.
    pub(crate) fn arity(self) -> (usize, usize) {
        match self {
            Self::Abs | Self::Sqrt => (1, 1),
            Self::Min | Self::Max => (2, 64),
            Self::Length | Self::Count => (0, 0),
        }
    }
}

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Int(i128),
    Float(f64),
    Text(String),
    Bool(bool),
}

impl Expr {
    /// Whether it is a condition and not a value.
    pub(crate) fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::All(_)
                | Self::Any(_)
                | Self::Not(_)
                | Self::Compare(..)
                | Self::Between(_)
                | Self::In(..)
                | Self::Like(..)
                | Self::IsNull(_)
                | Self::IsNan(_)
        )
    }

    /// The conjunction of all parts; `None` without parts.
    pub(crate) fn joined(mut parts: Vec<Self>) -> Option<Self> {
        match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Self::All(parts)),
        }
    }

    /// The operands of `and` at the top, with nested `and` flattened; the condition itself if it is not an `and`.
    pub(crate) fn conjuncts(&self) -> Vec<&Self> {
        let mut found = Vec::new();
        let mut left = vec![self];
        while let Some(part) = left.pop() {
            match part {
                Self::All(parts) => left.extend(parts.iter().rev()),
                other => found.push(other),
            }
        }
        found
    }

    /// The condition that a column of booleans is true.
    pub(crate) fn is_true(name: String) -> Self {
        let column = Self::Name {
            name,
            channel: None,
        };
        let truth = Self::Literal(Literal::Bool(true));
        Self::Compare(Op::Equal, Box::new(column), Box::new(truth))
    }

    /// Replaces each test that is not `known` by the boolean that favours the whole condition: true, or false inside a negation, where `positive` is
    /// false. If the result is not true, the condition is not true, regardless of the results of these tests.
    pub(crate) fn at_best(&self, positive: bool, known: &dyn Fn(&Self) -> bool) -> Self {
        let each = |parts: &[Self]| {
            parts
                .iter()
                .map(|part| part.at_best(positive, known))
                .collect()
        };
        match self {
            Self::All(parts) => Self::All(each(parts)),
            Self::Any(parts) => Self::Any(each(parts)),
            Self::Not(part) => Self::Not(Box::new(part.at_best(!positive, known))),
            test if known(test) => test.clone(),
            // `All` of no parts is true, `Any` of no parts is false.
            _ if positive => Self::All(Vec::new()),
            _ => Self::Any(Vec::new()),
        }
    }

    /// Calls `f` with every part, the whole first.
    pub(crate) fn each<'e>(&'e self, f: &mut dyn FnMut(&'e Self)) {
        f(self);
        match self {
            Self::All(parts) | Self::Any(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(|part| part.each(f));
            }
            Self::Not(part)
            | Self::Like(part, _)
            | Self::IsNull(part)
            | Self::IsNan(part)
            | Self::Negate(part) => part.each(f),
            Self::Compare(_, left, right) | Self::Math(_, left, right) => {
                left.each(f);
                right.each(f);
            }
            Self::Between(parts) => parts.iter().for_each(|part| part.each(f)),
            Self::In(part, parts) => {
                part.each(f);
                parts.iter().for_each(|part| part.each(f));
            }
            Self::Literal(_) | Self::Name { .. } => {}
        }
    }

    /// The names, each once, in order of first appearance.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        self.each(&mut |part| {
            if let Self::Name { name, .. } = part
                && !found.contains(name)
            {
                found.push(name.clone());
            }
        });
        found
    }

    /// The names, each once; exact names without their backquotes.
    pub(crate) fn plain_names(&self) -> Vec<String> {
        plain_names(self.names())
    }

    /// Replaces the names for which `new` returns another one.
    pub(crate) fn rename(&mut self, new: &dyn Fn(&str) -> Option<String>) {
        match self {
            Self::Name { name, .. } => {
                if let Some(new) = new(name) {
                    *name = new;
                }
            }
            Self::All(parts) | Self::Any(parts) | Self::Call(_, parts) => {
                parts.iter_mut().for_each(|part| part.rename(new));
            }
            Self::Not(part)
            | Self::Like(part, _)
            | Self::IsNull(part)
            | Self::IsNan(part)
            | Self::Negate(part) => part.rename(new),
            Self::Compare(_, left, right) | Self::Math(_, left, right) => {
                left.rename(new);
                right.rename(new);
            }
            Self::Between(parts) => parts.iter_mut().for_each(|part| part.rename(new)),
            Self::In(part, parts) => {
                part.rename(new);
                parts.iter_mut().for_each(|part| part.rename(new));
            }
            Self::Literal(_) => {}
        }
    }

    /// The precedence of the operator: an operand of lower precedence is put in parentheses.
    fn rank(&self) -> u8 {
        match self {
            Self::Any(_) => 0,
            Self::All(_) => 1,
            Self::Not(_) => 2,
            Self::Compare(..)
            | Self::Between(_)
            | Self::In(..)
            | Self::Like(..)
            | Self::IsNull(_)
            | Self::IsNan(_) => 3,
            Self::Math(Math::Add | Math::Subtract, ..) => 4,
            Self::Math(..) => 5,
            Self::Negate(_) => 6,
            Self::Literal(_) | Self::Name { .. } | Self::Call(..) => 7,
        }
    }

    fn part(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rank() < least {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

/// The form of a name in backquotes. It means the attribute of exactly this name, where the name without quotes would refer to a value of objects or
/// groups. Other names have no such form, because backquotes do not change their meaning.
pub(crate) fn exact_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The name of the attribute, if the name has the form of [`exact_name`].
pub(crate) fn exactly(name: &str) -> Option<String> {
    let inner = name.strip_prefix('`')?.strip_suffix('`')?;
    let inner = inner.replace("``", "`");
    is_of_object(&inner).then_some(inner)
}

/// Removes the backquotes of exact names; returns each name once.
pub(super) fn plain_names(names: Vec<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let name = exactly(&name).unwrap_or(name);
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether a name needs no quotes.
fn is_bare(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "and", "or", "not", "in", "is", "null", "true", "false", "between", "like", "nan", "inf",
    ];
    let first = name.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(is_word)
        && !WORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether a character may be in a name without quotes.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '@')
}

fn list(parts: &[Expr], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_joined(parts, ", ", f, |part, f| part.part(4, f))
}

/// Writes parts with a separator.
pub(crate) fn write_joined<T>(
    parts: &[T],
    between: &str,
    f: &mut fmt::Formatter<'_>,
    write: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (number, part) in parts.iter().enumerate() {
        f.write_str(if number == 0 { "" } else { between })?;
        write(part, f)?;
    }
    Ok(())
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(parts) => write_joined(parts, " and ", f, |part, f| part.part(2, f)),
            Self::Any(parts) => write_joined(parts, " or ", f, |part, f| part.part(1, f)),
            Self::Not(part) => {
                f.write_str("not ")?;
                part.part(2, f)
            }
            Self::Compare(op, left, right) => {
                left.part(4, f)?;
                write!(f, " {} ", op.sign())?;
                right.part(4, f)
            }
            Self::Between(parts) => {
                let [value, low, high] = parts.as_ref();
                value.part(4, f)?;
                f.write_str(" between ")?;
                low.part(4, f)?;
                f.write_str(" and ")?;
                high.part(4, f)
            }
            Self::In(value, items) => {
                value.part(4, f)?;
                f.write_str(" in (")?;
                list(items, f)?;
                f.write_str(")")
            }
            Self::Like(value, pattern) => {
                value.part(4, f)?;
                write!(f, " like '{}'", pattern.replace('\'', "''"))
            }
            Self::IsNull(value) => {
                value.part(4, f)?;
                f.write_str(" is null")
            }
            Self::IsNan(value) => {
                value.part(4, f)?;
                f.write_str(" is nan")
            }
            Self::Literal(literal) => write!(f, "{literal}"),
            Self::Name { name, channel } => {
                match is_bare(name) || exactly(name).is_some() {
                    true => f.write_str(name)?,
                    false => f.write_str(&exact_name(name))?,
                }
                channel.map_or(Ok(()), |channel| write!(f, "[{channel}]"))
            }
            // Parenthesized, because a number after the sign would be parsed as a negative number.
            Self::Negate(part) => match part.as_ref() {
                Self::Literal(_) => write!(f, "-({part})"),
                other => {
                    f.write_str("-")?;
                    other.part(6, f)
                }
            },
            Self::Math(math, left, right) => {
                let rank = self.rank();
                left.part(rank, f)?;
                write!(f, " {} ", math.sign())?;
                right.part(rank + 1, f)
            }
            Self::Call(function, parts) => {
                write!(f, "{}(", function.name())?;
                list(parts, f)?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bool(truth) => write!(f, "{truth}"),
        }
    }
}

#[cfg(test)]
pub(super) mod strategies {
    //! Generates trees in the form that the parser returns.

    use proptest::prelude::*;

    use super::*;

    fn literal() -> impl Strategy<Value = Expr> {
        let literal = prop_oneof![
            any::<i64>().prop_map(|number| Literal::Int(number.into())),
            any::<f64>()
                .prop_filter("NaN is not written", |number| !number.is_nan())
                .prop_map(Literal::Float),
            ".{0,6}".prop_map(Literal::Text),
            any::<bool>().prop_map(Literal::Bool),
        ];
        literal.prop_map(Expr::Literal)
    }

    fn value() -> impl Strategy<Value = Expr> {
        let name = prop_oneof![
            "[a-z.]{1,5}",
            ".{0,4}",
            Just("and".to_owned()),
            Just("start.x".to_owned()),
            "(end|object|group)[.][a-z`]{1,3}".prop_map(|name| exact_name(&name)),
        ];
        let name = (name, proptest::option::of(0_usize..9))
            .prop_map(|(name, channel)| Expr::Name { name, channel });
        let object = prop_oneof![Just(Function::Length), Just(Function::Count)]
            .prop_map(|function| Expr::Call(function, Vec::new()));
        prop_oneof![literal(), name, object].prop_recursive(4, 16, 3, |part| {
            let math = prop_oneof![
                Just(Math::Add),
                Just(Math::Subtract),
                Just(Math::Multiply),
                Just(Math::Divide),
                Just(Math::Remainder),
            ];
            let pair = (part.clone(), part.clone());
            prop_oneof![
                part.clone().prop_map(|one| Expr::Negate(Box::new(one))),
                (math, pair.clone()).prop_map(|(math, (a, b))| Expr::Math(
                    math,
                    Box::new(a),
                    Box::new(b)
                )),
                part.prop_map(|one| Expr::Call(Function::Abs, vec![one])),
                pair.prop_map(|(a, b)| Expr::Call(Function::Max, vec![a, b])),
            ]
        })
    }

    /// Any condition.
    pub(in crate::filter) fn condition() -> impl Strategy<Value = Expr> {
        let op = prop_oneof![
            Just(Op::Equal),
            Just(Op::NotEqual),
            Just(Op::Less),
            Just(Op::AtMost),
            Just(Op::Greater),
            Just(Op::AtLeast),
        ];
        let leaf = prop_oneof![
            (op, value(), value()).prop_map(|(op, a, b)| Expr::Compare(
                op,
                Box::new(a),
                Box::new(b)
            )),
            (value(), value(), value()).prop_map(|(a, b, c)| Expr::Between(Box::new([a, b, c]))),
            (value(), proptest::collection::vec(value(), 1..4))
                .prop_map(|(one, list)| Expr::In(Box::new(one), list)),
            (value(), ".{0,6}").prop_map(|(one, pattern)| Expr::Like(Box::new(one), pattern)),
            value().prop_map(|one| Expr::IsNull(Box::new(one))),
            value().prop_map(|one| Expr::IsNan(Box::new(one))),
        ];
        leaf.prop_recursive(4, 16, 3, |part| {
            let parts = proptest::collection::vec(part.clone(), 2..4);
            prop_oneof![
                part.prop_map(|one| Expr::Not(Box::new(one))),
                parts.clone().prop_map(Expr::All),
                parts.prop_map(Expr::Any),
            ]
        })
    }
}

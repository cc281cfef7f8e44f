//! Conditions, and the way from words to them.

use super::lex::{Token, error, tokens};
use crate::QueryError;

/// Deepest nesting of parentheses and `not`. Beyond it an expression is refused, so that no input exhausts the stack.
const DEPTH: usize = 200;

/// A parsed condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        name: String,
        channel: Option<usize>,
        op: Op,
        value: Literal,
    },
    In {
        name: String,
        channel: Option<usize>,
        values: Vec<Literal>,
    },
    IsNull {
        name: String,
        channel: Option<usize>,
    },
    IsNan {
        name: String,
        channel: Option<usize>,
    },
}

impl Condition {
    pub(super) fn names(&self, found: &mut Vec<String>) {
        match self {
            Self::All(terms) | Self::Any(terms) => terms.iter().for_each(|term| term.names(found)),
            Self::Not(term) => term.names(found),
            Self::Compare { name, .. }
            | Self::In { name, .. }
            | Self::IsNull { name, .. }
            | Self::IsNan { name, .. } => {
                if !found.contains(name) {
                    found.push(name.clone());
                }
            }
        }
    }
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Int(i128),
    Float(f64),
    Text(String),
    Bool(bool),
}

/// Parses a whole expression.
pub(super) fn parse(text: &str) -> Result<Condition, QueryError> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        next: 0,
        end: text.len(),
    };
    let condition = parser.any(DEPTH)?;
    match parser.peek() {
        None => Ok(condition),
        Some(token) => Err(error(
            parser.at(),
            &format!("expected `and`, `or` or the end, found {}", shown(token)),
        )),
    }
}

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    next: usize,
    end: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn take(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name { text, quoted: false }) if text.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), QueryError> {
        if self.sign(sign) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{sign}`")))
        }
    }

    fn expected(&self, what: &str) -> QueryError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), shown);
        error(self.at(), &format!("expected {what}, found {found}"))
    }

    /// `all (or all)*`
    fn any(&mut self, depth: usize) -> Result<Condition, QueryError> {
        let mut terms = vec![self.all(depth)?];
        while self.word("or") {
            terms.push(self.all(depth)?);
        }
        Ok(one_or(terms, Condition::Any))
    }

    /// `not (and not)*`
    fn all(&mut self, depth: usize) -> Result<Condition, QueryError> {
        let mut terms = vec![self.not(depth)?];
        while self.word("and") {
            terms.push(self.not(depth)?);
        }
        Ok(one_or(terms, Condition::All))
    }

    fn not(&mut self, depth: usize) -> Result<Condition, QueryError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(error(self.at(), "nested too deeply"));
        };
        if self.word("not") {
            return Ok(Condition::Not(Box::new(self.not(depth)?)));
        }
        if self.sign("(") {
            let inner = self.any(depth)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Condition, QueryError> {
        let (name, channel) = self.name()?;
        if self.word("is") {
            let negated = self.word("not");
            let test = if self.word("null") {
                Condition::IsNull { name, channel }
            } else if self.word("nan") {
                Condition::IsNan { name, channel }
            } else {
                return Err(self.expected("`null` or `nan`"));
            };
            return Ok(if negated {
                Condition::Not(Box::new(test))
            } else {
                test
            });
        }
        let negated = self.word("not");
        if self.word("in") {
            self.expect("(")?;
            let mut values = vec![self.literal()?];
            while self.sign(",") {
                values.push(self.literal()?);
            }
            self.expect(")")?;
            let test = Condition::In {
                name,
                channel,
                values,
            };
            return Ok(if negated {
                Condition::Not(Box::new(test))
            } else {
                test
            });
        }
        if self.word("between") {
            let low = self.literal()?;
            if !self.word("and") {
                return Err(self.expected("`and`"));
            }
            let high = self.literal()?;
            let end = |op, value| Condition::Compare {
                name: name.clone(),
                channel,
                op,
                value,
            };
            let test = Condition::All(vec![end(Op::AtLeast, low), end(Op::AtMost, high)]);
            return Ok(if negated {
                Condition::Not(Box::new(test))
            } else {
                test
            });
        }
        if negated {
            return Err(self.expected("`in` or `between`"));
        }
        let Some(op) = self.op() else {
            return Err(self.expected("a comparison"));
        };
        Ok(Condition::Compare {
            name,
            channel,
            op,
            value: self.literal()?,
        })
    }

    fn op(&mut self) -> Option<Op> {
        let Some(Token::Sign(sign)) = self.peek() else {
            return None;
        };
        let op = match *sign {
            "==" | "=" => Op::Equal,
            "!=" | "<>" => Op::NotEqual,
            "<" => Op::Less,
            "<=" => Op::AtMost,
            ">" => Op::Greater,
            ">=" => Op::AtLeast,
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    fn name(&mut self) -> Result<(String, Option<usize>), QueryError> {
        let name = match self.peek() {
            Some(Token::Name { text, quoted }) if *quoted || !is_keyword(text) => text.clone(),
            _ => return Err(self.expected("an attribute name")),
        };
        self.next += 1;
        if !self.sign("[") {
            return Ok((name, None));
        }
        let at = self.at();
        let Some(Token::Number(digits)) = self.take() else {
            return Err(error(at, "expected a channel number"));
        };
        let channel = digits
            .parse::<usize>()
            .map_err(|_| error(at, &format!("{digits:?} is not a channel number")))?;
        self.expect("]")?;
        Ok((name, Some(channel)))
    }

    fn literal(&mut self) -> Result<Literal, QueryError> {
        let at = self.at();
        let negative = self.sign("-");
        if !negative {
            self.sign("+");
        }
        let signed = self.at() != at;
        let found = self.take();
        match found {
            Some(Token::Number(digits)) => number(digits, negative)
                .ok_or_else(|| error(at, &format!("{digits:?} is not a number"))),
            Some(Token::Name {
                text,
                quoted: false,
            }) if text.eq_ignore_ascii_case("inf") => Ok(Literal::Float(if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            })),
            Some(Token::Text(text)) if !signed => Ok(Literal::Text(text.clone())),
            Some(Token::Name {
                text,
                quoted: false,
            }) if !signed && text.eq_ignore_ascii_case("true") => Ok(Literal::Bool(true)),
            Some(Token::Name {
                text,
                quoted: false,
            }) if !signed && text.eq_ignore_ascii_case("false") => Ok(Literal::Bool(false)),
            Some(Token::Name {
                text,
                quoted: false,
            }) if text.eq_ignore_ascii_case("nan") => {
                let expected = "expected a number, a 'text', true or false, found `nan`: `name is nan` finds it";
                Err(error(at, expected))
            }
            found => {
                let found = found.map_or_else(|| "the end".to_owned(), shown);
                Err(error(
                    at,
                    &format!("expected a number, a 'text', true or false, found {found}"),
                ))
            }
        }
    }
}

fn number(digits: &str, negative: bool) -> Option<Literal> {
    if let Ok(whole) = digits.parse::<i128>() {
        return Some(Literal::Int(if negative { -whole } else { whole }));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value = digits.parse::<f64>().ok().filter(|value| !value.is_nan())?;
    Some(Literal::Float(if negative { -value } else { value }))
}

fn is_keyword(word: &str) -> bool {
    ["and", "or", "not", "in", "is", "null", "true", "false"]
        .iter()
        .any(|key| word.eq_ignore_ascii_case(key))
}

fn one_or(mut terms: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match (terms.pop(), terms.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            terms.extend(last);
            join(terms)
        }
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Name { text, .. } => format!("`{text}`"),
        Token::Number(digits) => digits.clone(),
        Token::Text(text) => format!("'{text}'"),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compare(name: &str, op: Op, value: Literal) -> Condition {
        Condition::Compare {
            name: name.into(),
            channel: None,
            op,
            value,
        }
    }

    #[test]
    fn and_binds_before_or() {
        let parsed = parse("a > 0.5 and b == 3 or not c != 'x'").unwrap();
        let expected = Condition::Any(vec![
            Condition::All(vec![
                compare("a", Op::Greater, Literal::Float(0.5)),
                compare("b", Op::Equal, Literal::Int(3)),
            ]),
            Condition::Not(Box::new(compare(
                "c",
                Op::NotEqual,
                Literal::Text("x".into()),
            ))),
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn every_form_is_read() {
        for text in [
            "a = 1",
            "a <> -2",
            "`a b` <= 1e3",
            "\"and\" >= .5",
            "a[1] < +7",
            "a in (1, 2, 'x')",
            "a not in (true)",
            "a is null",
            "a is not null",
            "((a == false))",
            "A IN (1) AND NOT b IS NULL",
            "a > -inf",
            "a is nan",
            "a is not NaN and b between 1 and 2",
            "a not between -1.5 and +2 or not b[0] is nan",
            "nan > 1 and between is null",
        ] {
            parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, what) in [
            ("", "at byte 0: expected an attribute name, found the end"),
            (
                "a >",
                "at byte 3: expected a number, a 'text', true or false, found the end",
            ),
            (
                "a > 1 b",
                "at byte 6: expected `and`, `or` or the end, found `b`",
            ),
            ("a[x] > 1", "at byte 2: expected a channel number"),
            ("(a > 1", "at byte 6: expected `)`, found the end"),
            (
                "and > 1",
                "at byte 0: expected an attribute name, found `and`",
            ),
            ("a > 1x", "at byte 4: \"1x\" is not a number"),
            ("a is 3", "at byte 5: expected `null` or `nan`, found 3"),
            ("a not 3", "at byte 6: expected `in` or `between`, found 3"),
            ("a between 1, 2", "at byte 11: expected `and`, found `,`"),
            (
                "a == nan",
                "at byte 5: expected a number, a 'text', true or false, found `nan`: `name is nan` finds it",
            ),
        ] {
            assert_eq!(
                parse(text).unwrap_err().to_string(),
                format!("where, {what}")
            );
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "(".repeat(100_000);
        assert!(parse(&text).unwrap_err().to_string().contains("too deeply"));
        let text = "not ".repeat(100_000);
        assert!(parse(&text).unwrap_err().to_string().contains("too deeply"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn nothing_that_looks_right_panics(
            words in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "`b c`", "and", "or", "not", "in", "is", "null", "nan", "between", "(", ")", "[", "]", ",", "==", "<", ">=", "1",
                    "-2.5", "'x'", "true", "0", "9999999999999999999999999999999999999999999", "1e999", "é",
                ]),
                0..24,
            )
        ) {
            let _ = parse(&words.join(" "));
        }
    }
}

//! The parser of conditions.

use super::expr::{Expr, Function, Literal, Math, Op, exact_name};
use super::is_of_object;
use super::lex::{SyntaxError, Token, error, tokens};
use crate::error::nearest;

/// Deepest nesting of a condition. Texts with deeper nesting are refused, so that no input exhausts the stack.
const DEPTH: usize = 200;

/// Longest text, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// A part, and the depth of its nesting.
type Part = (Expr, usize);

/// Parses a whole condition.
pub(super) fn parse(text: &str) -> Result<Expr, SyntaxError> {
    whole(text, true)
}

/// Parses a whole condition or value.
pub(super) fn parse_expression(text: &str) -> Result<Expr, SyntaxError> {
    whole(text, false)
}

fn whole(text: &str, condition: bool) -> Result<Expr, SyntaxError> {
    if text.len() > MOST_BYTES {
        let what = format!("found {} bytes, expected at most {MOST_BYTES}", text.len());
        return Err(error(MOST_BYTES, &what));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        next: 0,
        end: text.len(),
    };
    let (found, _) = parser.any(DEPTH)?;
    if condition {
        parser.is_condition(&found)?;
    }
    let expected = match found.is_condition() {
        true => "`and`, `or` or the end",
        false => "an operator or the end",
    };
    match parser.peek() {
        None => Ok(found),
        Some(_) => Err(parser.expected(expected)),
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

    fn expect(&mut self, sign: &str) -> Result<(), SyntaxError> {
        if self.sign(sign) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{sign}`")))
        }
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let found = self.peek().map_or_else(|| "the end".to_owned(), shown);
        error(self.at(), &format!("expected {what}, found {found}"))
    }

    /// Fails for a value instead of a condition; the part ends at the current token.
    fn is_condition(&self, part: &Expr) -> Result<(), SyntaxError> {
        match part.is_condition() {
            true => Ok(()),
            false => Err(self.expected("a comparison")),
        }
    }

    /// Fails for a condition instead of a value; the part begins at `at`.
    fn is_value(part: &Expr, at: usize) -> Result<(), SyntaxError> {
        match part.is_condition() {
            true => Err(error(at, "expected a value, found a condition")),
            false => Ok(()),
        }
    }

    /// One more than the largest of some depths.
    fn deeper(at: usize, depths: impl IntoIterator<Item = usize>) -> Result<usize, SyntaxError> {
        let depth = depths.into_iter().max().unwrap_or(0) + 1;
        match depth > DEPTH {
            true => Err(error(at, "nested too deeply")),
            false => Ok(depth),
        }
    }

    /// `all (or all)*`
    fn any(&mut self, left: usize) -> Result<Part, SyntaxError> {
        self.joined(left, "or", Self::all, Expr::Any)
    }

    /// `not (and not)*`
    fn all(&mut self, left: usize) -> Result<Part, SyntaxError> {
        self.joined(left, "and", Self::not, Expr::All)
    }

    fn joined(
        &mut self,
        left: usize,
        word: &str,
        part: fn(&mut Self, usize) -> Result<Part, SyntaxError>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Result<Part, SyntaxError> {
        let at = self.at();
        let (first, mut depth) = part(self, left)?;
        if !matches!(self.peek(), Some(Token::Name { text, quoted: false }) if text.eq_ignore_ascii_case(word))
        {
            return Ok((first, depth));
        }
        self.is_condition(&first)?;
        let mut parts = vec![first];
        while self.word(word) {
            let (next, more) = part(self, left)?;
            self.is_condition(&next)?;
            parts.push(next);
            depth = depth.max(more);
        }
        Ok((join(parts), Self::deeper(at, [depth])?))
    }

    fn not(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let at = self.at();
        let Some(left) = left.checked_sub(1) else {
            return Err(error(at, "nested too deeply"));
        };
        if self.word("not") {
            let (part, depth) = self.not(left)?;
            self.is_condition(&part)?;
            return Ok((Expr::Not(Box::new(part)), Self::deeper(at, [depth])?));
        }
        self.comparison(left)
    }

    fn comparison(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let at = self.at();
        let (value, depth) = self.sum(left)?;
        if value.is_condition() {
            if self.op().is_some() {
                return Err(error(at, "expected a value, found a condition"));
            }
            return Ok((value, depth));
        }
        let value = Box::new(value);
        if self.word("is") {
            let negated = self.word("not");
            let test = if self.word("null") {
                Expr::IsNull(value)
            } else if self.word("nan") {
                Expr::IsNan(value)
            } else {
                return Err(self.expected("`null` or `nan`"));
            };
            return Self::negated(at, test, depth, negated);
        }
        let negated = self.word("not");
        if self.word("in") {
            self.expect("(")?;
            let (items, more) = self.items(left)?;
            return Self::negated(at, Expr::In(value, items), depth.max(more), negated);
        }
        if self.word("between") {
            let (low, more) = self.value(left)?;
            if !self.word("and") {
                return Err(self.expected("`and`"));
            }
            let (high, most) = self.value(left)?;
            let depth = depth.max(more).max(most);
            let test = Expr::Between(Box::new([*value, low, high]));
            return Self::negated(at, test, depth, negated);
        }
        if self.word("like") {
            let Some(Token::Text(pattern)) = self.peek() else {
                return Err(self.expected("a 'pattern', in which % is any text"));
            };
            self.next += 1;
            return Self::negated(at, Expr::Like(value, pattern.clone()), depth, negated);
        }
        if negated {
            return Err(self.expected("`in`, `between` or `like`"));
        }
        let Some(op) = self.op() else {
            return Ok((*value, depth));
        };
        let (right, more) = self.value(left)?;
        let depth = Self::deeper(at, [depth, more])?;
        Ok((Expr::Compare(op, value, Box::new(right)), depth))
    }

    /// A test, or its opposite.
    fn negated(at: usize, test: Expr, depth: usize, negated: bool) -> Result<Part, SyntaxError> {
        let depth = Self::deeper(at, [depth])?;
        match negated {
            true => Ok((Expr::Not(Box::new(test)), Self::deeper(at, [depth])?)),
            false => Ok((test, depth)),
        }
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

    /// Values between commas, up to the closing parenthesis.
    fn items(&mut self, left: usize) -> Result<(Vec<Expr>, usize), SyntaxError> {
        let (first, mut depth) = self.value(left)?;
        let mut items = vec![first];
        while self.sign(",") {
            let (next, more) = self.value(left)?;
            items.push(next);
            depth = depth.max(more);
        }
        self.expect(")")?;
        Ok((items, depth))
    }

    fn value(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let at = self.at();
        let part = self.sum(left)?;
        Self::is_value(&part.0, at)?;
        Ok(part)
    }

    /// `product ((+|-) product)*`
    fn sum(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let signs = [("+", Math::Add), ("-", Math::Subtract)];
        self.chain(left, &signs, Self::product)
    }

    /// `unary ((*|/|%) unary)*`
    fn product(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let signs = [
            ("*", Math::Multiply),
            ("/", Math::Divide),
            ("%", Math::Remainder),
        ];
        self.chain(left, &signs, Self::unary)
    }

    fn chain(
        &mut self,
        left: usize,
        signs: &[(&str, Math)],
        part: fn(&mut Self, usize) -> Result<Part, SyntaxError>,
    ) -> Result<Part, SyntaxError> {
        let at = self.at();
        let (mut value, mut depth) = part(self, left)?;
        while let Some((_, math)) = signs.iter().find(|(sign, _)| self.sign(sign)) {
            Self::is_value(&value, at)?;
            let then = self.at();
            let (right, more) = part(self, left)?;
            Self::is_value(&right, then)?;
            depth = Self::deeper(at, [depth, more])?;
            value = Expr::Math(*math, Box::new(value), Box::new(right));
        }
        Ok((value, depth))
    }

    fn unary(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let at = self.at();
        let Some(left) = left.checked_sub(1) else {
            return Err(error(at, "nested too deeply"));
        };
        let negative = self.sign("-");
        if !negative && !self.sign("+") {
            return self.atom(left);
        }
        if let Some(literal) = self.number(at, negative)? {
            return Ok((Expr::Literal(literal), 1));
        }
        let then = self.at();
        let (value, depth) = self.unary(left)?;
        Self::is_value(&value, then)?;
        match negative {
            true => Ok((Expr::Negate(Box::new(value)), Self::deeper(at, [depth])?)),
            false => Ok((value, depth)),
        }
    }

    /// A number, if one is next.
    fn number(&mut self, at: usize, negative: bool) -> Result<Option<Literal>, SyntaxError> {
        let found = match self.peek() {
            Some(Token::Number(digits)) => number(digits, negative)
                .ok_or_else(|| error(at, &format!("{digits:?} is not a number")))?,
            Some(Token::Name {
                text,
                quoted: false,
            }) if text.eq_ignore_ascii_case("inf") => Literal::Float(if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }),
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(found))
    }

    fn atom(&mut self, left: usize) -> Result<Part, SyntaxError> {
        let at = self.at();
        if let Some(literal) = self.number(at, false)? {
            return Ok((Expr::Literal(literal), 1));
        }
        if self.sign("(") {
            let part = self.any(left)?;
            self.expect(")")?;
            return Ok(part);
        }
        match self.peek() {
            Some(Token::Text(text)) => {
                self.next += 1;
                Ok((Expr::Literal(Literal::Text(text.clone())), 1))
            }
            Some(Token::Name { text, quoted }) => {
                let bare = |word: &str| !quoted && text.eq_ignore_ascii_case(word);
                for (word, truth) in [("true", true), ("false", false)] {
                    if bare(word) {
                        self.next += 1;
                        return Ok((Expr::Literal(Literal::Bool(truth)), 1));
                    }
                }
                if ["and", "or", "not", "in", "is", "null"]
                    .iter()
                    .any(|word| bare(word))
                {
                    return Err(self.expected("a name, a number, a 'text', true or false"));
                }
                self.next += 1;
                if !quoted && self.sign("(") {
                    return self.call(text, at, left);
                }
                if bare("nan") && self.compared() {
                    let expected = "expected a name, a number, a 'text', true or false, found `nan`: `name is nan` finds it";
                    return Err(error(at, expected));
                }
                let channel = self.channel()?;
                let name = match *quoted && is_of_object(text) {
                    true => exact_name(text),
                    false => text.clone(),
                };
                Ok((Expr::Name { name, channel }, 1))
            }
            _ => Err(self.expected("a name, a number, a 'text', true or false")),
        }
    }

    /// Whether the last token is the right side of a comparison, where `nan` is probably meant as a value and not as a name.
    fn compared(&self) -> bool {
        let before = self.next.checked_sub(2).and_then(|at| self.tokens.get(at));
        matches!(
            before,
            Some((
                _,
                Token::Sign("==" | "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=")
            ))
        )
    }

    fn call(&mut self, name: &str, at: usize, left: usize) -> Result<Part, SyntaxError> {
        let all = Function::ALL.map(Function::name);
        let function = Function::ALL
            .into_iter()
            .find(|function| function.name().eq_ignore_ascii_case(name));
        let Some(function) = function else {
            let near = nearest(name, all.into_iter());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            let what = format!("no function `{name}`{near}: there are {}", all.join(", "));
            return Err(error(at, &what));
        };
        let (items, depth) = match self.sign(")") {
            true => (Vec::new(), 0),
            false => self.items(left)?,
        };
        let (least, most) = function.arity();
        if !(least..=most).contains(&items.len()) {
            let expected = match (least, most) {
                (0, _) => "none".to_owned(),
                (1, _) => "1".to_owned(),
                (least, most) => format!("{least} to {most}"),
            };
            let what = format!(
                "{}: found {} arguments, expected {expected}",
                function.name(),
                items.len()
            );
            return Err(error(at, &what));
        }
        Ok((Expr::Call(function, items), Self::deeper(at, [depth])?))
    }

    fn channel(&mut self) -> Result<Option<usize>, SyntaxError> {
        if !self.sign("[") {
            return Ok(None);
        }
        let at = self.at();
        let Some(Token::Number(digits)) = self.peek() else {
            return Err(error(at, "expected a channel number"));
        };
        self.next += 1;
        let channel = digits
            .parse::<usize>()
            .map_err(|_| error(at, &format!("{digits:?} is not a channel number")))?;
        self.expect("]")?;
        Ok(Some(channel))
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
    use super::super::expr::strategies;
    use super::*;
    use proptest::prelude::*;

    fn name(name: &str) -> Box<Expr> {
        Box::new(Expr::Name {
            name: name.into(),
            channel: None,
        })
    }

    fn compare(left: &str, op: Op, value: Literal) -> Expr {
        Expr::Compare(op, name(left), Box::new(Expr::Literal(value)))
    }

    #[test]
    fn and_binds_before_or() {
        let parsed = parse("a > 0.5 and b == 3 or not c != 'x'").unwrap();
        let expected = Expr::Any(vec![
            Expr::All(vec![
                compare("a", Op::Greater, Literal::Float(0.5)),
                compare("b", Op::Equal, Literal::Int(3)),
            ]),
            Expr::Not(Box::new(compare(
                "c",
                Op::NotEqual,
                Literal::Text("x".into()),
            ))),
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn products_bind_before_sums_and_both_from_the_left() {
        let same = [
            ("a + b * 2 > 0", "a + (b * 2) > 0"),
            ("a - b - c > 0", "(a - b) - c > 0"),
            ("-a * b > 0", "(-a) * b > 0"),
            ("(a) > (0)", "a > 0"),
            ("a - -1 > +2", "a - (-1) > 2"),
            ("a not like 'x%'", "not a like 'x%'"),
        ];
        for (one, other) in same {
            assert_eq!(parse(one).unwrap(), parse(other).unwrap(), "{one}");
        }
        assert_ne!(
            parse("a - (b - c) > 0").unwrap(),
            parse("a - b - c > 0").unwrap()
        );
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
            "a[0] * 2 > b / 3 - 1",
            "sqrt(x * x + y * y) < 5 and abs(z) between min(a, 1) and Max(a, b, 3)",
            "length() > 40 and count() < 100 and start.x < end.z",
            "time >= '2020-01-01' and name like '%a_b'",
            "3 < a and 'x' == b",
            "(a + 1) * (b - (c)) > 0 and (a > 1 or (b < 2))",
        ] {
            parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        }
    }

    #[test]
    fn errors_state_their_place() {
        let value = "expected a name, a number, a 'text', true or false, found";
        for (text, at, what) in [
            ("", 0, format!("{value} the end")),
            ("a >", 3, format!("{value} the end")),
            ("a > 1 b", 6, "expected `and`, `or` or the end, found `b`".into()),
            ("a[x] > 1", 2, "expected a channel number".into()),
            ("(a > 1", 6, "expected `)`, found the end".into()),
            ("and > 1", 0, format!("{value} `and`")),
            ("a > 1x", 4, "\"1x\" is not a number".into()),
            ("a is 3", 5, "expected `null` or `nan`, found 3".into()),
            (
                "a not 3",
                6,
                "expected `in`, `between` or `like`, found 3".into(),
            ),
            ("a between 1, 2", 11, "expected `and`, found `,`".into()),
            (
                "a == nan",
                5,
                format!("{value} `nan`: `name is nan` finds it"),
            ),
            ("a", 1, "expected a comparison, found the end".into()),
            ("a + 1 and b > 2", 6, "expected a comparison, found `and`".into()),
            (
                "(a > 1) > 2",
                0,
                "expected a value, found a condition".into(),
            ),
            (
                "a + (b > 1) > 2",
                4,
                "expected a value, found a condition".into(),
            ),
            (
                "abz(a) > 1",
                0,
                "no function `abz` (did you mean `abs`?): there are abs, sqrt, min, max, length, count"
                    .into(),
            ),
            (
                "abs(a, b) > 1",
                0,
                "abs: found 2 arguments, expected 1".into(),
            ),
            ("a like b", 7, "expected a 'pattern', in which % is any text, found `b`".into()),
        ] {
            assert_eq!(parse(text).unwrap_err(), SyntaxError { at, what }, "{text}");
        }
    }

    #[test]
    fn deep_nesting_and_long_texts_are_refused() {
        for deep in [
            "(".repeat(100_000),
            "not ".repeat(100_000),
            "-".repeat(100_000),
            format!("a{} > 1", " + a".repeat(100_000)),
            format!("a{} > 1", " * a".repeat(300)),
            format!("{}1{} > 1", "abs(".repeat(300), ")".repeat(300)),
        ] {
            let error = parse(&deep).unwrap_err();
            assert!(error.what.contains("too deeply"), "{error:?}");
        }
        assert!(parse(&format!("a > 1{}", " or a > 1".repeat(50_000))).is_ok());
        let error = parse(&"a".repeat(MOST_BYTES + 1)).unwrap_err();
        assert!(error.what.contains("expected at most"), "{error:?}");
    }

    proptest! {
        #[test]
        fn a_tree_comes_back_from_its_text(tree in strategies::condition()) {
            let text = tree.to_string();
            let parsed = parse(&text);
            prop_assert_eq!(parsed.as_ref().ok(), Some(&tree), "{}: {:?}", text, parsed);
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn nothing_that_looks_right_panics(
            words in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "`b c`", "and", "or", "not", "in", "is", "null", "nan", "between", "(", ")", "[", "]", ",", "==", "<", ">=", "1",
                    "-2.5", "'x'", "true", "0", "9999999999999999999999999999999999999999999", "1e999", "é", "+", "-", "*", "/", "%",
                    "like", "abs(", "min(", "length()",
                ]),
                0..24,
            )
        ) {
            if let Ok(tree) = parse(&words.join(" ")) {
                prop_assert_eq!(parse(&tree.to_string()).ok(), Some(tree));
            }
        }
    }
}

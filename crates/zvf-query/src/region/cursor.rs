//! A cursor over a text for the parser of regions.

use crate::filter::SyntaxError;

/// Largest absolute value of a coordinate: products of three of them are finite.
pub(super) const LARGEST: f64 = 1e100;

/// A text and the current position.
#[derive(Debug)]
pub(super) struct TextCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TextCursor<'t> {
    /// A cursor at the start of a text.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The position of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Whether a text is next.
    pub(super) fn is_before(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// The next character that is not a blank.
    pub(super) fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Skips a character if it is the next one.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    /// Skips a character; fails if it is not the next one.
    pub(super) fn expect(&mut self, wanted: char) -> Result<(), SyntaxError> {
        match self.eat(wanted) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{wanted}`"))),
        }
    }

    /// Takes characters while `wanted` returns true, possibly none.
    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        self.peek();
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// Takes a word of letters, digits and underscores.
    pub(super) fn word(&mut self) -> &'t str {
        self.run(|c| c.is_alphanumeric() || c == '_')
    }

    /// Takes a word if it is the next one, ignoring case.
    pub(super) fn eat_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        let found = self.word().eq_ignore_ascii_case(wanted);
        if !found {
            self.at = before;
        }
        found
    }

    /// Takes a name: in backquotes, or up to a blank or a syntax character.
    pub(super) fn name(&mut self, what: &str) -> Result<String, SyntaxError> {
        if !self.eat('`') {
            let start = self.at;
            let name = self.run(is_plain);
            return match name {
                "" => Err(self.expected_at(start, what)),
                name => Ok(name.to_owned()),
            };
        }
        let mut name = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find('`') else {
                return Err(self.expected("a backquote at the end of the name"));
            };
            name.push_str(rest.get(..end).unwrap_or(""));
            self.at += end + 1;
            if !self.rest().starts_with('`') {
                return Ok(name);
            }
            name.push('`');
            self.at += 1;
        }
    }

    /// Takes a number, including `inf` and `-inf`.
    pub(super) fn number(&mut self) -> Result<f64, SyntaxError> {
        self.peek();
        let start = self.at;
        let text = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
        number.ok_or_else(|| self.expected_at(start, "a number"))
    }

    /// Takes a number of at most [`LARGEST`].
    pub(super) fn coordinate(&mut self) -> Result<f64, SyntaxError> {
        self.peek();
        let start = self.at;
        let number = self.number()?;
        match number.abs() <= LARGEST {
            true => Ok(number),
            false => Err(self.expected_at(start, "a number of at most 1e100")),
        }
    }

    /// Takes the number of a vertex.
    pub(super) fn whole(&mut self) -> Result<u32, SyntaxError> {
        self.digits("the number of a vertex")
    }

    /// Takes a whole number.
    pub(super) fn count(&mut self, what: &str) -> Result<u64, SyntaxError> {
        self.digits(what)
    }

    fn digits<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, SyntaxError> {
        self.peek();
        let start = self.at;
        let number = self.run(|c| c.is_ascii_digit()).parse();
        number.map_err(|_| self.expected_at(start, what))
    }

    /// Takes a range `LO:HI`; either end can be omitted.
    pub(super) fn range(&mut self) -> Result<(f64, f64), SyntaxError> {
        let start = self.at;
        let low = match self.peek() {
            Some(':') => f64::NEG_INFINITY,
            _ => self.number()?,
        };
        self.expect(':')?;
        let high = match self.peek() {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.') => {
                self.number()?
            }
            _ => f64::INFINITY,
        };
        match low <= high {
            true => Ok((low, high)),
            false => Err(SyntaxError {
                at: start,
                what: format!(
                    "found {low}:{high}, expected a lower end that is not above the upper one"
                ),
            }),
        }
    }

    /// The error at the next byte.
    pub(super) fn expected(&mut self, what: &str) -> SyntaxError {
        self.peek();
        self.expected_at(self.at, what)
    }

    /// The error at an earlier byte.
    pub(super) fn expected_at(&self, at: usize, what: &str) -> SyntaxError {
        const SHOWN: usize = 20;
        let rest = self.text.get(at..).unwrap_or("").trim_start();
        let found = match rest {
            "" => "the end".to_owned(),
            rest => match rest.char_indices().nth(SHOWN) {
                Some((end, _)) => format!("{:?}..", rest.get(..end).unwrap_or("")),
                None => format!("{rest:?}"),
            },
        };
        SyntaxError {
            at,
            what: format!("expected {what}, found {found}"),
        }
    }
}

/// Whether a character may be in a name without backquotes.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '=' | ',' | '(' | ')' | ':' | ';' | '`' | '@')
}

/// The text of a name for [`TextCursor::name`].
pub(super) fn written_name(name: &str) -> String {
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

/// The shortest text of a number for [`TextCursor::number`].
pub(super) fn written(number: f64) -> String {
    match number == 0.0 || (1e-5..1e16).contains(&number.abs()) || !number.is_finite() {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

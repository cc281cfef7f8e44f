//! The tokenizer of filter expressions.

use super::expr::is_word;

/// A syntax error, and its byte offset in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name, or a keyword if it is not quoted.
    Name { text: String, quoted: bool },
    /// A number as written.
    Number(String),
    /// A text in single quotes.
    Text(String),
    /// One of [`SIGNS`].
    Sign(&'static str),
}

const SIGNS: [&str; 18] = [
    "==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", "-", "+", "*", "/", "%",
];

/// Splits an expression into tokens, each with the byte offset at which it starts.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, SyntaxError> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            return Ok(found);
        };
        let (token, after) = match first {
            '\'' => quoted(rest, first, at).map(|(text, after)| (Token::Text(text), after))?,
            '"' | '`' => {
                let (text, after) = quoted(rest, first, at)?;
                (Token::Name { text, quoted: true }, after)
            }
            _ if first.is_ascii_digit() || first == '.' => number(rest),
            _ if first.is_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !is_word(c));
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                (
                    Token::Name {
                        text: word.to_owned(),
                        quoted: false,
                    },
                    after,
                )
            }
            _ => match SIGNS
                .iter()
                .find_map(|sign| Some((*sign, rest.strip_prefix(sign)?)))
            {
                Some((sign, after)) => (Token::Sign(sign), after),
                None => return Err(error(at, &format!("unexpected {first:?}"))),
            },
        };
        found.push((at, token));
        rest = after;
    }
}

/// The text up to the closing quote, and the rest of the expression. A doubled quote is a quote in the text.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(String, &str), SyntaxError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((_, c)) = chars.next() {
        if c != quote {
            text.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
            text.push(quote);
            chars.next();
        } else {
            let after = chars
                .peek()
                .map_or("", |(next, _)| rest.get(*next..).unwrap_or(""));
            return Ok((text, after));
        }
    }
    Err(error(at, &format!("no closing {quote:?}")))
}

fn number(rest: &str) -> (Token, &str) {
    let mut before = ' ';
    let end = rest.find(|c: char| {
        let part = c.is_ascii_alphanumeric()
            || matches!(c, '.' | '_')
            || (matches!(c, '+' | '-') && matches!(before, 'e' | 'E'));
        before = c;
        !part
    });
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    (Token::Number(word.to_owned()), after)
}

/// An error at a byte of the expression.
pub(super) fn error(at: usize, what: &str) -> SyntaxError {
    SyntaxError {
        at,
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_byte_they_start_at() {
        let found = tokens("fa>=-1.5e-3 and `my name`[2]!='it''s'").unwrap();
        let words: Vec<String> = found
            .iter()
            .map(|(at, token)| match token {
                Token::Name { text, .. } | Token::Number(text) | Token::Text(text) => {
                    format!("{at}:{text}")
                }
                Token::Sign(sign) => format!("{at}:{sign}"),
            })
            .collect();
        assert_eq!(
            words,
            [
                "0:fa",
                "2:>=",
                "4:-",
                "5:1.5e-3",
                "12:and",
                "16:my name",
                "25:[",
                "26:2",
                "27:]",
                "28:!=",
                "30:it's"
            ]
        );
    }

    #[test]
    fn errors_have_the_byte_they_are_at() {
        for (text, place) in [("a == 'x", 5), ("a ; b", 2), ("`", 0)] {
            assert_eq!(tokens(text).unwrap_err().at, place, "{text}");
        }
    }
}

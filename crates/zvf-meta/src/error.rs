//! The error of reading documents.

use serde_json::Value;

/// Why a document is not one of this format.
///
/// Every path is a JSON pointer (RFC 6901) inside the document, such as
/// `/attributes/zarr_vectors/bounds/0/1`; the caller adds the key of the document.
/// All variants mean bad or unsupported data: reading the same bytes again never helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetaError {
    /// The bytes are not one JSON document, end early, or are nested deeper than the JSON reader allows; or the
    /// presence list is not a list of strings.
    #[error("the {document} document cannot be read at line {line} column {column}")]
    Json {
        /// The expected kind of document: `root`, `level`, `array`, `group`.
        document: &'static str,
        /// Line of the failure, from 1.
        line: usize,
        /// Column of the failure in bytes, from 1; 0 if the failure has no position.
        column: usize,
        /// The error of the JSON reader.
        source: serde_json::Error,
    },
    /// `NaN` or an infinity as a bare word. JSON does not allow them, but Python's `json.dumps` writes them by default.
    #[error(
        "the {document} document has {token} at line {line} column {column}, which is not valid JSON: write it in quotes, \"{token}\""
    )]
    Token {
        /// The expected kind of document, as of [`Json`](Self::Json).
        document: &'static str,
        /// Line of the number, from 1.
        line: usize,
        /// Column of the number in bytes, from 1.
        column: usize,
        /// `NaN`, `Infinity` or `-Infinity`.
        token: &'static str,
    },
    /// A required member is absent or null.
    #[error("{path} is missing, expected {expected}")]
    Missing {
        /// JSON pointer of the absent member.
        path: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A member does not have the type or value that the format requires.
    #[error("{path} is {found}, expected {expected}")]
    Unexpected {
        /// JSON pointer of the member.
        path: String,
        /// The found value, shortened.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// The store is of a format version that this crate does not read.
    #[error("format version {found:?} is not supported, expected {expected}")]
    Version {
        /// The text of `zv_version`.
        found: String,
        /// The versions that are read.
        expected: &'static str,
    },
    /// The store requires a capability that this crate does not support.
    #[error("required capability {token:?} is not supported, expected one of {expected}")]
    Capability {
        /// The first token that is unknown or not supported.
        token: String,
        /// The supported tokens, separated by commas.
        expected: String,
    },
}

impl MetaError {
    /// Returns the JSON pointer of the invalid member, or `None` if the whole document is invalid.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Missing { path, .. } | Self::Unexpected { path, .. } => Some(path),
            Self::Json { .. }
            | Self::Token { .. }
            | Self::Version { .. }
            | Self::Capability { .. } => None,
        }
    }

    /// Returns whether the document may be valid for another version of this crate:
    /// an unsupported version or required capability.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Version { .. } | Self::Capability { .. })
    }

    /// The error for bytes that the JSON reader refused: [`Token`](Self::Token) if it failed at a bare `NaN` or infinity.
    #[cold]
    pub(crate) fn json(document: &'static str, bytes: &[u8], source: serde_json::Error) -> Self {
        let (line, column) = (source.line(), source.column());
        match bare_number(bytes, line, column) {
            Some(token) => Self::Token {
                document,
                line,
                column,
                token,
            },
            None => Self::Json {
                document,
                line,
                column,
                source,
            },
        }
    }

    #[cold]
    pub(crate) fn version(found: &str, expected: &'static str) -> Self {
        Self::Version {
            found: shorten(found).to_owned(),
            expected,
        }
    }

    #[cold]
    pub(crate) fn missing(path: impl ToString, expected: &'static str) -> Self {
        Self::Missing {
            path: path.to_string(),
            expected,
        }
    }

    #[cold]
    pub(crate) fn unexpected(
        path: impl ToString,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Unexpected {
            path: path.to_string(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// Longest text of a found value in a message, in characters.
const SHOWN: usize = 60;

/// Describes a JSON value for a message: its kind, and the value itself if it is short.
#[cold]
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => format!("number {value}"),
        Value::String(value) => format!("string {}", quote(value)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) => format!("an object of {}", members.len()),
    }
}

/// Cuts a long text at a character boundary.
#[cold]
pub(crate) fn shorten(text: &str) -> &str {
    let cut = text
        .char_indices()
        .nth(SHOWN)
        .map_or(text.len(), |(cut, _)| cut);
    text.get(..cut).unwrap_or_default()
}

/// Quotes a text for a message and cuts it if it is long.
#[cold]
pub(crate) fn quote(text: &str) -> String {
    let shown = shorten(text);
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{shown:?}{more}")
}

/// The bare word `NaN`, `Infinity` or `-Infinity` at the position of an error of the JSON reader, which fails at the first letter of the word.
fn bare_number(bytes: &[u8], line: usize, column: usize) -> Option<&'static str> {
    let text = bytes
        .split(|byte| *byte == b'\n')
        .nth(line.checked_sub(1)?)?;
    let (before, found) = text.split_at_checked(column.checked_sub(1)?)?;
    if found.starts_with(b"NaN") {
        Some("NaN")
    } else if !found.starts_with(b"Infinity") {
        None
    } else if before.ends_with(b"-") {
        Some("-Infinity")
    } else {
        Some("Infinity")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have_are_named() {
        for (text, token) in [
            ("{\"a\": NaN}", "NaN"),
            ("{\n \"a\": [1, -Infinity]}", "-Infinity"),
            ("{\"a\":\n\tInfinity\n}", "Infinity"),
        ] {
            for error in [
                crate::RootDoc::parse(text.as_bytes()).err(),
                crate::ArrayDoc::parse(text.as_bytes()).err(),
                crate::node_kind(text.as_bytes()).err(),
            ] {
                let error = error.expect(text).to_string();
                assert!(error.contains(&format!("has {token} at line")), "{error}");
            }
        }
        let other = crate::node_kind(b"{\"a\": Nothing}").expect_err("no number");
        assert!(matches!(other, MetaError::Json { .. }), "{other}");
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let long = "é".repeat(100);
        let shown = quote(&long);
        assert!(shown.ends_with("\"..."));
        assert_eq!(shown.chars().filter(|&c| c == 'é').count(), SHOWN);
    }

    #[test]
    fn messages_say_found_and_expected() {
        let error = MetaError::unexpected("/a", describe(&Value::from(5)), "a string");
        assert_eq!(error.to_string(), "/a is number 5, expected a string");
        assert_eq!(error.path(), Some("/a"));
    }
}

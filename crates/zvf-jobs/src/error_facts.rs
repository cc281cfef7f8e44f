//! Splits an error message into its parts, for programs.

use serde::Serialize;
use zvf_store::Class;

/// An error message in parts, for programs that react to the error.
///
/// Messages have the form `PLACE: found SOMETHING, expected SOMETHING (HINT)`, in which each part is optional. This type holds these parts.
///
/// ```
/// use zvf_jobs::ErrorFacts;
/// use zvf_store::Class;
///
/// let facts = ErrorFacts::new(ErrorFacts::class_name(Class::Misuse), "limit: found -1, expected a whole number");
/// assert_eq!((facts.class, facts.place.as_deref()), ("misuse", Some("limit")));
/// assert_eq!((facts.found.as_deref(), facts.expected.as_deref()), (Some("-1"), Some("a whole number")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ErrorFacts {
    /// The class, by which a caller decides what to do: `io`, `malformed`, `misuse`, `limit`, `busy` or `bug`.
    pub class: &'static str,
    /// The message in one line.
    pub message: String,
    /// The store, level, array and chunk, the file, or the option that the message is about.
    pub place: Option<String>,
    /// The wrong value or state.
    pub found: Option<String>,
    /// A valid value or state.
    pub expected: Option<String>,
    /// A remedy, such as an option.
    pub hint: Option<String>,
}

impl ErrorFacts {
    /// Splits a message into its parts.
    #[must_use]
    pub fn new(class: &'static str, message: &str) -> Self {
        let mut facts = Self {
            class,
            message: message.to_owned(),
            place: None,
            found: None,
            expected: None,
            hint: None,
        };
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let (place, said) = match message.strip_prefix("found ") {
            Some(said) => ("", Some(said)),
            None => match message.split_once(": found ") {
                Some((place, said)) => (place, Some(said)),
                // A message of another form begins with the place.
                None => (
                    message.split_once(": ").map_or("", |(place, _)| place),
                    None,
                ),
            },
        };
        facts.place = text(place);
        let Some((found, expected)) = said.and_then(|said| said.rsplit_once(", expected ")) else {
            facts.found = said.and_then(text);
            return facts;
        };
        let (expected, hint) = with_hint(expected);
        facts.found = text(found);
        facts.expected = text(expected);
        facts.hint = hint.and_then(text);
        facts
    }

    /// The name of a class.
    #[must_use]
    pub const fn class_name(class: Class) -> &'static str {
        match class {
            Class::Io => "io",
            Class::Malformed => "malformed",
            Class::Misuse => "misuse",
            Class::Limit => "limit",
            Class::Busy => "busy",
            Class::Bug => "bug",
        }
    }
}

/// Splits off the remark in parentheses at the end of a text.
fn with_hint(text: &str) -> (&str, Option<&str>) {
    let Some(inner) = text.strip_suffix(')') else {
        return (text, None);
    };
    let mut depth = 0_usize;
    for (at, letter) in inner.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' if depth > 0 => depth -= 1,
            '(' => {
                let (before, hint) = (inner.get(..at), inner.get(at + 1..));
                return match before.and_then(|before| before.strip_suffix(' ')) {
                    Some(before) => (before, hint),
                    None => (text, None),
                };
            }
            _ => {}
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Place, found, expected and hint of a message.
    fn parts(message: &str) -> [Option<String>; 4] {
        let facts = ErrorFacts::new("io", message);
        [facts.place, facts.found, facts.expected, facts.hint]
    }

    #[test]
    fn messages_have_parts() {
        let of = |parts: [&str; 4]| parts.map(|one| (!one.is_empty()).then(|| one.to_owned()));
        for (message, expected) in [
            ("a.zv: no store there: no such folder", ["a.zv", "", "", ""]),
            (
                "found a file, expected a folder",
                ["", "a file", "a folder", ""],
            ),
            (
                "a.zv: 0/vertices: 3.0.0: found 7 bytes, expected 8",
                ["a.zv: 0/vertices: 3.0.0", "7 bytes", "8", ""],
            ),
            (
                "key k: found 2 rows (4, 5), expected rows of the store (--ignore-missing leaves out all others)",
                [
                    "key k",
                    "2 rows (4, 5)",
                    "rows of the store",
                    "--ignore-missing leaves out all others",
                ],
            ),
            ("v: found a, b, expected f(x)", ["v", "a, b", "f(x)", ""]),
            ("x: found nothing", ["x", "nothing", "", ""]),
            ("interrupted", ["", "", "", ""]),
        ] {
            assert_eq!(parts(message), of(expected), "{message}");
        }
    }
}

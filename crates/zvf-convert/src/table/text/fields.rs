//! Interprets fields of text tables: missing values, and the notation of numbers.

use std::borrow::Cow;
use std::str::FromStr;

use zvf_write::NumberType;
use zvf_write::decimal::{float, out_of_range};

use crate::options::Options;

/// Default words for a missing value among numbers, booleans and timestamps.
const USUAL: [&str; 3] = ["NA", "NaN", "null"];

/// Separators of groups of digits, which are not part of a number.
const SEPARATORS: [char; 7] = [',', '.', '\'', ' ', '\u{a0}', '\u{202f}', '\u{2019}'];

/// How the fields of a table of text are read: which of them are missing values, and how numbers are written.
#[derive(Debug, Clone)]
pub struct Fields {
    words: Vec<String>,
    /// Whether the words also mark missing values in columns of texts: true if the user gave them.
    everywhere: bool,
    /// Whether the decimal mark is a comma.
    comma: bool,
}

impl Fields {
    /// The rules of the options.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        let words = match &options.na {
            Some(words) => words.iter().map(|word| word.trim().to_owned()).collect(),
            None => USUAL.iter().map(|&word| word.to_owned()).collect(),
        };
        Self {
            words,
            everywhere: options.na.is_some(),
            comma: options.decimal_comma,
        }
    }

    fn has(&self, text: &str) -> bool {
        self.words.iter().any(|word| word == text)
    }

    /// Whether a field, without blanks around it, is a word for a missing value.
    pub(super) fn is_word(&self, text: &str) -> bool {
        self.has(text) || !self.everywhere && text.eq_ignore_ascii_case("nan")
    }

    /// A field, or `None` if it is missing in a column of any type.
    pub(super) fn given<'t>(&self, field: Option<&'t str>) -> Option<&'t str> {
        field.filter(|text| !(self.everywhere && self.has(text.trim())))
    }

    /// The value of a field: unchanged in a column of texts, otherwise without blanks around it.
    #[must_use]
    pub fn value<'t>(&self, field: Option<&'t str>, texts: bool) -> Option<&'t str> {
        let field = self.given(field)?;
        if texts {
            return Some(field);
        }
        let text = field.trim();
        (!text.is_empty() && !self.is_word(text)).then_some(text)
    }

    /// A boolean: `true`, `True`, `TRUE`, `false`, `False` or `FALSE`.
    #[must_use]
    pub fn boolean(text: &str) -> Option<bool> {
        match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// A number in the range of float64: neither `1e400`, which would be infinite, nor `1e-400`, which would be 0.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<f64> {
        let text = self.plain(text);
        let value = text.parse::<f64>().ok()?;
        (!out_of_range(&text, value)).then_some(value)
    }

    /// A whole number, whose decimals may only be zeros, such as `3.0`.
    #[must_use]
    pub fn whole<T: FromStr>(&self, text: &str) -> Option<T> {
        whole_part(&self.plain(text)).parse().ok()
    }

    /// A number in a float type, if the type represents its digits: see [`zvf_write::decimal::float`].
    #[must_use]
    pub fn float(&self, text: &str, number: NumberType) -> Option<f64> {
        float(&self.plain(text), number)
    }

    /// A number with a decimal point instead of the decimal mark of the file; empty if the text has a point but the mark is a comma.
    #[must_use]
    pub fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.comma {
            true if text.contains('.') => Cow::Borrowed(""),
            true if text.contains(',') => Cow::Owned(text.replace(',', ".")),
            _ => Cow::Borrowed(text),
        }
    }

    /// Advice for a text that would be a number without its separators of digits, or with another decimal mark.
    pub(super) fn hint(&self, text: &str) -> Option<&'static str> {
        let other = self.comma && text.contains('.') && text.parse::<f64>().is_ok();
        if !(other || is_separated(text)) {
            return None;
        }
        Some(match (self.comma, text.split_once(',')) {
            (false, Some((_, decimals))) if !decimals.contains([',', '.']) => {
                "numbers without separators of thousands, or with a decimal point: --decimal , reads a decimal comma"
            }
            _ => "numbers without separators of thousands",
        })
    }
}

/// The digits of a whole number without decimals that are all zeros: `3` of `3.0`.
pub(super) fn whole_part(digits: &str) -> &str {
    match digits.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => digits,
    }
}

/// Whether a text is a number with a decimal comma, or with separators between groups of three digits.
fn is_separated(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let all = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    if let Some((whole, decimals)) = digits.split_once(',') {
        let decimals = decimals
            .split_once(['e', 'E'])
            .map_or(decimals, |(part, _)| part);
        if all(whole) && all(decimals) {
            return true;
        }
    }
    SEPARATORS.iter().any(|separator| {
        let (head, decimals) = match digits.rsplit_once([',', '.']) {
            Some((head, decimals)) if !digits.ends_with(|last: char| !last.is_ascii_digit()) => {
                (head, decimals)
            }
            _ => (digits, ""),
        };
        let groups = |text: &str| {
            let mut parts = text.split(*separator);
            let first = parts.next().unwrap_or_default();
            let rest: Vec<&str> = parts.collect();
            all(first)
                && first.len() <= 3
                && !rest.is_empty()
                && rest.iter().all(|part| all(part) && part.len() == 3)
        };
        // A single point is a decimal point, not a separator.
        let points = *separator == '.' && digits.matches('.').count() == 1;
        !points && groups(digits) || groups(head) && all(decimals)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_numbers_are_found() {
        for text in [
            "1,5",
            "-0,25",
            "1,5e3",
            "1,234",
            "1,234,567",
            "1,234.5",
            "1.234,5",
            "1.234.567",
            "12 345",
            "1'234.25",
            "1\u{202f}234",
            "+1 234 567,5",
        ] {
            assert!(is_separated(text), "{text}");
        }
        for text in [
            "1.5",
            "1.2.3",
            "10.0.0.1",
            "a,b",
            "1,a",
            ",5",
            "",
            "12",
            "1,23,4",
            "1234 567",
            "2024-01-02",
            "1.234",
        ] {
            assert!(!is_separated(text), "{text}");
        }
    }

    #[test]
    fn words_are_missing_among_numbers_and_texts_among_texts() {
        let mut options = Options::default();
        let fields = Fields::of(&options);
        assert_eq!(fields.value(Some(" NA"), false), None);
        assert_eq!(fields.value(Some(" NA"), true), Some(" NA"));
        assert_eq!(fields.value(Some(" "), false), None);
        assert_eq!(fields.value(Some(" "), true), Some(" "));
        assert_eq!(fields.value(Some("NAN"), false), None);
        options.na = Some(vec!["-".to_owned()]);
        let fields = Fields::of(&options);
        assert_eq!(fields.value(Some("-"), true), None);
        assert_eq!(fields.value(Some("NA"), true), Some("NA"));
        assert_eq!(fields.value(Some("nan"), false), Some("nan"));
        options.decimal_comma = true;
        let fields = Fields::of(&options);
        assert_eq!(fields.plain("1,5"), "1.5");
        assert_eq!(fields.plain("1.5"), "");
    }

    #[test]
    fn whole_numbers_may_have_decimals_of_zeros() {
        let mut options = Options::default();
        let fields = Fields::of(&options);
        for (text, number) in [
            ("3", Some(3)),
            ("3.0", Some(3)),
            ("-3.", Some(-3)),
            ("3.5", None),
            ("300.0", None),
            (".0", None),
            ("", None),
        ] {
            assert_eq!(fields.whole::<i8>(text), number, "{text}");
        }
        options.decimal_comma = true;
        assert_eq!(Fields::of(&options).whole::<u64>("3,00"), Some(3));
    }
}

//! Formats counts, sizes and errors for people.

use std::borrow::Cow;
use std::error::Error;

/// A count with its digits in groups of three: `1 234 567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A count with its noun, which is in the plural unless the count is 1.
#[must_use]
pub fn counted(n: u64, one: &str) -> String {
    let plural = match one {
        _ if n == 1 => one.to_owned(),
        "vertex" => "vertices".to_owned(),
        "category" => "categories".to_owned(),
        "batch" => "batches".to_owned(),
        "fragment index" => "fragment indexes".to_owned(),
        other => format!("{other}s"),
    };
    format!("{} {plural}", count(n))
}

/// A size in bytes: `512 B`, `1.4 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Whole tenths of the unit, rounded down.
    let (unit, shift) = match bytes {
        0..=1_048_575 => ("KiB", 10),
        1_048_576..=1_073_741_823 => ("MiB", 20),
        1_073_741_824..=1_099_511_627_775 => ("GiB", 30),
        _ => ("TiB", 40),
    };
    let tenths = (u128::from(bytes) * 10) >> shift;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// An argument as typed in a shell: quoted if it contains blanks or other special characters.
#[must_use]
pub fn argument(text: &str) -> Cow<'_, str> {
    // Quoting fails only for a NUL, which no address contains.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// An error and its causes in one line; a cause whose text is already in the line is not repeated. A condition with a `^` under its error follows
/// on two more lines.
#[must_use]
pub fn fold(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = inner.source();
    }
    one_line(&line)
}

/// A text in one line: line breaks and the blanks around them become one blank. A condition with a `^` under its error, at the end of the text, stays on
/// two lines.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut lines = text.rsplitn(3, '\n');
    if let (Some(mark), Some(shown), Some(rest)) = (lines.next(), lines.next(), lines.next())
        && mark.trim() == "^"
        && shown.starts_with("  ")
    {
        return format!("{}\n{shown}\n{mark}", one_line(rest));
    }
    text.split(['\n', '\r'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Chain(&'static str, Option<Box<Chain>>);

    impl fmt::Display for Chain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Chain {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|inner| inner as _)
        }
    }

    #[test]
    fn causes_are_folded_once() {
        let inner = Chain("short", Some(Box::new(Chain("disk\nfull", None))));
        let error = Chain("cell 0.0.0: short", Some(Box::new(inner)));
        assert_eq!(fold(&error), "cell 0.0.0: short: disk full");
        assert_eq!(one_line("a\n b\n  ^ c"), "a b ^ c");
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(
            (count(0), count(999), count(1_234_567)),
            ("0".into(), "999".into(), "1 234 567".into())
        );
        assert_eq!(
            (
                counted(1, "vertex"),
                counted(2, "vertex"),
                counted(0, "link")
            ),
            ("1 vertex".into(), "2 vertices".into(), "0 links".into())
        );
        assert_eq!(
            (size(1023), size(1536), size(5 << 30), size(u64::MAX)),
            (
                "1023 B".into(),
                "1.5 KiB".into(),
                "5.0 GiB".into(),
                "16777215.9 TiB".into()
            )
        );
    }
}

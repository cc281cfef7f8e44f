//! Reads lines and numbers of text files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use zvf_write::decimal::{out_of_range, rounds};
use zvf_write::narrow;

use crate::error::{ConvertError, InFile, shown};

/// The text without the byte order mark that editors on Windows put before it.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The lines of a file, whose length is limited.
#[derive(Debug)]
pub(crate) struct TextLines {
    path: PathBuf,
    reader: BufReader<File>,
    bytes: Vec<u8>,
    line: u64,
    most: u64,
}

impl TextLines {
    pub(crate) fn open(path: &Path, most: u64) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 17, file),
            bytes: Vec::new(),
            line: 0,
            most,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the next line; false at the end of the file.
    pub(crate) fn step(&mut self) -> Result<bool, ConvertError> {
        self.bytes.clear();
        let limit = self.most.saturating_add(1);
        let got = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut self.bytes);
        let got = got.map_err(|error| ConvertError::io(&self.path, error))?;
        self.line += 1;
        if u64::try_from(got).is_ok_and(|got| got > self.most) {
            return Err(ConvertError::limit(
                &self.path,
                self.place(),
                "bytes in a line",
                self.most,
            ));
        }
        Ok(got > 0)
    }

    /// Joins the line with the following ones while it ends with a backslash.
    pub(crate) fn continued(&mut self) -> Result<(), ConvertError> {
        loop {
            let line = self.bytes.trim_ascii_end();
            let Some(line) = line
                .strip_suffix(b"\\")
                .filter(|line| !line.starts_with(b"#"))
            else {
                return Ok(());
            };
            let end = line.len();
            let mut held = std::mem::take(&mut self.bytes);
            held.truncate(end);
            held.push(b' ');
            self.step()?;
            held.extend_from_slice(&self.bytes);
            self.bytes = held;
            if u64::try_from(self.bytes.len()).is_ok_and(|size| size > self.most) {
                let place = self.place();
                let what = "bytes in a line";
                return Err(ConvertError::limit(&self.path, place, what, self.most));
            }
        }
    }

    /// The line without a byte order mark.
    pub(crate) fn marked(&self) -> &[u8] {
        let bytes = self.bytes.as_slice();
        match self.line {
            1 => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
            _ => bytes,
        }
    }

    /// Whether the line is empty or has only blanks.
    pub(crate) fn is_blank(&self) -> bool {
        self.marked().trim_ascii().is_empty()
    }

    /// The text after the first `#` of the line.
    pub(crate) fn comment(&self) -> Option<&str> {
        let start = self.bytes.iter().position(|&byte| byte == b'#')?;
        std::str::from_utf8(self.bytes.get(start.saturating_add(1)..)?).ok()
    }

    /// The line without its comment and without blanks around it.
    pub(crate) fn content(&self) -> Result<&str, ConvertError> {
        let end = self.bytes.iter().position(|&byte| byte == b'#');
        let bytes = end
            .and_then(|end| self.bytes.get(..end))
            .unwrap_or(&self.bytes);
        match std::str::from_utf8(bytes) {
            // A byte order mark, which some editors write.
            Ok(text) if self.line == 1 => Ok(without_bom(text).trim()),
            Ok(text) => Ok(text.trim()),
            Err(_) => Err(self.bad("bytes that are not UTF-8", "text")),
        }
    }

    pub(crate) fn place(&self) -> InFile {
        InFile::Line(self.line)
    }

    #[cold]
    pub(crate) fn bad(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        ConvertError::malformed(&self.path, self.place(), found, expected)
    }

    /// A field that is a finite number.
    pub(crate) fn finite(&self, field: &str, what: &str) -> Result<f64, ConvertError> {
        match finite(field) {
            Some(value) => Ok(value),
            None => Err(self.bad(shown(field), format!("{what}, {}", no_finite(field)))),
        }
    }
}

/// A finite number that float64 represents: neither `1e400` (infinite) nor `1e-400` (0), nor 9007199254740993, which would be rounded to another
/// whole number.
pub(crate) fn finite(text: &str) -> Option<f64> {
    let value = text.parse::<f64>().ok()?;
    let other = out_of_range(text, value) || rounds(text, value);
    (value.is_finite() && !other).then_some(value)
}

/// What is expected instead of a text that is not a finite float64, for errors.
pub(crate) fn no_finite(text: &str) -> &'static str {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() || text.bytes().any(|byte| byte.is_ascii_digit()) => {
            "a number that float64 holds"
        }
        _ => "a finite number",
    }
}

/// Whether float32 preserves a number with all decimals of its text.
///
/// `20648.06445312` is a float32 that was written with eight decimals, and float32 is enough for `0.959`, but not for
/// `16777217` and `1234567.89`.
pub(crate) fn single_holds(text: &str, value: f64) -> bool {
    if !value.is_finite() {
        return true;
    }
    let narrow = f64::from(narrow(value));
    if !narrow.is_finite() {
        return false;
    }
    let off = (narrow - value).abs();
    if off == 0.0 {
        return true;
    }
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let decimals = number
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let Ok(decimals) = i32::try_from(decimals) else {
        return false;
    };
    let half = 0.5 * 10.0_f64.powi(exponent.saturating_sub(decimals));
    // Tolerates the rounding of `value` itself.
    off <= half + (value.abs() * f64::EPSILON).min(half / 64.0)
}

#[cfg(test)]
mod tests {
    use super::{finite, out_of_range, rounds, single_holds};

    #[test]
    fn numbers_that_float64_does_not_hold_are_found() {
        let value = |text: &str| text.parse::<f64>().unwrap();
        for beyond in ["1e400", "-2.5E+309", "1e-400", "0.001e-330", "5e-325"] {
            assert!(out_of_range(beyond, value(beyond)), "{beyond}");
            assert_eq!(finite(beyond), None);
        }
        for inside in [
            "inf",
            "-Infinity",
            "nan",
            "0",
            "-0.0",
            "0e-500",
            "5e-324",
            "1e308",
        ] {
            assert!(!out_of_range(inside, value(inside)), "{inside}");
        }
        for rounded in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551615",
            "1000000000000000000000001",
            "9007199254740993.0",
        ] {
            assert!(rounds(rounded, value(rounded)), "{rounded}");
        }
        for exact in [
            "9007199254740992",
            "+18446744073709551616",
            "00018446744073709551616",
            "1e22",
            "9007199254740992.5",
            "7",
        ] {
            assert!(!rounds(exact, value(exact)), "{exact}");
        }
    }

    #[test]
    fn float32_is_enough_where_the_text_survives_it() {
        let holds = |text: &str| single_holds(text, text.parse().unwrap());
        for enough in [
            "0",
            "1.5",
            "0.959",
            "20648.06445312",
            "16777216",
            "1e-3",
            "nan",
            "inf",
            "0.1",
            "6.02e23",
        ] {
            assert!(holds(enough), "{enough}");
        }
        for more in [
            "16777217",
            "1234567.89",
            "0.123456789012",
            "1e300",
            "1e-60",
            "1.00000001e5",
            "9007199254740994",
            "9007199254740994.0",
        ] {
            assert!(!holds(more), "{more}");
        }
    }
}

//! `verify`: checks a whole file, including the decoding of its tiles, and reports findings.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::error::Error;
use super::file::TetFile;
use crate::error::Class;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifySeverity {
    /// Nothing is wrong.
    Info,
    /// Readers accept it; writers should not produce it.
    Warning,
    /// The file is invalid.
    Error,
}

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyFinding {
    /// The check: `open`, `chunk_decode`, or `warning`.
    pub check: &'static str,
    /// The severity.
    pub severity: VerifySeverity,
    /// The class of the fault in the file; `None` for other errors, such as failed I/O.
    pub class: Option<Class>,
    /// The message of the error; for a warning its class, field, position and count.
    pub detail: String,
}

/// All findings about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// In the order of the checks.
    pub findings: Vec<VerifyFinding>,
    /// Checked tiles, in the datasets that have no error.
    pub tiles: u64,
}

impl VerifyReport {
    /// Whether no finding is an error.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity < VerifySeverity::Error)
    }

    fn error(&mut self, check: &'static str, error: &Error) {
        self.findings.push(VerifyFinding {
            check,
            severity: VerifySeverity::Error,
            class: error.class(),
            detail: error.to_string(),
        });
    }
}

/// Reports the error of opening a file, or its warnings and, for each dataset, the first error of
/// reading or decoding a tile.
///
/// # Cost
/// Every compressed payload is read once; raw tiles were checked when the file was opened. Memory:
/// one request and one tile.
///
/// # Examples
///
/// ```
/// use zvf_tet::{TetFile, verify};
///
/// let bytes = include_bytes!("../../../../testdata/tet/derived/z_truncated.tet");
/// let report = verify(&TetFile::from_bytes(bytes.to_vec()));
/// assert_eq!(report.findings[0].class.map(|class| class.name()), Some("zstd_decode"));
/// assert!(!report.is_ok());
/// ```
#[must_use]
pub fn verify(opened: &Result<TetFile, Error>) -> VerifyReport {
    let mut report = VerifyReport::default();
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            report.error("open", error);
            return report;
        }
    };
    for warning in file.proof().warnings.iter() {
        report.findings.push(VerifyFinding {
            check: "warning",
            severity: VerifySeverity::Warning,
            class: Some(warning.class),
            detail: format!(
                "{}: {} at byte {} ({} in all)",
                warning.class, warning.what, warning.at, warning.count
            ),
        });
    }
    for dataset in file.datasets() {
        match file.reader(dataset).decode_all() {
            Ok(tiles) => report.tiles += tiles,
            Err(error) => report.error("chunk_decode", &error),
        }
    }
    report
}

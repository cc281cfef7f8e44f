//! The errors of commands, and their exit codes.
//!
//! Every failure is printed as one line on stderr, `zvf: what, where, found and expected`, which includes its causes.
//! The exit code is that of the class, and does not depend on the text.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;
use zvf_convert::ConvertError;
use zvf_convert::output::OddMoment;
use zvf_jobs::words::{fold, one_line};
use zvf_jobs::{ErrorFacts, JobError};
use zvf_query::QueryError;
use zvf_store::StoreError;
use zvf_validate::ValidateError;
use zvf_write::WriteError;

/// The class of a failure, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The validator found a violation that the caller does not accept.
    Findings,
    /// Wrong usage: unknown names, bad values, unknown ids.
    Usage,
    /// Input or output failed: not found, denied, timed out, disk full.
    Io,
    /// The data violate the format, or have a version that this program does not read.
    Malformed,
    /// A limit was reached.
    Limit,
    /// Another program writes the store: the same command may succeed later.
    Busy,
    /// An internal check of this program failed.
    Bug,
    /// A signal ended the program.
    Interrupted,
    /// The reader of the program's output has closed it; no message is printed.
    Gone,
    /// The command succeeded, but temporary objects remain, which readers ignore and the next writer removes: a warning.
    Left,
}

impl Class {
    /// The exit code of this class.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Gone | Self::Left => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Io => 3,
            Self::Malformed => 4,
            Self::Limit => 5,
            Self::Bug => 70,
            // EX_TEMPFAIL of sysexits.h.
            Self::Busy => 75,
            // As shells report an interrupted program: 128 and the number of the signal.
            Self::Interrupted => 130,
        }
    }
}

impl Class {
    /// The name of this class, for programs.
    fn name(self) -> &'static str {
        match self {
            Self::Gone | Self::Left => "done",
            Self::Findings => "findings",
            Self::Usage => "misuse",
            Self::Io => "io",
            Self::Malformed => "malformed",
            Self::Limit => "limit",
            Self::Busy => "busy",
            Self::Bug => "bug",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The failure of a command as a JSON document.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    error: ErrorFacts,
    exit_code: u8,
}

impl ErrorReport {
    /// The report of a message.
    pub(crate) fn new(class: Class, message: &str) -> Self {
        Self {
            error: ErrorFacts::new(class.name(), message),
            exit_code: class.code(),
        }
    }
}

/// A failed command: its class and one line with the reason.
#[derive(Debug)]
pub(crate) struct CliError {
    class: Class,
    message: String,
    /// Whether the limit of the bytes of a cell was exceeded.
    cell_limit: bool,
}

/// The result of a command.
pub(crate) type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    /// A failure of the given class.
    #[cold]
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            message: one_line(&message.into()),
            cell_limit: false,
        }
    }

    /// A failure of a library; `store` is the store's error that caused it, if there is one.
    #[cold]
    fn of(class: zvf_store::Class, error: &dyn Error, store: Option<&StoreError>) -> Self {
        let cell_limit = matches!(store, Some(StoreError::Io(error)) if error.is_cell_limit());
        Self {
            cell_limit,
            ..Self::new(class_of(class), fold(error))
        }
    }

    /// Wrong usage.
    #[cold]
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Class::Usage, message)
    }

    /// Data that violate the format.
    #[cold]
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(Class::Malformed, message)
    }

    /// A failed read or write of the file at `path`; a closed pipe ends the program quietly.
    #[cold]
    pub(crate) fn file(what: &str, path: &Path, source: &io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Class::Gone, "broken pipe");
        }
        if let Some(odd) = OddMoment::within(source) {
            return Self::malformed(odd.to_string());
        }
        Self::new(Class::Io, format!("{what} {}: {source}", path.display()))
    }

    /// A failed write to stdout; a closed pipe ends the program quietly.
    #[cold]
    pub(crate) fn stdout(source: &io::Error) -> Self {
        Self::file("write", Path::new("<stdout>"), source)
    }

    /// The same failure with a place in front, unless the line already names the place.
    pub(crate) fn at(mut self, place: &str) -> Self {
        if !place.is_empty() && !self.message.contains(place) {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }

    /// The same failure, with a remark if it is a limit that the given memory budget lowered.
    pub(crate) fn of_budget(mut self, budget: Option<u64>) -> Self {
        let lowered = budget.is_some_and(|bytes| bytes < zvf_store::Limits::default().cell_bytes);
        if lowered && self.cell_limit {
            self.message.push_str(
                ", the --memory-budget: an object is read as a whole, so give a larger budget",
            );
        }
        self
    }

    /// The class.
    pub(crate) fn class(&self) -> Class {
        self.class
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<zvf_store::IoError> for CliError {
    fn from(error: zvf_store::IoError) -> Self {
        StoreError::from(error).into()
    }
}

/// Declares the conversion of errors of libraries, each with the store's error that caused it, if there is one.
macro_rules! failures {
    ($($(#[$built:meta])? $error:ty: |$one:ident| $store:expr,)+) => {$(
        $(#[$built])?
        impl From<$error> for CliError {
            #[cold]
            fn from($one: $error) -> Self {
                Self::of($one.class(), &$one, $store)
            }
        }
    )+};
}

failures! {
    StoreError: |error| Some(&error),
    QueryError: |error| of_query(&error),
    ConvertError: |error| match &error {
        ConvertError::Store(error) => Some(error),
        ConvertError::Query(error) => of_query(error),
        ConvertError::Write(error) => of_write(error),
        _ => None,
    },
    #[cfg(feature = "volumes")]
    zvf_volume::VolumeError: |error| match &error {
        zvf_volume::VolumeError::Store(error) => Some(error),
        _ => None,
    },
    #[cfg(feature = "plot")]
    zvf_plot::PlotError: |error| match &error {
        zvf_plot::PlotError::Store(error) => Some(error),
        zvf_plot::PlotError::Query(error) => of_query(error),
        _ => None,
    },
}

impl From<WriteError> for CliError {
    #[cold]
    fn from(error: WriteError) -> Self {
        if matches!(error, WriteError::Tidying { .. }) {
            let hint = "the next edit removes it, and so does `zvf edit STORE resume`";
            return Self::new(Class::Left, format!("warning: {}; {hint}", fold(&error)));
        }
        Self::of(error.class(), &error, of_write(&error))
    }
}

impl From<JobError> for CliError {
    #[cold]
    fn from(error: JobError) -> Self {
        match error {
            JobError::Convert(source) => (*source).into(),
            JobError::Change { place, source } => Self::from(*source).at(&place),
            JobError::File { what, path, source } => Self::file(what, &path, &source),
            JobError::Query { place, source } => Self::from(*source).at(&place),
            JobError::Store { place, source } => Self::from(*source).at(&place),
            JobError::Write { place, source } => Self::from(*source).at(&place),
            JobError::Validate { place, source } => match *source {
                ValidateError::Store(source) => Self::from(source).at(&place),
                other => Self::new(class_of(other.class()), other.to_string()).at(&place),
            },
            #[cfg(feature = "volumes")]
            JobError::Volume { place, source } => Self::from(*source).at(&place),
            #[cfg(feature = "plot")]
            JobError::Plot { place, source } => Self::from(*source).at(&place),
            JobError::Repair { place, source } => {
                Self::new(class_of(source.class()), fold(&*source)).at(&place)
            }
            other => Self::new(class_of(other.class()), other.to_string()),
        }
    }
}

/// The store's error that caused an error of a query.
fn of_query(error: &QueryError) -> Option<&StoreError> {
    match error {
        QueryError::Store(error) => Some(error),
        _ => None,
    }
}

/// The store's error that caused an error of writing.
fn of_write(error: &WriteError) -> Option<&StoreError> {
    match error {
        WriteError::Store(error) => Some(error),
        _ => None,
    }
}

/// Converts an error class of the libraries to one of this program.
fn class_of(class: zvf_store::Class) -> Class {
    match class {
        zvf_store::Class::Io => Class::Io,
        zvf_store::Class::Misuse => Class::Usage,
        zvf_store::Class::Limit => Class::Limit,
        zvf_store::Class::Busy => Class::Busy,
        zvf_store::Class::Bug => Class::Bug,
        zvf_store::Class::Malformed => Class::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stays_under_its_text() {
        let marked = "where, at byte 4: found `>`\n  a > > 1\n      ^";
        assert_eq!(CliError::usage(marked).to_string(), marked);
    }

    #[test]
    fn a_place_is_named_once() {
        assert_eq!(
            CliError::usage("no level 3").at("a.zv").to_string(),
            "a.zv: no level 3"
        );
        assert_eq!(
            CliError::usage("a.zv: no level 3").at("a.zv").to_string(),
            "a.zv: no level 3"
        );
    }

    #[test]
    fn a_bug_has_a_code_of_its_own_and_asks_for_a_report() {
        let bug = WriteError::Bug {
            what: "row 7 has no bin".to_owned(),
            file: "sums.rs",
            line: 86,
        };
        let error = CliError::from(bug);
        assert_eq!((error.class(), error.class().code()), (Class::Bug, 70));
        let text = error.at("a.zv").to_string();
        for part in ["a.zv", "sums.rs:86", "row 7 has no bin", "please report it"] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }

    #[test]
    fn a_closed_pipe_is_quiet() {
        let error = CliError::stdout(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((error.class(), error.class().code()), (Class::Gone, 0));
    }
}

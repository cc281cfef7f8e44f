//! Errors of jobs.

use std::path::{Path, PathBuf};

use zvf_convert::ConvertError;
use zvf_convert::output::OddMoment;
use zvf_encode::WriteError;
use zvf_query::QueryError;
use zvf_store::{Class, StoreError};
use zvf_validate::ValidateError;
use zvf_validate::repair::RepairError;

pub(crate) type Result<T> = std::result::Result<T, JobError>;

/// The reason why a job has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A member of a job is wrong.
    #[error("{path}: {what}")]
    Option {
        /// The path of the member, such as `factors[1]`; in a list of jobs it begins with the index of the job: `[2].factors[1]`.
        path: String,
        /// What was found and expected. Names of other members are in backquotes.
        what: String,
    },
    /// A store could not be read.
    #[error("{source}")]
    Store {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<StoreError>,
    },
    /// A store could not be written.
    #[error("{source}")]
    Write {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<WriteError>,
    },
    /// Files could not be converted or do not fit the options, or a store failed; the address of the store is not recorded here.
    #[error(transparent)]
    Convert(Box<ConvertError>),
    /// An input does not fit a store or the options, or another error whose message was adapted for users.
    #[error("{what}")]
    Table {
        /// What was found and expected.
        what: String,
        /// The class of the error, mostly misuse.
        class: Class,
    },
    /// A file could not be read or written.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// The failed operation, such as `write`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A query failed.
    #[error("{source}")]
    Query {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<QueryError>,
    },
    /// Another error, with the address at which it occurred.
    #[error("{source}")]
    Change {
        /// The address of the store or file.
        place: String,
        /// The reason.
        source: Box<JobError>,
    },
    /// A store could not be validated.
    #[error("{source}")]
    Validate {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<ValidateError>,
    },
    /// A volume could not be read, or does not fit.
    #[cfg(feature = "volumes")]
    #[error("{source}")]
    Volume {
        /// The address of the volume.
        place: String,
        /// The reason.
        source: Box<zvf_volume::VolumeError>,
    },
    /// Stores could not be drawn.
    #[cfg(feature = "plot")]
    #[error("{source}")]
    Plot {
        /// The address of the store; empty if several stores are drawn, or if the error was found before anything was read.
        place: String,
        /// The reason.
        source: Box<zvf_plot::PlotError>,
    },
    /// A store could not be repaired.
    #[error("{source}")]
    Repair {
        /// The address of the store.
        place: String,
        /// The reason.
        source: Box<RepairError>,
    },
}

impl JobError {
    /// A member that is wrong.
    #[cold]
    pub(crate) fn option(path: &str, found: impl std::fmt::Display, expected: &str) -> Self {
        Self::Option {
            path: path.to_owned(),
            what: format!("found {found}, expected {expected}"),
        }
    }

    /// An input that does not fit a store or the options.
    #[cold]
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        let (what, class) = (what.into(), Class::Misuse);
        Self::Table { what, class }
    }

    /// A table with a value that does not fit the type of its column.
    #[cold]
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        let (what, class) = (what.into(), Class::Malformed);
        Self::Table { what, class }
    }

    /// An error of reading the store at an address.
    pub(crate) fn store(place: &str) -> impl FnOnce(StoreError) -> Self + '_ {
        move |source| Self::Store {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// An error of writing at an address.
    pub(crate) fn write(place: &str) -> impl FnOnce(WriteError) -> Self + '_ {
        move |source| Self::Write {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// An error of a query of the store at an address.
    pub(crate) fn query(place: &str) -> impl FnOnce(QueryError) -> Self + '_ {
        move |source| Self::Query {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// An error of the volume at an address.
    #[cfg(feature = "volumes")]
    pub(crate) fn volume(place: &str) -> impl Fn(zvf_volume::VolumeError) -> Self + '_ {
        move |source| Self::Volume {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// An error of drawing the store at an address; the address is empty if the error is about no store.
    #[cfg(feature = "plot")]
    pub(crate) fn plot(place: &str) -> impl FnOnce(zvf_plot::PlotError) -> Self + '_ {
        move |source| Self::Plot {
            place: place.to_owned(),
            source: Box::new(source),
        }
    }

    /// An error of reading or writing a file.
    pub(crate) fn file<'p>(
        what: &'static str,
        path: &'p Path,
    ) -> impl FnOnce(std::io::Error) -> Self + 'p {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }

    /// Adds the address at which the error occurred.
    pub(crate) fn at(self, place: &str) -> Self {
        Self::Change {
            place: place.to_owned(),
            source: Box::new(self),
        }
    }

    /// The error of job number `at` of a list.
    pub(crate) fn of_item(mut self, at: usize) -> Self {
        if let Self::Option { path, .. } = &mut self {
            let dot = if path.is_empty() { "" } else { "." };
            *path = format!("[{at}]{dot}{path}");
        }
        self
    }

    /// The class that a caller acts on.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Option { .. } => Class::Misuse,
            Self::Store { source, .. } => source.class(),
            Self::Write { source, .. } => source.class(),
            Self::Convert(source) => source.class(),
            Self::Table { class, .. } => *class,
            Self::File { source, .. } if OddMoment::within(source).is_some() => Class::Malformed,
            Self::File { .. } => Class::Io,
            Self::Query { source, .. } => source.class(),
            Self::Change { source, .. } => source.class(),
            Self::Validate { source, .. } => source.class(),
            Self::Repair { source, .. } => source.class(),
            #[cfg(feature = "volumes")]
            Self::Volume { source, .. } => source.class(),
            #[cfg(feature = "plot")]
            Self::Plot { source, .. } => source.class(),
        }
    }

    /// The address of the store or volume at which the error occurred; empty if it is not known. `None` for errors of options, files and tables.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Option { .. } | Self::Convert(_) | Self::Table { .. } | Self::File { .. } => None,
            Self::Store { place, .. }
            | Self::Write { place, .. }
            | Self::Query { place, .. }
            | Self::Change { place, .. }
            | Self::Validate { place, .. }
            | Self::Repair { place, .. } => Some(place),
            #[cfg(feature = "volumes")]
            Self::Volume { place, .. } => Some(place),
            #[cfg(feature = "plot")]
            Self::Plot { place, .. } => Some(place),
        }
    }
}

macro_rules! of_files {
    ($($error:ty),*) => {
        $(impl From<$error> for JobError {
            #[cold]
            fn from(error: $error) -> Self {
                ConvertError::from(error).into()
            }
        })*
    };
}

of_files!(WriteError, StoreError);

impl From<ConvertError> for JobError {
    #[cold]
    fn from(error: ConvertError) -> Self {
        match error {
            // The store is complete, so this is not a failed conversion.
            ConvertError::Write(source) if source.is_committed() => Self::Write {
                place: String::new(),
                source: Box::new(source),
            },
            other => Self::Convert(Box::new(other)),
        }
    }
}

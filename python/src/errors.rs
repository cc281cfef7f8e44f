//! Exceptions, one for each class of failure that a caller can act on.

use std::error::Error as StdError;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use zvf_convert::ConvertError;
use zvf_jobs::JobError;
use zvf_jobs::words::fold;
use zvf_query::QueryError;
use zvf_store::{Class, StoreError};
use zvf_write::WriteError;

create_exception!(zvf, Error, PyException, "A call of zvf failed.");
create_exception!(
    zvf,
    IoError,
    Error,
    "Storage failed: not found, denied, timed out, full, or changed meanwhile. Trying again may help."
);
create_exception!(
    zvf,
    BusyError,
    IoError,
    "Another program writes the store, or changed it meanwhile: the same call may succeed later."
);
create_exception!(
    zvf,
    MalformedError,
    Error,
    "The data is not what the format allows, or of a version that is not read."
);
create_exception!(
    zvf,
    MisuseError,
    Error,
    "The call asks for something that cannot be: an unknown name, a bad value, a store that is there already."
);
create_exception!(
    zvf,
    LimitError,
    Error,
    "More would be needed than a limit allows."
);
create_exception!(
    zvf,
    BugError,
    Error,
    "An internal check failed: a defect of zvf, please report it."
);

/// An error of a library, before it is an exception.
#[derive(Debug)]
pub(crate) struct Failure {
    class: Class,
    message: String,
}

impl Failure {
    /// A failure of a class, with its causes in one line.
    #[cold]
    pub(crate) fn of(class: Class, error: &dyn StdError) -> Self {
        Self {
            class,
            message: fold(error),
        }
    }

    /// The same failure with a place in front, unless the message names that place already.
    #[must_use]
    pub(crate) fn at(mut self, place: &str) -> Self {
        if !place.is_empty() && !self.message.contains(place) {
            self.message = format!("{place}: {}", self.message);
        }
        self
    }
}

/// A call that cannot be right.
#[cold]
pub(crate) fn misuse(what: impl Into<String>) -> PyErr {
    MisuseError::new_err(what.into())
}

/// An internal check that failed.
#[cold]
pub(crate) fn bug(what: &str) -> PyErr {
    BugError::new_err(format!("{what}; this is a defect of zvf, please report it"))
}

/// An interrupt that a library reports; in the main thread the exception of the signal is raised instead.
#[cold]
pub(crate) fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err(())
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let message = failure.message;
        match failure.class {
            Class::Io => IoError::new_err(message),
            Class::Malformed => MalformedError::new_err(message),
            Class::Misuse => MisuseError::new_err(message),
            Class::Limit => LimitError::new_err(message),
            Class::Busy => BusyError::new_err(message),
            Class::Bug => BugError::new_err(message),
        }
    }
}

macro_rules! failures {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            #[cold]
            fn from(error: $error) -> Self {
                Self::of(error.class(), &error)
            }
        })*
    };
}

impl From<JobError> for Failure {
    #[cold]
    fn from(error: JobError) -> Self {
        Self::of(error.class(), &error).at(error.place().unwrap_or_default())
    }
}

failures!(
    zvf_store::IoError,
    StoreError,
    QueryError,
    WriteError,
    ConvertError
);

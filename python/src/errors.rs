//! Exceptions, one for each class of failure that a caller can act on.

use std::error::Error as StdError;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zvf_convert::ConvertError;
use zvf_jobs::words::fold;
use zvf_jobs::{ErrorFacts, JobError};
use zvf_query::QueryError;
use zvf_store::{Class, StoreError};
use zvf_write::WriteError;

create_exception!(
    zvf,
    Error,
    PyException,
    "A call of zvf failed. The message in parts, each of which may be None: `place`, `found`, `expected`, `hint`."
);
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

/// Takes one part from a message.
type TakePart = fn(ErrorFacts) -> Option<String>;

/// The properties of [`Error`], with their documentation.
const PARTS: [(&str, &str, TakePart); 4] = [
    (
        "place",
        "The store, level, array and chunk, the file or the option that the error is about, or None.",
        |facts| facts.place,
    ),
    ("found", "What was found, or None.", |facts| facts.found),
    ("expected", "What would be right, or None.", |facts| {
        facts.expected
    }),
    ("hint", "What to do, or None.", |facts| facts.hint),
];

/// Gives [`Error`], and so all its subclasses, a property for each part of the message, wherever the exception is raised.
pub(crate) fn add_parts(py: Python<'_>) -> PyResult<()> {
    let property = py.import("builtins")?.getattr("property")?;
    for (name, doc, part) in PARTS {
        let getter = PyCFunction::new_closure(py, None, None, move |arguments, _| {
            let error = arguments.get_item(0)?;
            let message = error.str()?;
            // Its class is that of the exception.
            let facts = ErrorFacts::new("", &message.to_string_lossy());
            PyResult::Ok(part(facts))
        })?;
        let none = py.None();
        py.get_type::<Error>()
            .setattr(name, property.call1((getter, &none, &none, doc))?)?;
    }
    Ok(())
}

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

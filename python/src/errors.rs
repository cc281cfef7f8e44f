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
    "The data violates the format, or has a version that zvf does not read."
);
create_exception!(
    zvf,
    MisuseError,
    Error,
    "The call is invalid: an unknown name, an invalid value, a store that already exists."
);
create_exception!(
    zvf,
    LimitError,
    Error,
    "The call needs more than a limit allows."
);
create_exception!(
    zvf,
    BugError,
    Error,
    "An internal check failed: a defect of zvf, please report it."
);

/// Returns one part of a message.
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

/// Adds a property for each part of the message to [`Error`] and thus to its subclasses. The parts are found in the text of the message, so that
/// exceptions that Python code raises have them, too.
pub(crate) fn add_parts(py: Python<'_>) -> PyResult<()> {
    let property = py.import("builtins")?.getattr("property")?;
    for (name, doc, part) in PARTS {
        let getter = PyCFunction::new_closure(py, None, None, move |arguments, _| {
            let error = arguments.get_item(0)?;
            let message = error.str()?;
            // The class is not used: it is that of the exception.
            let facts = ErrorFacts::new("", &message.to_string_lossy());
            PyResult::Ok(part(facts))
        })?;
        let none = py.None();
        py.get_type::<Error>()
            .setattr(name, property.call1((getter, &none, &none, doc))?)?;
    }
    Ok(())
}

/// An error of a library, before it is converted to an exception.
#[derive(Debug)]
pub(crate) struct Failure {
    class: Class,
    message: String,
}

impl Failure {
    /// Makes a failure of a class from an error, whose causes are joined in one line.
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

/// The exception for an invalid call.
#[cold]
pub(crate) fn misuse(what: impl Into<String>) -> PyErr {
    MisuseError::new_err(what.into())
}

/// The exception for an internal check that failed.
#[cold]
pub(crate) fn bug(what: &str) -> PyErr {
    BugError::new_err(format!("{what}; this is a defect of zvf, please report it"))
}

/// The exception for an interrupt that a library reports. In the main thread the exception of the signal is raised instead.
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

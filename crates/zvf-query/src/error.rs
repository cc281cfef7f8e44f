//! Errors of queries.

use std::fmt;

use zvf_store::format::DecodeError;
use zvf_store::{Class, StoreError};

/// A place in a store. Missing parts are unknown or do not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Level number.
    pub level: Option<u32>,
    /// Array inside the level, e.g. `vertices` or `links/0/0.0.0`.
    pub array: Option<String>,
    /// Absolute chunk coordinate.
    pub chunk: Option<Vec<i64>>,
    /// Object id.
    pub object: Option<i64>,
}

impl Place {
    /// A place in one array of one level.
    pub(crate) fn array(level: u32, array: &str) -> Self {
        Self {
            level: Some(level),
            array: Some(array.to_owned()),
            ..Self::default()
        }
    }

    /// A cell of one array.
    pub(crate) fn cell(level: u32, array: &str, chunk: &[i64]) -> Self {
        Self {
            chunk: Some(chunk.to_vec()),
            ..Self::array(level, array)
        }
    }

    /// The same place, of one object.
    pub(crate) fn of(mut self, object: Option<i64>) -> Self {
        self.object = object;
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        if let Some(level) = self.level {
            write!(f, "level {level}")?;
            gap = ", ";
        }
        if let Some(array) = &self.array {
            write!(f, "{gap}array {array}")?;
            gap = ", ";
        }
        if let Some(chunk) = &self.chunk {
            write!(f, "{gap}chunk ")?;
            for (axis, part) in chunk.iter().enumerate() {
                write!(f, "{}{part}", if axis == 0 { "" } else { "." })?;
            }
            gap = ", ";
        }
        if let Some(object) = self.object {
            write!(f, "{gap}object {object}")?;
        }
        Ok(())
    }
}

/// Why a query failed. [`class`](Self::class) shows whether a retry, other data or another query can help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes of a blob violate the format.
    #[error("{place}: {source}")]
    Decode {
        /// The place of the blob.
        place: Box<Place>,
        /// What is wrong, and at which byte.
        source: DecodeError,
    },
    /// Two parts of the store contradict each other.
    #[error("{place}: {what}")]
    Malformed {
        /// The place of the contradiction.
        place: Box<Place>,
        /// The value that was found, and the expected one.
        what: String,
    },
    /// The data is valid, but not supported by this crate.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// The place of the data.
        place: Box<Place>,
        /// The unsupported feature, by its name in the store.
        what: String,
    },
    /// The query is invalid.
    #[error("{what}")]
    Misuse {
        /// The invalid argument, and what is valid.
        what: String,
    },
    /// The query needs more than a limit allows.
    #[error("{}{found} {what} exceed the limit of {limit}", before(place))]
    Limit {
        /// The place of the data; empty if the limit is one of the whole answer.
        place: Box<Place>,
        /// What is counted.
        what: &'static str,
        /// How many there are, as far as known.
        found: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A temporary file could not be written or read.
    #[error("temporary file in {folder}: {source}")]
    Temporary {
        /// The system's folder for temporary files.
        folder: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// An internal invariant of this library is broken. Please report it.
    #[error("internal error at {at}: {what}")]
    Bug {
        /// The invariant, and the value found.
        what: String,
        /// File and line.
        at: &'static std::panic::Location<'static>,
    },
}

/// Returns an error of the class bug unless a rule holds.
macro_rules! internal {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err($crate::QueryError::bug(format!($($what)+)));
        }
    };
}

pub(crate) use internal;

/// Replaces a missing value that an invariant guarantees by an error of the class bug.
pub(crate) trait OrBug<T> {
    /// The value, or an error of the class bug with file and line of the caller.
    ///
    /// # Errors
    ///
    /// Bug.
    #[track_caller]
    fn or_bug(self, what: impl fmt::Display) -> Result<T, QueryError>;
}

impl<T> OrBug<T> for Option<T> {
    #[track_caller]
    fn or_bug(self, what: impl fmt::Display) -> Result<T, QueryError> {
        match self {
            Some(value) => Ok(value),
            None => Err(QueryError::bug(what.to_string())),
        }
    }
}

/// The folder of temporary files, for messages. WebAssembly has none, and `std::env::temp_dir` panics there.
fn temporary_folder() -> String {
    match cfg!(all(target_family = "wasm", target_os = "unknown")) {
        true => "memory".to_owned(),
        false => std::env::temp_dir().display().to_string(),
    }
}

/// The place as the beginning of a message; nothing for an empty one.
fn before(place: &Place) -> String {
    let place = place.to_string();
    match place.is_empty() {
        true => place,
        false => format!("{place}: "),
    }
}

impl QueryError {
    /// The class of the failure, which determines what a caller can do: retry, give up, fix the call, or raise a limit.
    pub fn class(&self) -> Class {
        match self {
            Self::Store(source) => source.class(),
            Self::Decode { source, .. } if source.is_limit() => Class::Limit,
            Self::Decode { .. } | Self::Malformed { .. } | Self::Unsupported { .. } => {
                Class::Malformed
            }
            Self::Misuse { .. } => Class::Misuse,
            Self::Limit { .. } => Class::Limit,
            Self::Temporary { .. } => Class::Io,
            Self::Bug { .. } => Class::Bug,
        }
    }

    /// The place in the store, for errors that this crate found.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Decode { place, .. }
            | Self::Malformed { place, .. }
            | Self::Unsupported { place, .. }
            | Self::Limit { place, .. } => Some(place),
            Self::Store(_) | Self::Misuse { .. } | Self::Temporary { .. } | Self::Bug { .. } => {
                None
            }
        }
    }

    #[cold]
    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self::Misuse { what: what.into() }
    }

    #[cold]
    pub(crate) fn temporary(source: std::io::Error) -> Self {
        Self::Temporary {
            folder: temporary_folder(),
            source,
        }
    }

    #[cold]
    #[track_caller]
    pub(crate) fn bug(what: impl Into<String>) -> Self {
        Self::Bug {
            what: what.into(),
            at: std::panic::Location::caller(),
        }
    }

    #[cold]
    pub(crate) fn malformed(place: Place, what: impl Into<String>) -> Self {
        Self::Malformed {
            place: Box::new(place),
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn unsupported(place: Place, what: impl Into<String>) -> Self {
        Self::Unsupported {
            place: Box::new(place),
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn limit(place: Place, what: &'static str, found: u64, limit: u64) -> Self {
        Self::Limit {
            place: Box::new(place),
            what,
            found,
            limit,
        }
    }

    #[cold]
    pub(crate) fn decode(place: Place, source: DecodeError) -> Self {
        Self::Decode {
            place: Box::new(place),
            source,
        }
    }
}

/// Lists the existing names, for messages about an unknown one.
pub(crate) fn existing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    }
}

/// Lists the existing names of attributes, and states whether the store may have others with unknown names.
pub(crate) fn existing_attributes<'a>(
    store: &zvf_store::Store,
    names: impl Iterator<Item = &'a str>,
) -> String {
    let unknown = store.names_unknown();
    if unknown.is_empty() {
        return existing(names);
    }
    let names: Vec<&str> = names.collect();
    let known = match names.is_empty() {
        true => "none is known".to_owned(),
        false => format!("known are {}", names.join(", ")),
    };
    format!("{known} ({})", unknown.join("; "))
}

/// The name that was probably meant: the one with the smallest edit distance, if that is at most half the length of the longer of the two.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let letters: Vec<char> = word.to_lowercase().chars().take(LONGEST).collect();
    let distance = |name: &str| {
        let name: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
        let mut row: Vec<usize> = (0..=letters.len()).collect();
        for (number, one) in name.iter().enumerate() {
            let mut corner = number;
            let mut left = number + 1;
            if let Some(first) = row.first_mut() {
                *first = left;
            }
            for (other, place) in letters.iter().zip(row.iter_mut().skip(1)) {
                let changed = corner + usize::from(one != other);
                corner = *place;
                *place = changed.min(left + 1).min(corner + 1);
                left = *place;
            }
        }
        row.last().copied().unwrap_or(0)
    };
    let near = names.map(|name| (distance(name), name)).min()?;
    (near.0 * 2 <= word.chars().count().max(near.1.chars().count())).then_some(near.1)
}

/// A warning if a count in a document differs from the actual one.
pub(crate) fn count_warning(
    place: &str,
    (member, stated): (&str, u64),
    (found, what): (u64, &str),
) -> Option<String> {
    let lost = match found < stated {
        true => format!("{what} are lost, or the number"),
        false => "the number".to_owned(),
    };
    (found != stated).then(|| {
        format!("{place}: {member} is {stated}, but {found} {what} were read: {lost} is out of date; `zvf validate` finds where")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_whole_place() {
        let place = Place::cell(2, "vertices", &[-1, 0, 12]).of(Some(7));
        let error = QueryError::malformed(place, "found 7 bytes, expected a multiple of 12");
        assert_eq!(
            error.to_string(),
            "level 2, array vertices, chunk -1.0.12, object 7: found 7 bytes, expected a multiple of 12"
        );
        assert_eq!(error.class(), Class::Malformed);
    }
}

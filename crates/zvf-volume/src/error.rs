//! Errors of volumes.

use zvf_grid::GridError;
use zvf_store::{Class, IoError, StoreError};

/// Why a volume cannot be opened, read, written or sampled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The disk, bucket or web server failed; or a Zarr array is damaged, as reported by the
    /// store's reader.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A TET file is damaged or cannot be read or written.
    #[error(transparent)]
    Tet(zvf_tet::Error),
    /// A Caterva or b2nd frame is damaged or cannot be read or written.
    #[error(transparent)]
    Caterva(zvf_caterva::Error),
    /// A file operation failed.
    #[error("{what}: {source}")]
    File {
        /// The operation and its file.
        what: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// An invalid request.
    #[error("{what}")]
    Misuse {
        /// The invalid argument, and the expected value.
        what: String,
    },
    /// The file is not a supported volume.
    #[error("{place}: found {found}, expected {expected}")]
    Malformed {
        /// The address or document.
        place: String,
        /// The found value.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// Data exceeds memory or a limit.
    #[error("{what}: {found} bytes, at most {limit} are allowed")]
    Limit {
        /// The thing that is too large.
        what: String,
        /// Its bytes.
        found: u64,
        /// The limit.
        limit: u64,
    },
}

impl From<zvf_meta::AffineError> for VolumeError {
    fn from(error: zvf_meta::AffineError) -> Self {
        Self::misuse(error.what)
    }
}

impl From<IoError> for VolumeError {
    fn from(error: IoError) -> Self {
        Self::Store(error.into())
    }
}

impl VolumeError {
    /// The class by which a caller can handle the error.
    #[must_use]
    pub fn class(&self) -> Class {
        use zvf_caterva::ErrorClass;
        match self {
            Self::Store(error) => error.class(),
            Self::Tet(error) => match error {
                zvf_tet::Error::Io(_) | zvf_tet::Error::Changed { .. } => Class::Io,
                zvf_tet::Error::Limit { .. } => Class::Limit,
                zvf_tet::Error::Format(_) | zvf_tet::Error::Json { .. } => Class::Malformed,
                _ => Class::Misuse,
            },
            Self::Caterva(error) => match error.class() {
                ErrorClass::Io => Class::Io,
                ErrorClass::Limit => Class::Limit,
                ErrorClass::Usage => Class::Misuse,
                _ => Class::Malformed,
            },
            Self::File { .. } => Class::Io,
            Self::Misuse { .. } => Class::Misuse,
            Self::Malformed { .. } => Class::Malformed,
            Self::Limit { .. } => Class::Limit,
        }
    }

    /// The error of a broken invariant.
    #[cold]
    pub(crate) fn bug(what: &'static str) -> Self {
        IoError::Bug { what }.into()
    }

    pub(crate) fn misuse(what: impl Into<String>) -> Self {
        Self::Misuse { what: what.into() }
    }

    /// The error of a file or an object; errors of requests already state what failed.
    pub(crate) fn file(what: impl Into<String>) -> impl Fn(std::io::Error) -> Self {
        let what = what.into();
        move |source| match source.downcast::<IoError>() {
            Ok(error) => error.into(),
            Err(source) => Self::File {
                what: what.clone(),
                source,
            },
        }
    }

    pub(crate) fn malformed(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            place: place.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}

impl From<zvf_tet::Error> for VolumeError {
    fn from(error: zvf_tet::Error) -> Self {
        match error {
            zvf_tet::Error::Io(source) => match source.downcast::<IoError>() {
                Ok(error) => error.into(),
                Err(source) => Self::Tet(source.into()),
            },
            error => Self::Tet(error),
        }
    }
}

impl From<zvf_caterva::Error> for VolumeError {
    fn from(error: zvf_caterva::Error) -> Self {
        match error {
            zvf_caterva::Error::Io { what, source } => match source.downcast::<IoError>() {
                Ok(error) => error.into(),
                Err(source) => Self::Caterva(zvf_caterva::Error::Io { what, source }),
            },
            error => Self::Caterva(error),
        }
    }
}

impl From<GridError> for VolumeError {
    fn from(error: GridError) -> Self {
        Self::misuse(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, IoError, VolumeError};

    #[test]
    fn errors_of_requests_keep_their_class_and_text() {
        let limit = IoError::limit("a.tet", "cell_bytes", 9, 8);
        let text = limit.to_string();
        let source = || std::io::Error::other(limit.clone());
        for error in [
            VolumeError::from(zvf_tet::Error::from(source())),
            VolumeError::from(zvf_caterva::Error::Io {
                what: "reading chunk 3".to_owned(),
                source: source(),
            }),
            VolumeError::file("reading")(source()),
        ] {
            assert_eq!(
                (error.class(), error.to_string()),
                (Class::Limit, text.clone())
            );
        }
    }
}

//! Errors of readers and writers.

use zvf_blosc::{Class, DecodeError, EncodeError};
use zvf_grid::GridError;

/// Why a frame or an array could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, folder or object could not be read or written.
    #[error("{what}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Header, metalayers, index or trailer are malformed.
    #[error("frame")]
    Frame(#[source] DecodeError),
    /// One chunk cannot be read; others may be.
    #[error("chunk {chunk}")]
    Chunk {
        /// Its number.
        chunk: u64,
        /// The reason; positions count from the start of the chunk.
        source: DecodeError,
    },
    /// One block cannot be read; others of its chunk may be.
    #[error("chunk {chunk}, block {block}")]
    Block {
        /// The number of the chunk.
        chunk: u64,
        /// The number of the block in its chunk.
        block: u64,
        /// The reason; positions count from the start of the chunk.
        source: DecodeError,
    },
    /// The frame has no n-d metalayer: it is a plain list of chunks.
    #[error("the frame has no `b2nd` or `caterva` metalayer")]
    NotAnArray,
    /// The frame has no chunk, or no variable-length metalayer, of that name or number.
    #[error("the frame has no {what}")]
    Absent {
        /// The missing chunk or metalayer.
        what: String,
    },
    /// The selection, or a buffer, does not fit the array.
    #[error("selection")]
    Selection(#[from] GridError),
    /// There is not enough memory.
    #[error("{bytes} bytes do not fit into memory")]
    Memory {
        /// The number of bytes.
        bytes: u64,
    },
    /// An argument of the writer is invalid, or chunks are missing.
    #[error("{what}: found {found}, expected {expected}")]
    Usage {
        /// The name of the value.
        what: &'static str,
        /// The value.
        found: u64,
        /// The expected value.
        expected: u64,
    },
    /// The encoder does not support the settings, or its codec failed.
    #[error("encoder")]
    Encode(#[from] EncodeError),
}

/// Classes of errors, by what a caller can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Input or output failed; trying again may help.
    Io,
    /// The bytes end too early.
    Truncated,
    /// The bytes are not a frame, or contradict each other.
    Malformed,
    /// A version, codec or filter that this build does not read.
    Unsupported,
    /// A size that the bytes cannot justify, or memory cannot hold.
    Limit,
    /// The arguments name something that does not exist, or are invalid.
    Usage,
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            what: what.into(),
            source,
        }
    }

    pub(crate) fn chunk(chunk: u64) -> impl Fn(DecodeError) -> Self {
        move |source| Self::Chunk { chunk, source }
    }

    pub(crate) fn block(chunk: u64, block: usize) -> impl Fn(DecodeError) -> Self {
        let block = zvf_grid::int::wide(block);
        move |source| Self::Block {
            chunk,
            block,
            source,
        }
    }

    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Io { .. } => ErrorClass::Io,
            Self::Frame(source) | Self::Chunk { source, .. } | Self::Block { source, .. } => {
                match source.class() {
                    Class::Truncated => ErrorClass::Truncated,
                    Class::Unsupported => ErrorClass::Unsupported,
                    Class::Limit => ErrorClass::Limit,
                    _ => ErrorClass::Malformed,
                }
            }
            Self::Memory { .. } => ErrorClass::Limit,
            Self::NotAnArray
            | Self::Absent { .. }
            | Self::Selection(_)
            | Self::Usage { .. }
            | Self::Encode(_) => ErrorClass::Usage,
        }
    }
}

//! The error of selections, shapes and copies.

use core::fmt;

/// An invalid shape, selection or copy, with the axis and the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridError {
    /// More axes than [`crate::MAX_RANK`].
    TooManyAxes {
        /// The given number of axes.
        found: usize,
    },
    /// Two arguments have different numbers of axes.
    RankMismatch {
        /// The given number of axes.
        found: usize,
        /// Axes of the array.
        expected: usize,
    },
    /// A range of one axis ends before it starts, ends beyond the array, or has step 0.
    BadRange {
        /// The axis, from 0.
        axis: usize,
        /// First requested index.
        start: u64,
        /// One past the last requested index.
        stop: u64,
        /// Distance between consecutive indices.
        step: u64,
        /// Extent of the array on this axis.
        extent: u64,
    },
    /// The grid's cells have extent 0 on an axis on which the array has elements.
    EmptyCell {
        /// The axis, from 0.
        axis: usize,
    },
    /// A product of extents exceeds 64 bits.
    TooLarge,
    /// A buffer does not have the length of its shape.
    BufferLength {
        /// The given number of bytes.
        found: u64,
        /// Bytes that the shape needs.
        expected: u64,
    },
    /// A copy would exceed one of its two buffers.
    OutOfBuffer {
        /// The axis, from 0.
        axis: usize,
    },
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyAxes { found } => {
                write!(
                    f,
                    "{found} axes found, expected at most {}",
                    crate::MAX_RANK
                )
            }
            Self::RankMismatch { found, expected } => {
                write!(f, "{found} axes found, expected {expected}")
            }
            Self::BadRange {
                axis,
                start,
                stop,
                step,
                extent,
            } => write!(
                f,
                "axis {axis}: range {start}:{stop}:{step} found, expected one inside 0:{extent} with a step of at least 1"
            ),
            Self::EmptyCell { axis } => {
                write!(
                    f,
                    "axis {axis}: cells of extent 0 found, expected at least 1"
                )
            }
            Self::TooLarge => f.write_str("a product of extents does not fit 64 bits"),
            Self::BufferLength { found, expected } => {
                write!(
                    f,
                    "a buffer of {found} bytes found, its shape needs {expected}"
                )
            }
            Self::OutOfBuffer { axis } => {
                write!(f, "axis {axis}: the copy reaches beyond its buffer")
            }
        }
    }
}

impl core::error::Error for GridError {}

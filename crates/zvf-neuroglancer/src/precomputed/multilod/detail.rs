//! The input of the encoder of levels of detail, and its error.

use super::super::EncodeError;
use super::super::draco::DracoError;

/// The triangles of one level of detail.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail {
    /// Positions of the vertices.
    pub positions: Vec<[f64; 3]>,
    /// Corners of each triangle, as indices into `positions`.
    pub triangles: Vec<[u32; 3]>,
}

/// Why a mesh was not encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MultiLodError {
    /// Inconsistent counts.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A position that is not finite or exceeds float32.
    #[error("found a vertex or a cell of {0}, expected finite numbers that float32 holds")]
    Place(f64),
    /// A fragment could not be encoded.
    #[error(transparent)]
    Draco(#[from] DracoError),
    /// A broken internal invariant.
    #[error("a bug in zvf: {0}; please report it")]
    Bug(&'static str),
}

/// A count as a float, for division.
#[expect(
    clippy::cast_precision_loss,
    reason = "the mean of lengths needs no exact count"
)]
pub(super) fn precise(count: usize) -> f64 {
    count as f64
}

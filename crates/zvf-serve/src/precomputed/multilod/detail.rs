//! What levels of detail are made of, and why they are not.

use zvf_convert::neuroglancer::DracoError;

use super::super::EncodeError;

/// The triangles of one level of detail.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail {
    /// Places of the vertices.
    pub positions: Vec<[f64; 3]>,
    /// Corners of each triangle, as numbers of vertices.
    pub triangles: Vec<[u32; 3]>,
}

/// Why a mesh was not encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MultiLodError {
    /// Counts that do not fit together.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A place that is not finite, or beyond what float32 holds.
    #[error("found a vertex or a cell of {0}, expected finite numbers that float32 holds")]
    Place(f64),
    /// A fragment.
    #[error(transparent)]
    Draco(#[from] DracoError),
    /// What cannot be.
    #[error("a bug in zvf: {0}; please report it")]
    Bug(&'static str),
}

/// A count as a number to divide by.
#[expect(
    clippy::cast_precision_loss,
    reason = "the mean of lengths needs no exact count"
)]
pub(super) fn precise(count: usize) -> f64 {
    count as f64
}

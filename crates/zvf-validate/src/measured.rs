//! Numbers that documents also state, counted from the cells. Repairs of documents use them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use zvf_store::ChunkCoord;

use crate::numbers::CoordinateExtent;

/// The documents that a validation read and the numbers that it counted, with [`ValidateOptions::measure`](crate::ValidateOptions::measure).
///
/// Numbers are never taken from the documents. A number is absent if it depends on a cell that could not be read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Measured {
    /// Every document that was read, by key.
    pub documents: BTreeMap<String, Bytes>,
    /// The folders in the root; `None` if the backend cannot list.
    pub folders: Option<Vec<String>>,
    /// Levels whose cells were read.
    pub levels: BTreeMap<u32, MeasuredLevel>,
    /// Cells with a payload that the presence list of their array does not contain, by path of the array.
    pub unlisted: BTreeMap<String, Vec<ChunkCoord>>,
    /// The arrays whose objects were all listed and compared with their presence list, by path.
    pub searched: BTreeSet<String>,
}

/// Numbers of a level, counted from its cells.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct MeasuredLevel {
    /// Rows of all chunks.
    pub vertices: Option<u64>,
    /// The lowest and the highest stored coordinate of each axis; `None` without vertices, or if a coordinate is not finite.
    pub extent: Option<(Vec<f64>, Vec<f64>)>,
    /// Number of objects with a manifest.
    pub present: Option<u64>,
    /// Families of links, by delta.
    pub families: BTreeMap<i32, MeasuredFamily>,
    /// The number of values in a row of vertex and fragment attributes, by path, if all cells agree.
    pub widths: BTreeMap<String, u64>,
}

/// Numbers of a family of links, counted from its cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeasuredFamily {
    /// Links as given by the application, without copies.
    pub links: u64,
    /// Stored records.
    pub records: u64,
}

impl MeasuredLevel {
    pub(crate) fn set_extent(&mut self, extent: CoordinateExtent) {
        let corners = extent.low.iter().chain(&extent.high);
        let known = extent.finite && corners.copied().all(f64::is_finite);
        self.extent = known.then_some((extent.low, extent.high));
    }
}

//! What cells say of the numbers that documents repeat, for those who repair documents.

use std::collections::BTreeMap;

use bytes::Bytes;
use zvf_store::ChunkCoord;

use crate::numbers::Extent;

/// What a validation read and counted. Nothing here comes from a number in a document; what could not be counted whole
/// is not there.
///
/// Kept on request: [`ValidateOptions::measure`](crate::ValidateOptions::measure).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Measured {
    /// Every document that was read, by key.
    pub documents: BTreeMap<String, Bytes>,
    /// Folders right below the root; `None` where the backend does not list.
    pub folders: Option<Vec<String>>,
    /// Levels whose cells were read.
    pub levels: BTreeMap<u32, MeasuredLevel>,
    /// Cells with a payload that the presence list of their array does not name, by path of the array.
    pub unlisted: BTreeMap<String, Vec<ChunkCoord>>,
}

/// What the cells of a level come to.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct MeasuredLevel {
    /// Rows of all chunks.
    pub vertices: Option<u64>,
    /// Lowest and highest coordinates as stored, one number an axis; `None` without vertices, or where one of them is no
    /// finite number.
    pub extent: Option<(Vec<f64>, Vec<f64>)>,
    /// Objects with a manifest.
    pub present: Option<u64>,
    /// Families of links, by delta.
    pub families: BTreeMap<i32, MeasuredFamily>,
    /// Values a row of vertex and fragment attributes whose cells all have as many, by path.
    pub widths: BTreeMap<String, u64>,
}

/// What the cells of a family of links come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeasuredFamily {
    /// Links as the application gave them, copies not counted.
    pub links: u64,
    /// Stored records.
    pub records: u64,
}

impl MeasuredLevel {
    pub(crate) fn set_extent(&mut self, extent: Extent) {
        let corners = extent.low.iter().chain(&extent.high);
        let known = extent.finite && corners.copied().all(f64::is_finite);
        self.extent = known.then_some((extent.low, extent.high));
    }
}

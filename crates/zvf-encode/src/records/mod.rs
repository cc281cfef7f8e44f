//! Records outside memory: bytes of one width that several steps of a write pass to each other.
//!
//! | type | for |
//! |---|---|
//! | [`SpillFile`] | bytes that are written once and read in any order |
//! | [`Spool`] | records that are read in the order in which they were pushed |
//! | [`Buckets`] | records by key, such as the chunk |
//! | [`Sorter`] | records in the order of their members |
//! | [`VertexPlaces`] | chunk and row of each vertex, by its number |
//!
//! All except the first take a budget: more data is written to a temporary file without a name. Records are split by the functions of this module,
//! which reject a remainder: an incomplete record is an error of the class bug, never a missing row.

pub(crate) mod bucket;
pub(crate) mod places;
pub(crate) mod record;
pub(crate) mod sorter;
pub(crate) mod spill;

pub use bucket::{Bucket, Buckets};
pub use places::VertexPlaces;
pub use record::{
    check_records, put_flagged, records, row_of, take, take_array, take_flagged, typed,
};
pub use sorter::{PlacedRows, SortRecord, Sorted, Sorter};
pub use spill::{SpillFile, SpillRange, Spool};

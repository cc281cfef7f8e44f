//! Records outside memory: bytes of one width that several steps of a write pass to each other.
//!
//! | type | for |
//! |---|---|
//! | [`SpillFile`] | bytes that are written once and read in any order |
//! | [`Spool`] | records that are read in the order in which they came |
//! | [`Buckets`] | records by key, such as those of a chunk |
//! | [`Sorter`] | records in the order of their members |
//! | [`VertexPlaces`] | chunk and row of each vertex, by its number |
//!
//! All but the first take a budget: what is more is written to a temporary file without a name. Records are split by the functions
//! of this module, which reject a remainder: a record that is cut short is an error of the class bug, never a row less.

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

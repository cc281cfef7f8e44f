//! Records outside memory: spilled bytes, records by key, sorted records, and the places of vertices.

pub(crate) mod bucket;
pub(crate) mod places;
pub(crate) mod record;
pub(crate) mod sorter;
pub(crate) mod spill;

pub use bucket::{Bucket, Buckets};
pub use places::Places;
pub use record::{
    check_records, put_flagged, records, row_of, take, take_array, take_flagged, take_link, typed,
};
pub use sorter::{Placed, Record, Sorted, Sorter};
pub use spill::{Part, SpillFile, Spool};

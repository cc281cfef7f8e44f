//! How changes of a store become visible at once, or not at all.

pub(crate) mod change;
pub mod commit;
pub(crate) mod holder;
pub mod inside;
pub(crate) mod lease;
pub(crate) mod marker;
pub mod partition;
pub mod record_log;
pub(crate) mod redo;
pub(crate) mod root_mark;

pub use change::{Change, Take};
pub use holder::Holder;
pub use lease::{LEASE, Lease, is_free};
pub use marker::{MARKER, ROOT, StaleFiles, mark, new_mark};
pub use redo::{Journal, Settled, Written, settle};

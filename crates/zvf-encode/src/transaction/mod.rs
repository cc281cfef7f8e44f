//! Protocols for changes of a store, which become visible as a whole or not at all.
//!
//! | protocol | for | visible |
//! |---|---|---|
//! | [`new_store`] | a store at an empty address | with its root, which is put only if none exists |
//! | [`Change`] | objects that no reader requests before the root names them, such as new levels | with the root, which is replaced only in the state in which it was read |
//! | [`Transaction`] | objects that readers use | with the root, which names a redo log until all objects are in place |
//! | [`partition`] | one new store that several programs write | as for [`new_store`], with the parts that one of the programs chose |
//!
//! All protocols put the marker [`MARKER`] first and remove it last. The marker of a change is a [`Lease`]: its writer renews it while it runs, and the next
//! writer settles the remains of a writer that died ([`settle`]).

pub(crate) mod change;
pub(crate) mod holder;
pub(crate) mod inside;
pub(crate) mod lease;
mod leftovers;
pub(crate) mod marker;
pub mod new_store;
pub mod partition;
pub mod record_log;
pub(crate) mod redo;
pub(crate) mod root_mark;
pub(crate) mod unfinished;

pub use change::{Change, Take};
pub use holder::Holder;
pub use lease::{LEASE, Lease, is_free};
pub use marker::{MARKER, ROOT, StaleFiles, mark, new_mark};
pub use redo::{ChangedObjects, Settled, Transaction, settle};

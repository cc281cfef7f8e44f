//! The records of several programs that write one new store in parts, and the decision which parts are committed.
//!
//! [`BegunStore`] is the marker of the store, [`PartitionFolder`] names the records of parts, [`PartitionLog`] is the list of decisions: of several
//! programs that commit, one decides. `zvf-write` writes parts and commits them.

pub(crate) mod folder;
pub(crate) mod log;
pub(crate) mod unfinished;

pub use folder::{BegunPart, BegunStore, FinishedPart, NOTES, PartitionFolder, listed, owner};
pub use log::{ChosenPart, ChosenParts, Outcome, PartitionLog, PartitionState};

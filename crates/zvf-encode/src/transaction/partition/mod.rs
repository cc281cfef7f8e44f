//! The records of a distributed write, in which several programs write parts of one new store, and the decision which parts are committed.
//!
//! [`BegunStore`] is the marker of the store, and [`PartitionFolder`] names the records of parts. [`PartitionLog`] is the list of decisions: if several
//! programs commit, only one of them makes the decision. `zvf-write` writes parts and commits them.

pub(crate) mod folder;
pub(crate) mod log;
pub(crate) mod unfinished;

pub use folder::{BegunPart, BegunStore, FinishedPart, NOTES, PartitionFolder, listed, owner};
pub use log::{ChosenPart, ChosenParts, Outcome, PartitionLog, PartitionState};

//! What several programs that write one new store note about its parts, and when a commit of them counts.
//!
//! [`Begun`] is the marker of the store, [`Folder`] names the notes of parts, [`Log`] is the list of decisions: of several
//! programs that commit, one decides. `zvf-write` writes parts and commits them.

pub(crate) mod folder;
pub(crate) mod log;
pub(crate) mod unfinished;

pub use folder::{Begun, FinishedPart, Folder, NOTES, listed, owner};
pub use log::{Choice, Chosen, Log, Outcome, State};

//! What several programs that write one store note about its parts, and when a commit of them counts.

pub(crate) mod folder;
pub(crate) mod log;
pub(crate) mod unfinished;

pub use folder::{Begun, FinishedPart, Folder, NOTES, listed, owner};
pub use log::{Choice, Chosen, Log, Outcome, State};

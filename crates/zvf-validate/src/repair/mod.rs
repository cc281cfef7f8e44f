//! Corrects the documents of a Zarr Vectors store from its cells.
//!
//! [`plan`] validates a store with [`validate`](crate::validate()), computes the members of documents that have to change, validates the changed
//! store, and returns a [`RepairPlan`]: every change with its old and new value, and every remaining finding with the reason. It writes nothing.
//! [`apply`] saves the old documents and executes a plan; [`undo`] restores them.
//!
//! ```
//! use zvf_validate::repair::{RepairOptions, plan};
//!
//! # #[tokio::main(flavor = "multi_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bundled = zvf_testkit::unpack("0.9/graph")?;
//! # let store = bundled.url()?;
//! let plan = plan(&store, &RepairOptions::default()).await?;
//! assert!(plan.changes.is_empty() && plan.left.is_empty());
//! # Ok(()) }
//! ```
//!
//! # What is repaired
//!
//! Presence lists, from the existing objects and shards. Counts of vertices, links and objects, bounds and declarations about tiling, from cells.
//! Members of arrays that repeat their path, and of families that repeat the paths of their arrays. Members of the root that repeat its levels:
//! datasets of `multiscales`, the `ome` node, capabilities. [`Repairable`](crate::Repairable) states for each check whether its findings are repaired.
//!
//! # What is not repaired
//!
//! No payload is written, moved or removed: only objects called `zarr.json` change, and only members that can be derived. A change that would cause a
//! new warning or error is not planned: a listed key without a cell stays listed if other cells or objects refer to it, because the cell was lost.
//! Numbers are not lowered, and claims that a damaged cell contradicts are not removed, unless the loss is accepted. Of two members that contradict
//! each other neither is trusted: a third one has to confirm one of them.
//! Stores of versions before 0.9 are refused: `zvf migrate` copies them to 0.9 and derives these members again.
//!
//! This module requires the feature `repair`, which adds the writing crates as dependencies; a validator alone does not need them.

mod apply;
mod document;
mod documents;
mod edit;
mod error;
mod lists;
mod nodes;
mod options;
mod plan;
mod root;
mod scales;

pub use apply::{Applied, apply, undo};
pub use document::document;
pub use error::RepairError;
pub use options::RepairOptions;
pub use plan::{MemberChange, RepairPlan, Unrepaired, plan};

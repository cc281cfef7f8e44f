//! Makes the documents of a Zarr Vectors store right again, from the cells that are there.
//!
//! [`plan`] looks at a store as [`zvf_validate`] does, works out which members of which documents would have to change, looks
//! at the store as it would be then, and answers with a [`Plan`]: every change with its old and new value, and every finding that
//! stays, with the reason. It writes nothing. [`apply`] carries a plan out, after the documents were kept beside the store;
//! [`undo`] puts them back.
//!
//! ```
//! use zvf_repair::{RepairOptions, plan};
//!
//! # #[tokio::main(flavor = "multi_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bundled = zvf_testkit::unpack("0.9/graph")?;
//! # let store = bundled.url()?;
//! let plan = plan(&store, &RepairOptions::default()).await?;
//! assert!(plan.changes.is_empty() && plan.left.is_empty());
//! # Ok(()) }
//! ```
//!
//! # What is derived
//!
//! Presence lists, from the objects and shards that are there. Counts of vertices, links and objects, bounds and claims about
//! tiling, from cells. What an array repeats of its path, and a family of the paths of its arrays. What the root repeats of its
//! levels: datasets of `multiscales`, the `ome` node, capabilities. [`Repairable`](zvf_validate::Repairable) says it for each check.
//!
//! # What is never done
//!
//! No payload is written, moved or removed, whatever it holds: only objects called `zarr.json` change, and only members that
//! follow from something else. A change that makes a finding which was not there before, of the severity of a warning or
//! worse, is not planned: a key that is listed without a cell stays listed where other cells or objects refer to it, since the
//! cell was lost. Stores of versions before 0.9 are refused: `zvf migrate` copies them into 0.9 and derives all of this again.

mod apply;
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
pub use error::RepairError;
pub use options::RepairOptions;
pub use plan::{Change, Left, Plan, plan};

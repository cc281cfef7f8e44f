//! Whether a Zarr Vectors store can be trusted.
//!
//! [`validate`] looks at a store of any version that is read (0.6 to 0.9), on a disk or far away, and answers with a [`Report`]:
//! every place where a rule of the format is broken, with a stable code, how much it matters, what was found, what was expected,
//! and what helps. What is wrong with a store is never an error of this crate, and nothing in a store makes it panic.
//!
//! ```
//! use zvf_validate::{Depth, ValidateOptions, validate};
//!
//! # #[tokio::main(flavor = "multi_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bundled = zvf_testkit::unpack("0.9/graph")?;
//! # let store = bundled.url()?;
//! let report = validate(&store, &ValidateOptions::new(Depth::Multiscale)).await?;
//! assert!(report.is_ok(), "{:?}", report.findings);
//! # Ok(()) }
//! ```
//!
//! # Levels
//!
//! A check belongs to a [`Depth`], and each depth includes those before it.
//!
//! | level | looks at | reads |
//! |---|---|---|
//! | L1 structure | folders and documents | documents, listings of folders |
//! | L2 metadata | what documents say | the same |
//! | L3 consistency | whether all cells decode and agree with documents and with each other | every cell once, a listing of every array |
//! | L4 conformance | where vertices lie; what a kind of geometry asks: trees, faces, lines | the same |
//! | L5 multiscale | levels among each other | the same |
//!
//! The number of requests of levels 1 and 2 does not grow with the number of chunks. [`Check::all`] is the table of all checks; the
//! list in `docs/checks.md` is made from it. The rules about documents are those of [`zvf_meta::rules`], which readers ask as well.
//!
//! [`Profile::Viewer`] asks in addition, from the documents alone, whether viewers can show the store; the names of its checks begin
//! with `viewer-`.
//!
//! # What is believed
//!
//! Nothing. A cell that cannot be read is a finding, and what depends on it is left out: one damaged cell gives one finding and not
//! hundreds. Where the released package warns about every store of points, or reads over a damaged chunk, the rule is what counts
//! (0.9 §19, trap T16).
//!
//! # Order and bounds
//!
//! Cells are read in batches on all workers, and findings are kept in the order of levels, arrays and chunks: the same store and
//! options give the same report. Of one check [`ValidateOptions::most`] findings are kept; all are counted. Memory is bounded by the
//! limits of the store and by what [`validate`] states.
//!
//! A validation that takes long can keep what it has done in a file ([`ValidateOptions::journal`]) and, cut off and begun again,
//! resumes from there and gives the same report.

mod chains;
mod check;
mod chunks;
mod documents;
mod error;
mod fetch;
mod finding;
mod journal;
mod level;
mod links;
mod measured;
mod multiscale;
mod numbers;
mod objects;
mod options;
mod output;
mod owners;
mod presence;
mod repairable;
mod report;
mod run;
mod tables;
mod trees;
mod validate;
mod viewer;

pub use check::{Check, CheckInfo, Code, Depth};
pub use error::ValidateError;
pub use finding::{Finding, Place};
pub use measured::{Measured, MeasuredFamily, MeasuredLevel};
pub use options::{Profile, Progress, Sample, Step, ValidateOptions};
pub use output::{json, junit, markdown, sarif};
pub use repairable::Repairable;
pub use report::{Report, Seen};
pub use validate::validate;
pub use zvf_meta::rules::Severity;

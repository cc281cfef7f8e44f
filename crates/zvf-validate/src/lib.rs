//! Validates Zarr Vectors stores.
//!
//! [`validate`] checks a store of any supported version (0.6 to 0.9), local or remote, and returns a [`Report`]: every violation of a rule of the
//! format, with a stable code, severity, place, the found and the expected value, and advice. A defect of a store is never an error of this crate,
//! and no input causes a panic.
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
//! # Depths
//!
//! A check belongs to a [`Depth`], and each depth includes those before it.
//!
//! | depth | checks | reads |
//! |---|---|---|
//! | L1 structure | folders and documents | documents, listings of folders |
//! | L2 metadata | the contents of documents | the same |
//! | L3 consistency | whether all cells decode and agree with documents and with each other | every cell once, a listing of every array |
//! | L4 conformance | placement of vertices; the rules of each kind of geometry: trees, faces, lines | the same |
//! | L5 multiscale | relations between levels | the same |
//!
//! The number of requests of L1 and L2 does not depend on the number of chunks. [`Check::all`] is the table of all checks; the list in
//! `docs/checks.md` is generated from it. Rules about documents are defined in [`zvf_meta::rules`]; readers apply the same rules.
//!
//! [`Profile::Viewer`] also checks, from the documents alone, whether viewers can show the store; the names of these checks begin with `viewer-`.
//!
//! # Damaged stores
//!
//! A cell that cannot be read is a finding, and checks that depend on it are skipped: one damaged cell causes one finding, not hundreds. Findings
//! follow the rules of the format, not the Python package, which warns about every store of points and ignores damaged chunks (0.9 §19, trap T16).
//!
//! # Order and limits
//!
//! Cells are read in batches by all workers, but findings are sorted by level, array and chunk, so the same store and options give the same
//! report. The report has at most [`ValidateOptions::most`] findings of one check; all are counted. Memory is bounded by the limits of the store and
//! the cost of [`validate`].
//!
//! A long validation can record its progress in a file ([`ValidateOptions::journal`]); when it is started again after an interruption, it continues
//! from there and gives the same report.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod chains;
mod check;
mod chunks;
mod documents;
mod error;
mod finding;
mod journal;
mod level;
mod links;
mod measured;
mod multiscale;
mod numbers;
mod objects;
mod options;
mod ordered;
mod output;
mod owners;
mod presence;
#[cfg(feature = "repair")]
pub mod repair;
mod repairable;
mod report;
mod run;
mod stored;
mod tables;
mod trees;
mod validate;
mod values;
mod viewer;

pub use check::{Check, CheckInfo, Code, Depth};
pub use error::ValidateError;
pub use finding::{Finding, Place};
pub use measured::{Measured, MeasuredFamily, MeasuredLevel};
pub use options::{Profile, Progress, Sample, ValidateOptions, ValidationStep};
pub use output::{json, junit, markdown, sarif};
pub use repairable::Repairable;
pub use report::{Report, Seen};
pub use validate::validate;
pub use zvf_meta::rules::Severity;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

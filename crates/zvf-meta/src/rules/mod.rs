//! The rules of the format about a store's documents.
//!
//! Each rule is one function that takes parsed documents and appends violations to a list; none reads a file. A validator loads the documents and calls
//! [`check_documents`], which returns the violations with rule, severity, path, found and expected value, at most [`MOST_PROBLEMS`] for each rule and
//! document. A reader checks only the rules that it depends on: [`check_root_for`], [`check_level_for`].
//!
//! Type errors in a document (a missing required member, a text instead of a number) are a [`MetaError`](crate::MetaError) of parsing, not a rule.
//! Properties of cells (row bounds, tiling, sizes) cannot be checked from documents.
//!
//! [`RULES`] lists all rules with one sentence and the section of the format page.

mod array;
mod axes;
mod check;
mod declared;
mod grid;
mod level;
mod links;
mod objects;
mod ome;
mod problem;
mod root;
mod store;
mod table;
mod vlen;

pub use check::{check_level_for, check_root, check_root_for};
pub use objects::{absent_value, zarr_name};
pub use problem::{LevelAt, MOST_PROBLEMS, Problem, close};
pub use store::{CheckedDocuments, check_documents};
pub use table::{RULES, Rule, RuleInfo, Severity};

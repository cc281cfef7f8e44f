//! Tables of objects and groups: a typed array for each attribute, with a row for each of them (0.9 §11.4).
//!
//! [`EncodedRows`] collects rows in their stored form and decides what means absence ([`Absence`]); [`Typed`] is the array,
//! which [`Typed::write`] puts. [`column()`] does both for a column in memory.

pub(crate) mod column;
pub(crate) mod typed;

pub use column::{Absence, EncodedRows, HeldColumn, TableOf, column, described};
pub use typed::{ElementType, ROWS, Typed};

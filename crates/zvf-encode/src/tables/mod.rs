//! Tables of objects and groups: a typed array for each attribute, with one row per object or group (0.9 §11.4).
//!
//! [`EncodedRows`] collects rows in their stored form and chooses the element that means missing ([`Absence`]); [`Typed`] is the array, which
//! [`Typed::write`] writes. [`column()`] does both for a column in memory.

pub(crate) mod column;
pub(crate) mod typed;

pub use column::{Absence, EncodedRows, HeldColumn, TableOf, column, described};
pub use typed::{ElementType, ROWS, Typed};

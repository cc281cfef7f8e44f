//! Tables of objects and groups: a typed array for each attribute.

pub(crate) mod column;
pub(crate) mod typed;

pub use column::{Held, TableOf, TableRows, column, described, plain_column};
pub use typed::{Element, ROWS, Typed};

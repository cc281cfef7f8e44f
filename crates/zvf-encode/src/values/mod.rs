//! Columns of numbers and texts, and the number types that stores have.
//!
//! [`Values`] is a column as the caller passes it. [`NumberType`] is the type of its numbers in a store, little-endian; [`NumberType::fills`] are the
//! numbers that can stand for a missing value.

pub(crate) mod column;
pub mod decimal;
pub(crate) mod fitted;
pub(crate) mod number;
pub(crate) mod text_list;

pub use column::{Values, packed};
pub use number::{Fill, NumberType, narrow};
pub use text_list::{TextList, TextSet};

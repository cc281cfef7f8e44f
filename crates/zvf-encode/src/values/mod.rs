//! Columns of numbers and texts, and the number types that stores have.
//!
//! [`Values`] is a column as a caller has it, borrowed or owned; [`NumberType`] is how its numbers are stored: little-endian,
//! and which of them can mean absence ([`NumberType::fills`]).

pub(crate) mod column;
pub mod decimal;
pub(crate) mod fitted;
pub(crate) mod number;
pub(crate) mod text_list;

pub use column::{Values, packed};
pub use number::{Fill, NumberType, narrow};
pub use text_list::{TextList, TextSet};

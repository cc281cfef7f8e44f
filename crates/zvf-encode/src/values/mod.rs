//! Columns of numbers and texts, and the number types that stores have.

pub(crate) mod column;
pub mod decimal;
pub(crate) mod fitted;
pub(crate) mod number;
pub(crate) mod text_list;

pub use column::{Values, packed};
pub use number::{Fill, NumberType, narrow};
pub use text_list::{TextList, TextSet};

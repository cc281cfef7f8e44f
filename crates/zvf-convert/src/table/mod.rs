//! Tables: text, Arrow, Parquet.

pub(crate) mod arrow;
mod arrow_check;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod text;
pub(crate) mod write;

//! Readers: whole frames, chunks, and slices of arrays.

mod array;
mod cache;
mod decode;
mod error;
mod fetch;
mod frame;
mod index;
mod parts;
mod plan;

pub use array::Array;
pub use error::{Error, ErrorClass};
pub use fetch::ReadOptions;
pub use frame::Frame;
pub use parts::ReadCounts;

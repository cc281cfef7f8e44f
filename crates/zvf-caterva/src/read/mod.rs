//! Readers: whole frames, chunks, and slices of arrays.

mod array;
mod cache;
mod decode;
mod error;
mod fetch;
mod frame;
mod index;
#[cfg(feature = "object_store")]
mod object;
mod parts;
mod plan;
mod source;

pub use array::Array;
pub use error::{Error, ErrorClass};
pub use fetch::ReadOptions;
pub use frame::Frame;
#[cfg(feature = "object_store")]
pub use object::ObjectArray;
pub use parts::Counts;
pub use source::{FileAt, ReadAt};

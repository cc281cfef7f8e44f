//! Converts the bytes of cells to columns of record batches.

pub(crate) mod arrow;
pub(crate) mod attribute;
pub(crate) mod gather;
pub(crate) mod point;
pub(crate) mod position;
pub(crate) mod scalar;
pub(crate) mod stored;

//! LAS and LAZ: points of laser scanners.

mod columns;
mod crs;
mod header;
mod layout;
#[cfg(feature = "laz")]
mod laz;
pub(crate) mod read;

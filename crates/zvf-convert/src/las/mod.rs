//! LAS and LAZ: points of laser scanners.

#[cfg(feature = "laz")]
mod chunk;
mod columns;
#[cfg(feature = "laz")]
mod copc;
mod crs;
mod fields;
mod header;
mod layout;
#[cfg(feature = "laz")]
mod laz;
#[cfg(feature = "laz")]
mod pack;
mod part;
mod plan;
pub(crate) mod read;
pub(crate) mod write;

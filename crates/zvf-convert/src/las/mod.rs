//! LAS and LAZ: points of laser scanners.

mod chunk;
mod columns;
mod copc;
mod crs;
pub(crate) mod fetch;
mod fields;
mod header;
mod layout;
#[cfg(feature = "laz")]
mod laz;
mod origin;
#[cfg(feature = "laz")]
mod pack;
mod part;
mod plan;
mod ranges;
pub(crate) mod read;
mod steps;
pub(crate) mod write;

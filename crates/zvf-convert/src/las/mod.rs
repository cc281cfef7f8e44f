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
mod projected;
mod ranges;
pub(crate) mod read;
mod steps;
pub(crate) mod write;

/// Members of a stored header that files of one survey do not share.
pub(crate) const OF_ONE_FILE: [&str; 6] = [
    "offset",
    origin::SOURCE_ID,
    origin::GUID,
    origin::SYSTEM,
    origin::SOFTWARE,
    origin::CREATED,
];

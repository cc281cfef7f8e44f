//! Reads Zarr Vectors stores from disks, buckets and web servers.

pub mod blocking;
mod cells;
mod codec;
mod coord;
mod error;
mod generic;
mod grid;
mod groups;
mod kv;
mod layout;
mod level;
mod limits;
mod links;
mod location;
mod objects;
mod options;
mod presence;
mod ragged;
mod raw;
mod snapshot;
mod store;
mod trace;
mod typed;
mod warnings;

pub use zvf_format as format;
pub use zvf_meta as meta;

pub use cells::CellWant;
pub use coord::ChunkCoord;
pub use error::{Class, Source, StoreError};
pub use grid::GridArray;
pub use groups::Groups;
pub use level::{Level, VertexAttribute};
pub use limits::Limits;
pub use links::{Endpoint, LinkArray, LinkAttribute, LinkCell, LinkFamily};
pub use objects::{IdTable, ManifestChunk, ObjectIndex};
pub use options::{Deltas, KnownNames, Names, Need, OpenOptions};
pub use presence::{InBox, Presence};
pub use raw::{RawStore, Usage, undo_codecs};
pub use store::Store;
pub use trace::{IoTrace, Method, Request};
pub use typed::{TypedArray, TypedValues};

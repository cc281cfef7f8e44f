//! Layouts of Neuroglancer's precomputed formats that both directions share: what [`Import`](crate::Import) reads is declared here once, beside
//! what writes it.
//!
//! | layout | declaration | written by |
//! |---|---|---|
//! | `neuroglancer_uint64_sharded_v1` | [`Sharding`] | [`ShardWriter`] |
//! | one fragment of `neuroglancer_multilod_draco` | [`DRACO_BITS`] | [`encode_draco`] |
//!
//! Source: `src/datasource/precomputed/{sharded,meshes,volume}.md` of google/neuroglancer, release 2.41.2.

mod draco;
mod murmur;
mod sharding;
mod writer;

pub use draco::{DRACO_BITS, DracoError, encode_draco};
pub use sharding::{Hash, Layout, Sharding, ShardingError, morton, morton_bits};
pub use writer::{ShardError, ShardSize, ShardWriter, Sharded};

#[cfg(test)]
mod tests;

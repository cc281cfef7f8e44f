//! `neuroglancer_uint64_sharded_v1`, which stores many objects in few files: its description, read and written, and a writer of shards.
//!
//! Source: `src/datasource/precomputed/{sharded,volume}.md` of google/neuroglancer, release 2.41.2.

mod murmur;
mod sharding;
mod writer;

pub use sharding::{Hash, ShardBits, ShardingError, ShardingSpec, morton, morton_bits};
pub use writer::{ShardError, ShardSize, ShardWriter, Sharded};

#[cfg(test)]
mod tests;

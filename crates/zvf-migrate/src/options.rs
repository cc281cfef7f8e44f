//! How a store is copied.

use std::sync::Arc;

use zvf_codec::Compression;
use zvf_encode::{ShardShape, TargetVersion, WriteOptions};

/// Called with the number of vertices that were copied since the last call.
pub type MigrateProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// How a store is copied.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct MigrateOptions {
    /// Memory, threads, the backend of the new store.
    pub write: WriteOptions,
    /// Version of the new store. Default: the newest one.
    pub target: TargetVersion,
    /// How chunks are compressed. Default: as in each level of the old store if its codec is known and the target supports it, else chosen from the
    /// data.
    pub compression: Option<Compression>,
    /// Chunks of a shard along each spatial axis, or [`ShardShape::Auto`] to choose them for each level. Default: as in each level of the old store.
    pub shard_shape: Option<ShardShape>,
    /// World size of a chunk of level 0. Coarser levels keep their multiple of it. Default: unchanged.
    pub chunk_shape: Option<Vec<f64>>,
    /// World size of a bin of level 0, which must divide the chunk. Default: as in the old store if it divides the new chunk, else
    /// the chunk.
    pub bin_shape: Option<Vec<f64>>,
    /// Whether content that cannot be copied is an error.
    pub strict: bool,
    /// Whether the copy is not verified.
    pub unverified: bool,
    /// Reports the progress of the copy.
    pub progress: Option<MigrateProgress>,
}

impl std::fmt::Debug for MigrateOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MigrateOptions")
            .field("write", &self.write)
            .field("target", &self.target)
            .field("compression", &self.compression)
            .field("shard_shape", &self.shard_shape)
            .field("chunk_shape", &self.chunk_shape)
            .field("bin_shape", &self.bin_shape)
            .field("strict", &self.strict)
            .field("unverified", &self.unverified)
            .finish_non_exhaustive()
    }
}

impl MigrateOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces [`write`](Self::write).
    #[must_use]
    pub fn with_write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Replaces [`target`](Self::target).
    #[must_use]
    pub fn with_target(mut self, target: TargetVersion) -> Self {
        self.target = target;
        self
    }

    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Replaces [`shard_shape`](Self::shard_shape).
    #[must_use]
    pub fn with_shard_shape(mut self, cells: impl Into<ShardShape>) -> Self {
        self.shard_shape = Some(cells.into());
        self
    }

    /// Replaces [`chunk_shape`](Self::chunk_shape).
    #[must_use]
    pub fn with_chunk_shape(mut self, shape: impl Into<Vec<f64>>) -> Self {
        self.chunk_shape = Some(shape.into());
        self
    }

    /// Replaces [`bin_shape`](Self::bin_shape).
    #[must_use]
    pub fn with_bin_shape(mut self, shape: impl Into<Vec<f64>>) -> Self {
        self.bin_shape = Some(shape.into());
        self
    }

    /// Replaces [`strict`](Self::strict).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Replaces [`unverified`](Self::unverified).
    #[must_use]
    pub fn with_unverified(mut self, unverified: bool) -> Self {
        self.unverified = unverified;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: MigrateProgress) -> Self {
        self.progress = Some(progress);
        self
    }
}

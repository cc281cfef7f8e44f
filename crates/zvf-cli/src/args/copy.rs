//! `zvf copy`, `zvf migrate` and `zvf rechunk`: copies of stores.

use std::path::PathBuf;

use clap::Args;
use zvf_write::{Compression, ShardShape};

use super::TargetArg;

/// `zvf copy`
#[derive(Debug, Args)]
#[command(after_help = "\
Every file of the store is copied byte for byte, from any place to any other one: folders, buckets; a web server only if it lists files. Several \
are on their way at once (--concurrency). Until the copy is whole it has no zarr.json, so that no reader takes it for a store. After an \
interruption or a failure of the storage the same command continues: what is there is not copied again. Lengths are compared, with --verify all \
bytes are read back, too. A source that changes meanwhile is an error (exit code 3), one that another program is changing is busy (75). \
`zvf migrate` and `zvf rechunk` make copies in another version or other chunks.

Examples:
  zvf copy brain.zarrvectors s3://bucket/brain.zarrvectors
  zvf copy s3://bucket/brain.zarrvectors gs://other/brain.zarrvectors --concurrency 64
  zvf copy s3://bucket/brain.zarrvectors brain.zarrvectors --anonymous --verify
  zvf copy brain.zarrvectors /backup/brain.zarrvectors --json | jq .bytes")]
pub(crate) struct CopyArgs {
    /// Path or URL of the store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the copy; nothing is there, or what an interrupted copy left
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Reads every file of the copy back, and compares its checksum with that of SRC
    #[arg(long)]
    pub(crate) verify: bool,
    /// Removes what an interrupted writer left at DST, instead of continuing or refusing; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// `zvf migrate`
#[derive(Debug, Args)]
#[command(after_help = "\
Everything goes along: all levels, objects with their ids and order, attributes, links in their direction, groups, axes, headers, \
and unknown members. Chunks keep their rows. Known defects of old releases are repaired and counted; what cannot be \
carried is listed, and with --strict is an error. Then both stores are read once more and compared (left out with --no-verify). \
DST is there as a whole or not at all. With --journal an interrupted copy is resumed, if SRC has not changed.

In 0.8.1 the id of an object is the number of its row: ids below 0 or above 67108863 are an error, and ids that no object has become \
objects without vertices. Chunks below 0 have no place in shards.

Examples:
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2
  zvf migrate s3://bucket/old.zarrvectors new.zarrvectors --to 0.9.2 --strict
  zvf migrate new.zarrvectors for-old-tools.zarrvectors --to 0.8.1
  zvf migrate old.zarrvectors s3://bucket/new.zarrvectors --to 0.9.2 --journal copy.journal
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2 --shard-shape 8,8,8 --codec zstd --json | jq .losses")]
pub(crate) struct MigrateArgs {
    /// Path or URL of the old store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store; it must not exist
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Version of the new store
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) to: TargetArg,
    /// How it is stored, and what is an error.
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
}

/// How a copy is stored, and what is an error.
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    /// How chunks are compressed: auto (the codec of each array follows its data), none, zstd,
    /// zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over shuffled bytes: faster to read and write),
    /// or a list of Zarr codecs in JSON
    /// [default: the codec of SRC if this program can write it, else auto; auto if the codecs of SRC were chosen]
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<Compression>,
    /// Chunks of a shard along each axis; `auto`: as few files as can be edited, where a level has many chunks; `none`: every chunk
    /// is a file of its own [default: as in SRC]
    #[arg(long, value_name = "X,Y,..|auto|none")]
    pub(crate) shard_shape: Option<ShardShape>,
    /// Fails where anything cannot be carried, instead of listing it
    #[arg(long)]
    pub(crate) strict: bool,
    /// Removes what an interrupted copy left at DST; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
    /// Keeps what is copied in FILE until DST is there: the same command resumes after an interruption
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
}

/// `zvf rechunk`
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is: the shape of chunks and bins, shards, the compression. Coarser levels keep the number of chunks of \
level 0 that theirs are long. Objects keep their ids and the order of their vertices, links what they join; rows and fragments lie \
elsewhere. Both stores are read once more and compared (left out with --no-verify). SRC may be of any version, DST is of 0.9.2, \
and is there as a whole or not at all. With --journal an interrupted copy is resumed.

Examples:
  zvf rechunk tracts.zarrvectors coarse.zarrvectors --chunk-shape 100,100,100
  zvf rechunk points.zarrvectors binned.zarrvectors --bin-shape 12.5,12.5,12.5
  zvf rechunk brain.zarrvectors s3://bucket/brain.zarrvectors --shard-shape 8,8,8 --codec zstd")]
pub(crate) struct RechunkArgs {
    /// Path or URL of the old store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store; it must not exist
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Size of a chunk of level 0 on each axis; chunks of coarse levels follow, and have to hold whole bins of theirs
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = super::common::size)]
    pub(crate) chunk_shape: Option<Vec<f64>>,
    /// Size of a bin of level 0 on each axis: a whole part of the chunk's
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = super::common::size)]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// How it is stored, and what is an error.
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
}

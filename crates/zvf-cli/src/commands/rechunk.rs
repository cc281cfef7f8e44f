//! `zvf rechunk`: a copy in chunks, bins, shards or a compression of another shape.

use clap::Args;

use super::migrate::{StorageArgs, copy, options};
use crate::context::Context;
use crate::error::{CliError, Result};

/// `zvf rechunk`
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is: the shape of chunks and bins, shards, the compression. Coarser levels keep the number of chunks of \
level 0 that theirs are long. Objects keep their ids and the order of their vertices, links what they join; rows and fragments lie \
elsewhere. Both stores are read once more and compared (left out with --no-verify). SRC may be of any version, DST is of 0.9.2, \
and is there as a whole or not at all. With --journal a copy that was interrupted goes on where it was.

Examples:
  zvf rechunk tracts.zarrvectors coarse.zarrvectors --chunk-shape 100,100,100
  zvf rechunk points.zarrvectors binned.zarrvectors --bin-shape 12.5,12.5,12.5
  zvf rechunk brain.zarrvectors s3://bucket/brain.zarrvectors --shard-shape 8,8,8 --codec zstd")]
pub(crate) struct RechunkArgs {
    /// Path or URL of the old store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store; nothing may lie there
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Size of a chunk of level 0 on each axis
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) chunk_shape: Option<Vec<f64>>,
    /// Size of a bin of level 0 on each axis: a whole part of the chunk's
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// How it is stored, and what is an error.
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
}

/// Runs `zvf rechunk`.
///
/// # Errors
///
/// Usage: nothing to change, or shapes that do not fit; else as `zvf migrate`.
pub(crate) fn run(args: &RechunkArgs, context: &mut Context<'_>) -> Result<()> {
    let storage = &args.storage;
    let nothing = args.chunk_shape.is_none()
        && args.bin_shape.is_none()
        && storage.shard_shape.is_none()
        && storage.codec.is_none();
    if nothing {
        let what =
            "expected one of --chunk-shape, --bin-shape, --shard-shape and --codec, found none";
        return Err(CliError::usage(what));
    }
    let mut options = options(storage, context);
    if let Some(shape) = &args.chunk_shape {
        options = options.with_chunk_shape(shape.clone());
    }
    if let Some(shape) = &args.bin_shape {
        options = options.with_bin_shape(shape.clone());
    }
    copy(&args.source, &args.target, options, context)
}

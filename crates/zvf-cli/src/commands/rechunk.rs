//! `zvf rechunk`: a copy in chunks, bins, shards or a compression of another shape.

use super::migrate::{copy, options};
use crate::args::RechunkArgs;
use crate::context::Context;
use crate::error::{CliError, Result};

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

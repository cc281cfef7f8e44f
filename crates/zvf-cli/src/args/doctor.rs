//! `zvf doctor`.

use clap::Args;

/// `zvf doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
A finding states a value measured on this store, the value after a change, and the command for the change; NEW stands for the address of a copy. doctor itself changes nothing.

  codec         bytes of level 0: up to 16 cells of each array are encoded again by the codec that suits it; reported from 5 % on
  shards        files: level 0 has 1,000 chunks or more, each with files of its own
  chunk-shape   vertices of a chunk: the median of up to 256 is below 1,000; longer chunks with 5,000 or more on average are suggested
  owners        bytes of the object index that each box reads, since the column of owners is missing or out of date
  stale-levels  chunks that were edited since the coarse levels were made
  deleted       deleted objects that the object index still has a row of
  leftovers     files that no reader asks for; no other program may write the store meanwhile

`zvf validate` finds what is wrong with a store, this what is slow or large.

Examples:
  zvf doctor brain.zarrvectors
  zvf doctor s3://bucket/brain.zarrvectors --json | jq -r '.advice[].command'")]
pub(crate) struct DoctorArgs {
    /// Path or URL of the store
    pub(crate) store: String,
}

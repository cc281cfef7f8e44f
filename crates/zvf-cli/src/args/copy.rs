//! `zvf copy`.

use clap::Args;

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

//! `zvf info`, `zvf objects` and `zvf links`.

use std::path::PathBuf;

use clap::Args;

use zvf_jobs::LevelOptions;

/// `zvf info`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf info brain.zarrvectors
  zvf info brain.zarrvectors --json | jq '.levels[].vertices'
  zvf info brain.zarrvectors --sizes
  zvf info https://example.org/brain.zarrvectors --count")]
pub(crate) struct InfoArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Count vertices from the data instead of trusting the metadata
    #[arg(long)]
    pub(crate) count: bool,
    /// Files and bytes of each level, and codec and ratio of each array, which lists the whole store
    #[arg(long)]
    pub(crate) sizes: bool,
}

/// The text after the options in the help of `zvf objects`.
pub(crate) const OBJECTS: &str = "\
Conditions are on attributes of objects, object_id, count(), length(), start.x and end.x. Sorted objects have to fit --memory-budget; with --limit N about \
2 N of them.

Examples:
  zvf objects brain.zarrvectors
  zvf objects brain.zarrvectors --level 1 --limit 20
  zvf objects tracts.zarrvectors --where 'count() > 100' --sort=-vertices --limit 20
  zvf objects neurons.zarrvectors --sort cell_type,-vertices -o objects.csv";

/// `zvf links`
#[derive(Debug, Args)]
#[command(after_help = "\
The endpoints of a record have the order that the application gave them, each as chunk:row. Edges that follow from the geometry are
not stored and not listed; `zvf query` returns them.

Examples:
  zvf links brain.zarrvectors
  zvf links brain.zarrvectors --delta +1 --limit 20
  zvf links brain.zarrvectors --level 1 --delta -1 --json")]
pub(crate) struct LinksArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Which level is read
    #[command(flatten)]
    pub(crate) at: LevelOptions,
    /// Levels that the links span: 0 inside the level, +1 to the next coarser, -1 to the next finer
    #[arg(
        long,
        value_name = "D",
        default_value = "0",
        allow_hyphen_values = true
    )]
    pub(crate) delta: String,
    /// At most this many records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

//! `zvf head`, `zvf tail` and `zvf sample-rows`

use std::path::PathBuf;

use clap::Args;

use zvf_jobs::{LevelOptions, SelectionOptions};

/// `zvf head`
#[derive(Debug, Args)]
#[command(after_help = "\
The rows are those that `zvf query` returns first: chunks in the order of their coordinates, or objects in the given order. Only the chunks
that have these rows are read.

Examples:
  zvf head brain.zarrvectors
  zvf head brain.zarrvectors -n 3 --columns position,object_id,intensity
  zvf head tracts.zarrvectors --objects 7 -n 5 --json")]
pub(crate) struct HeadArgs {
    /// The rows, and which of them
    #[command(flatten)]
    pub(crate) asked: RowArgs,
}

/// `zvf tail`
#[derive(Debug, Args)]
#[command(after_help = "\
The rows are those that `zvf query` returns last: chunks in the order of their coordinates, or objects in the given order. The query is read from its end in pieces of about
262,144 rows, until there are enough rows.

Examples:
  zvf tail brain.zarrvectors
  zvf tail brain.zarrvectors -n 3 --columns position,object_id,intensity
  zvf tail tracts.zarrvectors --objects 7 -n 5 --json")]
pub(crate) struct TailArgs {
    /// The rows, and which of them
    #[command(flatten)]
    pub(crate) asked: RowArgs,
}

/// `zvf sample-rows`
#[derive(Debug, Args)]
#[command(after_help = "\
Each row of the selection is drawn with the same probability, and none twice; the same seed draws the same rows from the same store. The selection is read once.
The rows that are drawn have to fit the memory budget. They are in the order of the query.

Examples:
  zvf sample-rows brain.zarrvectors -n 1000 -o sample.csv
  zvf sample-rows scan.zarrvectors -n 5 --seed 7 --where 'classification == 2' --json
  zvf sample-rows points.zarrvectors -n 100000 --columns x,y,z -o sample.parquet")]
pub(crate) struct SampleRowsArgs {
    /// The rows, and which of them
    #[command(flatten)]
    pub(crate) asked: RowArgs,
    /// Number that decides which rows are drawn
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// Rows of a store or a selection.
#[derive(Debug, Args)]
pub(crate) struct RowArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: u64,
    /// Which rows are used
    #[command(flatten)]
    pub(crate) terms: SelectionOptions,
    /// Which level is read
    #[command(flatten)]
    pub(crate) at: LevelOptions,
    /// Columns: position, chunk, row, fragment, object_id, object_ids or attribute names
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
}

//! `zvf head`

use clap::Args;

use super::{LevelArgs, TermArgs};

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
    /// Path or URL of the store
    pub(crate) store: String,
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: u64,
    /// Which rows are meant
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// Which level is read
    #[command(flatten)]
    pub(crate) at: LevelArgs,
    /// Columns: position, chunk, row, fragment, object_id, object_ids or attribute names
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
}

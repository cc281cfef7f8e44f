//! `zvf repair`.

use clap::{Args, ValueEnum};
use zvf_validate::Check;

/// `zvf repair`
#[derive(Debug, Args)]
#[command(after_help = "\
Derives presence lists, counts, bounds, what arrays repeat of their paths and the root of its levels, from the cells that are there.
Without --apply it only says what it would do. No payload is ever touched: what only a payload could settle is left, with the
reason, and so is what is lost: a listed cell that is gone stays listed and an error, where other arrays name its chunk, unless
--accept-loss gives it up. `zvf validate --list-checks --json` says for each check whether it is settled. Stores before 0.9 are refused: copy them
with `zvf migrate`. Documents that change are kept as they were beside the store; --undo puts them back.

Exit code 0: nothing to do, or all errors are settled; 1: without --apply, there is something to do or an error that stays; with
it, errors are left.

Examples:
  zvf repair brain.zarrvectors
  zvf repair brain.zarrvectors --apply
  zvf repair s3://bucket/brain.zarrvectors --only ZVF-L3-0012,cell-listed --apply --backup s3://bucket/kept/brain
  zvf repair brain.zarrvectors --undo brain.zarrvectors.backup-1f03a9c2b7d4e650")]
pub(crate) struct RepairArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Does it, and looks at the store again
    #[arg(long)]
    pub(crate) apply: bool,
    /// Settles findings of these checks only, by code or name
    #[arg(long, value_name = "CHECK,..", value_delimiter = ',', value_parser = check)]
    pub(crate) only: Option<Vec<Check>>,
    /// The deepest level of checks
    #[arg(long, value_name = "1..5", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: u8,
    /// Removes lost cells from their lists although other arrays name their chunks: their content is given up and
    /// reads as missing
    #[arg(long, conflicts_with = "undo")]
    pub(crate) accept_loss: bool,
    /// Where documents are kept as they were [default: beside the store]
    #[arg(long, value_name = "ADDRESS", requires = "apply")]
    pub(crate) backup: Option<String>,
    /// Puts back the documents that were kept there
    #[arg(long, value_name = "BACKUP", conflicts_with_all = ["apply", "only", "format"])]
    pub(crate) undo: Option<String>,
    /// Restores documents also if they changed after the repair
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
    /// Form of the plan; --json is the same as --format json
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<PlanFormat>,
}

/// Form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// A check by its code or name.
fn check(text: &str) -> std::result::Result<Check, String> {
    let known = Check::all();
    let named = known.iter().find(|info| info.title == text);
    let found = named.map(|info| info.check);
    found.or_else(|| Check::from_code(text)).ok_or_else(|| {
        "no check has this code or name; `zvf validate --list-checks` lists them".to_owned()
    })
}

//! `zvf repair`.

use clap::{Args, ValueEnum};
use zvf_jobs::RepairJob;

use super::JobArgs;

/// `zvf repair`
#[derive(Debug, Args)]
#[command(after_help = "\
Computes presence lists, counts, bounds, members that follow from the paths of arrays, and the levels of the root from the existing cells.
Without --apply the changes are only printed. Cells are never changed. Errors that cannot be corrected this way stay, with the reason. So
do lost cells: a missing cell stays listed, and an error, as long as other arrays have its chunk, unless --accept-loss removes it from the
list. `zvf validate --list-checks --json` states for each check whether it is settled. Stores before 0.9 are refused: copy them with
`zvf migrate`. Old documents are kept in a folder beside the store, and --undo restores them.

Exit code 0: no error is left. 1: there are changes to apply, or errors that stay.

Examples:
  zvf repair brain.zarrvectors
  zvf repair brain.zarrvectors --apply
  zvf repair s3://bucket/brain.zarrvectors --only ZVF-L3-0012,cell-listed --apply --backup s3://bucket/kept/brain
  zvf repair brain.zarrvectors --undo brain.zarrvectors.backup-1f03a9c2b7d4e650")]
pub(crate) struct RepairArgs {
    /// What is corrected.
    #[command(flatten)]
    pub(crate) of_job: JobArgs<RepairJob>,
    /// Form of the plan; --json is the same as --format json
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["undo", "print_job"])]
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

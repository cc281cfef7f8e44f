//! `zvf repair`.

use clap::{Args, ValueEnum};
use zvf_jobs::RepairJob;

use super::JobArgs;

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

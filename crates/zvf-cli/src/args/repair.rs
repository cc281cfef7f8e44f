//! `zvf repair`.

use clap::{Args, ValueEnum};
use zvf_jobs::RepairJob;

use super::JobArgs;

/// `zvf repair`
#[derive(Debug, Args)]
#[command(after_help = help!("repair"))]
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

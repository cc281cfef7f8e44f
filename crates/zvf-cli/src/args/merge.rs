//! `zvf merge`.

use clap::Args;
use zvf_jobs::{Job, MergeJob};

use super::JobArgs;

/// `zvf merge`
#[derive(Debug, Args)]
#[command(after_help = help!("merge"))]
pub(crate) struct MergeArgs {
    /// Paths or URLs of the stores, and of the new one at the end
    #[arg(value_name = "STORE", required = true, num_args = 3..)]
    paths: Vec<String>,
    /// How they are merged.
    #[command(flatten)]
    of_job: JobArgs<MergeJob>,
}

impl MergeArgs {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> (Job, bool) {
        let mut job = self.of_job.job.clone();
        if let Some((target, sources)) = self.paths.split_last() {
            (job.target, job.sources) = (target.clone(), sources.to_vec());
        }
        (job.into(), self.of_job.print_job)
    }
}

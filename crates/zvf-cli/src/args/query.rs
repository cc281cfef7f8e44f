//! `zvf query` and `zvf get`: selections and output.

use clap::Args;
use zvf_jobs::{QueryJob, RegionOptions, ResultOptions};

use super::JobArgs;

/// `zvf query`
#[derive(Debug, Args)]
#[command(after_help = help!("query"))]
pub(crate) struct QueryArgs {
    /// The options.
    #[command(flatten)]
    of_job: JobArgs<QueryJob>,
    /// Shows what the query would read: chunks, cells of each array, steps of requests; only documents are read
    #[arg(long, conflicts_with_all = ["output", "format", "print_job"])]
    pub(crate) explain: bool,
}

impl QueryArgs {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> (QueryJob, bool) {
        (self.of_job.job.clone(), self.of_job.print_job)
    }
}

/// `zvf get`
#[derive(Debug, Args)]
#[command(after_help = help!("get"))]
pub(crate) struct GetArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Object ids, ranges such as 1-5, or @FILE (a path or URL) of ids and ranges, separated by blanks, commas or line breaks
    #[arg(required = true, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,
    /// Leaves out ids that the store does not have, instead of failing
    #[arg(long)]
    pub(crate) ignore_missing: bool,
    /// Restricts the objects to their vertices in a part of space, or to those that touch it, are inside, start or end there
    #[command(flatten)]
    pub(crate) region: RegionOptions,
    /// What is written and how
    #[command(flatten)]
    pub(crate) result: ResultOptions,
    /// Prints the job as JSON for `zvf run` and does not run it. Common options are not included: give them to `zvf run`
    #[arg(long)]
    pub(crate) print_job: bool,
}

impl GetArgs {
    /// The query job of these arguments, and whether it is only printed.
    pub(crate) fn job(&self) -> (QueryJob, bool) {
        let mut job = QueryJob::default();
        job.store.clone_from(&self.store);
        job.terms.set_objects(&self.ids);
        job.terms.ignore_missing = self.ignore_missing;
        job.terms.place = self.region.clone();
        job.result = self.result.clone();
        (job, self.print_job)
    }
}

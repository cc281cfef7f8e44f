//! `zvf export`.

use std::path::PathBuf;

use clap::Args;
use zvf_jobs::{ExportJob, Job};

use super::JobArgs;

/// `zvf export`
#[derive(Debug, Args)]
#[command(after_help = help!("export"))]
pub(crate) struct ExportArgs {
    /// The options.
    #[command(flatten)]
    of_job: JobArgs<ExportJob>,
    /// The file to write; an existing file is replaced
    #[arg(required_unless_present = "output")]
    file: Option<PathBuf>,
    /// The same as FILE
    #[arg(short, long = "output", value_name = "FILE", conflicts_with = "file")]
    output: Option<PathBuf>,
}

impl ExportArgs {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> Option<(Job, bool)> {
        let mut job = self.of_job.job.clone();
        let file = self.file.as_ref().or(self.output.as_ref());
        job.file = file.cloned().unwrap_or_default();
        Some((job.into(), self.of_job.print_job))
    }
}

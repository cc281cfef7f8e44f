//! `zvf validate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zvf_jobs::{Job, ValidateJob};
use zvf_validate::Severity;

use super::JobArgs;

/// `zvf validate`
#[derive(Debug, Args)]
#[command(after_help = help!("validate"))]
pub(crate) struct ValidateArgs {
    /// Path or URL of the store
    #[arg(required_unless_present_any = ["list_checks", "explain"])]
    pub(crate) store: Option<String>,
    /// What is checked.
    #[command(flatten)]
    pub(crate) of_job: JobArgs<ValidateJob>,
    /// The lowest severity that makes the exit code 1
    #[arg(
        long,
        value_enum,
        value_name = "SEVERITY",
        default_value = "error",
        conflicts_with = "print_job"
    )]
    pub(crate) fail_on: FailOn,
    /// Explains one check, by its code or name, and looks at no store
    #[arg(long, value_name = "CODE", conflicts_with_all = ["store", "list_checks", "print_job"])]
    pub(crate) explain: Option<String>,
    /// Form of the report; --json is the same as --format json
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "print_job")]
    pub(crate) format: Option<ReportFormat>,
    /// Writes the report to a file instead of stdout
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["print_job", "list_checks", "explain"])]
    pub(crate) output: Option<PathBuf>,
    /// Prints the table of all checks, and looks at no store
    #[arg(long, conflicts_with = "print_job")]
    pub(crate) list_checks: bool,
}

impl ValidateArgs {
    /// The job, and whether it is only printed; `None` if checks are explained or listed.
    pub(crate) fn job(&self) -> Option<(Job, bool)> {
        let store = self.store.as_ref().filter(|_| !self.list_checks)?;
        let mut job = self.of_job.job.clone();
        job.store.clone_from(store);
        Some((job.into(), self.of_job.print_job))
    }
}

/// The severity that makes a validation fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors: some reader gets wrong data, or none
    Error,
    /// Warnings, too
    Warning,
    /// Any finding
    Note,
}

impl From<FailOn> for Severity {
    fn from(one: FailOn) -> Self {
        match one {
            FailOn::Error => Self::Error,
            FailOn::Warning => Self::Warning,
            FailOn::Note => Self::Note,
        }
    }
}

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// `JUnit` XML
    Junit,
}

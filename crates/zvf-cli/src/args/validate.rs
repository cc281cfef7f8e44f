//! `zvf validate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zvf_validate::Severity;

/// `zvf validate`
#[derive(Debug, Args)]
#[command(after_help = "\
Levels, each with those before it: 1 structure, 2 metadata, 3 consistency of all cells, 4 conformance (where vertices lie, trees,
faces, lines), 5 levels among each other. Levels 1 and 2 read no cells. Exit code 0: nothing as bad as --fail-on was found; 1:
something was; 3: the store could not be reached.

Examples:
  zvf validate brain.zarrvectors
  zvf validate s3://bucket/brain.zarrvectors --level 2 --anonymous
  zvf validate brain.zarrvectors --level 5 --fail-on warning --format junit -o report.xml
  zvf validate brain.zarrvectors --quick --seed 7
  zvf validate s3://bucket/brain.zarrvectors --resume brain.journal   # cut off? Run the same line again
  zvf validate brain.zarrvectors --level 2 --profile viewer --fail-on warning
  zvf validate --explain ZVF-L3-0040
  zvf validate --list-checks")]
pub(crate) struct ValidateArgs {
    /// Path or URL of the store
    #[arg(required_unless_present_any = ["list_checks", "explain"])]
    pub(crate) store: Option<String>,
    /// The deepest level of checks
    #[arg(long, value_name = "1..5", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: u8,
    /// The lowest severity that makes the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "error")]
    pub(crate) fail_on: FailOn,
    /// Reads a sample: so many chunks of each level, and cells of each array of links; reports what it left out
    #[arg(long, value_name = "CELLS", num_args = 0..=1, default_missing_value = "100")]
    pub(crate) quick: Option<usize>,
    /// Which cells --quick reads
    #[arg(long, value_name = "N", default_value_t = 0, requires = "quick")]
    pub(crate) seed: u64,
    /// Reads the cells of these levels only
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) levels: Option<Vec<u32>>,
    /// Reads the cells of these arrays only, by their path below the level or its beginning
    #[arg(long, value_name = "PATH,..", value_delimiter = ',')]
    pub(crate) arrays: Option<Vec<String>>,
    /// Checks that every vertex has a parent if there are links to a coarser level
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Further checks for one use of the store, from its documents
    #[arg(long, value_enum, value_name = "PROFILE")]
    pub(crate) profile: Option<ProfileArg>,
    /// Explains one check, by its code or name, and looks at no store
    #[arg(long, value_name = "CODE", conflicts_with_all = ["store", "list_checks"])]
    pub(crate) explain: Option<String>,
    /// Findings that are shown of one check; all are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: usize,
    /// Keeps in FILE what is done: the same command, begun again after it was cut off, reads the rest of the cells only. FILE is
    /// removed at the end, and started again when the question or a document of the store has changed
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Form of the report; --json is the same as --format json
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ReportFormat>,
    /// Writes the report to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Prints the table of all checks, and looks at no store
    #[arg(long)]
    pub(crate) list_checks: bool,
}

/// A use of a store that asks more than the format does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// What viewers cannot show, or show badly: axes, units, codecs, levels, attributes
    Viewer,
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

//! The job `validate`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use zvf_validate::{Depth, Profile, Sample, ValidateOptions};

use crate::checks::{needs, outside};
use crate::{Context, JobError};

options! {
    /// Checks a store for errors: structure, documents, cells, meaning, levels
    ValidateJob {
        /// Path or URL of the store
        #[arg(skip)]
        store: String,
        /// The deepest level of checks
        #[arg(long = "level", value_name = "1..5", default_value_t = ValidateJob::default().depth)]
        #[schemars(range(min = 1, max = 5))]
        depth: u8 = ValidateOptions::default().depth.number(),
        /// Reads a sample: CELLS chunks of each level, and CELLS cells of each array of links; reports what it left out
        #[arg(long, value_name = "CELLS", num_args = 0..=1, default_missing_value = "100")]
        quick: Option<usize>,
        /// Which cells --quick reads
        #[arg(long, value_name = "N", default_value_t = ValidateJob::default().seed)]
        seed: u64,
        /// Reads the cells of these levels only
        #[arg(long, value_name = "N,..", value_delimiter = ',')]
        levels: Option<Vec<u32>>,
        /// Reads the cells of these arrays only, given by their path below the level, or a prefix of it
        #[arg(long, value_name = "PATH,..", value_delimiter = ',')]
        arrays: Option<Vec<String>>,
        /// Checks that every vertex has a parent if there are links to a coarser level
        #[arg(long)]
        coverage: bool,
        /// Further checks for one use of the store, from its documents
        #[arg(long, value_enum, value_name = "PROFILE")]
        profile: Option<ProfileName>,
        /// At most this many findings of each check are shown; all are counted
        #[arg(long, value_name = "N", default_value_t = ValidateJob::default().most)]
        most: usize = ValidateOptions::default().most,
        /// Records the progress in FILE: after an interruption, the same command reads only the remaining cells. FILE is removed at the end, and
        /// started again if an option or a document of the store changed
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        resume: Option<PathBuf>,
    }
}

/// A use of a store with requirements beyond the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ProfileName {
    /// What viewers cannot show, or show badly: axes, units, codecs, levels, attributes
    Viewer,
}

/// The depth with this number.
pub(crate) fn depth(number: u8) -> Result<Depth, JobError> {
    let expected = "a number from 1 to 5";
    Depth::from_number(number).ok_or_else(|| JobError::option("depth", number, expected))
}

impl ValidateJob {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        depth(self.depth)?;
        needs(("seed", self.seed != 0), &[("quick", self.quick.is_some())])?;
        if self.quick == Some(0) {
            return Err(JobError::option("quick", 0, "1 or more"));
        }
        let empty = |member, list: bool| match list {
            true => Err(JobError::option(member, "an empty list", "at least one")),
            false => Ok(()),
        };
        empty("levels", self.levels.as_ref().is_some_and(Vec::is_empty))?;
        empty("arrays", self.arrays.as_ref().is_some_and(Vec::is_empty))
    }

    fn options(&self, context: &Context) -> Result<ValidateOptions, JobError> {
        outside("resume", self.resume.as_deref())?;
        let mut options = ValidateOptions::new(depth(self.depth)?)
            .with_most(self.most)
            .with_coverage(self.coverage)
            .with_open(context.write.open.clone())
            .with_progress(context.checked());
        options.profile = self.profile.map(|ProfileName::Viewer| Profile::Viewer);
        options.levels.clone_from(&self.levels);
        options.arrays.clone_from(&self.arrays);
        let seed = self.seed;
        options.sample = self.quick.map(|cells| Sample { cells, seed });
        options.journal.clone_from(&self.resume);
        Ok(options)
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<ValidateReport, JobError> {
        let options = self.options(context)?;
        let done = zvf_validate::validate(&self.store, &options).await;
        let report = done.map_err(|source| JobError::Validate {
            place: self.store.clone(),
            source: Box::new(source),
        })?;
        Ok(ValidateReport(report))
    }
}

/// The report of `validate`. Serialized as [`zvf_validate::json`].
#[derive(Debug, Clone)]
pub struct ValidateReport(pub zvf_validate::Report);

impl Serialize for ValidateReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        zvf_validate::json(&self.0).serialize(to)
    }
}

//! The job `pyramid`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use zvf_encode::WriteOptions;
use zvf_pyramid::{BaseBins, CrossLevel, Existing, LevelStep, Method, PyramidSpec};
use zvf_store::Need;

use crate::checks::{at_most_one, needs, numbers, sizes};
use crate::{ChunkScale, Context, JobError};

options! {
    /// Adds coarse levels: thinned points, simplified lines, contracted graphs, decimated meshes
    PyramidJob {
        /// Path or URL of the store
        store: String,
        /// Factor by which bins grow from level to level, one number for each new level [default: levels that fit the data]
        #[arg(long, value_name = "F,F,..", value_delimiter = ',')]
        factors: Vec<f64>,
        /// Adds further levels above the existing ones, by their method and with their links between levels
        #[arg(long)]
        add: bool,
        /// Replaces the existing coarse levels by new ones, in one change
        #[arg(long)]
        replace: bool,
        /// Rebuilds existing levels with the options they were made with, if edits left them out of date
        #[arg(long)]
        refresh: bool,
        /// Removes all coarse levels, and the links between levels
        #[arg(long)]
        remove: bool,
        /// Bins of level 0, for a store that declares none: sizes that divide the chunk [default: sizes that fit the data; the whole chunk for the reference method]
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        bin_shape: Option<Vec<f64>>,
        /// Keeps one of G objects from level to level, drawn at random [default: 1, all objects]
        #[arg(long, value_name = "G,..", value_delimiter = ',')]
        sparsity: Vec<f64>,
        /// How levels are made [default: density]
        #[arg(long, value_enum, value_name = "METHOD")]
        method: Option<MethodName>,
        /// Seed of the random choice: the same seed keeps the same objects
        #[arg(long, value_name = "N", default_value_t = PyramidJob::default().seed)]
        seed: u64 = PyramidSpec::new([]).seed,
        /// Adds levels with the last factor until one has at most N vertices, or no fewer than the one before it; without --factors: about how many
        /// vertices the last level has [default: 10000 without --factors]
        #[arg(long = "levels-until", value_name = "N")]
        until: Option<u64>,
        /// Growth of chunks from level to level: a number, or one for each axis as in 2x2x1 [default: so that they have
        /// about as many vertices as chunks of level 0; 1 for the reference method]
        #[arg(long, value_name = "K,..", value_delimiter = ',')]
        chunk_scale: Vec<ChunkScale>,
        /// Links between every vertex and its representative: none, implicit (from the vertex only) or explicit (in both directions) [default: explicit for the reference method, none else]
        #[arg(long, value_enum, value_name = "STORED")]
        cross_links: Option<StoredCrossLinks>,
        /// How many levels these links span; -1: all
        #[arg(long, value_name = "N", default_value_t = PyramidJob::default().cross_depth, allow_hyphen_values = true)]
        cross_depth: i64 = PyramidSpec::new([]).depth,
        /// Removes the files of an interrupted run, or finishes the run if it was committed
        #[arg(long)]
        clear_leftovers: bool,
    }
}

/// How coarse levels are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the help of the option explains its values")]
#[non_exhaustive]
pub enum MethodName {
    Density,
    Reference,
}

/// Which links between levels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the help of the option explains its values")]
#[non_exhaustive]
pub enum StoredCrossLinks {
    None,
    Implicit,
    Explicit,
}

impl PyramidJob {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        self.check_together()?;
        let at_least_1 =
            |member, list: &[f64]| numbers(member, list, "1 or more", |one| one >= 1.0);
        at_least_1("factors", &self.factors)?;
        at_least_1("sparsity", &self.sparsity)?;
        sizes("bin_shape", self.bin_shape.as_deref())?;
        let levels = self.factors.len();
        for (member, found) in [
            ("sparsity", self.sparsity.len()),
            ("chunk_scale", self.chunk_scale.len()),
        ] {
            if found > 1 && found != levels {
                let found = format!("{found} numbers");
                let expected = format!("one, or {levels} as `factors` has");
                return Err(JobError::option(member, found, &expected));
            }
        }
        if self.cross_depth < -1 {
            return Err(JobError::option(
                "cross_depth",
                self.cross_depth,
                "-1 or more",
            ));
        }
        if self.until == Some(0) {
            return Err(JobError::option("until", 0, "1 or more"));
        }
        Ok(())
    }

    /// Refuses options that exclude each other, or that lack an option they need.
    fn check_together(&self) -> Result<(), JobError> {
        let default = Self::default();
        let factors = ("factors", !self.factors.is_empty());
        let of_levels = [
            ("bin_shape", self.bin_shape.is_some()),
            ("sparsity", !self.sparsity.is_empty()),
            ("chunk_scale", !self.chunk_scale.is_empty()),
        ];
        let how = [
            ("method", self.method.is_some()),
            ("cross_links", self.cross_links.is_some()),
            ("cross_depth", self.cross_depth != default.cross_depth),
        ];
        let drawn = [
            ("seed", self.seed != default.seed),
            ("until", self.until.is_some()),
        ];
        let changes = [("add", self.add), ("replace", self.replace)];
        let alone = |member: &'static str, given: &[(&'static str, bool)]| {
            at_most_one(&[&[(member, true)], given].concat())
        };
        let all = [&[factors], &of_levels[..], &how, &drawn, &changes].concat();
        if self.refresh {
            alone("refresh", &[&all[..], &[("remove", self.remove)]].concat())?;
        }
        if self.remove {
            alone("remove", &all)?;
        }
        if self.add {
            alone("add", &[&how[..], &of_levels[..1], &changes[1..]].concat())?;
        }
        for option in of_levels.iter().chain(&changes[..1]) {
            needs(*option, &[factors])?;
        }
        match self.method {
            Some(MethodName::Reference) if !factors.1 => {
                let expected = "`factors` as well, or the density method";
                let found = "reference without `factors`";
                Err(JobError::option("method", found, expected))
            }
            _ => Ok(()),
        }
    }

    /// The specification of the levels for a store with `dims` axes.
    fn spec(&self, dims: usize) -> PyramidSpec {
        // A single number applies to all levels.
        let of_level = |at: usize, found: usize| if found == 1 { 0 } else { at };
        let steps = self.factors.iter().enumerate().map(|(at, &factor)| {
            let mut step = LevelStep::new(factor);
            if let Some(&sparsity) = self.sparsity.get(of_level(at, self.sparsity.len())) {
                step = step.with_sparsity(sparsity);
            }
            if let Some(scale) = self.chunk_scale.get(of_level(at, self.chunk_scale.len())) {
                step = step.with_chunk_scale(scale.of_axes(dims));
            }
            step
        });
        let method = self.method.map(|method| match method {
            MethodName::Density => Method::Density,
            MethodName::Reference => Method::Reference,
        });
        let reference = method == Some(Method::Reference);
        let cross = self.cross_links.map(|stored| match stored {
            StoredCrossLinks::None => CrossLevel::None,
            StoredCrossLinks::Implicit => CrossLevel::Implicit,
            StoredCrossLinks::Explicit => CrossLevel::Explicit,
        });
        let mut spec = match self.factors.is_empty() {
            true => PyramidSpec::automatic(self.until.unwrap_or(PyramidSpec::VERTICES_LEFT)),
            false => PyramidSpec::new(steps.collect::<Vec<_>>()),
        };
        spec.seed = self.seed;
        spec.method = method;
        spec.cross_level = cross.or(reference.then_some(CrossLevel::Explicit));
        spec.depth = self.cross_depth;
        spec.growing_chunks = self.chunk_scale.is_empty() && !reference;
        spec.until = spec.until.or(self.until);
        spec.base = match &self.bin_shape {
            Some(bins) => BaseBins::Given(bins.clone()),
            None if reference || self.factors.is_empty() => BaseBins::Stored,
            None => BaseBins::Data,
        };
        spec.existing = match (self.add, self.replace) {
            (true, _) => Existing::Keep,
            (_, true) => Existing::Replace,
            _ => Existing::Refuse,
        };
        spec
    }

    /// The number of axes of the store.
    async fn axes(&self, context: &Context) -> Result<usize, JobError> {
        let store = context.open(&self.store, 0, Need::nothing()).await?;
        Ok(store.root().dims())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<PyramidJobReport, JobError> {
        let write = context.writing(self.clear_leftovers);
        if !self.remove && self.method != Some(MethodName::Reference) {
            let warning = memory(&self.store, &write).await;
            warning.iter().for_each(|warning| context.warn(warning));
        }
        let progress = context.progress();
        let done = if self.remove {
            zvf_pyramid::remove_pyramid(&self.store, &write).await
        } else if self.refresh {
            zvf_pyramid::refresh_pyramid(&self.store, &write, progress).await
        } else {
            let dims = match self.chunk_scale.is_empty() {
                true => 0,
                false => self.axes(context).await?,
            };
            let spec = self.spec(dims);
            zvf_pyramid::build_pyramid(&self.store, &spec, &write, progress).await
        };
        Ok(PyramidJobReport {
            store: self.store.clone(),
            seed: (!self.remove && !self.refresh).then_some(self.seed),
            removed: self.remove,
            report: done.map_err(JobError::write(&self.store))?,
        })
    }
}

/// Memory of a job in addition to twice its budget.
const BESIDE: u64 = 64_000_000;

/// A warning, if the manifests of the store need more memory than the budget: the job then exceeds twice the budget and 64 MB.
async fn memory(store: &str, write: &WriteOptions) -> Option<String> {
    // A read error is reported by the job itself.
    let held = zvf_pyramid::pyramid_memory(store, write).await.unwrap_or(0);
    let budget = zvf_store::format::int::wide(write.memory_budget);
    let most = budget.saturating_mul(2).saturating_add(BESIDE);
    (held > budget).then(|| {
        format!(
            "up to {0} MB of memory may be needed: {2} MB with the memory budget of {1} MB, and more for the manifests of all objects, \
             which are long for scattered points",
            most.saturating_add(held) / 1_000_000,
            budget / 1_000_000,
            most / 1_000_000
        )
    })
}

/// The report of `pyramid`. Serialized as [`zvf_pyramid::PyramidReport::to_json`], with the seed if levels were made with it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PyramidJobReport {
    /// The store.
    pub store: String,
    /// The seed, unless levels were refreshed or removed.
    pub seed: Option<u64>,
    /// Whether all levels were removed.
    pub removed: bool,
    /// The levels.
    pub report: zvf_pyramid::PyramidReport,
}

impl Serialize for PyramidJobReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut document = self.report.to_json(&self.store);
        if let (Some(seed), Some(members)) = (self.seed, document.as_object_mut()) {
            members.insert("seed".to_owned(), Value::from(seed));
        }
        document.serialize(to)
    }
}

//! The specification of the levels to build.

use zvf_encode::WriteError;

/// How a level is made from the finer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Method {
    /// As in the released package, `per_object`: the vertices of a bin, of all objects together, become one vertex at their mean.
    ///
    /// Attributes of vertices, groups and links inside the level are lost (traps T21, T22).
    Reference,
    /// A level with less detail that looks like the finer one and is of the same kind: real vertices are kept, with all data
    /// that belongs to them.
    #[default]
    Density,
}

impl Method {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Density => "density",
        }
    }
}

/// Which links between levels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CrossLevel {
    /// None.
    #[default]
    None,
    /// From every vertex to its representative.
    Implicit,
    /// In both directions.
    Explicit,
}

impl CrossLevel {
    /// The value of `cross_level_storage`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Implicit => "implicit",
            Self::Explicit => "explicit",
        }
    }
}

/// How existing coarse levels of a store are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Existing {
    /// They are an error.
    #[default]
    Refuse,
    /// New levels are added to them, by the same method, with the same links between levels. The existing ones are recomputed in memory, and must not
    /// be out of date.
    Keep,
    /// They are replaced by the new ones, in one change.
    Replace,
}

/// Bins of level 0; the bins of coarse levels are multiples of them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum BaseBins {
    /// The declared bins of the store, else its chunks.
    #[default]
    Stored,
    /// These bins, for a store that declares none. They divide the chunk.
    Given(Vec<f64>),
    /// The declared bins of the store, else halves of the chunk that fit the data: see `docs/pyramids.md`. Only for [`Method::Density`].
    Data,
}

/// One level, relative to the finer one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelStep {
    /// The factor by which bins are larger along each axis of space. At least 1.
    pub factor: f64,
    /// The ratio of objects to kept objects, which are chosen at random. At least 1.
    pub sparsity: f64,
    /// The factor by which chunks are larger along each axis; empty: unchanged.
    pub chunk_scale: Vec<u32>,
}

impl LevelStep {
    /// A level of all objects, in chunks of the same size.
    #[must_use]
    pub const fn new(factor: f64) -> Self {
        Self {
            factor,
            sparsity: 1.0,
            chunk_scale: Vec::new(),
        }
    }

    /// Replaces [`sparsity`](Self::sparsity).
    #[must_use]
    pub fn with_sparsity(mut self, sparsity: f64) -> Self {
        self.sparsity = sparsity;
        self
    }

    /// Replaces [`chunk_scale`](Self::chunk_scale).
    #[must_use]
    pub fn with_chunk_scale(mut self, scale: impl Into<Vec<u32>>) -> Self {
        self.chunk_scale = scale.into();
        self
    }
}

/// The levels of a pyramid. The specification is checked as a whole before anything is read.
///
/// # Examples
///
/// ```
/// use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec};
///
/// let spec = PyramidSpec::new([2.0, 2.0].map(LevelStep::new))
///     .with_method(Method::Reference)
///     .with_cross_level(CrossLevel::Explicit, 2);
/// assert!(spec.check(3).is_ok());
/// assert!(PyramidSpec::new([LevelStep::new(0.5)]).check(3).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PyramidSpec {
    /// The levels, from fine to coarse; each is relative to the one before.
    pub levels: Vec<LevelStep>,
    /// How levels are built; `None`: by the method of the existing levels, else the default one.
    pub method: Option<Method>,
    /// The seed of the draw of kept objects.
    pub seed: u64,
    /// The last step is repeated until a level has at most this number of vertices, or no fewer than the one before, or there are 24 levels.
    pub until: Option<u64>,
    /// Links between levels; `None`: as in the existing levels, else none.
    pub cross_level: Option<CrossLevel>,
    /// How many levels a link between levels may span; -1: any number.
    pub depth: i64,
    /// The base bins.
    pub base: BaseBins,
    /// Chunks grow from level to level, so that they have about as many vertices as chunks of level 0, in addition to [`LevelStep::chunk_scale`].
    /// Only for [`Method::Density`].
    pub growing_chunks: bool,
    /// Levels are chosen from the data: see [`automatic`](Self::automatic).
    pub automatic: bool,
    /// The treatment of existing levels.
    pub existing: Existing,
}

/// Most levels of one specification. [`PyramidSpec::until`] adds levels only while there are fewer.
pub(crate) const MOST_LEVELS: usize = 24;

impl PyramidSpec {
    /// Levels by the default method, without links between them.
    #[must_use]
    pub fn new(levels: impl Into<Vec<LevelStep>>) -> Self {
        Self {
            levels: levels.into(),
            method: None,
            seed: 0,
            until: None,
            cross_level: None,
            depth: 1,
            base: BaseBins::Stored,
            growing_chunks: false,
            automatic: false,
            existing: Existing::Refuse,
        }
    }

    /// The approximate number of vertices of the last level, if levels are chosen from the data without another number.
    pub const VERTICES_LEFT: u64 = 10_000;

    /// Levels of [`Method::Density`] that are chosen from the data: each 4 to 8 times smaller than the one before, until about `vertices` are left.
    /// No levels if level 0 has no more. Chunks grow.
    #[must_use]
    pub fn automatic(vertices: u64) -> Self {
        Self {
            automatic: true,
            growing_chunks: true,
            until: Some(vertices),
            ..Self::new([])
        }
    }

    /// Replaces [`growing_chunks`](Self::growing_chunks).
    #[must_use]
    pub fn with_growing_chunks(mut self, growing: bool) -> Self {
        self.growing_chunks = growing;
        self
    }

    /// Replaces [`method`](Self::method).
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Replaces [`seed`](Self::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets [`until`](Self::until).
    #[must_use]
    pub fn with_until(mut self, vertices: u64) -> Self {
        self.until = Some(vertices);
        self
    }

    /// Replaces [`cross_level`](Self::cross_level) and [`depth`](Self::depth).
    #[must_use]
    pub fn with_cross_level(mut self, stored: CrossLevel, depth: i64) -> Self {
        (self.cross_level, self.depth) = (Some(stored), depth);
        self
    }

    /// Replaces [`base`](Self::base).
    #[must_use]
    pub fn with_base(mut self, base: BaseBins) -> Self {
        self.base = base;
        self
    }

    /// Replaces [`existing`](Self::existing).
    #[must_use]
    pub fn with_existing(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }

    /// Checks the specification for a store with `dims` axes.
    ///
    /// # Errors
    /// Misuse: the first invalid member, by its name.
    pub fn check(&self, dims: usize) -> Result<(), WriteError> {
        if self.automatic {
            self.check_automatic()?;
        } else if self.levels.is_empty() || self.levels.len() > MOST_LEVELS {
            let found = format!("{} of them", self.levels.len());
            return Err(WriteError::spec(
                "levels",
                found,
                format!("1 to {MOST_LEVELS}"),
            ));
        }
        for (at, step) in self.levels.iter().enumerate() {
            let bad = |part: &str, found: String, expected: String| {
                Err(WriteError::spec(
                    format!("levels/{at}/{part}"),
                    found,
                    expected,
                ))
            };
            if !(step.factor.is_finite() && step.factor >= 1.0) {
                return bad("factor", step.factor.to_string(), "1 or more".to_owned());
            }
            if !(step.sparsity.is_finite() && step.sparsity >= 1.0) {
                return bad(
                    "sparsity",
                    step.sparsity.to_string(),
                    "1 or more".to_owned(),
                );
            }
            let scale = &step.chunk_scale;
            if !scale.is_empty() && (scale.len() != dims || scale.contains(&0)) {
                let expected = format!("{dims} numbers of 1 or more");
                return bad("chunk_scale", format!("{scale:?}"), expected);
            }
        }
        if self.depth < -1 {
            return Err(WriteError::spec(
                "depth",
                self.depth.to_string(),
                "-1 or more",
            ));
        }
        if self.base == BaseBins::Data && self.method == Some(Method::Reference) {
            let expected =
                "the bins of the store, or given ones: the reference method takes no others";
            return Err(WriteError::spec("base", "bins from the data", expected));
        }
        if let BaseBins::Given(bins) = &self.base {
            let legal = bins.iter().all(|&bin| bin.is_finite() && bin > 0.0);
            if bins.len() != dims || !legal {
                let expected = format!("{dims} finite sizes above 0");
                return Err(WriteError::spec("base", format!("{bins:?}"), expected));
            }
        }
        if self.growing_chunks && self.method == Some(Method::Reference) {
            let expected = "false: the reference method needs stated sizes of chunks";
            return Err(WriteError::spec("growing_chunks", "true", expected));
        }
        if self.existing == Existing::Keep {
            let found = match (&self.base, self.cross_level) {
                (BaseBins::Given(_), _) => Some(("base", "bins")),
                (_, Some(_)) => Some(("cross_level", "links")),
                _ => None,
            };
            if let Some((member, found)) = found {
                let expected = "nothing: added levels use the settings of the existing ones";
                return Err(WriteError::spec(member, found, expected));
            }
        }
        Ok(())
    }

    fn check_automatic(&self) -> Result<(), WriteError> {
        let refuse = |member: &str, found: &str, expected: &str| {
            Err(WriteError::spec(member, found, expected))
        };
        let none = "none: they are chosen from the data";
        if !self.levels.is_empty() {
            return refuse("levels", "levels", none);
        }
        if self.method == Some(Method::Reference) {
            let expected = "the density method, or stated levels";
            return refuse("automatic", "the reference method", expected);
        }
        if matches!(self.base, BaseBins::Given(_)) {
            return refuse("base", "bins", none);
        }
        if self.existing == Existing::Keep {
            let expected = "stated levels, which alone can be added to existing ones";
            return refuse("automatic", "levels that are kept", expected);
        }
        match self.until {
            Some(1..) => Ok(()),
            _ => refuse("until", "nothing", "a number of vertices"),
        }
    }
}

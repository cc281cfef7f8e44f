//! The levels to build, from a specification or from the documents of a store.

use serde_json::Value;
use zvf_meta::{JsonObject, LevelDoc, RootDoc};

use super::base::beside_space;
use super::spec::{BaseBins, CrossLevel, LevelStep, MOST_LEVELS, Method, PyramidSpec};
use zvf_encode::WriteError;

/// The member of a level's document from which the level can be rebuilt.
pub(crate) const RECORD: &str = "coarsening";

/// One level to build.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedLevel {
    pub(crate) bin_shape: Vec<f64>,
    pub(crate) chunk_shape: Vec<f64>,
    /// The share of the objects of the finer level, or of its points, that is kept.
    pub(crate) share: f64,
    pub(crate) sampling: Sampling,
    /// Unknown members of the level's document.
    pub(crate) extra: JsonObject,
}

/// How the kept objects or points are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// Objects are drawn randomly from this seed.
    Drawn(u64),
    /// Every n-th object, or point of a cloud, along a space-filling curve; points and lines are not thinned in another way.
    Curve,
}

impl Sampling {
    /// Its name in the documents of levels.
    pub(crate) const CURVE: &str = "z-order";

    /// The seed of a draw; 0 without one.
    pub(crate) const fn seed(self) -> u64 {
        match self {
            Self::Drawn(seed) => seed,
            Self::Curve => 0,
        }
    }
}

impl PlannedLevel {
    /// The level after this one. Bins grow only along axes of space.
    fn after(&self, step: &LevelStep, seed: u64, beside: &[bool]) -> Self {
        let beside = beside.iter().copied().chain(std::iter::repeat(false));
        let bins = self.bin_shape.iter().zip(beside);
        let bins = bins.map(|(bin, time)| if time { *bin } else { bin * step.factor });
        Self {
            bin_shape: bins.collect(),
            chunk_shape: scaled(&self.chunk_shape, &step.chunk_scale),
            share: 1.0 / step.sparsity,
            sampling: Sampling::Drawn(seed),
            extra: JsonObject::new(),
        }
    }
}

/// The levels of a pyramid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PyramidPlan {
    pub(crate) method: Method,
    pub(crate) levels: Vec<PlannedLevel>,
    /// The step that is repeated, its seed, and the number of vertices at which it ends.
    more: Option<(LevelStep, u64, u64)>,
    pub(crate) cross: CrossLevel,
    pub(crate) depth: i64,
    /// The index of the first level whose chunks grow; `None`: chunks do not grow.
    pub(crate) grow: Option<usize>,
    /// The index of the first level that a specification adds; `None`: all levels are rebuilt as they were.
    new: Option<usize>,
    /// Which axes are not of space.
    beside: Vec<bool>,
}

/// The requested levels: from a specification, or from a plan.
#[derive(Debug, Clone)]
pub(crate) enum WantedLevels<'w> {
    New(&'w PyramidSpec),
    Planned(PyramidPlan),
}

impl WantedLevels<'_> {
    pub(crate) fn method(&self) -> Method {
        match self {
            Self::New(spec) => spec.method.unwrap_or_default(),
            Self::Planned(plan) => plan.method,
        }
    }

    /// Whether there are links between levels.
    pub(crate) fn is_linked(&self) -> bool {
        let (cross, depth) = match self {
            Self::New(spec) => (spec.cross_level.unwrap_or_default(), spec.depth),
            Self::Planned(plan) => (plan.cross, plan.depth),
        };
        cross != CrossLevel::None && depth != 0
    }

    /// The specification, if levels are chosen from the data.
    pub(crate) fn automatic(&self) -> Option<&PyramidSpec> {
        match self {
            Self::New(spec) if spec.automatic => Some(spec),
            _ => None,
        }
    }

    /// The base of the bins of new levels.
    pub(crate) fn base(&self) -> &BaseBins {
        match self {
            Self::New(spec) => &spec.base,
            Self::Planned(_) => &BaseBins::Stored,
        }
    }

    /// The levels; the bins of a specification are multiples of `base`.
    pub(crate) fn plan(&self, base: &[f64], root: &RootDoc) -> PyramidPlan {
        match self {
            Self::New(spec) => {
                let beside = beside_space(root.axes());
                PyramidPlan::of_spec(spec, base, &root.zarr_vectors.chunk_shape, beside)
            }
            Self::Planned(plan) => plan.clone(),
        }
    }
}

impl PyramidPlan {
    /// The levels of a specification; its bins are multiples of `base`.
    pub(crate) fn of_spec(
        spec: &PyramidSpec,
        base: &[f64],
        chunk_shape: &[f64],
        beside: Vec<bool>,
    ) -> Self {
        let mut plan = Self {
            method: spec.method.unwrap_or_default(),
            levels: Vec::new(),
            more: None,
            cross: spec.cross_level.unwrap_or_default(),
            depth: spec.depth,
            grow: None,
            new: None,
            beside,
        };
        plan.add(spec, base, chunk_shape);
        plan
    }

    /// The levels that were chosen from the data.
    pub(crate) fn automatic(spec: &PyramidSpec, levels: Vec<PlannedLevel>) -> Self {
        Self {
            method: Method::Density,
            levels,
            more: None,
            cross: spec.cross_level.unwrap_or_default(),
            depth: spec.depth,
            grow: Some(0),
            new: Some(0),
            beside: Vec::new(),
        }
    }

    /// Adds the levels of a specification to the existing ones.
    pub(crate) fn add(&mut self, spec: &PyramidSpec, base: &[f64], chunk_shape: &[f64]) {
        self.new = Some(self.levels.len());
        self.grow = spec.growing_chunks.then_some(self.levels.len());
        let mut last = self.levels.last().cloned().unwrap_or_else(|| PlannedLevel {
            bin_shape: base.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            share: 1.0,
            sampling: Sampling::Drawn(0),
            extra: JsonObject::new(),
        });
        for step in &spec.levels {
            last = last.after(step, spec.seed, &self.beside);
            self.levels.push(last.clone());
        }
        let step = spec.levels.last().cloned();
        self.more = spec.until.and_then(|until| Some((step?, spec.seed, until)));
    }

    /// Refuses more levels than all programs look for.
    pub(crate) fn check_count(&self) -> Result<(), WriteError> {
        match self.levels.len() > MOST_LEVELS {
            true => {
                let found = format!("{} with those of the store", self.levels.len());
                Err(WriteError::spec(
                    "levels",
                    found,
                    format!("{MOST_LEVELS} at most"),
                ))
            }
            false => Ok(()),
        }
    }

    /// The levels of a store, from their documents.
    ///
    /// # Errors
    /// Misuse: a level that the documents do not describe exactly, by its number.
    pub(crate) fn of_levels(root: &RootDoc, docs: &[LevelDoc]) -> Result<Self, WriteError> {
        let mut plan: Option<Self> = None;
        for (number, doc) in (1..).zip(docs) {
            let refuse = |found: &str| {
                let what = format!("level {number}");
                let expected =
                    "a level that can be rebuilt from its documents; --replace replaces others";
                Err(WriteError::input(what, found, expected))
            };
            let record = doc.extra.get(RECORD).and_then(Value::as_object);
            let method = match (doc.coarsening_method.as_deref(), record) {
                (Some("density"), Some(_)) => Method::Density,
                (Some("per_object"), _) => Method::Reference,
                (Some("density"), None) => return refuse("no record of how it was made"),
                (Some(other), _) => return refuse(&format!("the method {other}")),
                (None, _) => return refuse("no method"),
            };
            if doc.level != number || doc.parent_level != number.checked_sub(1) {
                return refuse("a level that was not made from the one before it");
            }
            let (cross, depth) = links(root)?;
            let plan = plan.get_or_insert_with(|| Self {
                method,
                levels: Vec::new(),
                more: None,
                cross,
                depth,
                grow: None,
                new: None,
                beside: beside_space(root.axes()),
            });
            if plan.method != method {
                return refuse("another method than that of level 1");
            }
            let recorded = |name: &str| record.and_then(|record| record.get(name));
            let bins = match recorded("bin_shape") {
                Some(bins) => sizes(bins),
                None => root.bin_shape(doc),
            };
            let legal = |bins: &Vec<f64>| {
                bins.len() == root.dims() && bins.iter().all(|bin| bin.is_finite() && *bin > 0.0)
            };
            let Some(bin_shape) = bins.filter(legal) else {
                return refuse("no bins");
            };
            let curve = recorded("sampling").is_some_and(|name| name == Sampling::CURVE);
            // In a cloud, points are left out, but no objects.
            let share = recorded("share").and_then(Value::as_f64).filter(|_| curve);
            let share = share.unwrap_or(doc.object_sparsity);
            if !(share > 0.0 && share <= 1.0) {
                return refuse(&format!("an object sparsity of {share}"));
            }
            let seed = recorded("seed").and_then(Value::as_u64);
            let drawn = share < 1.0 && doc.preserves_object_ids && !curve;
            if drawn && seed.is_none() {
                return refuse("objects that were drawn from a seed that is not recorded");
            }
            let mut extra = doc.extra.clone();
            extra.remove(RECORD);
            let chunk_shape = doc.chunk_shape.as_ref();
            plan.levels.push(PlannedLevel {
                bin_shape,
                chunk_shape: chunk_shape
                    .unwrap_or(&root.zarr_vectors.chunk_shape)
                    .clone(),
                share,
                sampling: match curve {
                    true => Sampling::Curve,
                    false => Sampling::Drawn(seed.unwrap_or(0)),
                },
                extra,
            });
        }
        let none = || WriteError::input("store", "level 0 alone", "coarse levels");
        plan.ok_or_else(none)
    }

    /// Fails if a new level has chunks of its own size that are not whole multiples of smaller bins (`zvf-0.9`, section 6), or infinite bins. `before` is
    /// the number of levels before it.
    ///
    /// # Errors
    /// Misuse.
    pub(crate) fn check_chunks(
        &self,
        before: usize,
        level: &PlannedLevel,
        root_shape: &[f64],
    ) -> Result<(), WriteError> {
        let (chunks, bins) = (&level.chunk_shape, &level.bin_shape);
        if !bins.iter().chain(chunks).all(|size| size.is_finite()) {
            let found = format!("bins of {bins:?} and chunks of {chunks:?}");
            let expected = "finite sizes: smaller factors or scales";
            return Err(WriteError::spec(
                format!("level {}", before + 1),
                found,
                expected,
            ));
        }
        let is_new = self.new.is_some_and(|first| before >= first);
        let mut axes = chunks.iter().zip(bins);
        if !is_new || chunks == root_shape || axes.all(|(chunk, bin)| holds_bins(*chunk, *bin)) {
            return Ok(());
        }
        Err(WriteError::spec(
            format!("level {}, chunk_scale", before + 1),
            format!("chunks of {chunks:?} and bins of {bins:?}"),
            "chunks that hold whole bins: another scale, other factors or another bin shape",
        ))
    }

    /// The level after `made` levels; `vertices` are the counts of the last two.
    pub(crate) fn next(
        &self,
        made: &[PlannedLevel],
        vertices: Option<[u64; 2]>,
    ) -> Option<PlannedLevel> {
        if let Some(planned) = self.levels.get(made.len()) {
            return Some(planned.clone());
        }
        let ([before, last], (step, seed, until)) = (vertices?, self.more.as_ref()?);
        let more = last > *until && last < before && made.len() < MOST_LEVELS;
        more.then(|| {
            made.last()
                .map(|last| last.after(step, *seed, &self.beside))
        })?
    }
}

/// The links between levels that the root states.
fn links(root: &RootDoc) -> Result<(CrossLevel, i64), WriteError> {
    let about = &root.zarr_vectors;
    let stored = match about.cross_level_storage.as_deref() {
        None | Some("none") => CrossLevel::None,
        Some("implicit") => CrossLevel::Implicit,
        Some("explicit") => CrossLevel::Explicit,
        Some(other) => {
            let expected = "none, implicit or explicit";
            return Err(WriteError::data("cross_level_storage", other, expected));
        }
    };
    Ok((stored, about.cross_level_depth.unwrap_or(1)))
}

fn sizes(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// Whether a chunk is a whole multiple of a bin along one axis, or smaller than the bin.
pub(crate) fn holds_bins(chunk: f64, bin: f64) -> bool {
    let ratio = chunk / bin;
    ratio < 1.0 || (ratio - ratio.round()).abs() <= 1e-9
}

/// A chunk shape, multiplied by `scale`.
fn scaled(shape: &[f64], scale: &[u32]) -> Vec<f64> {
    let scale = scale.iter().copied().chain(std::iter::repeat(1));
    shape
        .iter()
        .zip(scale)
        .map(|(size, n)| size * f64::from(n))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{PyramidPlan, scaled};
    use crate::{LevelStep, PyramidSpec};

    #[test]
    fn shapes_of_chunks() {
        assert_eq!(scaled(&[10.0, 5.0], &[]), [10.0, 5.0]);
        assert_eq!(scaled(&[10.0, 5.0], &[2, 3]), [20.0, 15.0]);
    }

    #[test]
    fn the_last_step_is_repeated_while_levels_shrink() {
        let steps = [LevelStep::new(2.0), LevelStep::new(3.0).with_sparsity(4.0)];
        let plan = PyramidPlan::of_spec(
            &PyramidSpec::new(steps).with_until(10),
            &[1.0],
            &[8.0],
            vec![false],
        );
        let mut made = Vec::new();
        for (vertices, bin) in [
            (None, Some(2.0)),
            (Some([100, 50]), Some(6.0)),
            (Some([50, 20]), Some(18.0)),
            (Some([20, 11]), Some(54.0)),
            (Some([11, 11]), None),
            (Some([11, 10]), None),
        ] {
            let next = plan.next(&made, vertices);
            assert_eq!(next.as_ref().map(|next| next.bin_shape[0]), bin);
            made.extend(next);
        }
        assert_eq!((made[0].share, made[3].share), (1.0, 0.25));
    }
}

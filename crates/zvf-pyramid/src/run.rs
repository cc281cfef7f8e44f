//! How levels are added, changed and removed: all of them at once.
//!
//! If a store has only level 0, levels are written to their final place:
//!
//! ```text
//! zvf-unfinished.json     put only if absent: one change at a time
//! cells and documents     of arrays of all levels, and of links between levels
//! ── everything above is durable ──
//! N/zarr.json             of all levels
//! zarr.json               replaced, in the state in which it was read
//! zvf-unfinished.json     removed
//! ```
//!
//! Readers that take folders for levels see a level when its document exists; before, its folder is not a group. Our own reader ignores levels that
//! the root does not name, as long as the marker exists.
//!
//! Existing levels are changed in another way: see `replace.rs`.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use zvf_meta::rules::close;
use zvf_meta::version::{self, Gate};
use zvf_meta::{AxesDiffer, LevelDoc, Refinement, RootDoc};
use zvf_store::{Need, Store};

use super::base::ChosenBins;
use super::bin::{MOST_AXES, Means};
use super::make::{LevelMaker, LevelReport, Levels, MadeLevel};
use super::plan::{PyramidPlan, WantedLevels};
use super::sink::StoreSink;
use super::spec::{BaseBins, Existing, MOST_LEVELS, Method, PyramidSpec};
use zvf_encode::target::{ObjectPut, Stage, Target, node};
use zvf_encode::transaction::{Change, MARKER, Settled, Take, settle};
use zvf_encode::{Kind, StaleFiles, WriteError, WriteOptions};
use zvf_format::int::wide;
use zvf_meta::STALE;

/// The result of a change of the coarse levels of a store.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PyramidReport {
    /// All coarse levels, from fine to coarse; empty if none were built.
    pub levels: Vec<LevelReport>,
    /// The method by which they were built.
    pub method: Option<Method>,
    /// Bins of level 0 that were chosen from the data.
    pub chosen: Option<ChosenBins>,
    /// Axes of space with different units: distances along them were compared as numbers, and the levels have no bound of their error.
    pub mixed: Option<AxesDiffer>,
    /// The number of vertices at which levels chosen from the data should end.
    pub until: Option<u64>,
    /// Whether edits had left the levels out of date.
    pub was_stale: bool,
    /// Chunks of level 0 for which the levels were out of date; 0 if only objects changed.
    pub stale: u64,
    /// Whether the call only completed an interrupted run of the same job that had already committed.
    pub completed: bool,
    /// Coarse levels before the change.
    pub before: u64,
    /// Objects that were replaced or added, if there were levels before.
    pub put: u64,
    /// Objects that were removed.
    pub removed: u64,
    /// Peak memory of the density method for vertices and links, in bytes, without the query and the encoder.
    pub held: u64,
}

impl PyramidReport {
    /// The report of the levels of `store` as JSON, as printed by `zvf pyramid --json`.
    #[must_use]
    pub fn to_json(&self, store: &str) -> Value {
        let levels = self.levels.iter().map(|one| {
            json!({
                "level": one.level,
                "vertices": one.vertices,
                "chunks": one.chunks,
                "objects": one.objects,
                "links_stored": one.links,
                "bin_shape": one.bin_shape,
                "chunk_shape": one.chunk_shape,
                "error_bound": one.error_bound,
            })
        });
        let chosen = self.chosen.as_ref();
        json!({
            "store": store,
            "completed": self.completed,
            "method": self.method.map(Method::name),
            "left_out": self.left_out(),
            "warnings": self.remarks(),
            "chosen_bins": chosen.map(|bins| json!({"bin_shape": bins.shape, "reason": bins.reason.to_string()})),
            "levels_before": self.before,
            "stale_chunks": self.stale,
            "objects_put": self.put,
            "objects_removed": self.removed,
            "levels": levels.collect::<Vec<_>>(),
        })
    }

    /// Warnings about the sizes of the levels, about vertices, links and parts of meshes that they lack, and about axes of several units.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let levels = self.levels.iter().flat_map(LevelReport::remarks);
        let last = self.until.zip(self.levels.last());
        let last = last.filter(|(until, last)| last.vertices / 2 > *until);
        let ends = last.map(|(until, last)| {
            format!(
                "level {}: the last one has {} vertices, expected about {until}: bins and objects are chosen by an estimate; larger bins may leave far fewer: `--replace --factors N,..` chooses them",
                last.level, last.vertices
            )
        });
        let mixed = self.mixed.as_ref().map(|differ| {
            format!(
                "levels: {}, expected {}: distances were compared as numbers, and have no bound; `zvf export STORE t.csv` and `zvf import t.csv COPY --scale X,Y,Z --unit UNIT` convert positions",
                differ.found, differ.expected
            )
        });
        levels.chain(ends).chain(mixed).collect()
    }

    /// Attributes of level 0 that coarse levels do not have because of their type.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        self.levels.first().map_or(&[], |one| &one.left_out)
    }
}

/// Adds coarse levels to a store.
///
/// All levels appear at once, or none: see `docs/pyramids.md`. The treatment of existing levels is
/// [`PyramidSpec::existing`].
///
/// # Cost
/// The reference method reads the positions of level 0 once and holds 4 bytes for each of its vertices, and about 100 for each occupied bin. The
/// density method reads the vertices of level 0 twice, for any number of levels: first positions, then all their data. Each reading of links reads
/// the positions again: once for graphs, skeletons and meshes, twice if links have attributes. `docs/pyramids.md` lists its memory besides
/// [`WriteOptions::memory_budget`]. Existing levels are read once, to compare them; objects that differ are written twice, to a folder and then to
/// their place.
///
/// # Errors
/// The store is unchanged after an error, unless [`WriteError::is_committed`].
///
/// - Misuse: an invalid specification; coarse levels that the specification does not allow; a store older than 0.9.
/// - Misuse: chunks that are split by an attribute, except for levels of the density method without links between them.
/// - Misuse: another change that is running, or was interrupted, unless [`WriteOptions::stale_files`] allows to clear it.
/// - Malformed data. I/O.
pub fn build_pyramid<'a>(
    address: &'a str,
    spec: &'a PyramidSpec,
    options: &'a WriteOptions,
    progress: Arc<dyn Fn(u64) + Send + Sync>,
) -> BoxFuture<'a, Result<PyramidReport, WriteError>> {
    start(
        address,
        PyramidChange::Build(spec.clone()),
        options,
        progress,
    )
}

/// Rebuilds the coarse levels of a store, in one change, if edits of level 0 left them out of date (`zvf_stale` of the root).
///
/// The result equals levels that are built from the current level 0. Links between levels and everything else are as the documents state; objects
/// that do not differ are not written.
///
/// # Cost
/// As [`build_pyramid`]. If nothing is out of date, only documents are read.
///
/// # Errors
/// As [`build_pyramid`]. Misuse: no coarse levels; levels whose documents do not state exactly how they were made.
pub fn refresh_pyramid<'a>(
    address: &'a str,
    options: &'a WriteOptions,
    progress: Arc<dyn Fn(u64) + Send + Sync>,
) -> BoxFuture<'a, Result<PyramidReport, WriteError>> {
    start(address, PyramidChange::Refresh, options, progress)
}

/// Removes all coarse levels of a store, and the links between levels, in one change.
///
/// # Cost
/// A listing of these levels.
///
/// # Errors
/// As [`build_pyramid`]. Misuse: no coarse levels.
pub fn remove_pyramid<'a>(
    address: &'a str,
    options: &'a WriteOptions,
) -> BoxFuture<'a, Result<PyramidReport, WriteError>> {
    start(address, PyramidChange::Remove, options, Arc::new(|_| ()))
}

fn start<'a>(
    address: &'a str,
    work: PyramidChange,
    options: &'a WriteOptions,
    progress: Arc<dyn Fn(u64) + Send + Sync>,
) -> BoxFuture<'a, Result<PyramidReport, WriteError>> {
    Box::pin(async move {
        let (address, options) = (address.to_owned(), options.clone());
        let handle = Handle::current();
        zvf_encode::parallel::blocking(move || {
            let target = Arc::new(Target::new(&address, &options.open, options.durable)?);
            let job = PyramidRun {
                address: &address,
                options: &options,
                handle: &handle,
                progress: &*progress,
                target: &target,
            };
            job.run(&work)
        })
        .await
    })
}

#[derive(Debug)]
enum PyramidChange {
    Build(PyramidSpec),
    Refresh,
    Remove,
}

/// The data that is the same for all levels.
pub(super) struct PyramidRun<'j> {
    pub(super) address: &'j str,
    pub(super) options: &'j WriteOptions,
    pub(super) handle: &'j Handle,
    pub(super) progress: &'j (dyn Fn(u64) + Send + Sync),
    pub(super) target: &'j Arc<Target>,
}

impl PyramidRun<'_> {
    fn run(&self, work: &PyramidChange) -> Result<PyramidReport, WriteError> {
        let completed = self.tidy()?;
        let store = self.open()?;
        let before = wide(store.levels().len().saturating_sub(1));
        if completed {
            return Ok(PyramidReport {
                completed,
                before,
                ..PyramidReport::default()
            });
        }
        let spec = match work {
            PyramidChange::Build(spec) => Some(spec),
            PyramidChange::Refresh | PyramidChange::Remove => None,
        };
        if let Some(spec) = spec {
            spec.check(store.root().dims())?;
        }
        self.admit(&store, spec)?;
        if !matches!(work, PyramidChange::Remove) {
            // New levels would lack the parts of level 0 that are left out because they are unsupported or damaged.
            let all = self.handle.block_on(store.level(0, &Need::all()))?;
            all.check_complete()?;
        }
        let until = match work {
            PyramidChange::Build(spec) if spec.automatic => spec.until,
            _ => None,
        };
        let report = PyramidReport {
            until,
            was_stale: store.root().extra.contains_key(STALE),
            stale: stale(store.root()),
            before,
            ..PyramidReport::default()
        };
        let alone = || WriteError::input("store", "level 0 alone", "coarse levels");
        match work {
            PyramidChange::Build(spec) => self.build(&store, spec, report),
            _ if report.before == 0 => Err(alone()),
            PyramidChange::Refresh if !report.was_stale => Ok(report),
            PyramidChange::Refresh => {
                let plan = self.plan(&store)?;
                self.replace(&store, Some(&WantedLevels::Planned(plan)), report)
            }
            PyramidChange::Remove => self.replace(&store, None, report),
        }
    }

    fn build(
        &self,
        store: &Store,
        spec: &PyramidSpec,
        report: PyramidReport,
    ) -> Result<PyramidReport, WriteError> {
        let refuse =
            |found: String, expected: &str| Err(WriteError::input("store", found, expected));
        let known = || format!("levels {:?}", store.levels());
        let bins = store.root().zarr_vectors.base_bin_shape.is_some();
        if report.before == 0 && spec.existing != Existing::Replace {
            self.admit_links()?;
            let free = store.kind() == Kind::PointCloud && spec.method != Some(Method::Reference);
            self.admit_bins(store, spec, bins && !free)?;
            return self.add(store, spec, report);
        }
        match spec.existing {
            Existing::Refuse => refuse(
                known(),
                "level 0 alone; --add, --replace or --refresh changes a store with coarse levels",
            ),
            Existing::Replace => {
                // Bins that do not divide chunks may be replaced; levels of points by density do not depend on stored bins.
                let points = store.kind() == Kind::PointCloud;
                let fixed = points && spec.method == Some(Method::Reference);
                self.admit_bins(store, spec, bins && fixed)?;
                self.replace(store, Some(&WantedLevels::New(spec)), report)
            }
            Existing::Keep if report.was_stale => {
                let found = format!("{}, out of date", known());
                refuse(found, "current levels: --refresh rebuilds them")
            }
            Existing::Keep => {
                let mut plan = self.plan(store)?;
                if let Some(method) = spec.method.filter(|method| *method != plan.method) {
                    let found = format!("the {} method", method.name());
                    let expected =
                        format!("the {} method of the existing levels", plan.method.name());
                    return Err(WriteError::spec("method", found, expected));
                }
                let root = store.root();
                plan.add(spec, root.base_bin_shape(), &root.zarr_vectors.chunk_shape);
                plan.check_count()?;
                self.replace(store, Some(&WantedLevels::Planned(plan)), report)
            }
        }
    }

    pub(super) fn open(&self) -> Result<Store, WriteError> {
        let store = self
            .handle
            .block_on(Store::open_with(self.address, self.options.open.clone()))?;
        Ok(store)
    }

    /// Completes or reverts an interrupted change, if that is allowed. Returns whether it was committed and is of the same job. In that case the job is
    /// done; with `--add`, a repetition would add further levels.
    fn tidy(&self) -> Result<bool, WriteError> {
        let Some(found) = self.target.read(MARKER)? else {
            return Ok(false);
        };
        match self.options.stale_files {
            StaleFiles::Refuse => Err(WriteError::held(self.address, MARKER, Some(&found))),
            StaleFiles::Remove => {
                let done = settle(self.target, self.address, self.options.lease)?;
                let own = self.options.history.as_ref();
                Ok(done == Settled::Finished
                    && own.is_some()
                    && self.open()?.root().history().last() == own)
            }
        }
    }

    /// Checks whether levels of this store can be built or removed.
    fn admit(&self, store: &Store, spec: Option<&PyramidSpec>) -> Result<(), WriteError> {
        let root = store.root();
        let refuse =
            |found: String, expected: &str| Err(WriteError::input("store", found, expected));
        let version = &root.zarr_vectors.zv_version;
        let new =
            matches!(version::gate(version), Gate::Supported(v) if (v.major, v.minor) >= (0, 9));
        if !new {
            return refuse(
                format!("version {version}"),
                "0.9; older stores are migrated first",
            );
        }
        if root.dims() > MOST_AXES {
            return refuse(format!("{} axes", root.dims()), "4 at most");
        }
        for number in store.levels() {
            let level = self.handle.block_on(store.level(*number, &Need::nothing()));
            let level = match level {
                // Stale files of an interrupted writer: without its documents this is not a level, and may be removed.
                Err(_) if *number > 0 && !self.is_level(*number)? => continue,
                level => level?,
            };
            if level.doc().refinement == Refinement::Add {
                return refuse(
                    format!(
                        "level {number} with refinement \"add\", which the next level completes"
                    ),
                    "levels that can be rebuilt from level 0 (`zvf query STORE -o all.arrow` and `zvf import all.arrow NEW` put all vertices in one level)",
                );
            }
        }
        let level = self.handle.block_on(store.level(0, &Need::nothing()))?;
        if level.vertices().grid_doc().is_none() {
            return refuse(
                format!("cells in {}", level.vertices().container()),
                "cells in one grid",
            );
        }
        // The documents of existing levels state how they are built.
        let plain = |spec: &PyramidSpec| {
            let method = spec.method.unwrap_or_default();
            method == Method::Density && !WantedLevels::New(spec).is_linked()
        };
        if level.key_rank() != level.dims() && !spec.is_none_or(plain) {
            let found = "chunks that are divided by an attribute".to_owned();
            return refuse(
                found,
                "chunks that are divided by position alone, or the density method without links between levels",
            );
        }
        Ok(())
    }

    /// Whether a level has the documents without which it has no vertices.
    fn is_level(&self, number: u32) -> Result<bool, WriteError> {
        Ok(self.target.exists(&format!("{number}/zarr.json"))?
            && self
                .target
                .exists(&format!("{number}/vertices/zarr.json"))?)
    }

    /// Refuses links to levels that do not exist.
    fn admit_links(&self) -> Result<(), WriteError> {
        for step in 1..=MOST_LEVELS {
            let family = format!("0/links/+{step}");
            if self.target.exists(&format!("{family}/zarr.json"))? {
                let found = format!("{family}, of a level that was removed");
                let expected = "no links between levels; --replace removes them";
                return Err(WriteError::input("store", found, expected));
            }
        }
        Ok(())
    }

    /// Checks whether the bins of a specification may be those of level 0, which already has bins if `fixed`.
    fn admit_bins(&self, store: &Store, spec: &PyramidSpec, fixed: bool) -> Result<(), WriteError> {
        let BaseBins::Given(bins) = &spec.base else {
            return Ok(());
        };
        let root = store.root();
        let stored = root.base_bin_shape();
        if fixed && !bins.iter().zip(stored).all(|(&a, &b)| close(a, b)) {
            let expected = format!("those that level 0 has, {stored:?}");
            return Err(WriteError::spec("base", format!("{bins:?}"), expected));
        }
        let chunk = &root.zarr_vectors.chunk_shape;
        let divides = |(&chunk, &bin): (&f64, &f64)| {
            let count = (chunk / bin).round();
            count >= 1.0 && (chunk / bin - count).abs() <= 1e-9
        };
        if !chunk.iter().zip(bins).all(divides) {
            let expected = format!("sizes that divide the chunk, {chunk:?}");
            return Err(WriteError::spec("base", format!("{bins:?}"), expected));
        }
        Ok(())
    }

    /// The documents of all levels, from level 0 on.
    pub(super) fn documents(&self, store: &Store) -> Result<Vec<LevelDoc>, WriteError> {
        let levels = store.levels().iter();
        levels
            .map(|&number| {
                let level = self
                    .handle
                    .block_on(store.level(number, &Need::nothing()))?;
                Ok(level.doc().clone())
            })
            .collect()
    }

    /// The levels of the store, as a plan to rebuild them.
    fn plan(&self, store: &Store) -> Result<PyramidPlan, WriteError> {
        let docs = self.documents(store)?;
        let plan = PyramidPlan::of_levels(store.root(), docs.get(1..).unwrap_or_default())?;
        // The package writes links regardless of the depth, and its root may state a depth from before there were levels. A level without vertices
        // has no links.
        let wanted = WantedLevels::Planned(plan.clone()).is_linked();
        let some = docs.get(1).is_some_and(|level| level.vertex_count > 0);
        let linked = self.target.exists("0/links/+1/zarr.json")?;
        if some && wanted != linked {
            let found = match linked {
                true => "links to level 1, although the root states that there are none",
                false => "no links to level 1, although the root states that there are some",
            };
            let expected =
                "levels that can be rebuilt from their documents; --replace replaces others";
            return Err(WriteError::input("store", found, expected));
        }
        Ok(plan)
    }

    /// Builds levels from a root, and writes them to a target.
    pub(super) fn make(
        &self,
        store: &Store,
        root: RootDoc,
        wanted: &WantedLevels<'_>,
        stage: Option<&Stage>,
    ) -> Result<Levels, WriteError> {
        let folder = self.options.folder();
        let maker = LevelMaker {
            store,
            sink: StoreSink {
                target: self.target,
                stage,
            },
            means: Means {
                budget: self.options.memory_budget,
                threads: self.options.threads,
                folder: &folder,
            },
            handle: self.handle,
            progress: self.progress,
        };
        // Level 0 is read while levels are built, so a reader may be the first to detect a change by another writer.
        maker.levels(root, wanted).map_err(|error| match &error {
            WriteError::Store(source) if source.is_changed() => WriteError::changed(self.address),
            _ => error,
        })
    }

    /// Adds levels to a store that has none.
    fn add(
        &self,
        store: &Store,
        spec: &PyramidSpec,
        report: PyramidReport,
    ) -> Result<PyramidReport, WriteError> {
        let groups = groups(self.target)?;
        let what = "coarse levels are being made here; those that the root does not name were never finished";
        let details = json!({"pyramid": groups});
        let take = (Take::Expired, self.options.lease);
        let target = Arc::clone(self.target);
        let mut change = Change::begin(target, self.address, what, &details, take)?;
        // Levels are written in place. If another program has taken this change over, it may have written levels of its own there.
        self.target.fence(self.address, change.watch());
        let root = RootDoc::parse(change.root()).map_err(WriteError::from);
        let root = root.and_then(|root| {
            self.unchanged(&root, store)?;
            Ok(root)
        });
        let root = match root {
            Ok(root) => root,
            // Nothing was written yet: the levels there are those of another writer.
            Err(error) => return Err(change.fail(&[], error)),
        };
        let done = self
            .make(store, root, &WantedLevels::New(spec), None)
            .and_then(|levels| {
                self.target.barrier()?;
                change.confirm()?;
                self.target.put(level_documents(&levels.made))?;
                change.replace_root(self.recorded(&levels.root).to_json().into_bytes())?;
                Ok(levels)
            });
        match done {
            Ok(levels) => {
                change.finish()?;
                let method = Some(spec.method.unwrap_or_default());
                Ok(reported(PyramidReport { method, ..report }, levels))
            }
            Err(error) => Err(change.fail(&groups, error)),
        }
    }

    /// The root with a new entry in its history.
    pub(super) fn recorded(&self, root: &RootDoc) -> RootDoc {
        let mut root = root.clone();
        root.record(self.options.history.clone());
        root
    }

    pub(super) fn unchanged(&self, root: &RootDoc, store: &Store) -> Result<(), WriteError> {
        if root == store.root() {
            return Ok(());
        }
        Err(WriteError::changed(self.address))
    }
}

/// All groups that a pyramid may write below the root of a store of one level: they are removed if it is interrupted.
fn groups(target: &Target) -> Result<Vec<String>, WriteError> {
    let mut groups: Vec<String> = (1..=MOST_LEVELS).map(|level| level.to_string()).collect();
    // The document of a group may be absent, as in stores of old writers.
    if target.exists("0/links/zarr.json")? || !target.keys_below("0/links")?.is_empty() {
        groups.extend((1..=MOST_LEVELS).map(|delta| format!("0/links/+{delta}")));
    } else {
        groups.push("0/links".to_owned());
    }
    Ok(groups)
}

/// The report of a change of levels.
pub(super) fn reported(report: PyramidReport, levels: Levels) -> PyramidReport {
    PyramidReport {
        levels: levels.made.into_iter().map(|one| one.report).collect(),
        chosen: levels.chosen,
        mixed: levels.mixed,
        held: levels.held,
        ..report
    }
}

/// The documents with which groups become levels.
pub(super) fn level_documents(made: &[MadeLevel]) -> Vec<ObjectPut> {
    let documents = made.iter().map(|one| &one.doc);
    documents
        .map(|doc| node(doc.level, doc.to_json()))
        .collect()
}

/// The number of chunks of level 0 for which the levels are out of date.
fn stale(root: &RootDoc) -> u64 {
    let chunks = root.extra.get(STALE).and_then(|stale| stale.get("chunks"));
    chunks
        .and_then(Value::as_array)
        .map_or(0, |chunks| wide(chunks.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Old writers omit documents of groups; links below such a group are not of a pyramid.
    #[test]
    fn links_are_never_among_the_groups_that_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        let target = Target::new(&place, &zvf_store::OpenOptions::new(), false).unwrap();
        let whole = || groups(&target).unwrap().contains(&"0/links".to_owned());
        assert!(whole());
        target
            .put(vec![node("0/links/0", "{}".to_owned())])
            .unwrap();
        assert!(!whole());
    }
}

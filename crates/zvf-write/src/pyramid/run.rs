//! The levels one after the other, and the commit of all of them at once.
//!
//! ```text
//! zvf-unfinished.json     put only if absent: one change at a time
//! cells and documents     of arrays of all levels, and of links between levels
//! ── everything above is durable ──
//! N/zarr.json             of all levels
//! zarr.json               replaced, if it is still the one that was read
//! zvf-unfinished.json     removed
//! ```
//!
//! Readers that take folders for levels see a level when its document is there; before, its folder is no group. Our own
//! reader takes no folder for a level that the root does not name, as long as the marker is there.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use zvf_meta::version::{self, Gate};
use zvf_meta::{JsonObject, LevelDoc, RootDoc};
use zvf_store::{ChunkCoord, ContainerKind, Names, Need, Store};

use super::bins::{MOST_AXES, Means, compose};
use super::cross::{self, Side};
use super::density::{self, Source, State};
use super::fine::Fine;
use super::reference::{self, ObjectColumn, Step};
use super::spec::{CrossLevel, LevelStep, MOST_LEVELS, Method, PyramidSpec};
use super::{root, storage};
use crate::change::Change;
use crate::int::wide;
use crate::shard::{Cells, Container};
use crate::target::Target;
use crate::{WriteError, WriteOptions, documents};

/// What was written of one level.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelReport {
    /// Its number.
    pub level: u32,
    /// Vertices.
    pub vertices: u64,
    /// Chunks with vertices.
    pub chunks: u64,
    /// Objects with vertices.
    pub objects: u64,
    /// Links inside the level that are stored; implied ones are not.
    pub links: u64,
    /// Size of a bin along each axis, in world units.
    pub bin_shape: Vec<f64>,
    /// Attributes of a type that the method does not carry, by their names.
    pub left_out: Vec<String>,
    /// How far in world units any part of level 0 may be from what is left of it; none where nothing is promised.
    pub error_bound: Option<f64>,
}

/// Adds coarse levels to a store that has level 0 alone.
///
/// All levels appear at once, or none: see `docs/pyramids.md`.
///
/// # Cost
/// The reference method reads the positions of level 0 twice and holds 4 bytes for each of its vertices, and about 100 for
/// each of the next level; the density method holds a whole level.
///
/// # Errors
/// Misuse: a specification that is not legal, a store that has coarse levels already, is older than 0.9, or whose chunks are
/// cut by an attribute; another change that goes on, or was interrupted (unless
/// [`WriteOptions::leftovers`] lets it be cleared). Malformed data. I/O. The store is as before then, unless
/// [`WriteError::is_committed`].
pub async fn build_pyramid(
    address: &str,
    spec: &PyramidSpec,
    options: &WriteOptions,
    progress: Arc<dyn Fn(u64) + Send + Sync>,
) -> Result<Vec<LevelReport>, WriteError> {
    let (address, spec, options) = (address.to_owned(), spec.clone(), options.clone());
    let handle = Handle::current();
    crate::writer::blocking(move || {
        let job = Job {
            address: &address,
            spec: &spec,
            options: &options,
            handle: &handle,
            progress: &*progress,
        };
        job.run()
    })
    .await
}

/// Everything that is the same for all levels.
struct Job<'j> {
    address: &'j str,
    spec: &'j PyramidSpec,
    options: &'j WriteOptions,
    handle: &'j Handle,
    progress: &'j (dyn Fn(u64) + Send + Sync),
}

/// A level that was written, but for its document.
struct Made {
    doc: LevelDoc,
    report: LevelReport,
}

/// A level, as far as links between levels need it.
struct Shape {
    level: u32,
    chunks: Arc<Vec<ChunkCoord>>,
    starts: Vec<u32>,
    ratio: Vec<i64>,
    cells: Cells,
}

impl Job<'_> {
    fn run(&self) -> Result<Vec<LevelReport>, WriteError> {
        let target = Arc::new(Target::new(
            self.address,
            &self.options.open,
            self.options.durable,
        )?);
        if let Some(found) = Change::interrupted(&target)? {
            // Only what is known to be the rest of a pyramid is cleared by one.
            let groups = leftovers(&found).ok_or_else(|| WriteError::Busy {
                store: self.address.to_owned(),
                marker: crate::commit::MARKER,
            })?;
            self.clear(&target, groups)?;
        }
        let store = self.open()?;
        self.admit(&store, &target)?;
        let groups = groups(&target)?;
        let what = "coarse levels are being made here; those that the root does not name were never finished";
        let details = json!({"pyramid": groups});
        let mut change = Change::begin(Arc::clone(&target), self.address, what, details)?;
        let done = RootDoc::parse(change.root())
            .map_err(WriteError::from)
            .and_then(|root| {
                if root != *store.root() {
                    return Err(WriteError::Changed {
                        store: self.address.to_owned(),
                    });
                }
                self.levels(&store, root, &target)
            })
            .and_then(|(root, made)| {
                target.barrier()?;
                let docs = made.iter().map(|one| {
                    (
                        format!("{}/zarr.json", one.doc.level),
                        one.doc.to_json().into_bytes(),
                    )
                });
                target.put(docs.collect())?;
                change.replace_root(root.to_json().into_bytes())?;
                Ok(made.into_iter().map(|one| one.report).collect())
            });
        match done {
            Ok(reports) => change.finish().map(|()| reports),
            Err(error) => {
                change.abandon(&groups);
                Err(error)
            }
        }
    }

    fn open(&self) -> Result<Store, WriteError> {
        let store = self
            .handle
            .block_on(Store::open_with(self.address, self.options.open.clone()))?;
        Ok(store)
    }

    /// Clears what an interrupted pyramid left. A root that names its levels was the last step: only the marker is left.
    fn clear(&self, target: &Target, groups: Vec<String>) -> Result<(), WriteError> {
        let root = target.read(crate::commit::ROOT)?;
        let root = root.map(|bytes| RootDoc::parse(&bytes)).transpose()?;
        let named = root.is_some_and(|root| root.multiscales.dataset(1).is_some());
        let groups = if named { Vec::new() } else { groups };
        Change::clear_interrupted(target, self.address, self.options.leftovers, &groups)
    }

    /// Whether levels can be added to this store.
    fn admit(&self, store: &Store, target: &Target) -> Result<(), WriteError> {
        let root = store.root();
        self.spec.check(root.dims())?;
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
        if store.levels() != [0] {
            let found = format!("levels {:?}", store.levels());
            return refuse(
                found,
                "level 0 alone: levels that are there are not replaced",
            );
        }
        let level = self.handle.block_on(store.level(0, &Need::nothing()))?;
        if level.vertices().container() != ContainerKind::Grid {
            return refuse(
                format!("cells in {}", level.vertices().container()),
                "cells in one grid",
            );
        }
        if level.key_rank() != level.dims() {
            let found = "chunks that are cut by an attribute, too".to_owned();
            return refuse(found, "chunks that are cut by position alone");
        }
        for step in 1..=MOST_LEVELS {
            let family = format!("0/links/+{step}");
            if target.exists(&format!("{family}/zarr.json"))? {
                return refuse(
                    format!("{family}, of a level that was removed"),
                    "no links between levels",
                );
            }
        }
        Ok(())
    }

    fn means(&self, folder: &'_ Path) -> (usize, usize, std::path::PathBuf) {
        (
            self.options.memory_budget,
            self.options.threads,
            folder.to_owned(),
        )
    }

    /// Writes all levels, but for their documents and the root, which is returned.
    fn levels(
        &self,
        store: &Store,
        root: RootDoc,
        target: &Arc<Target>,
    ) -> Result<(RootDoc, Vec<Made>), WriteError> {
        let folder = self.options.temporary_folder.clone();
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let (budget, threads, folder) = self.means(&folder);
        let means = Means {
            budget,
            threads,
            folder: &folder,
        };
        match self.spec.method {
            Method::Reference => self.reference(store, root, target, means),
            Method::Density => self.density(store, root, target, means),
        }
    }

    /// The steps; the last one is repeated where a level is still too large.
    fn step(&self, done: &[Made], vertices: u64) -> Option<LevelStep> {
        if let Some(step) = self.spec.levels.get(done.len()) {
            return Some(step.clone());
        }
        let last = done.last()?.report.vertices;
        let shrinks = last < vertices;
        let more = self.spec.until.is_some_and(|most| last > most);
        (more && shrinks && done.len() < MOST_LEVELS)
            .then(|| self.spec.levels.last().cloned())
            .flatten()
    }

    fn reference(
        &self,
        store: &Store,
        mut root: RootDoc,
        target: &Target,
        means: Means<'_>,
    ) -> Result<(RootDoc, Vec<Made>), WriteError> {
        let (compression, shards) = storage::of_level(store, self.handle)?;
        let cells = |chunk_shape: &[f64]| -> Result<Cells, WriteError> {
            Ok(Cells {
                grid: documents::grid(&root.zarr_vectors.bounds, chunk_shape)?,
                shards: shards.clone(),
                compression: compression.clone(),
                container: Container::Grid,
            })
        };
        let ratio = |chunk_shape: &[f64]| ratio(chunk_shape, &root.zarr_vectors.chunk_shape);
        let mut fine = Fine::stored(store, 0, self.handle)?;
        let mut columns = self.columns(store)?;
        let mut shapes = vec![Shape {
            level: 0,
            chunks: Arc::clone(&fine.chunks),
            starts: Vec::new(),
            ratio: ratio(&fine.chunk_shape),
            cells: cells(&fine.chunk_shape)?,
        }];
        let root_cells = cells(&root.zarr_vectors.chunk_shape)?;
        let mut parents: Vec<Vec<u32>> = Vec::new();
        let mut made: Vec<Made> = Vec::new();
        let mut before = u64::MAX;
        while let Some(given) = self.step(&made, before) {
            let level = fine.number.saturating_add(1);
            let step = Step {
                level,
                sparsity: given.sparsity,
                seed: self.spec.seed,
                chunk_shape: scaled(&fine.chunk_shape, &given.chunk_scale),
                bin_shape: fine
                    .bin_shape
                    .iter()
                    .map(|bin| bin * given.factor)
                    .collect(),
                own_chunks: false,
                root_shape: root.zarr_vectors.chunk_shape.clone(),
            };
            let step = Step {
                own_chunks: differs(&step.chunk_shape, &root.zarr_vectors.chunk_shape),
                ..step
            };
            let cells = cells(&step.chunk_shape)?;
            let below = target.below(level.to_string());
            let both = (&cells, &root_cells);
            let done = reference::coarsen(&fine, &step, &mut columns, both, &below, means)?;
            if let Some(last) = shapes.last_mut() {
                last.starts.clone_from(&done.parents.starts);
            }
            before = wide(done.parents.of.len());
            (self.progress)(before);
            shapes.push(Shape {
                level,
                chunks: Arc::clone(&done.fine.chunks),
                starts: done.starts,
                ratio: ratio(&step.chunk_shape),
                cells,
            });
            parents.push(done.parents.of);
            made.push(Made {
                report: LevelReport {
                    level,
                    vertices: done.vertices,
                    chunks: done.chunks,
                    objects: done.present,
                    links: 0,
                    left_out: Vec::new(),
                    bin_shape: step.bin_shape.clone(),
                    error_bound: None,
                },
                doc: done.doc,
            });
            fine = done.fine;
        }
        let linked = self.links(&shapes, &parents, target, means)?;
        let levels: Vec<_> = made
            .iter()
            .map(|one| (one.doc.clone(), one.report.bin_shape.clone()))
            .collect();
        root::add_levels(&mut root, &levels);
        let storage = self.spec.cross_level.name();
        root::say_links(&mut root, self.spec.depth, storage, linked);
        Ok((root, made))
    }

    fn density(
        &self,
        store: &Store,
        mut root: RootDoc,
        target: &Arc<Target>,
        means: Means<'_>,
    ) -> Result<(RootDoc, Vec<Made>), WriteError> {
        let (compression, shards) = storage::of_level(store, self.handle)?;
        let source = Source::read(store, self.handle)?;
        let mut columns = self.columns(store)?;
        let base = root.zarr_vectors.chunk_shape.clone();
        let (mut chunk_shape, mut bin_shape) = (base.clone(), root.base_bin_shape().to_vec());
        let mut made: Vec<Made> = Vec::new();
        let mut state: Option<State> = None;
        let mut before = u64::MAX;
        while let Some(given) = self.step(&made, before) {
            let parent = made.last().map_or(0, |one| one.report.level);
            let level = parent.saturating_add(1);
            chunk_shape = scaled(&chunk_shape, &given.chunk_scale);
            bin_shape = bin_shape.iter().map(|bin| bin * given.factor).collect();
            let finer = state.as_ref().unwrap_or(&source.state);
            before = wide(finer.rows.len());
            let (sparsity, seed) = (given.sparsity, self.spec.seed);
            let next = density::coarsen(source.geometry(), finer, &bin_shape, sparsity, seed)?;
            let own_chunks = differs(&chunk_shape, &base);
            let cells = Cells {
                grid: documents::grid(&root.zarr_vectors.bounds, &chunk_shape)?,
                shards: shards.clone(),
                compression: compression.clone(),
                container: Container::Grid,
            };
            let doc = LevelDoc {
                level,
                object_sparsity: 1.0 / sparsity,
                coarsening_method: Some("density".to_owned()),
                parent_level: Some(parent),
                chunk_shape: own_chunks.then(|| chunk_shape.clone()),
                preserves_object_ids: !source.state.runs.is_empty(),
                inherited_num_objects: Some(wide(source.state.runs.len())),
                extra: JsonObject::from_iter([(
                    "coarsening".to_owned(),
                    json!({"bin_shape": bin_shape, "error_bound": next.error, "seed": seed}),
                )]),
                ..LevelDoc::default()
            };
            let below = target.below(level.to_string());
            let to = density::Target {
                target,
                below: &below,
                bounds: &root.zarr_vectors.bounds,
                cells: &cells,
                chunk_shape: &chunk_shape,
                bins: root
                    .zarr_vectors
                    .base_bin_shape
                    .as_deref()
                    .filter(|_| !own_chunks),
                budget: means.budget,
                threads: means.threads,
                folder: means.folder,
            };
            let (doc, summary) = density::write(&source, &next, &mut columns, doc, to)?;
            (self.progress)(before);
            made.push(Made {
                report: LevelReport {
                    level,
                    vertices: summary.vertices,
                    chunks: summary.chunks,
                    objects: wide(next.runs.iter().filter(|(_, count)| *count > 0).count()),
                    links: summary.links,
                    left_out: source.left_out.clone(),
                    bin_shape: bin_shape.clone(),
                    error_bound: Some(next.error),
                },
                doc,
            });
            state = Some(next);
        }
        let levels: Vec<_> = made
            .iter()
            .map(|one| (one.doc.clone(), one.report.bin_shape.clone()))
            .collect();
        root::add_levels(&mut root, &levels);
        root::say_links(
            &mut root,
            self.spec.depth,
            self.spec.cross_level.name(),
            false,
        );
        Ok((root, made))
    }

    /// Writes the links between levels; whether there are any families.
    fn links(
        &self,
        shapes: &[Shape],
        parents: &[Vec<u32>],
        target: &Target,
        means: Means<'_>,
    ) -> Result<bool, WriteError> {
        let depth = usize::try_from(self.spec.depth).unwrap_or(parents.len());
        if self.spec.cross_level == CrossLevel::None || depth == 0 {
            return Ok(false);
        }
        let both = self.spec.cross_level == CrossLevel::Explicit;
        for (from, fine) in shapes.iter().enumerate() {
            let mut up: Option<Vec<u32>> = None;
            let above = shapes.iter().skip(from.saturating_add(1));
            let steps = parents.iter().skip(from);
            for (coarse, step) in above.zip(steps).take(depth) {
                let next = up.map_or_else(|| step.clone(), |up| compose(&up, step));
                cross::write(side(fine), side(coarse), &next, both, target, means)?;
                up = Some(next);
            }
        }
        Ok(true)
    }

    /// The attributes of objects.
    fn columns(&self, store: &Store) -> Result<Vec<ObjectColumn>, WriteError> {
        let need = Need {
            object_attributes: Names::All,
            ..Need::nothing()
        };
        let level = self.handle.block_on(store.level(0, &need))?;
        let read = |array: &zvf_store::TypedArray| {
            let values = self.handle.block_on(array.read())?;
            Ok(ObjectColumn {
                array: array.clone(),
                values,
                lost: Vec::new(),
            })
        };
        level.object_attributes().iter().map(read).collect()
    }
}

fn side(shape: &Shape) -> Side<'_> {
    Side {
        level: shape.level,
        chunks: &shape.chunks,
        starts: &shape.starts,
        ratio: &shape.ratio,
        cells: &shape.cells,
    }
}

/// Everything that a pyramid may have written below the root.
fn groups(target: &Target) -> Result<Vec<String>, WriteError> {
    let mut groups: Vec<String> = (1..=MOST_LEVELS).map(|level| level.to_string()).collect();
    if target.exists("0/links/zarr.json")? {
        groups.extend((1..=MOST_LEVELS).map(|delta| format!("0/links/+{delta}")));
    } else {
        groups.push("0/links".to_owned());
    }
    Ok(groups)
}

/// The groups that a marker names, if they are such as a pyramid writes: nothing else is ever removed.
fn leftovers(marker: &Value) -> Option<Vec<String>> {
    let named = marker.pointer("/details/pyramid")?.as_array()?;
    let known = |name: &str| {
        let number = name.strip_prefix("0/links/+").unwrap_or(name);
        name == "0/links" || number.parse::<u32>().is_ok_and(|number| number > 0)
    };
    named
        .iter()
        .map(|name| name.as_str().filter(|name| known(name)).map(str::to_owned))
        .collect()
}

/// A chunk shape, so many times as large.
fn scaled(shape: &[f64], scale: &[u32]) -> Vec<f64> {
    let scale = scale.iter().copied().chain(std::iter::repeat(1));
    shape
        .iter()
        .zip(scale)
        .map(|(size, n)| size * f64::from(n))
        .collect()
}

/// Whether shapes differ by more than rounding.
fn differs(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).any(|(a, b)| (a - b).abs() >= 1e-9)
}

/// Chunk sizes in chunks of the root.
#[expect(
    clippy::cast_possible_truncation,
    reason = "products of the scales of a few levels"
)]
fn ratio(shape: &[f64], root: &[f64]) -> Vec<i64> {
    shape
        .iter()
        .zip(root)
        .map(|(a, b)| (a / b).round_ties_even() as i64)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{differs, leftovers, ratio, scaled};

    #[test]
    fn only_what_a_pyramid_writes_is_cleared() {
        let marker = |names: &[&str]| json!({"details": {"pyramid": names}});
        assert_eq!(leftovers(&marker(&["1", "0/links/+2"])).unwrap().len(), 2);
        assert_eq!(leftovers(&marker(&["0/links"])).unwrap().len(), 1);
        for name in [
            "0",
            "",
            "..",
            "0/vertices",
            "1/../0",
            "-1",
            "0/links/+0",
            "0/links/0",
        ] {
            assert_eq!(leftovers(&marker(&["1", name])), None, "{name}");
        }
        assert_eq!(leftovers(&json!({"details": {}})), None);
    }

    #[test]
    fn shapes_of_chunks() {
        assert_eq!(scaled(&[10.0, 5.0], &[]), [10.0, 5.0]);
        assert_eq!(scaled(&[10.0, 5.0], &[2, 3]), [20.0, 15.0]);
        assert_eq!(ratio(&[20.0, 15.0], &[10.0, 5.0]), [2, 3]);
        assert!(!differs(&[10.0], &[10.0 + 1e-10]));
        assert!(differs(&[20.0], &[10.0]));
    }
}

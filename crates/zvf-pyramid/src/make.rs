//! Writes the levels of a plan, one after another. The caller writes their documents and the root.

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;
use zvf_meta::rules::close;
use zvf_meta::{AxesDiffer, JsonObject, Kind, LevelDoc, Metric, RootDoc};
use zvf_store::{Deltas, Names, Need, Store};

use super::base::ChosenBins;
use super::bin::Means;
use super::bins::{NONE, compose};
use super::cross::{self, CrossLevelSide};
use super::density::{self, ComputedLevel, Numbered, WrittenLevel};
use super::fine::Fine;
use super::growth::Growth;
use super::plan::{PlannedLevel, PyramidPlan, RECORD, Sampling, WantedLevels};
use super::reference::{self, ObjectColumn, ReferenceStep};
use super::root;
use super::sink::StoreSink;
use super::spec::{BaseBins, CrossLevel, Method};
use zvf_encode::Compression;
use zvf_encode::error::{OrBug, internal};
use zvf_encode::level::{CellContainer, LevelCells, stored_as, stored_link_shards};
use zvf_encode::{WriteError, documents};
use zvf_format::int::{index, wide};

/// The result of writing one level.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelReport {
    /// Its number.
    pub level: u32,
    /// Vertices of the finer level.
    pub finer: u64,
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
    /// Names of attributes of a type that the method does not support.
    pub left_out: Vec<String>,
    /// Size of a chunk along each axis, in world units.
    pub chunk_shape: Vec<f64>,
    /// Largest distance in world units from any part of level 0 to the level; `None` if there is no guaranteed bound.
    pub error_bound: Option<f64>,
    /// Vertices of the finer level in parts of meshes that lost all their faces: the level has neither these vertices nor representatives of them. 0 for
    /// other kinds.
    pub vanished_vertices: u64,
    /// Objects with such vertices.
    pub vanished_objects: u64,
    /// Vertices of level 0 that belong to no object, in a store of objects: no coarse level has them. 0 except for the first coarse level.
    pub unowned_vertices: u64,
    /// Whether level 0 has links although the kind of the store has none: no coarse level has them. False except for the first coarse level.
    pub loses_links: bool,
}

impl LevelReport {
    /// Remarks about a bad size compared to the finer level, about parts of meshes that are missing in the level, and about vertices and links of level
    /// 0 that no coarse level has.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let links = self.loses_links.then(|| {
            format!(
                "level {}: level 0 has links, which are in no coarse level: stores of this kind have none",
                self.level
            )
        });
        let remarks = [self.unowned(), links, self.bad_size(), self.vanished()];
        remarks.into_iter().flatten().collect()
    }

    fn unowned(&self) -> Option<String> {
        (self.unowned_vertices > 0).then(|| {
            format!(
                "level {}: {} vertices of level 0 belong to no object, and are in no coarse level",
                self.level, self.unowned_vertices
            )
        })
    }

    fn vanished(&self) -> Option<String> {
        let (level, vertices, objects) =
            (self.level, self.vanished_vertices, self.vanished_objects);
        let of = if objects == 1 { "object" } else { "objects" };
        (vertices > 0).then(|| {
            format!(
                "level {level}: {vertices} of {} vertices in the finer level, of {objects} {of}, are in parts of the mesh \
                 whose faces all lost their area, and are left out without a representative; smaller bins keep more of them",
                self.finer
            )
        })
    }

    /// The remark about a level that is hardly smaller, or too small.
    fn bad_size(&self) -> Option<String> {
        let times = self.finer as f64 / self.vertices.max(1) as f64;
        let advice = match times {
            times if self.finer == 0 || (2.0..=32.0).contains(&times) => return None,
            times if times < 2.0 => {
                "hardly smaller; larger bins may merge more vertices, a sparsity leaves out objects"
            }
            _ => "too small to represent it",
        };
        Some(format!(
            "level {}: {} vertices of {} in the finer level, {times:.1} times fewer: {advice}; expected 2 to 32 times, \
             4 to 8 are usual",
            self.level, self.vertices, self.finer
        ))
    }
}

/// A level that was written except for its document.
#[derive(Debug)]
pub(crate) struct MadeLevel {
    pub(crate) doc: LevelDoc,
    pub(crate) report: LevelReport,
}

/// Computes and writes levels.
pub(crate) struct LevelMaker<'m> {
    pub(crate) store: &'m Store,
    pub(crate) sink: StoreSink<'m>,
    pub(crate) means: Means<'m>,
    pub(crate) handle: &'m Handle,
    pub(crate) progress: &'m (dyn Fn(u64) + Send + Sync),
}

/// All levels, and the new root document.
#[derive(Debug)]
pub(crate) struct Levels {
    pub(crate) root: RootDoc,
    pub(crate) made: Vec<MadeLevel>,
    /// Bins of level 0 that were chosen from the data.
    pub(crate) chosen: Option<ChosenBins>,
    /// Axes of space with different units, along which distances were measured.
    pub(crate) mixed: Option<AxesDiffer>,
    /// Largest memory for vertices in the density method, in bytes.
    pub(crate) held: u64,
}

impl LevelMaker<'_> {
    /// Writes all levels except for their documents and the root, which is returned. Rebuilt levels are replaced in `root`.
    pub(crate) fn levels(
        &self,
        root: RootDoc,
        wanted: &WantedLevels<'_>,
    ) -> Result<Levels, WriteError> {
        match wanted.method() {
            Method::Reference => self.reference(root, wanted),
            Method::Density => self.density(root, wanted),
        }
    }

    /// Returns the bins of level 0; the bins of all levels are multiples of them. Given bins are written to the root, except for points.
    fn base(&self, root: &mut RootDoc, base: &BaseBins) -> Vec<f64> {
        if let BaseBins::Given(bins) = base {
            self.declare(root, bins);
            return bins.clone();
        }
        root.base_bin_shape().to_vec()
    }

    /// Declares bins of level 0, except for points: readers that treat fragments as bins would be wrong (trap T1).
    fn declare(&self, root: &mut RootDoc, bins: &[f64]) {
        if self.store.kind() != Kind::PointCloud {
            root::declare_bins(root, bins);
        }
    }

    /// The storage of the cells of level 0, which is used for all levels (trap T7).
    fn cells<'r>(
        &self,
        bounds: &'r (Vec<f64>, Vec<f64>),
    ) -> Result<impl Fn(&[f64]) -> Result<LevelCells, WriteError> + 'r, WriteError> {
        let links = Need {
            link_deltas: Deltas::List(vec![0]),
            ..Need::nothing()
        };
        let level = self.handle.block_on(self.store.level(0, &links))?;
        // An unknown storage of level 0 is replaced by the default, because every array states its own codecs.
        let (compression, shards) = stored_as(&level)?;
        let compression = compression.unwrap_or(Compression::Auto);
        let link_shards = stored_link_shards(&level)?;
        Ok(move |chunk_shape: &[f64]| {
            let grid = documents::grid(bounds, chunk_shape)?;
            let (shards, compression) = (shards.clone(), compression.clone());
            let cells = LevelCells::new(grid, shards, compression, CellContainer::Grid);
            Ok(cells.with_link_shards(link_shards))
        })
    }

    fn reference(
        &self,
        mut root: RootDoc,
        wanted: &WantedLevels<'_>,
    ) -> Result<Levels, WriteError> {
        let base = self.base(&mut root, wanted.base());
        let plan = wanted.plan(&base, &root);
        let about = root.zarr_vectors.clone();
        let cells = self.cells(&about.bounds)?;
        let ratio = |chunk_shape: &[f64]| ratio(chunk_shape, &about.chunk_shape);
        let mut fine = Fine::stored(self.store, 0, self.handle)?;
        let mut columns = self.columns()?;
        let mut sides = vec![CrossLevelSide {
            level: 0,
            chunks: Arc::clone(&fine.chunks),
            starts: Vec::new(),
            ratio: ratio(&fine.chunk_shape),
            cells: cells(&fine.chunk_shape)?,
        }];
        let root_cells = cells(&about.chunk_shape)?;
        let mut parents: Vec<Vec<u32>> = Vec::new();
        let mut made: Vec<MadeLevel> = Vec::new();
        let (mut planned, mut vertices): (Vec<PlannedLevel>, _) = (Vec::new(), None);
        while let Some(next) = plan.next(&planned, vertices) {
            plan.check_chunks(planned.len(), &next, &about.chunk_shape)?;
            let level = fine.number + 1;
            let step = ReferenceStep {
                level,
                share: next.share,
                seed: next.sampling.seed(),
                own_chunks: differs(&next.chunk_shape, &about.chunk_shape),
                chunk_shape: next.chunk_shape.clone(),
                bin_shape: next.bin_shape.clone(),
                root_shape: about.chunk_shape.clone(),
                extra: record(&next, &[]),
            };
            let cells = cells(&step.chunk_shape)?;
            let below = self.sink.below(level);
            let both = (&cells, &root_cells);
            let done = reference::coarsen(&fine, &step, &mut columns, both, &below, self.means)?;
            let last = sides.last_mut().or_bug("no finer level")?;
            last.starts.clone_from(&done.parents.starts);
            let before = wide(done.parents.of.len());
            vertices = Some([before, done.vertices]);
            (self.progress)(before);
            sides.push(CrossLevelSide {
                level,
                chunks: Arc::clone(&done.fine.chunks),
                starts: done.starts,
                ratio: ratio(&step.chunk_shape),
                cells,
            });
            parents.push(done.parents.of);
            planned.push(next);
            made.push(MadeLevel {
                report: LevelReport {
                    level,
                    finer: before,
                    vertices: done.vertices,
                    chunks: done.chunks,
                    objects: done.present,
                    links: 0,
                    left_out: Vec::new(),
                    bin_shape: step.bin_shape.clone(),
                    chunk_shape: step.chunk_shape.clone(),
                    error_bound: None,
                    vanished_vertices: 0,
                    vanished_objects: 0,
                    unowned_vertices: 0,
                    loses_links: false,
                },
                doc: done.doc,
            });
            fine = done.fine;
        }
        let linked = self.links(&plan, &sides, &parents)?;
        name(&mut root, &made, &plan, linked);
        Ok(Levels {
            root,
            made,
            chosen: None,
            mixed: None,
            held: 0,
        })
    }

    fn density(&self, mut root: RootDoc, wanted: &WantedLevels<'_>) -> Result<Levels, WriteError> {
        let placed = wanted.is_linked();
        let mut builder = density::LevelBuilder::new(density::Reading {
            store: self.store,
            handle: self.handle,
            means: self.means,
            placed,
        })?;
        let mut chosen = None;
        let root_shape = root.zarr_vectors.chunk_shape.clone();
        let plan = if let Some(spec) = wanted.automatic() {
            let until = spec.until.unwrap_or(1);
            let levels = builder.levels(until, &root_shape)?;
            if levels.is_empty() {
                let found = format!("{} vertices in level 0", builder.vertices());
                let expected = format!("more than {until}: fewer need no coarse levels");
                return Err(WriteError::input("store", found, expected));
            }
            PyramidPlan::automatic(spec, levels)
        } else {
            // Bins that divide chunks of points are chosen for storage, and do not reflect the density of points.
            let declared = root.zarr_vectors.base_bin_shape.is_some();
            let stored = declared && self.store.kind() != Kind::PointCloud;
            let base = if *wanted.base() == BaseBins::Data && !stored {
                let found = builder.choose(&root_shape)?;
                self.declare(&mut root, &found.shape);
                let shape = found.shape.clone();
                chosen = Some(found);
                shape
            } else {
                self.base(&mut root, wanted.base())
            };
            wanted.plan(&base, &root)
        };
        let about = root.zarr_vectors.clone();
        let growth = Growth::new(self.store, self.handle, builder.vertices(), &about)?;
        let (mut planned, mut found): (Vec<PlannedLevel>, Vec<ComputedLevel>) =
            (Vec::new(), Vec::new());
        let mut vertices = None;
        let mut finest = builder.places();
        while let Some(mut step) = plan.next(&planned, vertices) {
            let next = builder.thin(&step)?;
            vertices = Some([next.before, next.vertices]);
            if plan.grow.is_some_and(|from| planned.len() >= from) {
                growth.grow(&mut step, &next);
            }
            plan.check_chunks(planned.len(), &step, &about.chunk_shape)?;
            (self.progress)(next.before);
            planned.push(step);
            found.push(next);
        }
        let cells = self.cells(&about.bounds)?;
        let ratio = |chunk_shape: &[f64]| ratio(chunk_shape, &about.chunk_shape);
        let (objects, left_out) = (
            builder.metadata().ids.len(),
            builder.metadata().left_out.clone(),
        );
        let stated = builder.metadata().level.doc().vertex_count;
        let loses_links = builder.metadata().loses_links();
        let held = builder.most_held();
        let mut level_cells = Vec::new();
        for step in &planned {
            level_cells.push(cells(&step.chunk_shape)?);
        }
        let belows: Vec<_> = (1..)
            .zip(&planned)
            .map(|(level, _)| self.sink.below(level))
            .collect();
        let targets = (1_u32..).zip(&planned).zip(level_cells.iter().zip(&belows));
        let targets = targets.map(|((level, step), (cells, below))| {
            let own_chunks = differs(&step.chunk_shape, &about.chunk_shape);
            let points = self.store.kind() == Kind::PointCloud;
            let sampled = step.sampling == Sampling::Curve;
            let doc = LevelDoc {
                level,
                object_sparsity: if points && sampled { 1.0 } else { step.share },
                coarsening_method: Some("density".to_owned()),
                parent_level: level.checked_sub(1),
                chunk_shape: own_chunks.then(|| step.chunk_shape.clone()),
                preserves_object_ids: objects > 0,
                inherited_num_objects: Some(wide(objects)),
                ..LevelDoc::default()
            };
            let bins = about.base_bin_shape.as_deref();
            let to = density::LevelTarget {
                below,
                bounds: &about.bounds,
                cells,
                chunk_shape: &step.chunk_shape,
                bins: bins.filter(|_| !own_chunks),
                budget: self.means.budget,
                threads: self.means.threads,
                folder: self.means.folder,
                placed,
            };
            (to, doc)
        });
        let mut columns = self.columns()?;
        let written = builder.write(targets.collect(), &mut columns)?;
        let mut made: Vec<MadeLevel> = Vec::new();
        let (mut sides, mut parents) = (Vec::new(), Vec::new());
        if let Some(places) = &finest {
            sides.push(CrossLevelSide {
                level: 0,
                chunks: Arc::clone(&places.chunks),
                starts: places.starts.clone(),
                ratio: ratio(&about.chunk_shape),
                cells: cells(&about.chunk_shape)?,
            });
        }
        let levels = planned
            .iter()
            .zip(found)
            .zip(written.into_iter().zip(level_cells));
        for (level, ((step, next), (written, cells))) in (1..).zip(levels) {
            let WrittenLevel {
                mut doc,
                summary,
                places,
            } = written;
            doc.extra = record(
                step,
                next.error.map(|error| ("error_bound", error)).as_slice(),
            );
            if let (Some(finer), Some(places)) = (&finest, &places) {
                parents.push(of_rows(finer, &next.representatives, places)?);
                sides.push(CrossLevelSide {
                    level,
                    chunks: Arc::clone(&places.chunks),
                    starts: places.starts.clone(),
                    ratio: ratio(&step.chunk_shape),
                    cells,
                });
            }
            finest = places;
            made.push(MadeLevel {
                report: LevelReport {
                    level,
                    finer: next.before,
                    vertices: summary.vertices,
                    chunks: summary.chunks,
                    // In a store without objects, all vertices count as one object in the computed levels.
                    objects: if objects > 0 { next.objects } else { 0 },
                    links: summary.links,
                    left_out: left_out.clone(),
                    bin_shape: step.bin_shape.clone(),
                    chunk_shape: step.chunk_shape.clone(),
                    error_bound: next.error,
                    vanished_vertices: next.vanished.vertices,
                    vanished_objects: next.vanished.objects,
                    // If objects share vertices, `before` counts a vertex once for each object, and may exceed the count of level 0.
                    unowned_vertices: if level == 1 && objects > 0 {
                        stated.saturating_sub(next.before)
                    } else {
                        0
                    },
                    loses_links: level == 1 && loses_links,
                },
                doc,
            });
        }
        let linked = self.links(&plan, &sides, &parents)?;
        name(&mut root, &made, &plan, linked);
        Ok(Levels {
            root,
            made,
            chosen,
            mixed: Metric::of_lengths(self.store.root().axes()).err(),
            held,
        })
    }

    /// Writes the links between levels; returns whether there are any families.
    fn links(
        &self,
        plan: &PyramidPlan,
        sides: &[CrossLevelSide],
        parents: &[Vec<u32>],
    ) -> Result<bool, WriteError> {
        // Negative: all levels.
        let depth = usize::try_from(plan.depth).unwrap_or(parents.len());
        if plan.cross == CrossLevel::None || depth == 0 {
            return Ok(false);
        }
        let both = plan.cross == CrossLevel::Explicit;
        let mut any = false;
        for (from, fine) in sides.iter().enumerate() {
            let mut up: Option<Vec<u32>> = None;
            let above = sides.iter().skip(from + 1);
            let steps = parents.iter().skip(from);
            for (coarse, step) in above.zip(steps).take(depth) {
                let next = match up {
                    Some(up) => compose(&up, step)?,
                    None => step.clone(),
                };
                any |= cross::write(fine, coarse, &next, both, self.sink, self.means)? > 0;
                up = Some(next);
            }
        }
        Ok(any)
    }

    /// The attributes of objects.
    fn columns(&self) -> Result<Vec<ObjectColumn>, WriteError> {
        let need = Need {
            object_attributes: Names::All,
            ..Need::nothing()
        };
        let level = self.handle.block_on(self.store.level(0, &need))?;
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

/// Adds levels and their links to the root.
fn name(root: &mut RootDoc, made: &[MadeLevel], plan: &PyramidPlan, linked: bool) {
    let levels: Vec<_> = made
        .iter()
        .map(|one| (one.doc.clone(), one.report.bin_shape.clone()))
        .collect();
    root::add_levels(root, &levels);
    root::state_links(root, plan.depth, plan.cross.name(), linked);
}

/// The members from which a level can be rebuilt, in addition to the members of the format.
fn record(planned: &PlannedLevel, measured: &[(&str, f64)]) -> JsonObject {
    let mut record = match planned.sampling {
        Sampling::Drawn(seed) => json!({"bin_shape": planned.bin_shape, "seed": seed}),
        Sampling::Curve => {
            let name = Sampling::CURVE;
            json!({"bin_shape": planned.bin_shape, "sampling": name, "share": planned.share})
        }
    };
    for (name, value) in measured {
        if let Some(members) = record.as_object_mut() {
            members.insert((*name).to_owned(), json!(value));
        }
    }
    let mut extra = planned.extra.clone();
    extra.insert(RECORD.to_owned(), record);
    extra
}

/// The representative of each row of a finer level. A row of two objects has the representative of the first.
fn of_rows(
    finer: &Numbered,
    representatives: &[u32],
    coarse: &Numbered,
) -> Result<Vec<u32>, WriteError> {
    let rows = *finer.starts.last().or_bug("no count of the vertices")?;
    let mut parents = vec![NONE; index(rows)];
    internal!(
        finer.of.len() == representatives.len(),
        "{} vertices, and {} representatives",
        finer.of.len(),
        representatives.len()
    );
    for (&row, &place) in finer.of.iter().zip(representatives) {
        let parent = match place {
            NONE => NONE,
            place => {
                let parent = coarse.of.get(index(place)).copied();
                parent.or_bug(format_args!("vertex {place} is not in the coarser level"))?
            }
        };
        let slot = parents.get_mut(index(row));
        let slot = slot.or_bug(format_args!("vertex {row} is not in the finer level"))?;
        if *slot == NONE {
            *slot = parent;
        }
    }
    Ok(parents)
}

/// Whether shapes differ by more than rounding.
fn differs(a: &[f64], b: &[f64]) -> bool {
    !a.iter().zip(b).all(|(a, b)| close(*a, *b))
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
    use std::sync::Arc;

    use super::{differs, of_rows, ratio};
    use crate::bins::NONE;
    use crate::density::Numbered;
    use zvf_encode::WriteError;

    #[test]
    fn shapes_of_chunks() {
        assert_eq!(ratio(&[20.0, 15.0], &[10.0, 5.0]), [2, 3]);
        assert!(!differs(&[10.0], &[10.0 + 1e-10]));
        assert!(differs(&[20.0], &[10.0]));
    }

    #[test]
    fn every_row_has_a_parent_or_none() {
        let numbered = |starts: &[u32], of: &[u32]| Numbered {
            chunks: Arc::default(),
            starts: starts.to_vec(),
            of: of.to_vec(),
        };
        let (finer, coarse) = (numbered(&[0, 2, 4], &[3, 0, 1]), numbered(&[0, 2], &[1, 0]));
        let parents = of_rows(&finer, &[0, 1, NONE], &coarse).unwrap();
        assert_eq!(parents, [0, NONE, NONE, 1]);
        // A vertex that the coarser level does not have, a row that the finer one does not have, and fewer numbers than vertices.
        let short = numbered(&[0, 3], &[3, 0, 1]);
        for (finer, representatives) in [
            (&finer, &[0, 2, NONE][..]),
            (&short, &[0, 1, NONE]),
            (&finer, &[0, 1]),
        ] {
            let found = of_rows(finer, representatives, &coarse);
            assert!(
                matches!(found, Err(WriteError::Bug { .. })),
                "{representatives:?}"
            );
        }
    }
}

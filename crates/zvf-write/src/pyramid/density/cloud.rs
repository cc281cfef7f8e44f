//! Clouds that are larger than the memory budget: level 0 is read again instead of being held.
//!
//! A level is made in two steps. The points of the finer one go to parts of whole bins, small enough to be held, of which
//! each is thinned by itself; what stays is sorted by its place in level 0. Then level 0 is read with all that belongs to
//! it, and of every batch what stays goes on to the writer. The levels are those that are made of a level 0 in memory.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use zvf_meta::LevelDoc;

use super::about::About;
use super::finest::Finest;
use super::points::{Picked, Picking, Point, Thinner};
use super::sheet::Parts;
use super::write::{Target, Writing};
use super::{Coarse, Found, Numbered, Reading, Thinning, draw_flags};
use crate::bucket::Bucket;
use crate::int::{index, narrow, to_index, wide};
use crate::pyramid::base::{self, ChosenBins};
use crate::pyramid::bins::{NONE, bin_of};
use crate::pyramid::plan::Planned;
use crate::pyramid::reference::ObjectColumn;
use crate::spill::Spool;
use crate::{WriteError, parallel};

/// A cloud that is not held.
#[derive(Debug)]
pub(super) struct Cloud<'c> {
    finest: Finest<'c>,
    /// The level that was made last.
    left: Option<Left>,
    error: f64,
}

/// A level that was made.
#[derive(Debug)]
struct Left {
    /// Its points in no order, until the next level is made.
    points: Option<Spool>,
    count: u64,
    /// Their places in order, where it is asked for what stands for them.
    rows: Vec<u32>,
}

impl<'c> Cloud<'c> {
    pub(super) fn new(from: Reading<'c>, about: About) -> Result<Self, WriteError> {
        Ok(Self {
            finest: Finest::new(from, about)?,
            left: None,
            error: 0.0,
        })
    }
}

impl Cloud<'_> {
    /// Parts of the finer level's points, without objects that are dropped; and how many points it has. Bins are told apart by a
    /// hash: each part is a set of whole bins.
    fn part(&mut self, bins: &[f64], kept: Option<&[bool]>) -> Result<(Parts, u64), WriteError> {
        let expected = match (&self.left, self.finest.about.level.doc().vertex_count) {
            (Some(left), _) => left.count,
            (None, 0) => u64::from(u32::MAX),
            (None, count) => count,
        };
        let dims = self.finest.dims();
        let bytes = expected.saturating_mul(wide(Point::size(dims)));
        let mut parts = Parts::new(bytes, &self.finest.desk())?;
        let mut push = |point: Point| {
            if kept.is_some_and(|kept| kept.get(index(point.object)) != Some(&true)) {
                return Ok(());
            }
            let bin = bin_of(point.position.get(..dims).unwrap_or_default(), bins)?;
            parts.push(FxBuildHasher.hash_one(bin), |out| point.write(dims, out))
        };
        let count = match &mut self.left {
            None => self.finest.points(push)?,
            Some(left) => {
                let pieces = left.points.take().into_iter().flat_map(Spool::pieces);
                for piece in pieces {
                    Point::read_all(&piece?, dims).try_for_each(&mut push)?;
                }
                left.count
            }
        };
        Ok((parts, count))
    }
}

impl Thinning for Cloud<'_> {
    fn about(&self) -> &About {
        &self.finest.about
    }

    fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        self.finest.places()
    }

    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let dims = self.finest.dims();
        let each = |take: base::Take<'_>| {
            let point = |point: Point| take(point.position.get(..dims).unwrap_or_default());
            self.finest.points(point).map(|_| ())
        };
        base::spacing(each, dims, chunk_shape)
    }

    fn coarsen(
        &mut self,
        step: &Planned,
        columns: &mut [ObjectColumn],
        doc: LevelDoc,
        to: Target<'_>,
    ) -> Result<Coarse, WriteError> {
        let (found, mut picked) = self.thin(step)?;
        let mut writing = Writing::new(&self.finest.about, to.beside_reading())?;
        self.finest.pick(
            |first, rows, out| picked.below(first, rows, out),
            &mut writing,
        )?;
        let written = writing.finish(&self.finest.about, columns, doc)?;
        Ok(found.written(self.error, written))
    }

    fn most_held(&self) -> u64 {
        wide(self.finest.meter.most())
    }
}

impl Cloud<'_> {
    /// Makes the next level: its points, and their places in level 0.
    fn thin(&mut self, step: &Planned) -> Result<(Found, Picked), WriteError> {
        let objects = self.finest.about.ids.len();
        let drawn = draw_flags(objects, step)?;
        let (parts, before) = self.part(&step.bin_shape, drawn.as_deref())?;
        let (parts, file, of_parts) = parts.finish();
        let mut held = 0;
        let (means, placed, dims) = (
            self.finest.from.means,
            self.finest.from.placed,
            self.finest.dims(),
        );
        let eighth = means.budget / 8;
        let mut points = Spool::new(eighth, means.folder);
        let mut picking = Picking::new(eighth, means.folder);
        let mut pairs = Spool::new(eighth, means.folder);
        let mut present = vec![false; objects];
        let (mut rows, mut count, mut moved, mut record) = (Vec::new(), 0_u64, 0.0_f64, Vec::new());
        let meter = self.finest.meter.clone();
        let thinner = Thinner {
            dims,
            bins: &step.bin_shape,
            paired: placed,
            file: &file,
            meter: &meter,
        };
        let work = |bucket: Bucket| thinner.thin(&bucket);
        parallel::each(means.threads, parts.into_iter(), work, |found| {
            for point in found.stays {
                record.clear();
                point.write(dims, &mut record);
                points.push(&record)?;
                picking.push(point.place);
                let object = present.get_mut(index(point.object));
                object.into_iter().for_each(|one| *one = true);
                count = count.saturating_add(1);
                if placed {
                    rows.push(point.place);
                }
            }
            for pair in found.pairs {
                pairs.push(pair.map(u32::to_le_bytes).as_flattened())?;
            }
            let waiting = points.memory().saturating_add(pairs.memory());
            meter.change(&mut held, waiting.saturating_add(picking.memory()));
            picking.relieve()?;
            moved = moved.max(found.moved);
            Ok(())
        })?;
        meter.change(&mut held, 0);
        drop(of_parts);
        rows.sort_unstable();
        let stand_ins = match placed {
            true => self.stand_ins(pairs, &rows, before)?,
            false => Vec::new(),
        };
        self.error += moved.sqrt();
        self.left = Some(Left {
            points: Some(points),
            count,
            rows,
        });
        let found = Found {
            before,
            objects: wide(present.iter().filter(|present| **present).count()),
            stand_ins,
        };
        Ok((found, picking.finish()))
    }

    /// The number of the vertex that stands for each one of the finer level; `rows` are the places of those that stay.
    fn stand_ins(&self, pairs: Spool, rows: &[u32], before: u64) -> Result<Vec<u32>, WriteError> {
        let mut stand_ins = vec![NONE; to_index("vertices", before)?];
        for piece in pairs.pieces() {
            for pair in piece?.as_chunks::<4>().0.as_chunks::<2>().0 {
                let [place, kept] = pair.map(u32::from_le_bytes);
                let fine = match &self.left {
                    None => index(place),
                    Some(left) => left.rows.binary_search(&place).unwrap_or(usize::MAX),
                };
                let coarse = rows.binary_search(&kept);
                if let (Some(slot), Ok(coarse)) = (stand_ins.get_mut(fine), coarse) {
                    *slot = narrow("vertices", coarse)?;
                }
            }
        }
        Ok(stand_ins)
    }
}

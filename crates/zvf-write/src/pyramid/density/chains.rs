//! Polylines, streamlines and skeletons that are larger than the memory budget: some objects are read at a time.
//!
//! What stays of an object is found out from that object alone. So each level is made from level 0, some objects after
//! the other, by all steps that lead to it. Links between objects would go unseen: there are none in trees.

use std::ops::Range;

use zvf_meta::LevelDoc;

use super::about::{About, Places};
use super::finest::Finest;
use super::read::Source;
use super::write::{Target, Writing};
use super::{Coarse, Numbered, Reading, Thinning, coarsen, draw};
use crate::WriteError;
use crate::int::{narrow, to_index, wide};
use crate::pyramid::base::{self, ChosenBins};
use crate::pyramid::bins::NONE;
use crate::pyramid::median::Squares;
use crate::pyramid::meter::Counted;
use crate::pyramid::plan::Planned;
use crate::pyramid::reference::ObjectColumn;

/// Chains that are not held.
#[derive(Debug)]
pub(super) struct Chains<'c> {
    finest: Finest<'c>,
    /// The steps of the levels that were made.
    steps: Vec<Step>,
    /// Links of level 0, of which each must be one of an object.
    links: u64,
}

#[derive(Debug)]
struct Step {
    bins: Vec<f64>,
    /// The objects that it keeps, ascending, if not all.
    kept: Option<Vec<usize>>,
}

impl Step {
    /// The objects among these that it keeps, counted from the first of them.
    fn kept(&self, objects: &Range<usize>) -> Option<Vec<usize>> {
        let all = self.kept.as_ref()?;
        let [start, end] =
            [objects.start, objects.end].map(|end| all.partition_point(|one| *one < end));
        let some = all.get(start..end).unwrap_or_default().iter();
        Some(some.map(|one| one.saturating_sub(objects.start)).collect())
    }
}

impl<'c> Chains<'c> {
    pub(super) fn new(from: Reading<'c>, about: About) -> Result<Self, WriteError> {
        let finest = Finest::new(from, about)?;
        let mut links = 0_u64;
        if finest.about.spec.takes_links() {
            finest.links(|_, batch| {
                links = links.saturating_add(wide(batch.num_rows()));
                Ok(())
            })?;
        }
        Ok(Self {
            finest,
            steps: Vec::new(),
            links,
        })
    }

    /// Applies `take` to level 0, some objects at a time: as many as fit an eighth of the budget, if they are as large as
    /// objects are on average.
    fn each(
        &mut self,
        mut places: Option<&mut Places>,
        mut take: impl FnMut(&About, &Source, Range<usize>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let objects = self.finest.about.ids.len();
        let (means, handle) = (self.finest.from.means, self.finest.from.handle);
        let share = wide(means.budget / 8).saturating_mul(wide(objects));
        let memory = self.finest.about.memory();
        let many = to_index("objects", (share / memory.max(1)).max(1))?;
        let store = self.finest.store()?;
        let mut held = Counted::new(&self.finest.meter);
        let mut links = 0_u64;
        for first in (0..objects).step_by(many) {
            let some = first..first.saturating_add(many).min(objects);
            let about = &mut self.finest.about;
            let places = places.as_deref_mut();
            let source = Source::read((&store, handle), about, some.clone(), places)?;
            held.set(to_index("bytes", source.held())?);
            links = links.saturating_add(wide(source.state.links_of.len()));
            take(&self.finest.about, &source, some)?;
            held.set(0);
        }
        if self.links != 0 && links != self.links {
            let found = format!("{} links, {links} of them inside of objects", self.links);
            return Err(WriteError::data(
                "level 0",
                found,
                "trees of one object each",
            ));
        }
        Ok(())
    }
}

impl Thinning for Chains<'_> {
    fn about(&self) -> &About {
        &self.finest.about
    }

    fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        if !self.finest.from.placed {
            return Ok(None);
        }
        let mut places = Places::default();
        self.each(Some(&mut places), |_, _, _| Ok(()))?;
        places.finish().map(Some)
    }

    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let means = self.finest.from.means;
        let mut squares = Squares::new(means.budget / 8, means.folder);
        self.each(None, |about, source, _| {
            let found = base::steps(source.geometry(about), &source.state);
            found
                .into_iter()
                .try_for_each(|square| squares.push(square))
        })?;
        if let Some(square) = squares.median()? {
            return Ok(base::of_step(square.sqrt(), chunk_shape));
        }
        let dims = self.finest.about.spec.dims();
        let each = |take: base::Take<'_>| {
            self.each(None, |_, source, _| {
                let mut positions = source.numbers.chunks_exact(dims.max(1));
                positions.try_for_each(&mut *take)
            })
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
        let mut steps = std::mem::take(&mut self.steps);
        steps.push(Step {
            bins: step.bin_shape.clone(),
            kept: draw(self.finest.about.ids.len(), step)?,
        });
        let mut writing = Writing::new(&self.finest.about, to.beside_reading())?;
        let mut moved = vec![0.0_f64; steps.len()];
        let (mut before, mut count, mut objects) = (0_u64, 0_usize, 0_u64);
        let (mut stand_ins, placed) = (Vec::new(), self.finest.from.placed);
        let mut held = Counted::new(&self.finest.meter);
        self.each(None, |about, source, some| {
            let mut fine = source.state.clone();
            let mut finer = 0;
            for (step, moved) in steps.iter().zip(&mut moved) {
                finer = fine.rows.len();
                let kept = step.kept(&some);
                let next = coarsen(source.geometry(about), &fine, &step.bins, kept.as_deref())?;
                *moved = moved.max(next.moved);
                fine = next;
            }
            before = before.saturating_add(wide(finer));
            objects = objects.saturating_add(fine.present());
            if placed {
                for &place in &fine.stand_ins {
                    stand_ins.push(match place {
                        NONE => NONE,
                        place => narrow("vertices", count)?.saturating_add(place),
                    });
                }
            }
            count = count.saturating_add(fine.rows.len());
            narrow("vertices", count)?;
            writing.push_state(about, source, &fine)?;
            held.set(writing.memory());
            Ok(())
        })?;
        drop(held);
        self.steps = steps;
        self.finest.begin();
        Ok(Coarse {
            before,
            objects,
            error: moved.iter().sum(),
            stand_ins,
            written: writing.finish(&self.finest.about, columns, doc)?,
        })
    }

    fn most_held(&self) -> u64 {
        wide(self.finest.meter.most())
    }
}

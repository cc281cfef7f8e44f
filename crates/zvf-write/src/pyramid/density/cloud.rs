//! Clouds that are larger than the memory budget: level 0 is read again instead of being held.
//!
//! A level is made in two steps. The points of the finer one go to parts of whole bins, small enough to be held, of which
//! each is thinned by itself; what stays is sorted by its place in level 0. Then level 0 is read with all that belongs to
//! it, and of every batch what stays goes on to the writer. The levels are those that are made of a level 0 in memory.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use rustc_hash::FxBuildHasher;
use zvf_meta::LevelDoc;
use zvf_query::{Column, Outputs, Query};
use zvf_store::Names;

use super::about::{About, Places, column, each_batch, start};
use super::points::{Picked, Picking, Point, Thinner};
use super::read::repeated;
use super::write::{Target, Writing};
use super::{Coarse, Numbered, Reading, Thinning, draw, tables};
use crate::bucket::{Bucket, Buckets};
use crate::int::{index, narrow, to_index, wide};
use crate::pyramid::base::{self, ChosenBins};
use crate::pyramid::bins::{MOST_AXES, NONE, bin_of};
use crate::pyramid::meter::Meter;
use crate::pyramid::plan::Planned;
use crate::pyramid::reference::ObjectColumn;
use crate::spill::{SpillFile, Spool};
use crate::{WriteError, parallel};

/// A cloud that is not held.
#[derive(Debug)]
pub(super) struct Cloud<'c> {
    from: Reading<'c>,
    about: About,
    /// Where vertices lie, between its being read and asked for.
    places: Option<Numbered>,
    /// Whether nobody has to read that any more.
    noted: bool,
    /// The level that was made last.
    left: Option<Left>,
    error: f64,
    meter: Meter,
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
    pub(super) fn new(from: Reading<'c>, mut about: About) -> Result<Self, WriteError> {
        about.declare_first(from)?;
        let mut ids = about.ids.clone();
        ids.sort_unstable();
        let mut pairs = ids.iter().zip(ids.iter().skip(1));
        if let Some((id, _)) = pairs.find(|(a, b)| a == b) {
            return Err(repeated(*id));
        }
        Ok(Self {
            from,
            about,
            places: None,
            noted: !from.placed,
            left: None,
            error: 0.0,
            meter: Meter::default(),
        })
    }

    fn dims(&self) -> usize {
        self.about.spec.dims()
    }

    /// Applies `take` to the vertices of level 0, batch by batch, with the place of the first of each.
    fn scan(
        &self,
        columns: Vec<Column>,
        mut take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let budget = self.from.means.budget / 8;
        let attributes = columns.contains(&Column::Attributes);
        let asked = Query {
            columns,
            attributes: if attributes { Names::All } else { Names::None },
            outputs: Outputs {
                links: false,
                objects: false,
                ..Outputs::default()
            },
            batch_rows: (budget / 256).clamp(256, 1 << 16),
            memory_budget: wide(budget),
            ..self.about.ask(0..self.about.ids.len(), false)
        };
        let store = match self.left {
            None => self.from.store.clone(),
            Some(_) => (self.from.again)()?,
        };
        let answer = start(&store, asked, self.from.handle)?;
        let mut first = 0_u32;
        each_batch(answer, self.from.handle, |batch| {
            let rows = narrow("vertices", batch.num_rows())?;
            let held = batch.get_array_memory_size();
            self.meter.add(held);
            take(first, &batch)?;
            self.meter.sub(held);
            let next = first.checked_add(rows).filter(|next| *next < NONE);
            let many = u64::from(first).saturating_add(u64::from(rows));
            first = next.ok_or_else(|| WriteError::limit("vertices", many, u64::from(NONE)))?;
            Ok(())
        })
    }

    fn object_column(&self) -> Option<Column> {
        self.about.spec.objects.then_some(Column::ObjectId)
    }

    /// Applies `take` to the points of level 0; notes where they lie, if nobody has yet and it is asked for.
    fn level_0(
        &mut self,
        mut take: impl FnMut(Point) -> Result<(), WriteError>,
    ) -> Result<u64, WriteError> {
        let (dims, mut count) = (self.dims(), 0_u64);
        let mut columns = vec![Column::Position];
        columns.extend(self.object_column());
        let mut places = None;
        if !self.noted {
            columns.extend([Column::Chunk, Column::Row]);
            places = Some(Places::default());
        }
        let mut owners = Owners::new(&self.about.ids);
        self.scan(columns, |first, batch| {
            let numbers = tables::to_f64(&column(batch, "position")?)?;
            let objects = owners.of(batch)?;
            self.meter.add(size_of_val(&*numbers));
            let rows = numbers.chunks_exact(dims.max(1)).enumerate();
            for ((row, axes), place) in rows.zip(first..) {
                let mut position = [0.0; MOST_AXES];
                position
                    .iter_mut()
                    .zip(axes)
                    .for_each(|(to, from)| *to = *from);
                let object = objects.get(row).copied().unwrap_or(0);
                take(Point {
                    place,
                    object,
                    position,
                })?;
                count = count.saturating_add(1);
            }
            self.meter.sub(size_of_val(&*numbers));
            match &mut places {
                Some(places) => places.push(batch, dims),
                None => Ok(()),
            }
        })?;
        if let Some(places) = places {
            self.places = Some(places.finish()?);
            self.noted = true;
        }
        Ok(count)
    }
}

/// The numbers of objects by their ids, which come in their order.
#[derive(Debug)]
struct Owners<'o> {
    ids: &'o [i64],
    at: usize,
}

impl<'o> Owners<'o> {
    fn new(ids: &'o [i64]) -> Self {
        Self { ids, at: 0 }
    }

    /// The number of the object of each row; empty where there are no objects.
    fn of(&mut self, batch: &RecordBatch) -> Result<Vec<u32>, WriteError> {
        if batch.column_by_name("object_id").is_none() {
            return Ok(Vec::new());
        }
        let ids = column(batch, "object_id")?;
        let ids = ids.as_primitive::<Int64Type>();
        let mut numbers = Vec::with_capacity(ids.len());
        for id in ids.values() {
            while self.ids.get(self.at).ok_or_else(|| repeated(*id))? != id {
                self.at = self.at.saturating_add(1);
            }
            numbers.push(narrow("objects", self.at)?);
        }
        Ok(numbers)
    }
}

impl Cloud<'_> {
    /// Bins of level 0 are told apart by a hash: each part is a set of whole bins, small enough to be held.
    fn parts(&self) -> Result<(Buckets<u32>, Vec<usize>), WriteError> {
        let count = match (&self.left, self.about.level.doc().vertex_count) {
            (Some(left), _) => left.count,
            (None, 0) => u64::from(u32::MAX),
            (None, count) => count,
        };
        let means = self.from.means;
        let bytes = count.saturating_mul(wide(Point::size(self.dims())));
        let share = wide(means.budget / means.threads.saturating_mul(32).max(1)).max(1 << 14);
        let least = wide(means.threads).saturating_mul(2);
        let parts = (bytes / share).clamp(least, 4096);
        let parts = narrow("parts", to_index("parts", parts)?)?;
        let mut buckets = Buckets::new(means.budget / 4, means.folder);
        let numbers = (0..parts).map(|part| buckets.number(&part, |&part| part));
        let numbers = numbers.collect();
        Ok((buckets, numbers))
    }

    /// Parts of the finer level's points, without objects that are dropped; and how many points it has. What of the parts is
    /// in memory stays counted, as `held`.
    fn part(
        &mut self,
        bins: &[f64],
        kept: Option<&[bool]>,
        held: &mut usize,
    ) -> Result<(Vec<Bucket>, SpillFile, u64), WriteError> {
        let (mut parts, numbers) = self.parts()?;
        let (dims, hasher) = (self.dims(), FxBuildHasher);
        let meter = self.meter.clone();
        let mut push = |point: Point| {
            if kept.is_some_and(|kept| kept.get(index(point.object)) != Some(&true)) {
                return Ok(());
            }
            let bin = bin_of(point.position.get(..dims).unwrap_or_default(), bins)?;
            let part = hasher.hash_one(bin) % wide(numbers.len()).max(1);
            let part = usize::try_from(part).ok().and_then(|at| numbers.get(at));
            if let Some(&part) = part {
                parts.push(part, |out| point.write(dims, out));
            }
            if parts.memory() != *held {
                meter.change(held, parts.memory());
                parts.relieve()?;
                meter.change(held, parts.memory());
            }
            Ok(())
        };
        let count = match &mut self.left {
            None => self.level_0(push)?,
            Some(left) => {
                let pieces = left.points.take().into_iter().flat_map(Spool::pieces);
                for piece in pieces {
                    Point::read_all(&piece?, dims).try_for_each(&mut push)?;
                }
                left.count
            }
        };
        let (buckets, file) = parts.finish();
        let buckets = buckets.into_iter().map(|(_, bucket)| bucket).collect();
        Ok((buckets, file, count))
    }
}

impl Thinning for Cloud<'_> {
    fn about(&self) -> &About {
        &self.about
    }

    fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        if !self.noted {
            self.level_0(|_| Ok(()))?;
        }
        Ok(self.places.take())
    }

    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let dims = self.dims();
        let each = |take: base::Take<'_>| {
            let point = |point: Point| take(point.position.get(..dims).unwrap_or_default());
            self.level_0(point).map(|_| ())
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
        let (thin, picked) = self.thin(step)?;
        let budget = to.budget / 2;
        let mut writing = Writing::new(&self.about, Target { budget, ..to })?;
        self.pick(picked, &mut writing)?;
        Ok(Coarse {
            before: thin.before,
            objects: thin.objects,
            error: self.error,
            stand_ins: thin.stand_ins,
            written: writing.finish(&self.about, columns, doc)?,
        })
    }

    fn most_held(&self) -> u64 {
        wide(self.meter.most())
    }
}

/// What was found out about a level.
#[derive(Debug)]
struct Thin {
    before: u64,
    objects: u64,
    stand_ins: Vec<u32>,
}

impl Cloud<'_> {
    /// Makes the next level: its points, and their places in level 0.
    fn thin(&mut self, step: &Planned) -> Result<(Thin, Picked), WriteError> {
        let objects = self.about.ids.len();
        let drawn = draw(objects, step)?.map(|drawn| {
            let mut kept = vec![false; objects];
            for object in drawn {
                kept.get_mut(object).into_iter().for_each(|one| *one = true);
            }
            kept
        });
        let (mut of_parts, mut held) = (0, 0);
        let (parts, file, before) = self.part(&step.bin_shape, drawn.as_deref(), &mut of_parts)?;
        let (means, placed, dims) = (self.from.means, self.from.placed, self.dims());
        let eighth = means.budget / 8;
        let mut points = Spool::new(eighth, means.folder);
        let mut picking = Picking::new(eighth, means.folder);
        let mut pairs = Spool::new(eighth, means.folder);
        let mut present = vec![false; objects];
        let (mut rows, mut count, mut moved, mut record) = (Vec::new(), 0_u64, 0.0_f64, Vec::new());
        let meter = self.meter.clone();
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
        meter.change(&mut of_parts, 0);
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
        let thin = Thin {
            before,
            objects: wide(present.iter().filter(|present| **present).count()),
            stand_ins,
        };
        Ok((thin, picking.finish()))
    }

    /// Reads level 0 with all that belongs to it, and hands on what was picked.
    fn pick(&self, mut picked: Picked, writing: &mut Writing<'_>) -> Result<(), WriteError> {
        let mut asked = vec![Column::Position, Column::Attributes];
        asked.extend(self.object_column());
        let (mut rows, mut held) = (Vec::new(), 0);
        let mut owners = Owners::new(&self.about.ids);
        self.scan(asked, |first, batch| {
            picked.below(first, batch.num_rows(), &mut rows)?;
            let objects = owners.of(batch)?;
            if rows.is_empty() {
                return Ok(());
            }
            let declared = self.about.spec.vertex_attributes.iter();
            let attributes = declared.map(|one| column(batch, &one.name));
            let attributes: Vec<ArrayRef> = attributes.collect::<Result<_, _>>()?;
            let mut runs: Vec<(i64, usize)> = Vec::new();
            for &row in rows.iter().filter(|_| !objects.is_empty()) {
                let object = objects.get(index(row)).copied().map_or(0, index);
                let id = self.about.id(object);
                match runs.last_mut() {
                    Some((last, count)) if *last == id => *count = count.saturating_add(1),
                    _ => runs.push((id, 1)),
                }
            }
            let table = (&column(batch, "position")?, &*attributes);
            let some = writing.batch(table, &rows, runs)?;
            writing.push(&some)?;
            self.meter.change(&mut held, writing.memory());
            Ok(())
        })?;
        self.meter.change(&mut held, 0);
        Ok(())
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

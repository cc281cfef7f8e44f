//! Level 0 that is larger than the memory budget: it is read again for every level.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_select::concat::concat_batches;
use zvf_meta::Kind;
use zvf_query::{Column, Outputs, Query};
use zvf_store::{Names, Store};

use super::about::{About, Places, column, each_batch, start};
use super::points::Point;
use super::read::repeated;
use super::sheet::Desk;
use super::write::Writing;
use super::{Numbered, Reading, tables};
use crate::WriteError;
use crate::int::{index, narrow, signed, wide};
use crate::pyramid::bins::{MOST_AXES, NONE};
use crate::pyramid::meter::Meter;

/// Level 0, read batch by batch.
#[derive(Debug)]
pub(super) struct Finest<'f> {
    pub(super) from: Reading<'f>,
    pub(super) about: About,
    pub(super) meter: Meter,
    /// Where vertices lie, between its being read and asked for.
    places: Option<Numbered>,
    /// Whether nobody has to read that any more.
    noted: bool,
    /// Whether a level was begun, so that the store that was opened is another one.
    begun: bool,
}

impl<'f> Finest<'f> {
    /// # Errors
    /// Two objects of one id. Malformed data. I/O.
    pub(super) fn new(from: Reading<'f>, mut about: About) -> Result<Self, WriteError> {
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
            meter: Meter::default(),
            places: None,
            noted: !from.placed,
            begun: false,
        })
    }

    pub(super) fn dims(&self) -> usize {
        self.about.spec.dims()
    }

    /// What its records may use.
    pub(super) fn desk(&self) -> Desk<'f> {
        Desk {
            means: self.from.means,
            meter: self.meter.clone(),
        }
    }

    /// What is asked for of level 0, a table at a time; an eighth of the budget may be on its way.
    fn asked(&self) -> Query {
        let budget = self.from.means.budget / 8;
        Query {
            batch_rows: (budget / 256).clamp(256, 1 << 16),
            memory_budget: wide(budget),
            ..self.about.ask(0..self.about.ids.len(), false)
        }
    }

    /// The store as it is: opened once more after a level was begun.
    pub(super) fn store(&self) -> Result<Store, WriteError> {
        match self.begun {
            false => Ok(self.from.store.clone()),
            true => (self.from.again)(),
        }
    }

    /// Says that a level was begun.
    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Applies `take` to the batches of an answer, with the number of the first row of each.
    fn scan(
        &self,
        asked: Query,
        what: &'static str,
        mut take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let answer = start(&self.store()?, asked, self.from.handle)?;
        let mut first = 0_u32;
        each_batch(answer, self.from.handle, |batch| {
            let rows = narrow(what, batch.num_rows())?;
            let held = batch.get_array_memory_size();
            self.meter.add(held);
            take(first, &batch)?;
            self.meter.sub(held);
            let next = first.checked_add(rows).filter(|next| *next < NONE);
            let many = u64::from(first).saturating_add(u64::from(rows));
            first = next.ok_or_else(|| WriteError::limit(what, many, u64::from(NONE)))?;
            Ok(())
        })
    }

    /// Applies `take` to the vertices of level 0, batch by batch, with the place of the first of each.
    fn vertices(
        &self,
        mut columns: Vec<Column>,
        take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        columns.extend(self.about.spec.objects.then_some(Column::ObjectId));
        let attributes = columns.contains(&Column::Attributes);
        let asked = Query {
            columns,
            attributes: if attributes { Names::All } else { Names::None },
            outputs: Outputs {
                links: false,
                objects: false,
                ..Outputs::default()
            },
            ..self.asked()
        };
        self.scan(asked, "vertices", take)
    }

    /// Applies `take` to the links of level 0, batch by batch, with the number of the first of each.
    pub(super) fn links(
        &self,
        take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let asked = Query {
            attributes: Names::None,
            outputs: Outputs {
                vertices: false,
                objects: false,
                ..Outputs::default()
            },
            ..self.asked()
        };
        self.scan(asked, "links", take)
    }

    /// Applies `take` to the points of level 0; notes where they lie, if nobody has yet and it is asked for.
    pub(super) fn points(
        &mut self,
        mut take: impl FnMut(Point) -> Result<(), WriteError>,
    ) -> Result<u64, WriteError> {
        let (dims, mut count) = (self.dims(), 0_u64);
        let mut columns = vec![Column::Position];
        let mut places = None;
        if !self.noted {
            columns.extend([Column::Chunk, Column::Row]);
            places = Some(Places::default());
        }
        let mut owners = Owners::new(&self.about.ids);
        self.vertices(columns, |first, batch| {
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

    /// Where the vertices of level 0 lie, if that was asked for; once.
    pub(super) fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        if !self.noted {
            self.points(|_| Ok(()))?;
        }
        Ok(self.places.take())
    }

    /// Reads level 0 with all that belongs to it, and hands on what was picked: `below` tells rows of a batch, by the place
    /// of its first one and how many there are.
    pub(super) fn pick(
        &mut self,
        mut below: impl FnMut(u32, usize, &mut Vec<u32>) -> Result<(), WriteError>,
        writing: &mut Writing<'_>,
    ) -> Result<(), WriteError> {
        self.begin();
        let (mut rows, mut held) = (Vec::new(), 0);
        let mut owners = Owners::new(&self.about.ids);
        let lines = self.about.spec.kind == Kind::Line;
        let mut rest: Option<RecordBatch> = None;
        self.vertices(
            vec![Column::Position, Column::Attributes],
            |first, batch| {
                let mut batch = batch.clone();
                below(first, batch.num_rows(), &mut rows)?;
                if let Some(rest) = rest.take() {
                    batch = concat_batches(&batch.schema(), [&rest, &batch]).map_err(|error| {
                        WriteError::data("level 0", error.to_string(), "batches of one schema")
                    })?;
                    rows.iter_mut().for_each(|row| *row = row.saturating_add(1));
                    rows.insert(0, 0);
                }
                // The writer takes both ends of a line together: an end that is alone is the last row of its batch.
                if lines && !rows.len().is_multiple_of(2) {
                    rest = rows.pop().map(|row| batch.slice(index(row), 1));
                }
                let objects = owners.of(&batch)?;
                if rows.is_empty() {
                    return Ok(());
                }
                let mut runs: Vec<(i64, usize)> = Vec::new();
                for &row in rows.iter().filter(|_| !objects.is_empty()) {
                    let object = objects.get(index(row)).copied().map_or(0, index);
                    let object = signed(object);
                    match runs.last_mut() {
                        Some((last, count)) if *last == object => *count = count.saturating_add(1),
                        _ => runs.push((object, 1)),
                    }
                }
                writing.push_vertices(&self.about, &batch, &rows, runs)?;
                self.meter.change(&mut held, writing.memory());
                Ok(())
            },
        )?;
        self.meter.change(&mut held, 0);
        Ok(())
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

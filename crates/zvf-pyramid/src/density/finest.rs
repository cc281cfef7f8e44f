//! Reads level 0 for all coarser levels together: first positions and links, then the vertices with all their data, and the links again if they have
//! attributes.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use zvf_meta::Kind;
use zvf_query::{Column, Outputs, Query};
use zvf_store::Names;

use super::metadata::{LevelMetadata, PlaceColumns, column, each_batch, start};
use super::paged::{MemoryContext, PagedReader, word, words};
use super::points::PointVertex;
use super::write::Writing;
use super::{Numbered, Reading, tables};
use crate::bin::MOST_AXES;
use crate::bins::NONE;
use crate::meter::Meter;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, internal, narrow};
use zvf_format::int::{index, wide};

/// Level 0, read batch by batch.
#[derive(Debug)]
pub(super) struct FinestLevel<'f> {
    pub(super) from: Reading<'f>,
    pub(super) metadata: LevelMetadata,
    pub(super) meter: Meter,
    /// The places of the vertices, until they are taken.
    pub(super) places: Option<Numbered>,
}

impl<'f> FinestLevel<'f> {
    /// # Errors
    /// Two objects with the same id; malformed data; I/O.
    pub(super) fn new(from: Reading<'f>, mut metadata: LevelMetadata) -> Result<Self, WriteError> {
        metadata.declare_first(from)?;
        let mut ids = metadata.ids.clone();
        ids.sort_unstable();
        let mut pairs = ids.iter().zip(ids.iter().skip(1));
        if let Some((id, _)) = pairs.find(|(a, b)| a == b) {
            return Err(repeated(*id));
        }
        Ok(Self {
            from,
            metadata,
            meter: Meter::default(),
            places: None,
        })
    }

    pub(super) fn dims(&self) -> usize {
        self.metadata.spec.dims()
    }

    /// The resources for processing records of this level.
    pub(super) fn context(&self) -> MemoryContext<'f> {
        MemoryContext {
            means: self.from.means,
            meter: self.meter.clone(),
        }
    }

    /// The query of level 0, with an eighth of the memory budget. Callers choose the columns and tables.
    fn asked(&self) -> Query {
        let budget = self.from.means.budget / 8;
        Query {
            batch_rows: (budget / 256).clamp(256, 1 << 16),
            memory_budget: wide(budget),
            ..self.metadata.ask(0..self.metadata.ids.len(), false)
        }
    }

    /// Applies `take` to the batches of a result, with the number of the first row of each batch.
    fn scan(
        &self,
        asked: Query,
        what: &'static str,
        mut take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let answer = start(self.from.store, asked, self.from.handle)?;
        let mut first = 0_u32;
        each_batch(answer, self.from.handle, |batch| {
            let rows = narrow(what, batch.num_rows())?;
            let held = batch.get_array_memory_size();
            self.meter.add(held);
            take(first, &batch)?;
            self.meter.sub(held);
            let next = first.checked_add(rows).filter(|next| *next < NONE);
            let many = u64::from(first) + u64::from(rows);
            first = next.ok_or_else(|| WriteError::limit(what, many, u64::from(NONE)))?;
            Ok(())
        })
    }

    /// Applies `take` to the vertices of level 0, batch by batch, with the number of the first vertex of each batch.
    fn vertices(
        &self,
        mut columns: Vec<Column>,
        take: impl FnMut(u32, &RecordBatch) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        // Inserted first, because an attribute may also have this name.
        if self.metadata.spec.objects {
            columns.insert(0, Column::ObjectId);
        }
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

    /// Applies `take` to the links of level 0, batch by batch, with the number of the first link of each batch.
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

    /// Applies `take` to the points of level 0; records their places, if requested.
    pub(super) fn points(
        &mut self,
        mut take: impl FnMut(PointVertex) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let dims = self.dims();
        let mut columns = vec![Column::Position];
        let mut places = None;
        if self.from.placed {
            columns.extend([Column::Chunk, Column::Row]);
            places = Some(PlaceColumns::default());
        }
        let mut owners = ObjectNumbers::new(&self.metadata);
        self.vertices(columns, |first, batch| {
            let numbers = tables::to_f64(&column(batch, "position")?)?;
            let objects = owners.of(batch)?;
            self.meter.add(size_of_val(&*numbers));
            let rows = records_of(&numbers, dims, batch.num_rows())?.enumerate();
            for ((row, axes), place) in rows.zip(first..) {
                let mut position = [0.0; MOST_AXES];
                position
                    .iter_mut()
                    .zip(axes)
                    .for_each(|(to, from)| *to = *from);
                let object = match &objects {
                    Some(objects) => *objects.get(row).or_bug("a row without an object")?,
                    None => 0,
                };
                take(PointVertex {
                    place,
                    object,
                    position,
                })?;
            }
            self.meter.sub(size_of_val(&*numbers));
            match &mut places {
                Some(places) => places.push(batch, dims),
                None => Ok(()),
            }
        })?;
        self.places = places.map(PlaceColumns::finish).transpose()?;
        Ok(())
    }

    /// Reads the vertices of level 0 with all their data, once, and passes the selected ones to the writers of all levels, those of trees
    /// with their links.
    pub(super) fn pick(&self, picks: &mut [LevelPick<'_, '_>]) -> Result<(), WriteError> {
        let mut owners = ObjectNumbers::new(&self.metadata);
        let whole = matches!(self.metadata.spec.kind, Kind::Line | Kind::Skeleton);
        let (mut rows, mut held) = (Vec::new(), 0);
        self.vertices(
            vec![Column::Position, Column::Attributes],
            |first, batch| {
                let objects = owners.of(batch)?;
                let end = first + narrow("vertices", batch.num_rows())?;
                for pick in &mut *picks {
                    rows.clear();
                    numbers(&mut pick.vertices, first..end, |row, _| {
                        rows.push(row);
                        Ok(())
                    })?;
                    let mut some = Vec::new();
                    if let Some(objects) = &objects {
                        for &row in &rows {
                            some.push(*objects.get(index(row)).or_bug("a row without an object")?);
                        }
                    }
                    if whole {
                        pick.wait(batch, &rows, some)?;
                        let last = objects.as_ref().and_then(|objects| objects.last());
                        pick.flush(&self.metadata, last.copied())?;
                    } else if !rows.is_empty() {
                        let runs = runs(&some);
                        pick.writing
                            .push_vertices(&self.metadata, batch, &rows, runs)?;
                    }
                }
                let waiting = picks.iter().map(|pick| pick.writing.memory());
                self.meter.change(&mut held, waiting.sum());
                Ok(())
            },
        )?;
        for pick in picks {
            pick.flush(&self.metadata, None)?;
        }
        self.meter.change(&mut held, 0);
        Ok(())
    }
}

/// The vertices and links of level 0 that are selected for one level, while they are written.
#[derive(Debug)]
pub(super) struct LevelPick<'p, 't> {
    /// The level's vertices.
    pub(super) vertices: PagedReader<'p>,
    /// The level's links.
    pub(super) links: PagedReader<'p>,
    /// Links of level 0 with their attributes, for trees with link attributes.
    pub(super) table: Option<&'p RecordBatch>,
    pub(super) writing: Writing<'t>,
    /// The pending rows of objects that are written as a whole, after their last vertex was read, and the object of each row.
    waiting: Vec<RecordBatch>,
    owners: Vec<u32>,
    /// The number of vertices of the level that were written.
    done: u32,
}

impl<'p, 't> LevelPick<'p, 't> {
    pub(super) fn new(
        vertices: PagedReader<'p>,
        links: PagedReader<'p>,
        table: Option<&'p RecordBatch>,
        writing: Writing<'t>,
    ) -> Self {
        Self {
            vertices,
            links,
            table,
            writing,
            waiting: Vec::new(),
            owners: Vec::new(),
            done: 0,
        }
    }

    fn wait(
        &mut self,
        batch: &RecordBatch,
        rows: &[u32],
        owners: Vec<u32>,
    ) -> Result<(), WriteError> {
        if !rows.is_empty() {
            let rows = UInt32Array::from(rows.to_vec());
            self.waiting
                .push(take_record_batch(batch, &rows).map_err(|error| schema(&error))?);
            self.owners.extend(owners);
        }
        Ok(())
    }

    /// Writes the pending objects, except for one that may get more vertices.
    fn flush(&mut self, metadata: &LevelMetadata, open: Option<u32>) -> Result<(), WriteError> {
        let rest = self.owners.iter().rev();
        let rest = rest.take_while(|owner| Some(**owner) == open).count();
        let ready = self.owners.len() - rest;
        let Some(first) = self.waiting.first().filter(|_| ready > 0) else {
            return Ok(());
        };
        let all = concat_batches(&first.schema(), &self.waiting).map_err(|error| schema(&error))?;
        self.waiting.clear();
        let owners = self.owners.split_off(ready);
        let runs = runs(&std::mem::replace(&mut self.owners, owners));
        let ready_rows = all.slice(0, ready);
        if rest > 0 {
            let rows = UInt32Array::from_iter_values(
                narrow("vertices", ready)?..narrow("vertices", all.num_rows())?,
            );
            // A copy, because a slice would keep all rows in memory.
            self.waiting
                .push(take_record_batch(&all, &rows).map_err(|error| schema(&error))?);
        }
        let count = narrow("vertices", ready)?;
        if metadata.spec.kind == Kind::Line {
            let rows: Vec<u32> = (0..count).collect();
            return self
                .writing
                .push_vertices(metadata, &ready_rows, &rows, runs);
        }
        let (start, end) = (self.done, self.done + count);
        self.done = end;
        let (mut ends, mut numbers) = (Vec::new(), Vec::new());
        while let Some(link) = self.links.peek()? {
            if word(link, 1)? >= end {
                break;
            }
            numbers.push(word(link, 0)?);
            for at in words(link).skip(1) {
                if !(start..end).contains(&at) {
                    return Err(WriteError::data(
                        "level 0",
                        "a link between two objects",
                        "trees of one object each",
                    ));
                }
                ends.push(u64::from(at - start));
            }
            self.links.next();
        }
        let links = (self.table.unwrap_or(&metadata.no_links), &*numbers);
        self.writing.push_trees(&ready_rows, runs, ends, links)
    }
}

fn schema(error: &ArrowError) -> WriteError {
    WriteError::data("level 0", error.to_string(), "batches of one schema")
}

/// The object and the length of each run of rows of one object.
fn runs(owners: &[u32]) -> Vec<(i64, usize)> {
    let runs = owners.chunk_by(|a, b| a == b);
    // A run has at least one element.
    runs.filter_map(|run| Some((i64::from(*run.first()?), run.len())))
        .collect()
}

/// Calls `take` for each record whose first word is in `numbers`, in ascending order, with the offset of the word from `numbers.start` and the record.
pub(super) fn numbers(
    records: &mut PagedReader<'_>,
    numbers: Range<u32>,
    mut take: impl FnMut(u32, &[u8]) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    while let Some(record) = records.peek()? {
        let number = word(record, 0)?;
        if number >= numbers.end {
            break;
        }
        let place = number.checked_sub(numbers.start);
        take(
            place.or_bug(format_args!("record {number} is before the range"))?,
            record,
        )?;
        records.next();
    }
    Ok(())
}

/// The positions of a batch, one per row.
fn records_of(
    numbers: &[f64],
    dims: usize,
    rows: usize,
) -> Result<std::slice::ChunksExact<'_, f64>, WriteError> {
    internal!(
        numbers.len() == rows * dims,
        "{} numbers of {rows} positions",
        numbers.len()
    );
    Ok(numbers.chunks_exact(dims))
}

/// The error for an object id that occurs twice, or out of order.
fn repeated(id: i64) -> WriteError {
    WriteError::data("object index", format!("object {id}"), "each id once")
}

/// Maps object ids to object numbers; ids must be looked up in the order of the objects.
#[derive(Debug)]
struct ObjectNumbers<'o> {
    /// Whether there are objects.
    objects: bool,
    ids: &'o [i64],
    at: usize,
}

impl<'o> ObjectNumbers<'o> {
    fn new(metadata: &'o LevelMetadata) -> Self {
        Self {
            objects: metadata.spec.objects,
            ids: &metadata.ids,
            at: 0,
        }
    }

    /// The number of the object of each row; `None` if there are no objects.
    fn of(&mut self, batch: &RecordBatch) -> Result<Option<Vec<u32>>, WriteError> {
        if !self.objects {
            return Ok(None);
        }
        let ids = column(batch, "object_id")?;
        let ids = ids.as_primitive::<Int64Type>();
        let mut numbers = Vec::with_capacity(ids.len());
        for id in ids.values() {
            while self.ids.get(self.at).ok_or_else(|| repeated(*id))? != id {
                self.at += 1;
            }
            numbers.push(narrow("objects", self.at)?);
        }
        Ok(Some(numbers))
    }
}

//! Objects one after another, each with its header and footer: lines, polylines, streamlines.
//!
//! These files store the number of points of an object before its points and its attributes after them, but a query returns the object
//! table last. So the object table is read first and kept in memory, then the points are read.

use arrow_array::RecordBatch;
use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::{DataType, Schema, SchemaRef};
use zvf_encode::arrow::is_place;
use zvf_encode::error::OrBug;
use zvf_encode::internal;
use zvf_meta::Affine;
use zvf_query::{Query, Table};

use super::job::{BatchReceiver, ExportState, OBJECTS, VERTICES};
use super::schemas::{ExportSchemas, attribute};
use crate::numbers::{Floats, numbers_of, positions, shape};
use crate::{ConvertError, InFile};

/// The objects of a selection, in its order.
#[derive(Debug, Default)]
pub(crate) struct SelectedObjects {
    pub(crate) ids: Vec<i64>,
    /// Points of each.
    pub(crate) lengths: Vec<u64>,
    /// Attributes that are numbers.
    pub(crate) properties: Vec<Numeric>,
    /// Names of the other attributes.
    pub(crate) others: Vec<String>,
}

/// An attribute of numbers.
#[derive(Debug)]
pub(crate) struct Numeric {
    pub(crate) name: String,
    /// Numbers in each row.
    pub(crate) width: usize,
    pub(crate) element: DataType,
    pub(crate) values: Vec<f64>,
    pub(crate) exact: bool,
}

impl Numeric {
    /// The attributes of a table that are numbers, and the names of the others. Columns in `not` and those that state the place of a row are not
    /// attributes.
    fn of(schema: &SchemaRef, not: &[&str]) -> (Vec<Self>, Vec<String>) {
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        for field in schema.fields() {
            if is_place(field) || not.contains(&field.name().as_str()) {
                continue;
            }
            match shape(field.data_type()) {
                Some((width, element)) => numbers.push(Self {
                    name: field.name().clone(),
                    width,
                    element: element.clone(),
                    values: Vec::new(),
                    exact: true,
                }),
                None => others.push(attribute(field.name()).to_owned()),
            }
        }
        (numbers, others)
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// Bug: a batch without the column, or with another number of values.
    fn take(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        let Floats { values, exact } = numbers_of(batch, &self.name)?;
        internal!(
            values.len() == batch.num_rows().saturating_mul(self.width),
            "{} values of {} rows of {}",
            values.len(),
            batch.num_rows(),
            self.width
        );
        self.values.extend(values);
        self.exact &= exact;
        Ok(())
    }

    /// The same column without a row.
    pub(crate) fn empty(&self) -> Self {
        Self {
            name: self.name.clone(),
            width: self.width,
            element: self.element.clone(),
            values: Vec::new(),
            exact: true,
        }
    }

    /// The numbers of one row; empty past the last row.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        let start = row.saturating_mul(self.width);
        let end = start.saturating_add(self.width);
        self.values.get(start..end).unwrap_or_default()
    }
}

/// Receives objects and their points, in order.
pub(crate) trait ObjectVisitor: Send {
    /// Called first: the numeric attributes of points.
    fn scalars(&mut self, schema: &Schema, scalars: &[Numeric]) -> Result<(), ConvertError>;
    /// An object begins.
    fn begin(&mut self, points: u64) -> Result<(), ConvertError>;
    /// A point of the current object.
    fn point(
        &mut self,
        position: &[f64],
        scalars: &[Numeric],
        row: usize,
    ) -> Result<(), ConvertError>;
    /// The current object ends.
    fn end(&mut self, object: usize) -> Result<(), ConvertError>;
}

impl SelectedObjects {
    /// Reads the objects of the selection, and returns the query for their points.
    pub(crate) async fn read(job: &mut ExportState<'_>) -> Result<(Self, Query), ConvertError> {
        let mut table = ObjectTableCollector::default();
        let mut query = job.whole_objects(false)?;
        let selects = job.selects();
        if !selects {
            // The list of all objects gives their ids.
            job.list(&mut table).await?;
            if !table.1 {
                let found = "a level without objects";
                return Err(ConvertError::usage(job.format.name(), found, "objects"));
            }
            query.objects = Some(table.0.ids.clone());
        }
        query.outputs = OBJECTS;
        if selects || query.limit.is_some() {
            table = ObjectTableCollector::default();
            job.run(query.clone(), &mut table).await?;
        }
        // Objects without points are not in the answer of the query, but they have attributes.
        let requested = query.objects.as_ref().filter(|_| {
            !query.is_spatial()
                && query.filter.is_none()
                && query.passing.is_none()
                && query.groups.is_none()
                && query.limit.is_none()
        });
        if let Some(ids) = requested.filter(|ids| ids.len() != table.0.ids.len()) {
            table = ObjectTableCollector::default();
            job.list(&mut table).await?;
            table = table.picked(ids);
        }
        query.outputs = VERTICES;
        let objects = table.0;
        let list = objects.others.iter().map(String::as_str);
        job.not_kept("attributes of objects that are not numbers", list);
        job.ids_lost(&objects.ids);
        job.done.objects = objects.lengths.len() as u64;
        Ok((objects, query))
    }

    /// Passes the objects and their points to `visit`.
    pub(crate) async fn visit(
        &self,
        job: &mut ExportState<'_>,
        query: Query,
        visit: &mut dyn ObjectVisitor,
    ) -> Result<(), ConvertError> {
        let mut points = PointFeeder {
            path: job.path,
            map: job.map.clone(),
            objects: self,
            visit,
            next: 0,
            left: 0,
            rows: 0,
            exact: true,
            scalars: Vec::new(),
            others: Vec::new(),
        };
        job.run(query, &mut points).await?;
        points.advance()?;
        let done = points.next == self.lengths.len() && points.left == 0;
        let (rows, exact) = (points.rows, points.exact);
        let others = std::mem::take(&mut points.others);
        if !done {
            let found = format!("{rows} vertices");
            let expected = format!(
                "{}, as the object table states",
                self.lengths.iter().sum::<u64>()
            );
            return Err(ConvertError::malformed(
                job.path,
                InFile::Whole,
                found,
                expected,
            ));
        }
        job.done.vertices = rows;
        if !exact {
            job.note("positions were rounded to float64");
        }
        let list = others.iter().map(String::as_str);
        job.not_kept("attributes of vertices that are not numbers", list);
        Ok(())
    }
}

/// Collects the object table; the flag is set if the answer has one.
#[derive(Debug, Default)]
struct ObjectTableCollector(SelectedObjects, bool);

impl ObjectTableCollector {
    /// The rows of these ids, in their order; ids without a row are left out.
    fn picked(&self, ids: &[i64]) -> Self {
        let rows: HashMap<i64, usize> = self.0.ids.iter().copied().zip(0..).collect();
        let found = ids.iter().filter_map(|id| Some((*id, *rows.get(id)?)));
        let found: Vec<(i64, usize)> = found.collect();
        let property = |one: &Numeric| Numeric {
            name: one.name.clone(),
            width: one.width,
            element: one.element.clone(),
            values: found
                .iter()
                .flat_map(|(_, row)| one.row(*row))
                .copied()
                .collect(),
            exact: one.exact,
        };
        let lengths = found.iter().filter_map(|(_, row)| self.0.lengths.get(*row));
        let objects = SelectedObjects {
            ids: found.iter().map(|(id, _)| *id).collect(),
            lengths: lengths.copied().collect(),
            properties: self.0.properties.iter().map(property).collect(),
            others: self.0.others.clone(),
        };
        Self(objects, self.1)
    }
}

impl BatchReceiver for ObjectTableCollector {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        if let Some(schema) = &schemas.objects {
            self.1 = true;
            let (properties, others) = Numeric::of(schema, &["object_id"]);
            (self.0.properties, self.0.others) = (properties, others);
        }
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if table != Table::Objects {
            return Ok(());
        }
        if let Some(column) = batch.column_by_name("object_id") {
            let ids = column.as_primitive_opt::<Int64Type>();
            let ids = ids.or_bug("ids of another type")?;
            self.0.ids.extend(ids.values());
        }
        // Queries and lists name their counts differently: a query counts the selected rows of an object, a list has
        // the count of the manifest. Attributes, which may have these names too, are skipped.
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let mut columns = columns.filter(|(field, _)| is_place(field));
        let lengths = columns.find(|(field, _)| ["length", "vertices"].contains(&&**field.name()));
        let lengths = lengths.and_then(|(_, column)| column.as_primitive_opt::<UInt64Type>());
        let lengths = lengths.or_bug("a table of objects without their lengths")?;
        self.0.lengths.extend(lengths.values());
        for property in &mut self.0.properties {
            property.take(batch)?;
        }
        Ok(())
    }
}

/// Passes points on to an [`ObjectVisitor`].
struct PointFeeder<'a, 'v> {
    path: &'a std::path::Path,
    /// The map to the frame of the file.
    map: Option<Affine>,
    objects: &'a SelectedObjects,
    visit: &'v mut dyn ObjectVisitor,
    /// Number of objects that were begun.
    next: usize,
    /// Points of the current object that were not yet passed on.
    left: u64,
    rows: u64,
    /// Whether every coordinate is a float64.
    exact: bool,
    scalars: Vec<Numeric>,
    others: Vec<String>,
}

impl PointFeeder<'_, '_> {
    /// Ends the current object if it is complete, and begins the next ones up to one with points.
    fn advance(&mut self) -> Result<(), ConvertError> {
        while self.left == 0 {
            let Some(&length) = self.objects.lengths.get(self.next) else {
                break;
            };
            self.visit.begin(length)?;
            self.next = self.next.saturating_add(1);
            self.left = length;
            if length == 0 {
                self.visit.end(self.next.saturating_sub(1))?;
            }
        }
        Ok(())
    }
}

impl BatchReceiver for PointFeeder<'_, '_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        (self.scalars, self.others) = Numeric::of(&schemas.vertices, &["position"]);
        self.visit.scalars(&schemas.vertices, &self.scalars)
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if table != Table::Vertices {
            return Ok(());
        }
        for scalar in &mut self.scalars {
            scalar.values.clear();
            scalar.take(batch)?;
        }
        let Floats {
            values: positions,
            exact,
        } = positions(batch)?;
        self.exact &= exact;
        let mut mapped = [0.0; 3];
        for (row, stored) in positions.chunks_exact(3).enumerate() {
            let position = match &self.map {
                None => stored,
                Some(map) => {
                    map.apply(stored, &mut mapped);
                    &mapped
                }
            };
            self.advance()?;
            if self.left == 0 {
                let found = "more vertices than the object table states";
                let expected = "as many";
                return Err(ConvertError::malformed(
                    self.path,
                    InFile::Whole,
                    found,
                    expected,
                ));
            }
            self.visit.point(position, &self.scalars, row)?;
            self.rows = self.rows.saturating_add(1);
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                self.visit.end(self.next.saturating_sub(1))?;
            }
        }
        Ok(())
    }
}

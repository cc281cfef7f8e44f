//! What streamline files have in common: chains that become batches.

use std::path::Path;

use zvf_write::{AttributeSpec, Batch, NumberType, ObjectTable};

use crate::error::{ConvertError, Place};
use crate::sink::Sink;

/// Columns of numbers that make one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) name: String,
    pub(crate) count: usize,
}

impl Columns {
    pub(crate) fn spec(&self) -> AttributeSpec {
        AttributeSpec::number(&self.name, NumberType::F32).with_channels(self.count)
    }
}

/// What is done with the points of a file, one after another.
pub(crate) trait Visit {
    /// A point of the chain that is open.
    fn point(&mut self, position: [f64; 3], scalars: &[f32]) -> Result<(), ConvertError>;

    /// The chain ends; it may have had no point.
    fn end(&mut self, properties: &[f32]) -> Result<(), ConvertError>;
}

/// Chains on their way into a sink.
pub(crate) struct Chains<'s> {
    sink: &'s mut dyn Sink,
    rows: usize,
    next: i64,
    open: usize,
    positions: Vec<f64>,
    runs: Vec<(i64, usize)>,
    scalars: Vec<(Columns, Vec<f32>)>,
    ids: Vec<i64>,
    properties: Vec<(Columns, Vec<f32>)>,
}

impl<'s> Chains<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn Sink,
        rows: usize,
        scalars: &[Columns],
        properties: &[Columns],
    ) -> Self {
        let empty = |columns: &[Columns]| {
            columns
                .iter()
                .map(|one| (one.clone(), Vec::new()))
                .collect()
        };
        Self {
            sink,
            rows,
            next: 0,
            open: 0,
            positions: Vec::new(),
            runs: Vec::new(),
            scalars: empty(scalars),
            ids: Vec::new(),
            properties: empty(properties),
        }
    }

    /// Begins a file whose first chain has this id.
    pub(crate) fn begin(&mut self, first: i64) {
        self.next = first;
    }

    /// Refuses a file whose last chain does not have the id before this one.
    pub(crate) fn check(&self, file: &Path, end: i64) -> Result<(), ConvertError> {
        match self.next == end {
            true => Ok(()),
            false => {
                let expected = "those of when the file was looked at";
                Err(ConvertError::malformed(
                    file,
                    Place::Whole,
                    "other streamlines",
                    expected,
                ))
            }
        }
    }

    /// Hands over what is held.
    pub(crate) fn flush(&mut self) -> Result<(), ConvertError> {
        if self.open > 0 {
            self.runs.push((self.next, self.open));
            self.open = 0;
        }
        if !self.runs.is_empty() {
            let mut batch = Batch::new(&self.positions).with_object_runs(&self.runs[..]);
            for (columns, values) in &self.scalars {
                batch = batch.with_attribute(&columns.name, values);
            }
            self.sink.batch(&batch)?;
            self.positions.clear();
            self.runs.clear();
            self.scalars
                .iter_mut()
                .for_each(|(_, values)| values.clear());
        }
        if !self.ids.is_empty() {
            let mut table = ObjectTable::new(&self.ids[..]);
            for (columns, values) in &self.properties {
                table = table.with_attribute(&columns.name, values);
            }
            self.sink.objects(&table)?;
            self.ids.clear();
            self.properties
                .iter_mut()
                .for_each(|(_, values)| values.clear());
        }
        Ok(())
    }
}

/// Deals the numbers of a row out to the attributes.
fn deal(columns: &mut [(Columns, Vec<f32>)], row: &[f32]) {
    let mut rest = row;
    for (columns, values) in columns {
        let (own, more) = rest.split_at_checked(columns.count).unwrap_or((rest, &[]));
        values.extend_from_slice(own);
        rest = more;
    }
}

impl Visit for Chains<'_> {
    fn point(&mut self, position: [f64; 3], scalars: &[f32]) -> Result<(), ConvertError> {
        self.positions.extend(position);
        deal(&mut self.scalars, scalars);
        self.open += 1;
        if self.positions.len() / 3 >= self.rows {
            self.flush()?;
        }
        Ok(())
    }

    fn end(&mut self, properties: &[f32]) -> Result<(), ConvertError> {
        if self.open > 0 {
            self.runs.push((self.next, self.open));
            self.open = 0;
        }
        self.ids.push(self.next);
        deal(&mut self.properties, properties);
        self.next = self.next.saturating_add(1);
        if self.ids.len() >= self.rows {
            self.flush()?;
        }
        Ok(())
    }
}

/// Counts of a first reading.
#[derive(Debug)]
pub(crate) struct Census<'a> {
    pub(crate) extent: &'a mut crate::shape::Extent,
    pub(crate) chains: u64,
    pub(crate) limit: u64,
    pub(crate) path: &'a Path,
}

impl<'a> Census<'a> {
    /// Nothing counted yet of the file at `path`; `limit` is on the vertices of all files.
    pub(crate) fn of(path: &'a Path, extent: &'a mut crate::shape::Extent, limit: u64) -> Self {
        Self {
            extent,
            chains: 0,
            limit,
            path,
        }
    }
}

impl Visit for Census<'_> {
    fn point(&mut self, position: [f64; 3], _: &[f32]) -> Result<(), ConvertError> {
        self.extent.add(&position);
        if self.extent.count() > self.limit {
            return Err(ConvertError::limit(
                self.path,
                Place::Whole,
                "vertices",
                self.limit,
            ));
        }
        Ok(())
    }

    fn end(&mut self, _: &[f32]) -> Result<(), ConvertError> {
        self.chains += 1;
        Ok(())
    }
}

//! Shared code for streamline files: collects chains into batches.

use std::path::Path;

use zvf_write::{AttributeSpec, Batch, NumberType, ObjectTable, Values};

use crate::error::{ConvertError, InFile};
use crate::sink::Sink;

/// Columns of numbers that make one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrackColumns {
    pub(crate) name: String,
    pub(crate) count: usize,
}

impl TrackColumns {
    pub(crate) fn spec(&self) -> AttributeSpec {
        AttributeSpec::number(&self.name, NumberType::F32).with_channels(self.count)
    }
}

/// A number type of coordinates.
pub(crate) trait Coordinate: Copy + Into<f64> {
    /// Coordinates in the number type of a batch.
    fn values(list: Vec<Self>) -> Values;
}

impl Coordinate for f32 {
    fn values(list: Vec<Self>) -> Values {
        list.into()
    }
}

impl Coordinate for f64 {
    fn values(list: Vec<Self>) -> Values {
        list.into()
    }
}

/// Takes the values out of a list and reserves the same space for the next ones.
pub(crate) fn emptied<T>(list: &mut Vec<T>) -> Vec<T> {
    let capacity = list.len();
    std::mem::replace(list, Vec::with_capacity(capacity))
}

/// Receives the points of a file in their order.
pub(crate) trait ChainVisitor<T> {
    /// Points of the current chain: the three coordinates and all scalars of each point.
    fn points(&mut self, positions: &[T], scalars: &[f32]) -> Result<(), ConvertError>;

    /// Ends the chain, which may be empty.
    fn end(&mut self, properties: &[f32]) -> Result<(), ConvertError>;
}

/// Passes chains to a sink, in batches.
pub(crate) struct ChainBatcher<'s, T> {
    sink: &'s mut dyn Sink,
    rows: usize,
    next: i64,
    open: usize,
    positions: Vec<T>,
    runs: Vec<(i64, usize)>,
    scalars: Vec<(TrackColumns, Vec<f32>)>,
    ids: Vec<i64>,
    properties: Vec<(TrackColumns, Vec<f32>)>,
}

impl<'s, T: Coordinate> ChainBatcher<'s, T> {
    pub(crate) fn new(
        sink: &'s mut dyn Sink,
        rows: usize,
        scalars: &[TrackColumns],
        properties: &[TrackColumns],
    ) -> Self {
        let empty = |columns: &[TrackColumns]| {
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

    /// Begins a file; its first chain has this id.
    pub(crate) fn begin(&mut self, first: i64) {
        self.next = first;
    }

    /// Checks that the next chain would have the id `end`, as the first pass found.
    pub(crate) fn check(&self, file: &Path, end: i64) -> Result<(), ConvertError> {
        match self.next == end {
            true => Ok(()),
            false => Err(ConvertError::file_changed(file, "other streamlines")),
        }
    }

    /// Passes the collected batch to the sink.
    pub(crate) fn flush(&mut self) -> Result<(), ConvertError> {
        if self.open > 0 {
            self.runs.push((self.next, self.open));
            self.open = 0;
        }
        if !self.runs.is_empty() {
            let positions = T::values(emptied(&mut self.positions));
            let mut batch = Batch::new(positions).with_object_runs(emptied(&mut self.runs));
            for (columns, values) in &mut self.scalars {
                batch = batch.with_attribute(&columns.name, emptied(values));
            }
            self.sink.batch(&batch)?;
        }
        if !self.ids.is_empty() {
            let mut table = ObjectTable::new(emptied(&mut self.ids));
            for (columns, values) in &mut self.properties {
                table = table.with_attribute(&columns.name, emptied(values));
            }
            self.sink.objects(&table)?;
        }
        Ok(())
    }
}

/// Appends the numbers of each row to the attributes that they belong to.
fn deal(columns: &mut [(TrackColumns, Vec<f32>)], rows: &[f32]) {
    if let [(_, values)] = columns {
        values.extend_from_slice(rows);
        return;
    }
    let width: usize = columns.iter().map(|(columns, _)| columns.count).sum();
    for row in rows.chunks_exact(width.max(1)) {
        let mut rest = row;
        for (columns, values) in &mut *columns {
            let (own, more) = rest.split_at_checked(columns.count).unwrap_or((rest, &[]));
            values.extend_from_slice(own);
            rest = more;
        }
    }
}

impl<T: Coordinate> ChainVisitor<T> for ChainBatcher<'_, T> {
    fn points(&mut self, positions: &[T], scalars: &[f32]) -> Result<(), ConvertError> {
        let points = positions.len() / 3;
        let width = scalars.len().checked_div(points).unwrap_or(0);
        let (mut positions, mut scalars) = (positions, scalars);
        while positions.len() >= 3 {
            let room = self.rows.saturating_sub(self.positions.len() / 3).max(1);
            let count = room.min(positions.len() / 3);
            let (own, more) = positions.split_at(count * 3);
            let (of_own, of_more) = scalars.split_at(count * width);
            self.positions.extend_from_slice(own);
            deal(&mut self.scalars, of_own);
            self.open += count;
            if self.positions.len() / 3 >= self.rows {
                self.flush()?;
            }
            (positions, scalars) = (more, of_more);
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

/// Counts of the first pass.
#[derive(Debug)]
pub(crate) struct ChainCensus<'a> {
    pub(crate) extent: &'a mut crate::shape::VertexExtent,
    pub(crate) chains: u64,
    pub(crate) limit: u64,
    pub(crate) path: &'a Path,
}

impl<'a> ChainCensus<'a> {
    /// An empty count for the file at `path`; `limit` applies to the vertices of all files.
    pub(crate) fn of(
        path: &'a Path,
        extent: &'a mut crate::shape::VertexExtent,
        limit: u64,
    ) -> Self {
        Self {
            extent,
            chains: 0,
            limit,
            path,
        }
    }
}

impl<T: Coordinate> ChainVisitor<T> for ChainCensus<'_> {
    fn points(&mut self, positions: &[T], _: &[f32]) -> Result<(), ConvertError> {
        self.extent.add_all(positions);
        if self.extent.count() > self.limit {
            return Err(ConvertError::limit(
                self.path,
                InFile::Whole,
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

//! The measures of one object, from its vertices and links.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use zvf_store::format::int;
use zvf_store::meta::Kind;
use zvf_store::meta::Metric;

use super::measured::Measured;
use super::mesh::Mesh;
use super::table::MeasureTable;
use super::{column, tree};
use crate::QueryError;
use crate::error::OrBug;
use crate::statistics::CompensatedSum;
use crate::whole_objects::WholeObjects;

/// Measures objects from their rows, for kinds whose rows are linked to the next row.
#[derive(Debug)]
pub(super) struct PathMeter {
    dims: usize,
    metric: Metric,
    means: usize,
    object: Option<Path>,
}

#[derive(Debug)]
struct Path {
    id: i64,
    metric: Metric,
    points: u64,
    length: CompensatedSum,
    first: Vec<f64>,
    last: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    /// Sums and numbers of values.
    means: Vec<(CompensatedSum, u64)>,
}

impl PathMeter {
    /// `means`: the number of columns of means.
    pub(super) fn new(dims: usize, metric: Metric, means: usize) -> Self {
        Self {
            dims: dims.max(1),
            metric,
            means,
            object: None,
        }
    }

    /// Adds rows; returns the measures of complete objects.
    pub(super) fn extend(
        &mut self,
        batch: &RecordBatch,
        table: &MeasureTable,
    ) -> Result<Vec<Measured>, QueryError> {
        let ids = batch.column_by_name("object_id");
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        let ids = ids
            .filter(|ids| ids.null_count() == 0)
            .or_bug("rows of objects without ids")?;
        let rows = Rows::of(batch, table)?;
        let mut done = Vec::new();
        for (row, id) in ids.values().iter().enumerate() {
            if self.object.as_ref().is_none_or(|object| object.id != *id) {
                done.extend(self.end());
                self.object = Some(Path::new(*id, (self.dims, self.metric), self.means));
            }
            let object = self.object.as_mut().or_bug("a row of no object")?;
            object.add(rows.position(row)?, &rows, row)?;
        }
        Ok(done)
    }

    /// Completes the last object.
    pub(super) fn end(&mut self) -> Option<Measured> {
        self.object.take().map(|object| object.measured(true))
    }
}

/// Positions and attributes of rows as floats.
struct Rows {
    positions: (Vec<f64>, usize),
    attributes: Vec<(Vec<f64>, usize)>,
}

impl Rows {
    fn of(batch: &RecordBatch, table: &MeasureTable) -> Result<Self, QueryError> {
        let names = table.columns().iter();
        Ok(Self {
            positions: column(batch, "position")?,
            attributes: names
                .map(|name| column(batch, name))
                .collect::<Result<_, _>>()?,
        })
    }

    fn position(&self, row: usize) -> Result<&[f64], QueryError> {
        let (values, width) = &self.positions;
        let start = row.saturating_mul(*width);
        values
            .get(start..start.saturating_add(*width))
            .or_bug("a row without a position")
    }

    /// The values of a row for means.
    fn values(&self, row: usize) -> impl Iterator<Item = Result<f64, QueryError>> {
        self.attributes.iter().flat_map(move |(values, width)| {
            let start = row.saturating_mul(*width);
            let places = start..start.saturating_add(*width);
            places.map(|at| values.get(at).copied().or_bug("a row without a value"))
        })
    }
}

impl Path {
    fn new(id: i64, (dims, metric): (usize, Metric), means: usize) -> Self {
        Self {
            id,
            metric,
            points: 0,
            length: CompensatedSum::default(),
            first: Vec::new(),
            last: Vec::new(),
            bounds: vec![(f64::INFINITY, f64::NEG_INFINITY); dims],
            means: vec![(CompensatedSum::default(), 0); means],
        }
    }

    fn add(&mut self, position: &[f64], rows: &Rows, row: usize) -> Result<(), QueryError> {
        match self.points {
            0 => self.first = position.to_vec(),
            _ => self.length.add(self.metric.distance(&self.last, position)),
        }
        self.last.clear();
        self.last.extend_from_slice(position);
        self.points += 1;
        for ((low, high), value) in self.bounds.iter_mut().zip(position) {
            (*low, *high) = (low.min(*value), high.max(*value));
        }
        let mut means = self.means.iter_mut();
        for value in rows.values(row) {
            let (value, (sum, count)) =
                (value?, means.next().or_bug("more attributes than means")?);
            if !value.is_nan() {
                sum.add(value);
                *count += 1;
            }
        }
        Ok(())
    }

    /// The measures; `path`: whether each row is linked to the next one.
    fn measured(self, path: bool) -> Measured {
        let mean = |(sum, count): (CompensatedSum, u64)| {
            (count > 0).then(|| sum.value() / crate::statistics::real(count))
        };
        let (id, points, metric) = (self.id, self.points, self.metric);
        let measured = match path {
            true => Measured::chain(
                (id, points, self.length.value()),
                metric,
                self.first,
                self.last,
            ),
            false => Measured {
                id,
                points,
                first: self.first,
                last: self.last,
                ..Measured::default()
            },
        };
        Measured {
            bounds: self.bounds,
            means: self.means.into_iter().map(mean).collect(),
            ..measured
        }
    }
}

/// Measures objects with their links.
pub(super) fn measure(
    kind: Kind,
    ids: &[i64],
    objects: &WholeObjects,
    table: &MeasureTable,
) -> Result<Vec<Measured>, QueryError> {
    let rows = Rows::of(&objects.vertices, table)?;
    let metric = objects.metric();
    let mut done = Vec::with_capacity(ids.len());
    for (number, (id, (start, count))) in ids.iter().zip(&objects.rows).enumerate() {
        if *count == 0 {
            done.push(Measured::empty(*id));
            continue;
        }
        let mut path = Path::new(*id, (objects.dims(), metric), table.means());
        let range = *start..start.saturating_add(*count);
        for row in range.clone() {
            path.add(rows.position(row)?, &rows, row)?;
        }
        let (first, last) = (path.first.clone(), path.last.clone());
        let mut measured = path.measured(false);
        if let Some((width, links)) = &objects.links {
            let own = links
                .get(number)
                .or_bug("an object without a list of links")?;
            match (kind, *width) {
                (Kind::Mesh, _) => {
                    let mesh = Mesh::of(objects, own, *width)?;
                    measured.faces = Some(int::wide(own.len() / width));
                    measured.surface = Some(mesh.surface()?);
                    measured.volume = mesh.volume();
                }
                (_, 2) => {
                    let mut length = CompensatedSum::default();
                    for pair in own.chunks_exact(2) {
                        let [a, b] = *pair else { continue };
                        let (a, b) = objects.ends(a, b)?;
                        length.add(metric.distance(a, b));
                    }
                    measured.length = Some(length.value());
                    match kind {
                        Kind::Skeleton | Kind::Graph => {
                            let degrees = tree::degrees(range.clone(), own)?;
                            measured.branches = Some(tree::count(&degrees, |degree| degree > 2));
                            measured.tips = Some(tree::count(&degrees, |degree| degree == 1));
                        }
                        _ => {
                            let apart = metric.distance(&first, &last);
                            measured.tortuosity = (apart > 0.0).then_some(length.value() / apart);
                        }
                    }
                    if kind == Kind::Skeleton {
                        measured.strahler = tree::strahler(range, own)?;
                    }
                }
                _ => {}
            }
        }
        done.push(measured);
    }
    Ok(done)
}

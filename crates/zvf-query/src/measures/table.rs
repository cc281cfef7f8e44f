//! The table of measures.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use zvf_store::meta::moments::Moments;
use zvf_store::meta::{Axis, Kind, unit_of_space};

use super::measured::Measured;
use crate::QueryError;
use crate::error::OrBug;
use crate::numbers;

/// The unit of the values of a column, in the metadata of its field.
const UNIT: &str = "zvf.unit";

/// The columns of the table.
#[derive(Debug)]
pub(super) struct MeasureTable {
    schema: SchemaRef,
    kinds: Vec<Measure>,
    /// Columns of the vertices to average.
    columns: Vec<String>,
    means: usize,
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    ObjectId,
    Points,
    Length,
    Tortuosity,
    Branches,
    Tips,
    Strahler,
    Faces,
    Surface,
    Volume,
    Min(usize),
    Max(usize),
    Mean(usize),
    /// The coordinate of the first vertex on an axis.
    Start(usize),
    /// The coordinate of the last vertex on an axis.
    End(usize),
}

impl MeasureTable {
    /// The table of a kind; `vertices` is the schema of the vertex table.
    pub(super) fn new(
        kind: Kind,
        axes: &[Axis],
        vertices: &Schema,
        means: &[String],
    ) -> Result<Self, QueryError> {
        let mut all = vec![
            (Measure::ObjectId, "object_id".to_owned()),
            (Measure::Points, "points".to_owned()),
        ];
        let own: &[(Measure, &str)] = match kind {
            Kind::Line | Kind::Polyline | Kind::Streamline => &[
                (Measure::Length, "length"),
                (Measure::Tortuosity, "tortuosity"),
            ],
            Kind::Skeleton => &[
                (Measure::Length, "length"),
                (Measure::Branches, "branches"),
                (Measure::Tips, "tips"),
                (Measure::Strahler, "strahler"),
            ],
            Kind::Graph => &[
                (Measure::Length, "length"),
                (Measure::Branches, "branches"),
                (Measure::Tips, "tips"),
            ],
            Kind::Mesh => &[
                (Measure::Faces, "faces"),
                (Measure::Surface, "surface"),
                (Measure::Volume, "volume"),
            ],
            _ => &[],
        };
        all.extend(
            own.iter()
                .map(|(measure, name)| (*measure, (*name).to_owned())),
        );
        for (at, axis) in axes.iter().enumerate() {
            all.push((Measure::Min(at), format!("min_{}", axis.name)));
            all.push((Measure::Max(at), format!("max_{}", axis.name)));
        }
        let length = unit_of_space(axes);
        let mut columns = Vec::new();
        let mut units = Vec::new();
        let mut number = 0;
        let mut asked = HashSet::new();
        for name in means.iter().filter(|name| asked.insert(*name)) {
            // An attribute with the name of another column has a prefix in the table.
            let column = [format!("attribute:{name}"), name.clone()];
            let column = column
                .into_iter()
                .find(|column| vertices.field_with_name(column).is_ok());
            let column = column.or_bug(format_args!("vertices without {name}"))?;
            let field = vertices
                .field_with_name(&column)
                .ok()
                .or_bug("a missing column")?;
            let Some((width, _)) = numbers::shape(field.data_type()) else {
                return Err(QueryError::misuse(format!(
                    "mean: attribute {name:?} is of type {}, expected numbers",
                    field.data_type()
                )));
            };
            for channel in 0..width {
                let title = match width {
                    1 => format!("mean_{name}"),
                    _ => format!("mean_{name}_{channel}"),
                };
                all.push((Measure::Mean(number), title));
                let unit = field.metadata().get(UNIT);
                // The units of dates and times apply to integers; a mean is a float64 and has no such unit.
                units.push(unit.filter(|unit| Moments::of_unit(unit).is_none()));
                number += 1;
            }
            columns.push(column);
        }
        let mut names = HashSet::new();
        if let Some((_, name)) = all.iter().find(|(_, name)| !names.insert(name)) {
            return Err(QueryError::misuse(format!(
                "mean: found two attributes with a column {name}, expected one: measure them in two runs"
            )));
        }
        let fields = all.iter().map(|(measure, name)| {
            let (kind, nullable) = match measure {
                Measure::ObjectId => (DataType::Int64, false),
                Measure::Points => (DataType::UInt64, false),
                Measure::Branches | Measure::Tips | Measure::Strahler | Measure::Faces => {
                    (DataType::UInt64, true)
                }
                _ => (DataType::Float64, true),
            };
            let unit = match measure {
                Measure::Length => length.map(str::to_owned),
                Measure::Surface => length.map(|unit| format!("{unit}^2")),
                Measure::Volume => length.map(|unit| format!("{unit}^3")),
                Measure::Min(at) | Measure::Max(at) => {
                    axes.get(*at).and_then(|axis| axis.unit.clone())
                }
                Measure::Mean(number) => units.get(*number).copied().flatten().cloned(),
                _ => None,
            };
            with_unit(Field::new(name, kind, nullable), unit)
        });
        Ok(Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            kinds: all.into_iter().map(|(measure, _)| measure).collect(),
            columns,
            means: number,
        })
    }

    /// Adds the positions of the ends: `start_x`, .., `end_x`, ..
    pub(super) fn add_ends(&mut self, axes: &[Axis]) {
        let mut fields = self.schema.fields().to_vec();
        for (word, measure) in [
            ("start", Measure::Start as fn(usize) -> Measure),
            ("end", Measure::End),
        ] {
            for (at, axis) in axes.iter().enumerate() {
                self.kinds.push(measure(at));
                let field = Field::new(format!("{word}_{}", axis.name), DataType::Float64, true);
                fields.push(Arc::new(with_unit(field, axis.unit.clone())));
            }
        }
        self.schema = Arc::new(Schema::new(fields));
    }

    /// Whether any column of the table is a bound; with `chosen`, any of the columns with these indexes.
    pub(super) fn has_bounds(&self, chosen: Option<&[usize]>) -> bool {
        let is_bound = |kind: &Measure| matches!(kind, Measure::Min(_) | Measure::Max(_));
        match chosen {
            None => self.kinds.iter().any(is_bound),
            Some(chosen) => chosen
                .iter()
                .any(|at| self.kinds.get(*at).is_some_and(is_bound)),
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns of the vertices to average.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The number of columns of means.
    pub(super) fn means(&self) -> usize {
        self.means
    }

    /// Rows of the table.
    pub(super) fn batch(&self, rows: &[Measured]) -> Result<RecordBatch, QueryError> {
        let counts = |of: &dyn Fn(&Measured) -> Option<u64>| -> ArrayRef {
            Arc::new(rows.iter().map(of).collect::<UInt64Array>())
        };
        let numbers = |of: &dyn Fn(&Measured) -> Option<f64>| -> ArrayRef {
            Arc::new(rows.iter().map(of).collect::<Float64Array>())
        };
        // If all coordinates are NaN, there are no bounds.
        let known = |bounds: &(f64, f64)| bounds.0 <= bounds.1;
        let column = |measure: &Measure| -> ArrayRef {
            match *measure {
                Measure::ObjectId => {
                    Arc::new(rows.iter().map(|row| row.id).collect::<Int64Array>())
                }
                Measure::Points => {
                    Arc::new(rows.iter().map(|row| row.points).collect::<UInt64Array>())
                }
                Measure::Length => numbers(&|row| row.length),
                Measure::Tortuosity => numbers(&|row| row.tortuosity),
                Measure::Branches => counts(&|row| row.branches),
                Measure::Tips => counts(&|row| row.tips),
                Measure::Strahler => counts(&|row| row.strahler),
                Measure::Faces => counts(&|row| row.faces),
                Measure::Surface => numbers(&|row| row.surface),
                Measure::Volume => numbers(&|row| row.volume),
                Measure::Min(axis) => numbers(&|row| {
                    row.bounds
                        .get(axis)
                        .filter(|one| known(one))
                        .map(|one| one.0)
                }),
                Measure::Max(axis) => numbers(&|row| {
                    row.bounds
                        .get(axis)
                        .filter(|one| known(one))
                        .map(|one| one.1)
                }),
                Measure::Start(axis) => numbers(&|row| row.first.get(axis).copied()),
                Measure::End(axis) => numbers(&|row| row.last.get(axis).copied()),
                Measure::Mean(number) => numbers(&|row| row.means.get(number).copied().flatten()),
            }
        };
        let columns = self.kinds.iter().map(column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.ok().or_bug("measures that do not fit their columns")
    }
}

fn with_unit(field: Field, unit: Option<String>) -> Field {
    match unit {
        Some(unit) => field.with_metadata(HashMap::from([(UNIT.to_owned(), unit)])),
        None => field,
    }
}

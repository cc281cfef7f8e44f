//! The summary of a result: counts, bounds, first rows.

use std::fmt::Write as _;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use serde_json::{Value, json};
use zvf_convert::output::axis_names;
use zvf_query::{Summary, Table};

use super::listing::chain;
use crate::context::Traffic;
use crate::output::table::{TextTable, count, counted};

/// Rows of a table that a summary shows.
const SHOWN: usize = 8;

/// Collects the contents of a summary from the batches of a result.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    lo: Vec<f64>,
    hi: Vec<f64>,
    single: bool,
    vertices: Vec<RecordBatch>,
    objects: Vec<RecordBatch>,
}

impl Digest {
    /// Looks at a batch.
    pub(crate) fn look(&mut self, table: Table, batch: &RecordBatch) {
        match table {
            Table::Vertices => {
                self.widen(batch);
                keep(&mut self.vertices, batch);
            }
            Table::Objects => keep(&mut self.objects, batch),
            _ => {}
        }
    }

    /// Extends the bounds by the positions of a batch; NaN is in no box and in no bounds.
    fn widen(&mut self, batch: &RecordBatch) {
        let Some(list) = batch
            .column_by_name("position")
            .and_then(|c| c.as_fixed_size_list_opt())
        else {
            return;
        };
        let dims = usize::try_from(list.value_length()).unwrap_or(0);
        let values = list.values().slice(
            list.offset().saturating_mul(dims),
            list.len().saturating_mul(dims),
        );
        self.lo.resize(dims, f64::INFINITY);
        self.hi.resize(dims, f64::NEG_INFINITY);
        self.single = matches!(values.data_type(), DataType::Float16 | DataType::Float32);
        match values.data_type() {
            DataType::Float16 => self.rows::<Float16Type>(&values, |v| v.to_f64()),
            DataType::Float32 => self.rows::<Float32Type>(&values, f64::from),
            DataType::Float64 => self.rows::<Float64Type>(&values, |v| v),
            DataType::Int8 => self.rows::<Int8Type>(&values, f64::from),
            DataType::Int16 => self.rows::<Int16Type>(&values, f64::from),
            DataType::Int32 => self.rows::<Int32Type>(&values, f64::from),
            DataType::Int64 => self.rows::<Int64Type>(&values, |v| v as f64),
            DataType::UInt8 => self.rows::<UInt8Type>(&values, f64::from),
            DataType::UInt16 => self.rows::<UInt16Type>(&values, f64::from),
            DataType::UInt32 => self.rows::<UInt32Type>(&values, f64::from),
            DataType::UInt64 => self.rows::<UInt64Type>(&values, |v| v as f64),
            _ => {}
        }
    }

    fn rows<T: ArrowPrimitiveType>(&mut self, values: &dyn Array, real: impl Fn(T::Native) -> f64) {
        let Some(values) = values.as_primitive_opt::<T>() else {
            return;
        };
        // Several rows at once, each with bounds of its own, so that the compiler can use wide registers.
        let dims = self.lo.len().max(1);
        let width = dims * 16;
        let (mut low, mut high) = (vec![f64::INFINITY; width], vec![f64::NEG_INFINITY; width]);
        for rows in values.values().chunks(width) {
            for ((low, high), value) in low.iter_mut().zip(&mut high).zip(rows) {
                let value = real(*value);
                *low = if value < *low { value } else { *low };
                *high = if value > *high { value } else { *high };
            }
        }
        for (low, high) in low.chunks_exact(dims).zip(high.chunks_exact(dims)) {
            for ((lo, hi), (low, high)) in self
                .lo
                .iter_mut()
                .zip(&mut self.hi)
                .zip(low.iter().zip(high))
            {
                *lo = lo.min(*low);
                *hi = hi.max(*high);
            }
        }
    }

    /// Smallest and largest coordinate on each axis, if there is any vertex.
    fn bounds(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let some = !self.lo.is_empty() && self.lo.iter().zip(&self.hi).all(|(lo, hi)| lo <= hi);
        some.then(|| {
            (
                self.lo.iter().map(|v| self.tidy(*v)).collect(),
                self.hi.iter().map(|v| self.tidy(*v)).collect(),
            )
        })
    }

    /// Converts a number of 32 bits or less to the float64 with the same shortest digits.
    fn tidy(&self, value: f64) -> f64 {
        if self.single {
            format!("{:?}", value as f32).parse().unwrap_or(value)
        } else {
            value
        }
    }
}

/// Keeps the first rows of a table.
fn keep(kept: &mut Vec<RecordBatch>, batch: &RecordBatch) {
    let have: usize = kept.iter().map(RecordBatch::num_rows).sum();
    let take = SHOWN.saturating_sub(have).min(batch.num_rows());
    if take > 0 {
        kept.push(batch.slice(0, take));
    }
}

/// The contents of a summary.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// The store as it was named.
    pub(crate) store: &'a str,
    /// Its kind.
    pub(crate) kind: String,
    /// The level.
    pub(crate) level: u32,
    /// Counts of the query.
    pub(crate) summary: &'a Summary,
    /// Whether the result has a link table.
    pub(crate) has_links: bool,
    /// Whether the result has an object table.
    pub(crate) has_objects: bool,
    /// Bounds and first rows.
    pub(crate) digest: &'a Digest,
    /// Files written.
    pub(crate) files: &'a [PathBuf],
    /// All warnings.
    pub(crate) warnings: &'a [String],
    /// Requests and bytes.
    pub(crate) traffic: Traffic,
}

impl Report<'_> {
    /// The summary document.
    pub(crate) fn document(&self) -> Value {
        let bounds = self
            .digest
            .bounds()
            .map(|(lo, hi)| json!([numbers(&lo), numbers(&hi)]));
        let files: Vec<String> = self
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        json!({
            "store": self.store,
            "level": self.level,
            "levels": self.summary.levels,
            "kind": self.kind,
            "vertices": self.summary.vertices,
            "links": self.has_links.then_some(self.summary.links),
            "objects": self.has_objects.then_some(self.summary.objects),
            "truncated": self.summary.truncated,
            "bounds": bounds,
            "chunks_read": self.summary.chunks_read,
            "cells_read": self.summary.cells_read,
            "requests": self.traffic.requests,
            "rounds": self.traffic.rounds,
            "bytes": self.traffic.bytes,
            "files": files,
            "warnings": self.warnings,
        })
    }

    /// The summary for people.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let summary = self.summary;
        let mut head = |name: &str, value: String| {
            let _ = writeln!(out, "{name:<10}{value}");
        };
        head(
            "store",
            format!(
                "{} ({}, {})",
                self.store,
                self.kind,
                chain(self.level, &summary.levels)
            ),
        );
        let cut = if summary.truncated {
            ", cut by --limit"
        } else {
            ""
        };
        head("vertices", format!("{}{cut}", count(summary.vertices)));
        if self.has_links {
            head("links", count(summary.links));
        }
        if self.has_objects {
            head("objects", count(summary.objects));
        }
        let schema = self.digest.vertices.first().map(RecordBatch::schema);
        if let Some((lo, hi)) = self.digest.bounds() {
            let names = schema.as_deref().map(axis_names).unwrap_or_default();
            let axes: Vec<String> = lo
                .iter()
                .zip(&hi)
                .enumerate()
                .map(|(i, (lo, hi))| match names.get(i) {
                    Some(name) => format!("{name} {lo} to {hi}"),
                    None => format!("{lo} to {hi}"),
                })
                .collect();
            head("bounds", axes.join(", "));
        }
        head(
            "read",
            format!(
                "{}, {}",
                counted(summary.chunks_read, "chunk"),
                counted(summary.cells_read, "cell")
            ),
        );
        if let Some(schema) = schema {
            let _ = write!(
                out,
                "\n{}",
                first(&schema, &self.digest.vertices, summary.vertices, "vertices")
            );
        }
        if let Some(schema) = self.digest.objects.first().map(RecordBatch::schema) {
            let _ = write!(
                out,
                "\n{}",
                first(&schema, &self.digest.objects, summary.objects, "objects")
            );
        }
        out
    }
}

/// The first rows of a table under a title.
fn first(schema: &SchemaRef, batches: &[RecordBatch], all: u64, what: &str) -> String {
    let mut table = TextTable::new(titles(schema));
    for batch in batches {
        table.batch(batch);
    }
    let shown = table.len() as u64;
    let title = if shown < all {
        format!("first {shown} of {} {what}", count(all))
    } else {
        what.to_owned()
    };
    format!("{title}\n{}", table.render(2))
}

/// Column titles; positions are one column titled by the axes.
pub(crate) fn titles(schema: &Schema) -> Vec<String> {
    let axes = axis_names(schema);
    let title = |name: &str| {
        if name == "position" && !axes.is_empty() {
            axes.join(" ")
        } else {
            name.to_owned()
        }
    };
    schema
        .fields()
        .iter()
        .map(|field| title(field.name()))
        .collect()
}

/// Numbers as JSON; those that JSON lacks are null.
pub(crate) fn numbers(values: &[f64]) -> Vec<Value> {
    values.iter().map(|value| Value::from(*value)).collect()
}

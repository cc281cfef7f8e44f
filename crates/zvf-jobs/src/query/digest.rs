//! The bounds and first rows of an answer, for a summary.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;
use zvf_query::Table;

use crate::TableRows;

/// Rows of a table in a summary.
const SHOWN: usize = 8;

/// Collects the contents of a summary from the batches of a result.
#[derive(Debug, Default)]
pub(super) struct Digest {
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// Whether coordinates are 64-bit integers, which float64 rounds beyond 2^53.
    rounds: bool,
    /// The first vertices.
    pub(super) vertices: Option<TableRows>,
    /// The first objects.
    pub(super) objects: Option<TableRows>,
}

impl Digest {
    /// Adds a batch of an answer.
    pub(super) fn look(&mut self, table: Table, batch: &RecordBatch) {
        match table {
            Table::Vertices => {
                self.widen(batch);
                keep(&mut self.vertices, batch);
            }
            Table::Objects => keep(&mut self.objects, batch),
            _ => {}
        }
    }

    /// Extends the bounds to the positions of a batch. NaN is ignored.
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
        match values.data_type() {
            DataType::Float16 => self.rows::<Float16Type>(&values, |v| v.to_f64()),
            DataType::Float32 => self.rows::<Float32Type>(&values, f64::from),
            DataType::Float64 => self.rows::<Float64Type>(&values, |v| v),
            DataType::Int8 => self.rows::<Int8Type>(&values, f64::from),
            DataType::Int16 => self.rows::<Int16Type>(&values, f64::from),
            DataType::Int32 => self.rows::<Int32Type>(&values, f64::from),
            DataType::Int64 => {
                self.rounds = true;
                self.rows::<Int64Type>(&values, |v| v as f64);
            }
            DataType::UInt8 => self.rows::<UInt8Type>(&values, f64::from),
            DataType::UInt16 => self.rows::<UInt16Type>(&values, f64::from),
            DataType::UInt32 => self.rows::<UInt32Type>(&values, f64::from),
            DataType::UInt64 => {
                self.rounds = true;
                self.rows::<UInt64Type>(&values, |v| v as f64);
            }
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

    /// Smallest and largest coordinate on each axis, not rounded (64-bit integers beyond 2^53 are rounded outward), so that the box contains every
    /// vertex. `None` if an axis has no coordinate other than NaN.
    pub(super) fn bounds(&self) -> Option<[Vec<f64>; 2]> {
        let some = !self.lo.is_empty() && self.lo.iter().zip(&self.hi).all(|(lo, hi)| lo <= hi);
        let is_rounded = |bound: f64| self.rounds && bound.abs() >= 9_007_199_254_740_992.0;
        let outward = |bounds: &[f64], step: fn(f64) -> f64| {
            let bounds = bounds.iter();
            let moved = bounds.map(|bound| {
                if is_rounded(*bound) {
                    step(*bound)
                } else {
                    *bound
                }
            });
            moved.collect::<Vec<f64>>()
        };
        some.then(|| {
            [
                outward(&self.lo, f64::next_down),
                outward(&self.hi, f64::next_up),
            ]
        })
    }
}

/// Keeps the first rows of a table.
fn keep(kept: &mut Option<TableRows>, batch: &RecordBatch) {
    let batches = kept.iter().flat_map(|kept| &kept.batches);
    let have: usize = batches.map(RecordBatch::num_rows).sum();
    let take = SHOWN.saturating_sub(have).min(batch.num_rows());
    if take > 0 {
        let kept = kept.get_or_insert_with(|| TableRows::new(batch.schema_ref()));
        kept.push(batch.slice(0, take));
    }
}

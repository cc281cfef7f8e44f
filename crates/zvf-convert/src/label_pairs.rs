//! The labels of a volume at both ends of lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use futures::future::BoxFuture;
use zvf_encode::error::{OrBug, internal};
use zvf_query::{Measures, Query};
use zvf_store::{IoOptions, Store};
use zvf_volume::{Interpolation, Sampler};
use zvf_write::{Groups, NumberType, Values, WriteError};

use crate::ConvertError;
use crate::masks::PlacedVolume;

/// Number of lines whose ends are looked up in the volume together.
const TOGETHER: usize = 1 << 17;

/// The largest number of pairs of labels: a volume with more probably does not hold labels.
const MOST_PAIRS: usize = 1 << 17;

/// The volume of labels, and the attributes to average for each pair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndLabels {
    /// File, folder or URL of a volume that `zvf sample` reads; `#NAME` selects one of several.
    pub volume: String,
    /// Replaces the map of the volume from indices of elements to the axes of the store: see [`stated_affine`](crate::stated_affine).
    pub affine: Option<String>,
    /// Vertex attributes to average.
    pub means: Vec<String>,
}

/// Lines, grouped by the labels at both ends.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LabelPairs {
    /// The lines of each pair of labels, the smaller label first. Neither is 0.
    pub pairs: BTreeMap<(i64, i64), LabelPair>,
    /// Names of the columns of means.
    pub means: Vec<String>,
    /// All lines.
    pub objects: u64,
    /// Lines with an end at label 0 or outside of the volume, and lines without vertices.
    pub unpaired: u64,
    /// Number of ends outside of the volume; a line without vertices counts as two.
    pub outside: u64,
    /// How the volume was placed.
    pub remarks: Vec<String>,
}

/// The lines between two labels.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LabelPair {
    /// Their ids, in the order of the store.
    pub ids: Vec<i64>,
    /// The sum of their lengths.
    pub length: f64,
    /// For each column of means: the sum of the means of the lines that have one, and the number of these lines.
    pub means: Vec<(f64, u64)>,
}

/// Finds the labels of a volume at the first and the last vertex of each line, polyline or streamline of level 0.
///
/// An end has the label of the element that contains it, as in samples of order nearest. 0, NaN and everything outside of the volume are
/// background. The order of the two ends does not matter. `progress` is called with numbers of lines.
///
/// # Units
/// The volume is placed as by [`mask_region`](crate::mask_region); lengths are in world units, as in [`Measures`].
///
/// # Cost
/// The cost of [`Measures`], and for each 131,072 lines one read of the part of the volume around their ends. Memory: that part (in pieces of
/// 256 MiB), the memory of the measures, the ids of objects, and 8 bytes for each line of a pair.
///
/// # Errors
/// Misuse: a store of another kind; elements at ends that are not whole numbers; more than 131,072 pairs of labels; axes, units or a frame
/// that do not fit; an unknown attribute. The errors of the query and the volume.
pub fn label_pairs<'a>(
    store: &'a Store,
    source: &'a EndLabels,
    io: &'a IoOptions,
    progress: &'a (dyn Fn(u64) + Send + Sync),
) -> BoxFuture<'a, Result<LabelPairs, ConvertError>> {
    Box::pin(async move {
        let measures = Measures::start(store, Query::default(), &source.means).await?;
        let measures = measures.with_ends()?;
        let schema = measures.schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let is_wanted = |name: &&str| {
            let mut words = ["points", "length", "start_", "end_", "mean_"].iter();
            words.any(|word| name.starts_with(word))
        };
        let wanted = names.filter(is_wanted).map(|name| (name, name));
        let mut measures = measures.with_columns(wanted)?;
        let placed = PlacedVolume::open(store, &source.volume, source.affine.as_deref(), io);
        let placed = placed.await?;
        let sampler = Sampler::new(
            placed.volume,
            placed.uses,
            &placed.to_world,
            Interpolation::Nearest,
        )?;
        let sampler = sampler.with_outside(0.0)?;
        let schema = measures.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let axes = store.root().axes();
        let picked = placed.picked.iter().filter_map(|at| axes.get(*at));
        let picked: Vec<&str> = picked.map(|axis| axis.name.as_str()).collect();
        let mut found = LabelPairs {
            means: names.filter(|name| name.starts_with("mean_")).collect(),
            remarks: placed.remarks,
            ..LabelPairs::default()
        };
        let mut waiting = Vec::new();
        let mut rows = 0;
        loop {
            let batch = measures.next().await?;
            let last = batch.is_none();
            rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
            waiting.extend(batch);
            if rows >= TOGETHER || last {
                let mut places = Vec::new();
                for batch in &waiting {
                    ends(batch, &picked, &mut places)?;
                }
                let sampled = sampler.sample(&places).await?;
                found.outside += sampled.outside;
                let labels = labels(&source.volume, &sampler, &sampled.bytes)?;
                let mut labels = labels.chunks_exact(2);
                for batch in waiting.drain(..) {
                    found.add(&batch, &mut labels, &source.volume)?;
                    progress(batch.num_rows() as u64);
                }
                internal!(labels.next().is_none(), "labels without a line");
                rows = 0;
            }
            if last {
                found.remarks.extend_from_slice(measures.warnings());
                return Ok(found);
            }
        }
    })
}

/// The values of a column of float64, with NaN for missing ones.
fn floats(batch: &RecordBatch, name: &str) -> Result<Vec<f64>, WriteError> {
    let column = batch.column_by_name(name);
    let column = column.and_then(|column| column.as_primitive_opt::<Float64Type>());
    let column = column.or_bug(format_args!("measures without {name}"))?;
    Ok(column.iter().map(|one| one.unwrap_or(f64::NAN)).collect())
}

/// Appends the positions of both ends of each line. Lines without vertices have NaN, which is outside of the volume.
fn ends(batch: &RecordBatch, axes: &[&str], places: &mut Vec<f64>) -> Result<(), WriteError> {
    let columns = |word: &str| -> Result<Vec<Vec<f64>>, WriteError> {
        let names = axes.iter().map(|axis| format!("{word}_{axis}"));
        names.map(|name| floats(batch, &name)).collect()
    };
    let ends = [columns("start")?, columns("end")?];
    for row in 0..batch.num_rows() {
        for column in ends.iter().flatten() {
            places.push(*column.get(row).or_bug("a row without an end")?);
        }
    }
    Ok(())
}

/// The labels at sampled positions, from their bytes; NaN is 0.
fn labels(volume: &str, sampler: &Sampler, bytes: &[u8]) -> Result<Vec<i64>, ConvertError> {
    let dtype = sampler.dtype().to_string();
    let wrong = |found: String| {
        let expected = "whole numbers: the label of the part to which an element belongs";
        ConvertError::usage(volume, found, expected)
    };
    let number = NumberType::from_name(&dtype);
    let number = number.ok_or_else(|| wrong(format!("elements of {dtype}")))?;
    let mut values = Values::of_bytes(number, bytes);
    if number.is_float() {
        // NaN is background, as in masks.
        let known = |one: f64| if one.is_nan() || one == 0.0 { 0.0 } else { one };
        let list = values.to_f64().into_iter().map(known);
        values = list.collect::<Vec<f64>>().into();
    }
    match values.exactly(NumberType::I64) {
        Some(Values::I64(labels)) => Ok(labels.to_vec()),
        _ => Err(wrong(format!(
            "elements of {dtype} at ends of lines that are not whole numbers below 2^63"
        ))),
    }
}

impl LabelPairs {
    fn add<'l>(
        &mut self,
        batch: &RecordBatch,
        labels: &mut impl Iterator<Item = &'l [i64]>,
        volume: &str,
    ) -> Result<(), ConvertError> {
        let ids = batch.column_by_name("object_id");
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        let ids = ids.or_bug("measures without ids")?.values();
        let points = batch.column_by_name("points");
        let points = points.and_then(|points| points.as_primitive_opt::<UInt64Type>());
        let points = points
            .or_bug("measures without numbers of points")?
            .values();
        let lengths = floats(batch, "length")?;
        let means: Vec<Vec<f64>> = self
            .means
            .iter()
            .map(|name| floats(batch, name))
            .collect::<Result<_, _>>()?;
        let lines = ids.iter().zip(points).zip(lengths).enumerate();
        for (row, ((id, points), length)) in lines {
            self.objects += 1;
            let ends = labels.next().or_bug("a line without labels")?;
            let (one, other) = match *ends {
                [one, other] if *points > 0 && one != 0 && other != 0 => (one, other),
                _ => {
                    self.unpaired += 1;
                    continue;
                }
            };
            let pair = (one.min(other), one.max(other));
            if self.pairs.len() >= MOST_PAIRS && !self.pairs.contains_key(&pair) {
                return Err(ConvertError::usage(
                    volume,
                    format!("more than {MOST_PAIRS} pairs of different values at ends of lines"),
                    "a volume of labels",
                ));
            }
            let own = self.pairs.entry(pair).or_default();
            own.means.resize(means.len(), (0.0, 0));
            own.ids.push(*id);
            own.length += length;
            for ((sum, count), column) in own.means.iter_mut().zip(&means) {
                let mean = *column.get(row).or_bug("a line without a mean")?;
                if !mean.is_nan() {
                    *sum += mean;
                    *count += 1;
                }
            }
        }
        Ok(())
    }

    /// A group `NAME/a-b` for each pair of labels, by label.
    #[must_use]
    pub fn groups(&self, name: &str) -> Groups {
        let members = self.pairs.values().map(|pair| pair.ids.clone()).collect();
        let names = self.pairs.keys().map(|(a, b)| format!("{name}/{a}-{b}"));
        Groups::new(members).with_names(names)
    }

    /// A row for each pair of labels: `label_a`, `label_b` (int64), `count` of lines (uint64), `mean_length`, and for each attribute
    /// `mean_NAME` (float64): the mean over all lines of the means of their vertices, missing if no vertex has a value.
    ///
    /// # Errors
    /// Only a bug.
    pub fn table(&self) -> Result<RecordBatch, ConvertError> {
        let pairs = || self.pairs.values();
        let label = |pick: fn(&(i64, i64)) -> i64| -> ArrayRef {
            Arc::new(self.pairs.keys().map(pick).collect::<Int64Array>())
        };
        let count = pairs().map(|pair| pair.ids.len() as u64);
        let length = pairs().map(|pair| mean(pair.length, pair.ids.len() as u64));
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("label_a".to_owned(), label(|pair| pair.0)),
            ("label_b".to_owned(), label(|pair| pair.1)),
            ("count".to_owned(), Arc::new(count.collect::<UInt64Array>())),
            (
                "mean_length".to_owned(),
                Arc::new(length.collect::<Float64Array>()),
            ),
        ];
        for (at, name) in self.means.iter().enumerate() {
            let means = pairs().map(|pair| {
                let (sum, count) = pair.means.get(at)?;
                mean(*sum, *count)
            });
            let means: ArrayRef = Arc::new(means.collect::<Float64Array>());
            columns.push((name.clone(), means));
        }
        let table = RecordBatch::try_from_iter(columns);
        Ok(table.or_bug("columns of different lengths")?)
    }
}

/// The mean; `None` without values.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of objects are far below 2^53"
)]
fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

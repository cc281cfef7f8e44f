//! Statistics of the columns of an answer: ranges, means, quantiles, counts and histograms.

mod column;
mod histogram;
mod quantiles;
mod scan;

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use serde_json::{Map, Value, json};
use zvf_store::format::int;

pub(crate) use column::CompensatedSum;
pub(crate) use quantiles::real;
pub use scan::{StatisticsScan, StatisticsStep};

use crate::QueryError;
use crate::error::OrBug;

/// Selects the statistics to compute.
///
/// ```
/// use zvf_query::{StatisticsBy, StatisticsSpec};
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// let mut spec = StatisticsSpec::default();
/// spec.by = Some("group".parse()?);
/// assert_eq!(spec.by, Some(StatisticsBy::Group));
/// assert_eq!(spec.quantiles, [0.05, 0.25, 0.5, 0.75, 0.95]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatisticsSpec {
    /// The columns: names of axes and vertex attributes, `object.NAME` for attributes of objects, `count()` for the number of vertices of each
    /// object. `None`: all of them, or all of vertices if there are statistics for each object or group.
    pub columns: Option<Vec<String>>,
    /// Separate statistics for each object or group; without histograms.
    pub by: Option<StatisticsBy>,
    /// Largest number of bins of a histogram, at least 4; 0: no histograms. Default 32.
    pub bins: usize,
    /// Probabilities of the quantiles, from 0 to 1.
    pub quantiles: Vec<f64>,
}

impl Default for StatisticsSpec {
    fn default() -> Self {
        Self {
            columns: None,
            by: None,
            bins: 32,
            quantiles: vec![0.05, 0.25, 0.5, 0.75, 0.95],
        }
    }
}

impl StatisticsSpec {
    /// Checks bins and probabilities.
    ///
    /// # Errors
    ///
    /// Misuse.
    pub fn check(&self) -> Result<(), QueryError> {
        const MOST_BINS: usize = 1 << 16;
        if self.bins != 0 && !(4..=MOST_BINS).contains(&self.bins) {
            return Err(QueryError::misuse(format!(
                "bins: found {}, expected 0, or 4 to {MOST_BINS}",
                self.bins
            )));
        }
        match self
            .quantiles
            .iter()
            .find(|one| !(0.0..=1.0).contains(*one))
        {
            Some(wrong) => Err(QueryError::misuse(format!(
                "quantiles: found {wrong}, expected numbers from 0 to 1"
            ))),
            None => Ok(()),
        }
    }
}

/// The unit of separate statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatisticsBy {
    /// Each object.
    Object,
    /// Each group of objects. An object counts in every group that it is a member of.
    Group,
}

impl FromStr for StatisticsBy {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        match text {
            "object" => Ok(Self::Object),
            "group" => Ok(Self::Group),
            _ => Err(QueryError::misuse(format!(
                "by: found {text:?}, expected object or group"
            ))),
        }
    }
}

/// The statistics of all rows, or of one object or group.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatisticsSection {
    /// The object or group.
    pub of: Option<StatisticsKey>,
    /// Rows of the vertex table.
    pub vertices: u64,
    /// The columns.
    pub columns: Vec<ColumnStatistics>,
}

/// The object or group of a section.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StatisticsKey {
    /// An object, by its id.
    Object(i64),
    /// A group, by its number and name.
    Group(u64, String),
}

/// The statistics of one column, or of one channel of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// The name of an axis or attribute, with the number of the channel if there are several: `color[0]`. Columns of objects are called
    /// `object.NAME` and `count()`.
    pub name: String,
    /// Type, unit and description of the values.
    pub field: Field,
    /// Number of values, without missing ones and NaN.
    pub count: u64,
    /// Missing values (null).
    pub missing: u64,
    /// Floats that are NaN; an import stores NaN for a missing float.
    pub nan: u64,
    /// The statistics of the values.
    pub values: StatisticsOf,
}

/// Statistics by the type of the values.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StatisticsOf {
    /// Of numbers, dates and durations.
    Numbers(NumberStatistics),
    /// Of texts, categories and truth values. `None`: there are more than 65,536 different ones, or more than 16 MiB of them.
    Categories(Option<CategoryCounts>),
    /// There are no values, or their type has no order.
    Nothing,
}

/// Statistics of numbers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NumberStatistics {
    /// The least number.
    pub min: StatisticValue,
    /// The greatest number.
    pub max: StatisticValue,
    /// The sum: exact of integers, compensated of floats.
    pub sum: StatisticValue,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample (`ddof=1`, as in pandas); `None` for a single number.
    pub std: Option<f64>,
    /// Probabilities and quantiles, interpolated linearly (as `numpy.quantile` does by default).
    pub quantiles: Vec<(f64, f64)>,
    /// Largest error of the rank of a quantile; 0: quantiles are exact.
    pub rank_error: u64,
    /// The edges of the bins, one more than there are bins, and the numbers in each, its lower edge included. The width is a power of two. Infinite
    /// numbers are in no bin.
    pub histogram: Option<(Vec<f64>, Vec<u64>)>,
}

/// How often each text occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryCounts {
    /// Texts and their numbers, the most frequent first.
    pub counts: Vec<(String, u64)>,
}

/// A number of a column: integers are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatisticValue {
    /// Of a column of integers, dates or durations.
    Integer(i128),
    /// Of a column of floats.
    Float(f64),
}

impl StatisticValue {
    /// The number as a float, rounded if necessary.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as it says")]
    pub fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    /// The number as JSON: an integer beyond 64 bits is rounded; NaN and infinities are null.
    fn to_json(self) -> Value {
        match self {
            Self::Integer(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => json!(number),
                (_, Ok(number)) => json!(number),
                _ => json!(self.real()),
            },
            Self::Float(number) => json!(number),
        }
    }
}

impl ColumnStatistics {
    /// The word for the type of the values.
    #[must_use]
    pub fn type_name(&self) -> String {
        match self.field.data_type() {
            DataType::Dictionary(..) => "category".to_owned(),
            DataType::Utf8 => "text".to_owned(),
            DataType::Boolean => "bool".to_owned(),
            other => other.to_string().to_lowercase(),
        }
    }

    /// The column as a JSON object; members that do not apply are left out; NaN and infinities are null.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| {
            members.insert(name.to_owned(), value);
        };
        put("column", json!(self.name));
        put("type", json!(self.type_name()));
        if let Some(unit) = self.field.metadata().get("zvf.unit") {
            put("unit", json!(unit));
        }
        put("count", json!(self.count));
        put("missing", json!(self.missing));
        put("nan", json!(self.nan));
        match &self.values {
            StatisticsOf::Nothing => {}
            StatisticsOf::Categories(counts) => {
                let counts = counts.as_ref();
                put("distinct", json!(counts.map(|all| all.counts.len())));
                put("categories", json!(counts.map(|all| &all.counts)));
            }
            StatisticsOf::Numbers(numbers) => {
                put("min", numbers.min.to_json());
                put("max", numbers.max.to_json());
                put("sum", numbers.sum.to_json());
                put("mean", json!(numbers.mean));
                put("std", json!(numbers.std));
                put("quantiles", json!(numbers.quantiles));
                put("rank_error", json!(numbers.rank_error));
                if let Some((edges, counts)) = &numbers.histogram {
                    put("histogram", json!({ "edges": edges, "counts": counts }));
                }
            }
        }
        Value::Object(members)
    }
}

impl StatisticsSection {
    /// The section as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        match &self.of {
            None => {}
            Some(StatisticsKey::Object(id)) => {
                members.insert("object_id".to_owned(), json!(id));
            }
            Some(StatisticsKey::Group(number, name)) => {
                members.insert("group".to_owned(), json!(name));
                members.insert("number".to_owned(), json!(number));
            }
        }
        members.insert("vertices".to_owned(), json!(self.vertices));
        let columns = self.columns.iter().map(ColumnStatistics::to_json);
        members.insert("columns".to_owned(), columns.collect());
        Value::Object(members)
    }
}

/// Sections as a table with a row for each column of each: `object_id` or `group`, `column`, `type`, `count`, `missing`, `nan`, `min`, `max`, `mean`,
/// `std`, the quantiles (`q0.5`), `rank_error`, `distinct`, and the most frequent text `top` with its number `top_count`. Numbers are float64. `spec` is the one
/// that the sections were computed with.
///
/// # Errors
///
/// Bug.
pub fn statistics_table(
    spec: &StatisticsSpec,
    sections: &[StatisticsSection],
) -> Result<RecordBatch, QueryError> {
    let mut ids = Int64Builder::new();
    let mut groups = StringBuilder::new();
    let [mut names, mut types, mut tops] = [(); 3].map(|()| StringBuilder::new());
    let mut counts: [UInt64Builder; 6] = Default::default();
    let mut numbers: [Float64Builder; 4] = Default::default();
    let mut quantiles: Vec<Float64Builder> = Vec::new();
    quantiles.resize_with(spec.quantiles.len(), Float64Builder::new);
    for section in sections {
        for column in &section.columns {
            match &section.of {
                None => {}
                Some(StatisticsKey::Object(id)) => ids.append_value(*id),
                Some(StatisticsKey::Group(_, name)) => groups.append_value(name),
            }
            names.append_value(&column.name);
            types.append_value(column.type_name());
            let found = match &column.values {
                StatisticsOf::Numbers(found) => Some(found),
                _ => None,
            };
            let texts = match &column.values {
                StatisticsOf::Categories(Some(texts)) => Some(texts),
                _ => None,
            };
            let top = texts.and_then(|texts| texts.counts.first());
            tops.append_option(top.map(|(text, _)| text));
            let all = [
                Some(column.count),
                Some(column.missing),
                Some(column.nan),
                found.map(|found| found.rank_error),
                texts.map(|texts| int::wide(texts.counts.len())),
                top.map(|(_, count)| *count),
            ];
            for (builder, count) in counts.iter_mut().zip(all) {
                builder.append_option(count);
            }
            let all = [
                found.map(|found| found.min.real()),
                found.map(|found| found.max.real()),
                found.map(|found| found.mean),
                found.and_then(|found| found.std),
            ];
            for (builder, number) in numbers.iter_mut().zip(all) {
                builder.append_option(number);
            }
            for (at, builder) in quantiles.iter_mut().enumerate() {
                let value = found.and_then(|found| found.quantiles.get(at));
                builder.append_option(value.map(|(_, value)| *value));
            }
        }
    }
    let [
        mut count,
        mut missing,
        mut nan,
        mut error,
        mut distinct,
        mut top_count,
    ] = counts;
    let [mut min, mut max, mut mean, mut std] = numbers;
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let mut put = |name: &str, column: ArrayRef| columns.push((name.to_owned(), column));
    match spec.by {
        None => {}
        Some(StatisticsBy::Object) => put("object_id", Arc::new(ids.finish())),
        Some(StatisticsBy::Group) => put("group", Arc::new(groups.finish())),
    }
    put("column", Arc::new(names.finish()));
    put("type", Arc::new(types.finish()));
    put("count", Arc::new(count.finish()));
    put("missing", Arc::new(missing.finish()));
    put("nan", Arc::new(nan.finish()));
    put("min", Arc::new(min.finish()));
    put("max", Arc::new(max.finish()));
    put("mean", Arc::new(mean.finish()));
    put("std", Arc::new(std.finish()));
    for (probability, mut builder) in spec.quantiles.iter().zip(quantiles) {
        put(&format!("q{probability}"), Arc::new(builder.finish()));
    }
    put("rank_error", Arc::new(error.finish()));
    put("distinct", Arc::new(distinct.finish()));
    put("top", Arc::new(tops.finish()));
    put("top_count", Arc::new(top_count.finish()));
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let table = RecordBatch::try_from_iter_with_nullable(columns);
    table.ok().or_bug("columns of different lengths")
}

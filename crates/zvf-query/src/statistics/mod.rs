//! Statistics of the columns of an answer: ranges, means, quantiles, counts and histograms.

mod chosen;
mod column;
mod histogram;
mod json;
mod quantiles;
mod scan;
mod table;

use std::str::FromStr;

use arrow_schema::{DataType, Field};

pub(crate) use column::CompensatedSum;
pub(crate) use quantiles::real;
pub use scan::{StatisticsScan, StatisticsStep};
pub use table::StatisticsTable;

use crate::QueryError;

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
    /// The columns: names of axes and vertex attributes, `NAME[1]` for one channel of an attribute, `object.NAME` for attributes of objects,
    /// `count()` for the number of vertices of each object. `None`: all columns; with [`by`](Self::by), all columns of vertices.
    pub columns: Option<Vec<String>>,
    /// Separate statistics for each object or group; without histograms.
    pub by: Option<StatisticsBy>,
    /// Largest number of bins of a histogram, from 4 to 65,536; 0: no histograms. Default 32.
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
    /// Misuse: a number of bins or a probability outside its range.
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

/// The statistics of all rows, or of one object or group. Serialized, it is an object with `object_id` or with `group` and `number`, `vertices` and
/// `columns`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatisticsSection {
    /// The object or group; `None` for all rows.
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

/// The statistics of one column, or of one channel of it. Serialized, it is an object of the members that apply; integers have all their digits, also
/// beyond 64 bits; NaN and the infinities are the strings `NaN`, `Infinity` and `-Infinity`.
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
    /// Statistics of numbers, dates and durations.
    Numbers(NumberStatistics),
    /// Counts of texts, categories and booleans. `None`: there are more than 65,536 distinct ones, or more than 16 MiB of them.
    Categories(Option<CategoryCounts>),
    /// There are no values, or there are no statistics for their type.
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
    /// The sum: exact for integers, compensated for floats.
    pub sum: StatisticValue,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample (`ddof=1`, as in pandas); `None` for a single number.
    pub std: Option<f64>,
    /// Probabilities and quantiles, interpolated linearly (as `numpy.quantile` does by default).
    pub quantiles: Vec<(f64, f64)>,
    /// Largest error of the rank of a quantile; 0: quantiles are exact.
    pub rank_error: u64,
    /// Infinite numbers.
    pub infinite: u64,
    /// The edges of the bins, one more than there are bins, and the count of numbers in each bin, which includes its lower edge. The width is a power
    /// of two. Infinite numbers are in no bin.
    pub histogram: Option<(Vec<f64>, Vec<u64>)>,
}

/// How often each text occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryCounts {
    /// Each text and how often it occurs, the most frequent first.
    pub counts: Vec<(String, u64)>,
}

/// A number of a column: integers are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatisticValue {
    /// An integer, from a column of integers, dates or durations.
    Integer(i128),
    /// A float, from a column of floats.
    Float(f64),
}

impl StatisticValue {
    /// The number as a float, rounded if necessary.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rounding is documented")]
    pub fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl ColumnStatistics {
    /// The name of the type of the values.
    #[must_use]
    pub fn type_name(&self) -> String {
        match self.field.data_type() {
            DataType::Dictionary(..) => "category".to_owned(),
            DataType::Utf8 => "text".to_owned(),
            DataType::Boolean => "bool".to_owned(),
            other => other.to_string().to_lowercase(),
        }
    }
}

//! The counters of one column, or of one of its channels.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, TimeUnit};
use zvf_store::format::int;
use zvf_store::meta::moments::MISSING;

use super::histogram::{Histogram, Numbers};
use super::quantiles::{QuantileSketch, float_of_key, key_of_float, real};
use super::{CategoryCounts, ColumnStatistics, NumberStatistics, StatisticValue, StatisticsOf};
use crate::QueryError;
use crate::columns::scalar::moments;
use crate::error::OrBug;
use crate::numbers;

/// Limits on the distinct texts that are counted: their number, and their bytes.
const MOST_TEXTS: (usize, usize) = (1 << 16, 16 << 20);

/// Which statistics are computed, and how exactly.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub(super) probabilities: Vec<f64>,
    /// Largest number of bins of a histogram; 0: no histograms.
    pub(super) bins: usize,
    /// Largest number of values for which quantiles are exact.
    pub(super) exact: usize,
}

/// The counters of one channel of a column.
#[derive(Debug)]
pub(super) struct ColumnCounter {
    name: String,
    field: Field,
    /// The channel, and the number of channels.
    channel: (usize, usize),
    missing: u64,
    nan: u64,
    values: ValueCounter,
}

#[derive(Debug)]
enum ValueCounter {
    Numbers(Box<NumberCounter>),
    Texts(TextCounter),
    /// A type without statistics: only rows that are not null are counted.
    Other(u64),
}

/// The values of a channel in one batch.
enum Values {
    Integers(Vec<i128>),
    Floats(Vec<f64>),
}

impl ColumnCounter {
    /// Counters of all channels of a column, with a name for each.
    pub(super) fn of(field: &Field, names: &[String], extent: &Extent) -> Vec<Self> {
        let (element, width) = match field.data_type() {
            DataType::FixedSizeList(item, width) => {
                (item.data_type(), usize::try_from(*width).unwrap_or(0))
            }
            other => (other, 1),
        };
        let one = |channel: usize| {
            let name = match names.get(channel) {
                Some(name) => name.clone(),
                None if width == 1 => field.name().clone(),
                None => format!("{}[{channel}]", field.name()),
            };
            let values = match element {
                DataType::Boolean
                | DataType::Utf8
                | DataType::Binary
                | DataType::Dictionary(..) => ValueCounter::Texts(TextCounter::default()),
                DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                    ValueCounter::Numbers(Box::new(NumberCounter::new(false, 0, extent)))
                }
                DataType::UInt64 => {
                    ValueCounter::Numbers(Box::new(NumberCounter::new(true, 0, extent)))
                }
                other if other.is_integer() || is_time(other) => {
                    let lowest = i64::MIN.into();
                    ValueCounter::Numbers(Box::new(NumberCounter::new(true, lowest, extent)))
                }
                _ => ValueCounter::Other(0),
            };
            Self {
                name,
                field: field.clone().with_data_type(element.clone()),
                channel: (channel, width),
                missing: 0,
                nan: 0,
                values,
            }
        };
        (0..width).map(one).collect()
    }

    /// The name of the channel if it has one, else that of the column, with the number of the channel if there are several.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of its channel.
    pub(super) fn channel(&self) -> usize {
        self.channel.0
    }

    /// Type and unit of the values, if they are numbers, dates or durations.
    pub(super) fn numbers(&self) -> Option<&Field> {
        matches!(self.values, ValueCounter::Numbers(_)).then_some(&self.field)
    }

    /// Counts the values of a column.
    ///
    /// # Errors
    ///
    /// Bug: the column has another type or number of channels.
    pub(super) fn extend(&mut self, column: &ArrayRef) -> Result<(), QueryError> {
        let (items, width) = numbers::elements(column);
        let rows = column.len();
        let (channel, of) = self.channel;
        (width == of)
            .then_some(())
            .or_bug("a column of another width")?;
        let nulls = items.null_count() > 0 || column.null_count() > 0;
        let present = |row: &usize| {
            !nulls || (column.is_valid(*row) && items.is_valid(row * width + channel))
        };
        let at = |row: usize| row * width + channel;
        let kept = (0..rows).filter(present).map(at);
        let mut counted = 0;
        match &mut self.values {
            ValueCounter::Other(count) => {
                counted = int::wide(kept.count());
                *count += counted;
            }
            ValueCounter::Texts(texts) => counted += texts.extend(&items, kept)?,
            ValueCounter::Numbers(counter) => match values(&items, kept)? {
                Values::Integers(mut all) => {
                    // A missing date or duration is stored as the number `MISSING`.
                    let unit = self.field.metadata().get("zvf.unit");
                    if moments(self.field.data_type(), unit).is_some() {
                        all.retain(|number| *number != i128::from(MISSING));
                    }
                    counted = int::wide(all.len());
                    counter.integers(&all)?;
                }
                Values::Floats(mut all) => {
                    counted = int::wide(all.len());
                    all.retain(|number| !number.is_nan());
                    self.nan += counted - int::wide(all.len());
                    counter.floats(&all)?;
                }
            },
        }
        let rows = int::wide(rows);
        self.missing += rows.checked_sub(counted).or_bug("more values than rows")?;
        Ok(())
    }

    /// The statistics.
    ///
    /// # Errors
    ///
    /// Bug.
    pub(super) fn finish(self, extent: &Extent) -> Result<ColumnStatistics, QueryError> {
        let (count, values) = match self.values {
            ValueCounter::Numbers(numbers) => {
                let count = numbers.count;
                (
                    count,
                    numbers
                        .finish(extent)?
                        .map_or(StatisticsOf::Nothing, StatisticsOf::Numbers),
                )
            }
            ValueCounter::Texts(texts) => (texts.count, StatisticsOf::Categories(texts.finish())),
            ValueCounter::Other(count) => (count, StatisticsOf::Nothing),
        };
        Ok(ColumnStatistics {
            name: self.name,
            field: self.field,
            count,
            missing: self.missing,
            nan: self.nan,
            values,
        })
    }
}

fn is_time(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(..) | DataType::Duration(_))
}

/// Once a number is larger, it and all later ones are multiplied by [`SCALE`] before they are squared, so that the sum of the squares is finite.
const LARGE: f64 = f64::from_bits((1023 + 400) << 52);
const SCALE: f64 = f64::from_bits((1023 - 600) << 52);

/// The message of a broken invariant about indices.
const BEYOND: &str = "an index past the end of its array";

/// The numbers at some indices of an array.
fn values(items: &ArrayRef, at: impl Iterator<Item = usize>) -> Result<Values, QueryError> {
    macro_rules! integers {
        ($type:ty) => {{
            let all = items
                .as_primitive_opt::<$type>()
                .or_bug("an array of another type")?
                .values();
            Values::Integers(
                at.map(|at| Ok(i128::from(*all.get(at).or_bug(BEYOND)?)))
                    .collect::<Result<_, QueryError>>()?,
            )
        }};
    }
    Ok(match items.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Timestamp(TimeUnit::Second, _) => integers!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => integers!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => integers!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => integers!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => integers!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => integers!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => integers!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => integers!(DurationNanosecondType),
        _ => {
            let all = numbers::floats(items).values;
            let all = at.map(|at| all.get(at).copied().or_bug(BEYOND));
            Values::Floats(all.collect::<Result<_, QueryError>>()?)
        }
    })
}

/// The counters of numbers.
#[derive(Debug)]
struct NumberCounter {
    whole: bool,
    /// The least number of the type, for integers.
    lowest: i128,
    count: u64,
    infinite: u64,
    ends: Option<(StatisticValue, StatisticValue)>,
    /// The exact sum of integers.
    total: i128,
    /// The lowest integer of the first batch. It is subtracted from all integers before `mean` and `squares` are computed, so that large ones keep their digits.
    start: Option<i128>,
    sum: CompensatedSum,
    /// The factor of the numbers below: 1, or [`SCALE`].
    scale: f64,
    /// The first number, relative to which the mean is computed.
    origin: Option<f64>,
    /// The mean of the numbers so far relative to `origin`, and the sum of squared differences from it, both scaled.
    mean: f64,
    squares: f64,
    sketch: QuantileSketch,
    histogram: Option<Histogram>,
}

impl NumberCounter {
    fn new(whole: bool, lowest: i128, extent: &Extent) -> Self {
        Self {
            whole,
            lowest,
            count: 0,
            infinite: 0,
            ends: None,
            total: 0,
            start: None,
            sum: CompensatedSum::default(),
            scale: 1.0,
            origin: None,
            mean: 0.0,
            squares: 0.0,
            sketch: QuantileSketch::new(extent.exact),
            histogram: (extent.bins > 0).then(|| Histogram::new(extent.bins)),
        }
    }

    fn integers(&mut self, all: &[i128]) -> Result<(), QueryError> {
        let (Some(low), Some(high)) = (all.iter().min(), all.iter().max()) else {
            return Ok(());
        };
        let (mut least, mut most) = (*low, *high);
        if let Some((StatisticValue::Integer(low), StatisticValue::Integer(high))) = self.ends {
            (least, most) = (least.min(low), most.max(high));
        }
        self.ends = Some((
            StatisticValue::Integer(least),
            StatisticValue::Integer(most),
        ));
        let total: i128 = all.iter().sum();
        self.total = self
            .total
            .checked_add(total)
            .or_bug("a sum of integers beyond 128 bits")?;
        // As floats, integers beyond 2^53 are inexact; differences below 2^53 are exact.
        let start = *self.start.get_or_insert(*low);
        let differences = all
            .iter()
            .map(|number| StatisticValue::Integer(*number - start).real());
        self.spread(&differences.collect::<Vec<f64>>());
        let key = |number: &i128| u64::try_from(*number - self.lowest);
        let keys: Vec<u64> = all
            .iter()
            .map(key)
            .collect::<Result<_, _>>()
            .ok()
            .or_bug("an integer beyond its type")?;
        self.sketch.extend(keys.into_iter())?;
        match &mut self.histogram {
            Some(histogram) => histogram.extend(Numbers::Integers(all)),
            None => Ok(()),
        }
    }

    /// Numbers that are not NaN.
    fn floats(&mut self, all: &[f64]) -> Result<(), QueryError> {
        if all.is_empty() {
            return Ok(());
        }
        let (mut least, mut most) = match self.ends {
            Some((low, high)) => (low.real(), high.real()),
            None => (f64::INFINITY, f64::NEG_INFINITY),
        };
        let mut sum = CompensatedSum::default();
        for number in all {
            (least, most) = (least.min(*number), most.max(*number));
            sum.add(*number);
        }
        self.ends = Some((StatisticValue::Float(least), StatisticValue::Float(most)));
        self.sum.join(sum);
        if least.abs().max(most.abs()) > LARGE {
            self.rescale();
        }
        self.spread(all);
        self.sketch.extend(all.iter().copied().map(key_of_float))?;
        let infinite = all.iter().filter(|number| number.is_infinite()).count();
        self.infinite += int::wide(infinite);
        let Some(histogram) = &mut self.histogram else {
            return Ok(());
        };
        if infinite == 0 {
            return histogram.extend(Numbers::Floats(all));
        }
        let finite: Vec<f64> = all
            .iter()
            .copied()
            .filter(|number| number.is_finite())
            .collect();
        histogram.extend(Numbers::Floats(&finite))
    }

    /// Combines the mean and the squares of a batch, which is not empty, with the previous ones (Chan, Golub and LeVeque, 1979). Numbers are taken
    /// relative to the first one, so that numbers far from zero lose no digits.
    fn spread(&mut self, all: &[f64]) {
        let scale = self.scale;
        let first = all.first().copied().filter(|first| first.is_finite());
        let origin = *self.origin.get_or_insert(first.unwrap_or(0.0) * scale);
        let (before, more) = (real(self.count), real(int::wide(all.len())));
        let (mut sum, mut squares) = (CompensatedSum::default(), CompensatedSum::default());
        for number in all {
            sum.add(number * scale - origin);
        }
        let mean = sum.value() / more;
        for number in all {
            let far = number * scale - origin - mean;
            squares.add(far * far);
        }
        let (step, both) = (mean - self.mean, before + more);
        self.squares += squares.value() + step * step * before * more / both;
        self.mean += step * more / both;
        self.count += int::wide(all.len());
    }

    /// Multiplies the sums so far by [`SCALE`]; later numbers are multiplied before they are added.
    fn rescale(&mut self) {
        if self.scale > SCALE {
            self.scale = SCALE;
            self.origin = self.origin.map(|origin| origin * SCALE);
            self.mean *= SCALE;
            // Multiplied twice, because the square of the factor is below the smallest float64.
            self.squares *= SCALE;
            self.squares *= SCALE;
        }
    }

    fn finish(self, extent: &Extent) -> Result<Option<NumberStatistics>, QueryError> {
        let Some((min, max)) = self.ends else {
            return Ok(None);
        };
        let number = |key: u64| match self.whole {
            true => StatisticValue::Integer(i128::from(key) + self.lowest).real(),
            false => float_of_key(key),
        };
        let found = self.sketch.at(&extent.probabilities)?;
        let quantiles = extent.probabilities.iter().zip(found);
        let count = real(self.count);
        let middle = self.origin.or_bug("numbers without a first one")? + self.mean;
        let (sum, mean) = match (self.whole, self.sum.value()) {
            (true, _) => {
                let sum = StatisticValue::Integer(self.total);
                (sum, sum.real() / count)
            }
            // All numbers are finite, but their sum, or a partial sum, overflows float64.
            (false, sum) if !sum.is_finite() && self.infinite == 0 => {
                let sum = middle * count / self.scale;
                (StatisticValue::Float(sum), middle / self.scale)
            }
            (false, sum) => (StatisticValue::Float(sum), sum / count),
        };
        let deviation = || (self.squares / (count - 1.0)).sqrt() / self.scale;
        Ok(Some(NumberStatistics {
            min,
            max,
            sum,
            mean,
            std: (self.count > 1).then(deviation),
            quantiles: quantiles
                .map(|(probability, between)| (*probability, between.value(number)))
                .collect(),
            rank_error: self.sketch.error(),
            infinite: self.infinite,
            histogram: self.histogram.map(|histogram| histogram.bins()),
        }))
    }
}

/// A sum of floats and its rounding error (Neumaier, 1974).
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    pub(crate) fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        self.lost += match self.sum.abs() >= number.abs() {
            true => (self.sum - sum) + number,
            false => (number - sum) + self.sum,
        };
        self.sum = sum;
    }

    fn join(&mut self, other: Self) {
        self.add(other.sum);
        self.lost += other.lost;
    }

    /// The corrected sum; an infinite sum is not corrected.
    pub(crate) fn value(self) -> f64 {
        match self.sum.is_finite() {
            true => self.sum + self.lost,
            false => self.sum,
        }
    }
}

/// How often each text occurs.
#[derive(Debug, Default)]
struct TextCounter {
    count: u64,
    counts: HashMap<String, u64>,
    bytes: usize,
    /// Whether there were too many texts.
    full: bool,
}

impl TextCounter {
    /// Counts the texts at some indices of an array; returns their number.
    fn extend(
        &mut self,
        items: &ArrayRef,
        at: impl Iterator<Item = usize>,
    ) -> Result<u64, QueryError> {
        let before = self.count;
        match items.data_type() {
            DataType::Boolean => {
                let all = items.as_boolean_opt().or_bug("an array of another type")?;
                let mut counts = [0_u64; 2];
                for at in at {
                    let [no, yes] = &mut counts;
                    *(if all.value(at) { yes } else { no }) += 1;
                }
                for (text, count) in ["false", "true"].into_iter().zip(counts) {
                    self.add(text, count);
                }
            }
            DataType::Utf8 => {
                let all = items
                    .as_string_opt::<i32>()
                    .or_bug("an array of another type")?;
                at.for_each(|at| self.add(all.value(at), 1));
            }
            DataType::Binary => {
                let all = items
                    .as_binary_opt::<i32>()
                    .or_bug("an array of another type")?;
                at.for_each(|at| self.add(&all.value(at).escape_ascii().to_string(), 1));
            }
            _ => {
                let all = items
                    .as_any_dictionary_opt()
                    .or_bug("an array of another type")?;
                let texts = all.values();
                let texts = texts
                    .as_string_opt::<i32>()
                    .or_bug("categories that are not texts")?;
                if texts.is_empty() {
                    return Ok(0);
                }
                let keys = all.normalized_keys();
                let mut counts = vec![0_u64; texts.len()];
                for at in at {
                    let key = keys.get(at).filter(|key| texts.is_valid(**key));
                    if let Some(count) = key.and_then(|key| counts.get_mut(*key)) {
                        *count += 1;
                    }
                }
                for (key, count) in counts.into_iter().enumerate() {
                    self.add(texts.value(key), count);
                }
            }
        }
        Ok(self.count - before)
    }

    fn add(&mut self, text: &str, count: u64) {
        self.count += count;
        if count == 0 || self.full {
            return;
        }
        if let Some(found) = self.counts.get_mut(text) {
            *found += count;
            return;
        }
        self.bytes += text.len();
        if self.counts.len() >= MOST_TEXTS.0 || self.bytes > MOST_TEXTS.1 {
            self.full = true;
            self.counts = HashMap::new();
            return;
        }
        self.counts.insert(text.to_owned(), count);
    }

    fn finish(self) -> Option<CategoryCounts> {
        let mut counts: Vec<(String, u64)> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        (!self.full).then_some(CategoryCounts { counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_rounding_loses() {
        let mut sum = CompensatedSum::default();
        [1.0, 1e100, 1.0, -1e100]
            .into_iter()
            .for_each(|number| sum.add(number));
        assert_eq!(sum.value(), 2.0);
        sum.add(f64::INFINITY);
        assert_eq!(sum.value(), f64::INFINITY);
    }

    #[test]
    fn integers_beyond_2_to_the_53_have_their_own_deviation() {
        let extent = Extent {
            probabilities: Vec::new(),
            bins: 0,
            exact: 100,
        };
        let mut counter = NumberCounter::new(true, i64::MIN.into(), &extent);
        let start = 1_i128 << 60;
        counter.integers(&[start + 1, start]).unwrap();
        counter
            .integers(&[start + 4, start + 2, start + 3])
            .unwrap();
        let found = counter.finish(&extent).unwrap().unwrap();
        assert_eq!(found.std, Some(2.5_f64.sqrt()));
    }

    #[test]
    fn too_many_texts_are_not_kept() {
        let mut texts = TextCounter::default();
        for number in 0..=MOST_TEXTS.0 {
            texts.add(&number.to_string(), 1);
        }
        assert_eq!(texts.count, 65_537);
        assert!(texts.finish().is_none());
    }
}

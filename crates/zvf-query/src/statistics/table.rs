//! Statistics as a table.

use std::sync::Arc;

use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use zvf_store::format::int;

use super::{
    ColumnStatistics, NumberStatistics, StatisticValue, StatisticsBy, StatisticsKey, StatisticsOf,
    StatisticsSection, StatisticsSpec,
};
use crate::QueryError;
use crate::columns::scalar::moments;
use crate::error::OrBug;

/// The key of the unit in the metadata of a field.
const UNIT: &str = "zvf.unit";

/// Sections of statistics as a table, with one row for each column of each section.
///
/// # Shape
///
/// `object_id` or `group`, `column`, `type`, `count`, `missing`, `nan`, `min`, `max`, `mean`, `std`, the quantiles (`q0.5`), `rank_error`, `distinct`, and
/// the most frequent text `top` with its count `top_count`. Mean, standard deviation and quantiles are float64.
///
/// `min` and `max` have a type that holds the numbers of all columns exactly: int64 or uint64 if all are integers, a date, time or duration if all have
/// its type and unit, else float64. If one of the columns may have numbers that float64 rounds, or dates between other numbers, then two more columns at
/// the end, `min_exact` and `max_exact`, are the exact numbers as texts.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsTable {
    schema: SchemaRef,
    by: Option<StatisticsBy>,
    quantiles: usize,
    ends: Ends,
}

/// The types of the columns `min` and `max`.
#[derive(Debug, Clone, PartialEq)]
enum Ends {
    /// Integers, dates, times and durations of one type and unit.
    Integers(Field),
    Unsigned,
    Floats {
        /// Whether there are columns of texts with the exact numbers.
        texts: bool,
    },
}

impl Ends {
    /// The columns for numbers of these types.
    fn of(numbers: &[&Field]) -> Self {
        let moment = |field: &Field| {
            let unit = field.metadata().get(UNIT);
            let typed = matches!(
                field.data_type(),
                DataType::Timestamp(..) | DataType::Duration(_)
            );
            typed || moments(field.data_type(), unit).is_some()
        };
        let all = |of: &dyn Fn(&Field) -> bool| numbers.iter().all(|field| of(field));
        let plain = |field: &Field| field.data_type().is_integer() && !moment(field);
        let Some(first) = numbers.first() else {
            return Self::Floats { texts: false };
        };
        if all(&|field| plain(field) && *field.data_type() != DataType::UInt64) {
            return Self::Integers(Field::new("", DataType::Int64, true));
        }
        if all(&|field| field.data_type().is_unsigned_integer()) {
            return Self::Unsigned;
        }
        let same = |field: &Field| {
            field.data_type() == first.data_type()
                && field.metadata().get(UNIT) == first.metadata().get(UNIT)
        };
        if all(&|field| moment(field) && same(field)) {
            let unit = first.metadata().get(UNIT);
            let unit = unit.map(|unit| (UNIT.to_owned(), unit.clone()));
            let field = Field::new("", first.data_type().clone(), true);
            return Self::Integers(field.with_metadata(unit.into_iter().collect()));
        }
        let rounded = |field: &Field| {
            moment(field) || matches!(field.data_type(), DataType::Int64 | DataType::UInt64)
        };
        Self::Floats {
            texts: !all(&|field| !rounded(field)),
        }
    }

    fn field(&self, name: &str) -> Field {
        match self {
            Self::Integers(field) => field.clone().with_name(name),
            Self::Unsigned => Field::new(name, DataType::UInt64, true),
            Self::Floats { .. } => Field::new(name, DataType::Float64, true),
        }
    }

    /// A column of numbers.
    fn column(&self, numbers: &[Option<StatisticValue>]) -> Result<ArrayRef, QueryError> {
        let integers = |number: &Option<StatisticValue>| match number {
            Some(StatisticValue::Integer(number)) => Ok(Some(*number)),
            Some(StatisticValue::Float(_)) => {
                Err(QueryError::bug("a float in a column of integers"))
            }
            None => Ok(None),
        };
        Ok(match self {
            Self::Integers(field) => {
                let array = whole::<Int64Type>(numbers.iter().map(integers))?;
                let typed = array.to_data().into_builder();
                let typed = typed.data_type(field.data_type().clone()).build().ok();
                make_array(typed.or_bug("numbers of 64 bits of another type")?)
            }
            Self::Unsigned => whole::<UInt64Type>(numbers.iter().map(integers))?,
            Self::Floats { .. } => {
                let some = numbers
                    .iter()
                    .map(|number| number.map(StatisticValue::real));
                built::<Float64Type>(some)
            }
        })
    }
}

fn built<T: ArrowPrimitiveType>(values: impl Iterator<Item = Option<T::Native>>) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

/// A column of integers.
///
/// # Errors
///
/// Bug: a number that the type does not hold.
fn whole<T: ArrowPrimitiveType>(
    numbers: impl Iterator<Item = Result<Option<i128>, QueryError>>,
) -> Result<ArrayRef, QueryError>
where
    T::Native: TryFrom<i128>,
{
    let of_type = |number: Result<Option<i128>, QueryError>| {
        let held = |one: i128| T::Native::try_from(one).ok();
        let held = number?.map(|one| held(one).or_bug("an integer beyond the type of its column"));
        held.transpose()
    };
    let numbers: Vec<Option<T::Native>> = numbers.map(of_type).collect::<Result<_, _>>()?;
    Ok(built::<T>(numbers.into_iter()))
}

/// The statistics of a column of numbers.
fn numbers_of(column: &ColumnStatistics) -> Option<&NumberStatistics> {
    match &column.values {
        StatisticsOf::Numbers(found) => Some(found),
        _ => None,
    }
}

/// The texts of a column and their counts.
fn categories_of(column: &ColumnStatistics) -> Option<&[(String, u64)]> {
    match &column.values {
        StatisticsOf::Categories(Some(texts)) => Some(&texts.counts),
        _ => None,
    }
}

/// The most frequent text of a column.
fn top_of(column: &ColumnStatistics) -> Option<&(String, u64)> {
    categories_of(column)?.first()
}

impl StatisticsTable {
    /// The table for these statistics; `numbers` are the fields of the columns of numbers.
    pub(super) fn new(spec: &StatisticsSpec, numbers: &[&Field]) -> Self {
        let ends = Ends::of(numbers);
        let mut fields = Vec::new();
        let mut put = |name: &str, kind: DataType| fields.push(Field::new(name, kind, true));
        match spec.by {
            None => {}
            Some(StatisticsBy::Object) => put("object_id", DataType::Int64),
            Some(StatisticsBy::Group) => put("group", DataType::Utf8),
        }
        put("column", DataType::Utf8);
        put("type", DataType::Utf8);
        for name in ["count", "missing", "nan"] {
            put(name, DataType::UInt64);
        }
        fields.extend(["min", "max"].map(|name| ends.field(name)));
        let mut put = |name: &str, kind: DataType| fields.push(Field::new(name, kind, true));
        put("mean", DataType::Float64);
        put("std", DataType::Float64);
        for probability in &spec.quantiles {
            put(&format!("q{probability}"), DataType::Float64);
        }
        put("rank_error", DataType::UInt64);
        put("distinct", DataType::UInt64);
        put("top", DataType::Utf8);
        put("top_count", DataType::UInt64);
        if ends == (Ends::Floats { texts: true }) {
            put("min_exact", DataType::Utf8);
            put("max_exact", DataType::Utf8);
        }
        Self {
            schema: Arc::new(Schema::new(fields)),
            by: spec.by,
            quantiles: spec.quantiles.len(),
            ends,
        }
    }

    /// The columns of the table.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of some sections of these statistics. `text` writes a number of a column for `min_exact` and `max_exact`.
    ///
    /// # Errors
    ///
    /// Bug: statistics that do not fit their columns.
    pub fn batch(
        &self,
        sections: &[StatisticsSection],
        text: &dyn Fn(&Field, StatisticValue) -> String,
    ) -> Result<RecordBatch, QueryError> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        let rows = || {
            sections
                .iter()
                .flat_map(|section| section.columns.iter().map(move |column| (section, column)))
        };
        let all = || rows().map(|(_, column)| column);
        let counts = |of: &dyn Fn(&ColumnStatistics) -> Option<u64>| -> ArrayRef {
            built::<UInt64Type>(all().map(of))
        };
        let floats = |of: &dyn Fn(&NumberStatistics) -> Option<f64>| -> ArrayRef {
            built::<Float64Type>(all().map(|one| numbers_of(one).and_then(of)))
        };
        let texts = |of: &dyn Fn(&ColumnStatistics) -> Option<String>| -> ArrayRef {
            let mut builder = StringBuilder::new();
            all().for_each(|column| builder.append_option(of(column)));
            Arc::new(builder.finish())
        };
        match self.by {
            None => {}
            Some(StatisticsBy::Object) => {
                let ids = rows().map(|(section, _)| match section.of {
                    Some(StatisticsKey::Object(id)) => Some(id),
                    _ => None,
                });
                columns.push(built::<Int64Type>(ids));
            }
            Some(StatisticsBy::Group) => {
                let mut builder = StringBuilder::new();
                for (section, _) in rows() {
                    builder.append_option(match &section.of {
                        Some(StatisticsKey::Group(_, name)) => Some(name),
                        _ => None,
                    });
                }
                columns.push(Arc::new(builder.finish()));
            }
        }
        columns.push(texts(&|column| Some(column.name.clone())));
        columns.push(texts(&|column| Some(column.type_name())));
        columns.push(counts(&|column| Some(column.count)));
        columns.push(counts(&|column| Some(column.missing)));
        columns.push(counts(&|column| Some(column.nan)));
        let ends: [fn(&NumberStatistics) -> StatisticValue; 2] =
            [|found| found.min, |found| found.max];
        for end in ends {
            let numbers = all().map(|column| numbers_of(column).map(end));
            columns.push(self.ends.column(&numbers.collect::<Vec<_>>())?);
        }
        columns.push(floats(&|found| Some(found.mean)));
        columns.push(floats(&|found| found.std));
        for at in 0..self.quantiles {
            columns.push(floats(&|found| {
                found.quantiles.get(at).map(|(_, value)| *value)
            }));
        }
        columns.push(counts(&|column| {
            numbers_of(column).map(|found| found.rank_error)
        }));
        columns.push(counts(&|column| {
            categories_of(column).map(|counts| int::wide(counts.len()))
        }));
        columns.push(texts(&|column| {
            top_of(column).map(|(text, _)| text.clone())
        }));
        columns.push(counts(&|column| top_of(column).map(|(_, count)| *count)));
        if self.ends == (Ends::Floats { texts: true }) {
            for end in ends {
                columns.push(texts(&|column| {
                    numbers_of(column).map(|found| text(&column.field, end(found)))
                }));
            }
        }
        let table = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        table.ok().or_bug("statistics that do not fit their table")
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Float64Array, Int64Array, StringArray, UInt64Array};

    use super::super::column::{ColumnCounter, Extent};
    use super::*;

    /// The least and greatest numbers of columns in a table, and its last column.
    fn ends(columns: &[(Field, ArrayRef)]) -> (ArrayRef, ArrayRef, ArrayRef) {
        let spec = StatisticsSpec {
            quantiles: Vec::new(),
            ..StatisticsSpec::default()
        };
        let extent = Extent {
            probabilities: Vec::new(),
            bins: 0,
            exact: 16,
        };
        let mut counters = Vec::new();
        for (field, column) in columns {
            let mut counter = ColumnCounter::of(field, &[], &extent).remove(0);
            counter.extend(column).unwrap();
            counters.push(counter);
        }
        let numbers: Vec<&Field> = counters.iter().filter_map(ColumnCounter::numbers).collect();
        let table = StatisticsTable::new(&spec, &numbers);
        let section = StatisticsSection {
            of: None,
            vertices: 2,
            columns: counters
                .into_iter()
                .map(|counter| counter.finish(&extent).unwrap())
                .collect(),
        };
        let text = |_: &Field, number| match number {
            StatisticValue::Integer(number) => number.to_string(),
            StatisticValue::Float(number) => number.to_string(),
        };
        let batch = table.batch(&[section], &text).unwrap();
        let column = |name| batch.column_by_name(name).unwrap().clone();
        let last = batch.columns().last().unwrap();
        (column("min"), column("max"), Arc::clone(last))
    }

    fn of(name: &str, column: ArrayRef) -> (Field, ArrayRef) {
        let field = Field::new(name, column.data_type().clone(), true);
        (field, column)
    }

    const ODD: i64 = 9_007_199_254_740_993;

    #[test]
    fn integers_are_exact() {
        let wide = || of("i", Arc::new(Int64Array::from(vec![-1, ODD])));
        let small = of("s", Arc::new(arrow_array::UInt32Array::from(vec![7, 8])));
        let words = of("w", Arc::new(StringArray::from(vec!["a", "b"])));
        let (min, max, _) = ends(&[wide(), small, words]);
        assert_eq!(
            min.as_primitive::<Int64Type>(),
            &Int64Array::from(vec![Some(-1), Some(7), None])
        );
        assert_eq!(
            max.as_primitive::<Int64Type>(),
            &Int64Array::from(vec![Some(ODD), Some(8), None])
        );
        let unsigned = || of("u", Arc::new(UInt64Array::from(vec![0, u64::MAX])));
        let (_, max, _) = ends(&[unsigned()]);
        assert_eq!(max.as_primitive::<UInt64Type>().value(0), u64::MAX);
        // No 64-bit type holds both.
        let (_, max, exact) = ends(&[wide(), unsigned()]);
        assert_eq!(*max.data_type(), DataType::Float64);
        let wanted = StringArray::from(vec!["9007199254740993", "18446744073709551615"]);
        assert_eq!(exact.as_string::<i32>(), &wanted);
    }

    #[test]
    fn floats_and_small_integers_are_float64() {
        let floats = || of("x", Arc::new(Float64Array::from(vec![0.5, 2.5])));
        let small = of("s", Arc::new(arrow_array::Int32Array::from(vec![7, 8])));
        let (min, _, last) = ends(&[floats(), small]);
        assert_eq!(min.as_primitive::<Float64Type>().values(), &[0.5, 7.0]);
        assert_eq!(*last.data_type(), DataType::UInt64, "no column of texts");
        let wide = of("i", Arc::new(Int64Array::from(vec![-1, ODD])));
        let (_, max, exact) = ends(&[floats(), wide]);
        assert_eq!(*max.data_type(), DataType::Float64);
        let wanted = StringArray::from(vec!["2.5", "9007199254740993"]);
        assert_eq!(exact.as_string::<i32>(), &wanted);
    }

    #[test]
    fn dates_of_one_unit_are_dates() {
        let dates = |unit: &str| {
            let (field, column) = of("d", Arc::new(Int64Array::from(vec![19_723, 19_724])));
            let unit = (UNIT.to_owned(), unit.to_owned());
            (field.with_metadata([unit].into()), column)
        };
        let days = "days since 1970-01-01";
        let (field, _) = dates(days);
        assert_eq!(
            Ends::of(&[&field]).field("min").metadata(),
            field.metadata()
        );
        let (min, ..) = ends(&[dates(days), dates(days)]);
        assert_eq!(min.as_primitive::<Int64Type>().value(0), 19_723);
        // Dates of several units, and dates between numbers.
        for other in [
            dates("seconds since 1970-01-01T00:00:00"),
            of("i", Arc::new(Int64Array::from(vec![1, 2]))),
        ] {
            let (min, _, exact) = ends(&[dates(days), other]);
            assert_eq!(*min.data_type(), DataType::Float64);
            assert_eq!(*exact.data_type(), DataType::Utf8);
        }
    }
}

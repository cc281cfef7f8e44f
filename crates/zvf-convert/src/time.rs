//! Timestamps, dates, times of day and durations: 64-bit integers in a store, with a unit that defines their meaning.
//!
//! | unit | Arrow type |
//! |---|---|
//! | `microseconds since 1970-01-01T00:00:00` | `Timestamp(µs)`, without a zone |
//! | `microseconds since 1970-01-01T00:00:00Z` | `Timestamp(µs, "UTC")` |
//! | `microseconds since 1970-01-01T00:00:00Z in Europe/Berlin` | `Timestamp(µs, "Europe/Berlin")` |
//! | `days since 1970-01-01` | `Date32` |
//! | `milliseconds since 1970-01-01` | `Date64` |
//! | `microseconds since midnight` | `Time64(µs)`; `Time32` for seconds and milliseconds |
//! | `microseconds of duration` | `Duration(µs)` |
//!
//! The first five follow the CF conventions except for the zone. The lowest number marks a missing value, as in NumPy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use chrono::{NaiveDate, NaiveTime, Timelike};
use zvf_meta::moments::Moments;
use zvf_write::arrow::{DESCRIPTION, UNIT};

/// The number that marks a missing value.
pub(crate) use zvf_meta::moments::MISSING;
/// The description of an attribute with this number.
pub(crate) const MISSING_TEXT: &str = "-9223372036854775808 is a missing value";
const EPOCH: &str = "1970-01-01T00:00:00";

const UNITS: [(TimeUnit, &str, i64); 4] = [
    (TimeUnit::Second, "seconds", 1),
    (TimeUnit::Millisecond, "milliseconds", 1_000),
    (TimeUnit::Microsecond, "microseconds", 1_000_000),
    (TimeUnit::Nanosecond, "nanoseconds", 1_000_000_000),
];

/// The name of a unit.
pub(crate) fn word(unit: TimeUnit) -> &'static str {
    let found = UNITS.iter().find(|(one, ..)| *one == unit);
    found.map_or("", |(_, word, _)| word)
}

/// The number of units in a second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    let found = UNITS.iter().find(|(one, ..)| *one == unit);
    found.map_or(1, |(.., count)| *count)
}

/// The unit in a store for a type; `None` for types other than timestamp, date, time and duration.
pub(crate) fn unit(column: &DataType) -> Option<String> {
    Some(match column {
        DataType::Timestamp(unit, None) => format!("{} since {EPOCH}", word(*unit)),
        DataType::Timestamp(unit, Some(zone)) if zone.as_ref() == "UTC" => {
            format!("{} since {EPOCH}Z", word(*unit))
        }
        DataType::Timestamp(unit, Some(zone)) => {
            format!("{} since {EPOCH}Z in {zone}", word(*unit))
        }
        DataType::Date32 => "days since 1970-01-01".to_owned(),
        DataType::Date64 => "milliseconds since 1970-01-01".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            format!("{} since midnight", word(*unit))
        }
        DataType::Duration(unit) => format!("{} of duration", word(*unit)),
        _ => return None,
    })
}

/// The type for a unit of a store; `None` for units that are not of time.
pub(crate) fn of_unit(text: &str) -> Option<DataType> {
    match text {
        "days since 1970-01-01" => return Some(DataType::Date32),
        "milliseconds since 1970-01-01" => return Some(DataType::Date64),
        _ => {}
    }
    let (first, rest) = text.split_once(' ')?;
    let (unit, ..) = UNITS.iter().find(|(_, word, _)| *word == first)?;
    let unit = *unit;
    if let Some(zone) = rest
        .strip_prefix("since ")
        .and_then(|rest| rest.strip_prefix(EPOCH))
    {
        let zone = match zone {
            "" => None,
            "Z" => Some("UTC"),
            other => Some(other.strip_prefix("Z in ")?),
        };
        return Some(DataType::Timestamp(unit, zone.map(Into::into)));
    }
    match (rest, unit) {
        ("since midnight", TimeUnit::Second | TimeUnit::Millisecond) => {
            Some(DataType::Time32(unit))
        }
        ("since midnight", _) => Some(DataType::Time64(unit)),
        ("of duration", _) => Some(DataType::Duration(unit)),
        _ => None,
    }
}

/// The numbers of a column of timestamps, dates, times or durations; `None` for other types.
pub(crate) fn numbers(column: &ArrayRef) -> Option<Vec<Option<i64>>> {
    macro_rules! wide {
        ($type:ty) => {
            column
                .as_primitive_opt::<$type>()?
                .iter()
                .map(|value| value.map(i64::from))
                .collect()
        };
    }
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match column.data_type() {
        DataType::Timestamp(Second, _) => wide!(TimestampSecondType),
        DataType::Timestamp(Millisecond, _) => wide!(TimestampMillisecondType),
        DataType::Timestamp(Microsecond, _) => wide!(TimestampMicrosecondType),
        DataType::Timestamp(Nanosecond, _) => wide!(TimestampNanosecondType),
        DataType::Duration(Second) => wide!(DurationSecondType),
        DataType::Duration(Millisecond) => wide!(DurationMillisecondType),
        DataType::Duration(Microsecond) => wide!(DurationMicrosecondType),
        DataType::Duration(Nanosecond) => wide!(DurationNanosecondType),
        DataType::Date32 => wide!(Date32Type),
        DataType::Date64 => wide!(Date64Type),
        DataType::Time32(Second) => wide!(Time32SecondType),
        DataType::Time32(Millisecond) => wide!(Time32MillisecondType),
        DataType::Time64(Microsecond) => wide!(Time64MicrosecondType),
        DataType::Time64(Nanosecond) => wide!(Time64NanosecondType),
        _ => return None,
    })
}

/// A schema in which timestamps, dates, times of day and durations are whole numbers of 64 bits with their unit in the metadata of the field, as
/// queries return them.
#[must_use]
pub fn with_moments_as_numbers(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let Some(unit) = unit(field.data_type()) else {
            return field.as_ref().clone();
        };
        let mut metadata = field.metadata().clone();
        metadata.insert(UNIT.to_owned(), unit);
        let description = metadata.entry(DESCRIPTION.to_owned());
        description.or_insert_with(|| MISSING_TEXT.to_owned());
        Field::new(field.name(), DataType::Int64, false).with_metadata(metadata)
    });
    let fields: Vec<Field> = fields.collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// A table with the schema that [`with_moments_as_numbers`] returns. Missing values become the number that marks them.
///
/// # Errors
/// A column whose length is not that of the table, which a valid batch does not have.
pub fn moments_as_numbers(table: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = table.columns().iter().map(|column| match numbers(column) {
        None => Arc::clone(column),
        Some(numbers) => {
            let numbers = numbers.into_iter().map(|one| one.unwrap_or(MISSING));
            Arc::new(numbers.collect::<Int64Array>()) as ArrayRef
        }
    });
    let schema = with_moments_as_numbers(table.schema_ref());
    let rows = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns.collect(), &rows)
}

/// Numbers as a column of timestamps, dates, times or durations; `None` if a number does not fit, or for other types.
pub(crate) fn column(numbers: &Int64Array, to: &DataType) -> Option<ArrayRef> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let known = || {
        let numbers = numbers.iter();
        numbers.map(|number| number.filter(|number| *number != MISSING))
    };
    macro_rules! column {
        ($type:ty) => {
            Arc::new(known().collect::<PrimitiveArray<$type>>())
        };
        ($type:ty, zone $zone:expr) => {
            Arc::new(
                known()
                    .collect::<PrimitiveArray<$type>>()
                    .with_timezone_opt($zone.clone()),
            )
        };
        ($type:ty, narrow) => {{
            let all = known().map(|number| number.map(i32::try_from).transpose());
            let all = all.collect::<Result<PrimitiveArray<$type>, _>>();
            Arc::new(all.ok()?)
        }};
    }
    let column: ArrayRef = match to {
        DataType::Timestamp(Second, zone) => column!(TimestampSecondType, zone zone),
        DataType::Timestamp(Millisecond, zone) => column!(TimestampMillisecondType, zone zone),
        DataType::Timestamp(Microsecond, zone) => column!(TimestampMicrosecondType, zone zone),
        DataType::Timestamp(Nanosecond, zone) => column!(TimestampNanosecondType, zone zone),
        DataType::Duration(Second) => column!(DurationSecondType),
        DataType::Duration(Millisecond) => column!(DurationMillisecondType),
        DataType::Duration(Microsecond) => column!(DurationMicrosecondType),
        DataType::Duration(Nanosecond) => column!(DurationNanosecondType),
        DataType::Date32 => column!(Date32Type, narrow),
        DataType::Date64 => column!(Date64Type),
        DataType::Time32(Second) => column!(Time32SecondType, narrow),
        DataType::Time32(Millisecond) => column!(Time32MillisecondType, narrow),
        DataType::Time64(Microsecond) => column!(Time64MicrosecondType),
        DataType::Time64(Nanosecond) => column!(Time64NanosecondType),
        _ => return None,
    };
    Some(column)
}

/// The type of a column of a query's answer, from the unit in the metadata of its field.
pub(crate) fn of_field(field: &arrow_schema::Field) -> Option<DataType> {
    let unit = field.metadata().get("zvf.unit")?;
    (*field.data_type() == DataType::Int64).then(|| of_unit(unit))?
}

/// A date or timestamp in ISO 8601, with a blank or a `T` between date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    days: i64,
    /// Nanoseconds of the day.
    time: Option<i64>,
    /// Number of digits of the fraction of the second.
    pub(crate) digits: u32,
    /// Minutes east of UTC.
    pub(crate) offset: Option<i64>,
}

impl Moment {
    /// Reads `2024-03-01`, `2024-03-01T12:30:05.25+02:00` and the like.
    pub(crate) fn of(text: &str) -> Option<Self> {
        // Most texts that are not timestamps fail here.
        let date = text
            .get(..10)
            .filter(|date| date.as_bytes().get(4) == Some(&b'-'))?;
        let days = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
        let days = i64::from(days.to_epoch_days());
        let rest = text.get(10..)?;
        if rest.is_empty() {
            return Some(Self {
                days,
                time: None,
                digits: 0,
                offset: None,
            });
        }
        let rest = rest.strip_prefix(['T', ' '])?;
        let end = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
        let (time, zone) = rest.split_at_checked(end)?;
        let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
        let seconds = match seconds.len() {
            5 => NaiveTime::parse_from_str(seconds, "%H:%M"),
            _ => NaiveTime::parse_from_str(seconds, "%H:%M:%S"),
        };
        // A leap second, which the units of a store do not count, has a billion nanoseconds or more.
        let seconds = seconds
            .ok()
            .filter(|time| time.nanosecond() < 1_000_000_000);
        let seconds = i64::from(seconds?.num_seconds_from_midnight());
        let digits = u32::try_from(fraction.len())
            .ok()
            .filter(|digits| *digits <= 9)?;
        let digit = fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !digit || (digits == 0 && time.contains('.')) {
            return None;
        }
        let parts = format!("0{fraction}").parse::<i64>().ok()?;
        let nanoseconds = parts.checked_mul(10_i64.checked_pow(9_u32.checked_sub(digits)?)?)?;
        Some(Self {
            days,
            time: Some(
                seconds
                    .checked_mul(1_000_000_000)?
                    .checked_add(nanoseconds)?,
            ),
            digits,
            offset: offset(zone)?,
        })
    }

    /// As [`of`](Self::of), also in years before 0 and after 9999: `-0044-03-15`, `12024-03-01`.
    fn of_any_year(text: &str) -> Option<Self> {
        let (before, date) = match text.strip_prefix('-') {
            Some(date) => (true, date),
            None => (false, text),
        };
        let (year, rest) = date.split_once('-')?;
        let digits = year.len() >= 4 && year.bytes().all(|byte| byte.is_ascii_digit());
        let year = year.parse::<i64>().ok().filter(|_| digits)?;
        let year = if before { -year } else { year };
        // The calendar repeats every 400 years, which have 146,097 days.
        let near = Self::of(&format!("{}-{rest}", 2000 + year.rem_euclid(400)))?;
        let days = (year.div_euclid(400) - 5).checked_mul(146_097)?;
        Some(Self {
            days: near.days.checked_add(days)?,
            ..near
        })
    }

    pub(crate) fn is_date(self) -> bool {
        self.time.is_none()
    }

    /// The timestamp as a number of a type; `None` if the type cannot hold it.
    pub(crate) fn number(self, to: &DataType) -> Option<i64> {
        match to {
            DataType::Date32 => self.time.is_none().then_some(self.days),
            DataType::Date64 => {
                let days = self.days.checked_mul(86_400_000)?;
                self.time.is_none().then_some(days)
            }
            DataType::Timestamp(unit, zone) => {
                let east = match (self.offset, zone) {
                    (None, None) => 0,
                    (Some(east), Some(_)) => east.checked_mul(60)?,
                    // A timestamp with a zone has no number in a type without a zone, and the reverse.
                    (Some(_), None) | (None, Some(_)) => return None,
                };
                let nanoseconds = self.time.unwrap_or(0);
                let seconds = self.days.checked_mul(86_400)?.checked_sub(east)?;
                let step = 1_000_000_000 / per_second(*unit);
                (nanoseconds % step == 0).then_some(())?;
                seconds
                    .checked_mul(per_second(*unit))?
                    .checked_add(nanoseconds / step)
                    .filter(|number| *number != MISSING)
            }
            _ => None,
        }
    }
}

/// Minutes east of UTC; `Some(None)` for no zone.
fn offset(zone: &str) -> Option<Option<i64>> {
    if zone.is_empty() {
        return Some(None);
    }
    if zone == "Z" {
        return Some(Some(0));
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let two_digits = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok())?
    };
    let hours = two_digits(hours).filter(|hours| *hours < 24)?;
    let minutes = match minutes {
        "" => 0,
        _ => two_digits(minutes.strip_prefix(':').unwrap_or(minutes))
            .filter(|minutes| *minutes < 60)?,
    };
    Some(Some(sign * (hours * 60 + minutes)))
}

/// The timestamp type for texts with these digits and offsets.
pub(crate) fn type_of(dates: bool, digits: u32, offset: Option<Option<i64>>) -> DataType {
    if dates {
        return DataType::Date32;
    }
    let unit = match digits {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    let zone = match offset {
        None => None,
        Some(Some(east)) if east != 0 => {
            let sign = if east < 0 { '-' } else { '+' };
            let east = east.abs();
            Some(format!("{sign}{:02}:{:02}", east / 60, east % 60))
        }
        Some(_) => Some("UTC".to_owned()),
    };
    DataType::Timestamp(unit, zone.map(Into::into))
}

/// Converts a number between units; `None` if the result is not an integer.
pub(crate) fn rescaled(number: i64, from: TimeUnit, to: TimeUnit) -> Option<i64> {
    let (from, to) = (per_second(from), per_second(to));
    if to >= from {
        number.checked_mul(to / from)
    } else {
        let step = from / to;
        (number % step == 0).then_some(number / step)
    }
}

/// Parses a text for an attribute of this unit: a timestamp or date in ISO 8601, a time of day, a duration with its
/// own unit (`5 milliseconds`), or the number itself. `None` if the unit is not a unit of time; `Some(None)` if the text is none of these, or
/// if the unit is too coarse for it.
#[must_use]
pub fn number_of_text(text: &str, unit: &str) -> Option<Option<i64>> {
    let to = of_unit(unit)?;
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(Some(number));
    }
    Some(match &to {
        DataType::Duration(own) => text.split_once(' ').and_then(|(number, word)| {
            let (from, ..) = UNITS.iter().find(|(_, one, _)| *one == word)?;
            rescaled(number.parse().ok()?, *from, *own)
        }),
        DataType::Time32(own) | DataType::Time64(own) => {
            let moment = Moment::of(&format!("1970-01-01T{text}"));
            moment.and_then(|one| one.number(&DataType::Timestamp(*own, None)))
        }
        to => Moment::of_any_year(text).and_then(|one| one.number(to)),
    })
}

/// A column of numbers as a column of type `to`; `None` if a number is not valid for the type.
pub(crate) fn restored(stored: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let numbers = stored.as_primitive_opt::<Int64Type>()?;
    let moments = Moments::of_unit(&unit(to)?)?;
    let odd = moments.first_odd(numbers.iter().flatten());
    odd.is_none().then(|| column(numbers, to))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_for_types() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        for one in [
            DataType::Timestamp(Second, None),
            DataType::Timestamp(Nanosecond, Some("UTC".into())),
            DataType::Timestamp(Microsecond, Some("Europe/Berlin".into())),
            DataType::Timestamp(Microsecond, Some("+02:00".into())),
            DataType::Date32,
            DataType::Date64,
            DataType::Time32(Millisecond),
            DataType::Time64(Nanosecond),
            DataType::Duration(Millisecond),
        ] {
            assert_eq!(of_unit(&unit(&one).unwrap()), Some(one));
        }
        assert_eq!(unit(&DataType::Int64), None);
        for other in [
            "seconds",
            "micrometer",
            "days since 1900-01-01",
            "seconds since 1970-01-01T00:00:00+1",
        ] {
            assert_eq!(of_unit(other), None, "{other}");
        }
    }

    #[test]
    fn zones_have_two_digits_for_hours_and_for_minutes() {
        for (zone, minutes) in [
            ("", None),
            ("Z", Some(0)),
            ("+02", Some(120)),
            ("-0130", Some(-90)),
            ("+05:45", Some(345)),
        ] {
            assert_eq!(offset(zone), Some(minutes), "{zone}");
        }
        for zone in [
            "+2:00", "+1:30", "+-1:30", "+02:", "+02:0", "+02:+1", "+24:00", "+0260", "02:00",
            "+é0",
        ] {
            assert_eq!(offset(zone), None, "{zone}");
        }
    }

    #[test]
    fn texts_of_moments() {
        // Seconds since 1970 by `date -u -d … +%s`.
        let second = DataType::Timestamp(TimeUnit::Second, None);
        let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        let number = |text: &str, to: &DataType| Moment::of(text).and_then(|one| one.number(to));
        assert_eq!(number("2024-02-29 12:34:56", &second), Some(1_709_210_096));
        assert_eq!(number("1969-12-31T23:59:59", &second), Some(-1));
        assert_eq!(
            number("2024-02-29T12:34:56.25Z", &utc),
            Some(1_709_210_096_250)
        );
        assert_eq!(
            number("2024-02-29T14:34:56.25+02:00", &utc),
            Some(1_709_210_096_250)
        );
        assert_eq!(number("2024-02-29", &DataType::Date32), Some(19_782));
        assert_eq!(number("2024-02-29 12:34:56.5", &second), None);
        for no in [
            "2023-02-29",
            "2024-02-29x",
            "2024-02-29 25:00:00",
            "12",
            "2024-02-29 12:34:56.",
            "2024-1-1",
        ] {
            assert_eq!(Moment::of(no), None, "{no}");
        }
    }

    #[test]
    fn texts_of_moments_in_any_year() {
        let seconds = "seconds since 1970-01-01T00:00:00";
        let number = |text| number_of_text(text, seconds).unwrap();
        for (text, expected) in [
            ("2024-02-29 12:34:56", 1_709_210_096),
            ("1969-12-31T23:59:59", -1),
            ("52671-12-25T12:26:40", 1_600_000_000_000),
            ("-0001-11-28T00:00:00", -62_170_156_800),
            ("292278994-08-17T07:12:55", 9_223_372_036_854_775),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        let far = "292278994-08-17T07:12:55";
        let in_unit =
            |unit: &str| number_of_text(far, &format!("{unit} since 1970-01-01T00:00:00"));
        assert_eq!(
            in_unit("milliseconds"),
            Some(Some(9_223_372_036_854_775_000))
        );
        assert_eq!(in_unit("microseconds"), Some(None));
        for no in [
            "12-01-01",
            "+12024-01-01",
            "12023-02-29",
            "99999999999999999999-01-01",
        ] {
            assert_eq!(number(no), None, "{no}");
        }
        // The type of a column is derived only from dates in years of four digits.
        assert_eq!(Moment::of("12345-01-02"), None);
    }
}

//! What the texts of a column are, and the values that they become.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt64Type,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_schema::{DataType, TimeUnit};
use zvf_write::narrow;

use crate::options::Nulls;
use crate::text::single_holds;
use crate::time::{self, Moment};

/// What was seen of a column so far.
#[derive(Debug)]
pub(super) struct Census {
    pub(super) missing: u64,
    present: u64,
    truths: bool,
    whole: bool,
    numbers: bool,
    single: bool,
    lowest: i128,
    highest: i128,
    moments: Moments,
    /// The number for missing ones is there.
    pub(super) taken: bool,
    texts: HashSet<String>,
    /// Whether there were more texts than are allowed: no matter while all are numbers.
    many: bool,
}

/// What was seen of the moments of a column.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    /// A value is no moment.
    none: bool,
    /// A value has a time of day.
    times: bool,
    digits: u32,
    /// Nothing was seen; no offset; an offset, where all have the same.
    offset: Option<Option<Option<i64>>>,
    /// Beyond what nanoseconds reach.
    far: bool,
}

impl Moments {
    fn see(&mut self, text: &str) {
        let Some(moment) = Moment::of(text).filter(|_| !self.none) else {
            self.none = true;
            return;
        };
        self.times |= !moment.is_date();
        self.digits = self.digits.max(moment.digits);
        let own = moment.offset.map(Some);
        self.offset = Some(match self.offset {
            None => own,
            Some(before) if before == own => own,
            Some(Some(_)) if own.is_some() => Some(None),
            Some(_) => {
                self.none = true;
                None
            }
        });
        let zone = moment.offset.map(|_| "UTC".into());
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, zone);
        self.far |= moment.number(&nanoseconds).is_none();
    }

    fn kind(self) -> Option<DataType> {
        let fits = !(self.none || self.far && self.digits > 6);
        fits.then(|| time::type_of(!self.times, self.digits, self.offset.flatten()))
    }
}

/// Whole numbers beyond this are not all float64.
const EXACT: i128 = 1 << 53;

impl Census {
    /// Of a column that the first `rows` rows lack.
    pub(super) fn after(rows: u64) -> Self {
        Self {
            missing: rows,
            present: 0,
            truths: true,
            whole: true,
            numbers: true,
            single: true,
            lowest: i128::MAX,
            highest: i128::MIN,
            moments: Moments::default(),
            taken: false,
            texts: HashSet::new(),
            many: false,
        }
    }

    /// Looks at a value; false where a column of texts has more different ones than allowed.
    pub(super) fn see(&mut self, value: Option<&str>, most: u64, nulls: Nulls) -> bool {
        let Some(field) = value else {
            self.missing += 1;
            return true;
        };
        let text = field.trim();
        self.present += 1;
        self.truths &= truth(text).is_some();
        self.whole &= match text.parse::<i128>() {
            Ok(number) => {
                self.lowest = self.lowest.min(number);
                self.highest = self.highest.max(number);
                self.taken |= matches!(nulls, Nulls::Value(fill) if i128::from(fill) == number);
                true
            }
            Err(_) => false,
        };
        if self.numbers {
            match text.parse::<f64>() {
                Ok(number) => self.single &= single_holds(text, number),
                Err(_) => self.numbers = false,
            }
        }
        if !self.moments.none {
            self.moments.see(text);
        }
        if !self.many && !self.texts.contains(field) {
            if self.texts.len() as u64 >= most {
                self.many = true;
                self.texts = HashSet::new();
            } else {
                self.texts.insert(field.to_owned());
            }
        }
        !self.many || self.numbers || self.truths || !self.moments.none
    }

    /// The narrowest type that holds every value.
    pub(super) fn decide(&self, nulls: Nulls) -> DataType {
        if self.present == 0 {
            return DataType::Null;
        }
        if self.truths {
            return DataType::Boolean;
        }
        if let Some(kind) = self.moments.kind() {
            return kind;
        }
        let fill = match nulls {
            Nulls::Value(fill) if self.missing > 0 => Some(i128::from(fill)),
            _ => None,
        };
        let (lowest, highest) = match fill {
            Some(fill) => (self.lowest.min(fill), self.highest.max(fill)),
            None => (self.lowest, self.highest),
        };
        let fits = |low: i128, high: i128| low <= lowest && highest <= high;
        if self.whole && (self.missing == 0 || fill.is_some()) {
            if fits(i128::from(i32::MIN), i128::from(i32::MAX)) {
                return DataType::Int32;
            }
            if fits(i128::from(i64::MIN), i128::from(i64::MAX)) {
                return DataType::Int64;
            }
            if fits(0, i128::from(u64::MAX)) {
                return DataType::UInt64;
            }
        }
        let exact = !self.whole || fits(-EXACT, EXACT);
        match (self.numbers && exact, self.single) {
            (true, true) => DataType::Float32,
            (true, false) => DataType::Float64,
            (false, _) => DataType::Utf8,
        }
    }

    /// Whether the texts are too many to be a category.
    pub(super) fn overflows(&self) -> bool {
        self.many
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Values of a column, as they come.
#[derive(Debug)]
pub(super) enum Filling {
    Nothing(usize),
    Bool(BooleanBuilder),
    I32(PrimitiveBuilder<Int32Type>),
    I64(PrimitiveBuilder<Int64Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    F32(PrimitiveBuilder<Float32Type>),
    F64(PrimitiveBuilder<Float64Type>),
    Text(StringBuilder),
    Time(PrimitiveBuilder<Int64Type>, DataType),
}

impl Filling {
    /// A column of one of the types that [`Census::decide`] knows.
    pub(super) fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Null => Self::Nothing(0),
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int32 => Self::I32(PrimitiveBuilder::new()),
            DataType::Int64 => Self::I64(PrimitiveBuilder::new()),
            DataType::UInt64 => Self::U64(PrimitiveBuilder::new()),
            DataType::Float32 => Self::F32(PrimitiveBuilder::new()),
            DataType::Float64 => Self::F64(PrimitiveBuilder::new()),
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            time => Self::Time(PrimitiveBuilder::new(), time.clone()),
        }
    }

    /// Takes a value; false where it is none of the column's type.
    pub(super) fn take(&mut self, value: Option<&str>) -> bool {
        match self {
            Self::Nothing(rows) => {
                *rows += 1;
                value.is_none()
            }
            Self::Bool(list) => {
                let flag = value.map(|text| truth(text.trim()));
                list.append_option(flag.flatten());
                flag != Some(None)
            }
            Self::I32(list) => add(list, value, |text| text.parse().ok()),
            Self::I64(list) => add(list, value, |text| text.parse().ok()),
            Self::U64(list) => add(list, value, |text| text.parse().ok()),
            Self::F32(list) => add(list, value, |text| text.parse().ok().map(narrow)),
            Self::F64(list) => add(list, value, |text| text.parse().ok()),
            Self::Text(list) => {
                list.append_option(value);
                true
            }
            Self::Time(list, kind) => add(list, value, |text| {
                Moment::of(text).and_then(|one| one.number(kind))
            }),
        }
    }

    /// The column, which is empty from here on.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Nothing(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Bool(list) => Arc::new(list.finish()),
            Self::I32(list) => Arc::new(list.finish()),
            Self::I64(list) => Arc::new(list.finish()),
            Self::U64(list) => Arc::new(list.finish()),
            Self::F32(list) => Arc::new(list.finish()),
            Self::F64(list) => Arc::new(list.finish()),
            Self::Text(list) => Arc::new(list.finish()),
            Self::Time(list, kind) => {
                let numbers = list.finish();
                time::column(&numbers, kind).unwrap_or_else(|| Arc::new(numbers))
            }
        }
    }
}

fn add<T: ArrowPrimitiveType>(
    list: &mut PrimitiveBuilder<T>,
    value: Option<&str>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> bool {
    let number = value.map(|text| parse(text.trim()));
    list.append_option(number.flatten());
    number != Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(field: &str) -> Option<&str> {
        Some(field).filter(|field| !field.is_empty())
    }

    fn decide(fields: &[&str]) -> DataType {
        let mut census = Census::after(0);
        assert!(
            fields
                .iter()
                .all(|field| census.see(value(field), 100, Nulls::Keep))
        );
        census.decide(Nulls::Keep)
    }

    #[test]
    fn a_column_gets_the_narrowest_type_that_holds_it() {
        assert_eq!(decide(&["true", "False"]), DataType::Boolean);
        assert_eq!(decide(&["true", "1"]), DataType::Utf8);
        assert_eq!(decide(&["1", " -2", "+3"]), DataType::Int32);
        assert_eq!(decide(&["1", "2147483648"]), DataType::Int64);
        assert_eq!(decide(&["0", "18446744073709551615"]), DataType::UInt64);
        assert_eq!(decide(&["-1", "18446744073709551615"]), DataType::Utf8);
        assert_eq!(decide(&["1", ""]), DataType::Float32);
        assert_eq!(decide(&["9007199254740993", ""]), DataType::Utf8);
        assert_eq!(decide(&["0.5", "nan"]), DataType::Float32);
        assert_eq!(decide(&["0.5", "0.123456789"]), DataType::Float64);
        assert_eq!(decide(&["a", ""]), DataType::Utf8);
        assert_eq!(decide(&["True", ""]), DataType::Boolean);
        let time = decide;
        let moment = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        assert_eq!(time(&["2024-01-31", ""]), DataType::Date32);
        assert_eq!(
            time(&["2024-01-31", "2024-01-31 10:00:00.25"]),
            moment(TimeUnit::Millisecond, None)
        );
        assert_eq!(
            time(&["2024-01-31T10:00Z", "2024-01-31 10:00:00+02:00"]),
            moment(TimeUnit::Second, Some("UTC"))
        );
        assert_eq!(
            time(&["2024-01-31T10:00+02:00"]),
            moment(TimeUnit::Second, Some("+02:00"))
        );
        assert_eq!(
            time(&["2024-01-31T10:00Z", "2024-01-31 10:00:00"]),
            DataType::Utf8
        );
        assert_eq!(time(&["2024-01-31", "soon"]), DataType::Utf8);
        assert_eq!(decide(&["", ""]), DataType::Null);
        assert_eq!(decide(&[]), DataType::Null);
    }

    #[test]
    fn many_numbers_are_fine_and_many_texts_are_not() {
        let mut census = Census::after(0);
        assert!((0..9).all(|number: i32| census.see(Some(&number.to_string()), 3, Nulls::Keep)));
        assert!(!census.see(Some("text"), 3, Nulls::Keep));
        let mut census = Census::after(0);
        assert!(
            ["a", "b", "c", "a"]
                .iter()
                .all(|text| census.see(Some(text), 3, Nulls::Keep))
        );
        assert!(!census.see(Some("d"), 3, Nulls::Keep));
    }
}

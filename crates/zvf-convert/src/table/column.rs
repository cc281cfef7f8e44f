//! What the texts of a column are, and the values that they become.

use std::collections::HashSet;

use arrow_schema::{DataType, TimeUnit};
use zvf_write::{AttributeSpec, AttributeType, NumberType, Values};

use crate::options::Nulls;
use crate::text::single_holds;
use crate::time::{self, Moment};

/// What all fields of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    I32,
    I64,
    U64,
    F32,
    F64,
    Text,
    /// Truth values, some of them missing.
    Truths,
    /// Dates, or moments with so many digits of a second, and so many minutes east of UTC.
    Time {
        dates: bool,
        digits: u32,
        offset: Option<Option<i64>>,
    },
}

/// What was seen of a column so far. An empty field is a missing value.
#[derive(Debug)]
pub(crate) struct Census {
    missing: u64,
    present: u64,
    truths: bool,
    whole: bool,
    numbers: bool,
    single: bool,
    lowest: i128,
    highest: i128,
    moments: Moments,
    /// The number for missing ones is there.
    taken: bool,
    texts: HashSet<String>,
    /// Whether there were more texts than are allowed: no matter while all are numbers.
    many: bool,
}

/// What was seen of the moments of a column.
#[derive(Debug, Clone, Copy)]
struct Moments {
    all: bool,
    dates: bool,
    digits: u32,
    /// Nothing was seen; no offset; an offset, where all have the same.
    offset: Option<Option<Option<i64>>>,
    /// Beyond what nanoseconds reach.
    far: bool,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            all: true,
            dates: true,
            digits: 0,
            offset: None,
            far: false,
        }
    }
}

impl Moments {
    fn see(&mut self, text: &str) {
        let Some(moment) = Moment::of(text).filter(|_| self.all) else {
            self.all = false;
            return;
        };
        self.dates &= moment.is_date();
        self.digits = self.digits.max(moment.digits);
        let own = moment.offset.map(Some);
        self.offset = Some(match self.offset {
            None => own,
            Some(before) if before == own => own,
            Some(Some(_)) if own.is_some() => Some(None),
            Some(_) => {
                self.all = false;
                None
            }
        });
        let zone = moment.offset.map(|_| "UTC".into());
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, zone);
        self.far |= moment.number(&nanoseconds).is_none();
    }

    fn kind(self) -> Option<Type> {
        let fits = self.all && !(self.far && self.digits > 6);
        fits.then_some(Type::Time {
            dates: self.dates,
            digits: self.digits,
            offset: self.offset.flatten(),
        })
    }
}

impl Default for Census {
    fn default() -> Self {
        Self {
            missing: 0,
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
}

/// Whole numbers beyond this are not all float64.
const EXACT: i128 = 1 << 53;

impl Census {
    /// Looks at a field; false where a column of texts has more different ones than allowed.
    pub(crate) fn see(&mut self, field: &str, most: u64, nulls: Nulls) -> bool {
        let text = field.trim();
        if text.is_empty() {
            self.missing += 1;
            return true;
        }
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
        if self.moments.all {
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
        !self.many || self.numbers || self.truths || self.moments.all
    }

    /// The narrowest type that holds every field.
    pub(crate) fn decide(&self, nulls: Nulls) -> Type {
        if self.present == 0 {
            return Type::F32;
        }
        if self.truths {
            return match self.missing {
                0 => Type::Bool,
                _ => Type::Truths,
            };
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
                return Type::I32;
            }
            if fits(i128::from(i64::MIN), i128::from(i64::MAX)) {
                return Type::I64;
            }
            if fits(0, i128::from(u64::MAX)) {
                return Type::U64;
            }
        }
        let exact = !self.whole || fits(-EXACT, EXACT);
        match (self.numbers && exact, self.single) {
            (true, true) => Type::F32,
            (true, false) => Type::F64,
            (false, _) => Type::Text,
        }
    }

    /// What people shall know about the decision.
    pub(crate) fn note(&self, decided: Type) -> Option<String> {
        match decided {
            _ if self.present == 0 => Some("empty, kept as float32 NaN".to_owned()),
            Type::F32 | Type::F64 if self.missing > 0 => {
                Some(format!("{} empty fields become NaN", self.missing))
            }
            Type::Truths => Some(format!(
                "{} truth values are missing, so it becomes the texts true and false, some of them missing",
                self.missing
            )),
            _ => None,
        }
    }

    /// Whether a field was empty.
    pub(crate) fn has_gaps(&self) -> bool {
        self.missing > 0
    }

    /// Whether a row has the number for missing ones.
    pub(crate) fn taken(&self) -> bool {
        self.taken
    }

    /// Whether the texts are too many to be a category.
    pub(crate) fn overflows(&self) -> bool {
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

impl Type {
    pub(crate) fn stored(self) -> AttributeType {
        AttributeType::Number(match self {
            Self::Bool => NumberType::Bool,
            Self::I32 => NumberType::I32,
            Self::I64 => NumberType::I64,
            Self::U64 => NumberType::U64,
            Self::F32 => NumberType::F32,
            Self::F64 => NumberType::F64,
            Self::Time { .. } => NumberType::I64,
            Self::Text | Self::Truths => return AttributeType::Category,
        })
    }

    /// What a column of this type becomes.
    pub(crate) fn spec(self, name: &str, gaps: bool) -> AttributeSpec {
        let number = match self.stored() {
            AttributeType::Number(number) => number,
            _ => return AttributeSpec::category(name),
        };
        let spec = AttributeSpec::number(name, number);
        match self.time().and_then(|kind| time::unit(&kind)) {
            Some(unit) if gaps => spec.with_unit(unit).with_description(time::MISSING_TEXT),
            Some(unit) => spec.with_unit(unit),
            None => spec,
        }
    }

    /// The type of moments.
    pub(crate) fn time(self) -> Option<DataType> {
        match self {
            Self::Time {
                dates,
                digits,
                offset,
            } => Some(time::type_of(dates, digits, offset)),
            _ => None,
        }
    }

    /// Whether an empty field becomes a number that is asked for.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U64)
    }

    pub(crate) fn filling(self) -> Filling {
        match self {
            Self::Bool => Filling::Bool(Vec::new()),
            Self::I32 => Filling::I32(Vec::new()),
            Self::I64 => Filling::I64(Vec::new()),
            Self::U64 => Filling::U64(Vec::new()),
            // Rounded to the stored type by the writer.
            Self::F32 | Self::F64 => Filling::Float(Vec::new()),
            Self::Text => Filling::Text(Vec::new()),
            Self::Truths => Filling::Truths(Vec::new()),
            Self::Time { .. } => Filling::Time(Vec::new(), self.time().unwrap_or(DataType::Date32)),
        }
    }
}

/// Values of a column, as they come.
#[derive(Debug)]
pub(crate) enum Filling {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Float(Vec<f64>),
    Text(Vec<Option<String>>),
    Truths(Vec<Option<String>>),
    Time(Vec<i64>, DataType),
}

impl Filling {
    /// Takes a field; false where it is none of the column's type.
    pub(crate) fn take(&mut self, field: &str) -> bool {
        fn add<T>(list: &mut Vec<T>, value: Option<T>) -> bool {
            let there = value.is_some();
            list.extend(value);
            there
        }
        let text = field.trim();
        match self {
            Self::Bool(list) => add(list, truth(text)),
            Self::I32(list) => add(list, text.parse().ok()),
            Self::I64(list) => add(list, text.parse().ok()),
            Self::U64(list) => add(list, text.parse().ok()),
            Self::Float(list) if text.is_empty() => add(list, Some(f64::NAN)),
            Self::Float(list) => add(list, text.parse().ok()),
            Self::Truths(list) if text.is_empty() => add(list, Some(None)),
            Self::Truths(list) => add(list, truth(text).map(|value| Some(value.to_string()))),
            Self::Time(list, _) if text.is_empty() => add(list, Some(time::MISSING)),
            Self::Time(list, kind) => add(list, Moment::of(text).and_then(|one| one.number(kind))),
            Self::Text(list) => {
                let value = (!text.is_empty()).then(|| field.to_owned());
                add(list, Some(value))
            }
        }
    }

    /// Whether whole numbers come in.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::I32(_) | Self::I64(_) | Self::U64(_))
    }

    pub(crate) fn into_values(self) -> Values<'static> {
        match self {
            Self::Bool(list) => list.into(),
            Self::I32(list) => list.into(),
            Self::I64(list) => list.into(),
            Self::U64(list) => list.into(),
            Self::Float(list) => list.into(),
            Self::Text(list) | Self::Truths(list) => Values::Text(list),
            Self::Time(list, _) => list.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(fields: &[&str]) -> Type {
        let mut census = Census::default();
        assert!(
            fields
                .iter()
                .all(|field| census.see(field, 100, Nulls::Keep))
        );
        census.decide(Nulls::Keep)
    }

    #[test]
    fn a_column_gets_the_narrowest_type_that_holds_it() {
        assert_eq!(decide(&["true", "False"]), Type::Bool);
        assert_eq!(decide(&["true", "1"]), Type::Text);
        assert_eq!(decide(&["1", " -2", "+3"]), Type::I32);
        assert_eq!(decide(&["1", "2147483648"]), Type::I64);
        assert_eq!(decide(&["0", "18446744073709551615"]), Type::U64);
        assert_eq!(decide(&["-1", "18446744073709551615"]), Type::Text);
        assert_eq!(decide(&["1", ""]), Type::F32);
        assert_eq!(decide(&["9007199254740993", ""]), Type::Text);
        assert_eq!(decide(&["0.5", "nan"]), Type::F32);
        assert_eq!(decide(&["0.5", "0.123456789"]), Type::F64);
        assert_eq!(decide(&["a", ""]), Type::Text);
        assert_eq!(decide(&["True", ""]), Type::Truths);
        let time = |fields: &[&str]| decide(fields).time();
        let moment =
            |unit, zone: Option<&str>| Some(DataType::Timestamp(unit, zone.map(Into::into)));
        assert_eq!(time(&["2024-01-31", ""]), Some(DataType::Date32));
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
        assert_eq!(time(&["2024-01-31T10:00Z", "2024-01-31 10:00:00"]), None);
        assert_eq!(time(&["2024-01-31", "soon"]), None);
        assert_eq!(decide(&["", ""]), Type::F32);
        assert_eq!(decide(&[]), Type::F32);
    }

    #[test]
    fn many_numbers_are_fine_and_many_texts_are_not() {
        let mut census = Census::default();
        assert!((0..9).all(|number: i32| census.see(&number.to_string(), 3, Nulls::Keep)));
        assert!(!census.see("text", 3, Nulls::Keep));
        let mut census = Census::default();
        assert!(
            ["a", "b", "c", "a"]
                .iter()
                .all(|text| census.see(text, 3, Nulls::Keep))
        );
        assert!(!census.see("d", 3, Nulls::Keep));
    }
}

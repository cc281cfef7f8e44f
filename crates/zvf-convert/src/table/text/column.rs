//! The census of the texts of a column, and their values.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_schema::{DataType, TimeUnit};
use zvf_write::TextSet;
use zvf_write::decimal::{out_of_range, rounds};
use zvf_write::narrow;

use super::fields::{Fields, whole_part};
use crate::error::{InFile, shown};
use crate::options::Nulls;
use crate::records::attribute;
use crate::text::single_holds;
use crate::time::{self, Moment};

/// The census of a column so far.
#[derive(Debug)]
pub(super) struct TextCensus {
    /// Numbers of fields that are missing in a column of any type, that are blank, and that are words for missing values.
    missing: u64,
    blanks: u64,
    words: u64,
    /// The first of these words.
    word: Option<String>,
    nans: u64,
    present: u64,
    booleans: bool,
    whole: bool,
    numbers: bool,
    single: bool,
    lowest: i128,
    highest: i128,
    /// Whether float64 represents all whole numbers exactly.
    exact: bool,
    moments: TimestampCensus,
    /// Whether some values are numbers with separators of groups of digits.
    grouped: bool,
    /// The first number with a leading zero.
    zeros: Option<String>,
    /// Whether the number that replaces missing values occurs.
    taken: bool,
    texts: TextSet,
    /// Whether there were more distinct texts than allowed; ignored while the values can be numbers, booleans or timestamps.
    many: bool,
    /// The requested type, and the first value that it cannot hold.
    asked: Option<DataType>,
    unfit: Option<FoundValue>,
    /// The first number outside of the range of float64, the first whole number that float64 rounds, and the first number with separators.
    beyond: Option<FoundValue>,
    rounded: Option<FoundValue>,
    separated: Option<FoundValue>,
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct FoundValue {
    pub(super) path: PathBuf,
    pub(super) place: InFile,
    pub(super) text: String,
}

/// The reason why a column cannot be read: the value, and what is expected.
pub(super) type RefusedValue = (FoundValue, String);

/// The census of the timestamps of a column.
#[derive(Debug, Clone, Copy, Default)]
struct TimestampCensus {
    /// Whether a value is not a timestamp.
    none: bool,
    /// Whether a value has a time of day.
    times: bool,
    digits: u32,
    /// `None` before the first timestamp, `Some(None)` without offsets, `Some(Some(None))` if offsets differ, otherwise the common offset.
    offset: Option<Option<Option<i64>>>,
    /// Whether a value is outside the range of nanoseconds.
    far: bool,
}

impl TimestampCensus {
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

/// Beyond this, float64 cannot represent all whole numbers.
const EXACT: i128 = 1 << 53;

impl TextCensus {
    /// A column that is missing in the first `rows` rows; `asked` is its requested type.
    pub(super) fn after(rows: u64, asked: Option<DataType>) -> Self {
        Self {
            missing: rows,
            blanks: 0,
            words: 0,
            word: None,
            nans: 0,
            present: 0,
            booleans: true,
            whole: true,
            numbers: true,
            single: true,
            lowest: i128::MAX,
            highest: i128::MIN,
            exact: true,
            moments: TimestampCensus::default(),
            grouped: true,
            zeros: None,
            taken: false,
            texts: TextSet::default(),
            many: false,
            asked,
            unfit: None,
            beyond: None,
            rounded: None,
            separated: None,
        }
    }

    /// Adds a field; returns false if a column of texts exceeds the allowed number of distinct ones.
    pub(super) fn see(
        &mut self,
        field: Option<&str>,
        fields: &Fields,
        most: u64,
        nulls: Nulls,
        at: &dyn Fn() -> (PathBuf, InFile),
    ) -> bool {
        let Some(field) = fields.given(field) else {
            self.missing += 1;
            return true;
        };
        let found = |text: &str| {
            let (path, place) = at();
            let text = text.to_owned();
            Some(FoundValue { path, place, text })
        };
        let text = field.trim();
        if text.is_empty() || fields.is_word(text) {
            match text {
                "" => self.blanks += 1,
                text if text.eq_ignore_ascii_case("nan") => self.nans += 1,
                _ => {
                    self.words += 1;
                    self.word.get_or_insert_with(|| text.to_owned());
                }
            }
            return self.add(field, most);
        }
        self.present += 1;
        self.booleans &= Fields::boolean(text).is_some();
        let plain = fields.plain(text);
        let digits = &*plain;
        let whole = match &self.asked {
            Some(asked) if asked.is_integer() => whole_part(digits),
            _ => digits,
        };
        self.whole &= match whole.parse::<i128>() {
            Ok(number) => {
                self.lowest = self.lowest.min(number);
                self.highest = self.highest.max(number);
                self.taken |= matches!(nulls, Nulls::Value(fill) if i128::from(fill) == number);
                let bare = whole.strip_prefix(['+', '-']).unwrap_or(whole);
                if bare.len() > 1 && bare.starts_with('0') {
                    self.zeros.get_or_insert_with(|| text.to_owned());
                }
                true
            }
            Err(_) => false,
        };
        if self.numbers || self.grouped {
            match digits.parse::<f64>() {
                Ok(number) => {
                    self.single &= single_holds(digits, number);
                    if self.beyond.is_none() && out_of_range(digits, number) {
                        self.beyond = found(text);
                    }
                    if self.rounded.is_none() && rounds(digits, number) {
                        self.exact = false;
                        self.rounded = found(text);
                    }
                }
                Err(_) => {
                    self.numbers = false;
                    if self.grouped && fields.hint(text).is_none() {
                        self.grouped = false;
                    } else if self.separated.is_none() {
                        self.separated = found(text);
                    }
                }
            }
        }
        if !self.moments.none {
            self.moments.see(text);
        }
        if let Some(asked) = &self.asked
            && self.unfit.is_none()
            && !Filling::of(asked).take(Some(field), fields)
        {
            self.unfit = found(text);
        }
        self.add(field, most)
    }

    /// Adds a field to the set of distinct texts.
    fn add(&mut self, field: &str, most: u64) -> bool {
        if !self.many {
            self.many = self.texts.insert(field).is_err() || self.texts.len() as u64 > most;
            if self.many {
                self.texts = TextSet::default();
            }
        }
        // With a requested type, the limit applies to texts only.
        let free = self
            .asked
            .as_ref()
            .is_none_or(|asked| *asked == DataType::Utf8);
        let others = self.numbers || self.booleans || self.grouped || !self.moments.none;
        !self.many || !free || self.asked.is_none() && others
    }

    /// The type of the column: the requested one, or the narrowest that holds every value.
    ///
    /// # Errors
    /// A value that the type does not represent, and what is expected.
    pub(super) fn decide(
        &self,
        name: &str,
        fields: &Fields,
        nulls: Nulls,
    ) -> Result<DataType, RefusedValue> {
        let texts = format!("--attribute-type {name}=text keeps the texts");
        let out = |found: &Option<FoundValue>, expected: String| match found {
            Some(found) => Err((found.clone(), expected)),
            None => Ok(()),
        };
        if let Some(asked) = &self.asked {
            out(
                &self.unfit,
                format!("a value of {asked}, the requested type"),
            )?;
            return Ok(asked.clone());
        }
        if self.present == 0 {
            return Ok(if self.blanks > 0 {
                DataType::Utf8
            } else {
                DataType::Null
            });
        }
        if self.booleans {
            return Ok(DataType::Boolean);
        }
        if let Some(kind) = self.moments.kind() {
            return Ok(kind);
        }
        if !self.numbers {
            if self.grouped
                && let Some(found) = &self.separated
            {
                let hint = fields.hint(&found.text).unwrap_or("numbers");
                return Err((found.clone(), format!("{hint}; {texts}")));
            }
            return Ok(DataType::Utf8);
        }
        if self.whole && self.zeros.is_some() {
            return Ok(DataType::Utf8);
        }
        let missing = self.gaps() + self.nans;
        let fill = match nulls {
            Nulls::Value(fill) if missing > 0 => Some(i128::from(fill)),
            _ => None,
        };
        let (lowest, highest) = match fill {
            Some(fill) => (self.lowest.min(fill), self.highest.max(fill)),
            None => (self.lowest, self.highest),
        };
        let fits = |low: i128, high: i128| low <= lowest && highest <= high;
        if self.whole && (missing == 0 || fill.is_some() || !fits(-EXACT, EXACT)) {
            if fits(i128::from(i32::MIN), i128::from(i32::MAX)) {
                return Ok(DataType::Int32);
            }
            if fits(i128::from(i64::MIN), i128::from(i64::MAX)) {
                return Ok(DataType::Int64);
            }
            if fits(0, i128::from(u64::MAX)) {
                return Ok(DataType::UInt64);
            }
        }
        let others = format!("{texts}, --exclude {name} leaves the column out");
        out(
            &self.beyond,
            format!("numbers that float64 holds; {others}"),
        )?;
        let ways = format!("--attribute-type {name}=float64 rounds them, {others}");
        if !self.exact {
            let range = match self.whole {
                true => "whole numbers of 64 bits, signed or not",
                false => "numbers that float64 holds: others of the column have decimals",
            };
            out(&self.rounded, format!("{range}; {ways}"))?;
        }
        // Whole numbers beyond 64 bits become float64, since a float32 is written with fewer digits.
        let large = self.whole && !fits(i128::from(i64::MIN), i128::from(u64::MAX));
        Ok(match self.single && !large {
            true => DataType::Float32,
            false => DataType::Float64,
        })
    }

    /// The number of fields that are missing unless the column becomes texts.
    fn gaps(&self) -> u64 {
        self.missing + self.blanks + self.words
    }

    /// The census in the form for an attribute of this type.
    pub(super) fn seen(&self, kind: &DataType) -> attribute::ValueCensus {
        let whole = kind.is_integer();
        let missing = match kind {
            DataType::Utf8 => self.missing,
            DataType::Float32 | DataType::Float64 => self.gaps(),
            _ => self.gaps() + self.nans,
        };
        let rough = whole && (self.lowest < -EXACT || self.highest > EXACT);
        attribute::ValueCensus::of_fields(missing, self.words == 0, self.taken, rough)
    }

    /// A note for the user about the type that was chosen for the column.
    pub(super) fn note(&self, name: &str, kind: &DataType) -> Option<String> {
        if self.asked.is_some() {
            return None;
        }
        let column = shown(name);
        if let (DataType::Utf8, true, Some(first)) = (kind, self.whole, &self.zeros) {
            return Some(format!(
                "column {column}: numbers such as {first} begin with zeros, so they stay texts (--attribute-type {name}=int64 reads numbers)"
            ));
        }
        let word = self.word.as_ref().filter(|_| *kind != DataType::Utf8)?;
        let count = self.words;
        Some(format!(
            "column {column}: {count} fields such as {} are missing values, so it becomes {} (--na '' reads them as texts)",
            shown(word),
            match kind {
                DataType::Boolean => "booleans".to_owned(),
                DataType::Null => "a column without values".to_owned(),
                other if other.is_numeric() => "numbers".to_owned(),
                _ => "dates or times".to_owned(),
            }
        ))
    }

    /// Whether there are too many different texts for a category.
    pub(super) fn overflows(&self) -> bool {
        self.many
    }
}

/// A builder of the values of a column.
#[derive(Debug)]
pub(super) enum Filling {
    Nothing(usize),
    Bool(BooleanBuilder),
    I8(PrimitiveBuilder<Int8Type>),
    I16(PrimitiveBuilder<Int16Type>),
    U8(PrimitiveBuilder<UInt8Type>),
    U16(PrimitiveBuilder<UInt16Type>),
    U32(PrimitiveBuilder<UInt32Type>),
    I32(PrimitiveBuilder<Int32Type>),
    I64(PrimitiveBuilder<Int64Type>),
    U64(PrimitiveBuilder<UInt64Type>),
    F32(PrimitiveBuilder<Float32Type>),
    F64(PrimitiveBuilder<Float64Type>),
    Text(StringBuilder),
    Time(PrimitiveBuilder<Int64Type>, DataType),
}

impl Filling {
    /// A column of one of the types that [`TextCensus::decide`] returns.
    pub(super) fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Null => Self::Nothing(0),
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int8 => Self::I8(PrimitiveBuilder::new()),
            DataType::Int16 => Self::I16(PrimitiveBuilder::new()),
            DataType::UInt8 => Self::U8(PrimitiveBuilder::new()),
            DataType::UInt16 => Self::U16(PrimitiveBuilder::new()),
            DataType::UInt32 => Self::U32(PrimitiveBuilder::new()),
            DataType::Int32 => Self::I32(PrimitiveBuilder::new()),
            DataType::Int64 => Self::I64(PrimitiveBuilder::new()),
            DataType::UInt64 => Self::U64(PrimitiveBuilder::new()),
            DataType::Float32 => Self::F32(PrimitiveBuilder::new()),
            DataType::Float64 => Self::F64(PrimitiveBuilder::new()),
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            time => Self::Time(PrimitiveBuilder::new(), time.clone()),
        }
    }

    /// Appends a value; returns false if it is not of the type of the column.
    pub(super) fn take(&mut self, field: Option<&str>, fields: &Fields) -> bool {
        let value = fields.value(field, matches!(self, Self::Text(_)));
        match self {
            Self::Nothing(rows) => {
                *rows += 1;
                value.is_none()
            }
            Self::Bool(list) => {
                let flag = value.map(Fields::boolean);
                list.append_option(flag.flatten());
                flag != Some(None)
            }
            Self::I8(list) => add(list, value, |text| fields.whole(text)),
            Self::I16(list) => add(list, value, |text| fields.whole(text)),
            Self::I32(list) => add(list, value, |text| fields.whole(text)),
            Self::I64(list) => add(list, value, |text| fields.whole(text)),
            Self::U8(list) => add(list, value, |text| fields.whole(text)),
            Self::U16(list) => add(list, value, |text| fields.whole(text)),
            Self::U32(list) => add(list, value, |text| fields.whole(text)),
            Self::U64(list) => add(list, value, |text| fields.whole(text)),
            Self::F32(list) => add(list, value, |text| {
                let value = fields.number(text)?;
                let narrow = narrow(value);
                (narrow.is_finite() || !value.is_finite()).then_some(narrow)
            }),
            Self::F64(list) => add(list, value, |text| fields.number(text)),
            Self::Text(list) => {
                list.append_option(value);
                true
            }
            Self::Time(list, kind) => add(list, value, |text| {
                Moment::of(text).and_then(|one| one.number(kind))
            }),
        }
    }

    /// Returns the column; the builder is empty after that.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Nothing(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Bool(list) => Arc::new(list.finish()),
            Self::I8(list) => Arc::new(list.finish()),
            Self::I16(list) => Arc::new(list.finish()),
            Self::U8(list) => Arc::new(list.finish()),
            Self::U16(list) => Arc::new(list.finish()),
            Self::U32(list) => Arc::new(list.finish()),
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
    let number = value.map(parse);
    list.append_option(number.flatten());
    number != Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn census(fields: &[&str], nulls: Nulls, most: u64) -> (TextCensus, bool) {
        let mut census = TextCensus::after(0, None);
        let how = Fields::of(&Options::default());
        let at = || (PathBuf::from("a"), InFile::Whole);
        let mut see = |field: &&str| {
            let field = Some(*field).filter(|field| !field.is_empty());
            census.see(field, &how, most, nulls, &at)
        };
        let all = fields.iter().all(&mut see);
        (census, all)
    }

    fn found(fields: &[&str]) -> Result<DataType, String> {
        let how = Fields::of(&Options::default());
        let (census, _) = census(fields, Nulls::Keep, 100);
        let kind = census.decide("n", &how, Nulls::Keep);
        kind.map_err(|(found, expected)| format!("{}: {expected}", found.text))
    }

    fn decide(fields: &[&str]) -> DataType {
        found(fields).unwrap()
    }

    #[test]
    fn numbers_that_no_type_holds_are_refused() {
        for (fields, said) in [
            (
                ["-1", "18446744073709551615"],
                "18446744073709551615: whole numbers of 64 bits",
            ),
            (
                ["18446744073709551617", ""],
                "18446744073709551617: whole numbers of 64 bits",
            ),
            (
                ["9007199254740993", "0.5"],
                "9007199254740993: numbers that float64 holds: others",
            ),
            (["1e400", "1"], "1e400: numbers that float64 holds; "),
            (["0.5", "1e-400"], "1e-400: numbers that float64 holds; "),
            (
                ["0.5", "1,25"],
                "1,25: numbers without separators of thousands, or with a decimal point: --decimal ,",
            ),
            (
                ["1 234", "7"],
                "1 234: numbers without separators of thousands; ",
            ),
        ] {
            let error = found(&fields).unwrap_err();
            assert!(error.starts_with(said), "{error}");
            assert!(error.contains("--attribute-type n=text"), "{error}");
        }
        // In a column with other texts, such numbers are texts.
        assert_eq!(decide(&["1e400", "a"]), DataType::Utf8);
        assert_eq!(decide(&["1,5", "a"]), DataType::Utf8);
        // Float64 holds these numbers.
        assert_eq!(decide(&["18446744073709551616", "-1"]), DataType::Float64);
        assert_eq!(decide(&["9007199254740994", "0.5"]), DataType::Float64);
    }

    #[test]
    fn words_and_zeros() {
        assert_eq!(decide(&["NA", "1", "2.5"]), DataType::Float32);
        assert_eq!(decide(&["NA", "a"]), DataType::Utf8);
        assert_eq!(decide(&["NA", "true"]), DataType::Boolean);
        assert_eq!(decide(&["NaN", "true"]), DataType::Boolean);
        assert_eq!(decide(&["null", "NA"]), DataType::Null);
        assert_eq!(decide(&[" ", "1"]), DataType::Float32);
        assert_eq!(decide(&[" ", ""]), DataType::Utf8);
        assert_eq!(decide(&["00123", "7"]), DataType::Utf8);
        assert_eq!(decide(&["0", "-0"]), DataType::Int32);
        assert_eq!(decide(&["0.5", "007"]), DataType::Float32);
        let (seen, _) = census(&["123456789012345678", "nan"], Nulls::Keep, 9);
        let how = Fields::of(&Options::default());
        assert_eq!(
            seen.decide("n", &how, Nulls::Keep).unwrap(),
            DataType::Int64
        );
    }

    #[test]
    fn a_column_gets_the_narrowest_type_that_holds_it() {
        assert_eq!(decide(&["true", "False"]), DataType::Boolean);
        assert_eq!(decide(&["true", "1"]), DataType::Utf8);
        assert_eq!(decide(&["1", " -2", "+3"]), DataType::Int32);
        assert_eq!(decide(&["1", "2147483648"]), DataType::Int64);
        assert_eq!(decide(&["0", "18446744073709551615"]), DataType::UInt64);
        assert_eq!(decide(&["1", ""]), DataType::Float32);
        assert_eq!(decide(&["9007199254740993", ""]), DataType::Int64);
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
        let numbers: Vec<String> = (0..9).map(|number: i32| number.to_string()).collect();
        let mut numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        assert!(census(&numbers, Nulls::Keep, 3).1);
        numbers.push("text");
        assert!(!census(&numbers, Nulls::Keep, 3).1);
        assert!(census(&["a", "b", "c", "a"], Nulls::Keep, 3).1);
        assert!(!census(&["a", "b", "c", "a", "d"], Nulls::Keep, 3).1);
    }
}

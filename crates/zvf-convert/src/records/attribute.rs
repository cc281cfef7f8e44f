//! A column that becomes an attribute: its type in the file, its census, and how it is stored.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use zvf_query::numbers::{decimals, elements};
use zvf_write::TextSet;
use zvf_write::{AttributeSpec, AttributeType, NumberType, Values};

use super::source::UUID;
use super::values::{texts, values, wide};
use crate::error::shown;
use crate::numbers::{floats, without_nulls};
use crate::options::Nulls;
use crate::time;

/// Beyond this, float64 cannot represent all whole numbers.
const EXACT: u64 = 1 << 53;

/// The type of a column in the file.
#[derive(Debug, Clone, PartialEq)]
enum Raw {
    Number(NumberType),
    Text,
    /// Sixteen bytes that are converted to a text.
    Uuid,
    /// A timestamp, date, time or duration.
    Time(DataType),
    Decimal,
    /// A column without values.
    Nothing,
}

/// A column that becomes an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttributeColumn {
    pub(crate) name: String,
    pub(crate) column: usize,
    raw: Raw,
    pub(crate) channels: usize,
}

/// Facts about the values of a column.
#[derive(Debug, Default)]
pub(crate) struct ValueCensus {
    missing: u64,
    /// Whether a whole number is outside ±2^53.
    rough: bool,
    /// Whether a value equals the fill number.
    taken: bool,
    /// Number of decimals that float64 cannot represent.
    rounded: u64,
    texts: TextSet,
    /// Whether missing values are empty fields of a table of text.
    fields: bool,
}

/// The conversion of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    AsTheyAre,
    /// To float64, with NaN for missing values.
    Floats,
    /// Stored with this number in place of missing values.
    Filled(i64),
    /// To the texts `true` and `false`.
    BooleanTexts,
}

/// How a column is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decided {
    pub(crate) spec: AttributeSpec,
    how: How,
}

impl AttributeColumn {
    /// The attribute for a column; `None` for unsupported types.
    pub(crate) fn of(field: &Field, column: usize) -> Option<Self> {
        let (raw, channels) = Raw::of(field)?;
        Some(Self {
            name: field.name().clone(),
            column,
            raw,
            channels,
        })
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.raw, Raw::Text | Raw::Uuid)
    }

    /// Whether the type of a column determines how it is stored, so that [`see`](Self::see) need not read its values.
    pub(crate) fn is_decided(&self, field: &Field, nulls: Nulls) -> bool {
        let counts = match &self.raw {
            Raw::Number(number) => is_counted(*number, nulls),
            Raw::Nothing => false,
            _ => true,
        };
        !counts && !field.is_nullable()
    }

    /// Updates the census with the rows of a column; the error is the row and the reason why the column cannot become an attribute.
    pub(crate) fn see(
        &self,
        column: &ArrayRef,
        nulls: Nulls,
        census: &mut ValueCensus,
    ) -> Result<(), (usize, String)> {
        let (items, width) = elements(column);
        let absent = Absent::of(column, &items, width);
        census.missing = census.missing.saturating_add(absent.count());
        if nulls == Nulls::Error
            && absent.any()
            && let Some(at) = (0..items.len()).find(|at| absent.is(*at))
        {
            let row = at.checked_div(width).unwrap_or(0);
            return Err((row, "no value".to_owned()));
        }
        let fill = match nulls {
            Nulls::Value(fill) => Some(i128::from(fill)),
            _ => None,
        };
        match &self.raw {
            Raw::Nothing => {}
            Raw::Number(number) if !is_counted(*number, nulls) => {}
            Raw::Number(_) => {
                for (at, number) in wide(&items).enumerate() {
                    if !absent.is(at) {
                        census.rough |= number.unsigned_abs() > u128::from(EXACT);
                        census.taken |= Some(number) == fill;
                    }
                }
            }
            Raw::Time(_) => {
                let numbers = time::numbers(column).unwrap_or_default();
                if let Some(row) = numbers.iter().position(|one| *one == Some(time::MISSING)) {
                    let found = format!("{}, which marks a missing value", time::MISSING);
                    return Err((row, found));
                }
            }
            Raw::Decimal => {
                let rounded = decimals(column).into_iter().filter(|(_, exact)| !exact);
                census.rounded = census.rounded.saturating_add(rounded.count() as u64);
            }
            Raw::Text | Raw::Uuid => {
                for (row, text) in texts(column).into_iter().enumerate() {
                    if let Some(text) = text {
                        let added = census.texts.insert(&text);
                        added.map_err(|error| (row, error.to_string()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Decides how the column is stored. Also returns a note for the user if values are converted; the error states why the column cannot be stored.
    pub(crate) fn decide(
        &self,
        census: &ValueCensus,
        nulls: Nulls,
    ) -> Result<(Decided, Option<String>), String> {
        let name = shown(&self.name);
        let number =
            |number| AttributeSpec::number(&self.name, number).with_channels(self.channels);
        let missing = census.missing;
        let gaps = match census.fields {
            true => "empty fields",
            false => "missing values",
        };
        let mut how = How::AsTheyAre;
        let mut note = None;
        let spec = match &self.raw {
            Raw::Number(float @ (NumberType::F16 | NumberType::F32 | NumberType::F64)) => {
                if missing > 0 {
                    note = Some(format!("column {name}: {missing} {gaps} become NaN"));
                }
                number(*float)
            }
            Raw::Number(own) if missing == 0 => match nulls {
                // Recorded also without missing values, so that files imported one by one into a store agree.
                Nulls::Value(fill)
                    if *own != NumberType::Bool && !census.taken && holds(*own, fill) =>
                {
                    stands_for_missing(number(*own), fill)
                }
                _ => number(*own),
            },
            Raw::Number(NumberType::Bool) if self.channels == 1 => {
                how = How::BooleanTexts;
                note = Some(format!(
                    "column {name}: {missing} booleans are missing, so it becomes the texts true and false, some of them missing"
                ));
                AttributeSpec::boolean_texts(&self.name)
            }
            Raw::Number(own) => match nulls {
                Nulls::Value(fill) if *own != NumberType::Bool => {
                    if census.taken {
                        return Err(format!(
                            "{missing} missing values, and values {fill}, so --nulls {fill} cannot mark missing values"
                        ));
                    }
                    if !holds(*own, fill) {
                        return Err(format!(
                            "{missing} missing values in a column of {own}, which does not represent {fill}"
                        ));
                    }
                    how = How::Filled(fill);
                    note = Some(format!("column {name}: {missing} {gaps} become {fill}"));
                    stands_for_missing(number(*own), fill)
                }
                _ if *own == NumberType::Bool || census.rough => {
                    return Err(format!(
                        "{missing} missing values, and numbers that float64 does not represent"
                    ));
                }
                _ => {
                    how = How::Floats;
                    note = Some(format!(
                        "column {name}: {missing} values are missing, so its whole numbers become float64 with NaN (--nulls VALUE keeps {own})"
                    ));
                    number(NumberType::F64)
                }
            },
            Raw::Text | Raw::Uuid => AttributeSpec::category(&self.name),
            Raw::Time(kind) => {
                let spec = number(NumberType::I64);
                let spec = spec.with_unit(time::unit(kind).unwrap_or_default());
                // Also without missing values, so that files that are imported one by one into a store agree.
                spec.with_description(time::MISSING_TEXT)
            }
            Raw::Decimal => {
                let rounded = (census.rounded > 0).then(|| {
                    format!(
                        "{} decimal numbers have more digits than float64, and are rounded",
                        census.rounded
                    )
                });
                let gaps = (missing > 0).then(|| format!("{missing} {gaps} become NaN"));
                let notes: Vec<String> = rounded.into_iter().chain(gaps).collect();
                note = (!notes.is_empty()).then(|| format!("column {name}: {}", notes.join("; ")));
                number(NumberType::F64)
            }
            Raw::Nothing => {
                note = Some(format!("column {name}: no values, stored as float32 NaN"));
                number(NumberType::F32)
            }
        };
        Ok((Decided { spec, how }, note))
    }

    /// The values of a column; `None` if they contradict the census.
    pub(crate) fn values(&self, column: &ArrayRef, decided: &Decided) -> Option<Values> {
        let (items, width) = elements(column);
        let absent = Absent::of(column, &items, width);
        match (&self.raw, decided.how) {
            (Raw::Time(_), _) => {
                let numbers = time::numbers(column)?.into_iter();
                let numbers = numbers.map(|number| number.unwrap_or(time::MISSING));
                Some(numbers.collect::<Vec<i64>>().into())
            }
            (Raw::Decimal, _) => {
                let numbers = decimals(column).into_iter().map(|(number, _)| number);
                Some(numbers.collect::<Vec<f64>>().into())
            }
            (Raw::Nothing, _) => Some(vec![f32::NAN; column.len()].into()),
            (Raw::Text | Raw::Uuid, _) | (_, How::AsTheyAre) => {
                let gaps = matches!(
                    self.raw,
                    Raw::Text
                        | Raw::Uuid
                        | Raw::Number(NumberType::F16 | NumberType::F32 | NumberType::F64)
                );
                (gaps || absent.count() == 0).then(|| values(column))?
            }
            (_, How::Floats) => Some(floats(column).values.into()),
            (_, How::Filled(fill)) => values(&without_nulls(&items, column, fill)),
            (_, How::BooleanTexts) => {
                let list = items.as_boolean_opt()?;
                let word = |at| if list.value(at) { "true" } else { "false" };
                let words = (0..list.len()).map(|at| (!absent.is(at)).then(|| word(at)));
                Some(Values::optional_texts(words))
            }
        }
    }
}

impl ValueCensus {
    /// The census of a column of a table of text with `missing` missing fields; `empty` if none of them are words for a
    /// missing value.
    pub(crate) fn of_fields(missing: u64, empty: bool, taken: bool, rough: bool) -> Self {
        Self {
            missing,
            taken,
            rough,
            fields: empty,
            ..Self::default()
        }
    }

    pub(crate) fn texts(&self) -> u64 {
        self.texts.len() as u64
    }
}

impl Decided {
    /// A column without rows.
    pub(crate) fn none(&self) -> Values {
        match self.spec.values {
            AttributeType::Number(number) => Values::of_bytes(number, &[]),
            _ => Values::texts::<&str>([]),
        }
    }
}

impl Raw {
    fn of(field: &Field) -> Option<(Self, usize)> {
        let column = field.data_type();
        if let Some((values, channels)) = super::values::kind(column) {
            return Some(match values {
                AttributeType::Number(number) => (Self::Number(number), channels),
                _ => (Self::Text, 1),
            });
        }
        let raw = match column {
            DataType::Null => Self::Nothing,
            DataType::FixedSizeBinary(16)
                if field.metadata().get(UUID.0).map(String::as_str) == Some(UUID.1) =>
            {
                Self::Uuid
            }
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Self::Decimal,
            other if time::unit(other).is_some() => Self::Time(other.clone()),
            _ => return None,
        };
        Some((raw, 1))
    }
}

/// Which values of a column are missing, in the column itself or in its dictionary.
pub(super) struct Absent {
    column: Option<NullBuffer>,
    items: Option<NullBuffer>,
    count: usize,
    width: usize,
}

impl Absent {
    /// `items` are the elements of the column, `width` for each row.
    pub(super) fn of(column: &ArrayRef, items: &ArrayRef, width: usize) -> Self {
        Self {
            column: column.logical_nulls(),
            items: items.logical_nulls(),
            count: items.len(),
            width,
        }
    }

    fn is(&self, at: usize) -> bool {
        let is_null = |nulls: &Option<NullBuffer>, at: usize| {
            nulls.as_ref().is_some_and(|nulls| nulls.is_null(at))
        };
        is_null(&self.items, at) || is_null(&self.column, at / self.width.max(1))
    }

    /// Whether a row, or an element of it, is missing.
    pub(super) fn in_row(&self, row: usize) -> bool {
        let first = row * self.width;
        let column = self.column.as_ref();
        column.is_some_and(|nulls| nulls.is_null(row))
            || (first..first + self.width).any(|at| self.is(at))
    }

    fn any(&self) -> bool {
        let both = [&self.column, &self.items];
        both.into_iter()
            .flatten()
            .any(|nulls| nulls.null_count() > 0)
    }

    fn count(&self) -> u64 {
        if !self.any() {
            return 0;
        }
        (0..self.count).filter(|at| self.is(*at)).count() as u64
    }
}

/// Whether the census reads values of this type: of 64-bit integers, to find numbers that float64 does not represent; with [`Nulls::Value`],
/// of all integers, to find the number that replaces missing values.
fn is_counted(number: NumberType, nulls: Nulls) -> bool {
    match number {
        NumberType::I64 | NumberType::U64 => true,
        NumberType::F16 | NumberType::F32 | NumberType::F64 | NumberType::Bool => false,
        _ => matches!(nulls, Nulls::Value(_)),
    }
}

/// Records the number that marks a missing value in the description.
fn stands_for_missing(spec: AttributeSpec, fill: i64) -> AttributeSpec {
    spec.with_description(format!("{fill} is a missing value"))
}

fn holds(number: NumberType, value: i64) -> bool {
    match number {
        NumberType::I8 => i8::try_from(value).is_ok(),
        NumberType::I16 => i16::try_from(value).is_ok(),
        NumberType::I32 => i32::try_from(value).is_ok(),
        NumberType::I64 => true,
        NumberType::U8 => u8::try_from(value).is_ok(),
        NumberType::U16 => u16::try_from(value).is_ok(),
        NumberType::U32 => u32::try_from(value).is_ok(),
        NumberType::U64 => u64::try_from(value).is_ok(),
        _ => false,
    }
}

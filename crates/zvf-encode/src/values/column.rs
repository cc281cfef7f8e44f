//! Columns of values, as a caller has them.

use std::borrow::Cow;

use half::f16;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zerocopy::IntoBytes;

use crate::WriteError;
use crate::error::OrBug;
use crate::records::record::row_of;
use crate::values::number::{NumberType, narrow};

/// A column: numbers row by row, or texts. Borrowed or owned.
///
/// # Shape
/// A column of `rows` rows with `channels` numbers each is one flat list, the channels of a row together.
///
/// # Examples
///
/// ```
/// use zvf_encode::Values;
///
/// let positions = [0.5_f32, 1.0, 2.0, 3.5, 4.0, 5.0];
/// assert_eq!(Values::from(&positions[..]).len(), 6);
/// assert_eq!(Values::texts(["axon", "dendrite"]).len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Truth values.
    Bool(Cow<'a, [bool]>),
    /// Signed, 8 bits.
    I8(Cow<'a, [i8]>),
    /// Signed, 16 bits.
    I16(Cow<'a, [i16]>),
    /// Signed, 32 bits.
    I32(Cow<'a, [i32]>),
    /// Signed, 64 bits.
    I64(Cow<'a, [i64]>),
    /// Unsigned, 8 bits.
    U8(Cow<'a, [u8]>),
    /// Unsigned, 16 bits.
    U16(Cow<'a, [u16]>),
    /// Unsigned, 32 bits.
    U32(Cow<'a, [u32]>),
    /// Unsigned, 64 bits.
    U64(Cow<'a, [u64]>),
    /// IEEE binary16.
    F16(Cow<'a, [f16]>),
    /// IEEE binary32.
    F32(Cow<'a, [f32]>),
    /// IEEE binary64.
    F64(Cow<'a, [f64]>),
    /// Texts; `None` is missing.
    Text(Vec<Option<String>>),
}

macro_rules! each {
    ($values:expr, $list:ident => $number:expr, $text:ident => $words:expr) => {
        match $values {
            Values::Bool($list) => $number,
            Values::I8($list) => $number,
            Values::I16($list) => $number,
            Values::I32($list) => $number,
            Values::I64($list) => $number,
            Values::U8($list) => $number,
            Values::U16($list) => $number,
            Values::U32($list) => $number,
            Values::U64($list) => $number,
            Values::F16($list) => $number,
            Values::F32($list) => $number,
            Values::F64($list) => $number,
            Values::Text($text) => $words,
        }
    };
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {$(
        impl<'a> From<&'a [$type]> for Values<'a> {
            fn from(list: &'a [$type]) -> Self {
                Self::$variant(Cow::Borrowed(list))
            }
        }

        impl<'a> From<&'a Vec<$type>> for Values<'a> {
            fn from(list: &'a Vec<$type>) -> Self {
                Self::$variant(Cow::Borrowed(list))
            }
        }

        impl From<Vec<$type>> for Values<'_> {
            fn from(list: Vec<$type>) -> Self {
                Self::$variant(Cow::Owned(list))
            }
        }

        impl<'a> TryFrom<Values<'a>> for Cow<'a, [$type]> {
            type Error = Values<'a>;

            fn try_from(values: Values<'a>) -> Result<Self, Values<'a>> {
                match values {
                    Values::$variant(list) => Ok(list),
                    other => Err(other),
                }
            }
        }
    )*};
}

from!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64);

impl Values<'_> {
    /// A column of texts, none of them missing.
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Text(texts.into_iter().map(|text| Some(text.into())).collect())
    }

    /// Number of values: rows times channels.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, list => list.len(), texts => texts.len())
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number type; `None` for texts.
    #[must_use]
    pub fn number_type(&self) -> Option<NumberType> {
        Some(match self {
            Self::Bool(_) => NumberType::Bool,
            Self::I8(_) => NumberType::I8,
            Self::I16(_) => NumberType::I16,
            Self::I32(_) => NumberType::I32,
            Self::I64(_) => NumberType::I64,
            Self::U8(_) => NumberType::U8,
            Self::U16(_) => NumberType::U16,
            Self::U32(_) => NumberType::U32,
            Self::U64(_) => NumberType::U64,
            Self::F16(_) => NumberType::F16,
            Self::F32(_) => NumberType::F32,
            Self::F64(_) => NumberType::F64,
            Self::Text(_) => return None,
        })
    }

    /// The same, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Values<'static> {
        macro_rules! owned {
            ($($variant:ident),*) => {
                match self {
                    $(Self::$variant(list) => Values::$variant(Cow::Owned(list.into_owned())),)*
                    Self::Text(texts) => Values::Text(texts),
                }
            };
        }
        owned!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64)
    }

    /// The numbers, multiplied in float64: float32 stays float32, other numbers become float64, texts stay.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::F32(list) => {
                let list = list.iter().map(|one| narrow(f64::from(*one) * factor));
                Self::from(list.collect::<Vec<_>>())
            }
            Self::Text(_) => self.clone(),
            other => {
                let list = other.to_f64().into_iter().map(|one| one * factor);
                Self::from(list.collect::<Vec<_>>())
            }
        }
    }

    /// The values of some rows of `channels` values each, in the order given.
    ///
    /// # Errors
    /// Bug: a row does not exist.
    pub fn of_rows(&self, rows: &[usize], channels: usize) -> Result<Values<'static>, WriteError> {
        let no_row = |row: usize| format!("row {row} of {} values", self.len());
        macro_rules! chosen {
            ($($variant:ident),*) => {
                match self {
                    $(Self::$variant(list) => {
                        let mut all = Vec::with_capacity(rows.len().saturating_mul(channels));
                        for &row in rows {
                            let one = row_of(list, row, channels).or_bug(no_row(row))?;
                            all.extend_from_slice(one);
                        }
                        Values::$variant(Cow::Owned(all))
                    })*
                    Self::Text(texts) => {
                        let mut all = Vec::with_capacity(rows.len().saturating_mul(channels));
                        for &row in rows {
                            let one = row_of(texts, row, channels).or_bug(no_row(row))?;
                            all.extend_from_slice(one);
                        }
                        Values::Text(all)
                    }
                }
            };
        }
        Ok(chosen!(
            Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64
        ))
    }

    /// The numbers as float64; nothing for texts. Whole numbers beyond 2^53 are rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as the documentation says")]
    pub fn to_f64(&self) -> Vec<f64> {
        macro_rules! floats {
            ($list:expr) => {
                $list.iter().map(|&value| f64::from(value)).collect()
            };
        }
        match self {
            Self::Bool(list) => list.iter().map(|&one| f64::from(u8::from(one))).collect(),
            Self::I8(list) => floats!(list),
            Self::I16(list) => floats!(list),
            Self::I32(list) => floats!(list),
            Self::I64(list) => list.iter().map(|&value| value as f64).collect(),
            Self::U8(list) => floats!(list),
            Self::U16(list) => floats!(list),
            Self::U32(list) => floats!(list),
            Self::U64(list) => list.iter().map(|&value| value as f64).collect(),
            Self::F16(list) => floats!(list),
            Self::F32(list) => floats!(list),
            Self::F64(list) => list.to_vec(),
            Self::Text(_) => Vec::new(),
        }
    }

    /// The name of the type, for messages.
    pub fn type_name(&self) -> String {
        self.number_type()
            .map_or_else(|| "text".to_owned(), |number| number.to_string())
    }

    /// The numbers as stored bytes of their own type; `None` for texts. Borrowed where memory has the same bytes.
    fn own_bytes(&self) -> Option<Cow<'_, [u8]>> {
        macro_rules! bytes {
            ($list:expr) => {
                if cfg!(target_endian = "little") {
                    Cow::Borrowed($list.as_bytes())
                } else {
                    $list.iter().flat_map(|value| value.to_le_bytes()).collect()
                }
            };
        }
        Some(match self {
            Self::Bool(list) => Cow::Borrowed(list.as_bytes()),
            Self::U8(list) => Cow::Borrowed(list),
            Self::I8(list) => Cow::Borrowed(list.as_bytes()),
            Self::I16(list) => bytes!(list),
            Self::I32(list) => bytes!(list),
            Self::I64(list) => bytes!(list),
            Self::U16(list) => bytes!(list),
            Self::U32(list) => bytes!(list),
            Self::U64(list) => bytes!(list),
            Self::F16(list) => list.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::F32(list) => bytes!(list),
            Self::F64(list) => bytes!(list),
            Self::Text(_) => return None,
        })
    }

    /// Numbers by their stored bytes: little-endian, truth values a byte each. A trailing part of a number is left out.
    ///
    /// # Cost
    /// One copy.
    #[must_use]
    pub fn of_bytes(number: NumberType, bytes: &[u8]) -> Values<'static> {
        macro_rules! numbers {
            ($type:ty) => {{
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                let numbers = numbers.iter().map(|one| <$type>::from_le_bytes(*one));
                Values::from(numbers.collect::<Vec<$type>>())
            }};
        }
        match number {
            NumberType::Bool => Values::from(bytes.iter().map(|&one| one != 0).collect::<Vec<_>>()),
            NumberType::I8 => numbers!(i8),
            NumberType::I16 => numbers!(i16),
            NumberType::I32 => numbers!(i32),
            NumberType::I64 => numbers!(i64),
            NumberType::U8 => Values::from(bytes.to_vec()),
            NumberType::U16 => numbers!(u16),
            NumberType::U32 => numbers!(u32),
            NumberType::U64 => numbers!(u64),
            NumberType::F16 => numbers!(f16),
            NumberType::F32 => numbers!(f32),
            NumberType::F64 => numbers!(f64),
        }
    }

    /// The numbers as stored bytes of `wanted`: the same type, or a float rounded or widened to another float. `None`
    /// for every other pair, where values could be lost.
    pub fn bytes_as(&self, wanted: NumberType) -> Option<Cow<'_, [u8]>> {
        if self.number_type()? == wanted {
            return self.own_bytes();
        }
        macro_rules! convert {
            ($list:expr, $to:expr) => {
                $list
                    .iter()
                    .flat_map(|&value| $to(value).to_le_bytes())
                    .collect()
            };
        }
        Some(match (self, wanted) {
            (Self::F64(list), NumberType::F32) => convert!(list, narrow),
            (Self::F64(list), NumberType::F16) => convert!(list, f16::from_f64),
            (Self::F32(list), NumberType::F64) => convert!(list, f64::from),
            (Self::F32(list), NumberType::F16) => convert!(list, f16::from_f32),
            (Self::F16(list), NumberType::F32) => convert!(list, f32::from),
            (Self::F16(list), NumberType::F64) => convert!(list, f64::from),
            _ => return None,
        })
    }
}

/// A column as a journal keeps it.
#[derive(Serialize, Deserialize)]
enum JournalColumn<'v> {
    /// The bytes of the numbers, little-endian.
    Numbers(NumberType, ciborium::Value),
    Texts(Cow<'v, [Option<String>]>),
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let numbers = self.number_type().zip(self.own_bytes());
        let kept = match (self, numbers) {
            (Self::Text(texts), _) => JournalColumn::Texts(Cow::Borrowed(texts)),
            (_, Some((number, bytes))) => JournalColumn::Numbers(number, bytes.into_owned().into()),
            (_, None) => return Err(serde::ser::Error::custom("numbers without a type")),
        };
        kept.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Values<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match JournalColumn::deserialize(from)? {
            JournalColumn::Texts(texts) => Ok(Self::Text(texts.into_owned())),
            JournalColumn::Numbers(number, ciborium::Value::Bytes(bytes))
                if bytes.len().is_multiple_of(number.size()) =>
            {
                Ok(Self::of_bytes(number, &bytes))
            }
            JournalColumn::Numbers(..) => {
                Err(serde::de::Error::custom("bytes of no whole numbers"))
            }
        }
    }
}

/// Lists of numbers as [`Values`]: one run of bytes, not one record a number.
pub mod packed {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Values;

    /// Writes a list.
    pub fn serialize<'v, T, S>(list: &'v [T], to: S) -> Result<S::Ok, S::Error>
    where
        Values<'v>: From<&'v [T]>,
        S: Serializer,
    {
        Values::from(list).serialize(to)
    }

    /// Reads a list.
    pub fn deserialize<'de, 'a, T, D>(from: D) -> Result<Cow<'a, [T]>, D::Error>
    where
        T: Clone,
        Cow<'a, [T]>: TryFrom<Values<'a>>,
        D: Deserializer<'de>,
    {
        let list = Cow::try_from(Values::deserialize(from)?);
        list.map_err(|_| serde::de::Error::custom("numbers of another type"))
    }
}

#[cfg(test)]
mod tests {
    use super::Values;
    use crate::values::number::NumberType;

    #[test]
    fn floats_convert_and_nothing_else_does() {
        let values = Values::from(vec![1.5_f64, 0.1]);
        let bytes = values.bytes_as(NumberType::F32).unwrap();
        assert_eq!(
            *bytes,
            [1.5_f32.to_le_bytes(), 0.1_f32.to_le_bytes()].concat()
        );
        assert_eq!(values.bytes_as(NumberType::I32), None);
        assert_eq!(Values::from(vec![1_i32]).bytes_as(NumberType::I64), None);
        assert_eq!(
            Values::from(vec![true]).bytes_as(NumberType::Bool),
            Some(vec![1].into())
        );
        assert_eq!(Values::texts(["a"]).bytes_as(NumberType::U8), None);
    }
}

//! Columns of values, as callers pass them.

use std::borrow::Cow;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array, LargeStringArray};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use half::f16;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zvf_store::nearest_f16;

use crate::WriteError;
use crate::error::OrBug;
use crate::records::record::row_of;
use crate::values::number::{NumberType, narrow};

/// A column: numbers row by row, or texts, in Arrow buffers. Clones share the values.
///
/// # Shape
/// A column of `rows` rows with `channels` numbers each is one flat list, in which the channels of a row are consecutive.
///
/// # Cost
/// None for a `Vec` of numbers and for a column of an Arrow table; one copy of a slice, of booleans and of texts.
///
/// # Examples
///
/// ```
/// use zvf_encode::Values;
///
/// let positions = [0.5_f32, 1.0, 2.0, 3.5, 4.0, 5.0];
/// assert_eq!(Values::from(&positions[..]).len(), 6);
/// assert_eq!(Values::texts(["axon", "dendrite"]).len(), 2);
/// assert_eq!(Values::optional_texts([Some("axon"), None]).len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Booleans.
    Bool(BooleanBuffer),
    /// Signed, 8 bits.
    I8(ScalarBuffer<i8>),
    /// Signed, 16 bits.
    I16(ScalarBuffer<i16>),
    /// Signed, 32 bits.
    I32(ScalarBuffer<i32>),
    /// Signed, 64 bits.
    I64(ScalarBuffer<i64>),
    /// Unsigned, 8 bits.
    U8(ScalarBuffer<u8>),
    /// Unsigned, 16 bits.
    U16(ScalarBuffer<u16>),
    /// Unsigned, 32 bits.
    U32(ScalarBuffer<u32>),
    /// Unsigned, 64 bits.
    U64(ScalarBuffer<u64>),
    /// IEEE binary16.
    F16(ScalarBuffer<f16>),
    /// IEEE binary32.
    F32(ScalarBuffer<f32>),
    /// IEEE binary64.
    F64(ScalarBuffer<f64>),
    /// Texts; a null is a missing text.
    Text(LargeStringArray),
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<&[$type]> for Values {
            fn from(list: &[$type]) -> Self {
                list.to_vec().into()
            }
        }

        impl From<&Vec<$type>> for Values {
            fn from(list: &Vec<$type>) -> Self {
                list.clone().into()
            }
        }

        impl From<Vec<$type>> for Values {
            fn from(list: Vec<$type>) -> Self {
                Self::$variant(list.into())
            }
        }
    )*};
}

from!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64);

macro_rules! buffers {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<ScalarBuffer<$type>> for Values {
            fn from(list: ScalarBuffer<$type>) -> Self {
                Self::$variant(list)
            }
        }

        impl TryFrom<Values> for ScalarBuffer<$type> {
            type Error = Values;

            fn try_from(values: Values) -> Result<Self, Values> {
                match values {
                    Values::$variant(list) => Ok(list),
                    other => Err(other),
                }
            }
        }
    )*};
}

buffers!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64);

impl Values {
    /// A column of texts, none of them missing.
    pub fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::optional_texts(texts.into_iter().map(Some))
    }

    /// A column of texts; `None` is missing.
    pub fn optional_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = Option<T>>) -> Self {
        Self::Text(texts.into_iter().collect())
    }

    /// Number of values: rows times channels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(list) => list.len(),
            Self::I8(list) => list.len(),
            Self::I16(list) => list.len(),
            Self::I32(list) => list.len(),
            Self::I64(list) => list.len(),
            Self::U8(list) => list.len(),
            Self::U16(list) => list.len(),
            Self::U32(list) => list.len(),
            Self::U64(list) => list.len(),
            Self::F16(list) => list.len(),
            Self::F32(list) => list.len(),
            Self::F64(list) => list.len(),
            Self::Text(texts) => texts.len(),
        }
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

    /// The numbers times `factor`, computed in float64. float32 stays float32, other numbers become float64; texts are unchanged.
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

    /// The values of several columns of one type, one after another; `None` if there are no columns, or if their types differ.
    pub fn concat<'v>(parts: impl IntoIterator<Item = &'v Self, IntoIter: Clone>) -> Option<Self> {
        let parts = parts.into_iter();
        let Some(number) = parts.clone().next()?.number_type() else {
            let mut texts = LargeStringBuilder::new();
            for part in parts {
                let Self::Text(part) = part else { return None };
                texts.extend(part.iter());
            }
            return Some(Self::Text(texts.finish()));
        };
        let mut bytes = Vec::new();
        for part in parts {
            let own = part
                .own_bytes()
                .filter(|_| part.number_type() == Some(number));
            bytes.extend_from_slice(&own?);
        }
        Some(Self::of_bytes(number, &bytes))
    }

    /// The values of some rows of `channels` values each, in the order of `rows`.
    ///
    /// # Errors
    /// Bug: a row does not exist.
    pub fn of_rows(&self, rows: &[usize], channels: usize) -> Result<Self, WriteError> {
        fn chosen<T: Copy>(
            list: &[T],
            rows: &[usize],
            channels: usize,
        ) -> Result<Vec<T>, WriteError> {
            let mut all = Vec::with_capacity(rows.len().saturating_mul(channels));
            for &row in rows {
                let one = row_of(list, row, channels);
                all.extend_from_slice(one.or_bug(format!("row {row} of {} values", list.len()))?);
            }
            Ok(all)
        }
        // Booleans and texts are not slices: their indices are checked before they are read.
        let places = || {
            let mut places = Vec::with_capacity(rows.len().saturating_mul(channels));
            for &row in rows {
                let start = row.checked_mul(channels);
                let end = start.and_then(|start| start.checked_add(channels));
                let range = start.zip(end).filter(|(_, end)| *end <= self.len());
                let (start, end) = range.or_bug(format!("row {row} of {} values", self.len()))?;
                places.extend(start..end);
            }
            Ok::<_, WriteError>(places.into_iter())
        };
        Ok(match self {
            Self::Bool(list) => Self::Bool(places()?.map(|at| list.value(at)).collect()),
            Self::I8(list) => chosen(list, rows, channels)?.into(),
            Self::I16(list) => chosen(list, rows, channels)?.into(),
            Self::I32(list) => chosen(list, rows, channels)?.into(),
            Self::I64(list) => chosen(list, rows, channels)?.into(),
            Self::U8(list) => chosen(list, rows, channels)?.into(),
            Self::U16(list) => chosen(list, rows, channels)?.into(),
            Self::U32(list) => chosen(list, rows, channels)?.into(),
            Self::U64(list) => chosen(list, rows, channels)?.into(),
            Self::F16(list) => chosen(list, rows, channels)?.into(),
            Self::F32(list) => chosen(list, rows, channels)?.into(),
            Self::F64(list) => chosen(list, rows, channels)?.into(),
            Self::Text(texts) => Self::optional_texts(
                places()?.map(|at| texts.is_valid(at).then(|| texts.value(at))),
            ),
        })
    }

    /// The numbers as float64; empty for texts. Whole numbers beyond 2^53 are rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as the documentation says")]
    pub fn to_f64(&self) -> Vec<f64> {
        macro_rules! floats {
            ($list:expr) => {
                $list.iter().map(|&value| f64::from(value)).collect()
            };
        }
        match self {
            Self::Bool(list) => list.iter().map(|one| f64::from(u8::from(one))).collect(),
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

    /// The numbers as stored bytes of their own type; `None` for texts. Borrowed on little-endian machines, except for booleans.
    fn own_bytes(&self) -> Option<Cow<'_, [u8]>> {
        macro_rules! bytes {
            ($list:expr) => {
                if cfg!(target_endian = "little") {
                    Cow::Borrowed($list.inner().as_slice())
                } else {
                    $list.iter().flat_map(|value| value.to_le_bytes()).collect()
                }
            };
        }
        Some(match self {
            Self::Bool(list) => list.iter().map(u8::from).collect(),
            Self::I8(list) => bytes!(list),
            Self::I16(list) => bytes!(list),
            Self::I32(list) => bytes!(list),
            Self::I64(list) => bytes!(list),
            Self::U8(list) => bytes!(list),
            Self::U16(list) => bytes!(list),
            Self::U32(list) => bytes!(list),
            Self::U64(list) => bytes!(list),
            Self::F16(list) => bytes!(list),
            Self::F32(list) => bytes!(list),
            Self::F64(list) => bytes!(list),
            Self::Text(_) => return None,
        })
    }

    /// Numbers from their stored bytes: little-endian, one byte per boolean. A trailing incomplete number is ignored.
    ///
    /// # Cost
    /// One copy.
    #[must_use]
    pub fn of_bytes(number: NumberType, bytes: &[u8]) -> Values {
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

    /// The numbers as stored bytes of `wanted`: the same type, or a float rounded or widened to another float. `None` for every other pair, because
    /// values could be lost.
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
            (Self::F64(list), NumberType::F16) => convert!(list, nearest_f16),
            (Self::F32(list), NumberType::F64) => convert!(list, f64::from),
            (Self::F32(list), NumberType::F16) => convert!(list, f16::from_f32),
            (Self::F16(list), NumberType::F32) => convert!(list, f32::from),
            (Self::F16(list), NumberType::F64) => convert!(list, f64::from),
            _ => return None,
        })
    }
}

/// A column as it is serialized in a journal.
#[derive(Serialize, Deserialize)]
enum JournalColumn<'v> {
    /// The bytes of the numbers, little-endian.
    Numbers(NumberType, ciborium::Value),
    Texts(Vec<Option<Cow<'v, str>>>),
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let numbers = self.number_type().zip(self.own_bytes());
        let kept = match (self, numbers) {
            (Self::Text(texts), _) => {
                JournalColumn::Texts(texts.iter().map(|text| text.map(Cow::Borrowed)).collect())
            }
            (_, Some((number, bytes))) => JournalColumn::Numbers(number, bytes.into_owned().into()),
            (_, None) => return Err(serde::ser::Error::custom("numbers without a type")),
        };
        kept.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match JournalColumn::deserialize(from)? {
            JournalColumn::Texts(texts) => Ok(Self::optional_texts(texts)),
            JournalColumn::Numbers(number, ciborium::Value::Bytes(bytes))
                if bytes.len().is_multiple_of(number.size()) =>
            {
                Ok(Self::of_bytes(number, &bytes))
            }
            JournalColumn::Numbers(..) => {
                Err(serde::de::Error::custom("bytes of an incomplete number"))
            }
        }
    }
}

/// Serializes lists of numbers as [`Values`]: as one byte string instead of one item per number.
pub mod packed {
    use std::ops::Deref;

    use arrow_buffer::{ArrowNativeType, ScalarBuffer};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Values;

    /// Writes a list.
    pub fn serialize<T, S>(list: &impl Deref<Target = [T]>, to: S) -> Result<S::Ok, S::Error>
    where
        for<'v> Values: From<&'v [T]>,
        S: Serializer,
    {
        Values::from(&**list).serialize(to)
    }

    /// Reads a list.
    pub fn deserialize<'de, T, L, D>(from: D) -> Result<L, D::Error>
    where
        T: ArrowNativeType,
        L: Deref<Target = [T]> + From<Vec<T>>,
        ScalarBuffer<T>: TryFrom<Values>,
        D: Deserializer<'de>,
    {
        let list = ScalarBuffer::try_from(Values::deserialize(from)?);
        let list = list.map_err(|_| serde::de::Error::custom("numbers of another type"))?;
        Ok(Vec::from(list).into())
    }
}

#[cfg(test)]
mod tests {
    use super::Values;
    use crate::WriteError;
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

    #[test]
    fn rows_are_chosen_and_columns_joined_in_every_form() {
        let texts = Values::optional_texts([Some("a"), None, Some(""), Some("d")]);
        let bools = Values::from(vec![true, false, false, true]);
        let numbers = Values::from(vec![1_u16, 2, 3, 4]);
        let wanted = Values::optional_texts([Some(""), Some("d"), Some("a"), None]);
        assert_eq!(texts.of_rows(&[1, 0], 2).unwrap(), wanted);
        let wanted = Values::from(vec![false, true, true, false]);
        assert_eq!(bools.of_rows(&[1, 0], 2).unwrap(), wanted);
        let wanted = Values::from(vec![3_u16, 4, 1, 2]);
        assert_eq!(numbers.of_rows(&[1, 0], 2).unwrap(), wanted);
        for values in [&texts, &bools, &numbers] {
            for row in [2, usize::MAX] {
                let error = values.of_rows(&[0, row], 2).unwrap_err();
                assert!(matches!(error, WriteError::Bug { .. }), "{error}");
            }
        }
        let wanted = Values::optional_texts([Some("a"), None, Some(""), Some("d"), Some("e")]);
        assert_eq!(
            Values::concat([&texts, &Values::texts(["e"])]),
            Some(wanted)
        );
        let wanted = Values::from(vec![true, false, false, true, true]);
        assert_eq!(
            Values::concat([&bools, &Values::from(vec![true])]),
            Some(wanted)
        );
        assert_eq!(Values::concat([&numbers, &bools]), None);
        assert_eq!(Values::concat([&texts, &numbers]), None);
        assert_eq!(Values::concat([]), None);
    }

    #[test]
    fn a_journal_returns_the_same_values() {
        for values in [
            Values::optional_texts([Some("größe"), None, Some("")]),
            Values::from(vec![true, false, true]),
            Values::from(vec![-1_i64, i64::MIN]),
            Values::from(vec![0.5_f32, -0.0]),
            Values::texts::<&str>([]),
        ] {
            let mut bytes = Vec::new();
            ciborium::into_writer(&values, &mut bytes).unwrap();
            let back: Values = ciborium::from_reader(&*bytes).unwrap();
            assert_eq!(back, values);
        }
    }
}

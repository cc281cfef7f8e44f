//! Values converted to the type of an attribute.

use arrow_array::{Array, LargeStringArray};
use half::f16;

use crate::WriteError;
use crate::spec::store::{AttributeSpec, AttributeType};
use crate::values::column::Values;
use crate::values::number::{NumberType, narrow};
use zvf_meta::moments::MISSING;

impl AttributeType {
    /// Fails for texts; the error is the expected type.
    pub(crate) fn numbers_only(self) -> Result<(), &'static str> {
        self.number().map(|_| ()).ok_or("a number type")
    }

    /// The type of the numbers; `None` for texts.
    #[must_use]
    pub const fn number(self) -> Option<NumberType> {
        match self {
            Self::Number(number) => Some(number),
            Self::Category | Self::Text => None,
        }
    }

    /// The name of the type, for messages.
    pub fn name(self) -> String {
        let number = self.number();
        number.map_or_else(|| "text".to_owned(), |number| number.to_string())
    }
}

impl Values {
    /// The values converted to the type of an attribute. Conversion is exact, except that floats are rounded to shorter floats. For an attribute of
    /// texts, whole numbers become texts.
    ///
    /// # Errors
    /// Misuse: a number that the type cannot represent; floats or booleans for an attribute of texts; texts for a number type.
    pub fn fitted(&self, one: &AttributeSpec) -> Result<Values, WriteError> {
        let fitted = match (self, one.values) {
            (numbers, AttributeType::Number(number)) => numbers.exactly(number),
            (Values::Text(_), _) => Some(self.clone()),
            (numbers, _) => {
                let whole = numbers.whole();
                whole.map(|list| Values::texts(list.iter().map(ToString::to_string)))
            }
        };
        fitted.ok_or_else(|| {
            let found = match self.first_unfit(one.values) {
                Some(value) => format!("{value} of {}", self.type_name()),
                None => format!("values of {}", self.type_name()),
            };
            WriteError::input(
                format!("attribute {}", one.name),
                found,
                format!("values that {} holds without loss", one.values.name()),
            )
        })
    }

    /// The first number that the type cannot represent; `None` if the type is text, or the values are texts or booleans.
    fn first_unfit(&self, wanted: AttributeType) -> Option<String> {
        let AttributeType::Number(wanted) = wanted else {
            return None;
        };
        let bits = 8 * wanted.size();
        let range = match wanted {
            NumberType::Bool => None,
            NumberType::I8 | NumberType::I16 | NumberType::I32 | NumberType::I64 => {
                let end = 1_i128 << (bits - 1);
                Some(-end..end)
            }
            _ => Some(0..1_i128 << bits),
        };
        let fits = |number: &i128| match wanted.is_float() {
            true => float(*number, wanted).is_some(),
            false => range.as_ref().is_some_and(|range| range.contains(number)),
        };
        if let Some(whole) = self.whole() {
            let found = whole.into_iter().find(|number| !fits(number));
            return found.map(|number| number.to_string());
        }
        let at = match wanted.is_float() {
            true => self.first_beyond(wanted)?,
            false => self
                .floats_as_whole()?
                .iter()
                .position(|number| !number.as_ref().is_some_and(fits))?,
        };
        let number = self.to_f64().get(at).copied()?;
        Some(match self {
            Values::F64(_) => number.to_string(),
            // With the digits of the shorter type.
            _ => narrow(number).to_string(),
        })
    }

    /// A column of `rows` missing values of an attribute.
    ///
    /// # Errors
    /// Misuse: a type in which a value cannot be missing.
    pub fn absent(one: &AttributeSpec, rows: usize) -> Result<Values, WriteError> {
        match one.values {
            AttributeType::Category | AttributeType::Text => {
                Ok(Values::Text(LargeStringArray::new_null(rows)))
            }
            AttributeType::Number(NumberType::F16) => Ok(vec![f16::NAN; rows].into()),
            AttributeType::Number(NumberType::F32) => Ok(vec![f32::NAN; rows].into()),
            AttributeType::Number(NumberType::F64) => Ok(vec![f64::NAN; rows].into()),
            AttributeType::Number(NumberType::I64) if one.has_moments() => {
                Ok(vec![MISSING; rows].into())
            }
            _ => {
                let expected = format!("values: {} cannot be missing", one.values.name());
                Err(WriteError::input(
                    format!("attribute {}", one.name),
                    "none",
                    expected,
                ))
            }
        }
    }

    /// The numbers in another type; `None` if it cannot represent all of them. Floats are rounded to shorter floats, unless a finite one would become
    /// infinite. Floats with whole values become integers (-0.0 becomes 0), unless another integer is rounded to the same float.
    pub fn exactly(&self, wanted: NumberType) -> Option<Self> {
        if self.number_type() == Some(wanted) {
            return Some(self.clone());
        }
        if let Some(bytes) = self.bytes_as(wanted) {
            return self
                .first_beyond(wanted)
                .is_none()
                .then(|| Values::of_bytes(wanted, &bytes));
        }
        if matches!(self, Values::Text(list) if list.is_empty()) {
            return Some(Values::of_bytes(wanted, &[]));
        }
        let whole = self.whole().or_else(|| self.whole_floats())?;
        macro_rules! whole {
            ($type:ty) => {{
                let list: Option<Vec<$type>> = whole
                    .iter()
                    .map(|number| <$type>::try_from(*number).ok())
                    .collect();
                list.map(Values::from)
            }};
        }
        match wanted {
            NumberType::Bool => None,
            NumberType::I8 => whole!(i8),
            NumberType::I16 => whole!(i16),
            NumberType::I32 => whole!(i32),
            NumberType::I64 => whole!(i64),
            NumberType::U8 => whole!(u8),
            NumberType::U16 => whole!(u16),
            NumberType::U32 => whole!(u32),
            NumberType::U64 => whole!(u64),
            NumberType::F16 | NumberType::F32 | NumberType::F64 => {
                let floats: Option<Vec<f64>> =
                    whole.iter().map(|number| float(*number, wanted)).collect();
                let floats = Values::from(floats?);
                let bytes = floats.bytes_as(wanted)?;
                Some(Values::of_bytes(wanted, &bytes))
            }
        }
    }

    /// The index of the first finite float that becomes infinite in a shorter type of floats.
    pub fn first_beyond(&self, wanted: NumberType) -> Option<usize> {
        match (self, wanted) {
            (Values::F64(list), NumberType::F32) => list
                .iter()
                .position(|given| given.is_finite() && narrow(*given).is_infinite()),
            (Values::F64(list), NumberType::F16) => list.iter().position(|given| {
                given.is_finite() && zvf_store::nearest_f16(*given).is_infinite()
            }),
            (Values::F32(list), NumberType::F16) => list
                .iter()
                .position(|given| given.is_finite() && f16::from_f32(*given).is_infinite()),
            _ => None,
        }
    }

    /// The integers; `None` for floats, booleans and texts.
    fn whole(&self) -> Option<Vec<i128>> {
        macro_rules! widen {
            ($list:expr) => {
                $list.iter().map(|number| i128::from(*number)).collect()
            };
        }
        Some(match self {
            Values::I8(list) => widen!(list),
            Values::I16(list) => widen!(list),
            Values::I32(list) => widen!(list),
            Values::I64(list) => widen!(list),
            Values::U8(list) => widen!(list),
            Values::U16(list) => widen!(list),
            Values::U32(list) => widen!(list),
            Values::U64(list) => widen!(list),
            _ => return None,
        })
    }

    /// The floats as integers (-0.0 as 0); `None` unless all are whole and so small that no other integer is rounded to the same float.
    fn whole_floats(&self) -> Option<Vec<i128>> {
        self.floats_as_whole()?.into_iter().collect()
    }

    /// Each float as an integer, or `None` if [`Self::whole_floats`] does not accept it. Returns `None` if the values are not floats.
    fn floats_as_whole(&self) -> Option<Vec<Option<i128>>> {
        let limit = match self.number_type()? {
            NumberType::F16 => f64::from(1 << 11),
            NumberType::F32 => f64::from(1 << 24),
            NumberType::F64 => 9_007_199_254_740_992.0,
            _ => return None,
        };
        let bytes = self.bytes_as(NumberType::F64)?;
        let (floats, _) = bytes.as_chunks::<8>();
        let floats = floats.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let whole = |one: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            let number = i128::from(one as i64);
            (one.fract() == 0.0 && one.abs() < limit).then_some(number)
        };
        Some(floats.map(whole).collect())
    }
}

/// A whole number as a float, if the float type can represent it.
fn float(number: i128, wanted: NumberType) -> Option<f64> {
    // The binary digits of the type, and the most bits of an integer in its range. 127 means no limit: the integers here have at most 64 bits.
    let (digits, end) = match wanted {
        NumberType::F16 => (11, 16),
        NumberType::F32 => (24, 127),
        _ => (53, 127),
    };
    let size = number.unsigned_abs();
    let bits = u128::BITS - size.leading_zeros();
    let held = size == 0 || bits - size.trailing_zeros() <= digits && bits <= end;
    // Exact: at most 53 digits.
    held.then_some(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value_or_are_refused() {
        let ints = Values::from(vec![-3_i64, 0, 70_000]);
        assert_eq!(
            ints.exactly(NumberType::F32),
            Some(Values::from(vec![-3.0_f32, 0.0, 70_000.0]))
        );
        assert_eq!(
            ints.exactly(NumberType::I32),
            Some(Values::from(vec![-3_i32, 0, 70_000]))
        );
        assert_eq!(ints.exactly(NumberType::U32), None);
        assert_eq!(ints.exactly(NumberType::I16), None);
        assert_eq!(ints.exactly(NumberType::F16), None);
        // Zeros at the end need no digits.
        let half = Values::from(vec![4096_i32, 65_504, -65_504]);
        let wanted = half.exactly(NumberType::F16).unwrap().to_f64();
        assert_eq!(wanted, [4096.0, 65_504.0, -65_504.0]);
        for over in [4097_i32, 65_520, 65_536] {
            assert_eq!(Values::from(vec![over]).exactly(NumberType::F16), None);
        }
        let single = Values::from(vec![33_554_432_i64, 16_777_218, i64::MIN]);
        let wanted = single.exactly(NumberType::F32).unwrap().to_f64();
        assert_eq!(
            wanted,
            [33_554_432.0, 16_777_218.0, -9_223_372_036_854_775_808.0]
        );
        let beyond = Values::from(vec![1_u64, (1 << 63) + 5]);
        let refused = beyond.fitted(&AttributeSpec::number("v", NumberType::I64));
        let told = refused.unwrap_err().to_string();
        assert!(
            told.contains("found 9223372036854775813 of uint64"),
            "{told}"
        );
        let large = Values::from(vec![(1_i64 << 53) + 1]);
        assert_eq!(large.exactly(NumberType::F64), None);
        let exact = Values::from(vec![-(1_i64 << 53), (1 << 53) - 1]);
        let floats = vec![-9_007_199_254_740_992.0_f64, 9_007_199_254_740_991.0];
        assert_eq!(exact.exactly(NumberType::F64), Some(Values::from(floats)));
        assert_eq!(
            Values::from(vec![(1_i32 << 24) + 1]).exactly(NumberType::F32),
            None
        );
        assert_eq!(Values::from(vec![1e39_f64]).exactly(NumberType::F32), None);
        assert_eq!(
            Values::from(vec![70_000.0_f32]).exactly(NumberType::F16),
            None
        );
        let all = [f64::INFINITY, f64::NEG_INFINITY, 1e-60, 3e38];
        let narrow = Values::from(all.to_vec()).exactly(NumberType::F32);
        let wanted = [f32::INFINITY, f32::NEG_INFINITY, 0.0, 3e38];
        assert_eq!(narrow, Some(Values::from(wanted.to_vec())));
        assert_eq!(
            Values::from(vec![0.5_f64]).exactly(NumberType::F32),
            Some(Values::from(vec![0.5_f32]))
        );
        let whole = Values::from(vec![1.0_f32, -16_777_215.0, 0.0, -0.0]);
        let wanted = Some(Values::from(vec![1_i32, -16_777_215, 0, 0]));
        assert_eq!(whole.exactly(NumberType::I32), wanted);
        assert_eq!(whole.exactly(NumberType::I16), None);
        // 16777216 may be the rounded 2^24 + 1.
        for no in [16_777_216.0_f32, 0.5, f32::NAN, f32::INFINITY] {
            assert_eq!(
                Values::from(vec![no]).exactly(NumberType::I64),
                None,
                "{no}"
            );
        }
        let large = Values::from(vec![16_777_217.0_f64, 9_007_199_254_740_991.0]);
        assert_eq!(
            large.exactly(NumberType::U64),
            Some(Values::from(vec![16_777_217_u64, 9_007_199_254_740_991]))
        );
        let large = Values::from(vec![9_007_199_254_740_992.0_f64]);
        assert_eq!(large.exactly(NumberType::I64), None);
        assert_eq!(Values::from(vec![true]).exactly(NumberType::I32), None);
        for (given, number, want) in [
            (vec![-0.0_f64, 0.1], NumberType::I8, "found 0.1 of float64"),
            (vec![3.0, -1.0], NumberType::U8, "found -1 of float64"),
            (
                vec![0.5, 1e39],
                NumberType::F32,
                "found 1000000000000000000000000000000000000000 of float64",
            ),
        ] {
            let refused = Values::from(given).fitted(&AttributeSpec::number("v", number));
            let told = refused.unwrap_err().to_string();
            assert!(told.contains(want), "{told}");
        }
        let refused =
            Values::from(vec![-0.0_f32, 0.1]).fitted(&AttributeSpec::number("v", NumberType::I8));
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("found 0.1 of float32"), "{told}");
    }
}

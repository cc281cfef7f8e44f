//! The values that split chunks of an existing store: those that its level lists, in that order, followed by new ones.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{ChunkSplit, SplitKeys, Unkeyed, check_count};
use crate::WriteError;
use crate::spec::store::{AttributeSpec, AttributeType};
use crate::values::column::Values;
use crate::values::number::NumberType;
use zvf_format::int::signed;

/// The common type of the values of a list; `None` if they are not all booleans, integers or texts.
fn type_of(list: &[Value]) -> Option<AttributeType> {
    let number = if list.iter().all(Value::is_string) {
        return Some(AttributeType::Category);
    } else if list.iter().all(Value::is_boolean) {
        NumberType::Bool
    } else if list.iter().all(Value::is_i64) {
        NumberType::I64
    } else if list.iter().all(Value::is_u64) {
        NumberType::U64
    } else {
        return None;
    };
    Some(AttributeType::Number(number))
}

/// Whether an attribute of a type can have the values of a list.
fn holds(declared: AttributeType, listed: AttributeType) -> bool {
    match (declared, listed) {
        (AttributeType::Category, AttributeType::Category) => true,
        (AttributeType::Number(declared), AttributeType::Number(listed)) => {
            !declared.is_float()
                && (declared == NumberType::Bool) == (listed == NumberType::Bool)
                && (declared == NumberType::U64 || listed != NumberType::U64)
        }
        _ => false,
    }
}

/// Whether a number type can hold a value of a list.
fn fits(number: NumberType, value: &Value) -> bool {
    let code = whole(value);
    let bytes: Vec<u8> = code.to_le_bytes().into_iter().take(number.size()).collect();
    let back = super::whole(&Values::of_bytes(number, &bytes), number);
    back == Some(vec![code]) && (number != NumberType::U64 || !value.is_i64() || value.is_u64())
}

impl SplitKeys {
    /// The values that a level lists, and their attribute. `attribute` states name, unit and description; the type is the one that the root declares,
    /// or the type of the listed values if the declared one does not fit them.
    ///
    /// # Errors
    /// A description of values that cannot split chunks: floats, a mixture, a value twice.
    pub fn listed(
        mut attribute: AttributeSpec,
        declared: Option<AttributeType>,
        list: &[Value],
    ) -> Result<(AttributeSpec, Self), String> {
        let listed = type_of(list)
            .ok_or("values that are not all booleans, all whole numbers or all texts")?;
        let all = |declared| match declared {
            AttributeType::Number(number) => list.iter().all(|value| fits(number, value)),
            AttributeType::Category | AttributeType::Text => true,
        };
        attribute.values = declared
            .filter(|declared| holds(*declared, listed) && all(*declared))
            .unwrap_or(listed);
        if attribute.has_moments() && attribute.values.number() != Some(NumberType::I64) {
            attribute.unit = None;
        }
        let mut keys = Self::new(&attribute, None);
        let mut split = ChunkSplit {
            ranks: HashMap::new(),
            values: list.to_vec(),
        };
        for (value, rank) in list.iter().zip(0..) {
            let before = match value {
                Value::String(text) => keys.texts.insert(text.clone(), rank),
                _ => None,
            };
            let code = if value.is_string() {
                rank
            } else {
                whole(value)
            };
            if before.or(split.ranks.insert(code, rank)).is_some() {
                return Err(format!("{value} twice"));
            }
        }
        keys.known = Some(split);
        Ok((attribute, keys))
    }

    /// The values, by rank.
    pub fn values(&self) -> &[Value] {
        self.known.as_ref().map_or(&[], |known| &known.values)
    }

    /// Adds new values of a column after the known ones, so that no chunk key changes.
    ///
    /// # Errors
    /// [`Unkeyed`]: the first value that cannot be a key. Limit: too many values.
    pub fn learn(&mut self, values: &Values) -> Result<Result<(), Unkeyed>, WriteError> {
        let Some(mut known) = self.known.take() else {
            return Ok(Ok(()));
        };
        let codes = self.codes(values);
        let new = codes.map(|codes| {
            let new = codes.into_iter();
            let new: BTreeSet<i64> = new.filter(|code| !known.ranks.contains_key(code)).collect();
            self.ranked(new)
        });
        let learnt = new.map(|new| {
            let first = signed(known.values.len());
            let ranks = new.ranks.into_iter();
            known
                .ranks
                .extend(ranks.map(|(code, rank)| (code, first + rank)));
            known.values.extend(new.values);
        });
        let count = known.values.len();
        self.known = Some(known);
        check_count(count)?;
        Ok(learnt)
    }
}

/// A boolean or a whole number as the number in keys.
fn whole(value: &Value) -> i64 {
    let wide = || Some(value.as_u64()?.cast_signed());
    match value {
        Value::Bool(flag) => i64::from(*flag),
        value => value.as_i64().or_else(wide).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(list: Value) -> Result<(AttributeSpec, SplitKeys), String> {
        SplitKeys::listed(AttributeSpec::category("k"), None, list.as_array().unwrap())
    }

    #[test]
    fn values_keep_their_places_and_new_ones_come_behind() {
        let (attribute, mut keys) = listed(json!(["m", "a"])).unwrap();
        assert_eq!(attribute.values, AttributeType::Category);
        let column = Values::texts(["z", "a", "b", "z"]);
        assert!(keys.codes(&column).is_err());
        keys.learn(&column).unwrap().unwrap();
        assert_eq!(
            keys.values(),
            json!(["m", "a", "b", "z"]).as_array().unwrap()
        );
        assert_eq!(keys.codes(&column).unwrap(), [3, 1, 2, 3]);
        assert_eq!(keys.codes(&Values::texts(["z", "m"])).unwrap(), [3, 0]);
        assert!(
            keys.learn(&Values::optional_texts::<&str>([None]))
                .unwrap()
                .is_err()
        );
        assert_eq!(keys.values().len(), 4);
    }

    #[test]
    fn numbers_keep_their_type_and_range() {
        let list = json!([7, u64::MAX, 0]);
        let (attribute, mut keys) = listed(list).unwrap();
        assert_eq!(attribute.values, AttributeType::Number(NumberType::U64));
        keys.learn(&vec![u64::MAX, 1 << 63, 9].into())
            .unwrap()
            .unwrap();
        assert_eq!(
            keys.values(),
            json!([7, u64::MAX, 0, 9, 1_u64 << 63]).as_array().unwrap()
        );
        let column = vec![u64::MAX, 1 << 63].into();
        assert_eq!(keys.codes(&column).unwrap(), [1, 4]);

        let int8 = AttributeType::Number(NumberType::I8);
        let list = [json!(-3), json!(5)];
        let (attribute, mut keys) =
            SplitKeys::listed(AttributeSpec::category("k"), Some(int8), &list).unwrap();
        assert_eq!(attribute.values, int8);
        assert_eq!(keys.codes(&vec![5_i8, -3].into()).unwrap(), [1, 0]);
        // The declared type cannot hold all listed values.
        for (declared, list) in [
            (NumberType::I8, [json!(300), json!(5)]),
            (NumberType::U16, [json!(-3), json!(5)]),
            (NumberType::U64, [json!(-3), json!(5)]),
        ] {
            let declared = Some(AttributeType::Number(declared));
            let (attribute, mut keys) =
                SplitKeys::listed(AttributeSpec::category("k"), declared, &list).unwrap();
            assert_eq!(attribute.values, AttributeType::Number(NumberType::I64));
            let wanted = list.iter().map(|value| value.as_i64().unwrap());
            let column = wanted.collect::<Vec<_>>().into();
            assert_eq!(keys.codes(&column).unwrap(), [0, 1]);
        }
        let (_, mut keys) = listed(json!([true, false])).unwrap();
        assert_eq!(keys.codes(&vec![true, false].into()).unwrap(), [0, 1]);
    }

    #[test]
    fn lists_that_name_no_chunks_are_told() {
        for list in [
            json!([1, 1]),
            json!(["a", "b", "a"]),
            json!([1.5]),
            json!([1, "a"]),
            json!([null]),
            json!([-1, u64::MAX]),
        ] {
            assert!(listed(list.clone()).is_err(), "{list}");
        }
    }
}

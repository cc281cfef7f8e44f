//! What the texts of a column are, and the values that they become.

use std::collections::HashSet;

use zvf_write::{AttributeType, NumberType, Values};

use crate::text::single_holds;

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
    texts: HashSet<String>,
    /// Whether there were more texts than are allowed: no matter while all are numbers.
    many: bool,
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
            texts: HashSet::new(),
            many: false,
        }
    }
}

/// Whole numbers beyond this are not all float64.
const EXACT: i128 = 1 << 53;

impl Census {
    /// Looks at a field; false where a column of texts has more different ones than allowed.
    pub(crate) fn see(&mut self, field: &str, most: u64) -> bool {
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
        if !self.many && !self.texts.contains(field) {
            if self.texts.len() as u64 >= most {
                self.many = true;
                self.texts = HashSet::new();
            } else {
                self.texts.insert(field.to_owned());
            }
        }
        !self.many || self.numbers || self.truths
    }

    /// The narrowest type that holds every field.
    pub(crate) fn decide(&self) -> Type {
        let fits = |low: i128, high: i128| low <= self.lowest && self.highest <= high;
        if self.present == 0 {
            return Type::F32;
        }
        if self.truths && self.missing == 0 {
            return Type::Bool;
        }
        if self.whole && self.missing == 0 {
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
            _ => None,
        }
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
            Self::Text => return AttributeType::Category,
        })
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
            Self::Text(list) => {
                let value = (!text.is_empty()).then(|| field.to_owned());
                add(list, Some(value))
            }
        }
    }

    pub(crate) fn into_values(self) -> Values<'static> {
        match self {
            Self::Bool(list) => list.into(),
            Self::I32(list) => list.into(),
            Self::I64(list) => list.into(),
            Self::U64(list) => list.into(),
            Self::Float(list) => list.into(),
            Self::Text(list) => Values::Text(list),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(fields: &[&str]) -> Type {
        let mut census = Census::default();
        assert!(fields.iter().all(|field| census.see(field, 100)));
        census.decide()
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
        assert_eq!(decide(&["", ""]), Type::F32);
        assert_eq!(decide(&[]), Type::F32);
    }

    #[test]
    fn many_numbers_are_fine_and_many_texts_are_not() {
        let mut census = Census::default();
        assert!((0..9).all(|number: i32| census.see(&number.to_string(), 3)));
        assert!(!census.see("text", 3));
        let mut census = Census::default();
        assert!(["a", "b", "c", "a"].iter().all(|text| census.see(text, 3)));
        assert!(!census.see("d", 3));
    }
}

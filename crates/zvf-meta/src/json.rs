//! Converts JSON values to typed members and back; errors have a JSON pointer.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::error::{MetaError, describe};

/// A JSON object: member names to values, in document order.
pub type JsonObject = Map<String, Value>;

/// The position of a value in its document. The JSON pointer is composed only when it is displayed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pointer<'a> {
    /// The whole document, or a fixed prefix such as `/attributes/zarr_vectors`.
    Prefix(&'a str),
    /// A member of an object.
    Member(&'a Pointer<'a>, &'a str),
    /// An item of an array.
    Item(&'a Pointer<'a>, usize),
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(text) => f.write_str(text),
            Self::Member(parent, name) => {
                write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
            }
            Self::Item(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// A type that can be parsed from one JSON value.
pub(crate) trait FromJson: Sized {
    /// The expected value, for messages.
    const EXPECTED: &'static str;

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError>;
}

#[cold]
fn wrong<T: FromJson>(value: &Value, at: &Pointer<'_>) -> MetaError {
    MetaError::unexpected(at, describe(value), T::EXPECTED)
}

impl FromJson for Value {
    const EXPECTED: &'static str = "a value";

    fn from_json(value: Value, _: &Pointer<'_>) -> Result<Self, MetaError> {
        Ok(value)
    }
}

impl FromJson for JsonObject {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::Object(members) => Ok(members),
            other => Err(wrong::<Self>(&other, at)),
        }
    }
}

impl FromJson for String {
    const EXPECTED: &'static str = "a string";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(wrong::<Self>(&other, at)),
        }
    }
}

impl FromJson for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(wrong::<Self>(&other, at)),
        }
    }
}

/// 2^53: f64 represents every integer up to this number exactly.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts a whole f64 to an integer; `None` for fractions, for NaN, and beyond 2^53, where digits are lost.
fn exact_i64(value: f64) -> Option<i64> {
    // The value is whole and exact, so nothing is rounded.
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

/// Reads an integer that may be written as a float (`3.0`), as some JSON writers do.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_u64() {
        return Some(i128::from(value));
    }
    if let Some(value) = number.as_i64() {
        return Some(i128::from(value));
    }
    number.as_f64().and_then(exact_i64).map(i128::from)
}

macro_rules! integers {
    ($($type:ty, $expected:literal;)*) => {$(
        impl FromJson for $type {
            const EXPECTED: &'static str = $expected;

            fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
                let number = match &value {
                    Value::Number(number) => integer(number),
                    _ => None,
                };
                number
                    .and_then(|number| <$type>::try_from(number).ok())
                    .ok_or_else(|| wrong::<Self>(&value, at))
            }
        }

        impl ToJson for $type {
            fn to_json(&self) -> Value {
                Value::from(*self)
            }
        }
    )*};
}

integers! {
    u32, "an integer of 0 to 4294967295";
    u64, "an integer of 0 or more";
    i32, "a 32-bit integer";
    i64, "a 64-bit integer";
}

impl FromJson for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        float(&value).ok_or_else(|| wrong::<Self>(&value, at))
    }
}

/// Reads a number, or one of the texts `NaN`, `Infinity`, `-Infinity` of Zarr v3.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    const EXPECTED: &'static str = "an array";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| T::from_json(item, &Pointer::Item(at, index)))
                .collect(),
            other => Err(wrong::<Self>(&other, at)),
        }
    }
}

impl<T: FromJson> FromJson for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::Null => Ok(None),
            other => T::from_json(other, at).map(Some),
        }
    }
}

/// A type that can be written as one JSON value.
pub(crate) trait ToJson {
    fn to_json(&self) -> Value;
}

impl ToJson for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }
}

impl ToJson for JsonObject {
    fn to_json(&self) -> Value {
        Value::Object(self.clone())
    }
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::String(self.to_owned())
    }
}

impl ToJson for bool {
    fn to_json(&self) -> Value {
        Value::Bool(*self)
    }
}

impl ToJson for f64 {
    fn to_json(&self) -> Value {
        match Number::from_f64(*self) {
            Some(number) => Value::Number(number),
            None if self.is_nan() => Value::from("NaN"),
            None if *self > 0.0 => Value::from("Infinity"),
            None => Value::from("-Infinity"),
        }
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(ToJson::to_json).collect())
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToJson::to_json)
    }
}

/// The members of one object, which are taken out one by one. The remaining members are unknown and are kept.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    map: JsonObject,
    at: &'a Pointer<'a>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(map: JsonObject, at: &'a Pointer<'a>) -> Self {
        Self { map, at }
    }

    pub(crate) fn of(value: Value, at: &'a Pointer<'a>) -> Result<Self, MetaError> {
        Ok(Self::new(JsonObject::from_json(value, at)?, at))
    }

    /// Takes a member out. Null counts as absent.
    pub(crate) fn optional<T: FromJson>(&mut self, name: &str) -> Result<Option<T>, MetaError> {
        match self.map.shift_remove(name) {
            None => Ok(None),
            Some(value) => <Option<T>>::from_json(value, &Pointer::Member(self.at, name)),
        }
    }

    /// Takes a required member out; absence and null are errors.
    pub(crate) fn required<T: FromJson>(&mut self, name: &str) -> Result<T, MetaError> {
        self.optional(name)?
            .ok_or_else(|| MetaError::missing(Pointer::Member(self.at, name), T::EXPECTED))
    }

    /// Takes a member out if it has the expected type; otherwise it stays among the unknown members.
    pub(crate) fn lenient<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        let taken = T::from_json(value.clone(), &Pointer::Member(self.at, name)).ok()?;
        self.map.shift_remove(name);
        Some(taken)
    }

    /// Returns the position of a member, for messages.
    pub(crate) fn place<'b>(&'b self, name: &'b str) -> Pointer<'b> {
        Pointer::Member(self.at, name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Members that were not taken, in document order.
    pub(crate) fn rest(self) -> JsonObject {
        self.map
    }
}

/// Builds an object with members in the order in which the reference writes them.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    map: JsonObject,
}

impl Builder {
    pub(crate) fn put<T: ToJson + ?Sized>(&mut self, name: &str, value: &T) -> &mut Self {
        self.map.insert(name.to_owned(), value.to_json());
        self
    }

    pub(crate) fn put_some<T: ToJson>(&mut self, name: &str, value: Option<&T>) -> &mut Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    /// Adds the unknown members after the known ones. A known member of the same name takes precedence.
    pub(crate) fn finish(self, extra: &JsonObject) -> JsonObject {
        let mut map = self.map;
        for (name, value) in extra {
            if !map.contains_key(name) {
                map.insert(name.clone(), value.clone());
            }
        }
        map
    }
}

/// Parses bytes as one JSON object.
pub(crate) fn parse_object(document: &'static str, bytes: &[u8]) -> Result<JsonObject, MetaError> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|source| MetaError::json(document, bytes, source))?;
    JsonObject::from_json(value, &Pointer::Prefix(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_integers_up_to_2_to_the_53() {
        assert_eq!(exact_i64(-3.0), Some(-3));
        assert_eq!(exact_i64(EXACT), Some(1 << 53));
        assert_eq!(exact_i64(EXACT * 2.0), None);
        assert_eq!(exact_i64(0.5), None);
        assert_eq!(exact_i64(f64::NAN), None);
    }
    use serde_json::json;

    #[test]
    fn pointers_are_escaped() {
        let root = Pointer::Prefix("");
        let member = Pointer::Member(&root, "a/b~c");
        assert_eq!(Pointer::Item(&member, 3).to_string(), "/a~1b~0c/3");
    }

    #[test]
    fn whole_floats_are_integers() {
        let at = Pointer::Prefix("");
        assert!(matches!(u64::from_json(json!(3.0), &at), Ok(3)));
        assert!(matches!(i64::from_json(json!(-3.0), &at), Ok(-3)));
        assert!(matches!(u64::from_json(json!(u64::MAX), &at), Ok(u64::MAX)));
        for bad in [
            json!(3.5),
            json!(-1),
            json!(1e300),
            json!("3"),
            json!(null),
            json!(true),
        ] {
            assert!(u64::from_json(bad, &at).is_err());
        }
    }

    #[test]
    fn special_floats_are_texts() {
        let at = Pointer::Prefix("");
        let list = Vec::<f64>::from_json(json!([1, 2.5, "Infinity", "-Infinity", "NaN"]), &at);
        let list = list.expect("numbers");
        assert_eq!(
            list.to_json(),
            json!([1.0, 2.5, "Infinity", "-Infinity", "NaN"])
        );
    }

    #[test]
    fn failures_name_the_place() {
        let at = Pointer::Prefix("/attributes");
        let mut members =
            Members::of(json!({"bounds": [[0, 1], [2, "x"]]}), &at).expect("an object");
        let error = members
            .required::<Vec<Vec<f64>>>("bounds")
            .expect_err("a text");
        assert_eq!(
            error.to_string(),
            "/attributes/bounds/1/1 is string \"x\", expected a number"
        );
        let error = members.required::<u64>("level").expect_err("absent");
        assert_eq!(
            error.to_string(),
            "/attributes/level is missing, expected an integer of 0 or more"
        );
    }
}

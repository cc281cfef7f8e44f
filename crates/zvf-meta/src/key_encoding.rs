//! Chunk key encodings: the names of chunk objects.

use serde_json::Value;

use crate::error::{MetaError, describe, quote};
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson};

/// The mapping from the index of a chunk to the key of its object.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEncoding {
    /// `default` (a leading `c`) or `v2` (none).
    pub scheme: KeyScheme,
    /// `/` or `.`.
    pub separator: char,
    /// Unknown members.
    pub extra: JsonObject,
}

/// The two chunk key encodings of Zarr v3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScheme {
    /// `c/0/1`, or `c` for an array without axes.
    Default,
    /// `0.1`, or `0` for an array without axes.
    V2,
}

impl Default for KeyEncoding {
    /// `default` with `/`, as in the reference implementation.
    fn default() -> Self {
        Self {
            scheme: KeyScheme::Default,
            separator: '/',
            extra: JsonObject::new(),
        }
    }
}

impl KeyEncoding {
    /// Returns the object key of a chunk, relative to the array.
    ///
    /// # Shape
    ///
    /// `index` counts chunks along each axis from the array's first cell; it is not an absolute chunk
    /// coordinate.
    #[must_use]
    pub fn object_key(&self, index: &[u64]) -> String {
        let mut key = String::with_capacity(index.len().saturating_mul(4).saturating_add(1));
        if self.scheme == KeyScheme::Default {
            key.push('c');
        }
        for (axis, part) in index.iter().enumerate() {
            if axis > 0 || self.scheme == KeyScheme::Default {
                key.push(self.separator);
            }
            key.push_str(&part.to_string());
        }
        if key.is_empty() {
            key.push('0');
        }
        key
    }
}

impl FromJson for KeyEncoding {
    const EXPECTED: &'static str = "a chunk key encoding";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let (name, mut configuration, extra) = match value {
            Value::String(name) => (name, JsonObject::new(), JsonObject::new()),
            other => {
                let mut members = Members::of(other, at)?;
                (
                    members.required("name")?,
                    members.optional("configuration")?.unwrap_or_default(),
                    members.rest(),
                )
            }
        };
        let (scheme, usual) = match name.as_str() {
            "default" => (KeyScheme::Default, '/'),
            "v2" => (KeyScheme::V2, '.'),
            _ => {
                let at = Pointer::Member(at, "name");
                return Err(MetaError::unexpected(
                    at,
                    quote(&name),
                    "\"default\" or \"v2\"",
                ));
            }
        };
        let separator = match configuration.shift_remove("separator") {
            None => usual,
            Some(Value::String(text)) if text == "/" => '/',
            Some(Value::String(text)) if text == "." => '.',
            Some(other) => {
                let at = Pointer::Member(at, "separator");
                return Err(MetaError::unexpected(
                    at,
                    describe(&other),
                    "\"/\" or \".\"",
                ));
            }
        };
        let mut extra = extra;
        if !configuration.is_empty() {
            extra.insert("configuration".to_owned(), Value::Object(configuration));
        }
        Ok(Self {
            scheme,
            separator,
            extra,
        })
    }
}

impl ToJson for KeyEncoding {
    fn to_json(&self) -> Value {
        let mut configuration = Builder::default();
        configuration.put("separator", &self.separator.to_string());
        let unknown = self
            .extra
            .get("configuration")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let mut map = Builder::default();
        map.put(
            "name",
            match self.scheme {
                KeyScheme::Default => "default",
                KeyScheme::V2 => "v2",
            },
        )
        .put("configuration", &configuration.finish(&unknown));
        Value::Object(map.finish(&self.extra))
    }
}

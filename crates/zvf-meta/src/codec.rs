//! Codec lists, and the configuration of shards.

use serde_json::Value;

use crate::error::{MetaError, describe, quote};
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson};

/// One codec of an array document.
///
/// Source: 0.9 §4.3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codec {
    /// Such as `vlen-bytes`, `bytes`, `zstd`, `blosc`, `gzip`, `crc32c`, `sharding_indexed`.
    pub name: String,
    /// Its configuration as stored in the document; null if there is none.
    pub configuration: Value,
    /// Unknown members.
    pub extra: JsonObject,
}

impl Codec {
    /// Creates a codec without configuration.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Parses a list of codecs, as in the member `codecs` of an array document.
    ///
    /// # Errors
    /// If the value is not a list whose items are names or objects with a name.
    pub fn list(value: Value) -> Result<Vec<Self>, MetaError> {
        Vec::from_json(value, &Pointer::Prefix(""))
    }

    /// Returns the codec as it is written in documents.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_json()
    }
}

impl FromJson for Codec {
    const EXPECTED: &'static str = "a codec";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value {
            Value::String(name) => Ok(Self::named(name)),
            Value::Object(map) => {
                let mut members = Members::new(map, at);
                Ok(Self {
                    name: members.required("name")?,
                    configuration: members.optional("configuration")?.unwrap_or_default(),
                    extra: members.rest(),
                })
            }
            other => Err(MetaError::unexpected(at, describe(&other), Self::EXPECTED)),
        }
    }
}

impl ToJson for Codec {
    fn to_json(&self) -> Value {
        let mut map = Builder::default();
        map.put("name", &self.name);
        if !self.configuration.is_null() {
            map.put("configuration", &self.configuration);
        }
        Value::Object(map.finish(&self.extra))
    }
}

/// The configuration of `sharding_indexed`.
///
/// Source: 0.9 §4.4.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharding {
    /// Elements of one inner chunk along each axis; all ones in this format.
    pub chunk_shape: Vec<u64>,
    /// Codecs of the inner chunks.
    pub codecs: Vec<Codec>,
    /// Codecs of the index: `bytes`, then `crc32c`.
    pub index_codecs: Vec<Codec>,
    /// Whether the index is at the end of the shard (the default) or at its start.
    pub index_at_end: bool,
}

impl Sharding {
    /// Parses the configuration of a `sharding_indexed` codec.
    ///
    /// # Errors
    ///
    /// If a required member is missing, a member has another type, a chunk extent is 0, or `index_location` is neither `end` nor `start`.
    pub fn of(codec: &Codec) -> Result<Self, MetaError> {
        let at = Pointer::Prefix("/codecs/0/configuration");
        let mut members = Members::of(codec.configuration.clone(), &at)?;
        let chunk_shape: Vec<u64> = members.required("chunk_shape")?;
        if chunk_shape.contains(&0) {
            return Err(MetaError::unexpected(
                Pointer::Member(&at, "chunk_shape"),
                "0",
                "1 or more",
            ));
        }
        Ok(Self {
            chunk_shape,
            codecs: members.required("codecs")?,
            index_codecs: members.required("index_codecs")?,
            index_at_end: match members.optional::<String>("index_location")?.as_deref() {
                None | Some("end") => true,
                Some("start") => false,
                Some(other) => {
                    let at = Pointer::Member(&at, "index_location");
                    return Err(MetaError::unexpected(
                        at,
                        quote(other),
                        "\"end\" or \"start\"",
                    ));
                }
            },
        })
    }
}

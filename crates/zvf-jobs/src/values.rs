//! Values of options that are written in more than one way: as text, as flags have them, and as lists, as files have them.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zvf_codec::Compression;
use zvf_encode::{ShardShape, TargetVersion};

/// The version of the format of a new store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum NewVersion {
    /// 0.9.2
    #[default]
    #[serde(rename = "0.9.2")]
    #[cfg_attr(feature = "clap", value(name = "0.9.2"))]
    V0_9_2,
    /// 0.8.1, flat: an array for every chunk; ids of objects are row numbers
    #[serde(rename = "0.8.1")]
    #[cfg_attr(feature = "clap", value(name = "0.8.1"))]
    V0_8_1,
}

impl From<NewVersion> for TargetVersion {
    fn from(version: NewVersion) -> Self {
        match version {
            NewVersion::V0_9_2 => Self::V0_9_2,
            NewVersion::V0_8_1 => Self::V0_8_1,
        }
    }
}

/// How chunks are compressed, and how that was written: a text such as `zstd:3`, or a list of codecs.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecChoice {
    written: Value,
    compression: Compression,
}

impl CodecChoice {
    /// The compression.
    #[must_use]
    pub fn compression(&self) -> &Compression {
        &self.compression
    }
}

impl FromStr for CodecChoice {
    type Err = zvf_codec::CodecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let compression = text.parse()?;
        // A list of codecs in JSON is a list in files, too.
        let written = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        Ok(Self {
            written,
            compression,
        })
    }
}

impl Serialize for CodecChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(to)
    }
}

impl<'de> Deserialize<'de> for CodecChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) => text.parse().map_err(D::Error::custom),
            Value::Array(codecs) => {
                let written = Value::from(codecs);
                let compression = Compression::from_codecs(written.clone());
                Ok(Self {
                    written,
                    compression: compression.map_err(D::Error::custom)?,
                })
            }
            _ => Err(D::Error::custom(
                "expected a text such as zstd:3, or a list of codecs",
            )),
        }
    }
}

impl JsonSchema for CodecChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Codec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "object"]}}]})
    }
}

/// Chunks of a shard along each axis, `auto` or `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardChoice(pub ShardShape);

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl Serialize for ShardChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            ShardShape::Cells(cells) => cells.serialize(to),
            named => to.collect_str(named),
        }
    }
}

impl<'de> Deserialize<'de> for ShardChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let cells: Option<Vec<u64>> = match Value::deserialize(from)? {
            Value::String(text) => return text.parse().map_err(D::Error::custom),
            Value::Array(items) => items.iter().map(Value::as_u64).collect(),
            _ => None,
        };
        match cells {
            Some(cells) if !cells.is_empty() && !cells.contains(&0) => {
                Ok(Self(ShardShape::Cells(cells)))
            }
            _ => Err(D::Error::custom(
                "expected a whole number of chunks an axis, such as [4, 4, 2], or \"auto\" or \"none\"",
            )),
        }
    }
}

impl JsonSchema for ShardChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Shards".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
            {"enum": ["auto", "none"]},
        ]})
    }
}

/// How many times as large chunks become: one number for all axes, or one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkScale(Vec<u32>);

impl ChunkScale {
    /// The factor of each of `dims` axes; as many as are written, if they are several.
    #[must_use]
    pub fn of_axes(&self, dims: usize) -> Vec<u32> {
        match self.0.as_slice() {
            [one] => vec![*one; dims],
            all => all.to_vec(),
        }
    }

    fn new(factors: Option<Vec<u32>>) -> Option<Self> {
        factors
            .filter(|all| !all.is_empty() && !all.contains(&0))
            .map(Self)
    }
}

impl FromStr for ChunkScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factors = text.split('x').map(|one| one.parse().ok()).collect();
        Self::new(factors)
            .ok_or_else(|| format!("found {text:?}, expected a number, or one an axis as in 2x2x1"))
    }
}

impl Serialize for ChunkScale {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(to),
            all => all.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ChunkScale {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let factors = match Value::deserialize(from)? {
            Value::Array(items) => items.iter().map(number).collect(),
            one => number(&one).map(|one| vec![one]),
        };
        Self::new(factors).ok_or_else(|| {
            D::Error::custom("expected a number of 1 or more, or one an axis as in [2, 2, 1]")
        })
    }
}

impl JsonSchema for ChunkScale {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ChunkScale".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let factor = serde_json::json!({"type": "integer", "minimum": 1, "maximum": u32::MAX});
        json_schema!({"anyOf": [factor, {"type": "array", "items": factor, "minItems": 1}]})
    }
}

/// Reads one size of a list, in the unit of an axis.
///
/// # Errors
///
/// What was found and expected, if it is no number.
#[cfg(feature = "clap")]
pub fn parse_size(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("found {text:?}, expected a number an axis, such as 100,100,50"))
}

//! Zarr v3 array documents.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::attributes::ArrayAttributes;
use crate::codec::{Codec, Sharding};
use crate::document::{Defaulted, MemberRule, Optional, Required, document};
use crate::error::{MetaError, describe};
use crate::indented;
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson};
use crate::key_encoding::KeyEncoding;
use crate::keylist::KeyList;
use crate::node::{NodeKind, take_node};

/// Most keys of a presence list that is written with one key a line.
const LINES: usize = 1000;

document! {
    /// The document of one array.
    ///
    /// # Cost
    ///
    /// Parsing is one pass; the presence list costs two growing buffers, not one allocation for each key.
    ///
    /// Source: 0.9 §4.2 to §4.5 and §7.3.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ArrayDoc {
        /// Elements along each axis of the array; of a chunk-grid array: chunks along each axis.
        pub shape: Vec<u64> = Required("shape"),
        /// Type of an element; `variable_length_bytes` = one byte string an element.
        pub data_type: DataType = Required("data_type"),
        /// How elements are grouped into stored chunks. Writing replaces its chunk shape by [`chunk_shape`](Self::chunk_shape).
        pub chunk_grid: JsonObject = Required("chunk_grid"),
        /// How an element's index becomes the key of its object: `c/0/1/2`.
        pub key_encoding: KeyEncoding = Defaulted("chunk_key_encoding"),
        /// Value of elements whose object does not exist; base64 text for byte strings, so "" is empty.
        pub fill_value: Value = Defaulted("fill_value"),
        /// Applied in this order when writing, in reverse order when reading.
        pub codecs: Vec<Codec> = Required("codecs"),
        /// The attributes.
        pub attributes: ArrayAttributes = AttributesInPlace("attributes"),
        /// Names of the array's axes. This format does not use them.
        pub dimension_names: Option<Vec<Option<String>>> = Optional("dimension_names"),
        /// None are defined. The reference writes an empty list; any other list is refused.
        pub storage_transformers: Vec<Value> = AfterHead("storage_transformers"),
    }
    beside {
        /// Elements of one stored object; more than one in a chunk-grid array = a shard. A part of `chunk_grid`.
        pub chunk_shape: Vec<u64>,
    }
}

/// The rule for `attributes`, which are parsed and written separately, together with the presence list. Here only their position is
/// written, as null.
struct AttributesInPlace;

impl MemberRule<ArrayAttributes> for AttributesInPlace {
    fn take(_: &mut Members<'_>, _: &str) -> Result<ArrayAttributes, MetaError> {
        Ok(ArrayAttributes::default())
    }

    fn put(map: &mut Builder, name: &str, _: &ArrayAttributes) {
        map.put(name, &Value::Null);
    }
}

/// A list that is empty if absent. The reference writes it after `zarr_format` and `node_type`.
struct AfterHead;

impl MemberRule<Vec<Value>> for AfterHead {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Vec<Value>, MetaError> {
        Defaulted::take(members, name)
    }

    fn put(map: &mut Builder, name: &str, value: &Vec<Value>) {
        map.put("zarr_format", &3u32)
            .put("node_type", NodeKind::Array.name())
            .put(name, value);
    }
}

/// A Zarr data type: a name, and an optional configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataType {
    /// Such as `float32`, `variable_length_bytes`, `fixed_length_utf32`.
    pub name: String,
    /// Such as `{"length_bytes": 20}`; empty if the type was written as a text.
    pub configuration: JsonObject,
    /// Unknown members.
    pub extra: JsonObject,
}

impl DataType {
    /// Creates a type without configuration.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns whether elements are byte strings: `variable_length_bytes`, or its synonym `bytes`.
    #[must_use]
    pub fn is_vlen_bytes(&self) -> bool {
        matches!(self.name.as_str(), "variable_length_bytes" | "bytes")
    }

    /// Returns the bytes of one element of a fixed-length text or byte type, by its configuration.
    #[must_use]
    pub fn length_bytes(&self) -> Option<u64> {
        self.configuration
            .get("length_bytes")
            .and_then(Value::as_u64)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl ArrayDoc {
    /// Parses an array document.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON, describe no Zarr v3 array with a regular chunk grid, or a member is missing or
    /// of another type.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        let parsed = match std::str::from_utf8(bytes) {
            // Checking the UTF-8 of the whole text is cheaper than checking each key.
            Ok(text) => serde_json::from_str::<RawArray>(text),
            // The JSON reader reports the position of the error.
            Err(_) => serde_json::from_slice::<RawArray>(bytes),
        };
        Self::from_raw(parsed.map_err(|source| MetaError::json("array", bytes, source))?)
    }

    fn from_raw(raw: RawArray) -> Result<Self, MetaError> {
        let node = take_node(raw.members, NodeKind::Array)?;
        let mut doc = Self::take(node)?;
        doc.chunk_shape = chunk_shape(&doc.chunk_grid, doc.shape.len())?;
        doc.attributes =
            ArrayAttributes::from_parts(raw.attributes.presence, raw.attributes.members)?;
        Ok(doc)
    }

    /// Returns the document as a JSON value, with a separate string for each key of the presence list. Prefer
    /// [`to_json`](Self::to_json) if the list is long.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = self.members_of_chunks();
        members.insert("attributes".to_owned(), self.attributes.to_value());
        Value::Object(members)
    }

    /// Writes the document, indented by two blanks as the reference does. A presence list of more than 1,000 keys is written on one
    /// line, which halves what readers of a large store fetch.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        match self.write(&mut bytes, self) {
            Ok(()) => String::from_utf8(bytes).unwrap_or_else(|_| self.to_value().to_string()),
            Err(_) => self.to_value().to_string(),
        }
    }

    /// Writes `doc`, which is this document, or this document with other categories.
    fn write(&self, writer: impl std::io::Write, doc: &impl Serialize) -> serde_json::Result<()> {
        let keys = self.attributes.nonempty_chunks.as_ref();
        match keys.map_or(0, KeyList::len) > LINES {
            true => indented::write(writer, doc),
            false => serde_json::to_writer_pretty(writer, doc),
        }
    }

    /// Writes the document as [`to_json`](Self::to_json) does, with `categories` as the categories of its attribute.
    ///
    /// # Cost
    ///
    /// Memory: exactly the length of the text. The categories are iterated twice.
    ///
    /// # Errors
    ///
    /// A document that cannot be written as JSON: a bug, since its members are JSON values.
    pub fn to_json_of<'t>(
        &self,
        categories: impl Iterator<Item = &'t str> + Clone,
    ) -> serde_json::Result<String> {
        let doc = WithTexts {
            doc: self,
            texts: TextArray(categories),
        };
        let mut length = Length(0);
        self.write(&mut length, &doc)?;
        let mut bytes = Vec::with_capacity(length.0);
        self.write(&mut bytes, &doc)?;
        String::from_utf8(bytes).map_err(serde::ser::Error::custom)
    }

    /// Returns the sharding of the array, or `None` if its chunks are stored one by one.
    ///
    /// # Errors
    ///
    /// If the configuration of `sharding_indexed` is malformed.
    pub fn sharding(&self) -> Result<Option<Sharding>, MetaError> {
        match self.codecs.first() {
            Some(codec) if codec.name == "sharding_indexed" => Sharding::of(codec).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the fill value as a number. The texts `NaN`, `Infinity` and `-Infinity` are numbers, `true` and `false` are 1 and 0.
    /// Not exact for integers beyond 2^53.
    #[must_use]
    pub fn fill_number(&self) -> Option<f64> {
        match &self.fill_value {
            Value::Bool(flag) => Some(if *flag { 1.0 } else { 0.0 }),
            other => crate::json::float(other),
        }
    }

    /// All members with the current chunk shape, and null for `attributes` to keep its position.
    fn members_of_chunks(&self) -> JsonObject {
        let mut grid = self.chunk_grid.clone();
        grid.entry("name").or_insert_with(|| Value::from("regular"));
        let configuration = grid
            .entry("configuration")
            .or_insert_with(|| Value::Object(JsonObject::new()));
        if let Value::Object(configuration) = configuration {
            configuration.insert("chunk_shape".to_owned(), self.chunk_shape.to_json());
        }
        let mut members = self.members();
        members.insert("chunk_grid".to_owned(), Value::Object(grid));
        members
    }
}

impl ArrayDoc {
    /// Serializes the document with these attributes in place of its own.
    fn serialize_with<S: Serializer>(
        &self,
        attributes: &impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let members = self.members_of_chunks();
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, value) in &members {
            if name == "attributes" {
                map.serialize_entry(name, attributes)?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl Serialize for ArrayDoc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(&self.attributes, serializer)
    }
}

/// Serializes texts as a JSON array.
#[derive(Clone)]
struct TextArray<I>(I);

impl<'t, I: Iterator<Item = &'t str> + Clone> Serialize for TextArray<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// A document with other categories.
struct WithTexts<'d, I> {
    doc: &'d ArrayDoc,
    texts: TextArray<I>,
}

impl<'t, I: Iterator<Item = &'t str> + Clone> Serialize for WithTexts<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attributes = AttributesWithTexts {
            attributes: &self.doc.attributes,
            texts: &self.texts,
        };
        self.doc.serialize_with(&attributes, serializer)
    }
}

struct AttributesWithTexts<'d, I> {
    attributes: &'d ArrayAttributes,
    texts: &'d TextArray<I>,
}

impl<'t, I: Iterator<Item = &'t str> + Clone> Serialize for AttributesWithTexts<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.attributes.serialize_with(self.texts, serializer)
    }
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads the chunk shape of a regular grid.
fn chunk_shape(grid: &JsonObject, rank: usize) -> Result<Vec<u64>, MetaError> {
    match grid.get("name") {
        Some(name) if name == "regular" => {}
        Some(other) => {
            return Err(MetaError::unexpected(
                "/chunk_grid/name",
                describe(other),
                "\"regular\"",
            ));
        }
        None => return Err(MetaError::missing("/chunk_grid/name", "\"regular\"")),
    }
    let root = Pointer::Prefix("/chunk_grid/configuration");
    let at = Pointer::Member(&root, "chunk_shape");
    let shape = match grid
        .get("configuration")
        .and_then(|configuration| configuration.get("chunk_shape"))
    {
        None => return Err(MetaError::missing(at, <Vec<u64>>::EXPECTED)),
        Some(value) => <Vec<u64>>::from_json(value.clone(), &at)?,
    };
    if shape.len() != rank {
        return Err(MetaError::unexpected(
            at,
            format!("of length {}", shape.len()),
            format!("length {rank} of the shape"),
        ));
    }
    if let Some(axis) = shape.iter().position(|&extent| extent == 0) {
        return Err(MetaError::unexpected(
            Pointer::Item(&at, axis),
            "0",
            "1 or more",
        ));
    }
    Ok(shape)
}

impl FromJson for DataType {
    const EXPECTED: &'static str = "a data type";

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

impl ToJson for DataType {
    fn to_json(&self) -> Value {
        if self.configuration.is_empty() && self.extra.is_empty() {
            return Value::from(self.name.as_str());
        }
        let mut map = Builder::default();
        map.put("name", &self.name)
            .put("configuration", &self.configuration);
        Value::Object(map.finish(&self.extra))
    }
}

/// All members except the presence list, which is parsed directly into its own type.
#[derive(Default)]
struct RawArray {
    members: JsonObject,
    attributes: RawAttributes,
}

#[derive(Default)]
struct RawAttributes {
    presence: Option<KeyList>,
    members: JsonObject,
}

impl<'de> Deserialize<'de> for RawArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArrayVisitor;
        impl<'de> Visitor<'de> for ArrayVisitor {
            type Value = RawArray;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array document")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawArray, A::Error> {
                let mut raw = RawArray::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "attributes" {
                        raw.attributes = map
                            .next_value::<Option<RawAttributes>>()?
                            .unwrap_or_default();
                    } else {
                        raw.members.insert(name, map.next_value()?);
                    }
                }
                Ok(raw)
            }
        }
        deserializer.deserialize_map(ArrayVisitor)
    }
}

impl<'de> Deserialize<'de> for RawAttributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttributesVisitor;
        impl<'de> Visitor<'de> for AttributesVisitor {
            type Value = RawAttributes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the attributes of an array")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawAttributes, A::Error> {
                let mut raw = RawAttributes::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "nonempty_chunks" {
                        raw.presence = map.next_value()?;
                    } else {
                        raw.members.insert(name, map.next_value()?);
                    }
                }
                Ok(raw)
            }
        }
        deserializer.deserialize_map(AttributesVisitor)
    }
}

#[cfg(test)]
mod tests;

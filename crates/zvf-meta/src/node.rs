//! Zarr v3 nodes: the kind of a document, and plain groups.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::Formatter;
use std::io;

use crate::error::{MetaError, describe};
use crate::json::{Builder, JsonObject, Members, Pointer, ToJson, parse_object};

/// The kind of node that a `zarr.json` document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A group: attributes and children.
    Group,
    /// An array.
    Array,
}

impl NodeKind {
    /// Returns the value of `node_type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Array => "array",
        }
    }
}

/// Determines the kind of a document before it is parsed in full, from `zarr_format`, `node_type` and the presence of `chunk_grid`.
///
/// # Cost
///
/// One pass over the bytes, no allocation for skipped members.
///
/// # Errors
///
/// If the bytes are not a JSON object, `zarr_format` is not 3, `node_type` is neither `group` nor `array`, or a `group` has a
/// `chunk_grid`, which only arrays have.
pub fn node_kind(bytes: &[u8]) -> Result<NodeKind, MetaError> {
    #[derive(Deserialize)]
    struct NodeMembers {
        zarr_format: Option<Value>,
        node_type: Option<Value>,
        #[serde(rename = "attributes")]
        _attributes: Option<IgnoredAny>,
        chunk_grid: Option<IgnoredAny>,
    }
    let head: NodeMembers =
        serde_json::from_slice(bytes).map_err(|source| MetaError::json("node", bytes, source))?;
    let kind = kind_of(head.zarr_format, head.node_type)?;
    if kind == NodeKind::Group && head.chunk_grid.is_some() {
        return Err(MetaError::unexpected(
            "/node_type",
            "\"group\" beside a chunk_grid",
            "\"array\"",
        ));
    }
    Ok(kind)
}

/// An invalid member of a node, by JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OddMember {
    /// A member that Zarr does not define.
    Unknown(String),
    /// A member whose type differs from Zarr's definition, and the defined type.
    Other(String, &'static str),
    /// A missing member that Zarr requires.
    Missing(String),
}

/// Returns the first member that Zarr does not define; else the first of another type than Zarr defines (`attributes`, the byte
/// order of codecs); else the first missing member that Zarr requires. `None` for a valid node, and for bytes that are not a JSON
/// object.
///
/// A member with `"must_understand": false` may have any name.
///
/// Source: Zarr v3 core, "Array metadata" and "Group metadata".
///
/// # Cost
///
/// One pass over the bytes.
#[must_use]
pub fn odd_member(bytes: &[u8]) -> Option<OddMember> {
    const COMMON: [&str; 3] = ["zarr_format", "node_type", "attributes"];
    const ARRAY: [&str; 6] = [
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "fill_value",
        "codecs",
    ];
    const MORE: [&str; 3] = [
        "dimension_names",
        "storage_transformers",
        "consolidated_metadata",
    ];
    let members: serde_json::Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let is_array = members.get("node_type").is_some_and(|kind| kind == "array");
    let strange = members.iter().find(|(name, value)| {
        let name = name.as_str();
        let known =
            COMMON.contains(&name) || MORE.contains(&name) || (is_array && ARRAY.contains(&name));
        let optional = value.get("must_understand") == Some(&Value::Bool(false));
        !known && !optional
    });
    if let Some((name, _)) = strange {
        let name = name.replace('~', "~0").replace('/', "~1");
        return Some(OddMember::Unknown(format!("/{name}")));
    }
    if members
        .get("attributes")
        .is_some_and(|one| !one.is_object())
    {
        return Some(OddMember::Other("/attributes".to_owned(), "an object"));
    }
    let codecs = members.get("codecs").and_then(Value::as_array);
    let endian = codecs.into_iter().flatten().position(|codec| {
        let order = codec.pointer("/configuration/endian");
        order.is_some_and(|order| order != "little" && order != "big")
    });
    if let Some(at) = endian {
        let at = format!("/codecs/{at}/configuration/endian");
        return Some(OddMember::Other(at, "\"little\" or \"big\""));
    }
    let missing = ARRAY
        .iter()
        .find(|name| is_array && !members.contains_key(**name))?;
    Some(OddMember::Missing(format!("/{missing}")))
}

fn kind_of(format: Option<Value>, node: Option<Value>) -> Result<NodeKind, MetaError> {
    match format {
        Some(format) if format == 3 => {}
        Some(other) => {
            return Err(MetaError::unexpected(
                "/zarr_format",
                describe(&other),
                "number 3",
            ));
        }
        None => return Err(MetaError::missing("/zarr_format", "number 3")),
    }
    match node {
        Some(Value::String(text)) if text == "group" => Ok(NodeKind::Group),
        Some(Value::String(text)) if text == "array" => Ok(NodeKind::Array),
        Some(other) => Err(MetaError::unexpected(
            "/node_type",
            describe(&other),
            "\"group\" or \"array\"",
        )),
        None => Err(MetaError::missing("/node_type", "\"group\" or \"array\"")),
    }
}

/// Checks `zarr_format` and `node_type`, and returns the other members of a node.
pub(crate) fn take_node(
    document: JsonObject,
    expected: NodeKind,
) -> Result<Members<'static>, MetaError> {
    const ROOT: Pointer<'static> = Pointer::Prefix("");
    let mut members = Members::new(document, &ROOT);
    let found = kind_of(
        members.optional("zarr_format")?,
        members.optional("node_type")?,
    )?;
    if found == expected {
        return Ok(members);
    }
    Err(MetaError::unexpected(
        "/node_type",
        format!("{:?}", found.name()),
        format!("{:?}", expected.name()),
    ))
}

/// A group for whose attributes this crate has no type: an intermediate group, a header, a registry.
///
/// Source: 0.9 §4.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupDoc {
    /// Members of `attributes`; empty if the member is absent.
    pub attributes: JsonObject,
    /// Other members of the document, such as `consolidated_metadata`, which are kept and never used.
    pub extra: JsonObject,
}

impl GroupDoc {
    /// Parses a group document.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON, or describe something other than a Zarr v3 group.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        let mut members = take_node(parse_object("group", bytes)?, NodeKind::Group)?;
        Ok(Self {
            attributes: members.optional("attributes")?.unwrap_or_default(),
            extra: members.rest(),
        })
    }

    /// Returns the document as a JSON value, members in the order of the reference.
    #[must_use]
    pub fn to_value(&self) -> Value {
        group_value(&self.attributes, &self.extra)
    }

    /// Writes the document in the form that the reference uses for most groups: indented by two blanks.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(&self.to_value())
    }

    /// Writes the document in the one-line form that the reference uses for `object_index`, `links/<delta>` and
    /// `link_attributes/<name>/<delta>`. Both forms are the same JSON value.
    #[must_use]
    pub fn to_json_line(&self) -> String {
        let mut line = format!(
            "{{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{}",
            spaced(&self.attributes.to_json())
        );
        for (name, value) in &self.extra {
            if !matches!(name.as_str(), "zarr_format" | "node_type" | "attributes") {
                line.push_str(&format!(
                    ",{}:{}",
                    Value::from(name.as_str()),
                    spaced(value)
                ));
            }
        }
        line.push('}');
        line
    }
}

/// Composes the document of a group, members in the order of the reference.
pub(crate) fn group_value(attributes: &JsonObject, extra: &JsonObject) -> Value {
    let mut node = Builder::default();
    node.put("attributes", attributes)
        .put("zarr_format", &3u32)
        .put("node_type", "group");
    Value::Object(node.finish(extra))
}

/// Writes a value indented by two blanks.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// Writes a value on one line with a blank after each comma and colon.
fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    // Writing a JSON value to memory cannot fail; if it did, the text would be written without blanks.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|_| value.to_string()),
        Err(_) => value.to_string(),
    }
}

/// Writes `[1, 2]` and `{"a": 1}`, with a blank after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zv_array": "object_index", "num_objects": 3, "num_present": 3, "sid_ndim": 2, "layout": "vlen_manifests_v2", "object_ids_sorted": true}}"#;

    #[test]
    fn both_forms_are_byte_exact() -> Result<(), MetaError> {
        let group = GroupDoc::parse(LINE.as_bytes())?;
        assert_eq!(group.to_json_line(), LINE);
        let pretty = group.to_json();
        assert!(pretty.starts_with("{\n  \"attributes\": {\n    \"zv_array\": \"object_index\","));
        assert!(pretty.ends_with("  },\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}"));
        assert_eq!(GroupDoc::parse(pretty.as_bytes())?, group);
        Ok(())
    }

    #[test]
    fn an_empty_group_is_written_like_the_reference() {
        let text = "{\n  \"attributes\": {},\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}";
        assert_eq!(GroupDoc::default().to_json(), text);
    }

    #[test]
    fn kinds_are_told_apart() {
        assert!(matches!(node_kind(LINE.as_bytes()), Ok(NodeKind::Group)));
        assert!(matches!(
            node_kind(br#"{"zarr_format":3,"node_type":"array"}"#),
            Ok(NodeKind::Array)
        ));
        for bad in [
            &b"{}"[..],
            b"[]",
            b"",
            b"{\"zarr_format\":3}",
            b"{\"zarr_format\":2,\"node_type\":\"group\"}",
            b"{\"zarr_format\":3,\"node_type\":\"tree\"}",
            b"{\"zarr_format\":3,\"node_type\":\"group\",\"chunk_grid\":{}}",
            b"\xff",
        ] {
            assert!(node_kind(bad).is_err());
        }
        let error =
            GroupDoc::parse(br#"{"zarr_format":3,"node_type":"array"}"#).expect_err("an array");
        assert_eq!(
            error.to_string(),
            "/node_type is \"array\", expected \"group\""
        );
    }

    #[test]
    fn foreign_members_survive_in_both_forms() -> Result<(), MetaError> {
        let text = r#"{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":null,"x":[1, 2]}"#;
        let group = GroupDoc::parse(text.as_bytes())?;
        assert_eq!(group.to_json_line(), text);
        assert_eq!(GroupDoc::parse(group.to_json().as_bytes())?, group);
        Ok(())
    }

    #[test]
    fn odd_members_are_named() {
        let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"any": 1}"#;
        assert_eq!(odd_member(format!("{group}}}").as_bytes()), None);
        let more = format!("{group}, \"own/x\": {{\"must_understand\": false}}}}");
        assert_eq!(odd_member(more.as_bytes()), None);
        for (more, at) in [
            ("\"attributew\": {}", "/attributew"),
            ("\"own/x\": {\"must_understand\": true}", "/own~1x"),
            ("\"shape\": [1]", "/shape"),
        ] {
            let found = odd_member(format!("{group}, {more}}}").as_bytes());
            assert_eq!(found, Some(OddMember::Unknown(at.to_owned())));
        }
        let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": "text"}"#;
        let other = |at: &str, expected| Some(OddMember::Other(at.to_owned(), expected));
        assert_eq!(
            odd_member(group.as_bytes()),
            other("/attributes", "an object")
        );
        let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [], "data_type": "int8",
            "chunk_grid": {}, "chunk_key_encoding": {}, "codecs": []"#;
        let whole = format!("{array}, \"fill_value\": 0}}");
        assert_eq!(odd_member(whole.as_bytes()), None);
        let codecs = r#""codecs": [{"name": "bytes", "configuration": {"endian": []}}]"#;
        let odd = whole.replace("\"codecs\": []", codecs);
        let at = "/codecs/0/configuration/endian";
        assert_eq!(
            odd_member(odd.as_bytes()),
            other(at, "\"little\" or \"big\"")
        );
        let found = odd_member(format!("{array}}}").as_bytes());
        assert_eq!(found, Some(OddMember::Missing("/fill_value".to_owned())));
    }
}

//! The attributes of an array.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::error::MetaError;
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer};
use crate::keylist::KeyList;
use crate::node::GroupDoc;

/// The attributes of arrays of this format; each array has some of them.
///
/// Source: 0.9 §7.3, §11 and §12.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayAttributes {
    /// Keys of the cells with a payload: absolute chunk coordinates in ASCII order (§7.4).
    pub nonempty_chunks: Option<KeyList>,
    /// Chunk coordinate of the array's first cell, `K` numbers; absent means zeros (§7.2).
    pub chunk_grid_origin: Option<Vec<i64>>,
    /// The role of the array. The old spelling `zvf_array` is read and never written.
    pub zv_array: Option<String>,
    /// Name of the attribute; repeats the path.
    pub name: Option<String>,
    /// Element type of the payload, in numpy's spelling; absent means `float32` on `vertices` (§8.2).
    pub dtype: Option<String>,
    /// `raw`, `draco`, `fragment_index_v1` or `dictionary`.
    pub encoding: Option<String>,
    /// Declared channels: `[]` for one, `[w]` for `w`. The bytes decide, not this (trap T8).
    pub row_shape: Option<Vec<u64>>,
    /// One name for each channel.
    pub channel_names: Option<Vec<String>>,
    /// Value of each code of a categorical attribute (§12.3).
    pub categories: Option<Vec<Value>>,
    /// The categories have an order.
    pub ordered: Option<bool>,
    /// `_FillValue`: the code that means missing.
    pub fill_code: Option<i64>,
    /// Unit of the values.
    pub unit: Option<String>,
    /// Description of the values.
    pub description: Option<String>,
    /// Chunk offsets of endpoints 1.. of a link record, `L - 1` lists of `K`; repeats the path (§13.1).
    pub offsets: Option<Vec<Vec<i64>>>,
    /// Rows begin with a permutation code (§13.3); absent means derive it.
    pub has_perm: Option<bool>,
    /// `L`, endpoints of a record; repeats the family.
    pub link_width: Option<u32>,
    /// Levels spanned; repeats the path.
    pub level_delta: Option<i32>,
    /// Some links legitimately have no value: a member that this workspace writes in copies of stores before 0.9, whose writers gave
    /// values to links inside chunks only.
    pub links_without_values: Option<bool>,
    /// Rows and channels of an object or group attribute; repeats the array's shape (§11.4).
    pub shape: Option<Vec<u64>>,
    /// The first chunks of the array, in C order, that are stored objects: a member that this workspace writes. A chunk below this number
    /// that does not exist is lost; without the member it may as well be a chunk of nothing but the fill value.
    pub stored_chunks: Option<u64>,
    /// Whether a table of objects has a child `present_mask` (0.7 §10.3).
    pub has_present_mask: Option<bool>,
    /// `absent`: rows equal to the fill value have no value (§11.4).
    pub fill_sentinel_meaning: Option<String>,
    /// Rows of `groups` (§11.5).
    pub num_groups: Option<u64>,
    /// Members of groups that are a run of object ids; they replace the stored ones.
    pub group_ranges: Option<Vec<GroupRange>>,
    /// Name of each group; may be shorter than the rows.
    pub group_names: Option<Vec<String>>,
    /// Unknown members.
    pub extra: JsonObject,
}

/// One entry of `group_ranges`: the objects `start..stop` are the members of a group.
///
/// Source: 0.9 §11.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRange {
    /// Row of the group.
    pub group: u64,
    /// First object id.
    pub start: i64,
    /// One past the last object id.
    pub stop: i64,
}

impl ArrayAttributes {
    /// Returns the declared number of channels: from `row_shape`, else from `channel_names`, else 1. `None` when
    /// `row_shape` has more than one number.
    ///
    /// Source: 0.9 §12.1.
    #[must_use]
    pub fn declared_width(&self) -> Option<u64> {
        match (self.row_shape.as_deref(), &self.channel_names) {
            (Some([]), _) => Some(1),
            (Some([width]), _) => Some(*width),
            (Some(_), _) => None,
            (None, Some(names)) => u64::try_from(names.len()).ok(),
            (None, None) => Some(1),
        }
    }

    /// Parses the attributes of a group that represents one array: its blobs or parts are children (0.7 §2.5).
    ///
    /// # Errors
    ///
    /// If a member is of another type.
    pub fn from_group(group: &GroupDoc) -> Result<Self, MetaError> {
        let mut members = group.attributes.clone();
        let presence = members
            .remove("nonempty_chunks")
            .map(|value| {
                <Vec<String>>::from_json(value, &Pointer::Prefix("/attributes/nonempty_chunks"))
            })
            .transpose()?;
        let presence = match presence.as_deref().map(KeyList::try_from) {
            None => None,
            Some(Ok(keys)) => Some(keys),
            Some(Err(full)) => {
                let at = "/attributes/nonempty_chunks";
                return Err(MetaError::unexpected(
                    at,
                    full.to_string(),
                    "an array of chunk keys",
                ));
            }
        };
        Self::from_parts(presence, members)
    }

    /// Returns the first category that is no value of the kind of the first one, with its place: categories are all texts, all truth
    /// values or all numbers.
    ///
    /// Source: 0.9 §12.3.
    #[must_use]
    pub fn odd_category(&self) -> Option<(usize, &Value)> {
        odd_value(self.categories.as_deref().unwrap_or_default())
    }

    /// Returns whether the payload holds codes of [`categories`](Self::categories).
    #[must_use]
    pub fn is_categorical(&self) -> bool {
        self.encoding.as_deref() == Some("dictionary")
    }

    pub(crate) fn from_parts(
        presence: Option<KeyList>,
        members: JsonObject,
    ) -> Result<Self, MetaError> {
        let at = Pointer::Prefix("/attributes");
        let mut members = Members::new(members, &at);
        Ok(Self {
            nonempty_chunks: presence,
            chunk_grid_origin: members.optional("chunk_grid_origin")?,
            zv_array: discriminator(&mut members)?,
            name: members.optional("name")?,
            dtype: members.optional("dtype")?,
            encoding: members.optional("encoding")?,
            row_shape: members.optional("row_shape")?,
            channel_names: members.optional("channel_names")?,
            categories: members.optional("categories")?,
            ordered: members.optional("ordered")?,
            fill_code: members.optional("_FillValue")?,
            unit: members.optional("unit")?,
            description: members.optional("description")?,
            offsets: members.optional("offsets")?,
            has_perm: members.optional("has_perm")?,
            link_width: members.optional("link_width")?,
            level_delta: members.optional("level_delta")?,
            links_without_values: members.optional("links_without_values")?,
            shape: members.optional("shape")?,
            stored_chunks: members.optional("zvf_stored_chunks")?,
            has_present_mask: members.optional("has_present_mask")?,
            fill_sentinel_meaning: members.optional("fill_sentinel_meaning")?,
            num_groups: members.optional("num_groups")?,
            group_ranges: members
                .optional::<Ranges>("group_ranges")?
                .map(|ranges| ranges.0),
            group_names: members.optional("group_names")?,
            extra: members.rest(),
        })
    }

    /// All members but the presence list; of the categories only the place.
    fn members(&self) -> JsonObject {
        let mut map = Builder::default();
        map.put_some("chunk_grid_origin", self.chunk_grid_origin.as_ref())
            .put_some("zv_array", self.zv_array.as_ref())
            .put_some("name", self.name.as_ref())
            .put_some("dtype", self.dtype.as_ref())
            .put_some("encoding", self.encoding.as_ref())
            .put_some("categories", self.categories.as_ref().map(|_| &Value::Null))
            .put_some("ordered", self.ordered.as_ref())
            .put_some("_FillValue", self.fill_code.as_ref())
            .put_some("offsets", self.offsets.as_ref())
            .put_some("has_perm", self.has_perm.as_ref())
            .put_some("link_width", self.link_width.as_ref())
            .put_some("level_delta", self.level_delta.as_ref())
            .put_some("links_without_values", self.links_without_values.as_ref())
            .put_some("row_shape", self.row_shape.as_ref())
            .put_some("channel_names", self.channel_names.as_ref())
            .put_some("shape", self.shape.as_ref())
            .put_some("zvf_stored_chunks", self.stored_chunks.as_ref())
            .put_some("has_present_mask", self.has_present_mask.as_ref())
            .put_some("fill_sentinel_meaning", self.fill_sentinel_meaning.as_ref())
            .put_some("unit", self.unit.as_ref())
            .put_some("description", self.description.as_ref())
            .put_some("num_groups", self.num_groups.as_ref());
        if let Some(ranges) = &self.group_ranges {
            map.put("group_ranges", &ranges_to_json(ranges));
        }
        map.put_some("group_names", self.group_names.as_ref());
        map.finish(&self.extra)
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut members = JsonObject::new();
        if let Some(keys) = &self.nonempty_chunks {
            members.insert(
                "nonempty_chunks".to_owned(),
                keys.iter().map(Value::from).collect(),
            );
        }
        members.extend(self.members());
        if let Some(categories) = &self.categories {
            members.insert("categories".to_owned(), Value::Array(categories.clone()));
        }
        Value::Object(members)
    }

    /// Serializes the attributes with these categories in the place of their own, if they have any.
    pub(crate) fn serialize_with<S: Serializer>(
        &self,
        categories: &impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let members = self.members();
        let mut map = serializer.serialize_map(None)?;
        if let Some(keys) = &self.nonempty_chunks {
            map.serialize_entry("nonempty_chunks", keys)?;
        }
        for (name, value) in members
            .iter()
            .filter(|(name, _)| name.as_str() != "nonempty_chunks")
        {
            match name.as_str() {
                "categories" if self.categories.is_some() => {
                    map.serialize_entry(name, categories)?
                }
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl Serialize for ArrayAttributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(&self.categories, serializer)
    }
}

/// Returns the first of some values that is no text, truth value or number, or of another of these kinds than the first one.
#[must_use]
pub fn odd_value(values: &[Value]) -> Option<(usize, &Value)> {
    let kind = |value: &Value| match value {
        Value::String(_) => Some(0),
        Value::Bool(_) => Some(1),
        Value::Number(_) => Some(2),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let first = values.first().and_then(kind);
    let mut values = values.iter().enumerate();
    values.find(|(_, value)| kind(value).is_none() || kind(value) != first)
}

/// Takes `zv_array`, or the old spelling `zvf_array` if the new one is absent.
pub(crate) fn discriminator(members: &mut Members<'_>) -> Result<Option<String>, MetaError> {
    if members.has("zv_array") {
        return members.optional("zv_array");
    }
    members.optional("zvf_array")
}

struct Ranges(Vec<GroupRange>);

impl FromJson for Ranges {
    const EXPECTED: &'static str = "an object of group numbers to [start, stop]";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let ranges = JsonObject::from_json(value, at)?;
        let mut list = Vec::new();
        for (name, value) in ranges {
            let at = Pointer::Member(at, &name);
            let group = name
                .parse::<u64>()
                .ok()
                .filter(|group| group.to_string() == name);
            let group = group
                .ok_or_else(|| MetaError::unexpected(at, "there", "a group number as the name"))?;
            match *<Vec<i64>>::from_json(value, &at)? {
                [start, stop] => list.push(GroupRange { group, start, stop }),
                ref other => {
                    return Err(MetaError::unexpected(
                        at,
                        format!("an array of {}", other.len()),
                        "[start, stop]",
                    ));
                }
            }
        }
        Ok(Self(list))
    }
}

fn ranges_to_json(ranges: &[GroupRange]) -> JsonObject {
    ranges
        .iter()
        .map(|range| {
            (
                range.group.to_string(),
                Value::from(vec![range.start, range.stop]),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Result<ArrayAttributes, MetaError> {
        ArrayAttributes::from_parts(None, value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn every_attribute_of_the_format_page_round_trips() -> Result<(), MetaError> {
        for value in [
            json!({"chunk_grid_origin": [-2, -2, -2], "zv_array": "link_attribute", "name": "weight", "dtype": "float32",
                "offsets": [[3, 0, -1]], "level_delta": 0, "row_shape": []}),
            json!({"zv_array": "links", "dtype": "int64", "offsets": [[0, 1, 0], [1, 1, 0]], "has_perm": true,
                "link_width": 3, "level_delta": 0}),
            json!({"zv_array": "attribute", "name": "kind", "dtype": "int8", "encoding": "dictionary",
                "categories": ["x", null, 3], "ordered": false, "_FillValue": -1, "row_shape": [2],
                "channel_names": ["a", "b"], "unit": "mV", "description": "d", "declared_categorical": true}),
            json!({"zv_array": "object_attribute", "name": "len", "dtype": "float32", "shape": [3],
                "fill_sentinel_meaning": "absent", "zvf_stored_chunks": 1}),
            json!({"zv_array": "groups", "num_groups": 3, "group_ranges": {"2": [0, 3]}, "group_names": ["a", "b"]}),
        ] {
            let attributes = parse(value.clone())?;
            assert_eq!(attributes.to_value(), value);
        }
        Ok(())
    }

    #[test]
    fn widths_are_declared_three_ways() -> Result<(), MetaError> {
        assert_eq!(parse(json!({}))?.declared_width(), Some(1));
        assert_eq!(
            parse(json!({"row_shape": [], "channel_names": ["a", "b"]}))?.declared_width(),
            Some(1)
        );
        assert_eq!(parse(json!({"row_shape": [3]}))?.declared_width(), Some(3));
        assert_eq!(
            parse(json!({"channel_names": ["a", "b"]}))?.declared_width(),
            Some(2)
        );
        assert_eq!(parse(json!({"row_shape": [3, 3]}))?.declared_width(), None);
        Ok(())
    }

    #[test]
    fn malformed_ranges_are_refused() {
        for bad in [
            json!({"01": [0, 1]}),
            json!({"x": [0, 1]}),
            json!({"1": [0]}),
            json!({"1": [0, 1, 2]}),
            json!([]),
        ] {
            assert!(parse(json!({"group_ranges": bad})).is_err());
        }
    }
}

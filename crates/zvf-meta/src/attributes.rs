//! The attributes of an array.

use std::collections::HashSet;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::document::{MemberRule, Optional, RoleMember, document};
use crate::error::MetaError;
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer};
use crate::keylist::KeyList;
use crate::node::GroupDoc;

/// Fill values that mean "no text" in object attributes of texts (0.9 §11.4). The reference writes the empty text. If an object has an empty text,
/// this workspace writes one of the others: U+2400 (symbol for null) or U+FFFD (replacement character).
pub const ABSENT_TEXTS: [&str; 3] = ["", "\u{2400}", "\u{fffd}"];

document! {
    /// The attributes of arrays of this format; each array has some of them.
    ///
    /// Source: 0.9 §7.3, §11 and §12.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ArrayAttributes {
        /// Chunk coordinate of array index 0; absent = zeros. `K` numbers (§7.2).
        pub chunk_grid_origin: Option<Vec<i64>> = Optional("chunk_grid_origin"),
        /// Which array of the format this is. The old spelling `zvf_array` is read and never written.
        pub zv_array: Option<String> = RoleMember("zv_array"),
        /// Attribute name. Repeats the path.
        pub name: Option<String> = Optional("name"),
        /// Type of the numbers inside a cell. Spelled as in numpy; absent means `float32` on `vertices` (§8.2).
        pub dtype: Option<String> = Optional("dtype"),
        /// Encoding of a cell. `raw`, `draco`, `fragment_index_v1` or `dictionary`.
        pub encoding: Option<String> = Optional("encoding"),
        /// Categories, in the order of their codes. Present on categorical attributes (§12.3).
        pub categories: Option<Vec<Value>> = CategoriesInPlace("categories"),
        /// Whether the categories have a meaningful order.
        pub ordered: Option<bool> = Optional("ordered"),
        /// The code of a missing value.
        pub fill_code: Option<i64> = Optional("_FillValue"),
        /// Chunks of endpoints 1 and up, relative to the chunk of endpoint 0. `L - 1` lists of `K` numbers; repeats the path (§13.1).
        pub offsets: Option<Vec<Vec<i64>>> = Optional("offsets"),
        /// Whether rows begin with a permutation code. It restores the order in which the application gave the endpoints (§13.3). If this member is
        /// absent, the answer follows from the family.
        pub has_perm: Option<bool> = Optional("has_perm"),
        /// Endpoints of a record: 2 edges, 3 triangles. `L`; repeats the family.
        pub link_width: Option<u32> = Optional("link_width"),
        /// Levels between endpoint 0 and the others. Repeats the path.
        pub level_delta: Option<i32> = Optional("level_delta"),
        /// Whether links may have no value. Only this workspace writes the member, in copies of stores older than 0.9: their writers stored values only
        /// for links inside a chunk.
        pub links_without_values: Option<bool> = Optional("links_without_values"),
        /// Shape of one row: `[]` = one value, `[w]` = w channels. Readers rely on the number of bytes instead, see trap T8.
        pub row_shape: Option<Vec<u64>> = Optional("row_shape"),
        /// Names of the channels.
        pub channel_names: Option<Vec<String>> = Optional("channel_names"),
        /// Shape of the values. Rows and channels of an object or group attribute; repeats the array's shape (§11.4).
        pub shape: Option<Vec<u64>> = Optional("shape"),
        /// Number of chunks that the writer stored, including those that hold only the fill value. They are the first chunks of the array in C order,
        /// so a missing chunk among them is lost. Without the member, a missing chunk may hold only the fill value. Only this workspace writes it.
        pub stored_chunks: Option<u64> = Optional("zvf_stored_chunks"),
        /// Lengths of the inner chunks of large shards, in base 64: with them, readers request cells together with the index of a shard. The member maps
        /// the key of each shard below the array to a text of `zvf_format::shard_lengths`. Only this workspace writes it. Readers trust the index: if a
        /// length is wrong, the cell is requested again after the index.
        pub shard_lengths: Option<JsonObject> = Optional("zvf_shard_lengths"),
        /// Whether a table of objects has a child `present_mask` (0.7 §10.3).
        pub has_present_mask: Option<bool> = Optional("has_present_mask"),
        /// Meaning of the fill value. `absent`: rows equal to it have no value (§11.4).
        pub fill_sentinel_meaning: Option<String> = Optional("fill_sentinel_meaning"),
        /// Unit of the values.
        pub unit: Option<String> = Optional("unit"),
        /// Description of the values.
        pub description: Option<String> = Optional("description"),
        /// Number of groups. Rows of `groups` (§11.5).
        pub num_groups: Option<u64> = Optional("num_groups"),
        /// Groups given as a range of ids. The range replaces the stored list of members.
        pub group_ranges: Option<Vec<GroupRange>> = Ranges("group_ranges"),
        /// Names of the groups, by number. May have fewer entries than there are groups.
        pub group_names: Option<Vec<String>> = Optional("group_names"),
    }
    beside {
        /// Keys of the chunks that hold data: absolute coordinates, ASCII order. Readers of 0.9 find chunks only by this list (§7.4).
        pub nonempty_chunks: Option<KeyList>,
    }
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

    /// Parses the attributes of a group that represents one array: the array's blobs or parts are its children (0.7 §2.5).
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
                    format!("too long: {full}"),
                    "an array of chunk keys",
                ));
            }
        };
        Self::from_parts(presence, members)
    }

    /// Returns the first category that is not a text, boolean or number, or does not have the JSON type of the first category, and its index. Categories
    /// must be all texts, all booleans or all numbers.
    ///
    /// Source: 0.9 §12.3.
    #[must_use]
    pub fn odd_category(&self) -> Option<(usize, &Value)> {
        odd_value(self.categories.as_deref().unwrap_or_default())
    }

    /// Returns the first category that equals an earlier one, and its index. Categories must be distinct.
    ///
    /// Source: 0.9 §12.3.
    #[must_use]
    pub fn repeated_category(&self) -> Option<(usize, &Value)> {
        let categories = self.categories.as_deref().unwrap_or_default();
        let mut seen = HashSet::with_capacity(categories.len());
        let mut all = categories.iter().enumerate();
        all.find(|(_, value)| !seen.insert(*value))
    }

    /// Returns [`fill_code`](Self::fill_code) if it is also the code of a category: values of that category would be read as missing.
    ///
    /// Source: 0.9 §12.3.
    #[must_use]
    pub fn fill_of_category(&self) -> Option<i64> {
        let count = self.categories.as_ref()?.len();
        let is_code = |code: &i64| usize::try_from(*code).is_ok_and(|code| code < count);
        self.fill_code.filter(is_code)
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
        Ok(Self {
            nonempty_chunks: presence,
            ..Self::take(Members::new(members, &Pointer::Prefix("/attributes")))?
        })
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

    /// Serializes the attributes. If they have categories, `categories` are written in their place.
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

/// Returns the first value that is not a text, boolean or number, or does not have the JSON type of the first value, and its index.
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

/// The rule for categories. They are parsed like any member, but `put` writes `null`, which callers replace, so that long lists are not copied.
struct CategoriesInPlace;

impl MemberRule<Option<Vec<Value>>> for CategoriesInPlace {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<Vec<Value>>, MetaError> {
        members.optional(name)
    }

    fn put(map: &mut Builder, name: &str, value: &Option<Vec<Value>>) {
        map.put_some(name, value.as_ref().map(|_| &Value::Null));
    }
}

/// The rule for group ranges: an object that maps group numbers to `[start, stop]`.
struct Ranges;

impl MemberRule<Option<Vec<GroupRange>>> for Ranges {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<Vec<GroupRange>>, MetaError> {
        let Some(RangesByGroup(ranges)) = members.optional(name)? else {
            return Ok(None);
        };
        Ok(Some(ranges))
    }

    fn put(map: &mut Builder, name: &str, value: &Option<Vec<GroupRange>>) {
        let object = value.as_ref().map(|ranges| {
            let one = |range: &GroupRange| {
                let bounds = Value::from(vec![range.start, range.stop]);
                (range.group.to_string(), bounds)
            };
            ranges.iter().map(one).collect::<JsonObject>()
        });
        map.put_some(name, object.as_ref());
    }
}

struct RangesByGroup(Vec<GroupRange>);

impl FromJson for RangesByGroup {
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
            let group = group.ok_or_else(|| {
                MetaError::unexpected(at, "this name", "a group number as the name")
            })?;
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
            json!({"zv_array": "vertices", "dtype": "float32", "zvf_shard_lengths": {"c/0/0": "HACgB"}}),
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

//! Groups that describe a family of arrays: the object index, link families, link attribute families.

use serde_json::Value;

use crate::attributes::ArrayAttributes;
use crate::document::{Defaulted, Optional, RoleMember, document};
use crate::error::{MetaError, quote};
use crate::json::{JsonObject, Members, Pointer};
use crate::names::{LinkStore, ObjectLayout};
use crate::node::GroupDoc;

document! {
    /// Attributes of the group `object_index`.
    ///
    /// Source: 0.9 §11.1.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ObjectIndexDoc {
        /// `object_index`; readers accept its absence.
        pub zv_array: Option<String> = RoleMember("zv_array"),
        /// Rows of the object index. Absent in a group that was created and never filled: no objects.
        pub num_objects: Option<u64> = Optional("num_objects"),
        /// Rows with a manifest that is not empty. Sometimes absent or stale, so count manifests if it matters.
        pub num_present: Option<u64> = Optional("num_present"),
        /// `K`, the number of components of a chunk key, also inside manifests.
        pub sid_ndim: Option<u32> = Optional("sid_ndim"),
        /// V1: row = id; v2: ids are in object_ids. A value of [`ObjectLayout`]; see [`layout`](Self::layout). Absent in indexes of two blobs (0.7
        /// §10.2).
        pub layout: Option<String> = Optional("layout"),
        /// Whether ids ascend, so that a binary search finds them.
        pub object_ids_sorted: Option<bool> = Optional("object_ids_sorted"),
    }
    beside {
        /// Unknown members next to `attributes`.
        pub node_extra: JsonObject,
    }
}

const AT: Pointer<'static> = Pointer::Prefix("/attributes");

impl ObjectIndexDoc {
    /// Parses the document of the group.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON or not a Zarr v3 group, or if a member has another type.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        Self::from_group(GroupDoc::parse(bytes)?)
    }

    /// Parses the attributes of a group.
    ///
    /// # Errors
    ///
    /// If a member has another type.
    pub fn from_group(group: GroupDoc) -> Result<Self, MetaError> {
        Ok(Self {
            node_extra: group.extra,
            ..Self::take(Members::new(group.attributes, &AT))?
        })
    }

    /// Returns the group document; write it with [`GroupDoc::to_json_line`] as the reference does.
    #[must_use]
    pub fn to_group(&self) -> GroupDoc {
        GroupDoc {
            attributes: self.members(),
            extra: self.node_extra.clone(),
        }
    }

    /// Writes the document on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_group().to_json_line()
    }

    /// Returns how rows are identified.
    ///
    /// # Errors
    ///
    /// If the member is absent or has an unknown value: a guess could assign rows to the wrong objects.
    pub fn layout(&self) -> Result<ObjectLayout, MetaError> {
        let at = "/attributes/layout";
        let name = self
            .layout
            .as_deref()
            .ok_or_else(|| MetaError::missing(at, ObjectLayout::EXPECTED))?;
        ObjectLayout::from_name(name)
            .ok_or_else(|| MetaError::unexpected(at, quote(name), ObjectLayout::EXPECTED))
    }
}

document! {
    /// Attributes of the group `links/<delta>`: the policy that all its arrays share; in older stores also of the node
    /// `cross_chunk_links/<delta>`.
    ///
    /// Source: 0.9 §13.2; 0.8 §9.5; 0.7 §9.1 and §9.4.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct LinkFamilyDoc {
        /// `links_family`; readers accept its absence. Before 0.9 `links` or `cross_chunk_links`.
        pub zv_array: Option<String> = RoleMember("zv_array"),
        /// Levels spanned; repeats the group's name.
        pub level_delta: Option<i32> = Optional("level_delta"),
        /// `L`, endpoints of a record. Without it the family reads as empty.
        pub link_width: Option<u32> = Optional("link_width"),
        /// Whether the order of endpoints means something. Endpoints keep their given order.
        pub directed: bool = Defaulted("directed"),
        /// `canonical`: each record is stored once; `duplicate`: once for each chunk that it touches.
        pub store: LinkStore = Defaulted("store"),
        /// `K`, rank of chunk keys. Without it the family reads as empty.
        pub sid_ndim: Option<u32> = Optional("sid_ndim"),
        /// Number of records without copies; may be stale or absent.
        pub num_links: Option<u64> = Optional("num_links"),
        /// Number of stored rows, with copies; may be stale or absent.
        pub num_physical_records: Option<u64> = Optional("num_physical_records"),
        /// Element type of the rows, before 0.9 (0.7 §9.1).
        pub dtype: Option<String> = Optional("dtype"),
        /// How links between chunks are stored, in some stores of 0.8: `packed_sharded`, `flat_cells`, or the value of a
        /// dialect (0.8 §9.7).
        pub layout: Option<String> = Optional("layout"),
    }
    beside {
        /// Unknown members next to `attributes`.
        pub node_extra: JsonObject,
    }
}

impl LinkFamilyDoc {
    /// Parses the document of the group.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON or not a Zarr v3 group, if a member has another type, or if `store` is neither
    /// `canonical` nor `duplicate`.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        Self::from_group(GroupDoc::parse(bytes)?)
    }

    /// Parses the attributes of a group.
    ///
    /// # Errors
    ///
    /// If a member has another type, or `store` has an unknown value.
    pub fn from_group(group: GroupDoc) -> Result<Self, MetaError> {
        Ok(Self {
            node_extra: group.extra,
            ..Self::from_attributes(group.attributes)?
        })
    }

    /// Parses the attributes of a node: in 0.8, a family may be a group or one array.
    ///
    /// # Errors
    ///
    /// If a member has another type, or `store` has an unknown value.
    pub fn from_attributes(attributes: JsonObject) -> Result<Self, MetaError> {
        Self::take(Members::new(attributes, &AT))
    }

    /// Returns the group document; write it with [`GroupDoc::to_json_line`] as the reference does.
    #[must_use]
    pub fn to_group(&self) -> GroupDoc {
        GroupDoc {
            attributes: self.members(),
            extra: self.node_extra.clone(),
        }
    }

    /// Writes the document on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_group().to_json_line()
    }

    /// Parses the policy from the attributes of an array, if the family is one array (0.8 §3.4 and §9.8).
    ///
    /// # Errors
    ///
    /// As [`from_attributes`](Self::from_attributes).
    pub fn from_array(attributes: &ArrayAttributes) -> Result<Self, MetaError> {
        const SHARED: [&str; 4] = ["zv_array", "dtype", "link_width", "level_delta"];
        let mut members = attributes.extra.clone();
        let shared = attributes.members().into_iter();
        members.extend(shared.filter(|(name, _)| SHARED.contains(&name.as_str())));
        Self::from_attributes(members)
    }

    /// Derives whether the rows of an array of this family begin with a permutation code. Only links between chunks of one level have one, and
    /// only in families that are duplicate or undirected.
    ///
    /// The array attribute `has_perm` repeats it.
    ///
    /// Source: 0.9 §13.3.
    #[must_use]
    pub fn has_perm(&self, delta: i32, offsets_are_zero: bool) -> bool {
        !offsets_are_zero && delta == 0 && (self.store == LinkStore::Duplicate || !self.directed)
    }
}

document! {
    /// Attributes of the group `link_attributes/<name>/<delta>`.
    ///
    /// Source: 0.9 §7.3 and §13.8.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct LinkAttributeFamilyDoc {
        /// `link_attribute_family`; readers accept its absence.
        pub zv_array: Option<String> = RoleMember("zv_array"),
        /// Name of the attribute; repeats the path.
        pub name: Option<String> = Optional("name"),
        /// Levels spanned; repeats the group's name.
        pub level_delta: Option<i32> = Optional("level_delta"),
        /// Logical records; sometimes absent or stale.
        pub num_links: Option<u64> = Optional("num_links"),
    }
    beside {
        /// Unknown members next to `attributes`.
        pub node_extra: JsonObject,
    }
}

impl LinkAttributeFamilyDoc {
    /// Parses the document of the group.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON or not a Zarr v3 group, or if a member has another type.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        Self::from_group(GroupDoc::parse(bytes)?)
    }

    /// Parses the attributes of a group.
    ///
    /// # Errors
    ///
    /// If a member has another type.
    pub fn from_group(group: GroupDoc) -> Result<Self, MetaError> {
        Ok(Self {
            node_extra: group.extra,
            ..Self::take(Members::new(group.attributes, &AT))?
        })
    }

    /// Returns the group document; write it with [`GroupDoc::to_json_line`] as the reference does.
    #[must_use]
    pub fn to_group(&self) -> GroupDoc {
        GroupDoc {
            attributes: self.members(),
            extra: self.node_extra.clone(),
        }
    }

    /// Writes the document on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_group().to_json_line()
    }
}

/// Returns the `zv_array` of a group, which identifies a family.
#[must_use]
pub fn group_discriminator(group: &GroupDoc) -> Option<&str> {
    group
        .attributes
        .get("zv_array")
        .or_else(|| group.attributes.get("zvf_array"))
        .and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zv_array": "links_family", "level_delta": 0, "link_width": 2, "directed": false, "store": "canonical", "sid_ndim": 3, "num_links": 8, "num_physical_records": 8}}"#;
    const INDEX: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zv_array": "object_index", "num_objects": 3, "num_present": 3, "sid_ndim": 2, "layout": "vlen_manifests_v2", "object_ids_sorted": true}}"#;
    const ATTRIBUTE: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zv_array": "link_attribute_family", "name": "weight", "level_delta": 0, "num_links": 155, "more": [1, {"a": null}]}}"#;

    #[test]
    fn real_documents_come_back_byte_for_byte() -> Result<(), MetaError> {
        assert_eq!(LinkFamilyDoc::parse(FAMILY.as_bytes())?.to_json(), FAMILY);
        assert_eq!(ObjectIndexDoc::parse(INDEX.as_bytes())?.to_json(), INDEX);
        assert_eq!(
            LinkAttributeFamilyDoc::parse(ATTRIBUTE.as_bytes())?.to_json(),
            ATTRIBUTE
        );
        Ok(())
    }

    #[test]
    fn the_permutation_column_is_derived() -> Result<(), MetaError> {
        let mut family = LinkFamilyDoc::parse(FAMILY.as_bytes())?;
        assert!(family.has_perm(0, false));
        assert!(!family.has_perm(0, true));
        assert!(!family.has_perm(-1, false));
        family.directed = true;
        assert!(!family.has_perm(0, false));
        family.store = LinkStore::Duplicate;
        assert!(family.has_perm(0, false));
        Ok(())
    }

    #[test]
    fn an_older_family_may_be_a_group_or_an_array() -> Result<(), MetaError> {
        let group = r#"{"zarr_format":3,"node_type":"group","attributes":{"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 1, "link_width": 2, "num_links": 3, "num_physical_records": 4, "directed": true, "store": "duplicate", "layout": "flat_cells"}}"#;
        let family = LinkFamilyDoc::parse(group.as_bytes())?;
        assert_eq!(
            (family.layout.as_deref(), family.directed),
            (Some("flat_cells"), true)
        );
        let attributes = ArrayAttributes::from_group(&GroupDoc::parse(group.as_bytes())?)?;
        assert_eq!(LinkFamilyDoc::from_array(&attributes)?, family);
        Ok(())
    }

    #[test]
    fn layouts_are_never_guessed() -> Result<(), MetaError> {
        let mut index = ObjectIndexDoc::parse(INDEX.as_bytes())?;
        assert_eq!(index.layout()?, ObjectLayout::V2);
        index.layout = Some("vlen_manifests_v3".to_owned());
        assert!(index.layout().is_err());
        index.layout = None;
        assert!(index.layout().is_err());
        Ok(())
    }

    #[test]
    fn the_old_spelling_and_unknown_policies() -> Result<(), MetaError> {
        let family = LinkFamilyDoc::parse(FAMILY.replace("zv_array", "zvf_array").as_bytes())?;
        assert_eq!(family.zv_array.as_deref(), Some("links_family"));
        assert!(LinkFamilyDoc::parse(FAMILY.replace("canonical", "both").as_bytes()).is_err());
        Ok(())
    }
}

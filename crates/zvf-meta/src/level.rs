//! The document of one resolution level.

use serde_json::Value;

use crate::document::{Nullable, OneIfAbsent, Optional, Required, UnlessDefault, document};
use crate::error::{MetaError, describe};
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson, parse_object};
use crate::node::{NodeKind, group_value, pretty, take_node};

document! {
    /// The document `<n>/zarr.json`: the block `attributes.zarr_vectors_level` and the members next to it.
    ///
    /// Lengths are in world units along the axes; `D` is the number of axes.
    ///
    /// Source: 0.9 §6.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct LevelDoc {
        /// Level number; 0 is the finest. Equals the group name.
        pub level: u32 = Required("level"),
        /// Share of the objects that the level kept. Above 0 and at most 1; absent means 1.
        pub object_sparsity: f64 = OneIfAbsent("object_sparsity"),
        /// Rows of all chunks; may be stale. May be 0: a hint, not a reliable count.
        pub vertex_count: u64 = Required("vertex_count"),
        /// How the level was made. `none`, `manual`, `per_object` or the name of a plug-in.
        pub coarsening_method: Option<String> = Nullable("coarsening_method"),
        /// The finer level it was made from. `None` at level 0.
        pub parent_level: Option<u32> = Nullable("parent_level"),
        /// Informative, unreliable. Array families, maintained by writers.
        pub arrays_present: Vec<String> = Required("arrays_present"),
        /// Chunk edges of this level, where they differ from the root's. World size, `D` numbers; see [`crate::space`].
        pub chunk_shape: Option<Vec<f64>> = Optional("chunk_shape"),
        /// Attribute and axes, if chunks are also split by an attribute.
        pub chunk_dims: Option<Vec<String>> = Optional("chunk_dims"),
        /// The first component of chunk keys is a value of this attribute. Keys have a leading bin number (K = D + 1).
        pub chunk_attribute_name: Option<String> = Optional("chunk_attribute_name"),
        /// Value of each bin of that attribute.
        pub chunk_attribute_values: Option<Vec<Value>> = Optional("chunk_attribute_values"),
        /// Dropped objects keep an empty row, so that ids are the same as on the parent level. The object index has the same rows as there.
        pub preserves_object_ids: bool = UnlessDefault("preserves_object_ids"),
        /// Object rows of the parent level.
        pub inherited_num_objects: Option<u64> = Optional("inherited_num_objects"),
        /// Several manifests may name the same fragment.
        pub shared_fragments: bool = UnlessDefault("shared_fragments"),
        /// Every chunk's fragments are consecutive ranges, so row order = fragment order. A claim that must be verified before use (§9.4).
        pub fragments_tile: bool = UnlessDefault("fragments_tile"),
        /// Every chunk has one group of links for each fragment, so that a reader can decode the links of one object. A claim, which only
        /// readers of parts of cells use.
        pub fragment_link_groups: bool = UnlessDefault("fragment_link_groups"),
        /// Bin shape, if multiscales has none. `D` numbers.
        pub bin_shape: Option<Vec<f64>> = Optional("bin_shape"),
        /// Bins of this level divided by bins of level 0, if multiscales does not state it. `D` numbers.
        pub bin_ratio: Option<Vec<f64>> = Optional("bin_ratio"),
        /// Old name of bin_shape.
        pub bin_size: Option<Vec<f64>> = Optional("bin_size"),
        /// Whether the level's own data is its complete content.
        pub refinement: Refinement = UnlessDefault("refinement"),
    }
    beside {
        /// `attributes.user_metadata`: namespace to members (§16.3).
        pub user_metadata: Option<Value>,
        /// Unknown members of `attributes`.
        pub attributes_extra: JsonObject,
        /// Unknown members next to `attributes`.
        pub node_extra: JsonObject,
    }
}

/// How a level's own data relates to its complete content (`refinement` of the level's block).
///
/// Source: upstream's page on additive refinement, capability `additive_levels`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refinement {
    /// The level's own data is its complete content: the value `replace`, or no member.
    #[default]
    Replace,
    /// The complete content is the level's own data together with the complete content of the next coarser level:
    /// the value `add`.
    Add,
}

impl ToJson for Refinement {
    fn to_json(&self) -> Value {
        Value::from(match self {
            Self::Replace => "replace",
            Self::Add => "add",
        })
    }
}

impl FromJson for Refinement {
    const EXPECTED: &'static str = "\"replace\" or \"add\"";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        match value.as_str() {
            Some("replace") => Ok(Self::Replace),
            Some("add") => Ok(Self::Add),
            _ => Err(MetaError::unexpected(at, describe(&value), Self::EXPECTED)),
        }
    }
}

impl LevelDoc {
    /// Whether arrays of the level have no presence lists yet because writers are still running. The member `zarr_vectors_presence` (0.9.3)
    /// states this.
    pub fn presence_is_deferred(&self) -> bool {
        let places = [&self.attributes_extra, &self.extra];
        let mut stated = places
            .iter()
            .filter_map(|one| one.get("zarr_vectors_presence"));
        stated.any(|word| word == "deferred")
    }

    /// Parses a level document.
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON, describe no Zarr v3 group, or a member is missing or of another type.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        let mut node = take_node(parse_object("level", bytes)?, NodeKind::Group)?;
        let at = Pointer::Prefix("/attributes");
        let mut attributes = Members::new(node.required("attributes")?, &at);
        let mut level: Self = attributes.required("zarr_vectors_level")?;
        level.user_metadata = attributes.optional("user_metadata")?;
        level.attributes_extra = attributes.rest();
        level.node_extra = node.rest();
        Ok(level)
    }

    /// Returns the document as a JSON value: known members in the order of the reference, then unknown ones.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut attributes = Builder::default();
        attributes
            .put("zarr_vectors_level", self)
            .put_some("user_metadata", self.user_metadata.as_ref());
        let attributes = attributes.finish(&self.attributes_extra);
        group_value(&attributes, &self.node_extra)
    }

    /// Writes the document, indented by two blanks.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(&self.to_value())
    }

    /// Returns whether chunks are split by an attribute, so that keys have one component more than axes.
    #[must_use]
    pub fn is_attribute_chunked(&self) -> bool {
        self.chunk_attribute_name.is_some()
    }

    /// Returns `K`, the rank of chunk keys: `dims`, or one more on an attribute-chunked level.
    ///
    /// A level rechunked by a non-spatial dimension counts too: its `chunk_dims` has one name more than there are axes.
    #[must_use]
    pub fn key_rank(&self, dims: usize) -> usize {
        let split = self.is_attribute_chunked()
            || self
                .chunk_dims
                .as_ref()
                .is_some_and(|names| names.len() > dims);
        if split { dims.saturating_add(1) } else { dims }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BLOCK: &str = "/attributes/zarr_vectors_level";

    fn parse(block: Value) -> Result<LevelDoc, MetaError> {
        let node = json!({"zarr_format": 3, "node_type": "group",
            "attributes": {"zarr_vectors_level": block, "user_metadata": {"n": {"k": 1}}, "x": 1}, "y": 2});
        LevelDoc::parse(node.to_string().as_bytes())
    }

    #[test]
    fn the_real_examples_of_the_format_page_round_trip() -> Result<(), MetaError> {
        for block in [
            json!({"level": 0, "object_sparsity": 1.0, "vertex_count": 5, "coarsening_method": "none",
                "parent_level": null, "arrays_present": ["vertices"], "fragments_tile": true}),
            json!({"level": 1, "object_sparsity": 0.5, "vertex_count": 3, "coarsening_method": "per_object",
                "parent_level": 0, "arrays_present": ["vertices", "object_index"], "preserves_object_ids": true,
                "inherited_num_objects": 10, "shared_fragments": true}),
            json!({"level": 2, "object_sparsity": 1.0, "vertex_count": 186, "coarsening_method": "per_object",
                "parent_level": 1, "arrays_present": ["vertices"], "chunk_shape": [200.0, 100.0, 200.0],
                "inherited_num_objects": 0, "shared_fragments": true, "refinement": "add", "unknown": {"deep": [null]}}),
        ] {
            let level = parse(block.clone())?;
            assert_eq!(level.to_value().pointer(BLOCK), Some(&block));
            assert_eq!(level.to_value().pointer("/attributes/x"), Some(&json!(1)));
            assert_eq!(LevelDoc::parse(level.to_json().as_bytes())?, level);
        }
        Ok(())
    }

    #[test]
    fn required_members_are_required() {
        let error = parse(json!({"level": 0, "vertex_count": 1})).expect_err("no arrays_present");
        assert_eq!(
            error.to_string(),
            "/attributes/zarr_vectors_level/arrays_present is missing, expected an array"
        );
        assert!(parse(json!({"level": -1, "vertex_count": 1, "arrays_present": []})).is_err());
        assert!(parse(json!({"level": 0, "vertex_count": 1.5, "arrays_present": []})).is_err());
    }

    #[test]
    fn refinement_is_one_of_two_words() -> Result<(), MetaError> {
        let block = |word: Value| json!({"level": 0, "vertex_count": 0, "arrays_present": [], "refinement": word});
        assert_eq!(parse(block(json!("add")))?.refinement, Refinement::Add);
        for word in [json!("replace"), Value::Null] {
            assert_eq!(parse(block(word))?.refinement, Refinement::Replace);
        }
        for word in [json!("multiply"), json!(1)] {
            let error = parse(block(word)).expect_err("another word");
            assert!(
                error
                    .to_string()
                    .contains("expected \"replace\" or \"add\""),
                "{error}"
            );
        }
        Ok(())
    }

    #[test]
    fn keys_of_an_attribute_chunked_level_are_longer() -> Result<(), MetaError> {
        let mut level = parse(json!({"level": 0, "vertex_count": 0, "arrays_present": []}))?;
        assert_eq!(level.key_rank(3), 3);
        level.chunk_attribute_name = Some("label".to_owned());
        assert_eq!(level.key_rank(3), 4);
        Ok(())
    }
}

//! The document of one resolution level.

use serde_json::Value;

use crate::error::{MetaError, describe};
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, parse_object};
use crate::node::{NodeKind, pretty, take_head};

/// The document `<n>/zarr.json`: the block `attributes.zarr_vectors_level` and the members next to it.
///
/// Lengths are in world units along the axes; `D` is the number of axes.
///
/// Source: 0.9 §6.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelDoc {
    /// Number of the level; equals the group name.
    pub level: u32,
    /// Rows of all chunks together. May be stale or 0: a hint, not a reliable count.
    pub vertex_count: u64,
    /// Array families, maintained by writers and unreliable.
    pub arrays_present: Vec<String>,
    /// Share of the objects that this level keeps, above 0 and at most 1. Absent means 1.
    pub object_sparsity: f64,
    /// `none`, `manual`, `per_object` or the name of a plug-in.
    pub coarsening_method: Option<String>,
    /// The finer level this one was made from; `None` at level 0.
    pub parent_level: Option<u32>,
    /// World size of a chunk of this level, `D` numbers; absent means the root's. See [`crate::space`].
    pub chunk_shape: Option<Vec<f64>>,
    /// `[attribute, axes...]` if chunks are also split by an attribute.
    pub chunk_dims: Option<Vec<String>>,
    /// The attribute by which chunks are split; keys then have a leading bin number (K = D + 1).
    pub chunk_attribute_name: Option<String>,
    /// Attribute value of each bin number.
    pub chunk_attribute_values: Option<Vec<Value>>,
    /// Rows of the object index are those of the parent level; dropped objects are empty.
    pub preserves_object_ids: bool,
    /// Object rows of the parent level.
    pub inherited_num_objects: Option<u64>,
    /// Several manifests may name the same fragment.
    pub shared_fragments: bool,
    /// Every fragment index of the level tiles its buffer (§9.4). A claim that must be verified before use.
    pub fragments_tile: bool,
    /// Link groups follow vertex fragments. A claim, useful only for reading parts of cells.
    pub fragment_link_groups: bool,
    /// Whether the level's own data is its complete content.
    pub refinement: Refinement,
    /// Bin shape, if `multiscales` has none; `D` numbers.
    pub bin_shape: Option<Vec<f64>>,
    /// Ratio of the bins to those of level 0, if `multiscales` has none; `D` numbers.
    pub bin_ratio: Option<Vec<f64>>,
    /// Old name of [`bin_shape`](Self::bin_shape).
    pub bin_size: Option<Vec<f64>>,
    /// Unknown members of the block.
    pub extra: JsonObject,
    /// `attributes.user_metadata`: namespace to members (§16.3).
    pub user_metadata: Option<Value>,
    /// Unknown members of `attributes`.
    pub attributes_extra: JsonObject,
    /// Unknown members next to `attributes`.
    pub node_extra: JsonObject,
}

/// How a level's own data relates to its complete content (`refinement` of the level's block).
///
/// Source: upstream's page on additive refinement, capability `additive_levels`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refinement {
    /// The level's own data is its complete content: the word `replace`, or no word.
    #[default]
    Replace,
    /// The complete content is the level's own data together with the complete content of the next coarser level:
    /// the word `add`.
    Add,
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

const BLOCK: &str = "/attributes/zarr_vectors_level";

impl LevelDoc {
    /// Whether arrays of the level have no presence lists yet, because writers are still running: the member `zarr_vectors_presence` (0.9.3).
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
        let at = Pointer::Prefix("");
        let mut node = Members::new(parse_object("level", bytes)?, &at);
        take_head(&mut node, NodeKind::Group)?;
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
            .put("zarr_vectors_level", &Value::Object(self.block()))
            .put_some("user_metadata", self.user_metadata.as_ref());
        let mut node = Builder::default();
        node.put("attributes", &attributes.finish(&self.attributes_extra))
            .put("zarr_format", &3u32)
            .put("node_type", "group");
        Value::Object(node.finish(&self.node_extra))
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
    /// A level rechunked by a non-spatial dimension has `chunk_dims` with one name more than axes and counts too.
    #[must_use]
    pub fn key_rank(&self, dims: usize) -> usize {
        let split = self.is_attribute_chunked()
            || self
                .chunk_dims
                .as_ref()
                .is_some_and(|names| names.len() > dims);
        if split { dims.saturating_add(1) } else { dims }
    }

    fn block(&self) -> JsonObject {
        let mut map = Builder::default();
        map.put("level", &self.level)
            .put("object_sparsity", &self.object_sparsity)
            .put("vertex_count", &self.vertex_count)
            .put("coarsening_method", &self.coarsening_method)
            .put("parent_level", &self.parent_level)
            .put("arrays_present", &self.arrays_present)
            .put_some("chunk_shape", self.chunk_shape.as_ref())
            .put_some("chunk_dims", self.chunk_dims.as_ref())
            .put_some("chunk_attribute_name", self.chunk_attribute_name.as_ref())
            .put_some(
                "chunk_attribute_values",
                self.chunk_attribute_values.as_ref(),
            )
            .put_if("preserves_object_ids", self.preserves_object_ids)
            .put_some("inherited_num_objects", self.inherited_num_objects.as_ref())
            .put_if("shared_fragments", self.shared_fragments)
            .put_if("fragments_tile", self.fragments_tile)
            .put_if("fragment_link_groups", self.fragment_link_groups)
            .put_some("bin_shape", self.bin_shape.as_ref())
            .put_some("bin_ratio", self.bin_ratio.as_ref())
            .put_some("bin_size", self.bin_size.as_ref());
        if self.refinement == Refinement::Add {
            map.put("refinement", "add");
        }
        map.finish(&self.extra)
    }
}

impl FromJson for LevelDoc {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, _: &Pointer<'_>) -> Result<Self, MetaError> {
        let at = Pointer::Prefix(BLOCK);
        let mut members = Members::of(value, &at)?;
        Ok(Self {
            level: members.required("level")?,
            vertex_count: members.required("vertex_count")?,
            arrays_present: members.required("arrays_present")?,
            object_sparsity: members.optional("object_sparsity")?.unwrap_or(1.0),
            coarsening_method: members.optional("coarsening_method")?,
            parent_level: members.optional("parent_level")?,
            chunk_shape: members.optional("chunk_shape")?,
            chunk_dims: members.optional("chunk_dims")?,
            chunk_attribute_name: members.optional("chunk_attribute_name")?,
            chunk_attribute_values: members.optional("chunk_attribute_values")?,
            preserves_object_ids: members.optional("preserves_object_ids")?.unwrap_or(false),
            inherited_num_objects: members.optional("inherited_num_objects")?,
            shared_fragments: members.optional("shared_fragments")?.unwrap_or(false),
            fragments_tile: members.optional("fragments_tile")?.unwrap_or(false),
            fragment_link_groups: members.optional("fragment_link_groups")?.unwrap_or(false),
            refinement: members.optional("refinement")?.unwrap_or_default(),
            bin_shape: members.optional("bin_shape")?,
            bin_ratio: members.optional("bin_ratio")?,
            bin_size: members.optional("bin_size")?,
            extra: members.rest(),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

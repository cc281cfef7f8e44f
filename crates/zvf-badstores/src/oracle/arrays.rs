//! Judges changed members of the documents of arrays and families.

use serde_json::Value;

use super::{Both, Verdict};

use Verdict::NoRule;

/// Members that readers do not need.
const DERIVED: &[&str] = &[
    "encoding",
    "row_shape",
    "has_perm",
    "offsets",
    "level_delta",
    "link_width",
    "num_present",
    "object_ids_sorted",
    "num_links",
    "num_physical_records",
    "channel_names",
    "unit",
    "description",
    "declared_categorical",
    "ordered",
    "_FillValue",
    "group_names",
    "group_ranges",
    "fill_sentinel_meaning",
    "shape",
    "has_present_mask",
    "num_channels",
    "max_row_length",
    "directed",
    "store",
    "dimension_names",
    "num_groups",
    "vertex_count",
    "face_count",
    "link_count",
    "num_fragments",
    "chunk_grid_origin",
];

/// Whether a shape of several axes has grown.
fn larger(before: Option<&Value>, after: Option<&Value>) -> bool {
    let list = |value: Option<&Value>| -> Option<Vec<u64>> {
        value?.as_array()?.iter().map(Value::as_u64).collect()
    };
    match (list(before), list(after)) {
        (Some(before), Some(after)) => {
            before.len() > 1
                && before.len() == after.len()
                && before.iter().zip(&after).all(|(a, b)| a <= b)
        }
        _ => false,
    }
}

/// Whether no chunk of an array is stored.
fn nothing_stored(store: &Both<'_>, parts: &[&str]) -> bool {
    let folder = parts.split_last().map(|(_, folder)| folder.join("/"));
    let prefix = format!("{}/c", folder.unwrap_or_default());
    !store.before.keys().any(|key| key.starts_with(&prefix))
}

/// Judges a changed member of the document of an array or family; `None` if a rule may apply to it.
pub(super) fn array(
    store: &Both<'_>,
    parts: &[&str],
    top: &[&str],
    members: &[&str],
    before: Option<&Value>,
    after: Option<&Value>,
) -> Option<Verdict> {
    let absent = after.is_none_or(Value::is_null);
    let family = matches!(parts, [_, "links", _, "zarr.json"]);
    Some(match (top.first().copied(), members) {
        (Some("attributes"), [name, rest @ ..]) => {
            let text = after.is_some_and(Value::is_string);
            match *name {
                "unit" | "description" | "declared_categorical" | "ordered" => {
                    NoRule("text for people")
                }
                "channel_names" if !rest.is_empty() && text => NoRule("the name of a column"),
                "group_names" if !rest.is_empty() && text => NoRule("the name of a group"),
                "categories" if !rest.is_empty() => NoRule("the value of a category"),
                "link_width" | "directed" | "store" if family => return None,
                "chunk_grid_origin" => return None,
                "num_channels" => NoRule("a number without a rule"),
                "sid_ndim" if absent && parts.get(1) == Some(&"object_index") => {
                    NoRule("a member that readers do not need")
                }
                _ if DERIVED.contains(name) && absent => {
                    NoRule("a member that readers do not need")
                }
                "zv_array" | "name" | "encoding" | "level_delta" | "offsets" | "row_shape"
                    if !store.ruled =>
                {
                    NoRule("only 0.9 has rules about such members")
                }
                "dtype" if absent && !store.ruled && before.is_some_and(|one| one == "float32") => {
                    NoRule("float32, the default dtype")
                }
                "dtype" | "sid_ndim"
                    if absent
                        && !store.ruled
                        && matches!(parts.get(1), Some(&("links" | "cross_chunk_links"))) =>
                {
                    NoRule("a member that readers do not need")
                }
                "nonempty_chunks" | "zv_array" | "name" | "dtype" | "sid_ndim" | "num_objects"
                | "layout" | "categories" => return None,
                name if DERIVED.contains(&name) => return None,
                _ if matches!(parts, ["parametric", ..]) => NoRule("data of parametric objects"),
                _ => NoRule("a member that the format does not define"),
            }
        }
        (Some("attributes"), [])
            if !store.ruled
                && absent
                && before.is_some_and(|one| {
                    one["dtype"] == "float32" && one["num_objects"].is_null()
                }) =>
        {
            NoRule("float32, the default dtype")
        }
        (Some("shape"), _) if !store.ruled && larger(before, after) => {
            NoRule("a grid that is larger than what is stored")
        }
        (Some("chunk_key_encoding"), _) if !store.ruled => {
            NoRule("only 0.9 has rules about such members")
        }
        (Some("codecs" | "fill_value"), _) if nothing_stored(store, parts) => {
            Verdict::Nothing("an array without stored chunks")
        }
        (Some("fill_value"), _)
            if store.ruled
                && parts.get(1) != Some(&"object_attributes")
                && !absent
                && after.is_some_and(Value::is_number) =>
        {
            NoRule("a fill value that does not mark absence")
        }
        (
            Some(
                "shape"
                | "data_type"
                | "chunk_grid"
                | "chunk_key_encoding"
                | "fill_value"
                | "codecs"
                | "zarr_format"
                | "node_type"
                | "attributes"
                | "storage_transformers",
            ),
            _,
        ) => return None,
        (Some(_), _) => NoRule("a member that the format does not define"),
        (None, _) => return None,
    })
}

//! The members of a `zarr.json` document, with the meaning of those that Zarr and this format define.

use serde_json::Value;

use super::dump::{Dump, Field};
use crate::output::table::counted;

/// What members mean: a line each, with the path of the member before it.
const MEANINGS: &str = r#"
zarr_format: version of Zarr; always 3
node_type: group or array
shape: elements along each axis of the array; of a chunk-grid array: chunks along each axis
data_type: type of an element; variable_length_bytes = one byte string an element
chunk_grid: how elements are grouped into stored chunks
chunk_grid.configuration.chunk_shape: elements of one stored object; more than one in a chunk-grid array = a shard
chunk_key_encoding: how an element's index becomes the key of its object: c/0/1/2
fill_value: what elements are whose object does not exist; base64 text for byte strings, so "" is empty
codecs: applied in this order when writing, undone in reverse when reading
storage_transformers: none are defined
dimension_names: names of the array's axes
attributes.zarr_vectors: the store: what makes this Zarr group a Zarr Vectors store
attributes.zarr_vectors.zv_version: format version; 0.9.x share one layout
attributes.zarr_vectors.chunk_shape: edges of a chunk of level 0, world units, axis order
attributes.zarr_vectors.bounds: smallest and largest corner of the data, both included
attributes.zarr_vectors.geometry_types: the first one decides how the store is read
attributes.zarr_vectors.links_convention: which edges are implied by row order and which are stored
attributes.zarr_vectors.base_bin_shape: edges of a bin of level 0; absent = one bin a chunk
attributes.zarr_vectors.format_capabilities: tokens for optional parts; unknown ones are kept
attributes.zarr_vectors.object_index_convention: informative
attributes.zarr_vectors.cross_chunk_strategy: informative
attributes.zarr_vectors.cross_level_depth: how many levels cross-level links span; -1 = all
attributes.zarr_vectors.cross_level_storage: whether cross-level links are stored: none, implicit, explicit
attributes.zarr_vectors.reduction_factor: informative
attributes.zarr_vectors.attribute_specs: declared attributes; their arrays may be missing
attributes.zarr_vectors.coordinate_offset: world = stored + this
attributes.zarr_vectors.crs: coordinate reference system, opaque
attributes.multiscales: axes and the bin shapes of the levels (NGFF 0.4 shape)
attributes.multiscales.0.axes: axis order = order of coordinates in rows and of components in chunk keys
attributes.multiscales.0.datasets: one entry a level: scale = bin shape / bin shape of level 0, translation = bin shape / 2
attributes.ome: derived, for other tools; readers of this format ignore it
attributes.user_metadata: whatever users put there, by namespace
attributes.zarr_vectors_level: the level: what makes this group a resolution level
attributes.zarr_vectors_level.level: level number; 0 is the finest
attributes.zarr_vectors_level.vertex_count: rows of all chunks; may be stale
attributes.zarr_vectors_level.arrays_present: informative, unreliable
attributes.zarr_vectors_level.object_sparsity: share of the objects that the level kept
attributes.zarr_vectors_level.coarsening_method: how the level was made
attributes.zarr_vectors_level.parent_level: the finer level it was made from
attributes.zarr_vectors_level.chunk_shape: chunk edges of this level, where they differ from the root's
attributes.zarr_vectors_level.chunk_attribute_name: the first component of chunk keys is a value of this attribute
attributes.zarr_vectors_level.chunk_attribute_values: value of each bin of that attribute
attributes.zarr_vectors_level.preserves_object_ids: dropped objects keep an empty row, so ids mean the same as on the parent
attributes.zarr_vectors_level.inherited_num_objects: object rows of the parent level
attributes.zarr_vectors_level.shared_fragments: several manifests may name the same fragment
attributes.zarr_vectors_level.fragments_tile: every chunk's fragments are consecutive ranges, so row order = fragment order
attributes.zarr_vectors_level.fragment_link_groups: every chunk has one group of links for each fragment, so the links of an object are found without those of others
attributes.zv_array: which array of the format this is
attributes.nonempty_chunks: keys of the chunks that hold anything: absolute coordinates, ASCII order; the only way to find them
attributes.chunk_grid_origin: chunk coordinate of array index 0; absent = zeros
attributes.dtype: type of the numbers inside a cell
attributes.encoding: how a cell is written
attributes.name: attribute name
attributes.row_shape: shape of one row: [] = one value, [w] = w channels; the bytes decide
attributes.channel_names: names of the channels
attributes.categories: values that the codes stand for, by number
attributes.ordered: whether the order of the categories means something
attributes._FillValue: the code of a missing value
attributes.unit: unit of the values
attributes.description: what the values are
attributes.offsets: where the chunks of endpoints 1.. lie, relative to the chunk of endpoint 0
attributes.has_perm: whether rows begin with the order in which the application gave the endpoints
attributes.link_width: endpoints of a record: 2 edges, 3 triangles
attributes.level_delta: levels between endpoint 0 and the others
attributes.directed: whether the order of endpoints means something
attributes.store: canonical = each record once, duplicate = once for each chunk it touches
attributes.sid_ndim: components of a chunk key
attributes.num_links: records; may be stale
attributes.num_physical_records: stored rows; may be stale
attributes.num_objects: rows of the object index
attributes.num_present: rows with a manifest that is not empty
attributes.zvf_deleted: ids of deleted objects: their rows stay until a vacuum
attributes.layout: v1: row = id; v2: ids stand in object_ids
attributes.object_ids_sorted: whether ids rise, so that they can be searched
attributes.shape: shape of the values
attributes.fill_sentinel_meaning: what the fill value stands for
attributes.zvf_stored_chunks: chunks that the writer stored, those of nothing but fill as well
attributes.zvf_shard_lengths: lengths of the inner chunks of large shards, in base 64: readers ask for cells together with the index of a shard
attributes.num_groups: groups
attributes.group_names: names of the groups, by number
attributes.group_ranges: groups given as a range of ids instead of a list
attributes.parametric_types: registry of parametric objects
"#;

/// Members that are shown as a whole.
const WHOLE: &[&str] = &[
    "shape",
    "codecs",
    "chunk_key_encoding",
    "attributes.nonempty_chunks",
    "attributes.categories",
    "attributes.zvf_shard_lengths",
    "attributes.ome",
];

/// Takes a document apart.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8]) {
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            let at = byte_of(bytes, error.line(), error.column());
            dump.section("text before the damage");
            let before = bytes.get(..at).unwrap_or(bytes);
            let start = before.len().saturating_sub(64);
            let tail = before.get(start..).unwrap_or_default();
            dump.push(Field {
                at: Some(start as u64),
                bytes: tail.iter().copied().take(32).collect(),
                length: tail.len() as u64,
                name: "text".into(),
                value: String::from_utf8_lossy(tail)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
                meaning: "the last of it that is JSON".into(),
            });
            let reason = error.to_string();
            let reason = reason.split(" at line").next().unwrap_or_default();
            dump.fault(
                at as u64,
                format!(
                    "not a JSON document: {reason} (line {}, column {})",
                    error.line(),
                    error.column()
                ),
            );
            return;
        }
    };
    let kind = document
        .get("node_type")
        .and_then(Value::as_str)
        .unwrap_or("JSON");
    dump.section(format!("{kind} document, {} bytes", bytes.len()));
    let Value::Object(members) = &document else {
        dump.fault(
            0,
            format!("document: found {}, expected an object", kind_of(&document)),
        );
        return;
    };
    for (name, value) in members {
        member(dump, name, value, 0);
    }
}

/// Shows one member, and its own members below it if they explain more.
fn member(dump: &mut Dump, path: &str, value: &Value, depth: usize) {
    let name = path.rsplit('.').next().unwrap_or(path);
    let mut meanings = MEANINGS.lines();
    let meaning = meanings.find_map(|line| line.strip_prefix(path)?.strip_prefix(": "));
    let meaning = meaning.unwrap_or_default();
    let title = format!("{}{name}", "  ".repeat(depth));
    let members = match value {
        Value::Object(members) if !members.is_empty() && depth < 6 && !WHOLE.contains(&path) => {
            members
        }
        Value::Array(items) if path == "attributes.multiscales" => {
            dump.remark(&title, counted(items.len() as u64, "item"), meaning);
            for (i, item) in items.iter().enumerate().take(dump.rows) {
                member(dump, &format!("{path}.{i}"), item, depth + 1);
            }
            return;
        }
        other => {
            dump.remark(&title, short(other), meaning);
            return;
        }
    };
    dump.remark(&title, counted(members.len() as u64, "member"), meaning);
    for (name, value) in members {
        member(dump, &format!("{path}.{name}"), value, depth + 1);
    }
}

/// A value on one line; long lists say how many items they have.
fn short(value: &Value) -> String {
    const MOST: usize = 56;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    let head: String = text.chars().take(MOST - 1).collect();
    match value {
        Value::Array(items) => format!("{} items: {head}…", items.len()),
        _ => format!("{head}…"),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The byte at a line and column, both counted from 1; column 0 is the end of the line before.
fn byte_of(bytes: &[u8], line: usize, column: usize) -> usize {
    let starts = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    let start = [0]
        .into_iter()
        .chain(starts)
        .nth(line.saturating_sub(1))
        .unwrap_or(0);
    (start + column.saturating_sub(1)).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_of_the_damage() {
        let mut dump = Dump::new(8);
        walk(&mut dump, b"{\"a\": 1,\n \"b\": x}");
        assert_eq!(dump.fault.map(|fault| fault.at), Some(15));
    }

    #[test]
    fn depth_is_bounded() {
        let mut text = "{\"a\":".repeat(100);
        text.push('1');
        text.push_str(&"}".repeat(100));
        let mut dump = Dump::new(8);
        walk(&mut dump, text.as_bytes());
        assert!(dump.fault.is_none());
        assert!(
            dump.sections
                .first()
                .is_some_and(|section| section.fields.len() < 10)
        );
    }
}

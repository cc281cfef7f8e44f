//! A test store that breaks no rule and has something to check for every rule: a graph in two dimensions with
//! three levels. One of them has its own chunk shape, and one is split by an attribute.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Documents of a store by key, as JSON values.
#[derive(Clone, Debug)]
pub(crate) struct Documents(pub(crate) BTreeMap<String, Value>);

impl Documents {
    /// The document of a node; `path` is empty for the root.
    pub(crate) fn node(&mut self, path: &str) -> &mut Value {
        let key = key(path);
        self.0
            .get_mut(&key)
            .unwrap_or_else(|| panic!("a document {key}"))
    }

    /// Puts a value in place of a member that may not exist yet.
    pub(crate) fn set(&mut self, path: &str, pointer: &str, value: Value) {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a member");
        let parent = self
            .node(path)
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("{path} has {parent}"));
        match parent {
            Value::Array(items) => items[name.parse::<usize>().expect("an index")] = value,
            other => other[name] = value,
        }
    }

    /// Removes a member and returns it.
    pub(crate) fn remove(&mut self, path: &str, pointer: &str) -> Value {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a member");
        let parent = self
            .node(path)
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("{path} has {parent}"));
        match parent {
            Value::Array(items) => items.remove(name.parse().expect("an index")),
            Value::Object(members) => members
                .shift_remove(name)
                .unwrap_or_else(|| panic!("{path} has {pointer}")),
            _ => panic!("{pointer} is no member"),
        }
    }

    /// Appends to a list.
    pub(crate) fn push(&mut self, path: &str, pointer: &str, value: Value) {
        let list = self
            .node(path)
            .pointer_mut(pointer)
            .and_then(Value::as_array_mut);
        list.unwrap_or_else(|| panic!("{path} has {pointer}"))
            .push(value);
    }

    /// Removes a node and all below it.
    pub(crate) fn drop_node(&mut self, path: &str) {
        let below = format!("{path}/");
        self.0.retain(|key, _| !key.starts_with(&below));
    }

    /// Copies a node and all below it to another place.
    pub(crate) fn copy(&mut self, from: &str, to: &str) {
        let below = format!("{from}/");
        let copies: Vec<_> = self
            .0
            .iter()
            .filter_map(|(key, value)| {
                Some((format!("{to}/{}", key.strip_prefix(&below)?), value.clone()))
            })
            .collect();
        self.0.extend(copies);
    }

    /// Moves a node and all below it.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        self.copy(from, to);
        self.drop_node(from);
    }

    pub(crate) fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        self.0
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string().into_bytes()))
            .collect()
    }
}

fn key(path: &str) -> String {
    if path.is_empty() {
        "zarr.json".to_owned()
    } else {
        format!("{path}/zarr.json")
    }
}

fn group(attributes: Value) -> Value {
    json!({"attributes": attributes, "zarr_format": 3, "node_type": "group"})
}

/// A chunk-grid array with the origin before its attributes.
fn cells(shape: Value, origin: Value, keys: Value, attributes: Value) -> Value {
    let ones: Vec<u64> = shape
        .as_array()
        .expect("a shape")
        .iter()
        .map(|_| 1)
        .collect();
    let mut all = json!({"nonempty_chunks": keys, "chunk_grid_origin": origin});
    let members = attributes.as_object().expect("attributes").clone();
    all.as_object_mut().expect("attributes").extend(members);
    array(
        shape,
        json!(ones),
        json!("variable_length_bytes"),
        json!(""),
        json!("vlen-bytes"),
        all,
    )
}

fn array(
    shape: Value,
    chunk: Value,
    data_type: Value,
    fill: Value,
    codec: Value,
    attributes: Value,
) -> Value {
    json!({
        "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [{"name": codec}, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}],
        "attributes": attributes, "zarr_format": 3, "node_type": "array", "storage_transformers": []
    })
}

fn dataset(level: u32, scale: f64, half: f64) -> Value {
    json!({"path": level.to_string(), "coordinateTransformations": [
        {"type": "scale", "scale": [scale, scale]}, {"type": "translation", "translation": [half, half]}]})
}

fn root() -> Value {
    let axes = json!([{"name": "x", "type": "space"}, {"name": "y", "type": "space", "unit": "micrometer"}]);
    group(json!({
        "zarr_vectors": {
            "zv_version": "0.9.2", "format_capabilities": ["multiscale_links"], "chunk_shape": [10, 10.0],
            "bounds": [[-15, -10], [19.9, 7]], "geometry_types": ["graph"], "base_bin_shape": [5.0, 5.0],
            "links_convention": "explicit", "object_index_convention": "standard",
            "cross_chunk_strategy": "explicit_links", "cross_level_depth": 1, "cross_level_storage": "explicit",
            "reduction_factor": 8, "attribute_specs": {"vertex": {"intensity": {"dtype": "float32"}}}
        },
        "multiscales": [{"version": "0.4", "name": "default", "axes": axes,
            "datasets": [dataset(0, 1.0, 2.5), dataset(1, 4.0, 10.0), dataset(2, 8.0, 20.0)],
            "metadata": {"format": "zarr_vectors"}}],
        "ome": {"version": "0.6", "type": "collection", "name": "base",
            "attributes": {"scene": {"coordinateSystems": [{"name": "world", "axes": axes}],
                "coordinateTransformations": []}},
            "nodes": [{"type": "zv:level", "name": "0"}, {"type": "zv:level", "name": "1"},
                {"type": "zv:level", "name": "2"}]}
    }))
}

fn level(block: Value) -> Value {
    group(json!({"zarr_vectors_level": block}))
}

/// The whole store.
pub(crate) fn documents() -> Documents {
    let mut store = BTreeMap::new();
    let mut add = |path: &str, document: Value| store.insert(key(path), document);
    add("", root());

    add(
        "0",
        level(
            json!({"level": 0, "object_sparsity": 1.0, "vertex_count": 5, "coarsening_method": "none",
        "parent_level": null, "arrays_present": ["vertices"], "fragments_tile": true}),
        ),
    );
    let grid =
        |keys: Value, attributes: Value| cells(json!([4, 2]), json!([-2, -1]), keys, attributes);
    let all = json!(["-1.0", "-2.-1", "0.0", "1.-1", "1.0"]);
    add(
        "0/vertices",
        grid(
            all.clone(),
            json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}),
        ),
    );
    let fragments = |name: &str| json!({"zv_array": name, "encoding": "fragment_index_v1"});
    add(
        "0/vertex_fragments",
        grid(all.clone(), fragments("vertex_fragments")),
    );
    add(
        "0/link_fragments",
        grid(json!(["0.0"]), fragments("link_fragments")),
    );
    add("0/vertex_attributes", group(json!({})));
    add(
        "0/vertex_attributes/intensity",
        grid(
            all.clone(),
            json!({"zv_array": "attribute", "name": "intensity",
        "dtype": "float32", "row_shape": [2], "channel_names": ["a", "b"], "unit": "mV"}),
        ),
    );
    add(
        "0/vertex_attributes/kind",
        grid(
            all.clone(),
            json!({"zv_array": "attribute", "name": "kind", "dtype": "int8",
        "encoding": "dictionary", "categories": ["axon", "soma"], "ordered": false, "_FillValue": -1, "row_shape": []}),
        ),
    );
    add(
        "0/fragment_attributes/object_id",
        grid(
            all,
            json!({"zv_array": "fragment_attribute", "name": "object_id",
        "dtype": "int64", "row_shape": []}),
        ),
    );
    add(
        "0/links/0",
        group(
            json!({"zv_array": "links_family", "level_delta": 0, "link_width": 2, "directed": false,
        "store": "canonical", "sid_ndim": 2, "num_links": 3, "num_physical_records": 3}),
        ),
    );
    let links = |offset: [i64; 2], perm: bool| {
        json!({"zv_array": "links", "dtype": "int64", "offsets": [offset],
        "has_perm": perm, "link_width": 2, "level_delta": 0})
    };
    add("0/links/0/0.0", grid(json!(["0.0"]), links([0, 0], false)));
    add(
        "0/links/0/+1.0",
        grid(json!(["-1.0", "0.0"]), links([1, 0], true)),
    );
    add(
        "0/link_attributes/w/0",
        group(
            json!({"zv_array": "link_attribute_family", "name": "w", "level_delta": 0,
        "num_links": 3}),
        ),
    );
    add(
        "0/link_attributes/w/0/+1.0",
        grid(
            json!(["-1.0", "0.0"]),
            json!({"zv_array": "link_attribute", "name": "w",
        "dtype": "float32", "offsets": [[1, 0]], "level_delta": 0, "row_shape": []}),
        ),
    );
    add(
        "0/object_index",
        group(
            json!({"zv_array": "object_index", "num_objects": 3, "num_present": 2, "sid_ndim": 2,
        "layout": "vlen_manifests_v2", "object_ids_sorted": true}),
        ),
    );
    add(
        "0/object_index/object_ids",
        array(
            json!([3]),
            json!([3]),
            json!("int64"),
            json!(0),
            json!("bytes"),
            json!({}),
        ),
    );
    let vlen = |rows: u64, attributes: Value| {
        array(
            json!([rows]),
            json!([rows]),
            json!("variable_length_bytes"),
            json!(""),
            json!("vlen-bytes"),
            attributes,
        )
    };
    add("0/object_index/manifests", vlen(3, json!({})));
    add(
        "0/object_attributes/length",
        array(
            json!([3]),
            json!([65536]),
            json!("float32"),
            json!("NaN"),
            json!("bytes"),
            json!({"zv_array": "object_attribute", "name": "length", "dtype": "float32", "shape": [3],
            "fill_sentinel_meaning": "absent"}),
        ),
    );
    add(
        "0/groups",
        vlen(
            3,
            json!({"zv_array": "groups", "num_groups": 3, "group_ranges": {"2": [0, 3]},
        "group_names": ["left", "right"]}),
        ),
    );
    add(
        "0/group_attributes/side",
        array(
            json!([3, 2]),
            json!([3, 2]),
            json!("int32"),
            json!(0),
            json!("bytes"),
            json!({"zv_array": "groupings_attribute", "name": "side", "dtype": "<i4", "shape": [3, 2]}),
        ),
    );

    add(
        "1",
        level(
            json!({"level": 1, "object_sparsity": 0.5, "vertex_count": 3, "coarsening_method": "per_object",
        "parent_level": 0, "arrays_present": ["vertices"], "chunk_shape": [40.0, 40.0], "preserves_object_ids": true,
        "inherited_num_objects": 3, "shared_fragments": true}),
        ),
    );
    let coarse = |attributes: Value| {
        cells(
            json!([2, 2]),
            json!([-1, -1]),
            json!(["-1.-1", "0.0"]),
            attributes,
        )
    };
    add(
        "1/vertices",
        coarse(json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"})),
    );
    add("1/vertex_fragments", coarse(fragments("vertex_fragments")));
    add(
        "1/links/-1",
        group(
            json!({"zv_array": "links_family", "level_delta": -1, "link_width": 2, "directed": true,
        "store": "canonical", "sid_ndim": 2, "num_links": 5, "num_physical_records": 5}),
        ),
    );
    add(
        "1/links/-1/+1.0",
        coarse(
            json!({"zv_array": "links", "dtype": "int64", "offsets": [[1, 0]],
        "has_perm": false, "link_width": 2, "level_delta": -1}),
        ),
    );

    add(
        "2",
        level(
            json!({"level": 2, "object_sparsity": 1.0, "vertex_count": 2, "coarsening_method": "manual",
        "parent_level": 1, "arrays_present": ["vertices"], "chunk_dims": ["label", "x", "y"],
        "chunk_attribute_name": "label", "chunk_attribute_values": ["a", "b", 3]}),
        ),
    );
    let split = |attributes: Value| {
        cells(
            json!([3, 4, 2]),
            json!([0, -2, -1]),
            json!(["0.-1.0", "2.1.-1"]),
            attributes,
        )
    };
    add(
        "2/vertices",
        split(json!({"zv_array": "vertices", "dtype": "<f8", "encoding": "raw"})),
    );
    add("2/vertex_fragments", split(fragments("vertex_fragments")));
    Documents(store)
}

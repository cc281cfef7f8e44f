//! Other content of a store: parametric objects, composite geometry, headers, packing, unknown folders.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use serde_json::{Value, json};
use zvf_store::{IoTrace, Need, OpenOptions, SideGroups, Store};

/// A group node.
fn group(attributes: Value) -> Value {
    json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes })
}

/// An array node.
fn array(shape: &[u64], data_type: &str, attributes: Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": 0,
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": shape } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "codecs": [{ "name": "bytes" }], "attributes": attributes, "storage_transformers": [],
    })
}

/// A store of one level with one chunk-grid array of positions and no cell.
fn skeleton_of_a_store(more: Value) -> Vec<(String, Value)> {
    let mut root = json!({
        "zarr_vectors": { "zv_version": "0.9.2", "chunk_shape": [10, 10], "bounds": [[0, 0], [19, 9]],
            "geometry_types": ["point_cloud"], "format_capabilities": [] },
        "multiscales": [{ "axes": [{ "name": "x", "type": "space" }, { "name": "y", "type": "space" }], "datasets": [] }],
    });
    if let (Some(root), Some(more)) = (root.as_object_mut(), more.as_object()) {
        root.extend(more.clone());
    }
    let level = json!({ "zarr_vectors_level": { "level": 0, "vertex_count": 0, "arrays_present": ["vertices"],
        "object_sparsity": 1.0, "coarsening_method": "none", "parent_level": null } });
    let mut vertices = array(
        &[2, 1],
        "variable_length_bytes",
        json!({ "nonempty_chunks": [], "dtype": "float32" }),
    );
    vertices["chunk_grid"]["configuration"]["chunk_shape"] = json!([1, 1]);
    vertices["codecs"] = json!([{ "name": "vlen-bytes" }]);
    vertices["fill_value"] = json!("");
    vec![
        ("zarr.json".into(), group(root)),
        ("0/zarr.json".into(), group(level)),
        ("0/vertices/zarr.json".into(), vertices),
    ]
}

/// The groups found in a store of these documents, and the number of rounds after opening.
async fn side(files: Vec<(String, Value)>) -> (SideGroups, u32) {
    let backend = InMemory::new();
    for (key, value) in files {
        let bytes = value.to_string().into_bytes();
        backend
            .put(&Path::parse(key).unwrap(), bytes.into())
            .await
            .unwrap();
    }
    let trace = IoTrace::on();
    let options = OpenOptions::new()
        .with_trace(trace.clone())
        .with_prefetch(0, Need::nothing())
        .with_object_store(Arc::new(backend) as Arc<dyn ObjectStore>);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let before = trace.take().iter().map(|r| r.round).max().unwrap_or(0);
    let side = store.side_groups().await.unwrap();
    let after = trace.take().iter().map(|r| r.round).max().unwrap_or(before);
    // A second call sends no requests.
    assert_eq!(store.side_groups().await.unwrap(), side);
    assert!(trace.take().is_empty());
    (side, after - before)
}

fn types() -> Value {
    json!({ "parametric_types": {
        "10": { "name": "cone", "coefficients": ["a", "b"] },
        "0": { "name": "plane", "coefficients": ["A", "B", "C", "D"] },
    } })
}

#[tokio::test]
async fn a_plain_store_has_nothing_else() {
    let (side, rounds) = side(skeleton_of_a_store(json!({}))).await;
    let expected = {
        let mut nothing = SideGroups::default();
        nothing.listed = true;
        nothing
    };
    assert_eq!(side, expected);
    assert!(rounds <= 1, "{rounds}");
}

#[tokio::test]
async fn parametric_objects_of_both_forms() {
    let data = |n: u64| array(&[n], "uint8", json!({}));
    let mut old = skeleton_of_a_store(json!({}));
    old.extend([
        ("parametric/zarr.json".into(), group(types())),
        (
            "parametric/objects/zarr.json".into(),
            group(json!({ "zv_array": "parametric_objects", "num_objects": 3, "max_row_length": 7, "dtype": "float64" })),
        ),
        ("parametric/objects/data/zarr.json".into(), data(168)),
        ("parametric/names/zarr.json".into(), group(json!({ "zv_array": "parametric_names", "num_objects": 3 }))),
        ("parametric/names/data/zarr.json".into(), data(20)),
        ("parametric/groups/zarr.json".into(), group(json!({ "num_groups": 2 }))),
        ("parametric/object_attributes/mass/zarr.json".into(), group(json!({ "dtype": "float32", "shape": [3] }))),
        ("parametric/object_attributes/mass/data/zarr.json".into(), data(12)),
    ]);
    let mut new = skeleton_of_a_store(json!({}));
    new.extend([
        ("parametric/zarr.json".into(), group(types())),
        (
            "parametric/objects/zarr.json".into(),
            array(
                &[3, 7],
                "float64",
                json!({ "zv_array": "parametric_objects" }),
            ),
        ),
        (
            "parametric/names/zarr.json".into(),
            array(&[3], "variable_length_bytes", json!({})),
        ),
        (
            "parametric/groups/zarr.json".into(),
            array(&[2], "variable_length_bytes", json!({})),
        ),
        (
            "parametric/object_attributes/mass/zarr.json".into(),
            array(&[3], "float32", json!({})),
        ),
    ]);
    for files in [old, new] {
        let (side, rounds) = side(files).await;
        let parametric = side.parametric.expect("parametric objects");
        assert_eq!(
            (parametric.objects, parametric.max_row_length),
            (Some(3), Some(7))
        );
        assert_eq!((parametric.named, parametric.groups), (true, Some(2)));
        assert_eq!(parametric.attributes, ["mass"]);
        let types: Vec<_> = parametric
            .types
            .iter()
            .map(|t| (t.id.as_str(), t.name.as_str(), t.coefficients.len()))
            .collect();
        assert_eq!(types, [("0", "plane", 4), ("10", "cone", 2)]);
        assert!(
            side.problems.is_empty() && rounds <= 2,
            "{:?}, {rounds} rounds",
            side.problems
        );
    }
}

#[tokio::test]
async fn composite_links_are_usable_only_in_one_chunk() {
    let index = |vertices: u64| {
        group(
            json!({ "mesh": { "array": "vertices_mesh", "vertex_count": vertices, "links_array": "links_mesh",
            "face_count": 5, "has_links": true } }),
        )
    };
    let old = |chunks: &[&str]| {
        let mut files = skeleton_of_a_store(json!({}));
        files.push(("0/geometry_index/zarr.json".into(), index(9)));
        files.push((
            "0/vertices_mesh/zarr.json".into(),
            group(json!({ "dtype": "float32", "ndim": 2, "vertex_count": 9 })),
        ));
        for chunk in chunks {
            files.push((
                format!("0/vertices_mesh/{chunk}/zarr.json"),
                array(&[36], "uint8", json!({})),
            ));
        }
        files.push((
            "0/links_mesh/zarr.json".into(),
            group(json!({ "link_count": 5, "link_width": 3 })),
        ));
        files.push((
            "0/links_mesh/data/zarr.json".into(),
            array(&[120], "uint8", json!({})),
        ));
        files
    };
    let new = |keys: Value| {
        let mut files = skeleton_of_a_store(json!({}));
        files.push(("0/geometry_index/zarr.json".into(), index(9)));
        let attributes =
            json!({ "zv_array": "vertices", "dtype": "float32", "nonempty_chunks": keys });
        files.push((
            "0/vertices_mesh/zarr.json".into(),
            array(&[2, 1], "variable_length_bytes", attributes),
        ));
        files.push((
            "0/links_mesh/zarr.json".into(),
            array(&[5, 3], "int64", json!({})),
        ));
        files
    };
    for (files, chunks) in [
        (old(&["0.0"]), 1),
        (old(&["0.0", "-1.0"]), 2),
        (new(json!(["1.0"])), 1),
        (new(json!(["0.0", "1.0"])), 2),
    ] {
        let (side, rounds) = side(files).await;
        let [mesh] = side.composite.as_slice() else {
            panic!("{side:?}")
        };
        assert_eq!((mesh.level, mesh.kind.as_str()), (0, "mesh"));
        assert_eq!((mesh.vertices, mesh.chunks), (Some(9), Some(chunks)));
        assert_eq!((mesh.links, mesh.link_width), (Some(5), Some(3)));
        assert_eq!(mesh.links_refused.is_none(), chunks == 1, "{mesh:?}");
        assert!(side.unknown.is_empty() && rounds <= 2, "{side:?}");
    }
    // Packed chunks cannot be counted by their names.
    let (side, _) = side(old(&["__shard_000000"])).await;
    assert_eq!(side.composite[0].chunks, None);
    assert!(side.composite[0].links_refused.is_some());
}

#[tokio::test]
async fn headers_packing_and_strangers() {
    let mut files = skeleton_of_a_store(json!({ "shard_layout": "octree", "shard_size": 8 }));
    files.extend([
        ("headers/zarr.json".into(), group(json!({}))),
        (
            "headers/trk/zarr.json".into(),
            group(json!({ "voxel_to_rasmm": [1, 2, 3], "magic": "TRACK" })),
        ),
        ("headers/swc/zarr.json".into(), json!("not a node")),
        ("thumbnails/zarr.json".into(), group(json!({}))),
        ("01/zarr.json".into(), group(json!({}))),
        ("0/heat/zarr.json".into(), group(json!({}))),
    ]);
    let (side, rounds) = side(files).await;
    let headers: Vec<_> = side
        .headers
        .iter()
        .map(|h| (h.format.as_str(), h.members.clone()))
        .collect();
    assert_eq!(
        headers,
        [
            ("swc", vec![]),
            (
                "trk",
                vec![("voxel_to_rasmm".to_owned(), 7), ("magic".to_owned(), 7)]
            ),
        ]
    );
    let packing = side.packing.expect("packing");
    assert_eq!((packing.layout.as_str(), packing.size), ("octree", Some(8)));
    assert_eq!(side.unknown, ["01", "thumbnails", "0/heat"]);
    assert_eq!(side.problems.len(), 1, "{:?}", side.problems);
    assert!(
        side.problems[0].starts_with("headers/swc/zarr.json: "),
        "{:?}",
        side.problems
    );
    assert!(side.listed && rounds <= 2);
}

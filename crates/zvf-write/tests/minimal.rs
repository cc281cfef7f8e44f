//! The complete store of appendix A of the format specification: every byte that matters.

use serde_json::{Value, json};
use zvf_write::{Batch, Compression, Kind, StoreSpec, StoreWriter};

use crate::support::{ADDRESS, Memory, check_documents};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// A fragment index of one range, as an element of a chunk (0.9 §9.1).
fn one_range(count: u8) -> Vec<u8> {
    let blob = format!(
        "4746565a 01000000 01000000 01000000 0100000000000000 0000000000000000 {count:02x}00000000000000 00000000"
    );
    hex(&format!("01000000 2c000000 {blob}"))
}

#[tokio::test]
async fn the_minimal_store_is_the_one_of_the_page() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_compression(Compression::None);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let rows = [
        1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 11.0, 2.0, 3.0, 1.0, 12.0, 3.0, 0.5, 0.25, 0.125,
    ];
    writer.push(&Batch::new(&rows[..])).unwrap();
    let summary = writer.finish().await.unwrap();
    assert_eq!(
        (
            summary.vertices,
            summary.chunks,
            summary.objects,
            summary.links
        ),
        (5, 3, 0, 0)
    );
    let files = memory.files().await;
    check_documents(&files);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let wanted = [
        "0/vertex_fragments/c/0/0/0",
        "0/vertex_fragments/c/0/1/0",
        "0/vertex_fragments/c/1/0/0",
        "0/vertex_fragments/zarr.json",
        "0/vertices/c/0/0/0",
        "0/vertices/c/0/1/0",
        "0/vertices/c/1/0/0",
        "0/vertices/zarr.json",
        "0/zarr.json",
        "zarr.json",
    ];
    assert_eq!(names, wanted);

    let cell = "01000000 24000000 0000803f 00000040 00004040 00008040 0000a040 0000c040 0000003f 0000803e 0000003e";
    assert_eq!(files["0/vertices/c/0/0/0"], hex(cell));
    assert_eq!(
        files["0/vertices/c/0/1/0"],
        hex("01000000 0c000000 0000803f 00004041 00004040")
    );
    assert_eq!(
        files["0/vertices/c/1/0/0"],
        hex("01000000 0c000000 00003041 00000040 00004040")
    );
    assert_eq!(files["0/vertex_fragments/c/0/0/0"], one_range(3));
    assert_eq!(files["0/vertex_fragments/c/0/1/0"], one_range(1));
    assert_eq!(files["0/vertex_fragments/c/1/0/0"], one_range(1));

    let json = |key: &str| -> Value { serde_json::from_slice(&files[key]).unwrap() };
    let array = |attributes: Value| {
        json!({
            "shape": [2, 2, 1],
            "data_type": "variable_length_bytes",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1, 1]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "",
            "codecs": [{"name": "vlen-bytes", "configuration": {}}],
            "attributes": attributes,
            "zarr_format": 3, "node_type": "array", "storage_transformers": []
        })
    };
    let keys = ["0.0.0", "0.1.0", "1.0.0"];
    let attributes = json!({"nonempty_chunks": keys, "zv_array": "vertices", "dtype": "float32", "encoding": "raw"});
    assert_eq!(json("0/vertices/zarr.json"), array(attributes));
    let attributes = json!({"nonempty_chunks": keys, "zv_array": "vertex_fragments", "encoding": "fragment_index_v1"});
    assert_eq!(json("0/vertex_fragments/zarr.json"), array(attributes));
    let level = json!({"level": 0, "object_sparsity": 1.0, "vertex_count": 5, "coarsening_method": "none",
        "parent_level": null, "arrays_present": ["vertices"], "fragments_tile": true});
    let group = |attributes: Value| json!({"attributes": attributes, "zarr_format": 3, "node_type": "group"});
    assert_eq!(
        json("0/zarr.json"),
        group(json!({"zarr_vectors_level": level}))
    );
    let axes = json!([{"name": "x", "type": "space"}, {"name": "y", "type": "space"}, {"name": "z", "type": "space"}]);
    let root = json!({
        "zarr_vectors": {"zv_version": "0.9.2", "format_capabilities": [], "chunk_shape": [10.0, 10.0, 10.0],
            "bounds": [[0.5, 0.25, 0.125], [11.0, 12.0, 6.0]], "geometry_types": ["point_cloud"],
            "links_convention": "implicit_sequential", "object_index_convention": "standard",
            "cross_chunk_strategy": "explicit_links"},
        "multiscales": [{"version": "0.4", "name": "default", "axes": axes,
            "datasets": [{"path": "0", "coordinateTransformations": [
                {"type": "scale", "scale": [1.0, 1.0, 1.0]},
                {"type": "translation", "translation": [5.0, 5.0, 5.0]}]}],
            "metadata": {"format": "zarr_vectors"}}],
        "ome": {"version": "0.6", "type": "collection", "name": "points",
            "attributes": {"scene": {"coordinateSystems": [{"name": "world", "axes": axes}],
                "coordinateTransformations": []}},
            "nodes": [{"type": "zv:level", "name": "0"}]}
    });
    assert_eq!(json("zarr.json"), group(root));
}

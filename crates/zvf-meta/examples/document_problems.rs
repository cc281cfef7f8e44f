//! Finds problems in the documents of a store without reading its data. Each problem has the position in the document, the found and
//! the expected value.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::collections::BTreeMap;

use zvf_meta::rules::check_documents;

fn main() {
    // The bounds are in the wrong order, and the geometry kind is unknown.
    let root = r#"{"zarr_format": 3, "node_type": "group", "attributes": {
        "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": [10, 10], "bounds": [[20, 0], [0, 9]],
            "geometry_types": ["point_clouds"]},
        "multiscales": [{"axes": [{"name": "x", "type": "space"}, {"name": "y", "type": "space"}], "datasets": []}]}}"#;
    let documents = BTreeMap::from([
        ("zarr.json".to_owned(), root),
        ("0/zarr.json".to_owned(), "{"),
    ]);
    let checked = check_documents(&documents);
    for problem in &checked.problems {
        println!("{problem}");
    }
    for (key, error) in &checked.unreadable {
        println!("{key}: {error}");
    }
}

//! The meaning of document members depends on their place.

use zvf_meta::meaning;

#[test]
fn members_mean_what_the_place_says() {
    for (path, expected) in [
        ("zarr_format", Some("version of Zarr; always 3")),
        (
            "chunk_grid.configuration.chunk_shape",
            Some("elements of one stored object; more than one in a chunk-grid array = a shard"),
        ),
        (
            "attributes.zarr_vectors.chunk_shape",
            Some("edges of a chunk of level 0, world units, axis order"),
        ),
        (
            "attributes.zarr_vectors_level.chunk_shape",
            Some("chunk edges of this level, where they differ from the root's"),
        ),
        (
            "attributes.row_shape",
            Some("shape of one row: [] = one value, [w] = w channels"),
        ),
        (
            "attributes.multiscales.0.version",
            Some("NGFF version; the reference writes 0.4"),
        ),
        ("attributes", None),
        ("attributes.zarr_vectors.nothing", None),
        ("", None),
    ] {
        assert_eq!(meaning(path).as_deref(), expected, "{path}");
    }
}

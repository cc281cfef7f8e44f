//! Violations in the test store, one or more for each rule.

use serde_json::{Value, json};
use zvf_meta::rules::Rule;

use crate::base::Documents;

/// Breaks one rule, and no other, in the test store.
pub(crate) type Break = (Rule, fn(&mut Documents));

const ZV: &str = "/attributes/zarr_vectors";
const SETS: &str = "/attributes/multiscales/0/datasets";
const LEVEL: &str = "/attributes/zarr_vectors_level";
pub(crate) const VERTICES: &str = "0/vertices";
pub(crate) const KEYS: &str = "/attributes/nonempty_chunks";

pub(crate) fn zv(store: &mut Documents, member: &str, value: Value) {
    store.set("", &format!("{ZV}/{member}"), value);
}

pub(crate) fn block(store: &mut Documents, level: &str, member: &str, value: Value) {
    store.set(level, &format!("{LEVEL}/{member}"), value);
}

pub(crate) fn attribute(store: &mut Documents, path: &str, member: &str, value: Value) {
    store.set(path, &format!("/attributes/{member}"), value);
}

pub(crate) fn scale(store: &mut Documents, level: usize, value: Value) {
    store.set(
        "",
        &format!("{SETS}/{level}/coordinateTransformations/0/scale"),
        value,
    );
}

pub(crate) fn translation(store: &mut Documents, level: usize, value: Value) {
    store.set(
        "",
        &format!("{SETS}/{level}/coordinateTransformations/1/translation"),
        value,
    );
}

pub(crate) fn axis(store: &mut Documents, index: usize, member: &str, value: Value) {
    store.set(
        "",
        &format!("/attributes/multiscales/0/axes/{index}/{member}"),
        value.clone(),
    );
    store.set(
        "",
        &format!("/attributes/ome/attributes/scene/coordinateSystems/0/axes/{index}/{member}"),
        value,
    );
}

pub(crate) const ROOT: &[Break] = &[
    (Rule::Version, |store| {
        zv(store, "zv_version", json!("0.5.1"))
    }),
    (Rule::Version, |store| {
        zv(store, "zv_version", json!("0.9.2-rc1"))
    }),
    (Rule::VersionNewer, |store| {
        zv(store, "zv_version", json!("0.9.5"))
    }),
    (Rule::RequiredCapabilities, |store| {
        zv(store, "required_capabilities", json!(["telepathy"]))
    }),
    (Rule::Capabilities, |store| {
        zv(store, "format_capabilities", json!(["telepathy"]))
    }),
    (Rule::ChunkShapeLength, |store| {
        zv(store, "chunk_shape", json!([10, 10, 10]))
    }),
    (Rule::ChunkShapePositive, |store| {
        zv(store, "chunk_shape", json!([0, 10]))
    }),
    (Rule::ChunkShapePositive, |store| {
        zv(store, "chunk_shape", json!([10, "NaN"]))
    }),
    (Rule::BoundsLength, |store| {
        zv(store, "bounds", json!([[-15], [19.9, 7]]))
    }),
    (Rule::BoundsOrder, |store| {
        zv(store, "bounds", json!([[-15, 8], [19.9, 7]]))
    }),
    (Rule::BoundsOrder, |store| {
        zv(store, "bounds", json!([[-15, -10], ["Infinity", 7]]))
    }),
    (Rule::GeometryPresent, |store| {
        zv(store, "geometry_types", json!([]))
    }),
    (Rule::GeometryFirst, |store| {
        zv(store, "geometry_types", json!(["blob", "graph"]))
    }),
    (Rule::GeometryKnown, |store| {
        zv(store, "geometry_types", json!(["graph", "blob"]))
    }),
    (Rule::LinksConvention, |store| {
        zv(store, "links_convention", json!("sometimes"))
    }),
    (Rule::LinksConventionFits, |store| {
        zv(store, "links_convention", json!("implicit_sequential"))
    }),
    (Rule::ObjectIndexConvention, |store| {
        zv(store, "object_index_convention", json!("own"))
    }),
    (Rule::CrossChunkStrategy, |store| {
        zv(store, "cross_chunk_strategy", json!("none"))
    }),
    (Rule::CrossLevelStorage, |store| {
        zv(store, "cross_level_storage", json!("all"))
    }),
    (Rule::CrossLevelDepth, |store| {
        zv(store, "cross_level_depth", json!(-2))
    }),
    (Rule::ReductionFactor, |store| {
        zv(store, "reduction_factor", json!(1))
    }),
    (Rule::BinShapeLength, |store| {
        zv(store, "base_bin_shape", json!([5, 5, 5]))
    }),
    (Rule::BinShapePositive, |store| {
        zv(store, "base_bin_shape", json!([-5, 5]))
    }),
    (Rule::BinsDivideChunk, |store| {
        zv(store, "base_bin_shape", json!([4, 5]));
        translation(store, 0, json!([2, 2.5]));
        scale(store, 1, json!([5, 4]));
        scale(store, 2, json!([10, 8]));
    }),
    (Rule::CoordinateOffset, |store| {
        zv(store, "coordinate_offset", json!([1, 2, 3]))
    }),
    (Rule::CoordinateOffset, |store| {
        zv(store, "coordinate_offset", json!([1, "Infinity"]))
    }),
    (Rule::UserMetadata, |store| {
        store.set("", "/attributes/user_metadata", json!({"a/b": {}}))
    }),
    (Rule::UserMetadata, |store| {
        store.set("1", "/attributes/user_metadata", json!([]))
    }),
    (Rule::OmeType, |store| {
        store.set("", "/attributes/ome/nodes", json!("none"))
    }),
    (Rule::AttributeSpecs, |store| {
        zv(store, "attribute_specs", json!({"edge": {}}))
    }),
    (Rule::AttributeSpecs, |store| {
        zv(
            store,
            "attribute_specs",
            json!({"vertex": {"a": {"channels": 2}}}),
        )
    }),
];

pub(crate) const SCALES: &[Break] = &[
    (Rule::MultiscalesSingle, |store| {
        store.push("", "/attributes/multiscales", json!({"axes": []}))
    }),
    (Rule::MultiscalesFormat, |store| {
        store.set("", "/attributes/multiscales/0/version", json!("0.5"))
    }),
    (Rule::AxesPresent, |store| {
        store.set("", "/attributes/multiscales/0/axes", json!([]))
    }),
    (Rule::AxesSpace, |store| {
        axis(store, 0, "type", json!("channel"))
    }),
    (Rule::AxesUnique, |store| {
        axis(store, 1, "name", json!("x"));
        block(store, "2", "chunk_dims", json!(["label", "x", "x"]));
    }),
    (Rule::DatasetPath, |store| {
        store.push("", SETS, json!({"path": "s3"}))
    }),
    (Rule::DatasetUnique, |store| {
        store.push("", SETS, json!({"path": "2"}))
    }),
    (Rule::DatasetOrder, |store| {
        let first = store.remove("", &format!("{SETS}/0"));
        store.push("", SETS, first);
    }),
    (Rule::DatasetPresent, |store| {
        store.remove("", &format!("{SETS}/0"));
    }),
    (Rule::DatasetStale, |store| {
        store.push("", SETS, json!({"path": "3"}))
    }),
    (Rule::TransformLength, |store| scale(store, 2, json!([8]))),
    (Rule::TransformLength, |store| {
        translation(store, 0, json!([2.5, 2.5, 2.5]))
    }),
    (Rule::ScalePositive, |store| scale(store, 2, json!([0, 8]))),
    (Rule::ScaleBase, |store| scale(store, 0, json!([2, 1]))),
    (Rule::TranslationBase, |store| {
        translation(store, 0, json!([5, 5]))
    }),
    (Rule::TranslationBase, |store| {
        store.remove("", &format!("{SETS}/0/coordinateTransformations/1"));
    }),
    (Rule::TranslationCoarse, |store| {
        translation(store, 2, json!([0, 20]))
    }),
    (Rule::ScaleMatchesBins, |store| {
        scale(store, 2, json!([9, 8]))
    }),
    (Rule::OmePresent, |store| {
        store.remove("", "/attributes/ome");
    }),
    (Rule::OmeType, |store| {
        store.set("", "/attributes/ome/type", json!("image"))
    }),
    (Rule::OmeAxes, |store| {
        store.set("", "/attributes/multiscales/0/axes/0/unit", json!("meter"))
    }),
    (Rule::OmeLevels, |store| {
        store.remove("", "/attributes/ome/nodes/1");
    }),
];

pub(crate) const LEVELS: &[Break] = &[
    (Rule::LevelName, |store| store.copy("0", "00")),
    (Rule::LevelsConsecutive, |store| {
        store.drop_node("1");
        store.remove("", &format!("{SETS}/1"));
        store.remove("", "/attributes/ome/nodes/1");
    }),
    (Rule::LevelNumber, |store| {
        block(store, "1", "level", json!(2))
    }),
    (Rule::LevelChunkLength, |store| {
        block(store, "1", "chunk_shape", json!([40, 40, 40]))
    }),
    (Rule::LevelChunkPositive, |store| {
        block(store, "1", "chunk_shape", json!([-40, 40]))
    }),
    (Rule::LevelChunkNests, |store| {
        block(store, "1", "chunk_shape", json!([15, 40]))
    }),
    (Rule::LevelChunkBins, |store| {
        block(store, "1", "chunk_shape", json!([50, 40]))
    }),
    (Rule::LevelParentAbsent, |store| {
        block(store, "0", "parent_level", json!(1))
    }),
    (Rule::LevelParent, |store| {
        block(store, "1", "parent_level", json!(null))
    }),
    (Rule::LevelParent, |store| {
        block(store, "1", "parent_level", json!(1))
    }),
    (Rule::LevelSparsity, |store| {
        block(store, "1", "object_sparsity", json!(0))
    }),
    (Rule::LevelSparsity, |store| {
        block(store, "1", "object_sparsity", json!(1.5))
    }),
    (Rule::LevelSplitPair, |store| {
        store.remove("2", &format!("{LEVEL}/chunk_attribute_values"));
    }),
    (Rule::LevelSplitPair, |store| {
        store.remove("2", &format!("{LEVEL}/chunk_attribute_name"));
    }),
    (Rule::LevelSplitValues, |store| {
        block(store, "2", "chunk_attribute_values", json!([]))
    }),
    (Rule::LevelSplitDims, |store| {
        block(store, "2", "chunk_dims", json!(["label", "y", "x"]))
    }),
    (Rule::LevelSplitDims, |store| {
        store.remove("2", &format!("{LEVEL}/chunk_dims"));
    }),
    (Rule::LevelPreservesIds, |store| {
        store.remove("1", &format!("{LEVEL}/inherited_num_objects"));
    }),
    (Rule::LevelPreservesIds, |store| {
        block(store, "0", "preserves_object_ids", json!(true))
    }),
    (Rule::LevelBinLength, |store| {
        block(store, "1", "bin_ratio", json!([4]))
    }),
    (Rule::LevelBinPositive, |store| {
        block(store, "1", "bin_shape", json!([0, 20]))
    }),
    (Rule::LevelBinRatio, |store| {
        block(store, "1", "bin_ratio", json!([0.5, 4]))
    }),
    (Rule::LevelZeroBins, |store| {
        block(store, "0", "bin_shape", json!([5, 5]))
    }),
    (Rule::LevelBinsKnown, |store| {
        store.remove("", &format!("{SETS}/2/coordinateTransformations/1"));
    }),
    (Rule::LevelVertices, |store| store.drop_node("2/vertices")),
    (Rule::LevelFragments, |store| {
        store.drop_node("2/vertex_fragments")
    }),
];

pub(crate) fn sharded(store: &mut Documents, inner: Value, codec: &str) {
    store.set(
        VERTICES,
        "/chunk_grid/configuration/chunk_shape",
        json!([2, 2]),
    );
    store.set(VERTICES, "/codecs", json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": [{"name": codec}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]));
}

pub(crate) const ARRAYS: &[Break] = &[
    (Rule::StorageTransformers, |store| {
        store.set(VERTICES, "/storage_transformers", json!([{"name": "x"}]))
    }),
    (Rule::KeyEncoding, |store| {
        store.set(VERTICES, "/chunk_key_encoding", json!({"name": "v2"}))
    }),
    (Rule::VlenDataType, |store| {
        store.set(VERTICES, "/data_type", json!("uint8"))
    }),
    (Rule::VlenFill, |store| {
        store.set("0/groups", "/fill_value", json!(0))
    }),
    (Rule::VlenCodecs, |store| {
        store.set(VERTICES, "/codecs", json!(["zstd"]))
    }),
    (Rule::VlenCodecs, |store| {
        sharded(store, json!([1, 1]), "bytes")
    }),
    (Rule::GridChunks, |store| {
        sharded(store, json!([2, 1]), "vlen-bytes")
    }),
    (Rule::GridChunks, |store| {
        store.set(
            VERTICES,
            "/chunk_grid/configuration/chunk_shape",
            json!([2, 2]),
        )
    }),
    (Rule::GridRank, |store| {
        store.set(VERTICES, "/shape", json!([4, 2, 1]));
        store.set(
            VERTICES,
            "/chunk_grid/configuration/chunk_shape",
            json!([1, 1, 1]),
        );
        store.set(VERTICES, KEYS, json!([]));
    }),
    (Rule::GridExtent, |store| {
        store.set(VERTICES, "/shape", json!([0, 2]));
        store.set(VERTICES, KEYS, json!([]));
    }),
    (Rule::GridOriginLength, |store| {
        attribute(store, VERTICES, "chunk_grid_origin", json!([-2]))
    }),
    (Rule::GridOriginZero, |store| {
        attribute(store, VERTICES, "chunk_grid_origin", json!([0, 0]));
        store.set(VERTICES, KEYS, json!([]));
    }),
    (Rule::GridBounds, |store| {
        store.set(VERTICES, "/shape", json!([5, 2]))
    }),
    (Rule::GridSplit, |store| {
        store.set("2/vertices", "/shape", json!([4, 4, 2]))
    }),
    (Rule::GridSplit, |store| {
        attribute(store, "2/vertices", "chunk_grid_origin", json!([1, -2, -1]));
        store.set("2/vertices", KEYS, json!([]));
    }),
    (Rule::PresenceThere, |store| {
        store.remove(VERTICES, KEYS);
    }),
    (Rule::PresenceKeys, |store| {
        store.set(VERTICES, KEYS, json!(["+1.0", "0.0"]))
    }),
    (Rule::PresenceKeys, |store| {
        store.set(VERTICES, KEYS, json!(["0.0", "1"]))
    }),
    (Rule::PresenceOrder, |store| {
        store.set(VERTICES, KEYS, json!(["1.0", "0.0"]))
    }),
    (Rule::PresenceUnique, |store| {
        store.set(VERTICES, KEYS, json!(["0.0", "0.0", "1.0"]))
    }),
    (Rule::PresenceInGrid, |store| {
        store.set(VERTICES, KEYS, json!(["0.0", "2.0"]))
    }),
    (Rule::PresenceInGrid, |store| {
        store.set(VERTICES, KEYS, json!(["-9223372036854775808.0"]))
    }),
    (Rule::DiscriminatorThere, |store| {
        store.remove(VERTICES, "/attributes/zv_array");
    }),
    (Rule::Discriminator, |store| {
        attribute(store, VERTICES, "zv_array", json!("links"))
    }),
    (Rule::Discriminator, |store| {
        attribute(store, "0/object_index", "zv_array", json!("groups"))
    }),
    (Rule::Discriminator, |store| {
        attribute(store, "0/links/0", "zv_array", json!("links"))
    }),
    (Rule::Discriminator, |store| {
        attribute(
            store,
            "0/link_attributes/w/0",
            "zv_array",
            json!("links_family"),
        )
    }),
    (Rule::DtypeThere, |store| {
        store.remove(VERTICES, "/attributes/dtype");
    }),
    (Rule::DtypeObject, |store| {
        attribute(
            store,
            "0/vertex_attributes/intensity",
            "dtype",
            json!("object"),
        )
    }),
    (Rule::Encoding, |store| {
        attribute(store, "0/vertex_fragments", "encoding", json!("raw"))
    }),
    (Rule::EncodingReadable, |store| {
        attribute(store, VERTICES, "encoding", json!("draco"))
    }),
    (Rule::AttributeName, |store| {
        attribute(store, "0/object_attributes/length", "name", json!("size"))
    }),
    (Rule::AttributeName, |store| {
        attribute(store, "0/link_attributes/w/0", "name", json!("v"))
    }),
    (Rule::RowShape, |store| {
        attribute(
            store,
            "0/vertex_attributes/intensity",
            "row_shape",
            json!([3]),
        )
    }),
    (Rule::RowShape, |store| {
        attribute(
            store,
            "0/vertex_attributes/kind",
            "row_shape",
            json!([1, 1]),
        )
    }),
    (Rule::Categories, |store| {
        store.remove("0/vertex_attributes/kind", "/attributes/categories");
    }),
    (Rule::Categories, |store| {
        attribute(store, "0/vertex_attributes/kind", "dtype", json!("float32"))
    }),
    (Rule::Categories, |store| {
        attribute(store, "0/vertex_attributes/kind", "_FillValue", json!(1))
    }),
    (Rule::Categories, |store| {
        attribute(
            store,
            "0/vertex_attributes/kind",
            "categories",
            json!(["axon", "axon"]),
        )
    }),
];

pub(crate) const FAMILIES: &[Break] = &[
    (Rule::LinkDeltaName, |store| {
        store.rename("0/links/0", "0/links/00")
    }),
    (Rule::LinkDeltaName, |store| {
        store.rename("0/link_attributes/w/0", "0/link_attributes/w/1")
    }),
    (Rule::LinkDelta, |store| {
        attribute(store, "0/links/0/+1.0", "level_delta", json!(1))
    }),
    (Rule::LinkDelta, |store| {
        attribute(store, "0/links/0", "level_delta", json!(1))
    }),
    (Rule::LinkSegment, |store| {
        store.rename("0/links/0/+1.0", "0/links/0/+1.0.0");
        attribute(store, "0/links/0/+1.0.0", "offsets", json!([[1, 0, 0]]));
    }),
    (Rule::LinkSegment, |store| {
        store.rename("0/links/0/+1.0", "0/links/0/1.0")
    }),
    (Rule::LinkSegment, |store| {
        store.rename("0/links/0/0.0", "0/links/0/self");
        attribute(store, "0/links/0/self", "offsets", json!([]));
    }),
    (Rule::LinkOffsets, |store| {
        attribute(store, "0/links/0/+1.0", "offsets", json!([[0, 1]]))
    }),
    (Rule::LinkWidth, |store| {
        attribute(store, "0/links/0/+1.0", "link_width", json!(3))
    }),
    (Rule::LinkPerm, |store| {
        attribute(store, "0/links/0/+1.0", "has_perm", json!(false))
    }),
    (Rule::LinkPerm, |store| {
        attribute(store, "1/links/-1/+1.0", "has_perm", json!(true))
    }),
    (Rule::LinkCanonical, |store| {
        store.rename("0/links/0/+1.0", "0/links/0/0.-1");
        attribute(store, "0/links/0/0.-1", "offsets", json!([[0, -1]]));
    }),
    (Rule::FamilyPolicy, |store| {
        store.remove("0/links/0", "/attributes/link_width");
    }),
    (Rule::FamilyPolicy, |store| {
        store.remove("0/links/0", "/attributes/sid_ndim");
    }),
    (Rule::FamilyRank, |store| {
        attribute(store, "0/links/0", "sid_ndim", json!(3))
    }),
    (Rule::FamilyDirected, |store| {
        attribute(store, "1/links/-1", "directed", json!(false))
    }),
    (Rule::FamilyCounts, |store| {
        attribute(store, "0/links/0", "num_physical_records", json!(4))
    }),
    (Rule::ObjectIds, |store| {
        store.set("0/object_index/object_ids", "/data_type", json!("int32"))
    }),
    (Rule::ObjectIds, |store| {
        store.set("0/object_index/object_ids", "/shape", json!([4]))
    }),
    (Rule::ObjectIds, |store| {
        store.set("0/object_index/object_ids", "/fill_value", json!(-1))
    }),
    (Rule::Manifests, |store| {
        store.set("0/object_index/manifests", "/shape", json!([4]))
    }),
    (Rule::TypedCodecs, |store| {
        store.set("0/object_index/object_ids", "/codecs", json!(["zstd"]))
    }),
    (Rule::TypedRank, |store| {
        store.set("0/group_attributes/side", "/shape", json!([3, 2, 1]));
        store.set(
            "0/group_attributes/side",
            "/chunk_grid/configuration/chunk_shape",
            json!([3, 2, 1]),
        );
        attribute(store, "0/group_attributes/side", "shape", json!([3, 2, 1]));
    }),
    (Rule::TypedShape, |store| {
        attribute(store, "0/object_attributes/length", "shape", json!([4]))
    }),
    (Rule::TypedDtype, |store| {
        attribute(store, "0/group_attributes/side", "dtype", json!("int64"))
    }),
    (Rule::Sentinel, |store| {
        store.set("0/object_attributes/length", "/fill_value", json!(0.0))
    }),
    (Rule::GroupCount, |store| {
        attribute(store, "0/groups", "num_groups", json!(2))
    }),
    (Rule::GroupRanges, |store| {
        attribute(store, "0/groups", "group_ranges", json!({"3": [0, 1]}))
    }),
    (Rule::GroupRanges, |store| {
        attribute(store, "0/groups", "group_ranges", json!({"1": [1, 0]}))
    }),
    (Rule::GroupNames, |store| {
        attribute(
            store,
            "0/groups",
            "group_names",
            json!(["a", "b", "c", "d"]),
        )
    }),
    (Rule::IndexLayout, |store| {
        attribute(
            store,
            "0/object_index",
            "layout",
            json!("vlen_manifests_v3"),
        )
    }),
    (Rule::IndexRank, |store| {
        attribute(store, "0/object_index", "sid_ndim", json!(3))
    }),
    (Rule::IndexCounts, |store| {
        attribute(store, "0/object_index", "num_present", json!(4))
    }),
];

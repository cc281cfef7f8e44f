//! Breaks of single documents: those of arrays and families.

use serde_json::json;

use super::Change::{Run, Set, Unset};
use super::made::split;
use super::{Break, of};

const VERTICES: &str = "0/vertices/zarr.json";
const INDEX: &str = "0/object_index/zarr.json";
const IDS: &str = "0/object_index/object_ids/zarr.json";
const SCORE: &str = "0/object_attributes/score/zarr.json";
const GROUPS: &str = "0/groups/zarr.json";
const FAMILY: &str = "0/links/0/zarr.json";
const INSIDE: &str = "0/links/0/0.0.0/zarr.json";

/// Breaks that a look at the document of an array or family shows.
pub(super) const ARRAYS: &[Break] = &[
    of(
        "0.9/graph",
        "a storage transformer",
        "storage-transformers",
        Set(
            VERTICES,
            "/storage_transformers",
            "[{\"name\":\"x\",\"configuration\":{}}]",
        ),
    ),
    of(
        "0.9/points_2d_f8",
        "keys of another encoding",
        "key-encoding",
        Set(
            VERTICES,
            "/chunk_key_encoding",
            "{\"name\":\"v2\",\"configuration\":{\"separator\":\".\"}}",
        ),
    ),
    of(
        "0.9/lines",
        "payloads of another data type",
        "vlen-data-type",
        Set(VERTICES, "/data_type", "\"uint8\""),
    ),
    of(
        "0.9/mesh",
        "a fill value for payloads",
        "vlen-fill",
        Set(VERTICES, "/fill_value", "\"AA==\""),
    ),
    of(
        "0.9/skeleton",
        "payloads by the codec of numbers",
        "vlen-codecs",
        Set(
            VERTICES,
            "/codecs",
            "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]",
        ),
    ),
    of(
        "0.9/graph",
        "stored chunks of eight cells",
        "grid-chunks",
        Set(VERTICES, "/chunk_grid/configuration/chunk_shape", "[2,2,2]"),
    ),
    of(
        "0.9/points_4d_sharded",
        "cells of two chunks inside of shards",
        "grid-chunks",
        Run(|files| {
            files.edit(VERTICES, |array| {
                let shape = array.pointer_mut("/codecs/0/configuration/chunk_shape/0");
                *shape.ok_or("no shards")? = json!(2);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/graph",
        "a grid of one axis less",
        "grid-rank",
        Run(|files| {
            files.set(VERTICES, "/shape", json!([4, 4]))?;
            files.set(
                VERTICES,
                "/chunk_grid/configuration/chunk_shape",
                json!([1, 1]),
            )
        }),
    ),
    of(
        "0.9/lines",
        "a grid without cells",
        "grid-extent",
        Set("0/vertex_fragments/zarr.json", "/shape/0", "0"),
    ),
    of(
        "0.9/graph",
        "a grid origin of one number",
        "grid-origin-length",
        Set(VERTICES, "@/chunk_grid_origin", "[-2]"),
    ),
    of(
        "0.9/lines",
        "a grid origin of zeros",
        "grid-origin-zero",
        Set(VERTICES, "@/chunk_grid_origin", "[0,0,0]"),
    ),
    of(
        "0.9/lines",
        "a grid that is larger than the bounds",
        "grid-bounds",
        Set(VERTICES, "/shape", "[9,3,3]"),
    ),
    of(
        "0.9/points_2d_f8",
        "fewer cells than values to chunk by",
        "grid-split",
        Run(|files| {
            split(files)?;
            files.set(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/chunk_attribute_values",
                json!(["a", "b"]),
            )
        }),
    ),
    of(
        "0.9/mesh",
        "no presence list",
        "presence-there",
        Unset(VERTICES, "@/nonempty_chunks"),
    ),
    of(
        "0.9/graph",
        "a listed key of two numbers",
        "presence-keys",
        Set(VERTICES, "@/nonempty_chunks/0", "\"-1.-1\""),
    ),
    of(
        "0.9/graph",
        "listed keys in another order",
        "presence-order",
        Run(|files| {
            files.edit(VERTICES, |array| {
                let keys = array
                    .pointer_mut("/attributes/nonempty_chunks")
                    .and_then(serde_json::Value::as_array_mut);
                keys.ok_or("no list")?.reverse();
                Ok(())
            })
        }),
    ),
    of(
        "0.9/lines",
        "a key that is listed twice",
        "presence-unique",
        Run(|files| {
            files.edit(VERTICES, |array| {
                let keys = array
                    .pointer_mut("/attributes/nonempty_chunks")
                    .and_then(serde_json::Value::as_array_mut);
                let keys = keys.ok_or("no list")?;
                let first = keys.first().cloned().ok_or("an empty list")?;
                keys.insert(0, first);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/skeleton",
        "a listed key outside of the grid",
        "presence-in-grid",
        Run(|files| {
            files.edit(VERTICES, |array| {
                let keys = array
                    .pointer_mut("/attributes/nonempty_chunks")
                    .and_then(serde_json::Value::as_array_mut);
                keys.ok_or("no list")?.push("99.99.99".into());
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_4d_sharded",
        "an array that does not say what it is",
        "discriminator-there",
        Unset(VERTICES, "@/zv_array"),
    ),
    of(
        "0.9/graph",
        "vertices that say that they are links",
        "discriminator",
        Set(VERTICES, "@/zv_array", "\"links\""),
    ),
    of(
        "0.9/lines",
        "vertices without a dtype",
        "dtype-there",
        Unset(VERTICES, "@/dtype"),
    ),
    of(
        "0.9/graph",
        "an attribute of addresses",
        "dtype-object",
        Set("0/vertex_attributes/r/zarr.json", "@/dtype", "\"object\""),
    ),
    of(
        "0.9/mesh",
        "vertices in an unknown encoding",
        "encoding",
        Set(VERTICES, "@/encoding", "\"gzip\""),
    ),
    of(
        "0.9/mesh",
        "vertices in an encoding that nobody reads",
        "encoding-readable",
        Set(VERTICES, "@/encoding", "\"draco\""),
    ),
    of(
        "0.9/graph",
        "an attribute of another name",
        "attribute-name",
        Set("0/vertex_attributes/r/zarr.json", "@/name", "\"q\""),
    ),
    of(
        "0.9/skeleton",
        "an attribute whose rows are tables",
        "row-shape",
        Set(
            "0/vertex_attributes/radius/zarr.json",
            "@/row_shape",
            "[2,2]",
        ),
    ),
    of(
        "0.9/points_ids",
        "an attribute of categories without any",
        "categories",
        Set(
            "0/vertex_attributes/count/zarr.json",
            "@/encoding",
            "\"dictionary\"",
        ),
    ),
    of(
        "0.9/skeleton",
        "a family with a word for a delta",
        "link-delta-name",
        Run(|files| files.rename("0/links/0/", "0/links/+0/")),
    ),
    of(
        "0.9/graph",
        "links with a delta that is not the family's",
        "link-delta",
        Set(INSIDE, "@/level_delta", "1"),
    ),
    of(
        "0.9/graph",
        "links with an offset of two numbers",
        "link-segment",
        Run(|files| files.rename("0/links/0/0.0.0/", "0/links/0/0.0/")),
    ),
    of(
        "0.9/graph",
        "links whose offsets are not the path's",
        "link-offsets",
        Set(INSIDE, "@/offsets", "[[1,0,0]]"),
    ),
    of(
        "0.9/graph",
        "links of another width than the family's",
        "link-width",
        Set(INSIDE, "@/link_width", "3"),
    ),
    of(
        "0.9/graph",
        "a permutation column in name",
        "link-perm",
        Set(INSIDE, "@/has_perm", "true"),
    ),
    of(
        "0.9/skeleton",
        "links whose offset is below 0",
        "link-canonical",
        Run(|files| {
            files.rename("0/links/0/+1.0.0/", "0/links/0/-1.0.0/")?;
            files.set(
                "0/links/0/-1.0.0/zarr.json",
                "/attributes/offsets",
                json!([[-1, 0, 0]]),
            )
        }),
    ),
    of(
        "0.9/graph",
        "fewer ids than objects",
        "object-ids",
        Set(IDS, "/shape", "[5]"),
    ),
    of(
        "0.9/graph",
        "fewer manifests than objects",
        "manifests",
        Set("0/object_index/manifests/zarr.json", "/shape", "[5]"),
    ),
    of(
        "0.9/points_ids",
        "numbers by the codec of payloads",
        "typed-codecs",
        Set(
            SCORE,
            "/codecs",
            "[{\"name\":\"vlen-bytes\",\"configuration\":{}}]",
        ),
    ),
    of(
        "0.9/points_ids",
        "object values of three axes",
        "typed-rank",
        Run(|files| {
            files.set(SCORE, "/shape", json!([5, 1, 1]))?;
            files.set(
                SCORE,
                "/chunk_grid/configuration/chunk_shape",
                json!([65536, 1, 1]),
            )
        }),
    ),
    of(
        "0.9/points_ids",
        "a shape in two versions",
        "typed-shape",
        Set(SCORE, "@/shape", "[4]"),
    ),
    of(
        "0.9/points_ids",
        "a dtype in two versions",
        "typed-dtype",
        Set(SCORE, "@/dtype", "\"float64\""),
    ),
    of(
        "0.9/points_ids",
        "a value for what is absent that is none",
        "sentinel",
        Set(SCORE, "/fill_value", "0.0"),
    ),
    of(
        "0.9/points_ids",
        "a group that is counted and not there",
        "group-count",
        Set(GROUPS, "@/num_groups", "3"),
    ),
    of(
        "0.9/points_ids",
        "a range of members that falls",
        "group-ranges",
        Set(GROUPS, "@/group_ranges", "{\"0\":[5,3]}"),
    ),
    of(
        "0.9/points_ids",
        "more names than groups",
        "group-names",
        Set(GROUPS, "@/group_names", "[\"a\",\"b\",\"c\"]"),
    ),
    of(
        "0.9/points_ids",
        "an unknown layout of the index",
        "index-layout",
        Set(INDEX, "@/layout", "\"odd\""),
    ),
    of(
        "0.9/graph",
        "an index of another rank",
        "index-rank",
        Set(INDEX, "@/sid_ndim", "2"),
    ),
    of(
        "0.9/graph",
        "more objects present than there are",
        "index-counts",
        Set(INDEX, "@/num_present", "7"),
    ),
    of(
        "0.9/skeleton",
        "a family without a width",
        "family-policy",
        Unset(FAMILY, "@/link_width"),
    ),
    of(
        "0.9/graph",
        "a family of another rank",
        "family-rank",
        Set(FAMILY, "@/sid_ndim", "2"),
    ),
    of(
        "0.9/points_ids",
        "a family between levels without a direction",
        "family-directed",
        Set("0/links/+1/zarr.json", "@/directed", "false"),
    ),
    of(
        "0.9/graph",
        "counts of a family that differ",
        "family-counts",
        Set(FAMILY, "@/num_physical_records", "156"),
    ),
];

//! Breaks of single documents: those of levels.

use super::Change::{Run, Set};
use super::made::split;
use super::{Break, of};

const FINE: &str = "0/zarr.json";
const COARSE: &str = "1/zarr.json";

/// Breaks that a look at a level's document shows.
pub(super) const LEVEL_DOCUMENTS: &[Break] = &[
    of(
        "0.9/points_ids",
        "a level of another number",
        "level-number",
        Set(COARSE, "@/level", "2"),
    ),
    of(
        "0.9/points_bins",
        "a level's chunk shape of one number",
        "level-chunk-length",
        Set(COARSE, "@/chunk_shape", "[100.0]"),
    ),
    of(
        "0.9/real_skeleton",
        "a level's chunk of no size",
        "level-chunk-positive",
        Set(COARSE, "@/chunk_shape", "[4000.0,4000.0,0.0]"),
    ),
    of(
        "0.9/points_ids",
        "a level's chunk that is one and a half of the root's",
        "level-chunk-nests",
        Set(COARSE, "@/chunk_shape", "[75.0,75.0,75.0]"),
    ),
    of(
        "0.9/points_ids",
        "a level's chunk that is two and a half bins",
        "level-chunk-bins",
        Run(|files| {
            files.set(
                COARSE,
                "/attributes/zarr_vectors_level/chunk_shape",
                serde_json::json!([100.0, 100.0, 100.0]),
            )?;
            let at = "/attributes/multiscales/0/datasets/1/coordinateTransformations/1/translation";
            files.set("zarr.json", at, serde_json::json!([20.0, 20.0, 20.0]))
        }),
    ),
    of(
        "0.9/mesh",
        "a level 0 with a parent",
        "level-parent-absent",
        Set(FINE, "@/parent_level", "0"),
    ),
    of(
        "0.9/streamlines",
        "a level that keeps no part of its objects",
        "level-sparsity",
        Set(COARSE, "@/object_sparsity", "0.0"),
    ),
    of(
        "0.9/lines",
        "a chunk attribute without values",
        "level-split-pair",
        Set(FINE, "@/chunk_attribute_name", "\"a\""),
    ),
    of(
        "0.9/graph",
        "a chunk attribute of no values",
        "level-split-values",
        Run(|files| {
            files.set(
                FINE,
                "/attributes/zarr_vectors_level/chunk_attribute_name",
                "a".into(),
            )?;
            files.set(
                FINE,
                "/attributes/zarr_vectors_level/chunk_attribute_values",
                serde_json::json!([]),
            )
        }),
    ),
    of(
        "0.9/points_2d_f8",
        "chunk dimensions without axes",
        "level-split-dims",
        Run(|files| {
            split(files)?;
            files.set(
                FINE,
                "/attributes/zarr_vectors_level/chunk_dims",
                serde_json::json!(["a"]),
            )
        }),
    ),
    of(
        "0.9/points_bins",
        "a level's bin shape of one number",
        "level-bin-length",
        Set(COARSE, "@/bin_shape", "[25.0]"),
    ),
    of(
        "0.9/real_synapses",
        "a level's bin of negative size",
        "level-bin-positive",
        Set(COARSE, "@/bin_shape", "[1.0,1.0,-1.0]"),
    ),
    of(
        "0.9/points_ids",
        "a level's bins that are finer than its parent's",
        "level-bin-ratio",
        Set(COARSE, "@/bin_ratio", "[0.5,0.5,0.5]"),
    ),
    of(
        "0.9/points_bins",
        "bins in the block of level 0",
        "level-zero-bins",
        Set(FINE, "@/bin_shape", "[12.5,25.0,25.0]"),
    ),
    of(
        "0.9/points_bins",
        "bins of a coarse level that nobody wrote down",
        "level-bins-known",
        Run(|files| {
            files.edit("zarr.json", |root| {
                let transforms = root
                    .pointer_mut("/attributes/multiscales/0/datasets/1/coordinateTransformations");
                let transforms = transforms
                    .and_then(serde_json::Value::as_array_mut)
                    .ok_or("no transforms")?;
                transforms.truncate(1);
                Ok(())
            })
        }),
    ),
];

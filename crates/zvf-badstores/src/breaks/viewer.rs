//! Stores that are right, and that viewers cannot show well.

use serde_json::json;

use super::Change::{Run, Set};
use super::{Break, of};

const LEVEL: &str = "0/zarr.json";
const ROOT: &str = "zarr.json";

/// Breaks of what viewers ask for.
pub(super) const VIEWER: &[Break] = &[
    of(
        "0.9/lines",
        "a version that no viewer knows",
        "viewer-version",
        Set(ROOT, "@/zv_version", "\"0.9.9\""),
    ),
    of(
        "0.9/points_2d_f8",
        "two axes of which one has a unit",
        "viewer-axes",
        Set(
            ROOT,
            "/attributes/multiscales/0/axes/0/unit",
            "\"micrometer\"",
        ),
    ),
    of(
        "0.9/skeleton",
        "a unit that is no length",
        "viewer-unit",
        Set(ROOT, "/attributes/multiscales/0/axes/2/unit", "\"second\""),
    ),
    of(
        "0.9/real_synapses",
        "a codec that no viewer decodes",
        "viewer-codec",
        Run(|files| {
            files.set(
                "0/vertices/zarr.json",
                "/codecs/1",
                json!({"name": "numcodecs.bz2", "configuration": {"level": 1}}),
            )
        }),
    ),
    of(
        "0.9/streamlines",
        "vertices that nobody counted",
        "viewer-count",
        Set(LEVEL, "@/vertex_count", "0"),
    ),
    of(
        "0.9/lines",
        "a level that is said to be too large to be shown whole",
        "viewer-levels",
        Set(LEVEL, "@/vertex_count", "9000000"),
    ),
    of(
        "0.9/mesh",
        "a coarse level of a mesh in the chunks of the finer one",
        "viewer-mesh-chunks",
        Run(|files| {
            files.copy("0/", "1/")?;
            files.set(
                "1/zarr.json",
                "/attributes/zarr_vectors_level/level",
                json!(1),
            )
        }),
    ),
    of(
        "0.9/points_ids",
        "an attribute of two columns",
        "viewer-columns",
        Set(
            "0/vertex_attributes/intensity/zarr.json",
            "@/row_shape",
            "[2]",
        ),
    ),
    of(
        "0.9/graph",
        "an attribute that is said to have 64 bits",
        "viewer-numbers",
        Set("0/vertex_attributes/r/zarr.json", "@/dtype", "\"float64\""),
    ),
];

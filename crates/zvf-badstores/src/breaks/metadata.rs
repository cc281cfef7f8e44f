//! Breaks of single documents: the root's.

use serde_json::Value;

use super::Change::{Run, Set, Unset};
use super::{Break, of};
use crate::files::{Outcome, list};

const ROOT: &str = "zarr.json";

/// Breaks that a look at the root's document shows.
pub(super) const METADATA: &[Break] = &[
    of(
        "0.9/graph",
        "a foreign version",
        "version",
        Set(ROOT, "@/zv_version", "\"abc\""),
    ),
    of(
        "0.9/points_2d_f8",
        "a version of tomorrow",
        "version-newer",
        Set(ROOT, "@/zv_version", "\"0.10.0\""),
    ),
    of(
        "0.9/graph",
        "a capability of tomorrow that is required",
        "required-capabilities",
        Set(ROOT, "@/required_capabilities", "[\"tomorrow\"]"),
    ),
    of(
        "0.8/lines",
        "a capability of tomorrow",
        "capabilities",
        Set(ROOT, "@/format_capabilities", "[\"tomorrow\"]"),
    ),
    of(
        "0.7/graph",
        "a chunk shape of one number",
        "chunk-shape-length",
        Set(ROOT, "@/chunk_shape", "[40.0]"),
    ),
    of(
        "0.8/mesh",
        "a chunk of no size",
        "chunk-shape-positive",
        Set(ROOT, "@/chunk_shape/0", "0.0"),
    ),
    of(
        "0.6/streamlines",
        "bounds of one number",
        "bounds-length",
        Set(ROOT, "@/bounds/0", "[0.0]"),
    ),
    of(
        "0.9/skeleton",
        "bounds that are reversed",
        "bounds-order",
        Run(|files| {
            files.edit(ROOT, |root| {
                list(root, "/attributes/zarr_vectors/bounds")?.reverse();
                Ok(())
            })
        }),
    ),
    of(
        "0.9/lines",
        "no kind of geometry",
        "geometry-present",
        Set(ROOT, "@/geometry_types", "[]"),
    ),
    of(
        "0.7/lines",
        "a kind of geometry that is none",
        "geometry-first",
        Set(ROOT, "@/geometry_types", "[\"cloud\"]"),
    ),
    of(
        "0.8/graph",
        "a second kind of geometry that is none",
        "geometry-known",
        Set(ROOT, "@/geometry_types", "[\"graph\",\"cloud\"]"),
    ),
    of(
        "0.9/mesh",
        "a link convention that is none",
        "links-convention",
        Set(ROOT, "@/links_convention", "\"maybe\""),
    ),
    of(
        "0.9/points_ids",
        "a mesh in name",
        "links-convention-fits",
        Set(ROOT, "@/geometry_types", "[\"mesh\"]"),
    ),
    of(
        "0.8/streamlines",
        "an index convention that is none",
        "object-index-convention",
        Set(ROOT, "@/object_index_convention", "\"odd\""),
    ),
    of(
        "0.9/graph",
        "a cross-chunk strategy that is none",
        "cross-chunk-strategy",
        Set(ROOT, "@/cross_chunk_strategy", "\"odd\""),
    ),
    of(
        "0.9/points_bins",
        "a cross-level storage that is none",
        "cross-level-storage",
        Set(ROOT, "@/cross_level_storage", "\"odd\""),
    ),
    of(
        "0.7/pyramid",
        "a cross-level depth below all",
        "cross-level-depth",
        Set(ROOT, "@/cross_level_depth", "-2"),
    ),
    of(
        "0.8/points_bins",
        "a reduction that reduces nothing",
        "reduction-factor",
        Set(ROOT, "@/reduction_factor", "1"),
    ),
    of(
        "0.9/points_bins",
        "a bin shape of one number",
        "bin-shape-length",
        Set(ROOT, "@/base_bin_shape", "[12.5]"),
    ),
    of(
        "0.7/points_bins",
        "a bin of negative size",
        "bin-shape-positive",
        Set(ROOT, "@/base_bin_shape/1", "-25.0"),
    ),
    of(
        "0.8/points_bins",
        "bins that do not fill a chunk",
        "bins-divide-chunk",
        Set(ROOT, "@/base_bin_shape/0", "12.4"),
    ),
    of(
        "0.9/points_ids",
        "a coordinate offset of one number",
        "coordinate-offset",
        Set(ROOT, "@/coordinate_offset", "[1.0]"),
    ),
    of(
        "0.9/mesh",
        "an attribute of a scope that is none",
        "attribute-specs",
        Set(ROOT, "@/attribute_specs", "{\"face\":{}}"),
    ),
    of(
        "0.7/points_ids",
        "an attribute that is declared without a dtype",
        "attribute-specs",
        Set(ROOT, "@/attribute_specs", "{\"vertex\":{\"count\":{}}}"),
    ),
    of(
        "0.8/skeleton",
        "two multiscales",
        "multiscales-single",
        Run(|files| {
            files.edit(ROOT, |root| {
                let entries = list(root, "/attributes/multiscales")?;
                entries.extend_from_within(..);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/lines",
        "multiscales of another version",
        "multiscales-format",
        Set(ROOT, "/attributes/multiscales/0/version", "\"0.5\""),
    ),
    of(
        "0.9/graph",
        "no axes",
        "axes-present",
        Set(ROOT, "/attributes/multiscales/0/axes", "[]"),
    ),
    of(
        "0.8/graph",
        "one axis",
        "axes-count",
        Run(|files| {
            files.edit(ROOT, |root| {
                list(root, "/attributes/multiscales/0/axes")?.truncate(1);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_2d_f8",
        "one axis of space",
        "axes-space",
        Set(ROOT, "/attributes/multiscales/0/axes/0/type", "\"time\""),
    ),
    of(
        "0.7/mesh",
        "two axes of one name",
        "axes-unique",
        Set(ROOT, "/attributes/multiscales/0/axes/1/name", "\"x\""),
    ),
    of(
        "0.9/mesh",
        "time behind space",
        "axes-order",
        Set(ROOT, "/attributes/multiscales/0/axes/2/type", "\"time\""),
    ),
    of(
        "0.9/lines",
        "a dataset whose path is no level",
        "dataset-path",
        Set(
            ROOT,
            "/attributes/multiscales/0/datasets/0/path",
            "\"zero\"",
        ),
    ),
    of(
        "0.8/points_ids",
        "two datasets of one level",
        "dataset-unique",
        Set(ROOT, "/attributes/multiscales/0/datasets/1/path", "\"0\""),
    ),
    of(
        "0.9/points_ids",
        "datasets in another order",
        "dataset-order",
        Run(|files| {
            files.edit(ROOT, |root| {
                datasets(root)?.reverse();
                Ok(())
            })
        }),
    ),
    of(
        "0.7/graph",
        "a scale of one number",
        "transform-length",
        Set(ROOT, SCALE, "[1.0]"),
    ),
    of(
        "0.8/lines",
        "a scale below 0",
        "scale-positive",
        Set(ROOT, SCALE, "[1.0,-1.0,1.0]"),
    ),
    of(
        "0.9/skeleton",
        "a scale of level 0",
        "scale-base",
        Set(ROOT, SCALE, "[2.0,2.0,2.0]"),
    ),
    of(
        "0.9/graph",
        "a translation of level 0 that is not half a bin",
        "translation-base",
        Set(
            ROOT,
            "/attributes/multiscales/0/datasets/0/coordinateTransformations/1/translation/0",
            "1.0",
        ),
    ),
    of(
        "0.8/graph",
        "no node for other tools, but one that is a text",
        "ome-type",
        Set(ROOT, "/attributes/ome", "\"no\""),
    ),
    of(
        "0.9/graph",
        "a node for other tools that is an image",
        "ome-type",
        Set(ROOT, "/attributes/ome/type", "\"image\""),
    ),
    of(
        "0.9/lines",
        "axes for other tools that have other names",
        "ome-axes",
        Set(
            ROOT,
            "/attributes/ome/attributes/scene/coordinateSystems/0/axes/0/name",
            "\"q\"",
        ),
    ),
    of(
        "0.9/points_ids",
        "levels for other tools that are left out",
        "ome-levels",
        Set(ROOT, "/attributes/ome/nodes", "[]"),
    ),
    of(
        "0.9/mesh",
        "user metadata of a name with a slash",
        "user-metadata",
        Set(ROOT, "/attributes/user_metadata", "{\"a/b\":{}}"),
    ),
    of(
        "0.9/real_synapses",
        "user metadata of a level that is a list",
        "user-metadata",
        Set("1/zarr.json", "/attributes/user_metadata", "[1]"),
    ),
    of(
        "0.9/skeleton",
        "no node for other tools",
        "ome-present",
        Unset(ROOT, "/attributes/ome"),
    ),
];

const SCALE: &str = "/attributes/multiscales/0/datasets/0/coordinateTransformations/0/scale";

/// The datasets of a root document.
pub(super) fn datasets(root: &mut Value) -> Outcome<&mut Vec<Value>> {
    list(root, "/attributes/multiscales/0/datasets")
}

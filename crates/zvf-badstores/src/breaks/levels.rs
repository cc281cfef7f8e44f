//! Breaks of what levels say of each other.

use serde_json::json;

use super::Change::{Gone, Run, Set};
use super::metadata::datasets;
use super::{Break, of};
use crate::files::put;

const ROOT: &str = "zarr.json";
const COARSE: &str = "1/zarr.json";

/// Breaks of levels.
pub(super) const LEVELS: &[Break] = &[
    of(
        "0.9/lines",
        "coarse levels that are out of date",
        "level-stale",
        Run(|files| files.set("zarr.json", "/attributes/zvf_stale", json!(["0.0.0"]))),
    ),
    of(
        "0.9/lines",
        "a claim about levels",
        "shared-capability",
        Run(|files| {
            files.set(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/shared_fragments",
                json!(true),
            )
        }),
    ),
    of(
        "0.9/points_ids",
        "a level that is left out",
        "levels-consecutive",
        Run(|files| files.rename("1/", "2/")),
    ),
    of(
        "0.9/points_bins",
        "a level without a dataset",
        "dataset-present",
        Run(|files| {
            files.edit(ROOT, |root| {
                datasets(root)?.truncate(1);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/real_synapses",
        "a dataset without a level",
        "dataset-stale",
        Gone("1/"),
    ),
    of(
        "0.8/points_bins",
        "a translation of a coarse level below 0",
        "translation-coarse",
        Set(
            ROOT,
            "/attributes/multiscales/0/datasets/1/coordinateTransformations/1/translation/0",
            "-5.0",
        ),
    ),
    of(
        "0.7/points_ids",
        "a scale that is not that of the bins",
        "scale-matches-bins",
        Set(
            ROOT,
            "/attributes/multiscales/0/datasets/1/coordinateTransformations/0/scale",
            "[3.0,3.0,3.0]",
        ),
    ),
    of(
        "0.9/streamlines",
        "a level that is its own parent",
        "level-parent",
        Set(COARSE, "@/parent_level", "1"),
    ),
    of(
        "0.9/lines",
        "a level 0 that keeps the ids of a finer one",
        "level-preserves-ids",
        Set("0/zarr.json", "@/preserves_object_ids", "true"),
    ),
    of(
        "0.9/points_ids",
        "levels that are taken for each other",
        "counts-fall",
        Run(|files| {
            files.rename("0/", "was/")?;
            files.rename("1/", "0/")?;
            files.rename("was/", "1/")?;
            for (key, number, parent) in [
                ("0/zarr.json", json!(0), json!(null)),
                (COARSE, json!(1), json!(0)),
            ] {
                files.set(key, "/attributes/zarr_vectors_level/level", number)?;
                files.set(key, "/attributes/zarr_vectors_level/parent_level", parent)?;
            }
            Ok(())
        }),
    ),
    of(
        "0.9/points_ids",
        "an object of a coarse level under another id",
        "ids-kept",
        Run(|files| {
            files.plain("1/object_index/object_ids/c/0", |ids| {
                put(ids, 0, -99);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/real_skeleton",
        "more objects of a finer level than it has",
        "inherited-count",
        Set(COARSE, "@/inherited_num_objects", "7"),
    ),
    of(
        "0.9/real_tractogram",
        "links to a level that is gone",
        "cross-target",
        Gone("1/"),
    ),
    of(
        "0.9/points_ids",
        "links back that are others",
        "cross-mirror",
        Run(|files| {
            let key = files.first("1/links/-1/0.0.0", 48)?;
            files.cell(&key, |payload| payload.copy_within(16..32, 32))
        }),
    ),
    of(
        "0.9/points_bins",
        "links between levels that nobody announces",
        "cross-capability",
        Set(ROOT, "@/format_capabilities", "[\"shared_fragments\"]"),
    ),
    of(
        "0.9/graph",
        "lists that follow later",
        "presence-deferred",
        Set("0/zarr.json", "@/zarr_vectors_presence", "\"deferred\""),
    ),
    of(
        "0.9/graph",
        "a capability that no level has",
        "link-group-capability",
        Set(ROOT, "@/format_capabilities", "[\"fragment_link_groups\"]"),
    ),
];

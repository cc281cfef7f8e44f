//! Breaks of what levels say of each other.

use serde_json::json;

use super::{Break, Change::Run, of};

/// See above.
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
];

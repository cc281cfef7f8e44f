//! Breaks of single documents.

use serde_json::{Value, json};

use super::{Break, Change::Run, of};

/// See above.
pub(super) const METADATA: &[Break] = &[
    of(
        "0.9/graph",
        "a foreign version",
        "version",
        Run(|files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/zv_version",
                json!("abc"),
            )
        }),
    ),
    of(
        "0.9/skeleton",
        "bounds that are reversed",
        "bounds-order",
        Run(|files| {
            files.edit("zarr.json", |document| {
                let bounds = document
                    .pointer_mut("/attributes/zarr_vectors/bounds")
                    .and_then(Value::as_array_mut);
                bounds.ok_or("no bounds")?.reverse();
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_ids",
        "a mesh in name",
        "links-convention-fits",
        Run(|files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/geometry_types",
                json!(["mesh"]),
            )
        }),
    ),
];

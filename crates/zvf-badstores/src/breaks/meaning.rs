//! Breaks of what cells mean.

use serde_json::json;

use super::{Break, Change::Run, of};
use crate::files::put32;

/// See above.
pub(super) const MEANING: &[Break] = &[
    of(
        "0.9/graph",
        "no links",
        "family-there",
        Run(|files| {
            files.objects.retain(|key, _| !key.starts_with("0/links/"));
            Ok(())
        }),
    ),
    of(
        "0.9/lines",
        "bounds that are too small",
        "vertex-bounds",
        Run(|files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/bounds/1/0",
                json!(0.5),
            )
        }),
    ),
    of(
        "0.9/lines",
        "a chunk shape that is another",
        "vertex-chunk",
        Run(|files| {
            let shape = json!([0.001, 0.001, 0.001]);
            files.set("zarr.json", "/attributes/zarr_vectors/chunk_shape", shape)
        }),
    ),
    of(
        "0.9/lines",
        "a vertex in a foreign chunk",
        "vertex-chunk",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| put32(payload, 0, 1e9_f32.to_le_bytes()))
        }),
    ),
    of(
        "0.9/graph",
        "an edge from a vertex to itself",
        "self-loop",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| {
                let end: Vec<u8> = payload[..8].to_vec();
                payload[8..16].copy_from_slice(&end);
            })
        }),
    ),
    of(
        "0.9/mesh",
        "a face with a corner twice",
        "face-degenerate",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0_0.0.0", 24)?;
            files.cell(&key, |payload| {
                let end: Vec<u8> = payload[..8].to_vec();
                payload[8..16].copy_from_slice(&end);
            })
        }),
    ),
    of(
        "0.9/lines",
        "links that are gone",
        "chain-link",
        Run(|files| {
            files.objects.retain(|key, _| !key.starts_with("0/links/"));
            Ok(())
        }),
    ),
];

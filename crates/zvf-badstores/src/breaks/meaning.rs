//! Breaks of what cells mean.

use serde_json::json;

use super::Change::{Run, Set};
use super::made::split;
use super::{Break, of};
use crate::files::put32;

/// Breaks of meaning.
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
    of(
        "0.9/points_bins",
        "bins that are cut in another way",
        "vertex-bin",
        Set("zarr.json", "@/base_bin_shape", "[6.25,50.0,25.0]"),
    ),
    of(
        "0.9/points_2d_f8",
        "a chunk of a value that is not there",
        "chunk-attribute",
        Run(|files| {
            split(files)?;
            files.rename("0/vertices/c/0/", "0/vertices/c/1/")?;
            files.edit("0/vertices/zarr.json", |array| {
                array["shape"][0] = json!(2);
                for key in array["attributes"]["nonempty_chunks"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                {
                    *key = key
                        .as_str()
                        .unwrap_or_default()
                        .replacen('0', "1", 1)
                        .into();
                }
                Ok(())
            })
        }),
    ),
    of(
        "0.9/graph",
        "faces of two corners",
        "face-width",
        Set("zarr.json", "@/geometry_types", "[\"mesh\"]"),
    ),
    of(
        "0.9/skeleton",
        "a vertex of two parents",
        "tree-parent",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 32)?;
            files.cell(&key, |payload| payload.copy_within(..8, 16))
        }),
    ),
    of(
        "0.9/skeleton",
        "an edge back to where it came from",
        "tree-loop",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 32)?;
            files.cell(&key, |payload| {
                payload.copy_within(8..16, 16);
                payload.copy_within(..8, 24);
            })
        }),
    ),
    of(
        "0.9/lines",
        "a line with the vertices of another",
        "line-ends",
        Run(|files| {
            files.elements("0/object_index/manifests/c/0", |manifests| {
                let other = manifests.get(1).cloned().ok_or("one manifest")?;
                let first = manifests.first_mut().ok_or("no manifests")?;
                let count = |bytes: &[u8]| {
                    bytes
                        .first_chunk()
                        .map_or(0, |head| u32::from_le_bytes(*head))
                };
                let blocks = count(first) + count(&other);
                first.extend(other.iter().skip(4));
                put32(first, 0, blocks.to_le_bytes());
                Ok(())
            })
        }),
    ),
    of(
        "0.9/lines",
        "points with links",
        "point-links",
        Set("zarr.json", "@/geometry_types", "[\"point_cloud\"]"),
    ),
    of(
        "0.9/points_ids",
        "a vertex without a parent",
        "parent-there",
        Run(|files| {
            let key = files.first("0/links/+1/0.0.0", 48)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 16))
        }),
    ),
    of(
        "0.8/mesh",
        "a face of an older store with a corner twice",
        "face-degenerate",
        Run(|files| {
            let path = files.first_blob("0/links/", 24)?;
            files.blob(&path, |bytes| bytes.copy_within(..8, 8))
        }),
    ),
    of(
        "0.7/points_bins",
        "a point of an older store in a foreign chunk",
        "vertex-chunk",
        Run(|files| {
            let path = files.first_blob("0/vertices/", 12)?;
            files.blob(&path, |bytes| put32(bytes, 0, 1e9_f32.to_le_bytes()))
        }),
    ),
];

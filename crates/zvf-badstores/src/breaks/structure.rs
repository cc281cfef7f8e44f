//! Breaks that a look at the tree shows.

use super::Change::{Copy, Gone, Run, Set};
use super::{Break, of};

/// Breaks of the tree.
pub(super) const STRUCTURE: &[Break] = &[
    of(
        "0.9/graph",
        "no root",
        "store-opens",
        Run(|files| files.remove("zarr.json")),
    ),
    of(
        "0.9/graph",
        "a root that is no JSON",
        "store-opens",
        Run(|files| {
            files.objects.insert("zarr.json".to_owned(), b"{".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "no version",
        "store-opens",
        Run(|files| files.unset("zarr.json", "/attributes/zarr_vectors/zv_version")),
    ),
    of(
        "0.9/graph",
        "a level that is no JSON",
        "document-reads",
        Run(|files| {
            files
                .objects
                .insert("0/zarr.json".to_owned(), b"[".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "an array that is no JSON",
        "document-reads",
        Run(|files| {
            files
                .objects
                .insert("0/vertex_fragments/zarr.json".to_owned(), b"\xff".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "no vertices",
        "level-vertices",
        Run(|files| {
            files
                .objects
                .retain(|key, _| !key.starts_with("0/vertices/"));
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "the marker of a writer",
        "unfinished",
        Run(|files| {
            files
                .objects
                .insert("zvf-unfinished.json".to_owned(), b"{}".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "a family that is gone",
        "links-have-families",
        Run(|files| {
            files
                .objects
                .retain(|key, _| !key.starts_with("0/links/0/"));
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "a folder that nobody knows",
        "node-known",
        Run(|files| {
            files.objects.insert(
                "0/odd/zarr.json".to_owned(),
                br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#.to_vec(),
            );
            Ok(())
        }),
    ),
    of("0.6/points", "no level", "level-there", Gone("0/")),
    of("0.9/points_ids", "no level 0", "level-there", Gone("0/")),
    of(
        "0.8/graph",
        "a version that is no text",
        "store-opens",
        Set("zarr.json", "@/zv_version", "8"),
    ),
    of(
        "0.7/streamlines",
        "a level whose document is a list",
        "document-reads",
        Run(|files| {
            files
                .objects
                .insert("0/zarr.json".to_owned(), b"[1]".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "vertices of a type that nobody knows",
        "level-opens",
        Set("0/vertices/zarr.json", "@/dtype", "\"quux\""),
    ),
    of(
        "0.9/graph",
        "an attribute of another rank",
        "node-damaged",
        Set("0/vertex_attributes/r/zarr.json", "/shape", "[4]"),
    ),
    of(
        "0.9/graph",
        "an attribute of a type that nobody knows",
        "node-read",
        Set("0/vertex_attributes/r/zarr.json", "@/dtype", "\"quux\""),
    ),
    of(
        "0.9/mesh",
        "a level with a sign",
        "level-name",
        Copy("0/zarr.json", "+1/zarr.json"),
    ),
    of(
        "0.9/lines",
        "no fragments",
        "level-fragments",
        Gone("0/vertex_fragments/"),
    ),
    of(
        "0.8/points_bins",
        "a folder that no version knows",
        "node-known",
        Copy("0/vertices/zarr.json", "0/odd/zarr.json"),
    ),
    of(
        "padded/mesh",
        "a family of no delta",
        "node-known",
        Copy("0/links/0/zarr.json", "0/links/00/zarr.json"),
    ),
    of(
        "0.6/points",
        "a member of a group by another name",
        "node-members",
        Run(|files| files.set("0/zarr.json", "/attributew", serde_json::json!({}))),
    ),
    of(
        "0.7/points_ids",
        "an array without codecs",
        "node-members",
        Run(|files| files.unset("0/object_index/manifests/zarr.json", "/codecs")),
    ),
];

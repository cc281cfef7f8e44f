//! Breaks that a look at the tree shows.

use super::{Break, Change::Run, of};

/// See above.
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
];

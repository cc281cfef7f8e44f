//! Good stores: no check reports anything.

use std::error::Error;

use zvf_store::Limits;
use zvf_validate::Severity;

use crate::support::checked;

type Outcome = Result<(), Box<dyn Error>>;

/// Expected findings in the bundled stores: intended defects, or requirements that no writer of the version fulfils.
const ODD: &[(&str, &str)] = &[
    // Made by hand, in versions that no package writes, without a node for other tools.
    ("0.9.4/", "ome-present"),
    // Presence lists and tables that a reader cannot use.
    ("padded/skeleton", "node-read"),
    ("padded/zeros", "node-read"),
    // Links by global numbers, with an unpublished encoding.
    ("padded/graph", "node-read"),
    ("0.9.4/newer", "version-newer"),
    ("0.9.4/newer", "node-read"),
    // An index that states less than required, and one with more rows than it states.
    ("0.9.4/dense_rows", "index-layout"),
    ("0.9.4/dense_points", "node-read"),
    // Lines whose links between chunks were never written: readers use the manifests.
    ("0.9.4/additive_streamlines", "chain-link"),
    ("0.9.4/dense_rows", "chain-link"),
    // Positions of another type than the document states.
    ("0.8/float64_as_float32", "node-read"),
    // Values that are all zero, or absent: Zarr does not store their chunks, so they cannot be distinguished from lost chunks.
    ("0.7/masks", "chunk-stored"),
    ("0.7/zeros", "chunk-stored"),
    ("0.8/graph_080", "chunk-stored"),
    ("0.8/sentinels", "chunk-stored"),
];

#[tokio::test(flavor = "multi_thread")]
async fn bundled_stores_are_clean() -> Outcome {
    let mut dirty = Vec::new();
    let mut odd = vec![false; ODD.len()];
    for case in zvf_testkit::all_cases()? {
        let report = checked(&zvf_testkit::files(&case)?, Limits::default()).await?;
        for finding in &report.findings {
            let title = finding.check.info().title;
            let known = ODD
                .iter()
                .position(|(one, check)| case.starts_with(one) && title == *check);
            match known {
                Some(at) => odd[at] = true,
                None if finding.severity() >= Severity::Warning => {
                    dirty.push(format!("{case}: {finding}"))
                }
                None => {}
            }
        }
    }
    assert!(dirty.is_empty(), "{}", dirty.join("\n"));
    let stale = odd.iter().zip(ODD).find(|(seen, _)| !**seen);
    assert!(stale.is_none(), "nothing of {stale:?}");
    Ok(())
}

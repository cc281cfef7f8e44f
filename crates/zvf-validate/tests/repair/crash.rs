//! A repair whose program dies at any of its writes: readers see the old or the repaired store, and a second run completes the repair.

use std::sync::Arc;

use serde_json::json;
use zvf_edit::Edit;
use zvf_testkit::faults::Dying;
use zvf_validate::repair::{RepairError, apply, plan};
use zvf_write::WriteError;

use super::support::{ADDRESS, Files, Memory, Outcome, options};

const COUNT: &str = "/attributes/zarr_vectors_level/vertex_count";

async fn every_write(broken: &Files, most_left: usize) -> Outcome {
    let memory = Memory::with(broken).await?;
    let old = memory.seen().await.ok();
    apply(
        &plan(ADDRESS, &memory.options()).await?,
        None,
        &memory.options(),
    )
    .await?;
    let (mended, new) = (memory.files().await?, memory.seen().await?);
    // An unreadable root is repaired first, alone.
    let mut between = broken.clone();
    let root = mended.objects.get("zarr.json").ok_or("no root")?.clone();
    between.objects.insert("zarr.json".to_owned(), root);
    let between = Memory::with(&between).await?.seen().await.ok();
    let (mut finished, mut taken_back) = (0, 0);
    for through in [false, true] {
        for writes in 1.. {
            let memory = Memory::with(broken).await?;
            let planned = plan(ADDRESS, &memory.options()).await?;
            let dying = options(Arc::new(Dying::new(memory.0.clone(), writes, through)));
            let done = apply(&planned, None, &dying).await;
            let seen = memory.seen().await.ok();
            let half = old.is_none() && seen == between;
            assert!(
                half || seen == old || seen.as_ref() == Some(&new),
                "write {writes}"
            );
            let files = memory.files().await?;
            assert_eq!(payloads_of_store(&files), payloads_of_store(broken));
            if files.objects.contains_key("zvf-unfinished.json") {
                let refused = plan(ADDRESS, &memory.options()).await;
                assert!(matches!(refused, Err(RepairError::Unfinished { .. })));
                Edit::resume(ADDRESS, memory.options().write).await?;
            }
            // Readers may know the new documents only from the redo log, which no longer exists.
            let files = memory.files().await?;
            assert!(
                !files.objects.keys().any(|key| key.starts_with("zvf-")),
                "write {writes}"
            );
            let again = plan(ADDRESS, &memory.options()).await?;
            if again.documents.is_empty() {
                finished += 1;
            } else {
                taken_back += 1;
                assert!(again.documents.len() <= most_left, "write {writes}");
                apply(&again, None, &memory.options()).await?;
            }
            let after = memory.files().await?;
            let values = |files: &Files| -> Outcome<Vec<serde_json::Value>> {
                let keys = files
                    .objects
                    .keys()
                    .filter(|key| key.ends_with("zarr.json"));
                // The id of the last change in the root differs from run to run.
                let document = |key: &String| {
                    let mut document = files.document(key)?;
                    if let Some(root) = document.get_mut("attributes") {
                        root.as_object_mut().map(|all| all.remove("zvf_edited"));
                    }
                    Ok(document)
                };
                keys.map(document).collect()
            };
            assert_eq!(values(&after)?, values(&mended)?, "write {writes}");
            assert_eq!(after.payloads(), mended.payloads(), "write {writes}");
            assert_eq!(memory.seen().await?, new);
            if done.is_ok() {
                assert!(writes > 8, "{writes} writes");
                break;
            }
            assert!(
                // A marker that could not be removed is only a warning: the error occurs when the store is validated again.
                matches!(done, Err(RepairError::Unchecked { .. }))
                    || matches!(done, Err(RepairError::Write(ref error)) if !matches!(error, WriteError::Changed { .. })),
                "{done:?}"
            );
        }
    }
    assert!(finished >= 3 && taken_back >= 5, "{finished} {taken_back}");
    Ok(())
}

/// Payloads, without the objects that a dead writer left in the store.
fn payloads_of_store(files: &Files) -> Vec<(&str, &[u8])> {
    let payloads = files.payloads().into_iter();
    payloads
        .filter(|(key, _)| !key.starts_with("zvf-"))
        .collect()
}

fn broken() -> Outcome<Files> {
    let mut files = Files::of("0.9/points_bins")?;
    files.set("1/zarr.json", COUNT, json!(5))?;
    files.list(
        "0/vertices/zarr.json",
        "/attributes/nonempty_chunks",
        |list| {
            list.remove(0);
        },
    )?;
    files.list(
        "0/vertex_fragments/zarr.json",
        "/attributes/nonempty_chunks",
        |list| {
            list.remove(0);
        },
    )?;
    files.unset("zarr.json", "/attributes/ome")?;
    Ok(files)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_dies() -> Outcome {
    every_write(&broken()?, 4).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_of_a_root_that_dies() -> Outcome {
    let mut files = broken()?;
    files.unset("zarr.json", "/attributes/zarr_vectors/bounds")?;
    every_write(&files, 4).await
}

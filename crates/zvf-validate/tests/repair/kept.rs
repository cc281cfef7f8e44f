//! Saving and restoring of documents, and stores that change in the meantime.

use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde_json::json;
use zvf_validate::repair::{RepairError, apply, plan, undo};
use zvf_write::WriteError;

use super::support::{ADDRESS, Files, Memory, Outcome};

const COUNT: &str = "/attributes/zarr_vectors_level/vertex_count";

/// A store with an unreadable root, a wrong level and a wrong list.
fn broken() -> Outcome<Files> {
    let mut files = Files::of("0.9/points_bins")?;
    files.set("1/zarr.json", COUNT, json!(5))?;
    files.list(
        "0/vertices/zarr.json",
        "/attributes/nonempty_chunks",
        |list| {
            list.reverse();
        },
    )?;
    files.unset("zarr.json", "/attributes/ome")?;
    Ok(files)
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_come_back_byte_for_byte() -> Outcome {
    for root_reads in [true, false] {
        let mut files = broken()?;
        if !root_reads {
            files.unset("zarr.json", "/attributes/zarr_vectors/bounds")?;
        }
        let memory = Memory::with(&files).await?;
        let options = memory.options();
        let applied = apply(&plan(ADDRESS, &options).await?, None, &options).await?;
        let backup = applied.backup.ok_or("nothing was kept")?;
        assert!(
            backup.starts_with("memory:///data/store.zv.backup-"),
            "{backup}"
        );
        assert_eq!(applied.documents, 3);
        assert!(applied.report.is_ok(), "{:?}", applied.report.findings);
        assert_ne!(memory.files().await?, files);
        assert_eq!(undo(ADDRESS, &backup, false, &options).await?, 3);
        assert_eq!(memory.files().await?, files);
        assert_eq!(undo(ADDRESS, &backup, false, &options).await?, 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backup_may_lie_anywhere_but_on_another_one() -> Outcome {
    let memory = Memory::with(&broken()?).await?;
    let options = memory.options();
    let done = plan(ADDRESS, &options).await?;
    let place = "memory:///kept/here";
    apply(&done, Some(place), &options).await?;
    let kept = memory
        .0
        .get(&Path::parse("kept/here/before/zarr.json")?)
        .await?;
    assert_eq!(
        kept.bytes().await?,
        broken()?.objects.get("zarr.json").ok_or("no root")?[..]
    );
    undo(ADDRESS, place, false, &options).await?;
    let again = apply(&done, Some(place), &options).await;
    assert!(
        matches!(again, Err(RepairError::Write(WriteError::Exists { .. }))),
        "{again:?}"
    );
    assert_eq!(memory.files().await?, broken()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_changed_is_not_overwritten() -> Outcome {
    let memory = Memory::with(&broken()?).await?;
    let options = memory.options();
    let done = plan(ADDRESS, &options).await?;
    for key in ["zarr.json", "1/zarr.json"] {
        // Another program writes between plan and repair.
        let mut theirs = broken()?;
        theirs.set(key, "/attributes/note", json!("mine"))?;
        let bytes = theirs.objects.get(key).ok_or("")?.clone();
        memory.put(key, bytes).await?;
        let refused = apply(&done, None, &options).await;
        assert!(
            matches!(refused, Err(RepairError::Write(WriteError::Changed { .. }))),
            "{refused:?}"
        );
        assert_eq!(memory.files().await?, theirs);
        let before = broken()?.objects.get(key).ok_or("")?.clone();
        memory.put(key, before).await?;
    }
    let applied = apply(&done, None, &options).await?;
    let backup = applied.backup.ok_or("nothing was kept")?;
    // Another program writes after the repair.
    let mut theirs = memory.files().await?;
    theirs.set("1/zarr.json", "/attributes/note", json!("mine"))?;
    let bytes = theirs.objects.get("1/zarr.json").ok_or("")?.clone();
    memory.put("1/zarr.json", bytes).await?;
    let refused = undo(ADDRESS, &backup, false, &options).await;
    assert!(
        matches!(refused, Err(RepairError::Write(WriteError::Input { .. }))),
        "{refused:?}"
    );
    assert_eq!(memory.files().await?, theirs);
    undo(ADDRESS, &backup, true, &options).await?;
    assert_eq!(memory.files().await?, broken()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_names_something_else_is_refused() -> Outcome {
    let memory = Memory::with(&broken()?).await?;
    let options = memory.options();
    let nothing = undo(ADDRESS, "memory:///nothing", true, &options).await;
    assert!(nothing.is_err());
    for key in [
        "../zarr.json",
        "0/vertices/c/0/0/0",
        "zarr.json/",
        "a//zarr.json",
    ] {
        let list = json!({"documents": [key]}).to_string();
        let at = Path::parse("foul/backup.json")?;
        memory.0.put(&at, list.into_bytes().into()).await?;
        let refused = undo(ADDRESS, "memory:///foul", true, &options).await;
        assert!(
            matches!(refused, Err(RepairError::Write(WriteError::Data { .. }))),
            "{key}: {refused:?}"
        );
    }
    assert_eq!(memory.files().await?, broken()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_keep_their_backup_beside_them() -> Outcome {
    let store = zvf_testkit::unpack("0.9/graph")?;
    let key = store.path().join("0/zarr.json");
    let text = String::from_utf8(std::fs::read(&key)?)?;
    let broken = text.replace("\"vertex_count\":", "\"vertex_count\": 7, \"was\":");
    assert_ne!(text, broken);
    std::fs::write(&key, &broken)?;
    let folder = store.path();
    let address = folder.to_str().ok_or("a path that is no text")?;
    let options = zvf_validate::repair::RepairOptions::default();
    let applied = apply(&plan(address, &options).await?, None, &options).await?;
    let backup = applied.backup.ok_or("nothing was kept")?;
    assert!(applied.report.is_ok(), "{:?}", applied.report.findings);
    let kept = std::path::Path::new(&backup);
    assert_eq!(kept.parent(), store.path().parent());
    assert_eq!(
        std::fs::read_to_string(kept.join("before/0/zarr.json"))?,
        broken
    );
    assert_eq!(undo(address, &backup, false, &options).await?, 1);
    assert_eq!(std::fs::read_to_string(&key)?, broken);
    Ok(())
}

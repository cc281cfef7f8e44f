//! Of two writers at one address, the one that clears it takes it over: the other one cannot commit, whenever it tries.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zvf_encode::target::Target;
use zvf_encode::transaction::{LEASE, Settled, Transaction, new_store, settle};
use zvf_store::Class;
use zvf_write::{Batch, Kind, StaleFiles, StoreSpec, StoreWriter, WriteError};

use crate::support::{ADDRESS, Memory};

const ROOT: &str = "{}";

/// Runs `work` with a target in memory, which blocks; returns the keys of all objects.
async fn keys(work: impl FnOnce(&Target) + Send + 'static) -> Vec<String> {
    let memory = Memory::default();
    let open = memory.open_options();
    let work = move || work(&Target::new(ADDRESS, &open, false).unwrap());
    tokio::task::spawn_blocking(work).await.unwrap();
    memory.files().await.into_keys().collect()
}

fn begin(target: &Target, stale_files: StaleFiles) -> Vec<u8> {
    new_store::begin(target, ADDRESS, stale_files, json!({})).unwrap()
}

fn put(target: &Target, key: &str) {
    assert!(target.put_new(key, b"{}".to_vec()).unwrap());
}

fn commit(target: &Target, mark: &[u8]) -> Result<(), WriteError> {
    new_store::commit(target, ADDRESS, ROOT.to_owned(), mark, None)
}

#[tokio::test]
async fn a_writer_whose_place_was_cleared_cannot_commit() {
    let left = keys(|target| {
        let slow = begin(target, StaleFiles::Refuse);
        put(target, "0/zarr.json");
        let fast = begin(target, StaleFiles::Remove);
        assert!(!target.exists("0/zarr.json").unwrap());
        let refused = commit(target, &slow).unwrap_err();
        assert!(matches!(refused, WriteError::Busy { .. }), "{refused}");
        assert!(!target.exists("zarr.json").unwrap());
        put(target, "1/zarr.json");
        commit(target, &fast).unwrap();
    });
    assert_eq!(left.await, ["1/zarr.json", "zarr.json"]);
}

/// A writer that was paused looks at its marker before it writes more: another program may have written a store there.
#[tokio::test]
async fn a_writer_whose_place_was_taken_meanwhile_writes_nothing_more() {
    let memory = Memory::default();
    let open = memory.open_options();
    let work = move || {
        let [slow, fast] = [(); 2].map(|()| Target::new(ADDRESS, &open, false).unwrap());
        let object = |key: &str| vec![(key.to_owned(), b"old".to_vec())];
        begin(&slow, StaleFiles::Refuse);
        slow.put(object("0/vertices/c/1")).unwrap();
        let mark = begin(&fast, StaleFiles::Remove);
        put(&fast, "0/vertices/c/2");
        commit(&fast, &mark).unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        for refused in [
            slow.put(object("0/vertices/c/2")),
            slow.put_unseen(object("0/vertices/c/3")),
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, WriteError::Busy { .. }), "{refused}");
        }
        // The store is complete, and others may be written there.
        fast.put(object("0/vertices/c/4")).unwrap();
    };
    tokio::task::spawn_blocking(work).await.unwrap();
    let files = memory.files().await;
    let keys: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(keys, ["0/vertices/c/2", "0/vertices/c/4", "zarr.json"]);
    assert_eq!(files["0/vertices/c/2"], b"{}");
}

/// The slow writer has looked at its marker before the place was taken over, and puts its root afterwards.
#[tokio::test]
async fn a_root_that_is_put_too_late_is_no_success() {
    let left = keys(|target| {
        let slow = begin(target, StaleFiles::Refuse);
        begin(target, StaleFiles::Remove);
        put(target, "zarr.json");
        let refused = new_store::tidy(target, ADDRESS, &slow, None).unwrap_err();
        assert!(matches!(refused, WriteError::Busy { .. }), "{refused}");
    });
    // The other writer's marker is not removed.
    assert_eq!(left.await, ["zarr.json", "zvf-unfinished.json"]);
}

/// A finished store is never cleared.
#[tokio::test]
async fn a_store_is_not_cleared() {
    let left = keys(|target| {
        let mark = begin(target, StaleFiles::Refuse);
        put(target, "zarr.json");
        let refused = new_store::begin(target, ADDRESS, StaleFiles::Remove, json!({}));
        let refused = refused.unwrap_err();
        assert!(matches!(refused, WriteError::Exists { .. }), "{refused}");
        new_store::tidy(target, ADDRESS, &mark, None).unwrap();
    });
    assert_eq!(left.await, ["zarr.json"]);
}

/// The place of a process that runs on this machine is not cleared, and that of one that has ended is.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_writer_that_runs_keeps_its_place() {
    let left = keys(|target| {
        let mut other = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let pid = other.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        // Field 22; the name in parentheses is field 2.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let start: u64 = fields.split_whitespace().nth(19).unwrap().parse().unwrap();
        let own = begin(target, StaleFiles::Refuse);
        let mut mark: Value = serde_json::from_slice(&own).unwrap();
        mark["by"]["pid"] = pid.into();
        mark["by"]["process"]["start"] = start.into();
        target.remove("zvf-unfinished.json").unwrap();
        let bytes = mark.to_string().into_bytes();
        assert!(target.put_new("zvf-unfinished.json", bytes).unwrap());
        let clear = || new_store::begin(target, ADDRESS, StaleFiles::Remove, json!({}));
        let refused = clear().unwrap_err();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(matches!(refused, WriteError::Busy { .. }), "{refused}");
        assert!(
            refused.to_string().contains(&format!(":{pid} ")),
            "{refused}"
        );
        clear().unwrap();
    });
    assert_eq!(left.await, ["zvf-unfinished.json"]);
}

#[tokio::test]
async fn a_store_that_is_withdrawn_is_gone_unless_somebody_changes_it() {
    let left = keys(|target| {
        let mark = begin(target, StaleFiles::Refuse);
        put(target, "0/zarr.json");
        commit(target, &mark).unwrap();
        put(target, "zvf-unfinished.json");
        let root = target.read("zarr.json").unwrap().unwrap();
        let root = String::from_utf8(root).unwrap();
        let withdraw = |root: &str| new_store::withdraw(target, ADDRESS, root, json!({}));
        let refused = withdraw(&root).unwrap_err();
        assert!(matches!(refused, WriteError::Busy { .. }), "{refused}");
        assert!(target.exists("zarr.json").unwrap() && target.exists("0/zarr.json").unwrap());
        target.remove("zvf-unfinished.json").unwrap();
        // Another program changed the store, and has finished.
        let refused = withdraw("{ }").unwrap_err();
        assert!(matches!(refused, WriteError::Exists { .. }), "{refused}");
        assert!(target.exists("zarr.json").unwrap() && target.exists("0/zarr.json").unwrap());
        assert!(!target.exists("zvf-unfinished.json").unwrap());
        withdraw(&root).unwrap();
    });
    assert_eq!(left.await, Vec::<String>::new());
}

/// A program that takes a running edit over removes its files. Whatever fails then, the takeover is reported, and no file remains.
#[tokio::test]
async fn an_edit_that_was_taken_over_reports_that() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&Batch::new(vec![1.0_f32, 2.0])).unwrap();
    writer.finish().await.unwrap();
    let keys = memory.files().await.into_keys().collect::<Vec<_>>();
    for taken in [false, true] {
        let open = memory.open_options();
        let work = move || {
            let target = Arc::new(Target::new(ADDRESS, &open, false).unwrap());
            let own = Arc::clone(&target);
            let edit = Transaction::begin(own, ADDRESS, StaleFiles::Refuse, LEASE).unwrap();
            let root = edit.doc().unwrap();
            let put = |key: &str| Ok(vec![(key.to_owned(), b"new".to_vec())]);
            let objects = (0..3).map(|at| match at {
                0 => put("0/first"),
                1 => {
                    if taken {
                        let done = settle(&target, ADDRESS, LEASE).unwrap();
                        assert_eq!(done, Settled::TakenBack);
                    }
                    put("0/second")
                }
                _ => Err(WriteError::io(
                    "0/third",
                    std::io::ErrorKind::NotFound.into(),
                )),
            });
            edit.commit(objects, BTreeSet::new(), &root).unwrap_err()
        };
        let refused = tokio::task::spawn_blocking(work).await.unwrap();
        let (class, says) = match taken {
            true => (Class::Busy, "has taken this change over"),
            false => (Class::Io, "0/third"),
        };
        assert!(refused.to_string().contains(says), "{refused}");
        assert_eq!(refused.class(), class);
        let left = memory.files().await.into_keys().collect::<Vec<_>>();
        assert_eq!(left, keys, "taken over: {taken}");
    }
}

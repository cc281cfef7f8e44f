//! Verbatim copies: byte for byte, from any place to any other one, with faults, and stopped at any write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_encode::{StaleFiles, WriteError, WriteOptions};
use zvf_migrate::{CopiedFiles, CopyOptions, copy};
use zvf_store::blocking::Runtime;
use zvf_store::{Class, Limits, OpenOptions, Retry, Store, StoreError};
use zvf_testkit::faults::{Ask, Bucket, Dying, Fault, Faulty, Rule, Sort, Swap, Trouble, Unsteady};
use zvf_testkit::sample::Sample;

use crate::made::Made;

type Files = BTreeMap<String, Vec<u8>>;

const FROM: &str = "memory:///";
const TO: &str = "memory:///some/copy.zarrvectors";

/// A backend whose failed requests are retried at once.
fn at(backend: Arc<dyn ObjectStore>) -> OpenOptions {
    let zero = std::time::Duration::ZERO;
    let retry = Retry::default().with_pauses(zero, zero);
    OpenOptions::new()
        .with_object_store(backend)
        .with_retry(retry)
}

fn into(open: OpenOptions) -> CopyOptions {
    CopyOptions::new().with_write(WriteOptions::new().with_open(open))
}

/// Every object of a bucket below a prefix.
async fn objects(bucket: &InMemory, prefix: &str) -> Files {
    let all: Vec<_> = bucket.list(None).try_collect().await.unwrap();
    let mut files = Files::new();
    for meta in all {
        let bytes = bucket.get(&meta.location).await.unwrap();
        let bytes = bytes.bytes().await.unwrap().to_vec();
        let key = meta.location.as_ref().strip_prefix(prefix).unwrap();
        files.insert(key.to_owned(), bytes);
    }
    files
}

fn walk(folder: &Path, root: &Path, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, root, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
}

/// Every file of a folder.
fn files_in(folder: &Path) -> Files {
    let mut found = Files::new();
    walk(folder, folder, &mut found);
    found
}

fn bytes_of(files: &Files) -> u64 {
    files.values().map(|bytes| bytes.len() as u64).sum()
}

fn source(files: &Files) -> OpenOptions {
    at(Arc::new(Bucket::new(files.clone())))
}

async fn from_bucket(
    from: OpenOptions,
    to: Arc<dyn ObjectStore>,
) -> Result<CopiedFiles, WriteError> {
    copy(FROM, TO, into(at(to)).with_source(from)).await
}

/// Every file of stores of every generation, through a bucket and back to a disk; all except the smallest files also in ranges.
#[test]
fn a_copy_has_the_same_bytes() {
    Runtime::new().unwrap().wait(async {
        let sample = Sample::new("verbatim");
        let cases = zvf_testkit::all_cases().unwrap();
        for (number, case) in cases.iter().enumerate() {
            if number > 1 && !sample.takes(number, 16) {
                continue;
            }
            let expected = zvf_testkit::files(case).unwrap();
            let store = zvf_testkit::unpacked(case).unwrap();
            let bucket = Arc::new(InMemory::new());
            let small = Limits::default().with_cell_bytes(expected["zarr.json"].len() as u64);
            let to = into(at(bucket.clone()));
            let up = to.with_source(OpenOptions::new()).with_read_back(true);
            let up = copy(&store.url().unwrap(), TO, up).await.unwrap();
            assert_eq!(
                (up.files, up.bytes),
                (expected.len() as u64, bytes_of(&expected)),
                "{case}"
            );
            assert_eq!((up.skipped_files, up.read_back), (0, true));
            assert_eq!(
                objects(&bucket, "some/copy.zarrvectors/").await,
                expected,
                "{case}"
            );

            let home = Made::new();
            let from = at(bucket).with_limits(small);
            let down = into(OpenOptions::new()).with_source(from);
            let down = copy(TO, &home.address(), down.with_read_back(true))
                .await
                .unwrap();
            assert_eq!(down, up, "{case}");
            assert_eq!(files_in(&home.path()), expected, "{case}");
        }
    });
}

/// A program that is stopped at any write leaves no store; the next one continues, and in the end all bytes are copied.
#[test]
fn a_copy_that_is_stopped_at_any_write_is_resumed() {
    Runtime::new().unwrap().wait(async {
        let expected = zvf_testkit::files("points_bins").unwrap();
        let mut whole = 0;
        for through in [false, true] {
            for writes in 1.. {
                let bucket = Arc::new(InMemory::new());
                let dying = Dying::new(bucket.clone(), writes, through);
                let mut open = at(Arc::new(dying)).with_retry(Retry::never());
                open.io.concurrency = 1;
                let first = copy(FROM, TO, into(open).with_source(source(&expected))).await;
                let there = objects(&bucket, "some/copy.zarrvectors/").await;
                if there.contains_key("zarr.json") {
                    whole += 1;
                    let held = |(key, bytes): (&String, &Vec<u8>)| there.get(key) == Some(bytes);
                    assert!(expected.iter().all(held), "{writes}");
                }
                if there != expected {
                    let again = from_bucket(source(&expected), bucket.clone()).await;
                    again.unwrap();
                }
                assert_eq!(
                    objects(&bucket, "some/copy.zarrvectors/").await,
                    expected,
                    "{writes}"
                );
                if first.is_ok() {
                    assert!(writes > 12, "{writes} writes");
                    break;
                }
            }
        }
        assert!(whole >= 3);
    });
}

/// Objects that an interrupted copy recorded are not copied again, unless their size in the copy differs.
#[test]
fn what_is_copied_is_not_copied_again() {
    Runtime::new().unwrap().wait(async {
        let expected = zvf_testkit::files("points_bins").unwrap();
        let bucket = Arc::new(InMemory::new());
        let refused = Trouble::Before(Fault::Denied);
        let unsteady = Unsteady::new(bucket.clone(), Sort::Put, refused, 9..10);
        let error = from_bucket(source(&expected), Arc::new(unsteady))
            .await
            .unwrap_err();
        assert_eq!(error.class(), Class::Io, "{error}");
        Store::open_with(TO, at(bucket.clone())).await.unwrap_err();

        // Copies of another source, and other writers, are refused.
        let mut other = expected.clone();
        other.get_mut("zarr.json").unwrap().push(b' ');
        let error = from_bucket(source(&other), bucket.clone())
            .await
            .unwrap_err();
        assert!(
            matches!(error, WriteError::Exists { root: false, .. }),
            "{error}"
        );

        let prefix = "some/copy.zarrvectors/";
        let there = objects(&bucket, prefix).await;
        let cut = there
            .keys()
            .find(|key| expected.contains_key(*key))
            .unwrap();
        let place = Key::parse(format!("{prefix}{cut}")).unwrap();
        bucket.put(&place, b"x".as_slice().into()).await.unwrap();
        let copied = there
            .keys()
            .filter(|key| expected.contains_key(*key))
            .count() as u64;
        let done = from_bucket(source(&expected), bucket.clone())
            .await
            .unwrap();
        assert!(
            copied > 3 && done.skipped_files == copied - 1,
            "{done:?} of {copied}"
        );
        assert_eq!(objects(&bucket, prefix).await, expected);

        let error = from_bucket(source(&expected), bucket.clone())
            .await
            .unwrap_err();
        assert!(
            matches!(error, WriteError::Exists { root: true, .. }),
            "{error}"
        );
    });
}

/// Temporary faults of the source, even in the middle of bodies, do not change any byte.
#[test]
fn faults_that_pass_change_nothing() {
    Runtime::new().unwrap().wait(async {
        let expected = zvf_testkit::files("points_bins").unwrap();
        let faults = [
            Fault::Unavailable,
            Fault::TooMany,
            Fault::BrokenBody,
            Fault::ShortBody,
        ];
        for (seed, fault) in (0..).zip(faults) {
            let rule = Rule::new(fault).of(Ask::Get).share(0.3).times(2);
            let faulty =
                Arc::new(Faulty::new(Arc::new(Bucket::new(expected.clone())), seed).rule(rule));
            let bucket = Arc::new(InMemory::new());
            let done = from_bucket(at(faulty.clone()), bucket.clone())
                .await
                .unwrap();
            assert_eq!(done.bytes, bytes_of(&expected));
            assert_eq!(objects(&bucket, "some/copy.zarrvectors/").await, expected);
            assert!(faulty.counts().faults > 0);
        }
    });
}

/// A source that changes at any time is refused, and nothing is left of the copy.
#[test]
fn a_source_that_changes_is_not_copied() {
    Runtime::new().unwrap().wait(async {
        let old = zvf_testkit::files("points_bins").unwrap();
        let cell = old.keys().find(|key| key.contains("/c/")).unwrap().clone();
        let mut new = old.clone();
        new.get_mut(&cell).unwrap().push(0);
        new.remove("0/zarr.json");
        let mut after = 3;
        loop {
            let swap = Swap::new(after, Arc::new(Bucket::new(new.clone())));
            let faulty = Arc::new(Faulty::new(Arc::new(Bucket::new(old.clone())), 1).swap(swap));
            let bucket = Arc::new(InMemory::new());
            let done = from_bucket(at(faulty.clone()), bucket.clone()).await;
            let Err(error) = done else {
                // It changed after the last listing.
                assert_eq!(faulty.counts().lists, 2);
                assert!(after > old.len() as u64 / 2);
                break;
            };
            let changed = matches!(&error, WriteError::Store(e) if e.is_changed());
            assert!(changed, "{after}: {error}");
            assert!(
                objects(&bucket, "some/copy.zarrvectors/").await.is_empty(),
                "{after}"
            );
            after += 1 + old.len() as u64 / 6;
        }
    });
}

/// An edit that ends after the root was read and before the objects are listed leaves objects that do not belong to that root.
#[test]
fn a_root_that_is_older_than_the_listing_is_not_copied() {
    Runtime::new().unwrap().wait(async {
        let old = zvf_testkit::files("points_bins").unwrap();
        let mut new = old.clone();
        new.get_mut("zarr.json").unwrap().push(b' ');
        let swap = Swap::new(1, Arc::new(Bucket::new(new)));
        let faulty = Arc::new(Faulty::new(Arc::new(Bucket::new(old)), 1).swap(swap));
        let bucket = Arc::new(InMemory::new());
        let error = from_bucket(at(faulty), bucket.clone()).await.unwrap_err();
        let changed = matches!(&error, WriteError::Store(e) if e.is_changed());
        assert!(changed, "{error}");
        let left = objects(&bucket, "some/copy.zarrvectors/").await;
        assert!(left.is_empty(), "{left:?}");
    });
}

/// Reading the copy back detects bytes that the backend changed.
#[test]
fn a_copy_that_holds_other_bytes_is_found() {
    Runtime::new().unwrap().wait(async {
        let expected = zvf_testkit::files("points_bins").unwrap();
        // The objects are recorded as copied, and one of them is damaged afterwards.
        let bucket = Arc::new(InMemory::new());
        let refused = Trouble::Before(Fault::Denied);
        let unsteady = Unsteady::new(bucket.clone(), Sort::Put, refused, 9..10);
        from_bucket(source(&expected), Arc::new(unsteady))
            .await
            .unwrap_err();
        let prefix = "some/copy.zarrvectors/";
        let there = objects(&bucket, prefix).await;
        let (cut, mut bytes) = there
            .into_iter()
            .find(|(key, _)| expected.contains_key(key))
            .unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        let place = Key::parse(format!("{prefix}{cut}")).unwrap();
        bucket.put(&place, bytes.into()).await.unwrap();
        let options = into(at(bucket.clone())).with_source(source(&expected));
        let error = copy(FROM, TO, options.with_read_back(true))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, WriteError::Differs { place, .. } if *place == cut),
            "{error}"
        );
        assert!(objects(&bucket, prefix).await.is_empty());
    });
}

#[test]
fn what_is_no_store_and_what_is_in_use_is_refused() {
    Runtime::new().unwrap().wait(async {
        let good = zvf_testkit::files("points_bins").unwrap();
        let refused = async |files: Files| {
            let bucket = Arc::new(InMemory::new());
            let error = from_bucket(source(&files), bucket.clone())
                .await
                .unwrap_err();
            assert!(objects(&bucket, "").await.is_empty(), "{error}");
            error
        };
        let mut files = good.clone();
        files.insert("zvf-unfinished.json".to_owned(), b"{}".to_vec());
        assert_eq!(refused(files.clone()).await.class(), Class::Busy);
        files.remove("zarr.json");
        assert!(matches!(
            refused(files).await,
            WriteError::Store(StoreError::NoStore { .. })
        ));
        let mut files = good.clone();
        files.insert(
            "zarr.json".to_owned(),
            br#"{"node_type": "group"}"#.to_vec(),
        );
        assert!(matches!(refused(files).await, WriteError::Input { .. }));

        // Temporary files of writers are not part of a store; similar names are.
        let mut files = good.clone();
        files.insert("0/.zvf-1-2".to_owned(), b"half".to_vec());
        files.insert("notes/a.zvf-1".to_owned(), b"kept".to_vec());
        let bucket = Arc::new(InMemory::new());
        from_bucket(source(&files), bucket.clone()).await.unwrap();
        files.remove("0/.zvf-1-2");
        assert_eq!(objects(&bucket, "some/copy.zarrvectors/").await, files);

        // A place with content, and a place inside the source.
        let home = Made::new();
        let to_disk = || into(OpenOptions::new()).with_source(source(&good));
        fs::create_dir_all(home.path()).unwrap();
        fs::write(home.path().join("a.txt"), "a").unwrap();
        let clear = WriteOptions::new().with_stale_files(StaleFiles::Remove);
        for options in [to_disk(), to_disk().with_write(clear)] {
            let error = copy(FROM, &home.address(), options).await.unwrap_err();
            assert!(
                matches!(error, WriteError::Exists { root: false, .. }),
                "{error}"
            );
        }
        assert_eq!(files_of(&home), ["a.txt"]);
        fs::remove_file(home.path().join("a.txt")).unwrap();
        copy(FROM, &home.address(), to_disk()).await.unwrap();
        let inside = format!("{}/copy", home.address());
        let error = copy(&home.address(), &inside, CopyOptions::new())
            .await
            .unwrap_err();
        assert!(matches!(error, WriteError::Exists { .. }), "{error}");
        let error = copy(&home.address(), &home.address(), CopyOptions::new())
            .await
            .unwrap_err();
        assert!(
            matches!(error, WriteError::Exists { root: true, .. }),
            "{error}"
        );
        assert_eq!(files_in(&home.path()), good);
    });
}

fn files_of(home: &Made) -> Vec<String> {
    files_in(&home.path()).into_keys().collect()
}

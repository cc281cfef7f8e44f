//! An interrupted copy continues from its journal, with the same result as an uninterrupted one.

use std::path::Path;
use std::sync::Arc;

use object_store::{ObjectStore, ObjectStoreExt};
use zvf_encode::transaction::record_log::RecordLog;
use zvf_migrate::{MigrateOptions, MigrationReport, migrate};
use zvf_store::{IoTrace, Retry, Store};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;
use zvf_write::{
    AttributeSpec, Batch, Class, Compression, Kind, NumberType, ObjectTable, StoreSpec,
    StoreWriter, WriteError, WriteOptions,
};

use crate::support::{ADDRESS, Memory};

/// A graph in 600 chunks, which are copied in three jobs.
async fn source() -> Memory {
    let spec = StoreSpec::new(Kind::Graph, [1.0; 2])
        .with_shard_shape([5, 5])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_link_attribute(AttributeSpec::number("w", NumberType::U16))
        .with_object_attribute(AttributeSpec::text("name"));
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let n: Vec<i32> = (0..900).collect();
    let positions: Vec<f32> = n
        .iter()
        .flat_map(|n| [(n % 25) as f32 + 0.25, (n / 25 % 24) as f32 + 0.5])
        .collect();
    let links: Vec<u64> = (0..900).flat_map(|n| [n, n * 7 % 900]).collect();
    let batch = Batch::new(positions)
        .with_object_ids(n.iter().map(|n| i64::from(n % 11)).collect::<Vec<_>>())
        .with_attribute("n", n)
        .with_links(links)
        .with_link_attribute("w", (0..900).collect::<Vec<u16>>());
    writer.push(&batch).unwrap();
    let names = zvf_write::Values::texts(["three"]);
    writer
        .push_objects(&ObjectTable::new(vec![3]).with_attribute("name", names))
        .unwrap();
    writer.finish().await.unwrap();
    memory
}

fn options(backend: Arc<dyn ObjectStore>, journal: Option<&Path>) -> MigrateOptions {
    let mut open = zvf_store::OpenOptions::new().with_object_store(backend);
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    let mut write = WriteOptions::new().with_open(open).with_threads(1);
    write.journal = journal.map(Path::to_owned);
    MigrateOptions::new().with_write(write)
}

/// Shards of other sizes; with `moved` also other chunks, so that rows move.
fn shaped(options: MigrateOptions, moved: bool) -> MigrateOptions {
    if moved {
        options
            .with_chunk_shape([1.5, 1.0])
            .with_shard_shape([4, 4])
    } else {
        options.with_shard_shape([3, 4])
    }
}

async fn undisturbed(store: &Store, moved: bool) -> (Memory, MigrationReport) {
    let memory = Memory::default();
    let options = shaped(options(memory.0.clone(), None), moved);
    let report = migrate(store, ADDRESS, options).await.unwrap();
    (memory, report)
}

async fn killed_everywhere(moved: bool) {
    let source = source().await;
    let store = source.open().await;
    let (whole, told) = undisturbed(&store, moved).await;
    let expected = whole.files().await;
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut dead = 0;
    // Every write at the beginning and the end, and some in between.
    let writes = expected.len() + 3;
    let places = (1..=writes).filter(|at| *at < 5 || at % 60 == 0 || at + 6 > writes);
    let sample = Sample::new(if moved {
        "copies into other chunks"
    } else {
        "copies"
    });
    for (at, through) in sample.some(places.flat_map(|at| [(at, false), (at, true)]), 3) {
        let memory = Memory::default();
        let dying = Arc::new(Dying::new(memory.0.clone(), at, through));
        let first = shaped(options(dying, Some(&journal)), moved);
        match migrate(&store, ADDRESS, first).await {
            Ok(_) => assert!(at >= writes - 1, "{at}"),
            Err(error) => {
                dead += 1;
                assert_eq!(error.class(), Class::Io, "{error}");
                assert!(journal.exists());
                // Without the journal, no writer takes over the address.
                if !memory.files().await.is_empty() {
                    let other = shaped(options(memory.0.clone(), None), moved);
                    let told = migrate(&store, ADDRESS, other).await.unwrap_err();
                    assert!(matches!(told, WriteError::Exists { .. }), "{told}");
                }
                let again = shaped(options(memory.0.clone(), Some(&journal)), moved);
                let report = migrate(&store, ADDRESS, again).await.unwrap();
                assert_eq!(report, told, "write {at}");
            }
        }
        assert!(!journal.exists(), "write {at}");
        let files = memory.files().await;
        let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            files.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&files), names(&expected), "write {at}");
        assert!(files == expected, "write {at}: other bytes");
    }
    assert!(
        dead > if sample.is_whole() { 15 } else { 1 },
        "{dead} of {writes}"
    );
}

#[tokio::test]
async fn a_copy_that_is_killed_at_any_write_goes_on() {
    killed_everywhere(false).await;
}

#[tokio::test]
async fn a_copy_into_other_chunks_that_is_killed_at_any_write_goes_on() {
    killed_everywhere(true).await;
}

/// A first run that dies at write `at`.
async fn interrupted(store: &Store, memory: &Memory, journal: &Path, at: usize) {
    let dying = Arc::new(Dying::new(memory.0.clone(), at, true));
    let first = shaped(options(dying, Some(journal)), false);
    assert!(migrate(store, ADDRESS, first).await.is_err());
}

#[tokio::test]
async fn what_was_copied_is_not_read_again() {
    let source = source().await;
    let trace = IoTrace::on();
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut requests = Vec::new();
    // Without an interruption, and after the first job.
    for at in [None, Some(70)] {
        let memory = Memory::default();
        // A new store each time, because a store caches cells after a query.
        let open = source.open_options().with_trace(trace.clone());
        let store = Store::open_with(ADDRESS, open).await.unwrap();
        if let Some(at) = at {
            let store = source.open().await;
            interrupted(&store, &memory, &journal, at).await;
        }
        trace.take();
        let again = shaped(options(memory.0.clone(), Some(&journal)), false).with_unverified(true);
        migrate(&store, ADDRESS, again).await.unwrap();
        let cells = trace.take();
        let cells = cells.iter().filter(|one| one.key.contains("0/vertices/c/"));
        requests.push(cells.count());
    }
    assert!(requests[0] > requests[1], "{requests:?}");
}

#[tokio::test]
async fn a_journal_of_something_else_is_refused() {
    let source = source().await;
    let store = source.open().await;
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let journal_of_json = folder.path().join("journal-of-json");
    let memory = Memory::default();
    interrupted(&store, &memory, &journal, 80).await;
    let left = memory.files().await;
    let kept = std::fs::read(&journal).unwrap();

    // Other options.
    let other = options(memory.0.clone(), Some(&journal)).with_compression(Compression::None);
    let error = migrate(&store, ADDRESS, shaped(other, false))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("with other options"), "{error}");
    assert_eq!(error.class(), Class::Misuse);
    let again = || shaped(options(memory.0.clone(), Some(&journal)), false);

    // Another writer took over the address in the meantime.
    let marker = object_store::path::Path::from("some/points.zarrvectors/zvf-unfinished.json");
    let mark = memory.0.get(&marker).await.unwrap().bytes().await.unwrap();
    memory.0.put(&marker, "{}".into()).await.unwrap();
    let error = migrate(&store, ADDRESS, again()).await.unwrap_err();
    assert!(matches!(error, WriteError::Exists { .. }), "{error}");
    memory.0.put(&marker, mark.into()).await.unwrap();
    assert_eq!(memory.files().await, left);
    assert_eq!(std::fs::read(&journal).unwrap(), kept);

    // A journal that is damaged in the middle.
    let mut bytes = kept.clone();
    bytes[40] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();
    let error = migrate(&store, ADDRESS, again()).await.unwrap_err();
    assert!(error.to_string().contains("a damaged record"), "{error}");

    // A journal of a version with records in JSON.
    let mut records = RecordLog::open(&journal_of_json, false, |_, _, _| Ok(())).unwrap();
    let json = br#"{"copy":{"version":"0.1.0","source":"","options":"{}"},"mark":"{}"}"#;
    records.append(1, json).unwrap();
    drop(records);
    let older = shaped(options(memory.0.clone(), Some(&journal_of_json)), false);
    let error = migrate(&store, ADDRESS, older).await.unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert_eq!(error.class(), Class::Misuse);

    // The address was emptied: everything is copied again.
    std::fs::write(&journal, &kept).unwrap();
    let cleared = Memory::default();
    let anew = shaped(options(cleared.0.clone(), Some(&journal)), false);
    migrate(&store, ADDRESS, anew).await.unwrap();
    let (whole, _) = undisturbed(&store, false).await;
    assert_eq!(cleared.files().await, whole.files().await);
    assert!(!journal.exists());

    // A source that has changed since.
    std::fs::write(&journal, &kept).unwrap();
    let key = object_store::path::Path::from("some/points.zarrvectors/0/zarr.json");
    let same = source.0.get(&key).await.unwrap().bytes().await.unwrap();
    source.0.put(&key, same.clone().into()).await.unwrap();
    let changed = source.open().await;
    let error = migrate(&changed, ADDRESS, again()).await.unwrap_err();
    assert!(error.to_string().contains("was changed since"), "{error}");
}

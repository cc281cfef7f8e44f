//! An interrupted writer continues after its last batch, and any other journal or writer is refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use zvf_store::{Class, Retry};
use zvf_testkit::faults::Dying;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, Progress, Step, StoreSpec,
    StoreWriter, Values, WriteError, WriteOptions,
};

use crate::support::{ADDRESS, Memory, check_documents};

const BATCHES: u64 = 4;

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_vertex_attribute(AttributeSpec::category("type"))
        .with_link_attribute(AttributeSpec::number("w", NumberType::F32))
        .with_object_attribute(AttributeSpec::text("name"))
}

/// Pushes batch `number` of four.
fn push(writer: &mut StoreWriter, number: u64) -> Result<(), WriteError> {
    writer.push(&batch(number))
}

/// Batch `number` of four: together they cover all kinds of batches.
fn batch(number: u64) -> Batch {
    let first = i32::try_from(number).unwrap() * 5;
    batch_of(number, (first..first + 5).collect())
}

/// The same with other values of `n`, and of everything that is computed from `n`.
fn batch_of(number: u64, n: Vec<i32>) -> Batch {
    let positions: Vec<f64> = n
        .iter()
        .flat_map(|n| [f64::from(n * 7 % 40), f64::from(*n) - 10.0])
        .collect();
    let types = n.iter().map(|n| (n % 3 > 0).then(|| format!("ä{}", n % 4)));
    let batch = Batch::new(positions)
        .with_attribute("n", n.clone())
        .with_attribute("type", Values::Text(types.collect()));
    let batch = match number % 2 {
        0 => batch.with_object_ids(n.iter().map(|n| i64::from(n % 3) - 1).collect::<Vec<_>>()),
        _ => batch.with_object_runs(vec![(i64::MIN, 2), (7, 3)]),
    };
    let batch = match number {
        0 => batch.with_links(vec![0, 1, 4, 2]),
        number => batch.with_links_between_batches(vec![number * 5, 0, number * 5 + 1, 3]),
    };
    batch.with_link_attribute("w", vec![0.5_f32, f32::NAN])
}

/// Pushes the batches that the writer does not have yet, up to `until` batches in total, and then the tables.
fn go_on(writer: &mut StoreWriter, until: u64) {
    for number in writer.batches()..until {
        push(writer, number).unwrap();
    }
}

fn names(first: &str) -> ObjectTable {
    let names = Values::optional_texts([Some(first), None]);
    ObjectTable::new(vec![i64::MIN, 99]).with_attribute("name", names)
}

fn groups() -> Groups {
    Groups::new(vec![vec![7], vec![99, i64::MIN]])
        .with_names(["a", "b"])
        .with_attribute("size", vec![1_u8, 2])
}

fn tables(writer: &mut StoreWriter) {
    writer.push_objects(&names("first")).unwrap();
    writer.set_groups(&groups()).unwrap();
}

async fn create(memory: &Memory, journal: &Path) -> Result<StoreWriter, WriteError> {
    let options = memory.options().with_journal(journal);
    StoreWriter::create(ADDRESS, spec(), options).await
}

/// The store of a writer that was never interrupted and has no journal.
async fn uninterrupted() -> BTreeMap<String, Vec<u8>> {
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    go_on(&mut writer, BATCHES);
    tables(&mut writer);
    writer.finish().await.unwrap();
    memory.files().await
}

#[tokio::test]
async fn a_journal_cut_anywhere_gives_the_same_store() {
    let expected = uninterrupted().await;
    check_documents(&expected);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    // The lengths of the journal after each call of a writer, which is then dropped.
    let mut lengths = Vec::new();
    {
        let mut writer = create(&Memory::default(), &journal).await.unwrap();
        let length = || std::fs::metadata(&journal).unwrap().len();
        lengths.push(length());
        for number in 0..BATCHES {
            push(&mut writer, number).unwrap();
            lengths.push(length());
        }
        tables(&mut writer);
    }
    let whole = std::fs::read(&journal).unwrap();
    let mut seen = Vec::new();
    for cut in (0..=whole.len()).step_by(31).chain([whole.len()]) {
        std::fs::write(&journal, &whole[..cut]).unwrap();
        let memory = Memory::default();
        let mut writer = create(&memory, &journal).await.unwrap();
        // The journal has a batch once it has the batch's last byte.
        let there = lengths.iter().filter(|&&end| end <= cut as u64).count();
        assert_eq!(
            writer.batches(),
            (there as u64).saturating_sub(1),
            "{cut} bytes"
        );
        seen.push(writer.batches());
        go_on(&mut writer, BATCHES);
        if cut < whole.len() {
            let all = std::fs::metadata(&journal).unwrap().len();
            // The journal may already have tables: a second row of an object is refused.
            if all <= lengths[BATCHES as usize] {
                tables(&mut writer);
            } else {
                continue;
            }
        }
        writer.finish().await.unwrap();
        assert_eq!(memory.files().await, expected, "{cut} bytes");
        assert!(!journal.exists(), "it goes once the store is there");
    }
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
    // A loss of power leaves zeros where the file was extended and not written; other bytes after them are damage.
    for (batches, end) in (0_u64..).zip(&lengths) {
        let mut zeros = whole[..usize::try_from(*end).unwrap()].to_vec();
        zeros.extend([0; 100]);
        std::fs::write(&journal, &zeros).unwrap();
        let writer = create(&Memory::default(), &journal).await.unwrap();
        assert_eq!(writer.batches(), batches);
        drop(writer);
        zeros.push(1);
        std::fs::write(&journal, &zeros).unwrap();
        let error = create(&Memory::default(), &journal).await.unwrap_err();
        assert!(error.to_string().contains("a damaged record"), "{error}");
    }
}

#[tokio::test]
async fn a_finish_that_failed_goes_on_from_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, place) = (folder.path().join("journal"), folder.path().join("store"));
    let address = place.to_str().unwrap();
    let options = || {
        WriteOptions::new()
            .with_journal(&journal)
            .with_durable(false)
    };
    let mut writer = StoreWriter::create(address, spec(), options())
        .await
        .unwrap();
    go_on(&mut writer, BATCHES);
    // The file of another program blocks the address.
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("other"), b"x").unwrap();
    writer.finish().await.unwrap_err();
    std::fs::remove_file(place.join("other")).unwrap();
    let mut writer = StoreWriter::create(address, spec(), options())
        .await
        .unwrap();
    assert_eq!((writer.batches(), writer.vertices()), (BATCHES, 20));
    tables(&mut writer);
    assert_eq!(writer.finish().await.unwrap().vertices, 20);
}

/// The same call continues after a kill at any write of `finish`, also after that of the root: the journal knows the markers of its runs.
#[tokio::test]
async fn a_finish_that_is_killed_at_any_write_goes_on_from_the_journal() {
    let expected = uninterrupted().await;
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut dead = 0;
    for at in 1..=expected.len() + 2 {
        for through in [false, true] {
            let memory = Memory::default();
            let dying = Arc::new(Dying::new(memory.0.clone(), at, through));
            let mut open = zvf_store::OpenOptions::new().with_object_store(dying);
            open.io.retry = Retry::never();
            open.io.concurrency = 1;
            let options = WriteOptions::new().with_open(open).with_threads(1);
            let options = options.with_journal(&journal);
            let mut writer = StoreWriter::create(ADDRESS, spec(), options).await.unwrap();
            go_on(&mut writer, BATCHES);
            tables(&mut writer);
            if writer.finish().await.is_err() {
                dead += 1;
                let writer = create(&memory, &journal).await.unwrap();
                assert_eq!(writer.batches(), BATCHES);
                assert_eq!(writer.finish().await.unwrap().vertices, 20, "{at}");
            }
            assert_eq!(memory.files().await, expected, "{at} {through}");
            assert!(!journal.exists());
        }
    }
    assert!(dead > expected.len(), "{dead}");
}

#[tokio::test]
async fn a_journal_that_is_not_the_writers_own_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let memory = Memory::default();
    let mut writer = create(&memory, &journal).await.unwrap();
    go_on(&mut writer, BATCHES);
    let refused = create(&memory, &journal).await.unwrap_err();
    assert_eq!(refused.class(), Class::Busy);
    let told = refused.to_string();
    assert!(told.contains("in use by another writer"), "{told}");
    drop(writer);

    let other = StoreSpec::new(Kind::Graph, [11.0; 2]);
    let options = memory.options().with_journal(&journal);
    let told = StoreWriter::create(ADDRESS, other, options).await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("another specification"), "{told}");

    // Damage before the end is not the result of an interruption.
    let whole = std::fs::read(&journal).unwrap();
    for at in (0..whole.len() - 400).step_by(37) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&journal, &bytes).unwrap();
        match create(&memory, &journal).await {
            Err(error) => assert!(error.to_string().contains("journal"), "{error}"),
            // A length that reaches past the end looks like an interrupted record: the following batches are pushed again.
            Ok(writer) => assert!(writer.batches() < BATCHES, "byte {at}"),
        }
    }
}

/// If a caller pushes everything again, a difference is an error; what the journal does not have is new.
#[tokio::test]
async fn what_comes_again_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let memory = Memory::default();
    let mut writer = create(&memory, &journal).await.unwrap();
    assert!(writer.is_caught_up());
    assert!(!writer.skip_batch(&batch(0)).unwrap());
    go_on(&mut writer, 2);
    tables(&mut writer);
    drop(writer);
    let kept = std::fs::read(&journal).unwrap();

    // Another value, another order of values, another batch, and an empty batch.
    for changed in [
        batch_of(1, vec![5, 6, 7, 8, 10]),
        batch_of(1, vec![6, 5, 7, 8, 9]),
        batch(2),
        Batch::new(Vec::<f64>::new()),
    ] {
        let mut writer = create(&memory, &journal).await.unwrap();
        assert!(writer.skip_batch(&batch(0)).unwrap());
        let told = writer.skip_batch(&changed).unwrap_err().to_string();
        assert!(
            told.contains("the input changed since it was begun"),
            "{told}"
        );
    }
    let mut writer = create(&memory, &journal).await.unwrap();
    for number in 0..2 {
        assert!(writer.skip_batch(&batch(number)).unwrap());
    }
    assert!(writer.skip_batch(&batch(2)).is_err());
    drop(writer);
    let mut writer = create(&memory, &journal).await.unwrap();
    for number in 0..2 {
        assert!(writer.skip_batch(&batch(number)).unwrap());
    }
    assert!(writer.skip_objects(&names("another")).is_err());
    drop(writer);
    assert_eq!(std::fs::read(&journal).unwrap(), kept);

    let mut writer = create(&memory, &journal).await.unwrap();
    for number in 0..2 {
        assert!(writer.skip_batch(&batch(number)).unwrap());
    }
    assert!(!writer.is_caught_up());
    assert!(writer.skip_objects(&names("first")).unwrap());
    assert!(writer.skip_groups(&groups()).unwrap());
    assert!(writer.is_caught_up());
    for number in 2..BATCHES {
        assert!(!writer.skip_batch(&batch(number)).unwrap());
        push(&mut writer, number).unwrap();
    }
    writer.finish().await.unwrap();
    assert_eq!(memory.files().await, uninterrupted().await);
}

#[tokio::test]
async fn progress_goes_through_every_step_to_its_end() {
    let told: std::sync::Arc<Mutex<Vec<Progress>>> = std::sync::Arc::default();
    let ear = told.clone();
    let memory = Memory::default();
    let options = memory
        .options()
        .with_progress(move |progress| ear.lock().unwrap().push(progress));
    let mut writer = StoreWriter::create(ADDRESS, spec(), options).await.unwrap();
    go_on(&mut writer, BATCHES);
    writer.finish().await.unwrap();
    let told = told.lock().unwrap();
    assert!(told.is_sorted_by_key(|progress| (progress.step, progress.done)));
    let last = |step| {
        let of_step = told.iter().filter(|progress| progress.step == step);
        of_step
            .map(|progress| (progress.done, progress.total))
            .next_back()
    };
    assert_eq!(last(Step::Vertices), Some((20, 20)));
    assert_eq!(last(Step::Links), Some((16, 16)));
    assert!(last(Step::Objects).is_some_and(|(done, total)| done == total && total > 0));
}

//! Writing to moto: whole stores, races for one place, programs that die, several programs that write one store.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use object_store::ObjectStore;
use zvf_query::{Query, Table, query};
use zvf_store::{OpenOptions, Retry, Store};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, Outside, PartedStore, StaleFiles, StoreSpec,
    StoreWriter, Summary, WriteError, WriteOptions,
};

use crate::support::{client, signed};

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_bounds([0.0; 2], [99.0; 2], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
}

/// Vertices `from..to` on a line, each linked with the next.
fn push(writer: &mut StoreWriter, from: i32, to: i32) -> Result<(), WriteError> {
    let n: Vec<i32> = (from..to).collect();
    let rows: Vec<f32> = n
        .iter()
        .flat_map(|n| [*n as f32, (n * 7 % 90) as f32])
        .collect();
    let links: Vec<u64> = (1..n.len() as u64).flat_map(|at| [at - 1, at]).collect();
    writer.push(&Batch::new(rows).with_attribute("n", n).with_links(links))
}

async fn write(
    address: &str,
    open: OpenOptions,
    stale_files: StaleFiles,
) -> Result<Summary, WriteError> {
    let options = WriteOptions::new()
        .with_open(open)
        .with_stale_files(stale_files)
        .with_threads(1);
    let mut writer = StoreWriter::create(address, spec(), options).await?;
    push(&mut writer, 0, 40)?;
    writer.finish().await
}

/// Vertices and links of the store at an address, compared with what `push` gave.
async fn check(address: &str, vertices: i32, links: usize) {
    let store = Store::open_with(address, signed()).await.unwrap();
    let all = query(&store, Query::default()).await.unwrap();
    let all = all.collect().await.unwrap();
    let table = all.table(Table::Vertices).unwrap().unwrap();
    let numbers = table
        .column_by_name("n")
        .unwrap()
        .as_primitive::<Int32Type>();
    let found: BTreeSet<i32> = numbers.values().iter().copied().collect();
    assert_eq!(numbers.len(), found.len());
    assert_eq!(found, (0..vertices).collect());
    let pairs = all.table(Table::Links).unwrap().unwrap();
    assert_eq!(pairs.num_rows(), links);
    let ends = pairs.column(0).as_fixed_size_list().values().clone();
    let ends = ends
        .as_primitive::<arrow_array::types::UInt64Type>()
        .values()
        .to_vec();
    for pair in ends.chunks(2) {
        let [a, b] = [0, 1].map(|end| numbers.value(pair[end] as usize));
        assert_eq!(a + 1, b);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_bucket_is_what_was_pushed() {
    let address = "s3://data/written/graph.zarrvectors";
    let summary = write(address, signed(), StaleFiles::Refuse).await.unwrap();
    assert_eq!((summary.vertices, summary.links), (40, 39));
    check(address, 40, 39).await;
    let told = write(address, signed(), StaleFiles::Remove)
        .await
        .unwrap_err();
    assert!(told.to_string().contains("there is a store"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_begin_at_once_one_writes() {
    let address = "s3://data/written/raced.zarrvectors";
    let racing = (0..12).map(|_| tokio::spawn(write(address, signed(), StaleFiles::Refuse)));
    let mut won = 0;
    for one in racing.collect::<Vec<_>>() {
        match one.await.unwrap() {
            Ok(_) => won += 1,
            // A store, or another writer who is at work: which of them depends on when this one looked.
            Err(error) => assert!(
                matches!(error, WriteError::Exists { .. } | WriteError::Busy { .. }),
                "{error}"
            ),
        }
    }
    assert_eq!(won, 1);
    check(address, 40, 39).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_dies_leaves_nothing_or_all() {
    let bucket: Arc<dyn ObjectStore> = Arc::new(client("data").build().unwrap());
    let mut whole = 0;
    let sample = Sample::new("writes in a bucket");
    for at in sample.some((1..).step_by(9), 8) {
        let address = format!("s3://data/written/dies-{at}.zarrvectors");
        let mut open = OpenOptions::new().with_object_store(Arc::new(Dying::new(
            bucket.clone(),
            at,
            at % 2 == 0,
        )));
        open.io.retry = Retry::never();
        let done = write(&address, open, StaleFiles::Refuse).await;
        let there = Store::open_with(&address, signed()).await.is_ok();
        if !there {
            assert!(done.is_err());
            // Cleared, where anything lies there, and written.
            write(&address, signed(), StaleFiles::Remove).await.unwrap();
        }
        check(&address, 40, 39).await;
        if done.is_ok() {
            break;
        }
        whole += usize::from(there);
    }
    assert!(whole <= 2, "the store is there before it is whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_write_one_store_together() {
    let address = "s3://data/written/parts.zarrvectors";
    let options = || WriteOptions::new().with_open(signed());
    let store = PartedStore::begin(address, spec(), options())
        .await
        .unwrap();
    let part = |name: &'static str, from: i32| async move {
        let joined = PartedStore::join(address, spec(), options()).await?;
        let mut writer = joined.writer(name).await?;
        push(&mut writer, from, from + 20)?;
        writer.finish().await
    };
    let parts = [("a", 0), ("b", 20), ("c", 40), ("d", 60)];
    let running = parts.map(|(name, from)| tokio::spawn(part(name, from)));
    for one in running {
        one.await.unwrap().unwrap();
    }
    // Whoever wants a cell of theirs is told.
    let told = tokio::spawn(part("late", 10)).await.unwrap().unwrap_err();
    assert!(told.to_string().contains("parts late and"), "{told}");
    let committed = store.commit(&Groups::default()).await.unwrap();
    let summary = committed.summary.unwrap();
    assert_eq!((summary.vertices, summary.links), (80, 76));
    check(address, 80, 76).await;
}

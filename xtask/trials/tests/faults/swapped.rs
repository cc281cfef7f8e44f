//! Stores that are written again while they are read: one answer or the other, whole, or an error; never a mixture.

use std::sync::Arc;

use object_store::ObjectStore;
use zvf_query::Query;
use zvf_testkit::faults::{Bucket, Faulty, Swap, Tags};
use zvf_trials::altered::{Files, altered};
use zvf_trials::answers::{Told, ask_cold};
use zvf_trials::questions::questions;

use crate::support::{MEMORY, through};
use zvf_testkit::sample::Sample;

/// How many of the ends were an error, the first answer, the second answer.
#[derive(Debug, Default, Clone, Copy)]
struct Ends {
    errors: u64,
    first: u64,
    second: u64,
}

/// In which order the objects are written again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    AtOnce,
    CellsFirst(u64),
    DocumentsFirst(u64),
}

fn is_document(key: &str) -> bool {
    key.ends_with("zarr.json")
}

fn stored(files: &Files, tags: Tags) -> Arc<dyn ObjectStore> {
    Arc::new(Bucket::new(files.clone()).tags(tags))
}

async fn answer(files: &Files, query: &Query) -> (Option<Told>, u64) {
    let (calm, options) = through(Faulty::new(stored(files, Tags::Content), 0));
    let told = ask_cold(MEMORY, options, query.clone()).await.ok();
    (told, calm.seen().len() as u64)
}

/// Replaces `first` by `second` at every request of a query.
async fn at_every_request(name: &str, first: &Files, second: &Files, query: &Query) -> Ends {
    let (a, requests) = answer(first, query).await;
    let (b, _) = answer(second, query).await;
    assert!(a.is_some() && a != b, "{name}: the answers do not differ");
    let mut ends = Ends::default();
    let sample = Sample::new(name);
    for tags in [Tags::Content, Tags::Absent] {
        let other = stored(second, tags);
        for order in [
            Order::AtOnce,
            Order::CellsFirst(1),
            Order::CellsFirst(9),
            Order::DocumentsFirst(1),
            Order::DocumentsFirst(9),
        ] {
            for number in sample.some(0..=requests, 5) {
                let swap = |after| Swap::new(after, Arc::clone(&other));
                let backend = Faulty::new(stored(first, tags), 0);
                let backend = match order {
                    Order::AtOnce => backend.swap(swap(number)),
                    Order::CellsFirst(later) => backend
                        .swap(swap(number).at_keys(|key| !is_document(key)))
                        .swap(swap(number + later).at_keys(is_document)),
                    Order::DocumentsFirst(later) => backend
                        .swap(swap(number).at_keys(is_document))
                        .swap(swap(number + later).at_keys(|key| !is_document(key))),
                };
                let (faulty, options) = through(backend);
                match ask_cold(MEMORY, options, query.clone()).await {
                    Err(_) => ends.errors += 1,
                    Ok(told) if Some(&told) == a.as_ref() => ends.first += 1,
                    Ok(told) if Some(&told) == b.as_ref() => ends.second += 1,
                    Ok(told) => {
                        let seen = faulty.seen();
                        let last = seen.iter().skip(number.saturating_sub(4) as usize).take(8);
                        let last: Vec<_> = last.collect();
                        panic!(
                            "{name}, {tags:?}, {order:?}, request {number}: a mixture, {last:#?} {:?} {:?}",
                            told.warnings,
                            told.vertices
                                .map(|batch| (batch.num_rows(), batch.schema()))
                        )
                    }
                }
            }
        }
    }
    assert!(
        ends.errors > 0 && (!sample.is_whole() || ends.first > 0 && ends.second > 0),
        "{name}: {ends:?}"
    );
    ends
}

/// Questions that read many cells: a box, all objects, a group, as far as the store has them.
fn some(case: &str) -> Vec<Query> {
    let case = zvf_testkit::case(case).unwrap();
    let mut all = questions(&case, 0);
    let last = all.pop().unwrap();
    [all.swap_remove(0), last]
        .iter()
        .map(|question| question.query().unwrap())
        .collect()
}

async fn same_shape(case: &str) {
    let first = zvf_testkit::files(case).unwrap();
    let second = altered(&first).unwrap();
    for query in some(case) {
        at_every_request(case, &first, &second, &query).await;
    }
}

async fn other_shape(case: &str, other: &str) {
    let first = zvf_testkit::files(case).unwrap();
    let second = zvf_testkit::files(other).unwrap();
    for query in [Query::default(), some(case).remove(0)] {
        at_every_request(&format!("{case} to {other}"), &first, &second, &query).await;
    }
}

macro_rules! pairs {
    ($($name:ident: $test:ident($($argument:literal),*);)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            $test($($argument),*).await;
        }
    )*};
}

pairs! {
    tractogram_of_0_9_with_other_values: same_shape("0.9/real_tractogram");
    tractogram_of_0_8_with_other_values: same_shape("0.8/real_tractogram");
    tractogram_of_0_7_with_other_values: same_shape("0.7/real_tractogram");
    lines_of_0_9_with_other_values: same_shape("0.9/lines");
    skeleton_of_0_9_with_other_values: same_shape("0.9/skeleton");
    skeleton_of_0_8_with_other_values: same_shape("0.8/skeleton");
    skeleton_of_0_7_with_other_values: same_shape("0.7/skeleton");
    lines_become_a_skeleton: other_shape("0.9/lines", "0.9/skeleton");
    a_skeleton_becomes_synapses: other_shape("0.9/skeleton", "0.9/real_synapses");
    a_store_of_0_7_is_written_again_as_0_9: other_shape("0.7/real_tractogram", "0.9/real_skeleton");
    a_store_of_0_9_becomes_one_of_0_8: other_shape("0.9/real_tractogram", "0.8/skeleton");
}

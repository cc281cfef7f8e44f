//! Requests that never succeed: a clear error, in time.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::time::Duration;

use zvf_query::Query;
use zvf_store::{Class, OpenOptions, Retry, Store};
use zvf_testkit::faults::{Ask, Fault, Faulty, Rule, Seen};
use zvf_trials::answers::{Refused, Told, ask as ask_store, ask_cold};
use zvf_trials::questions::{Question, questions};

use crate::support::{MEMORY, bucket, through};
use zvf_testkit::sample::{self, Sample};

const ATTEMPT: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(20);

fn patient(options: OpenOptions) -> OpenOptions {
    let retry = Retry::default().with_deadline(DEADLINE);
    options.with_retry(retry).with_request_timeout(ATTEMPT)
}

/// Faults that no repetition helps against, and whether the message must tell that the store cannot be reached.
fn faults() -> Vec<Fault> {
    let trickle = Fault::SlowBody {
        piece: 1,
        pause: Duration::from_millis(1900),
    };
    vec![
        Fault::Unavailable,
        Fault::TooMany,
        Fault::Reset,
        Fault::Denied,
        Fault::Hang,
        trickle,
        Fault::EndlessBody,
        Fault::BrokenBody,
        Fault::ShortBody,
        Fault::LongBody,
        Fault::WrongLength(7),
        Fault::WrongLength(-1),
    ]
}

/// Keys that every answer to the questions below needs, by generation.
const NEEDED: &[(&str, &[&str])] = &[
    (
        "0.9",
        &[
            "zarr.json",
            "0/vertices/zarr.json",
            "0/vertices/c/",
            "0/vertex_fragments/c/",
        ],
    ),
    ("0.8", &["zarr.json", "0/vertices/zarr.json", "0/vertices/"]),
    ("0.7", &["zarr.json", "0/vertices/zarr.json", "0/vertices/"]),
];

async fn ask(case: &str, rule: Rule, query: Query) -> (Result<Told, String>, Duration, u64) {
    let (faulty, options) = through(Faulty::new(bucket(case), 3).rule(rule));
    let start = tokio::time::Instant::now();
    let told = ask_cold(MEMORY, patient(options), query).await;
    let told = told.map_err(|error| {
        assert_eq!(error.class(), Class::Io, "{}", error.full());
        error.full()
    });
    (told, start.elapsed(), faulty.counts().faults)
}

#[tokio::test(start_paused = true)]
async fn every_permanent_failure_is_a_clear_error_in_time() {
    for (generation, keys) in NEEDED {
        let case = format!("{generation}/streamlines");
        let asked = questions(&zvf_testkit::case(&case).unwrap(), 10);
        for key in *keys {
            for fault in Sample::new(key).some(faults(), 4) {
                // A box, all objects, a group.
                for question in [&asked[0], &asked[7], &asked[9]] {
                    let rule = Rule::new(fault.clone()).at(key).of(Ask::Get);
                    let (told, passed, met) = ask(&case, rule, question.query().unwrap()).await;
                    let what = format!("{case}, {key}, {fault:?}");
                    assert!(met > 0, "{what}: nothing failed");
                    let message = match told {
                        Ok(_) => panic!("{what}: an answer"),
                        Err(message) => message,
                    };
                    assert!(
                        message.contains(key.trim_end_matches('/')),
                        "{what}: {message}"
                    );
                    assert!(
                        passed <= DEADLINE + ATTEMPT,
                        "{what}: {passed:?}, {message}"
                    );
                }
            }
        }
    }
}

/// What was asked for, by kind of request and of key: every number counts as one.
fn kinds(seen: Vec<Seen>) -> BTreeMap<(Ask, String), BTreeSet<String>> {
    let mut kinds: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for Seen { ask, key, .. } in seen {
        let mut kind = String::new();
        for letter in key.chars() {
            let number = letter.is_ascii_digit() || letter == '-';
            if !number {
                kind.push(letter);
            } else if !kind.ends_with('#') {
                kind.push('#');
            }
        }
        kinds.entry((ask, kind)).or_default().insert(key);
    }
    kinds
}

/// A number below `most` that depends on what is asked and on nothing else.
fn pick(what: impl Hash, most: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    usize::try_from(hasher.finish() % most as u64).unwrap()
}

/// The first question of each kind: a box, a group, objects.
fn one_of_each(case: &str) -> Vec<Question> {
    let mut all = questions(&zvf_testkit::case(case).unwrap(), 9);
    let mut kinds = Vec::new();
    all.retain(|question| {
        let new = !kinds.contains(&discriminant(question));
        kinds.push(discriminant(question));
        new
    });
    all
}

/// Every kind of request that a query makes, each with some of the faults, so that every fault comes often: in time there
/// is an error, or an answer that did not need what failed.
///
/// The sample is the same in every run. With `FAULTS` at 36, which is every fault at up to three keys of each kind, all
/// cases were seen to keep what is asked for here.
async fn nothing_hangs(cases: &[&str]) {
    const FAULTS: usize = 5;
    let faults_each = if sample::is_whole() { FAULTS } else { 2 };
    let mut met = BTreeSet::new();
    for case in cases {
        let whole = bucket(case);
        for question in one_of_each(case) {
            let query = question.query().unwrap();
            let (calm, options) = through(Faulty::new(whole.clone(), 0));
            let right = ask_cold(MEMORY, options, query.clone()).await.unwrap();
            for (number, ((asked, kind), keys)) in kinds(calm.seen()).into_iter().enumerate() {
                for turn in 0..faults_each {
                    let faults = faults();
                    let at = (number * FAULTS + turn) % faults.len();
                    let key = keys.iter().nth(pick((case, &kind, turn), keys.len()));
                    let (fault, key) = (faults[at].clone(), key.unwrap().clone());
                    let what = format!("{case}, {question:?}, {asked:?} {key}, {fault:?}");
                    let name = key.clone();
                    let rule = Rule::new(fault.clone())
                        .at_keys(move |key| key == name)
                        .of(asked);
                    let (faulty, options) = through(Faulty::new(whole.clone(), 3).rule(rule));
                    let start = tokio::time::Instant::now();
                    let (told, warnings) = ask_warned(options, query.clone()).await;
                    let passed = start.elapsed();
                    if faulty.counts().faults > 0 {
                        met.insert(at);
                    }
                    assert!(
                        passed <= DEADLINE + ATTEMPT,
                        "{what}: {passed:?}, {:?}",
                        told.err().map(|error| error.full())
                    );
                    // A listing that is denied is done without, and what is denied and was not named is left out:
                    // the store says so.
                    let done_without =
                        |warning: &String| warning.contains(&key) && warning.contains("denied");
                    if matches!(fault, Fault::Denied) && warnings.iter().any(done_without) {
                        continue;
                    }
                    match told {
                        Ok(told) => assert_eq!(told, right, "{what}: {warnings:?}"),
                        Err(error) => {
                            assert_eq!(error.class(), Class::Io, "{what}: {}", error.full());
                            assert!(error.full().contains(&key), "{what}: {}", error.full());
                        }
                    }
                }
            }
        }
    }
    assert!(
        met.len() == faults().len() || !sample::is_whole(),
        "a fault never came"
    );
}

/// Asks a store that was not opened before; the warnings are those of the store.
async fn ask_warned(options: OpenOptions, query: Query) -> (Result<Told, Refused>, Vec<String>) {
    match Store::open_with(MEMORY, patient(options)).await {
        Err(error) => (Err(Refused::Open(error)), Vec::new()),
        Ok(store) => {
            let told = ask_store(&store, query).await;
            (told.map_err(Refused::Query), store.warnings())
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_ever_hangs_wherever_it_fails_in_0_9() {
    nothing_hangs(&["0.9/streamlines", "0.9/points_4d_sharded", "0.9/skeleton"]).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_ever_hangs_wherever_it_fails_in_later_forms() {
    nothing_hangs(&[
        "0.9.4/additive_streamlines",
        "0.9.4/dense_rows",
        "padded/streamlines",
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_ever_hangs_wherever_it_fails_in_0_8() {
    nothing_hangs(&["0.8/streamlines", "0.8/packed_graph"]).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_ever_hangs_wherever_it_fails_in_0_7() {
    nothing_hangs(&["0.7/streamlines", "0.7/packed_points"]).await;
}

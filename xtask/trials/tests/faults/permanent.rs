//! Requests that never succeed: a clear error, in time.

use std::time::Duration;

use zvf_query::Query;
use zvf_store::{Class, OpenOptions, Retry};
use zvf_testkit::faults::{Ask, Fault, Faulty, Rule};
use zvf_trials::answers::{Told, ask_cold};
use zvf_trials::questions::questions;

use crate::support::{MEMORY, bucket, through};

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
            for fault in faults() {
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

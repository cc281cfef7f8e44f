//! Requests that fail now and then: every answer is right all the same.

use std::time::Duration;

use zvf_testkit::faults::{Ask, Fault, Faulty, Rule};
use zvf_testkit::sample;
use zvf_trials::answers::{ask, ask_cold};
use zvf_trials::questions::questions;
use zvf_trials::truth::Known;

use crate::support::{MEMORY, bucket, cases, through, whole};

/// Queries of each generation in a whole run, where three generations make a thousand, and in a sampled one.
const QUERIES: (u32, u32) = (340, 110);

/// 5 % of the requests of `backend` fail, in every way that passes.
fn unlucky(backend: Faulty) -> Faulty {
    let each = |fault| Rule::new(fault).share(0.005);
    backend
        .rule(Rule::new(Fault::Unavailable).share(0.02))
        .rule(Rule::new(Fault::Reset).share(0.01))
        .rule(each(Fault::TooMany))
        .rule(each(Fault::BrokenBody).of(Ask::Get))
        .rule(each(Fault::ShortBody).of(Ask::Get))
        .rule(each(Fault::LongBody).of(Ask::Get))
        .rule(each(Fault::Hang))
}

/// Asks every store of a generation, each question of a store that was not opened before, until enough are asked.
async fn generation(name: &str) {
    let cases = cases(name);
    let queries = sample::cases(QUERIES.0, QUERIES.1) as usize;
    let each = queries.div_ceil(cases.len());
    let (mut asked, mut requests, mut faults) = (0, 0, 0);
    for case in &cases {
        let known = Known::of(case).unwrap();
        let store = whole(case).await;
        let questions = questions(&known.case, each);
        let mut right = Vec::new();
        for question in &questions {
            let told = ask(&store, question.query().unwrap()).await.unwrap();
            if let Err(error) = known.check(question, &told) {
                panic!("{case}, {question:?}: {error:#}");
            }
            right.push(told);
        }
        for turn in 0..each {
            let number = turn % questions.len();
            let seed = asked;
            let (faulty, options) = through(unlucky(Faulty::new(bucket(case), seed)));
            // Silence twice in a row must leave time for a third try.
            let options = options.with_request_timeout(Duration::from_secs(5));
            let query = questions[number].query().unwrap();
            match ask_cold(MEMORY, options, query).await {
                Ok(told) => assert_eq!(told, right[number], "{case}, query {number}, seed {seed}"),
                Err(error) => panic!("{case}, query {number}, seed {seed}: {}", error.full()),
            }
            asked += 1;
            let counts = faulty.counts();
            requests += counts.gets + counts.heads + counts.lists;
            faults += counts.faults;
        }
    }
    assert!(asked >= queries as u64);
    let share = faults as f64 / requests as f64;
    assert!(
        (0.04..0.06).contains(&share),
        "{faults} of {requests} requests failed"
    );
}

#[tokio::test(start_paused = true)]
async fn every_answer_from_0_7_is_right_though_requests_fail() {
    generation("0.7").await;
}

#[tokio::test(start_paused = true)]
async fn every_answer_from_0_8_is_right_though_requests_fail() {
    generation("0.8").await;
}

#[tokio::test(start_paused = true)]
async fn every_answer_from_0_9_is_right_though_requests_fail() {
    generation("0.9").await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_gives_the_same_answer() {
    let known = Known::of("0.9/streamlines").unwrap();
    let questions = questions(&known.case, 12);
    for question in &questions {
        let slow = Fault::SlowBody {
            piece: 1000,
            pause: Duration::from_millis(200),
        };
        let backend = Faulty::new(bucket("0.9/streamlines"), 1)
            .latency(Duration::from_millis(300))
            .rule(Rule::new(slow).of(Ask::Get));
        let (_, options) = through(backend);
        let told = ask_cold(MEMORY, options, question.query().unwrap()).await;
        known.check(question, &told.unwrap()).unwrap();
    }
}

//! Stores with one damaged member of one document, or one damaged file, read in every way and written in every format: a read
//! gives the right answer, or an error, or a warning, never another answer in silence; and `validate` finds an error where a read
//! fails.
//!
//! `cargo xtask damage --cases N --seed S` runs many cases; the tests here run a sample.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests stand outside test functions; the table is the output"
)]

mod alter;
mod base;
mod data;
mod once;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::StreamExt;
use futures::stream;
use zvf_badstores::Random;

use alter::Case;
use base::Base;
use reads::Outcome;

/// How many cases a run without `ZVF_DAMAGE_CASES` takes.
const SAMPLE: usize = 400;

/// Most unexpected cases that are printed.
const PRINTED: usize = 400;

fn number(name: &str, default: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_damaged_member_gives_another_answer_in_silence() -> Result<()> {
    let seed = u64::try_from(number("ZVF_DAMAGE_SEED", 1))?;
    let most = number("ZVF_DAMAGE_CASES", SAMPLE);
    let bases = base::all().await?;
    let mut cases: Vec<(Arc<Base>, Case)> = Vec::new();
    let mut random = Random::new(seed);
    for base in &bases {
        let of_base = alter::cases(&base.files, &mut random);
        cases.extend(of_base.into_iter().map(|case| (Arc::clone(base), case)));
    }
    let known = cases.len();
    // The first `most` of a shuffled list: every store, document and kind of change has its share.
    for at in (1..cases.len()).rev() {
        cases.swap(at, random.below(at + 1));
    }
    cases.truncate(most);
    let title = format!("of {known}, of {} stores, seed {seed}", bases.len());
    read_all(cases, &title).await
}

/// Of stores of the writer every file of data is damaged.
#[tokio::test(flavor = "multi_thread")]
async fn no_damaged_file_gives_another_answer_in_silence() -> Result<()> {
    let bases = data::bases().await?;
    let mut cases: Vec<(Arc<Base>, Case)> = Vec::new();
    for base in &bases {
        let of_base = data::cases(&base.files).into_iter();
        cases.extend(of_base.map(|case| (Arc::clone(base), case)));
    }
    let plain = data::plain().await?;
    let odd = data::odd_values(&plain.files).into_iter();
    cases.extend(odd.map(|case| (Arc::clone(&plain), case)));
    read_all(
        cases,
        &format!("of files of data, of {} stores", bases.len() + 1),
    )
    .await
}

/// Reads every damaged store, and prints what came of it.
async fn read_all(cases: Vec<(Arc<Base>, Case)>, title: &str) -> Result<()> {
    let count = cases.len();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let work = cases.into_iter().map(|(base, case)| {
        tokio::spawn(async move {
            let outcome = reads::outcome(&base, &case).await;
            (base.name.clone(), case, outcome)
        })
    });
    let mut done = stream::iter(work).buffered(workers * 2);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    while let Some(one) = done.next().await {
        let (name, case, outcome) = one?;
        let outcome = outcome?;
        *counts.entry(outcome.name()).or_default() += 1;
        if let Outcome::Wrong(what) | Outcome::Unseen(what) = &outcome {
            wrong.push(format!("{} {name} {case}: {what}", outcome.name()));
        }
    }
    println!("{count:>8} cases {title}");
    for name in Outcome::NAMES {
        println!("{:>8} {name}", counts.get(name).copied().unwrap_or(0));
    }
    wrong.sort_unstable();
    for one in wrong.iter().take(PRINTED) {
        println!("{one}");
    }
    ensure!(
        wrong.is_empty(),
        "{} of {count} cases are wrong",
        wrong.len()
    );
    Ok(())
}

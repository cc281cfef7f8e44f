//! The Rust side of `cargo xtask bench`: answers one job a line of stdin with its time and its vertices.
//!
//! `zvf-bench POINTS STREAMLINES`; a line is `JOB VARIANT ARGUMENT…` as in `xtask/python/bench_serve.py`, with two more
//! variants: `floor1` and `floor2` read and decompress the objects that the job needs on one and on two threads. Jobs that
//! write are in `write.rs`. `zvf-bench rows …` measures short queries without a driver: `rows.rs`. `zvf-bench shapes …` writes the shapes of the package's
//! published benchmark: `shapes.rs`.
#![allow(clippy::print_stdout, reason = "it talks to its driver over stdout")]

mod check;
mod floor;
mod job;
mod rows;
mod shapes;
mod write;

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use zvf_store::Store;
use zvf_store::blocking::Runtime;

use job::Job;

/// The allocator of the program `zvf`; the floor runs on it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("rows", rest)) = words
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        return rows::run(rest);
    }
    if let Some(("shapes", rest)) = words
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        return shapes::run(rest);
    }
    let mut arguments = words.into_iter();
    let points = arguments.next().context("the points store is missing")?;
    let lines = arguments
        .next()
        .context("the streamlines store is missing")?;
    let runtime = Runtime::new()?;
    let opened = (
        runtime.wait(Store::open(&points))?,
        runtime.wait(Store::open(&lines))?,
    );
    println!("ready {}", env!("CARGO_PKG_VERSION"));
    let inputs = (write::Input::points(&points), write::Input::lines(&lines));
    for line in std::io::stdin().lines() {
        let line = line?;
        if line.starts_with("points-pyramid ") {
            answer(write::pyramid(&runtime, &points, &line)?)?;
            continue;
        }
        if let Some((store, variant)) = check::of(&line, &points, &lines) {
            answer(check::run(&runtime, store, variant)?)?;
            continue;
        }
        if let Some(job) = write::Job::parse(&line)? {
            let input = if job.is_of_points() {
                &inputs.0
            } else {
                &inputs.1
            };
            answer(job.run(&runtime, input)?)?;
            continue;
        }
        let job = Job::parse(&line)?;
        let (url, store) = if job.is_of_points() {
            (&points, &opened.0)
        } else {
            (&lines, &opened.1)
        };
        let (nanoseconds, vertices) = match job.variant() {
            "warm" => timed(|| runtime.wait(job.run(store)))?,
            "open" => timed(|| runtime.wait(async { job.run(&Store::open(url).await?).await }))?,
            floor => {
                let threads = if floor == "floor1" { 1 } else { 2 };
                let files = runtime.wait(job.files(store, url))?;
                timed(|| floor::read(&files, threads))?
            }
        };
        answer((nanoseconds, vertices))?;
    }
    Ok(())
}

/// One line: nanoseconds and vertices.
fn answer((nanoseconds, vertices): (u128, u64)) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{nanoseconds} {vertices}")?;
    Ok(out.flush()?)
}

/// Runs once; nanoseconds and what came back.
fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(u128, T)> {
    let start = Instant::now();
    let found = run()?;
    Ok((start.elapsed().as_nanos(), found))
}

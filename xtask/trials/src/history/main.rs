//! `cargo xtask history` runs this program: readers, writers, editors and vacuums in processes of their own, on the local
//! disk and on an S3 server behind a line that fails, killed now and then. Everything that was read has to be a state that
//! was written, in an order that fits the times; nothing that counts is lost, and nothing stays locked.
#![allow(clippy::print_stdout, reason = "it prints what it found")]

mod check;
mod place;
mod work;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use zvf_edit::{Edit, vacuum};
use zvf_soak::draw::Draw;
use zvf_soak::proxy::Proxy;
use zvf_soak::servers::{Kind, Server};
use zvf_store::blocking::Runtime;
use zvf_validate::{Depth, Severity, ValidateOptions, validate};
use zvf_write::{StaleFiles, WriteError};

use check::History;
use work::Job;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Stores, and workers, on the disk and in the bucket.
const STORES: [usize; 2] = [4, 2];
const WORKERS: [usize; 2] = [4, 2];

/// How long a worker may take to end what it is at.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "work",
            log,
            seed,
            number,
            dead,
            endpoint,
            slots,
            stores @ ..,
        ] => work::run(Job {
            log: (*log).to_owned(),
            seed: seed.parse()?,
            number: number.parse()?,
            dead: dead.split(',').map(str::to_owned).collect(),
            endpoint: (*endpoint).to_owned(),
            slots: (*slots).to_owned(),
            stores: stores.iter().map(|store| (*store).to_owned()).collect(),
        }),
        ["run", operations, seconds, seed, folder] => run(&Plan {
            operations: operations.parse()?,
            seconds: seconds.parse()?,
            seed: seed.parse()?,
            folder: PathBuf::from(folder),
        }),
        _ => bail!("zvf-history run OPERATIONS SECONDS SEED FOLDER"),
    }
}

struct Plan {
    operations: u64,
    /// After so many seconds it ends, whatever was done; 0: never.
    seconds: u64,
    seed: u64,
    folder: PathBuf,
}

/// The stores of one kind of storage, and how they are reached.
struct Side {
    endpoint: String,
    slots: String,
    stores: Vec<String>,
}

/// A worker that runs.
struct Running {
    child: Child,
    side: usize,
}

fn run(plan: &Plan) -> Result<()> {
    let start = Instant::now();
    let server = Server::start(Kind::S3, &empty(&plan.folder, "server")?)?;
    let proxy = Proxy::start(server.url(), plan.seed, 0)?;
    let local = empty(&plan.folder, "stores")?;
    let local = local.to_str().context("a folder whose name is no text")?;
    let sides = [
        Side {
            endpoint: String::new(),
            slots: format!("{local}/new"),
            stores: (0..STORES[0])
                .map(|number| format!("{local}/{number}.zarrvectors"))
                .collect(),
        },
        Side {
            endpoint: proxy.url().to_owned(),
            slots: "s3://edits-6/new".to_owned(),
            // moto cannot list a bucket from which somebody removes objects meanwhile: each has its own.
            stores: (0..STORES[1])
                .map(|number| format!("s3://edits-{number}/store.zarrvectors"))
                .collect(),
        },
    ];
    let runtime = Runtime::new()?;
    for side in &sides {
        // Past the proxy.
        let endpoint = direct(side, server.url());
        for store in &side.stores {
            let first = place::first();
            runtime.wait(place::make(store, endpoint, &first, StaleFiles::Refuse))?;
        }
    }
    let (operations, kills) = work(plan, &sides)?;
    proxy.calm();
    let took = start.elapsed();

    let mut history = History::default();
    let mut logs: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(plan.folder.join("logs"))? {
        logs.push(entry?.path());
    }
    logs.sort();
    for log in &logs {
        history.take(log)?;
    }
    runtime.wait(settle(&sides, server.url(), &mut history))?;

    let (requests, faults) = (proxy.requests(), proxy.faults().values().sum::<u64>());
    println!(
        "{operations} operations in {:.0} s, seed {}",
        took.as_secs_f64(),
        plan.seed
    );
    for (what, count) in &history.counts {
        println!("  {what:<28} {count:>8}");
    }
    println!("{faults} faults in {requests} requests, {kills} kills");
    println!("anomalies: {}", history.anomalies.len());
    for anomaly in history.anomalies.iter().take(20) {
        println!("  {anomaly}");
    }
    let few = ["reads", "edits", "new stores", "vacuums"];
    for what in few {
        let found = history.counts.get(what).copied().unwrap_or(0);
        ensure!(found > 0, "no {what}: nothing was tried");
    }
    ensure!(
        faults > 0 && kills > 0,
        "no faults or no kills: nothing was tried"
    );
    ensure!(
        history.anomalies.is_empty(),
        "what was read, or is left, cannot be"
    );
    std::fs::remove_dir_all(&plan.folder)?;
    Ok(())
}

fn empty(folder: &Path, name: &str) -> Result<PathBuf> {
    let folder = folder.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The endpoint of a side without the proxy.
fn direct<'s>(side: &Side, server: &'s str) -> &'s str {
    if side.endpoint.is_empty() { "" } else { server }
}

/// Lets workers work, and kills some, until enough is done. Returns operations and kills.
fn work(plan: &Plan, sides: &[Side; 2]) -> Result<(u64, u64)> {
    let logs = empty(&plan.folder, "logs")?;
    let done = Arc::new(AtomicU64::new(0));
    let mut draw = Draw::new(&[plan.seed]);
    let (mut number, mut dead) = (0_u64, Vec::new());
    let mut begin = |side: usize, dead: &[String]| -> Result<Running> {
        number += 1;
        let of = &sides[side];
        let log = logs.join(format!("{number:06}.jsonl"));
        let mut child = Command::new(std::env::current_exe()?)
            .arg("work")
            .arg(&log)
            .args([(plan.seed ^ (number << 20)).to_string(), number.to_string()])
            .args([dead.join(","), of.endpoint.clone(), of.slots.clone()])
            .args(&of.stores)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let count = Arc::clone(&done);
        std::thread::spawn(move || {
            for _ in output.lines() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Running { child, side })
    };
    let mut running = Vec::new();
    for (side, workers) in WORKERS.iter().enumerate() {
        for _ in 0..*workers {
            running.push(begin(side, &dead)?);
        }
    }
    let (start, mut kills) = (Instant::now(), 0);
    let enough = || {
        let over = plan.seconds > 0 && start.elapsed().as_secs() >= plan.seconds;
        over || done.load(Ordering::Relaxed) >= plan.operations
    };
    while !enough() {
        let wait = Duration::from_millis(400 + draw.below(1600));
        let next = Instant::now() + wait;
        while Instant::now() < next && !enough() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let count = u64::try_from(running.len())?;
        let which = usize::try_from(draw.below(count))?;
        let one = &mut running[which];
        if let Some(status) = one.child.try_wait()? {
            bail!("a worker ended by itself: {status}");
        }
        one.child.kill()?;
        one.child.wait()?;
        kills += 1;
        dead.push(one.child.id().to_string());
        let side = one.side;
        running[which] = begin(side, &dead)?;
    }
    // The end of its input tells a worker to end.
    for one in &mut running {
        drop(one.child.stdin.take());
    }
    let end = Instant::now() + PATIENCE;
    for one in &mut running {
        while one.child.try_wait()?.is_none() {
            if Instant::now() > end {
                one.child.kill()?;
                bail!("a worker did not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok((done.load(Ordering::Relaxed), kills))
}

/// Looks at everything that is left, when nobody works any more.
async fn settle(sides: &[Side; 2], server: &str, history: &mut History) -> Result<()> {
    for side in sides {
        let endpoint = direct(side, server);
        for store in &side.stores {
            let found = place::read(store, endpoint).await;
            match found {
                Ok(Ok(state)) => history.check_store(store, &state),
                Ok(Err(torn)) => history.anomalies.push(format!("{store}: {torn}")),
                Err(error) => history.anomalies.push(format!("{store}: {error}")),
            }
            if let Err(error) = free(store, endpoint).await {
                history.anomalies.push(format!("{store}: {error:#}"));
            }
        }
    }
    for store in history.slots() {
        let endpoint = if store.starts_with("s3://") {
            server
        } else {
            ""
        };
        let found = match place::read(&store, endpoint).await {
            Ok(Ok(state)) => Some(state),
            Ok(Err(torn)) => {
                history.anomalies.push(format!("{store}: {torn}"));
                continue;
            }
            Err(_) => None,
        };
        history.check_slot(&store, found.as_ref());
        if found.is_none() {
            // What killed writers left is no hindrance.
            let state = place::made(1);
            let made = place::make(&store, endpoint, &state, StaleFiles::Remove).await;
            if let Err(error) = made {
                history.anomalies.push(format!("{store}: {error}"));
            }
        }
    }
    Ok(())
}

/// Checks that a store can be edited, once leases are over, is valid, and that nothing is left in it.
async fn free(store: &str, endpoint: &str) -> Result<()> {
    let end = Instant::now() + place::LEASE * 4;
    loop {
        match Edit::open(store, place::write_options(endpoint)).await {
            Ok(edit) => {
                edit.abandon().await?;
                break;
            }
            Err(WriteError::Busy { .. }) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error).context("it stays locked"),
        }
    }
    vacuum(store, place::write_options(endpoint)).await?;
    let options = ValidateOptions::new(Depth::Multiscale).with_open(place::open(endpoint));
    let report = validate(store, &options).await?;
    ensure!(
        report.count(Severity::Warning) + report.count(Severity::Error) == 0,
        "the validator says {:?}",
        report.findings
    );
    let left = vacuum(store, place::write_options(endpoint)).await?;
    ensure!(left.leftovers == 0, "{} leftovers", left.leftovers);
    Ok(())
}

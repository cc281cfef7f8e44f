//! `cargo xtask soak` runs this program: it starts `zvf` many times, several at once, on stores on the disk, on a small disk that is full
//! now and then, and on an S3 server behind a line that fails. Runs are killed, paused, limited, and their clocks jump. Everything that
//! they print is compared with a model that knows nothing of the program.
#![allow(clippy::print_stdout, reason = "it prints what it found")]

mod change;
mod model;
mod objects;
mod parts;
mod place;
mod program;
mod question;
mod serve;
mod work;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use zvf_soak::draw::Draw;
use zvf_soak::proxy::Proxy;
use zvf_soak::servers::{Kind, Server};

use place::{Epoch, Place, Storage, locked};
use program::{Outcome, Program};
use work::Worker;

/// Stores on the disk, on the small disk and in the bucket.
const PLACES: [u64; 3] = [2, 2, 2];

/// How many of a thousand requests to the server are slow.
const LATE: u64 = 15;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [zvf, operations, seconds, seed, workers, folder, small] = words.as_slice() else {
        bail!("zvf-soak ZVF OPERATIONS SECONDS SEED WORKERS FOLDER SMALL-DISK");
    };
    run(&Plan {
        zvf: PathBuf::from(zvf),
        operations: operations.parse()?,
        seconds: seconds.parse()?,
        seed: seed.parse()?,
        workers: workers.parse()?,
        folder: PathBuf::from(folder),
        small: PathBuf::from(small),
    })
}

struct Plan {
    zvf: PathBuf,
    /// After so many runs and requests it ends; 0: never.
    operations: u64,
    /// After so many seconds it ends.
    seconds: u64,
    seed: u64,
    workers: u64,
    folder: PathBuf,
    /// A folder on a small disk of its own; empty: there is none.
    small: PathBuf,
}

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Soak {
    program: Program,
    places: Vec<Place>,
    seed: u64,
    anomalies: PathBuf,
    found: AtomicU64,
    operations: AtomicU64,
    most: u64,
    end: Instant,
    failed: AtomicBool,
    numbers: AtomicU64,
    counts: Mutex<BTreeMap<&'static str, [u64; 5]>>,
}

impl Soak {
    fn is_over(&self) -> bool {
        let enough = self.most > 0 && self.operations.load(Ordering::Relaxed) >= self.most;
        enough || self.failed.load(Ordering::Relaxed) || Instant::now() >= self.end
    }

    /// A number that was not given before.
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a run or a request; `None` is an anomaly.
    fn count(&self, name: &'static str, outcome: Option<Outcome>) {
        self.operations.fetch_add(1, Ordering::Relaxed);
        let column = match outcome {
            Some(Outcome::Done) => 0,
            Some(Outcome::Busy) => 1,
            Some(Outcome::Failed) => 2,
            Some(Outcome::Killed) => 3,
            None => 4,
        };
        if let Some(count) = locked(&self.counts)
            .entry(name)
            .or_default()
            .get_mut(column)
        {
            *count += 1;
        }
    }

    fn say(&self, text: &str) {
        println!("{text}");
    }

    /// Reports what no order of the runs explains, and keeps a script that repeats the changes of the store.
    fn anomaly(&self, epoch: &Epoch, text: &str) {
        epoch.broken.store(true, Ordering::Relaxed);
        let number = self.found.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self.anomalies.join(format!("{number}.sh"));
        let seed = self.seed;
        let comment = text.replace('\n', "\n# ");
        let (kind, address) = (epoch.kind, &epoch.address);
        let script = format!(
            "# Seed {seed}, {kind} at {address}: {comment}\n# ZVF: the program; STORE: where the store is made, in a new folder.\n{}",
            locked(&epoch.script)
        );
        println!("anomaly {number}, seed {seed}, {kind} at {address}: {text}");
        match std::fs::write(&path, script) {
            Ok(()) => println!("  what was done: {}", path.display()),
            Err(error) => println!("  {}: {error}", path.display()),
        }
    }
}

fn run(plan: &Plan) -> Result<()> {
    let start = Instant::now();
    let folder = |name: &str| -> Result<PathBuf> {
        let folder = plan.folder.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let server = Server::start(Kind::S3, &folder("server")?)?;
    let proxy = Proxy::start(server.url(), plan.seed, LATE)?;
    let disk = folder("stores")?;
    let has_small = !plan.small.as_os_str().is_empty();
    let small = if has_small {
        plan.small.clone()
    } else {
        folder("small")?
    };
    let program = Program::new(plan.zvf.clone(), folder("runs")?)?;
    let mut draw = Draw::new(&[plan.seed]);
    let mut places = Vec::new();
    for (side, count) in PLACES.into_iter().enumerate() {
        for number in 0..count {
            let storage = match side {
                0 => Storage::Disk(disk.clone()),
                1 => Storage::Small(small.clone()),
                // moto cannot list a bucket from which somebody removes objects meanwhile: each store has its own.
                _ => Storage::Bucket(format!("s3://edits-{number}"), proxy.url().to_owned()),
            };
            let place = places.len();
            places.push(Place {
                number: place,
                epoch: RwLock::new(Epoch::new(&storage, place, 0, &mut draw)),
                storage,
                typical: AtomicU64::new(100),
            });
        }
    }
    let soak = Soak {
        program,
        places,
        seed: plan.seed,
        anomalies: folder("anomalies")?,
        found: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        most: plan.operations,
        end: start + Duration::from_secs(plan.seconds),
        failed: AtomicBool::new(false),
        numbers: AtomicU64::new(1),
        counts: Mutex::default(),
    };
    work(&soak, plan, has_small.then_some(small.as_path()))?;
    proxy.calm();
    let mut last = Worker {
        soak: &soak,
        draw: Draw::new(&[plan.seed, 1 << 40]),
    };
    for place in &soak.places {
        let epoch = place.epoch.read().unwrap_or_else(PoisonError::into_inner);
        last.close(place, &epoch)?;
    }
    report(&soak, &proxy, start.elapsed());
    let found = soak.found.load(Ordering::Relaxed);
    ensure!(found == 0, "{found} anomalies");
    std::fs::remove_dir_all(&plan.folder)?;
    Ok(())
}

/// Runs all threads until the soak is over.
fn work(soak: &Soak, plan: &Plan, small: Option<&Path>) -> Result<()> {
    let mut first = Worker {
        soak,
        draw: Draw::new(&[plan.seed, 1 << 41]),
    };
    for place in &soak.places {
        let epoch = place.epoch.read().unwrap_or_else(PoisonError::into_inner);
        first.make(place, &epoch)?;
    }
    std::thread::scope(|scope| {
        let workers = (0..plan.workers).map(|number| {
            scope.spawn(move || {
                let draw = Draw::new(&[plan.seed, number]);
                let worked = Worker { soak, draw }.run();
                if worked.is_err() {
                    soak.failed.store(true, Ordering::Relaxed);
                }
                worked
            })
        });
        let workers: Vec<_> = workers.collect();
        if let Some(small) = small {
            let draw = Draw::new(&[plan.seed, 1 << 42]);
            scope.spawn(move || fill(soak, small, draw));
        }
        scope.spawn(|| {
            let mut next = Instant::now() + Duration::from_secs(60);
            while !soak.is_over() {
                std::thread::sleep(Duration::from_millis(100));
                if Instant::now() > next {
                    next += Duration::from_secs(60);
                    let done = soak.operations.load(Ordering::Relaxed);
                    let found = soak.found.load(Ordering::Relaxed);
                    println!("{done} operations, {found} anomalies");
                }
            }
        });
        for worker in workers {
            let worked = worker.join();
            worked.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok(())
    })
}

/// Fills the small disk now and then.
fn fill(soak: &Soak, disk: &Path, mut draw: Draw) {
    let path = disk.join("filler");
    while !soak.is_over() {
        std::thread::sleep(Duration::from_millis(300 + draw.below(3000)));
        let filled = std::fs::File::create(&path).map(|mut file| {
            let block = vec![1_u8; 1 << 12];
            // Until it is full.
            while file.write_all(&block).is_ok() {}
        });
        if filled.is_ok() {
            soak.program.count("full disks");
        }
        std::thread::sleep(Duration::from_millis(50 + draw.below(1200)));
        // It may not have been made: then there is none to remove.
        let _ = std::fs::remove_file(&path);
    }
}

fn report(soak: &Soak, proxy: &Proxy, took: Duration) {
    let operations = soak.operations.load(Ordering::Relaxed);
    let seconds = took.as_secs_f64();
    println!(
        "\n{operations} operations in {seconds:.0} s, seed {}\n",
        soak.seed
    );
    println!(
        "| operation | done | busy or refused | failed by a fault or a change | killed | unexplained |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, [done, busy, failed, killed, odd]) in locked(&soak.counts).iter() {
        println!("| {name} | {done} | {busy} | {failed} | {killed} | {odd} |");
    }
    println!("\n| fault | number |\n|---|---:|");
    for (name, count) in soak.program.faults().iter().chain(&proxy.faults()) {
        println!("| {name} | {count} |");
    }
    if !soak.program.has_clock() {
        println!("\nno clock jumped: libfaketime is not installed");
    }
    println!("\nrequests to the bucket: {}", proxy.requests());
    println!("stores made: {}", soak.numbers.load(Ordering::Relaxed));
    println!("anomalies: {}", soak.found.load(Ordering::Relaxed));
}

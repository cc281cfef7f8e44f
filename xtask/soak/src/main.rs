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
mod totals;
mod work;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail, ensure};
use zvf_soak::bucket::Bucket;
use zvf_soak::draw::Draw;
use zvf_soak::locks::locked;
use zvf_soak::proxy::Proxy;
use zvf_soak::servers::{Kind, Server};

use place::{Epoch, Place, Storage};
use program::{Outcome, Program};
use totals::Run;
use work::Worker;

/// How many of a thousand requests to a bucket are slow.
const LATE: u64 = 10;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["table", total] = words.as_slice() {
        print!("{}", totals::tables(Path::new(total))?);
        return Ok(());
    }
    let [
        zvf,
        operations,
        seconds,
        seed,
        workers,
        folder,
        memory,
        small,
        total,
        moto,
    ] = words.as_slice()
    else {
        bail!(
            "zvf-soak ZVF OPERATIONS SECONDS SEED WORKERS FOLDER MEMORY-DISK SMALL-DISK TOTALS moto|none, or zvf-soak table TOTALS"
        );
    };
    let path = |word: &str| Some(PathBuf::from(word)).filter(|_| !word.is_empty());
    run(&Plan {
        zvf: PathBuf::from(zvf),
        operations: operations.parse()?,
        seconds: seconds.parse()?,
        seed: seed.parse()?,
        workers: workers.parse()?,
        folder: PathBuf::from(folder),
        memory: path(memory),
        small: path(small),
        total: path(total),
        moto: *moto == "moto",
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
    /// A folder on a disk in memory.
    memory: Option<PathBuf>,
    /// A folder on a small disk of its own.
    small: Option<PathBuf>,
    /// The file of totals.
    total: Option<PathBuf>,
    /// Whether one store is in moto.
    moto: bool,
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
    /// Whether somebody asked it to end.
    stopped: Arc<AtomicBool>,
    numbers: AtomicU64,
    counts: Mutex<BTreeMap<&'static str, [u64; 5]>>,
    reasons: Mutex<BTreeMap<String, u64>>,
    texts: Mutex<Vec<String>>,
}

impl Soak {
    fn is_over(&self) -> bool {
        let enough = self.most > 0 && self.operations.load(Ordering::Relaxed) >= self.most;
        let stopped = self.stopped.load(Ordering::Relaxed);
        enough || stopped || self.failed.load(Ordering::Relaxed) || Instant::now() >= self.end
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

    /// Counts why something had no answer.
    fn reason(&self, text: &str) {
        *locked(&self.reasons).entry(text.to_owned()).or_default() += 1;
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
        let text = format!("seed {seed}, {kind} at {address}: {text}");
        println!("anomaly {number}, {text}");
        locked(&self.texts).push(text);
        let copy = self.anomalies.join(format!("{number}.zarrvectors"));
        let copied = epoch.storage.copy(&epoch.name, &copy);
        match std::fs::write(&path, script).and(copied) {
            Ok(()) => println!(
                "  what was done, and a copy of the store: {}",
                path.display()
            ),
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
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    ctrlc::set_handler(move || asked.store(true, Ordering::Relaxed))?;
    let server = match plan.moto {
        true => Some(Server::start(Kind::S3, &folder("server")?)?),
        false => None,
    };
    // One request at a time is what moto can.
    let moto = server
        .as_ref()
        .map(|server| Proxy::in_turn(server.url(), plan.seed, LATE));
    let moto = moto.transpose()?;
    let bucket = Arc::new(Bucket::default());
    let memory = Proxy::over(Arc::clone(&bucket), plan.seed, LATE)?;
    let disk = folder("stores")?;
    let beside = |place: &Option<PathBuf>, name: &str| match place {
        Some(place) => Ok(place.clone()),
        None => folder(name),
    };
    let (fast, small) = (
        beside(&plan.memory, "memory")?,
        beside(&plan.small, "small")?,
    );
    let runs = fast.join("runs");
    if runs.exists() {
        std::fs::remove_dir_all(&runs)?;
    }
    let program = Program::new(plan.zvf.clone(), runs)?;
    let in_memory = |number: u64| {
        let (address, endpoint) = (format!("s3://memory-{number}"), memory.url().to_owned());
        Storage::Bucket(address, endpoint, Some(Arc::clone(&bucket)))
    };
    let in_moto = moto
        .iter()
        .map(|moto| Storage::Bucket("s3://edits-0".into(), moto.url().to_owned(), None));
    let storages = [
        Storage::Disk(disk),
        Storage::Disk(fast.clone()),
        Storage::Disk(fast),
        Storage::Small(small.clone()),
        Storage::Small(small.clone()),
        in_memory(0),
        in_memory(1),
    ];
    let storages = storages.into_iter().chain(in_moto);
    let mut draw = Draw::new(&[plan.seed]);
    let places = storages.enumerate().map(|(number, storage)| Place {
        number,
        epoch: RwLock::new(Epoch::new(&storage, number, 0, &mut draw)),
        storage,
        typical: AtomicU64::new(100),
    });
    let soak = Soak {
        places: places.collect(),
        program,
        seed: plan.seed,
        anomalies: folder("anomalies")?,
        found: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        most: plan.operations,
        end: start + Duration::from_secs(plan.seconds),
        failed: AtomicBool::new(false),
        stopped,
        numbers: AtomicU64::new(1),
        counts: Mutex::default(),
        reasons: Mutex::default(),
        texts: Mutex::default(),
    };
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let first = Run {
        id: format!("{}-{}", plan.seed, since.as_secs()),
        seed: plan.seed,
        workers: plan.workers,
        program: soak.program.version()?,
        ..Run::default()
    };
    let proxies: Vec<&Proxy> = [&memory].into_iter().chain(&moto).collect();
    let now = |ended: &str| {
        let run = totalled(&soak, &proxies, &first, start.elapsed(), ended);
        if let Some(total) = &plan.total {
            totals::put(total, &run)?;
        }
        anyhow::Ok(run)
    };
    let has_small = plan.small.is_some();
    let worked = work(&soak, plan, has_small.then_some(small.as_path()), &|| {
        now("it runs, or was killed").map(drop)
    });
    for proxy in &proxies {
        proxy.calm();
    }
    // Nothing changes the stores and nothing fails any more.
    let looked = worked.and_then(|()| {
        each(&soak, plan, 1 << 40, |worker, place, epoch| {
            worker.close(place, epoch)
        })
    });
    let ended = match &looked {
        Err(_) => "by an error",
        Ok(()) if soak.stopped.load(Ordering::Relaxed) => "stopped",
        Ok(()) if plan.operations > 0 && Instant::now() < soak.end => "operations",
        Ok(()) => "time",
    };
    let run = now(ended)?;
    println!("\n{}", totals::of(&[run]));
    if !soak.program.has_clock() {
        println!("no clock jumped: libfaketime is not installed");
    }
    looked?;
    let found = soak.found.load(Ordering::Relaxed);
    ensure!(found == 0, "{found} anomalies");
    drop(server);
    for name in ["server", "stores", "anomalies"] {
        let folder = plan.folder.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
    }
    Ok(())
}

/// Does something to each store, to some of them at the same time.
fn each(
    soak: &Soak,
    plan: &Plan,
    salt: u64,
    what: impl Fn(&mut Worker<'_>, &Place, &Epoch) -> Result<()> + Sync,
) -> Result<()> {
    let places = Mutex::new(soak.places.iter());
    std::thread::scope(|scope| {
        let workers = (0..plan.workers).map(|number| {
            let (places, what) = (&places, &what);
            scope.spawn(move || {
                let draw = Draw::new(&[plan.seed, salt, number]);
                let mut worker = Worker { soak, draw };
                loop {
                    let Some(place) = locked(places).next() else {
                        return Ok(());
                    };
                    let epoch = place.epoch.read().unwrap_or_else(PoisonError::into_inner);
                    what(&mut worker, place, &epoch)?;
                }
            })
        });
        let workers: Vec<_> = workers.collect();
        for worker in workers {
            let worked: Result<()> = worker
                .join()
                .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
            worked?;
        }
        Ok(())
    })
}

/// What was done so far.
fn totalled(soak: &Soak, proxies: &[&Proxy], first: &Run, took: Duration, ended: &str) -> Run {
    let mut run = Run {
        seconds: took.as_secs_f64(),
        operations: soak.operations.load(Ordering::Relaxed),
        stores: soak.numbers.load(Ordering::Relaxed),
        requests: proxies.iter().map(|proxy| proxy.requests()).sum(),
        ended: ended.to_owned(),
        reasons: locked(&soak.reasons).clone(),
        anomalies: locked(&soak.texts).clone(),
        ..first.clone()
    };
    let counts = locked(&soak.counts);
    run.kinds.extend(
        counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count)),
    );
    for faults in proxies
        .iter()
        .map(|proxy| proxy.faults())
        .chain([soak.program.faults()])
    {
        for (name, count) in faults {
            *run.faults.entry(name.to_owned()).or_default() += count;
        }
    }
    run
}

/// Runs all threads until the soak is over.
fn work(
    soak: &Soak,
    plan: &Plan,
    small: Option<&Path>,
    note: &(dyn Fn() -> Result<()> + Sync),
) -> Result<()> {
    each(soak, plan, 1 << 41, |worker, place, epoch| {
        worker.make(place, epoch)
    })?;
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
                    if let Err(error) = note() {
                        println!("the totals were not written: {error:#}");
                    }
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

//! `cargo xtask mutants`: seeded faults in the sources, and whether the tests find them.
//!
//! All faults are built at once, into a copy of the commit, each behind a switch in the environment: what takes minutes is building, and one fault needs only a
//! program or two to be found.

mod faults;
mod record;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;
use zvf_testkit::sample::{self, Sample};

use self::record::Record;
use crate::scratch::Scratch;
use crate::test::{self, Program};
use crate::{Outcome, python, sh};

/// How many faults are tried, unless `--sample` says otherwise.
const SAMPLE: usize = 60;

/// Crates with faults, and those whose tests are run first after the crate's own.
const CRATES: &[(&str, &[&str])] = &[
    ("zvf-format", &["zvf-store", "zvf-encode", "zvf-fuzz"]),
    ("zvf-store", &["zvf-query", "zvf-write"]),
    ("zvf-query", &["zvf-cli"]),
    ("zvf-encode", &["zvf-write"]),
    ("zvf-edit", &["zvf-write", "zvf-cli"]),
    ("zvf-validate", &["zvf-write", "zvf-cli"]),
];

/// How many programs run at a time, as in `cargo xtask test`.
const JOBS: usize = 2;

/// A program that takes so many times what it takes without faults, and a minute, does not end: its fault is found.
const LONGEST: f64 = 10.0;

/// A fault of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    package: &'static str,
    file: String,
    of: faults::Fault,
}

impl Fault {
    /// Place and change, by which it is chosen and recorded.
    fn name(&self) -> String {
        format!("{}:{}: {}", self.file, self.of.line, self.of.what)
    }
}

/// What came of a fault; and its number, with which `ZVF_FAULT` makes a program have it.
type Tried = (usize, Fault, String);

/// Where the numbered faults of each file are.
type FaultPlaces = BTreeMap<String, Vec<(usize, Range<usize>)>>;

/// The verdict on a fault that no test found.
const MISSED: &str = "not found";

/// The verdict on a fault that is none.
const INVALID: &str = "does not compile";

/// Tries `--sample N` faults (60) of the crates, or of `--crates A,B`, chosen by the day or by `--seed S`, and fails if more than one in twenty is not
/// found. `--list` only lists them. A run that was stopped goes on where it was.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = sh::option(arguments, "--sample")?.unwrap_or(SAMPLE);
    let seed = match sh::option(arguments, "--seed")? {
        Some(seed) => seed,
        None => test::day()?,
    };
    let only: Option<String> = sh::option(arguments, "--crates")?;
    let is_wanted = |name: &&str| {
        only.as_deref()
            .is_none_or(|only| only.split(',').any(|one| one == *name))
    };
    let crates = CRATES.iter().map(|(name, _)| *name);
    let crates: Vec<&'static str> = crates.filter(is_wanted).collect();
    let copy = Copy::of_commit()?;
    let faults = chosen(copy.faults(&crates)?, wanted, seed);
    println!("{} faults by seed {seed}", faults.len());
    if sh::flag(arguments, "--list") {
        faults
            .iter()
            .for_each(|fault| println!("  {}", fault.name()));
        return Ok(());
    }
    let mut record = Record::open(
        &sh::target()
            .join("mutants")
            .join(format!("{}-{seed}.tsv", copy.commit)),
    )?;
    let programs = copy.build(&faults, &mut record)?;
    let trial = Trial::new(&copy, programs, seed)?;
    let (tried, ended) = trial.all(&faults, record)?;
    ended?;
    let of = |verdict: &str| tried.iter().filter(|(_, _, of)| of == verdict).count();
    let (missed, valid) = (of(MISSED), tried.len() - of(INVALID));
    println!(
        "{} of {valid} faults found; {} do not compile",
        valid - missed,
        of(INVALID)
    );
    for (number, fault, _) in tried.iter().filter(|(_, _, of)| of == MISSED) {
        println!("not found: {number} {}", fault.name());
    }
    match missed * 20 > valid {
        true => Err("more than one fault in twenty is not found".into()),
        false => Ok(()),
    }
}

/// About as many as are wanted, from everywhere in the list; of two in the same place the first.
fn chosen(all: Vec<Fault>, wanted: usize, seed: u64) -> Vec<Fault> {
    let share = all.len().div_ceil(wanted.max(1));
    let mut taken: Vec<Fault> = Vec::new();
    for fault in Sample::of("mutants", seed, false).some(all, share) {
        if !taken
            .iter()
            .any(|one| one.file == fault.file && one.of.overlaps(&fault.of))
        {
            taken.push(fault);
        }
    }
    taken
}

/// The current commit in a folder of its own. What is not committed is not tried.
struct Copy {
    commit: String,
    /// As committed.
    sources: PathBuf,
    /// With faults, where cargo builds.
    tree: PathBuf,
}

impl Copy {
    fn of_commit() -> Outcome<Self> {
        let folder = sh::target().join("mutants");
        let (sources, tree, archive) = (
            folder.join("sources"),
            folder.join("tree"),
            folder.join("tree.tar"),
        );
        for old in [&sources, &tree] {
            std::fs::create_dir_all(old)?;
        }
        let commit = sh::capture(sh::command("git").args(["rev-parse", "--short", "HEAD"]))?;
        std::fs::remove_dir_all(&sources)?;
        std::fs::create_dir_all(&sources)?;
        let mut git = sh::command("git");
        git.args(["archive", "--format=tar", "--output"]);
        sh::run(git.arg(&archive).arg("HEAD"))?;
        let mut tar = sh::command("tar");
        sh::run(tar.arg("xf").arg(&archive).arg("-C").arg(&sources))?;
        std::fs::remove_file(archive)?;
        Ok(Self {
            commit: commit.trim().to_owned(),
            sources,
            tree,
        })
    }

    /// Every fault that some crates can have, in the order of their files.
    fn faults(&self, crates: &[&'static str]) -> Outcome<Vec<Fault>> {
        let mut all = Vec::new();
        for package in crates {
            let folder = self.sources.join("crates").join(package).join("src");
            for path in sh::files(&folder)? {
                let file = path
                    .strip_prefix(&self.sources)?
                    .to_string_lossy()
                    .replace('\\', "/");
                if file.ends_with(".rs") && !file.contains("test") {
                    let source = std::fs::read_to_string(&path)?;
                    let of = faults::of(&source).map_err(|error| format!("{file}: {error}"))?;
                    all.extend(of.into_iter().map(|of| Fault {
                        package,
                        file: file.clone(),
                        of,
                    }));
                }
            }
        }
        Ok(all)
    }

    /// Builds all tests with all faults that compile; those that do not are recorded.
    fn build(&self, faults: &[Fault], record: &mut Record) -> Outcome<Vec<Program>> {
        println!("building the tests with all faults");
        loop {
            let places = self.write(faults, record)?;
            let output = self
                .cargo()
                .args(["test", "--workspace", "--features", test::FEATURES])
                .args(["--no-run", "--quiet", "--message-format=json"])
                .output()?;
            let messages = String::from_utf8(output.stdout)?;
            let messages: Result<Vec<Value>, _> =
                messages.lines().map(serde_json::from_str).collect();
            let messages = messages?;
            if output.status.success() {
                return Ok(messages.iter().filter_map(Program::from_message).collect());
            }
            let bad: BTreeSet<usize> = messages
                .iter()
                .flat_map(|message| at_error(message, &places))
                .collect();
            if bad.is_empty() {
                let rendered = messages
                    .iter()
                    .filter_map(|message| message["message"]["rendered"].as_str());
                rendered.for_each(|text| println!("{text}"));
                return Err(format!(
                    "the faults do not compile:\n{}",
                    String::from_utf8_lossy(&output.stderr)
                )
                .into());
            }
            for number in bad {
                println!("{INVALID}: {}", faults[number - 1].name());
                record.add(&faults[number - 1].name(), INVALID)?;
            }
        }
    }

    fn cargo(&self) -> std::process::Command {
        let mut command = sh::cargo();
        command
            .current_dir(&self.tree)
            .env("CARGO_INCREMENTAL", "0");
        command.env(
            "CARGO_TARGET_DIR",
            sh::target().join("mutants").join("build"),
        );
        command
    }

    /// Writes the tree: what is committed, with the faults that are not known to be none. Files that do not change stay as they are, so that cargo builds nothing twice.
    fn write(&self, faults: &[Fault], record: &Record) -> Outcome<FaultPlaces> {
        let mut of_files: BTreeMap<&str, Vec<(usize, &faults::Fault)>> = BTreeMap::new();
        for (at, fault) in faults.iter().enumerate() {
            if record.get(&fault.name()) != Some(INVALID) {
                of_files
                    .entry(&fault.file)
                    .or_default()
                    .push((at + 1, &fault.of));
            }
        }
        let roots: BTreeSet<String> = faults
            .iter()
            .map(|fault| format!("crates/{}/src/lib.rs", fault.package))
            .collect();
        let mut all = BTreeMap::new();
        let mut kept = BTreeSet::new();
        let listed =
            sh::capture(sh::command("git").args(["ls-tree", "-r", "-z", "--name-only", "HEAD"]))?;
        for file in listed.split_terminator('\0') {
            let mut bytes = std::fs::read(self.sources.join(file))?;
            let of_file = of_files.get(file);
            if of_file.is_some() || roots.contains(file) {
                let source = String::from_utf8(bytes)?;
                let (mut text, places) =
                    faults::switched(&source, of_file.map_or(&[], Vec::as_slice));
                if roots.contains(file) {
                    text.push_str(&faults::root());
                }
                bytes = text.into_bytes();
                all.insert(file.to_owned(), places);
            }
            let to = self.tree.join(file);
            if std::fs::read(&to).ok().as_ref() != Some(&bytes) {
                to.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                std::fs::write(&to, bytes)?;
            }
            kept.insert(to);
        }
        for path in sh::files(&self.tree)?
            .into_iter()
            .filter(|path| !kept.contains(path))
        {
            std::fs::remove_file(path)?;
        }
        Ok(all)
    }

    /// The folders of the packages whose tests a fault of each crate can reach.
    fn users(&self) -> Outcome<BTreeMap<String, BTreeSet<PathBuf>>> {
        let arguments = [
            "metadata",
            "--format-version=1",
            "--locked",
            "--quiet",
            "--features",
            test::FEATURES,
        ];
        let metadata: Value = serde_json::from_str(&sh::capture(self.cargo().args(arguments))?)?;
        let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let uses: BTreeMap<String, Vec<String>> = of(&metadata["resolve"]["nodes"])
            .iter()
            .map(|node| {
                (
                    text(&node["id"]),
                    of(&node["dependencies"]).iter().map(text).collect(),
                )
            })
            .collect();
        let mut users: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
        let packages = of(&metadata["packages"]);
        let names: BTreeMap<String, String> = packages
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let members = packages
            .iter()
            .filter(|package| package["source"].is_null());
        for package in members {
            let Some(folder) =
                Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent()
            else {
                continue;
            };
            let (mut reached, mut left) = (BTreeSet::new(), vec![text(&package["id"])]);
            while let Some(id) = left.pop() {
                if reached.insert(id.clone()) {
                    left.extend(uses.get(&id).into_iter().flatten().cloned());
                }
            }
            for name in reached.iter().filter_map(|id| names.get(id)) {
                users
                    .entry(name.clone())
                    .or_default()
                    .insert(folder.to_path_buf());
            }
        }
        Ok(users)
    }
}

/// The faults at which an error of the compiler is.
fn at_error(message: &Value, places: &FaultPlaces) -> Vec<usize> {
    if message["reason"] != "compiler-message" || message["message"]["level"] != "error" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for span in message["message"]["spans"].as_array().into_iter().flatten() {
        let file = places.get(span["file_name"].as_str().unwrap_or_default());
        let offset = |name: &str| span[name].as_u64().unwrap_or_default() as usize;
        let (start, end) = (offset("byte_start"), offset("byte_end"));
        let here = |(_, range): &&(usize, Range<usize>)| range.start < end && start < range.end;
        found.extend(
            file.into_iter()
                .flatten()
                .filter(here)
                .map(|(number, _)| *number),
        );
    }
    found
}

/// What all programs have in common.
struct Trial {
    programs: Vec<Program>,
    users: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Where each run has a folder for temporary files.
    scratch: Option<Scratch>,
    servers: PathBuf,
    seed: u64,
}

impl Trial {
    fn new(copy: &Copy, programs: Vec<Program>, seed: u64) -> Outcome<Self> {
        let (users, servers) = (copy.users()?, python::interpreter()?);
        Ok(Self {
            programs,
            users,
            scratch: Scratch::new()?,
            servers,
            seed,
        })
    }

    /// Tries every fault that has no verdict yet. What failed is returned beside what was found out.
    fn all(&self, faults: &[Fault], mut record: Record) -> Outcome<(Vec<Tried>, Outcome)> {
        let seconds = self.without_faults(&mut record)?;
        let waiting = faults
            .iter()
            .enumerate()
            .filter(|(_, fault)| record.get(&fault.name()).is_none());
        let queue = Mutex::new(waiting.collect::<VecDeque<_>>());
        let shared = Mutex::new(record);
        let ended = in_parallel(|| {
            loop {
                let next = lock(&queue).pop_front();
                let Some((at, fault)) = next else {
                    return Ok(());
                };
                let verdict = self.verdict(at + 1, fault, &seconds)?;
                println!("{} {}: {verdict}", at + 1, fault.name());
                lock(&shared).add(&fault.name(), &verdict)?;
            }
        });
        let record = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tried = faults.iter().enumerate().filter_map(|(at, fault)| {
            let verdict = record.get(&fault.name())?;
            Some((at + 1, fault.clone(), verdict.to_owned()))
        });
        Ok((tried.collect(), ended))
    }

    /// Runs every program once without faults, and returns what each takes. None may fail.
    fn without_faults(&self, record: &mut Record) -> Outcome<BTreeMap<String, f64>> {
        let is_asked = |program: &&Program| {
            CRATES
                .iter()
                .any(|(name, _)| self.users[*name].contains(&program.folder))
        };
        let asked: Vec<&Program> = self.programs.iter().filter(is_asked).collect();
        let mut seconds = BTreeMap::new();
        let mut queue = VecDeque::new();
        for program in asked {
            match record.get(&program.name).and_then(|text| text.parse().ok()) {
                Some(known) => drop(seconds.insert(program.name.clone(), known)),
                None => queue.push_back(program),
            }
        }
        println!("{} programs without faults", queue.len());
        let (queue, shared) = (Mutex::new(queue), Mutex::new((seconds, record)));
        in_parallel(|| {
            loop {
                let next = lock(&queue).pop_front();
                let Some(program) = next else { return Ok(()) };
                let start = Instant::now();
                if let Some(failure) = self.failure(program, 0, Duration::from_secs(3600))? {
                    return Err(format!("without any fault, {}: {failure}", program.name).into());
                }
                let took = start.elapsed().as_secs_f64();
                let (seconds, record) = &mut *lock(&shared);
                record.add(&program.name, &format!("{took:.1}"))?;
                seconds.insert(program.name.clone(), took);
            }
        })?;
        Ok(shared
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .0)
    }

    /// The test that finds a fault: of its own crate first, then of the crates in [`CRATES`], then of all others that use it; the shortest program first.
    fn verdict(
        &self,
        number: usize,
        fault: &Fault,
        seconds: &BTreeMap<String, f64>,
    ) -> Outcome<String> {
        let likely = CRATES.iter().filter(|(name, _)| *name == fault.package);
        let likely: Vec<&str> = likely
            .flat_map(|(own, others)| std::iter::once(own).chain(*others))
            .copied()
            .collect();
        let rank = |program: &Program| {
            let found = likely
                .iter()
                .position(|name| program.folder.ends_with(name));
            found.unwrap_or(likely.len())
        };
        let users = &self.users[fault.package];
        let mut asked: Vec<(&Program, f64)> = Vec::new();
        for program in self
            .programs
            .iter()
            .filter(|program| users.contains(&program.folder))
        {
            let took = seconds
                .get(&program.name)
                .ok_or_else(|| format!("{} was never run", program.name))?;
            asked.push((program, *took));
        }
        asked.sort_by(|(a, a_took), (b, b_took)| {
            let order = rank(a).cmp(&rank(b));
            order.then(a_took.total_cmp(b_took))
        });
        for (program, took) in asked {
            let longest = Duration::from_secs_f64(60.0 + took * LONGEST);
            if let Some(failure) = self.failure(program, number, longest)? {
                return Ok(format!("found by {}: {failure}", program.name));
            }
        }
        Ok(MISSED.into())
    }

    /// Runs a program with a fault, or with none for 0, until a test fails or until it took too long.
    fn failure(
        &self,
        program: &Program,
        number: usize,
        longest: Duration,
    ) -> Outcome<Option<String>> {
        let scratch = self
            .scratch
            .as_ref()
            .map(|folder| folder.path().to_path_buf());
        let scratch = scratch
            .unwrap_or_else(std::env::temp_dir)
            .join(format!("fault-{number}-{}", program.name.replace('/', "-")));
        std::fs::create_dir_all(&scratch)?;
        let (reader, writer) = std::io::pipe()?;
        let mut command = program.command();
        command
            .env(faults::SWITCH, number.to_string())
            .env("TMPDIR", &scratch)
            .env("ZVF_SERVERS_PYTHON", &self.servers);
        for name in [test::PROPERTY_SEED, sample::SEED] {
            command.env(name, self.seed.to_string());
        }
        sh::in_group(&mut command)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let mut child = command.spawn()?;
        // The parent's copies of the writing end go away with the command, so that reading ends with the child.
        drop(command);
        let group = child.id();
        let (ended, end) = mpsc::channel::<()>();
        let mut failed = None;
        let in_time = std::thread::scope(|scope| -> Outcome<bool> {
            let watch = scope.spawn(move || {
                let in_time = end.recv_timeout(longest) != Err(mpsc::RecvTimeoutError::Timeout);
                if !in_time {
                    sh::end_group(group);
                }
                in_time
            });
            for line in BufReader::new(reader).split(b'\n') {
                let line = line?;
                let line = String::from_utf8_lossy(&line);
                failed = line
                    .strip_prefix("test ")
                    .and_then(|test| test.strip_suffix(" ... FAILED"))
                    .map(str::to_owned);
                if failed.is_some() {
                    sh::end_group(group);
                    break;
                }
            }
            drop(ended);
            watch.join().map_err(|_| "the thread ended".into())
        })?;
        let status = child.wait()?;
        // What a killed program left there is of no use to anybody; a server that still ends may be using it.
        let _ = std::fs::remove_dir_all(&scratch);
        let failure = match failed {
            None if !in_time => Some(format!("did not end in {longest:.0?}")),
            None if !status.success() => Some(format!("ended with {status}")),
            test => test,
        };
        Ok(failure)
    }
}

/// Runs the same on [`JOBS`] threads; the first error, if any.
fn in_parallel(work: impl Fn() -> Outcome + Sync) -> Outcome {
    // Errors of tasks are not sent between threads, their texts are.
    let work = || work().map_err(|error| error.to_string());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..JOBS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread ended")??;
        }
        Ok(())
    })
}

/// A thread that panics while it holds a lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_chosen_from_everywhere_and_never_two_of_a_place() -> Outcome {
        let mut all = Vec::new();
        for at in 0..50 {
            let of = faults::of("fn one(a: u8) -> u8 {\n    a + 1\n}")?;
            let file = format!("a{at:02}.rs");
            all.extend(of.into_iter().map(|of| Fault {
                package: "zvf-format",
                file: file.clone(),
                of,
            }));
        }
        assert_eq!(all.len(), 200);
        let few = chosen(all.clone(), 10, 7);
        assert_eq!(few, chosen(all.clone(), 10, 7));
        let tens: Vec<bool> = all
            .chunks(20)
            .map(|ten| few.iter().any(|fault| ten.contains(fault)))
            .collect();
        assert_eq!((few.len(), tens), (10, vec![true; 10]));
        // Of four faults a file, two are in the place of the sum and two at the start of the function.
        assert_eq!(chosen(all, 200, 7).len(), 100);
        Ok(())
    }

    #[test]
    fn errors_belong_to_the_faults_where_they_are() {
        let places = BTreeMap::from([("a.rs".to_owned(), vec![(1, 0..10), (2, 30..40)])]);
        let error = |level: &str, start: u64| {
            let span = serde_json::json!({"file_name": "a.rs", "byte_start": start, "byte_end": start + 3});
            serde_json::json!({"reason": "compiler-message", "message": {"level": level, "spans": [span]}})
        };
        assert_eq!(at_error(&error("error", 29), &places), [2]);
        assert_eq!(at_error(&error("error", 20), &places), [0; 0]);
        assert_eq!(at_error(&error("warning", 5), &places), [0; 0]);
    }
}

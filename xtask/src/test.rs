//! `cargo xtask test`: the whole test suite with one line a test program.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use zvf_testkit::sample;

use crate::cost::{self, Costs};
use crate::scratch::Scratch;
use crate::{Outcome, python, sh};

/// Features of tests that `cargo test --workspace` leaves out: real servers, the Blosc encoder, maps of files, repairs; Parquet and LAZ,
/// whatever the program's own features are; and what the Python package asks for, which shares the tests' build.
pub(crate) const FEATURES: &str = "zvf-trials/servers,zvf-write/zarrs,zvf-convert/parquet,zvf-convert/laz,\
     zvf-tet/mmap,zvf-sys/mmap,zvf-sys/dynamic-tls,zvf-validate/repair";

/// Cargo's arguments that test everything, or the packages that its `-p` or `--package` names, with those of [`FEATURES`] that they
/// have.
fn tests_of(arguments: &[String]) -> Vec<String> {
    let mut packages = Vec::new();
    let mut rest = arguments.iter();
    while let Some(one) = rest.next() {
        if one == "-p" || one == "--package" {
            packages.extend(rest.next().map(String::as_str));
        } else {
            let joined = one.strip_prefix("--package=").or(one.strip_prefix("-p"));
            packages.extend(joined);
        }
    }
    if packages.is_empty() {
        return ["test", "--workspace", "--features", FEATURES]
            .map(str::to_owned)
            .into();
    }
    let features = FEATURES.split(',').map(str::trim).filter(|feature| {
        let package = feature.split('/').next();
        packages.iter().any(|one| Some(*one) == package)
    });
    let features: Vec<&str> = features.collect();
    ["test", "--features", &features.join(",")]
        .map(str::to_owned)
        .into()
}

/// The variable by which property tests draw.
pub(crate) const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// How many programs run at a time unless `--jobs` says otherwise. Each runs its tests on all cores; two, because many tests wait:
/// for servers, for retries, for the disk, for the programs that they start.
const JOBS: usize = 2;

/// The programs that take longest, longest first: they are started first, so that none runs on when all others have ended.
const LONG: [&str; 7] = [
    "zvf-write/main",
    "trials/servers",
    "zvf-query/main",
    "zvf-cli/main",
    "fuzz/replay",
    "trials/faults",
    "zvf-store/main",
];

/// Builds and runs all tests, documentation tests and the tests against real servers included. Tests with very many cases try a part
/// of them, chosen by a seed: the number of the day, or that of `--seed N`. It is printed, so that a failure can be repeated. `--whole` tries all cases.
/// `--jobs N` says how many test programs run at a time. `--timings` prints what each program took to compile, to link and to run, and the
/// slowest tests; a program that was built before has only the latter. Arguments after `--` go to the test programs, the others to cargo,
/// as in `-p zvf-meta`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (arguments, filters) = match arguments.iter().position(|one| one == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let seed = match sh::option(arguments, "--seed")? {
        Some(seed) => seed,
        None => day()?,
    };
    let whole = sh::flag(arguments, "--whole");
    let jobs = sh::option(arguments, "--jobs")?.unwrap_or(JOBS).max(1);
    let timings = sh::flag(arguments, "--timings");
    let own = [
        ("--seed", 2),
        ("--whole", 1),
        ("--jobs", 2),
        ("--timings", 1),
    ];
    let arguments = sh::without(arguments, &own);
    if whole {
        println!(
            "every case of every test; seed {seed} of random cases: --whole --seed {seed} repeats them"
        );
    } else {
        println!(
            "a part of the cases of long tests, by seed {seed}: --seed {seed} repeats them, --whole tries all"
        );
    }
    println!("building the tests");
    // The servers' environment is made meanwhile: that waits for the network.
    let (servers, built) = std::thread::scope(|scope| {
        let servers = scope.spawn(|| python::interpreter().map_err(|error| error.to_string()));
        let built = build(&arguments, timings);
        let servers = servers
            .join()
            .unwrap_or_else(|_| Err("the thread ended".into()));
        (servers, built)
    });
    let (mut programs, costs) = built?;
    let servers = servers?;
    if !arguments.iter().any(|one| selects_targets(one)) {
        programs.push(Program::documentation(&arguments, filters));
    }
    let scratch = Scratch::new()?;
    match &scratch {
        Some(folder) => println!("temporary files are in memory: {}", folder.path().display()),
        None => println!("temporary files are in {}", std::env::temp_dir().display()),
    }
    for program in &mut programs {
        if !program.documentation {
            program.arguments.extend(filters.iter().map(OsString::from));
            if timings {
                let options = cost::REPORT_TIME.iter();
                program.arguments.extend(options.map(OsString::from));
                program
                    .environment
                    .push((cost::ALLOW.0, cost::ALLOW.1.into()));
            }
        }
        let environment = &mut program.environment;
        environment.push(("ZVF_SERVERS_PYTHON", servers.clone().into()));
        if let Some(folder) = &scratch {
            environment.push(("TMPDIR", folder.path().into()));
        }
        for name in [PROPERTY_SEED, sample::SEED] {
            environment.push((name, seed.to_string().into()));
        }
        if whole {
            environment.push((sample::TESTS, "whole".into()));
        }
    }
    programs.sort_by_key(|program| {
        let known = LONG.iter().position(|name| *name == program.name);
        known.unwrap_or(LONG.len())
    });

    let queue = Mutex::new(VecDeque::from(programs));
    let measured_by = timings.then_some(servers.as_path());
    let report = Mutex::new(Report {
        costs,
        ..Report::default()
    });
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    // The lock is not held while the program runs.
                    let next = lock(&queue).pop_front();
                    let Some(program) = next else { break };
                    program.run(&report, measured_by);
                }
            });
        }
    });
    let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{} test programs", report.programs);
    println!("{} passed, {} failed", report.passed, report.failed);
    if timings {
        report.costs.print();
    }
    if report.bad.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", report.bad.join(", ")).into())
    }
}

/// The number of today since 1970-01-01, in UTC.
pub(crate) fn day() -> Outcome<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400)
}

/// Whether an argument of cargo says which test programs to build; documentation tests are not among those.
fn selects_targets(argument: &str) -> bool {
    const OPTIONS: [&str; 8] = [
        "--lib",
        "--bin",
        "--bins",
        "--test",
        "--tests",
        "--example",
        "--examples",
        "--all-targets",
    ];
    let name = argument.split('=').next().unwrap_or_default();
    OPTIONS.contains(&name)
}

/// Builds the test programs, and the programs that they start; with `timings` what that costs is measured.
fn build(arguments: &[String], timings: bool) -> Outcome<(Vec<Program>, Costs)> {
    let mut command = sh::cargo();
    command
        .args(tests_of(arguments))
        .args(["--no-run", "--quiet"]);
    command.arg("--message-format=json-render-diagnostics");
    let measured = match timings {
        true => Some(cost::Build::of(&mut command)?),
        false => None,
    };
    let messages = sh::capture(command.args(arguments))?;
    let mut programs = Vec::new();
    for line in messages.lines() {
        programs.extend(Program::from_message(&serde_json::from_str(line)?));
    }
    let built = measured.map(cost::Build::end).unwrap_or_default();
    Ok((programs, Costs::of(built)))
}

/// Builds the tests, and with them the program, whose path is returned.
pub(crate) fn build_zvf() -> Outcome<PathBuf> {
    build(&[], false)?;
    Ok(sh::debug("zvf"))
}

/// A test program, or cargo where it runs the tests of the documentation.
#[derive(Debug)]
pub(crate) struct Program {
    /// The folder of its package and its own name, as in `zvf-store/main`.
    pub(crate) name: String,
    program: OsString,
    arguments: Vec<OsString>,
    /// The folder of its package, where cargo starts it.
    pub(crate) folder: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    documentation: bool,
}

impl Program {
    /// The test program that cargo says it has built, if the message is about one.
    pub(crate) fn from_message(message: &Value) -> Option<Self> {
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let package = folder.file_name()?.to_string_lossy();
        let target = &message["target"];
        let name = if target["kind"][0] == "test" {
            target["name"].as_str()?
        } else {
            "unit"
        };
        Some(Self {
            name: format!("{package}/{name}"),
            program: message["executable"].as_str()?.into(),
            arguments: Vec::new(),
            folder: folder.to_path_buf(),
            environment: vec![("CARGO_MANIFEST_DIR", folder.into())],
            documentation: false,
        })
    }

    fn documentation(arguments: &[String], filters: &[String]) -> Self {
        let mut all: Vec<OsString> = tests_of(arguments)
            .into_iter()
            .map(OsString::from)
            .collect();
        all.extend(["--doc", "--no-fail-fast"].map(OsString::from));
        all.extend(arguments.iter().map(OsString::from));
        all.push("--".into());
        all.extend(filters.iter().map(OsString::from));
        Self {
            name: "documentation".into(),
            program: sh::cargo().get_program().into(),
            arguments: all,
            folder: sh::root(),
            environment: Vec::new(),
            documentation: true,
        }
    }

    /// Runs the program and adds what came of it to the report.
    fn run(&self, report: &Mutex<Report>, measured_by: Option<&Path>) {
        let start = Instant::now();
        lock(report).running.push(self.name.clone());
        let mut result = Tests::default();
        let costs = measured_by.map(|python| (python, cost::report(&self.name)));
        let ended = self.follow(costs.as_ref(), |line| {
            result.line(line);
            if line.starts_with("test ") {
                let mut report = lock(report);
                report.progress();
                report.costs.test(&self.name, line);
            }
        });
        if let Some((_, file)) = &costs {
            let program = Path::new(&self.program);
            lock(report).costs.program(&self.name, program, file);
        }
        let sound = match ended {
            Ok(sound) => sound,
            Err(error) => {
                result.lines.push(error.to_string());
                false
            }
        };
        lock(report).end(&self.name, &result, sound, start);
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = sh::independent(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program and hands each line that it writes to `line`; whether it ended well.
    fn follow(
        &self,
        costs: Option<&(&Path, PathBuf)>,
        mut line: impl FnMut(&str),
    ) -> Outcome<bool> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = self.command();
        if let Some((python, file)) = costs {
            command = cost::measured(python, file, &command);
        }
        command.stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // The parent's copies of the writing end go away with the command, so that reading ends with the child.
        drop(command);
        for bytes in BufReader::new(reader).split(b'\n') {
            line(&String::from_utf8_lossy(&bytes?));
        }
        Ok(child.wait()?.success())
    }
}

/// What the lines of one test program say.
#[derive(Debug, Default)]
struct Tests {
    passed: u64,
    failed: u64,
    /// Shown when a test fails.
    lines: Vec<String>,
}

impl Tests {
    fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += number(result, " passed");
            self.failed += number(result, " failed");
        }
        self.lines.push(line.to_owned());
    }
}

/// What all test programs said so far.
#[derive(Debug, Default)]
struct Report {
    running: Vec<String>,
    /// Tests that have ended in programs that still run.
    seen: u64,
    programs: u64,
    passed: u64,
    failed: u64,
    /// The programs with failures.
    bad: Vec<String>,
    costs: Costs,
}

impl Report {
    fn progress(&mut self) {
        self.seen += 1;
        if std::io::stdout().is_terminal() {
            let running = self.running.join(", ");
            print!("\r  {} tests, in {running:<50.50}", self.seen);
            // A progress line that cannot be written is not worth an error.
            let _ = std::io::stdout().flush();
        }
    }

    fn end(&mut self, name: &str, tests: &Tests, sound: bool, start: Instant) {
        self.running.retain(|one| one != name);
        let Tests { passed, failed, .. } = *tests;
        if sound && passed + failed == 0 {
            return;
        }
        self.programs += 1;
        self.passed += passed;
        self.failed += failed;
        let back = if std::io::stdout().is_terminal() {
            "\r"
        } else {
            ""
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{back}  {name:<44} {passed:>5} passed {seconds:>7.1} s        ");
        if !sound {
            println!("{}\n  {name} failed: {failed}", tests.lines.join("\n"));
            self.bad.push(name.to_owned());
        }
    }
}

/// The number before `word` in a line such as `ok. 12 passed; 0 failed; …`.
fn number(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    before
        .rsplit(' ')
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// A thread that panics while it holds a lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        let mut tests = Tests::default();
        tests.line("test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured");
        assert_eq!((tests.passed, tests.failed), (12, 3));
    }

    #[test]
    fn test_programs_are_found_in_the_messages_of_cargo() -> Result<(), serde_json::Error> {
        let text = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/zvf-store/Cargo.toml",
            "target":{"kind":["test"],"name":"main"},"profile":{"test":true},"executable":"/t/main-01"}"#;
        let mut message: Value = serde_json::from_str(text)?;
        let found = Program::from_message(&message).map(|one| one.name);
        assert_eq!(found.as_deref(), Some("zvf-store/main"));
        message["target"]["kind"][0] = "lib".into();
        let found = Program::from_message(&message).map(|one| one.name);
        assert_eq!(found.as_deref(), Some("zvf-store/unit"));
        message["profile"]["test"] = false.into();
        assert!(Program::from_message(&message).is_none());
        Ok(())
    }

    #[test]
    fn packages_are_tested_with_their_features() {
        let of = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|&one| one.to_owned()).collect();
            tests_of(&given)
        };
        assert_eq!(
            of(&["--lib"]),
            ["test", "--workspace", "--features", FEATURES]
        );
        assert_eq!(of(&["-p", "zvf-meta"]), ["test", "--features", ""]);
        let two = of(&["--package=zvf-tet", "-pzvf-write"]);
        assert_eq!(two[2], "zvf-write/zarrs,zvf-tet/mmap");
    }

    #[test]
    fn own_options_are_taken_out() {
        let given = ["-p", "x", "--jobs", "3", "--whole", "--lib"].map(str::to_owned);
        let left = sh::without(&given, &[("--whole", 1), ("--jobs", 2)]);
        assert_eq!(left, ["-p", "x", "--lib"]);
        assert!(selects_targets("--test=main") && !selects_targets("-p"));
    }
}

//! What test programs cost, for `cargo xtask test --timings`: seconds of the compiler and of the linker, of the run, and its memory.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde_json::Value;

use crate::{Outcome, python, sh};

/// The variable that names the folder of a measured build. Where it is set, this program was started in place of rustc or of the
/// linker.
const FOLDER: &str = "ZVF_MEASURED_BUILD";

/// The file in it with a line for each program that was compiled or linked: what was done, seconds, the program's path.
const LINES: &str = "built.tsv";

/// How many tests are listed.
const SLOWEST: usize = 50;

/// Runs what this program stands in for, if it was started for that.
pub(crate) fn stand_in() -> Option<ExitCode> {
    let folder = PathBuf::from(std::env::var_os(FOLDER)?);
    let mut given = std::env::args_os();
    let name = PathBuf::from(given.next()?);
    let links = name.file_stem().is_some_and(|name| name == "cc");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = if links {
        let others = std::env::split_paths(&path).filter(|one| *one != folder);
        let mut linker = Command::new("cc");
        linker.env("PATH", std::env::join_paths(others).ok()?);
        linker
    } else {
        // The linker is looked for in the folder first.
        let all = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));
        let mut compiler = Command::new(given.next()?);
        compiler.env("PATH", std::env::join_paths(all).ok()?);
        compiler
    };
    let given: Vec<String> = given
        .map(|one| one.to_string_lossy().into_owned())
        .collect();
    let start = Instant::now();
    let done = command.args(&given).status();
    let made = if links {
        behind(&given, "-o").map(PathBuf::from)
    } else {
        compiled(&given)
    };
    if let Some(made) = made {
        let what = if links { "link" } else { "compile" };
        let seconds = start.elapsed().as_secs_f64();
        let line = format!("{what}\t{seconds:.3}\t{}\n", made.display());
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.join(LINES));
        // A measurement that is lost is not worth a build.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    match done {
        Ok(status) => Some(ExitCode::from(
            status
                .code()
                .map_or(1, |code| u8::try_from(code).unwrap_or(1)),
        )),
        Err(error) => {
            eprintln!("{}: {error}", sh::show(&command));
            Some(ExitCode::FAILURE)
        }
    }
}

fn behind<'a>(given: &'a [String], name: &str) -> Option<&'a str> {
    let at = given.iter().position(|one| one == name)?;
    given.get(at + 1).map(String::as_str)
}

/// The program that rustc is to make, as cargo asks for it, or the path that it would have.
fn compiled(given: &[String]) -> Option<PathBuf> {
    let name = behind(given, "--crate-name")?;
    let ending = given
        .iter()
        .find_map(|one| one.strip_prefix("extra-filename="))?;
    Some(Path::new(behind(given, "--out-dir")?).join(format!("{name}{ending}")))
}

/// A build that is measured.
#[derive(Debug)]
pub(crate) struct Build {
    folder: PathBuf,
}

impl Build {
    /// Has a cargo command measure what it compiles and links.
    pub(crate) fn of(command: &mut Command) -> Outcome<Self> {
        let folder = sh::target().join("measured-build");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let this = std::env::current_exe()?;
        #[cfg(unix)]
        std::os::unix::fs::symlink(&this, folder.join("cc"))?;
        command.env(FOLDER, &folder).env("RUSTC_WRAPPER", this);
        Ok(Self { folder })
    }

    /// What was compiled and linked.
    pub(crate) fn end(self) -> Built {
        let text = std::fs::read_to_string(self.folder.join(LINES)).unwrap_or_default();
        let mut built = Built::default();
        for line in text.lines() {
            let mut cells = line.splitn(3, '\t');
            if let (Some(what), Some(Ok(seconds)), Some(path)) =
                (cells.next(), cells.next().map(str::parse), cells.next())
            {
                let all = match what {
                    "link" => &mut built.linked,
                    _ => &mut built.compiled,
                };
                all.insert(path.into(), seconds);
            }
        }
        built
    }
}

/// Seconds by program; one that was built before has none.
#[derive(Debug, Default)]
pub(crate) struct Built {
    compiled: HashMap<PathBuf, f64>,
    linked: HashMap<PathBuf, f64>,
}

/// Where a running test program says what it cost.
pub(crate) fn report(name: &str) -> PathBuf {
    let file = format!("{}.json", name.replace('/', "-"));
    sh::target().join("measured-build").join(file)
}

/// A command that runs another one and writes what that cost to `report`.
pub(crate) fn measured(python: &Path, report: &Path, command: &Command) -> Command {
    let mut measuring = sh::independent(python);
    measuring.arg(python::script("measured.py"));
    measuring.arg("--report").arg(report);
    measuring
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        measuring.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measuring.env(name, value),
            None => measuring.env_remove(name),
        };
    }
    measuring
}

/// What one test program cost.
#[derive(Debug)]
struct Row {
    name: String,
    compile: Option<f64>,
    link: Option<f64>,
    run: f64,
    cpu: f64,
    megabytes: u64,
}

/// The costs of a run.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    built: Built,
    rows: Vec<Row>,
    /// Seconds, program and test.
    tests: Vec<(f64, String, String)>,
}

impl Costs {
    pub(crate) fn of(built: Built) -> Self {
        Self {
            built,
            ..Self::default()
        }
    }

    /// Adds a program that has ended.
    pub(crate) fn program(&mut self, name: &str, path: &Path, report: &Path) {
        let told = std::fs::read(report).ok();
        let told: Option<Value> = told.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(told) = told else { return };
        let number = |at: usize| told[at].as_f64().unwrap_or(0.0);
        let link = self.built.linked.get(path).copied();
        let whole = self.built.compiled.get(path).copied();
        self.rows.push(Row {
            name: name.to_owned(),
            compile: whole.map(|whole| (whole - link.unwrap_or(0.0)).max(0.0)),
            link,
            run: number(1),
            cpu: number(2),
            megabytes: told[3].as_u64().unwrap_or(0) / 1024,
        });
    }

    /// Adds a test whose end a line such as `test a::b ... ok <0.012s>` tells.
    pub(crate) fn test(&mut self, program: &str, line: &str) {
        if let Some((seconds, name)) = timed(line) {
            self.tests
                .push((seconds, program.to_owned(), name.to_owned()));
        }
    }

    /// Prints everything, the most expensive first.
    pub(crate) fn print(mut self) {
        println!(
            "\n{:<34} {:>9} {:>7} {:>8} {:>8} {:>8}",
            "program", "compile s", "link s", "run s", "CPU s", "peak MB"
        );
        let seconds = |row: &Row| row.run + row.compile.unwrap_or(0.0) + row.link.unwrap_or(0.0);
        self.rows.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        for row in &self.rows {
            println!(
                "{:<34} {:>9} {:>7} {:>8.1} {:>8.1} {:>8}",
                row.name,
                cell(row.compile),
                cell(row.link),
                row.run,
                row.cpu,
                row.megabytes
            );
        }
        let Built { compiled, linked } = &self.built;
        let others: f64 = compiled.values().sum::<f64>()
            - self
                .rows
                .iter()
                .filter_map(|row| Some(row.compile? + row.link.unwrap_or(0.0)))
                .sum::<f64>();
        println!(
            "compiled: {} crates, of which libraries and other programs took {others:.0} s in all; linked: {}",
            compiled.len(),
            linked.len()
        );
        self.tests.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("\nslowest tests");
        for (seconds, program, test) in self.tests.iter().take(SLOWEST) {
            println!("{seconds:>8.2} s  {program}  {test}");
        }
    }
}

/// Seconds and name of the test of a line.
fn timed(line: &str) -> Option<(f64, &str)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = rest.strip_suffix("s>")?.rsplit_once('<')?;
    Some((seconds.parse().ok()?, name))
}

/// The arguments that have a test program say how long each test took. The test harness knows them only where unstable features
/// are allowed, which the variable does.
pub(crate) const REPORT_TIME: [&str; 3] = ["-Z", "unstable-options", "--report-time"];
pub(crate) const ALLOW: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_tests_are_read() {
        let found = timed("test a::b - c (line 3) ... ok <1.250s>");
        assert_eq!(found, Some((1.25, "a::b - c (line 3)")));
        assert_eq!(timed("test a ... FAILED <0.001s>"), Some((0.001, "a")));
        assert_eq!(timed("test a ... ok"), None);
        assert_eq!(timed("test result: ok. 1 passed"), None);
    }

    #[test]
    fn programs_are_named_as_cargo_names_them() {
        let line = "--crate-name main --edition=2024 a/main.rs -C opt-level=1 -C extra-filename=-7d --out-dir /t/deps";
        let given: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(compiled(&given), Some(PathBuf::from("/t/deps/main-7d")));
        assert_eq!(compiled(&["-vV".to_owned()]), None);
    }
}

//! `cargo xtask conformance`: stores of the released Python packages, read by us, and ours, read by them; compared with
//! what went in.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::scratch::Scratch;
use crate::{Outcome, caterva, python, sh, test, tet};

/// One comparison, which `--NAME` runs alone.
struct Part {
    name: &'static str,
    takes: Takes,
    /// Builds what is asked, and returns the command that asks it.
    command: fn() -> Outcome<Command>,
}

/// Which options of the whole task a part takes.
#[derive(PartialEq, Eq)]
enum Takes {
    /// `--seed`, `--stores`, `--quick`, `--only`.
    All,
    /// The same without `--only`: kinds have other names there.
    Shared,
    Nothing,
}

/// Those that take longest come first, so that none runs on when all others have ended.
const PARTS: &[Part] = &[
    Part {
        name: "edited-1",
        takes: Takes::Shared,
        command: || edited(1),
    },
    Part {
        name: "edited-2",
        takes: Takes::Shared,
        command: || edited(2),
    },
    Part {
        name: "migrated",
        takes: Takes::Nothing,
        command: || alone("migrated"),
    },
    Part {
        name: "written",
        takes: Takes::Shared,
        command: written,
    },
    Part {
        name: "matched",
        takes: Takes::Nothing,
        command: || alone("matched"),
    },
    Part {
        name: "read",
        takes: Takes::All,
        command: || {
            let script = python::run("conformance.py")?;
            asking("read", script)
        },
    },
    Part {
        name: "read-0.2",
        takes: Takes::All,
        command: || {
            let script = python::run_with(python::OLD, "conformance.py")?;
            asking("read-0.2", script)
        },
    },
    Part {
        name: "pyramids",
        takes: Takes::Shared,
        command: || alone("pyramids"),
    },
    Part {
        name: "files",
        takes: Takes::Nothing,
        command: || alone("files"),
    },
    Part {
        name: "frames",
        takes: Takes::Nothing,
        command: || alone("frames"),
    },
    Part {
        name: "caterva",
        takes: Takes::Nothing,
        command: || caterva::conformance(&folder("caterva")),
    },
    Part {
        name: "tet",
        takes: Takes::Nothing,
        command: || tet::conformance(&folder("tet")),
    },
    Part {
        name: "sampled",
        takes: Takes::Nothing,
        command: || {
            let mut script = alone("sampled")?;
            script.arg(sh::root().join("testdata/real/tracks300.trk"));
            Ok(script)
        },
    },
];

/// Runs every part, as many at a time as there are cores or as `--jobs N` says, and prints one table. What a part says goes to a file
/// beside its folder, and is printed when it fails.
///
/// `--NAME` as the first argument runs that part alone, with all arguments that follow; `--edited` runs `edited-1` and `edited-2`. `--built FOLDER` asks the programs in a folder,
/// such as `target/debug`, and builds only those that it lacks.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Some(folder) = sh::option::<PathBuf>(arguments, "--built")? {
        sh::use_built(std::path::absolute(folder)?);
    }
    let jobs: Option<usize> = sh::option(arguments, "--jobs")?;
    let scratch = Scratch::new()?;
    if let Some(scratch) = &scratch {
        WORK.get_or_init(|| scratch.path().to_path_buf());
    }
    let arguments = sh::without(arguments, &[("--built", 2), ("--jobs", 2)]);
    if let Some((first, rest)) = arguments.split_first()
        && let Some(name) = first.strip_prefix("--")
    {
        let exact = PARTS.iter().filter(|part| part.name == name);
        let shares = PARTS.iter().filter(|part| is_share(part.name, name));
        let mut chosen = exact.chain(shares).peekable();
        if chosen.peek().is_some() {
            return chosen.try_for_each(|part| {
                let done = sh::run((part.command)()?.args(rest));
                keep(part.name).and(done)
            });
        }
    }
    let shared = sh::without(&arguments, &[("--only", 2)]);
    // Built one after the other: cargo does not build two things in one folder at a time.
    let commands = PARTS.iter().map(|part| {
        let command = (part.command)().map(|mut command| {
            command.args(match part.takes {
                Takes::All => &arguments[..],
                Takes::Shared => &shared,
                Takes::Nothing => &[],
            });
            command
        });
        (part.name, command.map_err(|error| error.to_string()))
    });
    let queue = Mutex::new(commands.collect::<VecDeque<_>>());
    let rows = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs.unwrap_or(cores).max(1) {
            scope.spawn(|| {
                loop {
                    let next = lock(&queue).pop_front();
                    let Some((name, command)) = next else { break };
                    let start = Instant::now();
                    let done = command.and_then(|command| {
                        finish(name, command).map_err(|error| error.to_string())
                    });
                    lock(&rows).push((name, done, start.elapsed()));
                }
            });
        }
    });
    println!(
        "\n{:<10} {:<34} {:>6} {:>12} {:>7} {:>9}",
        "part", "compared with", "cases", "values", "differ", "seconds"
    );
    let mut failed = Vec::new();
    for (name, done, time) in rows.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let seconds = time.as_secs_f64();
        let (compared, ended) = done.unwrap_or_else(|error| (None, Err(error)));
        if let Err(error) = ended {
            failed.push(format!("{name} ({error})"));
        }
        let compared = compared.unwrap_or_default();
        let Compared {
            with,
            cases,
            values,
            differ,
        } = compared;
        println!("{name:<10} {with:<34} {cases:>6} {values:>12} {differ:>7} {seconds:>9.1}");
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", failed.join(", ")).into())
    }
}

/// Whether a part is one of several with the same name and a number.
fn is_share(part: &str, name: &str) -> bool {
    let number = part
        .strip_prefix(name)
        .and_then(|end| end.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<u8>().is_ok())
}

/// What a part says at its end.
#[derive(Debug, PartialEq, Eq)]
struct Compared {
    with: String,
    cases: String,
    values: String,
    differ: String,
}

impl Default for Compared {
    /// A part that failed before it said anything.
    fn default() -> Self {
        let nothing = || "?".to_owned();
        Self {
            with: "failed".to_owned(),
            cases: nothing(),
            values: nothing(),
            differ: nothing(),
        }
    }
}

impl Compared {
    /// The last line such as `compared with zarr-vectors 0.9.2: 72 cases, 41 values, 0 differ`.
    fn of(log: &str) -> Option<Self> {
        let mut lines = log.lines().rev();
        let said = lines.find_map(|line| line.strip_prefix("compared with "))?;
        let (with, counts) = said.rsplit_once(": ")?;
        let mut counts = counts
            .split(", ")
            .filter_map(|count| count.split(' ').next());
        let mut next = || counts.next().map(str::to_owned);
        Some(Self {
            with: with.to_owned(),
            cases: next()?,
            values: next()?,
            differ: next()?,
        })
    }
}

/// Runs a part to its end: what it compared, and how it ended. What it said is printed if it fails, and its folder is kept.
fn finish(name: &str, mut command: Command) -> Outcome<(Option<Compared>, Result<(), String>)> {
    let path = kept(name).with_extension("log");
    let file = File::create(&path)?;
    command.stdout(file.try_clone()?).stderr(file);
    let ended = sh::run(&mut command).map_err(|error| error.to_string());
    let log = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    let compared = Compared::of(&log);
    let ended = ended.and(match compared {
        Some(_) => Ok(()),
        None => Err("it did not say what it compared".to_owned()),
    });
    match ended {
        Ok(()) => {
            println!("{name} passed");
            remove(&folder(name))?;
        }
        Err(_) => {
            println!("== {name}\n{log}== {name} failed");
            keep(name)?;
        }
    }
    Ok((compared, ended))
}

/// A thread that panics while it holds a lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder in memory in which the parts work, if there is one.
static WORK: OnceLock<PathBuf> = OnceLock::new();

/// Where a part works.
fn folder(name: &str) -> PathBuf {
    let place = WORK.get().cloned().unwrap_or_else(sh::target);
    place.join(folder_name(name))
}

/// Where its folder is kept if it fails, and what it said in any case.
fn kept(name: &str) -> PathBuf {
    sh::target().join(folder_name(name))
}

fn folder_name(part: &str) -> String {
    // Without a dot, so that an ending can be put behind it.
    format!("conformance-{}", part.replace('.', "-"))
}

/// Moves the folder of a part from memory to where it is kept.
fn keep(name: &str) -> Outcome {
    let (from, to) = (folder(name), kept(name));
    if from == to || !from.exists() {
        return Ok(());
    }
    remove(&to)?;
    sh::run(sh::command("mv").arg(&from).arg(&to))?;
    println!("its folder is {}", to.display());
    Ok(())
}

fn remove(folder: &Path) -> Outcome {
    match folder.exists() {
        true => Ok(std::fs::remove_dir_all(folder)?),
        false => Ok(()),
    }
}

/// A script that takes the program and a folder.
fn asking(name: &str, mut script: Command) -> Outcome<Command> {
    script.arg(sh::build_zvf()?).arg(folder(name));
    Ok(script)
}

/// A script of the same name that makes its own input.
fn alone(name: &str) -> Outcome<Command> {
    asking(name, python::run(&format!("{name}.py"))?)
}

/// Stores that `write_raw` makes from random input, read by the package.
fn written() -> Outcome<Command> {
    let mut script = python::run("written.py")?;
    script.args([writer()?, sh::build_zvf()?, folder("written")]);
    Ok(script)
}

/// Every second of such stores, after edits. The package takes minutes to read them, so that the two halves run side by side.
fn edited(half: u8) -> Outcome<Command> {
    let mut script = python::run("edited.py")?;
    let folder = folder(&format!("edited-{half}"));
    script.args([sh::build_zvf()?, writer()?, folder]);
    script.args(["--half", &half.to_string()]);
    Ok(script)
}

/// The built program that writes a store from raw files.
fn writer() -> Outcome<PathBuf> {
    if let Some(program) = sh::given("examples/write_raw") {
        return Ok(program);
    }
    sh::run(sh::cargo().args([
        // As the tests are built, so that nothing is compiled twice.
        "build",
        "--quiet",
        "--workspace",
        "--example",
        "write_raw",
        "--features",
        test::FEATURES,
    ]))?;
    Ok(sh::debug("examples/write_raw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_part_have_its_name() {
        assert!(is_share("edited-1", "edited"));
        assert!(!is_share("read-0.2", "read") && !is_share("edited", "edited"));
    }

    #[test]
    fn the_end_of_a_part_is_read() {
        let log = "compared with a: 1 cases, 2 values, 3 differ\nx\ncompared with b 0.1, c: 72 cases, 9 values, 0 differ\nbye\n";
        let found = Compared::of(log).map(|found| {
            let Compared {
                with,
                cases,
                values,
                differ,
            } = found;
            [with, cases, values, differ]
        });
        assert_eq!(found, Some(["b 0.1, c", "72", "9", "0"].map(str::to_owned)));
        assert_eq!(Compared::of("compared with nothing\n"), None);
    }
}

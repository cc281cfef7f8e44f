//! `cargo xtask mutants`: seeded faults in the sources, and whether the tests find them.
//!
//! cargo-mutants makes the faults, builds and runs the tests. It works on a copy of the commit, never on the working tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use zvf_testkit::sample::{self, Sample};

use crate::scratch::Scratch;
use crate::{Outcome, sh, test, tools};

const VERSION: &str = "27.1.0";

/// How many faults are tried, unless `--sample` says otherwise.
const SAMPLE: usize = 60;

/// Seconds after which a run of tests is ended; such a fault counts as found. A build is never ended for its time.
const LONGEST: &str = "600";

/// Crates with faults, and those whose tests are asked: first the crate's own tests, and of what they do not find, these.
const CRATES: &[(&str, &[&str])] = &[
    ("zvf-format", &["zvf-store", "zvf-encode", "zvf-fuzz"]),
    ("zvf-store", &["zvf-query", "zvf-write"]),
    ("zvf-query", &["zvf-cli"]),
    ("zvf-encode", &["zvf-write"]),
    ("zvf-edit", &["zvf-write", "zvf-cli"]),
    ("zvf-validate", &["zvf-write", "zvf-cli"]),
];

/// A fault as cargo-mutants lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    /// Place and change, by which it is chosen.
    name: String,
    file: String,
    package: String,
}

/// Tries `--sample N` faults (60) of the crates, or of `--crates A,B`, chosen by the day or by `--seed S`, and fails if more than one in twenty is not
/// found. `--list` only lists them.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = sh::option(arguments, "--sample")?.unwrap_or(SAMPLE);
    let seed = match sh::option(arguments, "--seed")? {
        Some(seed) => seed,
        None => test::day()?,
    };
    let only: Option<String> = sh::option(arguments, "--crates")?;
    let crates: Vec<_> = CRATES
        .iter()
        .filter(|(name, _)| {
            only.as_deref()
                .is_none_or(|only| only.split(',').any(|one| one == *name))
        })
        .collect();
    let tool = tools::installed("cargo-mutants", VERSION)?;
    let tree = copy()?;
    let faults = chosen(list(&tool, &tree, &crates)?, wanted, seed);
    println!("{} faults by seed {seed}", faults.len());
    for fault in &faults {
        println!("  {}", fault.name);
    }
    if sh::flag(arguments, "--list") {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let attempt = Attempt {
        tool,
        tree,
        seed,
        scratch,
    };
    let mut left = Vec::new();
    let mut unviable = 0;
    for (package, others) in crates {
        let mut of_crate: Vec<Fault> = faults.clone();
        of_crate.retain(|fault| fault.package == *package);
        for tests in [&[*package][..], others] {
            if !of_crate.is_empty() {
                let of_tests = attempt.not_found(package, of_crate, tests)?;
                of_crate = of_tests.missed;
                unviable += of_tests.unviable;
            }
        }
        left.extend(of_crate);
    }
    let tried = faults.len() - unviable;
    println!(
        "{} of {tried} faults found; {unviable} do not compile",
        tried - left.len()
    );
    for fault in &left {
        println!("not found: {}", fault.name);
    }
    match left.len() * 20 > tried {
        true => Err("more than one fault in twenty is not found".into()),
        false => Ok(()),
    }
}

/// The files of the current commit, in a folder below the target folder. What is not committed is not tried.
fn copy() -> Outcome<PathBuf> {
    let folder = sh::target().join("mutants");
    let (tree, archive) = (folder.join("tree"), folder.join("tree.tar"));
    if tree.exists() {
        std::fs::remove_dir_all(&tree)?;
    }
    std::fs::create_dir_all(&tree)?;
    let mut git = sh::command("git");
    git.args(["archive", "--format=tar", "--output"]);
    sh::run(git.arg(&archive).arg("HEAD"))?;
    let mut tar = sh::command("tar");
    sh::run(tar.arg("xf").arg(&archive).arg("-C").arg(&tree))?;
    std::fs::remove_file(archive)?;
    Ok(tree)
}

/// Every fault that the tool can make in some crates.
fn list(tool: &Path, tree: &Path, crates: &[&(&str, &[&str])]) -> Outcome<Vec<Fault>> {
    let mut command = sh::independent(tool);
    command
        .args(["mutants", "--list", "--json"])
        .current_dir(tree);
    for (name, _) in crates {
        command.args(["--package", name]);
    }
    read(&serde_json::from_str(&sh::capture(&mut command)?)?)
}

fn read(listed: &Value) -> Outcome<Vec<Fault>> {
    let faults = listed.as_array().ok_or("cargo-mutants lists nothing")?;
    let text = |fault: &Value, name: &str| fault[name].as_str().map(str::to_owned);
    let fault = |fault: &Value| {
        Some(Fault {
            name: text(fault, "name")?,
            file: text(fault, "file")?,
            package: text(fault, "package")?,
        })
    };
    let read: Option<Vec<Fault>> = faults.iter().map(fault).collect();
    Ok(read.ok_or("a fault without name or package")?)
}

/// About as many as are wanted, from everywhere in the list.
fn chosen(all: Vec<Fault>, wanted: usize, seed: u64) -> Vec<Fault> {
    let share = all.len().div_ceil(wanted.max(1));
    Sample::of("mutants", seed, false)
        .some(all, share)
        .collect()
}

/// What tests say of some faults.
struct Tried {
    missed: Vec<Fault>,
    /// How many do not compile, and are no faults.
    unviable: usize,
}

/// What all attempts have in common.
struct Attempt {
    tool: PathBuf,
    tree: PathBuf,
    seed: u64,
    scratch: Option<Scratch>,
}

impl Attempt {
    /// Runs the tests of some packages with each fault of a crate.
    fn not_found(&self, package: &str, faults: Vec<Fault>, tests: &[&str]) -> Outcome<Tried> {
        println!(
            "{} faults of {package}, tests of {}",
            faults.len(),
            tests.join(", ")
        );
        let output = sh::target().join("mutants").join(package);
        std::fs::create_dir_all(&output)?;
        let mut command: Command = sh::independent(&self.tool);
        command.current_dir(&self.tree);
        command.args(["mutants", "--in-place", "--baseline=skip", "--colors=never"]);
        command.args(["--timeout", LONGEST, "--build-timeout", "86400"]);
        command
            .args(["--package", package])
            .arg("--output")
            .arg(&output);
        for name in tests {
            command.args(["--test-package", name]);
        }
        let of_tests: Vec<&str> = test::FEATURES.split(',').map(str::trim).collect();
        let of_tests = of_tests.into_iter().filter(|feature| {
            let of = feature.split('/').next().unwrap_or_default();
            tests.contains(&of)
        });
        for feature in of_tests {
            command.args(["--features", feature]);
        }
        for fault in &faults {
            // The file, so that the tool need not look into others.
            command.args(["--file", &fault.file]);
            command.args(["--re", &format!("^{}$", escaped(&fault.name))]);
        }
        // Faults are built one after the other from the same sources: nothing else gains as much from incremental builds.
        command.env("CARGO_INCREMENTAL", "1");
        command.env(
            "CARGO_TARGET_DIR",
            sh::target().join("mutants").join("build"),
        );
        for name in [test::PROPERTY_SEED, sample::SEED] {
            command.env(name, self.seed.to_string());
        }
        if let Some(folder) = &self.scratch {
            command.env("TMPDIR", folder.path());
        }
        // 0: all were found; 2: some were not; 3: some tests did not end.
        let status = command.status()?;
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("cargo mutants ended with {status}").into());
        }
        let of = |list: &str| -> Outcome<Vec<Fault>> {
            let text = std::fs::read_to_string(output.join("mutants.out").join(list))?;
            let named = |fault: &&Fault| text.lines().any(|line| line == fault.name);
            Ok(faults.iter().filter(named).cloned().collect())
        };
        Ok(Tried {
            missed: of("missed.txt")?,
            unviable: of("unviable.txt")?.len(),
        })
    }
}

/// A regular expression for exactly this text. `<` is not escaped: behind a backslash it is the beginning of a word.
fn escaped(text: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    let escape = |c: char| special(c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_chosen_from_everywhere() -> Outcome {
        let one = |at: usize| serde_json::json!({"name": format!("a.rs:{at}:1: replace"), "file": "a.rs", "package": "a", "diff": ""});
        let all = read(&(0..100).map(one).collect())?;
        assert_eq!(all[3].name, "a.rs:3:1: replace");
        let few = chosen(all.clone(), 10, 7);
        assert_eq!(few, chosen(all.clone(), 10, 7));
        let tens: Vec<bool> = (0..10)
            .map(|ten| {
                few.iter()
                    .any(|fault| all[ten * 10..][..10].contains(fault))
            })
            .collect();
        assert_eq!((few.len(), tens), (10, vec![true; 10]));
        Ok(())
    }

    #[test]
    fn names_are_regular_expressions() {
        let name = "src/a.rs:1:2: replace <= with + in A<'_>::b -> (u8)";
        let wanted = r"src/a\.rs:1:2: replace <= with \+ in A<'_>::b -> \(u8\)";
        assert_eq!(escaped(name), wanted);
    }
}

//! `cargo xtask test`: the whole test suite with one line a test program.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use crate::{Outcome, python, sh};

/// Features of tests that `cargo test --workspace` leaves out: real servers, the Blosc encoder, maps and buckets of TET, buckets of
/// Caterva; and Parquet, whatever the program's own features are.
pub(crate) const FEATURES: &str = "zvf-trials/servers,zvf-write/zarrs,zvf-convert/parquet,zvf-tet/mmap,\
     zvf-tet/object_store,zvf-caterva/object_store";

const ALL: [&str; 4] = ["test", "--workspace", "--features", FEATURES];

/// The variable by which property tests draw, and what they draw by unless `--random` is given.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20261121");

/// Builds and runs `cargo test --workspace`, doc tests and the tests against real servers included. Property tests draw the
/// same cases in every run, so that a failure is the fault of a change; `--random` draws others. Arguments are passed on to
/// cargo.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let random = sh::flag(arguments, "--random");
    let arguments: Vec<&String> = arguments.iter().filter(|one| *one != "--random").collect();
    let servers = python::interpreter(python::SERVERS)?;
    println!("building the tests");
    build(&arguments)?;
    let (reader, writer) = std::io::pipe()?;
    let mut command = sh::cargo();
    command
        .args(ALL)
        .arg("--no-fail-fast")
        .args(&arguments)
        .env("ZVF_SERVERS_PYTHON", servers);
    if !random && std::env::var_os(SEED.0).is_none() {
        command.env(SEED.0, SEED.1);
    }
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The parent's copies of the writing end go away with the command, so that reading ends with the child.
    drop(command);

    let mut report = Report::default();
    for line in BufReader::new(reader).split(b'\n') {
        report.line(&String::from_utf8_lossy(&line?));
    }
    let status = child.wait()?;
    let Report {
        passed,
        failed,
        programs,
        ..
    } = report;
    println!("\n{programs} test programs");
    println!("{passed} passed, {failed} failed");
    if status.success() {
        Ok(())
    } else {
        Err("some tests failed".into())
    }
}

fn build(arguments: &[&String]) -> Outcome {
    let mut command = sh::cargo();
    command.args(ALL).args(["--no-run", "--quiet"]);
    sh::run(command.args(arguments))
}

/// Builds the tests, and with them the program, whose path is returned.
pub(crate) fn build_zvf() -> Outcome<PathBuf> {
    build(&[])?;
    Ok(sh::debug("zvf"))
}

/// Follows the output of `cargo test` and prints the short form of it.
#[derive(Default)]
struct Report {
    name: String,
    package: String,
    /// Lines of the current test program, shown when it fails.
    lines: Vec<String>,
    started: Option<Instant>,
    seen: u64,
    passed: u64,
    failed: u64,
    programs: u64,
}

impl Report {
    fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("Running ") {
            let name = self.program_name(rest);
            self.begin(&name);
        } else if let Some(rest) = text.strip_prefix("Doc-tests ") {
            self.begin(&format!("{} (documentation)", rest.replace('_', "-")));
        } else if let Some(rest) = text.strip_prefix("test result: ") {
            self.end(rest);
        } else {
            if text.starts_with("test ") {
                self.seen += 1;
                self.progress();
            } else if text.starts_with("error") {
                println!("{line}");
            }
            self.lines.push(line.to_owned());
        }
    }

    /// `unittests src/lib.rs (target/debug/deps/zvf_format-0123)` becomes `zvf-format (unit)`; the integration tests
    /// that follow belong to the same package.
    fn program_name(&mut self, text: &str) -> String {
        let (kind, file) = text.split_once(" (").unwrap_or((text, ""));
        if !kind.starts_with("unittests") {
            return format!("{} ({kind})", self.package);
        }
        let stem = file
            .trim_end_matches(')')
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        self.package = stem
            .rsplit_once('-')
            .map_or(stem, |(name, _)| name)
            .replace('_', "-");
        format!("{} (unit)", self.package)
    }

    fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.lines.clear();
        self.seen = 0;
        self.started = Some(Instant::now());
    }

    fn progress(&self) {
        if std::io::stdout().is_terminal() {
            print!("\r  {:<44} {:>5} ", self.name, self.seen);
            // A progress line that cannot be written is not worth an error.
            let _ = std::io::stdout().flush();
        }
    }

    fn end(&mut self, result: &str) {
        let (passed, failed) = (number(result, " passed"), number(result, " failed"));
        self.passed += passed;
        self.failed += failed;
        self.programs += u64::from(passed + failed > 0);
        if passed + failed == 0 {
            return;
        }
        let seconds = self
            .started
            .map_or(0.0, |start| start.elapsed().as_secs_f64());
        let back = if std::io::stdout().is_terminal() {
            "\r"
        } else {
            ""
        };
        println!(
            "{back}  {:<44} {passed:>5} passed {:>7.1} s",
            self.name, seconds
        );
        if failed > 0 {
            println!(
                "{}\n  {} failed: {failed}",
                self.lines.join("\n"),
                self.name
            );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        let line = "ok. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!((number(line, " passed"), number(line, " failed")), (12, 3));
    }

    #[test]
    fn programs_are_named_after_their_package() {
        let mut report = Report::default();
        let unit = "unittests src/lib.rs (target/debug/deps/zvf_format-01ab)";
        assert_eq!(report.program_name(unit), "zvf-format (unit)");
        let integration = "tests/main.rs (target/debug/deps/main-01ab)";
        assert_eq!(
            report.program_name(integration),
            "zvf-format (tests/main.rs)"
        );
    }
}

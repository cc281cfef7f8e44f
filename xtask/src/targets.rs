//! `cargo xtask targets`: machines of other word sizes and byte orders, and the browser's.
//!
//! Checks that the crates compile there: on two machines, on all with `--all`. With `--tests`, runs the tests of the codecs on a big-endian machine instead, which needs a compiler
//! and an emulator for it.

use std::process::{Command, Stdio};

use crate::{Outcome, sh};

/// A kind of machine, and what must compile for it.
struct Machine {
    target: &'static str,
    what: &'static str,
    /// Whether every submission checks it; the weekly lane checks all.
    always: bool,
    /// Arguments of `cargo check`.
    checks: &'static [&'static [&'static str]],
}

/// The codecs, and the documents of stores. What their default features have in C needs a compiler of C for the target.
const CODECS: &[&str] = &[
    "--no-default-features",
    "--features=zvf-format/alloc,zvf-blosc/alloc,zvf-tet/alloc",
    "--package=zvf-format",
    "--package=zvf-grid",
    "--package=zvf-blosc",
    "--package=zvf-meta",
    "--package=zvf-tet",
];

/// What reads stores whose objects the calling program fetches: without `object_store`, a runtime or C.
const READERS: &[&str] = &[
    "--package=zvf-query",
    "--no-default-features",
    "--features=pure",
];

const MACHINES: &[Machine] = &[
    Machine {
        target: "i686-unknown-linux-gnu",
        what: "32 bits",
        always: false,
        checks: &[CODECS, &["--package=zvf-query", "--no-default-features"]],
    },
    Machine {
        target: BIG,
        what: "big-endian",
        always: true,
        checks: &[CODECS],
    },
    Machine {
        target: WEB,
        what: "browsers, 32 bits",
        always: true,
        checks: &[CODECS, READERS],
    },
];

/// The machine of browsers.
const WEB: &str = "wasm32-unknown-unknown";

/// Crates that what reads without a runtime must not have.
const ABSENT: &[&str] = &["mio", "object_store", "reqwest", "socket2"];

/// The big-endian machine on which tests run.
const BIG: &str = "s390x-unknown-linux-gnu";
const LINKER: &str = "s390x-linux-gnu-gcc";
const EMULATORS: &[&str] = &["qemu-s390x-static", "qemu-s390x"];

/// Checks a big-endian machine and one with 32 bits, or with `--all` every one, if its standard library can be had, and says which one cannot; or runs
/// `--tests` on the big-endian one.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if sh::flag(arguments, "--tests") {
        return tests();
    }
    without_runtime()?;
    let all = sh::flag(arguments, "--all");
    for machine in MACHINES.iter().filter(|one| all || one.always) {
        let (target, what) = (machine.target, machine.what);
        if let Err(error) = install(target) {
            println!("{target} ({what}): not checked, {error}");
            continue;
        }
        for packages in machine.checks {
            println!("{target} ({what}): {}", packages.join(" "));
            let mut check = sh::cargo();
            check.args(["check", "--quiet", "--target", target]);
            sh::run(check.args(*packages))?;
        }
    }
    Ok(())
}

/// Checks that the crates that read need neither `object_store` nor the runtime of tokio.
fn without_runtime() -> Outcome {
    let mut command = sh::cargo();
    command.args(["tree", "--locked", "--prefix", "none", "--edges", "normal"]);
    command.args(["--package", "zvf-query", "--target", WEB]);
    command.args(["--no-default-features", "--features", "pure"]);
    let tree = sh::capture(command.args(["--format", "{p}|{f}"]))?;
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        let features = features.split(' ').next().unwrap_or_default();
        if ABSENT.contains(&name) || (name == "tokio" && features != "sync") {
            return Err(format!("zvf-query without backends has {line}").into());
        }
    }
    Ok(())
}

/// Runs the tests of the codecs on the big-endian machine.
fn tests() -> Outcome {
    let emulator = EMULATORS.iter().find(|name| is_there(name));
    let (Some(emulator), true) = (emulator, is_there(LINKER)) else {
        return Err(format!(
            "{BIG}: the tests need {LINKER}, its C library and {}: \
             apt install gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static",
            EMULATORS.join(" or ")
        )
        .into());
    };
    install(BIG)?;
    println!("{BIG}: tests of zvf-format, zvf-grid and zvf-blosc by {emulator}");
    let mut test = sh::cargo();
    test.env("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env(
            "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{emulator} -L /usr/s390x-linux-gnu"),
        )
        .args(["test", "--quiet", "--target", BIG, "--tests"]);
    sh::run(test.args([
        "--package=zvf-format",
        "--package=zvf-grid",
        "--package=zvf-blosc",
    ]))
}

/// Makes sure that the standard library of a target is installed.
pub(crate) fn install(target: &str) -> Outcome {
    let mut rustup = sh::command("rustup");
    rustup.args(["target", "add", target]);
    let output = rustup.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("rustup failed");
    Err(format!("its standard library cannot be installed: {last}").into())
}

/// Whether a program can be started.
pub(crate) fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null());
    command.stderr(Stdio::null()).status().is_ok()
}

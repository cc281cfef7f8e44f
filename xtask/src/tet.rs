//! The reference of TET: asked about our files and timed beside us, in a package of its own (`xtask/tetration`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, sh};

/// Cargo in the package that holds both, with the target folder of the tests: their dependencies serve it, too, where versions and
/// features are the same.
fn cargo(command: &str) -> Command {
    let mut cargo = sh::cargo();
    cargo.current_dir(sh::root().join("xtask").join("tetration"));
    cargo.env("CARGO_TARGET_DIR", sh::target());
    cargo.args([command, "--quiet", "--locked"]);
    cargo
}

/// Refuses warnings in the package.
pub(crate) fn clippy() -> Outcome {
    sh::run(cargo("clippy").args(["--", "-D", "warnings"]))
}

/// Builds the program: for measuring with release optimisation, which takes minutes, otherwise without.
fn peer(measures: bool) -> Outcome<PathBuf> {
    let mut build = cargo("build");
    if measures {
        build.arg("--release");
    }
    sh::run(&mut build)?;
    Ok(sh::target()
        .join(if measures { "release" } else { "debug" })
        .join(format!("tetration-peer{}", std::env::consts::EXE_SUFFIX)))
}

/// Asks for files made at random by one, judged and read by the other: `--cases N` (200), `--seed N` (1).
pub(crate) fn conformance(folder: &Path) -> Outcome<Command> {
    let built = match sh::given("tetration-peer") {
        Some(built) => built,
        None => peer(false)?,
    };
    let mut agree = sh::command(built);
    agree.arg("agree").arg(folder);
    Ok(agree)
}

/// Reads of a quarter of a gigabyte by both, and by `memcpy`: `--rounds N` (7).
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    let rounds: u64 = sh::option(arguments, "--rounds")?.unwrap_or(7).max(1);
    println!("\nTET, tetration 0.8.3:");
    sh::run(
        sh::command(peer(true)?)
            .arg("bench")
            .arg(sh::target().join("bench"))
            .arg(rounds.to_string()),
    )
}

//! `cargo xtask history`: readers and writers in many processes, with faults and kills, and whether what they saw can be.

use crate::{Outcome, python, sh, test};

/// Runs `--operations N` (20,000), for `--seconds T` at most (no limit), drawn by `--seed S` (1).
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let operations = sh::option(arguments, "--operations")?.unwrap_or(20_000_u64);
    let seconds = sh::option(arguments, "--seconds")?.unwrap_or(0_u64);
    let seed = sh::option(arguments, "--seed")?.unwrap_or(1_u64);
    let servers = python::interpreter()?;
    // As tests are built, and with them the programs of their package: nothing is compiled twice.
    sh::run(sh::cargo().args([
        "test",
        "--workspace",
        "--features",
        test::FEATURES,
        "--test",
        "faults",
        "--no-run",
        "--quiet",
    ]))?;
    // It stays where something was found.
    let folder = sh::target().join("history");
    sh::run(
        sh::command(sh::debug("zvf-history"))
            .arg("run")
            .args([operations, seconds, seed].map(|number| number.to_string()))
            .arg(folder)
            .env("ZVF_SERVERS_PYTHON", servers),
    )
}

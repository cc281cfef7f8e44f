//! `cargo xtask latency`: a cold 1 % box of a thousand chunks from a bucket whose every request waits.

use crate::{Outcome, python, sh};

/// Runs it with `--ms N` (50) of latency, `--rounds N` (5) times, and prints the medians.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let latency = sh::option(arguments, "--ms")?.unwrap_or(50_u64).max(1);
    let rounds = sh::option(arguments, "--rounds")?.unwrap_or(5_u64).max(1);
    let servers = python::interpreter()?;
    let program = sh::build_trials()?;
    let folder = sh::target().join("latency");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let result = sh::run(
        sh::command(program)
            .arg("latency")
            .args([latency.to_string(), rounds.to_string()])
            .arg(&folder)
            .env("ZVF_SERVERS_PYTHON", servers),
    );
    std::fs::remove_dir_all(&folder)?;
    result
}

//! `cargo xtask fuzz`: runs the fuzz targets on stable Rust.
//!
//! The bodies are in `crates/zvf-fuzz`, the fuzzer's program in `xtask/fuzz`. The committed corpus in `testdata/fuzz` is
//! read; what a run finds goes to `target/fuzz`, crashes to `testdata/fuzz/TARGET`, where `cargo test` replays them.

use std::path::{Path, PathBuf};

use crate::{Outcome, sh};

/// Coverage instrumentation without a nightly compiler: the passes that `-Zsanitizer` would switch on.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg",
    "fuzzing",
    "-Ccodegen-units=1",
];

/// Largest input that a fuzzer makes.
const LARGEST: &str = "-max_len=4096";

/// Runs one target, or all of them, `--seconds N` each (60).
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seconds = sh::option(arguments, "--seconds")?.unwrap_or(60_u64);
    let only = arguments.first().filter(|name| !name.starts_with("--"));
    let all = targets()?;
    if let Some(name) = only.filter(|name| !all.contains(name)) {
        return Err(format!("no target {name}; there are {}", all.join(", ")).into());
    }
    let program = build()?;
    let mut crashed = Vec::new();
    for name in all
        .iter()
        .filter(|name| only.is_none_or(|only| only == *name))
    {
        println!("\n== {name}, {seconds} s");
        if fuzz(&program, name, seconds).is_err() {
            crashed.push(name.as_str());
        }
    }
    if crashed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "crashes in {}; `cargo test -p zvf-fuzz` replays them",
        crashed.join(", ")
    )
    .into())
}

/// Names of the targets, as the table of `crates/zvf-fuzz` has them.
fn targets() -> Outcome<Vec<String>> {
    let table = sh::root().join("crates/zvf-fuzz/src/lib.rs");
    let text = std::fs::read_to_string(table)?;
    let (_, rows) = text
        .split_once("pub const TARGETS")
        .ok_or("crates/zvf-fuzz has no table of targets")?;
    let rows = rows.split_once("];").map_or(rows, |(rows, _)| rows);
    let name = |row: &str| {
        row.trim()
            .strip_prefix("(\"")?
            .split('"')
            .next()
            .map(str::to_owned)
    };
    Ok(rows.lines().filter_map(name).collect())
}

/// Builds the fuzzer, instrumented and optimised, and returns its path.
fn build() -> Outcome<PathBuf> {
    let target = sh::target().join("fuzz-build");
    let triple = sh::capture(sh::command("rustc").args(["-vV"]))?;
    let triple = triple
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("rustc names no host")?
        .to_owned();
    let mut command = sh::cargo();
    command
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", FLAGS.join(" "));
    // With an explicit target the flags leave build scripts alone.
    sh::run(command.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "zvf-fuzzer",
        "--target",
        &triple,
    ]))?;
    let name = format!("zvf-fuzzer{}", std::env::consts::EXE_SUFFIX);
    Ok(target.join(triple).join("release").join(name))
}

/// Runs one target on the committed corpus and what earlier runs found.
fn fuzz(program: &Path, name: &str, seconds: u64) -> Outcome {
    let found = sh::target().join("fuzz").join(name);
    let committed = sh::root().join("testdata").join("fuzz").join(name);
    std::fs::create_dir_all(&found)?;
    std::fs::create_dir_all(&committed)?;
    let mut command = sh::command(program);
    command.env("ZVF_FUZZ_TARGET", name);
    command.arg(&found).arg(&committed).arg(LARGEST);
    command.arg(format!("-max_total_time={seconds}"));
    command.args([
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-verbosity=0",
        "-print_final_stats=1",
    ]);
    command.arg(format!("-artifact_prefix={}/", committed.display()));
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", sh::show(&command)))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        println!("{report}");
        return Err(format!("{name} crashed: {}", output.status).into());
    }
    for line in report
        .lines()
        .filter_map(|line| line.strip_prefix("stat::"))
    {
        if line.starts_with("number_of_executed_units") || line.starts_with("new_units_added") {
            println!("  {line}");
        }
    }
    Ok(())
}

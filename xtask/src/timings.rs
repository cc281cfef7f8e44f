//! `cargo xtask timings`: what building costs, from an empty target folder.

use std::path::Path;
use std::time::Instant;

use crate::{Outcome, sh, stages, test};

/// One build that somebody waits for.
struct Job {
    name: &'static str,
    arguments: &'static [&'static str],
}

/// The jobs whose time the project promises; the library crates come behind them.
const JOBS: &[Job] = &[
    Job {
        name: "demo",
        arguments: sh::BUILD_LEAN_ZVF,
    },
    Job {
        name: "tests",
        arguments: &[
            "test",
            "--workspace",
            "--no-run",
            "--features",
            test::FEATURES,
        ],
    },
    Job {
        name: "install",
        arguments: &["build", "--release", "--package", "zvf-cli"],
    },
];

/// Builds each job, or the ones that are named, from nothing, and prints wall and CPU seconds and the size of the target folder. Cargo's own
/// report of each is kept below `target/timings`. Nothing else should run meanwhile.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let folder = sh::target().join("timings");
    std::fs::create_dir_all(&folder)?;
    sh::run(sh::cargo().args(["fetch", "--locked", "--quiet"]))?;
    println!("{:<16} {:>8} {:>8} {:>9}", "build", "wall s", "CPU s", "MB");
    let asked = |name: &str| arguments.is_empty() || arguments.iter().any(|one| one == name);
    for job in JOBS.iter().filter(|job| asked(job.name)) {
        let arguments: Vec<String> = job.arguments.iter().map(|&one| one.to_owned()).collect();
        measure(&folder, job.name, &arguments)?;
    }
    for name in libraries()?.iter().filter(|name| asked(name)) {
        measure(
            &folder,
            name,
            &["build".into(), "--package".into(), name.clone()],
        )?;
    }
    Ok(())
}

/// Names of the library crates.
fn libraries() -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(sh::root().join("crates"))? {
        let path = entry?.path();
        if let Some(name) = path
            .file_name()
            .filter(|_| path.join("src/lib.rs").is_file())
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn measure(folder: &Path, name: &str, arguments: &[String]) -> Outcome {
    let target = folder.join("build");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let (start, before) = (Instant::now(), stages::children()?);
    sh::run(
        sh::cargo()
            .args(arguments)
            .args(["--quiet", "--timings"])
            .env("CARGO_TARGET_DIR", &target),
    )?;
    let (wall, cpu) = (start.elapsed().as_secs_f64(), stages::children()? - before);
    let size: u64 = sh::files(&target)?
        .iter()
        .filter_map(|file| file.metadata().ok())
        .map(|found| found.len())
        .sum();
    println!("{name:<16} {wall:>8.1} {cpu:>8.1} {:>9}", size / 1_000_000);
    let report = target.join("cargo-timings/cargo-timing.html");
    if report.is_file() {
        std::fs::copy(report, folder.join(format!("{name}.html")))?;
    }
    Ok(())
}

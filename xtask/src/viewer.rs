//! `cargo xtask viewer`: the page of `zvf serve`, made of Neuroglancer's package of npm in `xtask/viewer`, for the feature `viewer`.

use std::path::PathBuf;
use std::process::Stdio;

use crate::{Outcome, sh};

/// What the viewer is made of; LICENSES.txt of the result begins with `NOTICE`.
const SOURCES: &[(&str, &str)] = &[
    (".npmrc", include_str!("../viewer/.npmrc")),
    ("NOTICE", include_str!("../viewer/NOTICE")),
    ("code.svg", include_str!("../viewer/code.svg")),
    ("images.js", include_str!("../viewer/images.js")),
    ("index.html", include_str!("../viewer/index.html")),
    ("licences.js", include_str!("../viewer/licences.js")),
    ("main.js", include_str!("../viewer/main.js")),
    (
        "package-lock.json",
        include_str!("../viewer/package-lock.json"),
    ),
    ("package.json", include_str!("../viewer/package.json")),
    ("vite.config.js", include_str!("../viewer/vite.config.js")),
];

/// The programs that make it.
const PROGRAMS: &[&str] = &["node", "npm"];

/// Builds the viewer into the folder `viewer` of the target folder, unless one of the same sources is there.
pub(crate) fn run(_: &[String]) -> Outcome {
    fetch()?;
    println!("{}", build()?.display());
    Ok(())
}

/// The folder of the sources and of the packages that they need: nothing is written into the workspace.
fn work() -> PathBuf {
    sh::target().join("viewer-npm")
}

/// The folder of the viewer.
fn folder() -> PathBuf {
    sh::target().join("viewer")
}

/// Whether the viewer was built of these sources.
fn is_built() -> bool {
    let built = |name: &str| std::fs::read_to_string(work().join(name)).unwrap_or_default();
    let same = SOURCES.iter().all(|(name, text)| built(name) == *text);
    same && work().join(BUILT).exists() && folder().join("index.html").exists()
}

/// Installs the packages that the viewer is made of, unless it was built.
///
/// # Errors
/// No Node.js; no registry of packages.
pub(crate) fn fetch() -> Outcome {
    if is_built() {
        return Ok(());
    }
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .copied()
        .filter(|one| !is_there(one))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "{} not found: the viewer needs Node.js 18 or later; Debian has it in the packages nodejs and npm",
            missing.join(" and ")
        )
        .into());
    }
    let work = work();
    std::fs::create_dir_all(&work)?;
    if work.join(BUILT).exists() {
        std::fs::remove_file(work.join(BUILT))?;
    }
    for (name, text) in SOURCES {
        std::fs::write(work.join(name), text)?;
    }
    let mut npm = sh::command("npm");
    npm.args(["ci", "--include=dev", "--loglevel=error"]);
    sh::run(npm.current_dir(&work))
}

fn is_there(program: &str) -> bool {
    let mut command = sh::command(program);
    command.arg("--version");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Builds the viewer of what [`fetch`] installed, unless it was built, and returns its folder.
pub(crate) fn build() -> Outcome<PathBuf> {
    let out = folder();
    if !is_built() {
        let mut vite = sh::command("node");
        vite.arg("node_modules/vite/bin/vite.js").arg("build");
        vite.args(["--logLevel", "warn", "--emptyOutDir", "--outDir"]);
        sh::run(vite.arg(&out).current_dir(work()))?;
        std::fs::write(work().join(BUILT), "")?;
    }
    Ok(out)
}

/// Is in the folder of the sources once the viewer was built of them.
const BUILT: &str = "built";

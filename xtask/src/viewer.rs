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
    if let Some(missing) = missing() {
        return Err(missing.into());
    }
    println!("{}", build()?.display());
    Ok(())
}

/// What to install before [`build`] can run, if something is missing.
pub(crate) fn missing() -> Option<String> {
    let found = |program: &&str| {
        let mut command = sh::command(program);
        command.arg("--version");
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let missing: Vec<&str> = PROGRAMS.iter().copied().filter(|one| !found(one)).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{} not found: the viewer needs Node.js 18 or later; Debian has it in the packages nodejs and npm",
            missing.join(" and ")
        )
    })
}

/// Builds the viewer and returns its folder.
pub(crate) fn build() -> Outcome<PathBuf> {
    // Sources, packages and all: nothing is written into the workspace.
    let (work, out) = (sh::target().join("viewer-npm"), sh::target().join("viewer"));
    let built = |name: &str| std::fs::read_to_string(work.join(name)).unwrap_or_default();
    let same = SOURCES.iter().all(|(name, text)| built(name) == *text);
    if same && work.join(BUILT).exists() && out.join("index.html").exists() {
        return Ok(out);
    }
    std::fs::create_dir_all(&work)?;
    if work.join(BUILT).exists() {
        std::fs::remove_file(work.join(BUILT))?;
    }
    for (name, text) in SOURCES {
        std::fs::write(work.join(name), text)?;
    }
    let mut npm = sh::command("npm");
    npm.args(["ci", "--include=dev", "--loglevel=error"]);
    sh::run(npm.current_dir(&work))?;
    let mut vite = sh::command("node");
    vite.arg("node_modules/vite/bin/vite.js").arg("build");
    vite.args(["--logLevel", "warn", "--emptyOutDir", "--outDir"])
        .arg(&out);
    sh::run(vite.current_dir(&work))?;
    std::fs::write(work.join(BUILT), "")?;
    Ok(out)
}

/// Is in the folder of the sources once the viewer was built of them.
const BUILT: &str = "built";

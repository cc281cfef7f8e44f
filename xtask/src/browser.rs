//! `zvf serve` beside programs of others: Neuroglancer in a headless Chromium, cloud-volume, the reader of annotations of the
//! neuroglancer package. `zvf import` of precomputed formats beside cloud-volume and `DracoPy`.

use std::path::Path;
use std::process::Stdio;

use crate::{Outcome, python, sh};

/// Packages that read and draw what is served.
const BROWSER: python::Environment = python::Environment::new(
    "pyenv-browser",
    "requirements-browser.txt",
    include_str!("../python/requirements-browser.txt"),
);

/// Serves the bundled stores to all of them. Without Chromium and its driver the drawing is left out; with `CI=true` that is an error.
/// Arguments are passed on: `--picture FILE` keeps a picture.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let zvf = sh::build_zvf()?;
    import(&zvf)?;
    let mut command = python::run_in(BROWSER, "browser.py")?;
    command
        .arg(zvf)
        .arg(sh::root().join("testdata"))
        .arg(sh::target().join("browser"))
        .args(arguments);
    let missing: Vec<&str> = ["chromium", "chromedriver"]
        .into_iter()
        .filter(|program| !is_there(program))
        .collect();
    if !missing.is_empty() {
        let what = format!(
            "{} not found: Debian has them in the packages chromium and chromium-driver",
            missing.join(" and ")
        );
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err(what.into());
        }
        println!("browser: {what}; nothing is drawn");
        command.arg("--no-browser");
    }
    sh::run(&mut command)
}

/// Folders of cloud-volume and of our own exports become stores, and the values are compared.
fn import(zvf: &Path) -> Outcome {
    let mut command = python::run_in(BROWSER, "precomputed_import.py")?;
    command.arg(zvf).arg(sh::root().join("testdata"));
    sh::run(command.arg(sh::target().join("precomputed")))
}

fn is_there(program: &str) -> bool {
    sh::command(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

//! `zvf serve` beside programs of others: Neuroglancer in a headless Chromium, cloud-volume, the reader of annotations of the
//! neuroglancer package. `zvf import` of precomputed formats beside cloud-volume and `DracoPy`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::{Outcome, python, sh, test, viewer};

/// Serves the bundled stores to all of them; the viewer that is embedded in a `zvf` draws them as well. Without Chromium and its
/// driver the drawing is left out, without npm the embedded viewer; with `CI=true` that is an error. Arguments are passed on:
/// `--picture FILE` and `--page FILE` keep a picture.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let zvf = sh::build_zvf()?;
    import(&zvf)?;
    let mut command = python::run_with(python::NEUROGLANCER, "browser.py")?;
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
        leave_out(what, "nothing is drawn")?;
        command.arg("--no-browser");
    } else if sh::flag(arguments, "--no-browser") {
        println!("browser: nothing is drawn");
    } else if let Err(what) = viewer::fetch() {
        leave_out(what.to_string(), "the embedded viewer is not drawn")?;
    } else {
        command.arg("--viewer").arg(build_with_viewer()?);
    }
    sh::run(&mut command)
}

/// Says what is left out and why.
///
/// # Errors
/// With `CI=true`, where nothing may be.
pub(crate) fn leave_out(missing: String, what: &str) -> Outcome {
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        return Err(missing.into());
    }
    println!("browser: {missing}; {what}");
    Ok(())
}

/// The program with the viewer in it, once the tests of the server's part in it have passed. The features of the tests are asked for so that all crates but two are those of the tests.
fn build_with_viewer() -> Outcome<PathBuf> {
    viewer::build()?;
    let features = format!("{},zvf-cli/viewer", test::FEATURES);
    for asked in [
        ["test", "--test", "viewer"],
        ["build", "--example", "zvf-viewer"],
    ] {
        let everything = ["--quiet", "--workspace", "--features", &features];
        sh::run(sh::cargo().args(asked).args(everything))?;
    }
    Ok(sh::debug("examples/zvf-viewer"))
}

/// Folders of cloud-volume and of our own exports become stores, and the values are compared.
fn import(zvf: &Path) -> Outcome {
    let mut command = python::run_with(python::NEUROGLANCER, "precomputed_import.py")?;
    command.arg(zvf).arg(sh::root().join("testdata"));
    sh::run(command.arg(sh::target().join("precomputed")))
}

pub(crate) fn is_there(program: &str) -> bool {
    sh::command(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

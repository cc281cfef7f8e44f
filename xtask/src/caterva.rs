//! Caterva and b2nd arrays beside the two reference packages: `cargo xtask conformance --caterva` and
//! `cargo xtask bench --only caterva`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, python, sh, test};

/// Asks for arrays of python-blosc2 and caterva, read by us, and ours, read by them.
pub(crate) fn conformance(folder: &Path) -> Outcome<Command> {
    let built = match sh::given("zvf-caterva-trials") {
        Some(built) => built,
        None => program(false)?,
    };
    let mut script = python::run_with(python::CATERVA, "caterva_conformance.py")?;
    script.arg(built).arg(folder);
    Ok(script)
}

/// Slices of a 512 MiB array by python-blosc2 and by us, in the same run. Arguments are passed on.
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    sh::run(
        python::run_with(python::CATERVA, "caterva_bench.py")?
            .arg(program(true)?)
            .arg(sh::target().join("bench-caterva"))
            .args(arguments),
    )
}

/// The built program that reads and writes on command: as the tests are built, or with release optimisation.
fn program(release: bool) -> Outcome<PathBuf> {
    const NAME: &str = "zvf-caterva-trials";
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--bin", NAME]);
    sh::run(match release {
        true => build.args(["--release", "--package", NAME]),
        false => build.args(["--workspace", "--features", test::FEATURES]),
    })?;
    Ok(match release {
        true => sh::release(NAME),
        false => sh::debug(NAME),
    })
}

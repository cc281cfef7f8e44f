//! Caterva and b2nd arrays beside the two reference packages: `cargo xtask conformance --caterva` and
//! `cargo xtask bench --only caterva`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, python, sh};

/// Asks for arrays of python-blosc2 and caterva, read by us, and ours, read by them.
pub(crate) fn conformance(folder: &Path) -> Outcome<Command> {
    let built = match sh::given("zvf-caterva-trials") {
        Some(built) => built,
        None => program(&[], "debug")?,
    };
    let mut script = python::run_with(python::CATERVA, "caterva_conformance.py")?;
    script.arg(built).arg(folder);
    Ok(script)
}

/// Slices of a 512 MiB array by python-blosc2 and by us, in the same run. Arguments are passed on.
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    sh::run(
        python::run_with(python::CATERVA, "caterva_bench.py")?
            .arg(program(&["--release"], "release")?)
            .arg(sh::target().join("bench-caterva"))
            .args(arguments),
    )
}

/// The built program that reads and writes on command.
fn program(options: &[&str], folder: &str) -> Outcome<PathBuf> {
    sh::run(
        sh::cargo()
            .args(["build", "--quiet", "--package", "zvf-caterva-trials"])
            .args(options),
    )?;
    let name = format!("zvf-caterva-trials{}", std::env::consts::EXE_SUFFIX);
    Ok(sh::target().join(folder).join(name))
}

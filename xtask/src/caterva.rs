//! Caterva and b2nd arrays beside the two reference packages: `cargo xtask conformance --caterva` and
//! `cargo xtask bench --only caterva`.

use std::path::PathBuf;

use crate::{Outcome, python, sh};

/// Arrays of python-blosc2 and caterva, read by us, and ours, read by them. Arguments are passed on.
pub(crate) fn conformance(arguments: &[String]) -> Outcome {
    sh::run(
        python::run_in(python::CATERVA, "caterva_conformance.py")?
            .arg(program(&[], "debug")?)
            .arg(sh::target().join("conformance-caterva"))
            .args(arguments),
    )
}

/// Slices of a 512 MiB array by python-blosc2 and by us, in the same run. Arguments are passed on.
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    sh::run(
        python::run_in(python::CATERVA, "caterva_bench.py")?
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

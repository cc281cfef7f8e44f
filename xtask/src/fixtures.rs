//! `cargo xtask fixtures`: the bundled stores, made again from the input that their archives carry.

use crate::{Outcome, python, sh};

/// Writes every bundled store again with the Python package and compares decoded cells and documents.
pub(crate) fn run(_: &[String]) -> Outcome {
    let folder = sh::target().join("fixtures");
    sh::run(
        python::run("fixtures.py")?
            .arg(sh::root().join("testdata"))
            .arg(folder),
    )
}

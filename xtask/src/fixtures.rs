//! `cargo xtask fixtures`: the bundled stores, made again from the input that their archives carry.

use crate::{Outcome, python, sh};

/// Writes every bundled store again, with the Python package or with the writers of `made.py`, and compares decoded
/// cells and documents. With `write`, the made ones are committed anew instead.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let testdata = sh::root().join("testdata");
    sh::run(python::run("made.py")?.arg(&testdata).args(arguments))?;
    if arguments.is_empty() {
        let folder = sh::target().join("fixtures");
        sh::run(python::run("fixtures.py")?.arg(testdata).arg(folder))?;
    }
    Ok(())
}

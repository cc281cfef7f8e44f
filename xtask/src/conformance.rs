//! `cargo xtask conformance`: stores of the released Python package, read by us, compared with what went in.

use crate::{Outcome, python, sh};

/// Runs `python/conformance.py` with the built `zvf`; arguments are passed on.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let program = sh::build_zvf()?;
    let folder = sh::target().join("conformance");
    sh::run(
        python::run("conformance.py")?
            .arg(program)
            .arg(folder)
            .args(arguments),
    )
}

//! `cargo xtask conformance`: stores of the released Python packages, read by us, compared with what went in.

use crate::{Outcome, python, sh};

/// Runs `python/conformance.py` with the built `zvf` in both environments: stores of format 0.9, then of 0.7. Arguments
/// are passed on.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let program = sh::build_zvf()?;
    for (environment, folder) in [
        (python::NEW, "conformance"),
        (python::OLD, "conformance-0.2"),
    ] {
        sh::run(
            python::run_in(environment, "conformance.py")?
                .arg(&program)
                .arg(sh::target().join(folder))
                .args(arguments),
        )?;
    }
    Ok(())
}

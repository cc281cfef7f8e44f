//! `cargo xtask accelerate`: the tests of the released Python package, without and with its hot functions answered by ours.

use crate::{Outcome, python, sh, wheel};

/// Runs both, and fails where they differ. `--release` takes the wheel that users get; arguments after `--` go to pytest.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (arguments, filters) = match arguments.iter().position(|one| one == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let wheel = wheel::wheel(sh::flag(arguments, "--release"))?;
    let installed = wheel::install(&wheel)?;
    sh::run(
        python::cached(&mut sh::command(&installed))
            .env("OMP_NUM_THREADS", "1")
            .arg(python::script("accelerate.py"))
            .arg(sh::target().join("accelerate"))
            .args(filters)
            .current_dir(sh::target()),
    )
}

//! `cargo xtask peers`: the same jobs by our Python package and by what its users would pick instead.

use crate::{Outcome, python, sh, wheel};

/// Builds the wheel as users get it, or with `--debug` as for tests, or takes the one of `--wheel FILE`, and runs the jobs. All other
/// arguments go to `xtask/python/peers.py`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let given: Option<String> = sh::option(arguments, "--wheel")?;
    let wheel = match given {
        Some(path) => path.into(),
        None => wheel::wheel(!sh::flag(arguments, "--debug"))?,
    };
    let others = sh::without(arguments, &[("--debug", 1), ("--wheel", 2)]);
    let installed = wheel::install(&wheel)?;
    sh::run(
        python::cached(&mut sh::command(&installed))
            .env("ZARR_THREADING__MAX_WORKERS", "64")
            .args(["-W", "ignore"])
            .arg(python::script("peers.py"))
            .arg(sh::target().join("peers"))
            .args(others)
            .current_dir(sh::target()),
    )
}

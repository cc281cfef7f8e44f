//! `cargo xtask levels`: coarse levels of large datasets, compared with what went in.

use crate::{Outcome, python, sh};

/// Runs `levels.py` with the release program; `--debug` with one that is not optimised. The other arguments are the script's.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !cfg!(unix) {
        return Err("the peak of a process is only known on Unix".into());
    }
    let debug = sh::flag(arguments, "--debug");
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--package", "zvf-cli", "--bin", "zvf"]);
    if !debug {
        build.arg("--release");
    }
    sh::run(&mut build)?;
    let program = sh::target().join(if debug { "debug" } else { "release" });
    let folder = sh::target().join("levels");
    let mut script = python::run("levels.py")?;
    script.arg(program.join("zvf")).arg(&folder);
    let rest = arguments.iter().filter(|one| *one != "--debug");
    let done = sh::run(script.args(rest));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    done
}

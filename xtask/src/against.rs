//! `cargo xtask against OLD [NEW]`: the same jobs by two builds of the program, in turn.

use std::path::PathBuf;

use crate::{Outcome, python, sh};

/// Runs `against.py` with the program OLD and the program NEW, or with the release program of this checkout. The other arguments are
/// the script's.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !cfg!(unix) {
        return Err("the peak of a process is only known on Unix".into());
    }
    let given = arguments.iter().take_while(|one| !one.starts_with("--"));
    let given: Vec<PathBuf> = given.map(PathBuf::from).collect();
    let (old, new) = match given.as_slice() {
        [old] => {
            let mut build = sh::cargo();
            build.args(["build", "--quiet", "--release", "--package", "zvf-cli"]);
            sh::run(build.args(["--bin", "zvf"]))?;
            (old.clone(), sh::target().join("release").join("zvf"))
        }
        [old, new] => (old.clone(), new.clone()),
        _ => return Err("cargo xtask against OLD [NEW]: two programs to compare".into()),
    };
    let folder = sh::target().join("against");
    let mut script = python::run("against.py")?;
    script.arg(old).arg(new).arg(&folder);
    let done = sh::run(script.args(arguments.iter().skip(given.len())));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    done
}

//! The private Python environment under the target folder.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::sh;

/// What the environment holds, one package a line; also in `python/requirements.txt`.
const REQUIREMENTS: &str = include_str!("../python/requirements.txt");

/// Returns the environment's interpreter; makes the environment first where it is missing or out of date.
///
/// Nothing is installed outside of `target/pyenv`.
pub(crate) fn interpreter() -> Outcome<PathBuf> {
    let folder = sh::target().join("pyenv");
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let stamp = folder.join("requirements.txt");
    if python.is_file() && std::fs::read_to_string(&stamp).is_ok_and(|found| found == REQUIREMENTS)
    {
        return Ok(python);
    }
    println!(
        "making a private Python environment in {}",
        folder.display()
    );
    sh::run(
        sh::command("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )
    .map_err(|error| format!("python3 with its venv module is needed: {error}"))?;
    let list = script("requirements.txt");
    sh::run(
        sh::command(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(list),
    )?;
    std::fs::write(stamp, REQUIREMENTS)?;
    Ok(python)
}

/// A command that runs one script of `xtask/python` in the environment.
pub(crate) fn run(name: &str) -> Outcome<Command> {
    let mut command = sh::command(interpreter()?);
    // Library threads would make timings and the machine's load depend on luck.
    command
        .env("OMP_NUM_THREADS", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg("-W")
        .arg("ignore")
        .arg(script(name));
    Ok(command)
}

fn script(name: &str) -> PathBuf {
    sh::root().join("xtask").join("python").join(name)
}

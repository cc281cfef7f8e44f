//! The private Python environments under the target folder.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::sh;

/// One environment: a folder under the target folder and what it holds, one package a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment {
    folder: &'static str,
    list: &'static str,
    requirements: &'static str,
}

impl Environment {
    /// An environment in a folder below the target folder, by the name and the text of its list of packages.
    pub(crate) const fn new(
        folder: &'static str,
        list: &'static str,
        requirements: &'static str,
    ) -> Self {
        Self {
            folder,
            list,
            requirements,
        }
    }
}

/// The released package of format 0.9 and everything else that scripts use.
pub(crate) const NEW: Environment = Environment {
    folder: "pyenv",
    list: "requirements.txt",
    requirements: include_str!("../python/requirements.txt"),
};

/// The released package of format 0.7, which cannot live beside the other one.
pub(crate) const OLD: Environment = Environment {
    folder: "pyenv-0.2",
    list: "requirements-0.2.txt",
    requirements: include_str!("../python/requirements-0.2.txt"),
};

/// Servers that the tests of `zvf-trials` start.
pub(crate) const SERVERS: Environment = Environment {
    folder: "pyenv-servers",
    list: "requirements-servers.txt",
    requirements: include_str!("../python/requirements-servers.txt"),
};

/// The reference packages of Caterva and b2nd arrays.
pub(crate) const CATERVA: Environment = Environment {
    folder: "pyenv-caterva",
    list: "requirements-caterva.txt",
    requirements: include_str!("../python/requirements-caterva.txt"),
};

/// Returns the environment's interpreter; makes the environment first where it is missing or out of date.
///
/// Nothing is installed outside of the target folder.
pub(crate) fn interpreter(environment: Environment) -> Outcome<PathBuf> {
    let folder = sh::target().join(environment.folder);
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let stamp = folder.join("requirements.txt");
    if python.is_file()
        && std::fs::read_to_string(&stamp).is_ok_and(|found| found == environment.requirements)
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
    let list = script(environment.list);
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
    std::fs::write(stamp, environment.requirements)?;
    Ok(python)
}

/// A command that runs one script of `xtask/python` in the environment of format 0.9.
pub(crate) fn run(name: &str) -> Outcome<Command> {
    run_in(NEW, name)
}

/// A command that runs one script of `xtask/python` in an environment.
pub(crate) fn run_in(environment: Environment, name: &str) -> Outcome<Command> {
    let mut command = sh::command(interpreter(environment)?);
    // Library threads would make timings and the machine's load depend on luck.
    command
        .env("OMP_NUM_THREADS", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg("-W")
        .arg("ignore")
        .arg(script(name));
    Ok(command)
}

pub(crate) fn script(name: &str) -> PathBuf {
    sh::root().join("xtask").join("python").join(name)
}

//! The private Python environment under the target folder, and the folders of packages that it cannot hold.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::{packages, sh};

/// Packages that some scripts get before those of the environment, by their section of `requirements.lock`, which says why they are
/// not in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before(&'static str);

/// The released package of format 0.7.
pub(crate) const OLD: Before = Before("zarr-vectors-0.2");

/// One of the two reference packages of Caterva arrays.
pub(crate) const CATERVA: Before = Before("caterva");

/// The package of Neuroglancer, which tells a viewer what to draw.
pub(crate) const NEUROGLANCER: Before = Before("neuroglancer");

/// What the tests of `python/tests/large` compare with.
pub(crate) const LARGE: Before = Before("large");

/// Returns the interpreter of the environment; makes the environment first where it is missing or out of date.
pub(crate) fn interpreter() -> Outcome<PathBuf> {
    environment("environment", "pyenv")
}

/// The same of an environment for a section of `requirements.lock`, in a folder below the target folder: nothing is installed outside
/// of that.
pub(crate) fn environment(section: &str, folder: &str) -> Outcome<PathBuf> {
    let home = sh::target().join(folder);
    let python = program(&home);
    made_once(section, &home, &python, || {
        let version = "import sys; sys.exit(sys.version_info < (3, 11))";
        sh::run(sh::command("python3").args(["-c", version]))
            .and_then(|()| {
                let venv = ["-m", "venv", "--clear"];
                sh::run(sh::command("python3").args(venv).arg(&home))
            })
            .map_err(|error| {
                format!("python3, 3.11 or newer, with its venv module is needed: {error}").into()
            })
    })?;
    Ok(python)
}

impl Before {
    /// The folder of the packages, to be named in [`PATH`]; makes it first where it is missing or out of date.
    pub(crate) fn folder(self) -> Outcome<PathBuf> {
        let python = interpreter()?;
        let home = sh::target().join("pyenv-before").join(self.0);
        made_once(self.0, &home, &python, || {
            if home.exists() {
                std::fs::remove_dir_all(&home)?;
            }
            Ok(std::fs::create_dir_all(&home)?)
        })?;
        Ok(home)
    }
}

/// The variable that names folders of packages which come before those of an environment.
pub(crate) const PATH: &str = "PYTHONPATH";

/// The interpreter of the environment in a folder.
pub(crate) fn program(home: &Path) -> PathBuf {
    let programs = home.join(if cfg!(windows) { "Scripts" } else { "bin" });
    programs.join(format!("python{}", std::env::consts::EXE_SUFFIX))
}

/// Has `home` hold what a section of the lock says: if it does not, it is emptied by `clear`, and filled by the pip of `python`.
fn made_once(
    section: &str,
    home: &Path,
    python: &Path,
    clear: impl FnOnce() -> Outcome,
) -> Outcome {
    let wanted = packages::section(section)?;
    let stamp = home.join("requirements.txt");
    // Stages of CI run side by side, and several of them may be the first one.
    std::fs::create_dir_all(sh::target())?;
    let turn = File::create(sh::target().join("pyenv.lock"))?;
    turn.lock()?;
    if python.is_file() && std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("making {} from requirements.lock", home.display());
    clear()?;
    // The name tells that it is complete.
    let list = home.join("requirements.part.txt");
    std::fs::write(&list, wanted)?;
    let mut install = sh::command(python);
    install.args(["-m", "pip", "install", "--quiet"]);
    install.args(["--disable-pip-version-check", "--require-hashes"]);
    install.arg("--requirement").arg(&list);
    if !python.starts_with(home) {
        install.arg("--no-deps").arg("--target").arg(home);
    }
    sh::run(&mut install)?;
    Ok(std::fs::rename(list, stamp)?)
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

/// The same with packages that come before those of the environment.
pub(crate) fn run_with(before: Before, name: &str) -> Outcome<Command> {
    let folder = before.folder()?;
    let mut command = run(name)?;
    command.env(PATH, folder);
    Ok(command)
}

pub(crate) fn script(name: &str) -> PathBuf {
    packages::path(name)
}

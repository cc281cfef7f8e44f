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
    let home = sh::target().join("pyenv");
    let python = program(&home);
    made_once("environment", &home, &python, || new(&home))?;
    Ok(python)
}

/// Returns the interpreter of an environment without packages.
pub(crate) fn bare() -> Outcome<PathBuf> {
    let home = sh::target().join("pyenv-bare");
    let python = program(&home);
    if !python.is_file() {
        new(&home)?;
    }
    Ok(python)
}

/// Makes an environment that has pip alone, with the `python3` that is found first.
fn new(home: &Path) -> Outcome {
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    sh::run(sh::command("python3").args(["-c", version]))
        .and_then(|()| {
            let venv = ["-m", "venv", "--clear"];
            sh::run(sh::command("python3").args(venv).arg(home))
        })
        .map_err(|error| {
            format!("python3, 3.11 or newer, with its venv module is needed: {error}").into()
        })
}

/// mdBook, which builds the site.
pub(crate) const SITE: Before = Before("site");

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

/// Has `home` hold what a section of the lock says: if it does not, it is emptied by `clear`, and filled.
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
    let into = (!python.starts_with(home)).then_some(home);
    install(python, &list, into)?;
    Ok(std::fs::rename(list, stamp)?)
}

/// Installs what a list says into the environment of `python`, or into a folder, by uv, which takes a tenth of the time of pip, or by pip
/// where uv cannot.
fn install(python: &Path, list: &Path, into: Option<&Path>) -> Outcome {
    let arguments = |command: &mut Command| {
        command.args(["--quiet", "--require-hashes", "--requirement"]);
        command.arg(list);
        if let Some(folder) = into {
            command.arg("--no-deps").arg("--target").arg(folder);
        }
    };
    let by_uv = uv(python).and_then(|mut uv| {
        uv.args(["pip", "install", "--python"]).arg(python);
        arguments(&mut uv);
        sh::run(&mut uv)
    });
    let Err(error) = by_uv else {
        return Ok(());
    };
    println!("{error}: pip is tried");
    let mut pip = sh::command(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"]);
    arguments(&mut pip);
    sh::run(&mut pip)
}

/// The program uv, of the section `lock`, with the indexes and certificates that pip is configured with. The pip of `python` installs it, once.
pub(crate) fn uv(python: &Path) -> Outcome<Command> {
    let home = sh::target().join("uv");
    let wanted = packages::section("lock")?;
    let stamp = home.join("requirements.txt");
    if std::fs::read_to_string(&stamp).map_or(true, |found| found != wanted) {
        std::fs::create_dir_all(&home)?;
        let list = home.join("requirements.part.txt");
        std::fs::write(&list, wanted)?;
        let mut pip = sh::command(python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        pip.args(["--require-hashes", "--upgrade", "--target"])
            .arg(&home);
        sh::run(pip.arg("--requirement").arg(&list))?;
        std::fs::rename(list, stamp)?;
    }
    let mut command = sh::command(home.join("bin").join("uv"));
    let configured = sh::capture(sh::command(python).args(["-m", "pip", "config", "list"]))?;
    for (option, name) in [
        ("index-url", "UV_DEFAULT_INDEX"),
        ("extra-index-url", "UV_INDEX"),
        ("find-links", "UV_FIND_LINKS"),
        ("cert", "SSL_CERT_FILE"),
    ] {
        if let Some(value) =
            setting(&configured, option).filter(|_| std::env::var_os(name).is_none())
        {
            command.env(name, value);
        }
    }
    Ok(command)
}

/// The value of an option in what `pip config list` prints, as in `global.cert='/etc/cert.pem'`; the environment comes before files.
fn setting<'c>(configured: &'c str, option: &str) -> Option<&'c str> {
    let values = || {
        configured.lines().filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            let (file, found) = name.rsplit_once('.')?;
            (found == option).then_some((file, value.trim_matches('\'')))
        })
    };
    let mut from_environment = values().filter(|(file, _)| *file == ":env:");
    let found = from_environment.next().or_else(|| values().next_back());
    found.map(|(_, value)| value)
}

/// Has a Python keep compiled modules in the target folder: beside the sources they are not wanted, and without them each start
/// compiles them again.
pub(crate) fn cached(command: &mut Command) -> &mut Command {
    command.env("PYTHONPYCACHEPREFIX", sh::target().join("pycache"))
}

/// A command that runs one script of `xtask/python` in the environment.
pub(crate) fn run(name: &str) -> Outcome<Command> {
    let mut command = sh::command(interpreter()?);
    // Library threads would make timings and the machine's load depend on luck.
    cached(&mut command)
        .env("OMP_NUM_THREADS", "1")
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

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn settings_of_pip_are_found() {
        let text = "global.index-url='https://one/simple'\n:env:.cert='/a=b'\ninstall.cert='/c'\n";
        assert_eq!(setting(text, "index-url"), Some("https://one/simple"));
        assert_eq!(setting(text, "cert"), Some("/a=b"));
        assert_eq!(setting(text, "find-links"), None);
    }
}

//! `cargo xtask python`: builds the Python package, installs it into a fresh environment, and runs its tests there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::scratch::Scratch;
use crate::{Outcome, python, sh};

/// Builds, installs, tests. `--release` builds the wheel that users get; `--build` does no more than build; `--all` runs the tests that
/// need large packages, too. Arguments after `--` go to pytest.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (arguments, filters) = match arguments.iter().position(|one| one == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let mut times = Vec::new();
    let mut start = Instant::now();
    let mut lap = |name: &'static str| {
        times.push((name, start.elapsed()));
        start = Instant::now();
    };
    let tools = python::interpreter()?;
    lap("tools");
    let wheel = build(&tools, sh::flag(arguments, "--release"))?;
    lap("wheel");
    println!("{}", wheel.display());
    if sh::flag(arguments, "--build") {
        return Ok(());
    }
    let installed = install(&wheel)?;
    lap("install");
    import_time(&installed)?;
    let folder = sh::root().join("python");
    let sample = folder.join("samples").join("tour.py");
    for what in [&["-p".as_ref(), "zvf".as_ref()], &[sample.as_os_str()][..]] {
        sh::run(
            sh::command(&tools)
                .args(["-m", "mypy", "--strict", "--no-error-summary"])
                .arg("--python-executable")
                .arg(&installed)
                .arg("--cache-dir")
                .arg(sh::target().join("mypy"))
                .args(what)
                // The installed package is looked at, not the sources.
                .current_dir(sh::target()),
        )?;
    }
    lap("mypy");
    let large = folder.join("tests").join("large");
    let scratch = Scratch::new()?;
    let mut tests = pytest(&installed, scratch.as_ref());
    tests.arg(folder.join("tests")).arg("--ignore").arg(&large);
    sh::run(tests.args(filters))?;
    lap("pytest");
    if sh::flag(arguments, "--all") {
        let packages = python::LARGE.folder()?;
        lap("large tools");
        let mut tests = pytest(&installed, scratch.as_ref());
        tests.env(python::PATH, packages).arg(&large);
        sh::run(tests.args(filters))?;
        lap("large pytest");
    }
    for (name, time) in times {
        println!("  {name:<12} {:>6.1} s", time.as_secs_f64());
    }
    Ok(())
}

/// Pytest in an environment.
fn pytest(python: &Path, scratch: Option<&Scratch>) -> Command {
    let mut command = sh::command(python);
    python::cached(&mut command)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg("--basetemp")
        .arg(
            scratch
                .map_or_else(sh::target, |scratch| scratch.path().into())
                .join("pytest"),
        )
        .current_dir(sh::target());
    command
}

/// The feature of the extension by which it has the features of the workspace's tests.
pub(crate) const AS_TESTED: &str = "as-tested";

/// Builds the wheel of tests, installs it into a fresh environment, and returns the interpreter there.
pub(crate) fn environment() -> Outcome<PathBuf> {
    install(&build(&python::interpreter()?, false)?)
}

/// Builds the wheel and returns its path. A wheel for tests is built as the tests of the workspace are, so that only the extension and PyO3
/// are compiled; the stage `features` of CI compares the features.
fn build(tools: &Path, release: bool) -> Outcome<PathBuf> {
    let out = sh::target().join(if release { "wheels" } else { "wheels-dev" });
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    let mut command = sh::independent(tools);
    command
        .args(["-m", "maturin", "build", "--locked", "--quiet"])
        .arg("--manifest-path")
        .arg(sh::root().join("python").join("Cargo.toml"))
        .arg("--target-dir")
        .arg(sh::target())
        .arg("--out")
        .arg(&out);
    if release {
        command.arg("--release");
    } else {
        // Neither packed nor made fit for other systems: it is installed once, here.
        command.args(["--profile", "dev", "--features", AS_TESTED]);
        command.args(["--compression-method", "stored", "--auditwheel", "skip"]);
    }
    sh::run(&mut command)?;
    let mut wheels = std::fs::read_dir(&out)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    wheels.retain(|path| path.extension().is_some_and(|ending| ending == "whl"));
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        found => Err(format!("found {} wheels, expected one", found.len()).into()),
    }
}

/// Builds the wheel for another task, and returns its path.
pub(crate) fn wheel(release: bool) -> Outcome<PathBuf> {
    build(&python::interpreter()?, release)
}

/// Installs the wheel into a new environment below the target folder that sees the packages of the other one, and returns its
/// interpreter.
pub(crate) fn install(wheel: &Path) -> Outcome<PathBuf> {
    let tools = python::interpreter()?;
    let folder = sh::target().join("pyenv-fresh");
    sh::run(
        sh::command(&tools)
            .args(["-m", "venv", "--clear", "--without-pip"])
            .arg(&folder),
    )?;
    let python = python::program(&folder);
    let place = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let packages = |python: &Path| sh::capture(sh::command(python).args(["-c", place]));
    let (theirs, ours) = (packages(&tools)?, packages(&python)?);
    std::fs::write(Path::new(ours.trim()).join("tools.pth"), theirs)?;
    sh::run(
        sh::command(&tools)
            .args(["-m", "pip", "--python"])
            .arg(&python)
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--no-index"])
            .arg(wheel),
    )?;
    Ok(python)
}

/// Prints how long an import takes, the median of five; the extension of tests is larger than that of users.
fn import_time(python: &Path) -> Outcome {
    let code = "import time; start = time.perf_counter(); import zvf; print(1000 * (time.perf_counter() - start))";
    let mut times = Vec::new();
    for _ in 0..5 {
        let mut command = sh::command(python);
        command.args(["-c", code]).current_dir(sh::target());
        times.push(sh::capture(&mut command)?.trim().parse::<f64>()?);
    }
    times.sort_by(f64::total_cmp);
    println!("import zvf: {:.0} ms", times[2]);
    Ok(())
}

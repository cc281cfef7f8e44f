//! `cargo xtask python`: builds the Python package, installs it into a fresh environment, and runs its tests there.

use std::collections::BTreeMap;
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
    check_shared()?;
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
    lint()?;
    lap("clippy");
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

/// Builds the wheel of tests, installs it into a fresh environment, and returns the interpreter there.
pub(crate) fn environment() -> Outcome<PathBuf> {
    install(&build(&python::interpreter()?, false)?)
}

/// Builds the wheel and returns its path. A wheel for tests is built as the tests of the workspace are, so that the crates of other
/// people are compiled once.
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
        command.args(["--profile", "dev", "--features", "as-tested"]);
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

/// What clippy and rustfmt say of the extension.
fn lint() -> Outcome {
    let manifest = sh::root().join("python").join("Cargo.toml");
    sh::run(
        sh::cargo()
            .args(["fmt", "--check", "--manifest-path"])
            .arg(&manifest),
    )?;
    sh::run(
        sh::cargo()
            .args(["clippy", "--quiet", "--features", "as-tested"])
            .arg("--manifest-path")
            .arg(&manifest)
            .args(["--", "-D", "warnings"]),
    )
}

/// Fails if the profiles or the locked versions of both workspaces differ: cargo would then compile all dependencies again for the
/// package, without saying so.
fn check_shared() -> Outcome {
    let read = |name: &str| std::fs::read_to_string(sh::root().join(name));
    let profiles = |text: &str| {
        let mut kept = String::new();
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with('[') {
                // No task builds the package in the profile of the demo.
                inside = line.starts_with("[profile.") && !line.starts_with("[profile.lean");
            }
            if inside && !line.trim().is_empty() && !line.starts_with('#') {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept
    };
    if profiles(&read("Cargo.toml")?) != profiles(&read("python/Cargo.toml")?) {
        return Err("python/Cargo.toml: found other profiles than in Cargo.toml".into());
    }
    let (main, ours) = (
        versions(&read("Cargo.lock")?),
        versions(&read("python/Cargo.lock")?),
    );
    for (name, found) in ours {
        let wrong = main
            .get(&name)
            .and_then(|known| found.iter().find(|one| !known.contains(one)));
        if let Some(version) = wrong {
            return Err(format!(
                "python/Cargo.lock: found {name} {version}, expected a version of Cargo.lock: cargo update --manifest-path python/Cargo.toml \
                 --precise VERSION {name}"
            )
            .into());
        }
    }
    Ok(())
}

/// Versions of each package of a lock file.
fn versions(lock: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    let text = |line: &str| line.trim_matches('"').to_owned();
    for line in lock.lines() {
        if let Some(rest) = line.strip_prefix("name = ") {
            name = text(rest);
        } else if let Some(rest) = line.strip_prefix("version = ")
            && !name.is_empty()
        {
            found
                .entry(std::mem::take(&mut name))
                .or_default()
                .push(text(rest));
        }
    }
    found
}

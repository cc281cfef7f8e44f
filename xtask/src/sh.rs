//! Running programs, finding folders, reading options.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::Outcome;

/// Root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    // Cargo states the folder when it runs the program, which another checkout with the same target folder may have built.
    let here = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let here = Path::new(&here);
    here.parent().unwrap_or(here).to_path_buf()
}

/// Folder that cargo builds into: `CARGO_TARGET_DIR`, else `target` in the workspace.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    independent(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program started in the workspace's root, without what `cargo xtask` says of this one: it makes the build script of ring run
/// again, and everything above it.
pub(crate) fn independent(program: impl AsRef<OsStr>) -> Command {
    let mut command = command(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// A program started in the workspace's root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Has a program begin a group of processes, which [`end_group`] ends with everything that it started.
pub(crate) fn in_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

/// Kills the processes of a group, by the number of its first one. It may have ended meanwhile.
pub(crate) fn end_group(first: u32) {
    let group = format!("-{first}");
    let _ = command("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
}

/// Runs a program to its end; its output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", show(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} ended with {status}", show(command)).into())
    }
}

/// Runs a program to its end and returns what it wrote to stdout; stderr goes to the terminal.
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", show(command)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        // Cargo renders its messages for people on stderr.
        let is_message = |line: &&str| line.starts_with("{\"reason\":");
        for line in text.lines().filter(|line| !is_message(line)) {
            println!("{line}");
        }
        return Err(format!("{} ended with {}", show(command), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A command as a person would type it.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let mut text = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

/// A `zvf` that was built already.
static ZVF: OnceLock<PathBuf> = OnceLock::new();

/// Has [`build_zvf`] return this program and build nothing. The first call counts.
pub(crate) fn use_zvf(program: PathBuf) {
    ZVF.get_or_init(|| program);
}

/// Where programs are that were built already.
static BUILT: OnceLock<PathBuf> = OnceLock::new();

/// Has [`given`] look into this folder, and [`build_zvf`] take the program that is in it. The first call counts.
pub(crate) fn use_built(folder: PathBuf) {
    BUILT.get_or_init(|| folder);
    if let Some(program) = given("zvf") {
        use_zvf(program);
    }
}

/// A program that need not be built.
pub(crate) fn given(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    BUILT
        .get()
        .map(|folder| folder.join(file))
        .filter(|program| program.is_file())
}

/// Whether [`build_zvf`] builds nothing.
pub(crate) fn has_zvf() -> bool {
    ZVF.get().is_some()
}

/// Cargo's arguments that build the program alone.
pub(crate) const BUILD_ZVF: &[&str] = &["build", "--package", "zvf-cli", "--bin", "zvf"];

/// The same without what only some users need: buckets, Parquet, volumes, every codec of zarrs.
pub(crate) const BUILD_LEAN_ZVF: &[&str] = &[
    "build",
    "--package",
    "zvf-cli",
    "--bin",
    "zvf",
    "--no-default-features",
    "--features",
    "plot",
    "--profile",
    "lean",
];

/// Builds the program without optional features, unless one was built already, and returns its path.
pub(crate) fn build_lean_zvf() -> Outcome<PathBuf> {
    if let Some(program) = ZVF.get() {
        return Ok(program.clone());
    }
    run(cargo().args(BUILD_LEAN_ZVF).arg("--quiet"))?;
    Ok(built("lean", "zvf"))
}

/// Builds the `zvf` program without release optimisation and returns its path.
pub(crate) fn build_zvf() -> Outcome<PathBuf> {
    if let Some(program) = ZVF.get() {
        return Ok(program.clone());
    }
    run(cargo().args(BUILD_ZVF).arg("--quiet"))?;
    Ok(debug("zvf"))
}

/// Where cargo puts a program of the dev profile.
pub(crate) fn debug(name: &str) -> PathBuf {
    built("debug", name)
}

/// Where cargo puts a program of the release profile.
pub(crate) fn release(name: &str) -> PathBuf {
    built("release", name)
}

/// Where cargo puts a program of a profile that has this folder.
fn built(folder: &str, name: &str) -> PathBuf {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    target().join(folder).join(file)
}

/// Builds the workspace below `xtask` with this name, for this machine or another target, in the release profile; returns the folder of the result.
pub(crate) fn build_apart(name: &str, triple: Option<&str>) -> Outcome<PathBuf> {
    let apart = target().join(name);
    let mut build = cargo();
    build.current_dir(root().join("xtask").join(name));
    build.env("CARGO_TARGET_DIR", &apart);
    build.args(["build", "--quiet", "--release", "--locked"]);
    let folder = match triple {
        Some(triple) => {
            build.args(["--target", triple]);
            apart.join(triple)
        }
        None => apart,
    };
    run(&mut build)?;
    Ok(folder.join("release"))
}

/// Builds the measuring program of the trials with release optimisation and returns its path.
pub(crate) fn build_trials() -> Outcome<PathBuf> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "zvf-trials"]))?;
    Ok(release("zvf-trials"))
}

/// The value after `name` in a task's arguments, parsed.
pub(crate) fn option<T>(arguments: &[String], name: &str) -> Outcome<Option<T>>
where
    T: std::str::FromStr<Err: std::error::Error + 'static>,
{
    let Some(at) = arguments.iter().position(|argument| argument == name) else {
        return Ok(None);
    };
    let value = arguments
        .get(at + 1)
        .ok_or_else(|| format!("{name} needs a value"))?;
    Ok(Some(value.parse()?))
}

/// The arguments without some options, each given with how many arguments it takes up.
pub(crate) fn without(arguments: &[String], options: &[(&str, usize)]) -> Vec<String> {
    let mut left = Vec::new();
    let mut rest = arguments.iter();
    while let Some(one) = rest.next() {
        match options.iter().find(|(name, _)| name == one) {
            Some((_, length)) => {
                for _ in 1..*length {
                    rest.next();
                }
            }
            None => left.push(one.clone()),
        }
    }
    left
}

/// Whether `name` is among a task's arguments.
pub(crate) fn flag(arguments: &[String], name: &str) -> bool {
    arguments.iter().any(|argument| argument == name)
}

/// Every file below `folder`, ascending by path; hidden ones and build output are left out.
pub(crate) fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let target = target();
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.file_type()?.is_dir() {
                // Cargo marks the folders that it makes, but not a target folder that was there before.
                let path = entry.path();
                if path != target && !path.join("CACHEDIR.TAG").exists() {
                    folders.push(path);
                }
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

//! `cargo xtask soak`: the program under faults for minutes or hours, on many stores at once, against a model.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Outcome, python, sh};

/// Bytes of the small disk, as `mount` takes them.
const SMALL: &str = "24m";

/// Bytes of the disk in memory.
const MEMORY: &str = "1g";

/// Runs for `--minutes M` (20) or `--hours H`, or until `--operations N` are done, drawn by `--seed S` (1), with `--workers W` (6) threads
/// that start programs. `--zvf FILE` takes a program that was built before. `--total FILE` adds what was done to a file of totals; `--table FILE` prints
/// its tables, and runs nothing. `--moto` also puts a store on a server of other people.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let absolute = |name: &str| -> Outcome<Option<std::path::PathBuf>> {
        let given: Option<String> = sh::option(arguments, name)?;
        Ok(given.map(std::path::absolute).transpose()?)
    };
    let build = || sh::run(sh::cargo().args(["build", "--quiet", "--package", "zvf-soak"]));
    let program = sh::debug("zvf-soak");
    if let Some(total) = absolute("--table")? {
        build()?;
        return sh::run(sh::command(&program).arg("table").arg(total));
    }
    let minutes = sh::option(arguments, "--minutes")?.unwrap_or(20.0_f64);
    let hours = sh::option(arguments, "--hours")?.unwrap_or(minutes / 60.0);
    let operations = sh::option(arguments, "--operations")?.unwrap_or(0_u64);
    let seed = sh::option(arguments, "--seed")?.unwrap_or(1_u64);
    let workers = sh::option(arguments, "--workers")?.unwrap_or(6_u64);
    let total = absolute("--total")?.unwrap_or_default();
    let zvf = match absolute("--zvf")? {
        Some(program) => program,
        None => sh::build_zvf()?,
    };
    let moto = arguments.iter().any(|word| word == "--moto");
    let servers = match moto {
        true => Some(python::interpreter()?),
        false => None,
    };
    build()?;
    // It stays where something was found.
    let folder = sh::target().join("soak");
    let (memory, small) = (folder.join("memory-disk"), folder.join("small-disk"));
    std::fs::create_dir_all(&memory)?;
    std::fs::create_dir_all(&small)?;
    let mounted = may_mount(&small);
    let mut command = if mounted {
        // Disks are mounted where only this program and those that it starts see them, and are gone with them.
        let mut command = sh::command("unshare");
        let script = format!(
            "mount -t tmpfs -o size={MEMORY} tmpfs \"$0\" && mount -t tmpfs -o size={SMALL} tmpfs \"$1\" && shift && exec \"$@\""
        );
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        command.args([&memory, &small, &program]);
        command
    } else {
        println!(
            "no disk can be mounted here: none is in memory, and only files are limited in size"
        );
        sh::command(&program)
    };
    let numbers = [operations, (hours * 3600.0).round() as u64, seed, workers];
    command
        .arg(zvf)
        .args(numbers.map(|number| number.to_string()));
    command.arg(&folder);
    let place = |disk: &Path| match mounted {
        true => disk.to_owned(),
        false => std::path::PathBuf::new(),
    };
    command.args([place(&memory), place(&small), total]);
    command.arg(if moto { "moto" } else { "none" });
    command.envs(servers.map(|python| ("ZVF_SERVERS_PYTHON", python)));
    become_it(command)
}

/// Runs a program in the place of this one, so that signals reach it: it ends orderly when it is interrupted.
#[cfg(unix)]
fn become_it(mut command: Command) -> Outcome {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(format!("{}: {error}", sh::show(&command)).into())
}

#[cfg(not(unix))]
fn become_it(mut command: Command) -> Outcome {
    sh::run(&mut command)
}

/// Whether this user may mount a disk in a name space of its own.
fn may_mount(place: &Path) -> bool {
    let tried = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "mount",
            "-t",
            "tmpfs",
            "tmpfs",
        ])
        .arg(place)
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

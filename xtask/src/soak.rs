//! `cargo xtask soak`: the program under faults for minutes or hours, on many stores at once, against a model.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Outcome, python, sh};

/// Bytes of the small disk, as `mount` takes them.
const SMALL: &str = "24m";

/// Runs for `--minutes M` (20) or `--hours H`, or until `--operations N` are done, drawn by `--seed S` (1), with `--workers W` (6) threads
/// that start programs. `--zvf FILE` takes a program that was built before.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let minutes = sh::option(arguments, "--minutes")?.unwrap_or(20.0_f64);
    let hours = sh::option(arguments, "--hours")?.unwrap_or(minutes / 60.0);
    let operations = sh::option(arguments, "--operations")?.unwrap_or(0_u64);
    let seed = sh::option(arguments, "--seed")?.unwrap_or(1_u64);
    let workers = sh::option(arguments, "--workers")?.unwrap_or(6_u64);
    let zvf = match sh::option(arguments, "--zvf")? {
        Some(program) => std::path::absolute::<std::path::PathBuf>(program)?,
        None => sh::build_zvf()?,
    };
    let servers = python::interpreter()?;
    sh::run(sh::cargo().args(["build", "--quiet", "--package", "zvf-soak"]))?;
    // It stays where something was found.
    let folder = sh::target().join("soak");
    let small = folder.join("small-disk");
    std::fs::create_dir_all(&small)?;
    let program = sh::debug("zvf-soak");
    let mut command = if may_mount(&small) {
        // The disk is mounted where only this program and those that it starts see it, and is gone with them.
        let mut command = sh::command("unshare");
        let script = format!("mount -t tmpfs -o size={SMALL} tmpfs \"$0\" && exec \"$@\"");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        command.arg(&small).arg(&program);
        command
    } else {
        println!("no small disk can be mounted here: only files are limited in size");
        sh::command(&program)
    };
    let mounted = command.get_program() == "unshare";
    command.arg(zvf);
    command
        .args([operations, (hours * 3600.0).round() as u64, seed, workers].map(|n| n.to_string()));
    command.arg(&folder);
    command.arg(if mounted {
        small.as_path()
    } else {
        Path::new("")
    });
    sh::run(command.env("ZVF_SERVERS_PYTHON", servers))
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

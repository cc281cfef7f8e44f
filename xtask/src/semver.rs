//! `cargo xtask semver`: whether a published crate lost or changed something that its version promises to keep.

use std::process::Stdio;

use crate::{Outcome, package, sh, tools};

const VERSION: &str = "0.51.0";

/// Compares the published crates, or those of `--crates A,B`, with `--against COMMIT`, by default the last tag `v*`. A crate that the older commit
/// does not have is named and left out.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let only: Option<String> = sh::option(arguments, "--crates")?;
    let against = match sh::option(arguments, "--against")? {
        Some(commit) => commit,
        None => last_tag()?.ok_or(
            "no tag v* to compare with: nothing was released yet; --against COMMIT names a commit",
        )?,
    };
    let members = package::members()?;
    let mut wanted = Vec::new();
    for member in members.iter().filter(|one| one.published) {
        let name = member.name.as_str();
        let asked = only.as_deref();
        if !asked.is_none_or(|only| only.split(',').any(|one| one == name)) {
            continue;
        }
        if is_in(&against, name)? {
            wanted.push(name);
        } else {
            println!("{name}: not in {against}");
        }
    }
    if wanted.is_empty() {
        return Err(format!("no published crate to compare with {against}").into());
    }
    let tool = tools::installed("cargo-semver-checks", VERSION)?;
    println!("{} crates, compared with {against}", wanted.len());
    let mut check = sh::independent(tool);
    check.args(["semver-checks", "check-release", "--baseline-rev"]);
    check
        .arg(&against)
        .env("CARGO_TARGET_DIR", sh::target().join("semver"));
    for name in wanted {
        check.args(["--package", name]);
    }
    sh::run(&mut check)
}

/// As [`run`] with the last tag. Before the first release it says that it did not run.
pub(crate) fn of_last_release() -> Outcome {
    if last_tag()?.is_none() {
        println!("not tried: there is no tag v*, nothing was released yet");
        return Ok(());
    }
    run(&[])
}

/// The last tag of a release, if there is one.
fn last_tag() -> Outcome<Option<String>> {
    let mut git = sh::command("git");
    let tags = sh::capture(git.args(["tag", "--list", "v*", "--sort=-creatordate", "--merged"]))?;
    Ok(tags.lines().next().map(str::to_owned))
}

/// Whether a commit has a crate.
fn is_in(commit: &str, name: &str) -> Outcome<bool> {
    let mut git = sh::command("git");
    let manifest = format!("{commit}:crates/{name}/Cargo.toml");
    let status = git.args(["cat-file", "-e", &manifest]);
    Ok(status.stderr(Stdio::null()).status()?.success())
}

//! `cargo xtask msrv`: whether the published crates compile with the oldest Rust that they promise, their `rust-version`.

use std::collections::BTreeMap;
use std::process::Stdio;

use crate::package::Member;
use crate::{Outcome, package, sh};

/// Checks the crates that promise an older Rust than the workspace, or `--all` published ones. A Rust that rustup cannot install is reported and
/// skipped.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let members = package::members()?;
    for (version, names) in groups(&members, sh::flag(arguments, "--all")) {
        if let Err(error) = install(version) {
            println!("Rust {version}: not tried, {error}");
            continue;
        }
        println!("Rust {version}: {}", names.join(", "));
        let mut check = sh::independent("rustup");
        check.args(["run", version, "cargo", "check", "--locked", "--quiet"]);
        // Artifacts of another compiler.
        check.env("CARGO_TARGET_DIR", sh::target().join("msrv"));
        check.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        for name in &names {
            check.args(["--package", name]);
        }
        sh::run(&mut check)?;
    }
    Ok(())
}

/// The published crates by `rust-version`. Without `all`, those of the newest version are left out: they have most of the dependencies.
fn groups(members: &[Member], all: bool) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in members.iter().filter(|one| one.published) {
        let names = groups.entry(&member.rust_version).or_default();
        names.push(&member.name);
    }
    if !all && groups.len() > 1 {
        groups.pop_last();
    }
    groups
}

/// Makes sure that a toolchain is installed.
fn install(version: &str) -> Outcome {
    let mut rustup = sh::independent("rustup");
    rustup.args(["toolchain", "install", version, "--profile", "minimal"]);
    let output = rustup
        .arg("--no-self-update")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("rustup failed");
    Err(format!("it cannot be installed: {last}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_for_all() {
        let member = |name: &str, rust_version: &str, published| Member {
            name: name.to_owned(),
            version: String::new(),
            rust_version: rust_version.to_owned(),
            published,
        };
        let members = [
            member("a", "1.88", true),
            member("b", "1.91", true),
            member("c", "1.88", true),
            member("d", "1.85", false),
        ];
        let small = groups(&members, false);
        assert_eq!(
            small.into_iter().collect::<Vec<_>>(),
            [("1.88", vec!["a", "c"])]
        );
        assert_eq!(groups(&members, true).len(), 2);
    }
}

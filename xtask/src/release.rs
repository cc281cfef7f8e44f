//! `cargo xtask release`: what can be tried of a release on this machine, without an account. `docs/releasing.md` has the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::dependencies::{Package, packages};
use crate::{Outcome, install, package, sbom, sh, tidy, wheel};

/// The list of what is linked into the program.
const NOTICE: &str = "NOTICE";

/// The hand-written beginning of [`NOTICE`] ends with this line.
const GENERATED: &str = "Crates, by licence (made by `cargo xtask release --notice`):\n";

/// `--rehearse VERSION` tries a release, `--archive` packs the program, `--notice` writes [`NOTICE`] again.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if sh::flag(arguments, "--notice") {
        return Ok(fs::write(sh::root().join(NOTICE), notice()?)?);
    }
    if sh::flag(arguments, "--archive") {
        return archive();
    }
    let version: Option<String> = sh::option(arguments, "--rehearse")?;
    let version = version.ok_or("--rehearse VERSION, --archive or --notice")?;
    let mut findings = Vec::new();
    check_versions(&version, &mut findings)?;
    check_notice()?;
    for finding in &findings {
        println!("{finding}");
    }
    tidy::run(&[])?;
    package::run(&[])?;
    if !sh::flag(arguments, "--quick") {
        archive()?;
        wheel::run(&["--release".to_owned(), "--build".to_owned()])?;
    }
    if !findings.is_empty() {
        return Err("this version cannot be released yet".into());
    }
    println!(
        "everything that can be tried here works; the commands that publish are in docs/releasing.md"
    );
    Ok(())
}

/// The version is that of every manifest, and the changelog has a section for it.
fn check_versions(version: &str, findings: &mut Vec<String>) -> Outcome {
    let root = sh::root();
    for member in package::members()? {
        if member.version != version {
            findings.push(format!("{}: version {}", member.name, member.version));
        }
    }
    let changes = fs::read_to_string(root.join("CHANGELOG.md"))?;
    if !has_section(&changes, version) {
        findings.push(format!("CHANGELOG.md: no section {version}"));
    }
    Ok(())
}

fn has_section(changes: &str, version: &str) -> bool {
    changes.lines().any(|line| {
        let heading = line.strip_prefix("## ").unwrap_or_default();
        heading.split([' ', '(']).next() == Some(version)
    })
}

/// Fails if [`NOTICE`] is not that of `Cargo.lock`.
pub(crate) fn check_notice() -> Outcome {
    if fs::read_to_string(sh::root().join(NOTICE))? == notice()? {
        return Ok(());
    }
    Err(format!("{NOTICE} is not that of Cargo.lock: cargo xtask release --notice").into())
}

/// The text of [`NOTICE`]: its hand-written beginning, and the crates that are linked into the program.
fn notice() -> Outcome<String> {
    let old = fs::read_to_string(sh::root().join(NOTICE))?;
    let (head, _) = old
        .split_once(GENERATED)
        .ok_or("NOTICE: the line before the list of crates is missing")?;
    let tree = sh::capture(sh::cargo().args([
        "tree",
        "--locked",
        "--package",
        "zvf-cli",
        "--edges",
        "normal",
        "--target",
        "all",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]))?;
    Ok(format!("{head}{GENERATED}{}", by_licence(&packages(&tree))))
}

/// Names of packages below their licences. Versions are in `Cargo.lock`.
fn by_licence(packages: &BTreeSet<Package>) -> String {
    let mut licences: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let names = licences.entry(&package.licence).or_default();
        names.insert(&package.name);
    }
    let mut text = String::new();
    for (licence, names) in licences {
        let names: Vec<&str> = names.into_iter().collect();
        let _ = write!(text, "\n{licence}\n    {}\n", names.join(", "));
    }
    text
}

/// Builds the program and packs it with its licences, manual pages and completions; writes its checksum and its SBOM beside the archive, and
/// tries the installer.
fn archive() -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    sh::run(sh::cargo().args(["build", "--locked", "--release", "--package", "zvf-cli"]))?;
    let program = sh::release("zvf");
    let name = format!(
        "zvf-{version}-{}-{}",
        std::env::consts::ARCH,
        std::env::consts::OS
    );
    let folder = sh::target().join("release-archives");
    let content = folder.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&content)?;
    let file = program.file_name().ok_or("the program has no name")?;
    fs::copy(&program, content.join(file))?;
    for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", NOTICE] {
        fs::copy(sh::root().join(file), content.join(file))?;
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let text = sh::capture(sh::command(&program).args(["completions", shell]))?;
        fs::write(content.join(format!("zvf.{shell}")), text)?;
    }
    sh::run(sh::command(&program).arg("man").arg(content.join("man")))?;
    let archive = install::pack(&folder, &name)?;
    fs::remove_dir_all(&content)?;
    fs::write(
        folder.join(format!("{name}.cdx.json")),
        sbom::of_program(version)?,
    )?;
    let elsewhere = sh::target().join("release-unpacked");
    if elsewhere.exists() {
        fs::remove_dir_all(&elsewhere)?;
    }
    if cfg!(unix) {
        return install::rehearse(version, &archive, &elsewhere);
    }
    try_archive(&archive, &elsewhere, &name)
}

/// Unpacks an archive elsewhere and starts its program.
fn try_archive(archive: &Path, elsewhere: &Path, name: &str) -> Outcome {
    fs::create_dir_all(elsewhere)?;
    let mut tar = sh::command("tar");
    tar.current_dir(elsewhere).arg("xzf").arg(archive);
    sh::run(&mut tar)?;
    let program = elsewhere
        .join(name)
        .join(format!("zvf{}", std::env::consts::EXE_SUFFIX));
    sh::run(sh::command(program).arg("--version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_has_a_section_by_its_heading() {
        let changes = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0\n";
        assert!(has_section(changes, "0.2.0") && has_section(changes, "0.1.0"));
        assert!(!has_section(changes, "0.2") && !has_section(changes, "0.3.0"));
    }

    #[test]
    fn crates_are_listed_below_their_licences() {
        let tree = "zvf-cli v0.1.0 (/a)|MIT\nb v1.0.0|MIT\na v1.0.0|MIT (*)\nc v2.0.0|Zlib\na v2.0.0|MIT\n";
        assert_eq!(
            by_licence(&packages(tree)),
            "\nMIT\n    a, b\n\nZlib\n    c\n"
        );
    }
}

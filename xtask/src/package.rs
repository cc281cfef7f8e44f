//! `cargo xtask package`: the packages that crates.io would get, and whether they work without the repository.
//!
//! Every crate that is published is packed, in the order of their dependencies. Then a project outside the workspace depends on the
//! unpacked packages by version and compiles the example of each README.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, sh};

/// Crates whose examples every submission compiles: those with few dependencies. `--all` takes the others, too.
const LIGHT: &[&str] = &["zvf-format", "zvf-meta", "zvf-grid", "zvf-tet", "zvf-blosc"];

/// Features that the example of a README needs beside the default ones.
const FEATURES: &[(&str, &str)] = &[("zvf-codec", "encode"), ("zvf-sys", "mmap")];

/// What the packages may contain: files of these names, and what is below `src/`.
const FILES: &[&str] = &[
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
];

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) rust_version: String,
    pub(crate) published: bool,
}

/// The crates of the workspace, by name.
pub(crate) fn members() -> Outcome<Vec<Member>> {
    let arguments = [
        "metadata",
        "--no-deps",
        "--format-version=1",
        "--locked",
        "--quiet",
    ];
    let text = sh::capture(sh::cargo().args(arguments))?;
    let mut found = read_members(&serde_json::from_str(&text)?);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn read_members(metadata: &Value) -> Vec<Member> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array();
    let packages = packages.into_iter().flatten();
    let member = |package: &Value| Member {
        name: text(&package["name"]),
        version: text(&package["version"]),
        rust_version: text(&package["rust_version"]),
        // Absent or null: any registry. An empty list: none.
        published: package["publish"]
            .as_array()
            .is_none_or(|list| !list.is_empty()),
    };
    packages.map(member).collect()
}

/// Packs the crates, checks what is in the packages, and compiles the examples of the light ones, or of all with `--all`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let members = members()?;
    pack(&members)?;
    let published: Vec<&Member> = members.iter().filter(|one| one.published).collect();
    let folder = sh::target().join("packages");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut findings = Vec::new();
    for member in &published {
        let unpacked = unpack(member, &folder)?;
        check_files(&member.name, &unpacked, &mut findings)?;
    }
    if !findings.is_empty() {
        return Err(findings.join("\n").into());
    }
    println!("{} packages, as they should be", published.len());
    let all = sh::flag(arguments, "--all");
    let tried: Vec<&Member> = published
        .iter()
        .filter(|one| all || LIGHT.contains(&&*one.name))
        .copied()
        .collect();
    compile(&folder, &published, &tried)
}

/// Packs every published crate into the target folder.
fn pack(members: &[Member]) -> Outcome {
    let mut command = sh::cargo();
    command.args([
        "package",
        "--workspace",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ]);
    for member in members.iter().filter(|one| !one.published) {
        command.args(["--exclude", &member.name]);
    }
    sh::run(&mut command)
}

/// Unpacks one package; the folder that it is in afterwards.
fn unpack(member: &Member, folder: &Path) -> Outcome<PathBuf> {
    let name = format!("{}-{}", member.name, member.version);
    let file = sh::target().join("package").join(format!("{name}.crate"));
    let mut command = sh::command("tar");
    command.arg("xzf").arg(file).arg("-C").arg(folder);
    sh::run(&mut command)?;
    Ok(folder.join(name))
}

/// A package has a README, both licences and sources, and nothing else.
fn check_files(name: &str, folder: &Path, findings: &mut Vec<String>) -> Outcome {
    for needed in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"] {
        if !folder.join(needed).is_file() {
            findings.push(format!("{name}: the package has no {needed}"));
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        if file != "src" && !FILES.iter().any(|known| file == **known) {
            findings.push(format!(
                "{name}: the package has {}",
                entry.path().display()
            ));
        }
    }
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    for line in manifest
        .lines()
        .filter(|line| line.starts_with("path = \"../"))
    {
        findings.push(format!("{name}: depends on a path: {line}"));
    }
    Ok(())
}

/// Compiles the example of the README of each of `tried`, against the packages in `folder` alone.
fn compile(folder: &Path, published: &[&Member], tried: &[&Member]) -> Outcome {
    let project = folder.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::create_dir_all(project.join("examples"))?;
    fs::write(project.join("src/lib.rs"), "//! Depends on packages.\n")?;
    // The versions of the workspace, of which cargo removes what the project does not need, and its compiler.
    for file in ["Cargo.lock", "rust-toolchain.toml"] {
        fs::copy(sh::root().join(file), project.join(file))?;
    }
    fs::write(
        project.join("Cargo.toml"),
        manifest(published, tried, &workspace_versions()?),
    )?;
    for member in tried {
        let readme = folder.join(format!("{}-{}/README.md", member.name, member.version));
        let readme = fs::read_to_string(&readme)?;
        let code = example(&readme).ok_or_else(|| format!("{}: no example", member.name))?;
        let file = format!("{}.rs", member.name);
        fs::write(project.join("examples").join(file), code)?;
    }
    let mut command = sh::cargo();
    command.current_dir(&project);
    command.env("CARGO_TARGET_DIR", sh::target());
    sh::run(command.args(["check", "--quiet", "--examples"]))?;
    let names: Vec<&str> = tried.iter().map(|one| &*one.name).collect();
    println!(
        "the examples of these READMEs compile with the packages alone: {}",
        names.join(", ")
    );
    Ok(())
}

/// Dependencies of the examples that are no crates of ours, with the versions of the workspace.
fn workspace_versions() -> Outcome<BTreeMap<String, String>> {
    let manifest = fs::read_to_string(sh::root().join("Cargo.toml"))?;
    let versions = manifest.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" = ")?;
        let version = rest.split("version = \"").nth(1).or(rest.strip_prefix('"'));
        Some((name.to_owned(), version?.split('"').next()?.to_owned()))
    });
    Ok(versions.collect())
}

/// The manifest of a project that depends on `tried` by version, and takes what is published from the folder above it.
fn manifest(
    published: &[&Member],
    tried: &[&Member],
    versions: &BTreeMap<String, String>,
) -> String {
    let mut text = String::from(
        "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n[dependencies]\n",
    );
    for member in tried {
        let features = FEATURES.iter().find(|(name, _)| *name == member.name);
        let features = features.map_or_else(String::new, |(_, feature)| {
            format!(", features = [\"{feature}\"]")
        });
        text.push_str(&format!(
            "{} = {{ version = \"{}\"{features} }}\n",
            member.name, member.version
        ));
    }
    if tried.iter().any(|one| one.name == "zvf-io") {
        let tokio = versions.get("tokio").map_or("1", |version| version);
        text.push_str(&format!(
            "tokio = {{ version = \"{tokio}\", features = [\"macros\"] }}\n"
        ));
    }
    text.push_str("\n[patch.crates-io]\n");
    for member in published {
        let (name, version) = (&member.name, &member.version);
        text.push_str(&format!("{name} = {{ path = \"../{name}-{version}\" }}\n"));
    }
    text
}

/// The first block of Rust code of a README.
fn example(readme: &str) -> Option<&str> {
    let (_, code) = readme.split_once("\n```rust")?;
    let (_, code) = code.split_once('\n')?;
    code.split_once("\n```").map(|(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "version": "0.1.0", "rust_version": "1.88", "publish": null},
            {"name": "b", "version": "0.1.0", "rust_version": null, "publish": []},
        ]});
        let read = read_members(&metadata);
        assert_eq!((&*read[0].rust_version, read[0].published), ("1.88", true));
        assert_eq!((&*read[1].rust_version, read[1].published), ("", false));
    }

    #[test]
    fn the_example_is_the_first_block_of_rust() {
        let readme = "# a\n\n```text\nx\n```\n\n```rust,no_run\nfn main() {}\n// end\n```\n\n```rust\nother\n```\n";
        assert_eq!(example(readme), Some("fn main() {}\n// end"));
        assert_eq!(example("# a\n"), None);
    }

    #[test]
    fn a_project_depends_by_version_and_takes_the_packages() {
        let member = |name: &str| Member {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            rust_version: String::new(),
            published: true,
        };
        let (format, codec) = (member("zvf-format"), member("zvf-codec"));
        let text = manifest(&[&format, &codec], &[&codec], &BTreeMap::new());
        assert!(text.contains("\nzvf-codec = { version = \"0.1.0\", features = [\"encode\"] }\n"));
        assert!(text.contains("\nzvf-format = { path = \"../zvf-format-0.1.0\" }\n"));
        assert!(!text.contains("\nzvf-format = { version"));
    }
}

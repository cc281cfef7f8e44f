//! Part of `cargo xtask tidy`: what a crate needs before it can be published.

use std::path::Path;

use crate::Outcome;

/// Checks the manifest, the README and the licences of every crate in `crates/` that does not say `publish = false`.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> Outcome {
    let mut folders: Vec<_> = std::fs::read_dir(root.join("crates"))?
        .collect::<Result<Vec<_>, _>>()?
        .iter()
        .map(std::fs::DirEntry::path)
        .collect();
    folders.sort();
    let workspace = std::fs::read_to_string(root.join("Cargo.toml"))?;
    for folder in folders {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml"))?;
        if manifest.lines().any(|line| line == "publish = false") {
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        check_manifest(&name, &manifest, findings);
        let readme = std::fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        let library = std::fs::read_to_string(folder.join("src/lib.rs"))?;
        check_readme(&name, &readme, &library, findings);
        let rust = rust_version(&manifest).or(rust_version(&workspace));
        let stated = format!("\nRust {} or newer.", rust.unwrap_or_default());
        if !readme.contains(&stated) {
            findings.push(format!("crates/{name}/README.md: no {}", stated.trim()));
        }
        if !folder.join("examples").is_dir() {
            findings.push(format!("crates/{name}: no example"));
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let ours = std::fs::read(root.join(licence))?;
            if std::fs::read(folder.join(licence)).ok() != Some(ours) {
                findings.push(format!(
                    "crates/{name}: {licence} is not that of the project"
                ));
            }
        }
    }
    Ok(())
}

/// The `rust-version` that a manifest states.
fn rust_version(manifest: &str) -> Option<&str> {
    let rest = manifest.split("\nrust-version = \"").nth(1)?;
    rest.split('"').next()
}

fn check_manifest(name: &str, manifest: &str, findings: &mut Vec<String>) {
    for needed in [
        "license.workspace = true",
        "publish.workspace = true",
        "include.workspace = true",
        "keywords = [",
        "categories = [",
    ] {
        if !manifest.lines().any(|line| line.starts_with(needed)) {
            findings.push(format!("crates/{name}/Cargo.toml: no line {needed}"));
        }
    }
    let tests = manifest.split("\n[dev-dependencies]\n").nth(1);
    let tests = tests.and_then(|rest| rest.split("\n[").next());
    for line in tests.into_iter().flat_map(str::lines) {
        // These two are not published, and have no version.
        let private = line.starts_with("zvf-testkit") || line.starts_with("zvf-badstores");
        if line.starts_with("zvf-") && !private && !line.contains("path = \"../") {
            findings.push(format!(
                "crates/{name}/Cargo.toml: tests depend on a version of our own crate, which a package would need: {line}"
            ));
        }
    }
}

/// The README has the sections that all have, and its example is compiled with the tests of the crate.
fn check_readme(name: &str, readme: &str, library: &str, findings: &mut Vec<String>) {
    let head = format!("# {name}\n");
    for needed in [&*head, "\n```rust", "\n## Rust version\n", "\n## Licence\n"] {
        if !readme.contains(needed) {
            findings.push(format!("crates/{name}/README.md: no {}", needed.trim()));
        }
    }
    if !library.contains("#[doc = include_str!(\"../README.md\")]") {
        findings.push(format!(
            "crates/{name}/src/lib.rs: the README is not compiled"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_without_keywords_or_with_versions_for_tests_is_found() {
        let mut findings = Vec::new();
        let whole = "license.workspace = true\npublish.workspace = true\ninclude.workspace = true\nkeywords = []\ncategories = []\n\n\
                     [dev-dependencies]\nzvf-query = { path = \"../zvf-query\" }\nzvf-testkit.workspace = true\n\n[lints]\nworkspace = true\n";
        check_manifest("a", whole, &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        let wrong = whole.replace("keywords = []\n", "");
        let wrong = wrong.replace("{ path = \"../zvf-query\" }", "{ workspace = true }");
        check_manifest("a", &wrong, &mut findings);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn a_readme_without_an_example_is_found() {
        let mut findings = Vec::new();
        let library = "#[doc = include_str!(\"../README.md\")]";
        check_readme(
            "a",
            "# a\n\n```rust\n```\n\n## Rust version\n\n## Licence\n",
            library,
            &mut findings,
        );
        assert!(findings.is_empty(), "{findings:?}");
        check_readme(
            "a",
            "# b\n\n## Rust version\n\n## Licence\n",
            "",
            &mut findings,
        );
        assert_eq!(findings.len(), 3, "{findings:?}");
    }
}

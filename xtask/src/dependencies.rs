//! The stage `deny` of CI: licences, duplicate versions, banned crates and sources, by the lists of `deny.toml`; and dependencies that a
//! crate of ours declares and does not use.
//!
//! The same file serves `cargo deny check`, which also knows advisories. Building that program takes longer than all of this.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::wheel::AS_TESTED;
use crate::{Outcome, sh};

/// Crates that are used without being named: they choose features of another crate, or are linked for what they do.
const UNNAMED: &[(&str, &str)] = &[
    ("zvf-plot", "docs/tasks, which the trials compile"),
    ("zvf-pyramid", "docs/tasks, which the trials compile"),
    ("zvf-volume", "docs/tasks, which the trials compile"),
];

/// Prints every finding before it fails.
pub(crate) fn check() -> Outcome {
    let root = sh::root();
    let rules = Rules::read(&std::fs::read_to_string(root.join("deny.toml"))?)?;
    let mut findings = Vec::new();
    let tree = sh::capture(sh::cargo().args([
        "tree",
        "--locked",
        "--workspace",
        "--all-features",
        "--edges",
        "normal,build,dev",
        "--target",
        "all",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]))?;
    let all = packages(&tree);
    rules.check_sources(
        &std::fs::read_to_string(root.join("Cargo.lock"))?,
        &mut findings,
    );
    rules.check_licences(&all, &mut findings);
    rules.check_versions(&all, &mut findings);
    check_used(&root, &mut findings)?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} packages, {} findings", all.len(), findings.len());
    if findings.is_empty() {
        Ok(())
    } else {
        Err("dependencies that deny.toml does not allow, or that nothing uses".into())
    }
}

/// One package of the tree.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
}

/// Packages of other people: lines such as `zstd v0.13.4|MIT` and `syn v2.0.1 (proc-macro)|MIT OR Apache-2.0 (*)`.
pub(crate) fn packages(tree: &str) -> BTreeSet<Package> {
    let mut all = BTreeSet::new();
    for line in tree.lines() {
        let Some((package, licence)) = line.split_once('|') else {
            continue;
        };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        // Ours have a path behind the version.
        if words.any(|word| word.starts_with("(/")) {
            continue;
        }
        all.insert(Package {
            name: name.to_owned(),
            version: version.trim_start_matches('v').to_owned(),
            licence: licence.trim_end_matches(" (*)").to_owned(),
        });
    }
    all
}

/// What `deny.toml` says.
#[derive(Default)]
struct Rules {
    /// Licences that are allowed.
    allow: Vec<String>,
    /// Crates that are not.
    deny: Vec<String>,
    /// Second versions that are known, as `name@version`.
    skip: Vec<String>,
    /// Registries that packages may come from.
    registries: Vec<String>,
}

impl Rules {
    /// Reads the four lists; what else the file has is for `cargo deny`.
    fn read(text: &str) -> Outcome<Self> {
        let list = |name: &str| -> Outcome<Vec<String>> {
            let start = text
                .find(&format!("\n{name} = ["))
                .ok_or_else(|| format!("deny.toml: no list {name}"))?;
            let body = &text[start..];
            let end = body
                .find("\n]")
                .or_else(|| body.find("]\n"))
                .unwrap_or(body.len());
            let body = body[..end].split_once('[').map_or("", |(_, body)| body);
            Ok(body.lines().filter_map(entry).collect())
        };
        Ok(Self {
            allow: list("allow")?,
            deny: list("deny")?,
            skip: list("skip")?,
            registries: list("allow-registry")?,
        })
    }

    fn check_licences(&self, packages: &BTreeSet<Package>, findings: &mut Vec<String>) {
        for package in packages {
            if !self.allows(&package.licence) {
                findings.push(format!(
                    "{} {}: licence {:?} is not allowed",
                    package.name, package.version, package.licence
                ));
            }
        }
    }

    /// Whether one of the alternatives of a licence expression is allowed; a slash is the old form of `OR`.
    fn allows(&self, expression: &str) -> bool {
        let text = expression.replace('/', " OR ");
        let open = split(&text, " OR ");
        if open.len() > 1 {
            return open.iter().any(|one| self.allows(one));
        }
        let all = split(&text, " AND ");
        if all.len() > 1 {
            return all.iter().all(|one| self.allows(one));
        }
        let one = text.trim();
        if let Some(inner) = one
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
        {
            return self.allows(inner);
        }
        self.allow.iter().any(|known| known == one)
    }

    /// One version a crate, but for those that are listed; no crate that is banned; no entry that matches nothing.
    fn check_versions(&self, packages: &BTreeSet<Package>, findings: &mut Vec<String>) {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in packages {
            versions
                .entry(&package.name)
                .or_default()
                .insert(&package.version);
        }
        let mut used = BTreeSet::new();
        for (name, all) in &versions {
            if self.deny.iter().any(|banned| banned == name) {
                findings.push(format!("{name}: deny.toml bans it"));
            }
            let mut left: Vec<&str> = all.iter().copied().collect();
            for skip in &self.skip {
                let Some((skipped, version)) = skip.split_once('@') else {
                    continue;
                };
                if skipped == *name && left.len() > 1 {
                    let before = left.len();
                    left.retain(|one| !one.starts_with(&format!("{version}.")));
                    if left.len() < before {
                        used.insert(skip);
                    }
                }
            }
            if left.len() > 1 {
                findings.push(format!("{name}: versions {}", left.join(", ")));
            }
        }
        for skip in self.skip.iter().filter(|skip| !used.contains(skip)) {
            findings.push(format!("deny.toml: no second version {skip}"));
        }
    }

    fn check_sources(&self, lock: &str, findings: &mut Vec<String>) {
        for line in lock.lines() {
            if let Some(source) = line.strip_prefix("source = ") {
                let source = source.trim_matches('"');
                let known = source
                    .strip_prefix("registry+")
                    .is_some_and(|url| self.registries.iter().any(|one| one == url));
                if !known {
                    findings.push(format!("Cargo.lock: a package from {source}"));
                }
            }
        }
    }
}

/// The first text in quotes of a line, unless the line is a comment.
fn entry(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    line.split('"').nth(1).map(str::to_owned)
}

/// Splits at a word, outside of parentheses.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(word) => {
                parts.push(&text[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Every dependency that a manifest declares is named in the crate's sources; those for tests in its sources, tests, examples or benches.
fn check_used(root: &Path, findings: &mut Vec<String>) -> Outcome {
    for manifest in sh::files(root)? {
        if manifest.file_name().is_none_or(|name| name != "Cargo.toml") {
            continue;
        }
        let Some(folder) = manifest.parent().filter(|folder| *folder != root) else {
            continue;
        };
        let text = std::fs::read_to_string(&manifest)?;
        let (product, tests) = words(folder)?;
        let as_tested = text.lines().find(|line| line.starts_with(AS_TESTED));
        for (section, name) in declared(&text) {
            let ident = name.replace('-', "_");
            let named = product.contains(&ident)
                || (section.contains("dev-") || section.contains("build-"))
                    && tests.contains(&ident);
            // The wheel asks for crates only to have the features that the tests compile them with.
            let excused = UNNAMED.iter().any(|(known, _)| *known == name)
                || as_tested.is_some_and(|list| list.contains(&format!("\"dep:{name}\"")));
            if !named && !excused {
                let place = manifest.strip_prefix(root)?.display();
                findings.push(format!("{place}: [{section}] {name} is used by nothing"));
            }
        }
    }
    Ok(())
}

/// Sections of dependencies with the names in them.
fn declared(manifest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if section.ends_with("dependencies")
            && let Some((name, _)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let name = name.trim().split('.').next().unwrap_or_default();
            found.push((section.clone(), name.to_owned()));
        }
    }
    found
}

/// The words of a crate's sources, and those of its tests, examples, benches and other folders.
fn words(folder: &Path) -> Outcome<(BTreeSet<String>, BTreeSet<String>)> {
    let (mut product, mut tests) = (BTreeSet::new(), BTreeSet::new());
    for path in sh::files(folder)? {
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        // A crate inside of another crate's folder has a manifest of its own.
        let inner = path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != folder)
            .any(|above| above.join("Cargo.toml").is_file());
        if inner {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        if path.starts_with(folder.join("src")) || !folder.join("src").exists() {
            // What only `cfg(test)` names is for tests.
            let product_text = text.split("#[cfg(test)]\nmod tests {").next();
            let code = product_text.unwrap_or_default().lines();
            product.extend(code.filter(|line| !is_comment(line)).flat_map(idents));
        }
        // Examples in doc comments are tests.
        tests.extend(text.lines().flat_map(idents));
    }
    Ok((product, tests))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn idents(line: &str) -> impl Iterator<Item = String> {
    line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_alternatives_and_sums() {
        let rules = Rules {
            allow: vec!["MIT".into(), "ISC".into()],
            ..Rules::default()
        };
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "ISC AND (GPL-3.0 OR MIT)",
        ] {
            assert!(rules.allows(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(GPL-3.0) OR (MIT AND GPL-2.0)",
        ] {
            assert!(!rules.allows(bad), "{bad}");
        }
    }

    #[test]
    fn second_versions_need_an_entry() {
        let text = "a v1.0.0|MIT\na v2.0.1|MIT (*)\nb v0.1.0 (/x/b)|\nc v0.3.1 (proc-macro)|MIT\n";
        let packages = packages(text);
        assert_eq!(packages.len(), 3);
        let mut findings = Vec::new();
        let mut rules = Rules {
            skip: vec!["a@1".into(), "z@3".into()],
            deny: vec!["c".into()],
            ..Rules::default()
        };
        rules.check_versions(&packages, &mut findings);
        assert_eq!(
            findings,
            ["c: deny.toml bans it", "deny.toml: no second version z@3"]
        );
        rules.skip.clear();
        findings.clear();
        rules.check_versions(&packages, &mut findings);
        assert_eq!(findings[0], "a: versions 1.0.0, 2.0.1");
    }

    #[test]
    fn manifests_are_read() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na-b.workspace = true\n# c = 1\n[dev-dependencies]\nd = \"1\"\n";
        let found = declared(manifest);
        let found: Vec<_> = found
            .iter()
            .map(|(s, n)| (s.as_str(), n.as_str()))
            .collect();
        assert_eq!(found, [("dependencies", "a-b"), ("dev-dependencies", "d")]);
    }
}

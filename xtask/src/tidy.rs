//! `cargo xtask tidy`: house rules that no compiler checks.

use std::collections::HashMap;
use std::path::Path;

use crate::Outcome;
use crate::{cycles, links, lock, published, sh};

/// Most lines a source file may have; past it there is a second idea in it.
const LINES: usize = 800;

/// Checks every text file of the workspace; prints all findings before it fails.
pub(crate) fn run(_: &[String]) -> Outcome {
    let root = sh::root();
    let mut findings = Vec::new();
    let mut checked = 0_usize;
    for path in sh::files(&root)? {
        let name = path
            .strip_prefix(&root)?
            .to_string_lossy()
            .replace('\\', "/");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        checked += 1;
        if name != "Cargo.lock" {
            check_paths(&name, &text, &mut findings);
        }
        if path.extension().is_some_and(|ending| ending == "rs") {
            check_source(&name, &text, &mut findings);
        }
    }
    check_crates(&root, &mut findings)?;
    links::check(&root, &mut findings)?;
    published::check(&root, &mut findings)?;
    cycles::check(&root, &mut findings)?;
    lock::check(&mut findings)?;
    check_citations(&root, "docs/traps.md", &mut findings)?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("{checked} files, {} findings", findings.len());
    if findings.is_empty() {
        Ok(())
    } else {
        Err("not tidy".into())
    }
}

/// No file names a folder of the machine it was written on.
fn check_paths(name: &str, text: &str, findings: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        for folder in ["work", "root", "home", "Users"] {
            let wanted = format!("/{folder}/");
            let found = line.match_indices(&wanted).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|letter| letter.is_alphanumeric() || "._-/$}~".contains(letter))
            });
            if found {
                findings.push(format!(
                    "{name}:{}: a path of one machine: {}",
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
}

/// Short files, no skipped tests, a page on top of every module.
fn check_source(name: &str, text: &str, findings: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES {
        findings.push(format!("{name}: {lines} lines, at most {LINES}"));
    }
    if !text.starts_with("//!") && !name.ends_with("/tests.rs") {
        findings.push(format!("{name}: starts without a module page"));
    }
    for (number, line) in text.lines().enumerate() {
        for attribute in ["ignore", "should_panic"] {
            if line.trim_start().starts_with(&format!("#[{attribute}")) {
                findings.push(format!("{name}:{}: {attribute} hides a test", number + 1));
            }
        }
    }
}

/// The crate with `unsafe` blocks: its lints are written out, and differ from the workspace's in that alone.
const UNSAFE: &str = "crates/zvf-sys/Cargo.toml";

/// Every crate says in one line what it is and takes its lints from the workspace; that of [`UNSAFE`] denies what they forbid.
fn check_crates(root: &Path, findings: &mut Vec<String>) -> Outcome {
    for entry in std::fs::read_dir(root.join("crates"))? {
        let file = entry?.path().join("Cargo.toml");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.strip_prefix(root)?.display().to_string();
        if !text.lines().any(|line| line.starts_with("description = ")) {
            findings.push(format!("{name}: no description"));
        }
        let lints = if name.replace('\\', "/") == UNSAFE {
            "[lints.rust]\nunsafe_code = \"deny\""
        } else {
            "[lints]\nworkspace = true"
        };
        if !text.contains(lints) {
            findings.push(format!("{name}: lints are not the workspace's"));
        }
    }
    Ok(())
}

/// Every test that a page cites as `file.rs::name` exists: as a function, or as `name: …` in the list of a macro.
fn check_citations(root: &Path, page: &str, findings: &mut Vec<String>) -> Outcome {
    let text = std::fs::read_to_string(root.join(page))?;
    let mut sources: HashMap<String, String> = HashMap::new();
    for path in sh::files(&root.join("crates"))? {
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && name.ends_with(".rs")
        {
            let source = std::fs::read_to_string(&path)?;
            sources
                .entry(name.to_owned())
                .or_default()
                .push_str(&source);
        }
    }
    let exists = |file: &str, test: &str| {
        sources.get(file).is_some_and(|source| {
            source.lines().map(str::trim_start).any(|line| {
                let line = line.strip_prefix("async ").unwrap_or(line);
                line.starts_with(&format!("fn {test}(")) || line.starts_with(&format!("{test}: \""))
            })
        })
    };
    for (file, test) in citations(&text) {
        if !exists(file, test) {
            findings.push(format!("{page}: no test {file}::{test}"));
        }
    }
    Ok(())
}

/// What a page cites, as file and name.
fn citations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|cited| cited.split_once("::"))
        .filter(|(file, _)| file.ends_with(".rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_are_found_and_relative_ones_are_not() {
        let mut findings = Vec::new();
        check_paths(
            "a",
            "see ../work/notes and s3://bucket/root/x and a/home/b",
            &mut findings,
        );
        assert!(findings.is_empty(), "{findings:?}");
        check_paths("a", &format!("open /{}/data", "work"), &mut findings);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn skipped_tests_are_found() {
        let mut findings = Vec::new();
        check_source(
            "a.rs",
            &format!("//! Page.\n#[{}]\nfn t() {{}}\n", "ignore"),
            &mut findings,
        );
        assert_eq!(findings.len(), 1);
    }
    #[test]
    fn cited_tests_have_to_exist() {
        let cited: Vec<_> = citations("see `tidy.rs::a`, `b::c` and `d`; `e.rs::f`").collect();
        assert_eq!(cited, [("tidy.rs", "a"), ("e.rs", "f")]);
        let root = sh::root();
        let mut findings = Vec::new();
        check_citations(&root, "docs/traps.md", &mut findings).unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        let file = std::env::temp_dir().join(format!("zvf-tidy-{}.md", std::process::id()));
        let page = "`made.rs::v07_graph` `traps.rs::t1_fragments_are_not_bins` `traps.rs::t1_` `none.rs::x`";
        std::fs::write(&file, page).unwrap();
        let checked = check_citations(&root, &file.to_string_lossy(), &mut findings);
        std::fs::remove_file(&file).unwrap();
        checked.unwrap();
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}

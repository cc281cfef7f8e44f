//! Whether the program that users build has what the tests had, and whether crates build with fewer features.
//!
//! Cargo unites the features that anybody in the workspace asks for, tests included, so a codec that only a test asks for
//! is missing in `zvf` when it is built alone, and no test sees it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Outcome, sh, test};

/// Features of our crates, by crate.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Sets of features that no other stage builds, by crate; default features are off.
const SETS: &[(&str, &str)] = &[
    ("zvf-io", ""),
    ("zvf-codec", ""),
    ("zvf-codec", "encode"),
    ("zvf-store", ""),
    ("zvf-store", "http"),
    ("zvf-query", ""),
    ("zvf-encode", ""),
    ("zvf-write", ""),
    ("zvf-plot", ""),
    ("zvf-validate", ""),
    ("zvf-validate", "repair"),
    ("zvf-cli", ""),
    ("zvf-cli", "cloud"),
    ("zvf-cli", "plot"),
    ("zvf-cli", "serve"),
    ("zvf-cli", "viewer"),
    ("zvf-cli", "volumes"),
    ("zvf-cli", "zarrs,parquet"),
];

/// Compares the program with the tests, then checks every one of [`SETS`], without a warning.
pub(crate) fn check() -> Outcome {
    compare()?;
    for (package, features) in SETS {
        println!("{package} with [{features}]");
        // Any folder with a page will do where nothing runs: npm is not needed.
        let page = sh::root().join("xtask/viewer");
        sh::run(sh::cargo().env("ZVF_VIEWER", page).args([
            "clippy",
            "--quiet",
            "--package",
            package,
            "--no-default-features",
            "--features",
            features,
            "--",
            "-D",
            "warnings",
        ]))?;
    }
    Ok(())
}

/// Compares the features of our crates in `zvf` alone with those under which the tests run. What [`test::FEATURES`] asks
/// for by name may be missing, and the mere name `default`.
fn compare() -> Outcome {
    let alone = tree(&["--package", "zvf-cli", "--edges", "normal"])?;
    let everything = ["--workspace", "--features", test::FEATURES];
    let tested = tree(&[&everything[..], &["--edges", "normal,dev"]].concat())?;
    let mut missing = Vec::new();
    for (name, found) in &alone {
        for feature in tested.get(name).into_iter().flatten() {
            let full = format!("{name}/{feature}");
            let asked = feature == "default" || test::FEATURES.split(',').any(|one| one == full);
            if !found.contains(feature) && !asked {
                missing.push(full);
            }
        }
    }
    if missing.is_empty() {
        println!("{} crates, as tested", alone.len());
        return Ok(());
    }
    Err(format!(
        "tested, and not in a `zvf` that is built alone: {}",
        missing.join(", ")
    )
    .into())
}

fn tree(asked: &[&str]) -> Outcome<Features> {
    let mut command = sh::cargo();
    command
        .args(["tree", "--locked", "--prefix", "none"])
        .args(["--format", "{p}|{f}"])
        .args(asked);
    Ok(parse(&sh::capture(&mut command)?))
}

/// Lines such as `zvf-tet v0.1.0 (/path)|alloc,std (*)`.
fn parse(text: &str) -> Features {
    let mut all = Features::new();
    for line in text.lines() {
        let Some((package, features)) = line.split_once('|') else {
            continue;
        };
        let name = package.split(' ').next().unwrap_or_default();
        if !name.starts_with("zvf-") {
            continue;
        }
        let features = features.split(' ').next().unwrap_or_default();
        let kept = all.entry(name.to_owned()).or_default();
        let features = features.split(',').filter(|one| !one.is_empty());
        kept.extend(features.map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree_are_read() {
        let text = "zvf-tet v0.1.0 (/a b)|alloc,std\nzstd v1.0.0|std\nzvf-grid v0.1.0 (/a)|\nzvf-tet v0.1.0 (/a b)|mmap (*)\n";
        let read = parse(text);
        let names: Vec<&str> = read.keys().map(String::as_str).collect();
        assert_eq!(names, ["zvf-grid", "zvf-tet"]);
        let features: Vec<&str> = read["zvf-tet"].iter().map(String::as_str).collect();
        assert_eq!(features, ["alloc", "mmap", "std"]);
    }
}

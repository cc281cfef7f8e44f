//! `cargo xtask features`: whether the program that users build has what the tests had, and whether crates build with fewer features.
//!
//! Cargo unites the features that anybody in the workspace asks for, tests included, so a codec that only a test asks for
//! is missing in `zvf` when it is built alone, and no test sees it.

use std::collections::{BTreeMap, BTreeSet};

use zvf_testkit::sample::Sample;

use crate::{Outcome, sh, test, wheel};

/// Features of our crates, by crate.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Sets of features that no other stage builds, by crate; default features are off.
const SETS: &[(&str, &str)] = &[
    ("zvf-io", ""),
    ("zvf-io", "contract"),
    ("zvf-codec", ""),
    ("zvf-codec", "encode"),
    ("zvf-codec", "pure"),
    ("zvf-store", ""),
    ("zvf-store", "backends"),
    ("zvf-store", "http"),
    ("zvf-query", ""),
    ("zvf-encode", ""),
    ("zvf-write", ""),
    ("zvf-plot", ""),
    ("zvf-validate", ""),
    ("zvf-validate", "repair"),
    ("zvf-cli", ""),
    ("zvf-cli", "cloud"),
    ("zvf-cli", "serve"),
    ("zvf-cli", "viewer"),
    ("zvf-cli", "volumes"),
    ("zvf-cli", "zarrs,parquet"),
];

/// The set of the program that `cargo xtask demo` builds; it is always checked.
const DEMO: (&str, &str) = ("zvf-cli", "plot");

/// Compares the program and the wheel with the tests, then checks a third of [`SETS`] without a warning, chosen by the day or by `--seed N`;
/// `--whole` checks all.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seed = match sh::option(arguments, "--seed")? {
        Some(seed) => seed,
        None => test::day()?,
    };
    compare()?;
    let whole = sh::flag(arguments, "--whole");
    if !whole {
        println!(
            "a third of the sets, by seed {seed}: --seed {seed} repeats them, --whole checks all"
        );
    }
    let sample = Sample::of("features", seed, whole);
    for (package, features) in std::iter::once(&DEMO).chain(sample.some(SETS, 3)) {
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
/// for by name may be missing, and the mere name `default`. The wheel for tests has the features of the tests: otherwise all of our crates
/// would be compiled again for it.
fn compare() -> Outcome {
    let alone = tree(&["--package", "zvf-cli", "--edges", "normal"])?;
    let everything = ["--workspace", "--features", test::FEATURES];
    let tested = tree(&[&everything[..], &["--edges", "normal,dev"]].concat())?;
    let mut findings = Vec::new();
    for (name, found) in &alone {
        for feature in tested.get(name).into_iter().flatten() {
            let full = format!("{name}/{feature}");
            let asked = feature == "default" || test::FEATURES.split(',').any(|one| one == full);
            if !found.contains(feature) && !asked {
                findings.push(format!(
                    "{full}: tested, and not in a `zvf` that is built alone"
                ));
            }
        }
    }
    let extension = ["--package", "zvf-python", "--features", wheel::AS_TESTED];
    let extension = tree(&[&extension[..], &["--edges", "normal"]].concat())?;
    for (name, found) in &extension {
        let wanted = tested.get(name).unwrap_or(found);
        // The extension itself is not tested by the workspace.
        if name != "zvf-python" && found != wanted {
            findings.push(format!(
                "{name}: the wheel for tests has the features {found:?}, the tests {wanted:?}"
            ));
        }
    }
    if findings.is_empty() {
        println!(
            "{} crates of the program, {} of the wheel, as tested",
            alone.len(),
            extension.len()
        );
        return Ok(());
    }
    Err(findings.join("\n").into())
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

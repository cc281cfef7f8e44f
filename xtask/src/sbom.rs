//! The crates that are linked into the program, as CycloneDX: part of `cargo xtask release --archive`.
//!
//! Made from `cargo tree`, which resolves the features and the target of one build; tools that read `cargo metadata` list the crates of
//! all targets and of tests, too.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::dependencies::{Package, packages};
use crate::{Outcome, sh};

/// The document for the program that is built for this machine. Our own crates are the program.
pub(crate) fn of_program(version: &str) -> Outcome<String> {
    let tree = [
        "tree",
        "--locked",
        "--package",
        "zvf-cli",
        "--edges",
        "normal",
    ];
    let format = ["--prefix", "none", "--format", "{p}|{l}"];
    let tree = sh::capture(sh::cargo().args(tree).args(format))?;
    let lock = std::fs::read_to_string(sh::root().join("Cargo.lock"))?;
    let sums = checksums(&lock);
    let listed = packages(&tree).into_iter();
    let components: Vec<Value> = listed
        .map(|package| component(&package, &sums))
        .collect::<Outcome<_>>()?;
    println!("{} crates in the SBOM", components.len());
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": "zvf",
            "name": "zvf",
            "version": version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// One crate, with the checksum of its package.
fn component(package: &Package, sums: &BTreeMap<(&str, &str), &str>) -> Outcome<Value> {
    let Package {
        name,
        version,
        licence,
    } = package;
    let purl = format!("pkg:cargo/{name}@{version}");
    let sum = sums.get(&(name.as_str(), version.as_str()));
    let sum = sum.ok_or_else(|| format!("Cargo.lock: no checksum of {name} {version}"))?;
    // A slash is the old form of `OR`.
    let licence: Vec<&str> = licence.split('/').map(str::trim).collect();
    Ok(json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": sum}],
        "licenses": [{"expression": licence.join(" OR ")}],
        "purl": purl,
    }))
}

/// The checksums of `Cargo.lock` by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let value = |text: &'_ str, name: &str| -> Option<(usize, usize)> {
        let start = text.find(&format!("\n{name} = \""))? + name.len() + 5;
        let end = start + text.get(start..)?.find('"')?;
        Some((start, end))
    };
    let packages = lock.split("[[package]]").skip(1);
    let found = packages.filter_map(|text| {
        let of = |name| value(text, name).and_then(|(start, end)| text.get(start..end));
        Some(((of("name")?, of("version")?), of("checksum")?))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_have_the_checksums_of_the_lock() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum = \"00ff\"\n\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let sums = checksums(lock);
        let tree = "ours v0.1.0 (/a)|MIT\na v1.0.0|MIT / Apache-2.0\n";
        let listed = packages(tree);
        let found: Vec<Value> = listed
            .iter()
            .map(|package| component(package, &sums).unwrap())
            .collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["purl"], "pkg:cargo/a@1.0.0");
        assert_eq!(found[0]["hashes"][0]["content"], "00ff");
        assert_eq!(found[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let unknown = packages("b v1.0.0|MIT\n");
        assert!(component(unknown.first().unwrap(), &sums).is_err());
    }

    #[test]
    fn the_program_links_each_crate_once_and_none_of_tests() {
        let document: Value = serde_json::from_str(&of_program("9.8.7").unwrap()).unwrap();
        let listed = document["components"].as_array().unwrap();
        let names: Vec<&str> = listed
            .iter()
            .filter_map(|one| one["purl"].as_str())
            .collect();
        let different: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!((names.len(), different.len()), (listed.len(), listed.len()));
        let has = |name: &str| listed.iter().any(|one| one["name"] == name);
        assert!(has("clap") && has("zstd-sys") && !has("proptest") && !has("zvf-io"));
    }
}

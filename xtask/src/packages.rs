//! The lists of Python packages: `requirements.txt`, which people write, and `requirements.lock`, which has everything that it takes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{Outcome, sh};

pub(crate) const LIST: &str = "requirements.txt";
pub(crate) const LOCK: &str = "requirements.lock";

pub(crate) fn path(name: &str) -> PathBuf {
    sh::root().join("xtask").join("python").join(name)
}

/// What a section of the lock says is to be installed.
pub(crate) fn section(name: &str) -> Outcome<String> {
    let lock = read(LOCK)?;
    let found = sections(&lock).find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| format!("{LOCK}: no section {name}"))?;
    Ok(join(pins(text).values()))
}

/// The text of one of the two files.
pub(crate) fn read(name: &str) -> Outcome<String> {
    let path = path(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The sections of a list or a lock, by name.
pub(crate) fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = text.split("\n# == ").skip(1);
    parts.map(|part| part.split_once('\n').unwrap_or((part, "")))
}

/// The lines of a section that are no comments.
pub(crate) fn requirements(section: &str) -> impl Iterator<Item = &str> {
    section
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Packages of a lock, by name: the line with the version, and the lines with hashes behind it.
pub(crate) fn pins(section: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut package = String::new();
    for line in requirements(section) {
        if !line.starts_with(' ') {
            let name = line.split(['=', '[']).next().unwrap_or(line);
            name.clone_into(&mut package);
        }
        let pin: &mut String = found.entry(package.clone()).or_default();
        pin.push_str(line);
        pin.push('\n');
    }
    found
}

/// The text of pins.
pub(crate) fn join<'a>(pins: impl Iterator<Item = &'a String>) -> String {
    pins.map(String::as_str).collect()
}

//! `cargo xtask lock`: the packages of `requirements.txt`, and all that they need, with hashes, in `requirements.lock`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::packages::{LIST, LOCK, join, path, pins, read, requirements, sections};
use crate::{Outcome, python, sh};

/// The oldest Python whose packages are locked: what those of the list need.
const PYTHON: &str = "3.11";

/// How a line of the lock begins that repeats one of the list.
const ASKED: &str = "# asked: ";

/// Makes the lock again. Versions stay as they are where they may; `--upgrade` takes the newest of all that the list does not name.
///
/// Files of every system and of every Python from 3.11 on are listed, so that one lock serves all of them. Indexes are the business
/// of whoever runs it: those of pip's configuration, or of the variable `UV_DEFAULT_INDEX`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let upgrade = sh::flag(arguments, "--upgrade");
    let interpreter = python::bare()?;
    let folder = sh::target().join("lock");
    std::fs::create_dir_all(&folder)?;
    let (list, old) = (read(LIST)?, read(LOCK).unwrap_or_default());
    let old: BTreeMap<&str, &str> = sections(&old).collect();
    let mut text = String::from("# Made from requirements.txt by `cargo xtask lock`.\n");
    let mut environment = BTreeMap::new();
    for (name, asked) in sections(&list) {
        let (input, output) = (
            folder.join(format!("{name}.txt")),
            folder.join(format!("{name}.lock")),
        );
        std::fs::write(&input, asked)?;
        // uv keeps to the versions that it finds in the file that it is to write.
        let mut known = environment.clone();
        if let Some(section) = old.get(name).filter(|_| !upgrade) {
            known.extend(pins(section));
        }
        std::fs::write(&output, join(known.values()))?;
        let mut compile = python::uv(&interpreter)?;
        compile.args(["pip", "compile", "--quiet", "--universal", "--no-header"]);
        compile.args(["--generate-hashes", "--no-annotate", "--no-emit-index-url"]);
        compile.args(["--python-version", PYTHON]);
        sh::run(compile.arg(&input).arg("--output-file").arg(&output))?;
        let found = std::fs::read_to_string(&output)?;
        let mut found = pins(&found);
        let all = found.len();
        found.retain(|name, pin| environment.get(name).is_none_or(|held| !serves(held, pin)));
        println!(
            "{name}: {all} packages, {} beside the environment's",
            found.len()
        );
        write!(text, "\n# == {name}\n")?;
        for line in requirements(asked) {
            writeln!(text, "{ASKED}{line}")?;
        }
        text.push_str(&join(found.values()));
        if environment.is_empty() {
            environment = found;
        }
    }
    Ok(std::fs::write(path(LOCK), text)?)
}

/// Adds a finding for each section in which the lock is not that of the list.
pub(crate) fn check(findings: &mut Vec<String>) -> Outcome {
    check_texts(&read(LIST)?, &read(LOCK)?, findings);
    Ok(())
}

fn check_texts(list: &str, lock: &str, findings: &mut Vec<String>) {
    let locked: Vec<(&str, &str)> = sections(lock).collect();
    let mut environment = BTreeMap::new();
    let mut wrong = Vec::new();
    if !sections(list)
        .map(|(name, _)| name)
        .eq(locked.iter().map(|(name, _)| *name))
    {
        wrong.push("sections are not those of requirements.txt".to_owned());
    }
    for (name, asked) in sections(list) {
        let Some((_, section)) = locked.iter().find(|(locked, _)| *locked == name) else {
            continue;
        };
        let repeated = section.lines().filter_map(|line| line.strip_prefix(ASKED));
        if !requirements(asked).eq(repeated) {
            wrong.push(format!("{name}: not made from this requirements.txt"));
        }
        let found = pins(section);
        if environment.is_empty() {
            environment.clone_from(&found);
        }
        for one in requirements(asked) {
            let (package, asked_version) = one.split_once("==").unwrap_or((one, ""));
            let package = package.split('[').next().unwrap_or(package);
            let held = found.get(package).or_else(|| environment.get(package));
            if held.map(|pin| version(pin)) != Some(asked_version) {
                wrong.push(format!("{name}: no {one}"));
            }
        }
        for pin in found.values().filter(|pin| !pin.contains("--hash=sha256:")) {
            let first = pin.lines().next().unwrap_or_default();
            wrong.push(format!("{name}: no hash of {first}"));
        }
    }
    findings.extend(
        wrong
            .into_iter()
            .map(|what| format!("xtask/python/{LOCK}: {what}: cargo xtask lock")),
    );
}

/// The version of a pin; conditions, such as of a system, may be behind it.
fn version(pin: &str) -> &str {
    let line = pin.split([' ', '\n']).next().unwrap_or_default();
    line.split_once("==").map_or("", |(_, version)| version)
}

/// Whether a pin of the environment is there wherever another one asks for it.
fn serves(held: &str, pin: &str) -> bool {
    let everywhere = !held.lines().next().unwrap_or_default().contains(';');
    held == pin || (everywhere && version(held) == version(pin))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "# About.\n\n# == environment\n# why\na[x]==1\n\nb==2\n\n# == old\n# why\nb==1\n";
    const LOCK: &str = "# Made.\n\n# == environment\n# asked: a[x]==1\n# asked: b==2\na==1 \\\n    --hash=sha256:aa\nb==2 ; sys_platform == 'linux' \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n\n# == old\n# asked: b==1\nb==1 \\\n    --hash=sha256:dd\n";

    fn findings(list: &str, lock: &str) -> Vec<String> {
        let mut found = Vec::new();
        check_texts(list, lock, &mut found);
        found
    }

    #[test]
    fn a_lock_of_its_list_is_tidy() {
        assert_eq!(findings(LIST, LOCK), [""; 0]);
    }

    #[test]
    fn a_changed_list_is_found() {
        for (from, to) in [
            ("b==2", "b==3"),
            ("b==2", ""),
            ("b==2", "b==2\nc==1"),
            ("a[x]", "a[y]"),
            ("== old", "== new"),
        ] {
            assert!(!findings(&LIST.replace(from, to), LOCK).is_empty(), "{to}");
        }
    }

    #[test]
    fn a_changed_lock_is_found() {
        for (from, to) in [
            ("\nb==1 ", "\nb==7 "),
            ("--hash=sha256:dd", ""),
            ("\na==1 ", "\nc==1 "),
            ("\na==1 ", "\na==1.5 "),
        ] {
            assert!(!findings(LIST, &LOCK.replace(from, to)).is_empty(), "{to}");
        }
    }

    #[test]
    fn the_environment_serves_where_it_has_the_version() {
        let (all, some) = (
            "a==1 \\\n  --hash=x\n",
            "a==1 ; python < '3.12' \\\n  --hash=x\n",
        );
        assert!(serves(all, some) && serves(all, all) && serves(some, some));
        assert!(!serves(some, all) && !serves(all, "a==2 \\\n  --hash=x\n"));
    }

    #[test]
    fn packages_are_taken_with_their_hashes() {
        let text = sections(LOCK).next().map(|(_, text)| pins(text));
        let pins = text.unwrap_or_default();
        assert_eq!(pins.len(), 2);
        assert!(pins["b"].ends_with("--hash=sha256:cc\n"), "{}", pins["b"]);
    }
}

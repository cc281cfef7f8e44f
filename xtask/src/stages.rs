//! What each stage of CI took: a file with a line a stage, which several commands of one run add to, and a table of it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Outcome, sh};

/// The variable that names the file. `.ci/run` sets it for all of its commands, and adds lines of its own.
pub(crate) const FILE: &str = "ZVF_STAGES";

/// How the name of a stage ends that runs while others do; it is no part of the sum.
pub(crate) const BESIDE: &str = ", beside";

/// The file, if this is a command of a larger run.
pub(crate) fn given() -> Option<PathBuf> {
    std::env::var_os(FILE).map(|file| sh::root().join(file))
}

/// The file of this run: the one of the larger run, or a new one in the target folder.
pub(crate) fn file() -> Outcome<PathBuf> {
    if let Some(file) = given() {
        return Ok(file);
    }
    let file = sh::target().join("stages.tsv");
    std::fs::create_dir_all(sh::target())?;
    std::fs::write(&file, "")?;
    Ok(file)
}

/// Adds a stage.
pub(crate) fn add(file: &Path, name: &str, time: Duration) -> Outcome {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    let line = format!("{name}\t{:.1}\n", time.as_secs_f64());
    Ok(file.write_all(line.as_bytes())?)
}

/// The table of a file's lines, with their sum.
pub(crate) fn table(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let stages: Vec<(&str, f64)> = lines
        .filter_map(|(name, seconds)| Some((name, seconds.parse().ok()?)))
        .collect();
    let one_by_one = stages.iter().filter(|(name, _)| !name.ends_with(BESIDE));
    let sum = one_by_one.map(|(_, seconds)| seconds).sum();
    let rows = stages.iter().copied().chain([("all", sum)]);
    rows.map(|(name, seconds)| format!("  {name:<24} {seconds:>8.1} s\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_run_beside_others_are_not_added_up() {
        let found = table("packages\t12\ntest\t600.5\nconformance, beside\t300\nodd\n");
        let rows: Vec<Vec<&str>> = found
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[2], ["conformance,", "beside", "300.0", "s"]);
        assert_eq!(rows[3], ["all", "612.5", "s"]);
    }
}

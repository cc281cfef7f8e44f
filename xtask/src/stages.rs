//! What each stage of CI took: a file with a line a stage, which several commands of one run add to, and a table of it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

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

/// A stage that runs: what it costs is counted from here on.
pub(crate) struct Running {
    start: Instant,
    /// The same moment, for times of files.
    since: SystemTime,
    cpu: f64,
}

impl Running {
    pub(crate) fn start() -> Outcome<Self> {
        Ok(Self {
            start: Instant::now(),
            since: SystemTime::now(),
            cpu: children()?,
        })
    }

    /// Adds the stage to the file: its name, seconds, CPU seconds and the crates that it had compiled. Stages that run beside each other each
    /// count the crates of both.
    pub(crate) fn end(&self, file: &Path, name: &str) -> Outcome {
        let crates = compiled(&sh::target(), self.since, DEEPEST)?;
        let mut file = OpenOptions::new().append(true).create(true).open(file)?;
        let seconds = self.start.elapsed().as_secs_f64();
        let cpu = children()? - self.cpu;
        let line = format!("{name}\t{seconds:.1}\t{cpu:.1}\t{crates}\n");
        Ok(file.write_all(line.as_bytes())?)
    }
}

/// How far below the target folder cargo's own folders are, such as `no-std-probe/TARGET/release/.fingerprint`.
const DEEPEST: usize = 3;

/// How often rustc or rustdoc was started since a moment: cargo touches a file below `.fingerprint` each time.
fn compiled(folder: &Path, since: SystemTime, deepest: usize) -> Outcome<usize> {
    let mut count = 0;
    let units = folder.join(".fingerprint");
    if units.is_dir() {
        for unit in std::fs::read_dir(&units)? {
            let touched = unit?.path().join("invoked.timestamp").metadata();
            let touched = touched.and_then(|found| found.modified());
            count += usize::from(touched.is_ok_and(|time| time >= since));
        }
        return Ok(count);
    }
    if deepest == 0 || !folder.is_dir() {
        return Ok(0);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += compiled(&entry.path(), since, deepest - 1)?;
        }
    }
    Ok(count)
}

/// CPU seconds of the processes that this one has waited for, and of theirs; 0 where the system has no /proc.
pub(crate) fn children() -> Outcome<f64> {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else {
        return Ok(0.0);
    };
    // The name of the program, in parentheses, may hold spaces; cutime and cstime are fields 16 and 17 of proc(5).
    let behind = text.rsplit_once(") ").map_or("", |(_, behind)| behind);
    let ticks: u64 = behind
        .split(' ')
        .skip(13)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    // The kernel reports in hundredths of a second on every platform that Rust runs on.
    Ok(Duration::from_millis(ticks * 10).as_secs_f64())
}

/// The table of a file's lines, with their sum. A line may state the seconds alone.
pub(crate) fn table(text: &str) -> String {
    let mut rows = vec![["stage", "seconds", "CPU s", "crates"].map(str::to_owned)];
    let mut sum = [0.0; 3];
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
        let (name, Some(_)) = (cells[0], number(1)) else {
            continue;
        };
        let cell = |at: usize| cells.get(at).map_or("-", |cell| cell).to_owned();
        rows.push([name.to_owned(), cell(1), cell(2), cell(3)]);
        // Its CPU seconds are also those of the stage that waits for it, and its crates those of the stages beside it.
        if !name.ends_with(BESIDE) {
            for (at, sum) in sum.iter_mut().enumerate() {
                *sum += number(at + 1).unwrap_or(0.0);
            }
        }
    }
    let [seconds, cpu, crates] = sum;
    rows.push([
        "all".to_owned(),
        format!("{seconds:.1}"),
        format!("{cpu:.1}"),
        format!("{crates}"),
    ]);
    let line = |[name, seconds, cpu, crates]: &[String; 4]| {
        format!("  {name:<24} {seconds:>8} {cpu:>8} {crates:>7}\n")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_that_run_beside_others_are_not_added_up() {
        let found =
            table("packages\t12\ntest\t600.5\t900\t423\nconformance, beside\t300\t200\t3\nodd\n");
        let rows: Vec<Vec<&str>> = found
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["packages", "12", "-", "-"]);
        assert_eq!(rows[3], ["conformance,", "beside", "300", "200", "3"]);
        assert_eq!(rows[4], ["all", "612.5", "900.0", "423"]);
    }

    #[test]
    fn crates_compiled_since_a_moment_are_counted() -> Outcome {
        let folder = tempfile::tempdir()?;
        let before = SystemTime::now() - Duration::from_secs(5);
        for unit in ["debug/.fingerprint/a-1", "x/t/release/.fingerprint/b-2"] {
            let unit = folder.path().join(unit);
            std::fs::create_dir_all(&unit)?;
            std::fs::write(unit.join("invoked.timestamp"), "")?;
        }
        std::fs::create_dir_all(folder.path().join("debug/.fingerprint/fresh-3"))?;
        assert_eq!(compiled(folder.path(), before, DEEPEST)?, 2);
        let later = SystemTime::now() + Duration::from_secs(5);
        assert_eq!(compiled(folder.path(), later, DEEPEST)?, 0);
        Ok(())
    }
}

//! What one run of the program costs.

use std::path::{Path, PathBuf};

use crate::{Outcome, python, sh};

/// What a run cost. Requests and bytes are those of reading: what a writer sends is in `files` and in the bytes of the store.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// Seconds.
    pub(super) wall: f64,
    /// Seconds on all processors.
    pub(super) cpu: f64,
    /// Most bytes of memory that the process had resident.
    pub(super) memory: f64,
    pub(super) requests: f64,
    /// Rounds of requests that wait for each other.
    pub(super) rounds: f64,
    /// Bytes read.
    pub(super) bytes: f64,
}

/// The program, and where it may write its trace.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) zvf: PathBuf,
    pub(super) trace: PathBuf,
}

impl Program {
    /// Runs it once with these arguments, and records its requests.
    pub(super) fn traced(&self, arguments: &[String]) -> Outcome<Cost> {
        let trace = self.trace.display().to_string();
        let traced = [arguments, &["--trace-io".to_owned(), trace]].concat();
        let mut cost = self.timed(&traced)?;
        count(&self.trace, &mut cost)?;
        Ok(cost)
    }

    /// Requests of one run, and the lowest of all other numbers of further ones without a trace: other programs run beside it.
    pub(super) fn lowest(&self, arguments: &[String], times: u32) -> Outcome<Cost> {
        let mut cost = self.traced(arguments)?;
        for number in 0..times {
            let next = self.timed(arguments)?;
            // The memory of the first run holds its trace, too.
            let least = |one: f64, other: f64| if number == 0 { other } else { one.min(other) };
            cost.wall = least(cost.wall, next.wall);
            cost.cpu = least(cost.cpu, next.cpu);
            cost.memory = least(cost.memory, next.memory);
        }
        Ok(cost)
    }

    fn timed(&self, arguments: &[String]) -> Outcome<Cost> {
        let mut command = sh::command("python3");
        command.arg(python::script("measured.py"));
        command.arg(&self.zvf).args(arguments).arg("--quiet");
        let said = sh::capture(&mut command)?;
        let (code, wall, cpu, kibibytes, errors): (i32, f64, f64, u64, String) =
            serde_json::from_str(said.trim())?;
        if code != 0 {
            return Err(format!("zvf {}: exit code {code}\n{errors}", arguments.join(" ")).into());
        }
        Ok(Cost {
            wall,
            cpu,
            memory: kibibytes as f64 * 1024.0,
            ..Cost::default()
        })
    }

    /// Vertices and objects of the answer of a query.
    pub(super) fn answer(&self, arguments: &[String]) -> Outcome<(u64, Option<u64>)> {
        let mut command = sh::command(&self.zvf);
        let said = sh::capture(command.args(arguments).args(["--json", "--quiet"]))?;
        let summary: serde_json::Value = serde_json::from_str(&said)?;
        let count = |name: &str| summary.get(name).and_then(serde_json::Value::as_u64);
        Ok((count("vertices").unwrap_or_default(), count("objects")))
    }
}

/// Adds what a trace says.
fn count(trace: &Path, cost: &mut Cost) -> Outcome {
    let mut rounds = std::collections::BTreeSet::new();
    for line in std::fs::read_to_string(trace)?.lines() {
        let request: serde_json::Value = serde_json::from_str(line)?;
        let number = |name: &str| request.get(name).and_then(serde_json::Value::as_u64);
        cost.requests += 1.0;
        rounds.insert(number("round"));
        // The "bytes" of a listing are names.
        if request.get("method").and_then(serde_json::Value::as_str) != Some("LIST") {
            cost.bytes += number("bytes").unwrap_or_default() as f64;
        }
    }
    cost.rounds = rounds.len() as f64;
    Ok(())
}

/// Files of a folder, and their bytes.
pub(super) fn size(folder: &Path) -> Outcome<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
                bytes += meta.len();
            }
        }
    }
    Ok((files, bytes))
}

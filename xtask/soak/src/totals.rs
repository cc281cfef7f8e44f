//! Totals of many runs: a file to which each run adds what it did, and the tables of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// What one run did.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    /// What no other run is called.
    pub(super) id: String,
    pub(super) seed: u64,
    pub(super) workers: u64,
    pub(super) program: String,
    pub(super) seconds: f64,
    pub(super) operations: u64,
    pub(super) stores: u64,
    /// Requests to buckets.
    pub(super) requests: u64,
    /// Why it ended.
    pub(super) ended: String,
    /// Done, busy or refused, failed, killed, unexplained, by the kind of operation.
    pub(super) kinds: BTreeMap<String, [u64; 5]>,
    pub(super) faults: BTreeMap<String, u64>,
    /// Why requests had no answer.
    pub(super) reasons: BTreeMap<String, u64>,
    pub(super) anomalies: Vec<String>,
}

fn numbers(map: &Value) -> BTreeMap<String, u64> {
    let members = map.as_object().into_iter().flatten();
    members
        .map(|(name, number)| (name.clone(), number.as_u64().unwrap_or(0)))
        .collect()
}

impl Run {
    fn document(&self) -> Value {
        json!({
            "id": self.id,
            "seed": self.seed,
            "workers": self.workers,
            "program": self.program,
            "seconds": self.seconds.round(),
            "operations": self.operations,
            "stores": self.stores,
            "requests": self.requests,
            "ended": self.ended,
            "kinds": self.kinds,
            "faults": self.faults,
            "reasons": self.reasons,
            "anomalies": self.anomalies,
        })
    }

    fn of(document: &Value) -> Self {
        let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| document[name].as_u64().unwrap_or(0);
        let kinds = document["kinds"].as_object().into_iter().flatten();
        let kinds = kinds.map(|(name, counts)| {
            let count = |column: usize| counts[column].as_u64().unwrap_or(0);
            (name.clone(), [0, 1, 2, 3, 4].map(count))
        });
        let anomalies = document["anomalies"].as_array().into_iter().flatten();
        Self {
            id: text("id"),
            seed: number("seed"),
            workers: number("workers"),
            program: text("program"),
            seconds: document["seconds"].as_f64().unwrap_or(0.0),
            operations: number("operations"),
            stores: number("stores"),
            requests: number("requests"),
            ended: text("ended"),
            kinds: kinds.collect(),
            faults: numbers(&document["faults"]),
            reasons: numbers(&document["reasons"]),
            anomalies: anomalies
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect(),
        }
    }

    /// Adds the counts of another run.
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.operations += other.operations;
        self.stores += other.stores;
        self.requests += other.requests;
        for (name, counts) in &other.kinds {
            let own = self.kinds.entry(name.clone()).or_default();
            for (own, more) in own.iter_mut().zip(counts) {
                *own += more;
            }
        }
        for (own, more) in [
            (&mut self.faults, &other.faults),
            (&mut self.reasons, &other.reasons),
        ] {
            for (name, count) in more {
                *own.entry(name.clone()).or_default() += count;
            }
        }
    }
}

/// Puts a run into the file of totals, in place of what it put there before.
pub(super) fn put(path: &Path, run: &Run) -> Result<()> {
    // Runs that end at the same time write one after another.
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    let mut runs = read(path)?;
    match runs.iter_mut().find(|one| one.id == run.id) {
        Some(own) => *own = run.clone(),
        None => runs.push(run.clone()),
    }
    let runs: Vec<Value> = runs.iter().map(Run::document).collect();
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_string_pretty(&json!({"runs": runs}))?)?;
    std::fs::rename(new, path)?;
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Run>> {
    let mut text = String::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let document: Map<String, Value> = serde_json::from_str(&text)
        .with_context(|| format!("{}: no file of totals", path.display()))?;
    let runs = document.get("runs").and_then(Value::as_array);
    Ok(runs.into_iter().flatten().map(Run::of).collect())
}

/// The tables of all runs of a file, in Markdown.
pub(super) fn tables(path: &Path) -> Result<String> {
    Ok(of(&read(path)?))
}

/// The tables of some runs, in Markdown.
pub(super) fn of(runs: &[Run]) -> String {
    let mut all = Run::default();
    for run in runs {
        all.add(run);
    }
    let mut text = String::new();
    let hours = all.seconds / 3600.0;
    let rate = all.operations as f64 / all.seconds.max(1.0);
    let anomalies: usize = runs.iter().map(|run| run.anomalies.len()).sum();
    let _ = writeln!(
        text,
        "{} operations in {hours:.2} hours ({rate:.1} a second), {} stores, {} requests to buckets, {anomalies} anomalies.\n",
        all.operations, all.stores, all.requests
    );
    text.push_str("| run: seed | program | threads | minutes | operations | anomalies | ended |\n|---:|---|---:|---:|---:|---:|---|\n");
    for run in runs {
        let minutes = run.seconds / 60.0;
        let (seed, program, workers) = (run.seed, &run.program, run.workers);
        let _ = writeln!(
            text,
            "| {seed} | {program} | {workers} | {minutes:.1} | {} | {} | {} |",
            run.operations,
            run.anomalies.len(),
            run.ended
        );
    }
    text.push_str("\n| operation | done | busy or refused | failed by a fault or a change | killed | unexplained |\n|---|---:|---:|---:|---:|---:|\n");
    for (name, [done, busy, failed, killed, odd]) in &all.kinds {
        let _ = writeln!(
            text,
            "| {name} | {done} | {busy} | {failed} | {killed} | {odd} |"
        );
    }
    for (head, counts) in [
        ("fault", &all.faults),
        ("why there was no answer", &all.reasons),
    ] {
        if !counts.is_empty() {
            let _ = writeln!(text, "\n| {head} | number |\n|---|---:|");
        }
        for (name, count) in counts {
            let _ = writeln!(text, "| {name} | {count} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_replace_what_they_wrote_before() {
        let folder = std::env::temp_dir().join(format!("zvf-totals-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("totals.json");
        let mut run = Run {
            id: "a".into(),
            seconds: 1800.0,
            operations: 10,
            kinds: [("query".to_owned(), [1, 2, 3, 4, 0])].into(),
            ..Run::default()
        };
        put(&path, &run).unwrap();
        run.operations = 30;
        put(&path, &run).unwrap();
        run.id = "b".into();
        run.anomalies.push("odd".into());
        put(&path, &run).unwrap();
        let text = tables(&path).unwrap();
        assert!(text.starts_with("60 operations in 1.00 hours"), "{text}");
        assert!(text.contains("| query | 2 | 4 | 6 | 8 | 0 |") && text.contains(" 1 anomalies"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

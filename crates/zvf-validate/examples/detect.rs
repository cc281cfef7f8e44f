//! Measures how many random damages the validator finds: `detect COUNT SEED [FOLDER]`; `cargo xtask badstores --detect` runs it.
//!
//! If a folder is given, the damages to stores of 0.9 are recorded there, for the validator of the Python package.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "../tests/detection.rs"]
mod detection;
#[path = "../tests/support.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use serde_json::json;
use zvf_badstores::{Objects, Verdict};

use detection::{Bases, Target, Trial};

/// Counts: found; missed; nothing readable changed (and found); no rule applies (and found).
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    found: usize,
    missed: usize,
    nothing: (usize, usize),
    free: (usize, usize),
}

impl Row {
    fn add(&mut self, trial: &Trial) {
        let found = usize::from(trial.found.is_some());
        match trial.verdict {
            Verdict::Broken(_) => {
                self.found += found;
                self.missed += 1 - found;
            }
            Verdict::Nothing(_) => self.nothing = (self.nothing.0 + 1, self.nothing.1 + found),
            Verdict::NoRule(_) => self.free = (self.free.0 + 1, self.free.1 + found),
        }
    }

    fn cells(&self) -> String {
        let percent = match self.found + self.missed {
            0 => "-".to_owned(),
            all => {
                let tenths = self.found * 1000 / all;
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        };
        let both = |(all, found): (usize, usize)| match found {
            0 => all.to_string(),
            found => format!("{all} ({found} found)"),
        };
        format!(
            "{} | {} | {percent} | {} | {}",
            self.found,
            self.missed,
            both(self.free),
            both(self.nothing)
        )
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, seed, folder) = match arguments.as_slice() {
        [count, seed] => (count, seed, None),
        [count, seed, folder] => (count, seed, Some(PathBuf::from(folder))),
        _ => return Err("detect COUNT SEED [FOLDER]".into()),
    };
    let mut rows: BTreeMap<(Target, &str), Row> = BTreeMap::new();
    let mut versions: BTreeMap<String, Row> = BTreeMap::new();
    let (mut missed, mut reasons, mut kept) = (
        Vec::new(),
        BTreeMap::<String, (usize, usize)>::new(),
        Vec::new(),
    );
    let told = |trial: Trial, objects: &Objects| {
        rows.entry((trial.target, trial.kind().name()))
            .or_default()
            .add(&trial);
        rows.entry((trial.target, "all")).or_default().add(&trial);
        let version = trial.case.split('/').next().unwrap_or_default().to_owned();
        versions.entry(version.clone()).or_default().add(&trial);
        if let Verdict::NoRule(why) | Verdict::Nothing(why) = trial.verdict {
            let reason = reasons.entry(why.to_owned()).or_default();
            *reason = (reason.0 + 1, reason.1 + usize::from(trial.found.is_some()));
        }
        if trial.is_missed() {
            missed.push(trial.line());
        }
        if version == "0.9"
            && let Some(folder) = &folder
        {
            kept.push(keep(folder, kept.len(), &trial, objects)?);
        }
        Ok(())
    };
    Bases::default()
        .run(count.parse()?, seed.parse()?, told)
        .await?;
    println!(
        "| target | damage | found | missed | rate | no rule is about it | nothing readable changed |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((target, kind), row) in &rows {
        let target = match target {
            Target::Plain => "data, not compressed",
            Target::Packed => "data, compressed",
            Target::Metadata => "documents, nothing compressed",
            Target::Side => "what is listed and not read",
            Target::PackedMetadata => "documents, other stores",
        };
        println!("| {target} | {kind} | {} |", row.cells());
    }
    for (version, row) in &versions {
        println!("| all | {version} | {} |", row.cells());
    }
    println!("\nnot to be found, and why (found all the same):");
    for (reason, (all, found)) in &reasons {
        println!("  {all:5} {reason} ({found})");
    }
    println!("\nmissed: {}", missed.len());
    for line in &missed {
        println!("  {line}");
    }
    if let Some(folder) = &folder {
        std::fs::write(folder.join("trials.json"), serde_json::to_vec(&kept)?)?;
    }
    Ok(())
}

/// Keeps the good store, once, and the changed objects.
fn keep(
    folder: &Path,
    number: usize,
    trial: &Trial,
    objects: &Objects,
) -> Result<serde_json::Value, Box<dyn Error>> {
    let base = folder.join("good").join(&trial.case);
    if !base.exists() {
        for (key, bytes) in objects {
            put(&base.join(key), bytes)?;
        }
    }
    let changed = folder.join("changed").join(number.to_string());
    let (mut put_keys, mut gone) = (Vec::new(), Vec::new());
    for (key, bytes) in &trial.damage.changes {
        match bytes {
            Some(bytes) => {
                let name = put_keys.len().to_string();
                put(&changed.join(name), bytes)?;
                put_keys.push(key);
            }
            None => gone.push(key),
        }
    }
    let verdict = match trial.verdict {
        Verdict::Broken(_) => "broken",
        Verdict::NoRule(_) => "free",
        Verdict::Nothing(_) => "nothing",
    };
    Ok(json!({
        "case": trial.case, "number": number, "kind": trial.kind().name(), "put": put_keys, "gone": gone, "verdict": verdict,
        "metadata": trial.target == Target::Metadata, "found": trial.found.is_some(), "what": trial.line(),
    }))
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(std::fs::write(path, bytes)?)
}

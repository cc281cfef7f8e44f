//! Runs the jobs of a job file: an import of a table, and statistics of the new store. The reports are those that `zvf run --json` prints.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use serde_json::json;
use zvf_jobs::{Context, parse, run};
use zvf_store::blocking::Runtime;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (table, store) = (folder.path().join("a.csv"), folder.path().join("a.zv"));
    std::fs::write(&table, "x,y,z,score\n1,2,3,0.5\n4,5,6,0.25\n7,8,9,1\n")?;
    let file = json!([
        {"job": "import", "files": [&table], "store": &store},
        {"job": "stats", "store": &store, "where": "score < 0.9"},
    ]);

    for job in parse(&file.to_string())?.as_slice() {
        let report = Runtime::new()?.wait(run(job, &Context::new()))?;
        println!("{}: {}", job.name(), serde_json::to_string(&report)?);
    }
    Ok(())
}

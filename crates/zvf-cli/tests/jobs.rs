//! `zvf run`, `zvf schema` and `--print-job`: a command as a file does the same.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use zvf_testkit::sample::Sample;

use crate::run::{Home, STORE, command};

/// Runs jobs that are given on stdin.
fn run_text(home: &Home, text: &str, more: &[&str]) -> Result<(Option<i32>, String, String)> {
    let arguments = [&["run", "-"][..], more].concat();
    let mut command = command(&home.path(), &arguments);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(text.as_bytes())?;
    drop(stdin);
    let done = child.wait_with_output()?;
    let text = |bytes| String::from_utf8(bytes);
    Ok((done.status.code(), text(done.stdout)?, text(done.stderr)?))
}

/// All files below a folder.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(
                    path.strip_prefix(folder)?.display().to_string(),
                    std::fs::read(&path)?,
                );
            }
        }
    }
    Ok(found)
}

#[test]
fn a_printed_job_does_what_the_command_does() -> Result<()> {
    let lines = [
        (
            "points_ids",
            &["validate", STORE, "--level", "5", "--json"][..],
        ),
        (
            "graph",
            &[
                "validate", STORE, "--quick", "3", "--seed", "2", "--arrays", "vertices", "--json",
            ],
        ),
        (
            "points_ids",
            &[
                "rechunk",
                STORE,
                "out.zv",
                "--codec",
                "gzip",
                "--shard-shape",
                "auto",
                "--json",
            ],
        ),
        (
            "points_ids",
            &[
                "rechunk",
                STORE,
                "out.zv",
                "--codec",
                "[\"gzip\"]",
                "--shard-shape",
                "none",
            ],
        ),
        (
            "graph",
            &[
                "migrate", STORE, "out.zv", "--codec", "zstd:3", "--strict", "--json",
            ],
        ),
        ("points_ids", &["migrate", STORE, "out.zv", "--to", "0.8.1"]),
        (
            "graph",
            &[
                "pyramid",
                STORE,
                "--factors",
                "2,2",
                "--sparsity",
                "2",
                "--seed",
                "7",
                "--json",
            ],
        ),
        (
            "graph",
            &[
                "pyramid",
                STORE,
                "--factors",
                "2",
                "--method",
                "reference",
                "--cross-depth",
                "-1",
            ],
        ),
        ("points_ids", &["vacuum", STORE, "--json"]),
    ];
    // Each line runs the program three times.
    for (case, line) in Sample::new("printed jobs").some(lines, 2) {
        let (by_flags, by_file) = (Home::to_damage(case)?, Home::to_damage(case)?);
        let printed = by_file.text(&[line, &["--print-job"]].concat())?;
        let job: Value = serde_json::from_str(&printed)?;
        ensure!(job["job"] == line[0] && files(&by_file.path())? == files(&by_flags.path())?);
        let told = by_flags.text(line)?;
        let json = if line.contains(&"--json") {
            &["--json"][..]
        } else {
            &[]
        };
        let (code, stdout, stderr) = run_text(&by_file, &printed, json)?;
        assert_eq!((code, &*stdout), (Some(0), &*told), "{line:?}: {stderr}");
        let (one, other) = (files(&by_flags.path())?, files(&by_file.path())?);
        ensure!(one.keys().eq(other.keys()), "{line:?}");
        for (name, bytes) in one {
            ensure!(other.get(&name) == Some(&bytes), "{line:?}: {name} differs");
        }
    }
    Ok(())
}

#[test]
fn a_list_runs_in_order_and_ends_at_a_failure() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    let jobs = json!([
        {"job": "rechunk", "source": STORE, "target": "out.zv", "codec": "gzip"},
        {"job": "validate", "store": "out.zv"},
        {"job": "vacuum", "store": "nowhere.zv"},
        {"job": "vacuum", "store": "out.zv"},
    ]);
    std::fs::write(home.file("jobs.json"), jobs.to_string())?;
    let ran = home.zvf(&["run", "jobs.json", "--json"])?;
    let reports: Vec<Value> = serde_json::from_slice(&ran.stdout)?;
    assert_eq!((ran.code, reports.len()), (2, 2), "{}", ran.stderr);
    assert_eq!(
        (&reports[0]["store"], &reports[1]["ok"]),
        (&json!("out.zv"), &json!(true))
    );
    assert!(ran.stderr.contains("nowhere.zv"), "{}", ran.stderr);

    // Findings do not end a list; they are the exit code.
    std::fs::write(home.file("out.zv/0/zarr.json"), "{}")?;
    let jobs = json!([{"job": "validate", "store": "out.zv"}, {"job": "validate", "store": STORE}]);
    let (code, stdout, stderr) = run_text(&home, &jobs.to_string(), &["--json"])?;
    let reports: Vec<Value> = serde_json::from_str(&stdout)?;
    assert_eq!((code, reports.len()), (Some(1), 2), "{stderr}");
    Ok(())
}

#[test]
fn wrong_job_files_are_usage() -> Result<()> {
    let wrong = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zvf-jobs/tests/wrong.json");
    let all: Vec<(Value, String)> = serde_json::from_str(&std::fs::read_to_string(wrong)?)?;
    let home = Home::new("points_ids")?;
    for (job, expected) in Sample::new("wrong jobs").some(all, 8) {
        let (code, stdout, stderr) = run_text(&home, &job.to_string(), &[])?;
        let expected = format!("zvf: {expected}\n");
        assert_eq!(
            (code, &*stdout, &*stderr),
            (Some(2), "", &*expected),
            "{job}"
        );
    }
    // By flags, an error names the flag.
    for (line, error) in [
        (
            &["pyramid", STORE, "--levels-until", "0"][..],
            "zvf: --levels-until: found 0, expected 1 or more\n",
        ),
        (
            &["rechunk", STORE, "b", "--chunk-shape", "1,0", "--print-job"],
            "zvf: --chunk-shape: found 0, expected a finite size above 0\n",
        ),
    ] {
        let ran = home.zvf(line)?;
        assert_eq!((ran.code, &*ran.stderr), (2, error), "{line:?}");
    }
    let ran = home.zvf(&["validate", STORE, "--fail-on", "note", "--print-job"])?;
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn schemas_are_printed() -> Result<()> {
    let home = Home::new("points_ids")?;
    let all = home.json(&["schema"])?;
    let one = home.json(&["schema", "pyramid"])?;
    assert_eq!(all["$defs"]["pyramid"]["properties"], one["properties"]);
    assert_eq!(home.zvf(&["schema", "query"])?.code, 2);
    Ok(())
}

//! Output for programs: errors as documents, progress as lines of JSON, versions, events.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::{Home, Ran, STORE};

/// The document on stdout.
fn document(ran: &Ran) -> Result<Value> {
    serde_json::from_slice(&ran.stdout).with_context(|| ran.stderr.clone())
}

#[test]
fn an_error_is_one_document_with_its_parts() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let cases: [(&[&str], &str, i32); 5] = [
        (&["info", "nowhere.zv", "--json"], "io", 3),
        (&["query", STORE, "--level", "9", "--json"], "misuse", 2),
        (
            &["query", STORE, "--where", "radius >", "--json"],
            "misuse",
            2,
        ),
        (&["query", STORE, "--limit", "none", "--json"], "misuse", 2),
        (
            &["migrate", STORE, "new.zv", "--to", "7", "--json"],
            "misuse",
            2,
        ),
    ];
    for (args, class, code) in cases {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        let said = document(&ran)?;
        let error = &said["error"];
        assert_eq!(
            (&error["class"], &said["exit_code"]),
            (&json!(class), &json!(code))
        );
        let message = error["message"].as_str().context("a message")?;
        assert!(
            !message.is_empty() && !message.starts_with("error:"),
            "{message}"
        );
        for name in ["place", "found", "expected", "hint"] {
            assert!(error.get(name).is_some(), "{said}");
        }
        // The line for people is still on stderr.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words(&ran.stderr).contains(&words(message)),
            "{message}: {}",
            ran.stderr
        );
    }
    let ran = home.zvf(&["info", "nowhere.zv", "--json"])?;
    assert_eq!(document(&ran)?["error"]["place"], "nowhere.zv");
    let job = json!({"job": "query", "store": STORE, "limit": -1});
    std::fs::write(home.file("job.json"), job.to_string())?;
    let error = &document(&home.zvf(&["run", "job.json", "--json"])?)?["error"];
    assert_eq!(
        (&error["place"], &error["found"]),
        (&json!("limit"), &json!("-1"))
    );
    assert!(error["expected"].is_string(), "{error}");
    Ok(())
}

/// A report with findings is the document; a success has no member `error`.
#[test]
fn stdout_has_one_document() -> Result<()> {
    let home = Home::to_damage("real_skeleton")?;
    let good = home.json(&["validate", STORE, "--json"])?;
    assert_eq!(good.get("error"), None);
    std::fs::remove_file(home.file("store.zarrvectors/0/vertex_fragments/zarr.json"))?;
    let ran = home.zvf(&["validate", STORE, "--json"])?;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(document(&ran)?["findings"].is_array());
    let ran = home.zvf(&["inspect", STORE, "0/nothing", "--json"])?;
    assert!(ran.code != 0 && document(&ran)?["error"].is_object());
    Ok(())
}

#[test]
fn progress_is_lines_of_json() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z\n0,0,0\n1,1,1\n".into())])?;
    let import = |store, more: &[&str]| {
        let args = ["import", "a.csv", store, "--chunk-shape", "9,9,9"];
        home.zvf(&[&args, more].concat())
    };
    let ran = import("a.zv", &["--progress", "json"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let phases = lines.iter().filter_map(|line| line["phase"].as_str());
    let phases: Vec<&str> = phases.collect();
    assert!(
        phases.contains(&"run") && phases.contains(&"write vertices"),
        "{phases:?}"
    );
    let written = lines.iter().rfind(|line| line["phase"] == "write vertices");
    let written = written.with_context(|| ran.stderr.clone())?;
    assert_eq!(
        (&written["job"], &written["unit"]),
        (&json!("import"), &json!("vertices"))
    );
    assert_eq!(
        (&written["done"], &written["total"]),
        (&json!(2), &json!(2))
    );
    for line in &lines {
        let members = line.as_object().context("an object")?;
        for name in [
            "job",
            "phase",
            "unit",
            "done",
            "total",
            "rate",
            "seconds_left",
        ] {
            assert!(members.contains_key(name) && members.len() == 7, "{line}");
        }
    }
    let ran = import("b.zv", &["--progress", "none"])?;
    assert!(ran.code == 0 && !ran.stderr.contains('{'), "{}", ran.stderr);
    let ran = import("c.zv", &["--progress", "json", "--no-progress"])?;
    assert_eq!(ran.code, 2);
    Ok(())
}

#[test]
fn jobs_that_know_their_total_report_it() -> Result<()> {
    let home = Home::made(&[])?;
    let lines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/real/tracks300.trk");
    let lines = lines.to_str().context("a path")?;
    let made = home.zvf(&["import", lines, "a.zv", "--chunk-shape", "64,64,64"])?;
    assert_eq!(made.code, 0, "{}", made.stderr);
    for (args, most) in [
        (&["query", "a.zv", "-o", "rows.arrow"][..], "vertices"),
        (&["export", "a.zv", "a.tck"], "vertices"),
        (&["export", "a.zv", "b.csv"], "vertices"),
        (&["stats", "a.zv"], "vertices"),
        (&["objects", "a.zv", "-o", "ids.csv"], "objects"),
        (&["measure", "a.zv", "-o", "m.csv"], "objects"),
        (&["measure", "a.zv", "--as", "length"], "objects"),
        (&["copy", "a.zv", "b.zv"], "bytes"),
        (&["migrate", "a.zv", "c.zv"], "vertices"),
        (
            &["rechunk", "a.zv", "d.zv", "--chunk-shape", "128,128,128"],
            "vertices",
        ),
        (&["validate", "a.zv", "--level", "5"], "cells"),
    ] {
        let ran = home.zvf(&[args, &["--progress", "json"]].concat())?;
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
        let lines: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        let last = lines.iter().rfind(|line| line["phase"] == "run");
        let last = last.with_context(|| format!("{args:?}: {}", ran.stderr))?;
        assert!(
            last["unit"] == most && last["done"].is_u64() && last["done"] == last["total"],
            "{args:?}: {last}"
        );
    }
    Ok(())
}

#[test]
fn the_version_is_a_document() -> Result<()> {
    let home = Home::made(&[])?;
    for args in [&["--version", "--json"][..], &["--json", "--version"]] {
        let ran = home.zvf(args)?;
        let said = document(&ran)?;
        assert_eq!((ran.code, &said["program"]), (0, &json!("zvf")));
        assert_eq!(said["writes"], json!(["0.9.2", "0.8.1"]));
        let files = said["files"].as_array().context("files")?;
        for ending in ["swc", "xyz", "parquet", "laz"] {
            assert!(files.contains(&json!(ending)), "{ending}");
        }
    }
    Ok(())
}

#[test]
fn requests_and_jobs_are_events() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let ran = home.zvf(&[
        "query", STORE, "--limit", "1", "-o", "a.csv", "--log", "debug",
    ])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "job{name=\"query\"}",
        "method=READ",
        "key=\"zarr.json\"",
        "close",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = home.zvf(&["info", STORE, "--log-filter", "zvf_jobs=info"])?;
    assert!(ran.stderr.contains("job{name=\"info\"}") && !ran.stderr.contains("method="));
    for wrong in ["zvf_io=loud", "requests.log", "logs/zvf"] {
        let ran = home.zvf(&["info", STORE, "--log", wrong])?;
        assert!(
            ran.code == 2 && ran.stderr.contains("zvf_io=debug"),
            "{wrong}: {}",
            ran.stderr
        );
    }
    Ok(())
}

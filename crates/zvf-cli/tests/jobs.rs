//! `zvf run`, `zvf schema` and `--print-job`: a job file has the same result as the command.

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

/// The bytes of a file. For the root of a store, without the name of its last edit, which is unique.
fn without_edit(bytes: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut document) if document["attributes"]["zvf_edited"].is_string() => {
            document["attributes"]["zvf_edited"] = Value::Null;
            document.to_string().into_bytes()
        }
        _ => bytes.to_vec(),
    }
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
        (
            "streamlines",
            &[
                "stats",
                STORE,
                "--bbox",
                "x=60:80",
                "--columns",
                "x,count()",
                "--json",
            ],
        ),
        (
            "points_ids",
            &[
                "stats",
                STORE,
                "--by",
                "object",
                "--quantiles",
                "0.5",
                "-o",
                "stats.csv",
            ],
        ),
        (
            "streamlines",
            &[
                "measure",
                STORE,
                "--objects",
                "0-3,7",
                "--ignore-missing",
                "--limit",
                "3",
            ],
        ),
        (
            "streamlines",
            &[
                "measure",
                STORE,
                "--as",
                "length=reach,points=count",
                "--json",
            ],
        ),
        (
            "streamlines",
            &[
                "objects",
                STORE,
                "--where",
                "count() > 2",
                "--sort=-vertices,object_id",
                "--limit",
                "3",
                "--json",
            ],
        ),
        ("graph", &["diff", STORE, STORE, "--limit", "3", "--json"]),
        (
            "real_skeleton",
            &["links", STORE, "--delta", "+1", "--limit", "7", "--json"],
        ),
        ("points_ids", &["head", STORE, "-n", "3", "--json"]),
        ("streamlines", &["tail", STORE, "--objects", "0-2"]),
        (
            "points_ids",
            &[
                "sample-rows",
                STORE,
                "--seed",
                "7",
                "-o",
                "rows.csv",
                "--json",
            ],
        ),
        (
            "graph",
            &[
                "export",
                STORE,
                "out.csv",
                "--attributes",
                "none",
                "--edges",
                "edges.csv",
                "--json",
            ],
        ),
        (
            "streamlines",
            &["export", STORE, "-o", "out/{id}.csv", "--objects", "0-3"],
        ),
        (
            "streamlines",
            &["export", STORE, "out.trk", "--split", "1/3", "--json"],
        ),
        (
            "streamlines",
            &["split", STORE, "out", "--by", "count", "2", "--json"],
        ),
        (
            "streamlines",
            &[
                "plot", STORE, "-o", "p.png", "--size", "64x48", "--view", "iso", "--color", "red",
                "--json",
            ],
        ),
        (
            "streamlines",
            &[
                "plot",
                STORE,
                "-o",
                "p.svg",
                "--center",
                "60,-10,5",
                "--units-per-pixel",
                "0.5",
                "--perspective",
                "--up=-y",
                "--bare",
            ],
        ),
        // The JSON has the ETags of the documents, which differ between two copies of a store.
        ("streamlines", &["splits", STORE, "--count", "3"]),
        ("streamlines", &["splits", STORE, "--objects", "0-3"]),
        (
            "streamlines",
            &[
                "split",
                STORE,
                "out",
                "--by",
                "region",
                "--named",
                "low=box(x=:70)",
                "--named",
                "all=box(x=:)",
                "--format",
                "csv",
            ],
        ),
        (
            "points_ids",
            &["query", STORE, "--where", "object_id > 3", "-o", "out/"],
        ),
        ("points_ids", &["query", STORE, "--limit", "5", "--json"]),
        (
            "streamlines",
            &["query", STORE, "--split", "0/2", "-o", "out.tck", "--json"],
        ),
        (
            "streamlines",
            &[
                "get",
                STORE,
                "3",
                "0-1",
                "--columns",
                "x,object_id",
                "--format",
                "csv",
                "-o",
                "out.txt",
                "--json",
            ],
        ),
        (
            "points_ids",
            &["copy", STORE, "out.zv", "--verify", "--json"],
        ),
        (
            "streamlines",
            &["resample", STORE, "out.zv", "--points", "4", "--json"],
        ),
        (
            "skeleton",
            &["simplify", STORE, "out.zv", "--tolerance", "2.5"],
        ),
        (
            "points_ids",
            &["repair", STORE, "--level", "3", "--apply", "--json"],
        ),
        (
            "points_ids",
            &["repair", STORE, "--only", "cell-listed,ZVF-L3-0012"],
        ),
        ("graph", &["doctor", STORE, "--json"]),
        (
            "graph",
            &[
                "create",
                "out.zv",
                "--kind",
                "streamline",
                "--chunk-shape",
                "2,2",
                "--bounds",
                "0,0:9,9",
                "--attribute",
                "fa:float32",
                "--object-attribute",
                "name:text",
                "--target",
                "0.8.1",
                "--json",
            ],
        ),
        (
            "points_ids",
            &[
                "import",
                "p.csv",
                "out.zv",
                "--position",
                "x,y",
                "--rename",
                "n=m",
                "--nulls",
                "-1",
                "--attribute-type",
                "k=text",
                "--delimiter",
                ";",
                "--shard-shape",
                "auto",
                "--json",
            ],
        ),
        (
            "points_ids",
            &[
                "import",
                "p.csv",
                "out.zv",
                "--kind",
                "polyline",
                "--object-column",
                "m",
                "--rename",
                "k=m",
                "--target",
                "0.8.1",
                "--exclude",
                "n",
                "--scale",
                "0.5",
                "--chunk-shape",
                "2,2",
            ],
        ),
        (
            "points_ids",
            &[
                "append",
                "base.zv",
                "p.csv",
                "--delimiter",
                ";",
                "--fill",
                "more=-2",
                "--scale",
                "2",
                "--json",
            ],
        ),
        (
            "streamlines",
            &["edit", STORE, "delete", "0-1", "3", "--json"],
        ),
        (
            "streamlines",
            &["edit", STORE, "delete", "--bbox", "x=60:80", "--inside"],
        ),
        (
            "points_ids",
            &["edit", "base.zv", "delete", "--where", "n > 1", "--json"],
        ),
        (
            "points_ids",
            &[
                "edit",
                "base.zv",
                "delete",
                "--bbox",
                "0,0:9,9",
                "--dry-run",
            ],
        ),
        (
            "points_ids",
            &[
                "edit",
                "base.zv",
                "append",
                "p.csv",
                "--delimiter",
                ";",
                "--fill",
                "more=-2",
                "--json",
            ],
        ),
        (
            "points_ids",
            &["edit", "base.zv", "move", "--from", "moved.csv", "--json"],
        ),
        (
            "points_ids",
            &[
                "edit",
                "base.zv",
                "set-attribute",
                "k",
                "--from",
                "moved.csv",
                "--rename",
                "x=k",
            ],
        ),
        (
            "points_ids",
            &[
                "edit",
                "base.zv",
                "set-attribute",
                "new",
                "--type",
                "int32",
                "--fill",
                "7",
                "--json",
            ],
        ),
        ("streamlines", &["edit", STORE, "add-owners", "--json"]),
        (
            "streamlines",
            &["edit", STORE, "group", "add", "AF", "0-1", "4"],
        ),
        (
            "points_ids",
            &["edit", STORE, "group", "rename", "0", "first", "--json"],
        ),
        ("points_ids", &["edit", STORE, "group", "delete", "1"]),
        ("points_ids", &["edit", STORE, "resume", "--json"]),
        (
            "streamlines",
            &["group", STORE, "AF", "--add", "0", "2", "--json"],
        ),
    ];
    // Each line runs the program three times.
    for (case, line) in Sample::new("printed jobs").some(lines, 2) {
        let (by_flags, by_file) = (Home::to_damage(case)?, Home::to_damage(case)?);
        for home in [&by_flags, &by_file] {
            std::fs::write(
                home.file("p.csv"),
                "x;y;n;k\n1;2;7;3\n4;5;;3\n2;1;8;4\n3;3;8;4\n",
            )?;
            std::fs::write(home.file("moved.csv"), "vertex,x,y\n0,6,6\n")?;
            std::fs::write(home.file("base.csv"), "x,y,n,k,more\n7,7,1.5,2,3\n")?;
            home.text(&["import", "base.csv", "base.zv", "-q"])?;
        }
        // The flag is inserted before the ids, because an id may begin with a hyphen, and the flag would then be read as an id.
        let (start, rest) = line.split_at(2);
        let printed = by_file.text(&[start, &["--print-job"], rest].concat())?;
        let job: Value = serde_json::from_str(&printed)?;
        let name = job["job"].as_str().context("a name")?;
        let command = if line[0] == "get" { "query" } else { line[0] };
        ensure!(name.starts_with(command) && files(&by_file.path())? == files(&by_flags.path())?);
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
            let same = other.get(&name).map(|other| without_edit(other));
            ensure!(
                same == Some(without_edit(&bytes)),
                "{line:?}: {name} differs"
            );
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
    assert_eq!((ran.code, reports.len()), (3, 2), "{}", ran.stderr);
    assert_eq!(
        (&reports[0]["store"], &reports[1]["ok"]),
        (&json!("out.zv"), &json!(true))
    );
    assert!(ran.stderr.contains("nowhere.zv"), "{}", ran.stderr);

    // Findings do not end a list of jobs; they determine the exit code.
    std::fs::write(home.file("out.zv/0/zarr.json"), "{}")?;
    let jobs = json!([{"job": "validate", "store": "out.zv"}, {"job": "validate", "store": STORE}]);
    let (code, stdout, stderr) = run_text(&home, &jobs.to_string(), &["--json"])?;
    let reports: Vec<Value> = serde_json::from_str(&stdout)?;
    assert_eq!((code, reports.len()), (Some(1), 2), "{stderr}");
    Ok(())
}

#[test]
fn parts_are_imported_by_job_files() -> Result<()> {
    let home = Home::new("points_ids")?;
    let step = |file: &str, step: Value| {
        let mut job = json!({
            "job": "import", "files": [home.file(file)], "store": home.file("parts.zv"), "chunk_shape": [5, 5], "bounds": "0,0:9,9",
        });
        if let (Some(job), Some(step)) = (job.as_object_mut(), step.as_object()) {
            job.extend(step.clone());
        }
        job
    };
    std::fs::write(home.file("left.csv"), "x,y,n\n1,2,7\n4,3,9\n")?;
    std::fs::write(home.file("right.csv"), "x,y,n\n6,2,1\n")?;
    let jobs = json!([
        step(
            "left.csv",
            json!({"begin": true, "parts": ["left", "right"]})
        ),
        step("left.csv", json!({"part": "left"})),
        step("right.csv", json!({"part": "right"})),
        step("right.csv", json!({"part": "right"})),
        step("left.csv", json!({"commit": true})),
    ]);
    let (code, stdout, stderr) = run_text(&home, &jobs.to_string(), &["--json"])?;
    assert_eq!(code, Some(0), "{stderr}");
    let reports: Vec<Value> = serde_json::from_str(&stdout)?;
    let steps: Vec<_> = reports.iter().map(|one| &one["step"]).collect();
    assert_eq!(
        steps,
        [
            "begun",
            "part left",
            "part right",
            "part right",
            "committed"
        ]
    );
    assert_eq!(
        (&reports[2]["written"], &reports[3]["written"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&reports[4]["vertices"], &reports[4]["parts"]),
        (&json!(3), &json!(["left", "right"]))
    );
    let rows = home.text(&["query", "parts.zv", "--format", "csv", "--columns", "n"])?;
    assert_eq!(rows.lines().collect::<Vec<_>>(), ["n", "7", "9", "1"]);
    Ok(())
}

#[test]
fn wrong_job_files_are_usage() -> Result<()> {
    let wrong = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zvf-jobs/tests/wrong.json");
    let all: Vec<(Value, String)> = serde_json::from_str(&std::fs::read_to_string(wrong)?)?;
    let home = Home::new("points_ids")?;
    for (job, expected) in Sample::new("wrong jobs").some(all, 8) {
        let (code, stdout, stderr) = run_text(&home, &job.to_string(), &[])?;
        let expected = expected.replace("{jobs}", &zvf_jobs::Job::NAMES.join(", "));
        let expected = format!("zvf: {expected}\n");
        assert_eq!(
            (code, &*stdout, &*stderr),
            (Some(2), "", &*expected),
            "{job}"
        );
    }
    // If options are flags, the error names the flag.
    std::fs::write(home.file("p.csv"), "x,y\n1,2\n")?;
    for (line, error) in [
        (
            &["import", "p.csv", "b", "--chunk-shape", "1"][..],
            "zvf: --chunk-shape: found 1 size, expected 2, for x, y\n",
        ),
        (
            &["import", "p.csv", "b", "--id-offset", "5"],
            "zvf: ids: found a rule for ids of objects, expected none: points of a file without a column of objects belong to no object\n",
        ),
        (
            &[
                "import",
                "p.csv",
                "b",
                "--part",
                "7",
                "--chunk-shape",
                "1,1",
            ],
            "zvf: --part: found no --bounds, expected it as well\n",
        ),
        (
            &["pyramid", STORE, "--levels-until", "0"],
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
    assert_eq!(home.zvf(&["schema", "inspect"])?.code, 2);
    Ok(())
}

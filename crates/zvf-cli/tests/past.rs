//! The history of a store: the jobs that made and changed it.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::Home;

/// The jobs of the history, oldest first.
fn jobs(home: &Home, store: &str) -> Result<Vec<Value>> {
    let info = home.json(&["info", store, "--history", "--json"])?;
    let entries = info["history"].as_array().context("a list")?;
    assert!(entries.iter().all(|one| one["zvf"].is_string()));
    Ok(entries.iter().map(|one| one["job"].clone()).collect())
}

#[test]
fn a_store_names_the_jobs_that_made_it() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z,v\n0,0,0,1\n1,1,1,2\n2,2,2,3\n".into()),
        ("../b.csv", "x,y,z,v\n0,0,1,4\n".into()),
    ])?;
    let file = home.file("a.csv");
    let file = file.to_str().context("a path")?;
    home.text(&[
        "import",
        file,
        "a.zv",
        "--chunk-shape",
        "2,2,2",
        "--journal",
        "j",
    ])?;
    home.text(&["append", "a.zv", "b.csv"])?;
    home.text(&["pyramid", "a.zv", "--factors", "2"])?;
    home.text(&["edit", "a.zv", "delete", "--where", "v / 2 > 1.2"])?;
    home.text(&["pyramid", "a.zv", "--refresh"])?;
    home.text(&["rechunk", "a.zv", "b.zv", "--chunk-shape", "4,4,4"])?;
    let expected = [
        json!({"job": "import", "files": ["a.csv"], "chunk_shape": [2.0, 2.0, 2.0]}),
        json!({"job": "append", "files": ["b.csv"]}),
        json!({"job": "pyramid", "factors": [2.0]}),
        json!({"job": "edit-delete", "where": "v / 2 > 1.2"}),
        json!({"job": "pyramid", "refresh": true}),
        json!({"job": "rechunk", "source": "a.zv", "chunk_shape": [4.0, 4.0, 4.0]}),
    ];
    assert_eq!(jobs(&home, "b.zv")?, expected);
    assert_eq!(jobs(&home, "a.zv")?, expected[..5]);
    // Each entry can be run again as a job after a store is added.
    for (entry, store) in [(&expected[1], "b.zv"), (&expected[4], "a.zv")] {
        let mut job = entry.clone();
        job["store"] = json!(store);
        std::fs::write(home.file("job.json"), job.to_string())?;
        home.text(&["run", "job.json", "--json"])?;
    }
    let text = home.text(&["info", "a.zv", "--history"])?;
    assert!(
        text.contains("history: 5 jobs") && text.contains("\"files\":[\"a.csv\"]"),
        "{text}"
    );
    assert!(
        home.json(&["info", "a.zv", "--json"])?
            .get("history")
            .is_none()
    );
    // Commands that only read record nothing, and stores with different histories are the same.
    home.text(&["validate", "a.zv", "--level", "5"])?;
    home.text(&["rechunk", "b.zv", "c.zv", "--chunk-shape", "4,4,4"])?;
    home.text(&["diff", "b.zv", "c.zv"])?;
    Ok(())
}

#[test]
fn removed_rows_and_repairs_are_jobs_of_the_history() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.swc",
            "1 1 0 0 0 1 -1\n2 3 1 0 0 1 1\n3 3 2 0 0 1 2\n".into(),
        ),
        ("../b.swc", "1 1 0 0 5 1 -1\n2 3 1 0 5 1 1\n".into()),
    ])?;
    home.text(&["import", "a.swc", "b.swc", "s.zv", "--new-ids"])?;
    home.text(&["edit", "s.zv", "delete", "0"])?;
    home.text(&["vacuum", "s.zv"])?;
    // A second vacuum changes nothing.
    home.text(&["vacuum", "s.zv"])?;
    let path = home.file("s.zv/0/object_index/zarr.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    document["attributes"]["num_objects"] = json!(9);
    std::fs::write(&path, document.to_string())?;
    let root = || std::fs::read(home.file("s.zv/zarr.json"));
    let before = root()?;
    home.text(&["repair", "s.zv", "--apply", "--backup", "kept"])?;
    let names = || -> Result<Vec<String>> {
        let jobs = jobs(&home, "s.zv")?.into_iter();
        Ok(jobs.map(|job| job["job"].to_string()).collect())
    };
    let expected = ["\"import\"", "\"edit-delete\"", "\"vacuum\"", "\"repair\""];
    assert_eq!(names()?, expected);
    home.text(&["validate", "s.zv", "--level", "5"])?;
    home.text(&["repair", "s.zv", "--undo", "kept"])?;
    assert_eq!(root()?, before);
    assert_eq!(names()?, expected[..3]);
    Ok(())
}

#[test]
fn a_long_history_keeps_the_first_and_the_newest() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z\n0,0,0\n".into())])?;
    home.text(&["import", "a.csv", "a.zv", "--chunk-shape", "9,9,9"])?;
    let append = json!({"job": "append", "store": "a.zv", "files": ["a.csv"]});
    let last = json!({"job": "edit-delete", "store": "a.zv", "where": "x < 1"});
    let mut list = vec![append; 101];
    list.push(last);
    std::fs::write(home.file("jobs.json"), Value::Array(list).to_string())?;
    home.text(&["run", "jobs.json"])?;
    let kept = jobs(&home, "a.zv")?;
    assert_eq!(kept.len(), 100);
    let names = [&kept[0]["job"], &kept[1]["job"], &kept[99]["job"]];
    assert_eq!(names, ["import", "append", "edit-delete"]);
    Ok(())
}

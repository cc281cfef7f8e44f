//! Additive levels: the complete content by default, one level alone with `--own-level-only`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::run::{Home, STORE};

const CASES: [&str; 3] = [
    "0.9.4/additive_points",
    "0.9.4/additive_graph",
    "0.9.4/additive_streamlines",
];

/// A box in the form of `--bbox`.
pub(crate) fn bbox(lo: &[f64], hi: &[f64]) -> String {
    let side = |corner: &[f64]| {
        let parts: Vec<String> = corner.iter().map(ToString::to_string).collect();
        parts.join(",")
    };
    format!("--bbox={}:{}", side(lo), side(hi))
}

#[test]
fn boxes_hold_the_rows_of_the_chain_or_of_one_level() -> Result<()> {
    for name in CASES {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        let (mut alone, mut complete) = (0, 0);
        for query in &case.queries {
            let (level, bbox) = (query.level.to_string(), bbox(&query.lo, &query.hi));
            let mut args = vec!["query", STORE, "--json", "--level", &level, &bbox];
            if query.own_level_only {
                args.push("--own-level-only");
                alone += 1;
            }
            let found = home.json(&args)?;
            let wanted = query.rows.len() as u64;
            assert_eq!(found["vertices"], wanted, "{name}, level {level}, {bbox}");
            let levels = found["levels"].as_array().context("levels")?;
            assert_eq!(levels.first(), Some(&query.level.into()), "{name}");
            if query.own_level_only {
                assert_eq!(levels.len(), 1, "{name}");
            } else if query.level == 0 {
                assert!(levels.len() > 1, "{name}: {levels:?}");
                complete += 1;
            }
        }
        ensure!(alone > 0 && complete > 0, "{name} asks only one way");
    }
    Ok(())
}

#[test]
fn objects_are_complete_unless_told_otherwise() -> Result<()> {
    for name in CASES {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        for (id, rows) in &case.objects {
            let id = id.to_string();
            let found = home.json(&["get", STORE, &id, "--json"])?;
            assert_eq!(found["vertices"], rows.len() as u64, "{name}, object {id}");
            let own = home.json(&[
                "get",
                STORE,
                &id,
                "--json",
                "--own-level-only",
                "--ignore-missing",
            ])?;
            assert!(
                own["vertices"].as_u64() <= Some(rows.len() as u64),
                "{name}, object {id}"
            );
        }
        if case.objects.is_empty() {
            continue;
        }
        let listed = home.json(&["objects", STORE, "--json"])?;
        let listed = listed["objects"].as_array().context("objects")?;
        for (id, rows) in &case.objects {
            let object = listed
                .iter()
                .find(|object| object["object_id"].as_i64() == Some(*id))
                .context("an object is missing")?;
            assert_eq!(object["vertices"], rows.len() as u64, "{name}, object {id}");
        }
    }
    Ok(())
}

#[test]
fn links_say_of_which_level_they_are() -> Result<()> {
    let home = Home::new("0.9.4/additive_graph")?;
    let all = home.json(&["links", STORE, "--json"])?;
    let own = home.json(&["links", STORE, "--json", "--own-level-only"])?;
    let (all, own) = (
        all["links"].as_array().context("links")?,
        own["links"].as_array().context("links")?,
    );
    let truth = zvf_testkit::truth("0.9.4/additive_graph")?;
    let edges = truth.edges.context("edges")?.rows();
    assert_eq!(all.len(), edges);
    let of = |level: u64| {
        all.iter()
            .filter(|link| link["level"].as_u64() == Some(level))
            .count()
    };
    assert_eq!(of(0), own.len());
    assert!(of(1) > 0 && own.iter().all(|link| link.get("level").is_none()));
    let text = home.text(&["links", STORE, "--limit", "1"])?;
    assert!(text.contains("level 0 with 1"), "{text}");
    Ok(())
}

/// A store whose level 1 completes level 0; each level is made from one table.
fn completed(kind: &str, tables: [&str; 2]) -> Result<Home> {
    let [finest, next] = tables.map(|table| table.as_bytes().to_vec());
    let home = Home::made(&[("../0.csv", finest), ("../1.csv", next)])?;
    for level in ["0", "1"] {
        let (file, store) = (format!("{level}.csv"), format!("{level}.zv"));
        let shape = ["--kind", kind, "--chunk-shape", "10,10,10"];
        home.text(&[&["import", &file, &store][..], &shape].concat())?;
    }
    std::fs::rename(home.file("1.zv/0"), home.file("0.zv/1"))?;
    let change = |path: &str, change: &dyn Fn(&mut Value)| -> Result<()> {
        let path = home.file(path);
        let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        change(&mut document["attributes"]);
        Ok(std::fs::write(&path, document.to_string())?)
    };
    change("0.zv/0/zarr.json", &|all| {
        all["zarr_vectors_level"]["refinement"] = json!("add");
    })?;
    change("0.zv/1/zarr.json", &|all| {
        all["zarr_vectors_level"]["level"] = json!(1);
        all["zarr_vectors_level"]["parent_level"] = json!(0);
    })?;
    change("0.zv/zarr.json", &|all| {
        for member in ["format_capabilities", "required_capabilities"] {
            all["zarr_vectors"][member] = json!(["additive_levels"]);
        }
    })?;
    // The levels are made from different files and have different object counts, which stays an error after the repair.
    home.zvf(&["repair", "0.zv", "--apply", "--backup", "kept"])?;
    Ok(home)
}

#[test]
fn levels_that_complete_others_are_not_removed() -> Result<()> {
    let tables = [
        "x,y,z,id\n1,1,1,1\n2,1,1,2\n9,9,9,3\n8,8,8,4\n",
        "x,y,z,id\n3,3,3,5\n4,4,4,6\n",
    ];
    let home = completed("point_cloud", tables)?;
    let rows = |store: &str| home.text(&["query", store, "--format", "csv", "--columns", "id"]);
    let all = rows("0.zv")?;
    assert_eq!(all.lines().count(), 7, "{all}");
    for change in [
        &["--remove"][..],
        &["--replace", "--factors", "2"],
        &["--add", "--factors", "2"],
    ] {
        let ran = home.zvf(&[&["pyramid", "0.zv"][..], change].concat())?;
        ensure!(
            ran.code == 2 && ran.stderr.contains("level 0 with refinement \"add\""),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(rows("0.zv")?, all);
    // Without the other level, every read fails, and the validation finds an error.
    std::fs::rename(home.file("0.zv/1"), home.file("away"))?;
    let ran = home.zvf(&["query", "0.zv"])?;
    ensure!(ran.code == 4, "{}", ran.stderr);
    let report = home.zvf(&["validate", "0.zv", "--level", "1"])?;
    let found = String::from_utf8_lossy(&report.stdout);
    ensure!(report.code == 1 && found.contains("ZVF-L1-0004"), "{found}");
    std::fs::rename(home.file("away"), home.file("0.zv/1"))?;
    // The message suggests these commands.
    home.text(&["query", "0.zv", "-o", "all.arrow"])?;
    home.text(&["import", "all.arrow", "new.zv"])?;
    let ids = |text: String| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    assert_eq!(ids(rows("new.zv")?), ids(all));
    // Parts have the vertices of both levels, and no note reports missing ones.
    let ran = home.zvf(&["split", "0.zv", "parts", "--by", "count", "2"])?;
    ensure!(
        ran.code == 0 && !ran.stderr.contains("left out"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn a_line_in_two_levels_is_two_pieces() -> Result<()> {
    let tables = [
        "object_id,x,y,z\n1,0,0,0\n1,3,0,0\n",
        "object_id,x,y,z\n1,0,4,0\n1,3,4,0\n2,0,0,0\n2,1,0,0\n",
    ];
    let home = completed("polyline", tables)?;
    let measured = home.json(&["measure", "0.zv", "--json"])?;
    let lengths = measured["objects"].as_array().context("objects")?;
    let lengths: Vec<_> = lengths.iter().map(|one| one["length"].as_f64()).collect();
    assert_eq!(lengths, [Some(6.0), Some(1.0)], "{measured}");
    let long = home.json(&["query", "0.zv", "--where", "length() > 5.5", "--json"])?;
    assert_eq!(long["vertices"], 4);
    let long = home.json(&["query", "0.zv", "--where", "length() > 6.5", "--json"])?;
    assert_eq!(long["vertices"], 0);
    for command in [
        &["simplify", "0.zv", "out.zv", "--tolerance", "0"][..],
        &["resample", "0.zv", "out.zv", "--points", "5"],
        &["split", "0.zv", "out", "--by", "count", "2"],
        &["export", "0.zv", "out.tck"],
        &["export", "0.zv", "out.ply"],
    ] {
        let ran = home.zvf(command)?;
        ensure!(
            ran.code == 2 && ran.stderr.contains("line 1 in several levels"),
            "{command:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

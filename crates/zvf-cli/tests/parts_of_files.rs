//! Parts of a store from files: what they leave out, files without rows, bounds, tiles of LAS.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::Home;

const STORE: &str = "s.zv";

#[test]
fn a_part_says_what_it_leaves_out() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "x,y,v\n1,1,5\n2,2,\n3,3,7\n".into()),
        ("../m.csv", "x,y,v\n11,11,5\n12,12,\n".into()),
    ])?;
    let options = [
        "--chunk-shape",
        "10,10",
        "--bounds",
        "0,0:20,20",
        "--nulls",
        "drop-row",
    ];
    let step = |file: &str, words: &[&str]| {
        home.zvf(&[&["import", file, STORE][..], &options, words].concat())
    };
    ensure!(step("n.csv", &["--begin"])?.code == 0);
    let part = step("n.csv", &["--part", "a"])?;
    ensure!(
        part.code == 0 && part.stderr.contains("left out"),
        "{}",
        part.stderr
    );
    let other = step("m.csv", &["--part", "b", "--json"])?.stdout;
    let other: Value = serde_json::from_slice(&other)?;
    let note = other["notes"][0].as_str().context("a note")?;
    ensure!(note.contains("left out"), "{other}");
    Ok(())
}

#[test]
fn a_part_is_not_named_like_a_temporary_file() -> Result<()> {
    let home = Home::made(&[("../n.csv", "x,y\n1,1\n".into())])?;
    let options = ["--chunk-shape", "10,10", "--bounds", "0,0:20,20"];
    let step =
        |words: &[&str]| home.zvf(&[&["import", "n.csv", STORE][..], &options, words].concat());
    let begun = step(&["--begin", "--parts", ".zvf-a,b"])?;
    ensure!(
        begun.code != 0 && begun.stderr.contains(".zvf-"),
        "{}",
        begun.stderr
    );
    ensure!(step(&["--begin"])?.code == 0);
    let part = step(&["--part", ".zvf-a"])?;
    ensure!(
        part.code != 0 && part.stderr.contains(".zvf-"),
        "{}",
        part.stderr
    );
    Ok(())
}

#[test]
fn a_part_may_have_no_rows() -> Result<()> {
    let home = Home::made(&[
        ("../empty.csv", "x,y\n".into()),
        ("../a.csv", "x,y\n1,1\n".into()),
    ])?;
    let options = ["--chunk-shape", "10,10", "--bounds", "0,0:20,20"];
    for words in [
        &["a.csv", STORE, "--begin", "--parts", "2"][..],
        &["empty.csv", STORE, "--part", "0"],
        &["a.csv", STORE, "--part", "1"],
        &["a.csv", STORE, "--commit"],
    ] {
        home.text(&[&["import"][..], words, &options].concat())?;
    }
    home.validates(STORE)?;
    let info = home.json(&["info", STORE, "--json"])?;
    ensure!(info["levels"][0]["vertices"] == 1, "{info}");
    Ok(())
}

/// The float32 of 0.3 is greater, and in the next chunk.
#[test]
fn a_vertex_on_the_bounds_is_inside_though_it_is_rounded() -> Result<()> {
    let home = Home::made(&[("../r.csv", "x,y\n0.05,0.05\n0.3,0.3\n".into())])?;
    let options = ["--chunk-shape", "0.1,0.1", "--bounds", "0,0:0.3,0.3"];
    for step in [&["--begin"][..], &["--part", "0"], &["--commit"]] {
        home.text(&[&["import", "r.csv", STORE][..], step, &options].concat())?;
    }
    home.validates(STORE)?;
    let info = home.json(&["info", STORE, "--json"])?;
    ensure!(info["levels"][0]["vertices"] == 2, "{info}");
    Ok(())
}

/// Tiles of a survey have an offset and a day of their own.
#[test]
fn tiles_with_other_offsets_are_parts_of_one_store() -> Result<()> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las");
    let first = fs::read(testdata.join("format-0.las"))?;
    let mut second = first.clone();
    let offset = second.get_mut(155..163).context("the offset of x")?;
    let moved = f64::from_le_bytes(offset.try_into()?) + 1000.0;
    offset.copy_from_slice(&moved.to_le_bytes());
    second
        .get_mut(90..92)
        .context("the day")?
        .copy_from_slice(&[7, 0]);
    let mut other = first.clone();
    other
        .get_mut(131..139)
        .context("the scale of x")?
        .copy_from_slice(&0.5_f64.to_le_bytes());
    let home = Home::made(&[
        ("../a.las", first),
        ("../b.las", second),
        ("../c.las", other),
    ])?;
    let bounds = "900,-100,0:3000,100,100";
    let step = |words: &[&str]| {
        let options = ["--chunk-shape", "50,50,50", "--bounds", bounds];
        home.zvf(&[&["import"][..], words, &options].concat())
    };
    for words in [
        &["a.las", STORE, "--begin"][..],
        &["a.las", STORE, "--part", "0"],
        &["b.las", STORE, "--part", "1"],
    ] {
        let ran = step(words)?;
        ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
    }
    let refused = step(&["c.las", STORE, "--part", "2"])?;
    let says = ["headers/las/scale/0", "one `zvf import` of all files"];
    for text in says {
        ensure!(
            refused.code != 0 && refused.stderr.contains(text),
            "{}",
            refused.stderr
        );
    }
    let done = step(&["a.las", STORE, "--commit"])?;
    ensure!(done.code == 0, "{}", done.stderr);
    home.validates(STORE)?;
    home.text(&["export", STORE, "all.las"])?;
    home.text(&["import", "all.las", "again.zv"])?;
    // Without an offset the export chooses one, so that the last bit of a position may be another.
    let rows = |store: &str| -> Result<BTreeSet<String>> {
        let text = home.text(&["query", store, "--format", "ndjson"])?;
        let rows = text.lines().map(|line| {
            let row: Value = serde_json::from_str(line)?;
            let [x, y, z] =
                [0, 1, 2].map(|axis| row["position"][axis].as_f64().unwrap_or(f64::NAN));
            Ok(format!("{x:.6} {y:.6} {z:.6} {}", row["point_source_id"]))
        });
        rows.collect()
    };
    ensure!(rows(STORE)?.len() == 40);
    assert_eq!(rows(STORE)?, rows("again.zv")?);
    Ok(())
}

/// If the `--redo` of a part was killed, a commit stores the earlier data of the part only with `--allow-missing`, and warns.
#[test]
fn a_part_that_was_begun_again_is_refused_or_named() -> Result<()> {
    let options = ["--chunk-shape", "10,10", "--bounds", "0,0:20,20"];
    for allowed in [false, true] {
        let home = Home::made(&[
            ("../old.csv", "x,y,v\n1,1,111\n".into()),
            ("../new.csv", "x,y,v\n1,1,222\n".into()),
        ])?;
        let step = |words: &[&str]| home.zvf(&[&["import"], words, &options].concat());
        for words in [
            &["old.csv", STORE, "--begin", "--parts", "1"][..],
            &["old.csv", STORE, "--part", "0"],
        ] {
            let ran = step(words)?;
            ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
        }
        // What a program that is killed after the beginning of the next round leaves.
        let notes = home.file(STORE).join("zvf-unfinished");
        let id = fs::read_dir(&notes)?.next().context("no folder")??.path();
        let note = r#"{"host": "node7", "pid": 4711, "since": 0, "round": 1}"#;
        fs::write(id.join("begun").join("0-00000000000000aa"), note)?;
        let status = home.text(&["import", STORE, "--status"])?;
        ensure!(status.contains("begun again by node7:4711"), "{status}");
        let part = step(&["old.csv", STORE, "--part", "0"])?;
        let part = String::from_utf8_lossy(&part.stdout);
        ensure!(part.contains("`--part 0 --redo`"), "{part}");
        let commit = ["old.csv", STORE, "--commit"];
        let refused = step(&commit)?;
        ensure!(refused.code == 2, "{}", refused.stderr);
        for text in [
            "0 finished; begun again and not finished: 0",
            "`--part 0 --redo` writes part 0 again",
            "--allow-missing",
        ] {
            ensure!(refused.stderr.contains(text), "{}", refused.stderr);
        }
        let value = if allowed {
            let done = step(&[&commit[..], &["--allow-missing", "--json"]].concat())?;
            ensure!(done.code == 0, "{}", done.stderr);
            ensure!(done.stderr.contains("the earlier data"), "{}", done.stderr);
            let done: Value = serde_json::from_slice(&done.stdout)?;
            assert_eq!(done["begun_again"], serde_json::json!(["0"]));
            assert_eq!(done["absent"], serde_json::json!([]));
            111
        } else {
            for words in [&["new.csv", STORE, "--part", "0", "--redo"][..], &commit] {
                let ran = step(words)?;
                ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
            }
            222
        };
        let rows = home.text(&["query", STORE, "--format", "ndjson", "--columns", "v"])?;
        let row: Value = serde_json::from_str(&rows)?;
        ensure!(row["v"] == value, "{rows}");
    }
    Ok(())
}

/// Ids of objects are in no specification, so they are part of what a part was made of.
#[test]
fn a_finished_part_with_other_ids_is_refused() -> Result<()> {
    let lines = |x: i32| format!("x,y\n{x},1\n{},2\n", x + 1).into_bytes();
    let home = Home::made(&[("../a.csv", lines(1)), ("../b.csv", lines(31))])?;
    let step = |words: &[&str]| {
        let options = ["--kind", "polyline", "--chunk-shape", "10,10", "--bounds"];
        home.zvf(&[&["import"], words, &options, &["0,0:60,20"]].concat())
    };
    let done = |words: &[&str]| -> Result<()> {
        let ran = step(words)?;
        ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
        Ok(())
    };
    done(&["a.csv", STORE, "--begin"])?;
    done(&["a.csv", STORE, "--part", "a"])?;
    let b = ["b.csv", STORE, "--part", "b"];
    done(&b)?;
    done(&b)?;
    let commit = ["a.csv", STORE, "--commit"];
    let refused = step(&commit)?;
    ensure!(
        refused.code == 2 && refused.stderr.contains("--redo"),
        "{}",
        refused.stderr
    );
    let offset = [&b[..], &["--id-offset", "100"]].concat();
    let refused = step(&offset)?;
    for text in ["with other options", "--redo"] {
        ensure!(
            refused.code == 2 && refused.stderr.contains(text),
            "{}",
            refused.stderr
        );
    }
    done(&[&offset[..], &["--redo"]].concat())?;
    done(&commit)?;
    let list = home.json(&["objects", STORE, "--json"])?;
    let list = list["objects"].as_array().context("objects")?.clone();
    let ids: Vec<_> = list.iter().map(|one| one["object_id"].as_i64()).collect();
    assert_eq!(ids, [Some(0), Some(100)]);
    Ok(())
}

/// The type of positions follows from the digits of a table of text, and no option states it.
#[test]
fn positions_of_another_type_are_refused_with_the_way_out() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y\n1.5,2.5\n".into()),
        ("../b.csv", "x,y\n11.123456789,3\n".into()),
    ])?;
    let options = ["--chunk-shape", "10,10", "--bounds", "0,0:20,20"];
    let step = |words: &[&str]| home.zvf(&[&["import"], words, &options].concat());
    ensure!(step(&["a.csv", STORE, "--begin"])?.code == 0);
    let refused = step(&["b.csv", STORE, "--part", "b"])?;
    for text in ["type of positions", "one `zvf import` of all files"] {
        ensure!(
            refused.code == 2 && refused.stderr.contains(text),
            "{}",
            refused.stderr
        );
    }
    ensure!(
        !refused.stderr.contains("--attribute-type"),
        "{}",
        refused.stderr
    );
    Ok(())
}

/// Every part counted from 0, and objects of several parts were joined.
#[test]
fn parts_give_no_new_ids() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,object_id\n1,2,5\n".into())])?;
    let options = ["--chunk-shape", "10,10", "--bounds", "0,0:20,20"];
    for step in [&["--begin"][..], &["--part", "a"], &["--commit"]] {
        let start = ["import", "a.csv", STORE, "--new-ids"];
        let refused = home.zvf(&[&start[..], &options, step].concat())?;
        ensure!(
            refused.code == 2 && refused.stderr.contains("--id-offset"),
            "{step:?}: {}",
            refused.stderr
        );
    }
    Ok(())
}

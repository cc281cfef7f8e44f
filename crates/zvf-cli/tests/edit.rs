//! `zvf edit` and `zvf vacuum`: what is changed is what the other commands answer.

use anyhow::Result;
use serde_json::json;

use crate::run::Home;

/// Points of two objects, with a number and a word each.
const POINTS: &str = "x,y,z,cell,volume,word\n\
    0.5,0.5,0.5,7,1.5,axon\n12,0.5,0.5,7,2.5,soma\n3,3,3,9,3.5,axon\n4,4,4,9,4.5,\n";

fn home() -> Result<Home> {
    let home = Home::made(&[("../points.csv", POINTS.into())])?;
    home.text(&[
        "import",
        "points.csv",
        "made.zv",
        "--object-column",
        "cell",
        "--chunk-shape",
        "10,10,10",
    ])?;
    Ok(home)
}

/// The vertices of the store as CSV lines, sorted.
fn rows(home: &Home) -> Result<Vec<String>> {
    let text = home.text(&[
        "query",
        "made.zv",
        "--format",
        "csv",
        "--columns",
        "position,object_id,volume,word",
    ])?;
    let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    rows.sort_unstable();
    Ok(rows)
}

#[test]
fn vertices_come_go_and_move() -> Result<()> {
    let home = home()?;
    std::fs::write(
        home.file("new.csv"),
        "x,y,z,object_id,volume,word\n-3,1,1,11,5.5,glia\n-3,2,1,7,6.5,soma\n",
    )?;
    let done = home.json(&["edit", "made.zv", "append", "new.csv", "--json"])?;
    assert_eq!(
        (&done["vertices"], &done["objects"], &done["chunks"]),
        (&json!(2), &json!(2), &json!(1))
    );
    let done = home.json(&["edit", "made.zv", "delete", "9", "--json"])?;
    assert_eq!(
        (&done["vertices"], &done["objects"]),
        (&json!(-2), &json!(1))
    );
    std::fs::write(
        home.file("moved.csv"),
        "object_id,vertex,x,y,z\n11,0,1,1,1\n",
    )?;
    home.text(&["edit", "made.zv", "move", "--from", "moved.csv"])?;
    assert_eq!(
        rows(&home)?,
        [
            "-3.0,2.0,1.0,7,6.5,soma",
            "0.5,0.5,0.5,7,1.5,axon",
            "1.0,1.0,1.0,11,5.5,glia",
            "12.0,0.5,0.5,7,2.5,soma"
        ]
    );
    let info = home.json(&["info", "made.zv", "--json", "--count"])?;
    assert_eq!(info["levels"][0]["vertices"], json!(4), "{info}");
    assert_eq!(info["bounds"][0], json!([-3.0, 0.5, 0.5]), "{info}");
    // Object 9 has a row until the store is vacuumed.
    let vacuumed = home.json(&["vacuum", "made.zv", "--json"])?;
    assert_eq!(
        (&vacuumed["rows"], &vacuumed["leftovers"]),
        (&json!(1), &json!(0))
    );
    let objects = home.json(&["objects", "made.zv", "--json"])?;
    let ids: Vec<_> = objects["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["object_id"])
        .collect();
    assert_eq!(ids, [&json!(7), &json!(11)]);
    Ok(())
}

#[test]
fn attributes_are_replaced_and_added() -> Result<()> {
    let home = home()?;
    std::fs::write(
        home.file("volumes.csv"),
        "object_id,vertex,volume\n9,1,40\n7,0,10\n",
    )?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "volume",
        "--from",
        "volumes.csv",
    ])?;
    std::fs::write(home.file("words.csv"), "vertex,word\n0,spine\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "word",
        "--from",
        "words.csv",
    ])?;
    assert_eq!(
        rows(&home)?,
        [
            "0.5,0.5,0.5,7,10.0,spine",
            "12.0,0.5,0.5,7,2.5,soma",
            "3.0,3.0,3.0,9,3.5,axon",
            "4.0,4.0,4.0,9,40.0,"
        ]
    );
    std::fs::write(home.file("labels.csv"), "label\n1\n2\n3\n4\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "label",
        "--type",
        "uint16",
        "--from",
        "labels.csv",
    ])?;
    std::fs::write(home.file("sizes.csv"), "object_id,size\n9,2.5\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "size",
        "--object",
        "--type",
        "float64",
        "--from",
        "sizes.csv",
    ])?;
    let text = home.text(&["query", "made.zv", "--format", "csv", "--columns", "label"])?;
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["label", "1", "2", "3", "4"]
    );
    let objects = home.json(&["objects", "made.zv", "--json"])?;
    let sizes: Vec<_> = objects["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["size"])
        .collect();
    assert_eq!(sizes, [&json!(null), &json!(2.5)]);
    Ok(())
}

#[test]
fn what_does_not_fit_leaves_the_store_as_it_was() -> Result<()> {
    let home = home()?;
    let before = rows(&home)?;
    std::fs::write(
        home.file("bad.csv"),
        "x,y,z,object_id,volume,word\n1,1,1,7,lots,axon\n",
    )?;
    std::fs::write(home.file("short.csv"), "x,y,object_id\n1,1,7\n")?;
    for (args, code, what) in [
        (&["delete", "8"][..], 2, "object 8"),
        (
            &["append", "bad.csv"],
            4,
            "bad.csv, line 2: expected float32",
        ),
        (&["append", "short.csv"], 2, "no column z"),
        (&["append", "none.csv"], 3, "none.csv"),
        (
            &["set-attribute", "depth", "--from", "bad.csv"],
            2,
            "--type",
        ),
    ] {
        let ran = home.zvf(&[&["edit", "made.zv"], args].concat())?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(what), "{args:?}: {}", ran.stderr);
        assert_eq!(rows(&home)?, before);
    }
    let nothing = home.json(&["edit", "made.zv", "resume", "--json"])?;
    assert_eq!(nothing["resumed"], json!("nothing"));
    // A writer that died leaves its marker; whoever comes next is told, and may clear up.
    std::fs::write(
        home.file("made.zv/zvf-unfinished.json"),
        r#"{"details": {"edit": "a1"}}"#,
    )?;
    let busy = home.zvf(&["edit", "made.zv", "delete", "9"])?;
    assert_eq!(busy.code, 2, "{}", busy.stderr);
    let taken = home.json(&["edit", "made.zv", "resume", "--json"])?;
    assert_eq!(taken["resumed"], json!("taken back"));
    home.text(&["edit", "made.zv", "delete", "9"])?;
    assert_eq!(rows(&home)?.len(), 2);
    Ok(())
}

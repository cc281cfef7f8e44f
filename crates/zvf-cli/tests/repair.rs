//! `zvf repair`: its plan, its changes, its exit codes, and the undo.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::{Home, STORE};

/// Makes a count wrong, and removes the first key from a list and from its partner's list.
fn break_it(home: &Home) -> Result<()> {
    let change = |key: &str, f: &dyn Fn(&mut Value) -> Option<()>| -> Result<()> {
        let path = home.file(STORE).join(key);
        let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        f(&mut document["attributes"]).context("another document")?;
        Ok(std::fs::write(path, document.to_string())?)
    };
    change("0/zarr.json", &|attributes| {
        attributes["zarr_vectors_level"]["vertex_count"] = json!(1);
        Some(())
    })?;
    for array in ["vertices", "vertex_fragments"] {
        change(&format!("0/{array}/zarr.json"), &|attributes| {
            let list = attributes["nonempty_chunks"].as_array_mut()?;
            list.remove(0);
            Some(())
        })?;
    }
    Ok(())
}

#[test]
fn a_plan_then_a_repair_then_the_way_back() -> Result<()> {
    let home = Home::to_damage("points_bins")?;
    assert_eq!(home.zvf(&["repair", STORE])?.code, 0);
    let count = home.json(&["info", STORE, "--count", "--json"])?["levels"][0]["vertices"].clone();
    break_it(&home)?;
    let broken = std::fs::read(home.file(STORE).join("0/zarr.json"))?;

    let ran = home.zvf(&["repair", STORE])?;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("--apply"), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout)?;
    assert!(
        text.contains("vertex_count: 1 -> ") && text.contains("ZVF-L3-0012 vertex-count"),
        "{text}"
    );
    let said =
        "3 changes in 4 documents, with the entry of the repair in zarr.json; nothing was written";
    assert!(text.contains(said), "{text}");
    assert_eq!(std::fs::read(home.file(STORE).join("0/zarr.json"))?, broken);

    let ran = home.zvf(&["repair", STORE, "--format", "json"])?;
    let plan: Value = serde_json::from_slice(&ran.stdout)?;
    let changes = plan["changes"].as_array().context("no changes")?;
    let counted = changes.iter().find(|one| one["document"] == "0/zarr.json");
    assert_eq!(counted.context("no count")?["new"], count, "{plan}");
    assert_eq!((&plan["applied"], changes.len()), (&json!(false), 3));

    let done = home.json(&["repair", STORE, "--apply", "--json"])?;
    assert_eq!(done["after"]["errors"], json!(0), "{done}");
    assert_eq!(plan["documents"], done["documents"], "{plan}");
    home.text(&["validate", STORE, "--level", "5", "--fail-on", "note"])?;
    let backup = done["backup"].as_str().context("no backup")?;
    assert!(backup.starts_with(&format!("{STORE}.backup-")), "{backup}");
    assert_eq!(home.zvf(&["repair", STORE, "--apply"])?.code, 0);

    home.text(&["repair", STORE, "--undo", backup])?;
    assert_eq!(std::fs::read(home.file(STORE).join("0/zarr.json"))?, broken);
    Ok(())
}

#[test]
fn only_some_checks_and_what_is_left() -> Result<()> {
    let home = Home::to_damage("points_bins")?;
    break_it(&home)?;
    let ran = home.zvf(&[
        "repair",
        STORE,
        "--apply",
        "--only",
        "cell-listed",
        "--json",
    ])?;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let done: Value = serde_json::from_slice(&ran.stdout)?;
    // The changed documents are two lists, and the root, which has the history.
    assert_eq!(
        done["documents"].as_array().map(Vec::len),
        Some(3),
        "{done}"
    );
    assert_eq!(done["left"][0]["title"], json!("vertex-count"), "{done}");
    home.text(&[
        "repair",
        STORE,
        "--apply",
        "--only",
        "ZVF-L3-0012",
        "--backup",
        "kept",
    ])?;
    assert!(home.file("kept").join("before/0/zarr.json").is_file());
    home.text(&["validate", STORE, "--level", "5"])?;
    Ok(())
}

#[test]
fn refusals_have_their_codes() -> Result<()> {
    let home = Home::to_damage("points_bins")?;
    for args in [
        &["repair", STORE, "--only", "nothing"][..],
        &["repair", STORE, "--level", "6"],
        &["repair", STORE, "--force"],
        &["repair", STORE, "--backup", "kept"],
        &["repair", STORE, "--undo", "nothing"],
    ] {
        assert_eq!(home.zvf(args)?.code, 2, "{args:?}");
    }
    assert_eq!(home.zvf(&["repair", "nothing.zv"])?.code, 3);
    let marker = home.file(STORE).join("zvf-unfinished.json");
    std::fs::write(&marker, "{}")?;
    let ran = home.zvf(&["repair", STORE, "--apply"])?;
    assert_eq!(ran.code, 75);
    assert!(
        ran.stderr.contains("zvf edit STORE resume"),
        "{}",
        ran.stderr
    );
    let older = Home::new("0.8/streamlines").or_else(|_| Home::new("0.8/lines"))?;
    let ran = older.zvf(&["repair", STORE])?;
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("zvf migrate"), "{}", ran.stderr);
    Ok(())
}

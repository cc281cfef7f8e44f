//! `zvf migrate` and `zvf rechunk`: the copy gives the same answers as the old store.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::run::{Home, STORE};

#[test]
fn an_old_store_becomes_a_new_one() -> Result<()> {
    let home = Home::new("0.7/streamlines")?;
    let to = [
        "migrate", STORE, "new.zv", "--to", "0.9.2", "--json", "--codec", "none",
    ];
    let told = home.json(&to)?;
    assert_eq!(
        (&told["from"], &told["to"]),
        (&json!("0.7.0"), &json!("0.9.2"))
    );
    assert_eq!(told["losses"], json!([]));
    let levels = told["levels"].as_array().cloned().unwrap_or_default();
    let vertices: u64 = levels
        .iter()
        .filter_map(|level| level["vertices"].as_u64())
        .sum();
    assert_eq!(told["verified"]["vertices"], json!(vertices));
    // The records of 0.7 have row 0 at both ends.
    let repairs = told["repairs"].as_array().cloned().unwrap_or_default();
    assert!(repairs.iter().any(|one| {
        one["what"]
            .as_str()
            .is_some_and(|what| what.contains("placeholder rows"))
    }));
    let info = home.json(&["info", "new.zv", "--json"])?;
    assert_eq!(info["version"], json!("0.9.2"), "{info}");
    // The same rows in the same order, byte for byte.
    for asked in [&["query"][..], &["query", "--select", "objects"]] {
        let rows = |store: &str| {
            let mut arguments = vec![asked[0], store, "--format", "csv"];
            arguments.extend(&asked[1..]);
            home.text(&arguments)
        };
        assert_eq!(rows(STORE)?, rows("new.zv")?);
    }
    assert_eq!(home.names()?, ["new.zv", STORE]);

    // An existing store is not overwritten.
    let again = home.zvf(&["migrate", STORE, "new.zv", "--to", "0.9.2"])?;
    assert_eq!(again.code, 2, "{}", again.stderr);
    let text = home.text(&["migrate", STORE, "plain.zv", "--to", "0.9.2", "--no-verify"])?;
    assert!(
        text.contains("level 0") && !text.contains("compared"),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_cannot_be_carried_is_told_and_strict_refuses() -> Result<()> {
    let home = Home::new("padded/graph")?;
    let ran = home.zvf(&["migrate", STORE, "new.zv", "--to", "0.9.2"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("not carried: 0/cross_chunk_links"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["migrate", STORE, "strict.zv", "--to", "0.9.2", "--strict"])?;
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(!home.file("strict.zv").join("zarr.json").exists());
    Ok(())
}

#[test]
fn there_and_back_through_0_8_1() -> Result<()> {
    let home = Home::new("points_bins")?;
    let told = home.json(&[
        "migrate", STORE, "old.zv", "--to", "0.8.1", "--strict", "--json",
    ])?;
    assert_eq!(
        (&told["to"], &told["losses"]),
        (&json!("0.8.1"), &json!([]))
    );
    assert_eq!(
        home.json(&["info", "old.zv", "--json"])?["version"],
        json!("0.8.1")
    );
    home.text(&["migrate", "old.zv", "new.zv", "--to", "0.9.2", "--strict"])?;
    let rows = |store: &str| home.text(&["query", store, "--format", "csv"]);
    assert_eq!(rows(STORE)?, rows("old.zv")?);
    assert_eq!(rows(STORE)?, rows("new.zv")?);

    // Ids that are not row numbers.
    let home = Home::new("0.9.4/dense_points")?;
    let ran = home.zvf(&["migrate", STORE, "old.zv", "--to", "0.8.1"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("number of its row"), "{}", ran.stderr);
    assert!(!home.file("old.zv").exists());
    Ok(())
}

#[test]
fn chunks_and_bins_change_their_shape() -> Result<()> {
    let home = Home::new("points_bins")?;
    let told = home.json(&[
        "rechunk",
        STORE,
        "new.zv",
        "--chunk-shape",
        "20,20,20",
        "--bin-shape",
        "5,10,4",
        "--shard-shape",
        "2,2,2",
        "--json",
    ])?;
    assert_eq!(told["losses"], json!([]));
    let info = home.json(&["info", "new.zv", "--json"])?;
    assert_eq!(info["chunk_shape"], json!([20.0, 20.0, 20.0]), "{info}");
    let rows = |store: &str| -> Result<Vec<String>> {
        let text = home.text(&[
            "query",
            store,
            "--format",
            "csv",
            "--bbox",
            "0,0,0:15,15,15",
        ])?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    };
    assert_eq!(rows(STORE)?, rows("new.zv")?);
    for (flags, code, wanted) in [
        (&["--chunk-shape", "20,20"][..], 2, "chunk_shape"),
        (&["--bin-shape", "3,3,3"], 2, "bin_shape"),
        (&[], 2, "--chunk-shape"),
    ] {
        let ran = home.zvf(&[&["rechunk", STORE, "other.zv"], flags].concat())?;
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
        assert!(!home.file("other.zv").join("zarr.json").exists());
    }
    Ok(())
}

/// Two polylines with the ids 1 and 4, and one with the id 9.
fn gaps() -> Result<Home> {
    let home = Home::made(&[
        (
            "../g.csv",
            "object_id,x,y,z\n1,1,1,1\n1,2,2,2\n4,30,30,30\n4,40,40,40\n".into(),
        ),
        ("../g9.csv", "object_id,x,y,z\n9,1,1,1\n9,2,2,2\n".into()),
    ])?;
    let shape = ["--kind", "polyline", "--chunk-shape", "20,20,20"];
    home.text(&[&["import", "g.csv", "g.zv"][..], &shape].concat())?;
    Ok(home)
}

#[test]
fn deleted_objects_have_no_row_where_ids_are_rows() -> Result<()> {
    let home = gaps()?;
    home.text(&["append", "g.zv", "g9.csv"])?;
    home.text(&["edit", "g.zv", "delete", "4"])?;
    home.text(&["migrate", "g.zv", "old.zv", "--to", "0.8.1"])?;
    let listed = home.json(&["objects", "old.zv", "--json"])?;
    let objects = listed["objects"].as_array().into_iter().flatten();
    let objects = objects.filter(|one| one["vertices"] != json!(0));
    let ids: Vec<i64> = objects
        .filter_map(|one| one["object_id"].as_i64())
        .collect();
    assert_eq!(ids, [1, 9]);
    home.text(&["validate", "old.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn coarse_levels_know_the_rows_of_finer_ones_where_ids_are_rows() -> Result<()> {
    let home = gaps()?;
    home.text(&["pyramid", "g.zv", "--factors", "2,4"])?;
    home.text(&["migrate", "g.zv", "old.zv", "--to", "0.8.1"])?;
    home.text(&["validate", "old.zv", "--level", "5"])?;
    home.text(&["migrate", "old.zv", "new.zv"])?;
    home.text(&["validate", "new.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn a_chunk_has_no_more_bins_than_an_import_allows() -> Result<()> {
    let home = Home::made(&[("../b.csv", "x,y,z\n1,2,3\n4,5,6\n900,800,700\n".into())])?;
    let shapes = [
        "--chunk-shape",
        "1000,1000,1000",
        "--bin-shape",
        "500,500,500",
    ];
    home.text(&[&["import", "b.csv", "b.zv"][..], &shapes].concat())?;
    for shape in [
        ["--bin-shape", "2.5,2.5,2.5"],
        ["--chunk-shape", "200000,200000,200000"],
    ] {
        let ran = home.zvf(&[&["rechunk", "b.zv", "c.zv"][..], &shape].concat())?;
        ensure!(
            ran.code == 2 && ran.stderr.contains("at most 16777216 bins in a chunk"),
            "{}",
            ran.stderr
        );
    }
    Ok(())
}

/// A copy that is not verified says that a chunk is lost.
#[test]
fn unverified_copies_report_lost_vertices() -> Result<()> {
    let rows = "x,y,n\n0,0,1\n1,1,2\n30,30,3\n31,31,4\n";
    let home = Home::made(&[("../n.csv", rows.into())])?;
    home.text(&["import", "n.csv", "n.zv", "--chunk-shape", "10,10"])?;
    for array in ["vertices", "vertex_fragments", "vertex_attributes/n"] {
        std::fs::remove_file(home.file(&format!("n.zv/0/{array}/c/3/3")))?;
    }
    let rechunk = ["rechunk", "n.zv", "r.zv", "--chunk-shape", "20,20"];
    for copy in [&["migrate", "n.zv", "m.zv"][..], &rechunk[..]] {
        let ran = home.zvf(copy)?;
        ensure!(ran.code == 4, "{copy:?}: {}", ran.stderr);
        let told = home.json(&[copy, &["--no-verify", "--json"]].concat())?;
        let loss = told["losses"][0]["what"].as_str().unwrap_or_default();
        ensure!(
            loss.contains("states 4 vertices, and 2 were found"),
            "{told}"
        );
        ensure!(told["repairs"] == json!([]), "{told}");
    }
    Ok(())
}

/// A copy has the result of an edit that is committed and not applied yet, but neither its reference to the edit nor its files.
#[test]
fn a_store_with_an_edit_that_is_not_applied_is_copied() -> Result<()> {
    let home = Home::made(&[("../p.csv", "x,y,z\n1,1,1\n2,2,2\n".into())])?;
    home.text(&["import", "p.csv", "a.zv"])?;
    let root = home.file("a.zv/zarr.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&root)?)?;
    document["attributes"]["zvf_edit"] = "a1".into();
    std::fs::write(root, document.to_string())?;
    std::fs::create_dir(home.file("a.zv/zvf-edit-a1"))?;
    let manifest = serde_json::json!({"edit": "a1", "put": [], "removed": []});
    std::fs::write(
        home.file("a.zv/zvf-edit-a1/manifest.json"),
        manifest.to_string(),
    )?;
    for (copy, words) in [("b.zv", &[][..]), ("c.zv", &["--no-verify"])] {
        let ran = home.zvf(&[&["migrate", "a.zv", copy][..], words].concat())?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("zvf-edit"), "{}", ran.stderr);
        assert_eq!(
            home.json(&["info", copy, "--json"])?["levels"][0]["vertices"],
            2
        );
    }
    Ok(())
}

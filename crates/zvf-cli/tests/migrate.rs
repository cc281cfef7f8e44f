//! `zvf migrate` and `zvf rechunk`: the copy answers as the old store does.

use anyhow::Result;
use serde_json::json;

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
            .is_some_and(|what| what.contains("made-up rows"))
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

    // Nothing is written over.
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

    // Ids that are no numbers of rows.
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

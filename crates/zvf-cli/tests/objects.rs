//! `zvf objects`.

use std::fs;

use anyhow::{Context, Result};

use crate::run::{Home, STORE, blessed};

#[test]
fn every_object_with_its_size() -> Result<()> {
    for name in ["points_ids", "streamlines", "graph", "real_tractogram"] {
        let home = Home::new(name)?;
        let document = home.json(&["objects", STORE, "--json"])?;
        let objects = document["objects"].as_array().context("objects")?;
        let case = zvf_testkit::case(name)?;
        for (id, rows) in &case.objects {
            let object = objects
                .iter()
                .find(|object| object["object_id"].as_i64() == Some(*id))
                .context("an object")?;
            assert_eq!(
                object["vertices"].as_u64(),
                Some(rows.len() as u64),
                "{name} {id}"
            );
            assert!(object["chunks"].as_u64() >= Some(1));
        }
        let some = home.json(&["objects", STORE, "--json", "--limit", "2"])?;
        assert_eq!(
            some["objects"].as_array().map(Vec::len),
            Some(objects.len().min(2))
        );
        assert_eq!(some["total"].as_u64(), Some(objects.len() as u64));
    }
    Ok(())
}

#[test]
fn text_and_files() -> Result<()> {
    let home = Home::new("points_ids")?;
    blessed("objects-points_ids.txt", &home.text(&["objects", STORE])?)?;
    home.text(&["objects", STORE, "-o", "objects.csv"])?;
    let csv = fs::read_to_string(home.file("objects.csv"))?;
    assert_eq!(
        csv.lines().next(),
        Some("object_id,vertices,chunks,fragments,score")
    );
    assert_eq!(csv.lines().count(), 6);
    home.text(&["objects", STORE, "-o", "objects.arrow"])?;
    assert!(fs::read(home.file("objects.arrow"))?.starts_with(b"ARROW1"));
    assert_eq!(home.zvf(&["objects", STORE, "-o", "objects.npy"])?.code, 2);
    assert_eq!(home.zvf(&["objects", STORE, "-o", "objects"])?.code, 2);
    Ok(())
}

#[test]
fn a_store_without_objects_says_so() -> Result<()> {
    let home = Home::new("points_bins")?;
    let ran = home.zvf(&["objects", STORE])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no object index"), "{}", ran.stderr);
    Ok(())
}

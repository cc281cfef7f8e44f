//! `zvf diff`.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Home, STORE};

/// Runs `zvf diff --json` on the bundled store and another one; checks that `same` agrees with the exit code.
fn diff(home: &Home, other: &str) -> Result<Value> {
    let ran = home.zvf(&["diff", STORE, other, "--json"])?;
    let document: Value =
        serde_json::from_slice(&ran.stdout).with_context(|| ran.stderr.clone())?;
    let same = document["same"].as_bool().context("same")?;
    assert_eq!(ran.code, i32::from(!same), "{}", ran.stderr);
    Ok(document)
}

fn places(document: &Value) -> Vec<&str> {
    let all = document["differences"].as_array().into_iter().flatten();
    all.filter_map(|one| one["place"].as_str()).collect()
}

#[test]
fn other_chunks_and_versions_are_no_difference() -> Result<()> {
    for name in ["points_ids", "real_skeleton", "graph", "streamlines"] {
        let home = Home::new(name)?;
        let same = diff(&home, STORE)?;
        assert_eq!(same["total"], 0, "{name}: {same}");
        assert_eq!(same["vertices"][0], same["vertices"][1]);
        home.text(&["migrate", STORE, "old.zarrvectors", "--to", "0.8.1", "-q"])?;
        let copy = diff(&home, "old.zarrvectors")?;
        assert_eq!(copy["vertices"], same["vertices"], "{name}: {copy}");
        assert_eq!(copy["links"], same["links"], "{name}: {copy}");
        // Version 0.8.1 has an object without vertices for each unused id.
        for one in copy["differences"].as_array().context("differences")? {
            let what = one["what"].as_str().context("what")?;
            assert!(
                what.starts_with("in the second store only: ") && what.ends_with("vertices 0"),
                "{name}: {copy}"
            );
        }
    }
    let home = Home::new("points_ids")?;
    home.text(&[
        "rechunk",
        STORE,
        "other.zarrvectors",
        "--chunk-shape",
        "37,41,43",
        "-q",
    ])?;
    let copy = diff(&home, "other.zarrvectors")?;
    assert_eq!(copy["total"], 0, "{copy}");
    let text = home.text(&["diff", STORE, "other.zarrvectors"])?;
    assert!(text.starts_with("no differences: "), "{text}");
    Ok(())
}

#[test]
fn an_edit_is_found_with_its_place() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    home.text(&[
        "migrate",
        STORE,
        "edited.zarrvectors",
        "--to",
        "0.9.2",
        "-q",
    ])?;
    let objects = home.json(&["objects", STORE, "--json"])?;
    let id = objects["objects"][1]["object_id"].to_string();
    let vertices = objects["objects"][1]["vertices"]
        .as_u64()
        .context("vertices")?;
    home.text(&["edit", "edited.zarrvectors", "delete", &id])?;
    let found = diff(&home, "edited.zarrvectors")?;
    let place = format!("level 0, object {id}");
    assert!(places(&found).contains(&&*place), "{found}");
    // The object and each of its vertices are differences.
    assert!(found["total"].as_u64() > Some(vertices), "{found}");
    // So is the group that it was a member of.
    let group = "level 0, group \"group_0\"";
    assert!(
        places(&found)
            .iter()
            .all(|one| one.starts_with(&place) || *one == group),
        "{found}"
    );
    let text = home.zvf(&["diff", STORE, "edited.zarrvectors", "--limit", "1"])?;
    let shown = String::from_utf8(text.stdout)?;
    assert!(
        shown.contains("in the first store only") && shown.contains(" more"),
        "{shown}"
    );
    assert_eq!((text.code, shown.lines().count()), (1, 2));
    Ok(())
}

#[test]
fn points_without_objects_are_compared_as_a_set() -> Result<()> {
    let home = Home::new("points_ids")?;
    let rows = "x,y,z,w\n1,2,3,0.5\n4,5,6,nan\n4,5,6,nan\n";
    std::fs::write(home.file("a.csv"), rows)?;
    std::fs::write(
        home.file("b.csv"),
        "x,y,z,w\n4,5,6,nan\n1,2,3,0.5\n4,5,6,nan\n",
    )?;
    std::fs::write(
        home.file("c.csv"),
        "x,y,z,w\n4,5,6,nan\n1,2,3,0.5\n1,2,3,0.25\n",
    )?;
    for name in ["a", "b", "c"] {
        let (file, store) = (format!("{name}.csv"), format!("{name}.zarrvectors"));
        home.text(&["import", &file, &store, "-q"])?;
    }
    let text = home.text(&["diff", "a.zarrvectors", "b.zarrvectors"])?;
    assert!(text.contains("3 vertices"), "{text}");
    let ran = home.zvf(&["diff", "a.zarrvectors", "c.zarrvectors", "--json"])?;
    let document: Value = serde_json::from_slice(&ran.stdout)?;
    assert_eq!((ran.code, &document["total"]), (1, &2.into()), "{document}");
    let what = document["differences"].to_string();
    assert!(what.contains("0.25") && what.contains("NaN"), "{what}");
    Ok(())
}

#[test]
fn other_kinds_and_missing_stores() -> Result<()> {
    let home = Home::new("points_ids")?;
    std::fs::write(home.file("n.swc"), "1 1 0 0 0 1 -1\n2 3 1 0 0 1 1\n")?;
    home.text(&["import", "n.swc", "n.zarrvectors", "-q"])?;
    let found = diff(&home, "n.zarrvectors")?;
    assert_eq!(places(&found).first(), Some(&"kind"), "{found}");
    assert_eq!(home.zvf(&["diff", STORE, "none.zarrvectors"])?.code, 3);
    Ok(())
}

#[test]
fn coordinate_reference_systems_are_compared() -> Result<()> {
    let home = Home::new("points_ids")?;
    std::fs::write(home.file("p.csv"), "x,y\n1,2\n")?;
    for (store, system) in [("a.zv", "EPSG:25832"), ("b.zv", "EPSG:4326")] {
        home.text(&["import", "p.csv", store, "--crs", system, "-q"])?;
    }
    let ran = home.zvf(&["diff", "a.zv", "b.zv"])?;
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.code, 1, "{text}");
    assert!(text.contains("crs: EPSG:25832 and EPSG:4326"), "{text}");
    Ok(())
}

/// The exit code and the places of the differences between two stores.
fn between(home: &Home, old: &str, new: &str) -> Result<(i32, Vec<String>)> {
    let ran = home.zvf(&["diff", old, new, "--json"])?;
    let document: Value =
        serde_json::from_slice(&ran.stdout).with_context(|| ran.stderr.clone())?;
    let places = places(&document).into_iter().map(str::to_owned);
    Ok((ran.code, places.collect()))
}

#[test]
fn headers_and_metadata_of_users_are_compared() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    let line = "mrtrix tracks\ndatatype: Float32LE\ncount: 1\nfile: . 67\nEND\n";
    let mut file = line.as_bytes().to_vec();
    file.resize(67, b'\n');
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::NAN, f32::NAN, f32::NAN];
    let end = [f32::INFINITY; 3];
    file.extend(numbers.iter().chain(&end).flat_map(|one| one.to_le_bytes()));
    std::fs::write(home.file("a.tck"), file)?;
    home.text(&["import", "a.tck", "a.zv", "-q"])?;
    home.text(&["import", "a.tck", "b.zv", "-q"])?;
    assert_eq!(between(&home, "a.zv", "b.zv")?, (0, Vec::new()));
    let path = home.file("b.zv/headers/tck/zarr.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    document["attributes"]["space"] = "voxelmm".into();
    std::fs::write(&path, document.to_string())?;
    let place = "headers/tck, member \"space\"".to_owned();
    assert_eq!(between(&home, "a.zv", "b.zv")?, (1, vec![place]));
    let text = home.zvf(&["diff", "a.zv", "b.zv"])?;
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("member \"space\": rasmm and voxelmm"),
        "{text}"
    );
    std::fs::remove_dir_all(home.file("b.zv/headers"))?;
    let place = "headers/tck".to_owned();
    assert_eq!(between(&home, "a.zv", "b.zv")?, (1, vec![place]));
    // User metadata is compared; the record of how a store was made is not.
    let path = home.file("a.zv/zarr.json");
    let mut root: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    home.text(&["copy", "a.zv", "c.zv", "-q"])?;
    root["attributes"]["zvf_history"] = serde_json::json!([{"job": "import"}]);
    std::fs::write(&path, root.to_string())?;
    assert_eq!(between(&home, "a.zv", "c.zv")?, (0, Vec::new()));
    root["attributes"]["user_metadata"] = serde_json::json!({"lab": {"scanner": 3}});
    std::fs::write(&path, root.to_string())?;
    let place = "user_metadata".to_owned();
    assert_eq!(between(&home, "a.zv", "c.zv")?, (1, vec![place]));
    Ok(())
}

#[test]
fn links_between_levels_are_compared() -> Result<()> {
    let home = Home::new("points_ids")?;
    let rows = (0..96).map(|n| format!("{},{},{},0\n", n / 12, n % 12, n / 12 * 3));
    let text: String = std::iter::once("object_id,x,y,z\n".to_owned())
        .chain(rows)
        .collect();
    std::fs::write(home.file("w.csv"), text)?;
    for (store, links) in [
        ("none.zv", "none"),
        ("both.zv", "explicit"),
        ("again.zv", "explicit"),
    ] {
        let import = ["import", "w.csv", store, "--kind", "polyline", "-q"];
        home.text(&[&import[..], &["--chunk-shape", "8,8,8"]].concat())?;
        let levels = ["--factors", "2", "--bin-shape", "2,2,2", "--cross-links"];
        home.text(&[&["pyramid", store, "-q"][..], &levels, &[links]].concat())?;
    }
    let places = vec![
        "level 0, links to level 1".to_owned(),
        "level 1, links to level 0".to_owned(),
    ];
    assert_eq!(between(&home, "none.zv", "both.zv")?, (1, places));
    assert_eq!(between(&home, "both.zv", "again.zv")?, (0, Vec::new()));
    // With another chunk shape, the same vertices have other rows.
    let wide = ["rechunk", "both.zv", "wide.zv", "--chunk-shape", "16,16,16"];
    home.text(&[&wide[..], &["-q"]].concat())?;
    assert_eq!(between(&home, "both.zv", "wide.zv")?, (0, Vec::new()));
    // One chunk gets the links of another one.
    let cells = home.file("again.zv/0/links/+1/0.0.0/c/0");
    std::fs::copy(cells.join("2/0"), cells.join("1/0"))?;
    let (code, places) = between(&home, "both.zv", "again.zv")?;
    assert_eq!(code, 1);
    let all = places.iter().all(|one| one == "level 0, links to level 1");
    assert!(all && places.len() > 1, "{places:?}");
    Ok(())
}

#[test]
fn directed_links_are_not_undirected_ones() -> Result<()> {
    for (kind, differs) in [("graph", true), ("skeleton", false)] {
        let home = Home::made(&[
            ("../n.csv", "x,y,z\n0,0,0\n1,0,0\n2,1,0\n".into()),
            ("../e.csv", "child,parent\n1,0\n2,1\n".into()),
        ])?;
        let import = ["import", "n.csv", STORE, "--edges", "e.csv", "--kind", kind];
        home.text(&import)?;
        home.text(&["copy", STORE, "other.zarrvectors"])?;
        // One chunk has no links that the order of their ends decides where to store.
        let family = home.file("other.zarrvectors/0/links/0/zarr.json");
        let mut document: Value = serde_json::from_str(&std::fs::read_to_string(&family)?)?;
        let before = document["attributes"]["directed"] == true;
        document["attributes"]["directed"] = (!before).into();
        std::fs::write(&family, document.to_string())?;
        let found = diff(&home, "other.zarrvectors")?;
        let expected: &[&str] = if differs { &["level 0, links"] } else { &[] };
        assert_eq!(places(&found), expected, "{kind}: {found}");
    }
    Ok(())
}

#[test]
fn codes_of_categories_and_deleted_members_of_groups_are_storage() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z,c\n1,2,3,a\n2,2,3,b\n5,2,3,\n".into()),
        ("../b.csv", "x,y,z,c\n1,2,3,a\n2,2,3,b\n5,2,3,b\n".into()),
        ("../c.csv", "x,y,z,c\n1,2,3,a\n2,2,3,b\n5,2,3,a\n".into()),
        (
            "../p.csv",
            "object_id,x,y,z\n1,0,0,0\n1,1,1,1\n2,2,0,0\n2,3,1,1\n".into(),
        ),
    ])?;
    for name in ["a", "b", "c"] {
        let (file, store) = (format!("{name}.csv"), format!("{name}.zv"));
        home.text(&["import", &file, &store, "-q"])?;
    }
    // The codes keep the type that has a code for missing texts.
    let edit = ["edit", "a.zv", "set-attribute", "c", "--from", "b.csv"];
    home.text(&edit)?;
    assert_eq!(between(&home, "a.zv", "b.zv")?, (0, Vec::new()));
    assert_eq!(between(&home, "a.zv", "c.zv")?.0, 1);

    home.text(&["import", "p.csv", "p.zv", "--kind", "polyline", "-q"])?;
    home.text(&["edit", "p.zv", "group", "add", "both", "1", "2"])?;
    home.text(&["copy", "p.zv", "q.zv", "-q"])?;
    for store in ["p.zv", "q.zv"] {
        home.text(&["edit", store, "delete", "2"])?;
    }
    home.text(&["vacuum", "q.zv"])?;
    assert_eq!(between(&home, "p.zv", "q.zv")?, (0, Vec::new()));
    home.text(&["edit", "q.zv", "group", "remove", "both", "1"])?;
    let place = "level 0, group \"both\"".to_owned();
    assert_eq!(between(&home, "p.zv", "q.zv")?, (1, vec![place]));
    Ok(())
}

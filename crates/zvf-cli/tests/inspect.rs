//! `zvf inspect`.

use std::fs;

use anyhow::Result;

use crate::run::{Home, STORE, blessed};

#[test]
fn dumps_are_as_blessed() -> Result<()> {
    let cases: [(&str, &str, &[&str]); 9] = [
        (
            "real_skeleton",
            "fragments",
            &["0/vertex_fragments", "1.5.3"],
        ),
        (
            "real_skeleton",
            "links-cross",
            &["0/links/0/+1.0.0 0.5.3", "--rows", "3"],
        ),
        (
            "real_skeleton",
            "links-level",
            &["0/links/+1/0.0.0 1.5.3", "--rows", "3"],
        ),
        (
            "real_skeleton",
            "manifest",
            &["0/object_index/manifests 0", "--rows", "3"],
        ),
        ("real_skeleton", "level", &["0"]),
        (
            "graph",
            "links-intra",
            &["0/links/0/0.0.0/c/1/1/1", "--rows", "3"],
        ),
        (
            "points_4d_sharded",
            "shard",
            &["0/vertices 1.1.1.1", "--rows", "3"],
        ),
        ("points_ids", "group", &["0/groups", "1"]),
        ("points_ids", "array", &["0/vertex_attributes/intensity"]),
    ];
    for (case, name, path) in cases {
        let home = Home::new(case)?;
        let mut args = vec!["inspect", STORE];
        args.extend(path);
        blessed(&format!("inspect-{name}.txt"), &home.text(&args)?)?;
        args.push("--json");
        let document = home.json(&args)?;
        assert!(
            document["error"].is_null()
                && document["sections"]
                    .as_array()
                    .is_some_and(|s| !s.is_empty()),
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn a_file_inside_a_store_is_understood() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let text = home.text(&[
        "inspect",
        "store.zarrvectors/0/vertices/c/1/2/1",
        "--rows",
        "1",
    ])?;
    assert!(
        text.contains("chunk 1.5.3") && text.contains("x = 6164.0, y = 20070.0, z = 14202.0"),
        "{text}"
    );
    // Outside its store, the file is recognized as a compressed chunk of bytes.
    fs::copy(
        home.file("store.zarrvectors/0/vertex_fragments/c/1/2/1"),
        home.file("cell"),
    )?;
    let text = home.text(&["inspect", "cell"])?;
    assert!(
        text.contains("vlen") && text.contains("rows 0..230"),
        "{text}"
    );
    Ok(())
}

#[test]
fn flags_say_what_bytes_are() -> Result<()> {
    let home = Home::new("graph")?;
    let mut bytes = Vec::new();
    for value in [1.5f64, -2.0] {
        bytes.extend(value.to_le_bytes().iter().rev());
    }
    fs::write(home.file("rows"), bytes)?;
    let text = home.text(&[
        "inspect", "rows", "--as", "vertices", "--width", "2", "--dtype", ">f8",
    ])?;
    assert!(text.contains("row 0  1.5, -2.0"), "{text}");
    let ran = home.zvf(&["inspect", "rows", "--as", "vertices", "--dtype", "nope"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    Ok(())
}

#[test]
fn damage_is_shown_up_to_where_it_is() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    let cell = home.file("store.zarrvectors/1/vertex_fragments");
    let mut cells: Vec<_> = walk(&cell)?
        .into_iter()
        .filter(|path| !path.ends_with("zarr.json"))
        .collect();
    cells.sort();
    let path = cells.first().cloned().unwrap_or_default();
    let bytes = fs::read(&path)?;
    for length in [0, 3, 5, 7, 9, 20, 30, bytes.len() - 1] {
        fs::write(&path, &bytes[..length])?;
        let ran = home.zvf(&["inspect", &path.to_string_lossy()])?;
        assert_eq!(ran.code, 4, "{length}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("zvf: ") && ran.stderr.contains("at byte"),
            "{}",
            ran.stderr
        );
        assert!(String::from_utf8(ran.stdout)?.contains("! byte"));
        let ran = home.zvf(&["inspect", &path.to_string_lossy(), "--json"])?;
        assert_eq!(ran.code, 4);
        let document: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
        assert!(document["error"]["message"].is_string());
    }
    Ok(())
}

#[test]
fn broken_roots_do_not_stop_it() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    fs::write(
        home.file("store.zarrvectors/zarr.json"),
        "{\"attributes\": {,}",
    )?;
    let ran = home.zvf(&["inspect", STORE])?;
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("at byte 16: not a JSON document"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["inspect", STORE, "0/vertices/zarr.json"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Ok(())
}

#[test]
fn wrong_names_are_usage_errors() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    for (path, says) in [
        (&["0/nothing 0.0.0"][..], "no array \"0/nothing\""),
        (
            &["0/vertices", "9.9.9"],
            "expected an element from 0.3.2 to 5.9.7",
        ),
        (
            &["0/vertices", "-1.0.0"],
            "expected an element from 0.3.2 to 5.9.7",
        ),
        (&["0/vertices", "1.2"], "3 components"),
        (&["0/vertices", "x"], "a chunk key"),
        (
            &["0/object_index/manifests 7"],
            "expected an element from 0 to 0",
        ),
        (&["nowhere"], "nothing called"),
        (&["../secret"], "cannot be the key"),
    ] {
        let mut args = vec!["inspect", STORE];
        args.extend(path);
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, 2, "{path:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{path:?}: {}", ran.stderr);
    }
    Ok(())
}

/// Files below a folder.
fn walk(folder: &std::path::Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(walk(&path)?)
        } else {
            files.push(path)
        }
    }
    Ok(files)
}

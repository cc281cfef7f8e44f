//! Damage that the documents of a store show: reads fail or warn, and the validator finds it.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::run::Home;

const BARE: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;

/// Two objects in two chunks with attributes of vertices, objects and links, and a group, in `s.zv`.
fn store(kind: &str) -> Result<Home> {
    let rows = "object_id,x,y,z,v,d\n7,1,1,1,1,2024-01-01\n7,2,2,2,5,2024-01-02\n8,25,1,1,7,2024-01-03\n8,26,1,1,9,2024-01-04\n";
    let home = Home::made(&[
        ("../p.csv", rows.into()),
        ("../e.csv", "a,b,w\n0,1,0.5\n2,3,1.5\n".into()),
        ("../o.csv", "object_id,n\n7,5\n8,6\n".into()),
    ])?;
    let import = ["import", "p.csv", "s.zv", "--kind", kind];
    let objects = ["--object-column", "object_id", "--chunk-shape", "20,20,20"];
    let links = [
        "--edges",
        "e.csv",
        "--link-columns",
        "a,b",
        "--links-by-row",
    ];
    home.text(&[&import[..], &objects, &links].concat())?;
    let set = ["edit", "s.zv", "set-attribute", "n", "--object"];
    home.text(&[&set[..], &["--type", "int32", "--from", "o.csv"]].concat())?;
    home.text(&["group", "s.zv", "g", "--add", "7"])?;
    ensure!(validated(&home)?.0 == 0, "the undamaged store");
    Ok(home)
}

/// The exit code and the report of the validator.
fn validated(home: &Home) -> Result<(i32, String)> {
    let ran = home.zvf(&["validate", "s.zv", "--level", "5"])?;
    Ok((ran.code, String::from_utf8(ran.stdout)?))
}

/// Changes a document of `s.zv`.
fn edit(home: &Home, key: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    let path = home.file("s.zv").join(key);
    let mut document: Value = serde_json::from_slice(&fs::read(&path)?)?;
    change(&mut document);
    Ok(fs::write(path, document.to_string())?)
}

/// Runs a command that has to end with this code and to say this on stderr.
fn says(home: &Home, command: &[&str], code: i32, word: &str) -> Result<()> {
    let ran = home.zvf(command)?;
    let said = ran.code == code && ran.stderr.contains(word);
    ensure!(said, "{command:?}: code {}: {}", ran.code, ran.stderr);
    Ok(())
}

#[test]
fn a_condition_tells_that_values_of_its_attribute_are_missing() -> Result<()> {
    let home = store("graph")?;
    edit(&home, "0/vertex_attributes/v/zarr.json", |document| {
        document["attributes"]["nonempty_chunks"] = json!(["0.0.0"]);
    })?;
    let gap = "level 0, attribute v: no cell for 1 chunks, values are null";
    let csv = ["--format", "csv"];
    let all = ["query", "s.zv", "--where", "v > 3"];
    let without = ["query", "s.zv", "--where", "v > 3", "--columns", "x"];
    let whole = ["query", "s.zv", "--where", "v > 3", "--select", "objects"];
    for command in [&all[..], &without, &whole] {
        says(&home, &[command, &csv].concat(), 0, gap)?;
    }
    says(&home, &["stats", "s.zv", "--where", "v > 3"], 0, gap)?;
    says(&home, &["measure", "s.zv", "--mean", "v"], 0, gap)?;
    // In the box, every row has a value.
    let inside = ["--bbox", "0,0,0:10,10,10"];
    let ran = home.zvf(&[&all[..], &inside, &csv].concat())?;
    ensure!(!ran.stderr.contains("no cell"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_group_in_place_of_an_array_is_an_error() -> Result<()> {
    let group = ["query", "s.zv", "--groups", "g", "--format", "csv"];
    for (path, command) in [
        ("0/object_attributes/n", &["objects", "s.zv"][..]),
        ("0/groups", &group),
    ] {
        let home = store("graph")?;
        fs::write(home.file("s.zv").join(path).join("zarr.json"), BARE)?;
        let word = format!("{path}/zarr.json: node_type is group, expected array");
        says(&home, command, 4, &word)?;
        let (code, report) = validated(&home)?;
        ensure!(code == 1 && report.contains(path), "{report}");
    }
    Ok(())
}

#[test]
fn folders_in_each_others_place_are_told() -> Result<()> {
    let home = store("graph")?;
    fs::remove_dir_all(home.file("s.zv/0/object_index/manifests"))?;
    fs::write(home.file("s.zv/0/object_index/zarr.json"), BARE)?;
    let query = ["query", "s.zv", "--format", "csv"];
    let word = "0/object_index/zarr.json: zv_array and num_objects are missing";
    says(&home, &query, 4, word)?;
    ensure!(validated(&home)?.0 == 1);
    let home = store("graph")?;
    home.text(&["pyramid", "s.zv", "--factors", "2"])?;
    let place = |name: &str| home.file("s.zv").join(name);
    fs::rename(place("0"), place("2"))?;
    fs::rename(place("1"), place("0"))?;
    fs::rename(place("2"), place("1"))?;
    says(&home, &query, 0, "0/zarr.json: level is 1, expected 0")?;
    ensure!(validated(&home)?.0 == 1);
    Ok(())
}

#[test]
fn a_level_without_chunks_tells_that_vertices_are_lost() -> Result<()> {
    let home = store("graph")?;
    fs::write(home.file("s.zv/0/vertices/zarr.json"), BARE)?;
    let word = "vertex_count is 4, but 0 vertices were read";
    let inside = ["query", "s.zv", "--bbox", "0,0,0:10,10,10"];
    let chosen = ["query", "s.zv", "--where", "v > 3"];
    for command in [&inside[..], &chosen] {
        says(&home, &[command, &["--format", "csv"]].concat(), 0, word)?;
    }
    ensure!(validated(&home)?.0 == 1);
    Ok(())
}

#[test]
fn a_lost_fragment_index_of_a_level_with_objects_is_told() -> Result<()> {
    let home = store("graph")?;
    fs::remove_dir_all(home.file("s.zv/0/vertex_fragments"))?;
    let word = "0/vertex_fragments: is missing";
    says(&home, &["query", "s.zv", "--format", "csv"], 0, word)?;
    ensure!(validated(&home)?.0 == 1);
    Ok(())
}

#[test]
fn lost_values_of_links_are_told_and_found() -> Result<()> {
    let home = store("graph")?;
    fs::remove_dir_all(home.file("s.zv/0/link_attributes/w/0"))?;
    let word = "0/link_attributes/w/0: is missing, but named by attribute_specs";
    says(&home, &["links", "s.zv"], 0, word)?;
    says(&home, &["query", "s.zv", "-o", "tables"], 0, word)?;
    let (code, report) = validated(&home)?;
    ensure!(code == 1 && report.contains(word), "{report}");
    Ok(())
}

#[test]
fn lost_links_of_a_skeleton_are_told_and_found() -> Result<()> {
    let home = store("skeleton")?;
    fs::remove_dir_all(home.file("s.zv/0/links/0"))?;
    let word = "links are left out: 0/links/0";
    says(&home, &["query", "s.zv", "-o", "tables"], 0, word)?;
    let (code, report) = validated(&home)?;
    ensure!(code == 1 && report.contains("0/links/0"), "{report}");
    Ok(())
}

#[test]
fn a_document_that_contradicts_its_folder_or_the_root_is_told() -> Result<()> {
    let home = store("graph")?;
    let query = ["query", "s.zv", "--format", "csv"];
    let document = "0/vertex_attributes/d/zarr.json";
    edit(&home, document, |document| {
        document["attributes"]["unit"] = json!("hours since 1970-01-01");
    })?;
    let word = r#"unit is "hours since 1970-01-01", but attribute_specs of the root declares "days since 1970-01-01""#;
    says(&home, &query, 0, &format!("{document}: {word}"))?;
    ensure!(validated(&home)?.1.contains("ZVF-L1-0005"), "the unit");
    edit(&home, document, |document| {
        if let Some(attributes) = document["attributes"].as_object_mut() {
            attributes.remove("unit");
        }
    })?;
    let word = "no unit, but attribute_specs of the root declares";
    says(&home, &query, 0, &format!("{document}: {word}"))?;
    edit(&home, "0/object_attributes/n/zarr.json", |document| {
        document["attributes"]["name"] = json!("m");
    })?;
    let word = r#"0/object_attributes/n/zarr.json: name is "m", expected "n""#;
    says(&home, &["objects", "s.zv"], 0, word)
}

#[test]
fn groups_that_are_stated_and_not_stored_are_told() -> Result<()> {
    let home = store("graph")?;
    edit(&home, "0/groups/zarr.json", |document| {
        document["attributes"]["group_names"] = json!(["g", "h"]);
    })?;
    let word = "0/groups/zarr.json: 2 groups are stated, but there are 1: groups are missing";
    let query = ["query", "s.zv", "--groups", "g", "--format", "csv"];
    says(&home, &query, 0, word)
}

/// Without a presence list, the cells of a shard are not known. An empty one was taken for links into a chunk outside of the grid.
#[test]
fn shards_of_links_without_a_presence_list_are_read() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z\n1,1,1\n25,1,1\n".into()),
        ("../e.csv", "a,b\n0,1\n".into()),
    ])?;
    let import = ["import", "p.csv", "s.zv", "--kind", "graph"];
    let chunks = ["--chunk-shape", "20,20,20", "--shard-shape", "2,1,1"];
    let links = [
        "--edges",
        "e.csv",
        "--link-columns",
        "a,b",
        "--links-by-row",
    ];
    home.text(&[&import[..], &chunks, &links].concat())?;
    edit(&home, "0/links/0/+1.0.0/zarr.json", |document| {
        if let Some(attributes) = document["attributes"].as_object_mut() {
            attributes.remove("nonempty_chunks");
        }
    })?;
    says(
        &home,
        &["query", "s.zv", "-o", "tables"],
        0,
        "links.arrow: 1 link",
    )?;
    ensure!(validated(&home)?.0 == 0);
    Ok(())
}

//! Rows and links without a value, where the type has none that means absence.

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::lost::{folders, refused, set};
use crate::run::Home;

#[test]
fn rows_without_a_value_get_none_that_is_made_up() -> Result<()> {
    let rows: String = (0..40).map(|row| format!("{row},1,1,{row}\n")).collect();
    let home = Home::made(&[("../points.csv", format!("x,y,z,n\n{rows}").into_bytes())])?;
    let shape = ["--chunk-shape", "10,10,10"];
    home.text(&[&["import", "points.csv", "a.zv"][..], &shape].concat())?;
    let array = home.file("a.zv/0/vertex_attributes/n");
    let present = "/attributes/nonempty_chunks";
    set(
        &array.join("zarr.json"),
        present,
        json!(["0.0.0", "2.0.0", "3.0.0"]),
    )?;
    std::fs::remove_file(array.join("c/1/0/0"))?;
    let joins = ["rechunk", "a.zv", "b.zv", "--chunk-shape", "20,20,20"];
    refused(&home, &[&joins], "vertex_attributes/n")?;
    ensure!(!home.file("b.zv").exists());
    // Where no chunk has both, rows without a value stay so.
    home.text(&["rechunk", "a.zv", "b.zv", "--chunk-shape", "5,5,5"])?;
    let found = home.text(&["query", "b.zv", "--where", "n is null", "--format", "csv"])?;
    ensure!(found.lines().count() == 11, "{found}");
    Ok(())
}

#[test]
fn links_without_a_value_get_none_that_is_made_up() -> Result<()> {
    let nodes: String = (0..40).map(|row| format!("{row},1,1\n")).collect();
    let edges: String = (0..40)
        .step_by(2)
        .map(|row| format!("{row},{},{row}\n", row + 1))
        .collect();
    let home = Home::made(&[
        ("../nodes.csv", format!("x,y,z\n{nodes}").into_bytes()),
        ("../edges.csv", format!("one,two,n\n{edges}").into_bytes()),
    ])?;
    let ends = ["--edges", "edges.csv", "--link-columns", "one,two"];
    let import = ["import", "nodes.csv", "a.zv", "--chunk-shape", "10,10,10"];
    home.text(&[&import[..], &ends].concat())?;
    let values = home.file("a.zv/0/link_attributes/n/0");
    let arrays = folders(&values)?;
    let [array] = arrays.as_slice() else {
        bail!("found {arrays:?}, expected links inside of chunks alone");
    };
    let present = "/attributes/nonempty_chunks";
    let left = json!(["0.0.0", "2.0.0", "3.0.0"]);
    set(&array.join("zarr.json"), present, left)?;
    std::fs::remove_file(array.join("c/1/0/0"))?;
    let joins = ["rechunk", "a.zv", "b.zv", "--chunk-shape", "20,20,20"];
    refused(&home, &[&joins], "link_attributes/n")?;
    ensure!(!home.file("b.zv").exists());
    // Where no chunk has both, links without a value stay so.
    home.text(&["rechunk", "a.zv", "b.zv", "--chunk-shape", "5,5,5"])?;
    home.text(&["links", "b.zv", "-o", "links.csv"])?;
    let found = std::fs::read_to_string(home.file("links.csv"))?;
    ensure!(found.lines().count() == 21, "{found}");
    let without = found.lines().filter(|line| line.ends_with(',')).count();
    ensure!(without == 5, "{found}");
    Ok(())
}

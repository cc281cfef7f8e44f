//! Changes and copies of stores that lost a level, or all links.

use anyhow::{Result, ensure};

use crate::lost::{CHANGES, lines, refused};
use crate::run::Home;

/// A level that the root names is missing: copies and edits would lose it for good.
#[test]
fn a_store_that_lost_a_level_is_neither_changed_nor_copied() -> Result<()> {
    let home = lines()?;
    home.text(&["pyramid", "a.zv", "--factors", "2,2"])?;
    std::fs::rename(home.file("a.zv/1"), home.file("1"))?;
    let says = "level 1 is missing, but named by multiscales of the root";
    let changes = CHANGES.iter().copied().filter(|one| one[0] != "pyramid");
    let changes: Vec<&[&str]> = changes.chain([&["migrate", "a.zv", "b.zv"][..]]).collect();
    refused(&home, &changes, says)?;
    let ran = home.zvf(&["query", "a.zv", "--level", "2", "--format", "csv"])?;
    ensure!(ran.code == 0 && ran.stderr.contains(says), "{}", ran.stderr);
    home.text(&["pyramid", "a.zv", "--factors", "2,2", "--replace"])?;
    home.validates("a.zv")?;
    std::fs::remove_dir_all(home.file("a.zv/0"))?;
    refused(
        &home,
        &[&["migrate", "a.zv", "b.zv", "--strict"]],
        "level 0 is missing",
    )
}

/// The edges of a graph are gone, but not their folder: a copy without edges would seem complete.
#[test]
fn a_graph_that_lost_its_links_is_neither_changed_nor_copied() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "x,y,z\n1,1,1\n2,2,2\n3,3,3\n".into()),
        ("../e.csv", "a,b\n0,1\n1,2\n".into()),
    ])?;
    let import = [
        "import", "n.csv", "a.zv", "--kind", "graph", "--edges", "e.csv",
    ];
    home.text(&[&import[..], &["--link-columns", "a,b"]].concat())?;
    std::fs::rename(home.file("a.zv/0/links/0"), home.file("0"))?;
    let says = "0/links/0";
    let changes: [&[&str]; 4] = [
        &["migrate", "a.zv", "b.zv"],
        &["rechunk", "a.zv", "b.zv", "--chunk-shape", "40,40,40"],
        &["vacuum", "a.zv"],
        &["edit", "a.zv", "append", "n.csv"],
    ];
    refused(&home, &changes, says)?;
    let ran = home.zvf(&["query", "a.zv", "-o", "tables"])?;
    ensure!(
        ran.code == 0 && ran.stderr.contains("links are left out: 0/links/0"),
        "{}",
        ran.stderr
    );
    Ok(())
}

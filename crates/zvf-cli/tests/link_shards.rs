//! Shards of links that edits add to a level.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::run::{Home, files};

/// The cells of a shard, for each array with shards along chunks, by its path.
fn shards(home: &Home, store: &str) -> Result<BTreeMap<String, Value>> {
    let mut shapes = BTreeMap::new();
    for (path, bytes) in files(&home.file(store))? {
        let Some(array) = path.strip_suffix("/zarr.json") else {
            continue;
        };
        let doc: Value = serde_json::from_slice(&bytes)?;
        if doc["codecs"][0]["name"] == "sharding_indexed" {
            let shape = &doc["chunk_grid"]["configuration"]["chunk_shape"];
            shapes.insert(array.to_owned(), shape.clone());
        }
    }
    Ok(shapes)
}

/// A skeleton with three nodes in each of 1331 chunks: chains without stored links, and forks with stored links.
#[test]
fn the_first_links_of_a_level_have_the_shards_of_an_import() -> Result<()> {
    let table = |first: usize, y: usize| -> String {
        let rows = (0..1331 * 3).map(|row| {
            let (n, x) = (row / 3, row % 3 + 1);
            let (x, y, z) = (n / 121 * 10 + x, n / 11 % 11 * 10 + y, n % 11 * 10 + 1);
            format!("{},{x},{y},{z}\n", first + n)
        });
        rows.collect()
    };
    let links = |first: usize, parent: usize| -> String {
        let nodes = (0..1331).map(|n| first + 3 * n);
        let links = nodes.map(|n| format!("{},{n}\n{},{}\n", n + 1, n + 2, n + parent));
        links.collect()
    };
    let (head, ends) = ("object_id,x,y,z\n", "child,parent\n");
    let both = format!("{head}{}{}", table(0, 1), table(2000, 2));
    let both_links = format!("{ends}{}{}", links(0, 1), links(1331 * 3, 0));
    let home = Home::made(&[
        ("../chains.csv", format!("{head}{}", table(0, 1)).into()),
        (
            "../chains.links.csv",
            format!("{ends}{}", links(0, 1)).into(),
        ),
        ("../forks.csv", format!("{head}{}", table(2000, 2)).into()),
        (
            "../forks.links.csv",
            format!("{ends}{}", links(0, 0)).into(),
        ),
        ("../both.csv", both.into()),
        ("../both.links.csv", both_links.into()),
    ])?;
    for (name, store) in [("chains", "s.zv"), ("both", "truth.zv")] {
        let (nodes, links) = (format!("{name}.csv"), format!("{name}.links.csv"));
        home.text(&[
            "import",
            &nodes,
            store,
            "--kind",
            "skeleton",
            "--edges",
            &links,
            "--chunk-shape",
            "10,10,10",
        ])?;
    }
    let truth = shards(&home, "truth.zv")?;
    let own = ["0/links/0/0.0.0", "0/link_fragments"];
    assert!(own.iter().all(|path| truth[*path] != truth["0/vertices"]));
    home.text(&["append", "s.zv", "forks.csv", "--links", "forks.links.csv"])?;
    home.validates("s.zv")?;
    let found = shards(&home, "s.zv")?;
    for path in own.iter().chain(&["0/vertices"]) {
        assert_eq!(found[*path], truth[*path], "{path}");
    }
    let count = |store: &str| Ok::<_, anyhow::Error>(files(&home.file(store))?.len());
    let (edited, made) = (count("s.zv")?, count("truth.zv")?);
    assert!(edited <= made + 2, "{edited} files, {made} of an import");
    // An attribute that an edit adds has the shards of the vertices.
    let set = ["edit", "s.zv", "set-attribute", "w", "--type", "float32"];
    home.text(&[&set[..], &["--fill", "1"]].concat())?;
    let added = shards(&home, "s.zv")?;
    assert_eq!(added["0/vertex_attributes/w"], truth["0/vertices"]);
    home.validates("s.zv")
}

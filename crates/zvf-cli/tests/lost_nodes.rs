//! Changes and copies of stores that lost a level, or all links.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::lost::{CHANGES, folders, lines, refused, set};
use crate::run::{Home, STORE, files};

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

/// The released package, when it writes twice into one level, leaves vertices that belong to no object.
#[test]
fn vertices_of_no_object_are_said_to_be_in_no_level() -> Result<()> {
    let home = lines()?;
    let path = home.file("a.zv/0/zarr.json");
    set(
        &path,
        "/attributes/zarr_vectors_level/vertex_count",
        json!(127),
    )?;
    let ran = home.zvf(&["pyramid", "a.zv", "--factors", "4"])?;
    ensure!(ran.code == 0, "{} {}", ran.code, ran.stderr);
    let says = "level 1: 7 vertices of level 0 belong to no object";
    ensure!(ran.stderr.contains(says), "{}", ran.stderr);
    Ok(())
}

/// A family of links with a child that is no cell is not read: nothing is measured without it, and no tree is answered or copied with made-up links.
#[test]
fn links_that_are_not_read_change_no_measure_and_no_tree() -> Result<()> {
    for (case, tree) in [("0.8/graph", false), ("0.8/skeleton", true)] {
        let home = Home::to_damage(case)?;
        let family = home.file(STORE).join("0/cross_chunk_links/0");
        let child = folders(&family)?.into_iter().next().context("a cell")?;
        let measured = home.text(&["measure", STORE])?;
        ensure!(!measured.is_empty());
        std::fs::rename(child, family.join("k2"))?;
        let says = "0/cross_chunk_links/0";
        let mut refused = vec![
            &["measure", STORE][..],
            &["objects", STORE, "--where", "length() > 1"],
        ];
        if tree {
            refused.extend([
                &["query", STORE, "-o", "answer"][..],
                &["export", STORE, "x.swc"],
                &["migrate", STORE, "copy.zv"],
            ]);
        }
        for command in refused {
            let ran = home.zvf(command)?;
            ensure!(
                ran.code == 4 && ran.stderr.contains(says),
                "{case} {command:?}: {} {}",
                ran.code,
                ran.stderr
            );
        }
        // Vertices alone need no links.
        let query = home.zvf(&["query", STORE, "--select", "vertices", "--format", "csv"])?;
        ensure!(query.code == 0, "{case}: {}", query.stderr);
    }
    Ok(())
}

/// A change of one chunk writes its shard again; the chunks of it that all lists lost are not dropped.
#[test]
fn chunks_that_lists_lost_stay_in_their_shards() -> Result<()> {
    let home = lines()?;
    let shards = ["--shard-shape", "4,4,4", "--chunk-shape", "20,20,20"];
    home.text(&[&["rechunk", "a.zv", "s.zv"][..], &shards].concat())?;
    lose(&home, &["0.0.0", "1.0.0", "2.0.0", "4.0.0", "5.0.0"])?;
    home.text(&["append", "s.zv", "more.csv"])?;
    home.text(&["repair", "s.zv", "--apply"])?;
    home.validates("s.zv")?;
    let info = home.json(&["info", "s.zv", "--json"])?;
    ensure!(info["levels"][0]["vertices"] == 122, "{info}");
    Ok(())
}

/// The other chunks of a shard are removed; the chunk of it that all lists lost is not.
#[test]
fn a_chunk_that_lists_lost_stays_when_all_others_of_its_shard_are_removed() -> Result<()> {
    let home = lines()?;
    let shards = ["--shard-shape", "4,4,4", "--chunk-shape", "20,20,20"];
    home.text(&[&["rechunk", "a.zv", "s.zv"][..], &shards].concat())?;
    // The second shard has chunks 4 and 5, and chunk 5 the objects 10 and 11.
    lose(&home, &["0.0.0", "1.0.0", "2.0.0", "3.0.0", "5.0.0"])?;
    home.text(&["edit", "s.zv", "delete", "10", "11"])?;
    home.text(&["repair", "s.zv", "--apply"])?;
    home.validates("s.zv")?;
    let info = home.json(&["info", "s.zv", "--json"])?;
    ensure!(info["levels"][0]["vertices"] == 100, "{info}");
    Ok(())
}

/// A shard whose cells are in no list is not removed, and its cells are not assigned to other chunks.
#[test]
fn a_shard_that_lists_lost_is_neither_removed_nor_moved() -> Result<()> {
    let home = lines()?;
    let shards = ["--shard-shape", "2,2,2", "--chunk-shape", "20,20,20"];
    home.text(&[&["rechunk", "a.zv", "s.zv"][..], &shards].concat())?;
    lose(&home, &["0.0.0", "1.0.0", "2.0.0", "3.0.0"])?;
    let before = files(&home.file("s.zv"))?;
    std::fs::write(
        home.file("below.csv"),
        "object_id,x,y,z,v\n600,-90,1,1,7\n600,-89,1,1,7\n",
    )?;
    for command in [&["vacuum", "s.zv"][..], &["append", "s.zv", "below.csv"]] {
        let ran = home.zvf(command)?;
        let says = "`zvf repair` restores the list";
        ensure!(ran.code == 4, "{command:?}: {} {}", ran.code, ran.stderr);
        ensure!(ran.stderr.contains(says), "{command:?}: {}", ran.stderr);
        ensure!(files(&home.file("s.zv"))? == before, "{command:?}");
    }
    Ok(())
}

/// Leaves these chunks in the lists of the arrays of vertices of `s.zv`.
fn lose(home: &Home, left: &[&str]) -> Result<()> {
    for array in ["vertices", "vertex_fragments", "vertex_attributes/v"] {
        let path = home.file(&format!("s.zv/0/{array}/zarr.json"));
        set(&path, "/attributes/nonempty_chunks", json!(left))?;
    }
    Ok(())
}

/// Readers of servers without listings take the declared attributes for all that there are.
#[test]
fn a_fill_declares_all_attributes_where_none_are_declared() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.csv",
            "x,y,a,b,object_id\n0,0,1,2.5,1\n1,1,3,4.5,2\n".into(),
        ),
        ("../o.csv", "object_id,o\n1,5\n2,6\n".into()),
    ])?;
    home.text(&["import", "a.csv", "s.zv", "--kind", "point_cloud"])?;
    let object = ["set-attribute", "o", "--object", "--type", "int32"];
    home.text(&[&["edit", "s.zv"][..], &object, &["--from", "o.csv"]].concat())?;
    let path = home.file("s.zv/zarr.json");
    let mut root: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let specs = "/attributes/zarr_vectors/attribute_specs";
    let before = root.pointer(specs).context("no declarations")?.clone();
    let block = root.pointer_mut("/attributes/zarr_vectors");
    let block = block.and_then(Value::as_object_mut).context("no block")?;
    block.remove("attribute_specs");
    std::fs::write(&path, root.to_string())?;
    home.text(&["edit", "s.zv", "set-attribute", "a", "--fill", "7"])?;
    let root: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let mut after = root.pointer(specs).context("no declarations")?.clone();
    let fill = after
        .pointer_mut("/vertex/a")
        .and_then(Value::as_object_mut);
    let fill = fill.context("no attribute")?.remove("zvf_fill");
    ensure!(fill == Some(json!(7)), "{fill:?}");
    ensure!(after == before, "{after} {before}");
    Ok(())
}

//! Attributes that are called like columns of a table that are none: places of objects, coordinates, and the values of a list.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::run::Home;

/// The objects of a store.
fn objects(home: &Home, store: &str) -> Result<Vec<Value>> {
    let listed = home.json(&["objects", store, "--json"])?;
    Ok(listed["objects"].as_array().context("objects")?.clone())
}

fn warned(home: &Home, words: &[&str]) -> Result<String> {
    let ran = home.zvf(words)?;
    ensure!(ran.code == 0, "{words:?}: {} {}", ran.code, ran.stderr);
    Ok(ran.stderr)
}

/// Polylines of objects 3 and 4 whose objects have five attributes with the names of places, and one with object 8 without attributes.
fn lines() -> Result<Home> {
    let home = Home::made(&[
        (
            "../l.csv",
            "object_id,x,y\n3,0,0\n3,1000,0\n4,0,1\n4,0,9\n4,0,50\n".into(),
        ),
        ("../s.csv", "object_id,x,y\n8,0,0\n8,1,0\n8,7,0\n".into()),
        (
            "../o.csv",
            "object_id,attribute:start,attribute:vertices,attribute:chunks,attribute:fragments\n3,0.5,1.5,2.5,3.5\n4,4.5,5.5,6.5,7.5\n"
                .into(),
        ),
    ])?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline"])?;
    home.text(&["import", "s.csv", "s.zv", "--kind", "polyline"])?;
    home.text(&["measure", "l.zv", "--as", "length"])?;
    for name in ["start", "vertices", "chunks", "fragments"] {
        let set = ["edit", "l.zv", "set-attribute", name, "--object"];
        home.text(&[&set[..], &["--from", "o.csv", "--type", "float32"]].concat())?;
    }
    Ok(home)
}

#[test]
fn places_of_objects_do_not_become_attributes() -> Result<()> {
    let home = lines()?;
    home.text(&["query", "s.zv", "--objects", "8", "-o", "folder"])?;
    for from in ["s.zv", "folder"] {
        let store = format!("{from}.l.zv");
        home.text(&["copy", "l.zv", &store])?;
        let said = warned(&home, &["append", &store, from])?;
        let note = "no such attribute: chunks, fragments, length, start, vertices";
        ensure!(said.contains(note), "{from}: {said}");
        let all = objects(&home, &store)?;
        let new = all.iter().find(|one| one["object_id"] == 8);
        let new = new.context("object 8")?;
        ensure!(new["vertices"] == 3, "{from}: {new}");
        for name in ["length", "start", "attribute:vertices"] {
            ensure!(new[name].is_null(), "{from}, {name}: {new}");
        }
    }
    let set = ["edit", "l.zv", "set-attribute", "length", "--object"];
    let ran = home.zvf(&[&set[..], &["--from", "folder/objects.arrow"]].concat())?;
    let refused = ran.code == 2 && ran.stderr.contains("no column length");
    ensure!(refused, "{}", ran.stderr);
    Ok(())
}

#[test]
fn attributes_that_a_store_lacks_are_reported_whatever_their_names() -> Result<()> {
    let home = lines()?;
    home.text(&["query", "l.zv", "--objects", "3", "-o", "folder"])?;
    for from in ["l.zv", "folder"] {
        let store = format!("{from}.s.zv");
        home.text(&["copy", "s.zv", &store])?;
        let said = warned(&home, &["append", &store, from])?;
        let note = "no such attribute: chunks, fragments, length, start, vertices";
        ensure!(said.contains(note), "{from}: {said}");
    }
    // The same for vertices.
    let home = Home::made(&[
        ("../a.csv", "x,y,a\n0,0,1.5\n".into()),
        ("../b.csv", "x,y,n\n5,5,1\n".into()),
        ("../v.csv", "n,attribute:row\n1,7\n".into()),
    ])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    home.text(&["import", "b.csv", "b.zv"])?;
    let set = ["edit", "b.zv", "set-attribute", "row", "--key", "n"];
    home.text(&[&set[..], &["--from", "v.csv", "--type", "int32"]].concat())?;
    let said = warned(&home, &["append", "a.zv", "b.zv"])?;
    ensure!(said.contains("no such attribute: n, row"), "{said}");
    Ok(())
}

#[test]
fn exports_keep_attributes_of_objects_with_these_names() -> Result<()> {
    let home = Home::made(&[
        (
            "../t.csv",
            "object_id,x,y,z\n3,0,0,0\n3,1000,0,0\n4,0,0,1\n4,0,50,0\n".into(),
        ),
        (
            "../o.csv",
            "object_id,attribute:start,attribute:length,attribute:fragments\n3,7,9,11\n4,8,10,12\n"
                .into(),
        ),
    ])?;
    home.text(&[
        "import",
        "t.csv",
        "t.zv",
        "--kind",
        "streamline",
        "--unit",
        "mm",
    ])?;
    for (name, type_) in [
        ("start", "float32"),
        ("length", "uint64"),
        ("fragments", "float32"),
    ] {
        let set = ["edit", "t.zv", "set-attribute", name, "--object"];
        home.text(&[&set[..], &["--from", "o.csv", "--type", type_]].concat())?;
        for file in ["s.trk", "s.trx"] {
            let store = format!("{name}.{file}.zv");
            home.text(&["export", "t.zv", file])?;
            home.text(&["import", file, &store])?;
            let found = objects(&home, &store)?;
            let [three, four] = &found[..] else {
                panic!("{name}, {file}: {found:?}");
            };
            ensure!(three["start"] == 7.0 && four["start"] == 8.0, "{found:?}");
            ensure!(
                three.get("attribute:vertices").is_none(),
                "{name}, {file}: {three}"
            );
            let lengths = [three, four].map(|one| one["length"].as_f64());
            let fragments = [three, four].map(|one| one["attribute:fragments"].as_f64());
            match name {
                "start" => ensure!(lengths == [None, None], "{found:?}"),
                _ => ensure!(lengths == [Some(9.0), Some(10.0)], "{found:?}"),
            }
            match name {
                "fragments" => ensure!(fragments == [Some(11.0), Some(12.0)], "{found:?}"),
                _ => ensure!(fragments == [None, None], "{found:?}"),
            }
        }
    }
    Ok(())
}

#[test]
fn statistics_count_attributes_of_objects_with_these_names() -> Result<()> {
    let home = lines()?;
    let named = |words: &[&str]| -> Result<Vec<Value>> {
        let found = home.json(&[&["stats", "l.zv", "--json"], words].concat())?;
        let columns = found["columns"].as_array().context("columns")?.iter();
        let objects = columns.filter(|one| {
            let name = one["column"].as_str().unwrap_or_default();
            name == "count()" || name.starts_with("object.")
        });
        Ok(objects
            .map(|one| json!([one["column"], one["min"], one["max"]]))
            .collect())
    };
    let all = json!([
        ["count()", 2, 3],
        ["object.chunks", 2.5, 6.5],
        ["object.fragments", 3.5, 7.5],
        ["object.length", 49.0, 1000.0],
        ["object.start", 0.5, 4.5],
        ["object.vertices", 1.5, 5.5]
    ]);
    for words in [&[][..], &["--objects", "3,4"]] {
        assert_eq!(Value::from(named(words)?), all, "{words:?}");
    }
    let one = ["--columns", "object.length,object.start,count()"];
    let some = json!([
        ["count()", 2, 3],
        ["object.length", 49.0, 1000.0],
        ["object.start", 0.5, 4.5]
    ]);
    assert_eq!(Value::from(named(&one)?), some);
    assert_eq!(
        Value::from(named(&["--columns", "count()"])?),
        json!([["count()", 2, 3]])
    );
    let ran = home.zvf(&["stats", "l.zv", "--columns", "object.lengths"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("length, start"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// The rows of some columns of a store as CSV, sorted.
fn rows(home: &Home, store: &str, columns: &str) -> Result<Vec<String>> {
    let query = ["query", store, "--columns", columns, "--format", "csv"];
    let text = home.text(&query)?;
    let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    rows.sort();
    Ok(rows)
}

/// Each row twice.
fn twice(rows: &[String]) -> Vec<String> {
    rows.iter()
        .flat_map(|one| [one.clone(), one.clone()])
        .collect()
}

#[test]
fn an_attribute_called_like_an_axis_is_not_its_coordinate() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,n\n0,0,1\n1,5,2\n".into()),
        (
            "../s.csv",
            "n,attribute:x,position_x\n1,55,77\n2,66,88\n".into(),
        ),
    ])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    let set = ["edit", "a.zv", "set-attribute", "x", "--key", "n"];
    home.text(&[&set[..], &["--from", "s.csv", "--type", "float64"]].concat())?;
    let places = rows(&home, "a.zv", "position,n")?;
    ensure!(places == ["0.0,0.0,1", "1.0,5.0,2"], "{places:?}");
    for file in ["m.arrow", "m.csv", "m.parquet", "m.ndjson"] {
        let query = [
            "query",
            "a.zv",
            "--columns",
            "chunk,row,position,attributes",
        ];
        home.text(&[&query[..], &["-o", file]].concat())?;
        home.text(&["edit", "a.zv", "move", "--from", file])?;
        assert_eq!(rows(&home, "a.zv", "position,n")?, places, "{file}");
    }
    let csv = home.text(&["query", "a.zv", "--format", "csv"])?;
    ensure!(csv.starts_with("position_x,position_y,"), "{csv}");
    for file in [
        "o.arrow",
        "o.csv",
        "o.parquet",
        "o.ndjson",
        "folder",
        "a.zv",
    ] {
        if file != "a.zv" {
            home.text(&["query", "a.zv", "-o", file])?;
        }
        let more = format!("{file}.more.zv");
        home.text(&["copy", "a.zv", &more])?;
        let said = warned(&home, &["append", &more, file])?;
        ensure!(!said.contains("left out"), "{file}: {said}");
        assert_eq!(rows(&home, &more, "position,n")?, twice(&places), "{file}");
        let all = rows(&home, "a.zv", "x,n")?;
        assert_eq!(rows(&home, &more, "x,n")?, twice(&all), "{file}");
    }
    // An attribute has the name with the prefix, too.
    let set = ["edit", "a.zv", "set-attribute", "position_x", "--key", "n"];
    home.text(&[&set[..], &["--from", "s.csv", "--type", "float64"]].concat())?;
    let csv = home.text(&["query", "a.zv", "--format", "csv"])?;
    let header: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
    let names: BTreeSet<&str> = header.iter().copied().collect();
    ensure!(names.len() == header.len(), "{header:?}");
    for file in ["p.arrow", "p.csv"] {
        home.text(&["query", "a.zv", "-o", file])?;
        let more = format!("{file}.more.zv");
        home.text(&["copy", "a.zv", &more])?;
        home.text(&["append", &more, file])?;
        let columns = "position,n,attribute:position_x";
        let all = rows(&home, "a.zv", columns)?;
        assert_eq!(rows(&home, &more, columns)?, twice(&all), "{file}");
    }
    Ok(())
}

#[test]
fn attributes_called_like_prefixed_axes_are_not_coordinates() -> Result<()> {
    let home = Home::made(&[(
        "../a.csv",
        "x,y,position_x,position_y\n0,0,70,71\n1,5,80,81\n".into(),
    )])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    let all = rows(&home, "a.zv", "position,attributes")?;
    ensure!(all == ["0.0,0.0,70,71", "1.0,5.0,80,81"], "{all:?}");
    for file in ["a.csv", "o.arrow"] {
        if file != "a.csv" {
            home.text(&["query", "a.zv", "-o", file])?;
        }
        let more = format!("{file}.more.zv");
        home.text(&["copy", "a.zv", &more])?;
        home.text(&["append", &more, file])?;
        let found = rows(&home, &more, "position,attributes")?;
        assert_eq!(found, twice(&all), "{file}");
    }
    Ok(())
}

#[test]
fn values_of_a_list_are_not_attributes_with_numbered_names() -> Result<()> {
    let home = Home::made(&[
        (
            "../c.csv",
            "x,y,n,col_0,col_1\n0,0,1,70,71\n1,0,2,80,81\n".into(),
        ),
        ("../v.csv", "n,col_0,col_1,col_2\n1,1,2,3\n2,4,5,6\n".into()),
    ])?;
    home.text(&["import", "c.csv", "c.zv"])?;
    let set = [
        "edit",
        "c.zv",
        "set-attribute",
        "col",
        "--key",
        "n",
        "--from",
    ];
    home.text(&[&set[..], &["v.csv", "--type", "int32"]].concat())?;
    let all = rows(&home, "c.zv", "n,col,attribute:col_0,attribute:col_1")?;
    ensure!(all == ["1,1,2,3,70,71", "2,4,5,6,80,81"], "{all:?}");
    for file in ["o.arrow", "o.csv", "o.parquet", "folder", "c.zv"] {
        if file != "c.zv" {
            home.text(&["query", "c.zv", "-o", file])?;
        }
        let more = format!("{file}.more.zv");
        home.text(&["copy", "c.zv", &more])?;
        let said = warned(&home, &["append", &more, file])?;
        ensure!(!said.contains("left out"), "{file}: {said}");
        let found = rows(&home, &more, "n,col,attribute:col_0,attribute:col_1")?;
        assert_eq!(found, twice(&all), "{file}");
        if file.starts_with("o.") {
            home.text(&[&set[..], &[file]].concat())?;
            let found = rows(&home, "c.zv", "n,col,attribute:col_0,attribute:col_1")?;
            assert_eq!(found, all, "{file}");
        }
    }
    Ok(())
}

const NODES: &str =
    "x,y,z,object_id,w\n1,1,1,0,10\n2,2,2,0,20\n3,3,3,0,30\n15,5,5,1,40\n16,6,6,1,50\n";
const EDGES: &str = "source,target,w,q\n0,1,0.5,1\n1,2,0.6,2\n3,4,0.7,3\n";

/// A graph whose vertices and links have an attribute `w`; links also have `q`.
fn graph(files: &[(&str, &str)]) -> Result<Home> {
    let mut all = vec![("../v.csv", NODES.into()), ("../l.csv", EDGES.into())];
    all.extend(files.iter().map(|(name, text)| (*name, (*text).into())));
    let home = Home::made(&all)?;
    let import = "import v.csv g.zv --kind graph --edges l.csv --chunk-shape 10,10,10";
    home.text(&import.split(' ').collect::<Vec<_>>())?;
    Ok(home)
}

/// The fill of an attribute of links is not one of the vertices' attribute of the same name.
#[test]
fn a_fill_belongs_to_one_attribute() -> Result<()> {
    let home = graph(&[
        ("../gap.csv", "vertex,w\n0,\n1,99\n"),
        ("../more.csv", "x,y,z,object_id\n4,4,4,9\n"),
        ("../ends.csv", "x,y,z,object_id,w\n4,4,4,9,1\n5,5,5,9,2\n"),
        ("../link.csv", "source,target,q\n0,1,8\n"),
    ])?;
    home.text(&[
        "edit",
        "g.zv",
        "set-attribute",
        "w",
        "--link",
        "--fill",
        "7",
    ])?;
    for words in [
        &["edit", "g.zv", "set-attribute", "w", "--from", "gap.csv"][..],
        &["edit", "g.zv", "append", "more.csv"],
    ] {
        let ran = home.zvf(words)?;
        assert!(
            ran.code != 0 && ran.stderr.contains("cannot be missing"),
            "{}",
            ran.stderr
        );
    }
    home.text(&["edit", "g.zv", "append", "ends.csv", "--links", "link.csv"])?;
    home.text(&["links", "g.zv", "-o", "links.csv"])?;
    let links = std::fs::read_to_string(home.file("links.csv"))?;
    let filled = |line: &str| line.contains("7.0") && line.contains('8');
    assert!(links.lines().any(filled), "{links}");
    Ok(())
}

/// Attributes that vertices or links alone have are reported when the other table brings them.
#[test]
fn attributes_that_are_left_out_are_reported() -> Result<()> {
    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty int w\n\
               property int q\nelement edge 1\nproperty int vertex1\nproperty int vertex2\nproperty float w\nproperty int q\n\
               end_header\n1 1 1 5 6\n2 2 2 7 8\n0 1 0.5 9\n";
    let home = graph(&[
        ("../a.ply", ply),
        (
            "../b.csv",
            "x,y,z,object_id,w,extra\n1,1,1,20,5,6\n2,2,2,20,7,8\n",
        ),
        (
            "../c.csv",
            "x,y,z,object_id,w,extra\n1,1,1,21,5,6\n2,2,2,21,7,8\n",
        ),
        ("../b-links.csv", "source,target,w,q,odd\n0,1,0.5,9,1\n"),
        ("../points.csv", "x,y\n1,1\n2,2\n"),
    ])?;
    let ran = home.zvf(&["append", "g.zv", "a.ply", "--fill", "q=1"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let left_out = |text: &str| {
        let mut lines = text
            .lines()
            .filter(|line| line.contains("has no such attribute"));
        lines.next().unwrap_or_default().to_owned()
    };
    assert!(
        left_out(&ran.stderr).ends_with(": name, q"),
        "{}",
        ran.stderr
    );
    for words in [
        &["append", "g.zv", "b.csv"][..],
        &["edit", "g.zv", "append", "c.csv"],
    ] {
        let ran = home.zvf(&[words, &["--links", "b-links.csv"]].concat());
        let stderr = ran?.stderr;
        assert!(left_out(&stderr).ends_with(": extra, odd"), "{stderr}");
    }
    home.text(&["import", "points.csv", "p.zv"])?;
    let ran = home.zvf(&["append", "p.zv", "points.csv", "--links", "b-links.csv"])?;
    assert!(
        ran.stderr
            .contains("left out: links, since points have none"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// With `--by-order`, rows that also state the ends of their links must be in the order of the store.
#[test]
fn ends_and_the_order_of_links_have_to_agree() -> Result<()> {
    let home = graph(&[
        ("../two.csv", "vertices_0,vertices_1,q\n3,4,30\n0,1,10\n"),
        (
            "../other.csv",
            "vertices_0,vertices_1,q\n3,4,30\n0,1,10\n1,2,20\n",
        ),
    ])?;
    for table in ["two.csv", "other.csv"] {
        let set = [
            "edit",
            "g.zv",
            "set-attribute",
            "q",
            "--link",
            "--from",
            table,
        ];
        let ran = home.zvf(&[&set[..], &["--by-order"]].concat())?;
        let expected = "expected the links in the order of the store";
        assert!(
            ran.code == 2 && ran.stderr.contains(expected),
            "{}",
            ran.stderr
        );
        home.text(&set)?;
    }
    Ok(())
}

/// Radii are lengths, as positions are: a table in other units is converted, whatever is set from it.
#[test]
fn radii_are_converted_with_the_unit_of_their_table() -> Result<()> {
    let home = Home::made(&[
        (
            "../um.swc",
            "1 1 1000 0 0 2500 -1\n2 3 2000 0 0 1500 1\n".into(),
        ),
        ("../mm.swc", "1 1 1 0 0 1 -1\n2 3 2 0 0 1 1\n".into()),
    ])?;
    home.text(&["import", "um.swc", "um.zv", "--unit", "um"])?;
    home.text(&["query", "um.zv", "-o", "um.arrow"])?;
    home.text(&["import", "mm.swc", "mm.zv", "--unit", "mm"])?;
    home.text(&[
        "edit",
        "mm.zv",
        "set-attribute",
        "radius",
        "--from",
        "um.arrow",
    ])?;
    let radii = home.text(&["query", "mm.zv", "--columns", "radius", "--format", "csv"])?;
    assert_eq!(radii, "radius\n2.5\n1.5\n");
    Ok(())
}

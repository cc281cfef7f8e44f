//! Columns with similar names, objects without vertices, gaps and keys: commands keep or copy the values, fail, or report the loss.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::run::Home;

/// A command that succeeds, and reports `says` on stderr.
fn said(home: &Home, words: &[&str], says: &str) -> Result<()> {
    let ran = home.zvf(words)?;
    ensure!(
        ran.code == 0 && ran.stderr.contains(says),
        "{words:?}: {} {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

/// A command that fails with exit code 2 or 4, and reports `says`.
fn refused(home: &Home, words: &[&str], says: &str) -> Result<()> {
    let ran = home.zvf(words)?;
    let failed = matches!(ran.code, 2 | 4);
    ensure!(
        failed && ran.stderr.contains(says),
        "{words:?}: {} {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

/// The words of `zvf edit STORE set-attribute NAME` with more options.
fn edit_attribute<'w>(store: &'w str, name: &'w str, more: &[&'w str]) -> Vec<&'w str> {
    [&["edit", store, "set-attribute", name], more].concat()
}

fn csv(home: &Home, store: &str) -> Result<String> {
    home.text(&["query", store, "--format", "csv"])
}

#[test]
fn a_column_with_a_number_is_another_attribute() -> Result<()> {
    let home = Home::made(&[
        ("../b.csv", "x,y,z,pc,pc_0\n1,1,1,0.25,0.5\n".into()),
        ("../a.csv", "x,y,z,pc_0\n2,2,2,7.5\n".into()),
        ("../c.csv", "x,y,z,id,v\n1,1,1,5,10\n2,2,2,6,20\n".into()),
        ("../v.csv", "id_0,v\n6,99\n".into()),
        ("../n.csv", "x,y,z,new_0\n1,1,1,3\n2,2,2,4\n".into()),
    ])?;
    home.text(&["import", "b.csv", "s.zv"])?;
    said(&home, &["append", "s.zv", "a.csv"], "no such attribute: pc")?;
    ensure!(csv(&home, "s.zv")?.ends_with("2.0,2.0,2.0,NaN,7.5\n"));
    home.text(&["import", "c.csv", "t.zv"])?;
    let set = edit_attribute("t.zv", "v", &["--from", "v.csv", "--key", "id"]);
    refused(&home, &set, "id")?;
    let set = edit_attribute("t.zv", "new", &["--type", "int32", "--from", "n.csv"]);
    refused(&home, &set, "no column new")?;
    ensure!(csv(&home, "t.zv")?.ends_with("2.0,2.0,2.0,6,20\n"));
    Ok(())
}

#[test]
fn a_number_called_position_is_an_attribute_beside_coordinates() -> Result<()> {
    let rows = "x,y,z,position\n1,2,3,140\n4,5,6,150\n";
    let home = Home::made(&[("../p.csv", rows.into())])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    let expected = csv(&home, "s.zv")?;
    for file in ["p.ply", "p.npz", "p.arrow", "p.parquet"] {
        let (store, more) = (format!("{file}.zv"), format!("{file}.more.zv"));
        match file {
            "p.ply" | "p.npz" => home.text(&["export", "s.zv", file])?,
            _ => home.text(&[
                "query",
                "s.zv",
                "--columns",
                "x,y,z,attribute:position",
                "-o",
                file,
            ])?,
        };
        home.text(&["import", file, &store])?;
        assert_eq!(csv(&home, &store)?, expected, "{file}");
        home.text(&["import", "p.csv", &more])?;
        home.text(&["append", &more, file])?;
        assert_eq!(csv(&home, &more)?.lines().count(), 5, "{file}");
    }
    Ok(())
}

#[test]
fn an_attribute_called_object_id_is_not_the_object() -> Result<()> {
    let rows = "x,y,z,object_id,o\n0,0,0,11,1\n1,0,0,12,1\n2,0,0,13,2\n";
    let home = Home::made(&[("../t.csv", rows.into())])?;
    home.text(&[
        "import",
        "t.csv",
        "s.zv",
        "--attributes",
        "object_id",
        "--object-column",
        "o",
        "--kind",
        "polyline",
    ])?;
    let expected = csv(&home, "s.zv")?;
    ensure!(
        expected.starts_with("x,y,z,attribute:object_id,object_id\n0.0,0.0,0.0,11,1\n"),
        "{expected}"
    );
    home.text(&["query", "s.zv", "-o", "folder"])?;
    home.text(&["query", "s.zv", "-o", "q.ndjson"])?;
    for from in ["s.zv", "folder"] {
        let more = format!("{from}.more.zv");
        home.text(&["copy", "s.zv", &more])?;
        home.text(&["append", &more, from, "--new-ids"])?;
        let found = csv(&home, &more)?;
        let added = "0.0,0.0,0.0,11,3\n1.0,0.0,0.0,12,3\n2.0,0.0,0.0,13,4\n";
        assert_eq!(found, format!("{expected}{added}"), "{from}");
    }
    home.text(&edit_attribute(
        "s.zv",
        "object_id",
        &["--from", "q.ndjson"],
    ))?;
    assert_eq!(csv(&home, "s.zv")?, expected);
    said(&home, &["export", "s.zv", "o.npz"], "object_id")?;
    Ok(())
}

#[test]
fn ids_that_are_no_whole_numbers_do_not_join_all_lines() -> Result<()> {
    let home = Home::made(&[(
        "../f.csv",
        "x,y,object_id\n0,0,1.5\n1,0,1.5\n2,0,2.5\n".into(),
    )])?;
    home.text(&["import", "f.csv", "s.zv", "--attributes", "object_id"])?;
    home.text(&["query", "s.zv", "-o", "f.parquet"])?;
    let import = ["import", "f.parquet", "l.zv", "--kind", "polyline"];
    refused(&home, &import, "not a whole number")?;
    home.text(&[&import[..], &["--exclude", "object_id"]].concat())?;
    home.text(&["import", "f.parquet", "p.zv", "--attributes", "object_id"])?;
    assert_eq!(csv(&home, "p.zv")?, csv(&home, "s.zv")?);
    Ok(())
}

#[test]
fn a_fill_is_used_for_gaps_of_floats() -> Result<()> {
    let home = Home::made(&[
        ("../b.csv", "x,y,z,w,v,c\n1,2,3,0.5,1,a\n".into()),
        ("../g.csv", "x,y,z,w,v,c\n6,6,6,,,\n".into()),
    ])?;
    home.text(&["import", "b.csv", "s.zv"])?;
    for (name, fill) in [("w", "9.5"), ("v", "7"), ("c", "b")] {
        home.text(&edit_attribute("s.zv", name, &["--fill", fill]))?;
    }
    home.text(&["append", "s.zv", "g.csv"])?;
    home.text(&["append", "s.zv", "g.csv", "--fill", "w=1.25"])?;
    let set = edit_attribute(
        "s.zv",
        "u",
        &["--type", "float64", "--fill", "0.1", "--from", "u.csv"],
    );
    std::fs::write(home.file("u.csv"), "x,y,z,u\n1,2,3,\n")?;
    home.text(&set)?;
    let found = csv(&home, "s.zv")?;
    let expected = "x,y,z,c,u,v,w\n1.0,2.0,3.0,a,0.1,1,0.5\n6.0,6.0,6.0,b,0.1,7,9.5\n6.0,6.0,6.0,b,0.1,7,1.25\n";
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn durations_of_other_stores_are_converted_or_refused() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z\n1,1,1\n2,2,2\n".into()),
        (
            "../ms.csv",
            "x,y,z,t\n1,1,1,5 milliseconds\n2,2,2,7 milliseconds\n".into(),
        ),
        ("../i.csv", "x,y,z,t\n1,1,1,5\n2,2,2,7\n".into()),
    ])?;
    for (store, unit) in [("ms.zv", "ms"), ("us.zv", "us"), ("s.zv", "s")] {
        home.text(&["import", "p.csv", store])?;
        let unit = format!("timedelta64[{unit}]");
        let values = match store {
            "s.zv" => "i.csv",
            _ => "ms.csv",
        };
        home.zvf(&[
            "edit",
            store,
            "set-attribute",
            "t",
            "--type",
            &unit,
            "--from",
            values,
        ])?;
    }
    home.text(&["append", "us.zv", "ms.zv"])?;
    let found = home.text(&["query", "us.zv", "--columns", "t", "--format", "csv"])?;
    assert_eq!(found, "t\n5000\n7000\n5000\n7000\n");
    refused(&home, &["append", "s.zv", "ms.zv"], "5 milliseconds")?;
    home.text(&["import", "i.csv", "i.zv"])?;
    refused(&home, &["append", "i.zv", "ms.zv"], "5 milliseconds")?;
    said(&home, &["append", "ms.zv", "i.zv"], "states no unit")?;
    home.text(&["export", "i.zv", "i.npz"])?;
    said(
        &home,
        &["append", "ms.zv", "i.npz"],
        "state no unit: its numbers are taken as milliseconds",
    )?;
    Ok(())
}

/// Line 0 with vertices, and object 2 without vertices.
fn with_a_bare_object() -> Result<Home> {
    let home = Home::made(&[
        ("../t.csv", "x,y,z,object_id\n1,1,1,0\n2,2,2,0\n".into()),
        ("../n.csv", "object_id,n\n0,5\n2,7\n".into()),
    ])?;
    home.text(&["import", "t.csv", "s.zv", "--kind", "polyline"])?;
    home.text(&edit_attribute(
        "s.zv",
        "n",
        &["--object", "--type", "int32", "--from", "n.csv", "--new"],
    ))?;
    home.text(&["edit", "s.zv", "group", "add", "H", "2"])?;
    Ok(home)
}

/// The ids, vertices and `n` of the objects of a store.
fn objects(home: &Home, store: &str) -> Result<Value> {
    let list = home.json(&["objects", store, "--json"])?;
    let rows = list["objects"].as_array().into_iter().flatten();
    let row = |row: &Value| json!([row["object_id"], row["vertices"], row["n"]]);
    Ok(rows.map(row).collect())
}

#[test]
fn objects_without_vertices_are_copied_or_reported() -> Result<()> {
    let home = with_a_bare_object()?;
    home.text(&["copy", "s.zv", "u.zv"])?;
    home.text(&["merge", "s.zv", "u.zv", "m.zv", "--id-offset", "10"])?;
    let both = json!([[0, 2, 5], [2, 0, 7], [10, 2, 5], [12, 0, 7]]);
    assert_eq!(objects(&home, "m.zv")?, both);
    let groups = home.text(&["info", "m.zv"])?;
    ensure!(
        groups.contains("groups") && groups.contains('H'),
        "{groups}"
    );
    home.text(&["resample", "s.zv", "r.zv", "--points", "3"])?;
    assert_eq!(objects(&home, "r.zv")?, json!([[0, 3, 5], [2, 0, 7]]));
    home.text(&["split", "s.zv", "one", "--by", "count", "1"])?;
    assert_eq!(
        objects(&home, "one/0.zarrvectors")?,
        json!([[0, 2, 5], [2, 0, 7]])
    );
    said(
        &home,
        &["split", "s.zv", "two", "--by", "attribute", "n"],
        "7: has one object, without vertices",
    )?;
    said(
        &home,
        &["query", "s.zv", "-o", "folder"],
        "objects without vertices: 1",
    )?;
    for (folder, selects) in [("part", "--bbox=x=0:1"), ("first", "--objects=0")] {
        let ran = home.zvf(&["query", "s.zv", selects, "-o", folder])?;
        ensure!(
            ran.code == 0 && !ran.stderr.contains("without"),
            "{}",
            ran.stderr
        );
    }
    // A selection by position has no objects without vertices.
    home.text(&[
        "split",
        "s.zv",
        "near",
        "--by",
        "count",
        "1",
        "--touching",
        "--bbox",
        "x=0:1",
    ])?;
    assert_eq!(objects(&home, "near/0.zarrvectors")?, json!([[0, 2, 5]]));
    Ok(())
}

#[test]
fn missing_whole_numbers_of_objects_in_trx_are_reported() -> Result<()> {
    let home = Home::made(&[
        (
            "../t.csv",
            "x,y,z,object_id\n1,1,1,0\n2,2,2,0\n3,3,3,1\n4,4,4,1\n".into(),
        ),
        ("../n.csv", "object_id,n,d\n0,5,2024-01-01\n".into()),
    ])?;
    home.text(&["import", "t.csv", "s.zv", "--kind", "polyline"])?;
    for (name, of) in [("n", "int32"), ("d", "date")] {
        let set = edit_attribute("s.zv", name, &["--object", "--type", of, "--from", "n.csv"]);
        home.text(&set)?;
    }
    said(
        &home,
        &["export", "s.zv", "o.trx"],
        "1 missing value of n is written as 0",
    )?;
    std::fs::remove_file(home.file("o.trx"))?;
    said(
        &home,
        &["export", "s.zv", "o.trx"],
        "1 missing value of d is written as 0",
    )?;
    Ok(())
}

#[test]
fn new_objects_follow_the_order_of_their_file() -> Result<()> {
    let home = Home::made(&[
        (
            "../t.csv",
            "x,y,z,object_id\n1,1,1,0\n2,2,2,0\n3,3,3,2\n4,4,4,2\n".into(),
        ),
        ("../w.csv", "object_id,w\n0,10\n1,11\n2,12\n".into()),
    ])?;
    home.text(&["import", "t.csv", "a.zv", "--kind", "streamline"])?;
    home.text(&edit_attribute(
        "a.zv",
        "w",
        &["--object", "--type", "float32", "--from", "w.csv", "--new"],
    ))?;
    // The objects of a new store are in the order of their ids.
    home.text(&["resample", "a.zv", "b.zv", "--points", "2"])?;
    home.text(&["export", "b.zv", "a.trx"])?;
    home.text(&["import", "a.trx", "s.zv"])?;
    home.text(&["append", "s.zv", "a.trx"])?;
    let list = home.json(&["objects", "s.zv", "--sort", "object_id", "--json"])?;
    let rows = list["objects"].as_array().into_iter().flatten();
    let rows: Value = rows
        .map(|row| json!([row["object_id"], row["vertices"], row["w"]]))
        .collect();
    let [a, b, c] = [(2, 10.0), (0, 11.0), (2, 12.0)];
    let expected = [(0, a), (1, b), (2, c), (3, a), (4, b), (5, c)];
    let expected: Value = expected
        .iter()
        .map(|(id, (count, w))| json!([id, count, w]))
        .collect();
    assert_eq!(rows, expected);
    Ok(())
}

#[test]
fn old_coarse_levels_are_reported_by_every_list() -> Result<()> {
    let mut rows = "x,y,z,object_id\n".to_owned();
    for row in 0..2000 {
        rows += &format!("{},{},{},{}\n", row % 50, row / 50, row % 7, row / 50);
    }
    let home = Home::made(&[("../t.csv", rows.into_bytes())])?;
    home.text(&[
        "import",
        "t.csv",
        "s.zv",
        "--kind",
        "polyline",
        "--chunk-shape",
        "20,20,20",
    ])?;
    home.text(&["pyramid", "s.zv", "--factors", "2"])?;
    home.text(&["edit", "s.zv", "delete", "3"])?;
    for words in [
        &["objects", "s.zv", "--level", "1"][..],
        &["objects", "s.zv", "--level", "1", "--limit", "1"],
        &[
            "objects",
            "s.zv",
            "--level",
            "1",
            "--where",
            "object_id < 5",
        ],
        &["links", "s.zv", "--level", "1"],
        &["measure", "s.zv", "--level", "1"],
        &["query", "s.zv", "--level", "1"],
    ] {
        said(&home, words, "was made before the last edits")?;
        let list = home.json(&[words, &["--json"]].concat())?;
        ensure!(
            list["warnings"].to_string().contains("was made before"),
            "{words:?}: {list}"
        );
    }
    let ran = home.zvf(&["objects", "s.zv"])?;
    ensure!(!ran.stderr.contains("last edits"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn keys_are_compared_exactly_and_missing_ones_are_refused() -> Result<()> {
    let home = Home::made(&[
        (
            "../k.csv",
            "x,y,id,day\n1,1,9007199254740992,2024-01-01\n2,2,9007199254740993,\n".into(),
        ),
        ("../v.csv", "id,v\n9007199254740993.0,7\n".into()),
        ("../w.csv", "id,v\n9007199254740993,7\n".into()),
        ("../d.csv", "day,v\n,5\n".into()),
    ])?;
    home.text(&["import", "k.csv", "s.zv"])?;
    let set = |from: &'static str, key: &'static str| {
        edit_attribute(
            "s.zv",
            "v",
            &["--type", "float32", "--key", key, "--from", from],
        )
    };
    refused(&home, &set("v.csv", "id"), "does not have")?;
    refused(&home, &set("d.csv", "day"), "without a value")?;
    home.text(&set("w.csv", "id"))?;
    let found = csv(&home, "s.zv")?;
    ensure!(
        found.ends_with("2.0,2.0,,9007199254740993,7.0\n"),
        "{found}"
    );
    Ok(())
}

#[test]
fn seconds_that_no_unit_counts_are_no_times() -> Result<()> {
    let home = Home::made(&[("../t.csv", "x,y,t\n1,1,2016-12-31T23:59:60Z\n".into())])?;
    home.text(&["import", "t.csv", "s.zv"])?;
    ensure!(csv(&home, "s.zv")?.ends_with("2016-12-31T23:59:60Z\n"));
    Ok(())
}

#[test]
fn parts_by_date_have_names_of_dates_and_report_missing_ones() -> Result<()> {
    let rows = "x,y,day,t\n1,1,2024-01-01,2024-01-01T05:00:00Z\n2,2,2024-01-02,2024-01-01T05:00:01Z\n3,3,,\n";
    let home = Home::made(&[("../d.csv", rows.into())])?;
    home.text(&["import", "d.csv", "s.zv"])?;
    for (name, part) in [("day", "2024-01-02"), ("t", "2024-01-01T05_00_01Z")] {
        let folder = format!("by {name}");
        let says = format!("without a value of \"{name}\": 1");
        said(
            &home,
            &["split", "s.zv", &folder, "--by", "attribute", name],
            &says,
        )?;
        let part = format!("{folder}/{part}.zarrvectors");
        ensure!(
            csv(&home, &part)?.ends_with("2.0,2.0,2024-01-02,2024-01-01T05:00:01Z\n"),
            "{part}"
        );
        ensure!(std::fs::read_dir(home.file(&folder))?.count() == 2);
    }
    Ok(())
}

#[test]
fn merged_stores_report_the_fills_that_they_lack() -> Result<()> {
    let home = Home::made(&[("../b.csv", "x,y,z,w\n1,2,3,0.5\n".into())])?;
    home.text(&["import", "b.csv", "s.zv"])?;
    home.text(&edit_attribute("s.zv", "w", &["--fill", "9.5"]))?;
    home.text(&["copy", "s.zv", "u.zv"])?;
    said(
        &home,
        &["merge", "s.zv", "u.zv", "m.zv"],
        "\"9.5\" as the value of attribute w",
    )?;
    said(
        &home,
        &["split", "s.zv", "parts", "--by", "count", "1"],
        "\"9.5\" as the value of attribute w",
    )
}

#[test]
fn members_of_groups_that_do_not_exist_can_be_ignored() -> Result<()> {
    let home = with_a_bare_object()?;
    refused(
        &home,
        &["edit", "s.zv", "group", "add", "G", "0", "99"],
        "no object 99",
    )?;
    home.text(&[
        "edit",
        "s.zv",
        "group",
        "add",
        "G",
        "0",
        "99",
        "--ignore-missing",
    ])?;
    home.text(&["group", "s.zv", "G", "--add", "2", "98", "--ignore-missing"])?;
    home.text(&[
        "edit",
        "s.zv",
        "group",
        "remove",
        "G",
        "2",
        "97",
        "--ignore-missing",
    ])?;
    let found = home.text(&[
        "query",
        "s.zv",
        "--groups",
        "G",
        "--format",
        "csv",
        "--columns",
        "object_id",
    ])?;
    assert_eq!(found, "object_id\n0\n0\n");
    Ok(())
}

#[test]
fn appended_objects_report_the_attributes_that_they_lack() -> Result<()> {
    let home = with_a_bare_object()?;
    std::fs::write(home.file("t.csv"), "x,y,z,object_id\n7,7,7,5\n8,8,8,5\n")?;
    said(
        &home,
        &["append", "s.zv", "t.csv"],
        "missing for the new objects, since the files have no such attribute: n",
    )?;
    let all = json!([[0, 2, 5], [2, 0, 7], [5, 2, null]]);
    assert_eq!(objects(&home, "s.zv")?, all);
    Ok(())
}

#[test]
fn precomputed_folders_report_what_they_lack() -> Result<()> {
    let home = Home::made(&[
        (
            "../t.csv",
            "x,y,z,object_id\n1,1,1,-7\n2,2,2,-7\n3,3,3,2\n".into(),
        ),
        (
            "../n.csv",
            "object_id,n,f\n-7,9007199254740993,1e300\n2,3,2\n".into(),
        ),
        ("../m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into()),
        ("../q.csv", "x,y,z,q\n0,0,0,1\n1,0,0,2\n0,1,0,3\n".into()),
    ])?;
    home.text(&["import", "t.csv", "s.zv", "--kind", "polyline"])?;
    for (name, of) in [("n", "int64"), ("f", "float64")] {
        home.text(&edit_attribute(
            "s.zv",
            name,
            &["--object", "--type", of, "--from", "n.csv"],
        ))?;
    }
    let warnings = |store: &str| -> Result<String> {
        let folder = format!("{store}.out");
        let done = home.json(&[
            "export",
            store,
            &folder,
            "--format",
            "precomputed",
            "--json",
        ])?;
        ensure!(Path::new(&home.file(&folder)).is_dir());
        Ok(done["warnings"].to_string())
    };
    let found = warnings("s.zv")?;
    for says in [
        "attribute n is written as float32",
        "attribute f is written as float32",
        "some are negative",
        "objects of one vertex are left out: 1;",
    ] {
        ensure!(found.contains(says), "{says}: {found}");
    }
    home.text(&["import", "m.obj", "m.zv"])?;
    home.text(&edit_attribute(
        "m.zv",
        "q",
        &["--type", "float32", "--from", "q.csv"],
    ))?;
    let found = warnings("m.zv")?;
    ensure!(
        found.contains("vertex attributes q are left out"),
        "{found}"
    );
    Ok(())
}

#[test]
fn new_objects_get_the_fill_of_an_attribute_of_objects() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    for name in ["1.swc", "2.swc", "3.swc"] {
        std::fs::write(home.file(name), "1 1 0 0 0 2 -1\n2 3 5 0 0 1 1\n")?;
    }
    std::fs::write(home.file("good.csv"), "object_id,good\n1,true\n2,true\n")?;
    home.text(&["import", "1.swc", "2.swc", "a.zv"])?;
    let good = ["edit", "a.zv", "set-attribute", "good", "--object"];
    home.text(&[&good[..], &["--type", "bool", "--from", "good.csv"]].concat())?;
    refused(&home, &["append", "a.zv", "3.swc"], "--fill")?;
    let rest = |home: &Home| -> Result<Vec<Value>> {
        let list = home.json(&["objects", "a.zv", "--json"])?;
        let objects = list["objects"].as_array().cloned().unwrap_or_default();
        Ok(objects.iter().map(|one| one["good"].clone()).collect())
    };
    let filled = "\"false\" for the new objects";
    said(
        &home,
        &["append", "a.zv", "3.swc", "--fill", "good=false"],
        filled,
    )?;
    assert_eq!(rest(&home)?, [true, true, false].map(Value::from));
    // The recorded fill value is used for a deleted object that is appended again, and by later appends.
    home.text(&[&good[..], &["--fill", "false"]].concat())?;
    home.text(&["edit", "a.zv", "delete", "1"])?;
    said(&home, &["append", "a.zv", "1.swc"], filled)?;
    assert_eq!(rest(&home)?, [false, true, false].map(Value::from));
    // In a new attribute, objects without a row have the fill value.
    std::fs::write(home.file("n.csv"), "object_id,n\n2,7\n")?;
    let n = ["edit", "a.zv", "set-attribute", "n", "--object", "--type"];
    let from = ["uint8", "--from", "n.csv", "--fill", "9"];
    home.text(&[&n[..], &from].concat())?;
    let list = home.json(&["objects", "a.zv", "--json"])?;
    let n: Vec<&Value> = (0..3).map(|at| &list["objects"][at]["n"]).collect();
    assert_eq!(n, [&json!(9), &json!(7), &json!(9)]);
    let all = ["edit", "a.zv", "set-attribute", "m", "--object", "--type"];
    home.text(&[&all[..], &["text", "--fill", "x"]].concat())?;
    let list = home.json(&["objects", "a.zv", "--json"])?;
    assert_eq!(list["objects"][2]["m"], json!("x"));
    home.text(&["validate", "a.zv", "--level", "5"])?;
    Ok(())
}

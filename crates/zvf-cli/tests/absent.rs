//! Rows and links without a value, for types that cannot mark a missing value.

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

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
    // If no chunk has rows with and without a value, missing values remain missing.
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
    // If no chunk has links with and without a value, missing values remain missing.
    home.text(&["rechunk", "a.zv", "b.zv", "--chunk-shape", "5,5,5"])?;
    home.text(&["links", "b.zv", "-o", "links.csv"])?;
    let found = std::fs::read_to_string(home.file("links.csv"))?;
    ensure!(found.lines().count() == 21, "{found}");
    let without = found.lines().filter(|line| line.ends_with(',')).count();
    ensure!(without == 5, "{found}");
    Ok(())
}

/// A missing date of an object stays missing when other objects are added or deleted, and when stores are merged, split and copied.
#[test]
fn a_missing_date_of_an_object_is_no_value() -> Result<()> {
    for (kind, first, unit) in [
        ("date", "2020-01-01", "days since 1970-01-01"),
        (
            "datetime64[ns]",
            "2023-11-14T22:13:20.123456789",
            "nanoseconds since 1970-01-01T00:00:00",
        ),
    ] {
        let home = Home::made(&[
            (
                "../g.csv",
                "object_id,x,y,z\n1,1,1,1\n1,2,2,2\n4,30,30,30\n4,40,40,40\n".into(),
            ),
            ("../g9.csv", "object_id,x,y,z\n9,1,1,1\n9,2,2,2\n".into()),
            (
                "../d.csv",
                format!("object_id,d\n1,{first}\n4,\n").into_bytes(),
            ),
            ("../q.csv", "object_id,q\n55,1\n".into()),
        ])?;
        for (file, store) in [("g.csv", "a.zv"), ("g9.csv", "b.zv")] {
            let shape = ["--kind", "polyline", "--chunk-shape", "20,20,20"];
            home.text(&[&["import", file, store][..], &shape].concat())?;
        }
        let set = |store: &str, name: &str, more: &[&str]| {
            let set = ["edit", store, "set-attribute", name, "--object", "--type"];
            home.text(&[&set[..], more].concat())
        };
        set("a.zv", "d", &[kind, "--from", "d.csv"])?;
        let dates = |store: &str| -> Result<Vec<String>> {
            let listed = home.json(&["objects", store, "--json"])?;
            let objects = listed["objects"].as_array().into_iter().flatten();
            let date = |one: &Value| one["d"].as_str().unwrap_or_default().to_owned();
            Ok(objects.map(date).collect())
        };
        let given = dates("a.zv")?;
        ensure!(
            given.len() == 2 && given[0].starts_with(&first[..10]),
            "{given:?}"
        );
        assert_eq!(given[1], "", "{kind}");
        home.text(&["merge", "a.zv", "b.zv", "m.zv"])?;
        assert_eq!(dates("m.zv")?, [&given[0], "", ""], "{kind}");
        home.text(&["split", "a.zv", "parts", "--by", "count", "2"])?;
        assert_eq!(dates("parts/0.zarrvectors")?, [&*given[0]], "{kind}");
        assert_eq!(dates("parts/1.zarrvectors")?, [""], "{kind}");
        home.text(&["migrate", "a.zv", "old.zv", "--to", "0.8.1"])?;
        home.text(&["append", "a.zv", "g9.csv"])?;
        set("a.zv", "q", &["float32", "--from", "q.csv", "--new"])?;
        assert_eq!(dates("a.zv")?, [&given[0], "", "", ""], "{kind}");
        home.text(&["pyramid", "a.zv", "--factors", "2"])?;
        for store in ["a.zv", "m.zv", "old.zv", "parts/1.zarrvectors"] {
            home.text(&["validate", store, "--level", "5"])?;
            let info = home.json(&["info", store, "--json"])?.to_string();
            ensure!(info.contains(unit), "{store}: {info}");
        }
        // Other readers see the same, because the fill value marks missing values.
        let table = home.file("m.zv/0/object_attributes/d/zarr.json");
        let table: Value = serde_json::from_slice(&std::fs::read(table)?)?;
        assert_eq!(table["fill_value"], json!(i64::MIN), "{table}");
    }
    Ok(())
}

/// A missing number of an object stays missing in stores made from stores, and NaN stays a value, whatever objects are added.
#[test]
fn a_missing_number_of_an_object_is_no_value() -> Result<()> {
    let lines = |ids: [i64; 3]| {
        let rows = ids.map(|id| format!("{id},0,{id},1\n{id},5,{id},1\n"));
        format!("object_id,x,y,z\n{}", rows.concat()).into_bytes()
    };
    let home = Home::made(&[
        ("../a.csv", lines([1, 2, 3])),
        ("../b.csv", lines([7, 8, 9])),
        // The empty field of a row is NaN; object 3 has no row.
        ("../f.csv", "object_id,f\n1,1.5\n2,\n".into()),
        ("../n.csv", "object_id,n\n1,9007199254740993\n".into()),
        ("../u.csv", "object_id,u\n1,255\n2,254\n".into()),
        ("../c.csv", "object_id,f\n7,2.5\n8,2.5\n9,2.5\n".into()),
    ])?;
    for (file, store) in [("a.csv", "a.zv"), ("b.csv", "b.zv"), ("b.csv", "c.zv")] {
        home.text(&["import", file, store, "--kind", "polyline"])?;
    }
    let set = |store: &str, name: &str, number: &str, file: &str| {
        let set = [
            "edit",
            store,
            "set-attribute",
            name,
            "--object",
            "--type",
            number,
        ];
        home.text(&[&set[..], &["--from", file]].concat())
    };
    set("a.zv", "f", "float32", "f.csv")?;
    set("a.zv", "n", "int64", "n.csv")?;
    set("a.zv", "u", "uint8", "u.csv")?;
    set("c.zv", "f", "float32", "c.csv")?;
    let chosen = |store: &str, condition: &str| -> Result<Vec<i64>> {
        let listed = home.json(&["objects", store, "--where", condition, "--json"])?;
        let objects = listed["objects"].as_array().into_iter().flatten();
        Ok(objects
            .filter_map(|one| one["object_id"].as_i64())
            .collect())
    };
    // `other`: objects whose f is not 7; `none`: objects without f; `more`: objects of a store that has no n.
    let check = |store: &str, other: &[i64], none: &[i64], more: &[i64]| -> Result<()> {
        let without_n = [&[2, 3][..], more].concat();
        assert_eq!(chosen(store, "object.f != 7")?, other, "{store}");
        assert_eq!(chosen(store, "object.f is nan")?, [2], "{store}");
        assert_eq!(chosen(store, "object.f is null")?, none, "{store}");
        assert_eq!(chosen(store, "object.n is null")?, without_n, "{store}");
        assert_eq!(
            chosen(store, "object.u is null")?,
            [&[3][..], more].concat(),
            "{store}"
        );
        assert_eq!(
            chosen(store, "object.n == 9007199254740993")?,
            [1],
            "{store}"
        );
        assert_eq!(chosen(store, "object.u == 255")?, [1], "{store}");
        home.text(&["validate", store, "--level", "5"])?;
        Ok(())
    };
    check("a.zv", &[1, 2], &[3], &[])?;
    home.text(&["simplify", "a.zv", "s.zv", "--tolerance", "1"])?;
    home.text(&["resample", "a.zv", "r.zv", "--points", "4"])?;
    home.text(&["split", "a.zv", "parts", "--by", "count", "1"])?;
    for store in ["s.zv", "r.zv", "parts/0.zarrvectors"] {
        check(store, &[1, 2], &[3], &[])?;
    }
    for (stores, merged) in [(["a.zv", "b.zv"], "m.zv"), (["b.zv", "a.zv"], "w.zv")] {
        home.text(&["merge", stores[0], stores[1], merged])?;
        check(merged, &[1, 2], &[3, 7, 8, 9], &[7, 8, 9])?;
    }
    home.text(&["merge", "a.zv", "c.zv", "d.zv"])?;
    check("d.zv", &[1, 2, 7, 8, 9], &[3], &[7, 8, 9])?;
    // NaN is the usual mark of a missing float, and here a value.
    home.text(&["append", "d.zv", "b.csv", "--new-ids"])?;
    assert_eq!(chosen("d.zv", "object.f is null")?, [3, 10, 11, 12]);
    assert_eq!(chosen("d.zv", "object.f is nan")?, [2]);
    // Objects of an appended store.
    home.text(&["append", "c.zv", "a.zv"])?;
    assert_eq!(chosen("c.zv", "object.f is null")?, [3]);
    assert_eq!(chosen("c.zv", "object.f != 7")?, [7, 8, 9, 1, 2]);
    Ok(())
}

#[test]
fn gaps_that_cannot_be_stored_name_the_ways_out() -> Result<()> {
    let home = Home::made(&[
        (
            "../p.csv",
            "x,y,z,k,b\n1,0,0,1,true\n2,0,0,2,false\n".into(),
        ),
        ("../k.csv", "x,y,z,k,b\n3,0,0,,true\n".into()),
        ("../b.csv", "x,y,z,k,b\n3,0,0,3,\n".into()),
        ("../n.csv", "x,y,z,k,b\nNaN,0,0,3,true\n".into()),
    ])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for (file, name) in [("k.csv", "k"), ("b.csv", "b")] {
        let says = format!(
            "which cannot be missing: append --fill {name}=VALUE, or --fill VALUE of set-attribute {name}, gives such rows one"
        );
        for words in [
            &["append", "s.zv", file][..],
            &["edit", "s.zv", "append", file],
            &["edit", "s.zv", "set-attribute", name, "--from", file],
        ] {
            let ran = home.zvf(words)?;
            ensure!(
                matches!(ran.code, 2 | 4) && ran.stderr.contains(&says),
                "{words:?}: {}",
                ran.stderr
            );
        }
    }
    let ran = home.zvf(&["append", "s.zv", "n.csv"])?;
    ensure!(
        ran.code != 0 && ran.stderr.contains("which cannot be missing\n"),
        "{}",
        ran.stderr
    );
    home.text(&["append", "s.zv", "k.csv", "--fill", "k=7"])?;
    Ok(())
}

#[test]
fn gaps_of_a_column_get_the_fill_that_the_store_records() -> Result<()> {
    let table = b"rid,x,y,s,i,f\n1,0,0,a,1,1.5\n2,1,1,b,2,2.5\n".to_vec();
    let gaps = concat!(
        r#"{"rid":1,"s":null,"i":null,"f":null}"#,
        "\n",
        r#"{"rid":2,"s":"z","i":9,"f":9}"#,
        "\n"
    );
    let home = Home::made(&[("../a.csv", table), ("../gaps.ndjson", gaps.into())])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    for (name, fill) in [("s", "u"), ("i", "77"), ("f", "7.5")] {
        let set = ["edit", "a.zv", "set-attribute", name];
        home.text(&[&set[..], &["--fill", fill]].concat())?;
        home.text(&[&set[..], &["--from", "gaps.ndjson", "--key", "rid"]].concat())?;
    }
    let query = ["query", "a.zv", "--columns", "rid,s,i,f", "--format", "csv"];
    let rows = home.text(&query)?;
    ensure!(rows.contains("\n1,u,77,7.5\n"), "{rows}");
    ensure!(rows.contains("\n2,z,9,9.0\n"), "{rows}");
    Ok(())
}

/// Of objects a gap of a whole number is no value, in each format; of vertices it is refused, and so is one of booleans.
#[test]
fn gaps_of_whole_numbers_of_objects_are_no_values() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.csv",
            "rid,x,y,object_id\n1,0,0,7\n2,1,1,8\n3,1,1,9\n".into(),
        ),
        ("../n.csv", "object_id,n,b\n7,3,true\n8,,\n".into()),
        ("../m.csv", "object_id,n\n7.0,NA\n9.0,255.0\n".into()),
        ("../two.csv", "object_id,n\n7,0\n7,\n".into()),
    ])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    let set = |name, file, more: &[&'static str]| {
        let set = ["edit", "a.zv", "set-attribute", name, "--object"];
        [&set[..], &["--from", file], more].concat()
    };
    let values = || -> Result<Vec<Value>> {
        let found = home.json(&["objects", "a.zv", "--json"])?;
        let objects = found["objects"].as_array().cloned().unwrap_or_default();
        Ok(objects.iter().map(|one| one["n"].clone()).collect())
    };
    home.text(&set("n", "n.csv", &["--type", "uint8"]))?;
    assert_eq!(values()?, [json!(3), Value::Null, Value::Null]);
    // The table that a query writes has the same gaps.
    for file in ["o.csv", "o.ndjson", "o.arrow"] {
        home.text(&["objects", "a.zv", "-o", file])?;
        home.text(&set("n", file, &[]))?;
        assert_eq!(values()?, [json!(3), Value::Null, Value::Null], "{file}");
    }
    refused(
        &home,
        &[&set("b", "n.csv", &["--type", "bool"])],
        "cannot be missing",
    )?;
    // A gap differs from the number 0.
    let ran = home.zvf(&set("n", "two.csv", &[]))?;
    ensure!(
        ran.code != 0 && ran.stderr.contains("object 7 in rows 0 and 1"),
        "{}",
        ran.stderr
    );
    home.text(&set("n", "m.csv", &[]))?;
    assert_eq!(values()?, [Value::Null, Value::Null, json!(255)]);
    home.text(&set("n", "n.csv", &["--fill", "9"]))?;
    assert_eq!(values()?, [json!(3), json!(9), json!(255)]);
    home.text(&["validate", "a.zv", "--level", "5"])?;
    Ok(())
}

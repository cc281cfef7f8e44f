//! `zvf stats`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Home, STORE};

fn column<'v>(document: &'v Value, name: &str) -> Result<&'v Value> {
    let columns = document["columns"].as_array().context("columns")?;
    let found = columns.iter().find(|column| column["column"] == name);
    found.with_context(|| format!("no column {name} in {document}"))
}

#[test]
fn statistics_of_a_region_are_those_of_its_rows() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    for place in [
        &["--sphere", "96,87,86,8"][..],
        &["--near", "x=92,2", "--ending"],
        &["--region", "not near(x=92,5)", "--where", "y > 80"],
    ] {
        let stats = home.json(&[&["stats", STORE, "--json"], place].concat())?;
        let asked = [
            &["query", STORE, "--format", "csv", "--columns", "x"],
            place,
        ]
        .concat();
        let rows = home.text(&asked)?;
        let rows: Vec<f64> = (rows.lines().skip(1))
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        assert!(!rows.is_empty());
        assert_eq!(stats["vertices"], rows.len(), "{place:?}");
        let mean = rows.iter().sum::<f64>() / rows.len() as f64;
        let found = column(&stats, "x")?["mean"].as_f64().context("a mean")?;
        assert!(
            (found - mean).abs() < 1e-6 * mean.abs(),
            "{place:?}: {found} {mean}"
        );
    }
    Ok(())
}

#[test]
fn axes_attributes_and_objects() -> Result<()> {
    let home = Home::new("points_ids")?;
    let all = home.json(&["stats", STORE, "--json"])?;
    let summary = home.json(&["query", STORE, "--json"])?;
    assert_eq!(all["vertices"], summary["vertices"]);
    for (at, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let column = column(&all, axis)?;
        let near = |one: &Value, other: &Value| {
            let both = one.as_f64().zip(other.as_f64());
            both.is_some_and(|(one, other)| (one - other).abs() < 1e-3)
        };
        assert!(near(&column["min"], &summary["bounds"][0][at]), "{column}");
        assert!(near(&column["max"], &summary["bounds"][1][at]), "{column}");
        assert_eq!(column["count"], summary["vertices"]);
        assert_eq!(
            (&column["rank_error"], &column["nan"]),
            (&0.into(), &0.into())
        );
        let counts = column["histogram"]["counts"].as_array().context("counts")?;
        let counted: u64 = counts.iter().filter_map(Value::as_u64).sum();
        assert_eq!(Some(counted), summary["vertices"].as_u64());
        assert!(counts.len() <= 32);
    }
    let objects = column(&all, "count()")?;
    assert_eq!(objects["count"], summary["objects"]);
    column(&all, "object.score")?;
    let text = home.text(&["stats", STORE, "--columns", "x,object.score", "--bins", "4"])?;
    assert!(
        text.contains("object.score") && text.contains("below  count"),
        "{text}"
    );
    assert!(!text.contains("\ny "), "{text}");
    Ok(())
}

#[test]
fn the_statistics_of_each_object_are_those_of_its_vertices() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let all = home.json(&["stats", STORE, "--json", "--by", "object", "--columns", "y"])?;
    let rows = all["rows"].as_array().context("rows")?;
    let objects = home.json(&["objects", STORE, "--json"])?;
    assert_eq!(Some(rows.len() as u64), objects["total"].as_u64());
    for row in [&rows[0], &rows[rows.len() / 2]] {
        let id = row["object_id"].to_string();
        let one = home.json(&["stats", STORE, "--json", "--objects", &id, "--columns", "y"])?;
        let one = column(&one, "y")?;
        for name in ["min", "max", "mean", "std", "count"] {
            assert_eq!(one[name], row[name], "{name} of {id}");
        }
    }
    home.text(&[
        "stats",
        STORE,
        "--by",
        "object",
        "--columns",
        "y",
        "-o",
        "y.csv",
    ])?;
    let csv = fs::read_to_string(home.file("y.csv"))?;
    assert_eq!(csv.lines().count(), rows.len() + 1);
    assert!(
        csv.starts_with("object_id,column,type,count,missing,nan,min,max,mean,std,q0.05,"),
        "{csv}"
    );
    Ok(())
}

#[test]
fn the_statistics_of_each_group_are_those_of_its_objects() -> Result<()> {
    let home = Home::new("streamlines")?;
    let all = home.json(&["stats", STORE, "--json", "--by", "group"])?;
    let rows = all["rows"].as_array().context("rows")?;
    assert!(!rows.is_empty());
    for row in rows {
        let group = row["group"].as_str().context("a group")?;
        let name = row["column"].as_str().context("a column")?;
        let group = format!("name:{group}");
        let one = home.json(&[
            "stats",
            STORE,
            "--json",
            "--groups",
            &group,
            "--columns",
            name,
        ])?;
        let one = column(&one, name)?;
        for name in ["min", "max", "count", "nan"] {
            assert_eq!(one[name].as_f64(), row[name].as_f64(), "{name} of {row}");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_asked_for() -> Result<()> {
    let home = Home::new("points_bins")?;
    for (flags, what) in [
        (&["--columns", "no_such"][..], "no_such"),
        (&["--by", "object"], "no object index"),
        (&["--by", "group"], "no groups"),
        (&["--by", "chunk"], "expected object or group"),
        (&["--bins", "3"], "expected 0, or 4"),
        (&["--quantiles", "2"], "expected numbers from 0 to 1"),
        (&["--columns", "object.weight"], "no object index"),
    ] {
        let ran = home.zvf(&[&["stats", STORE], flags].concat())?;
        assert_eq!(ran.code, 2, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(what), "{flags:?}: {}", ran.stderr);
    }
    let home = Home::new("points_ids")?;
    let ran = home.zvf(&["stats", STORE, "--columns", "object.scor"])?;
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("score"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn tables_have_exact_integers_and_dates() -> Result<()> {
    let home = Home::new("points_bins")?;
    let rows = "x,y,i,u,d\n0,0,9007199254740992,18446744073709551615,2024-01-01\n\
                1,1,9007199254740993,18446744073709551615,2024-03-05\n2.5,1,5,1,2024-02-01\n";
    fs::write(home.file("i.csv"), rows)?;
    home.text(&["import", "i.csv", "i.zv", "-q"])?;
    let table = |columns: &str, name: &str| -> Result<Vec<Vec<String>>> {
        home.text(&["stats", "i.zv", "--columns", columns, "-o", name])?;
        let text = fs::read_to_string(home.file(name))?;
        let cells = |line: &str| line.split(',').map(str::to_owned).collect();
        Ok(text.lines().map(cells).collect())
    };
    let cell = |table: &[Vec<String>], row: usize, name: &str| -> Result<String> {
        let place = table[0].iter().position(|title| title == name);
        Ok(table[row][place.context("a column")?].clone())
    };
    let integers = table("i", "i1.csv")?;
    assert_eq!(cell(&integers, 1, "min")?, "5");
    assert_eq!(cell(&integers, 1, "max")?, "9007199254740993");
    assert!(!integers[0].contains(&"max_exact".to_owned()));
    let unsigned = table("u", "u1.csv")?;
    assert_eq!(cell(&unsigned, 1, "max")?, "18446744073709551615");
    let dates = table("d", "d1.csv")?;
    assert_eq!(cell(&dates, 1, "min")?, "2024-01-01");
    assert_eq!(cell(&dates, 1, "max")?, "2024-03-05");
    let floats = table("x,y", "x1.csv")?;
    assert!(!floats[0].contains(&"max_exact".to_owned()));
    let all = table("x,i,u,d", "all1.csv")?;
    for (name, exact) in [
        ("x", "2.5"),
        ("d", "2024-03-05"),
        ("i", "9007199254740993"),
        ("u", "18446744073709551615"),
    ] {
        let row = all.iter().position(|row| row[0] == name);
        assert_eq!(cell(&all, row.context("a row")?, "max_exact")?, exact);
    }
    home.text(&["stats", "i.zv", "--columns", "i", "-o", "i1.ndjson"])?;
    let line: Value = serde_json::from_str(&fs::read_to_string(home.file("i1.ndjson"))?)?;
    assert_eq!(line["max"].as_i64(), Some(9_007_199_254_740_993));
    let text = home.text(&["stats", "i.zv", "--columns", "u", "--json"])?;
    let sum = "\"sum\": 36893488147419103231";
    assert!(text.contains(sum), "{text}");
    Ok(())
}

#[test]
fn infinite_numbers_are_counted() -> Result<()> {
    let home = Home::new("points_bins")?;
    fs::write(home.file("v.csv"), "x,y,v\n0,0,1\n1,1,2\n2,2,inf\n")?;
    home.text(&["import", "v.csv", "v.zv", "-q"])?;
    let all = home.json(&["stats", "v.zv", "--json"])?;
    let found = column(&all, "v")?;
    assert_eq!(
        (&found["max"], &found["mean"]),
        (&"Infinity".into(), &"Infinity".into())
    );
    assert_eq!(
        (&found["min"], &found["infinite"]),
        (&Value::from(1.0), &Value::from(1))
    );
    let text = home.text(&["stats", "v.zv", "--columns", "v", "--bins", "4"])?;
    assert!(text.contains("infinite, in no bin: 1"), "{text}");
    Ok(())
}

/// A group has each member once, whether or not the member is requested twice.
#[test]
fn objects_count_once_in_their_groups() -> Result<()> {
    let rows = "object_id,x,y,i\n0,0,0,1\n0,1,0,2\n5,3,3,7\n5,4,4,9\n";
    let home = Home::made(&[("../g.csv", rows.into())])?;
    home.text(&["import", "g.csv", "g.zv", "--kind", "polyline"])?;
    home.text(&["edit", "g.zv", "group", "add", "both", "0,5"])?;
    let ask = ["stats", "g.zv", "--by", "group", "--columns", "i", "--json"];
    let once = home.json(&[&ask[..], &["--objects", "0,5"]].concat())?;
    let twice = home.json(&[&ask[..], &["--objects", "0,0,5"]].concat())?;
    assert!(once.to_string().contains("4.75"), "{once}");
    assert_eq!(once, twice);
    Ok(())
}

/// Channels of an attribute have numbers from 0, as the report names them; an attribute of such a name is that attribute.
#[test]
fn statistics_of_one_channel() -> Result<()> {
    let ends = |text: &str| -> Result<Vec<(String, f64)>> {
        let told: Value = serde_json::from_str(text)?;
        let columns = told["columns"].as_array().context("columns")?;
        let columns = columns.iter().map(|one| {
            let name = one["column"].as_str().context("a name")?;
            Ok((name.to_owned(), one["max"].as_f64().context("a number")?))
        });
        columns.collect()
    };
    let home = Home::made(&[(
        "../p.csv",
        "x,y,z,c_0,c_1,c_2\n1,1,1,1,10,100\n2,2,2,2,20,200\n".into(),
    )])?;
    let create = [
        "create",
        "p.zv",
        "--kind",
        "point_cloud",
        "--attribute",
        "c:float64:3",
    ];
    let sizes = ["--chunk-shape", "10,10,10", "--bounds", "0,0,0:9,9,9"];
    home.text(&[&create[..], &sizes].concat())?;
    home.text(&["append", "p.zv", "p.csv"])?;
    let stats = |columns: &str| home.text(&["stats", "p.zv", "--columns", columns, "--json"]);
    let all = ends(&stats("c")?)?;
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(ends(&stats("c[1]")?)?, all[1..2]);
    assert_eq!(ends(&stats("c[2],x,c[0]")?)?.len(), 3);
    let beyond = home.zvf(&["stats", "p.zv", "--columns", "c[3]"])?;
    let says = "found c[3], expected a channel below 3";
    assert!(
        beyond.code == 2 && beyond.stderr.contains(says),
        "{}",
        beyond.stderr
    );
    Ok(())
}

/// Squares of these numbers, and the sum of some of them, are beyond float64; their means and deviations are not.
#[test]
fn numbers_near_the_largest_have_a_mean_and_a_deviation() -> Result<()> {
    let rows = [
        r#"{"x":0,"y":0,"far":1e160,"near":1e308,"turn":1.2e308}"#,
        r#"{"x":1,"y":1,"far":-1e160,"near":1.5e308,"turn":1.2e308}"#,
        r#"{"x":9,"y":9,"far":3,"near":1.7e308,"turn":-1e308}"#,
    ];
    let home = Home::made(&[("../g.ndjson", rows.join("\n").into())])?;
    home.text(&["import", "g.ndjson", "g.zv", "--chunk-shape", "2,2"])?;
    let all = home.json(&["stats", "g.zv", "--json"])?;
    for (name, mean, deviation) in [
        ("far", 1.0, 1e160),
        ("near", 1.4e308, 3.605_551_275_463_989e307),
        ("turn", 1.4e308 / 3.0, 1.270_170_592_217_176_7e308),
    ] {
        let column = column(&all, name)?;
        for (member, want) in [("mean", mean), ("std", deviation)] {
            let found = column[member].as_f64().context("a number")?;
            let near = (found / want - 1.0).abs() < 1e-12;
            assert!(near, "{name} {member}: {found}, expected {want}");
        }
    }
    let sum = column(&all, "turn")?["sum"].as_f64().context("a sum")?;
    assert!((sum / 1.4e308 - 1.0).abs() < 1e-12, "{sum}");
    Ok(())
}

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

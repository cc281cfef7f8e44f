//! `zvf head`, `zvf tail` and `zvf sample-rows`.

use anyhow::{Context, Result};

use crate::run::{Home, STORE};

#[test]
fn the_first_rows_of_a_query() -> Result<()> {
    for flags in [
        &[][..],
        &["--where", "x > 20"],
        &["--columns", "row,position"],
    ] {
        let home = Home::new("points_ids")?;
        let query = [
            &["query", STORE, "--limit", "4", "--format", "ndjson"],
            flags,
        ]
        .concat();
        let wanted: Vec<serde_json::Value> = home
            .text(&query)?
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let head = home.json(&[&["head", STORE, "-n", "4", "--json"], flags].concat())?;
        let rows = head["rows"].as_array().context("rows")?;
        assert_eq!(rows.len(), wanted.len(), "{flags:?}");
        for (row, wanted) in rows.iter().zip(&wanted) {
            let members = row.as_object().context("a row")?;
            for (name, value) in members {
                assert_eq!(value, &wanted[name], "{flags:?} {name}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_table_of_ten_rows() -> Result<()> {
    let home = Home::new("points_ids")?;
    let text = home.text(&["head", STORE])?;
    assert_eq!(text.lines().count(), 11, "{text}");
    assert!(text.trim_start().starts_with("x y z"), "{text}");
    assert_eq!(home.text(&["head", STORE, "-n", "0"])?.lines().count(), 1);
    Ok(())
}

/// The rows of a query with these flags, as it prints them.
fn rows(home: &Home, flags: &[&str]) -> Result<Vec<serde_json::Value>> {
    let query = [&["query", STORE, "--format", "ndjson"], flags].concat();
    let text = home.text(&query)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

#[test]
fn the_last_rows_of_a_query() -> Result<()> {
    for (store, flags) in [
        ("points_ids", &["--columns", "chunk,row,position"][..]),
        (
            "points_ids",
            &["--columns", "row,object_id", "--where", "x > 20"],
        ),
        (
            "streamlines",
            &["--columns", "position,object_id", "--objects", "0-2"],
        ),
        ("points_4d_sharded", &["--columns", "chunk,row"]),
    ] {
        let home = Home::new(store)?;
        let all = rows(&home, flags)?;
        for count in [0, 1, 7, all.len() + 5] {
            let number = count.to_string();
            let line = [&["tail", STORE, "-n", &number, "--json"], flags].concat();
            let tail = home.json(&line)?;
            let found = tail["rows"].as_array().context("rows")?;
            let wanted = &all[all.len().saturating_sub(count)..];
            assert_eq!(found, wanted, "{store} {flags:?} {count}");
        }
    }
    let home = Home::new("points_ids")?;
    let text = home.text(&["tail", STORE, "-n", "3"])?;
    assert_eq!(text.lines().count(), 4, "{text}");
    Ok(())
}

#[test]
fn drawn_rows_are_rows_of_the_query() -> Result<()> {
    let home = Home::new("points_ids")?;
    let columns = ["--columns", "chunk,row,position"];
    let all = rows(&home, &columns)?;
    let drawn = |flags: &[&str]| -> Result<serde_json::Value> {
        home.json(&[&["sample-rows", STORE, "--json"], &columns[..], flags].concat())
    };
    let first = drawn(&["-n", "20"])?;
    let found = first["rows"].as_array().context("rows")?;
    assert_eq!(first["of"].as_u64(), Some(all.len() as u64));
    let mut places: Vec<usize> = Vec::new();
    for row in found {
        places.push(
            all.iter()
                .position(|one| one == row)
                .context("a row of the store")?,
        );
    }
    assert_eq!(places.len(), 20);
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    assert_eq!(drawn(&["-n", "20"])?, first);
    assert_eq!(
        drawn(&["-n", "20", "--seed", "0", "--concurrency", "1"])?,
        first
    );
    assert_ne!(drawn(&["-n", "20", "--seed", "1"])?["rows"], first["rows"]);
    let everything = drawn(&["-n", "1000000"])?;
    assert_eq!(everything["rows"].as_array(), Some(&all));
    let part = drawn(&["-n", "1000000", "--where", "x > 20"])?;
    let wanted = rows(
        &home,
        &["--columns", "chunk,row,position", "--where", "x > 20"],
    )?;
    assert_eq!(part["rows"].as_array(), Some(&wanted));
    home.text(&["sample-rows", STORE, "-n", "20", "-o", "drawn.csv"])?;
    let csv = std::fs::read_to_string(home.file("drawn.csv"))?;
    assert_eq!(csv.lines().count(), 21);
    let ran = home.zvf(&["sample-rows", STORE, "-n", "1000", "--memory-budget", "100"])?;
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    Ok(())
}

#[test]
fn the_first_rows_of_whole_objects_are_rows() -> Result<()> {
    let home = Home::new("points_ids")?;
    let rows = "object_id,x,y\n1,0,0\n1,1,1\n1,2,2\n2,7,7\n2,8,8\n";
    std::fs::write(home.file("l.csv"), rows)?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline", "-q"])?;
    let place = ["--bbox", "x=:9", "--touching"];
    let all = home.text(
        &[
            &["query", "l.zv", "--format", "csv", "--columns", "x"],
            &place[..],
        ]
        .concat(),
    )?;
    let all: Vec<&str> = all.lines().skip(1).collect();
    assert_eq!(all.len(), 5);
    for (rows, text) in [(1, "1"), (2, "2"), (4, "4"), (9, "9")] {
        for (command, wanted) in [
            ("head", &all[..rows.min(5)]),
            ("tail", &all[5_usize.saturating_sub(rows)..]),
        ] {
            let args = [
                &[command, "l.zv", "-n", text, "--json", "--columns", "x"],
                &place[..],
            ];
            let found = home.json(&args.concat())?;
            let found = found["rows"].as_array().into_iter().flatten();
            let found: Vec<String> = found
                .map(|row| format!("{:?}", row["x"].as_f64().unwrap_or(f64::NAN)))
                .collect();
            assert_eq!(found, wanted, "{command} {rows}");
        }
    }
    let args = [
        &["query", "l.zv", "--limit", "2", "--format", "csv"],
        &place[..],
    ]
    .concat();
    let ran = home.zvf(&args)?;
    assert_eq!(String::from_utf8_lossy(&ran.stdout).lines().count(), 1);
    assert!(
        ran.stderr
            .contains("the first object has more than 2 vertices"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// The rows of additive levels follow one another, not chunk by chunk.
#[test]
fn the_last_rows_of_additive_levels() -> Result<()> {
    let mut text = String::from("x,y,n\n");
    // More rows than the last rows are searched in at a time.
    for row in 0..300_000_u32 {
        text.push_str(&format!("{},{},{row}\n", row % 997, row % 89));
    }
    let home = Home::made(&[("../p.csv", text.into())])?;
    home.text(&["import", "p.csv", "p.zv", "--chunk-shape", "200,20", "-q"])?;
    home.text(&[
        "pyramid",
        "p.zv",
        "--factors",
        "4",
        "--method",
        "density",
        "-q",
    ])?;
    let path = home.file("p.zv/0/zarr.json");
    let mut level: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    level["attributes"]["zarr_vectors_level"]["refinement"] = "add".into();
    std::fs::write(&path, level.to_string())?;
    let asked = ["p.zv", "--where", "x > 100", "--columns", "x,y,n"];
    let whole = home.text(&[&["query", "--format", "csv"], &asked[..]].concat())?;
    let tail = home.json(&[&["tail", "-n", "3", "--json"], &asked[..]].concat())?;
    let tail: Vec<u64> = tail["rows"]
        .as_array()
        .context("rows")?
        .iter()
        .filter_map(|row| row["n"].as_u64())
        .collect();
    let numbers = whole.lines().rev().take(3);
    let mut wanted: Vec<u64> = numbers
        .filter_map(|line| line.rsplit(',').next()?.parse().ok())
        .collect();
    wanted.reverse();
    assert_eq!(tail, wanted);
    Ok(())
}

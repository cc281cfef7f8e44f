//! `zvf query` and `zvf get`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Home, STORE, blessed};

/// A box in the form of the command line.
fn corner(values: &[f64]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

#[test]
fn boxes_hold_what_went_in() -> Result<()> {
    for name in zvf_testkit::cases()? {
        let home = Home::new(&name)?;
        for query in zvf_testkit::case(&name)?
            .queries
            .iter()
            .filter(|query| query.level == 0)
            .take(6)
        {
            let bbox = format!("{}:{}", corner(&query.lo), corner(&query.hi));
            let summary = home.json(&["query", STORE, "--bbox", &bbox, "--json"])?;
            assert_eq!(
                summary["vertices"].as_u64(),
                Some(query.rows.len() as u64),
                "{name} {bbox}"
            );
            assert_eq!(summary["truncated"], false);
            // Three rounds, and one at the end that checks whether the store changed.
            assert!(
                summary["rounds"].as_u64() <= Some(4),
                "{name} {bbox}: {summary}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_plan_names_the_cells_that_are_then_read() -> Result<()> {
    let home = Home::new("streamlines")?;
    let case = zvf_testkit::case("streamlines")?;
    let first = case.queries.iter().find(|query| query.level == 0);
    let query = first.context("a box")?;
    let bbox = format!("{}:{}", corner(&query.lo), corner(&query.hi));
    let read = home.json(&["query", STORE, "--bbox", &bbox, "--json"])?;
    let plan = home.json(&["query", STORE, "--bbox", &bbox, "--explain", "--json"])?;
    let level = &plan["levels"][0];
    assert_eq!(level["chunks"], read["chunks_read"]);
    let cells = level["cells"].as_object().context("arrays")?;
    let cells: u64 = cells.values().filter_map(Value::as_u64).sum();
    assert_eq!(Some(cells), read["cells_read"].as_u64());
    let text = home.text(&["query", STORE, "--bbox", &bbox, "--limit", "3", "--explain"])?;
    assert!(text.contains("0/vertex_fragments"), "{text}");
    assert!(
        text.contains("reading ends with the first 3 vertices"),
        "{text}"
    );
    let objects = home.text(&["query", STORE, "--objects", "1", "--explain"])?;
    assert!(
        objects.contains("manifests of the objects first"),
        "{objects}"
    );
    Ok(())
}

#[test]
fn objects_come_back_whole_and_in_the_order_asked() -> Result<()> {
    for name in [
        "points_ids",
        "streamlines",
        "real_tractogram",
        "graph",
        "real_skeleton",
    ] {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        let mut ids: Vec<i64> = case.objects.keys().copied().take(4).collect();
        ids.reverse();
        let words: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let mut args = vec!["get", STORE];
        args.extend(words.iter().map(String::as_str));
        args.extend(["--columns", "position,object_id", "--format", "csv"]);
        let text = home.text(&args)?;
        let column = text
            .lines()
            .next()
            .and_then(|line| line.split(',').position(|name| name == "object_id"))
            .context("object_id")?;
        let mut got: Vec<(i64, usize)> = Vec::new();
        for line in text.lines().skip(1) {
            let id = line.split(',').nth(column).context("a column")?.parse()?;
            match got.last_mut() {
                Some((last, rows)) if *last == id => *rows += 1,
                _ => got.push((id, 1)),
            }
        }
        let want: Vec<(i64, usize)> = ids
            .iter()
            .filter_map(|id| Some((*id, case.objects.get(id)?.len())))
            .collect();
        assert_eq!(got, want, "{name}");
        // The same with `query` and a file of ids.
        fs::write(home.file("ids.txt"), words.join("\n"))?;
        let same = home.text(&[
            "query",
            STORE,
            "--objects",
            "@ids.txt",
            "--columns",
            "position,object_id",
            "--format",
            "csv",
        ])?;
        assert_eq!(same, text, "{name}");
        let mut args = vec!["get", STORE, "--json"];
        args.extend(words.iter().map(String::as_str));
        let summary = home.json(&args)?;
        // The number that a counting client sees: `0.8/…, object` in requests.txt.
        assert!(summary["rounds"].as_u64() <= Some(6), "{name}: {summary}");
        assert_eq!(summary["objects"].as_u64(), Some(ids.len() as u64));
    }
    Ok(())
}

#[test]
fn summaries_are_as_blessed() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let text = home.text(&["query", STORE, "--bbox", "72.8,96.1,73.2:103.5,98.2,91.9"])?;
    blessed("query-real_tractogram.txt", &text)?;
    let mut document = home.json(&[
        "query",
        STORE,
        "--bbox",
        "72.8,96.1,73.2:103.5,98.2,91.9",
        "--json",
    ])?;
    // The number of requests depends on the storage layer.
    for volatile in ["requests", "bytes"] {
        assert!(document[volatile].as_u64() > Some(0), "{volatile}");
        document[volatile] = Value::Null;
    }
    blessed("query-real_tractogram.json", &format!("{document:#}\n"))?;
    let home = Home::new("points_ids")?;
    blessed(
        "get-points_ids.txt",
        &home.text(&["get", STORE, "17", "3"])?,
    )?;
    Ok(())
}

#[test]
fn a_box_may_begin_with_a_minus() -> Result<()> {
    let home = Home::new("points_2d_f8")?;
    let apart = home.json(&["query", STORE, "--bbox", "-300,-300:250.5,1e3", "--json"])?;
    let joined = home.json(&["query", STORE, "--bbox=-300,-300:250.5,1e3", "--json"])?;
    assert!(apart["vertices"].as_u64() > Some(0));
    assert_eq!(apart, joined);
    let all = home.json(&["query", STORE, "--bbox", "-inf,-inf:inf,inf", "--json"])?;
    assert_eq!(
        all["vertices"],
        zvf_testkit::truth("points_2d_f8")?.positions.rows()
    );
    let bounds = all["bounds"].as_array().context("bounds")?;
    assert_eq!(
        (bounds.len(), bounds[0].as_array().map(Vec::len)),
        (2, Some(2))
    );
    Ok(())
}

#[test]
fn limits_and_filters() -> Result<()> {
    let home = Home::new("points_ids")?;
    let cut = home.json(&["query", STORE, "--limit", "10", "--json"])?;
    assert_eq!(
        (cut["vertices"].as_u64(), cut["truncated"].as_bool()),
        (Some(10), Some(true))
    );
    let truth = zvf_testkit::truth("points_ids")?;
    let bright = truth
        .attributes
        .get("intensity")
        .context("intensity")?
        .f64s()?
        .iter()
        .filter(|v| **v > 0.5)
        .count();
    let kept = home.json(&["query", STORE, "--where", "intensity > 0.5", "--json"])?;
    assert_eq!(kept["vertices"].as_u64(), Some(bright as u64));
    let groups = &zvf_testkit::case("points_ids")?.groups;
    let (group, members) = groups.iter().next().context("a group")?;
    let grouped = home.json(&["query", STORE, "--groups", &group.to_string(), "--json"])?;
    assert_eq!(grouped["objects"].as_u64(), Some(members.len() as u64));
    Ok(())
}

#[test]
fn the_trace_is_one_document_a_line() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    home.text(&[
        "query",
        STORE,
        "--bbox",
        "3000,12000,10000:8000,24000,15000",
        "--trace-io",
        "trace.ndjson",
    ])?;
    let trace = fs::read_to_string(home.file("trace.ndjson"))?;
    let mut rounds = 0;
    for line in trace.lines() {
        let request: Value = serde_json::from_str(line)?;
        for key in [
            "round",
            "method",
            "key",
            "offset",
            "length",
            "bytes",
            "microseconds",
        ] {
            assert!(request.get(key).is_some(), "{key} in {line}");
        }
        rounds = rounds.max(request["round"].as_u64().unwrap_or(0));
    }
    assert!(trace.lines().count() > 5 && rounds <= 4, "{trace}");
    // Failed commands write a trace, too.
    let ran = home.zvf(&["get", STORE, "12345", "--trace-io", "failed.ndjson"])?;
    assert_eq!(ran.code, 2);
    assert!(
        fs::read_to_string(home.file("failed.ndjson"))?
            .lines()
            .count()
            > 1
    );
    Ok(())
}

#[test]
fn quiet_and_verbose() -> Result<()> {
    let home = Home::new("graph")?;
    let ran = home.zvf(&["query", STORE, "-o", "out.csv", "-q"])?;
    assert_eq!(
        (ran.code, ran.stderr.as_str(), ran.stdout.len()),
        (0, "", 0)
    );
    let ran = home.zvf(&["query", STORE, "-o", "out.csv", "-v"])?;
    assert!(
        ran.stderr.contains("zvf: wrote out.csv") && ran.stderr.contains(" requests in "),
        "{}",
        ran.stderr
    );
    assert_eq!(home.zvf(&["query", STORE, "-q", "-v"])?.code, 2);
    Ok(())
}

#[test]
fn exported_pieces_together_are_the_whole_file() -> Result<()> {
    let home = Home::new("streamlines")?;
    home.text(&["export", STORE, "all.csv"])?;
    home.text(&["export", STORE, "all.tck"])?;
    home.text(&["import", "all.tck", "all.zv"])?;
    let rows = |files: &[String]| -> Result<Vec<String>> {
        let mut rows = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(home.file(file))?;
            rows.extend(text.lines().skip(1).map(str::to_owned));
        }
        rows.sort();
        Ok(rows)
    };
    let (mut tables, mut tracts) = (Vec::new(), Vec::new());
    for piece in 0..3 {
        let split = format!("{piece}/3");
        for (ending, files) in [("csv", &mut tables), ("tck", &mut tracts)] {
            let file = format!("part-{piece}.{ending}");
            home.text(&["export", STORE, &file, "--split", &split])?;
            files.push(file);
        }
    }
    let all = rows(&["all.csv".to_owned()])?;
    assert!(!all.is_empty());
    assert_eq!(rows(&tables)?, all);
    let files: Vec<&str> = tracts.iter().map(String::as_str).collect();
    home.text(&[&["import"], &files[..], &["parts.zv"]].concat())?;
    let positions = ["--columns", "position", "--format", "csv"];
    let of = |store: &str| -> Result<Vec<String>> {
        let text = home.text(&[&["query", store], &positions[..]].concat())?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    };
    assert_eq!(of("parts.zv")?, of("all.zv")?);

    let home = Home::new("mesh")?;
    let ran = home.zvf(&["export", STORE, "part.ply", "--split", "0/2"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--select objects"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn pieces_together_are_the_answer() -> Result<()> {
    let home = Home::new("streamlines")?;
    let all = home.json(&["query", STORE, "--json"])?;
    for select in ["vertices", "objects"] {
        let arguments = [
            "splits", STORE, "--select", select, "--count", "3", "--json",
        ];
        let listed = home.json(&arguments)?;
        assert_eq!(listed["splits"].as_array().map(Vec::len), Some(3));
        let mut sum = 0;
        for piece in ["0/3", "1/3", "2/3"] {
            let found = home.json(&[
                "query", STORE, "--select", select, "--split", piece, "--json",
            ])?;
            sum += found["vertices"].as_u64().context("a number")?;
        }
        assert_eq!(Some(sum), all["vertices"].as_u64(), "{select}");
    }
    for wrong in ["3/3", "-1/3", "3", "a/b"] {
        let ran = home.zvf(&["query", STORE, "--split", wrong])?;
        assert_eq!(ran.code, 2, "{wrong}");
    }
    Ok(())
}

/// Tasks of a job array cut the query themselves; a tag ties them to one state of the store.
#[test]
fn pieces_with_a_tag_are_of_one_state() -> Result<()> {
    let rows: String = (0..40).map(|n| format!("{n},{n},0,{n}\n")).collect();
    let home = Home::made(&[("../p.csv", format!("x,y,z,n\n{rows}").into())])?;
    home.text(&["import", "p.csv", "p.zv", "--chunk-shape", "10,10,10"])?;
    let listed = home.json(&["splits", "p.zv", "--count", "2", "--json"])?;
    let tag = listed["tag"].as_str().context("no tag")?.to_owned();
    let table = home.text(&["splits", "p.zv", "--count", "2"])?;
    assert!(table.contains(&format!("1/2@{tag}")), "{table}");
    let piece = |number: u32| {
        let split = format!("{number}/2@{tag}");
        let query = home.zvf(&["query", "p.zv", "--split", &split, "--json"])?;
        let export = home.zvf(&["export", "p.zv", "part.csv", "--split", &split])?;
        anyhow::Ok((query, export))
    };
    let mut sum = 0;
    for number in 0..2 {
        let (query, export) = piece(number)?;
        assert_eq!((query.code, export.code), (0, 0), "{}", query.stderr);
        let done: serde_json::Value = serde_json::from_slice(&query.stdout)?;
        sum += done["vertices"].as_u64().context("a number")?;
    }
    assert_eq!(sum, 40);
    home.text(&["edit", "p.zv", "delete", "--where", "n<5"])?;
    let (query, export) = piece(1)?;
    for ran in [query, export] {
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("tag {tag}")), "{}", ran.stderr);
    }
    // Without a tag nothing is compared.
    home.text(&["query", "p.zv", "--split", "1/2", "--json"])?;
    let ran = home.zvf(&["query", "p.zv", "--split", "1/2@tag"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    Ok(())
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_axes_come_back_from_parquet() -> Result<()> {
    let home = Home::new("points_ids")?;
    let columns = ["--columns", "x,y,z,object_id"];
    home.text(&[&["query", STORE, "-o", "t.parquet", "-q"], &columns[..]].concat())?;
    home.text(&["import", "t.parquet", "t.zv", "-q"])?;
    let rows = |store: &str| -> Result<Vec<String>> {
        let text = home.text(&[&["query", store, "--format", "csv"], &columns[..]].concat())?;
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        rows.sort();
        Ok(rows)
    };
    let wanted = rows(STORE)?;
    assert!(wanted.len() > 100 && wanted.contains(&"x,y,z,object_id".to_owned()));
    assert_eq!(rows("t.zv")?, wanted);
    // A Parquet file with points is GeoParquet; in text, points are hexadecimal.
    let columns = ["--columns", "geometry,object_id"];
    home.text(&[&["query", STORE, "-o", "g.parquet", "-q"], &columns[..]].concat())?;
    let bytes = fs::read(home.file("g.parquet"))?;
    assert!(String::from_utf8_lossy(&bytes).contains(r#""primary_column":"geometry""#));
    let text = home.text(&[&["query", STORE, "--format", "csv"], &columns[..]].concat())?;
    let point = text.lines().nth(1).unwrap_or_default();
    assert!(point.starts_with("01e9030000"), "{point}");
    // The points are positions again, as float64; an appended file gets the ids of the file as well.
    home.text(&["import", "g.parquet", "g.zv", "-q"])?;
    let numbers = |rows: Vec<String>| -> Vec<Vec<f32>> {
        let row = |row: &String| row.split(',').filter_map(|one| one.parse().ok()).collect();
        let mut rows: Vec<Vec<f32>> = rows.iter().map(row).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    };
    assert_eq!(numbers(rows("g.zv")?), numbers(wanted.clone()));
    home.text(&["append", "g.zv", "g.parquet", "--new-ids", "-q"])?;
    assert_eq!(rows("g.zv")?.len(), 2 * wanted.len() - 1);
    // Tables of objects as well.
    home.text(&["measure", STORE, "-o", "m.parquet", "-q"])?;
    home.text(&["objects", STORE, "-o", "o.parquet", "-q"])?;
    for file in ["m.parquet", "o.parquet"] {
        assert!(fs::read(home.file(file))?.starts_with(b"PAR1"), "{file}");
    }
    Ok(())
}

//! A real process respects `--memory-budget`: it holds at most twice the budget and 64 MB.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::run::{Home, command};

const BUDGET: u64 = 4 << 20;
/// Number of vertices of the only object.
const COUNT: u32 = 1_000_000;

/// Runs the program with a budget; returns the peak of its anonymous resident memory. Pages of the program file do not count:
/// about forty MB of them are resident in the dev profile, and far fewer in a release.
fn peak(home: &Home, args: &[&str], budget: u64) -> Result<u64> {
    let budget = budget.to_string();
    let args = [args, &["--memory-budget", &budget]].concat();
    let mut child = command(&home.path(), &args)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        let ended = child.try_wait()?;
        // The status of an ended process has no such line.
        let said = fs::read_to_string(&status).unwrap_or_default();
        let line = said.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        if let Some(line) = line {
            let kib = line.trim().trim_end_matches(" kB").parse::<u64>()?;
            most = most.max(kib * 1024);
        }
        match ended {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    ensure!(ended.success(), "zvf {}: {ended}", args.join(" "));
    Ok(most)
}

/// The position of a vertex of the line, on a spiral through many chunks.
fn position(at: u32) -> [f32; 3] {
    let turn = at as f32 * 0.001;
    [turn.cos() * 100.0, turn.sin() * 100.0, at as f32 * 0.001]
}

/// A table of one polyline.
fn table(home: &Home, count: u32) -> Result<()> {
    let mut text = String::from("object_id,x,y,z,v\n");
    for at in 0..count {
        let [x, y, z] = position(at);
        writeln!(text, "7,{x},{y},{z},{at}")?;
    }
    Ok(fs::write(home.file("line.csv"), text)?)
}

const IMPORT: [&str; 9] = [
    "import",
    "line.csv",
    "line",
    "--kind",
    "polyline",
    "--object-column",
    "object_id",
    "--chunk-shape",
    "50,50,50",
];

#[test]
fn copies_and_edits_keep_to_the_memory_budget() -> Result<()> {
    let home = Home::made(&[])?;
    table(&home, COUNT)?;
    home.text(&IMPORT)?;
    // Vertex 1000 is moved far away.
    fs::write(
        home.file("move.csv"),
        "object_id,vertex,x,y,z\n7,1000,120.5,3,4\n",
    )?;
    fs::write(
        home.file("more.csv"),
        "object_id,x,y,z,v\n7,1,2,3,4\n7,5,6,7,8\n",
    )?;
    fs::write(home.file("set.csv"), "object_id,vertex,v\n7,123456,77\n")?;
    let jobs: [&[&str]; 6] = [
        &["rechunk", "line", "copy", "--chunk-shape", "400,400,400"],
        &["migrate", "line", "old", "--to", "0.8.1"],
        &["edit", "line", "move", "--from", "move.csv"],
        &["edit", "line", "append", "more.csv"],
        &["edit", "line", "set-attribute", "v", "--from", "set.csv"],
        &["vacuum", "line"],
    ];
    for job in jobs {
        let (most, bound) = (peak(&home, job, BUDGET)?, 2 * BUDGET + 64_000_000);
        assert!(
            most > 0 && most <= bound,
            "{job:?}: {most} bytes, at most {bound}"
        );
    }
    let rows = home.text(&["get", "line", "7", "--format", "csv"])?;
    let header: Vec<&str> = rows
        .lines()
        .next()
        .context("no header")?
        .split(',')
        .collect();
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect())
        .collect();
    assert_eq!(rows.len(), COUNT as usize + 2);
    let wanted = |at: usize| -> ([f32; 3], i64) {
        match at {
            1000 => ([120.5, 3.0, 4.0], 1000),
            123_456 => (position(123_456), 77),
            1_000_000 => ([1.0, 2.0, 3.0], 4),
            1_000_001 => ([5.0, 6.0, 7.0], 8),
            at => (position(at as u32), at as i64),
        }
    };
    let of = |row: usize, name: &str| -> Result<&str> {
        let at = header.iter().position(|one| *one == name);
        rows.get(row)
            .and_then(|row| row.get(at?).copied())
            .context("no value")
    };
    for at in (0..rows.len())
        .step_by(997)
        .chain([999, 1000, 1001, 123_456, 999_999, 1_000_000, 1_000_001])
    {
        let (place, value) = wanted(at);
        for (name, wanted) in ["x", "y", "z"].into_iter().zip(place) {
            assert_eq!(of(at, name)?.parse::<f32>()?, wanted, "{name} of row {at}");
        }
        assert_eq!(of(at, "v")?.parse::<i64>()?, value, "v of row {at}");
    }
    // Work that would need more memory is refused before it begins; the error states the amount.
    let delete = ["edit", "line", "delete", "7"];
    let ran = home.zvf(&[&delete[..], &["--memory-budget", "4M"]].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in [
        "memory budget",
        "4194304 bytes",
        "at least",
        "about 1000002 vertices in memory",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    home.text(&["validate", "line", "--level", "1"])?;
    let needed = ran
        .stderr
        .split("at least ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let needed: u64 = needed.context("no number")?.parse()?;
    let (most, bound) = (peak(&home, &delete, needed)?, 2 * needed + 64_000_000);
    assert!(most <= bound, "{delete:?}: {most} bytes, at most {bound}");
    home.text(&["validate", "line"])?;
    Ok(())
}

#[test]
fn an_edit_of_chunks_with_more_vertices_than_others_keeps_to_the_budget() -> Result<()> {
    // 40 chunks of 20,000 vertices, and 1,000 of one.
    let dense = (0..800_000_u32).map(|at| {
        let [x, y] = [at % 40 * 10, at / 40 % 100].map(f64::from);
        format!("{x},{:.1},{:.1}\n", y / 20.0, f64::from(at / 4000) / 40.0)
    });
    let sparse = (0..1000_u32).map(|at| format!("{},500,0\n", at * 10));
    let rows: String = dense.chain(sparse).collect();
    let more: String = (0..40_u32).map(|at| format!("{},1,1\n", at * 10)).collect();
    let home = Home::made(&[
        ("../points.csv", format!("x,y,z\n{rows}").into_bytes()),
        ("../more.csv", format!("x,y,z\n{more}").into_bytes()),
    ])?;
    home.text(&[
        "import",
        "points.csv",
        "points",
        "--chunk-shape",
        "10,10,10",
    ])?;
    let append = ["append", "points", "more.csv", "--memory-budget"];
    let ran = home.zvf(&[&append[..], &["4M"]].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("memory budget"), "{}", ran.stderr);
    let needed = ran.stderr.split("at least ").nth(1);
    let needed = needed.and_then(|rest| rest.split(' ').next());
    home.text(&["validate", "points"])?;
    let count = || -> Result<u64> {
        let info = home.json(&["info", "points", "--json"])?;
        info["levels"][0]["vertices"].as_u64().context("vertices")
    };
    assert_eq!(count()?, 801_000);
    home.text(&[&append[..], &[needed.context("no number")?]].concat())?;
    assert_eq!(count()?, 801_040);
    Ok(())
}

#[test]
fn a_pyramid_that_may_hold_more_than_the_budget_says_so_before() -> Result<()> {
    let rows: String = (0..20_000)
        .map(|at| format!("{},{},{},{}\n", at % 97, at % 89, at % 83, at % 5000))
        .collect();
    let home = Home::made(&[("../points.csv", format!("x,y,z,o\n{rows}").into_bytes())])?;
    let import = ["import", "points.csv", "points", "--kind", "point_cloud"];
    let objects = ["--object-column", "o", "--chunk-shape", "20,20,20"];
    home.text(&[&import[..], &objects].concat())?;
    let pyramid = |budget: &str| home.zvf(&["pyramid", "points", "--memory-budget", budget]);
    // At most 20,000 fragments of 48 bytes, in addition to twice the budget and 64 MB.
    let ran = pyramid("800K")?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let wanted = "up to 66 MB of memory may be needed";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    home.text(&["pyramid", "points", "--remove"])?;
    let ran = pyramid("4M")?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("may be needed"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_limit_that_the_budget_lowered_names_the_budget() -> Result<()> {
    let rows: String = (0..2_000)
        .map(|at| format!("{at},{},{}\n", at % 89, at % 83))
        .collect();
    let home = Home::made(&[("../points.csv", format!("x,y,z\n{rows}").into_bytes())])?;
    home.text(&["import", "points.csv", "points", "--codec", "none"])?;
    let ran = home.zvf(&["query", "points", "--memory-budget", "1K"])?;
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("--memory-budget"), "{}", ran.stderr);
    assert!(ran.stderr.contains("points: 0/"), "{}", ran.stderr);
    Ok(())
}

/// Number of parts, and of the rows of each; the text of each row is unique.
const PARTS: usize = 5;
const ROWS: usize = 50_000;

/// The text of a row; texts sort in another order than rows.
fn text_of(row: usize) -> String {
    format!("text_{:07}_{row:06}", row * 7_919 % 1_000_003)
}

#[test]
fn texts_of_parts_are_joined_within_the_memory_budget() -> Result<()> {
    let home = Home::made(&[])?;
    let mut all = String::from("x,y,z,word\n");
    for part in 0..PARTS {
        let mut text = String::from("x,y,z,word\n");
        for row in part * ROWS..(part + 1) * ROWS {
            let x = part as f64 * 10.0 + (row % 9) as f64;
            let line = format!("{x},{},0.5,{}\n", row % 7, text_of(row));
            text += &line;
            all += &line;
        }
        fs::write(home.file(&format!("{part}.csv")), text)?;
    }
    fs::write(home.file("all.csv"), &all)?;
    let options = ["--chunk-shape", "10,10,10", "--bounds", "0,0,0:50,10,10"];
    let parted = |file: &str, step: &[&str]| {
        let args = [&["import", file, "parts.zv"], &options[..], step].concat();
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |args: Vec<String>| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        peak(&home, &args, BUDGET)
    };
    run(parted("0.csv", &["--begin"]))?;
    for part in 0..PARTS {
        let name = part.to_string();
        run(parted(&format!("{part}.csv"), &["--part", &name]))?;
    }
    // The documents have 8 MB of texts; in memory, each text takes a hundred bytes and more.
    let bound = 2 * BUDGET + 64_000_000;
    let committed = run(parted("0.csv", &["--commit"]))?;
    assert!(committed > 0 && committed <= bound, "{committed} bytes");
    let single = ["import", "all.csv", "one.zv", "--chunk-shape", "10,10,10"];
    let single = peak(&home, &single, BUDGET)?;
    assert!(single <= bound, "{single} bytes");
    let mut wanted: Vec<String> = (0..PARTS * ROWS).map(text_of).collect();
    wanted.sort_unstable();
    for store in ["parts.zv", "one.zv"] {
        let path = home.file(&format!("{store}/0/vertex_attributes/word/zarr.json"));
        let document: serde_json::Value = serde_json::from_slice(&fs::read(path)?)?;
        let texts = document["attributes"]["categories"].as_array();
        let texts = texts
            .context("categories")?
            .iter()
            .filter_map(|text| text.as_str());
        assert!(texts.eq(wanted.iter().map(String::as_str)), "{store}");
        let rows = home.text(&[
            "query",
            store,
            "--columns",
            "position,word",
            "--format",
            "csv",
        ])?;
        let mut rows: Vec<&str> = rows.lines().skip(1).collect();
        let mut given: Vec<String> = Vec::new();
        for line in all.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let [x, y, z, word] = *fields else {
                anyhow::bail!("{line}")
            };
            let number = |text: &str| text.parse::<f32>().map(|value| format!("{value:?}"));
            given.push(format!(
                "{},{},{},{word}",
                number(x)?,
                number(y)?,
                number(z)?
            ));
        }
        rows.sort_unstable();
        given.sort_unstable();
        assert!(
            rows.iter().copied().eq(given.iter().map(String::as_str)),
            "{store}"
        );
    }
    Ok(())
}

/// A store that is appended is held as a whole: if it exceeds the budget, it is refused, and the error states the budget that it needs.
#[test]
fn a_store_is_appended_within_the_memory_budget() -> Result<()> {
    let home = Home::made(&[])?;
    table(&home, 300_000)?;
    home.text(&IMPORT)?;
    fs::write(
        home.file("small.csv"),
        "object_id,x,y,z,v\n1,1,2,3,4\n1,5,6,7,8\n",
    )?;
    home.text(&["import", "small.csv", "small", "--kind", "polyline"])?;
    // Twice this budget holds the numbers of the vertices, but not the data that the edit makes from them.
    let ran = home.zvf(&["append", "small", "line", "--memory-budget", "2500000"])?;
    ensure!(ran.code == 2, "{}: {}", ran.code, ran.stderr);
    let budget = ran.stderr.split("--memory-budget ").nth(1);
    let budget = budget.and_then(|text| text.split_whitespace().next());
    let budget: u64 = budget.context("no budget")?.parse()?;
    let most = peak(&home, &["append", "small", "line"], budget)?;
    let bound = 2 * budget + 64_000_000;
    ensure!(most <= bound, "{most} bytes, at most {bound} with {budget}");
    Ok(())
}

//! `zvf pyramid STORE`: levels that are chosen from the data, compared with the input.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{Home, files};

type Point = [f64; 3];

/// A pseudo-random number from 0 to 1.
fn random(n: u32) -> f64 {
    let mut n = u64::from(n).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        n = (n ^ (n >> 30)).wrapping_mul(factor);
    }
    (n >> 40) as f64 / f64::from(1 << 24)
}

/// Pixels of three planes, 24 by 24 each, with the number of points in each pixel.
fn map(points: impl Iterator<Item = Point>) -> Vec<f64> {
    let mut all = vec![0.0; 3 * 24 * 24];
    for point in points {
        for (plane, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            let pixel = |axis: usize| ((point[axis] / 100.0 * 24.0) as usize).min(23);
            all[plane * 576 + pixel(a) * 24 + pixel(b)] += 1.0;
        }
    }
    all
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| f(a - of_a, b - of_b)).sum()
    };
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

/// Points at equal distances along a line.
fn along(line: &[Point]) -> impl Iterator<Item = Point> {
    let steps = line.iter().zip(line.iter().skip(1));
    steps.flat_map(|(a, b)| {
        let length: f64 = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
        let many = (length * 4.0).ceil() as u32;
        (0..many).map(move |n| {
            let part = (f64::from(n) + 0.5) / f64::from(many);
            [0, 1, 2].map(|i| a[i] + part * (b[i] - a[i]))
        })
    })
}

/// Objects of a level, from the output of the program: all points, or the lines with these ids.
fn rows(home: &Home, level: usize, ids: &[String]) -> Result<BTreeMap<i64, Vec<Point>>> {
    let level = level.to_string();
    std::fs::write(home.file("ids.txt"), ids.join("\n"))?;
    let query = ["query", "made.zv", "--level", &level, "--format", "csv"];
    let columns = match ids.is_empty() {
        true => &["--columns", "position"][..],
        false => &["--columns", "position,object_id", "--objects", "@ids.txt"],
    };
    let text = home.text(&[&query[..], columns].concat())?;
    let mut objects: BTreeMap<i64, Vec<Point>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let mut fields = row.split(',');
        let mut point = [0.0; 3];
        for axis in &mut point {
            *axis = fields.next().context("a field")?.parse()?;
        }
        let object = fields.next().map_or(Ok(0), str::parse)?;
        objects.entry(object).or_default().push(point);
    }
    Ok(objects)
}

/// Makes levels and makes the checks that apply to all kinds; returns the number of levels. `most` is how often a cell of positions is read.
fn levels(home: &Home, until: &str, vertices: u64, most: u32) -> Result<usize> {
    let pyramid = ["pyramid", "made.zv", "--levels-until", until, "--json"];
    let made = home.json(&[&pyramid[..], &["--trace-io", "trace.ndjson"]].concat())?;
    assert_eq!(made["warnings"], Value::Array(Vec::new()), "{made}");
    let mut finer = vertices;
    let levels = made["levels"].as_array().cloned().unwrap_or_default();
    for level in &levels {
        let here = level["vertices"].as_u64().context("a count")?;
        assert!((3.0..9.0).contains(&(finer as f64 / here as f64)), "{made}");
        finer = here;
    }
    assert!(finer as f64 <= 1.3 * until.parse::<f64>()?, "{made}");
    // Regardless of the number of levels.
    let trace = std::fs::read_to_string(home.file("trace.ndjson"))?;
    let mut reads: BTreeMap<String, u32> = BTreeMap::new();
    for line in trace.lines() {
        let one: Value = serde_json::from_str(line)?;
        let key = one["key"].as_str().unwrap_or_default();
        if key.contains("0/vertices/c/") {
            *reads.entry(key.to_owned()).or_default() += 1;
        }
    }
    assert!(!reads.is_empty(), "{trace}");
    assert!(reads.values().all(|many| *many <= most), "{reads:?}");
    let many = |level: usize| Ok(files(&home.file(&format!("made.zv/{level}")))?.len());
    let coarse = (1..=levels.len()).map(many).sum::<Result<usize>>()?;
    assert!(coarse < many(0)?, "{coarse}");
    home.text(&[
        "validate",
        "made.zv",
        "--level",
        "5",
        "--fail-on",
        "warning",
    ])?;
    Ok(levels.len())
}

#[test]
fn points_are_as_dense_as_level_0() -> Result<()> {
    // Clusters of different sizes and densities.
    let point = |n: u32| {
        let cluster = (random(n) * random(n + 7) * 12.0) as u32;
        let axis = |i: u32| {
            let middle = 15.0 + 70.0 * random(1_000_000 + cluster * 3 + i);
            let off: f64 = (0..4).map(|k| random(n * 16 + i * 4 + k) - 0.5).sum();
            middle + off * (3.0 + 2.0 * f64::from(cluster % 5))
        };
        [axis(0), axis(1), axis(2)].map(|axis| axis.clamp(0.0, 99.9))
    };
    let points: Vec<Point> = (0..12_000).map(point).collect();
    let mut csv = "x,y,z\n".to_owned();
    for [x, y, z] in &points {
        writeln!(csv, "{x},{y},{z}")?;
    }
    let home = Home::made(&[("../points.csv", csv.into())])?;
    home.text(&[
        "import",
        "points.csv",
        "made.zv",
        "--chunk-shape",
        "10,10,10",
    ])?;
    let wanted = map(points.iter().copied());
    let many = levels(&home, "1000", 12_000, 2)?;
    assert_eq!(many, 2);
    for level in 1..=many {
        let found = rows(&home, level, &[])?;
        let alike = correlation(&wanted, &map(found.into_values().flatten()));
        assert!(alike >= 0.9, "level {level}: {alike}");
    }
    Ok(())
}

#[test]
fn bundles_of_lines_keep_their_density() -> Result<()> {
    let line = |n: u32| -> Vec<Point> {
        let bundle = n % 9;
        let (from, to) = (random(bundle * 2 + 1), random(bundle * 2 + 2));
        let beside = [1, 2, 3].map(|i| 6.0 * (random(n * 8 + i) - 0.5));
        let step = |t: u32| {
            let t = f64::from(t) / 59.0;
            let bend = (t * std::f64::consts::PI).sin() * 30.0 * random(bundle + 50);
            [
                10.0 + 80.0 * t,
                15.0 + 70.0 * (from + t * (to - from)),
                20.0 + bend + 5.0 * f64::from(bundle),
            ]
        };
        let steps = (0..60).map(step);
        steps
            .map(|at| [0, 1, 2].map(|i| at[i] + beside[i]))
            .collect()
    };
    let lines: Vec<Vec<Point>> = (0..300).map(line).collect();
    let mut csv = "line,x,y,z\n".to_owned();
    for (number, line) in lines.iter().enumerate() {
        for [x, y, z] in line {
            writeln!(csv, "{number},{x},{y},{z}")?;
        }
    }
    let home = Home::made(&[("../lines.csv", csv.into())])?;
    let import = ["import", "lines.csv", "made.zv", "--kind", "streamline"];
    let chunks = ["--object-column", "line", "--chunk-shape", "8,8,8"];
    home.text(&[&import[..], &chunks].concat())?;
    let wanted = map(lines.iter().flat_map(|line| along(line)));
    let ids: Vec<String> = (0..300).map(|id| id.to_string()).collect();
    let many = levels(&home, "600", 18_000, 2)?;
    assert_eq!(many, 2);
    for level in 1..=many {
        let found = rows(&home, level, &ids)?;
        let drawn = found.values().flat_map(|line| along(line));
        let alike = correlation(&wanted, &map(drawn));
        assert!(alike >= 0.9, "level {level}: {alike}");
        // Remaining lines have both ends, and the order and ids of level 0.
        for (id, line) in &found {
            let whole = &lines[usize::try_from(*id)?];
            for (a, b) in [(line.first(), whole.first()), (line.last(), whole.last())] {
                let (a, b) = (a.context("an end")?, b.context("an end")?);
                assert!((0..3).all(|i| (a[i] - b[i]).abs() < 1e-3), "{a:?}, {b:?}");
            }
        }
    }
    let document = std::fs::read(home.file(&format!("made.zv/{many}/zarr.json")))?;
    let document: Value = serde_json::from_slice(&document)?;
    let level = &document["attributes"]["zarr_vectors_level"];
    let sparsity = level["object_sparsity"].as_f64().context("a share")?;
    let objects = rows(&home, many, &ids)?.len() as f64;
    let before = rows(&home, many - 1, &ids)?.len() as f64;
    assert!((objects / before - sparsity).abs() < 0.02, "{sparsity}");
    assert!(objects < 300.0);
    Ok(())
}

/// Dates of links are dates in every level, and missing ones are missing.
#[test]
fn links_of_coarse_levels_keep_units_and_missing_values() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "x,y,z\n0,0,0\n1,0,0\n2,0,0\n9,0,0\n".into()),
        (
            "../e.csv",
            "source,target,d\n0,1,2024-01-01T00:00:00\n1,2,\n2,3,2024-01-03T00:00:00\n".into(),
        ),
    ])?;
    let shape = ["--chunk-shape", "10,10,10"];
    let import = [
        "import", "n.csv", "g", "--kind", "graph", "--edges", "e.csv",
    ];
    home.text(&[&import[..], &shape].concat())?;
    home.text(&["pyramid", "g", "--factors", "1", "--bin-shape", "1,1,1"])?;
    let dates = |level| -> Result<Vec<Value>> {
        let found = home.json(&["links", "g", "--level", level, "--json"])?;
        let links = found["links"].as_array().context("links")?;
        let mut dates: Vec<Value> = links.iter().map(|link| link["d"].clone()).collect();
        dates.sort_by_key(ToString::to_string);
        Ok(dates)
    };
    assert_eq!(dates("1")?, dates("0")?);
    assert!(dates("1")?.contains(&Value::Null));
    Ok(())
}

/// A chunk of a level holds whole bins (`zvf-0.9`, section 6): a scale that would break this rule is refused.
#[test]
fn scales_of_chunks_that_cut_bins_are_refused() -> Result<()> {
    let home = Home::made(&[("../n.csv", "x,y,z\n0,0,0\n25,0,0\n59,59,59\n".into())])?;
    home.text(&["import", "n.csv", "g", "--chunk-shape", "10,10,10"])?;
    for (factors, scale, fits) in [
        ("2", "3", false),
        ("2", "4", true),
        ("2,2", "2", true),
        ("4", "2", true),
    ] {
        let build = ["pyramid", "g", "--replace", "--bin-shape", "10,10,10"];
        let ran =
            home.zvf(&[&build[..], &["--factors", factors, "--chunk-scale", scale]].concat())?;
        assert_eq!(
            ran.code,
            if fits { 0 } else { 2 },
            "{factors} {scale}: {}",
            ran.stderr
        );
        match fits {
            true => home.validates("g")?,
            false => assert!(ran.stderr.contains("whole bins"), "{}", ran.stderr),
        }
    }
    Ok(())
}

/// Attributes with the names of columns of tables keep their own values in coarse levels.
#[test]
fn attributes_named_like_columns_have_their_own_values() -> Result<()> {
    let home = Home::made(&[
        (
            "../n.csv",
            "x,y,z,position,row,chunk\n1,1,1,7,70,a\n2,2,2,8,80,b\n9,9,9,9,90,c\n".into(),
        ),
        ("../e.csv", "a,b,vertices\n0,1,1.5\n1,2,2.5\n".into()),
    ])?;
    let import = [
        "import", "n.csv", "g", "--kind", "graph", "--edges", "e.csv",
    ];
    let more = ["--link-columns", "a,b", "--chunk-shape", "10,10,10"];
    home.text(&[&import[..], &more].concat())?;
    home.text(&[
        "pyramid",
        "g",
        "--factors",
        "1",
        "--bin-shape",
        "1,1,1",
        "--cross-links",
        "explicit",
    ])?;
    let rows = |level| -> Result<Vec<String>> {
        let text = home.text(&["query", "g", "--level", level, "--format", "csv"])?;
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        rows.sort();
        Ok(rows)
    };
    assert_eq!(rows("1")?, rows("0")?);
    assert!(
        rows("1")?.iter().any(|row| row.contains("a,7,70")),
        "{:?}",
        rows("1")?
    );
    let links = |level| -> Result<Vec<String>> {
        let found = home.json(&["links", "g", "--level", level, "--json"])?;
        let links = found["links"].as_array().context("links")?;
        let mut values: Vec<String> = links
            .iter()
            .map(|link| link["vertices"].to_string())
            .collect();
        values.sort();
        Ok(values)
    };
    assert_eq!(links("1")?, links("0")?);
    assert_eq!(links("1")?, ["1.5", "2.5"]);
    home.validates("g")
}

/// Vertices that are all at one position are no special case.
#[test]
fn automatic_levels_of_one_position() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "x,y,z\n1,1,1\n1,1,1\n1,1,1\n1,1,1\n".into()),
        ("../e.csv", "a,b\n0,1\n1,2\n2,3\n".into()),
    ])?;
    let import = [
        "import", "n.csv", "g", "--kind", "graph", "--edges", "e.csv",
    ];
    let more = ["--link-columns", "a,b", "--chunk-shape", "9,9,9"];
    home.text(&[&import[..], &more].concat())?;
    home.text(&["pyramid", "g", "--levels-until", "1"])?;
    home.validates("g")
}

/// Bins follow the distance of vertices that links join: boxes that hold many vertices, but no link, merge nothing.
#[test]
fn skeletons_with_long_steps_become_smaller() -> Result<()> {
    let mut swc = String::new();
    for n in 0..12_000 {
        // Layers of 13 that fill a box of 200 by 60 by 13: the next vertex is beyond the nearest ones.
        let parent = if n == 0 { -1 } else { n };
        let [x, y, z] = [n % 200, n / 200, n * 7 % 13];
        writeln!(swc, "{} 2 {x} {y} {z} 1 {parent}", n + 1)?;
    }
    let home = Home::made(&[("../deep.swc", swc.into())])?;
    home.text(&["import", "deep.swc", "made.zv"])?;
    let made = home.json(&["pyramid", "made.zv", "--levels-until", "1000", "--json"])?;
    // Bins cut the layers or do not, so that the number of vertices falls in steps.
    assert_eq!(made["warnings"], Value::Array(Vec::new()), "{made}");
    let last = made["levels"].as_array().and_then(|levels| levels.last());
    let last = last.context("a level")?["vertices"].as_u64();
    assert!(last.context("a count")? < 1300, "{made}");
    home.validates("made.zv")
}

/// Bins that merge neighbours along a tangled line soon merge all of it: levels end early, and the report states it.
#[test]
fn levels_that_end_early_are_warned_of() -> Result<()> {
    let mut swc = String::new();
    let mut at = [30.0; 3];
    for n in 0..12_000_u32 {
        for (axis, at) in (0..3).zip(&mut at) {
            let step = if random(n * 3 + axis) < 0.5 {
                -4.0
            } else {
                4.0
            };
            let inside = (0.0..60.0).contains(&(*at + step));
            *at += if inside { step } else { -step };
        }
        let [x, y, z] = at;
        let parent = if n == 0 { -1 } else { i64::from(n) };
        writeln!(swc, "{} 2 {x} {y} {z} 1 {parent}", n + 1)?;
    }
    let home = Home::made(&[("../walk.swc", swc.into())])?;
    home.text(&["import", "walk.swc", "made.zv"])?;
    let made = home.json(&["pyramid", "made.zv", "--levels-until", "1000", "--json"])?;
    let last = made["levels"].as_array().and_then(|levels| levels.last());
    let last = last.context("a level")?["vertices"]
        .as_u64()
        .context("a count")?;
    assert!((2_000..6_000).contains(&last), "{made}");
    let says = format!("has {last} vertices, expected about 1000");
    let warnings = made["warnings"].to_string();
    assert!(warnings.contains(&says), "{made}");
    home.validates("made.zv")?;
    // Bins as large as the data merge all of it: the report does not claim that no bins merge more.
    let helps = "larger bins may leave far fewer: `--replace --factors N,..` chooses them";
    assert!(warnings.contains(helps), "{made}");
    let larger = ["--replace", "--factors", "2,2,2", "--json"];
    let made = home.json(&[&["pyramid", "made.zv"][..], &larger].concat())?;
    assert!(
        made["levels"][2]["vertices"].as_u64() < Some(1000),
        "{made}"
    );
    Ok(())
}

/// A cell that moves and divides: its vertices are in different frames, so that no bin merges them, and whole objects are left out.
#[test]
fn lineages_become_fewer() -> Result<()> {
    let (objects, frames) = (120, 40);
    let (mut nodes, mut edges) = ("t,x,y,z,object_id\n".to_owned(), "a,b\n".to_owned());
    for object in 0..objects {
        for frame in 0..frames {
            let vertex = object * frames + frame;
            let [x, y, z] =
                [1, 2, 3].map(|axis| 90.0 * random(object * 3 + axis) + f64::from(frame) / 9.0);
            writeln!(nodes, "{frame},{x},{y},{z},{object}")?;
            if frame > 0 {
                writeln!(edges, "{vertex},{}", vertex - 1)?;
            }
        }
    }
    let rows = nodes.lines().filter_map(|row| row.rsplit_once(','));
    let nodes_without_ids: Vec<&str> = rows.map(|(row, _)| row).collect();
    let nodes_without_ids = nodes_without_ids.join("\n");
    let home = Home::made(&[("../n.csv", nodes.into()), ("../e.csv", edges.into())])?;
    let import = |nodes: &str, store: &str| {
        let chunks = "--chunk-shape=10,25,25,25";
        let edges = ["--edges=e.csv", "--link-columns=a,b", "--position=t,x,y,z"];
        home.text(
            &[
                &["import", nodes, store, "--kind=graph", chunks][..],
                &edges,
            ]
            .concat(),
        )
    };
    import("n.csv", "made.zv")?;
    levels(&home, "1000", 4_800, 3)?;
    // One object with the same vertices: no object can be left out.
    std::fs::write(home.file("one.csv"), nodes_without_ids)?;
    import("one.csv", "one.zv")?;
    let before = files(&home.file("one.zv"))?;
    let ran = home.zvf(&["pyramid", "one.zv", "--levels-until", "1000"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("of 4800 vertices"), "{}", ran.stderr);
    assert_eq!(files(&home.file("one.zv"))?, before);
    Ok(())
}

/// A graph may have each edge in both directions: its levels are those of one with each edge once.
#[test]
fn edges_in_both_directions_count_once() -> Result<()> {
    let home = Home::made(&[])?;
    let mut nodes = "x,y,z,object_id\n".to_owned();
    let (mut once, mut twice) = ("source,target\n".to_owned(), "source,target\n".to_owned());
    let mut at = [0.0; 3];
    for n in 0..4000_u32 {
        writeln!(nodes, "{},{},{},0", at[0], at[1], at[2])?;
        for (axis, at) in (0..3).zip(&mut at) {
            *at += random(n * 3 + axis) - 0.5;
        }
        if n > 0 {
            writeln!(once, "{},{n}", n - 1)?;
            writeln!(twice, "{},{n}\n{n},{}", n - 1, n - 1)?;
        }
    }
    std::fs::write(home.file("n.csv"), nodes)?;
    let mut all = Vec::new();
    for (name, edges) in [("once", once), ("twice", twice)] {
        std::fs::write(home.file("e.csv"), edges)?;
        let import = [
            "import", "n.csv", name, "--kind", "graph", "--edges", "e.csv",
        ];
        home.text(&[&import[..], &["--chunk-shape", "64,64,64"]].concat())?;
        let mut levels = Vec::new();
        for flags in [
            &["--levels-until", "100"][..],
            &["--factors", "4", "--replace"],
        ] {
            let made = home.json(&[&["pyramid", name, "--json"], flags].concat())?;
            let many = made["levels"].as_array().context("levels")?.len();
            for level in 1..=many {
                let level = level.to_string();
                levels.push(home.text(&["query", name, "--level", &level, "--format", "csv"])?);
            }
        }
        all.push(levels);
    }
    ensure!(all[0] == all[1], "{all:?}");
    Ok(())
}

/// Distances along axes of several units have no unit, so that there is no bound in one; of lines that are chosen by the data there is none, either.
#[test]
fn distances_without_a_unit_bound_nothing() -> Result<()> {
    let mut rows = "x,y,z,object_id\n".to_owned();
    for n in 0..400_u32 {
        let [x, y, z] = [0, 1, 2].map(|axis| random(n * 3 + axis) * 50.0);
        writeln!(rows, "{x},{y},{z},{}", n / 2)?;
    }
    let home = Home::made(&[("../v.csv", rows.into())])?;
    for (kind, units, flags, bounded, warned) in [
        ("polyline", "um", ["--factors", "2"], true, false),
        (
            "polyline",
            "x=um,y=um,z=mm",
            ["--factors", "2"],
            false,
            true,
        ),
        ("line", "um", ["--levels-until", "100"], false, false),
    ] {
        let store = format!("{kind}-{warned}");
        home.text(&["import", "v.csv", &store, "--kind", kind, "--unit", units])?;
        let made = home.json(&[&["pyramid", &store, "--json"], &flags[..]].concat())?;
        let bound = &made["levels"][0]["error_bound"];
        assert_eq!(bound.is_f64(), bounded, "{kind}, {units}: {made}");
        let says = made["warnings"]
            .to_string()
            .contains("axis z in millimeter");
        assert_eq!(says, warned, "{kind}, {units}: {made}");
        home.validates(&store)?;
    }
    Ok(())
}

/// Truth values have no value that means missing: objects that a level leaves out keep theirs. Other values of them are missing.
#[test]
fn truth_values_of_objects_that_are_left_out_stay() -> Result<()> {
    let (mut rows, mut objects) = (
        "x,y,z,object_id\n".to_owned(),
        "object_id,ok,many,n\n".to_owned(),
    );
    for object in 0..8 {
        for n in 0..6 {
            writeln!(rows, "{},{n},0,{object}", object * 3)?;
        }
        writeln!(objects, "{object},{},true,{}", object != 3, object + 100)?;
    }
    let home = Home::made(&[("../v.csv", rows.into()), ("../o.csv", objects.into())])?;
    home.text(&["import", "v.csv", "s.zv", "--kind", "polyline"])?;
    for (name, kind) in [("ok", "bool"), ("many", "bool"), ("n", "uint8")] {
        home.text(&[
            "edit",
            "s.zv",
            "set-attribute",
            name,
            "--object",
            "--type",
            kind,
            "--from",
            "o.csv",
        ])?;
    }
    let values = |level: &str, name: &str| -> Result<Vec<Value>> {
        let told = home.json(&["objects", "s.zv", "--level", level, "--json"])?;
        let objects = told["objects"].as_array().context("objects")?;
        Ok(objects.iter().map(|one| one[name].clone()).collect())
    };
    let flags = ["--factors", "2", "--sparsity", "4", "--method", "reference"];
    home.text(&[&["pyramid", "s.zv"], &flags[..]].concat())?;
    for name in ["ok", "many"] {
        assert_eq!(values("1", name)?, values("0", name)?, "{name}");
    }
    let missing = values("1", "n")?.iter().filter(|one| one.is_null()).count();
    assert_eq!(missing, 6);
    home.validates("s.zv")
}

/// One of four objects of the finer level is kept at each level, until one is left.
#[test]
fn a_sparsity_is_that_of_the_finer_level() -> Result<()> {
    let mut table = "x,y,z,object_id\n".to_owned();
    for row in 0..64 * 20_u32 {
        let at = |n| random(row * 3 + n) * 50.0;
        writeln!(table, "{},{},{},{}", at(0), at(1), at(2), row / 20)?;
    }
    let home = Home::made(&[("../s.csv", table.into())])?;
    home.text(&["import", "s.csv", "s.zv", "--kind", "streamline"])?;
    let objects = |level: &str| -> Result<Vec<u64>> {
        let found = home.text(&["query", "s.zv", "--level", level, "--format", "ndjson"])?;
        let rows = found.lines().map(serde_json::from_str::<Value>);
        let ids = rows.map(|row| row?["object_id"].as_u64().context("an id"));
        let mut ids: Vec<u64> = ids.collect::<Result<_>>()?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    };
    for (flags, wanted) in [
        (["--factors", "2,2,2", "--sparsity", "4"], [16, 4, 1]),
        (["--factors", "2,2,2", "--sparsity", "8,4,2"], [8, 2, 1]),
    ] {
        home.text(&[&["pyramid", "s.zv", "--replace"][..], &flags].concat())?;
        let mut finer: Vec<u64> = (0..64).collect();
        for (level, count) in ["1", "2", "3"].into_iter().zip(wanted) {
            let kept = objects(level)?;
            ensure!(kept.len() == count, "level {level}: {kept:?}");
            ensure!(kept.iter().all(|id| finer.contains(id)), "level {level}");
            finer = kept;
        }
        home.validates("s.zv")?;
    }
    Ok(())
}

#[test]
fn levels_of_tiny_chunks_state_their_chunks() -> Result<()> {
    let mut table = "x,y,z\n".to_owned();
    for row in 0..4000_u32 {
        let at = |n| (random(row * 3 + n) - 0.5) * 1e-8;
        writeln!(table, "{:e},{:e},{:e}", at(0), at(1), at(2))?;
    }
    let home = Home::made(&[("../d.csv", table.into())])?;
    let shape = [
        "--kind",
        "point_cloud",
        "--chunk-shape",
        "5e-10,5e-10,5e-10",
    ];
    home.text(&[&["import", "d.csv", "t.zv"][..], &shape].concat())?;
    home.text(&["pyramid", "t.zv", "--levels-until", "200"])?;
    home.validates("t.zv")
}

//! `zvf resample`, compared with plain computations over the input points.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{Home, STORE};

/// The rows of each object in their order: positions, and further columns as texts.
pub(crate) type Lines = BTreeMap<i64, Vec<(Vec<f64>, Vec<String>)>>;

pub(crate) fn lines(home: &Home, store: &str, columns: &[&str]) -> Result<Lines> {
    let listed = home.json(&["objects", store, "--json"])?;
    let ids = listed["objects"].as_array().context("objects")?.iter();
    let ids: Vec<String> = ids.map(|one| one["object_id"].to_string()).collect();
    fs::write(home.file("ids.txt"), ids.join("\n"))?;
    let columns = [&["object_id", "position"], columns].concat();
    let columns = columns.join(",");
    let line = [
        "query",
        store,
        "--objects",
        "@ids.txt",
        "--format",
        "csv",
        "--columns",
        &columns,
    ];
    let mut found = Lines::new();
    let text = home.text(&line)?;
    let (header, body) = text.split_once('\n').context("a header")?;
    let names: Vec<&str> = header.split(',').collect();
    let id_at = names.iter().position(|name| *name == "object_id");
    let id_at = id_at.context("ids")?;
    let is_axis = |name: &str| ["x", "y", "z"].contains(&name);
    for row in body.lines() {
        let (mut position, mut values, mut id) = (Vec::new(), Vec::new(), 0);
        for (at, field) in row.split(',').enumerate() {
            match names[at] {
                name if is_axis(name) => position.push(field.parse()?),
                _ if at == id_at => id = field.parse()?,
                _ => values.push(field.to_owned()),
            }
        }
        found.entry(id).or_default().push((position, values));
    }
    Ok(found)
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    square.sqrt()
}

pub(crate) fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= 2e-5 * b.abs().max(1.0))
}

pub(crate) fn length<'p>(points: impl Iterator<Item = &'p Vec<f64>>) -> f64 {
    let points: Vec<&Vec<f64>> = points.collect();
    points.windows(2).map(|pair| far(pair[0], pair[1])).sum()
}

/// The segment at a distance along the line, and the share of the segment; searches all segments from the first one on.
fn at(points: &[&Vec<f64>], way: f64) -> (usize, f64) {
    let mut before = 0.0;
    for (number, pair) in points.windows(2).enumerate() {
        let own = far(pair[0], pair[1]);
        if before + own >= way && own > 0.0 {
            return (number, (way - before) / own);
        }
        before += own;
    }
    (points.len() - 2, 1.0)
}

fn mixed(a: &[f64], b: &[f64], share: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + (b - a) * share).collect()
}

/// Winding lines with floats, integers, texts and repeated points; one line has a single point.
fn made() -> Result<Home> {
    let mut table = String::from("x,y,z,id,w,n,kind\n");
    let mut state = 7_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    };
    for id in [3_i64, -5, 8, 21, 40] {
        let count = if id == 21 {
            1
        } else {
            4 + id.unsigned_abs() % 9 * 5
        };
        let mut place = [random() * 50.0, random() * 50.0, random() * 50.0];
        for row in 0..count {
            if row % 7 != 3 {
                place
                    .iter_mut()
                    .for_each(|one| *one += random() * 4.0 - 1.5);
            }
            let kind = ["axon", "soma", ""][(row % 3) as usize];
            let [x, y, z] = place;
            table.push_str(&format!("{x},{y},{z},{id},{},{row},{kind}\n", random()));
        }
    }
    let home = Home::made(&[("../t.csv", table.into())])?;
    let import = [
        "import",
        "t.csv",
        "t.zv",
        "--kind",
        "polyline",
        "--object-column",
        "id",
    ];
    home.text(&[&import[..], &["--unit", "micrometer", "-q"]].concat())?;
    fs::write(
        home.file("side.csv"),
        "object_id,side,age\n3,left,7\n-5,right,8\n8,left,9\n21,x,1\n40,y,2\n",
    )?;
    let set = [
        "edit",
        "t.zv",
        "set-attribute",
        "--object",
        "--from",
        "side.csv",
    ];
    home.text(&[&set[..], &["side", "--type", "text"]].concat())?;
    home.text(&[&set[..], &["age", "--type", "int64"]].concat())?;
    home.text(&["edit", "t.zv", "group", "add", "some", "3", "8"])?;
    Ok(home)
}

#[test]
fn points_are_at_equal_arc_length() -> Result<()> {
    let home = made()?;
    let columns = ["w", "n", "kind"];
    let source = lines(&home, "t.zv", &columns)?;
    for count in [2_usize, 3, 17, 500] {
        let (words, store) = (count.to_string(), format!("p{count}.zv"));
        let told = home.json(&[
            "resample", "t.zv", &store, "--points", &words, "--json", "-q",
        ])?;
        assert_eq!(told["vertices"].as_u64(), Some(4 * count as u64 + 1));
        assert_eq!(
            (told["objects"].as_u64(), told["kept"].as_u64()),
            (Some(5), Some(1))
        );
        let found = lines(&home, &store, &columns)?;
        assert!(found.keys().eq(source.keys()));
        assert_eq!(found[&21], source[&21]);
        for (id, rows) in source.iter().filter(|(id, _)| **id != 21) {
            let points: Vec<&Vec<f64>> = rows.iter().map(|(place, _)| place).collect();
            let whole = length(points.iter().copied());
            let new = &found[id];
            assert_eq!(new.len(), count);
            assert_eq!(
                (new.first(), new.last()),
                (rows.first(), rows.last()),
                "{id}"
            );
            for (number, (place, values)) in new.iter().enumerate().skip(1).take(count - 2) {
                let (from, share) = at(&points, whole * number as f64 / (count - 1) as f64);
                let (a, b) = (&rows[from], &rows[from + 1]);
                let wanted = mixed(&a.0, &b.0, share);
                ensure!(near(place, &wanted), "{id} {number}: {place:?} {wanted:?}");
                let weight = |row: &(Vec<f64>, Vec<String>)| row.1[0].parse::<f64>();
                let wanted = mixed(&[weight(a)?], &[weight(b)?], share);
                ensure!(
                    near(&[values[0].parse()?], &wanted),
                    "{id}: {values:?} {wanted:?}"
                );
                if (share - 0.5).abs() > 1e-3 {
                    let row = if share > 0.5 { b } else { a };
                    assert_eq!(values[1..], row.1[1..], "{id} {number}");
                }
            }
        }
        let lengths = found
            .values()
            .map(|rows| length(rows.iter().map(|(place, _)| place)));
        let lengths: f64 = lengths.sum();
        ensure!(
            near(&[told["length"].as_f64().context("length")?], &[lengths]),
            "{told}"
        );
    }
    // With this many new points, the new lines are as long as the old ones.
    let told = home.json(&[
        "resample", "t.zv", "fine.zv", "--points", "20000", "--json", "-q",
    ])?;
    let (before, after) = (told["length_before"].as_f64(), told["length"].as_f64());
    let (before, after) = (before.context("length")?, after.context("length")?);
    ensure!(after <= before && after > 0.999 * before, "{told}");
    Ok(())
}

/// A line in a plane stays in it, to the last bit.
#[test]
fn what_is_equal_at_both_ends_is_equal_between_them() -> Result<()> {
    let end = "0.12345678901,10,0.12345678901,1";
    let lines = format!("x,y,z,d,object_id\n0,{end}\n9,{end}\n");
    let home = Home::made(&[("../l.csv", lines.into())])?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline"])?;
    home.text(&["resample", "l.zv", "r.zv", "--points", "40"])?;
    let found = home.text(&["query", "r.zv", "--columns", "y,z,d", "--format", "csv"])?;
    let row = "0.12345678901,10.0,0.12345678901\n";
    assert_eq!(found, format!("y,z,d\n{}", row.repeat(40)));
    Ok(())
}

#[test]
fn what_does_not_belong_to_points_is_kept() -> Result<()> {
    let home = made()?;
    home.text(&["resample", "t.zv", "u.zv", "--step", "0.5", "-q"])?;
    for command in [
        &["objects", "u.zv", "--json"][..],
        &[
            "query",
            "u.zv",
            "--groups",
            "some",
            "--columns",
            "object_id",
            "--format",
            "csv",
        ],
    ] {
        let of = |store: &str| -> Vec<String> {
            let line = command
                .iter()
                .map(|word| if *word == "u.zv" { store } else { word });
            line.map(str::to_owned).collect()
        };
        let run =
            |store: &str| home.text(&of(store).iter().map(String::as_str).collect::<Vec<_>>());
        let (old, new) = (run("t.zv")?, run("u.zv")?);
        if command[0] == "objects" {
            let kept = |text: &str| -> Result<Vec<Value>> {
                let all: Value = serde_json::from_str(text)?;
                let all = all["objects"].as_array().context("objects")?.clone();
                Ok(all
                    .iter()
                    .map(|one| serde_json::json!([one["object_id"], one["side"], one["age"]]))
                    .collect())
            };
            let (old, new) = (kept(&old)?, kept(&new)?);
            ensure!(
                old == new && old.iter().any(|one| one[1] == "left" && one[2] == 9),
                "{new:?}"
            );
        } else {
            let ids = |text: &str| {
                let mut ids: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
                ids.dedup();
                ids
            };
            assert_eq!(ids(&new), ["3", "8"]);
            assert_eq!(ids(&old), ["3", "8"]);
        }
    }
    let (old, new) = (
        home.json(&["info", "t.zv", "--json"])?,
        home.json(&["info", "u.zv", "--json"])?,
    );
    ensure!(!old["axes"].is_null(), "{old}");
    assert_eq!(old["axes"], new["axes"]);
    home.validates("u.zv")?;
    // A tractogram is exported to the format from which it was imported.
    let home = Home::new("real_tractogram")?;
    home.text(&["resample", STORE, "r.zv", "--points", "12", "-q"])?;
    for (store, file) in [(STORE, "old.trk"), ("r.zv", "new.trk")] {
        home.text(&["export", store, file, "-q"])?;
    }
    let (old, new) = (
        fs::read(home.file("old.trk"))?,
        fs::read(home.file("new.trk"))?,
    );
    // Dimensions, sizes of voxels and the matrix of the header.
    assert_eq!((&old[6..24], &old[440..504]), (&new[6..24], &new[440..504]));
    Ok(())
}

#[test]
fn a_step_is_the_arc_length_between_points() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let step = 1.7;
    let told = home.json(&["resample", STORE, "s.zv", "--step", "1.7", "--json", "-q"])?;
    let (source, found) = (lines(&home, STORE, &[])?, lines(&home, "s.zv", &[])?);
    assert!(found.keys().eq(source.keys()) && found.len() > 100);
    let (mut before, mut after, mut count) = (0.0, 0.0, 0);
    for (id, rows) in &source {
        let points: Vec<&Vec<f64>> = rows.iter().map(|(place, _)| place).collect();
        let whole = length(points.iter().copied());
        let new: Vec<&Vec<f64>> = found[id].iter().map(|(place, _)| place).collect();
        before += whole;
        after += length(new.iter().copied());
        count += new.len();
        assert_eq!(
            (new.first(), new.last()),
            (points.first(), points.last()),
            "{id}"
        );
        assert_eq!(
            new.len(),
            (whole / step).ceil() as usize + 1,
            "{id}: {whole}"
        );
        for (number, place) in new.iter().enumerate().take(new.len() - 1) {
            let (from, share) = at(&points, step * number as f64);
            let wanted = mixed(points[from], points[from + 1], share);
            ensure!(near(place, &wanted), "{id} {number}: {place:?} {wanted:?}");
        }
    }
    assert_eq!(told["vertices"].as_u64(), Some(count as u64));
    ensure!(
        near(
            &[told["length_before"].as_f64().context("length")?],
            &[before]
        ),
        "{told}"
    );
    ensure!(
        near(&[told["length"].as_f64().context("length")?], &[after]),
        "{told}"
    );
    let measured = home.json(&["measure", "s.zv", "--json"])?;
    let all = measured["objects"].as_array().context("objects")?.iter();
    let sum: f64 = all.filter_map(|one| one["length"].as_f64()).sum();
    ensure!(near(&[sum], &[after]), "{sum} {after}");
    Ok(())
}

/// A skeleton as SWC has it: positions by node, and parents.
type Tree = BTreeMap<i64, (Vec<f64>, i64)>;

fn tree(home: &Home, store: &str) -> Result<Tree> {
    home.text(&["export", store, "tree.swc", "-q"])?;
    let mut tree = Tree::new();
    for line in fs::read_to_string(home.file("tree.swc"))?.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with('#') || fields.len() != 7 {
            continue;
        }
        let place = fields[2..5]
            .iter()
            .map(|field| field.parse())
            .collect::<Result<_, _>>()?;
        tree.insert(fields[0].parse()?, (place, fields[6].parse()?));
    }
    Ok(tree)
}

/// The rows of each path of a tree from the root to a tip.
fn ways(tree: &Tree) -> Vec<Vec<&Vec<f64>>> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (node, (_, parent)) in tree {
        children.entry(*parent).or_default().push(*node);
    }
    let none = Vec::new();
    let mut found = Vec::new();
    let starts = tree.iter().filter(|(node, (_, parent))| {
        *parent == -1 || children.get(node).is_some_and(|own| own.len() > 1)
    });
    for (start, (place, _)) in starts {
        for child in children.get(start).unwrap_or(&none) {
            let mut way = vec![place, &tree[child].0];
            let mut end = *child;
            while let [only] = children.get(&end).unwrap_or(&none)[..] {
                way.push(&tree[&only].0);
                end = only;
            }
            found.push(way);
        }
    }
    found
}

#[test]
fn skeletons_keep_roots_branches_and_tips() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let measured = |store: &str| -> Result<Value> {
        let found = home.json(&["measure", store, "--json"])?;
        Ok(found["objects"][0].clone())
    };
    let old = measured(STORE)?;
    let whole = old["length"].as_f64().context("length")?;
    let step = whole / 4000.0;
    let told = home.json(&[
        "resample",
        STORE,
        "k.zv",
        "--step",
        &step.to_string(),
        "--json",
        "-q",
    ])?;
    let new = measured("k.zv")?;
    for name in ["object_id", "branches", "tips", "strahler"] {
        assert_eq!(old[name], new[name], "{name}");
    }
    let (source, found) = (tree(&home, STORE)?, tree(&home, "k.zv")?);
    let rounded = |place: &[f64]| -> Vec<i64> {
        place
            .iter()
            .map(|one| (one * 64.0 / step).round() as i64)
            .collect()
    };
    let mut wanted: Vec<Vec<f64>> = Vec::new();
    for way in ways(&source) {
        let whole = length(way.iter().copied());
        let mut number = 1.0;
        while step * number < whole - step * 1e-6 {
            let (from, share) = at(&way, step * number);
            wanted.push(mixed(way[from], way[from + 1], share));
            number += 1.0;
        }
        wanted.push(way[way.len() - 1].clone());
    }
    let roots = source.values().filter(|(_, parent)| *parent == -1);
    wanted.extend(roots.map(|(place, _)| place.clone()));
    assert_eq!(told["vertices"].as_u64(), Some(wanted.len() as u64));
    assert_eq!(found.len(), wanted.len());
    // Each expected point must have a new point near it: points are sorted into cells of a 64th of the step, and neighbouring cells are searched.
    let mut cells: BTreeMap<Vec<i64>, Vec<&Vec<f64>>> = BTreeMap::new();
    for (place, _) in found.values() {
        cells.entry(rounded(place)).or_default().push(place);
    }
    for place in &wanted {
        let own = rounded(place);
        let mut around = (0..27).map(|number| {
            let cell = [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1];
            own.iter()
                .zip(cell)
                .map(|(a, b)| a + b)
                .collect::<Vec<i64>>()
        });
        let there = around.any(|cell| {
            let points = cells.get(&cell).into_iter().flatten();
            points
                .into_iter()
                .any(|point| far(point, place) < step / 64.0)
        });
        ensure!(there, "{place:?}");
    }
    let after = new["length"].as_f64().context("length")?;
    ensure!(
        after <= whole * 1.000_001 && after > 0.9 * whole,
        "{whole} {after}"
    );
    ensure!(
        near(&[told["length"].as_f64().context("length")?], &[after]),
        "{told}"
    );
    home.text(&["import", "tree.swc", "named.zv", "-q"])?;
    let words = step.to_string();
    let ran = home.zvf(&["resample", "named.zv", "other.zv", "--step", &words])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ensure!(ran.stderr.contains("node_id"), "{}", ran.stderr);
    home.validates("k.zv")?;
    Ok(())
}

#[test]
fn forests_of_several_objects_stay_apart() -> Result<()> {
    let home = Home::new("skeleton")?;
    let old = home.json(&["measure", STORE, "--json"])?;
    home.text(&["resample", STORE, "k.zv", "--step", "0.25", "-q"])?;
    let new = home.json(&["measure", "k.zv", "--json"])?;
    let (old, new) = (old["objects"].as_array(), new["objects"].as_array());
    let (old, new) = (old.context("objects")?, new.context("objects")?);
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(new) {
        for name in ["object_id", "branches", "tips", "strahler"] {
            assert_eq!(old[name], new[name], "{name}: {old} {new}");
        }
        let lengths = (old["length"].as_f64(), new["length"].as_f64());
        let (old, new) = (lengths.0.context("length")?, lengths.1.context("length")?);
        ensure!(new <= old * 1.000_01 && new >= old * 0.9, "{old} {new}");
    }
    Ok(())
}

#[test]
fn what_has_no_ways_is_refused_with_the_way_out() -> Result<()> {
    for (case, flags, words) in [
        ("lines", &["--points", "3"][..], "--kind polyline"),
        ("graph", &["--step", "1"], "'{id}.swc'"),
        (
            "mesh",
            &["--points", "3"],
            "polylines, streamlines or skeletons",
        ),
        ("points_ids", &["--points", "3"], "sample-rows"),
        ("skeleton", &["--points", "3"], "a step"),
        ("streamlines", &["--points", "1"], "2 or more"),
        ("streamlines", &["--step", "0"], "above 0"),
        ("streamlines", &["--step", "-1"], "above 0"),
        ("streamlines", &["--step", "nan"], "above 0"),
        ("streamlines", &["--step", "1e-300"], "a longer step"),
        (
            "streamlines",
            &["--step", "1", "--points", "3"],
            "--points: found --step as well",
        ),
        ("streamlines", &[], "--points"),
    ] {
        let home = Home::new(case)?;
        let ran = home.zvf(&[&["resample", STORE, "no.zv"], flags].concat())?;
        assert_eq!(ran.code, 2, "{case} {flags:?}: {}", ran.stderr);
        ensure!(ran.stderr.contains(words), "{case}: {}", ran.stderr);
        ensure!(!home.file("no.zv/zarr.json").exists(), "{case}");
    }
    let home = Home::new("skeleton")?;
    let ran = home.zvf(&[
        "resample",
        STORE,
        "no.zv",
        "--step",
        "1e-7",
        "--memory-budget",
        "1M",
    ])?;
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    ensure!(ran.stderr.contains("a longer step"), "{}", ran.stderr);
    ensure!(!home.file("no.zv/zarr.json").exists());
    let home = Home::new("streamlines")?;
    home.text(&["resample", STORE, "one.zv", "--points", "3", "-q"])?;
    let ran = home.zvf(&["resample", STORE, "one.zv", "--points", "4"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    Ok(())
}

/// The commands that `zvf resample` suggests work.
#[test]
fn the_ways_out_lead_there() -> Result<()> {
    let home = Home::new("lines")?;
    home.text(&["export", STORE, "lines.csv", "-q"])?;
    let import = ["import", "lines.csv", "SRC2.zv", "--kind", "polyline"];
    home.text(&[&import[..], &["--object-column", "object_id", "-q"]].concat())?;
    home.text(&["resample", "SRC2.zv", "three.zv", "--points", "3", "-q"])?;
    let (old, new) = (lines(&home, STORE, &[])?, lines(&home, "three.zv", &[])?);
    assert!(old.keys().eq(new.keys()));
    for (id, rows) in &old {
        let middle = mixed(&rows[0].0, &rows[1].0, 0.5);
        ensure!(near(&new[id][1].0, &middle), "{id}");
        assert_eq!((&new[id][0].0, &new[id][2].0), (&rows[0].0, &rows[1].0));
    }
    Ok(())
}

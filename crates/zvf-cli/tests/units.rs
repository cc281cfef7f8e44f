//! Units, maps and times from file to file, in all combinations. Expected values are computed from the numbers of the input files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::run::Home;
use zvf_testkit::sample::Sample;

/// The rows of a CSV text, as numbers.
fn rows(text: &str) -> Result<Vec<Vec<f64>>> {
    let lines = text.lines().skip(1);
    lines
        .map(|line| {
            let numbers = line.split(',').map(str::parse::<f64>);
            numbers.collect::<Result<_, _>>().context(line.to_owned())
        })
        .collect()
}

fn positions(home: &Home, store: &str) -> Result<Vec<Vec<f64>>> {
    rows(&home.text(&["query", store, "--columns", "position", "--format", "csv"])?)
}

/// Runs a command that succeeds; returns its stderr.
fn said(home: &Home, args: &[&str]) -> Result<String> {
    let ran = home.zvf(args)?;
    ensure!(ran.code == 0, "{args:?}: {}", ran.stderr);
    Ok(ran.stderr)
}

const SWC: &str = "1 1 0 0 0 1 -1\n2 3 100 0 0 1 1\n";

#[test]
fn files_without_a_frame_are_mapped_as_those_that_made_the_store() -> Result<()> {
    let home = Home::made(&[
        ("../1.swc", SWC.into()),
        ("../2.swc", SWC.into()),
        ("../3.swc", SWC.into()),
        ("../v.csv", "x,y,z\n1,1,1\n".into()),
        ("../v.ndjson", "{\"x\":1,\"y\":1,\"z\":1}\n".into()),
        ("../v.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 1 1\n".into()),
        ("../a.txt", "2 0 0 100\n0 2 0 100\n0 0 2 100\n0 0 0 1\n".into()),
    ])?;
    home.text(&["import", "1.swc", "n.zv", "--unit", "8nm"])?;
    let note = said(&home, &["append", "n.zv", "2.swc"])?;
    assert!(
        note.contains("multiplied by 8") && note.contains("--unit nanometer"),
        "{note}"
    );
    let two = rows(&home.text(&[
        "query",
        "n.zv",
        "--objects",
        "2",
        "--columns",
        "position,attributes",
        "--attributes",
        "radius",
        "--format",
        "csv",
    ])?)?;
    assert_eq!(two, [[0.0, 0.0, 0.0, 8.0], [800.0, 0.0, 0.0, 8.0]]);
    // Another map applies only to its file, and the note names both maps.
    let note = said(&home, &["append", "n.zv", "3.swc", "--unit", "um"])?;
    assert!(
        note.contains("--unit um") && note.contains("multiplied by 8"),
        "{note}"
    );
    let three = rows(&home.text(&[
        "query",
        "n.zv",
        "--objects",
        "3",
        "--columns",
        "position,attributes",
        "--attributes",
        "radius",
        "--format",
        "csv",
    ])?)?;
    assert_eq!(
        three,
        [[0.0, 0.0, 0.0, 1000.0], [100_000.0, 0.0, 0.0, 1000.0]]
    );

    for (flags, wanted) in [
        (["--affine", "a.txt"], [102.0; 3]),
        (["--scale", "2"], [2.0; 3]),
        (["--scale", "1,2,4"], [1.0, 2.0, 4.0]),
        (["--unit", "4um"], [4.0; 3]),
    ] {
        for file in ["v.csv", "v.ndjson", "v.ply"] {
            let store = format!("{}{file}.zv", flags[1].replace(',', "-"));
            home.text(&[&["import", "v.csv", &store], &flags[..]].concat())?;
            home.text(&["append", &store, file])?;
            home.text(&["edit", &store, "append", "v.csv"])?;
            assert_eq!(
                positions(&home, &store)?,
                vec![wanted; 3],
                "{flags:?} {file}"
            );
            // The map survives edits and copies.
            home.text(&["rechunk", &store, "copy.zv", "--chunk-shape", "7,7,7"])?;
            home.text(&["append", "copy.zv", file])?;
            assert_eq!(
                positions(&home, "copy.zv")?,
                vec![wanted; 4],
                "{flags:?} {file}"
            );
            std::fs::remove_dir_all(home.file("copy.zv"))?;
            let text = home.text(&["info", &store])?;
            assert!(text.contains("transformed"), "{text}");
        }
    }
    // Axes are matched by their names.
    std::fs::write(home.file("w.csv"), "x,y,z\n1,2,3\n")?;
    std::fs::write(
        home.file("w.ply"),
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n",
    )?;
    home.text(&["import", "w.csv", "zyx.zv", "--position", "z,y,x"])?;
    home.text(&["append", "zyx.zv", "w.csv"])?;
    home.text(&["append", "zyx.zv", "w.ply"])?;
    let mut found = positions(&home, "zyx.zv")?;
    found.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(found, [[3.0, 2.0, 1.0]; 3]);
    // Files that a store writes are in its frame: the map is not applied twice.
    for file in ["o.arrow", "o.parquet", "o"] {
        home.text(&["import", "v.csv", "own.zv", "--affine", "a.txt"])?;
        home.text(&["query", "own.zv", "-o", file])?;
        home.text(&["append", "own.zv", file])?;
        assert_eq!(positions(&home, "own.zv")?, vec![[102.0; 3]; 2], "{file}");
        std::fs::remove_dir_all(home.file("own.zv"))?;
    }
    Ok(())
}

#[test]
fn tables_that_state_units_are_converted() -> Result<()> {
    let home = Home::made(&[("../v.csv", "x,y,z\n1,2,3\n".into())])?;
    home.text(&["import", "v.csv", "um.zv", "--unit", "um"])?;
    home.text(&["query", "um.zv", "-o", "um"])?;
    home.text(&["query", "um.zv", "-o", "um.parquet"])?;
    home.text(&["export", "um.zv", "um.arrow"])?;
    for from in ["um", "um.parquet", "um.arrow"] {
        home.text(&["import", "v.csv", "nm.zv", "--unit", "nm"])?;
        let note = said(&home, &["append", "nm.zv", from])?;
        assert!(note.contains("from micrometer to nanometer"), "{note}");
        let mut found = positions(&home, "nm.zv")?;
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(found, [[1.0, 2.0, 3.0], [1000.0, 2000.0, 3000.0]], "{from}");
        std::fs::remove_dir_all(home.file("nm.zv"))?;
    }
    // A new store has the units of the table; another unit is refused.
    home.text(&["import", "um.parquet", "again.zv"])?;
    let info = home.json(&["info", "again.zv", "--json"])?;
    assert_eq!(info["axes"][2]["unit"], json!("micrometer"));
    let ran = home.zvf(&["import", "um.parquet", "other.zv", "--unit", "nm"])?;
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("micrometer") && ran.stderr.contains("nanometer"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["append", "um.zv", "um.arrow", "--unit", "nm"])?;
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("which the files state"),
        "{}",
        ran.stderr
    );
    // Moved vertices are converted, too.
    home.text(&["import", "v.csv", "m.zv", "--unit", "nm"])?;
    home.text(&["edit", "m.zv", "move", "--from", "um.arrow", "--by-order"])?;
    assert_eq!(positions(&home, "m.zv")?, [[1000.0, 2000.0, 3000.0]]);
    // If one side has no unit, positions are taken unchanged, with a note. A length and another unit are refused.
    home.text(&["import", "v.csv", "none.zv"])?;
    let note = said(&home, &["append", "none.zv", "um.arrow"])?;
    assert!(
        note.contains("no unit") && note.contains("micrometer"),
        "{note}"
    );
    assert_eq!(positions(&home, "none.zv")?, vec![[1.0, 2.0, 3.0]; 2]);
    Ok(())
}

#[test]
fn times_are_no_lengths() -> Result<()> {
    let home = Home::made(&[
        ("../t.csv", "t,x,y,z\n0,0,0,0\n40,10,10,10\n".into()),
        ("../nii.txt", "1 0 0 5\n0 1 0 5\n0 0 1 5\n".into()),
    ])?;
    let import = |store: &str, more: &[&str]| -> Result<Vec<Vec<f64>>> {
        let line = ["import", "t.csv", store, "--position", "t,x,y,z"];
        home.text(&[&line[..], more].concat())?;
        let mut found = positions(&home, store)?;
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Ok(found)
    };
    let zero = vec![0.0; 4];
    assert_eq!(
        import("a.zv", &["--unit", "0.5um"])?,
        [zero.clone(), vec![40.0, 5.0, 5.0, 5.0]]
    );
    assert_eq!(
        import("b.zv", &["--scale", "0.5"])?,
        [zero.clone(), vec![40.0, 5.0, 5.0, 5.0]]
    );
    assert_eq!(
        import("c.zv", &["--unit", "um,t=30s"])?,
        [zero.clone(), vec![1200.0, 10.0, 10.0, 10.0]]
    );
    assert_eq!(
        import("d.zv", &["--affine", "nii.txt"])?,
        [vec![0.0, 5.0, 5.0, 5.0], vec![40.0, 15.0, 15.0, 15.0]]
    );
    assert_eq!(
        import("e.zv", &["--axis", "t:space", "--unit", "0.5um"])?,
        [zero, vec![20.0, 5.0, 5.0, 5.0]]
    );
    let axes = home.json(&["info", "c.zv", "--json"])?["axes"].clone();
    assert_eq!(
        axes[0],
        json!({"name": "t", "type": "time", "unit": "second"})
    );
    assert_eq!(
        axes[1],
        json!({"name": "x", "type": "space", "unit": "micrometer"})
    );
    let axes = home.json(&["info", "a.zv", "--json"])?["axes"].clone();
    assert_eq!(axes[0], json!({"name": "t", "type": "time", "unit": null}));
    for store in ["a.zv", "b.zv", "c.zv", "d.zv"] {
        home.text(&["validate", store, "--level", "5"])?;
    }
    for (args, hint) in [
        (["x,y,z,t", "um"], "t,x,y,z"),
        (["t,x,y,z", "t=um"], "unit of time"),
        (["t,x,y,z", "q=s"], "expected an axis: t, x, y, z"),
        (["t,x", "um"], "--axis t:space"),
    ] {
        let ran = home.zvf(&[
            "import",
            "t.csv",
            "no.zv",
            "--position",
            args[0],
            "--unit",
            args[1],
        ])?;
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(hint), "{args:?}: {}", ran.stderr);
    }
    Ok(())
}

/// A generator of well-distributed integers.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.next(list.len() as u64)).unwrap_or_default()]
    }
}

/// Units: the text of the option, the number before the unit, and the size of one in metres or seconds.
const LENGTHS: [(&str, f64, f64); 6] = [
    ("nm", 1.0, 1e-9),
    ("8nm", 8.0, 1e-9),
    ("0.5um", 0.5, 1e-6),
    ("micrometers", 1.0, 1e-6),
    ("2.5mm", 2.5, 1e-3),
    ("\u{b5}m", 1.0, 1e-6),
];
const TIMES: [(&str, f64, f64); 4] = [
    ("s", 1.0, 1.0),
    ("30s", 30.0, 1.0),
    ("ms", 1.0, 1e-3),
    ("minute", 1.0, 60.0),
];

type Positions = BTreeMap<i64, Vec<f64>>;

/// A table of some points with ids from `first` on, and their positions.
fn table(draw: &mut Draw, names: &[&str], first: i64) -> (String, Positions) {
    let mut text = format!("{},id\n", names.join(","));
    let mut all = Positions::new();
    for id in first..first + 5 {
        let row: Vec<f64> = names.iter().map(|_| draw.next(8000) as f64 / 8.0).collect();
        for value in &row {
            let _ = write!(text, "{value},");
        }
        let _ = writeln!(text, "{id}");
        all.insert(id, row);
    }
    (text, all)
}

/// Points of files are transferred into a store with other units and out of it, in all ways.
#[test]
fn units_and_times_of_every_path_by_property() -> Result<()> {
    let mut paths = 0;
    let seeds: Vec<u64> = Sample::new("units").some(0..24, 4).collect();
    for &seed in &seeds {
        let mut draw = Draw(seed);
        let timed = draw.next(2) == 1;
        let names: &[&str] = match timed {
            true => draw.of::<&[&str]>(&[
                &["t", "x", "y", "z"][..],
                &["time", "x", "y"],
                &["frame", "cx", "cy", "cz"],
            ]),
            false => draw.of::<&[&str]>(&[&["x", "y", "z"][..], &["x", "y"], &["cx", "cy", "cz"]]),
        };
        let home = Home::made(&[])?;
        let given = |draw: &mut Draw| {
            let (length, time) = (*draw.of(&LENGTHS), *draw.of(&TIMES));
            let text = match timed {
                true => format!("{},{}={}", length.0, names[0], time.0),
                false => length.0.to_owned(),
            };
            let factors: Vec<f64> = (0..names.len())
                .map(|at| if timed && at == 0 { time.1 } else { length.1 })
                .collect();
            let sizes: Vec<f64> = (0..names.len())
                .map(|at| if timed && at == 0 { time.2 } else { length.2 })
                .collect();
            (text, factors, sizes)
        };
        let scaled = |all: &Positions, by: &dyn Fn(usize) -> f64| -> Positions {
            let row = |row: &Vec<f64>| {
                row.iter()
                    .enumerate()
                    .map(|(at, one)| one * by(at))
                    .collect()
            };
            all.iter().map(|(id, one)| (*id, row(one))).collect()
        };
        let position = names.join(",");
        let mut expected = Positions::new();
        let mut check = |store: &str, expected: &Positions, what: &str| -> Result<()> {
            let text = home.text(&[
                "query",
                store,
                "--columns",
                "position,attributes",
                "--format",
                "csv",
            ])?;
            let mut found = Positions::new();
            for mut row in rows(&text)? {
                #[expect(clippy::cast_possible_truncation, reason = "small ids")]
                let id = row.pop().context("an id")? as i64;
                found.insert(id, row);
            }
            ensure!(found.len() == expected.len(), "{seed} {what}: {text}");
            for (id, row) in expected {
                let near = found[id]
                    .iter()
                    .zip(row)
                    .all(|(a, b)| (a - b).abs() <= 2e-6 * b.abs());
                ensure!(
                    near,
                    "{seed} {what}, point {id}: found {:?}, expected {row:?}",
                    found[id]
                );
            }
            paths += 1;
            Ok(())
        };
        // The store, made from a table without a frame, and its units.
        let (unit, factors, sizes) = given(&mut draw);
        let (text, all) = table(&mut draw, names, 0);
        std::fs::write(home.file("a.csv"), text)?;
        home.text(&[
            "import",
            "a.csv",
            "a.zv",
            "--position",
            &position,
            "--unit",
            &unit,
        ])?;
        expected.extend(scaled(&all, &|at| factors[at]));
        check("a.zv", &expected, "import")?;
        // More points in the same units, as CSV and as an Arrow table without metadata.
        let (text, all) = table(&mut draw, names, 10);
        std::fs::write(home.file("b.csv"), text)?;
        home.text(&["append", "a.zv", "b.csv"])?;
        expected.extend(scaled(&all, &|at| factors[at]));
        check("a.zv", &expected, "append")?;
        // Tables that state another unit.
        let (other, others, other_sizes) = given(&mut draw);
        let mut first = 20;
        for way in [
            "d",
            "q.arrow",
            "q.parquet",
            "x.arrow",
            "x.parquet",
            "i.parquet",
        ] {
            let (text, all) = table(&mut draw, names, first);
            first += 10;
            std::fs::write(home.file("c.csv"), text)?;
            let store = format!("{way}.zv");
            home.text(&[
                "import",
                "c.csv",
                &store,
                "--position",
                &position,
                "--unit",
                &other,
            ])?;
            if way.starts_with('x') {
                home.text(&["export", &store, way])?;
            } else {
                home.text(&["query", &store, "-o", way])?;
            }
            let own = scaled(&all, &|at| others[at]);
            check(&store, &own, "the other store")?;
            if way != "d" {
                // A store that is made from the table has the same axes, positions and units.
                let again = format!("again-{way}.zv");
                home.text(&["import", way, &again])?;
                check(&again, &own, "import of a table")?;
                let axes = |store: &str| {
                    Ok::<_, anyhow::Error>(home.json(&["info", store, "--json"])?["axes"].clone())
                };
                ensure!(axes(&again)? == axes(&store)?, "{seed} {way}");
            }
            home.text(&["append", "a.zv", way])?;
            expected.extend(scaled(&all, &|at| others[at] * other_sizes[at] / sizes[at]));
            check("a.zv", &expected, way)?;
        }
        // The unit of a single file is given as an option.
        let (text, all) = table(&mut draw, names, 90);
        std::fs::write(home.file("e.csv"), text)?;
        home.text(&["append", "a.zv", "e.csv", "--unit", &other])?;
        expected.extend(scaled(&all, &|at| others[at] * other_sizes[at] / sizes[at]));
        check("a.zv", &expected, "append --unit")?;
        // In an export, a file without a frame has the numbers of the store.
        home.text(&["export", "a.zv", "out.csv"])?;
        let text = std::fs::read_to_string(home.file("out.csv"))?;
        ensure!(rows(&text)?.len() == expected.len(), "{seed} export");
    }
    assert_eq!(paths, seeds.len() * (2 + 6 * 2 + 5 + 1));
    Ok(())
}

#[test]
fn coarse_levels_do_not_mix_times() -> Result<()> {
    use std::fmt::Write as _;
    // 40 frames with the same 200 points each, and tracks that rest until frame 20, then move.
    let mut draw = Draw(1);
    let places: Vec<[u64; 3]> = (0..200)
        .map(|_| [draw.next(1000), draw.next(1000), draw.next(1000)])
        .collect();
    let (mut points, mut tracks) = ("t,x,y,z\n".to_owned(), "t,x,y,z,track\n".to_owned());
    for frame in 0..40 {
        for [x, y, z] in &places {
            let _ = writeln!(points, "{frame},{x},{y},{z}");
        }
    }
    for (track, [x, y, z]) in places.iter().enumerate() {
        for frame in 0..=40_u64 {
            let _ = writeln!(
                tracks,
                "{frame},{},{y},{z},{track}",
                x + frame.saturating_sub(20) * 10
            );
        }
    }
    let home = Home::made(&[("../p.csv", points.into()), ("../t.csv", tracks.into())])?;
    home.text(&[
        "import",
        "p.csv",
        "p.zv",
        "--position",
        "t,x,y,z",
        "--unit",
        "um,t=s",
    ])?;
    home.text(&[
        "import",
        "t.csv",
        "t.zv",
        "--position",
        "t,x,y,z",
        "--object-column",
        "track",
        "--kind",
        "polyline",
    ])?;
    home.text(&["pyramid", "p.zv", "--factors", "4,4,4"])?;
    let frames = |store: &str, level: &str| -> Result<BTreeMap<i64, usize>> {
        let text = home.text(&[
            "query",
            store,
            "--level",
            level,
            "--columns",
            "position",
            "--format",
            "csv",
        ])?;
        let mut counts = BTreeMap::new();
        for row in rows(&text)? {
            #[expect(clippy::cast_possible_truncation, reason = "numbers of frames")]
            let frame = row[0] as i64;
            *counts.entry(frame).or_default() += 1;
        }
        Ok(counts)
    };
    let coarse = frames("p.zv", "3")?;
    assert_eq!(coarse.len(), 40, "every frame is left: {coarse:?}");
    let (least, most) = (coarse.values().min(), coarse.values().max());
    assert_eq!(least, most, "frames are alike: {coarse:?}");
    assert!(coarse[&0] < 200, "{coarse:?}");
    // The point at which a track begins to move remains, although the track is straight in space.
    home.text(&["pyramid", "t.zv", "--factors", "2"])?;
    let kept = frames("t.zv", "1")?;
    for frame in [0, 20, 40] {
        assert_eq!(kept.get(&frame), Some(&200), "{kept:?}");
    }
    assert!(kept.values().sum::<usize>() < 200 * 10, "{kept:?}");
    for store in ["p.zv", "t.zv"] {
        home.text(&["validate", store, "--level", "5"])?;
    }
    Ok(())
}

/// TRK, TCK and TRX files are in millimetres, whatever the unit of the store.
#[test]
fn tractograms_are_written_in_millimetres() -> Result<()> {
    let home = Home::made(&[(
        "../l.csv",
        "object_id,x,y,z\n0,1000,2000,3000\n0,4000,5000,6500\n".into(),
    )])?;
    let wanted = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]];
    for (unit, factor) in [("um", 1.0), ("8nm", 8e-3), ("mm", 1e3)] {
        let store = format!("{unit}.zv");
        home.text(&[
            "import",
            "l.csv",
            &store,
            "--kind",
            "streamline",
            "--unit",
            unit,
        ])?;
        for format in ["trk", "tck", "trx"] {
            let (file, again) = (format!("{unit}.{format}"), format!("{unit}-{format}.zv"));
            let note = said(&home, &["export", &store, &file])?;
            assert_eq!(note.contains("to millimeter"), unit != "mm", "{note}");
            home.text(&["import", &file, &again])?;
            let found = positions(&home, &again)?;
            for (row, wanted) in found.iter().zip(wanted) {
                for (value, wanted) in row.iter().zip(wanted) {
                    let wanted: f64 = wanted * factor;
                    let near = (value - wanted).abs() <= 1e-5 * wanted;
                    ensure!(near, "{file}: {found:?}");
                }
            }
            let kept = format!("kept-{file}");
            home.text(&["export", &store, &kept, "--keep-frame"])?;
        }
    }
    // A unit that is not a length is refused, and so is an axis of time.
    std::fs::write(home.file("t.csv"), "object_id,t,x,y\n0,0,1,1\n0,5,2,2\n")?;
    home.text(&[
        "import",
        "t.csv",
        "t.zv",
        "--kind",
        "polyline",
        "--position",
        "t,x,y",
    ])?;
    for format in ["trk", "tck", "trx", "obj"] {
        let ran = home.zvf(&["export", "t.zv", &format!("t.{format}")])?;
        ensure!(ran.code == 2, "{format}: {}", ran.stderr);
        ensure!(ran.stderr.contains("type time"), "{format}: {}", ran.stderr);
    }
    Ok(())
}

#[test]
fn lengths_are_in_space_and_in_one_unit() -> Result<()> {
    let rows = "id,t,x,y,z\n1,0,0,0,0\n1,5,3,4,0\n1,9,3,4,12\n";
    let home = Home::made(&[("../l.csv", rows.into())])?;
    let import = ["import", "l.csv", "t.zv", "--kind", "polyline"];
    let object = ["--object-column", "id", "--position", "t,x,y,z"];
    home.text(&[&import[..], &object, &["--unit", "t=s,um"]].concat())?;
    home.text(&["measure", "t.zv", "-o", "m.csv"])?;
    let measured = std::fs::read_to_string(home.file("m.csv"))?;
    // The segments are 5 and 12 long in space; with the seconds they would be 10.3 and 12.6.
    ensure!(measured.contains(",17.0,"), "{measured}");
    let long = [
        "query",
        "t.zv",
        "--where",
        "length() = 17",
        "--format",
        "csv",
    ];
    ensure!(home.text(&long)?.lines().count() == 4);
    home.text(&["resample", "t.zv", "r.zv", "--step", "8.5"])?;
    let points = home.text(&["query", "r.zv", "--format", "csv", "--columns", "position"])?;
    // The middle of the line is at 3.5 of the 12 of the second segment.
    ensure!(points.contains("3.0,4.0,3.5"), "{points}");
    let near = ["query", "t.zv", "--sphere", "0,0,0,5", "--format", "csv"];
    ensure!(home.text(&near)?.lines().count() == 3);
    let refused = home.zvf(&["query", "t.zv", "--sphere", "0,0,0,0,5"])?;
    ensure!(
        refused.code == 2 && refused.stderr.contains("x, y, z"),
        "{}",
        refused.stderr
    );
    // One axis gets another unit.
    let path = home.file("t.zv/zarr.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let axes = document["attributes"]["multiscales"][0]["axes"].as_array_mut();
    axes.context("axes")?[3]["unit"] = json!("nanometer");
    std::fs::write(&path, document.to_string())?;
    for words in [
        &["measure", "t.zv"][..],
        &["resample", "t.zv", "s.zv", "--step", "1"],
        &["query", "t.zv", "--where", "length() > 0"],
        &["query", "t.zv", "--sphere", "0,0,0,5"],
    ] {
        let ran = home.zvf(words)?;
        let said = ran.stderr.contains("micrometer") && ran.stderr.contains("nanometer");
        let once = !ran.stderr.contains("found found");
        ensure!(ran.code == 2 && said && once, "{words:?}: {}", ran.stderr);
    }
    home.text(&["query", "t.zv", "--where", "start.x = 0", "--format", "csv"])?;
    // The commands that the error suggests.
    home.text(&["export", "t.zv", "t.csv"])?;
    let copy = ["import", "t.csv", "c.zv", "--kind", "polyline"];
    let scale = [
        "--position",
        "t,x,y,z",
        "--scale",
        "1,1,1,0.001",
        "--unit",
        "um",
    ];
    home.text(&[&copy[..], &scale].concat())?;
    home.text(&["measure", "c.zv", "-o", "c.csv"])?;
    // The segments are 5 and 12 nanometers long.
    let measured = std::fs::read_to_string(home.file("c.csv"))?;
    ensure!(measured.contains(",5.012"), "{measured}");
    Ok(())
}

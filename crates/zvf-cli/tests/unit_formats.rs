//! Units of positions in every format, from one store to a new store and to a store with other units. Positions are compared
//! in metres and seconds; files of formats that state no unit have the numbers of the store.

use std::fmt::Write as _;
use std::fs::File;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use serde_json::Value;

use crate::run::Home;
use zvf_testkit::sample::Sample;

/// The units of positions that a format states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Units,
    Nothing,
}
use Says::{Nothing, Units};

/// The arguments that write a store in a format, and the units that its files state. `DIR` and `STORE` are the folder that a query writes, and the
/// store.
const FORMATS: [(&str, &[&str], Says); 18] = [
    (
        "arrow",
        &["points", "timed", "graph", "mesh", "lines"],
        Units,
    ),
    (
        "parquet",
        &["points", "timed", "graph", "mesh", "lines"],
        Units,
    ),
    ("npz", &["points", "timed", "graph", "mesh"], Units),
    ("swc", &["skeleton"], Units),
    ("trk", &["lines"], Units),
    ("tck", &["lines"], Units),
    ("trx", &["lines"], Units),
    (
        "precomputed",
        &["points", "lines", "skeleton", "mesh"],
        Units,
    ),
    (
        "DIR",
        &["points", "timed", "graph", "mesh", "lines", "skeleton"],
        Units,
    ),
    (
        "STORE",
        &["points", "timed", "graph", "mesh", "lines", "skeleton"],
        Units,
    ),
    (
        "csv",
        &["points", "timed", "graph", "mesh", "lines"],
        Nothing,
    ),
    ("tsv", &["points", "timed"], Nothing),
    ("ndjson", &["points", "timed"], Nothing),
    ("npy", &["points", "timed"], Nothing),
    ("ply", &["points", "mesh"], Nothing),
    ("obj", &["mesh"], Nothing),
    ("stl", &["mesh"], Nothing),
    ("feather", &["points", "timed"], Units),
];

/// Units of length and of time: the text of the option, the number before the unit, the name, and the size of one unit.
const LENGTHS: [(&str, f64, &str, f64); 5] = [
    ("nm", 1.0, "nanometer", 1e-9),
    ("8nm", 8.0, "nanometer", 1e-9),
    ("um", 1.0, "micrometer", 1e-6),
    ("0.5um", 0.5, "micrometer", 1e-6),
    ("2mm", 2.0, "millimeter", 1e-3),
];
const TIMES: [(&str, f64, &str, f64); 4] = [
    ("s", 1.0, "second", 1.0),
    ("30s", 30.0, "second", 1.0),
    ("ms", 1.0, "millisecond", 1e-3),
    ("minute", 1.0, "minute", 60.0),
];

type Unit = (usize, usize);

/// The size of the unit of each axis.
fn sizes(kind: &str, (length, time): Unit) -> Vec<f64> {
    let mut all = vec![LENGTHS[length].3; 3];
    if kind == "timed" {
        all.insert(0, TIMES[time].3);
    }
    all
}

/// The factors from the numbers of a file to metres and seconds.
fn factors(kind: &str, (length, time): Unit) -> Vec<f64> {
    let mut all = vec![LENGTHS[length].1; 3];
    if kind == "timed" {
        all.insert(0, TIMES[time].1);
    }
    all
}

fn names(kind: &str, (length, time): Unit) -> Vec<Value> {
    let mut all = vec![Value::from(LENGTHS[length].2); 3];
    if kind == "timed" {
        all.insert(0, Value::from(TIMES[time].2));
    }
    all
}

/// Seven rows of numbers with the same sign; the first coordinate increases in magnitude.
fn numbers(kind: &str, seed: usize, sign: f64) -> Vec<Vec<f64>> {
    let axes = if kind == "timed" { 4 } else { 3 };
    let one = |row: usize, axis: usize| {
        let number = 100 * (row + 1) + (seed * 7 + row * 13 + axis * 29) % 97;
        sign * number as f64 / 4.0
    };
    let row = |row| (0..axes).map(|axis| one(row, axis)).collect();
    (0..7).map(row).collect()
}

/// Makes a store of a kind and unit from these numbers, with objects of this id.
fn make(
    home: &Home,
    store: &str,
    kind: &str,
    unit: Unit,
    rows: &[Vec<f64>],
    id: &str,
) -> Result<()> {
    let length = LENGTHS[unit.0].0;
    let option = match kind {
        "timed" => format!("{length},t={}", TIMES[unit.1].0),
        _ => length.to_owned(),
    };
    let mut text = String::new();
    let file = match kind {
        "skeleton" => {
            for (at, row) in rows.iter().enumerate() {
                let parent = i64::try_from(at)?;
                let parent = if at == 0 { -1 } else { parent };
                let number = at + 1;
                writeln!(
                    text,
                    "{number} 3 {} {} {} 2 {parent}",
                    row[0], row[1], row[2]
                )?;
            }
            format!("{id}.swc")
        }
        _ => {
            let axes = if kind == "timed" { "t,x,y,z" } else { "x,y,z" };
            let owned = !["points", "timed"].contains(&kind);
            writeln!(text, "{axes}{}", if owned { ",object_id" } else { "" })?;
            for row in rows {
                let row: Vec<String> = row.iter().map(ToString::to_string).collect();
                let owner = if owned {
                    format!(",{id}")
                } else {
                    String::new()
                };
                writeln!(text, "{}{owner}", row.join(","))?;
            }
            format!("{id}.csv")
        }
    };
    std::fs::write(home.file(&file), text)?;
    std::fs::write(
        home.file("edges.csv"),
        "source,target\n0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n",
    )?;
    std::fs::write(
        home.file("faces.csv"),
        "a,b,c\n0,1,2\n1,2,3\n2,3,4\n3,4,5\n4,5,6\n",
    )?;
    let more: &[&str] = match kind {
        "timed" => &["--position", "t,x,y,z"],
        "lines" => &["--object-column", "object_id", "--kind", "polyline"],
        "graph" => &["--object-column", "object_id", "--edges", "edges.csv"],
        "mesh" => &["--object-column", "object_id", "--faces", "faces.csv"],
        _ => &[],
    };
    home.text(&[&["import", &file, store, "--unit", &option], more].concat())?;
    Ok(())
}

/// The positions of a store, sorted by their first coordinate, without duplicates, and radii if there are any.
fn positions(home: &Home, store: &str, radii: bool) -> Result<Vec<Vec<f64>>> {
    let columns = if radii { "position,radius" } else { "position" };
    let text = home.text(&["query", store, "--columns", columns, "--format", "csv"])?;
    let row = |line: &str| {
        line.split(',')
            .map(str::parse::<f64>)
            .collect::<Result<Vec<_>, _>>()
    };
    let rows = text.lines().skip(1).map(row);
    let mut rows = rows.collect::<Result<Vec<_>, _>>().context(text.clone())?;
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    // A file of triangles repeats a vertex for each triangle.
    rows.dedup();
    Ok(rows)
}

/// Writes a store to a file or folder, and returns its name.
fn write(home: &Home, store: &str, kind: &str, format: &str) -> Result<String> {
    let file = match format {
        "DIR" => "out".to_owned(),
        "STORE" => return Ok(store.to_owned()),
        "precomputed" => "out.precomputed".to_owned(),
        _ => format!("out.{format}"),
    };
    let links = match kind {
        "graph" => "--edges",
        _ => "--faces",
    };
    let line: Vec<&str> = match (format, kind) {
        ("DIR", _) => vec!["query", store, "-o", &file],
        ("precomputed", _) => vec!["export", store, &file, "--format", "precomputed"],
        ("tsv" | "ndjson" | "feather", _) => vec!["query", store, "-o", &file],
        ("arrow" | "parquet", "lines") => vec!["query", store, "--select", "objects", "-o", &file],
        ("csv" | "arrow" | "parquet", "graph" | "mesh") => {
            vec!["export", store, &file, links, "links.csv"]
        }
        _ => vec!["export", store, &file],
    };
    home.text(&line)?;
    if format == "precomputed" {
        // One view of the store is read back.
        let views = std::fs::read_dir(home.file(&file))?;
        let views =
            views.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        let mut views: Vec<String> = views
            .filter(|name| home.file(&file).join(name).join("info").is_file())
            .collect();
        views.sort();
        let wanted = [
            "points",
            "polylines",
            "lines",
            "skeletons",
            "meshes",
            "mesh",
        ];
        let found = views.iter().find(|name| wanted.contains(&name.as_str()));
        let found = found.with_context(|| format!("{kind}: {views:?}"))?;
        return Ok(format!("{file}/{found}"));
    }
    Ok(file)
}

/// Whether rows are equal up to rounding: numbers differ by at most a share of the largest one.
fn near(found: &[Vec<f64>], expected: &[Vec<f64>], part: f64) -> bool {
    let largest = |axis: usize| {
        expected
            .iter()
            .map(|row| row[axis].abs())
            .fold(0.0, f64::max)
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            found.len() == expected.len()
                && (0..found.len())
                    .all(|axis| (found[axis] - expected[axis]).abs() <= part * largest(axis))
        })
}

fn scaled(rows: &[Vec<f64>], by: &[f64]) -> Vec<Vec<f64>> {
    let last = by.last().copied().unwrap_or(1.0);
    // A column after the axes is a radius, which is a length.
    let by = |axis: usize| by.get(axis).copied().unwrap_or(last);
    let row = |row: &Vec<f64>| {
        row.iter()
            .enumerate()
            .map(|(axis, one)| one * by(axis))
            .collect()
    };
    rows.iter().map(row).collect()
}

fn case(kind: &str, format: &str, says: Says, seed: usize) -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    let unit = |at: usize| (at % LENGTHS.len(), at % TIMES.len());
    let (own, other) = (unit(seed), unit(seed / 3 + 1));
    let radii = kind == "skeleton" && format != "precomputed";
    let (ours, theirs) = (numbers(kind, seed, 1.0), numbers(kind, seed + 1, -1.0));
    make(&home, "a.zv", kind, own, &ours, "17")?;
    make(&home, "b.zv", kind, other, &theirs, "42")?;
    let stored = positions(&home, "a.zv", radii)?;
    let mut wanted = scaled(&ours, &factors(kind, own));
    if radii {
        wanted
            .iter_mut()
            .for_each(|row| row.push(2.0 * LENGTHS[own.0].1));
    }
    ensure!(
        near(&stored, &wanted, 1e-6),
        "import: found {stored:?}, expected {wanted:?}"
    );
    let there = scaled(&stored, &sizes(kind, own));
    let part = if format == "precomputed" { 1e-4 } else { 2e-6 };
    let file = write(&home, "a.zv", kind, format)?;
    // Imports the file into a new store.
    if !["DIR", "STORE"].contains(&format) {
        let more: &[&str] = match (format, kind) {
            ("csv" | "tsv", "timed") => &["--position", "t,x,y,z"],
            ("csv" | "arrow" | "parquet", "graph") => &["--edges", "links.csv", "--links-by-row"],
            ("csv" | "arrow" | "parquet", "mesh") => &["--faces", "links.csv", "--links-by-row"],
            ("csv" | "arrow" | "parquet", "lines") => &["--kind", "polyline"],
            _ => &[],
        };
        home.text(&[&["import", &file, "n.zv"], more].concat())?;
        let found = positions(&home, "n.zv", radii)?;
        let info = home.json(&["info", "n.zv", "--json"])?;
        let axes = info["axes"].as_array().context("axes")?;
        let mut stated = Vec::new();
        for axis in axes {
            let unit = LENGTHS
                .iter()
                .chain(&TIMES)
                .find(|unit| axis["unit"].as_str() == Some(unit.2));
            stated.push(unit.map_or(1.0, |unit| unit.3));
        }
        match says {
            Units => {
                ensure!(
                    near(&scaled(&found, &stated), &there, part),
                    "new store: found {found:?} in {axes:?}, expected {there:?} m"
                );
                if !["trk", "tck", "trx", "precomputed"].contains(&format) {
                    let units: Vec<Value> = axes.iter().map(|axis| axis["unit"].clone()).collect();
                    ensure!(units == names(kind, own), "new store: {axes:?}");
                }
            }
            Nothing => {
                ensure!(axes.iter().all(|axis| axis["unit"].is_null()), "{axes:?}");
                ensure!(
                    near(&found, &stored, 2e-6),
                    "new store: found {found:?}, expected {stored:?}"
                );
            }
        }
        let named = |store: &str| -> Result<Vec<Value>> {
            let info = home.json(&["info", store, "--json"])?;
            Ok(info["axes"]
                .as_array()
                .context("axes")?
                .iter()
                .map(|axis| axis["name"].clone())
                .collect())
        };
        // A list of coordinates has no names of axes.
        if !["precomputed", "npy", "ndjson"].contains(&format) {
            ensure!(named("n.zv")? == named("a.zv")?, "names of axes");
        }
    }
    // Appends to a store with another unit.
    let more: &[&str] = match (format, kind) {
        ("csv" | "arrow" | "parquet", "graph" | "mesh") => &["--links", "links.csv"],
        _ => &[],
    };
    home.text(&[&["append", "b.zv", &file, "--new-ids"], more].concat())?;
    let mut found = positions(&home, "b.zv", radii)?;
    found.retain(|row| row[0] > 0.0);
    let wanted = match says {
        Units => {
            let ratio = sizes(kind, other)
                .into_iter()
                .map(f64::recip)
                .collect::<Vec<_>>();
            scaled(&there, &ratio)
        }
        Nothing => scaled(&stored, &factors(kind, other)),
    };
    ensure!(
        near(&found, &wanted, part),
        "append: found {found:?}, expected {wanted:?}"
    );
    home.text(&["validate", "b.zv", "--level", "3", "--quiet"])?;
    Ok(())
}

#[test]
fn positions_are_where_they_were_in_every_unit() -> Result<()> {
    let all = FORMATS.iter().flat_map(|(format, kinds, says)| {
        let of_one = kinds.iter().map(move |kind| (*format, *kind, *says));
        of_one.collect::<Vec<_>>()
    });
    let all: Vec<_> = all.enumerate().collect();
    let sample = Sample::new("formats that state units");
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (at, (format, kind, says)) in sample.some(all, 6) {
        let seed = at + usize::try_from(sample.seed() % 1000)?;
        tried += 1;
        if let Err(error) = case(kind, format, says, seed) {
            wrong.push(format!("{kind} by {format}, {seed}: {error:#}"));
        }
    }
    ensure!(tried > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A table of two points with an attribute `v` in a unit.
fn in_unit(home: &Home, file: &str, unit: &str, v: ArrayRef, first: f64) -> Result<()> {
    let axis = || Arc::new(Float64Array::from(vec![first, first + 1.0])) as ArrayRef;
    let columns = [axis(), axis(), axis(), v];
    let fields = ["x", "y", "z", "v"].into_iter().zip(&columns);
    let fields = fields.map(|(name, column)| Field::new(name, column.data_type().clone(), false));
    let mut fields: Vec<Field> = fields.collect();
    let stated = [("zvf.unit".to_owned(), unit.to_owned())];
    fields[3].set_metadata(stated.into());
    let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into())?;
    let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
    writer.write(&table)?;
    Ok(writer.finish()?)
}

/// Formats that state units of attributes keep them, and values with another unit are not added to a store.
#[test]
fn units_of_attributes_travel_and_are_compared() -> Result<()> {
    let home = Home::made(&[])?;
    let lengths = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
    in_unit(&home, "um.arrow", "um", lengths(), 0.0)?;
    in_unit(&home, "nm.arrow", "nm", lengths(), 5.0)?;
    let unit = |store: &str| -> Result<String> {
        let info = home.json(&["info", store, "--json"])?;
        let arrays = info["levels"][0]["arrays"].as_array().context("arrays")?;
        let v = arrays
            .iter()
            .find(|one| one["path"] == "0/vertex_attributes/v");
        Ok(v.context("v")?["unit"].to_string())
    };
    home.text(&["import", "um.arrow", "um.zv"])?;
    home.text(&["import", "nm.arrow", "nm.zv"])?;
    for ending in ["arrow", "parquet"] {
        let file = format!("nm-again.{ending}");
        home.text(&["query", "nm.zv", "-o", &file])?;
        let again = format!("{ending}.zv");
        home.text(&["import", &file, &again])?;
        assert_eq!(unit(&again)?, "\"nm\"", "{ending}");
        for args in [
            &["append", "um.zv", &file][..],
            &["edit", "um.zv", "append", &file],
            &[
                "edit",
                "um.zv",
                "set-attribute",
                "v",
                "--from",
                &file,
                "--by-order",
            ],
        ] {
            let ran = home.zvf(args)?;
            let expected = "found the unit nm, expected um";
            assert!(
                ran.code == 2 && ran.stderr.contains(expected),
                "{args:?}: {}",
                ran.stderr
            );
        }
        let first = format!("um-again.{ending}");
        home.text(&["query", "um.zv", "-o", &first])?;
        let ran = home.zvf(&["import", &first, &file, "both.zv"])?;
        let expected = "found column \"v\": the unit nm, expected the unit um as in the first file";
        assert!(
            ran.code != 0 && ran.stderr.contains(expected),
            "{ending}: {}",
            ran.stderr
        );
    }
    assert_eq!(
        home.json(&["info", "um.zv", "--json"])?["levels"][0]["vertices"],
        2
    );
    Ok(())
}

/// A radius that states its own unit on both sides is not a length in the unit of the axes.
#[test]
fn a_radius_with_its_own_unit_is_not_scaled() -> Result<()> {
    let home = Home::made(&[("../e.csv", "source,target\n0,1\n".into())])?;
    let radii = || Arc::new(Float64Array::from(vec![1.5, 1.0])) as ArrayRef;
    for (axes, first) in [("um", 0.0), ("nm", 5000.0)] {
        let (file, store) = (format!("{axes}.arrow"), format!("{axes}.zv"));
        in_unit(&home, &file, "micrometer", radii(), first)?;
        let import = ["import", &file, &store, "--kind", "graph", "--rename"];
        let links = ["v=radius", "--edges", "e.csv", "--links-by-row", "--unit"];
        home.text(&[&import[..], &links, &[axes]].concat())?;
    }
    home.text(&["query", "nm.zv", "-o", "folder"])?;
    for from in ["nm.zv", "folder"] {
        let more = format!("{from}.more.zv");
        home.text(&["copy", "um.zv", &more])?;
        home.text(&["append", &more, from, "--new-ids"])?;
        let query = [
            "query",
            &more,
            "--columns",
            "position,radius",
            "--format",
            "csv",
        ];
        let text = home.text(&query)?;
        let mut rows: Vec<&str> = text.lines().skip(1).collect();
        rows.sort_unstable();
        let expected = [
            "0.0,0.0,0.0,1.5",
            "1.0,1.0,1.0,1.0",
            "5.0,5.0,5.0,1.5",
            "5.001,5.001,5.001,1.0",
        ];
        assert_eq!(rows, expected, "{from}");
    }
    Ok(())
}

/// A new attribute has the unit and the description that its column states.
#[test]
fn new_attributes_keep_the_unit_of_their_column() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "object_id,x,y,z\n5,0,0,0\n6,1,1,1\n".into()),
        ("../e.csv", "source,target\n0,1\n".into()),
    ])?;
    let table = |file: &str, places: &[(&str, Vec<i64>)]| -> Result<()> {
        let rows = places.first().context("places")?.1.len();
        let values = (0..rows).map(|row| row as f64).collect::<Vec<_>>();
        let places = places.iter().map(|(name, numbers)| {
            let column: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
            (Field::new(*name, column.data_type().clone(), false), column)
        });
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = places.unzip();
        let stated = [("zvf.unit", "millimeter"), ("zvf.description", "a length")];
        let stated = stated.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let column: ArrayRef = Arc::new(Float64Array::from(values));
        fields
            .push(Field::new("r", column.data_type().clone(), false).with_metadata(stated.into()));
        columns.push(column);
        let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
        writer.write(&table)?;
        Ok(writer.finish()?)
    };
    let import = ["import", "p.csv", "s.zv", "--edges", "e.csv"];
    home.text(&[&import[..], &["--kind", "graph"]].concat())?;
    table(
        "v.arrow",
        &[("object_id", vec![5, 6]), ("vertex", vec![0, 0])],
    )?;
    table("o.arrow", &[("object_id", vec![5, 6])])?;
    table(
        "l.arrow",
        &[("vertices_0", vec![0]), ("vertices_1", vec![1])],
    )?;
    for (file, more, type_) in [
        ("v.arrow", &[][..], "float32"),
        ("o.arrow", &["--object"], "float64"),
        ("l.arrow", &["--link"], "float64"),
    ] {
        let set = ["edit", "s.zv", "set-attribute", "r", "--from", file];
        home.text(&[&set[..], more, &["--type", type_]].concat())?;
    }
    home.text(&["validate", "s.zv", "--level", "5"])?;
    home.text(&["query", "s.zv", "-o", "folder"])?;
    for file in ["vertices", "objects", "links"] {
        let path = home.file(&format!("folder/{file}.arrow"));
        let reader = arrow_ipc::reader::FileReader::try_new(File::open(path)?, None)?;
        let schema = reader.schema();
        let stated = schema.field_with_name("r")?.metadata();
        let stated = |key: &str| stated.get(key).map(String::as_str);
        assert_eq!(stated("zvf.unit"), Some("millimeter"), "{file}");
        // Edits record no description of links.
        if file != "links" {
            assert_eq!(stated("zvf.description"), Some("a length"), "{file}");
        }
    }
    Ok(())
}

/// Integers of dates and times are in the unit that their column states, never in the unit of the store.
#[test]
fn numbers_of_moments_are_in_the_stated_unit() -> Result<()> {
    let home = Home::made(&[])?;
    let numbers = |list: [i64; 2]| Arc::new(Int64Array::from(list.to_vec())) as ArrayRef;
    let unit = |word: &str| format!("{word} since 1970-01-01T00:00:00");
    in_unit(&home, "s.arrow", &unit("seconds"), numbers([1, 2]), 0.0)?;
    let ms = unit("milliseconds");
    in_unit(&home, "exact.arrow", &ms, numbers([1000, 2000]), 5.0)?;
    in_unit(&home, "finer.arrow", &ms, numbers([1, 2]), 9.0)?;
    in_unit(&home, "plain.arrow", "s", numbers([1, 2]), 9.0)?;
    home.text(&["import", "s.arrow", "s.zv"])?;
    home.text(&["append", "s.zv", "exact.arrow"])?;
    let dates = home.text(&["query", "s.zv", "--columns", "v", "--format", "csv"])?;
    assert_eq!(dates.matches("1970-01-01T00:00:02").count(), 2, "{dates}");
    let set = ["edit", "s.zv", "set-attribute", "v", "--by-order", "--from"];
    for (table, found) in [
        ("plain.arrow", "found the unit s,"),
        // A millisecond is not a whole number of seconds.
        ("finer.arrow", "found \"1970-01-01T00:00:00.001\""),
    ] {
        for args in [&["append", "s.zv"][..], &set] {
            let ran = home.zvf(&[args, &[table]].concat())?;
            ensure!(
                ran.code != 0 && ran.stderr.contains(found),
                "{}",
                ran.stderr
            );
        }
    }
    Ok(())
}

//! Values of merged, split and appended stores whose attributes state units, channels or numbers for missing values.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow_array::types::{Float16Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, DurationSecondArray, FixedSizeListArray, Float64Array, Int64Array,
    PrimitiveArray, RecordBatch, Time32MillisecondArray, TimestampMillisecondArray,
    TimestampSecondArray,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use half::f16;
use serde_json::json;

use crate::run::Home;
use crate::stores::rows;

/// A column of a table: its name, its values, and a member of its metadata.
type Column<'c> = (&'c str, ArrayRef, Option<(&'c str, &'c str)>);

fn table(home: &Home, file: &str, columns: &[Column<'_>]) -> Result<()> {
    let fields = columns.iter().map(|(name, values, member)| {
        let member = member.iter();
        let metadata = member.map(|(key, word)| ((*key).to_owned(), (*word).to_owned()));
        Field::new(*name, values.data_type().clone(), true).with_metadata(metadata.collect())
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = columns.iter().map(|(_, values, _)| Arc::clone(values));
    let table = RecordBatch::try_new(schema, columns.collect())?;
    let mut writer = FileWriter::try_new(fs::File::create(home.file(file))?, table.schema_ref())?;
    writer.write(&table)?;
    Ok(writer.finish()?)
}

fn floats(list: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(list.to_vec()))
}

/// A store of a graph of three nodes, with radii of 1, 2 and 3.
fn nodes(home: &Home, name: &str, positions: &str, radii: Option<&str>) -> Result<()> {
    let first = if name == "a" { 0 } else { 10 };
    let at = floats(&[0.0, 1.0, 2.0]);
    let file = format!("{name}.arrow");
    let columns = [
        ("x", Arc::clone(&at), None),
        ("y", Arc::clone(&at), None),
        ("z", at, None),
        (
            "object_id",
            Arc::new(Int64Array::from(vec![first; 3])) as ArrayRef,
            None,
        ),
        (
            "radius",
            floats(&[1.0, 2.0, 3.0]),
            radii.map(|unit| ("zvf.unit", unit)),
        ),
    ];
    table(home, &file, &columns)?;
    fs::write(home.file("e.csv"), "source,target\n1,0\n2,1\n")?;
    let store = format!("{name}.zv");
    home.text(&[
        "import", &file, &store, "--edges", "e.csv", "--kind", "graph", "--unit", positions,
    ])?;
    Ok(())
}

/// Radii are lengths in the unit of the positions, unless they state their own.
#[test]
fn radii_are_converted_from_their_own_unit() -> Result<()> {
    for (own, other, factor) in [
        (None, None, 0.001),
        (Some("micrometer"), Some("micrometer"), 1.0),
        (Some("um"), None, 0.001),
        (None, Some("um"), 1.0),
        (Some("nm"), None, 1.0),
    ] {
        let home = Home::made(&[])?;
        nodes(&home, "a", "um", own)?;
        nodes(&home, "b", "nm", other)?;
        home.text(&["merge", "a.zv", "b.zv", "m.zv", "-q"])?;
        home.text(&["query", "b.zv", "-o", "b"])?;
        home.text(&[
            "import", "a.arrow", "c.zv", "--edges", "e.csv", "--kind", "graph", "--unit", "um",
        ])?;
        home.text(&["append", "c.zv", "b", "-q"])?;
        home.text(&["append", "a.zv", "b.zv", "-q"])?;
        let wanted = [1.0, 2.0, 3.0].map(|radius| radius * factor);
        for store in ["m.zv", "a.zv", "c.zv"] {
            let text = home.text(&[
                "query",
                store,
                "--objects",
                "10",
                "--columns",
                "attributes",
                "--format",
                "csv",
            ])?;
            let found = text.lines().skip(1).map(str::parse::<f64>);
            let found = found.collect::<Result<Vec<_>, _>>()?;
            let near = found
                .iter()
                .zip(wanted)
                .all(|(a, b)| (a / b - 1.0).abs() < 1e-12);
            ensure!(
                found.len() == 3 && near,
                "{own:?}, {other:?}, {store}: {text}"
            );
        }
    }
    Ok(())
}

/// Positions after a conversion may be beyond their type, and whole numbers beyond float64.
#[test]
fn converted_positions_have_a_type_that_holds_them() -> Result<()> {
    let home = Home::made(&[])?;
    let axes = |file: &str, values: ArrayRef| {
        let axis = |name| (name, Arc::clone(&values), None);
        table(&home, file, &["x", "y", "z"].map(axis))
    };
    let half = |list: &[f32]| {
        let list = list.iter().map(|one| f16::from_f32(*one));
        Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(list)) as ArrayRef
    };
    axes("h.arrow", half(&[1.0, 2.0]))?;
    axes("i.arrow", half(&[330.0, 66.0]))?;
    home.text(&["import", "h.arrow", "h.zv", "--unit", "nm"])?;
    home.text(&["import", "i.arrow", "i.zv", "--unit", "um"])?;
    home.text(&["merge", "h.zv", "i.zv", "hi.zv", "-q"])?;
    let (_, found) = rows(&home, "hi.zv")?;
    let mut wanted = ["1.0", "2.0", "66000.0", "330000.0"].map(|one| [one; 3].join(","));
    wanted.sort();
    assert_eq!(found[""], wanted);

    let whole = |list: Vec<i64>| Arc::new(Int64Array::from(list)) as ArrayRef;
    axes("j.arrow", whole(vec![(1 << 53) + 1, (1 << 53) + 3]))?;
    axes("k.arrow", whole(vec![1, 4]))?;
    for (name, unit) in [("j", "nm"), ("k", "um")] {
        let (file, store) = (format!("{name}.arrow"), format!("{name}.zv"));
        let chunks = ["--chunk-shape", "1e16,1e16,1e16"];
        home.text(&[&["import", &file, &store, "--unit", unit][..], &chunks].concat())?;
    }
    let ran = home.zvf(&["merge", "j.zv", "k.zv", "jk.zv"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("give k.zv as the first store"),
        "{}",
        ran.stderr
    );
    ensure!(!home.file("jk.zv").exists(), "a store after an error");
    home.text(&["merge", "k.zv", "j.zv", "kj.zv", "-q"])?;
    Ok(())
}

/// Truth values cannot be missing: objects of the store without them need some.
#[test]
fn truth_values_of_objects_are_in_all_stores_or_in_none() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z,id\n1,2,3,7\n2,2,3,7\n".into()),
        ("../b.csv", "x,y,z,id\n1,2,3,8\n2,2,3,8\n".into()),
    ])?;
    for name in ["a", "b"] {
        let (file, store) = (format!("{name}.csv"), format!("{name}.zv"));
        let kind = ["--kind", "polyline", "--object-column", "id"];
        home.text(&[&["import", &file, &store], &kind[..]].concat())?;
    }
    let fill = [
        "set-attribute",
        "ok",
        "--object",
        "--type",
        "bool",
        "--fill",
        "true",
    ];
    home.text(&[&["edit", "a.zv"], &fill[..]].concat())?;
    for stores in [["a.zv", "b.zv"], ["b.zv", "a.zv"]] {
        let ran = home.zvf(&["merge", stores[0], stores[1], "m.zv"])?;
        let says = ["b.zv", "set-attribute ok --object --type bool --fill"];
        let said = says.iter().all(|one| ran.stderr.contains(one));
        ensure!(ran.code == 2 && said, "{}", ran.stderr);
    }
    home.text(&[&["edit", "b.zv"], &fill[..]].concat())?;
    home.text(&["merge", "a.zv", "b.zv", "m.zv"])?;
    Ok(())
}

/// Conditions compare times of day with numbers.
#[test]
fn points_are_split_by_times_of_day() -> Result<()> {
    let home = Home::made(&[])?;
    let axis = || floats(&[0.0, 1.0, 2.0, 3.0]);
    let times = [Some(0), Some(86_399_999), Some(0), None];
    let times = Time32MillisecondArray::from(times.to_vec());
    let columns = [
        ("x", axis(), None),
        ("y", axis(), None),
        ("z", axis(), None),
        ("t", Arc::new(times) as ArrayRef, None),
    ];
    table(&home, "t.arrow", &columns)?;
    home.text(&["import", "t.arrow", "t.zv"])?;
    let told = home.json(&[
        "split",
        "t.zv",
        "parts",
        "--by",
        "attribute",
        "t",
        "--json",
        "-q",
    ])?;
    let parts = told["parts"].as_array().context("parts")?;
    let parts: Vec<_> = parts
        .iter()
        .map(|one| (&one["of"], &one["vertices"]))
        .collect();
    let wanted = [
        (json!("00:00:00.000"), json!(2)),
        (json!("23:59:59.999"), json!(1)),
    ];
    assert_eq!(parts, wanted.each_ref().map(|(a, b)| (a, b)), "{told}");
    Ok(())
}

#[test]
fn descriptions_and_channels_of_links_are_kept() -> Result<()> {
    let home = Home::made(&[("../v.csv", "x,y,z\n0,0,0\n1,0,0\n2,0,0\n".into())])?;
    let ends = |list: &[i64]| Arc::new(Int64Array::from(list.to_vec())) as ArrayRef;
    let columns = [
        ("source", ends(&[1, 2]), None),
        ("target", ends(&[0, 1]), None),
        (
            "w",
            floats(&[0.5, 1.5]),
            Some(("zvf.description", "how sure it is")),
        ),
    ];
    table(&home, "e.arrow", &columns)?;
    home.text(&[
        "import", "v.csv", "g.zv", "--edges", "e.arrow", "--kind", "graph",
    ])?;
    home.text(&["split", "g.zv", "parts", "--by", "count", "1"])?;
    home.text(&["merge", "g.zv", "parts/0.zarrvectors", "m.zv", "--new-ids"])?;
    for store in ["g.zv", "parts/0.zarrvectors", "m.zv"] {
        let told = home.json(&["info", store, "--json"])?;
        let found = &told["attribute_specs"]["link"]["w"]["description"];
        assert_eq!(found, "how sure it is", "{store}: {told}");
    }
    Ok(())
}

/// A number that means "missing" in one store may be a value in another one.
#[test]
fn numbers_for_missing_values_are_the_same_in_all_stores() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z,v\n1,2,3,5\n4,5,6,\n".into()),
        ("../b.csv", "x,y,z,v\n1,2,3,-1\n4,5,6,\n".into()),
        ("../c.csv", "x,y,z,v\n1,2,3,-1\n4,5,6,2\n".into()),
    ])?;
    home.text(&["import", "a.csv", "a.zv", "--nulls", "-1"])?;
    home.text(&["import", "b.csv", "b.zv", "--nulls", "-9"])?;
    home.text(&["import", "c.csv", "c.zv"])?;
    for words in [
        &["merge", "a.zv", "b.zv", "m.zv"][..],
        &["append", "a.zv", "b.zv"],
    ] {
        let ran = home.zvf(words)?;
        let says = ["-9 is a missing value", "-1 is a missing value", "--nulls"];
        let said = says.iter().all(|one| ran.stderr.contains(one));
        ensure!(ran.code == 2 && said, "{}", ran.stderr);
    }
    for stores in [["a.zv", "c.zv"], ["c.zv", "a.zv"]] {
        let m = format!("{}m.zv", stores[0]);
        let ran = home.zvf(&["merge", stores[0], stores[1], &m])?;
        let said = ran.stderr.contains("-1 is a missing value");
        ensure!(ran.code == 0 && said, "{}", ran.stderr);
    }
    Ok(())
}

/// The same numbers in channels of other names are other values.
#[test]
fn channels_of_other_names_are_not_merged() -> Result<()> {
    let home = Home::made(&[])?;
    let axis = || floats(&[0.0, 1.0]);
    let colours = || {
        let rows = [1_u8, 2].map(|one| Some([one, 2, 3].map(Some).to_vec()));
        Arc::new(FixedSizeListArray::from_iter_primitive::<UInt8Type, _, _>(
            rows, 3,
        )) as ArrayRef
    };
    for (name, channels) in [
        ("a", Some(r#"["r","g","b"]"#)),
        ("b", Some(r#"["b","g","r"]"#)),
        ("c", None),
    ] {
        let names = channels.map(|names| ("zvf.channel_names", names));
        let columns = [
            ("x", axis(), None),
            ("y", axis(), None),
            ("z", axis(), None),
            ("rgb", colours(), names),
        ];
        let file = format!("{name}.arrow");
        table(&home, &file, &columns)?;
        home.text(&["import", &file, &format!("{name}.zv")])?;
    }
    for words in [
        &["merge", "a.zv", "b.zv", "m.zv"][..],
        &["append", "a.zv", "b.zv"],
    ] {
        let ran = home.zvf(words)?;
        let says = ["the channels b, g, r", "r, g, b"];
        let said = says.iter().all(|one| ran.stderr.contains(one));
        ensure!(ran.code == 2 && said, "{}", ran.stderr);
    }
    // A store that names no channels may have the same.
    for stores in [["a.zv", "c.zv"], ["c.zv", "a.zv"]] {
        let merged = format!("m-{}", stores[0]);
        home.text(&["merge", stores[0], stores[1], &merged])?;
        let document = home.file(&format!("{merged}/0/vertex_attributes/rgb/zarr.json"));
        let document: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(document)?)?;
        let told = document.to_string();
        ensure!(told.contains(r#"["r","g","b"]"#), "{told}");
    }
    Ok(())
}

/// A radius may state another unit than positions that need no conversion.
#[test]
fn radii_in_units_of_their_own_are_converted_beside_equal_positions() -> Result<()> {
    let home = Home::made(&[])?;
    nodes(&home, "a", "um", None)?;
    nodes(&home, "b", "um", Some("nm"))?;
    let radii = |store: &str| -> Result<Vec<f64>> {
        let columns = ["--columns", "attributes", "--select", "objects"];
        let ask = ["query", store, "--format", "csv"];
        let text = home.text(&[&ask[..], &columns].concat())?;
        let lines = text.lines().skip(1);
        lines.map(|line| Ok(line.parse::<f64>()?)).collect()
    };
    // The new store has the unit that one of its radii states.
    home.text(&["merge", "a.zv", "b.zv", "ab.zv", "-q"])?;
    assert_eq!(radii("ab.zv")?, [1000.0, 2000.0, 3000.0, 1.0, 2.0, 3.0]);
    home.text(&["append", "b.zv", "a.zv", "-q"])?;
    let mut all = radii("b.zv")?;
    all.sort_by(f64::total_cmp);
    assert_eq!(all, [1.0, 2.0, 3.0, 1000.0, 2000.0, 3000.0]);
    Ok(())
}

/// SWC has radii in the unit of its positions.
#[test]
fn radii_of_swc_are_in_the_unit_of_its_positions() -> Result<()> {
    let home = Home::made(&[])?;
    nodes(&home, "n", "um", Some("nm"))?;
    let text = home.text(&["query", "n.zv", "--columns", "radius", "--format", "csv"])?;
    let stored = text.lines().skip(1).map(str::parse::<f64>);
    let stored = stored.collect::<Result<Vec<_>, _>>()?;
    home.text(&["export", "n.zv", "n.swc", "-q"])?;
    let file = std::fs::read_to_string(home.file("n.swc"))?;
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let radii = lines.filter_map(|line| line.split(' ').nth(5)?.parse::<f64>().ok());
    let expected = stored.iter().map(|radius| radius / 1000.0);
    assert_eq!(radii.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    Ok(())
}

/// Moments of two units get the finer one, exactly; a missing one stays missing.
#[test]
fn moments_of_other_units_are_merged() -> Result<()> {
    let home = Home::made(&[])?;
    let axis = || floats(&[0.0, 1.0]);
    let moments: [(&str, ArrayRef); 3] = [
        (
            "a",
            Arc::new(TimestampSecondArray::from(vec![Some(5), None])),
        ),
        (
            "b",
            Arc::new(TimestampMillisecondArray::from(vec![6_001, -7])),
        ),
        ("c", Arc::new(DurationSecondArray::from(vec![1, 2]))),
    ];
    for (name, column) in moments {
        let columns = [
            ("x", axis(), None),
            ("y", axis(), None),
            ("z", axis(), None),
            ("t", column, None),
        ];
        let file = format!("{name}.arrow");
        table(&home, &file, &columns)?;
        home.text(&["import", &file, &format!("{name}.zv")])?;
    }
    for (first, second) in [("a.zv", "b.zv"), ("b.zv", "a.zv")] {
        let merged = format!("m-{first}");
        let ran = home.zvf(&["merge", first, second, &merged])?;
        let says = "the unit becomes milliseconds since 1970-01-01T00:00:00";
        ensure!(ran.code == 0 && ran.stderr.contains(says), "{}", ran.stderr);
        let (_, found) = rows(&home, &merged)?;
        let wanted = [
            "0.0,0.0,0.0,1970-01-01T00:00:05.000",
            "0.0,0.0,0.0,1970-01-01T00:00:06.001",
            "1.0,1.0,1.0,",
            "1.0,1.0,1.0,1969-12-31T23:59:59.993",
        ];
        assert_eq!(found[""], wanted);
    }
    let ran = home.zvf(&["merge", "a.zv", "c.zv", "m.zv"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("seconds of duration"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// An attribute of whole numbers with gaps in one store is merged with the complete attribute of another store.
#[test]
fn whole_numbers_that_some_objects_lack_are_merged() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "object_id,x,y,z\n1,1,1,1\n2,2,2,2\n".into()),
        ("../b.csv", "object_id,x,y,z\n11,1,1,1\n12,2,2,2\n".into()),
        ("../va.csv", "object_id,n\n1,5\n2,6\n".into()),
        ("../vb.csv", "object_id,n\n11,7\n".into()),
        (
            "../large.csv",
            "object_id,n\n1,9007199254740993\n2,6\n".into(),
        ),
    ])?;
    let set = |store: &str, from: &str| {
        let what = ["set-attribute", "n", "--object", "--type", "int64"];
        home.text(&[&["edit", store], &what[..], &["--from", from, "-q"]].concat())
    };
    for (store, file, values) in [
        ("a.zv", "a.csv", "va.csv"),
        ("b.zv", "b.csv", "vb.csv"),
        ("l.zv", "a.csv", "large.csv"),
    ] {
        home.text(&["import", file, store])?;
        set(store, values)?;
    }
    for stores in [["a.zv", "b.zv"], ["b.zv", "a.zv"]] {
        let merged = format!("m-{}", stores[0]);
        home.text(&["merge", stores[0], stores[1], &merged, "-q"])?;
        let told = home.json(&["objects", &merged, "--json"])?;
        for (id, value) in [(1, Some(5.0)), (2, Some(6.0)), (11, Some(7.0)), (12, None)] {
            let objects = told["objects"].as_array().context("objects")?;
            let found = objects.iter().find(|one| one["object_id"] == id);
            let found = found.with_context(|| told.to_string())?;
            assert_eq!(found["n"].as_f64(), value, "{told}");
        }
    }
    home.text(&["merge", "l.zv", "b.zv", "x.zv", "-q"])?;
    let large = "object.n == 9007199254740993";
    let told = home.json(&["objects", "x.zv", "--where", large, "--json"])?;
    assert_eq!(told["objects"].as_array().context("objects")?.len(), 1);
    let table = home.file("x.zv/0/object_attributes/n/zarr.json");
    let table: serde_json::Value = serde_json::from_slice(&std::fs::read(table)?)?;
    assert_eq!(table["data_type"], "int64");
    Ok(())
}

/// Stores whose vertices were all deleted are merged, simplified and resampled, into stores with their bounds.
#[test]
fn stores_without_vertices_are_merged() -> Result<()> {
    let lines = "x,y,z,object_id\n1,2,3,1\n4,5,6,1\n7,8,9,2\n1,1,1,2\n";
    let home = Home::made(&[("../p.csv", lines.into())])?;
    home.text(&["import", "p.csv", "p.zv", "--kind", "polyline"])?;
    home.text(&["copy", "p.zv", "full.zv"])?;
    home.text(&["edit", "p.zv", "delete", "1", "2"])?;
    home.text(&["copy", "p.zv", "q.zv"])?;
    for (store, args) in [
        ("m.zv", &["merge", "p.zv", "q.zv", "m.zv"][..]),
        ("s.zv", &["simplify", "p.zv", "s.zv", "--tolerance", "1"]),
        ("r.zv", &["resample", "p.zv", "r.zv", "--step", "1"]),
    ] {
        home.text(args)?;
        home.validates(store)?;
        let told = home.json(&["info", store, "--json"])?;
        assert_eq!(told["levels"][0]["vertices"], 0, "{store}");
        home.text(&["append", store, "full.zv", "--new-ids"])?;
    }
    Ok(())
}

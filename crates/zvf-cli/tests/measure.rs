//! `zvf measure`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::run::{Home, STORE};

fn objects(home: &Home, flags: &[&str]) -> Result<Vec<Value>> {
    let line = [&["measure", STORE, "--json"], flags].concat();
    let document = home.json(&line)?;
    Ok(document["objects"].as_array().context("objects")?.clone())
}

fn near(one: &Value, other: f64) -> bool {
    one.as_f64()
        .is_some_and(|one| (one - other).abs() <= 1e-9 * other.abs().max(1.0))
}

#[test]
fn lengths_are_those_of_conditions() -> Result<()> {
    for name in ["real_tractogram", "real_skeleton", "graph"] {
        let home = Home::new(name)?;
        let all = objects(&home, &[])?;
        assert!(!all.is_empty());
        let lengths: Vec<f64> = all
            .iter()
            .filter_map(|one| one["length"].as_f64())
            .collect();
        assert_eq!(lengths.len(), all.len(), "{name}");
        let middle = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let condition = format!("length() > {middle}");
        let some = objects(&home, &["--where", &condition])?;
        let longer = all
            .iter()
            .filter(|one| one["length"].as_f64() > Some(middle));
        let longer: Vec<&Value> = longer.collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), longer, "{name}");
    }
    Ok(())
}

#[test]
fn a_region_selects_the_objects_that_are_measured() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let everything = objects(&home, &[])?.len();
    for (near, relation) in [
        ("x=92,2", "--touching"),
        ("x=92,20", "--inside"),
        ("x=92,2", "--starting"),
        ("x=92,2", "--ending"),
    ] {
        let place = ["--near", near, relation];
        let measured = objects(&home, &place)?;
        let asked = [
            &["query", STORE, "--json", "--columns", "object_id"],
            &place[..],
        ]
        .concat();
        let count = home.json(&asked)?["objects"].as_u64().context("objects")?;
        assert_eq!(measured.len() as u64, count, "{relation}");
        assert!(
            count > 0 && measured.len() < everything,
            "{relation}: {count}"
        );
    }
    let sphere = ["--sphere", "96,87,86,8"];
    let boxed = ["--bbox", "88,79,78:104,95,94"];
    let (of_sphere, of_box) = (objects(&home, &sphere)?, objects(&home, &boxed)?);
    assert!((1..=of_box.len()).contains(&of_sphere.len()));
    Ok(())
}

#[test]
fn a_streamline_is_measured_by_its_rows() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let all = objects(&home, &[])?;
    for one in [&all[0], &all[all.len() - 1]] {
        let id = one["object_id"].to_string();
        let text = home.text(&[
            "get",
            STORE,
            &id,
            "--columns",
            "position",
            "--format",
            "csv",
        ])?;
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| {
                line.split(',')
                    .filter_map(|field| field.parse().ok())
                    .collect()
            })
            .collect();
        let apart = |a: &[f64], b: &[f64]| {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            square.sqrt()
        };
        let length: f64 = rows.windows(2).map(|pair| apart(&pair[0], &pair[1])).sum();
        assert_eq!(one["points"].as_u64(), Some(rows.len() as u64));
        // CSV has the shortest text of a float32.
        let close = |one: &Value, other: f64| {
            one.as_f64()
                .is_some_and(|one| (one / other - 1.0).abs() < 1e-5)
        };
        assert!(close(&one["length"], length), "{one}: {length}");
        let ends = apart(&rows[0], &rows[rows.len() - 1]);
        assert!(close(&one["tortuosity"], length / ends), "{one}");
    }
    let few = home.text(&["measure", STORE, "--limit", "2"])?;
    assert!(few.contains("tortuosity") && few.contains(" more"), "{few}");
    home.text(&["measure", STORE, "-o", "lengths.csv"])?;
    let csv = fs::read_to_string(home.file("lengths.csv"))?;
    assert_eq!(csv.lines().count(), all.len() + 1);
    Ok(())
}

#[test]
fn a_closed_mesh_has_a_volume_and_an_open_one_has_none() -> Result<()> {
    let home = Home::new("points_ids")?;
    let corners = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\n";
    let faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    fs::write(home.file("closed.obj"), format!("{corners}{faces}"))?;
    fs::write(
        home.file("open.obj"),
        format!("{corners}f 1 3 2\nf 1 2 4\n"),
    )?;
    for (name, surface, volume) in [
        ("closed", 6.0 + 12_f64.sqrt(), Some(8.0 / 6.0)),
        ("open", 4.0, None),
    ] {
        let (file, store) = (format!("{name}.obj"), format!("{name}.zarrvectors"));
        home.text(&["import", &file, &store, "-q"])?;
        let document = home.json(&["measure", &store, "--json"])?;
        let one = &document["objects"][0];
        assert!(near(&one["surface"], surface), "{name}: {one}");
        match volume {
            Some(volume) => assert!(near(&one["volume"], volume), "{name}: {one}"),
            None => assert!(one["volume"].is_null(), "{name}: {one}"),
        }
        assert!(
            near(&one["max_x"], 2.0) && near(&one["min_z"], 0.0),
            "{one}"
        );
    }
    Ok(())
}

#[test]
fn branches_of_a_neuron_and_means() -> Result<()> {
    let home = Home::new("points_ids")?;
    // Nodes 1 and 2 are the stem; 3 and 4 are children of 2; 5 and 6 are children of 3.
    let lines = "1 1 0 0 0 1 -1\n2 3 1 0 0 1 1\n3 3 2 1 0 1 2\n4 3 2 -1 0 1 2\n5 3 3 1 0 1 3\n6 3 2 2 0 4 3\n";
    fs::write(home.file("neuron.swc"), lines)?;
    home.text(&["import", "neuron.swc", "neuron.zarrvectors", "-q"])?;
    let document = home.json(&[
        "measure",
        "neuron.zarrvectors",
        "--json",
        "--mean",
        "radius",
    ])?;
    let one = &document["objects"][0];
    let number = |name: &str| one[name].as_u64();
    assert_eq!(
        (
            number("points"),
            number("branches"),
            number("tips"),
            number("strahler")
        ),
        (Some(6), Some(2), Some(4), Some(2)),
        "{one}"
    );
    assert!(near(&one["length"], 3.0 + 2.0 * 2_f64.sqrt()), "{one}");
    assert!(near(&one["mean_radius"], 1.5), "{one}");
    Ok(())
}

#[test]
fn measures_become_attributes_of_objects() -> Result<()> {
    let home = Home::to_damage("real_tractogram")?;
    let table = objects(&home, &[])?;
    let listed = |home: &Home| -> Result<Vec<Value>> {
        let document = home.json(&["objects", STORE, "--json"])?;
        Ok(document["objects"].as_array().context("objects")?.clone())
    };
    let before = home.json(&["query", STORE, "--json"])?;
    let long = "length() > 60";
    let some = objects(&home, &["--where", long])?;
    assert!(!some.is_empty() && some.len() < table.len());
    let first = [
        "measure",
        STORE,
        "--where",
        long,
        "--as",
        "length=cable,points=size",
        "--json",
    ];
    let done = home.json(&first)?;
    assert_eq!(done["objects"].as_u64(), Some(some.len() as u64));
    assert_eq!(done["attributes"], serde_json::json!(["cable", "size"]));
    for one in listed(&home)? {
        let measured = some.iter().find(|row| row["object_id"] == one["object_id"]);
        let wanted = |name: &str| measured.map_or(Value::Null, |row| row[name].clone());
        assert_eq!(one["cable"], wanted("length"), "{one}");
        assert_eq!(one["size"], wanted("points"), "{one}");
    }
    home.text(&[
        "measure",
        STORE,
        "--as",
        "length=cable",
        "--as",
        "tortuosity",
    ])?;
    for (one, measured) in listed(&home)?.iter().zip(&table) {
        assert_eq!(one["object_id"], measured["object_id"]);
        assert_eq!(one["cable"], measured["length"], "{one}");
        assert_eq!(one["tortuosity"], measured["tortuosity"], "{one}");
    }
    assert_eq!(
        home.json(&["query", STORE, "--json"])?["vertices"],
        before["vertices"]
    );
    home.text(&["validate", STORE, "--level", "5"])?;
    for (flags, told) in [
        (&["--as", "points=cable"][..], "float64"),
        // The store has an attribute with this name and another type.
        (&["--as", "length"], "expected float32"),
        (&["--as", "lenth"], "did you mean \"length\"?"),
        (&["--as", "length=a,points=a"], "twice"),
        (&["--as", "length=object_id"], "twice"),
        (&["--as", "length", "--level", "1"], "expected level 0"),
        (&["--as", "length", "--limit", "1"], "cannot be used"),
        (&["--as", "mean_no", "--mean", "no"], "no"),
    ] {
        let ran = home.zvf(&[&["measure", STORE], flags].concat())?;
        assert_eq!(ran.code, 2, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{flags:?}: {}", ran.stderr);
    }
    // A refused edit leaves no lock: the next one works.
    home.text(&["measure", STORE, "--as", "length=cable"])?;
    Ok(())
}

#[test]
fn measures_have_units_and_keep_those_of_attributes() -> Result<()> {
    let home = Home::made(&[("../l.csv", "object_id,x,y\n3,0,0\n3,1000,0\n".into())])?;
    let import = ["import", "l.csv", "l.zv", "--kind", "polyline"];
    home.text(&[&import[..], &["--unit", "um"]].concat())?;
    let document = home.file("l.zv/0/object_attributes/length/zarr.json");
    home.text(&["measure", "l.zv", "--as", "length,tortuosity,min_x"])?;
    let unit = |name: &str| -> Result<Value> {
        let file = format!("l.zv/0/object_attributes/{name}/zarr.json");
        let found: Value = serde_json::from_slice(&fs::read(home.file(&file))?)?;
        Ok(found["attributes"]["unit"].clone())
    };
    assert_eq!(unit("length")?, "micrometer");
    assert_eq!(unit("min_x")?, "micrometer");
    assert_eq!(unit("tortuosity")?, Value::Null);
    home.text(&["validate", "l.zv", "--level", "5"])?;
    home.text(&["measure", "l.zv", "--as", "length"])?;
    let other = fs::read_to_string(&document)?.replace("micrometer", "millimeter");
    fs::write(&document, other)?;
    let before = home.json(&["objects", "l.zv", "--json"])?["objects"].clone();
    let ran = home.zvf(&["measure", "l.zv", "--as", "length"])?;
    let told = "found the unit micrometer, expected the unit millimeter as the store has, or an attribute of another name";
    assert!(ran.code == 2 && ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(
        home.json(&["objects", "l.zv", "--json"])?["objects"],
        before
    );
    home.text(&["measure", "l.zv", "--as", "length=cable"])?;
    assert_eq!(unit("cable")?, "micrometer");
    Ok(())
}

/// The volume of an open mesh is missing, also if the attribute had the volume of a closed mesh before.
#[test]
fn a_missing_measure_is_a_missing_value() -> Result<()> {
    let home = Home::new("points_ids")?;
    let corners = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\n";
    for (name, faces) in [
        ("a.obj", "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"),
        ("b.obj", "f 1 3 2\nf 1 2 4\n"),
    ] {
        fs::write(home.file(name), format!("{corners}{faces}"))?;
    }
    home.text(&["import", "a.obj", "b.obj", "both.zv", "--new-ids", "-q"])?;
    fs::write(home.file("volumes.csv"), "object_id,volume\n0,5\n1,6\n")?;
    let set = [
        "edit",
        "both.zv",
        "set-attribute",
        "volume",
        "--object",
        "--type",
        "float64",
        "--from",
        "volumes.csv",
    ];
    home.text(&set)?;
    home.text(&["measure", "both.zv", "--as", "volume,faces"])?;
    let listed = home.json(&["objects", "both.zv", "--json"])?;
    let volume = |at: usize| &listed["objects"][at]["volume"];
    assert!(near(volume(0), 8.0 / 6.0), "{listed}");
    assert!(volume(1).is_null(), "{listed}");
    assert_eq!(listed["objects"][1]["faces"].as_u64(), Some(2));
    home.text(&["validate", "both.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn what_cannot_be_measured() -> Result<()> {
    let home = Home::new("points_bins")?;
    let ran = home.zvf(&["measure", STORE])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no object index"), "{}", ran.stderr);
    let home = Home::new("real_skeleton")?;
    let ran = home.zvf(&["measure", STORE, "--mean", "no_such"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no_such"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn links_between_objects_are_of_neither() -> Result<()> {
    let nodes = "id,x,y,z,object_id\n0,0,0,0,1\n1,1,0,0,1\n2,4,0,0,2\n3,4,2,0,2\n";
    let edges = "source,target\n0,1\n1,2\n2,3\n";
    let files = [("../n.csv", nodes.into()), ("../e.csv", edges.into())];
    let home = Home::made(&files)?;
    home.text(&[
        "import", "n.csv", "g.zv", "--edges", "e.csv", "--kind", "graph", "-q",
    ])?;
    let found = home.json(&["measure", "g.zv", "--json"])?;
    let found = found["objects"].as_array().context("objects")?;
    let measured: Vec<(f64, u64, u64)> = found
        .iter()
        .filter_map(|one| {
            Some((
                one["length"].as_f64()?,
                one["tips"].as_u64()?,
                one["branches"].as_u64()?,
            ))
        })
        .collect();
    assert_eq!(measured, [(1.0, 2, 0), (2.0, 2, 0)]);
    for (condition, count) in [
        ("length() > 1.5", 2),
        ("length() >= 1", 4),
        ("length() > 2", 0),
    ] {
        let found = home.json(&["query", "g.zv", "--where", condition, "--json"])?;
        assert_eq!(found["vertices"], count, "{condition}");
    }
    Ok(())
}

#[test]
fn two_means_of_one_name_are_refused() -> Result<()> {
    let home = Home::made(&[
        (
            "../l.csv",
            "object_id,x,y,n,a_0\n3,0,0,1,100\n3,1,0,2,300\n".into(),
        ),
        ("../a.csv", "n,a_0,a_1\n1,1,5\n2,3,7\n".into()),
    ])?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline"])?;
    let set = ["edit", "l.zv", "set-attribute", "a", "--key", "n", "--from"];
    home.text(&[&set[..], &["a.csv", "--type", "int32"]].concat())?;
    let both = ["measure", "l.zv", "--mean", "a,a_0"];
    for more in [&[][..], &["--as", "mean_a_0=q"]] {
        let ran = home.zvf(&[&both[..], more].concat())?;
        assert!(
            ran.code == 2 && ran.stderr.contains("two attributes with a column mean_a_0"),
            "{}",
            ran.stderr
        );
    }
    let one = home.json(&["measure", "l.zv", "--mean", "a_0", "--json"])?;
    assert_eq!(one["objects"][0]["mean_a_0"], 200.0);
    Ok(())
}

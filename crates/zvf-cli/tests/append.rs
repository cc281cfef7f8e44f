//! `zvf append`, also of outputs of other commands: identity is kept.

use std::fs::{self, File};
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use serde_json::{Value, json};

use crate::run::Home;

/// Two trees of three nodes.
const TREES: [(&str, &str); 2] = [
    ("17.swc", "1 1 0 0 0 2 -1\n2 3 5 0 0 1 1\n3 3 9 1 0 1 2\n"),
    (
        "42.swc",
        "1 1 50 50 50 2 -1\n2 3 55 50 50 1 1\n3 3 59 51 50 0.5 1\n",
    ),
];

fn trees() -> Result<Home> {
    let files: Vec<(String, Vec<u8>)> = TREES
        .iter()
        .map(|(name, text)| (format!("../{name}"), text.as_bytes().to_vec()))
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files
        .iter()
        .map(|(name, text)| (&**name, text.clone()))
        .collect();
    let home = Home::made(&files)?;
    home.text(&["import", "17.swc", "--unit", "micrometer", "a.zv"])?;
    home.text(&["import", "42.swc", "--unit", "micrometer", "b.zv"])?;
    Ok(home)
}

/// Id, name and vertices of every object.
fn objects(home: &Home, store: &str) -> Result<Vec<(i64, String, u64)>> {
    let document = home.json(&["objects", store, "--json"])?;
    let list = document["objects"].as_array().context("objects")?.clone();
    let one = |object: &Value| {
        Some((
            object["object_id"].as_i64()?,
            object["name"].as_str().unwrap_or("(null)").to_owned(),
            object["vertices"].as_u64()?,
        ))
    };
    list.iter()
        .map(|object| one(object).context("an object"))
        .collect()
}

/// The nodes of an SWC file: position, radius and the position of the parent.
fn nodes(text: &str) -> Vec<String> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN).to_string();
    let place = |row: &[&str]| {
        row[2..5]
            .iter()
            .map(|one| number(one))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut nodes: Vec<String> = rows
        .iter()
        .map(|row| {
            let parent = rows.iter().find(|other| other[0] == row[6]);
            format!(
                "{} r {} from {}",
                place(row),
                number(row[5]),
                parent.map_or("none".to_owned(), |p| place(p))
            )
        })
        .collect();
    nodes.sort();
    nodes
}

#[test]
fn a_neuron_goes_into_a_file_and_back_into_a_store() -> Result<()> {
    let home = trees()?;
    // The ending of the file decides the format, as in an export.
    home.text(&["get", "b.zv", "42", "-o", "n.swc"])?;
    assert!(home.file("n.swc").is_file());
    assert_eq!(
        nodes(&fs::read_to_string(home.file("n.swc"))?),
        nodes(TREES[1].1)
    );
    home.text(&["export", "b.zv", "m.swc", "--objects", "42"])?;
    assert_eq!(fs::read(home.file("n.swc"))?, fs::read(home.file("m.swc"))?);
    let done = home.json(&["get", "b.zv", "42", "-o", "n.parquet", "--json"])?;
    assert_eq!(
        (&done["format"], &done["vertices"]),
        (&json!("Parquet"), &json!(3))
    );
    assert!(home.file("n.parquet").is_file());

    let done = home.json(&["append", "a.zv", "42.swc", "--json"])?;
    assert_eq!(
        (&done["ids"], &done["vertices"], &done["notes"]),
        (&json!([42]), &json!(3), &json!([]))
    );
    let want = vec![(17, "17".to_owned(), 3), (42, "42".to_owned(), 3)];
    assert_eq!(objects(&home, "a.zv")?, want);
    home.text(&["get", "a.zv", "42", "-o", "back.swc"])?;
    assert_eq!(
        nodes(&fs::read_to_string(home.file("back.swc"))?),
        nodes(TREES[1].1)
    );
    home.text(&["validate", "a.zv", "--level", "5"])?;

    // A second append fails, because the id exists, and changes nothing.
    let ran = home.zvf(&["append", "a.zv", "42.swc"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("object 42") && ran.stderr.contains("--new-ids"),
        "{}",
        ran.stderr
    );
    assert_eq!(objects(&home, "a.zv")?, want);
    let done = home.json(&["append", "a.zv", "42.swc", "--new-ids", "--json"])?;
    assert_eq!(done["ids"], json!([43]));
    assert_eq!(
        objects(&home, "a.zv")?.last(),
        Some(&(43, "42".to_owned(), 3))
    );

    // Another unit is converted, and the note names both units.
    let ran = home.zvf(&[
        "append",
        "a.zv",
        "17.swc",
        "--new-ids",
        "--unit",
        "nanometer",
    ])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("from nanometer to micrometer"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["import", "42.swc", "a.zv"])?;
    assert!(
        ran.code != 0 && ran.stderr.contains("zvf append"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn the_directory_of_a_query_keeps_ids_names_and_links() -> Result<()> {
    let home = trees()?;
    home.text(&["query", "b.zv", "-o", "b"])?;
    let columns = home.text(&["query", "b.zv", "-o", "b/", "--json"])?;
    assert!(columns.contains("objects.arrow"), "{columns}");
    let done = home.json(&["append", "a.zv", "b", "--json"])?;
    assert_eq!(done["ids"], json!([42]));
    assert_eq!(
        objects(&home, "a.zv")?,
        [(17, "17".to_owned(), 3), (42, "42".to_owned(), 3)]
    );
    home.text(&["get", "a.zv", "42", "-o", "back.swc"])?;
    assert_eq!(
        nodes(&fs::read_to_string(home.file("back.swc"))?),
        nodes(TREES[1].1)
    );
    // `zvf edit append` keeps the ids of the table, too.
    home.text(&["edit", "a.zv", "delete", "42"])?;
    home.text(&["vacuum", "a.zv"])?;
    home.text(&[
        "edit",
        "append",
        "a.zv",
        "b/vertices.arrow",
        "--links",
        "b/links.arrow",
    ])?;
    let ids: Vec<i64> = objects(&home, "a.zv")?.iter().map(|one| one.0).collect();
    assert_eq!(ids, [17, 42]);
    home.text(&["validate", "a.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn streamlines_get_the_ids_behind_the_last() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let store = crate::run::STORE;
    let all = objects(&home, store)?;
    let (first, second) = (all[0].0.to_string(), all[1].0.to_string());
    home.text(&["export", store, "one.tck", "--objects", &first])?;
    home.text(&["export", store, "two.tck", "--objects", &second])?;
    home.text(&["import", "one.tck", "new.zv"])?;
    let done = home.json(&["append", "new.zv", "two.tck", "--json"])?;
    assert_eq!(done["ids"], json!([1]));
    let sizes: Vec<(i64, u64)> = objects(&home, "new.zv")?
        .iter()
        .map(|one| (one.0, one.2))
        .collect();
    assert_eq!(sizes, [(0, all[0].2), (1, all[1].2)]);
    home.text(&["export", "new.zv", "back.tck", "--objects", "1"])?;
    let tail = |name: &str| -> Result<Vec<u8>> {
        let bytes = fs::read(home.file(name))?;
        let end = bytes
            .windows(4)
            .position(|window| window == b"\nEND")
            .context("END")?;
        // Three float32 for each point, then NaN and infinity.
        let points = usize::try_from(all[1].2)? * 12 + 24;
        assert!(end < bytes.len() - points);
        Ok(bytes[bytes.len() - points..].to_vec())
    };
    assert_eq!(tail("back.tck")?, tail("two.tck")?);
    home.text(&["validate", "new.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn tractograms_of_a_frame_without_a_map_are_refused() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    home.text(&["export", crate::run::STORE, "one.tck", "--limit", "100"])?;
    home.text(&["import", "one.tck", "new.zv"])?;
    // A store whose header states that positions are counted from the corner of the first voxel.
    let header = home.file("new.zv/headers/trk");
    fs::create_dir_all(&header)?;
    fs::rename(
        home.file("new.zv/headers/tck/zarr.json"),
        header.join("zarr.json"),
    )?;
    fs::remove_dir(home.file("new.zv/headers/tck"))?;
    let document = fs::read_to_string(header.join("zarr.json"))?;
    let mut document: Value = serde_json::from_str(&document)?;
    document["attributes"]["space"] = json!("voxelmm");
    fs::write(header.join("zarr.json"), document.to_string())?;
    let ran = home.zvf(&["append", "new.zv", "one.tck"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("positions are voxelmm and cannot be converted"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn meshes_and_tables_of_points_are_appended() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.obj",
            b"v 0 0 0\nv 4 0 0\nv 0 4 0\nv 4 4 1\nf 1 2 3\nf 2 4 3\n".to_vec(),
        ),
        (
            "../7.obj",
            b"v 20 0 0\nv 24 0 0\nv 20 4 0\nf 3 2 1\n".to_vec(),
        ),
        (
            "../p.csv",
            b"x,y,z,v,land\n1,1,1,0.5,grass\n2,2,2,1.5,water\n9,9,9,1,\n".to_vec(),
        ),
        (
            "../q.csv",
            b"x,y,z,v,land,extra\n3,3,3,7,tree,1\n4,4,4,,grass,2\n".to_vec(),
        ),
        ("../r.npy", npy(&[[5.0, 5.0, 5.0]])),
    ])?;
    home.text(&["import", "a.obj", "m.zv", "--chunk-shape", "2,2,2"])?;
    let done = home.json(&["append", "m.zv", "7.obj", "--json"])?;
    assert_eq!(
        (&done["ids"], &done["links_stored"]),
        (&json!([7]), &json!(1))
    );
    home.text(&["get", "m.zv", "7", "-o", "back.obj"])?;
    let back = fs::read_to_string(home.file("back.obj"))?;
    let corners: Vec<Vec<f64>> = back
        .lines()
        .filter_map(|line| line.strip_prefix("v "))
        .map(|line| {
            line.split_whitespace()
                .take(3)
                .filter_map(|one| one.parse().ok())
                .collect()
        })
        .collect();
    let face: Vec<usize> = back
        .lines()
        .find_map(|line| line.strip_prefix("f "))
        .into_iter()
        .flat_map(|line| line.split_whitespace().filter_map(|one| one.parse().ok()))
        .collect();
    let shown: Vec<&Vec<f64>> = face.iter().map(|at| &corners[at - 1]).collect();
    assert_eq!(
        shown,
        [
            &vec![20.0, 4.0, 0.0],
            &vec![24.0, 0.0, 0.0],
            &vec![20.0, 0.0, 0.0]
        ]
    );
    home.text(&["validate", "m.zv", "--level", "5"])?;

    home.text(&["import", "p.csv", "p.zv"])?;
    let done = home.json(&["append", "p.zv", "q.csv", "--json"])?;
    assert!(
        done["notes"][0]
            .as_str()
            .is_some_and(|note| note.ends_with(": extra")),
        "{done}"
    );
    let done = home.json(&["append", "p.zv", "r.npy", "--json"])?;
    assert!(
        done["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("v")),
        "{done}"
    );
    let text = home.text(&["query", "p.zv", "--format", "csv"])?;
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    rows.sort_unstable();
    let want = [
        "1.0,1.0,1.0,0.5,grass",
        "2.0,2.0,2.0,1.5,water",
        "3.0,3.0,3.0,7.0,tree",
        "4.0,4.0,4.0,NaN,grass",
        "5.0,5.0,5.0,NaN,",
        "9.0,9.0,9.0,1.0,",
    ];
    let order = |row: &str| row.split(',').count();
    assert!(rows.iter().all(|row| order(row) == 5), "{text}");
    let names: Vec<&str> = text
        .lines()
        .next()
        .context("a header")?
        .split(',')
        .collect();
    let at = |name: &str| {
        names
            .iter()
            .position(|one| *one == name)
            .context("a column")
    };
    let (v, land) = (at("v")?, at("land")?);
    let got: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            [cells[0], cells[1], cells[2], cells[v], cells[land]].join(",")
        })
        .collect();
    assert_eq!(got, want);
    Ok(())
}

/// Positions as NumPy writes them: format version 1.0, float64.
fn npy(rows: &[[f64; 3]]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 3), }}",
        rows.len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(
        u16::try_from(header.len())
            .unwrap_or_default()
            .to_le_bytes(),
    );
    bytes.extend(header.bytes());
    bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn points_are_deleted_by_what_they_are() -> Result<()> {
    let mut table = "x,y,z,n\n".to_owned();
    for n in 0..60 {
        table.push_str(&format!("{},{},{},{n}\n", n % 10, n / 10, n % 7));
    }
    let home = Home::made(&[("../p.csv", table.into_bytes())])?;
    home.text(&[
        "import",
        "p.csv",
        "p.zv",
        "--chunk-shape",
        "4,4,4",
        "--bin-shape",
        "2,2,2",
    ])?;
    let numbers = |home: &Home| -> Result<Vec<u32>> {
        let text = home.text(&["query", "p.zv", "--format", "csv", "--columns", "n"])?;
        let mut list: Vec<u32> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.parse().ok())
            .collect();
        list.sort_unstable();
        Ok(list)
    };
    let dry = home.json(&[
        "edit",
        "p.zv",
        "delete",
        "--where",
        "n >= 50",
        "--dry-run",
        "--json",
    ])?;
    assert_eq!(dry["vertices"], json!(10));
    assert_eq!(numbers(&home)?.len(), 60);
    let done = home.json(&["edit", "p.zv", "delete", "--where", "n >= 50", "--json"])?;
    assert_eq!(done["vertices"], json!(-10));
    assert_eq!(numbers(&home)?, (0..50).collect::<Vec<_>>());
    home.text(&[
        "edit",
        "p.zv",
        "delete",
        "--bbox",
        "0,0,0:3,inf,inf",
        "--where",
        "n < 40",
    ])?;
    let left: Vec<u32> = (0..50).filter(|n| n % 10 > 3 || *n >= 40).collect();
    assert_eq!(numbers(&home)?, left);
    home.text(&["validate", "p.zv", "--level", "5"])?;
    // If no vertex is selected, nothing changes.
    let done = home.json(&["edit", "p.zv", "delete", "--where", "n > 1000", "--json"])?;
    assert_eq!(done["vertices"], json!(0));
    // Vertices of objects are deleted only with their object, and only on request.
    let home = trees()?;
    home.text(&["append", "a.zv", "42.swc"])?;
    let ran = home.zvf(&["edit", "a.zv", "delete", "--bbox", "54,0,0:60,60,60"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("--select objects"),
        "{}",
        ran.stderr
    );
    home.text(&[
        "edit",
        "a.zv",
        "delete",
        "--bbox",
        "54,0,0:60,60,60",
        "--select",
        "objects",
    ])?;
    assert_eq!(objects(&home, "a.zv")?, [(17, "17".to_owned(), 3)]);
    // No unfinished edit remains.
    home.text(&["edit", "a.zv", "delete", "17"])?;
    Ok(())
}

/// Runs the program with the contents of a file as its standard input.
fn fed(home: &Home, file: &str, args: &[&str]) -> Result<(i32, String, String)> {
    let output = crate::run::command(&home.path(), args)
        .stdin(fs::File::open(home.file(file))?)
        .output()?;
    let code = output.status.code().context("the program was killed")?;
    Ok((
        code,
        String::from_utf8(output.stdout)?,
        String::from_utf8(output.stderr)?,
    ))
}

#[test]
fn standard_input_is_appended_in_the_format_that_is_named() -> Result<()> {
    let home = trees()?;
    fs::write(home.file("p.csv"), "x,y,z,n\n0,0,0,0\n1,0,0,1\n")?;
    fs::write(home.file("more"), "x,y,z,n\n2,0,0,2\n")?;
    fs::write(
        home.file("tabs"),
        "x\ty\tz\tn\n4,5\t0\t0\t4\n".replace("4,5", "4.5"),
    )?;
    fs::write(home.file("lines"), "{\"x\":3,\"y\":0,\"z\":0,\"n\":3}\n")?;
    home.text(&["import", "p.csv", "p.zv", "--unit", "um"])?;
    for (file, format) in [("more", "csv"), ("lines", "ndjson"), ("tabs", ".TSV")] {
        let (code, out, error) = fed(&home, file, &["append", "p.zv", "-", "--format", format])?;
        assert_eq!(
            (code, out.as_str()),
            (0, "p.zv: 1 vertex appended, in 1 chunk\n"),
            "{error}"
        );
    }
    let rows = home.text(&[
        "query",
        "p.zv",
        "--format",
        "csv",
        "--columns",
        "position,attributes",
    ])?;
    let mut rows: Vec<&str> = rows.lines().skip(1).collect();
    rows.sort_unstable();
    let wanted = [
        "0.0,0.0,0.0,0",
        "1.0,0.0,0.0,1",
        "2.0,0.0,0.0,2",
        "3.0,0.0,0.0,3",
        "4.5,0.0,0.0,4",
    ];
    assert_eq!(rows, wanted);
    // A file without the ending of its format, and a format that is not a table.
    fs::rename(home.file("42.swc"), home.file("42"))?;
    home.text(&["append", "a.zv", "42", "--format", "swc", "--unit", "um"])?;
    assert_eq!(objects(&home, "a.zv")?.len(), 2);
    let (code, _, error) = fed(
        &home,
        "42",
        &[
            "append",
            "b.zv",
            "-",
            "--format",
            "swc",
            "--new-ids",
            "--unit",
            "um",
        ],
    )?;
    assert_eq!(code, 0, "{error}");
    assert_eq!(objects(&home, "b.zv")?.len(), 2);
    // If the input cannot be read, no edit is begun.
    for (words, says) in [
        (&["-"][..], "found no --format, expected one"),
        (&["-", "-", "--format", "csv"], "expected it once"),
        (&["-", "--format", "docx"], "expected an ending such as csv"),
    ] {
        let (code, _, error) = fed(&home, "more", &[&["append", "p.zv"], words].concat())?;
        assert!(
            code == 2 && error.contains(says),
            "{words:?}: {code} {error}"
        );
    }
    let report = home.json(&["validate", "p.zv", "--level", "5", "--json"])?;
    assert_eq!(report["errors"], json!(0), "{report:#}");
    Ok(())
}

#[test]
fn columns_that_an_edit_leaves_out_are_said() -> Result<()> {
    let home = trees()?;
    fs::write(home.file("p.csv"), "x,y,z,n\n0,0,0,0\n")?;
    fs::write(home.file("more.csv"), "x,y,z,n,fresh,other\n1,0,0,1,5,6\n")?;
    home.text(&["import", "p.csv", "p.zv"])?;
    let said = "left out, since the store has no such attribute: fresh, other";
    for words in [
        &["edit", "p.zv", "append", "more.csv"][..],
        &["append", "p.zv", "more.csv"],
    ] {
        let ran = home.zvf(words)?;
        assert!(
            ran.code == 0 && ran.stderr.contains(said),
            "{words:?}: {}",
            ran.stderr
        );
        let document = home.json(&[words, &["--json"]].concat())?;
        assert_eq!(document["notes"], json!([said]), "{words:?}");
    }
    fs::write(home.file("good.csv"), "x,y,z,n\n1,0,0,1\n")?;
    let document = home.json(&["edit", "p.zv", "append", "good.csv", "--json"])?;
    assert_eq!(document["notes"], json!([]));
    Ok(())
}

#[test]
fn attributes_that_a_table_lacks_are_missing() -> Result<()> {
    let home = trees()?;
    fs::write(
        home.file("p.csv"),
        "x,y,z,v,land\n0,0,0,0.5,grass\n1,0,0,1.5,\n",
    )?;
    fs::write(home.file("bare.csv"), "x,y,z\n2,0,0\n")?;
    home.text(&["import", "p.csv", "p.zv"])?;
    let said = "missing for the new vertices, since the files have no such attribute: land, v";
    for words in [
        &["edit", "p.zv", "append", "bare.csv", "--json"][..],
        &["append", "p.zv", "bare.csv", "--json"],
    ] {
        assert_eq!(home.json(words)?["notes"], json!([said]), "{words:?}");
    }
    let columns = ["--columns", "position,v,land"];
    let rows = home.text(&[&["query", "p.zv", "--format", "csv"][..], &columns].concat())?;
    assert_eq!(rows.matches("2.0,0.0,0.0,NaN,\n").count(), 2, "{rows}");
    // An integer cannot be missing.
    fs::write(home.file("n.csv"), "x,y,z,n\n0,0,0,7\n")?;
    home.text(&["import", "n.csv", "n.zv"])?;
    let ran = home.zvf(&["append", "n.zv", "bare.csv"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("attribute n: found none"),
        "{}: {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

/// Writes a table of three points. The second point has neither `n` nor `flag`, and its coordinate is `x`.
fn gaps(home: &Home, file: &str, x: Option<f64>) -> Result<()> {
    let axis = || Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0])) as ArrayRef;
    let columns: [(&str, ArrayRef); 5] = [
        (
            "x",
            Arc::new(Float64Array::from(vec![Some(1.0), x, Some(3.0)])),
        ),
        ("y", axis()),
        ("z", axis()),
        (
            "n",
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
    ];
    let table = RecordBatch::try_from_iter(columns)?;
    let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
    writer.write(&table)?;
    Ok(writer.finish()?)
}

#[test]
fn typed_tables_with_gaps_are_appended_to_the_store_that_they_made() -> Result<()> {
    let home = trees()?;
    gaps(&home, "gaps.arrow", Some(2.0))?;
    home.text(&["import", "gaps.arrow", "g.zv"])?;
    home.text(&["edit", "g.zv", "append", "gaps.arrow"])?;
    home.text(&["append", "g.zv", "gaps.arrow"])?;
    let rows = home.text(&["query", "g.zv", "--format", "csv"])?;
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    rows.dedup();
    let want = [
        "1.0,1.0,1.0,true,1.0",
        "2.0,2.0,2.0,,NaN",
        "3.0,3.0,3.0,false,3.0",
        "x,y,z,flag,n",
    ];
    assert_eq!(rows, want);
    // For numbers that cannot be missing, such as positions, the error names the row.
    home.text(&[
        "create",
        "whole.zv",
        "--kind",
        "point_cloud",
        "--chunk-shape",
        "10,10,10",
        "--attribute",
        "n:int64",
        "--bounds",
        "0,0,0:9,9,9",
    ])?;
    for (store, x, said) in [
        (
            "whole.zv",
            Some(2.0),
            "row 1, column n: found nothing, expected int64",
        ),
        (
            "g.zv",
            None,
            "row 1, column of positions: found nothing, expected float64",
        ),
    ] {
        gaps(&home, "gaps.arrow", x)?;
        let ran = home.zvf(&["edit", store, "append", "gaps.arrow"])?;
        assert!(
            ran.code == 4 && ran.stderr.contains(said),
            "{}: {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// Numbers that float64 or float32 cannot hold exactly are refused, as in an import; decimals are rounded.
#[test]
fn numbers_that_a_float_column_does_not_hold_are_refused() -> Result<()> {
    let home = Home::made(&[])?;
    fs::write(
        home.file("v.csv"),
        "x,y,z,d,s\n1,2,3,0.5,0.5\n4,5,6,1.5,1.5\n",
    )?;
    let made = |store: &str| {
        let types = [
            "--attribute-type",
            "d=float64",
            "--attribute-type",
            "s=float32",
        ];
        home.text(&[&["import", "v.csv", store][..], &types].concat())
    };
    made("v.zv")?;
    let before = home.text(&["query", "v.zv", "--format", "csv"])?;
    let refused = |args: &[&str], found: &str| -> Result<()> {
        let ran = home.zvf(args)?;
        assert!(
            ran.code == 4 && ran.stderr.contains(&format!("found {found:?}, expected")),
            "{args:?}: {} {}",
            ran.code,
            ran.stderr
        );
        assert_eq!(home.text(&["query", "v.zv", "--format", "csv"])?, before);
        Ok(())
    };
    for (x, d, s) in [
        ("9007199254740993", "1", "1"),
        ("16777217", "1", "1"),
        ("1", "9007199254740993", "1"),
        ("1", "-9007199254740993.0", "1"),
        ("1", "1e400", "1"),
        ("1", "1e-400", "1"),
        ("1", "1", "16777217"),
        ("1", "1", "1e39"),
        ("1", "1", "1e-60"),
    ] {
        let bad = [x, d, s]
            .into_iter()
            .find(|text| *text != "1")
            .context("one")?;
        fs::write(
            home.file("bad.csv"),
            format!("x,y,z,d,s\n{x},0,0,{d},{s}\n"),
        )?;
        let json = format!("{{\"x\":{x},\"y\":0,\"z\":0,\"d\":{d},\"s\":{s}}}\n");
        refused(&["append", "v.zv", "bad.csv"], bad)?;
        refused(&["edit", "v.zv", "append", "bad.csv"], bad)?;
        if !bad.contains('e') {
            fs::write(home.file("bad.ndjson"), json)?;
            refused(&["append", "v.zv", "bad.ndjson"], bad)?;
        }
        for (name, text) in [("d", d), ("s", s)] {
            if text == bad {
                fs::write(home.file("set.csv"), format!("vertex,{name}\n0,{text}\n"))?;
                let set = ["edit", "v.zv", "set-attribute", name, "--from", "set.csv"];
                refused(&set, text)?;
            }
        }
    }
    let fill = ["append", "v.zv", "v.csv", "--fill", "d=9007199254740993"];
    assert_eq!(home.zvf(&fill)?.code, 2);
    // The largest exact integers, and decimals, which no type holds exactly.
    fs::write(
        home.file("good.csv"),
        "x,y,z,d,s\n16777216,0.1,0,9007199254740992,0.1\n0,0,0,0.1,1234567.89\n",
    )?;
    home.text(&["append", "v.zv", "good.csv"])?;
    let rows = home.text(&["query", "v.zv", "--format", "csv", "--columns", "d,s"])?;
    for row in ["9007199254740992.0,0.1", "0.1,1234567.9"] {
        assert!(rows.lines().any(|line| line == row), "{row} in {rows}");
    }
    Ok(())
}

//! Values that no reader can read are not written, and lost files are not read as values.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::run::{Home, Ran};

/// A folder with these tables.
fn home(tables: &[(&str, &str)]) -> Result<Home> {
    let home = Home::made(&[])?;
    for (name, text) in tables {
        fs::write(home.file(name), text)?;
    }
    Ok(home)
}

fn ensure_code(ran: &Ran, code: i32, says: &[&str]) -> Result<()> {
    ensure!(ran.code == code, "code {}: {}", ran.code, ran.stderr);
    for word in says {
        ensure!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
    }
    Ok(())
}

/// The list of objects as CSV.
fn listed(home: &Home, store: &str) -> Result<String> {
    home.text(&["objects", store, "-o", "listed.csv"])?;
    Ok(fs::read_to_string(home.file("listed.csv"))?)
}

/// Changes a document.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) -> Result<()> {
    let mut document: Value = serde_json::from_slice(&fs::read(path)?)?;
    change(&mut document);
    Ok(fs::write(path, document.to_string())?)
}

/// Codes of errors and warnings of the validator.
fn findings(home: &Home, store: &str) -> Result<(i32, Vec<String>)> {
    let ran = home.zvf(&["validate", store, "--level", "5", "--json"])?;
    let report: Value = serde_json::from_slice(&ran.stdout).context(ran.stderr)?;
    let all = report["findings"].as_array().context("findings")?.iter();
    let serious = all.filter(|one| one["severity"] != "note");
    let codes = serious.map(|one| one["code"].as_str().unwrap_or_default().to_owned());
    Ok((ran.code, codes.collect()))
}

/// Objects with attributes of numbers and texts, and a group, in `s.zv`; without codecs.
fn objects() -> Result<Home> {
    let home = home(&[
        (
            "p.csv",
            "object_id,x,y,z\n7,1,1,1\n7,2,2,2\n8,3,3,3\n8,4,4,4\n9,5,5,5\n9,6,6,6\n",
        ),
        ("o.csv", "object_id,n,name\n7,5,ab\n8,6,c\n9,7,d\n"),
    ])?;
    home.text(&[
        "import",
        "p.csv",
        "s.zv",
        "--kind",
        "polyline",
        "--object-column",
        "object_id",
        "--codec",
        "none",
        "--chunk-shape",
        "20,20,20",
    ])?;
    for (name, kind) in [("n", "int32"), ("name", "text")] {
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
    Ok(home)
}

#[test]
fn a_lost_chunk_of_a_table_is_an_error_of_reads_and_copies() -> Result<()> {
    let list = ["objects", "s.zv", "-o", "out.csv"];
    let export = ["export", "s.zv", "out.trx"];
    let ids = [
        "query",
        "s.zv",
        "--columns",
        "position,object_id",
        "--format",
        "csv",
    ];
    let one = ["query", "s.zv", "--objects", "7", "--format", "ndjson"];
    let copy = ["rechunk", "s.zv", "t.zv", "--chunk-shape", "40,40,40"];
    let (tables, index) = (
        [&list[..], &export, &copy],
        [&list[..], &export, &copy, &one],
    );
    for (lost, commands) in [
        ("0/object_attributes/n/c/0", &tables[..]),
        ("0/object_attributes/name/c/0", &tables),
        ("0/object_index/object_ids/c/0", &index),
        ("0/object_index/manifests/c/0", &index),
    ] {
        let home = objects()?;
        ensure!(findings(&home, "s.zv")? == (0, Vec::new()), "whole");
        let rows = home.text(&ids)?;
        fs::remove_file(home.file("s.zv").join(lost))?;
        // The owner column has the objects of rows, so the object index is not read.
        ensure!(home.text(&ids)? == rows, "{lost}");
        for command in commands {
            ensure_code(&home.zvf(command)?, 4, &["the chunk is missing", lost])?;
        }
        let (code, codes) = findings(&home, "s.zv")?;
        ensure!(code == 1 && !codes.is_empty(), "{lost}: {codes:?}");
    }
    Ok(())
}

#[test]
fn a_missing_chunk_without_a_record_is_a_warning() -> Result<()> {
    let home = objects()?;
    let table = home.file("s.zv/0/object_attributes/n");
    edit(&table.join("zarr.json"), |document| {
        let attributes = document["attributes"].as_object_mut();
        let record = attributes.and_then(|members| members.remove("zvf_stored_chunks"));
        assert_eq!(record, Some(json!(1)));
    })?;
    ensure!(findings(&home, "s.zv")?.1.is_empty(), "without a record");
    fs::remove_file(table.join("c/0"))?;
    // By the format, such a chunk has only fill values, which mark missing values.
    home.text(&["objects", "s.zv"])?;
    ensure!(findings(&home, "s.zv")?.1 == ["ZVF-L3-0069"]);
    Ok(())
}

#[test]
fn edits_and_copies_store_and_record_every_chunk() -> Result<()> {
    let home = objects()?;
    // No object has a value of this attribute, so that its chunk has only fill values.
    fs::write(home.file("none.csv"), "object_id,e\n7,\n8,\n9,\n")?;
    home.text(&[
        "edit",
        "s.zv",
        "set-attribute",
        "e",
        "--object",
        "--type",
        "text",
        "--from",
        "none.csv",
    ])?;
    fs::write(
        home.file("more.csv"),
        "object_id,x,y,z\n10,1,2,3\n10,2,2,2\n",
    )?;
    home.text(&["append", "s.zv", "more.csv"])?;
    home.text(&["edit", "s.zv", "delete", "8"])?;
    home.text(&["vacuum", "s.zv"])?;
    home.text(&["rechunk", "s.zv", "t.zv", "--chunk-shape", "4,4,4"])?;
    home.text(&["migrate", "s.zv", "u.zv", "--to", "0.8.1"])?;
    for store in ["s.zv", "t.zv", "u.zv"] {
        let (code, codes) = findings(&home, store)?;
        ensure!(code == 0 && codes.is_empty(), "{store}: {codes:?}");
        let mut tables = vec![
            "object_attributes/n",
            "object_attributes/name",
            "object_attributes/e",
        ];
        if store != "u.zv" {
            tables.extend(["object_index/object_ids", "object_index/manifests"]);
        }
        for table in tables {
            let folder = home.file(store).join("0").join(table);
            let document: Value = serde_json::from_slice(&fs::read(folder.join("zarr.json"))?)?;
            let stored = document["attributes"]["zvf_stored_chunks"].clone();
            ensure!(stored == json!(1), "{store} {table}: {stored}");
            ensure!(folder.join("c/0").is_file(), "{store} {table}");
        }
    }
    Ok(())
}

#[test]
fn a_lost_blob_of_0_8_1_is_an_error() -> Result<()> {
    let home = home(&[
        (
            "p.csv",
            "object_id,x,y,z,v\n7,1,1,1,1\n7,2,2,2,2\n8,3,30,3,3\n8,4,4,4,4\n",
        ),
        ("e.csv", "source,target\n0,1\n2,3\n"),
    ])?;
    home.text(&[
        "import",
        "p.csv",
        "s.zv",
        "--edges",
        "e.csv",
        "--object-column",
        "object_id",
        "--target",
        "0.8.1",
        "--chunk-shape",
        "20,20,20",
    ])?;
    ensure!(findings(&home, "s.zv")?.1.is_empty(), "whole");
    let before = crate::run::files(&home.file("s.zv"))?;
    let blobs = before.keys().filter(|key| key.ends_with("/c/0"));
    let blobs: Vec<String> = blobs.map(ToString::to_string).collect();
    for family in [
        "vertices/",
        "vertex_attributes/",
        "links/",
        "cross_chunk_links/",
    ] {
        let blob = blobs
            .iter()
            .find(|key| key.contains(&format!("0/{family}")));
        let path = home
            .file("s.zv")
            .join(blob.with_context(|| format!("{family} in {blobs:?}"))?);
        let bytes = fs::read(&path)?;
        fs::remove_file(&path)?;
        let read = match family {
            "links/" | "cross_chunk_links/" => ["links", "s.zv", "-o", "out.csv"],
            _ => ["query", "s.zv", "--format", "csv"],
        };
        ensure_code(&home.zvf(&read)?, 4, &["the chunk is missing"])?;
        let (code, codes) = findings(&home, "s.zv")?;
        ensure!(code == 1 && codes == ["ZVF-L3-0001"], "{family}: {codes:?}");
        // Released writers store it in this way: zeros without a file are legal, but cause a warning.
        let document = path
            .parent()
            .and_then(Path::parent)
            .context("a folder")?
            .join("zarr.json");
        let stored = fs::read(&document)?;
        edit(&document, |document| document["attributes"] = json!({}))?;
        let (_, codes) = findings(&home, "s.zv")?;
        ensure!(
            codes.contains(&"ZVF-L3-0069".to_owned()),
            "{family}: {codes:?}"
        );
        fs::write(&document, stored)?;
        fs::write(&path, bytes)?;
    }
    ensure!(findings(&home, "s.zv")?.1.is_empty(), "restored");
    Ok(())
}

#[test]
fn moments_out_of_range_are_refused_where_they_are_written() -> Result<()> {
    let tables = [
        ("d.csv", "x,y,z,d\n1,2,3,2024-01-01\n4,5,6,2024-01-02\n"),
        ("e.csv", "vertex,d\n0,99999999999\n"),
        ("ap.csv", "x,y,z,d\n7,8,9,99999999999\n"),
        ("last.csv", "vertex,d\n0,2147483647\n1,-2147483648\n"),
    ];
    let home = home(&tables)?;
    home.text(&["import", "d.csv", "d.zv"])?;
    let before = crate::run::files(&home.file("d.zv"))?;
    for command in [
        &["edit", "d.zv", "set-attribute", "d", "--from", "e.csv"][..],
        &["edit", "d.zv", "append", "ap.csv"],
        &["append", "d.zv", "ap.csv"],
    ] {
        let ran = home.zvf(command)?;
        ensure_code(&ran, 2, &["attribute d", "99999999999 in row 0", "32 bits"])?;
        ensure!(
            crate::run::files(&home.file("d.zv"))? == before,
            "{command:?}"
        );
    }
    // The last and the first day that the type holds.
    home.text(&["edit", "d.zv", "set-attribute", "d", "--from", "last.csv"])?;
    let text = home.text(&["query", "d.zv", "--format", "csv", "--columns", "d"])?;
    ensure!(text == "d\n5881580-07-11\n-5877641-06-23\n", "{text}");
    ensure!(findings(&home, "d.zv")?.1.is_empty());
    Ok(())
}

#[test]
fn moments_out_of_range_of_objects_are_refused() -> Result<()> {
    let home = objects()?;
    fs::write(home.file("d.csv"), "object_id,d\n7,1\n8,2\n9,3\n")?;
    fs::write(home.file("e.csv"), "object_id,d\n8,99999999999\n")?;
    let set = ["edit", "s.zv", "set-attribute", "d", "--object", "--from"];
    home.text(&[&set[..], &["d.csv", "--type", "int64"]].concat())?;
    edit(
        &home.file("s.zv/0/object_attributes/d/zarr.json"),
        |document| {
            document["attributes"]["unit"] = json!("days since 1970-01-01");
        },
    )?;
    ensure_code(
        &home.zvf(&[&set[..], &["e.csv"]].concat())?,
        2,
        &["object attribute d", "99999999999", "32 bits"],
    )?;
    let text = listed(&home, "s.zv")?;
    ensure!(text.contains("1970-01-03"), "{text}");
    Ok(())
}

#[test]
fn a_stored_moment_out_of_range_is_an_error_with_its_place() -> Result<()> {
    let home = home(&[(
        "n.csv",
        "x,y,z,d,t\n1,2,3,9,9\n4,5,6,99999999999,-5000000000\n",
    )])?;
    home.text(&["import", "n.csv", "n.zv"])?;
    for (name, unit, number) in [
        ("d", "days since 1970-01-01", "99999999999"),
        ("t", "seconds since midnight", "-5000000000"),
    ] {
        let document = home
            .file("n.zv/0/vertex_attributes")
            .join(name)
            .join("zarr.json");
        let before = fs::read(&document)?;
        edit(&document, |document| {
            document["attributes"]["unit"] = json!(unit)
        })?;
        let stored: Value = serde_json::from_slice(&before)?;
        ensure!(stored["attributes"]["dtype"] == "int64", "{stored}");
        for format in ["csv", "ndjson", "arrow"] {
            let ran = home.zvf(&["query", "n.zv", "--format", format])?;
            ensure_code(
                &ran,
                4,
                &[&format!("column {name}"), number, "position 4.0 5.0 6.0"],
            )?;
        }
        for file in ["out.csv", "out.parquet", "out.arrow"] {
            let ran = home.zvf(&["export", "n.zv", file])?;
            ensure_code(&ran, 4, &[&format!("column {name}"), number])?;
        }
        let (code, codes) = findings(&home, "n.zv")?;
        ensure!(code == 1 && codes == ["ZVF-L3-0037"], "{codes:?}");
        fs::write(&document, before)?;
    }
    Ok(())
}

#[test]
fn a_text_that_is_no_code_point_is_an_error_of_reads_copies_and_edits() -> Result<()> {
    for code in [0xD800_u32, 0x0011_0000, u32::MAX] {
        let home = objects()?;
        let path = home.file("s.zv/0/object_attributes/name/c/0");
        let mut bytes = fs::read(&path)?;
        bytes[..4].copy_from_slice(&code.to_le_bytes());
        fs::write(&path, bytes)?;
        let says = [
            "is not a Unicode code point",
            "0/object_attributes/name",
            "row 0",
        ];
        fs::write(
            home.file("more.csv"),
            "object_id,x,y,z\n10,1,2,3\n10,2,2,2\n",
        )?;
        for command in [
            &["objects", "s.zv"][..],
            &["rechunk", "s.zv", "t.zv", "--chunk-shape", "40,40,40"],
            &["append", "s.zv", "more.csv"],
        ] {
            ensure_code(&home.zvf(command)?, 4, &says)?;
        }
        let (status, codes) = findings(&home, "s.zv")?;
        ensure!(status == 1 && codes == ["ZVF-L3-0066"], "{codes:?}");
    }
    Ok(())
}

#[test]
fn categories_of_several_kinds_are_damage() -> Result<()> {
    let home = home(&[("c.csv", "x,y,z,c\n1,2,3,a\n4,5,6,b\n")])?;
    home.text(&["import", "c.csv", "c.zv"])?;
    let document = home.file("c.zv/0/vertex_attributes/c/zarr.json");
    for odd in [
        json!([["a", "a"], "b"]),
        json!(["a", 7]),
        json!([null, "b"]),
        json!([null, null]),
        json!([{}, {}]),
        json!([true, 1]),
    ] {
        edit(&document, |document| {
            document["attributes"]["categories"] = odd.clone()
        })?;
        for command in [
            &["query", "c.zv"][..],
            &["rechunk", "c.zv", "t.zv", "--chunk-shape", "9,9,9"],
        ] {
            ensure_code(
                &home.zvf(command)?,
                4,
                &["0/vertex_attributes/c/zarr.json", "categor"],
            )?;
        }
        let (code, codes) = findings(&home, "c.zv")?;
        ensure!(
            code == 1 && codes.contains(&"ZVF-L1-0010".to_owned()),
            "{odd}: {codes:?}"
        );
    }
    // Categories of a single type are valid.
    for fine in [json!([1, 2]), json!([false, true]), json!([0.5, 2])] {
        edit(&document, |document| {
            document["attributes"]["categories"] = fine.clone()
        })?;
        home.text(&["query", "c.zv", "--format", "csv"])?;
    }
    Ok(())
}

#[test]
fn create_with_objects_keeps_the_ids_of_what_is_appended() -> Result<()> {
    let table = "object_id,x,y,z\n7,1,1,1\n7,2,2,2\n8,3,3,3\n8,4,4,4\n";
    for (kind, append) in [
        ("point_cloud", &["edit", "s.zv", "append", "ap.csv"][..]),
        ("point_cloud", &["append", "s.zv", "ap.csv"]),
        ("line", &["append", "s.zv", "ap.csv"]),
        ("streamline", &["append", "s.zv", "ap.csv"]),
        ("graph", &["append", "s.zv", "ap.csv"]),
    ] {
        let home = home(&[("ap.csv", table)])?;
        home.text(&[
            "create",
            "s.zv",
            "--kind",
            kind,
            "--with-objects",
            "--chunk-shape",
            "9,9,9",
            "--bounds",
            "0,0,0:9,9,9",
        ])?;
        let (code, codes) = findings(&home, "s.zv")?;
        ensure!(code == 0 && codes.is_empty(), "{kind}: {codes:?}");
        let ran = home.zvf(append)?;
        ensure!(
            ran.code == 0 && !ran.stderr.contains("left out"),
            "{kind}: {}",
            ran.stderr
        );
        let text = listed(&home, "s.zv")?;
        let ids: Vec<&str> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split(',').next())
            .collect();
        ensure!(ids == ["7", "8"], "{kind}: {text}");
        let (code, codes) = findings(&home, "s.zv")?;
        ensure!(code == 0 && codes.is_empty(), "{kind}: {codes:?}");
    }
    Ok(())
}

#[test]
fn a_small_table_is_read_with_a_small_budget() -> Result<()> {
    for codec in ["zstd", "gzip", "blosc", "none"] {
        let mut points = "object_id,x,y,z\n".to_owned();
        let mut names = "object_id,name\n".to_owned();
        for id in 0..5 {
            points += &format!("{id},{id},1,1\n");
            names += &format!("{id},abcdefghijklmnopqrstuvwxyz0123456789{id}\n");
        }
        let home = home(&[("p.csv", &points), ("o.csv", &names)])?;
        home.text(&[
            "import",
            "p.csv",
            "s.zv",
            "--object-column",
            "object_id",
            "--codec",
            codec,
        ])?;
        home.text(&[
            "edit",
            "s.zv",
            "set-attribute",
            "name",
            "--object",
            "--type",
            "text",
            "--from",
            "o.csv",
        ])?;
        for budget in ["1MiB", "64K"] {
            home.text(&[
                "objects",
                "s.zv",
                "-o",
                "out.csv",
                "--memory-budget",
                budget,
            ])?;
            let text = fs::read_to_string(home.file("out.csv"))?;
            for id in 0..5 {
                let name = format!("abcdefghijklmnopqrstuvwxyz0123456789{id}");
                ensure!(text.contains(&name), "{codec}, {budget}: {text}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_copy_of_levels_takes_chunks_that_fit_their_bins() -> Result<()> {
    let mut points = "x,y,z\n".to_owned();
    for at in 0..2000 {
        points += &format!("{},{},{}\n", at % 97, at % 89, at % 83);
    }
    let home = home(&[("p.csv", &points)])?;
    home.text(&["import", "p.csv", "s.zv", "--chunk-shape", "98,98,98"])?;
    home.text(&["pyramid", "s.zv", "--factors", "2"])?;
    let info = home.json(&["info", "s.zv", "--json"])?;
    ensure!(info["levels"].as_array().map(Vec::len) == Some(2), "{info}");
    // 104 is not a multiple of bins of 14 or 49.
    let ran = home.zvf(&["rechunk", "s.zv", "t.zv", "--chunk-shape", "104,104,104"])?;
    ensure_code(
        &ran,
        2,
        &["found 104 on axis 0", "bins", "pyramid STORE --remove"],
    )?;
    let named = ran.stderr.split("expected ").nth(1).unwrap_or_default();
    let size: f64 = named.split([' ', ',']).next().unwrap_or_default().parse()?;
    let shape = format!("{size},{size},{size}");
    home.text(&["rechunk", "s.zv", "t.zv", "--chunk-shape", &shape])?;
    Ok(())
}

#[test]
fn a_channel_that_an_attribute_lacks_is_no_color() -> Result<()> {
    let home = home(&[("p.csv", "x,y,z,t,v\n1,2,3,a,1\n4,5,6,b,2\n")])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for name in ["t", "v"] {
        let color = format!("{name}[5]");
        let ran = home.zvf(&["plot", "s.zv", "-o", "out.png", "--color", &color])?;
        ensure_code(
            &ran,
            2,
            &[&format!("attribute {name} has 1 channel, found channel 5")],
        )?;
        let color = format!("{name}[0]");
        home.text(&["plot", "s.zv", "-o", "out.png", "--color", &color])?;
    }
    Ok(())
}

#[test]
fn nodes_of_coarse_levels_and_older_stores_that_are_lost_or_of_another_type_are_found() -> Result<()>
{
    let mut rows = "x,y,z,i\n".to_owned();
    for row in 0..60 {
        rows += &format!("{row},{},{},{}\n", row % 7, row % 3, 100 + row);
    }
    let home = Home::made(&[("../p.csv", rows.into_bytes())])?;
    let typed = ["--attribute-type", "i=int32", "--chunk-shape", "20,20,20"];
    home.text(&[&["import", "p.csv", "new.zv"][..], &typed].concat())?;
    home.text(&["pyramid", "new.zv", "--factors", "2"])?;
    let old = ["import", "p.csv", "old.zv", "--kind", "polyline"];
    home.text(&[&old[..], &typed, &["--target", "0.8.1"]].concat())?;
    let validate = |store: &str| home.zvf(&["validate", store, "--level", "5"]);
    for store in ["new.zv", "old.zv"] {
        ensure!(validate(store)?.code == 0, "{store}");
    }
    let coarse = home.file("new.zv/1/vertex_attributes/i/zarr.json");
    let whole = std::fs::read_to_string(&coarse)?;
    for (type_, found) in [("float32", "ZVF-L1-0005"), ("uint32", "ZVF-L1-0010")] {
        let other = whole.replace("\"dtype\":\"int32\"", &format!("\"dtype\":\"{type_}\""));
        let other = other.replace("\"dtype\": \"int32\"", &format!("\"dtype\": \"{type_}\""));
        ensure!(other != whole, "{whole}");
        std::fs::write(&coarse, other)?;
        let ran = validate("new.zv")?;
        let text = String::from_utf8_lossy(&ran.stdout);
        ensure!(text.contains(found), "{type_}: {text}");
        ensure!(text.contains("declares int32"), "{type_}: {text}");
    }
    std::fs::remove_dir_all(home.file("old.zv/0/object_index"))?;
    let ran = validate("old.zv")?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let said = text.contains("is missing, but named by");
    ensure!(ran.code == 1 && said, "{text}");
    Ok(())
}

/// Stores before 0.9 may have points that were appended without values; queries warned, and the validator said nothing.
#[test]
fn a_lost_attribute_of_a_chunk_of_an_older_version_is_a_finding() -> Result<()> {
    let home = Home::made(&[("../p.csv", "x,y,z,v\n1,1,1,1\n11,1,1,2\n".into())])?;
    let import = ["import", "p.csv", "s.zv", "--target", "0.8.1"];
    home.text(&[&import[..], &["--chunk-shape", "10,10,10"]].concat())?;
    let report = home.text(&["validate", "s.zv"])?;
    assert!(report.contains("0 errors, 0 warnings"), "{report}");
    std::fs::remove_dir_all(home.file("s.zv/0/vertex_attributes/v/1.0.0"))?;
    let ran = home.zvf(&["query", "s.zv", "--format", "csv"])?;
    assert!(
        ran.stderr.contains("no cell for 1 chunks"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["validate", "s.zv"])?;
    let report = String::from_utf8_lossy(&ran.stdout);
    assert!(report.contains("ZVF-L3-0031"), "{report}");
    Ok(())
}

//! Columns of tables that are appended: their names and number types.

use std::fs::File;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array,
    Int8Array, Int64Array, RecordBatch,
};
use arrow_ipc::writer::FileWriter;

use crate::run::Home;

/// The source file of a store can be appended with all of its columns, also columns with names that a store cannot hold.
#[test]
fn columns_have_the_names_that_an_import_gives_them() -> Result<()> {
    let table = |x: usize| format!("x,y,z,gene/name,gene_name,\"v/2\"\n{x},1,1,a{x},b{x},{x}.5\n");
    let home = Home::made(&[
        ("../1.csv", table(1).into()),
        ("../2.csv", table(2).into()),
        ("../new.csv", "x,y,z,gene/name\n1,1,1,q\n2,1,1,r\n".into()),
    ])?;
    home.text(&["import", "1.csv", "s.zv"])?;
    let ran = home.zvf(&["append", "s.zv", "2.csv"])?;
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    let found = |names: &str| home.text(&["query", "s.zv", "--columns", names, "--format", "csv"]);
    let names = "x,gene_name,gene_name_2,v_2";
    let columns = "position,gene_name,gene_name_2,v_2";
    assert_eq!(
        found(columns)?,
        format!(
            "{}\n1.0,1.0,1.0,b1,a1,1.5\n2.0,1.0,1.0,b2,a2,2.5\n",
            names.replace("x,", "x,y,z,")
        )
    );
    home.text(&["import", "new.csv", "n.zv"])?;
    home.text(&[
        "edit",
        "n.zv",
        "set-attribute",
        "gene_name",
        "--from",
        "new.csv",
    ])?;
    Ok(())
}

/// `--position`, `--object-column` and `--rename` mean the same for other formats with columns as for tables.
#[test]
fn columns_of_other_formats_can_be_named() -> Result<()> {
    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float y\nproperty float x\nproperty float z\nproperty int cell\nproperty float q\nend_header\n4 5 6 7 1.5\n7 8 9 8 2.5\n";
    let home = Home::made(&[
        ("../s.csv", "x,y,z,object_id,r\n1,2,3,1,5.5\n".into()),
        ("../new.ply", ply.into()),
        (
            "../new.csv",
            "y,x,z,cell,q\n4,5,6,7,1.5\n7,8,9,8,2.5\n".into(),
        ),
        ("../new.swc", "1 1 0 0 0 2 -1\n".into()),
    ])?;
    let named = ["--position", "y,x,z", "--object-column", "cell"];
    for file in ["new.csv", "new.ply"] {
        home.text(&["import", "s.csv", "s.zv", "-q"])?;
        let ran = home.zvf(&[&["append", "s.zv", file, "--rename", "q=r"][..], &named].concat())?;
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{file}");
        let columns = "position,object_id,r";
        let found = home.text(&["query", "s.zv", "--columns", columns, "--format", "csv"])?;
        // The named columns are the axes of the store, in their order.
        assert_eq!(
            found, "x,y,z,object_id,r\n1.0,2.0,3.0,1,5.5\n4.0,5.0,6.0,7,1.5\n7.0,8.0,9.0,8,2.5\n",
            "{file}"
        );
        std::fs::remove_dir_all(home.file("s.zv"))?;
    }
    home.text(&["import", "s.csv", "s.zv"])?;
    let ran = home.zvf(&["append", "s.zv", "new.swc", "--rename", "q=r"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("rename: found one for"),
        "{}",
        ran.stderr
    );
    // Renames and types of columns that the tables do not have.
    let before = home.text(&["query", "s.zv", "--format", "csv"])?;
    for more in [["--rename", "p=w"], ["--attribute-type", "p=text"]] {
        for args in [
            &["append", "s.zv", "s.csv"][..],
            &["edit", "s.zv", "append", "s.csv"],
            &["edit", "s.zv", "move", "--from", "s.csv"],
            &["edit", "s.zv", "set-attribute", "r", "--from", "s.csv"],
        ] {
            let ran = home.zvf(&[args, &more].concat())?;
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
            let expected = "found \"p\", expected one of the columns: x, y, z, object_id, r";
            assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        }
    }
    assert_eq!(home.text(&["query", "s.zv", "--format", "csv"])?, before);
    Ok(())
}

/// A float32 of a typed table is the same number in a store of float64, not the decimal that it is printed as.
#[test]
fn short_floats_of_typed_tables_keep_their_value() -> Result<()> {
    let rows = "x,y,z,v,n\n5.12345678901,2,3,0.12345678901,7\n6,2,3,0.5,8\n";
    let home = Home::made(&[("../wide.csv", rows.into())])?;
    let float = |list: [Option<f32>; 2]| Arc::new(Float32Array::from(list.to_vec())) as ArrayRef;
    let mut columns = vec![
        ("x", float([Some(0.1), Some(4.0)])),
        ("y", float([Some(0.2), Some(5.0)])),
        ("z", float([Some(0.3), Some(6.0)])),
        ("n", Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef),
    ];
    let write = |file: &str, columns: &[(&str, ArrayRef)]| -> Result<()> {
        let table = RecordBatch::try_from_iter(columns.iter().cloned())?;
        let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
        writer.write(&table)?;
        Ok(writer.finish()?)
    };
    write("moved.arrow", &columns)?;
    columns.push(("v", float([Some(0.7), None])));
    write("more.arrow", &columns)?;
    let position = "0.10000000149011612,0.20000000298023224,0.30000001192092896";
    for (store, args, value) in [
        (
            "a.zv",
            &["append", "a.zv", "more.arrow"][..],
            "0.699999988079071",
        ),
        (
            "b.zv",
            &["edit", "b.zv", "append", "more.arrow"],
            "0.699999988079071",
        ),
        (
            "c.zv",
            &[
                "edit",
                "c.zv",
                "move",
                "--from",
                "moved.arrow",
                "--key",
                "n",
            ],
            "0.12345678901",
        ),
    ] {
        home.text(&["import", "wide.csv", store, "--kind", "point_cloud"])?;
        home.text(args)?;
        let query = ["query", store, "--columns", "x,y,z,v", "--where", "x < 1"];
        let found = home.text(&[&query[..], &["--format", "csv"]].concat())?;
        assert_eq!(found, format!("x,y,z,v\n{position},{value}\n"), "{store}");
    }

    // A float64 beyond 2^24 is rounded to the float32 of the store, with and without gaps in its column.
    let wide = |list: [Option<f64>; 2]| Arc::new(Float64Array::from(list.to_vec())) as ArrayRef;
    let columns = [
        ("x", wide([Some(20_000_001.3), Some(1.0)])),
        ("y", wide([Some(2.0), Some(2.0)])),
        ("z", wide([Some(3.0), Some(3.0)])),
        ("v", wide([Some(20_000_001.3), None])),
    ];
    write("large.arrow", &columns)?;
    std::fs::write(home.file("short.csv"), "x,y,z,v\n0.5,2,3,0.5\n")?;
    home.text(&["import", "short.csv", "d.zv"])?;
    home.text(&["append", "d.zv", "large.arrow"])?;
    let query = ["query", "d.zv", "--where", "x > 9", "--format", "csv"];
    assert_eq!(
        home.text(&query)?,
        "x,y,z,v\n20000002.0,2.0,3.0,20000002.0\n"
    );
    Ok(())
}

/// A float64 of a typed table is rounded to the float32 of the store, and refused if float32 has no such number.
#[test]
fn floats_of_typed_tables_never_become_infinite() -> Result<()> {
    let home = Home::made(&[
        ("../s.csv", "x,y,z,v\n1,2,3,0.5\n".into()),
        ("../d.csv", "x,y,z,v\n4,5,6,1e39\n".into()),
        ("../e.csv", "x,y,z,v\n4,5,6,0.1\n".into()),
    ])?;
    home.text(&["import", "s.csv", "s.zv"])?;
    let before = home.text(&["query", "s.zv", "--format", "csv"])?;
    for (table, fits) in [("d", false), ("e", true)] {
        let (csv, wide) = (format!("{table}.csv"), format!("{table}.zv"));
        home.text(&["import", &csv, &wide, "--attribute-type", "v=float64"])?;
        for ending in ["arrow", "parquet"] {
            let file = format!("{table}.{ending}");
            home.text(&["query", &wide, "-o", &file])?;
            let set = [
                "edit",
                "s.zv",
                "set-attribute",
                "w",
                "--from",
                &file,
                "--by-order",
            ];
            for args in [
                &["append", "s.zv", &file][..],
                &["edit", "s.zv", "append", &file],
            ] {
                let ran = home.zvf(args)?;
                assert_eq!(ran.code == 0, fits, "{args:?}: {}", ran.stderr);
            }
            let more = ["--type", "float32", "--rename", "v=w"];
            if !fits {
                let ran = home.zvf(&[&set[..], &more].concat())?;
                assert_eq!(ran.code, 2, "{}", ran.stderr);
                assert_eq!(home.text(&["query", "s.zv", "--format", "csv"])?, before);
            }
        }
    }
    Ok(())
}

/// Objects of a directory that `query -o` wrote may lack whole numbers and booleans.
#[test]
fn objects_without_a_value_are_appended_without_it() -> Result<()> {
    let home = Home::made(&[
        (
            "../l.csv",
            "x,y,z,object_id\n0,0,0,5\n1,0,0,5\n0,1,0,6\n1,1,0,6\n0,2,0,7\n1,2,0,7\n".into(),
        ),
        ("../k.csv", "object_id,k\n5,4611686018427387905\n".into()),
        ("../m.csv", "object_id,m\n7,2\n".into()),
    ])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    home.text(&["query", "s.zv", "-o", "plain"])?;
    for (name, file) in [("k", "k.csv"), ("m", "m.csv")] {
        let set = [
            "edit",
            "s.zv",
            "set-attribute",
            name,
            "--object",
            "--from",
            file,
        ];
        home.text(&[&set[..], &["--type", "int64"]].concat())?;
    }
    home.text(&["query", "s.zv", "-o", "tables"])?;
    let values = |store: &str| -> Result<Vec<serde_json::Value>> {
        let found = home.json(&["objects", store, "--json"])?;
        let objects = found["objects"].as_array().cloned().unwrap_or_default();
        Ok(objects
            .iter()
            .map(|one| serde_json::json!([one["object_id"], one["k"], one["m"]]))
            .collect())
    };
    let own = values("s.zv")?;
    assert!(
        own.iter()
            .any(|one| one[1] == 4_611_686_018_427_387_905_i64)
    );
    assert!(own.iter().any(|one| one[1].is_null() && one[2] == 2));
    home.text(&["append", "s.zv", "tables", "--new-ids"])?;
    let all = values("s.zv")?;
    let new: Vec<_> = all.iter().filter(|one| !own.contains(one)).collect();
    assert_eq!((all.len(), new.len()), (6, 3));
    for (new, own) in new.iter().zip(&own) {
        assert_eq!((&new[1], &new[2]), (&own[1], &own[2]));
    }
    Ok(())
}

/// Notes about attributes that files lack name links and objects, and dates as dates.
#[test]
fn notes_about_lacking_attributes_name_their_rows() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z,object_id\n1,2,3,1\n4,5,6,1\n".into()),
        ("../ends.csv", "source,target,w\n0,1,1.5\n".into()),
        ("../b.csv", "x,y,z,object_id\n1,2,3,5\n4,5,6,5\n".into()),
        ("../bare.csv", "source,target\n0,1\n".into()),
    ])?;
    let import = [
        "import",
        "a.csv",
        "s.zv",
        "--links-by-row",
        "--edges",
        "ends.csv",
    ];
    home.text(&import)?;
    for set in [
        &["d", "--link", "--type", "date", "--fill", "2020-01-01"][..],
        &["day", "--object", "--type", "date", "--fill", "2021-02-03"],
        &["n", "--type", "int32", "--fill", "4"],
    ] {
        home.text(&[&["edit", "s.zv", "set-attribute"], set].concat())?;
    }
    let append = ["append", "s.zv", "b.csv", "--links", "bare.csv"];
    let ran = home.zvf(&[&append[..], &["--links-by-row"]].concat())?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let why = "since the files have no such attribute";
    for says in [
        format!("missing for the new links, {why}: w"),
        format!("\"2020-01-01\" for the new links, {why}: d"),
        format!("\"4\" for the new vertices, {why}: n"),
        format!("\"2021-02-03\" for the new objects, {why}: day"),
    ] {
        assert!(ran.stderr.contains(&says), "{says}: {}", ran.stderr);
    }
    let ran = home.zvf(&["split", "s.zv", "parts", "--by", "count", "1"])?;
    for (fill, name) in [("2020-01-01", "d"), ("2021-02-03", "day")] {
        let says = format!("left out: \"{fill}\" as the value of attribute {name} for");
        assert!(ran.stderr.contains(&says), "{says}: {}", ran.stderr);
    }
    Ok(())
}

/// Links that the order of vertices implies are not stored, and the error names that, and not the rows of the table.
#[test]
fn implied_links_have_no_attributes() -> Result<()> {
    let swc = "1 1 0 0 0 1 -1\n2 3 1 0 0 1 1\n3 3 2 0 0 1 2\n";
    let home = Home::made(&[
        ("../t.swc", swc.into()),
        ("../w.csv", "vertices_0,vertices_1,w\n0,1,2.5\n".into()),
    ])?;
    home.text(&["import", "t.swc", "t.zv"])?;
    let set = [
        "edit",
        "t.zv",
        "set-attribute",
        "w",
        "--link",
        "--type",
        "float64",
    ];
    for more in [
        &["--from", "w.csv"][..],
        &["--from", "w.csv", "--ignore-missing"],
        &["--from", "w.csv", "--by-order"],
        &["--fill", "1"],
    ] {
        let ran = home.zvf(&[&set[..], more].concat())?;
        let says = "attributes of links: found links that the order of vertices implies";
        assert!(ran.code == 2 && ran.stderr.contains(says), "{}", ran.stderr);
    }
    Ok(())
}

/// Other programs write whole numbers with decimals as soon as one is missing.
#[test]
fn whole_numbers_of_texts_may_have_decimals_of_zeros() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,n,object_id\n0,0,1,7\n".into()),
        ("../b.csv", "x,y,n,object_id\n1,0,3.0,8.0\n2,0,,9.\n".into()),
        (
            "../b.ndjson",
            "{\"x\":3,\"y\":0,\"n\":5.0,\"object_id\":10.0}\n".into(),
        ),
        ("../set.csv", "object_id,vertex,n\n7.0,0.0,-2.00\n".into()),
        ("../half.csv", "x,y,n,object_id\n1,0,3.5,11\n".into()),
        (
            "../ids.csv",
            "x,y,n,object_id\n0,0,1,7.0\n1,0,2,8.5\n".into(),
        ),
    ])?;
    home.text(&["import", "a.csv", "s.zv"])?;
    home.text(&["append", "s.zv", "b.csv", "--fill", "n=4"])?;
    home.text(&["append", "s.zv", "b.ndjson"])?;
    home.text(&["edit", "s.zv", "set-attribute", "n", "--from", "set.csv"])?;
    let rows = home.text(&[
        "query",
        "s.zv",
        "--columns",
        "n,object_id",
        "--format",
        "csv",
    ])?;
    for row in ["-2,7", "3,8", "4,9", "5,10"] {
        assert!(rows.lines().any(|line| line == row), "{row} in {rows}");
    }
    let ran = home.zvf(&["append", "s.zv", "half.csv"])?;
    assert!(
        ran.code == 4 && ran.stderr.contains("found \"3.5\", expected int32"),
        "{}",
        ran.stderr
    );
    home.text(&["import", "b.csv", "b.zv", "--exclude", "n"])?;
    let ids = home.text(&["query", "b.zv", "--columns", "object_id", "--format", "csv"])?;
    assert!(ids.contains("8\n") && ids.contains("9\n"), "{ids}");
    let ran = home.zvf(&["import", "ids.csv", "i.zv"])?;
    assert!(
        ran.code == 4 && ran.stderr.contains("found \"8.5\", expected the id"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// The chunks of a store of one point are small. Points that are far apart make a chunk each, which a remark says, once.
#[test]
fn many_small_chunks_are_said() -> Result<()> {
    let rows: String = (1..=1100).map(|at| format!("{},0,0\n", 3 * at)).collect();
    let home = Home::made(&[
        ("../one.csv", "x,y,z\n0,0,0\n".into()),
        ("../far.csv", format!("x,y,z\n{rows}").into()),
    ])?;
    for store in ["s.zv", "t.zv"] {
        home.text(&["import", "one.csv", store, "--chunk-shape", "1,1,1"])?;
    }
    let remark = |store: &str| {
        format!(
            "1 100 new chunks with 1 vertex each on average, which are slow to write and to read: `zvf rechunk {store} NEW --chunk-shape 4096,4096,4096`"
        )
    };
    let ran = home.zvf(&["append", "s.zv", "far.csv", "--json"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches(&remark("s.zv")).count(),
        1,
        "{}",
        ran.stderr
    );
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
    assert!(
        report["notes"].to_string().contains(&remark("s.zv")),
        "{report}"
    );
    let ran = home.zvf(&["edit", "t.zv", "append", "far.csv"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches(&remark("t.zv")).count(),
        1,
        "{}",
        ran.stderr
    );
    // In these chunks, no remark.
    let shape = ["--chunk-shape", "4096,4096,4096"];
    home.text(&[&["rechunk", "s.zv", "wide.zv"][..], &shape].concat())?;
    let ran = home.zvf(&["append", "wide.zv", "far.csv"])?;
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    Ok(())
}

/// Dictionaries of numbers, as pandas writes categories of numbers, are numbers. A column of a type that no attribute can have is not taken as missing.
#[test]
fn columns_of_other_types_are_not_missing() -> Result<()> {
    let home = Home::made(&[("../s.csv", "x,y,z,v\n1,2,3,0.5\n".into())])?;
    let place = || Arc::new(Float64Array::from(vec![4.0, 5.0, 6.0])) as ArrayRef;
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
    let keys = Int8Array::from(vec![Some(1), None, Some(0)]);
    let coded = Arc::new(DictionaryArray::new(keys, numbers)) as ArrayRef;
    let bytes = Arc::new(BinaryArray::from(vec![&b"1"[..], b"2", b"3"])) as ArrayRef;
    let lists = |list: Vec<Option<f64>>, width| {
        let rows = std::iter::repeat_n(Some(list), 3);
        let lists = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(rows, width);
        Arc::new(lists) as ArrayRef
    };
    for (file, values) in [
        ("coded.arrow", coded),
        ("bytes.arrow", bytes),
        ("pairs.arrow", lists(vec![Some(1.0), Some(2.0)], 2)),
        ("single.arrow", lists(vec![Some(7.0)], 1)),
    ] {
        let places = ["x", "y", "z"].map(|axis| (axis, place()));
        let columns = places.into_iter().chain([("v", values)]);
        let table = RecordBatch::try_from_iter(columns)?;
        let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
        writer.write(&table)?;
        writer.finish()?;
    }
    let found = |store: &str| -> Result<Vec<String>> {
        let text = home.text(&["query", store, "--columns", "x,v", "--format", "csv"])?;
        let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        Ok(rows)
    };
    home.text(&["import", "coded.arrow", "t.zv"])?;
    assert_eq!(found("t.zv")?, ["4.0,2.5", "5.0,NaN", "6.0,1.5"]);
    home.text(&["import", "s.csv", "s.zv"])?;
    home.text(&["append", "s.zv", "coded.arrow"])?;
    let wanted = ["1.0,0.5", "4.0,2.5", "5.0,NaN", "6.0,1.5"];
    assert_eq!(found("s.zv")?, wanted);
    for (file, word) in [("bytes.arrow", "Binary"), ("pairs.arrow", "lists")] {
        for line in [
            &["append", "s.zv", file][..],
            &["edit", "s.zv", "append", file],
            &["edit", "s.zv", "set-attribute", "v", "--from", file],
        ] {
            let ran = home.zvf(line)?;
            assert_eq!(ran.code, 2, "{line:?}: {}", ran.stderr);
            assert!(
                ran.stderr.contains(&format!("found column v of {word}")),
                "{line:?}: {}",
                ran.stderr
            );
        }
    }
    assert_eq!(found("s.zv")?, wanted);
    // A list of one value is that value.
    home.text(&["append", "s.zv", "single.arrow"])?;
    let rows = found("s.zv")?;
    assert_eq!(rows.iter().filter(|row| row.ends_with(",7.0")).count(), 3);
    home.text(&["append", "s.zv", "bytes.arrow", "--rename", "v=other"])?;
    assert_eq!(found("s.zv")?.len(), 10);
    Ok(())
}

/// Pandas makes floats of ids beside missing ones; in tables of text they were ids before.
#[test]
fn floats_that_are_whole_numbers_are_ids_of_objects() -> Result<()> {
    let home = Home::made(&[])?;
    for (file, ids) in [
        ("whole.arrow", [7.0, 7.0, 8.0]),
        ("half.arrow", [7.5, 7.5, 8.0]),
    ] {
        let place = || Arc::new(Float64Array::from(vec![4.0, 5.0, 6.0])) as ArrayRef;
        let ids: ArrayRef = Arc::new(Float64Array::from(ids.to_vec()));
        let columns = [("x", place()), ("y", place()), ("object_id", ids)];
        let table = RecordBatch::try_from_iter(columns)?;
        let mut writer = FileWriter::try_new(File::create(home.file(file))?, table.schema_ref())?;
        writer.write(&table)?;
        writer.finish()?;
    }
    for options in [
        &["--kind", "polyline"][..],
        &[],
        &["--object-column", "object_id"],
    ] {
        let import =
            |file: &str, store: &str| home.zvf(&[&["import", file, store][..], options].concat());
        let store = format!("s{}.zv", options.join(""));
        let ran = import("whole.arrow", &store)?;
        assert_eq!(ran.code, 0, "{options:?}: {}", ran.stderr);
        let rows = home.text(&[
            "query",
            &store,
            "--columns",
            "x,object_id",
            "--format",
            "csv",
        ])?;
        let mut rows: Vec<&str> = rows.lines().skip(1).collect();
        rows.sort_unstable();
        assert_eq!(rows, ["4.0,7", "5.0,7", "6.0,8"], "{options:?}");
        let ran = import("half.arrow", "none.zv")?;
        assert_eq!(ran.code, 4, "{options:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("not a whole number"),
            "{options:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

/// Booleans with gaps are stored as texts. Later files are read as booleans, too, unless the store has other texts.
#[test]
fn booleans_and_missing_texts_are_read_as_by_an_import() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,ok\n1,0,True\n2,0,False\n3,0,\n".into()),
        ("../b.csv", "x,y,ok\n4,0,TRUE\n5,0, False\n".into()),
        ("../c.csv", "x,y,ok\n6,0,NA\n7,0,true\n".into()),
        ("../d.csv", "x,y,ok\n8,0,NaN\n9,0,\n".into()),
        ("../e.csv", "x,y,ok\n1,0,False\n".into()),
        ("../texts.csv", "x,y,ok\n1,0,True\n2,0,maybe\n".into()),
    ])?;
    let found = |store: &str| -> Result<Vec<String>> {
        let text = home.text(&["query", store, "--columns", "x,ok", "--format", "csv"])?;
        let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        Ok(rows)
    };
    home.text(&["import", "a.csv", "s.zv"])?;
    home.text(&["append", "s.zv", "b.csv", "c.csv"])?;
    home.text(&["edit", "s.zv", "append", "d.csv"])?;
    let mut want = [
        "1.0,true",
        "2.0,false",
        "3.0,",
        "4.0,true",
        "5.0,false",
        "6.0,",
        "7.0,true",
        "8.0,",
        "9.0,",
    ];
    assert_eq!(found("s.zv")?, want);
    home.text(&["edit", "s.zv", "set-attribute", "ok", "--from", "e.csv"])?;
    want[0] = "1.0,false";
    assert_eq!(found("s.zv")?, want);
    // A column without any value becomes one of NaN, which are no texts.
    home.text(&["import", "d.csv", "nothing.zv"])?;
    home.text(&["import", "texts.csv", "texts.zv"])?;
    home.text(&["append", "texts.zv", "nothing.zv"])?;
    home.text(&["append", "texts.zv", "b.csv"])?;
    let want = [
        "1.0,True",
        "2.0,maybe",
        "4.0,TRUE",
        "5.0, False",
        "8.0,",
        "9.0,",
    ];
    assert_eq!(found("texts.zv")?, want);
    Ok(())
}

/// The texts of booleans and other texts are different types: in one import, all would be texts.
#[test]
fn parts_with_booleans_and_with_texts_do_not_agree() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,ok\n1,0,True\n2,0,False\n3,0,\n".into()),
        ("../b.csv", "x,y,ok\n1,1,True\n2,1,maybe\n".into()),
    ])?;
    let part = |words: &[&str]| {
        let common = ["p.zv", "--chunk-shape", "10,10", "--bounds", "0,0:10,10"];
        home.zvf(&[&["import"], &words[..1], &common, &words[1..]].concat())
    };
    for words in [&["a.csv", "--begin"][..], &["a.csv", "--part", "0"]] {
        let ran = part(words)?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let ran = part(&["b.csv", "--part", "1"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--attribute-type"), "{}", ran.stderr);
    Ok(())
}

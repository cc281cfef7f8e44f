//! `zvf export`: files appear only when they are complete.

use anyhow::Result;
use serde_json::{Value, json};

use crate::run::Home;

const SWC: &str = "1 1 0.5 0.0 0.0 2.0 -1\n2 3 4.0 0.0 0.0 1.5 1\n3 3 14.0 0.0 0.0 1.0 2\n";

fn home() -> Result<Home> {
    let home = Home::made(&[("../7.swc", SWC.into())])?;
    home.text(&["import", "7.swc", "made.zv", "--chunk-shape", "5,5,5", "-q"])?;
    Ok(home)
}

#[test]
fn a_selection_becomes_a_file() -> Result<()> {
    let home = home()?;
    let said = home.json(&["export", "made.zv", "out.swc", "--json"])?;
    assert_eq!(said["vertices"], json!(3), "{said}");
    assert_eq!(said["format"], json!("SWC"));
    assert_eq!(
        said["notes"],
        json!(["attributes of objects are not kept: name"])
    );
    let text = std::fs::read_to_string(home.path().join("out.swc"))?;
    assert_eq!(text, format!("# id type x y z radius parent\n{SWC}"));
    let ran = home.zvf(&[
        "export",
        "made.zv",
        "out.tsv",
        "--bbox",
        "0,0,0:5,5,5",
        "--attributes",
        "radius",
    ])?;
    assert_eq!(
        (ran.code, String::from_utf8(ran.stdout)?.as_str()),
        (0, "out.tsv: CSV, 2 vertices\n")
    );
    assert!(
        ran.stderr.contains("zvf: warning: links are not kept"),
        "{}",
        ran.stderr
    );
    let text = std::fs::read_to_string(home.path().join("out.tsv"))?;
    assert_eq!(
        text,
        "x\ty\tz\tradius\tobject_id\n0.5\t0.0\t0.0\t2.0\t7\n4.0\t0.0\t0.0\t1.5\t7\n"
    );
    Ok(())
}

#[test]
fn failures_leave_what_was_there() -> Result<()> {
    let home = home()?;
    std::fs::write(home.path().join("out.trk"), "old")?;
    let cases: [(&[&str], i32, &str); 6] = [
        (
            &["export", "made.zv", "out.trk"],
            2,
            "found a store of kind skeleton, expected line, polyline or streamline",
        ),
        (
            &["export", "made.zv", "out.abc"],
            2,
            "found .abc, expected a file that ends in .swc",
        ),
        (&["export", "made.zv", "out.swc", "--objects", "8"], 2, "8"),
        (&["export", "none.zv", "out.swc"], 3, "none.zv"),
        (&["export", "made.zv", "no/where.swc"], 3, "no/where.swc"),
        (&["export", "made.zv", "out.swc", "--bbox", "1:2"], 2, "box"),
    ];
    for (args, code, said) in cases {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(std::fs::read(home.path().join("out.trk"))?, b"old");
    let names = home.names()?;
    assert!(
        !names
            .iter()
            .any(|name| name.contains("partial") || name == "out.swc"),
        "{names:?}"
    );
    Ok(())
}

/// Numbers of the rows of a compressed table, by an import of it.
fn packed_rows(home: &Home, file: &str) -> Result<String> {
    let bytes = std::fs::read(home.file(file))?;
    assert_eq!(bytes[..2], [0x1f, 0x8b], "{file}: no gzip");
    let store = format!("{file}.zv");
    home.text(&["import", file, &store, "-q", "--chunk-shape", "5,5,5"])?;
    home.text(&["query", &store, "--format", "csv", "--columns", "position"])
}

#[test]
fn names_of_gzip_are_packed() -> Result<()> {
    let home = home()?;
    let rows = "x,y,z\n0.5,0.0,0.0\n4.0,0.0,0.0\n14.0,0.0,0.0\n";
    home.text(&["export", "made.zv", "a.csv.gz", "--edges", "e.tsv.gz"])?;
    home.text(&["export", "made.zv", "b.TSV.GZ"])?;
    home.text(&["query", "made.zv", "-o", "c.csv.gz"])?;
    home.text(&["get", "made.zv", "7", "-o", "d.csv.gz"])?;
    for file in ["a.csv.gz", "b.TSV.GZ", "c.csv.gz", "d.csv.gz"] {
        assert_eq!(packed_rows(&home, file)?, rows, "{file}");
    }
    let made = home.json(&[
        "import",
        "a.csv.gz",
        "--edges",
        "e.tsv.gz",
        "linked.zv",
        "--json",
    ])?;
    assert_eq!(made["links"], json!(2), "{made}");
    for words in [
        &["query", "made.zv", "-o", "e.csv.gz", "--format", "csv"][..],
        &["query", "made.zv", "-o", "e.ndjson.gz"],
        &["export", "made.zv", "e.ply.gz"],
    ] {
        let ran = home.zvf(words)?;
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.stderr);
    }
    assert!(
        !home
            .names()?
            .iter()
            .any(|name| name.starts_with("e.csv") || name.starts_with("e.ply"))
    );
    Ok(())
}

#[test]
fn a_limit_that_no_object_fits_is_said() -> Result<()> {
    let lines = "x,y,z,o\n1,1,1,1\n2,2,2,1\n3,3,3,1\n4,4,4,2\n5,5,5,2\n";
    let home = Home::made(&[("../l.csv", lines.into())])?;
    home.text(&[
        "import",
        "l.csv",
        "l.zv",
        "--kind",
        "polyline",
        "--object-column",
        "o",
        "-q",
    ])?;
    for (words, vertices) in [
        (&["export", "l.zv", "o.csv", "--limit", "2"][..], 0),
        (&["export", "l.zv", "o.tck", "--limit", "2"], 0),
        (&["query", "l.zv", "-o", "o.tck", "--limit", "2"], 0),
        (&["export", "l.zv", "o.tck", "--limit", "3"], 3),
        (&["export", "l.zv", "o.tck", "--limit", "0"], 0),
        (
            &[
                "export",
                "l.zv",
                "o.tck",
                "--limit",
                "2",
                "--bbox",
                "90,90,90:99,99,99",
            ],
            0,
        ),
    ] {
        let said = home.json(&[words, &["--json"]].concat())?;
        assert_eq!(said["vertices"], json!(vertices), "{words:?}: {said}");
        let notes = said["notes"].to_string();
        let meant = vertices == 0 && !words.contains(&"--bbox");
        assert_eq!(
            notes.contains("nothing is written"),
            meant,
            "{words:?}: {notes}"
        );
    }
    let ran = home.zvf(&["export", "l.zv", "o.csv", "--limit", "2"])?;
    assert!(
        ran.code == 0 && ran.stderr.contains("than the limit of 2"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// Tags have no blanks and no `#`: a changed name is never the name of another group, and is reported. The same applies to attributes.
#[test]
fn names_of_precomputed_folders_are_those_of_the_store() -> Result<()> {
    let home = Home::made(&[(
        "../t.csv",
        "object_id,x,y,z,FA,fA\n1,0,0,0,1,5\n1,1,1,1,2,6\n2,5,5,5,3,7\n2,6,6,6,4,8\n".into(),
    )])?;
    home.text(&["import", "t.csv", "t.zv", "--kind", "polyline"])?;
    for (name, id) in [("a b", "1"), ("a_b", "2"), ("#x", "1"), ("free", "2")] {
        home.text(&["edit", "t.zv", "group", "add", name, id])?;
    }
    let done = home.json(&["export", "t.zv", "go", "--format", "precomputed", "--json"])?;
    let warnings = done["warnings"].to_string();
    for said in [
        "skeletons: group a b is the tag a_b_2: ",
        "skeletons: group #x is the tag _x: ",
        "skeletons: attribute FA is named fA_2: ",
    ] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    assert!(
        !warnings.contains("free") && !warnings.contains("group a_b "),
        "{warnings}"
    );
    home.text(&["import", "go/skeletons", "b.zv"])?;
    for (group, values) in [
        ("a_b", ["2,7,3", "2,8,4"]),
        ("a_b_2", ["1,5,1", "1,6,2"]),
        ("_x", ["1,5,1", "1,6,2"]),
        ("free", ["2,7,3", "2,8,4"]),
    ] {
        let query = ["query", "b.zv", "--groups", group, "--format", "csv"];
        let rows = home.text(&[&query[..], &["--columns", "object_id,fA,fA_2"]].concat())?;
        let mut rows: Vec<&str> = rows.lines().skip(1).collect();
        rows.sort_unstable();
        assert_eq!(rows, values, "{group}");
    }
    Ok(())
}

#[test]
fn missing_dates_of_precomputed_folders_are_missing() -> Result<()> {
    let rows = "x,y,z,d,i\n1,2,3,2024-01-01,5\n4,5,6,,\n";
    let home = Home::made(&[("../d.csv", rows.into())])?;
    home.text(&["import", "d.csv", "d.zv"])?;
    let done = home.json(&["export", "d.zv", "o", "--format", "precomputed", "--json"])?;
    let said =
        "points: dates and times of attribute d are plain numbers, in days since 1970-01-01: ";
    let warnings = done["warnings"].to_string();
    assert!(
        warnings.contains(said) && !warnings.contains("attribute i are"),
        "{warnings}"
    );
    home.text(&["import", "o/points", "b.zv"])?;
    let rows = home.text(&["query", "b.zv", "--columns", "d,i", "--format", "csv"])?;
    let mut rows: Vec<&str> = rows.lines().skip(1).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["19723.0,5.0", "NaN,NaN"]);
    Ok(())
}

#[test]
fn missing_dates_of_files_of_floats_are_missing() -> Result<()> {
    let rows = "object_id,x,y,z,d\n1,1,2,3,2024-01-01\n1,4,5,6,\n";
    let home = Home::made(&[("../d.csv", rows.into())])?;
    home.text(&["import", "d.csv", "d.zv", "--kind", "polyline"])?;
    for (file, store) in [("o.ply", "p.zv"), ("o.trk", "t.zv")] {
        home.text(&["export", "d.zv", file])?;
        home.text(&["import", file, store])?;
        let rows = home.text(&["query", store, "--columns", "d", "--format", "csv"])?;
        let rows: Vec<&str> = rows.lines().skip(1).collect();
        assert_eq!(rows, ["19723.0", "NaN"], "{file}");
    }
    Ok(())
}

/// Attributes with names of columns of answers are attributes in the views, too.
#[test]
fn precomputed_attributes_have_the_names_of_other_columns() -> Result<()> {
    let points = "x,y,z,row,chunk,fragment,object_ids\n1,1,1,100,200,300,400\n2,2,2,101,201,301,401\n15,2,2,102,202,302,402\n";
    let lines = "object_id,x,y,z\n1,0,0,0\n1,3,0,0\n1,3,4,0\n2,9,9,9\n2,9,9,19\n2,9,19,19\n";
    let of_lines = "object_id,length,start,vertices,chunks\n1,7,8,9,10\n2,20,21,22,23\n";
    let home = Home::made(&[
        ("../p.csv", points.into()),
        ("../l.csv", lines.into()),
        ("../o.csv", of_lines.into()),
    ])?;
    let shape = ["--kind", "point_cloud", "--chunk-shape", "10,10,10"];
    home.text(&[&["import", "p.csv", "p.zv"][..], &shape].concat())?;
    let export = ["export", "p.zv", "p", "--format", "precomputed"];
    for option in [
        &["--attributes", "row"][..],
        &["--attributes", "none"],
        &["--ignore-missing"],
    ] {
        let ran = home.zvf(&[&export, option].concat())?;
        assert_eq!(ran.code, 2, "{option:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("found it with --format, expected none"),
            "{option:?}: {}",
            ran.stderr
        );
    }
    home.text(&export)?;
    let job = home.text(&[&export[..], &["--shards", "2", "--print-job"]].concat())?;
    let job = job.replace("\"p\"", "\"q\"");
    std::fs::write(home.file("job.json"), job)?;
    home.text(&["run", "job.json"])?;
    let info = std::fs::read_to_string(home.file("q/points/info"))?;
    assert!(info.contains("neuroglancer_uint64_sharded_v1"), "{info}");
    home.text(&["import", "p/points", "back.zv"])?;
    let numbers = |text: String| -> Vec<String> {
        let mut rows: Vec<String> = text
            .lines()
            .skip(1)
            .map(|row| row.replace(".0", ""))
            .collect();
        rows.sort_unstable();
        rows
    };
    let names = "attribute:row,attribute:chunk,attribute:fragment,attribute:object_ids";
    let rows = home.text(&["query", "back.zv", "--columns", names, "--format", "csv"])?;
    assert_eq!(
        numbers(rows),
        ["100,200,300,400", "101,201,301,401", "102,202,302,402"]
    );
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline"])?;
    for name in ["length", "start", "vertices", "chunks"] {
        let set = ["edit", "l.zv", "set-attribute", name, "--object", "--from"];
        home.text(&[&set[..], &["o.csv", "--type", "float32"]].concat())?;
    }
    home.text(&["export", "l.zv", "l", "--format", "precomputed"])?;
    home.text(&["import", "l/lines", "lines.zv"])?;
    home.text(&["objects", "lines.zv", "-o", "o.ndjson"])?;
    let objects = std::fs::read_to_string(home.file("o.ndjson"))?;
    let objects: Vec<Value> = objects
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    for (one, [length, start, vertices, chunks]) in objects
        .iter()
        .zip([[7.0, 8.0, 9.0, 10.0], [20.0, 21.0, 22.0, 23.0]])
    {
        let number = |name: &str| {
            // If a column of the list of objects has this name, the attribute has a suffix.
            let beside = one.get(format!("{name}_2"));
            beside.or_else(|| one.get(name)).and_then(Value::as_f64)
        };
        assert_eq!(number("length"), Some(length), "{one}");
        assert_eq!(number("start"), Some(start), "{one}");
        assert_eq!(number("vertices"), Some(vertices), "{one}");
        assert_eq!(number("chunks"), Some(chunks), "{one}");
    }
    Ok(())
}

/// A channel never gets the name of another attribute.
#[test]
fn channels_beside_an_attribute_of_their_name_have_another_one() -> Result<()> {
    let home = Home::made(&[("../p.csv", "x,y,z,v_0\n1,1,1,7\n2,2,2,8\n".into())])?;
    home.text(&["import", "p.csv", "p.zv"])?;
    std::fs::write(home.file("v.ndjson"), "{\"v\":[1,2]}\n{\"v\":[3,4]}\n")?;
    let set = ["edit", "p.zv", "set-attribute", "v", "--by-order", "--from"];
    home.text(&[&set[..], &["v.ndjson", "--type", "float32"]].concat())?;
    let columns = ["--columns", "v,v_0"];
    let csv = home.text(&[&["query", "p.zv", "--format", "csv"][..], &columns].concat())?;
    let header = csv.lines().next();
    assert_eq!(header, Some("v[0],v[1],v_0"), "{csv}");
    home.text(&["export", "p.zv", "p.csv"])?;
    home.text(&["import", "p.csv", "csv.zv"])?;
    let done = home.json(&["export", "p.zv", "p", "--format", "precomputed", "--json"])?;
    let warnings = done["warnings"].to_string();
    assert!(
        warnings.contains("points: attribute v is named v_2"),
        "{warnings}"
    );
    home.text(&["import", "p/points", "back.zv"])?;
    let columns = ["--columns", "v_2_0,v_2_1,v_0"];
    let back = home.text(&[&["query", "back.zv", "--format", "csv"][..], &columns].concat())?;
    let mut rows: Vec<String> = back
        .lines()
        .skip(1)
        .map(|row| row.replace(".0", ""))
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1,2,7", "3,4,8"], "{back}");
    Ok(())
}

#[test]
fn precomputed_folders_say_what_they_round_and_do_not_name() -> Result<()> {
    let rows = "object_id,x,y,z,k\n1,4500000.123,0,0,p\n1,4500001.123,0,0,q\n";
    let home = Home::made(&[("../l.csv", rows.into())])?;
    let made = home.json(&["import", "l.csv", "l.zv", "--kind", "polyline", "--json"])?;
    assert_eq!(made["position_type"], json!("float64"), "{made}");
    let done = home.json(&["export", "l.zv", "l", "--format", "precomputed", "--json"])?;
    let warnings = done["warnings"].to_string();
    for said in [
        "skeletons: names of categories of attribute k are left out (2)",
        "positions are written as float32, the type in these formats: they differ by at most 2.5e-1",
    ] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    Ok(())
}

#[test]
fn other_tables_are_named_for_stores_of_any_axes() -> Result<()> {
    let home = Home::made(&[("../p.csv", "lon,lat,v\n1,2,3\n4,5,6\n".into())])?;
    home.text(&["import", "p.csv", "s.zv", "--position", "lon,lat"])?;
    for file in ["o.ndjson", "o.xyz"] {
        let ran = home.zvf(&["export", "s.zv", file])?;
        assert_eq!(ran.code, 2, "{file}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("expected another"),
            "{file}: {}",
            ran.stderr
        );
    }
    Ok(())
}

/// Files whose coordinates have no names hold x, y and z, as appends, regions and volumes take them; of a store of z, y and x they had these.
#[test]
fn coordinates_without_names_are_x_y_and_z() -> Result<()> {
    let rows = "z,y,x,object_id\n3,2,1,1\n6,5,4,1\n10,8,7,1\n";
    let home = Home::made(&[
        ("../p.csv", rows.into()),
        ("../f.csv", "a,b,c\n0,1,2\n".into()),
        ("../e.csv", "source,target\n1,0\n2,1\n".into()),
    ])?;
    let import = |store: &str, options: &[&str]| {
        let start = ["import", "p.csv", store, "--position", "z,y,x"];
        home.text(&[&start[..], options].concat())
    };
    import("m.zv", &["--faces", "f.csv"])?;
    import("g.zv", &["--edges", "e.csv"])?;
    import("l.zv", &["--kind", "polyline"])?;
    for (store, file) in [("m.zv", "o.obj"), ("g.zv", "o.swc")] {
        home.text(&["export", store, file])?;
        let text = std::fs::read_to_string(home.file(file))?;
        assert!(text.contains(" 1.0 2.0 3.0"), "{text}");
    }
    home.text(&["export", "l.zv", "views", "--format", "precomputed"])?;
    for (store, file) in [
        ("m.zv", "o.stl"),
        ("l.zv", "o.tck"),
        ("l.zv", "o.trk"),
        ("l.zv", "o.trx"),
        ("", "views/skeletons"),
    ] {
        if !store.is_empty() {
            home.text(&["export", store, file])?;
        }
        let back = format!("{}.zv", file.replace('/', "."));
        home.text(&["import", file, &back])?;
        let rows = home.text(&["query", &back, "--columns", "x,y,z", "--format", "csv"])?;
        for row in ["1.0,2.0,3.0", "7.0,8.0,10.0"] {
            assert!(rows.contains(row), "{file}: {rows}");
        }
    }
    Ok(())
}

/// With a template of names, objects outside of the selection get no file, and files of an earlier export stay.
#[test]
fn only_the_objects_of_a_selection_become_files() -> Result<()> {
    let lines = "x,y,z,object_id\n1,0,0,1\n2,0,0,1\n11,0,0,2\n12,0,0,2\n21,0,0,3\n22,0,0,3\n";
    let home = Home::made(&[("../l.csv", lines.into())])?;
    home.text(&["import", "l.csv", "l.zv", "--kind", "polyline", "-q"])?;
    home.text(&["edit", "l.zv", "group", "add", "g", "1"])?;
    std::fs::write(home.file("o2.csv"), "years of work")?;
    home.text(&["export", "l.zv", "-o", "o{id}.csv", "--groups", "g"])?;
    home.text(&[
        "export",
        "l.zv",
        "-o",
        "p{id}.csv",
        "--bbox",
        "20,0,0:30,1,1",
    ])?;
    for (name, exists) in [
        ("o1.csv", true),
        ("o3.csv", false),
        ("p1.csv", false),
        ("p2.csv", false),
        ("p3.csv", true),
    ] {
        assert_eq!(home.file(name).exists(), exists, "{name}");
    }
    assert_eq!(
        std::fs::read_to_string(home.file("o2.csv"))?,
        "years of work"
    );
    let line = ["export", "l.zv", "-o", "q{id}.csv", "--select", "vertices"];
    assert_eq!(home.zvf(&line)?.code, 2);
    Ok(())
}

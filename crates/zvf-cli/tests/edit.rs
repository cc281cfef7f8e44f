//! `zvf edit` and `zvf vacuum`: the other commands answer with the changed data.

use anyhow::{Result, ensure};
use arrow_ipc::reader::FileReader;
use serde_json::json;

use crate::run::Home;

/// Points of two objects, each with a number and a word.
const POINTS: &str = "x,y,z,cell,volume,word\n\
    0.5,0.5,0.5,7,1.5,axon\n12,0.5,0.5,7,2.5,soma\n3,3,3,9,3.5,axon\n4,4,4,9,4.5,\n";

fn home() -> Result<Home> {
    let home = Home::made(&[("../points.csv", POINTS.into())])?;
    home.text(&[
        "import",
        "points.csv",
        "made.zv",
        "--object-column",
        "cell",
        "--chunk-shape",
        "10,10,10",
    ])?;
    Ok(home)
}

/// The vertices of the store as CSV lines, sorted.
fn rows(home: &Home) -> Result<Vec<String>> {
    let text = home.text(&[
        "query",
        "made.zv",
        "--format",
        "csv",
        "--columns",
        "position,object_id,volume,word",
    ])?;
    let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    rows.sort_unstable();
    Ok(rows)
}

#[test]
fn vertices_come_go_and_move() -> Result<()> {
    let home = home()?;
    std::fs::write(
        home.file("new.csv"),
        "x,y,z,object_id,volume,word\n-3,1,1,11,5.5,glia\n-3,2,1,7,6.5,soma\n",
    )?;
    let done = home.json(&["edit", "made.zv", "append", "new.csv", "--json"])?;
    assert_eq!(
        (&done["vertices"], &done["objects"], &done["chunks"]),
        (&json!(2), &json!(2), &json!(1))
    );
    let done = home.json(&["edit", "made.zv", "delete", "9", "--json"])?;
    assert_eq!(
        (&done["vertices"], &done["objects"]),
        (&json!(-2), &json!(1))
    );
    std::fs::write(
        home.file("moved.csv"),
        "object_id,vertex,x,y,z\n11,0,1,1,1\n",
    )?;
    home.text(&["edit", "made.zv", "move", "--from", "moved.csv"])?;
    assert_eq!(
        rows(&home)?,
        [
            "-3.0,2.0,1.0,7,6.5,soma",
            "0.5,0.5,0.5,7,1.5,axon",
            "1.0,1.0,1.0,11,5.5,glia",
            "12.0,0.5,0.5,7,2.5,soma"
        ]
    );
    let info = home.json(&["info", "made.zv", "--json", "--count"])?;
    assert_eq!(info["levels"][0]["vertices"], json!(4), "{info}");
    assert_eq!(info["bounds"][0], json!([-3.0, 0.5, 0.5]), "{info}");
    // The index still has the row of object 9 until the store is vacuumed.
    let vacuumed = home.json(&["vacuum", "made.zv", "--json"])?;
    assert_eq!(
        (&vacuumed["rows"], &vacuumed["leftovers"]),
        (&json!(1), &json!(0))
    );
    let objects = home.json(&["objects", "made.zv", "--json"])?;
    let ids: Vec<_> = objects["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["object_id"])
        .collect();
    assert_eq!(ids, [&json!(7), &json!(11)]);
    Ok(())
}

#[test]
fn attributes_are_replaced_and_added() -> Result<()> {
    let home = home()?;
    std::fs::write(
        home.file("volumes.csv"),
        "object_id,vertex,volume\n9,1,40\n7,0,10\n",
    )?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "volume",
        "--from",
        "volumes.csv",
    ])?;
    std::fs::write(home.file("words.csv"), "vertex,word\n0,spine\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "word",
        "--from",
        "words.csv",
    ])?;
    assert_eq!(
        rows(&home)?,
        [
            "0.5,0.5,0.5,7,10.0,spine",
            "12.0,0.5,0.5,7,2.5,soma",
            "3.0,3.0,3.0,9,3.5,axon",
            "4.0,4.0,4.0,9,40.0,"
        ]
    );
    std::fs::write(home.file("labels.csv"), "label\n1\n2\n3\n4\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "label",
        "--type",
        "uint16",
        "--by-order",
        "--from",
        "labels.csv",
    ])?;
    std::fs::write(home.file("sizes.csv"), "object_id,size\n9,2.5\n")?;
    home.text(&[
        "edit",
        "made.zv",
        "set-attribute",
        "size",
        "--object",
        "--type",
        "float64",
        "--from",
        "sizes.csv",
    ])?;
    let text = home.text(&["query", "made.zv", "--format", "csv", "--columns", "label"])?;
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["label", "1", "2", "3", "4"]
    );
    let objects = home.json(&["objects", "made.zv", "--json"])?;
    let sizes: Vec<_> = objects["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["size"])
        .collect();
    assert_eq!(sizes, [&json!(null), &json!(2.5)]);
    Ok(())
}

#[test]
fn what_does_not_fit_leaves_the_store_as_it_was() -> Result<()> {
    let home = home()?;
    let before = rows(&home)?;
    std::fs::write(
        home.file("bad.csv"),
        "x,y,z,object_id,volume,word\n1,1,1,7,lots,axon\n",
    )?;
    std::fs::write(home.file("short.csv"), "x,y,object_id\n1,1,7\n")?;
    for (args, code, what) in [
        (&["delete", "8"][..], 2, "object 8"),
        (
            &["append", "bad.csv"],
            4,
            "bad.csv, line 2, column volume: found \"lots\", expected float32",
        ),
        (&["append", "short.csv"], 2, "no column z"),
        (&["append", "none.csv"], 3, "none.csv"),
        (
            &["set-attribute", "depth", "--from", "bad.csv"],
            2,
            "--type",
        ),
    ] {
        let ran = home.zvf(&[&["edit", "made.zv"], args].concat())?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(what), "{args:?}: {}", ran.stderr);
        assert_eq!(rows(&home)?, before);
    }
    let nothing = home.json(&["edit", "made.zv", "resume", "--json"])?;
    assert_eq!(nothing["resumed"], json!("nothing"));
    // A killed writer leaves its marker: the next command reports it, and may clean up.
    std::fs::write(
        home.file("made.zv/zvf-unfinished.json"),
        r#"{"details": {"edit": "a1"}}"#,
    )?;
    let busy = home.zvf(&["edit", "made.zv", "delete", "9"])?;
    assert_eq!(busy.code, 75, "{}", busy.stderr);
    let taken = home.json(&["edit", "made.zv", "resume", "--json"])?;
    assert_eq!(taken["resumed"], json!("taken back"));
    // No command can know whose a marker is that cannot be read, or states no change: the message names what helps, and only that.
    let marker = home.file("made.zv/zvf-unfinished.json");
    for unknown in ["garbage", r#"{"writer": "zvf"}"#] {
        std::fs::write(&marker, unknown)?;
        for args in [
            &["edit", "made.zv", "resume"][..],
            &["edit", "made.zv", "delete", "9"],
            &["pyramid", "made.zv"],
            &["pyramid", "made.zv", "--clear-leftovers"],
        ] {
            let ran = home.zvf(args)?;
            assert_eq!(ran.code, 75, "{args:?}: {}", ran.stderr);
            let right = ran.stderr.contains("remove this file");
            let wrong = ran.stderr.contains("resume`") || ran.stderr.contains("clear-leftovers`");
            assert!(right && !wrong, "{args:?}: {}", ran.stderr);
        }
    }
    std::fs::remove_file(&marker)?;
    home.text(&["edit", "made.zv", "delete", "9"])?;
    assert_eq!(rows(&home)?.len(), 2);
    Ok(())
}

#[test]
fn ranges_of_ids_are_deleted() -> Result<()> {
    let text: String = (0..30)
        .map(|id| format!("{id},1,1,{}\n", id - 10))
        .collect();
    let home = Home::made(&[("../many.csv", format!("x,y,z,cell\n{text}").into())])?;
    let import = ["import", "many.csv", "many.zv", "--object-column", "cell"];
    home.text(&import)?;
    let ids = |home: &Home| -> Result<Vec<i64>> {
        let objects = home.json(&["objects", "many.zv", "--json"])?;
        let objects = objects["objects"].as_array().cloned().unwrap_or_default();
        let mut ids: Vec<i64> = objects
            .iter()
            .filter_map(|object| object["object_id"].as_i64())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    };
    let mut left: Vec<i64> = (-10..20).collect();
    for (words, gone) in [
        (&["0-4,7"][..], &[0, 1, 2, 3, 4, 7][..]),
        (&["-5", "9"], &[-5, 9]),
        (&["--", "-9--8"], &[-9, -8]),
        (&["8-11", "--ignore-missing"], &[8, 10, 11]),
        (
            &["15-1000000000000000000", "--ignore-missing"],
            &[15, 16, 17, 18, 19],
        ),
    ] {
        home.text(&[&["edit", "many.zv", "delete"], words].concat())?;
        left.retain(|id| !gone.contains(id));
        assert_eq!(ids(&home)?, left, "{words:?}");
    }
    for (words, told) in [
        ("5-7", "no object 7"),
        ("0-1000000000000000000", "expected at most the 12 ids"),
        ("5-", "expected a whole number of 64 bits, or two as in 1-5"),
    ] {
        let ran = home.zvf(&["edit", "many.zv", "delete", words])?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert_eq!(ids(&home)?, left);
    }
    home.text(&["edit", "many.zv", "group", "add", "some", "5-6,-10"])?;
    let some = home.json(&["query", "many.zv", "--groups", "some", "--json"])?;
    assert_eq!(some["vertices"], json!(3));
    // Several terms, some of which follow each other as numbers.
    for (words, told) in [
        (&["6", "5", "12-13,14", "6", "-10"][..], ""),
        (&["5", "6", "7"], "no object 7"),
        (&["5", "6", "soon", "7"], "object soon"),
        (&["5", "6", "7", "-7", "--ignore-missing"], ""),
    ] {
        let add = ["edit", "many.zv", "group", "add", "several"];
        let ran = home.zvf(&[&add, words].concat())?;
        assert_eq!(ran.code == 0, told.is_empty(), "{}", ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    let several = home.json(&["query", "many.zv", "--groups", "several", "--json"])?;
    assert_eq!(several["vertices"], json!(7));
    let range = [
        "get",
        "many.zv",
        "0-1000000000000000000",
        "--ignore-missing",
        "--json",
    ];
    assert_eq!(home.json(&range)?["vertices"], json!(5));
    home.text(&["validate", "many.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn deleted_objects_do_not_exist() -> Result<()> {
    let home = home()?;
    home.text(&["edit", "made.zv", "delete", "7"])?;
    // The fragments of a deleted object have no rows, and are no fragments of no object.
    let found = home.json(&["validate", "made.zv", "--level", "5", "--json"])?;
    ensure!(!found.to_string().contains("fragment-owner"), "{found}");
    home.text(&["rechunk", "made.zv", "copy.zv", "--chunk-shape", "20,20,20"])?;
    for store in ["made.zv", "copy.zv"] {
        let objects = home.json(&["objects", store, "--json"])?;
        assert_eq!(objects["total"], json!(1), "{objects}");
        assert_eq!(objects["objects"][0]["object_id"], json!(9), "{objects}");
        let told = home.zvf(&["get", store, "7"])?;
        assert_eq!(told.code, 2, "{}", told.stderr);
        assert!(told.stderr.contains("no object 7"), "{}", told.stderr);
        let both = ["get", store, "7", "9", "--ignore-missing", "--json"];
        assert_eq!(home.json(&both)?["vertices"], json!(2));
        let info = home.json(&["info", store, "--json"])?;
        let level = &info["levels"][0];
        assert_eq!(level["objects"], json!(1), "{info}");
        assert_eq!(level["object_index"]["rows"], json!(2), "{info}");
        assert_eq!(level["object_index"]["deleted"], json!(1), "{info}");
        let text = home.text(&["info", store])?;
        assert!(text.contains("2 rows, 1 of deleted objects"), "{text}");
        let folder = format!("{store}.tables/");
        let query = ["query", store, "--select", "objects", "-o", &folder];
        home.text(&query)?;
        let ids = texts(&home, &format!("{folder}objects.arrow"), 0)?;
        assert_eq!(ids, ["9"]);
    }
    home.text(&["vacuum", "made.zv"])?;
    let info = home.json(&["info", "made.zv", "--json"])?;
    let index = &info["levels"][0]["object_index"];
    assert_eq!((&index["rows"], &index["deleted"]), (&json!(1), &json!(0)));
    Ok(())
}

#[test]
fn what_a_query_writes_is_taken_back() -> Result<()> {
    for format in ["csv", "ndjson", "arrow"] {
        let home = home()?;
        let before = rows(&home)?;
        let file = format!("all.{format}");
        let columns = "position,object_id,attributes";
        home.text(&["query", "made.zv", "-o", &file, "--columns", columns])?;
        home.text(&["edit", "made.zv", "delete", "7", "9"])?;
        assert_eq!(rows(&home)?.len(), 0);
        home.text(&["edit", "made.zv", "append", &file])?;
        assert_eq!(rows(&home)?, before, "{format}");
    }
    let home = home()?;
    std::fs::write(
        home.file("more.ndjson"),
        "{\"vertex\":1,\"object_id\":9,\"position\":[5,5.5,5],\"volume\":null,\"word\":\"\"}\n\
         {\"word\":null,\"volume\":\"Infinity\",\"vertex\":0,\"object_id\":7,\"position\":[1,1,1]}\n",
    )?;
    home.text(&["edit", "made.zv", "move", "--from", "more.ndjson"])?;
    for name in ["volume", "word"] {
        let set = ["set-attribute", name, "--from", "more.ndjson"];
        home.text(&[&["edit", "made.zv"], &set[..]].concat())?;
    }
    let columns = ["--columns", "position,object_id,volume,word"];
    let query = [&["query", "made.zv", "--format", "ndjson"][..], &columns].concat();
    let text = home.text(&query)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            r#"{"position":[1.0,1.0,1.0],"object_id":7,"volume":"Infinity","word":null}"#,
            r#"{"position":[12.0,0.5,0.5],"object_id":7,"volume":2.5,"word":"soma"}"#,
            r#"{"position":[3.0,3.0,3.0],"object_id":9,"volume":3.5,"word":"axon"}"#,
            r#"{"position":[5.0,5.5,5.0],"object_id":9,"volume":"NaN","word":""}"#,
        ]
    );
    for (line, what) in [
        ("[1,2]", "line 1"),
        ("{\"volume\":{\"a\":1}}", "line 1: found member \"volume\""),
        (
            "{\"vertex\":\"x\",\"volume\":1}",
            "line 1, column vertex: found \"x\", expected the number",
        ),
    ] {
        std::fs::write(home.file("bad.ndjson"), line)?;
        let ran = home.zvf(&["edit", "made.zv", "move", "--from", "bad.ndjson"])?;
        let set = ["set-attribute", "volume", "--from", "bad.ndjson"];
        let set = home.zvf(&[&["edit", "made.zv"], &set[..]].concat())?;
        assert_eq!((ran.code != 0, set.code), (true, 4), "{}", set.stderr);
        assert!(set.stderr.contains(what), "{}", set.stderr);
    }
    std::fs::write(home.file("bad.arrow"), "ARROW1 and nothing more")?;
    let ran = home.zvf(&["edit", "made.zv", "append", "bad.arrow"])?;
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert_eq!(home.text(&query)?, text);
    Ok(())
}

#[test]
fn what_a_query_writes_is_imported() -> Result<()> {
    for format in ["csv", "ndjson", "arrow"] {
        let home = home()?;
        let before = rows(&home)?;
        let file = format!("all.{format}");
        let columns = "position,object_id,attributes";
        home.text(&["query", "made.zv", "-o", &file, "--columns", columns])?;
        std::fs::remove_dir_all(home.file("made.zv"))?;
        let by = ["--object-column", "object_id", "--chunk-shape", "10,10,10"];
        home.text(&[&["import", &file, "made.zv"], &by[..]].concat())?;
        assert_eq!(rows(&home)?, before, "{format}");
    }
    Ok(())
}

/// Three links between four vertices: `x` is 1 and 2, 2 and 15, 1 and 3.
const NET: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
    element edge 3\nproperty int vertex1\nproperty int vertex2\nend_header\n\
    1 1 1\n2 1 1\n15 1 1\n3 1 1\n0 1\n1 2\n0 3\n";

/// A column of a table in a folder, as a CSV file would have it.
fn texts(home: &Home, file: &str, at: usize) -> Result<Vec<String>> {
    let reader = FileReader::try_new(std::fs::File::open(home.file(file))?, None)?;
    let mut texts = Vec::new();
    for batch in reader {
        for row in zvf_convert::output::cells(&batch?) {
            texts.push(row[at].clone().unwrap_or_default());
        }
    }
    Ok(texts)
}

/// The links by the first coordinates of their ends, with their weights; the tables are written to a folder.
fn weights(home: &Home, folder: &str) -> Result<Vec<String>> {
    let query = ["query", "net.zv", "-o", folder, "--columns"];
    home.text(&[&query[..], &["position,object_id,attributes"]].concat())?;
    let x = texts(home, &format!("{folder}/vertices.arrow"), 0)?;
    let [from, to, weight] = [0, 1, 2].map(|at| texts(home, &format!("{folder}/links.arrow"), at));
    let mut links = Vec::new();
    for ((from, to), weight) in from?.iter().zip(to?).zip(weight?) {
        let (from, to): (usize, usize) = (from.parse()?, to.parse()?);
        links.push(format!("{}-{} {weight}", x[from], x[to]));
    }
    links.sort_unstable();
    Ok(links)
}

#[test]
fn links_get_values() -> Result<()> {
    let home = Home::made(&[("../net.ply", NET.into())])?;
    home.text(&["import", "net.ply", "net.zv", "--chunk-shape", "10,10,10"])?;
    let set = ["edit", "net.zv", "set-attribute", "w", "--link"];
    for (table, more) in [
        ("w\n0\n0\n0\n", &["--type", "int32", "--by-order"][..]),
        // In the order of answers, the vertices have x 1, 2, 3 and 15.
        ("vertices_0,vertices_1,w\n0,1,10\n3,1,20\n", &[]),
        ("object_id,vertex_0,vertex_1,w\n0,0,2,30\n", &[]),
    ] {
        std::fs::write(home.file("w.csv"), table)?;
        home.text(&[&set[..], &["--from", "w.csv"], more].concat())?;
    }
    let wanted = ["1.0-2.0 10", "1.0-3.0 30", "2.0-15.0 20"];
    assert_eq!(weights(&home, "first")?, wanted);
    home.text(&["edit", "net.zv", "delete", "0"])?;
    assert_eq!(weights(&home, "none")?.len(), 0);
    let append = [
        "append",
        "first/vertices.arrow",
        "--links",
        "first/links.arrow",
    ];
    home.text(&[&["edit", "net.zv"], &append[..]].concat())?;
    assert_eq!(weights(&home, "second")?, wanted);
    for (table, more, what) in [
        ("vertices_0,vertices_1,w\n0,3,1\n", &[][..], "link 0"),
        (
            "vertices_0,w\n0,1\n",
            &[],
            "expected columns vertices_0 to vertices_1",
        ),
        (
            "w\n1\n2\n3\n",
            &[],
            "without a column that assigns them to links",
        ),
        ("w\n1\n", &["--by-order"], "expected 3: one for each link"),
    ] {
        std::fs::write(home.file("w.csv"), table)?;
        let ran = home.zvf(&[&set[..], &["--from", "w.csv"], more].concat())?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
        assert_eq!(weights(&home, "second")?, wanted);
    }
    Ok(())
}

#[test]
fn a_type_is_only_for_new_attributes() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z,q\n1,2,3,4\n5,6,7,8\n".into()),
        ("../q.csv", "x,y,z,q\n1,2,3,9\n5,6,7,10\n".into()),
    ])?;
    home.text(&["import", "p.csv", "p.zv"])?;
    let line = ["edit", "p.zv", "set-attribute", "q", "--from", "q.csv"];
    let ran = home.zvf(&[&line[..], &["--type", "int64"]].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let said = "the vertex attribute q exists: leave out --type, which adds an attribute";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    home.text(&line)?;
    Ok(())
}

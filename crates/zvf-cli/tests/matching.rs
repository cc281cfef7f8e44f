//! Values of a table are assigned to their vertices, objects and links, or are refused.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::Home;

/// Points in an order that no store has, each with an id and a sample.
const POINTS: usize = 60;

/// A position by number: spread over several chunks; no two are equal.
fn position(number: usize) -> [f64; 3] {
    let at = number * 37 % POINTS;
    let at = f64::from(u32::try_from(at).unwrap_or(0));
    [at * 0.7 + 0.1, 30.3 - at * 0.5, at * at * 0.01]
}

fn id(number: usize) -> usize {
    1000 + number * 7
}

/// A value by number, which is expected at the vertex with this number.
fn value(number: usize) -> usize {
    number * 13 + 5
}

fn points() -> Result<Home> {
    let mut text = "x,y,z,id,sample,cell\n".to_owned();
    for number in 0..POINTS {
        let [x, y, z] = position(number);
        let (sample, cell) = (["a", "b"][number % 2], number / 2);
        text += &format!("{x},{y},{z},{},{sample},{cell}\n", id(number));
    }
    let home = Home::made(&[("../points.csv", text.into())])?;
    home.text(&[
        "import",
        "points.csv",
        "p.zv",
        "--chunk-shape",
        "10,10,10",
        "-q",
    ])?;
    Ok(home)
}

/// The values of an attribute by id, as the program prints them.
fn by_id(home: &Home, store: &str, name: &str) -> Result<BTreeMap<String, String>> {
    let columns = format!("id,{name}");
    let text = home.text(&["query", store, "--format", "csv", "--columns", &columns])?;
    let rows = text.lines().skip(1);
    rows.map(|row| {
        let (id, value) = row.split_once(',').context("a row of one column")?;
        Ok((id.to_owned(), value.to_owned()))
    })
    .collect()
}

fn wanted(numbers: impl Iterator<Item = usize>) -> BTreeMap<String, String> {
    numbers
        .map(|number| (id(number).to_string(), value(number).to_string()))
        .collect()
}

/// Writes a table and sets an attribute from it.
fn set(home: &Home, store: &str, table: &str, args: &[&str]) -> Result<crate::run::Ran> {
    std::fs::write(home.file("t.csv"), table)?;
    let name = args.first().context("no attribute")?;
    let rest = args.get(1..).unwrap_or_default();
    let from = ["--from", "t.csv"];
    home.zvf(&[&["edit", store, "set-attribute", name], &from[..], rest].concat())
}

/// A table of all points in the order of the file, with these columns.
fn table(header: &str, row: impl Fn(usize) -> String) -> String {
    let rows = (0..POINTS).map(|number| row(number) + "\n");
    format!("{header}\n{}", rows.collect::<String>())
}

#[test]
fn a_table_of_ones_own_finds_its_points() -> Result<()> {
    let all = wanted(0..POINTS);
    let place = |number| {
        let [x, y, z] = position(number);
        format!("{x},{y},{z}")
    };
    let samples = |number: usize| format!("{},{}", ["a", "b"][number % 2], number / 2);
    for (header, row, more) in [
        (
            "id,v",
            Box::new(|n| format!("{},{}", id(n), value(n))) as Box<dyn Fn(usize) -> String>,
            &["--key", "id"][..],
        ),
        (
            "v,sample,cell",
            Box::new(move |n| format!("{},{}", value(n), samples(n))),
            &["--key", "sample,cell"],
        ),
        (
            "x,y,z,v",
            Box::new(move |n| format!("{},{}", place(n), value(n))),
            &[],
        ),
        // Columns that are not part of the key are ignored.
        (
            "id,x,y,z,v",
            Box::new(|n| format!("{},0,0,0,{}", id(n), value(n))),
            &["--key", "id"],
        ),
    ] {
        let home = points()?;
        let args = [&["v", "--type", "int64"], more].concat();
        let ran = set(&home, "p.zv", &table(header, &row), &args)?;
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{header}");
        assert_eq!(by_id(&home, "p.zv", "v")?, all, "{header}");
        home.text(&["validate", "p.zv", "--level", "5"])?;
    }
    Ok(())
}

#[test]
fn columns_of_a_query_go_back_in_any_order() -> Result<()> {
    for format in ["csv", "ndjson", "arrow"] {
        let home = points()?;
        let first = table("id,v", |n| format!("{},{}", id(n), value(n)));
        set(
            &home,
            "p.zv",
            &first,
            &["v", "--type", "int32", "--key", "id"],
        )?;
        let file = format!("q.{format}");
        let sort = [
            "query",
            "p.zv",
            "--columns",
            "chunk,row,v",
            "-o",
            &file,
            "-q",
        ];
        home.text(&sort)?;
        home.text(&[
            "edit",
            "p.zv",
            "set-attribute",
            "w",
            "--type",
            "int32",
            "--fill",
            "-1",
        ])?;
        if format == "csv" {
            let text = std::fs::read_to_string(home.file(&file))?;
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if let Some(header) = lines.first_mut() {
                *header = header.replace(",v", ",w");
            }
            if let Some(rows) = lines.get_mut(1..) {
                rows.reverse();
            }
            let ran = set(&home, "p.zv", &lines.join("\n"), &["w"])?;
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert_eq!(by_id(&home, "p.zv", "w")?, wanted(0..POINTS));
        }
        let ran = home.zvf(&["edit", "p.zv", "set-attribute", "v", "--from", &file])?;
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        assert_eq!(by_id(&home, "p.zv", "v")?, wanted(0..POINTS), "{format}");
    }
    Ok(())
}

/// The same chunk and row of a coarse level is another vertex.
#[test]
fn tables_of_a_coarse_level_are_refused() -> Result<()> {
    let home = points()?;
    home.text(&["pyramid", "p.zv", "--factors", "4", "-q"])?;
    let ids = "id,sample,cell";
    let before = by_id(&home, "p.zv", "cell")?;
    for format in ["arrow", "parquet"] {
        let file = format!("coarse.{format}");
        let columns = format!("position,chunk,row,{ids}");
        let query = ["query", "p.zv", "--level", "1", "--columns", &columns, "-o"];
        home.text(&[&query[..], &[&*file, "-q"]].concat())?;
        for change in [&["set-attribute", "cell"][..], &["move"]] {
            let edit = [&["edit", "p.zv"][..], change, &["--from", &*file]].concat();
            let ran = home.zvf(&edit)?;
            assert_eq!(ran.code, 2, "{format} {change:?}: {}", ran.stderr);
            let says = "rows by chunk, row: found rows of level 1, expected those of level 0";
            assert!(ran.stderr.contains(says), "{}", ran.stderr);
            // Points of a coarse level are points of level 0.
            home.text(&[&edit[..], &["--key", "id"]].concat())?;
        }
    }
    assert_eq!(by_id(&home, "p.zv", "cell")?, before);
    Ok(())
}

#[test]
fn tables_of_edits_are_read_as_those_of_imports() -> Result<()> {
    let home = points()?;
    // As a spreadsheet with decimal commas writes it, with another header.
    let mut rows: Vec<String> = (0..POINTS)
        .map(|number| format!("{};{},25", id(number), value(number)))
        .collect();
    if let Some(row) = rows.first_mut() {
        *row = format!("{};-", id(0));
    }
    std::fs::write(
        home.file("t.csv"),
        format!("Nummer;Höhe\n{}\n", rows.join("\n")),
    )?;
    let columns = ["--delimiter", ";", "--decimal", ",", "--na", "-"];
    let renamed = ["--rename", "Nummer=id", "--rename", "Höhe=height"];
    let set = "edit p.zv set-attribute height --type float64 --from t.csv --key id";
    let set: Vec<&str> = set.split(' ').collect();
    home.text(&[&set[..], &columns, &renamed].concat())?;
    let mut heights = wanted(0..POINTS);
    heights.values_mut().for_each(|value| *value += ".25");
    heights.insert(id(0).to_string(), "NaN".to_owned());
    assert_eq!(by_id(&home, "p.zv", "height")?, heights);
    // Adds a vertex from a file without a header.
    std::fs::write(home.file("more.csv"), "1,5;2;3;9;-;a;4\n")?;
    let append = "edit p.zv append more.csv --columns-in x,y,z,id,height,sample,cell";
    let append: Vec<&str> = append.split(' ').collect();
    home.text(&[&append[..], &columns].concat())?;
    // Moves the vertex.
    std::fs::write(home.file("move.csv"), "id;X;y;z\n9;2,5;2;3\n")?;
    let moved = "edit p.zv move --from move.csv --key id --rename X=x";
    let moved: Vec<&str> = moved.split(' ').collect();
    home.text(&[&moved[..], &columns].concat())?;
    let last = "query p.zv --format csv --columns position,id,height --where";
    let last: Vec<&str> = last.split(' ').chain(["id == 9"]).collect();
    let text = home.text(&last)?;
    assert_eq!(text.lines().nth(1), Some("2.5,2.0,3.0,9,NaN"), "{text}");
    Ok(())
}

#[test]
fn what_a_table_does_not_say_is_refused_with_the_ways() -> Result<()> {
    let home = points()?;
    let add = ["v", "--type", "int64"];
    let start = table("id,v", |n| format!("{},{}", id(n), 1));
    set(
        &home,
        "p.zv",
        &start,
        &[&add[..], &["--key", "id"]].concat(),
    )?;
    let before = by_id(&home, "p.zv", "v")?;
    let plain = table("v", |n| value(n).to_string());
    let places = |shift: f64| {
        table("x,y,z,v", |n| {
            let [x, y, z] = position(n);
            format!("{},{y},{z},{}", x + shift, value(n))
        })
    };
    let [x, y, z] = position(3);
    let twice = format!("x,y,z,v\n{x},{y},{z},1\n{x},{y},{z},2\n");
    let known = id(4);
    for (table, more, what) in [
        (plain.as_str(), &[][..], "--key COLUMN"),
        (&plain, &[], "the columns chunk and row"),
        (&plain, &[], "the positions"),
        (&plain, &[], "--by-order"),
        (
            "v\n1\n2\n",
            &["--by-order"],
            "expected 60: one for each vertex",
        ),
        // The order of the file is not the order of the store.
        (
            &places(0.0),
            &["--by-order"],
            "with other values than the store",
        ),
        (&places(0.5), &[], "x,y,z 0.6"),
        (&twice, &[], "rows 0 and 1"),
        ("id,v\n5,1\n6,2\n", &["--key", "id"], "id 5; id 6"),
        (
            &format!("id,v\n{known},1\n{known},2\n"),
            &["--key", "id"],
            "id 1028 (rows 0 and 1)",
        ),
        (&format!("id,v\n{known},1\n,2\n"), &["--key", "id"], "row 1"),
        (
            "sample,v\na,1\n",
            &["--key", "sample"],
            "sample a of 30 vertices",
        ),
        ("id,v\nseven,1\n", &["--key", "id"], "\"seven\""),
        ("id,v\n7,1\n", &["--key", "name"], "--key name"),
        ("vertex,v\n0,1\n0,2\n", &[], "vertex 0 in rows 0 and 1"),
        ("vertex,v\n60,1\n", &[], "vertex 60"),
        (
            "vertex,x,y,z,v\n0,9,9,9,1\n",
            &[],
            "with other values than the store",
        ),
        (
            "chunk_0,chunk_1,chunk_2,row,v\n0,9,9,0,1\n",
            &[],
            "chunk 0,9,9, row 0",
        ),
    ] {
        let ran = set(&home, "p.zv", table, &[&["v"], more].concat())?;
        assert!(matches!(ran.code, 2 | 4), "{}: {}", ran.code, ran.stderr);
        assert!(ran.stderr.contains(what), "{what}: {}", ran.stderr);
        assert_eq!(by_id(&home, "p.zv", "v")?, before, "{what}");
    }
    Ok(())
}

#[test]
fn rows_that_are_not_in_the_store_are_left_out_if_told() -> Result<()> {
    let home = points()?;
    let some = format!(
        "id,v\n{},{}\n5,1\n{},{}\n",
        id(7),
        value(7),
        id(2),
        value(2)
    );
    let key = ["--key", "id", "--ignore-missing"];
    let add = [&["v", "--type", "float32"][..], &key].concat();
    let ran = set(&home, "p.zv", &some, &add)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("58 of 60 vertices have no row"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("1 row"), "{}", ran.stderr);
    let found = by_id(&home, "p.zv", "v")?;
    assert_eq!(found[&id(7).to_string()], format!("{}.0", value(7)));
    assert_eq!(found[&id(3).to_string()], "NaN");
    // Integers cannot be missing.
    let add = [&["n", "--type", "int8"][..], &key].concat();
    let ran = set(&home, "p.zv", &some.replace(",v", ",n"), &add)?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--fill"), "{}", ran.stderr);
    let add = [&add[..], &["--fill", "-1"]].concat();
    let ran = set(&home, "p.zv", &some.replace(",v", ",n"), &add)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = by_id(&home, "p.zv", "n")?;
    assert_eq!(found[&id(2).to_string()], value(2).to_string());
    assert_eq!(found.values().filter(|one| *one == "-1").count(), 58);
    Ok(())
}

#[test]
fn vertices_move_by_their_key() -> Result<()> {
    let home = points()?;
    let moved = format!("id,x,y,z\n{},1.5,2.5,3.5\n", id(9));
    std::fs::write(home.file("m.csv"), moved)?;
    let ran = home.zvf(&["edit", "p.zv", "move", "--from", "m.csv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    home.text(&["edit", "p.zv", "move", "--from", "m.csv", "--key", "id"])?;
    let asked = format!("id == {}", id(9));
    let text = home.text(&["query", "p.zv", "--where", &asked, "--format", "csv"])?;
    assert!(text.contains("1.5,2.5,3.5"), "{text}");
    Ok(())
}

/// Two polylines that begin at the same position, each with a name.
fn lines() -> Result<Home> {
    let text = "object_id,x,y,z\n5,1,1,1\n5,2,2,2\n8,1,1,1\n8,3,3,3\n";
    let home = Home::made(&[("../lines.csv", text.into())])?;
    let import = [
        "import",
        "lines.csv",
        "l.zv",
        "--object-column",
        "object_id",
    ];
    let kind = ["--kind", "polyline", "--chunk-shape", "10,10,10", "-q"];
    home.text(&[&import[..], &kind].concat())?;
    let names = "object_id,name,n\n8,eight,80\n5,five,50\n";
    let add = ["name", "--object", "--type", "text"];
    set(&home, "l.zv", names, &add)?;
    set(&home, "l.zv", names, &["n", "--object", "--type", "int32"])?;
    Ok(home)
}

fn objects(home: &Home, name: &str) -> Result<Vec<(i64, Value)>> {
    let found = home.json(&["objects", "l.zv", "--json"])?;
    let all = found["objects"].as_array().context("no objects")?;
    let one = |one: &Value| Some((one["object_id"].as_i64()?, one[name].clone()));
    all.iter()
        .map(|object| one(object).context("no id"))
        .collect()
}

#[test]
fn objects_are_found_or_named_in_the_error() -> Result<()> {
    let home = lines()?;
    assert_eq!(objects(&home, "n")?, [(5, json!(50)), (8, json!(80))]);
    let mistyped = "object_id,n\n5,1\n58,2\n";
    for format in ["csv", "ndjson"] {
        let ran = set(&home, "l.zv", mistyped, &["n", "--object"])?;
        assert_eq!(ran.code, 2, "{format}: {}", ran.stderr);
        assert!(ran.stderr.contains("object 58"), "{}", ran.stderr);
        assert!(ran.stderr.contains("--new"), "{}", ran.stderr);
        assert_eq!(objects(&home, "n")?, [(5, json!(50)), (8, json!(80))]);
    }
    let by_key = ["n", "--object", "--key", "name"];
    let ran = set(&home, "l.zv", "name,n\neight,88\n", &by_key)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(objects(&home, "n")?, [(5, json!(50)), (8, json!(88))]);
    let ran = set(&home, "l.zv", "name,n\neigth,88\n", &by_key)?;
    assert!(
        ran.code == 2 && ran.stderr.contains("eigth"),
        "{}",
        ran.stderr
    );
    let ran = set(&home, "l.zv", "n\n1\n2\n", &["n", "--object"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("object_id"),
        "{}",
        ran.stderr
    );
    let ran = set(&home, "l.zv", "n\n1\n2\n", &["n", "--object", "--by-order"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = set(
        &home,
        "l.zv",
        mistyped,
        &["n", "--object", "--ignore-missing"],
    )?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = set(&home, "l.zv", mistyped, &["n", "--object", "--new"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = objects(&home, "n")?;
    assert_eq!(found, [(5, json!(1)), (8, json!(2)), (58, json!(2))]);
    Ok(())
}

#[test]
fn vertices_of_objects_are_found_by_object_and_position() -> Result<()> {
    let home = lines()?;
    let start = "object_id,vertex,v\n5,0,1\n5,1,2\n8,0,3\n8,1,4\n";
    let ran = set(&home, "l.zv", start, &["v", "--type", "int16"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let values = |home: &Home| -> Result<String> {
        let columns = ["--format", "csv", "--columns", "v"];
        let all: Vec<String> = ["5", "8"]
            .iter()
            .map(|id| home.text(&[&["get", "l.zv", id][..], &columns].concat()))
            .collect::<Result<_>>()?;
        Ok(all.concat().replace("v\n", "").replace('\n', " "))
    };
    assert_eq!(values(&home)?, "1 2 3 4 ");
    // Both lines have a vertex at the first position: a row without an object applies to both, an object id selects one.
    let ran = set(&home, "l.zv", "x,y,z,v\n1,1,1,7\n", &["v"])?;
    assert_eq!((ran.code, values(&home)?.as_str()), (0, "7 2 7 4 "));
    let ran = set(
        &home,
        "l.zv",
        "x,y,z,object_id,v\n1,1,1,8,9\n1,1,1,5,6\n",
        &["v"],
    )?;
    assert_eq!((ran.code, values(&home)?.as_str()), (0, "6 2 9 4 "));
    let ran = set(&home, "l.zv", "x,y,z,object_id,v\n3,3,3,5,9\n", &["v"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("object_id 5"),
        "{}",
        ran.stderr
    );
    let ran = set(&home, "l.zv", "vertex,object_id,v\n0,6,9\n", &["v"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("object_id 6"),
        "{}",
        ran.stderr
    );
    let key = ["w", "--type", "int8", "--fill", "0", "--key", "object_id,v"];
    let ran = set(&home, "l.zv", "object_id,v,w\n8,9,1\n", &key)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = set(&home, "l.zv", "v\n9\n", &["v", "--key", "v"])?;
    assert!(
        ran.code == 2 && ran.stderr.contains("key v"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn faces_of_the_same_corners_keep_their_own_values() -> Result<()> {
    let corners = "object_id,x,y,z\n0,1,1,1\n0,2,2,2\n0,3,1,3\n0,4,4,4\n";
    let faces = "a,b,c,w\n0,1,2,10\n0,2,1,20\n1,2,3,30\n";
    let home = Home::made(&[("../v.csv", corners.into()), ("../f.csv", faces.into())])?;
    let import = ["import", "v.csv", "m.zv", "--object-column", "object_id"];
    home.text(&[&import[..], &["--faces", "f.csv", "-q"]].concat())?;
    let values = |home: &Home, name: &str| -> Result<Vec<String>> {
        home.text(&["links", "m.zv", "-o", "l.csv", "-q"])?;
        let text = std::fs::read_to_string(home.file("l.csv"))?;
        std::fs::remove_file(home.file("l.csv"))?;
        let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let header = rows.next().context("no header")?;
        let at = header.iter().position(|one| *one == name);
        let at = at.context("no such column")?;
        let value = |row: Vec<&str>| row.get(at).map(|one| (*one).to_owned());
        rows.map(|row| value(row).context("a short row")).collect()
    };
    let weights = |home: &Home| values(home, "w");
    assert_eq!(weights(&home)?, ["10", "20", "30"]);
    let link = ["w", "--link"];
    let header = "vertices_0,vertices_1,vertices_2,w\n";
    for (rows, wanted) in [
        ("0,2,1,99\n", ["10", "99", "30"]),
        ("0,1,2,98\n", ["98", "99", "30"]),
        ("0,2,1,1\n0,1,2,2\n", ["2", "1", "30"]),
        // No link has this order, and only one has these corners.
        ("3,2,1,5\n", ["2", "1", "5"]),
    ] {
        let ran = set(&home, "m.zv", &format!("{header}{rows}"), &link)?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(weights(&home)?, wanted, "{rows}");
    }
    // Two faces have these corners, but neither has this order.
    let ran = set(&home, "m.zv", &format!("{header}1,2,0,7\n"), &link)?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(weights(&home)?, ["2", "1", "5"]);
    let ran = set(&home, "m.zv", &format!("{header}0,1,3,7\n"), &link)?;
    assert!(
        ran.code == 2 && ran.stderr.contains("0,1,3"),
        "{}",
        ran.stderr
    );
    // Rows that are not in the store may be left out; a second value of a link, or an ambiguous face, is an error.
    let ignore = ["w", "--link", "--ignore-missing"];
    for (rows, wrong) in [
        ("0,1,2,7\n0,1,2,8\n", "link 1 "),
        ("0,1,3,7\n1,2,0,7\n", "link 1 "),
    ] {
        let ran = set(&home, "m.zv", &format!("{header}{rows}"), &ignore)?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(wrong), "{}", ran.stderr);
    }
    let ran = set(&home, "m.zv", &format!("{header}0,1,3,7\n"), &ignore)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(weights(&home)?, ["2", "1", "5"]);
    // The output of `zvf links` can be used as input.
    home.text(&["links", "m.zv", "-o", "l.csv", "-q"])?;
    let text = std::fs::read_to_string(home.file("l.csv"))?;
    std::fs::remove_file(home.file("l.csv"))?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(1, 3);
    let ran = set(&home, "m.zv", &lines.join("\n"), &link)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(weights(&home)?, ["2", "1", "5"]);
    // Links are matched by unique values; then a new attribute is matched by the ends.
    let ran = set(
        &home,
        "m.zv",
        "w,u\n5,0.5\n1,1.5\n",
        &["u", "--link", "--type", "float32", "--key", "w"],
    )?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(values(&home, "u")?, ["NaN", "1.5", "0.5"]);
    let more = ["k", "--link", "--type", "int8", "--fill", "0"];
    let ran = set(
        &home,
        "m.zv",
        "vertices_0,vertices_1,vertices_2,k\n0,2,1,4\n",
        &more,
    )?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(values(&home, "k")?, ["0", "4", "0"]);
    home.text(&["validate", "m.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn a_new_column_does_not_stop_later_appends() -> Result<()> {
    let home = points()?;
    let lands = table("id,land,n", |n| {
        format!("{},{},{n}", id(n), ["x", "y"][n % 2])
    });
    let text = ["land", "--type", "text", "--key", "id"];
    set(&home, "p.zv", &lands, &text)?;
    let number = ["n", "--type", "int64", "--key", "id", "--fill", "-7"];
    set(&home, "p.zv", &lands, &number)?;
    std::fs::write(home.file("one.csv"), "x,y,z,id\n1,1,1,1\n")?;
    // The import had a text `sample` for each point; `cell` is a number without a fill value.
    let ran = home.zvf(&["append", "p.zv", "one.csv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--fill cell=VALUE"), "{}", ran.stderr);
    let ran = home.zvf(&["append", "p.zv", "one.csv", "--fill", "cell=3"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("\"-7\" for the new vertices"),
        "{}",
        ran.stderr
    );
    std::fs::write(home.file("two.csv"), "x,y,z,id,cell,land\n2,2,2,2,,\n")?;
    let fill = [
        "--fill", "cell=4", "--fill", "land=sea", "--fill", "sample=c",
    ];
    home.text(&[&["edit", "p.zv", "append", "two.csv"], &fill[..]].concat())?;
    let columns = ["--columns", "id,sample,cell,land,n"];
    let asked = ["query", "p.zv", "--where", "id < 3", "--format", "csv"];
    let found = home.text(&[&asked[..], &columns].concat())?;
    let mut rows: Vec<&str> = found.lines().collect();
    rows.sort_unstable();
    assert_eq!(rows, ["1,,3,,-7", "2,c,4,sea,-7", "id,sample,cell,land,n"]);
    assert_eq!(by_id(&home, "p.zv", "land")?[&id(1).to_string()], "y");
    home.text(&["validate", "p.zv", "--level", "5"])?;
    for (fill, what) in [
        ("cell=x", "\"x\""),
        ("none=1", "none"),
        ("cell", "NAME=VALUE"),
    ] {
        let ran = home.zvf(&["append", "p.zv", "two.csv", "--fill", fill])?;
        assert!(
            ran.code == 2 && ran.stderr.contains(what),
            "{fill}: {}",
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn a_category_of_a_created_store_may_be_missing() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z,c\n1,1,1,\n2,2,2,b\n".into())])?;
    let create = [
        "create",
        "c.zv",
        "--kind",
        "point_cloud",
        "--attribute",
        "c:category",
    ];
    let shape = ["--chunk-shape", "9,9,9", "--bounds", "0,0,0:9,9,9", "-q"];
    home.text(&[&create[..], &shape].concat())?;
    home.text(&["append", "c.zv", "a.csv"])?;
    std::fs::write(home.file("b.csv"), "x,y,z\n3,3,3\n")?;
    home.text(&["append", "c.zv", "b.csv"])?;
    let many: String = (0..400).map(|n| format!("4,4,4,c{n}\n")).collect();
    std::fs::write(home.file("m.csv"), format!("x,y,z,c\n{many}"))?;
    home.text(&["append", "c.zv", "m.csv"])?;
    let found = home.text(&[
        "query",
        "c.zv",
        "--format",
        "csv",
        "--columns",
        "c",
        "--limit",
        "4",
    ])?;
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        ["c", "\"\"", "b", "\"\"", "c0"]
    );
    home.text(&["validate", "c.zv", "--level", "5"])?;
    Ok(())
}

/// An object without an integer value is shown as missing in every output.
#[test]
fn an_object_without_a_whole_number_has_none() -> Result<()> {
    let home = lines()?;
    std::fs::write(home.file("more.csv"), "object_id,x,y,z\n9,4,4,4\n9,5,5,5\n")?;
    home.text(&["append", "l.zv", "more.csv"])?;
    assert_eq!(
        objects(&home, "n")?,
        [(5, json!(50)), (8, json!(80)), (9, json!(null))]
    );
    for format in ["csv", "ndjson"] {
        let file = format!("o.{format}");
        home.text(&["objects", "l.zv", "-o", &file, "-q"])?;
        let text = std::fs::read_to_string(home.file(&file))?;
        assert!(!text.contains("2147483648"), "{text}");
    }
    let table = home.text(&["objects", "l.zv"])?;
    assert!(!table.contains("2147483648"), "{table}");
    Ok(())
}

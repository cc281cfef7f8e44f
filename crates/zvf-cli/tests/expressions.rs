//! Values that expressions compute: `zvf edit set-attribute --expr` and `zvf plot --color`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::Home;

/// Two lines of three and two vertices, and whole numbers that float64 does not hold.
const LINES: &str = "x,y,z,object_id,v,w,t\n\
    0,0,0,1,9007199254740993,0.5,a\n\
    3,4,0,1,2,1.5,b\n\
    3,4,12,1,-3,,a\n\
    9,0,0,2,4,-2,\n\
    9,2,0,2,5,8,b\n";

fn lines() -> Result<Home> {
    let home = Home::made(&[("../l.csv", LINES.into())])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    Ok(home)
}

/// Sets an attribute by an expression.
fn set(home: &Home, name: &str, type_: &str, flags: &[&str]) -> Result<()> {
    let line = ["edit", "s.zv", "set-attribute", name, "--type", type_];
    home.text(&[&line, flags].concat())?;
    Ok(())
}

/// A column of a table of NDJSON.
fn column(text: &str, name: &str) -> Result<Vec<Value>> {
    let rows = text.lines().map(serde_json::from_str::<Value>);
    rows.map(|row| row?.get(name).cloned().context("no such column"))
        .collect()
}

/// The values of an attribute of vertices, by x and z of the row.
fn of_vertices(home: &Home, name: &str) -> Result<BTreeMap<(i64, i64), Value>> {
    let columns = format!("x,z,{name}");
    let words = ["query", "s.zv", "--format", "ndjson", "--columns", &columns];
    let text = home.text(&words)?;
    let whole = |value: Value| value.as_f64().map(|one| one as i64);
    let places = column(&text, "x")?.into_iter().zip(column(&text, "z")?);
    let places = places.map(|(x, z)| whole(x).zip(whole(z)).context("no place"));
    let values = column(&text, name)?.into_iter();
    places
        .zip(values)
        .map(|(place, value)| Ok((place?, value)))
        .collect()
}

#[test]
fn values_of_vertices_are_computed() -> Result<()> {
    let home = lines()?;
    // Two vertices have x 9 and z 0; the second one has these values.
    let at = [(0, 0), (3, 0), (3, 12), (9, 0)];
    for (name, type_, expression, wanted) in [
        (
            "a",
            "float64",
            "sqrt(x * x + y * y) / 2",
            ["0.0", "2.5", "2.5", "4.6097722286464435"],
        ),
        (
            "b",
            "int64",
            "v * 3 - 1",
            ["27021597764222978", "5", "-10", "14"],
        ),
        ("c", "float32", "w * 0.1", ["0.05", "0.15", "null", "0.8"]),
        (
            "d",
            "bool",
            "w > 0.5 and t == 'b'",
            ["false", "true", "false", "true"],
        ),
        ("e", "float64", "x - start.x", ["0.0", "3.0", "3.0", "0.0"]),
        (
            "f",
            "float64",
            "length() / count()",
            [
                "5.666666666666667",
                "5.666666666666667",
                "5.666666666666667",
                "1.0",
            ],
        ),
        (
            "g",
            "uint8",
            "object_id * 100",
            ["100", "100", "100", "200"],
        ),
        ("h", "text", "t", ["\"a\"", "\"b\"", "\"a\"", "\"b\""]),
        ("i", "int16", "7", ["7", "7", "7", "7"]),
        (
            "j",
            "float64",
            "max(v, 3) % 4",
            ["1.0", "3.0", "3.0", "1.0"],
        ),
    ] {
        set(&home, name, type_, &["--expr", expression])?;
        let found = of_vertices(&home, name)?;
        for (place, wanted) in at.iter().zip(wanted) {
            let value = found.get(place).context("no such vertex")?.to_string();
            let value = if value == "\"NaN\"" { "null" } else { &value };
            ensure!(
                value == wanted,
                "{expression} at {place:?}: {value}, expected {wanted}"
            );
        }
    }
    // An attribute that exists keeps its type, and may be in its own expression.
    home.text(&["edit", "s.zv", "set-attribute", "i", "--expr", "i + 1"])?;
    ensure!(of_vertices(&home, "i")?.values().all(|one| *one == 8));
    home.validates("s.zv")
}

#[test]
fn moments_and_durations_are_computed() -> Result<()> {
    let points = "x,y,z,from,to,day\n\
        1,0,0,2024-03-01T12:00:00,2024-03-01T13:30:00,2024-02-29\n\
        2,0,0,1969-12-31T23:59:59,1970-01-01T00:00:00,1970-01-01\n";
    let home = Home::made(&[("../p.csv", points.into())])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    let missing = "x,y,z,from,to,day\n3,0,0,,2024-01-01T00:00:00,2024-01-01\n";
    std::fs::write(home.file("missing.csv"), missing)?;
    home.text(&["append", "s.zv", "missing.csv"])?;
    for (name, type_, expression, wanted) in [
        (
            "late",
            "datetime64[s]",
            "from + 3600",
            ["2024-03-01T13:00:00", "1970-01-01T00:59:59", ""],
        ),
        (
            "last",
            "datetime64[s]",
            "max(from, to)",
            ["2024-03-01T13:30:00", "1970-01-01T00:00:00", ""],
        ),
        (
            "next",
            "date",
            "day + 1",
            ["2024-03-01", "1970-01-02", "2024-01-02"],
        ),
        ("took", "timedelta64[s]", "to - from", ["5400", "1", ""]),
        (
            "hours",
            "float64",
            "(to - from) / 3600",
            ["1.5", "0.0002777777777777778", ""],
        ),
        (
            "is_late",
            "bool",
            "to > '2024-01-01T00:00:00'",
            ["true", "false", "false"],
        ),
    ] {
        set(&home, name, type_, &["--expr", expression])?;
        let text = home.text(&[
            "query",
            "s.zv",
            "--format",
            "csv",
            "--columns",
            &format!("x,{name}"),
        ])?;
        let mut found: Vec<(&str, &str)> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .collect();
        found.sort_unstable();
        let found: Vec<&str> = found.into_iter().map(|(_, value)| value).collect();
        let found: Vec<&str> = found
            .iter()
            .map(|one| if *one == "NaN" { "" } else { one })
            .collect();
        ensure!(
            found == wanted,
            "{expression}: {found:?}, expected {wanted:?}"
        );
    }
    // A duration has a unit, which an attribute without one would lose.
    let ran = home.zvf(&[
        "edit",
        "s.zv",
        "set-attribute",
        "n",
        "--type",
        "int64",
        "--expr",
        "to - to",
    ])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("`(to - to) * 1`"),
        "{}",
        ran.stderr
    );
    set(&home, "n", "int64", &["--expr", "(to - to) * 1"])?;
    home.validates("s.zv")
}

#[test]
fn values_of_objects_and_links_are_computed() -> Result<()> {
    let home = lines()?;
    let objects = |name: &str| -> Result<Vec<Value>> {
        let listed = home.json(&["objects", "s.zv", "--json"])?;
        let listed = listed["objects"].as_array().context("objects")?;
        Ok(listed.iter().map(|one| one[name].clone()).collect())
    };
    set(
        &home,
        "size",
        "float64",
        &["--object", "--expr", "length() * 2"],
    )?;
    ensure!(objects("size")? == [34.0, 4.0]);
    set(
        &home,
        "long",
        "bool",
        &["--object", "--expr", "size > 10 and end.z > 5"],
    )?;
    ensure!(objects("long")? == [true, false]);
    // Attributes of objects in expressions of vertices.
    set(&home, "share", "float64", &["--expr", "x / size"])?;
    let shares = of_vertices(&home, "share")?;
    ensure!(
        shares[&(9, 0)] == 2.25 && shares[&(0, 0)] == 0.0,
        "{shares:?}"
    );
    home.validates("s.zv")?;

    let nodes = "id,x,y,z\n1,0,0,0\n2,1,0,0\n3,2,0,0\n";
    let edges = "source,target,w\n1,2,0.5\n2,3,4\n";
    let home = Home::made(&[("../n.csv", nodes.into()), ("../e.csv", edges.into())])?;
    let import = [
        "import",
        "n.csv",
        "s.zv",
        "--kind",
        "graph",
        "--edges",
        "e.csv",
        "--node-id",
        "id",
    ];
    home.text(&import)?;
    set(&home, "twice", "float64", &["--link", "--expr", "w * 2"])?;
    home.text(&["links", "s.zv", "-o", "l.ndjson"])?;
    let text = std::fs::read_to_string(home.file("l.ndjson"))?;
    let (mut w, mut twice) = (column(&text, "w")?, column(&text, "twice")?);
    let order = |a: &Value, b: &Value| a.as_f64().partial_cmp(&b.as_f64());
    w.sort_by(|a, b| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
    twice.sort_by(|a, b| order(a, b).unwrap_or(std::cmp::Ordering::Equal));
    ensure!(w == [0.5, 4.0] && twice == [1.0, 8.0], "{w:?} {twice:?}");
    home.validates("s.zv")
}

#[test]
fn attributes_of_vertices_come_before_those_of_objects() -> Result<()> {
    let text = "x,y,z,object_id,v,start.x\n1,2,3,1,10,7\n2,2,4,1,20,8\n";
    let home = Home::made(&[
        ("../l.csv", text.into()),
        ("../o.csv", "object_id,v\n1,15\n".into()),
    ])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    let flags = ["--object", "--from", "o.csv"];
    set(&home, "v", "float64", &flags)?;
    for (name, expression, wanted) in [
        ("a", "v - object.v", [-5.0, 5.0]),
        ("b", "`start.x`", [7.0, 8.0]),
        ("c", "start.x", [1.0, 1.0]),
        ("d", "`start.x` - start.x + v", [16.0, 27.0]),
    ] {
        set(&home, name, "float64", &["--expr", expression])?;
        let found = of_vertices(&home, name)?;
        let found = [&found[&(1, 3)], &found[&(2, 4)]];
        ensure!(
            *found[0] == wanted[0] && *found[1] == wanted[1],
            "{expression}: {found:?}"
        );
    }
    for (color, range) in [
        ("v + 0", [10.0, 20.0]),
        ("object.v", [15.0, 15.0]),
        ("end.x", [2.0, 2.0]),
        ("`start.x`", [7.0, 8.0]),
    ] {
        let line = ["plot", "s.zv", "-o", "a.png", "--json", "--color", color];
        let drawn = home.json(&line)?;
        let found = &drawn["layers"][0]["range"];
        ensure!(
            found[0] == range[0] && found[1] == range[1],
            "{color}: {found}"
        );
    }
    home.validates("s.zv")
}

#[test]
fn truth_values_of_objects_are_computed_beside_a_deleted_object() -> Result<()> {
    let home = lines()?;
    home.text(&["edit", "s.zv", "delete", "1"])?;
    set(
        &home,
        "long",
        "bool",
        &["--object", "--expr", "count() > 1"],
    )?;
    let listed = home.json(&["objects", "s.zv", "--json"])?;
    let listed = listed["objects"].as_array().context("objects")?;
    ensure!(listed.len() == 1 && listed[0]["long"] == true, "{listed:?}");
    // The id can be used again, and needs a value then.
    let again = "x,y,z,object_id,v,w,t\n0,0,0,1,1,1,a\n1,0,0,1,1,1,a\n";
    std::fs::write(home.file("again.csv"), again)?;
    let ran = home.zvf(&["append", "s.zv", "again.csv"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("--fill"),
        "{}",
        ran.stderr
    );
    home.text(&["append", "s.zv", "again.csv", "--fill", "long=true"])?;
    home.validates("s.zv")
}

#[test]
fn expressions_that_do_not_fit_change_nothing() -> Result<()> {
    let home = lines()?;
    let before = home.text(&["query", "s.zv", "--format", "csv"])?;
    let line = ["edit", "s.zv", "set-attribute"];
    for (rest, word) in [
        (&["v", "--expr", "v +"][..], "at byte 3"),
        (&["v", "--expr", "v w"], "an operator or the end"),
        (&["v", "--expr", "speed * 2"], "speed"),
        (&["v", "--expr", "t + 1"], "a text in `t + 1`"),
        (&["v", "--expr", "v / 2"], "found -1.5"),
        (&["v", "--expr", "w"], "found 0.5"),
        (&["v", "--expr", "v % (v - 2)"], "--fill"),
        (&["v", "--expr", "group.weight"], "groups"),
        (&["new", "--expr", "v"], "--type"),
        (&["new", "--type", "uint8", "--expr", "v"], "found"),
        (&["new", "--type", "uint64", "--expr", "v"], "found -3"),
        (&["v", "--expr", "v", "--from", "l.csv"], "--from"),
        (&["v", "--expr", "v", "--by-order"], "--by-order"),
        (&["w", "--object", "--expr", "x"], "w"),
    ] {
        let ran = home.zvf(&[&line[..], rest].concat())?;
        // A gap is an error of the values, as in a table.
        let code = if word == "--fill" { 4 } else { 2 };
        ensure!(
            ran.code == code && ran.stderr.contains(word),
            "{rest:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    ensure!(home.text(&["query", "s.zv", "--format", "csv"])? == before);
    // Missing values get the fill.
    let rest = ["v", "--expr", "v % (v - 2)", "--fill", "-1"];
    home.text(&[&line[..], &rest].concat())?;
    let found = of_vertices(&home, "v")?;
    ensure!(found[&(3, 0)] == -1 && found[&(0, 0)] == 2 && found[&(3, 12)] == -3);
    home.validates("s.zv")
}

#[test]
fn pictures_are_coloured_by_expressions() -> Result<()> {
    let home = lines()?;
    set(
        &home,
        "twice",
        "float64",
        &["--expr", "abs(v % 100) * 2 - x"],
    )?;
    let drawn = |color: &str, file: &str| -> Result<Vec<u8>> {
        home.text(&[
            "plot", "s.zv", "-o", file, "--bare", "--size", "200,150", "--color", color,
        ])?;
        Ok(std::fs::read(home.file(file))?)
    };
    let wanted = drawn("twice", "a.png")?;
    ensure!(drawn("abs(v % 100) * 2 - x", "b.png")? == wanted);
    ensure!(drawn("z", "c.png")? != wanted);
    for (color, word) in [
        ("speed", "an expression"),
        ("speed + 1", "speed"),
        ("t + 1", "a text"),
    ] {
        let ran = home.zvf(&["plot", "s.zv", "-o", "d.png", "--color", color])?;
        ensure!(
            ran.code == 2 && ran.stderr.contains(word),
            "{color}: {}",
            ran.stderr
        );
    }
    Ok(())
}

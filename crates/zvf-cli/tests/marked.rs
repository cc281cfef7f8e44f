//! Small files of text may begin with a byte order mark, as editors on Windows write it.

use anyhow::{Result, ensure};

use crate::run::Home;

const MARK: &str = "\u{feff}";

fn home() -> Result<Home> {
    let table = "x,y,z,object_id\n1,1,1,7\n2,2,2,7\n3,3,3,8\n4,4,4,8\n";
    let home = Home::made(&[("../p.csv", table.into())])?;
    home.text(&["import", "p.csv", "s.zv", "--kind", "polyline"])?;
    Ok(home)
}

fn write(home: &Home, name: &str, text: &str) -> Result<()> {
    Ok(std::fs::write(home.file(name), format!("{MARK}{text}"))?)
}

#[test]
fn lists_jobs_and_shapes_may_begin_with_a_mark() -> Result<()> {
    let home = home()?;
    write(&home, "ids.txt", "7\r\n")?;
    let rows = home.text(&["query", "s.zv", "--objects", "@ids.txt", "--format", "csv"])?;
    ensure!(rows.lines().count() == 3, "{rows}");
    let polygon = "POLYGON ((0 0, 2.5 0, 2.5 2.5, 0 2.5, 0 0))";
    write(&home, "p.wkt", polygon)?;
    let rows = home.text(&["query", "s.zv", "--polygon", "p.wkt", "--format", "csv"])?;
    ensure!(rows.lines().count() == 3, "{rows}");
    write(
        &home,
        "job.json",
        "{\"job\": \"query\", \"store\": \"s.zv\", \"objects\": [8]}",
    )?;
    let report = home.text(&["run", "job.json"])?;
    ensure!(report.contains("vertices  2"), "{report}");
    write(&home, "affine.txt", "1 0 0 10\n0 1 0 0\n0 0 1 0\n")?;
    let args = ["import", "p.csv", "moved.zv", "--affine", "affine.txt"];
    home.text(&args)?;
    let rows = home.text(&["query", "moved.zv", "--columns", "x", "--format", "csv"])?;
    ensure!(rows.starts_with("x\n11"), "{rows}");
    write(&home, "w.txt", "0.5\n0.7\n")?;
    let set = ["edit", "s.zv", "set-attribute", "w", "--object", "--from"];
    home.text(&[&set[..], &["w.txt", "--by-order", "--type", "float64"]].concat())?;
    home.text(&["objects", "s.zv", "-o", "objects.csv"])?;
    let objects = std::fs::read_to_string(home.file("objects.csv"))?;
    ensure!(
        objects.contains(",0.5\n") && objects.contains(",0.7\n"),
        "{objects}"
    );
    write(
        &home,
        "t.stl",
        "solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid t\n",
    )?;
    home.text(&["import", "t.stl", "t.zv"])?;
    Ok(())
}

/// The mark was a part of the first name, so that no program could write that part.
#[test]
fn names_of_parts_may_begin_with_a_mark() -> Result<()> {
    let home = home()?;
    write(&home, "parts.txt", "a\r\nb\r\n")?;
    let options = ["--chunk-shape", "9,9,9", "--bounds", "0,0,0:9,9,9"];
    let run = |last: &[&str]| {
        home.text(&[&["import", "p.csv", "parted.zv"], &options[..], last].concat())
    };
    run(&["--begin", "--parts", "@parts.txt"])?;
    run(&["--part", "a"])?;
    Ok(())
}

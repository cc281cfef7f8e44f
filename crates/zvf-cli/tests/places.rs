//! Tables of values for stores with other units, rows of samples, and coarse levels after edits.

use anyhow::{Result, ensure};

use crate::run::Home;

#[test]
fn values_by_position_find_vertices_in_other_units() -> Result<()> {
    let home = Home::made(&[("../p.csv", "x,y,z,k\n1,2,3,1\n1000,2000,3000,2\n".into())])?;
    home.text(&["import", "p.csv", "um.zv", "--unit", "um"])?;
    home.text(&["import", "p.csv", "nm.zv", "--unit", "nm"])?;
    home.text(&["query", "um.zv", "-o", "um.parquet"])?;
    // The point at 1 µm is the point at 1000 nm; the other row matches no point.
    let set = [
        "edit",
        "nm.zv",
        "set-attribute",
        "v",
        "--type",
        "int32",
        "--fill=-1",
    ];
    let ran = home.zvf(&[&set[..], &["--from", "um.parquet"]].concat())?;
    ensure!(ran.code != 0, "{}", ran.stderr);
    home.text(&[
        "edit",
        "um.zv",
        "set-attribute",
        "v",
        "--type",
        "int32",
        "--fill",
        "7",
    ])?;
    home.text(&["query", "um.zv", "-o", "again.parquet"])?;
    let words = [&set[..], &["--from", "again.parquet", "--ignore-missing"]].concat();
    let ran = home.zvf(&words)?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    ensure!(ran.stderr.contains("micrometer"), "{}", ran.stderr);
    let text = home.text(&[
        "query",
        "nm.zv",
        "--where",
        "v = 7",
        "--columns",
        "k",
        "--format",
        "csv",
    ])?;
    assert_eq!(text.lines().collect::<Vec<_>>(), ["k", "2"]);
    Ok(())
}

#[test]
fn a_table_without_units_beside_a_mapped_import_is_remarked() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z,k\n1,2,3,1\n8,16,24,3\n".into()),
        ("../q.csv", "x,y,z,q\n8,16,24,300\n".into()),
    ])?;
    home.text(&["import", "p.csv", "s.zv", "--unit", "8nm"])?;
    let set = [
        "edit",
        "s.zv",
        "set-attribute",
        "q",
        "--type",
        "int32",
        "--fill=-1",
        "--from",
        "q.csv",
    ];
    let ran = home.zvf(&set)?;
    ensure!(
        ran.stderr.contains("in the frame of the store"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn rows_of_samples_have_the_ids_of_their_objects() -> Result<()> {
    let home = Home::made(&[("../l.csv", "x,y,z,object_id\n1,2,3,7\n1,2,4,7\n".into())])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    home.text(&["sample-rows", "s.zv", "-n", "1", "-o", "h.csv"])?;
    let text = std::fs::read_to_string(home.file("h.csv"))?;
    ensure!(
        text.starts_with("x,y,z,object_id\n") && text.trim_end().ends_with(",7"),
        "{text}"
    );
    for command in ["head", "tail"] {
        let text = home.text(&[command, "s.zv"])?;
        ensure!(text.contains("object_id"), "{text}");
    }
    Ok(())
}

#[test]
fn a_level_that_is_older_than_edits_is_remarked() -> Result<()> {
    let rows = (0..40).map(|at| format!("{},{at}.0,0,0\n", at / 20));
    let text: String = std::iter::once("object_id,x,y,z\n".to_owned())
        .chain(rows)
        .collect();
    let home = Home::made(&[("../l.csv", text.into())])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    home.text(&["pyramid", "s.zv", "--factors", "2"])?;
    let coarse = ["query", "s.zv", "--level", "1"];
    ensure!(!home.zvf(&coarse)?.stderr.contains("--refresh"));
    home.text(&["edit", "s.zv", "delete", "1"])?;
    let ran = home.zvf(&coarse)?;
    ensure!(
        ran.code == 0 && ran.stderr.contains("--refresh"),
        "{}",
        ran.stderr
    );
    ensure!(!home.zvf(&["query", "s.zv"])?.stderr.contains("--refresh"));
    Ok(())
}

#[test]
fn a_table_in_another_reference_system_is_refused() -> Result<()> {
    let home = Home::made(&[
        ("../u.csv", "x,y,z\n500000,5000000,1\n".into()),
        ("../w.csv", "x,y,z\n9,48,1\n".into()),
    ])?;
    home.text(&["import", "u.csv", "u.zv", "--crs", "EPSG:25832"])?;
    home.text(&["import", "w.csv", "w.zv", "--crs", "EPSG:4326"])?;
    home.text(&["query", "w.zv", "-o", "wd"])?;
    home.text(&["query", "w.zv", "-o", "w.parquet"])?;
    home.text(&["query", "u.zv", "-o", "u.parquet"])?;
    for from in ["wd", "w.parquet"] {
        let ran = home.zvf(&["append", "u.zv", from])?;
        ensure!(
            ran.code == 2 && ran.stderr.contains("EPSG:4326"),
            "{}",
            ran.stderr
        );
    }
    home.text(&["append", "u.zv", "u.parquet"])?;
    home.text(&["import", "w.parquet", "again.zv"])?;
    let info = home.json(&["info", "again.zv", "--json"])?;
    assert_eq!(info["crs"], "EPSG:4326");
    Ok(())
}

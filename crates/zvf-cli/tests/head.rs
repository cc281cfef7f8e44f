//! `zvf head`.

use anyhow::{Context, Result};

use crate::run::{Home, STORE};

#[test]
fn the_first_rows_of_a_query() -> Result<()> {
    for flags in [
        &[][..],
        &["--where", "x > 20"],
        &["--columns", "row,position"],
    ] {
        let home = Home::new("points_ids")?;
        let query = [
            &["query", STORE, "--limit", "4", "--format", "ndjson"],
            flags,
        ]
        .concat();
        let wanted: Vec<serde_json::Value> = home
            .text(&query)?
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let head = home.json(&[&["head", STORE, "-n", "4", "--json"], flags].concat())?;
        let rows = head["rows"].as_array().context("rows")?;
        assert_eq!(rows.len(), wanted.len(), "{flags:?}");
        for (row, wanted) in rows.iter().zip(&wanted) {
            let members = row.as_object().context("a row")?;
            for (name, value) in members {
                assert_eq!(value, &wanted[name], "{flags:?} {name}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_table_of_ten_rows() -> Result<()> {
    let home = Home::new("points_ids")?;
    let text = home.text(&["head", STORE])?;
    assert_eq!(text.lines().count(), 11, "{text}");
    assert!(text.trim_start().starts_with("x y z"), "{text}");
    assert_eq!(home.text(&["head", STORE, "-n", "0"])?.lines().count(), 1);
    Ok(())
}

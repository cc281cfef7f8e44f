//! `zvf import --chunk-by`: chunks that are also divided by an attribute.

use anyhow::Result;
use serde_json::json;

use crate::run::Home;

const SPOTS: &str = "x,y,gene,size\n1,1,b,3\n2,2,a,4\n12,1,b,5\n1,2,b,6\n";

#[test]
fn a_value_is_found_by_its_chunks() -> Result<()> {
    let home = Home::made(&[("../spots.csv", SPOTS.into())])?;
    let made = home.json(&[
        "import",
        "spots.csv",
        "spots.zv",
        "--chunk-shape",
        "10,10",
        "--chunk-by",
        "gene",
        "--shard-shape",
        "2,2",
        "--json",
    ])?;
    assert_eq!(made["chunk_by"], json!("gene"), "{made}");
    assert_eq!(made["chunks"], json!(3));
    assert_eq!(made["vertex_attributes"][0]["name"], json!("size"));
    let rows = home.text(&[
        "query",
        "spots.zv",
        "--where",
        "gene == 'b'",
        "--format",
        "csv",
    ])?;
    let mut rows: Vec<&str> = rows.lines().skip(1).collect();
    rows.sort_unstable();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.contains('b')), "{rows:?}");
    let info = home.text(&["info", "spots.zv"])?;
    assert!(info.contains("gene"), "{info}");

    let ran = home.zvf(&["import", "spots.csv", "other.zv", "--chunk-by", "color"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("gene, size"), "{}", ran.stderr);
    let ran = home.zvf(&[
        "import",
        "spots.csv",
        "other.zv",
        "--chunk-by",
        "gene",
        "--chunk-shape",
        "10,10",
        "--bin-shape",
        "5,5",
    ])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(!home.file("other.zv").exists());
    Ok(())
}

#[test]
fn an_edit_takes_the_attribute_as_a_query_gives_it() -> Result<()> {
    let home = Home::made(&[("../spots.csv", SPOTS.into())])?;
    let import = ["import", "spots.csv", "spots.zv", "--chunk-shape", "10,10"];
    home.text(&[&import[..], &["--chunk-by", "gene", "-q"]].concat())?;
    std::fs::write(home.file("new.csv"), "x,y,gene,size\n3,3,c,7\n13,2,b,8\n")?;
    home.text(&["edit", "spots.zv", "append", "new.csv"])?;
    let rows = |value: &str| -> Result<Vec<String>> {
        let found = format!("gene == '{value}'");
        let asked = ["query", "spots.zv", "--where", &*found, "--format", "csv"];
        let text = home.text(&asked)?;
        let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        lines.sort_unstable();
        Ok(lines)
    };
    assert_eq!((rows("a")?.len(), rows("b")?.len()), (1, 4));
    assert!(rows("c")?[0].starts_with("3.0,3.0,"), "{:?}", rows("c")?);
    // The answer of a query is imported again, with other values for some vertices.
    std::fs::write(home.file("set.csv"), "vertex,gene\n0,b\n1,c\n")?;
    let set = [
        "edit",
        "spots.zv",
        "set-attribute",
        "gene",
        "--from",
        "set.csv",
    ];
    home.text(&set)?;
    assert_eq!(
        (rows("a")?.len(), rows("b")?.len(), rows("c")?.len()),
        (0, 4, 2)
    );
    home.text(&["validate", "spots.zv", "--level", "5"])?;

    let ran = home.zvf(&["edit", "spots.zv", "append", "set.csv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    std::fs::write(home.file("none.csv"), "x,y,gene,size\n3,3,,7\n")?;
    let ran = home.zvf(&["edit", "spots.zv", "append", "none.csv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("attribute gene, row 0"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// Stores of the older version have the same chunks and values.
#[test]
fn the_older_version_has_them_too() -> Result<()> {
    let home = Home::made(&[("../spots.csv", SPOTS.into())])?;
    let import = ["import", "spots.csv", "old.zv", "--chunk-shape", "10,10"];
    home.text(
        &[
            &import[..],
            &["--chunk-by", "gene", "--target", "0.8.1", "-q"],
        ]
        .concat(),
    )?;
    let rows = home.text(&[
        "query",
        "old.zv",
        "--where",
        "gene == 'b'",
        "--format",
        "csv",
    ])?;
    assert_eq!(rows.lines().count(), 4, "{rows}");
    home.text(&["validate", "old.zv", "--level", "5"])?;
    home.text(&["migrate", "old.zv", "new.zv", "--to", "0.9.2", "-q"])?;
    let again = home.text(&[
        "query",
        "new.zv",
        "--where",
        "gene == 'b'",
        "--format",
        "csv",
    ])?;
    assert_eq!(again, rows);
    Ok(())
}

#[test]
fn truth_values_that_divide_chunks_are_compared_with_numbers() -> Result<()> {
    let home = Home::made(&[(
        "../b.csv",
        "x,y,b,n\n1,1,true,1\n2,2,false,2\n3,3,true,3\n".into(),
    )])?;
    home.text(&["import", "b.csv", "plain.zv"])?;
    home.text(&["import", "b.csv", "by.zv", "--chunk-by", "b"])?;
    for condition in ["b == 1", "b < 1", "b == true", "b in (0, 7)", "1 == b"] {
        let rows = |store: &str| -> Result<Vec<String>> {
            let query = ["query", store, "--where", condition, "--columns", "n"];
            let text = home.text(&[&query[..], &["--format", "csv"]].concat())?;
            let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
            rows.sort();
            Ok(rows)
        };
        let expected: &[&str] = match condition {
            "b < 1" | "b in (0, 7)" => &["2"],
            _ => &["1", "3"],
        };
        assert_eq!(rows("plain.zv")?, expected, "{condition}");
        assert_eq!(rows("by.zv")?, expected, "{condition}");
    }
    Ok(())
}

/// Days are days in answers, conditions and appended rows, also where they divide chunks; so are types of numbers.
#[test]
fn values_that_divide_chunks_keep_their_unit_and_type() -> Result<()> {
    let home = Home::made(&[
        (
            "../day.csv",
            "x,y,day,n\n1,2,1960-05-05,7\n4,5,2020-01-01,9\n".into(),
        ),
        ("../more.csv", "x,y,day,n\n7,8,1960-05-05,200\n".into()),
        ("../gap.csv", "x,y,day,n\n1,2,1960-05-05,7\n4,5,,9\n".into()),
    ])?;
    for (by, table) in [("day", "of_day"), ("n", "of_n")] {
        let store = format!("{by}.zv");
        let number = ["--attribute-type", "n=uint8", "--chunk-shape", "10,10"];
        home.text(
            &[
                &["import", "day.csv", &store, "--chunk-by", by][..],
                &number,
            ]
            .concat(),
        )?;
        home.text(&["append", &store, "more.csv"])?;
        home.validates(&store)?;
        let mut days = Vec::new();
        for row in home.text(&["query", &store, "--format", "ndjson"])?.lines() {
            let row: serde_json::Value = serde_json::from_str(row)?;
            days.push((row["day"].clone(), row["n"].clone()));
        }
        days.sort_by_key(|(_, n)| n.as_u64());
        let (old, new) = (json!("1960-05-05"), json!("2020-01-01"));
        let expected = [(old.clone(), json!(7)), (new, json!(9)), (old, json!(200))];
        assert_eq!(days, expected, "{by}");
        let some = [
            "query",
            &store,
            "--where",
            "day < '1970-01-01' and n > 7",
            "--format",
            "ndjson",
        ];
        assert_eq!(home.text(&some)?.lines().count(), 1, "{by}");
        let arrow = format!("{table}.arrow");
        home.text(&["query", &store, "-o", &arrow])?;
        home.text(&[
            "import",
            &arrow,
            &format!("{table}.zv"),
            "--chunk-shape",
            "10,10",
        ])?;
        let info = home.text(&["info", &format!("{table}.zv")])?;
        assert!(
            info.contains("uint8") && info.contains("days since 1970-01-01"),
            "{info}"
        );
    }
    let ran = home.zvf(&["import", "gap.csv", "gap.zv", "--chunk-by", "day"])?;
    assert!(
        ran.code != 0 && ran.stderr.contains("a missing value"),
        "{}",
        ran.stderr
    );
    assert!(!home.file("gap.zv").exists());
    Ok(())
}

#[test]
fn positions_too_far_apart_for_numbers_of_chunks_are_refused() -> Result<()> {
    let home = Home::made(&[("../far.csv", "x,y\n-9e18,0\n9e18,0\n".into())])?;
    let ran = home.zvf(&["import", "far.csv", "far.zv", "--chunk-shape", "1,1"])?;
    assert!(
        ran.code != 0 && ran.stderr.contains("fewer than 2^63 chunks"),
        "{}",
        ran.stderr
    );
    assert!(!home.file("far.zv").exists());
    Ok(())
}

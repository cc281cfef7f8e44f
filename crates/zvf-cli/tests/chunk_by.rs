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

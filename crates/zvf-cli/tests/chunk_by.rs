//! `zvf import --chunk-by`: chunks that are cut by an attribute, too.

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

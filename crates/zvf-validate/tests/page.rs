//! The page of checks is generated from the table.

use std::error::Error;

#[test]
fn the_page_lists_every_check() -> Result<(), Box<dyn Error>> {
    const BEGIN: &str =
        "<!-- made by `cargo test -p zvf-validate` with ZVF_BLESS=1 from the table of checks -->\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
    let page = std::fs::read_to_string(path)?;
    let (before, rest) = page
        .split_once(BEGIN)
        .ok_or("the page has no place for the table")?;
    let (_, after) = rest
        .split_once("<!-- end -->\n")
        .ok_or("the table has no end")?;
    let wanted = format!(
        "{before}{BEGIN}\n{}<!-- end -->\n{after}",
        zvf_validate::markdown()
    );
    if std::env::var_os("ZVF_BLESS").is_some() {
        std::fs::write(path, &wanted)?;
    }
    assert_eq!(
        std::fs::read_to_string(path)?,
        wanted,
        "run again with ZVF_BLESS=1"
    );
    Ok(())
}

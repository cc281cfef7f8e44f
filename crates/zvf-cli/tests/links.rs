//! `zvf links`.

use anyhow::Result;

use crate::run::{Home, STORE, blessed};

#[test]
fn records_are_listed_in_order() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    blessed(
        "links-real_skeleton.txt",
        &home.text(&["links", STORE, "--limit", "12"])?,
    )?;
    let all = home.json(&["links", STORE, "--json"])?;
    assert_eq!(
        (
            all["records"].as_u64(),
            all["links"].as_array().map(Vec::len)
        ),
        (Some(697), Some(697))
    );
    let some = home.json(&["links", STORE, "--delta", "+1", "--limit", "5", "--json"])?;
    assert_eq!(
        (
            some["delta"].as_i64(),
            some["records"].as_u64(),
            some["truncated"].as_bool()
        ),
        (Some(1), Some(4465), Some(true))
    );
    assert_eq!(some["links"].as_array().map(Vec::len), Some(5));
    let back = home.json(&["links", STORE, "--level", "1", "--delta", "-1", "--json"])?;
    assert_eq!(back["records"].as_u64(), Some(4465));
    Ok(())
}

#[test]
fn a_family_that_is_not_there_is_named() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let ran = home.zvf(&["links", STORE, "--delta", "2"])?;
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        "zvf: store.zarrvectors: level 0 has no links of delta +2, found 0, +1\n"
    );
    assert_eq!(home.zvf(&["links", STORE, "--delta", "up"])?.code, 2);
    Ok(())
}

#[test]
fn attributes_and_files() -> Result<()> {
    let home = Home::new("graph")?;
    let document = home.json(&["links", STORE, "--json"])?;
    let links = document["links"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    assert!(
        links.len() > 100 && links.iter().all(|link| link["weight"].is_number()),
        "{document:#}"
    );
    home.text(&["links", STORE, "-o", "links.csv", "--limit", "7"])?;
    let csv = std::fs::read_to_string(home.file("links.csv"))?;
    assert_eq!(
        csv.lines().next(),
        Some("chunks_0,chunks_1,chunks_2,chunks_3,chunks_4,chunks_5,rows_0,rows_1,weight")
    );
    assert_eq!(csv.lines().count(), 8);
    Ok(())
}

/// Without `zvf.delta`, a table of links between levels could not be told from one of links within a level.
#[test]
fn files_state_the_levels_that_links_span() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    for delta in ["+1", "0"] {
        home.text(&["links", STORE, "--delta", delta, "-o", "l.arrow", "-q"])?;
        let file = std::fs::File::open(home.file("l.arrow"))?;
        let schema = arrow_ipc::reader::FileReader::try_new(file, None)?.schema();
        let stated = schema.metadata().get("zvf.delta");
        assert_eq!(stated.map(String::as_str), Some(delta));
    }
    Ok(())
}

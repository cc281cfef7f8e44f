//! `zvf info`.

use anyhow::Result;

use crate::run::{Home, STORE, blessed};

#[test]
fn text_and_documents_are_as_blessed() -> Result<()> {
    for case in ["real_skeleton", "points_4d_sharded", "points_ids", "graph"] {
        let home = Home::new(case)?;
        blessed(&format!("info-{case}.txt"), &home.text(&["info", STORE])?)?;
        blessed(
            &format!("info-{case}.json"),
            &home.text(&["info", STORE, "--json"])?,
        )?;
    }
    Ok(())
}

#[test]
fn counting_agrees_with_the_input() -> Result<()> {
    for case in zvf_testkit::cases()? {
        let home = Home::new(&case)?;
        let rows = zvf_testkit::truth(&case)?.positions.rows() as u64;
        let info = home.json(&["info", STORE, "--json", "--count"])?;
        let level = &info["levels"][0];
        assert_eq!(level["vertices"], rows, "{case}");
        assert_eq!(level["vertices_counted"], true);
        assert!(level["bytes"].as_u64() > Some(1000), "{case}");
        assert_eq!(info["version"], "0.9.2");
        assert_eq!(
            info["kind"].as_str(),
            Some(zvf_testkit::case(&case)?.kind.as_str()),
            "{case}"
        );
        assert_eq!(info["warnings"], serde_json::json!([]), "{case}");
    }
    Ok(())
}

#[test]
fn a_file_url_is_a_store_too() -> Result<()> {
    let home = Home::new("graph")?;
    let url = format!("file://{}", home.file(STORE).display());
    let text = home.text(&["info", &url])?;
    assert_eq!(text.replace(&url, STORE), home.text(&["info", STORE])?);
    Ok(())
}

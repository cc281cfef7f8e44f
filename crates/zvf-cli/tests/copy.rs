//! `zvf copy`: the same files in another place.

use anyhow::Result;
use serde_json::json;

use crate::run::{Home, STORE, files};

#[test]
fn a_copy_has_the_same_files() -> Result<()> {
    let home = Home::to_damage("points_bins")?;
    let expected = files(&home.file(STORE))?;
    let bytes: usize = expected.values().map(Vec::len).sum();
    let told = home.json(&["copy", STORE, "new.zv", "--verify", "--json"])?;
    let as_told = json!({
        "source": STORE, "target": "new.zv", "files": expected.len(), "bytes": bytes,
        "skipped": 0, "skipped_bytes": 0, "verified": true,
    });
    assert_eq!(told, as_told);
    assert_eq!(files(&home.file("new.zv"))?, expected);

    let again = home.zvf(&["copy", STORE, "new.zv"])?;
    assert_eq!(again.code, 2, "{}", again.stderr);
    let none = home.zvf(&["copy", "none.zv", "other.zv"])?;
    assert_eq!(
        (none.code, home.file("other.zv").exists()),
        (3, false),
        "{}",
        none.stderr
    );
    let text = home.text(&["copy", STORE, "plain.zv"])?;
    assert!(
        text.contains(&format!("copied {} files", expected.len())),
        "{text}"
    );

    // Another program is writing the source.
    std::fs::write(home.file(STORE).join("zvf-unfinished.json"), "{}")?;
    let busy = home.zvf(&["copy", STORE, "other.zv"])?;
    assert_eq!(
        (busy.code, home.file("other.zv").exists()),
        (75, false),
        "{}",
        busy.stderr
    );
    Ok(())
}

/// A listing without objects that the documents name, of a damaged store or a bucket that answers with fewer, is no store to copy.
#[test]
fn a_store_without_a_level_is_no_copy() -> Result<()> {
    for gone in ["0", "0/vertices"] {
        let home = Home::to_damage("points_bins")?;
        std::fs::remove_dir_all(home.file(STORE).join(gone))?;
        let ran = home.zvf(&["copy", STORE, "new.zv", "--verify"])?;
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        let says = format!("{STORE}: 0/vertices: found no such objects");
        assert!(ran.stderr.contains(&says), "{}", ran.stderr);
        assert!(!home.file("new.zv").exists());
    }
    Ok(())
}

//! `zvf validate`: exit codes, formats of reports, and stores of the other commands.

use anyhow::Result;
use serde_json::{Value, json};

use crate::run::{Home, STORE, zvf_in};

#[test]
fn a_good_store_is_clean_and_a_broken_one_is_not() -> Result<()> {
    let home = Home::to_damage("points_bins")?;
    let report = home.json(&["validate", STORE, "--level", "5", "--json"])?;
    assert_eq!(
        (&report["ok"], &report["findings"], &report["level"]),
        (&json!(true), &json!([]), &json!(5))
    );

    let key = home.file(STORE).join("0/zarr.json");
    let text = std::fs::read_to_string(&key)?;
    let mut level: Value = serde_json::from_str(&text)?;
    level["attributes"]["zarr_vectors_level"]["vertex_count"] = json!(1);
    std::fs::write(&key, level.to_string())?;
    let ran = home.zvf(&["validate", STORE, "--json"])?;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout)?;
    let finding = &report["findings"][0];
    assert_eq!(
        (
            &finding["title"],
            &finding["severity"],
            &finding["found"],
            &finding["resolution_level"]
        ),
        (
            &json!("vertex-count"),
            &json!("error"),
            &json!("1"),
            &json!(0)
        )
    );
    // Documents alone do not show the error.
    assert_eq!(home.zvf(&["validate", STORE, "--level", "2"])?.code, 0);

    let text = home.zvf(&["validate", STORE])?;
    assert_eq!(text.code, 1);
    let text = String::from_utf8(text.stdout)?;
    assert!(
        text.contains("ZVF-L3-0012") && text.contains("1 error"),
        "{text}"
    );
    for (format, wanted) in [("sarif", "\"2.1.0\""), ("junit", "failures=\"1\"")] {
        let ran = home.zvf(&["validate", STORE, "--format", format, "-o", "report"])?;
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let report = std::fs::read_to_string(home.file("report"))?;
        assert!(
            report.contains(wanted) && report.contains("ZVF-L3-0012"),
            "{report}"
        );
    }
    Ok(())
}

#[test]
fn usage_and_absence_have_their_codes() -> Result<()> {
    let home = Home::new("points_bins")?;
    assert_eq!(home.zvf(&["validate", STORE, "--levels", "7"])?.code, 2);
    assert_eq!(home.zvf(&["validate", STORE, "--level", "6"])?.code, 2);
    assert_eq!(home.zvf(&["validate"])?.code, 2);
    assert_eq!(home.zvf(&["validate", "nothing.zv"])?.code, 3);
    // A folder without a root is a damaged store.
    std::fs::create_dir_all(home.file("empty.zv/0"))?;
    assert_eq!(home.zvf(&["validate", "empty.zv"])?.code, 1);
    let ran = zvf_in(
        std::path::Path::new("."),
        &["validate", "--list-checks", "--json"],
    )?;
    let all: Value = serde_json::from_slice(&ran.stdout)?;
    let codes: Vec<&Value> = all
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["code"])
        .collect();
    assert!(
        codes.len() > 150 && codes.contains(&&json!("ZVF-L4-0001")),
        "{}",
        codes.len()
    );
    Ok(())
}

#[test]
fn the_viewer_profile_says_what_viewers_cannot_show() -> Result<()> {
    let home = Home::to_damage("0.9/points_ids")?;
    let viewer = ["validate", STORE, "--profile", "viewer"];
    let strict = [&viewer[..], &["--fail-on", "warning"]].concat();
    let ran = home.zvf(&strict)?;
    let text = String::from_utf8(ran.stdout)?;
    assert_eq!(ran.code, 1, "{text}");
    assert!(text.contains("ZVF-L2-0903"), "{text}");
    assert_eq!(text.matches("found no unit").count(), 3, "{text}");
    let path = home.file(STORE).join("zarr.json");
    let mut root: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    for axis in 0..3 {
        root["attributes"]["multiscales"][0]["axes"][axis]["unit"] = json!("nanometer");
    }
    std::fs::write(&path, serde_json::to_vec(&root)?)?;
    // The repair corrects the second statement of the axes.
    home.text(&["repair", STORE, "--apply"])?;
    home.text(&strict)?;
    Ok(())
}

#[test]
fn a_check_is_explained_by_its_code_or_name() -> Result<()> {
    let home = Home::new("points_ids")?;
    let text = home.text(&["validate", "--explain", "zvf-l3-0040"])?;
    assert!(text.contains("ZVF-L3-0040 link-cell"), "{text}");
    let found = home.json(&["validate", "--explain", "link-cell", "--json"])?;
    assert_eq!(found["code"], json!("ZVF-L3-0040"));
    let ran = home.zvf(&["validate", "--explain", "ZVF-L9-0001"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--list-checks"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_quick_look_says_what_it_left_out() -> Result<()> {
    let home = Home::new("points_ids")?;
    let report = home.json(&["validate", STORE, "--quick", "3", "--seed", "5", "--json"])?;
    assert_eq!(report["ok"], json!(true), "{report}");
    let skipped = report["skipped"].to_string();
    assert!(skipped.contains("level 0: 3 of"), "{skipped}");
    Ok(())
}

#[test]
fn stores_that_were_edited_and_refreshed_are_clean() -> Result<()> {
    let home = Home::to_damage("real_tractogram")?;
    home.text(&["pyramid", STORE, "--replace", "--factors", "2,2"])?;
    home.text(&["validate", STORE, "--level", "5", "--fail-on", "warning"])?;
    home.text(&["edit", STORE, "delete", "3"])?;
    let ran = home.zvf(&["validate", STORE, "--level", "5", "--json"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout)?;
    assert_eq!(
        report["findings"][0]["title"],
        json!("level-stale"),
        "{report}"
    );
    home.text(&["pyramid", STORE, "--refresh"])?;
    home.text(&["validate", STORE, "--level", "5", "--fail-on", "warning"])?;
    home.text(&["pyramid", STORE, "--remove"])?;
    home.text(&["vacuum", STORE])?;
    home.text(&["validate", STORE, "--level", "5", "--fail-on", "warning"])?;
    Ok(())
}

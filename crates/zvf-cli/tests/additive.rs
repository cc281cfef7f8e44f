//! Additive levels: the complete content by default, one level alone with `--own-level-only`.

use anyhow::{Context, Result, ensure};

use crate::run::{Home, STORE};

const CASES: [&str; 3] = [
    "0.9.4/additive_points",
    "0.9.4/additive_graph",
    "0.9.4/additive_streamlines",
];

/// A box as `--bbox` takes it.
pub(crate) fn bbox(lo: &[f64], hi: &[f64]) -> String {
    let side = |corner: &[f64]| {
        let parts: Vec<String> = corner.iter().map(ToString::to_string).collect();
        parts.join(",")
    };
    format!("--bbox={}:{}", side(lo), side(hi))
}

#[test]
fn boxes_hold_the_rows_of_the_chain_or_of_one_level() -> Result<()> {
    for name in CASES {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        let (mut alone, mut complete) = (0, 0);
        for query in &case.queries {
            let (level, bbox) = (query.level.to_string(), bbox(&query.lo, &query.hi));
            let mut args = vec!["query", STORE, "--json", "--level", &level, &bbox];
            if query.own_level_only {
                args.push("--own-level-only");
                alone += 1;
            }
            let found = home.json(&args)?;
            let wanted = query.rows.len() as u64;
            assert_eq!(found["vertices"], wanted, "{name}, level {level}, {bbox}");
            let levels = found["levels"].as_array().context("levels")?;
            assert_eq!(levels.first(), Some(&query.level.into()), "{name}");
            if query.own_level_only {
                assert_eq!(levels.len(), 1, "{name}");
            } else if query.level == 0 {
                assert!(levels.len() > 1, "{name}: {levels:?}");
                complete += 1;
            }
        }
        ensure!(alone > 0 && complete > 0, "{name} asks only one way");
    }
    Ok(())
}

#[test]
fn objects_are_complete_unless_told_otherwise() -> Result<()> {
    for name in CASES {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        for (id, rows) in &case.objects {
            let id = id.to_string();
            let found = home.json(&["get", STORE, &id, "--json"])?;
            assert_eq!(found["vertices"], rows.len() as u64, "{name}, object {id}");
            let own = home.json(&[
                "get",
                STORE,
                &id,
                "--json",
                "--own-level-only",
                "--ignore-missing",
            ])?;
            assert!(
                own["vertices"].as_u64() <= Some(rows.len() as u64),
                "{name}, object {id}"
            );
        }
        if case.objects.is_empty() {
            continue;
        }
        let listed = home.json(&["objects", STORE, "--json"])?;
        let listed = listed["objects"].as_array().context("objects")?;
        for (id, rows) in &case.objects {
            let object = listed
                .iter()
                .find(|object| object["object_id"].as_i64() == Some(*id))
                .context("an object is missing")?;
            assert_eq!(object["vertices"], rows.len() as u64, "{name}, object {id}");
        }
    }
    Ok(())
}

#[test]
fn links_say_of_which_level_they_are() -> Result<()> {
    let home = Home::new("0.9.4/additive_graph")?;
    let all = home.json(&["links", STORE, "--json"])?;
    let own = home.json(&["links", STORE, "--json", "--own-level-only"])?;
    let (all, own) = (
        all["links"].as_array().context("links")?,
        own["links"].as_array().context("links")?,
    );
    let truth = zvf_testkit::truth("0.9.4/additive_graph")?;
    let edges = truth.edges.context("edges")?.rows();
    assert_eq!(all.len(), edges);
    let of = |level: u64| {
        all.iter()
            .filter(|link| link["level"].as_u64() == Some(level))
            .count()
    };
    assert_eq!(of(0), own.len());
    assert!(of(1) > 0 && own.iter().all(|link| link.get("level").is_none()));
    let text = home.text(&["links", STORE, "--limit", "1"])?;
    assert!(text.contains("level 0 with 1"), "{text}");
    Ok(())
}

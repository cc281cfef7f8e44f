//! `zvf simplify`, compared with a plain recursion over the input points.

use anyhow::{Context, Result, ensure};

use crate::resample::{lines, near};
use crate::run::{Home, STORE};

type Row = (Vec<f64>, Vec<String>);

/// The distance of a point from a segment: the least of the distances from its ends and, if the projection is between them, from its line.
fn far(p: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let minus =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (line, own, back) = (minus(b, a), minus(p, a), minus(p, b));
    let ends = dot(&own, &own).min(dot(&back, &back)).sqrt();
    if dot(&line, &own) <= 0.0 || dot(&line, &back) >= 0.0 {
        return ends;
    }
    let whole = dot(&line, &line);
    let inner = dot(&own, &own) - dot(&line, &own) * dot(&line, &own) / whole;
    inner.max(0.0).sqrt()
}

/// Numbers of the rows that are kept.
fn kept(rows: &[Row], start: usize, end: usize, tolerance: f64) -> Vec<usize> {
    let distances = (start + 1..end).map(|at| (far(&rows[at].0, &rows[start].0, &rows[end].0), at));
    let farthest = distances.reduce(|a, b| if b.0 > a.0 { b } else { a });
    match farthest {
        Some((distance, at)) if distance > tolerance => {
            let mut left = kept(rows, start, at, tolerance);
            left.pop();
            left.extend(kept(rows, at, end, tolerance));
            left
        }
        _ => vec![start, end],
    }
}

#[test]
fn kept_vertices_are_those_of_the_recursion() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let source = lines(&home, STORE, &[])?;
    for tolerance in [0.05, 0.6] {
        let (words, store) = (tolerance.to_string(), format!("s{tolerance}.zv"));
        let told = home.json(&[
            "simplify",
            STORE,
            &store,
            "--tolerance",
            &words,
            "--json",
            "-q",
        ])?;
        let found = lines(&home, &store, &[])?;
        assert!(found.keys().eq(source.keys()));
        let (mut count, mut same) = (0, 0);
        for (id, rows) in &source {
            let numbers = kept(rows, 0, rows.len() - 1, tolerance);
            let wanted: Vec<&Row> = numbers.iter().map(|at| &rows[*at]).collect();
            let new = &found[id];
            count += new.len();
            // Two points may be equally far up to the last digit, so that another one may be chosen.
            same += usize::from(new.iter().eq(wanted));
            assert_eq!((new.first(), new.last()), (rows.first(), rows.last()));
            let mut next = rows.iter();
            for pair in new.windows(2) {
                for row in next.by_ref().take_while(|row| **row != pair[1]) {
                    let away = far(&row.0, &pair[0].0, &pair[1].0);
                    ensure!(away <= tolerance + 1e-4, "{id}: {away}");
                }
            }
            // All new rows are rows of the source, in their order.
            assert_eq!(next.next(), None, "{id}");
        }
        ensure!(
            same * 100 >= 98 * source.len(),
            "{same} of {}",
            source.len()
        );
        let all: usize = source.values().map(Vec::len).sum();
        ensure!(count * 10 < all * 9, "{count} of {all}");
        assert_eq!(told["vertices"].as_u64(), Some(count as u64));
        assert_eq!(told["vertices_before"].as_u64(), Some(all as u64));
    }
    Ok(())
}

#[test]
fn skeletons_keep_their_branches_and_their_nodes() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let measured = |store: &str| -> Result<serde_json::Value> {
        Ok(home.json(&["measure", store, "--json"])?["objects"][0].clone())
    };
    let old = measured(STORE)?;
    let length = |one: &serde_json::Value| one["length"].as_f64().context("length");
    let far = (length(&old)? / 10_000.0).to_string();
    let told = home.json(&[
        "simplify",
        STORE,
        "k.zv",
        "--tolerance",
        &far,
        "--json",
        "-q",
    ])?;
    let new = measured("k.zv")?;
    for name in ["object_id", "branches", "tips", "strahler"] {
        assert_eq!(old[name], new[name], "{name}");
    }
    ensure!(
        told["vertices"].as_u64() < told["vertices_before"].as_u64(),
        "{told}"
    );
    ensure!(length(&new)? <= length(&old)? * 1.000_001, "{old} {new}");
    ensure!(
        near(
            &[length(&new)?],
            &[told["length"].as_f64().context("length")?]
        ),
        "{told}"
    );
    // Nodes keep their ids and other values.
    let text = |store: &str| home.text(&["query", store, "--format", "csv"]);
    let (all, few) = (text(STORE)?, text("k.zv")?);
    let all: std::collections::BTreeSet<&str> = all.lines().collect();
    ensure!(
        few.lines().all(|row| all.contains(row)),
        "rows that the source does not have"
    );
    // With a tolerance of 0, the lines do not change.
    let told = home.json(&[
        "simplify",
        STORE,
        "same.zv",
        "--tolerance",
        "0",
        "--json",
        "-q",
    ])?;
    ensure!(
        near(
            &[told["length"].as_f64().context("length")?],
            &[length(&old)?]
        ),
        "{told}"
    );
    home.validates("k.zv")?;
    Ok(())
}

#[test]
fn what_has_no_lines_is_refused() -> Result<()> {
    for (case, flags, words) in [
        (
            "mesh",
            &["--tolerance", "1"][..],
            "polylines, streamlines or skeletons",
        ),
        ("streamlines", &["--tolerance", "-1"], "0 or more"),
        ("streamlines", &["--tolerance", "nan"], "0 or more"),
        ("streamlines", &[], "--tolerance"),
    ] {
        let home = Home::new(case)?;
        let ran = home.zvf(&[&["simplify", STORE, "no.zv"], flags].concat())?;
        assert_eq!(ran.code, 2, "{case} {flags:?}: {}", ran.stderr);
        ensure!(ran.stderr.contains(words), "{case}: {}", ran.stderr);
        ensure!(!home.file("no.zv").exists(), "{case}");
    }
    Ok(())
}

//! `zvf objects`.

use std::fs;

use anyhow::{Context, Result};

use crate::run::{Home, STORE, blessed};

#[test]
fn every_object_with_its_size() -> Result<()> {
    for name in ["points_ids", "streamlines", "graph", "real_tractogram"] {
        let home = Home::new(name)?;
        let document = home.json(&["objects", STORE, "--json"])?;
        let objects = document["objects"].as_array().context("objects")?;
        let case = zvf_testkit::case(name)?;
        for (id, rows) in &case.objects {
            let object = objects
                .iter()
                .find(|object| object["object_id"].as_i64() == Some(*id))
                .context("an object")?;
            assert_eq!(
                object["vertices"].as_u64(),
                Some(rows.len() as u64),
                "{name} {id}"
            );
            assert!(object["chunks"].as_u64() >= Some(1));
        }
        let some = home.json(&["objects", STORE, "--json", "--limit", "2"])?;
        assert_eq!(
            some["objects"].as_array().map(Vec::len),
            Some(objects.len().min(2))
        );
        assert_eq!(some["total"].as_u64(), Some(objects.len() as u64));
    }
    Ok(())
}

#[test]
fn text_and_files() -> Result<()> {
    let home = Home::new("points_ids")?;
    blessed("objects-points_ids.txt", &home.text(&["objects", STORE])?)?;
    home.text(&["objects", STORE, "-o", "objects.csv"])?;
    let csv = fs::read_to_string(home.file("objects.csv"))?;
    assert_eq!(
        csv.lines().next(),
        Some("object_id,vertices,chunks,fragments,score")
    );
    assert_eq!(csv.lines().count(), 6);
    home.text(&["objects", STORE, "-o", "objects.arrow"])?;
    assert!(fs::read(home.file("objects.arrow"))?.starts_with(b"ARROW1"));
    assert_eq!(home.zvf(&["objects", STORE, "-o", "objects.npy"])?.code, 2);
    assert_eq!(home.zvf(&["objects", STORE, "-o", "objects"])?.code, 2);
    Ok(())
}

#[test]
fn a_store_without_objects_says_so() -> Result<()> {
    let home = Home::new("points_bins")?;
    let ran = home.zvf(&["objects", STORE])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no object index"), "{}", ran.stderr);
    Ok(())
}

/// The ids of a list, in its order.
fn ids(home: &Home, more: &[&str]) -> Result<Vec<i64>> {
    let line = [&["objects", "o.zv", "--json"][..], more].concat();
    let document = home.json(&line)?;
    let objects = document["objects"].as_array().context("objects")?;
    let total = document["total"].as_u64().context("total")?;
    assert_eq!(
        document["truncated"],
        total > objects.len() as u64,
        "{line:?}"
    );
    let ids = objects.iter().map(|one| one["object_id"].as_i64());
    ids.collect::<Option<_>>().context("ids")
}

/// An object of the table: id, number of points, weight and kind.
type Made = (i64, usize, Option<f64>, &'static str);

/// Compares conditions and orders with the table from which the store is made.
#[test]
fn conditions_and_orders_are_those_of_the_table() -> Result<()> {
    let home = Home::new("points_ids")?;
    // Object `id` has 1 to 4 points; every seventh object has no weight.
    let objects: Vec<Made> = (0..60_i64)
        .map(|n| {
            let weight =
                (n % 7 != 0).then(|| f64::from(i32::try_from(n * 37 % 11).unwrap_or(0)) - 4.5);
            let kind = ["axon", "dendrite", "soma"][usize::try_from(n * n % 3).unwrap_or(0)];
            (
                n * 31 % 67 - 20,
                usize::try_from(1 + n * 5 % 4).unwrap_or(0),
                weight,
                kind,
            )
        })
        .collect();
    let (mut rows, mut table) = (
        "object_id,x,y\n".to_owned(),
        "object_id,weight,kind\n".to_owned(),
    );
    for (id, points, weight, kind) in &objects {
        for k in 0..*points {
            rows += &format!("{id},{k},{}\n", id % 5);
        }
        let weight = weight.map_or_else(String::new, |weight| weight.to_string());
        table += &format!("{id},{weight},{kind}\n");
    }
    fs::write(home.file("rows.csv"), rows)?;
    fs::write(home.file("table.csv"), table)?;
    home.text(&["import", "rows.csv", "o.zv", "--kind", "polyline", "-q"])?;
    for (name, kind) in [("weight", "float64"), ("kind", "text")] {
        let set = [
            "edit",
            "o.zv",
            "set-attribute",
            name,
            "--from",
            "table.csv",
            "--object",
        ];
        home.text(&[&set[..], &["--type", kind, "-q"]].concat())?;
    }
    let by = |order: &dyn Fn(&Made) -> f64, down: bool| {
        let mut sorted = objects.clone();
        sorted.sort_by(|a, b| {
            let (x, y) = (order(a), order(b));
            // Missing values are last in both directions.
            let values = match (x.is_nan(), y.is_nan()) {
                (false, false) if down => y.total_cmp(&x),
                (false, false) => x.total_cmp(&y),
                (missing, other) => missing.cmp(&other),
            };
            values.then(a.0.cmp(&b.0))
        });
        sorted.iter().map(|one| one.0).collect::<Vec<i64>>()
    };
    let weight = |one: &Made| one.2.unwrap_or(f64::NAN);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let vertices = |one: &Made| one.1 as f64;
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let id = |one: &Made| one.0 as f64;
    assert_eq!(ids(&home, &["--sort", "object_id"])?, by(&id, false));
    assert_eq!(ids(&home, &["--sort=-object_id"])?, by(&id, true));
    assert_eq!(ids(&home, &["--sort", "weight"])?, by(&weight, false));
    assert_eq!(ids(&home, &["--sort", "-weight"])?, by(&weight, true));
    let best = by(&vertices, true);
    assert_eq!(
        ids(&home, &["--sort", "-vertices", "--limit", "9"])?,
        best[..9]
    );
    let mut named: Vec<_> = objects
        .iter()
        .map(|one| (one.3, std::cmp::Reverse(one.1), one.0))
        .collect();
    named.sort_unstable();
    let named: Vec<i64> = named.iter().map(|one| one.2).collect();
    assert_eq!(ids(&home, &["--sort", "kind,-vertices"])?, named);

    let heavy = |one: &&Made| one.2.is_some_and(|weight| weight > 0.0);
    let some = |holds: &dyn Fn(&&Made) -> bool| {
        let mut some: Vec<i64> = objects.iter().filter(holds).map(|one| one.0).collect();
        some.sort_unstable();
        some
    };
    for (condition, wanted) in [
        ("weight > 0", some(&heavy)),
        (
            "kind == 'axon' and count() >= 3",
            some(&|one| one.3 == "axon" && one.1 >= 3),
        ),
        (
            "object_id in (-20, 11, 999)",
            some(&|one| [-20, 11].contains(&one.0)),
        ),
        ("length() > 1.5", some(&|one| one.1 > 2)),
    ] {
        let mut found = ids(&home, &["--where", condition])?;
        found.sort_unstable();
        assert!(
            !wanted.is_empty() && found == wanted,
            "{condition}: {found:?}"
        );
        let sorted = ids(
            &home,
            &["--where", condition, "--sort", "object_id", "--limit", "2"],
        )?;
        assert_eq!(sorted, wanted[..wanted.len().min(2)], "{condition}");
    }
    home.text(&[
        "objects",
        "o.zv",
        "--sort=-weight",
        "--where",
        "weight > 0",
        "-o",
        "heavy.csv",
    ])?;
    let csv = fs::read_to_string(home.file("heavy.csv"))?;
    assert_eq!(csv.lines().count(), 1 + some(&heavy).len());

    for (line, message) in [
        (&["--sort", "weigth"][..], "did you mean \"weight\"?"),
        (&["--sort", "-"], "the name of a column, after -"),
        (
            &["--where", "x > 0"],
            "refers to vertices, expected conditions on objects",
        ),
        (&["--where", "weight >"], "where, at byte"),
    ] {
        let ran = home.zvf(&[&["objects", "o.zv"][..], line].concat())?;
        assert!(
            ran.code == 2 && ran.stderr.contains(message),
            "{line:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

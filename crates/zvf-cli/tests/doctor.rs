//! `zvf doctor`: each claim is compared with the result of the command that it names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{Home, STORE};

/// Findings by subject.
fn advice(home: &Home, store: &str) -> Result<BTreeMap<String, Value>> {
    let told = home.json(&["doctor", store, "--json"])?;
    let all = told["advice"].as_array().context("advice")?.iter();
    Ok(all
        .map(|one| (one["about"].as_str().unwrap_or("").to_owned(), one.clone()))
        .collect())
}

/// Files below a folder, and their bytes.
fn usage(folder: &Path) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let below = usage(&entry.path())?;
            (files, bytes) = (files + below.0, bytes + below.1);
        } else {
            (files, bytes) = (files + 1, bytes + entry.metadata()?.len());
        }
    }
    Ok((files, bytes))
}

fn numbers(one: &Value) -> Result<(f64, f64)> {
    let number = |name: &str| one[name].as_f64().context("a number");
    Ok((number("before")?, number("after")?))
}

/// Runs the command of a finding.
fn follow(home: &Home, one: &Value, new: &str) -> Result<()> {
    let command = one["command"].as_str().context("a command")?;
    let words = command.split(' ').skip(1);
    let words: Vec<&str> = words
        .map(|word| if word == "NEW" { new } else { word })
        .collect();
    home.text(&[&words[..], &["-q"]].concat())?;
    Ok(())
}

/// A store of points on a winding line, with this number of chunks along x.
fn made(count: u32, chunk: &str, more: &[&str]) -> Result<Home> {
    let mut table = String::from("x,y,z,w\n");
    for at in 0..count {
        let angle = f64::from(at) * 0.01;
        let (x, y) = (f64::from(at) * 0.1, angle.sin() * 10.0);
        table.push_str(&format!("{x:.1},{y:.3},5.0,{}\n", at % 17));
    }
    let home = Home::made(&[("../p.csv", table.into())])?;
    let import = ["import", "p.csv", "p.zv", "-q", "--chunk-shape", chunk];
    home.text(&[&import[..], more].concat())?;
    Ok(home)
}

#[test]
fn another_codec_saves_the_bytes_that_are_claimed() -> Result<()> {
    let home = made(60_000, "600,100,100", &["--codec", "none"])?;
    let before = usage(&home.file("p.zv/0"))?;
    let found = advice(&home, "p.zv")?;
    let one = found.get("codec").context("codec")?;
    let (old, new) = numbers(one)?;
    follow(&home, one, "small.zv")?;
    let after = usage(&home.file("small.zv/0"))?;
    let saved = before.1 as f64 - after.1 as f64;
    ensure!(
        (old - new - saved).abs() < 0.1 * saved,
        "{one}: saved {saved}"
    );
    ensure!(!advice(&home, "small.zv")?.contains_key("codec"));
    // An address with a blank is one argument of the command.
    fs::rename(home.file("p.zv"), home.file("my p.zv"))?;
    let one = advice(&home, "my p.zv")?;
    assert_eq!(
        one.get("codec").context("codec")?["command"],
        "zvf rechunk 'my p.zv' NEW --codec auto"
    );
    fs::rename(home.file("my p.zv"), home.file("p.zv"))?;
    // The doctor changes nothing.
    assert_eq!(usage(&home.file("p.zv/0"))?, before);
    Ok(())
}

#[test]
fn shards_make_as_few_files_as_are_claimed() -> Result<()> {
    let home = made(12_000, "1,100,100", &["--shard-shape", "none"])?;
    let files = usage(&home.file("p.zv"))?.0;
    let found = advice(&home, "p.zv")?;
    let one = found.get("shards").context("shards")?;
    let (old, new) = numbers(one)?;
    assert_eq!(old, files as f64);
    follow(&home, one, "few.zv")?;
    let after = usage(&home.file("few.zv"))?.0 as f64;
    ensure!(
        (after - new).abs() <= 0.1 * new && after < 0.5 * old,
        "{one}: {after}"
    );
    ensure!(!advice(&home, "few.zv")?.contains_key("shards"));
    // Ten vertices in a chunk are few.
    let one = found.get("chunk-shape").context("chunk-shape")?;
    assert_eq!(numbers(one)?.0, 10.0);
    ensure!(numbers(one)?.1 > 1000.0, "{one}");
    follow(&home, one, "larger.zv")?;
    ensure!(!advice(&home, "larger.zv")?.contains_key("chunk-shape"));
    Ok(())
}

/// Arrays of links get their own shard shapes: a surface has links inside chunks and to neighbours in several directions.
#[test]
fn shards_of_links_are_counted_as_they_are_made() -> Result<()> {
    let side = 60;
    let mut surface = String::new();
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        surface.push_str(&format!("v {x}.25 {y}.25 {}.5\n", (x + y) % 2));
    }
    for (x, y) in (1..side).flat_map(|x| (1..side).map(move |y| (x, y))) {
        let (low, high) = ((x - 1) * side + y, x * side + y);
        surface.push_str(&format!(
            "f {low} {} {high}\nf {} {} {high}\n",
            low + 1,
            low + 1,
            high + 1
        ));
    }
    let home = Home::made(&[("../s.obj", surface.into())])?;
    let import = [
        "import",
        "s.obj",
        "s.zv",
        "-q",
        "--chunk-shape",
        "1.5,1.5,4",
    ];
    home.text(&[&import[..], &["--shard-shape", "none"]].concat())?;
    let found = advice(&home, "s.zv")?;
    let one = found.get("shards").context("shards")?;
    let (old, new) = numbers(one)?;
    assert_eq!(old, usage(&home.file("s.zv"))?.0 as f64);
    follow(&home, one, "few.zv")?;
    let after = usage(&home.file("few.zv"))?.0 as f64;
    ensure!((after - new).abs() <= 0.1 * new, "{one}: {after}");
    Ok(())
}

#[test]
fn remains_of_edits_are_found_and_go() -> Result<()> {
    let mut table = String::from("x,y,z,id\n");
    for at in 0..600 {
        table.push_str(&format!("{},{},0.5,{}\n", at % 30, at / 30 * 2, at / 30));
    }
    let home = Home::made(&[("../t.csv", table.into())])?;
    let import = [
        "import",
        "t.csv",
        STORE,
        "--kind",
        "polyline",
        "--object-column",
        "id",
    ];
    home.text(&[&import[..], &["--chunk-shape", "10,10,10", "-q"]].concat())?;
    home.text(&["pyramid", STORE, "--factors", "2", "-q"])?;
    let before = advice(&home, STORE)?;
    ensure!(
        !before.contains_key("deleted") && !before.contains_key("stale-levels"),
        "{before:?}"
    );
    home.text(&["edit", STORE, "delete", "3"])?;
    // A file that a killed writer left.
    let left = home.file(STORE).join("0/vertices/c/99/99/99");
    fs::create_dir_all(left.parent().context("a folder")?)?;
    fs::write(&left, b"left")?;
    let found = advice(&home, STORE)?;
    let stale = found.get("stale-levels").context("stale-levels")?;
    ensure!(numbers(stale)?.0 > 0.0, "{stale}");
    // The coarse level was made before, and has rows of deleted objects.
    let ran = home.zvf(&["doctor", STORE])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ensure!(ran.stderr.contains("--remove"), "{}", ran.stderr);
    for about in ["deleted", "leftovers"] {
        ensure!(!found.contains_key(about), "{about}: {found:?}");
    }
    follow(&home, stale, "")?;
    // The new one has none.
    let ran = home.zvf(&["doctor", STORE])?;
    ensure!(!ran.stderr.contains("--remove"), "{}", ran.stderr);
    let found = advice(&home, STORE)?;
    ensure!(!found.contains_key("stale-levels"), "{found:?}");
    let deleted = found.get("deleted").context("deleted")?;
    assert_eq!(numbers(deleted)?, (1.0, 0.0));
    let leftovers = found.get("leftovers").context("leftovers")?;
    assert_eq!(numbers(leftovers)?, (1.0, 0.0));
    ensure!(left.exists());
    follow(&home, leftovers, "")?;
    ensure!(!left.exists());
    let after = advice(&home, STORE)?;
    ensure!(
        !after.contains_key("deleted") && !after.contains_key("leftovers"),
        "{after:?}"
    );
    let info = home.text(&["info", STORE])?;
    ensure!(info.contains("level 1"), "{info}");
    home.text(&["validate", STORE])?;
    Ok(())
}

#[test]
fn a_missing_column_of_owners_is_found_and_made() -> Result<()> {
    let home = Home::to_damage("0.9/streamlines")?;
    let found = advice(&home, STORE)?;
    let one = found.get("owners").context("owners")?;
    let bytes = usage(&home.file(STORE).join("0/object_index"))?.1;
    assert_eq!(numbers(one)?.0, bytes as f64);
    follow(&home, one, "")?;
    ensure!(!advice(&home, STORE)?.contains_key("owners"));
    Ok(())
}

#[test]
fn every_bundled_generation_can_be_looked_at() -> Result<()> {
    for case in [
        "0.7/streamlines",
        "0.8/graph",
        "0.9/real_tractogram",
        "mesh",
        "points_4d_sharded",
    ] {
        let home = Home::new(case)?;
        let ran = home.zvf(&["doctor", STORE])?;
        assert_eq!(ran.code, 0, "{case}: {}", ran.stderr);
        let words = String::from_utf8(ran.stdout)?;
        ensure!(words.contains(STORE), "{case}: {words}");
    }
    Ok(())
}

/// Data on both sides of 0 on every axis is in eight chunks, however large the chunks are.
#[test]
fn chunks_grow_no_further_than_they_join_others() -> Result<()> {
    let mut table = String::from("x,y,z\n");
    for at in 0..1000_u32 {
        let of = |step: u32| f64::from(at * step % 28) - 14.0 + 0.5;
        table.push_str(&format!("{},{},{}\n", of(1), of(5), of(11)));
    }
    let home = Home::made(&[("../p.csv", table.into())])?;
    home.text(&["import", "p.csv", STORE, "--chunk-shape", "8,8,8"])?;
    let all = advice(&home, STORE)?;
    let one = all.get("chunk-shape").context("advice on chunks")?;
    let command = one["command"].as_str().context("a command")?;
    ensure!(command.ends_with("--chunk-shape 16,16,16"), "{command}");
    Ok(())
}

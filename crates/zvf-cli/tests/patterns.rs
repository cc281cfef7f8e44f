//! Folders and patterns in place of input files.

use anyhow::{Result, ensure};

use crate::run::Home;

/// A neuron of two nodes at `x`.
fn swc(x: u32) -> Vec<u8> {
    format!("1 1 {x} 0 0 1 -1\n2 3 {x} 1 0 1 1\n").into_bytes()
}

fn home() -> Result<Home> {
    Home::made(&[
        ("../in/7.swc", swc(7)),
        ("../in/12.swc", swc(12)),
        ("../in/.3.swc", swc(3)),
        ("../in/notes.md", b"no table".to_vec()),
        ("../in/below/5.swc", swc(5)),
        ("../a[1].swc", swc(1)),
        ("../all.swc/9.swc", swc(9)),
    ])
}

/// The ids of the objects of a store, in its order.
fn ids(home: &Home, store: &str) -> Result<Vec<String>> {
    home.text(&["objects", store, "-o", "ids.csv"])?;
    let text = std::fs::read_to_string(home.file("ids.csv"))?;
    std::fs::remove_file(home.file("ids.csv"))?;
    let first = |line: &str| line.split(',').next().unwrap_or_default().to_owned();
    Ok(text.lines().skip(1).map(first).collect())
}

#[test]
fn a_folder_and_a_pattern_stand_for_their_files() -> Result<()> {
    let home = home()?;
    for (at, (files, wanted)) in [
        (&["in"][..], &["12", "7"][..]),
        (&["in/"], &["12", "7"]),
        (&["in/*.swc"], &["12", "7"]),
        (&["in/?.swc"], &["7"]),
        (&["in/**/*.swc"], &["12", "7", "5"]),
        (&["in/[!7]*.swc", "in/7.swc"], &["12", "7"]),
        // A folder is no file that matches.
        (&["in/[!n]*"], &["12", "7"]),
        // A folder whose name ends like that of a file.
        (&["all.swc"], &["9"]),
        // A file whose name looks like a pattern.
        (&["a[1].swc"], &["0"]),
    ]
    .into_iter()
    .enumerate()
    {
        let store = format!("{at}.zv");
        home.text(&[&["import"], files, &[&store]].concat())?;
        let (mut found, mut wanted) = (ids(&home, &store)?, wanted.to_vec());
        found.sort();
        wanted.sort_unstable();
        ensure!(found == wanted, "{files:?}: {found:?}");
    }
    home.text(&["append", "3.zv", "in/1*.swc"])?;
    ensure!(ids(&home, "3.zv")?.len() == 2);
    Ok(())
}

#[test]
fn what_matches_nothing_is_refused() -> Result<()> {
    let home = home()?;
    std::fs::create_dir(home.file("empty"))?;
    for (file, word) in [
        ("in/*.obj", "found no file"),
        ("empty", "found no file"),
        ("in/[.swc", "in/[.swc"),
    ] {
        let ran = home.zvf(&["import", file, "s.zv"])?;
        ensure!(
            ran.code == 2 && ran.stderr.contains(word),
            "{file}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    // A store that was made by a query is one input.
    home.text(&["import", "in/7.swc", "s.zv"])?;
    home.text(&["query", "s.zv", "-o", "answer"])?;
    let ran = home.zvf(&["import", "answer", "t.zv"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("answer"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[cfg(unix)]
#[test]
fn urls_of_the_disk_are_folders_and_patterns_too() -> Result<()> {
    let home = home()?;
    for (at, (end, wanted)) in [
        ("in", &["12", "7"][..]),
        ("in/", &["12", "7"]),
        ("in/?.swc", &["7"]),
        ("in/1*.swc", &["12"]),
        ("in/%37.swc", &["7"]),
    ]
    .into_iter()
    .enumerate()
    {
        let url = format!("file://{}/{end}", home.path().display());
        let store = format!("{at}.zv");
        home.text(&["import", &url, &store])?;
        let mut found = ids(&home, &store)?;
        found.sort();
        ensure!(found == wanted, "{url}: {found:?}");
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn links_to_nothing_are_not_left_out() -> Result<()> {
    let home = home()?;
    std::os::unix::fs::symlink("nothing", home.file("in/8.swc"))?;
    for file in ["in", "in/*.swc"] {
        let ran = home.zvf(&["import", file, "s.zv"])?;
        ensure!(
            ran.code != 0 && ran.stderr.contains("8.swc"),
            "{file}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

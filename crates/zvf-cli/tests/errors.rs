//! Exit codes, and one line with the reason.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::run::{Home, Ran, STORE, zvf_in};

/// Checks the exit code and the words of a failure.
fn fails(ran: &Ran, code: i32, says: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("zvf: ") && ran.stderr.ends_with('\n'),
        "{:?}",
        ran.stderr
    );
    // A condition is shown with a mark below the wrong place.
    let mut rest = ran.stderr.lines().skip(1);
    let marked = rest.next().is_none() || rest.next().is_some_and(|mark| mark.trim() == "^");
    assert!(marked && rest.next().is_none(), "{:?}", ran.stderr);
    for word in says {
        assert!(ran.stderr.contains(word), "{word:?} in {:?}", ran.stderr);
    }
}

#[test]
fn wrong_usage_is_2() -> Result<()> {
    let home = Home::new("points_ids")?;
    let cases: [(&[&str], &[&str]); 15] = [
        (&["query", STORE, "--level", "9"], &["9", "0", "1"]),
        (&["query", STORE, "--bbox", "1,2"], &["1,2"]),
        (&["query", STORE, "--bbox", "0,0:1,1"], &["3"]),
        (&["query", STORE, "--bbox", "nan,0,0:1,1,1"], &[]),
        (&["query", STORE, "--where", "intensity >"], &[]),
        (
            &["query", STORE, "--where", "nothing > 1"],
            &["nothing", "intensity"],
        ),
        (
            &["query", STORE, "--attributes", "nothing"],
            &["nothing", "intensity"],
        ),
        (&["get", STORE, "5"], &["5"]),
        (&["get", STORE, "five"], &["five"]),
        (
            &["query", STORE, "--format", "csv", "--json"],
            &["--json", "--format"],
        ),
        (
            &["query", STORE, "--bbox", "0,9,0:10,4,10"],
            &["axis 1", "9 to 4"],
        ),
        (
            &["export", STORE, "x.csv", "--bbox", "inf,0,0:-inf,9,9"],
            &["axis 0", "inf to -inf"],
        ),
        (
            &["query", STORE, "-o", "box.docx"],
            &["box.docx", ".parquet", ".ndjson", ".swc", "directory"],
        ),
        (
            &["get", STORE, "17", "-o", "x.ply", "--columns", "row"],
            &["--columns", "x.ply"],
        ),
        (
            &["query", STORE, "--columns", "row", "-o", "x.npy"],
            &["position"],
        ),
    ];
    for (args, says) in cases {
        fails(&home.zvf(args)?, 2, says);
    }
    assert_eq!(home.names()?, [STORE]);
    let found = home.json(&["get", STORE, "5", "17", "--ignore-missing", "--json"])?;
    assert_eq!(found["objects"], 1);
    Ok(())
}

/// clap prints mistakes of the command line: the mistake, a suggestion, the usage of the command.
#[test]
fn wrong_arguments_show_the_usage() -> Result<()> {
    let home = Home::new("points_ids")?;
    let cases: [(&[&str], &[&str]); 8] = [
        (&["qurey", STORE], &["'qurey'", "'query'", "Usage: zvf"]),
        (&["info"], &["<STORE>", "Usage: zvf info", "--help"]),
        (&["info", STORE, "--nope"], &["--nope", "Usage: zvf info"]),
        (
            &["query", STORE, "--box", "1:2"],
            &["--box", "--bbox", "Usage: zvf query"],
        ),
        (
            &["import", "a.swc"],
            &["Usage: zvf import [OPTIONS] <FILE>... <STORE>"],
        ),
        (
            &["import"],
            &["Usage: zvf import [OPTIONS] <FILE>... <STORE>"],
        ),
        (
            &["query", STORE, "--memory-budget", "lots"],
            &["lots", "512M"],
        ),
        (
            &["edit", STORE, "delete"],
            &["Usage: zvf edit <STORE> delete"],
        ),
    ];
    for (args, says) in cases {
        let ran = home.zvf(args)?;
        assert_eq!((ran.code, ran.stdout.len()), (2, 0), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        for word in says {
            assert!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
        }
    }
    Ok(())
}

#[test]
fn io_is_3() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    fails(
        &zvf_in(Path::new("."), &["info", "/no/such/store"])?,
        3,
        &["/no/such/store", "no such folder"],
    );
    for command in [
        "edit nowhere delete 1",
        "vacuum nowhere",
        "copy nowhere n.zv",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        fails(&home.zvf(&words)?, 3, &["nowhere: no store there"]);
    }
    fs::create_dir(home.file("old"))?;
    fs::write(home.file("old/.zgroup"), "{}")?;
    let cases: [(&str, &[&str]); 3] = [
        ("old", &["old", "Zarr version 2"]),
        (
            "store.zarrvectors/zarr.json",
            &["is a file", "folder of a store"],
        ),
        (".", &["no zarr.json", "store.zarrvectors"]),
    ];
    for (path, says) in cases {
        fails(&home.zvf(&["info", path])?, 3, says);
    }
    fails(
        &home.zvf(&["query", STORE, "--objects", "@missing.txt"])?,
        3,
        &["missing.txt"],
    );
    fails(
        &home.zvf(&["query", STORE, "-o", "no/where.csv"])?,
        3,
        &["no/where.csv"],
    );
    fails(
        &home.zvf(&["query", STORE, "--trace-io", "no/where.ndjson"])?,
        3,
        &["no/where.ndjson"],
    );
    fails(
        &home.zvf(&["inspect", "missing-file"])?,
        3,
        &["missing-file"],
    );
    Ok(())
}

#[test]
fn malformed_data_is_4() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    let root = home.file("store.zarrvectors/zarr.json");
    let document = fs::read_to_string(&root)?;
    fs::write(&root, document.replace("\"0.9.2\"", "\"0.5.0\""))?;
    fails(&home.zvf(&["info", STORE])?, 4, &["0.5.0"]);
    fs::write(&root, &document[..document.len() / 2])?;
    fails(&home.zvf(&["info", STORE])?, 4, &["zarr.json"]);
    fs::write(&root, &document)?;
    let cell = home.file("store.zarrvectors/0/vertices/c/0/0/0");
    let bytes = fs::read(&cell)?;
    fs::write(&cell, &bytes[..bytes.len() - 3])?;
    fails(&home.zvf(&["query", STORE])?, 4, &[STORE, "0/vertices"]);
    // A listed folder without its document is damaged; a store that does not exist is not.
    let vertices = home.file("store.zarrvectors/0/vertices/zarr.json");
    let kept = fs::read(&vertices)?;
    fs::remove_file(&vertices)?;
    fails(&home.zvf(&["query", STORE])?, 4, &["0/vertices/zarr.json"]);
    fs::write(&vertices, kept)?;
    // A newer version is read with a warning, which -q silences and which is in the JSON.
    fs::write(&cell, &bytes)?;
    fs::write(&root, document.replace("\"0.9.2\"", "\"0.9.9\""))?;
    let ran = home.zvf(&["info", STORE])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("zvf: warning: ") && ran.stderr.contains("0.9.9"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["info", STORE, "-q", "--json"])?;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
    assert_eq!(info["warnings"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[test]
fn a_limit_is_5() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    fails(
        &home.zvf(&["query", STORE, "--memory-budget", "64"])?,
        5,
        &["64"],
    );
    Ok(())
}

#[test]
fn words_in_place_of_sizes_are_2_and_say_what_a_size_is() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z\n1,2,3\n".into())])?;
    let chunks = "found \"many\", expected a whole number of chunks per axis, such as 4,4,2, or auto or none";
    let sizes = "found \"none\", expected one number per axis, such as 100,100,50";
    for (line, says) in [
        ("import a.csv n.zv --shard-shape many", chunks),
        (
            "create n.zv --kind graph --bounds 0,0:1,1 --chunk-shape 1,1 --shard-shape many",
            chunks,
        ),
        ("import a.csv n.zv --bin-shape none", sizes),
        ("import a.csv n.zv --chunk-shape none", sizes),
        ("rechunk o.zv n.zv --bin-shape none", sizes),
        ("pyramid o.zv --factors 2,2,2 --bin-shape none", sizes),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = home.zvf(&words)?;
        assert_eq!(ran.code, 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{line}: {}", ran.stderr);
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_no_place_for_a_store() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z\n1,2,3\n".into())])?;
    home.text(&["import", "a.csv", "a.zv"])?;
    std::os::unix::fs::symlink(home.file("gone"), home.file("l.zv"))?;
    for words in [
        &["import", "a.csv", "l.zv", "-q"][..],
        &["rechunk", "a.zv", "l.zv", "--chunk-shape", "2,2,2", "-q"],
    ] {
        fails(
            &home.zvf(words)?,
            2,
            &["l.zv", "is a link to a place that does not exist"],
        );
    }
    assert!(!home.file("gone").exists());
    Ok(())
}

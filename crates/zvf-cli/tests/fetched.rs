//! `zvf import`, `zvf append` and `zvf edit` with files at URLs: the requested bytes, and the resulting stores.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use zvf_jobs::JobEvent;

use crate::odd_web::{Answers, Way, serve};
use crate::run::{Home, files};

/// Bytes between runs of chunks, too many to be requested together with the chunks.
const GAP: usize = 200 << 10;
/// Number of chunks of a run.
const RUN: usize = 8;

fn number(bytes: &[u8], at: usize) -> Result<i32> {
    Ok(i32::from_le_bytes(bytes[at..at + 4].try_into()?))
}

fn place(bytes: &[u8], at: usize) -> Result<usize> {
    Ok(u64::from_le_bytes(bytes[at..at + 8].try_into()?) as usize)
}

/// `testdata/las/octree.copc.laz` with its chunks moved to the end, in runs with gaps between them. The old places have bytes 0xff.
fn spread() -> Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las/octree.copc.laz");
    let mut file = fs::read(&path).with_context(|| path.display().to_string())?;
    // After the header, the head of the record, centre, half and spacing.
    let info = 375 + 54;
    let mut pages = vec![(place(&file, info + 40)?, place(&file, info + 48)?)];
    let mut chunks = Vec::new();
    while let Some((at, size)) = pages.pop() {
        for entry in (at..at + size).step_by(32) {
            let from = place(&file, entry + 16)?;
            let size = number(&file, entry + 24)? as usize;
            match number(&file, entry + 28)? {
                -1 => pages.push((from, size)),
                0 => {}
                _ => chunks.push((entry, from, size)),
            }
        }
    }
    chunks.sort_by_key(|(_, from, _)| *from);
    assert_eq!(chunks.len(), 73);
    for (index, (entry, from, size)) in chunks.into_iter().enumerate() {
        if index % RUN == 0 {
            file.resize(file.len() + GAP, 0);
        }
        let chunk = file[from..from + size].to_vec();
        file[from..from + size].fill(0xff);
        let at = file.len() as u64;
        file[entry + 16..entry + 24].copy_from_slice(&at.to_le_bytes());
        file.extend(chunk);
    }
    Ok(file)
}

/// The sorted rows of a store.
fn rows(home: &Home, store: &str) -> Result<Vec<String>> {
    let text = home.text(&["query", store, "--format", "csv", "-q"])?;
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows.sort();
    Ok(rows)
}

fn home() -> Result<(Home, usize)> {
    let home = Home::made(&[])?;
    let file = spread()?;
    fs::write(home.file("7.copc.laz"), &file)?;
    Ok((home, file.len()))
}

#[test]
fn of_a_copc_file_the_part_is_requested() -> Result<()> {
    let (home, size) = home()?;
    let box_of = ["--bbox", "1000,-50,10:1000.6,-49.4,10.6"];
    for (name, part, most) in [
        // The nodes at one corner, on three levels.
        ("box", &box_of[..], 3),
        // Only the first node.
        ("coarse", &["--resolution", "2"], 1),
        // All chunks.
        ("all", &["--resolution", "0.01"], 10),
    ] {
        let answers = Answers::default();
        let url = format!("{}/7.copc.laz", serve(home.path(), Way::Plain, &answers)?);
        let (near, far) = (format!("{name}.near.zv"), format!("{name}.far.zv"));
        home.text(&[&["import", "7.copc.laz", &near][..], part].concat())?;
        let ran = home.zvf(&[&["import", &url, &far][..], part].concat())?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("whole"), "{}", ran.stderr);
        assert_eq!(rows(&home, &far)?, rows(&home, &near)?, "{name}");
        let answers = answers.all();
        // One request for the first 64 KiB, which include the pages, and one for each run of chunks.
        assert!(answers.len() <= 1 + most, "{name}: {answers:?}");
        let bytes: usize = answers.iter().map(|(_, bytes)| bytes).sum();
        assert!(
            bytes <= (64 << 10) + 16_000,
            "{name}: {answers:?} of {size}"
        );
    }
    Ok(())
}

#[test]
fn the_name_at_the_end_of_a_url_is_decoded() -> Result<()> {
    let home = Home::made(&[])?;
    // This server does not decode: on its disk the name is that of the request.
    fs::write(home.file("sub%207.swc"), "1 1 0 0 0 1 -1\n2 3 1 1 0 1 1\n")?;
    let server = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{server}/sub%207.swc");
    home.text(&["import", &url, "s.zv", "--id-from-file"])?;
    let told = home.json(&["objects", "s.zv", "--json"])?;
    assert_eq!(told["objects"][0]["object_id"].as_i64(), Some(7), "{told}");
    assert_eq!(told["objects"][0]["name"].as_str(), Some("sub 7"), "{told}");
    Ok(())
}

#[cfg(unix)]
#[test]
fn the_query_of_a_url_is_sent() -> Result<()> {
    let home = Home::made(&[])?;
    fs::write(home.file("t.csv?signature=a%2Fb"), "x,y,z\n1,2,3\n")?;
    let server = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{server}/t.csv?signature=a%2Fb");
    home.text(&["import", &url, "s.zv"])?;
    assert_eq!(rows(&home, "s.zv")?.len(), 2);
    Ok(())
}

#[test]
fn errors_name_the_url_and_not_the_temporary_file() -> Result<()> {
    let home = Home::made(&[])?;
    fs::write(home.file("bad.csv"), "x,y,z\n1,2,3\n1,2,three\n")?;
    let answers = Answers::default();
    let url = format!("{}/bad.csv", serve(home.path(), Way::Plain, &answers)?);
    for (file, word) in [("bad.csv", "bad.csv"), (&url, &*url)] {
        let ran = home.zvf(&["import", file, "bad.zv"])?;
        assert_ne!(ran.code, 0);
        let error = ran.stderr.lines().last().context("an error")?;
        let shown = error.strip_prefix("zvf: ").context("an error of zvf")?;
        assert!(shown.starts_with(word), "{}", ran.stderr);
        assert!(shown.contains("three"), "{}", ran.stderr);
        let downloads = ran.stderr.contains(&format!("downloading {url}"));
        assert_eq!(downloads, file == url, "{}", ran.stderr);
    }
    Ok(())
}

#[test]
fn other_files_and_servers_without_ranges_give_the_whole_file() -> Result<()> {
    let (home, _) = home()?;
    let bbox = ["--bbox", "1000,-50,10:1000.6,-49.4,10.6"];
    home.text(&[&["import", "7.copc.laz", "near.zv"][..], &bbox].concat())?;
    let near = rows(&home, "near.zv")?;
    for way in [Way::NoRanges, Way::Chunked, Way::Closing] {
        let answers = Answers::default();
        let url = format!("{}/7.copc.laz", serve(home.path(), way, &answers)?);
        let far = format!("{way:?}.zv");
        let ran = home.zvf(&[&["import", &url, &far][..], &bbox].concat())?;
        assert_eq!(ran.code, 0, "{way:?}: {}", ran.stderr);
        let word = "the server sends no ranges, so the whole file is downloaded";
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
        assert_eq!(rows(&home, &far)?, near, "{way:?}");
    }
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las");
    fs::copy(testdata.join("gps-1.2.las"), home.file("3.las"))?;
    // Of the spread file, a part is found by its index alone.
    let size = fs::copy(testdata.join("octree.copc.laz"), home.file("8.copc.laz"))?;
    fs::write(home.file("4.csv"), "x,y,z,v\n1,2,3,4\n5,6,7,8\n")?;
    for (name, part) in [
        ("3.las", &["--bbox", "x=1000:1000.5"][..]),
        ("4.csv", &["--exclude", "v"]),
        ("8.copc.laz", &[]),
    ] {
        let answers = Answers::default();
        let url = format!("{}/{name}", serve(home.path(), Way::BusyOnce, &answers)?);
        let (near, far) = (format!("{name}.near.zv"), format!("{name}.far.zv"));
        home.text(&[&["import", name, &near][..], part].concat())?;
        let ran = home.zvf(&[&["import", &url, &far][..], part].concat())?;
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let word = "no COPC index, so the whole file is downloaded";
        assert_eq!(ran.stderr.contains(word), name == "3.las", "{}", ran.stderr);
        assert_eq!(rows(&home, &far)?, rows(&home, &near)?, "{name}");
        if name == "8.copc.laz" {
            assert_eq!(
                answers
                    .all()
                    .iter()
                    .map(|(_, bytes)| *bytes as u64)
                    .sum::<u64>(),
                size
            );
        }
    }
    let answers = Answers::default();
    let server = serve(home.path(), Way::Plain, &answers)?;
    for (name, part) in [("none.laz", &bbox[..]), ("none.csv", &[])] {
        let url = format!("{server}/{name}");
        let ran = home.zvf(&[&["import", &url, "none.zv"][..], part].concat())?;
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stderr.contains(&url), "{}", ran.stderr);
    }
    assert!(!home.names()?.contains(&"none.zv".to_owned()));
    Ok(())
}

/// A folder with a store of points, and files to append.
fn stores() -> Result<Home> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/las");
    let home = Home::made(&[])?;
    fs::write(home.file("1.csv"), "x,y,z\n1000.5,-49.5,10.5\n")?;
    fs::write(home.file("2.csv"), "x,y,z\n5,6,7\n8,9,10\n")?;
    fs::copy(testdata.join("octree.copc.laz"), home.file("8.copc.laz"))?;
    home.text(&["import", "2.csv", "2.zv"])?;
    Ok(home)
}

#[test]
fn append_takes_urls_of_files_and_of_stores() -> Result<()> {
    let home = stores()?;
    let answers = Answers::default();
    let server = serve(home.path(), Way::Plain, &answers)?;
    let bbox = ["--bbox", "1000,-50,10:1000.6,-49.4,10.6"];
    for (name, part, is_file) in [
        ("2.csv", &[][..], true),
        ("8.copc.laz", &bbox, true),
        ("2.zv", &[], false),
    ] {
        let url = format!("{server}/{name}");
        let mut found = Vec::new();
        for source in [name, &url] {
            fs::remove_dir_all(home.file("s.zv")).ok();
            home.text(&["import", "1.csv", "s.zv"])?;
            let before = answers.all().len();
            let ran = home.zvf(&[&["append", "s.zv", source, "--json"][..], part].concat())?;
            assert_eq!(ran.code, 0, "{source}: {}", ran.stderr);
            let report: serde_json::Value = serde_json::from_slice(&ran.stdout)?;
            assert_eq!(report["files"], serde_json::json!([source]));
            let downloads = ran.stderr.contains(&format!("downloading {url}"));
            let whole = is_file && source == url && part.is_empty();
            assert_eq!(downloads, whole, "{source}: {}", ran.stderr);
            assert_eq!(answers.all().len() > before, source == url);
            found.push(rows(&home, "s.zv")?);
        }
        assert!(found[0].len() > 2, "{name}: {found:?}");
        assert_eq!(found[0], found[1], "{name}");
    }
    Ok(())
}

#[test]
fn errors_of_append_name_the_url() -> Result<()> {
    let home = stores()?;
    fs::write(home.file("bad.csv"), "x,y,z\n1,2,3\n1,2,three\n")?;
    fs::write(
        home.file("bad.ply"),
        "ply\nformat ascii 1.0\nelement some 1\n",
    )?;
    home.text(&["import", "1.csv", "s.zv"])?;
    let before = rows(&home, "s.zv")?;
    let answers = Answers::default();
    let server = serve(home.path(), Way::Plain, &answers)?;
    for (name, more, code, requests) in [
        ("bad.csv", &[][..], 4, 1),
        // The missing column is detected after the file was read.
        ("2.csv", &["--position", "x,y,h"], 2, 1),
        ("bad.ply", &[], 4, 1),
        ("none.csv", &[], 3, 0),
        // By their endings, these are stores.
        ("none.zv", &[], 3, 0),
        ("1.unknown", &[], 3, 0),
    ] {
        let count = answers.all().len();
        let url = format!("{server}/{name}");
        let ran = home.zvf(&[&["append", "s.zv", &url][..], more].concat())?;
        assert_eq!(ran.code, code, "{name}: {}", ran.stderr);
        let error = ran.stderr.lines().last().context("an error")?;
        assert!(error.contains(&url), "{}", ran.stderr);
        let temporary = std::env::temp_dir();
        assert!(
            !error.contains(&*temporary.to_string_lossy()),
            "{}",
            ran.stderr
        );
        assert_eq!(answers.all().len(), count + requests, "{name}");
    }
    // Files must have one format: neither is downloaded.
    let count = answers.all().len();
    let urls = [format!("{server}/2.zv"), format!("{server}/2.csv")];
    let ran = home.zvf(&["append", "s.zv", &urls[0], &urls[1]])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let ran = home.zvf(&["import", &format!("{server}/1.unknown"), "t.zv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("1.unknown: found .unknown"),
        "{}",
        ran.stderr
    );
    assert_eq!(answers.all().len(), count);
    assert_eq!(rows(&home, "s.zv")?, before);
    Ok(())
}

/// A folder with two graphs as tables, tables about them, and other files that options name.
fn tables() -> Result<Home> {
    let npy = {
        let mut npy = Vec::from(*b"\x93NUMPY\x01\x00\x76\x00");
        let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
        npy.extend(format!("{head:<117}\n").bytes());
        let values = [0.5_f32, 1.5, 2.5, 3.5];
        npy.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        npy
    };
    let affine = "0 2 0 1\n2 0 0 0\n0 0 2 0\n0 0 0 1\n";
    Home::made(&[
        ("../nodes.csv", "x,y,z\n1,2,3\n4,5,6\n7,8,9\n2,2,2\n".into()),
        ("../edges.csv", "source,target,w\n0,1,2.5\n2,1,4.5\n".into()),
        ("../more.csv", "object_id,x,y,z\n3,5,5,5\n3,6,6,6\n".into()),
        ("../links.csv", "source,target\n1,0\n".into()),
        ("../faces.csv", "a,b,c\n0,1,2\n3,2,1\n".into()),
        ("../affine.txt", affine.into()),
        ("../values.csv", "v\n9\n8\n7\n6\n".into()),
        ("../values.npy", npy),
        ("../moved.csv", "x,y,z\n1,2,4\n4,5,7\n7,8,8\n2,2,1\n".into()),
        ("../bad.csv", "source,target\n0,seven\n".into()),
        ("../outside.csv", "source,target\n0,7\n".into()),
        ("../moved.bad.csv", "x,y,z\n1,2,4\n4,five,7\n".into()),
    ])
}

/// Replaces `@` at the beginning of arguments by a folder, given with its slash.
fn placed(args: &[&str], folder: &str) -> Vec<String> {
    let place = |word: &&str| match word.strip_prefix('@') {
        Some(file) => format!("{folder}{file}"),
        None => (*word).to_owned(),
    };
    args.iter().map(place).collect()
}

/// Runs commands on a store; returns the last run.
fn run_all(home: &Home, commands: &[&[&str]], folder: &str) -> Result<crate::run::Ran> {
    let mut last = None;
    for command in commands {
        let args = placed(command, folder);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        last = Some(ran);
    }
    last.context("a command")
}

#[test]
fn options_that_name_files_take_urls() -> Result<()> {
    let home = tables()?;
    let graph: &[&str] = &["import", "nodes.csv", "s.zv", "--edges", "edges.csv"];
    let points: &[&str] = &["import", "nodes.csv", "s.zv"];
    let bounds = ["--bounds", "0,0,0:9,9,9", "--chunk-shape", "9,9,9"];
    let parts = |step: &[&'static str]| {
        let graph = ["import", "@nodes.csv", "s.zv", "--edges", "@edges.csv"];
        [&graph[..], &bounds, step].concat()
    };
    let (begin, part) = (parts(&["--begin"]), parts(&["--part", "a"]));
    let commit = parts(&["--commit"]);
    let set = ["edit", "s.zv", "set-attribute", "v", "--type", "float32"];
    let set = |more: &[&'static str]| [&set[..], more].concat();
    let (of_csv, of_npy) = (
        set(&["--by-order", "--from", "@values.csv"]),
        set(&["--by-order", "--from", "@values.npy"]),
    );
    for commands in [
        &[&["import", "@nodes.csv", "s.zv", "--edges", "@edges.csv"][..]][..],
        // Only the table of links is at a URL.
        &[&["import", "nodes.csv", "s.zv", "--edges", "@edges.csv"]],
        &[&["import", "nodes.csv", "s.zv", "--faces", "@faces.csv"]],
        &[&["import", "nodes.csv", "s.zv", "--affine", "@affine.txt"]],
        &[&begin, &part, &commit],
        &[
            graph,
            &["append", "s.zv", "@more.csv", "--links", "@links.csv"],
        ],
        &[
            points,
            &["append", "s.zv", "nodes.csv", "--affine", "@affine.txt"],
        ],
        &[
            graph,
            &[
                "edit",
                "s.zv",
                "append",
                "@more.csv",
                "--links",
                "@links.csv",
            ],
        ],
        &[
            points,
            &[
                "edit",
                "s.zv",
                "append",
                "nodes.csv",
                "--affine",
                "@affine.txt",
            ],
        ],
        &[
            points,
            &["edit", "s.zv", "move", "--from", "@moved.csv", "--by-order"],
        ],
        &[points, &of_csv],
        &[points, &of_npy],
    ] {
        let answers = Answers::default();
        let server = format!("{}/", serve(home.path(), Way::BusyOnce, &answers)?);
        let mut found = Vec::new();
        for folder in ["", &server] {
            fs::remove_dir_all(home.file("s.zv")).ok();
            let ran = run_all(&home, commands, folder)?;
            let last = commands.last().context("a command")?;
            for word in last.iter().filter_map(|word| word.strip_prefix('@')) {
                let line = format!("downloading {server}{word}");
                assert_eq!(
                    ran.stderr.contains(&line),
                    !folder.is_empty(),
                    "{}",
                    ran.stderr
                );
            }
            let temporary = std::env::temp_dir();
            let said = format!("{}{}", ran.stderr, String::from_utf8_lossy(&ran.stdout));
            let named = said.replace(&*home.path().to_string_lossy(), "");
            assert!(!named.contains(&*temporary.to_string_lossy()), "{said}");
            found.push(files(&home.file("s.zv"))?);
        }
        assert!(!answers.all().is_empty(), "{commands:?}");
        let names = |at: usize| found[at].keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(0), names(1), "{commands:?}");
        // Each edit has a random name.
        let lines = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(bytes);
            let lines = text.lines().filter(|line| !line.contains("zvf_edited"));
            lines.map(str::to_owned).collect()
        };
        for (name, bytes) in &found[0] {
            let far = lines(&found[1][name]);
            assert!(!far.iter().any(|line| line.contains("http://")), "{name}");
            assert_eq!(lines(bytes), far, "{name} of {commands:?}");
        }
    }
    Ok(())
}

#[test]
fn errors_about_options_that_name_files_have_the_url() -> Result<()> {
    let home = tables()?;
    let graph = ["import", "nodes.csv", "s.zv", "--edges", "edges.csv"];
    home.text(&graph)?;
    let before = files(&home.file("s.zv"))?;
    let answers = Answers::default();
    let server = format!("{}/", serve(home.path(), Way::Plain, &answers)?);
    for (args, code, requests) in [
        (
            &["import", "nodes.csv", "t.zv", "--edges", "@bad.csv"][..],
            4,
            1,
        ),
        (
            &["import", "nodes.csv", "t.zv", "--edges", "@outside.csv"],
            4,
            1,
        ),
        (
            &["import", "nodes.csv", "t.zv", "--edges", "@none.csv"],
            3,
            0,
        ),
        (
            &["import", "nodes.csv", "t.zv", "--faces", "@edges.csv"],
            4,
            1,
        ),
        (
            &["import", "nodes.csv", "t.zv", "--affine", "@bad.csv"],
            4,
            1,
        ),
        // The ending is refused before anything is requested.
        (
            &["import", "nodes.csv", "t.zv", "--edges", "@affine.bin"],
            2,
            0,
        ),
        (&["append", "s.zv", "more.csv", "--links", "@bad.csv"], 4, 1),
        (
            &["append", "s.zv", "more.csv", "--links", "@none.csv"],
            3,
            0,
        ),
        (
            &["append", "s.zv", "more.csv", "--links", "@affine.bin"],
            2,
            0,
        ),
        (
            &["append", "s.zv", "more.csv", "--affine", "@bad.csv"],
            4,
            1,
        ),
        (
            &["edit", "s.zv", "append", "more.csv", "--links", "@bad.csv"],
            4,
            1,
        ),
        (&["edit", "s.zv", "append", "@moved.bad.csv"], 4, 1),
        (&["edit", "s.zv", "append", "@none.csv"], 3, 0),
        (
            &[
                "edit",
                "s.zv",
                "move",
                "--from",
                "@moved.bad.csv",
                "--by-order",
            ],
            4,
            1,
        ),
        (&["edit", "s.zv", "move", "--from", "@affine.bin"], 2, 0),
        (
            &[
                "edit",
                "s.zv",
                "set-attribute",
                "w",
                "--type",
                "float32",
                "--rename",
                "y=w",
                "--by-order",
                "--from",
                "@moved.bad.csv",
            ],
            4,
            1,
        ),
        (
            &["edit", "s.zv", "set-attribute", "w", "--from", "@none.npy"],
            3,
            0,
        ),
    ] {
        let count = answers.all().len();
        let args = placed(args, &server);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        let error = ran.stderr.lines().last().context("an error")?;
        let url = args.iter().find(|word| word.starts_with(&server));
        assert!(
            error.contains(url.context("a URL")?),
            "{args:?}: {}",
            ran.stderr
        );
        let temporary = std::env::temp_dir();
        assert!(!error.contains(&*temporary.to_string_lossy()), "{error}");
        assert_eq!(answers.all().len(), count + requests, "{args:?}");
    }
    assert!(!home.names()?.contains(&"t.zv".to_owned()));
    assert_eq!(files(&home.file("s.zv"))?, before);
    Ok(())
}

#[test]
fn downloads_are_reported_in_percent_or_in_bytes() -> Result<()> {
    let home = Home::made(&[])?;
    let mut rows = "x,y,z\n".to_owned();
    (0..300_000).for_each(|row| rows.push_str(&format!("{row},{row},1\n")));
    fs::write(home.file("big.csv"), &rows)?;
    let size = rows.len() as u64;
    let runtime = zvf_store::blocking::Runtime::new()?;
    for (way, states_length) in [(Way::Plain, true), (Way::Chunked, false)] {
        let server = serve(home.path(), way, &Answers::default())?;
        let members = serde_json::json!({
            "job": "import",
            "files": [format!("{server}/big.csv")],
            "store": home.file(&format!("{way:?}.zv")),
        });
        let jobs = zvf_jobs::parse(&members.to_string())?;
        let found = Arc::new(Mutex::new(Vec::new()));
        let events = Arc::clone(&found);
        let context = zvf_jobs::Context::new().with_events(Arc::new(move |event| {
            if let JobEvent::Downloaded { bytes, total } = event {
                events.lock().unwrap().push((*bytes, *total));
            }
        }));
        for job in jobs.as_slice() {
            runtime.wait(zvf_jobs::run(job, &context))?;
        }
        let mut found = found.lock().unwrap().clone();
        assert_eq!(found.pop(), Some((size, Some(size))), "{way:?}");
        let total = states_length.then_some(size);
        assert!(found.iter().all(|(_, one)| *one == total), "{found:?}");
        let steps = found.iter().map(|(bytes, _)| match states_length {
            true => bytes * 100 / size,
            false => bytes >> 20,
        });
        let steps: Vec<u64> = steps.collect();
        assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
        assert!(steps.len() > 2, "{way:?}: {steps:?}");
    }
    Ok(())
}

#[test]
fn regions_of_files_take_urls() -> Result<()> {
    let solid = "v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
    let home = Home::made(&[
        ("../p.csv", "x,y,z\n1,1,1\n2,2,2\n8,8,8\n".into()),
        ("../solid.obj", solid.into()),
        ("../open.obj", "v 0 0 0\nv 9 0 0\nv 0 9 0\nf 1 3 2\n".into()),
        (
            "../area.wkt",
            "POLYGON ((0 0, 2.5 0, 2.5 2.5, 0 2.5, 0 0))".into(),
        ),
    ])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    let answers = Answers::default();
    let server = format!("{}/", serve(home.path(), Way::BusyOnce, &answers)?);
    let mesh = format!("mesh(@`{server}solid.obj`) and polygon(@`{server}area.wkt`)");
    let both = format!("hull(@`{server}solid.obj`) and near(x=1,0.5)");
    for (flags, rows) in [
        (&["--mesh", &format!("{server}solid.obj")][..], 2),
        (&["--mesh", &format!("{server}solid.obj"), "--hull"], 2),
        (&["--polygon", &format!("{server}area.wkt")], 2),
        (&["--region", &mesh], 2),
        (&["--region", &both], 1),
    ] {
        let query = ["query", "s.zv", "--format", "csv"];
        let ran = home.zvf(&[&query[..], flags].concat())?;
        let text = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.code, 0, "{flags:?}: {}", ran.stderr);
        assert_eq!(text.lines().skip(1).count(), rows, "{flags:?}: {text}");
        assert!(ran.stderr.contains("downloading"), "{}", ran.stderr);
    }
    // For a mesh that is not closed, the error names the URL, not the temporary file.
    let open = format!("{server}open.obj");
    let ran = home.zvf(&["query", "s.zv", "--mesh", &open])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let told: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("zvf:"))
        .collect();
    assert!(told.iter().any(|line| line.contains(&open)), "{told:?}");
    let temporary = std::env::temp_dir();
    assert!(
        !ran.stderr.contains(&*temporary.to_string_lossy()),
        "{}",
        ran.stderr
    );
    let none = format!("{server}none.wkt");
    let ran = home.zvf(&["query", "s.zv", "--polygon", &none])?;
    assert_eq!(
        (ran.code, ran.stderr.contains(&none)),
        (3, true),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn lists_of_ids_and_names_are_read_from_urls() -> Result<()> {
    let home = Home::made(&[
        (
            "../p.csv",
            "object_id,x,y,z\n1,1,1,1\n2,2,2,2\n3,3,3,3\n".into(),
        ),
        ("../ids.txt", "3 1\n".into()),
        ("../names.txt", "left\n\nright\n".into()),
    ])?;
    home.text(&["import", "p.csv", "p.zv"])?;
    let server = serve(home.path(), Way::Plain, &Answers::default())?;
    let (ids, names) = (format!("@{server}/ids.txt"), format!("@{server}/names.txt"));
    let query = |ids: &str| home.text(&["query", "p.zv", "--objects", ids, "--format", "csv"]);
    let get = |ids: &str| home.text(&["get", "p.zv", ids, "--format", "csv"]);
    assert_eq!(query(&ids)?, query("@ids.txt")?);
    assert_eq!(get(&ids)?, get("@ids.txt")?);
    let none = home.zvf(&["get", "p.zv", &format!("@{server}/none.txt")])?;
    assert!(
        none.code != 0 && none.stderr.contains("/none.txt"),
        "{}",
        none.stderr
    );
    // In regions a URL has characters of the syntax.
    let bare = format!("polygon(@{server}/ids.txt)");
    let bare = home.zvf(&["query", "p.zv", "--region", &bare])?;
    let says = "a URL between backquotes";
    assert!(
        bare.code == 2 && bare.stderr.contains(says),
        "{}",
        bare.stderr
    );
    home.text(&["edit", "p.zv", "delete", &ids])?;
    let info = home.json(&["info", "p.zv", "--json"])?;
    assert_eq!(info["levels"][0]["vertices"], 1, "{info}");
    let step = [
        "--begin",
        "--bounds",
        "0,0,0:9,9,9",
        "--chunk-shape",
        "9,9,9",
    ];
    let begin = [
        &["import", "p.csv", "q.zv", "--parts", &names, "--json"][..],
        &step,
    ]
    .concat();
    let begun = home.json(&begin)?;
    assert_eq!(
        begun["parts"],
        serde_json::json!(["left", "right"]),
        "{begun}"
    );
    Ok(())
}

//! `zvf import` and `zvf append` of files at URLs: the requested bytes, and the rows of the store.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use zvf_jobs::JobEvent;

use crate::odd_web::{Answers, Way, serve};
use crate::run::Home;

/// Bytes between runs of chunks, too many to be requested with them.
const GAP: usize = 200 << 10;
/// Chunks of a run.
const RUN: usize = 8;

fn number(bytes: &[u8], at: usize) -> Result<i32> {
    Ok(i32::from_le_bytes(bytes[at..at + 4].try_into()?))
}

fn place(bytes: &[u8], at: usize) -> Result<usize> {
    Ok(u64::from_le_bytes(bytes[at..at + 8].try_into()?) as usize)
}

/// `testdata/las/octree.copc.laz` with its chunks moved to the end, in runs with gaps between them. The bytes of their old places are 0xff.
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

/// The rows of a store, in one order.
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
        // The nodes at one corner, of three levels.
        ("box", &box_of[..], 3),
        // The first node.
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
        // The first 64 KiB, which have the pages, and runs of chunks.
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
    // The one that is spread is read by its index alone.
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
        let word = "no index of COPC, so the whole file is downloaded";
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

/// A folder with a store of points, and files to add.
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
        // A column that the table lacks is found after the file was read.
        ("2.csv", &["--position", "x,y,h"], 2, 1),
        ("bad.ply", &[], 4, 1),
        ("none.csv", &[], 3, 0),
        // By their endings stores.
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
    // Files of one format: neither is downloaded.
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

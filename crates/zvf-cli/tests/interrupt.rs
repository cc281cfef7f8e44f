//! An interrupted program leaves no half-written files.

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::run::{Home, STORE, command};
use crate::server::{LastCell, Server};

/// Waits until `found` returns a value.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(found) = found()? {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("waited in vain for {what}")
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) -> Result<()> {
    let kill = format!("kill -{signal} {}", child.id());
    let killed = std::process::Command::new("sh")
        .args(["-c", &kill])
        .status()?;
    ensure!(killed.success(), "{kill}");
    Ok(())
}

#[cfg(unix)]
#[test]
fn interrupts_remove_temporary_folders() -> Result<()> {
    let home = Home::new("points_ids")?;
    let temporary = home.file("tmp");
    fs::create_dir(&temporary)?;
    let mut child = command(&home.path(), &["import", "-", "new.zv", "--format", "csv"])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    input.write_all(b"x,y,z\n1,2,3\n")?;
    wait_for("a temporary folder", || {
        if let Some(status) = child.try_wait()? {
            bail!("ended before: {status}");
        }
        let is_there = fs::read_dir(&temporary)?.next().is_some();
        Ok(is_there.then_some(()))
    })?;
    send("INT", &child)?;
    let status = wait_for("the end", || Ok(child.try_wait()?))?;
    assert_eq!(status.code(), Some(130));
    assert_eq!(fs::read_dir(&temporary)?.count(), 0);
    drop(input);
    Ok(())
}

#[cfg(unix)]
#[test]
fn interrupts_remove_what_is_half_written() -> Result<()> {
    for (signal, out) in [("INT", "out.csv"), ("TERM", "out"), ("INT", "kept.npy")] {
        let home = Home::new("points_ids")?;
        // The first rows are written, but the last cell is never answered.
        let server = Server::start(home.path(), LastCell::Never)?;
        fs::write(home.file("kept.npy"), "an earlier result")?;
        let args = ["query", server.store(), "--attributes", "none", "-o", out];
        let mut child = command(&home.path(), &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let partial = format!(".{out}.{}-", child.id());
        wait_for("a partial file", || {
            if let Some(status) = child.try_wait()? {
                bail!("ended before: {status}");
            }
            let begun = |name: &String| name.starts_with(&partial);
            Ok(home.names()?.iter().any(begun).then_some(()))
        })?;
        send(signal, &child)?;
        let status = wait_for("the end", || Ok(child.try_wait()?))?;
        assert_eq!(status.code().context("no exit code")?, 130, "{signal}");
        assert_eq!(home.names()?, ["kept.npy", STORE], "{signal}, {out}");
        assert_eq!(
            fs::read_to_string(home.file("kept.npy"))?,
            "an earlier result"
        );
    }
    Ok(())
}

/// A killed writer leaves its marker, which other commands report.
#[test]
fn an_unfinished_store_is_named_as_such() -> Result<()> {
    let home = Home::new("points_ids")?;
    fs::write(home.file("p.csv"), "x,y,z\n1,2,3\n4,5,6\n")?;
    fs::create_dir_all(home.file("new.zv/0/vertices"))?;
    fs::write(home.file("new.zv/zvf-unfinished.json"), "{}")?;
    for args in [&["info", "new.zv"][..], &["import", "p.csv", "new.zv"]] {
        let ran = home.zvf(args)?;
        assert!(matches!(ran.code, 2 | 3), "{}", ran.stderr);
        assert!(ran.stderr.contains("unfinished"), "{}", ran.stderr);
        assert!(ran.stderr.contains("--clear-leftovers"), "{}", ran.stderr);
    }
    home.text(&["import", "p.csv", "new.zv", "--clear-leftovers"])?;
    Ok(())
}

/// A copy with a wrong option leaves nothing at its target.
#[test]
fn a_wrong_option_leaves_no_folder() -> Result<()> {
    let home = Home::new("points_ids")?;
    for args in [
        &[
            "rechunk",
            STORE,
            "deep/new.zv",
            "--bin-shape",
            "0.3,0.3,0.3",
        ][..],
        &[
            "migrate",
            STORE,
            "new.zv",
            "--to",
            "0.9.2",
            "--shard-shape",
            "2,2",
        ],
    ] {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert_eq!(home.names()?, [STORE], "{args:?}");
    }
    Ok(())
}

/// An interrupted pyramid is reported as such, with the commands that help.
#[test]
fn an_unfinished_level_is_named_as_such() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    home.text(&["pyramid", STORE, "--remove", "-q"])?;
    home.text(&["copy", STORE, "made.zv", "-q"])?;
    home.text(&["pyramid", "made.zv", "--factors", "4", "-q"])?;
    let cells = crate::run::files(&home.file("made.zv/1"))?;
    for (key, bytes) in cells {
        let file = home.file(STORE).join("1").join(&key);
        fs::create_dir_all(file.parent().context("no folder")?)?;
        if !key.ends_with("zarr.json") {
            fs::write(file, bytes)?;
        }
    }
    let marker = r#"{"details": {"pyramid": ["1"]}}"#;
    fs::write(home.file(STORE).join("zvf-unfinished.json"), marker)?;
    for args in [
        &["pyramid", STORE, "--factors", "2"][..],
        &["vacuum", STORE],
    ] {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, 75, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("`zvf edit STORE resume`"),
            "{}",
            ran.stderr
        );
        let flag = ran.stderr.contains("`--clear-leftovers`");
        assert_eq!(flag, args.contains(&"--factors"), "{}", ran.stderr);
    }
    let advice = home.json(&["doctor", STORE, "--json"])?;
    let notes = advice["notes"].to_string();
    assert!(notes.contains("resume` completes or undoes it"), "{advice}");
    let report = home.json(&["validate", STORE, "--level", "5", "--json"])?;
    let findings = report["findings"].as_array().context("findings")?;
    let titles = findings.iter().map(|one| one["title"].as_str());
    assert!(findings.len() > 2, "{report}");
    assert!(
        titles.into_iter().all(|title| title == Some("unfinished")),
        "{report}"
    );
    home.text(&["edit", STORE, "resume"])?;
    home.text(&["info", STORE])?;
    Ok(())
}

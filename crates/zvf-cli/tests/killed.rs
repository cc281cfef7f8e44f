//! If a reader is killed, its output is complete or does not exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use zvf_testkit::StoppingServer;

use crate::run::command;
use zvf_testkit::sample::Sample;

/// The bytes of a file at `path`, or of every file of a directory there.
fn contents(path: &Path) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
    if path.is_file() {
        return Ok(Some(BTreeMap::from([(String::new(), fs::read(path)?)])));
    }
    if !path.is_dir() {
        return Ok(None);
    }
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(Some(files))
}

fn start(home: &Path, url: &str, out: &str) -> Result<Child> {
    // The budget is small, so that writing begins long before the last chunk is read.
    let args = ["query", url, "-o", out, "--memory-budget", "64K", "--quiet"];
    let mut command = command(home, &args);
    Ok(command.stdout(Stdio::null()).spawn()?)
}

/// Kills the program and returns its output.
fn kill(mut child: Child, home: &Path, out: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
    // On Unix this is SIGKILL: the program runs no further code.
    child.kill()?;
    child.wait()?;
    contents(&home.join(out))
}

#[test]
fn an_output_is_whole_or_absent_whenever_the_program_is_killed() -> Result<()> {
    let files = zvf_testkit::files("streamlines")?;
    for out in ["rows.csv", "rows.arrow", "tables"] {
        let home = tempfile::tempdir()?;
        // An undisturbed run gives the complete output and the number of requests.
        let server = StoppingServer::start(files.clone(), u64::MAX)?;
        let status = start(home.path(), server.url(), out)?.wait()?;
        ensure!(status.success(), "{out}: {status}");
        let whole = contents(&home.path().join(out))?.context("no output")?;
        let requests = server.asked();
        ensure!(requests > 40, "{requests} requests");
        let (mut absent, mut begun) = (0, 0);
        let sample = Sample::new(out);
        for moment in sample.some((0..requests).step_by(7), 3) {
            let home = tempfile::tempdir()?;
            let server = StoppingServer::start(files.clone(), moment)?;
            let mut child = start(home.path(), server.url(), out)?;
            let stopped = server.wait_until_stopped(|| matches!(child.try_wait(), Ok(Some(_))));
            ensure!(stopped, "{out}: ended by itself after {moment} requests");
            let left = kill(child, home.path(), out)?;
            ensure!(
                left.is_none(),
                "{out}: something after {moment} of {requests} requests"
            );
            absent += 1;
            // Partial output has a temporary name with this ending.
            for entry in fs::read_dir(home.path())? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                ensure!(name.ends_with(".partial"), "{name}");
                begun += 1;
            }
        }
        ensure!(
            absent > 0 && (begun > 0 || !sample.is_whole()),
            "{out}: {absent} absent, {begun} begun"
        );
        // Kills after the last answer, while the output is written and renamed.
        for moment in sample.some(0..40, 4) {
            let home = tempfile::tempdir()?;
            let server = StoppingServer::start(files.clone(), u64::MAX)?;
            let mut child = start(home.path(), server.url(), out)?;
            while server.asked() < requests && matches!(child.try_wait(), Ok(None)) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(moment * 250));
            if let Some(left) = kill(child, home.path(), out)? {
                ensure!(left == whole, "{out}: half of it, moment {moment}");
            }
        }
    }
    Ok(())
}

#[test]
fn an_earlier_output_stays_as_it_was() -> Result<()> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("rows.csv"), "earlier")?;
    let server = StoppingServer::start(zvf_testkit::files("streamlines")?, 60)?;
    let mut child = start(home.path(), server.url(), "rows.csv")?;
    ensure!(server.wait_until_stopped(|| matches!(child.try_wait(), Ok(Some(_)))));
    kill(child, home.path(), "rows.csv")?;
    ensure!(fs::read(home.path().join("rows.csv"))? == b"earlier");
    Ok(())
}

/// The bytes of every file below a folder.
fn tree(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let below = tree(&entry.path())?.into_iter();
            files.extend(below.map(|(key, bytes)| (format!("{name}/{key}"), bytes)));
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

#[test]
fn an_import_that_was_killed_goes_on_behind_its_journal() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut table = "x,y,z,cell\n".to_owned();
    for at in 0..200_000_u32 {
        table.push_str(&format!(
            "{}.5,{}.25,{}.0,{}\n",
            at % 83,
            at % 71,
            at / 5000,
            at % 7
        ));
    }
    fs::write(home.path().join("big.csv"), table)?;
    let import = |store: &'static str, more: &[&'static str]| {
        let args = [
            "import",
            "big.csv",
            store,
            "--object-column",
            "cell",
            "--chunk-shape",
            "30,30,30",
        ];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        command(home.path(), &args)
    };
    let whole = import("a/made.zv", &["--quiet"])
        .stdout(Stdio::null())
        .status()?;
    ensure!(whole.success());
    let journal = home.path().join("j.journal");
    let mut resumed = false;
    for _ in 0..20 {
        let mut first = import("b/made.zv", &["--journal", "j.journal", "--quiet"]);
        let mut child = first.stdout(Stdio::null()).spawn()?;
        // A batch has 2.6 million bytes, all batches together more than seven million. The journal grows while a batch is written, and an
        // incomplete batch does not count.
        let long = || fs::metadata(&journal).is_ok_and(|journal| journal.len() > 3_000_000);
        while !long() && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill()?;
        child.wait()?;
        if home.path().join("b/made.zv/zarr.json").exists() {
            // The program ended before it was killed.
            fs::remove_dir_all(home.path().join("b"))?;
            let _ = fs::remove_file(&journal);
            continue;
        }
        ensure!(journal.exists());
        let mut again = import("b/made.zv", &["--journal", "j.journal"]);
        let ran = again.output()?;
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        ensure!(ran.status.success(), "{said}");
        ensure!(said.contains("zvf: continuing after "), "{said}");
        ensure!(!journal.exists());
        resumed = true;
        break;
    }
    ensure!(resumed, "it was never killed in time");
    ensure!(tree(&home.path().join("a"))? == tree(&home.path().join("b"))?);
    Ok(())
}

#[test]
fn lines_with_new_points_go_on_behind_their_journal() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut table = "object_id,x,y,z\n".to_owned();
    for line in 0..80 {
        // The rows form a zigzag, from which the simplification below removes no point.
        let rows =
            (0..2000).map(|at| format!("{line},{},{},{line}\n", at / 2, line * 3 + at % 2 * 2));
        table.extend(rows);
    }
    fs::write(home.path().join("lines.csv"), table)?;
    let import = [
        "import",
        "lines.csv",
        "lines.zv",
        "--kind",
        "polyline",
        "--quiet",
    ];
    ensure!(
        command(home.path(), &import)
            .stdout(Stdio::null())
            .status()?
            .success()
    );
    let journal = home.path().join("kept");
    for how in [
        &["resample", "--step", "2"][..],
        &["simplify", "--tolerance", "0.1"],
    ] {
        let run = |store: &str, more: &[&str]| {
            let args = [how, &["lines.zv", store], more].concat();
            command(home.path(), &args)
        };
        let whole = run("a/made.zv", &["--quiet"])
            .stdout(Stdio::null())
            .status()?;
        ensure!(whole.success());
        let mut resumed = false;
        for _ in 0..20 {
            let mut first = run("b/made.zv", &["--journal", "kept", "--quiet"]);
            let mut child = first.stdout(Stdio::null()).spawn()?;
            // A batch has at least 65,536 points of 12 bytes, but less than a million bytes.
            let long = || fs::metadata(&journal).is_ok_and(|journal| journal.len() > 1_000_000);
            while !long() && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
            child.kill()?;
            child.wait()?;
            if home.path().join("b/made.zv/zarr.json").exists() {
                // The program ended before it was killed.
                fs::remove_dir_all(home.path().join("b"))?;
                let _ = fs::remove_file(&journal);
                continue;
            }
            ensure!(journal.exists());
            // With another spacing, which has other points, the journal is refused.
            let other = match how {
                ["resample", ..] => ["resample", "--step", "3"],
                _ => ["simplify", "--tolerance", "50"],
            };
            let more = [
                "lines.zv",
                "b/made.zv",
                "--journal",
                "kept",
                "--clear-leftovers",
            ];
            let ran = command(home.path(), &[&other[..], &more].concat()).output()?;
            ensure!(ran.status.code() == Some(2));
            let ran = run("b/made.zv", &["--journal", "kept"]).output()?;
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            ensure!(ran.status.success(), "{said}");
            ensure!(said.contains("continued after "), "{said}");
            ensure!(!journal.exists());
            resumed = true;
            break;
        }
        ensure!(resumed, "it was never killed in time");
        ensure!(tree(&home.path().join("a"))? == tree(&home.path().join("b"))?);
        for folder in ["a", "b"] {
            fs::remove_dir_all(home.path().join(folder))?;
        }
    }
    Ok(())
}

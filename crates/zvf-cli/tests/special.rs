//! Results that are written to pipes and devices, which are never replaced.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run::{Home, STORE};

/// A named pipe gets the table in every format, and is still a pipe afterwards.
#[test]
fn a_pipe_gets_the_table_and_stays_a_pipe() -> Result<()> {
    let home = Home::new("points_ids")?;
    let pipe = home.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status()?;
    ensure!(made.success(), "mkfifo: {made}");
    for format in ["csv", "ndjson", "arrow", "npy"] {
        let wanted = home
            .zvf(&["query", STORE, "--format", format, "-q"])?
            .stdout;
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe)
        });
        let ran = home.zvf(&["query", STORE, "--format", format, "-o", "pipe", "-q"])?;
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        let found = reader.join().ok().context("the reader panicked")??;
        assert!(!wanted.is_empty(), "{format}");
        assert!(found == wanted, "{format}: another table than on stdout");
        assert!(
            fs::symlink_metadata(&pipe)?.file_type().is_fifo(),
            "{format}"
        );
    }
    assert_eq!(home.names()?, ["pipe", STORE]);
    Ok(())
}

/// A link to a device is still a link to it afterwards, whether the query works or fails.
#[test]
fn a_link_to_a_device_stays_one() -> Result<()> {
    let home = Home::new("points_ids")?;
    let link = home.file("nothing.csv");
    symlink("/dev/null", &link)?;
    let whole = home.zvf(&["query", STORE, "-o", "nothing.csv", "-q"])?;
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    // A name without an ending, without a format, means a directory.
    let folder = home.file("nothing");
    symlink("/dev/null", &folder)?;
    let refused = home.zvf(&["query", STORE, "-o", "nothing", "-q"])?;
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("device"), "{}", refused.stderr);
    let failed = home.zvf(&[
        "query",
        STORE,
        "--objects",
        "123456789",
        "-o",
        "nothing.csv",
        "-q",
    ])?;
    assert_eq!(failed.code, 2, "{}", failed.stderr);
    for link in [link, folder] {
        assert_eq!(fs::read_link(link)?.to_str(), Some("/dev/null"));
    }
    assert_eq!(home.names()?, ["nothing", "nothing.csv", STORE]);
    Ok(())
}

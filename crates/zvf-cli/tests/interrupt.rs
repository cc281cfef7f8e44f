//! An interrupted program leaves nothing half written behind.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run::{Home, STORE, command};
use crate::server::{LastCell, Server};

/// Waits until `found` gives something.
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
#[test]
fn interrupts_remove_what_is_half_written() -> Result<()> {
    for (signal, out) in [("INT", "out.csv"), ("TERM", "out"), ("INT", "kept.npy")] {
        let home = Home::new("points_ids")?;
        // The first rows are written, the last never come.
        let server = Server::start(home.path(), LastCell::Never)?;
        fs::write(home.file("kept.npy"), "an earlier result")?;
        let args = ["query", server.store(), "--attributes", "none", "-o", out];
        let mut child = command(&home.path(), &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let partial = format!(".{out}.{}.partial", child.id());
        wait_for("a partial file", || {
            if let Some(status) = child.try_wait()? {
                bail!("ended before: {status}");
            }
            Ok(home.file(&partial).exists().then_some(()))
        })?;
        let kill = format!("kill -{signal} {}", child.id());
        let killed = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status()?;
        assert!(killed.success());
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

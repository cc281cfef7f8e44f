//! An interrupted program leaves nothing half written behind.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run::{Home, STORE, command};

/// A web server that gives the files of a folder, but never the last cell of `vertices`.
pub(crate) struct Stalling {
    address: String,
}

impl Stalling {
    /// Serves `folder` until the test ends.
    pub(crate) fn start(folder: PathBuf) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/{STORE}", listener.local_addr()?);
        let cells = folder.join(STORE).join("0/vertices/c");
        let last = last_cell(&cells)?.context("no cells")?;
        let last = last.strip_prefix(&folder)?.to_string_lossy().into_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, last) = (folder.clone(), last.clone());
                std::thread::spawn(move || serve(&stream, &folder, &last));
            }
        });
        Ok(Self { address })
    }

    /// The store's address.
    pub(crate) fn store(&self) -> &str {
        &self.address
    }
}

/// The cell with the largest index on the first axis, then on the others.
fn last_cell(folder: &Path) -> Result<Option<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().parse::<u64>();
        names.extend(name);
    }
    let Some(name) = names.into_iter().max() else {
        return Ok(None);
    };
    let path = folder.join(name.to_string());
    if path.is_dir() {
        last_cell(&path)
    } else {
        Ok(Some(path))
    }
}

/// Answers requests of one connection until it ends.
fn serve(stream: &TcpStream, folder: &Path, last: &str) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let first = lines.next()?.ok()?;
        let key = first.split(' ').nth(1)?.trim_start_matches('/').to_owned();
        while !lines.next()?.ok()?.is_empty() {}
        if key == last {
            std::thread::sleep(Duration::from_secs(120));
            return None;
        }
        let mut stream = stream;
        let (status, body) = match fs::read(folder.join(&key)) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        };
        let length = body.len();
        let modified = "last-modified: Thu, 01 Jan 2026 00:00:00 GMT";
        write!(
            stream,
            "HTTP/1.1 {status}\r\n{modified}\r\ncontent-length: {length}\r\n\r\n"
        )
        .ok()?;
        if !first.starts_with("HEAD") {
            stream.write_all(&body).ok()?;
        }
    }
}

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
        let server = Stalling::start(home.path())?;
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

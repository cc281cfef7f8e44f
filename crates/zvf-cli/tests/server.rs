//! A web server that cannot list.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::STORE;

/// The response to requests for the last cell of `vertices`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastCell {
    /// It is answered.
    Given,
    /// It is never answered.
    Never,
    /// It is answered with 503, always.
    Busy,
}

/// A web server for the files of a folder. All files are sent at once, except the last cell of `vertices`.
pub(crate) struct Server {
    address: String,
}

impl Server {
    /// Serves `folder` until the test ends.
    pub(crate) fn start(folder: PathBuf, last_cell_is: LastCell) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/{STORE}", listener.local_addr()?);
        let cells = folder.join(STORE).join("0/vertices/c");
        let last = last_cell(&cells)?.context("no cells")?;
        let last = last.strip_prefix(&folder)?.to_string_lossy().into_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, last) = (folder.clone(), last.clone());
                std::thread::spawn(move || serve(&stream, &folder, &last, last_cell_is));
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
fn serve(stream: &TcpStream, folder: &Path, last: &str, last_is: LastCell) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let first = lines.next()?.ok()?;
        let key = first.split(' ').nth(1)?.trim_start_matches('/').to_owned();
        while !lines.next()?.ok()?.is_empty() {}
        if key == last && last_is == LastCell::Never {
            std::thread::sleep(Duration::from_secs(120));
            return None;
        }
        let mut stream = stream;
        let (status, body) = match fs::read(folder.join(&key)) {
            _ if key == last && last_is == LastCell::Busy => {
                ("503 Service Unavailable", Vec::new())
            }
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

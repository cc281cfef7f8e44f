//! A running `zvf serve`, and requests to it over connections that are kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use zvf_soak::locks::locked;

use super::program::Program;

/// A server of one store; it ends with this value.
#[derive(Debug)]
pub(super) struct Served {
    child: Child,
    /// Its output: a server that cannot write ends.
    _output: BufReader<ChildStdout>,
    door: Arc<Door>,
}

/// The way to a server, for those who ask it.
#[derive(Debug)]
pub(super) struct Door {
    host: String,
    /// The name of the store.
    name: String,
    /// Connections that nobody uses now.
    lines: Mutex<Vec<BufReader<TcpStream>>>,
    closed: AtomicBool,
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A status and the whole body.
    Whole(u16, String),
    /// The answer began, and ended early: why, and what came of it.
    Cut(String),
    /// No answer began.
    None(String),
}

impl Served {
    /// Starts a server. `None`: it did not start, which a fault of the storage explains.
    pub(super) fn start(program: &Program, endpoint: &str, store: &str) -> Result<Option<Self>> {
        let arguments = ["serve", store, "--port", "0", "--quiet"].map(str::to_owned);
        let mut command = program.command(endpoint, &arguments, None);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        output.read_line(&mut line)?;
        let host = line.rsplit("http://").next().unwrap_or_default();
        let name = store.rsplit('/').next().unwrap_or(store);
        let served = Self {
            child,
            _output: output,
            door: Arc::new(Door {
                host: host.trim().trim_end_matches('/').to_owned(),
                name: name.split('.').next().unwrap_or(name).to_owned(),
                lines: Mutex::default(),
                closed: AtomicBool::new(false),
            }),
        };
        Ok(line.contains("http://").then_some(served))
    }

    /// Whether it ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn door(&self) -> Arc<Door> {
        Arc::clone(&self.door)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.door.closed.store(true, Ordering::SeqCst);
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Door {
    /// The path of a query of the store.
    pub(super) fn query(&self, parameters: &str) -> String {
        let name = &self.name;
        format!("/query?store={name}&format=ndjson&columns=position,object_id,n,w,t{parameters}")
    }

    /// Whether the server was killed, or is about to be.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Asks for a path.
    pub(super) fn get(&self, path: &str) -> Reply {
        let kept = locked(&self.lines).pop();
        if let Some(line) = kept {
            match self.ask(line, path) {
                // The server closes connections that were idle for long: as every client, ask again.
                Reply::None(_) => {}
                reply => return reply,
            }
        }
        let line = TcpStream::connect(&self.host).and_then(|line| {
            line.set_read_timeout(Some(Duration::from_secs(120)))?;
            line.set_nodelay(true)?;
            Ok(BufReader::new(line))
        });
        match line {
            Ok(line) => self.ask(line, path),
            Err(error) => Reply::None(format!("no connection: {error}")),
        }
    }

    fn ask(&self, mut line: BufReader<TcpStream>, path: &str) -> Reply {
        let host = &self.host;
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        if let Err(error) = line.get_mut().write_all(text.as_bytes()) {
            return Reply::None(format!("the connection was closed: {error}"));
        }
        let head = match head(&mut line) {
            Ok(head) => head,
            Err(error) => return Reply::None(format!("no head of an answer: {error:#}")),
        };
        match body(&head, &mut line) {
            Ok((status, text)) => {
                locked(&self.lines).push(line);
                Reply::Whole(status, text)
            }
            Err(error) => Reply::Cut(format!("{error:#}")),
        }
    }
}

/// The head of an answer, in lower case.
fn head(line: &mut impl BufRead) -> Result<String> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if line.read_line(&mut head)? == 0 {
            bail!("the connection ended after {start} bytes");
        }
        if head.get(start..) == Some("\r\n") {
            return Ok(head.to_ascii_lowercase());
        }
    }
}

/// Status and body behind a head.
fn body(head: &str, line: &mut impl BufRead) -> Result<(u16, String)> {
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    let mut bytes = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            if line.read_line(&mut size)? == 0 {
                bail!("aborted after {} bytes", bytes.len());
            }
            let size = u64::from_str_radix(size.trim(), 16)?;
            let found = line.by_ref().take(size).read_to_end(&mut bytes)?;
            let mut end = [0; 2];
            line.read_exact(&mut end)
                .with_context(|| format!("aborted within a chunk, at {found} of {size}"))?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length = head.split("content-length:").nth(1).context("no length")?;
        let length: u64 = length.lines().next().unwrap_or_default().trim().parse()?;
        let found = line.by_ref().take(length).read_to_end(&mut bytes)?;
        if u64::try_from(found)? != length {
            bail!("aborted after {found} of {length} bytes");
        }
    }
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(answer: &[u8]) -> Option<(u16, String)> {
        let mut line = BufReader::new(answer);
        let head = head(&mut line).ok()?;
        body(&head, &mut line).ok()
    }

    #[test]
    fn answers_that_end_early_are_not_whole() {
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(whole(chunked), Some((200, "abc".into())));
        for cut in 1..8 {
            assert_eq!(whole(&chunked[..chunked.len() - cut]), None, "{cut}");
        }
        let sized = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(whole(sized), Some((404, "no".into())));
        assert_eq!(whole(&sized[..sized.len() - 1]), None);
    }
}

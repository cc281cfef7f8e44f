//! A running `zvf serve`, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::program::Program;

/// A server of one store; it ends with this value.
#[derive(Debug)]
pub(super) struct Served {
    child: Child,
    /// Its output: a server that cannot write ends.
    _output: BufReader<ChildStdout>,
    host: String,
    name: String,
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
        let name = store.rsplit('/').next().unwrap_or(store);
        let served = Self {
            child,
            _output: output,
            host: line
                .rsplit("http://")
                .next()
                .unwrap_or_default()
                .trim()
                .trim_end_matches('/')
                .to_owned(),
            name: name.split('.').next().unwrap_or(name).to_owned(),
        };
        Ok(line.contains("http://").then_some(served))
    }

    /// The path of a query of the store.
    pub(super) fn query(&self, parameters: &str) -> String {
        let name = &self.name;
        format!("/query?store={name}&format=ndjson&columns=position,object_id,n,w,t{parameters}")
    }

    /// Status and body of an answer. `None`: the answer is not whole.
    pub(super) fn get(host: &str, path: &str) -> Result<Option<(u16, String)>> {
        let mut answer = Vec::new();
        let read = (|| {
            let mut line = TcpStream::connect(host)?;
            line.set_read_timeout(Some(Duration::from_secs(120)))?;
            write!(
                line,
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            )?;
            line.read_to_end(&mut answer)
        })();
        // The server was killed, or a fault made it abort.
        if read.is_err() {
            return Ok(None);
        }
        Ok(whole(&answer))
    }

    /// Whether it ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn host(&self) -> String {
        self.host.clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body, if all of it is there.
fn whole(answer: &[u8]) -> Option<(u16, String)> {
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(answer.get(..end)?).to_ascii_lowercase();
    let mut body = answer.get(end + 4..)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut text = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let line = body.windows(2).position(|part| part == b"\r\n")?;
            let size = std::str::from_utf8(body.get(..line)?).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            if size == 0 {
                break;
            }
            let start = line + 2;
            text.extend_from_slice(body.get(start..start.checked_add(size)?)?);
            body = body.get(start + size + 2..)?;
        }
    } else {
        let length = head.split("content-length:").nth(1)?;
        let length: usize = length.lines().next()?.trim().parse().ok()?;
        text.extend_from_slice(body.get(..length)?);
    }
    Some((status, String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_end_early_are_not_whole() {
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(whole(chunked), Some((200, "abc".into())));
        assert_eq!(whole(&chunked[..chunked.len() - 6]), None);
        let sized = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(whole(sized), Some((404, "no".into())));
        assert_eq!(whole(&sized[..sized.len() - 1]), None);
    }
}

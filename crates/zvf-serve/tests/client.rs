//! A running server, and requests as bytes on a socket, so that no client library corrects them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use zvf_serve::{ServeOptions, Server};
use zvf_store::Stop;
use zvf_store::blocking::Runtime;

/// A server that is stopped when this value is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(stores: &[String]) -> Result<Self> {
        Self::with(stores, ServeOptions::new())
    }

    pub(crate) fn with(stores: &[String], options: ServeOptions) -> Result<Self> {
        let runtime = Runtime::new()?;
        let server = runtime.wait(Server::bind(stores, options))?;
        let (address, url) = (server.address(), server.url());
        let stop = Stop::default();
        let asked = stop.clone();
        let thread = std::thread::spawn(move || {
            runtime.wait(server.run(async move {
                let _ = asked.or(std::future::pending::<()>()).await;
            }));
        });
        Ok(Self {
            address,
            url,
            stop,
            thread: Some(thread),
        })
    }

    /// Stops the server and waits for it.
    pub(crate) fn end(mut self) -> Result<()> {
        self.stop.ask();
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Err(_)) => bail!("the server panicked"),
            _ => Ok(()),
        }
    }

    /// GET of a path.
    pub(crate) fn get(&self, path: &str) -> Result<Reply> {
        self.ask("GET", path, &[])
    }

    /// POST of a body.
    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Result<Reply> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let reply = self.send(&[head.as_bytes(), body].concat())?;
        Reply::parse(&reply, false).with_context(|| format!("POST {path}"))
    }

    /// The bytes of a path that must exist.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>> {
        let reply = self.get(path)?;
        if reply.status != 200 {
            bail!("{path}: {} {}", reply.status, reply.text());
        }
        Ok(reply.body)
    }

    /// The document of a path that must exist.
    pub(crate) fn json(&self, path: &str) -> Result<Value> {
        serde_json::from_slice(&self.bytes(path)?).with_context(|| path.to_owned())
    }

    /// One request on its own connection.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Reply> {
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let reply = self.send(text.as_bytes())?;
        Reply::parse(&reply, method == "HEAD").with_context(|| format!("{method} {path}"))
    }

    /// Sends bytes and returns all that the server sends until it closes the connection.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        stream.write_all(bytes)?;
        let mut reply = Vec::new();
        match stream.read_to_end(&mut reply) {
            // A request that is refused while it is still being sent may end with a reset.
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => Err(error.into()),
            _ => Ok(reply),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse(bytes: &[u8], head_only: bool) -> Result<Self> {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .with_context(|| format!("no head: {:?}", String::from_utf8_lossy(bytes)))?;
        let head = std::str::from_utf8(&bytes[..end])?;
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let status = status.split(' ').nth(1).context("no status")?.parse()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut reply = Self {
            status,
            headers,
            body: bytes[end + 4..].to_vec(),
        };
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.body = unchunked(&reply.body)?;
        } else if let Some(length) = reply.header("content-length")
            && !head_only
        {
            let length: usize = length.parse()?;
            anyhow::ensure!(
                reply.body.len() == length,
                "{} of {length} bytes",
                reply.body.len()
            );
        }
        anyhow::ensure!(!head_only || reply.body.is_empty(), "HEAD has a body");
        Ok(reply)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunked(mut rest: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest
            .windows(2)
            .position(|two| two == b"\r\n")
            .context("a chunk without a size")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end])?, 16)?;
        let from = end + 2;
        body.extend_from_slice(rest.get(from..from + size).context("a cut chunk")?);
        rest = rest.get(from + size + 2..).context("a cut chunk")?;
        if size == 0 {
            return Ok(body);
        }
    }
}

//! A line to a server that fails now and then, as a program of its own sees it: over HTTP.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::bucket::Bucket;
use crate::draw::Draw;
use crate::locks::locked;

/// How many of a thousand requests fail or lose their answer, by fault.
const FAULTS: [(u64, Fault); 7] = [
    (12, Fault::Status("503 Slow Down")),
    (4, Fault::Status("500 Internal Server Error")),
    (4, Fault::Status("429 Too Many Requests")),
    (8, Fault::ResetBefore),
    (8, Fault::ResetAfter),
    (6, Fault::Cut),
    (4, Fault::Page),
];

/// What a request may meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// An answer of this status, and nothing is done.
    Status(&'static str),
    /// The connection ends before anything is done.
    ResetBefore,
    /// What was asked for is done, and the connection ends without an answer.
    ResetAfter,
    /// What was asked for is done, and half of the answer comes.
    Cut,
    /// A page of something in between, with status 200; at listings and removals only, which no other code tells from
    /// their answers.
    Page,
    /// The request is executed up to half a second late, and its answer is sent up to two seconds late.
    Late,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Status(_) => "error responses",
            Self::ResetBefore => "connections reset before the request",
            Self::ResetAfter => "connections reset after the request",
            Self::Cut => "responses cut in half",
            Self::Page => "responses replaced by a page",
            Self::Late => "slow responses",
        }
    }
}

/// The proxy. It ends with the process.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    failing: AtomicBool,
    faults: Mutex<BTreeMap<&'static str, u64>>,
    requests: AtomicU64,
    seed: u64,
    late: u64,
}

fn address(server: &str) -> Result<String> {
    let address = server.strip_prefix("http://");
    Ok(address.context("no address of a server")?.to_owned())
}

/// What the proxy stands before.
#[derive(Debug)]
enum Upstream {
    /// A server at `HOST:PORT`.
    Server(String),
    /// The same, one request at a time: moto checks the condition of a put and makes it in two steps, and cannot list a bucket from
    /// which an object is removed meanwhile.
    InTurn(String, Mutex<()>),
    Memory(Arc<Bucket>),
}

impl Proxy {
    /// Starts on a free port, before a server at `http://HOST:PORT`. Beside those that fail, `late` of a thousand requests are slow.
    ///
    /// # Errors
    ///
    /// If `server` is no such address, or no port is free.
    pub fn start(server: &str, seed: u64, late: u64) -> Result<Self> {
        Self::before(Upstream::Server(address(server)?), seed, late)
    }

    /// As [`start`](Self::start), and passes on one request at a time.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn in_turn(server: &str, seed: u64, late: u64) -> Result<Self> {
        let upstream = Upstream::InTurn(address(server)?, Mutex::default());
        Self::before(upstream, seed, late)
    }

    /// As [`start`](Self::start), before a bucket in memory.
    ///
    /// # Errors
    ///
    /// If no port is free.
    pub fn over(bucket: Arc<Bucket>, seed: u64, late: u64) -> Result<Self> {
        Self::before(Upstream::Memory(bucket), seed, late)
    }

    fn before(upstream: Upstream, seed: u64, late: u64) -> Result<Self> {
        let upstream = Arc::new(upstream);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            failing: AtomicBool::new(true),
            faults: Mutex::default(),
            requests: AtomicU64::new(0),
            seed,
            late,
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { continue };
                let (upstream, shared) = (Arc::clone(&upstream), Arc::clone(&own));
                std::thread::spawn(move || {
                    // A client that is killed leaves its line: nothing is to be done about it.
                    let _ = serve(client, &upstream, &shared);
                });
            }
        });
        Ok(Self { url, shared })
    }

    /// Where it listens, `http://HOST:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From here on nothing fails any more.
    pub fn calm(&self) {
        self.shared.failing.store(false, Ordering::Relaxed);
    }

    /// How many requests came.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// How many requests met each kind of fault.
    #[must_use]
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        let faults = self.shared.faults.lock();
        faults.map_or_else(|_| BTreeMap::new(), |counts| counts.clone())
    }
}

fn pick(mut number: u64, late: u64) -> Option<Fault> {
    for (share, fault) in FAULTS.into_iter().chain([(late, Fault::Late)]) {
        match number.checked_sub(share) {
            Some(rest) => number = rest,
            None => return Some(fault),
        }
    }
    None
}

/// Serves the requests of a connection, until one of both ends it.
fn serve(mut client: TcpStream, upstream: &Upstream, shared: &Shared) -> Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(30)))?;
    client.set_nodelay(true)?;
    // One from a program that was killed is not passed on: the server would wait for the rest.
    while let Some(request) = request(&mut client)? {
        let number = shared.requests.fetch_add(1, Ordering::Relaxed);
        let mut draw = Draw::new(&[shared.seed, number]);
        let fault = match shared.failing.load(Ordering::Relaxed) {
            true => pick(draw.below(1000), shared.late),
            false => None,
        };
        let first = request.split(|byte| *byte == b'\r').next();
        let line = String::from_utf8_lossy(first.unwrap_or_default());
        let xml = line.contains("list-type=") || line.starts_with("POST");
        let fault = fault.filter(|fault| *fault != Fault::Page || xml);
        if let Some(fault) = fault
            && let Ok(mut counts) = shared.faults.lock()
        {
            *counts.entry(fault.name()).or_default() += 1;
        }
        if !pass(&mut client, &request, upstream, fault, &mut draw)? {
            break;
        }
    }
    Ok(())
}

/// Passes one request on, and its answer back. Whether the connection goes on.
fn pass(
    client: &mut TcpStream,
    request: &[u8],
    upstream: &Upstream,
    fault: Option<Fault>,
    draw: &mut Draw,
) -> Result<bool> {
    match fault {
        Some(Fault::Status(status)) => {
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            client.write_all(head.as_bytes())?;
            return Ok(false);
        }
        Some(Fault::ResetBefore) => return Ok(false),
        Some(Fault::Page) => {
            let page = "<html><body>please wait</body></html>";
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
            client.write_all(head.as_bytes())?;
            return Ok(false);
        }
        Some(Fault::Late) => std::thread::sleep(Duration::from_millis(draw.below(500))),
        _ => {}
    }
    let ask = |server: &str| -> Result<Vec<u8>> {
        let mut server = TcpStream::connect(server)?;
        server.write_all(request)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let (answer, goes_on) = match upstream {
        Upstream::Server(server) => (ask(server)?, false),
        Upstream::InTurn(server, turn) => {
            let _turn = locked(turn);
            (ask(server)?, false)
        }
        Upstream::Memory(bucket) => (bucket.answer(request), true),
    };
    match fault {
        Some(Fault::ResetAfter) => return Ok(false),
        Some(Fault::Cut) => {
            client.write_all(answer.get(..answer.len() / 2).unwrap_or_default())?;
            return Ok(false);
        }
        Some(Fault::Late) => std::thread::sleep(Duration::from_millis(draw.below(2000))),
        _ => {}
    }
    client.write_all(&answer)?;
    if !goes_on {
        client.shutdown(Shutdown::Write)?;
    }
    Ok(goes_on)
}

/// A request with its body, which asks for the connection to end with the answer. `None`: the client ended the connection.
fn request(client: &mut TcpStream) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    let end = loop {
        let read = client.read(&mut piece)?;
        if read == 0 {
            anyhow::ensure!(bytes.is_empty(), "the client went away");
            return Ok(None);
        }
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at;
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let mut length = 0_usize;
    let mut lines = Vec::new();
    for line in head.split("\r\n") {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if !lower.starts_with("connection:") {
            lines.push(line);
        }
    }
    let mut whole = lines.join("\r\n").into_bytes();
    whole.extend_from_slice(b"\r\nConnection: close\r\n\r\n");
    let mut body = bytes.split_off(end.saturating_add(4));
    while body.len() < length {
        let read = client.read(&mut piece)?;
        // A body that is cut is not passed on: the server would wait for the rest.
        anyhow::ensure!(read > 0, "the client went away");
        body.extend_from_slice(piece.get(..read).unwrap_or_default());
    }
    whole.extend_from_slice(&body);
    Ok(Some(whole))
}

//! A web server that stops answering, so that its client blocks at a known request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use anyhow::Result;

/// Serves whole files, without ranges and listings. The first `most` requests are answered; later ones get no answer.
///
/// The server runs as long as the process.
#[derive(Debug)]
pub struct StoppingServer {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    files: BTreeMap<String, Vec<u8>>,
    most: u64,
    asked: AtomicU64,
    /// Whether a request arrived that gets no answer.
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl StoppingServer {
    /// Starts on a free port of this machine.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub fn start(files: BTreeMap<String, Vec<u8>>, most: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            files,
            most,
            asked: AtomicU64::new(0),
            stopped: Mutex::new(false),
            changed: Condvar::new(),
        });
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&server);
                // The thread ends when its client disconnects.
                std::thread::spawn(move || server.connection(&stream));
            }
        });
        Ok(Self { url, shared })
    }

    /// Address of the store's root.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Requests so far, answered or not.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// Waits until a request arrives that gets no answer, or `give_up` returns true. Returns whether such a request arrived.
    pub fn wait_until_stopped(&self, mut give_up: impl FnMut() -> bool) -> bool {
        let lock = || self.shared.stopped.lock();
        let mut stopped = lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped && !give_up() {
            let moment = std::time::Duration::from_millis(5);
            let waited = self.shared.changed.wait_timeout(stopped, moment);
            stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *stopped
    }
}

impl Shared {
    /// Answers the requests of one connection. Errors are ignored, because tests kill the client.
    fn connection(&self, stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream).lines();
        let mut out = stream;
        loop {
            let first = lines.next()?.ok()?;
            while !lines.next()?.ok()?.is_empty() {}
            if self.asked.fetch_add(1, Ordering::SeqCst) >= self.most {
                let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
                *stopped = true;
                self.changed.notify_all();
                drop(stopped);
                // Blocks until the client disconnects.
                lines.next()?.ok()?;
            }
            let path = first.split(' ').nth(1)?.trim_start_matches('/');
            match self.files.get(path) {
                None => out.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
                Some(body) => {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nLast-Modified: Fri, 02 Jan 2026 10:00:00 GMT\r\n\r\n",
                        body.len()
                    );
                    out.write_all(&[head.as_bytes(), body].concat())
                }
            }
            .ok()?;
        }
    }
}

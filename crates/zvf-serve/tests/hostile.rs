//! 10,000 hostile requests: the answer is data or a refusal, nothing outside of the store is returned, and
//! memory stays bounded.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::client::{Reply, Served};

/// Requests in all.
const REQUESTS: usize = 10_000;

/// Clients at one time.
const CLIENTS: usize = 32;

/// The contents of every file outside of the stores.
const SECRET: &[u8] = b"SECRET-OUTSIDE-OF-EVERY-STORE";

/// Most bytes of memory that the process may take, clients included.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 768 << 20;

/// Numbers that are the same at every run: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let count = u64::try_from(list.len()).unwrap_or(1).max(1);
        let at = usize::try_from(self.next() % count).unwrap_or(0);
        list.get(at).copied().unwrap_or_default()
    }
}

const UP: &[&str] = &[
    "..",
    "%2e%2e",
    ".%2e",
    "%2E.",
    "%252e%252e",
    "..%2f",
    "..%5c",
    "..%00",
    "%c0%ae%c0%ae",
    "....",
    "..;",
    "%u002e",
];

const SEGMENTS: &[&str] = &[
    "store",
    "points",
    "lines",
    "skeletons",
    "meshes",
    "info",
    "properties",
    "by_id",
    "by_object",
    "s0",
    "s1",
    "s18446744073709551615",
    "s-1",
    "0",
    "1",
    "-1",
    "0_0_0",
    "-1_0_0",
    "9999999999999999999_0_0",
    "0_0",
    "0:0",
    "1:0:0.0.0",
    "7:0:",
    ":::",
    "zarr.json",
    "0/vertices/c/0/0/0",
    "18446744073709551616",
    "18446744073709551615",
    "1e9",
    "+1",
    "0x10",
    "NaN",
    "leak",
    "folder/secret",
    "secret",
    "etc/passwd",
    "%00",
    "%0d%0aX:%20y",
    "a%20b",
    "%ff%fe",
    "?",
    "*",
    "~",
    "$",
    "\u{7f}",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "99999999999999999999999999",
    "1e308",
    "nan",
    "inf",
    "-inf",
    "",
    "0,0,0:1,1,1",
    "0,0,0:-1,-1,-1",
    "inf,inf,inf:0,0,0",
    "0:0:0",
    "((((((((((",
    "x > 1 and",
    "a==b",
    "1-99999999999",
    ",,,",
    "all",
    "none",
    "%00",
];

const PARAMETERS: &[&str] = &[
    "store",
    "level",
    "bbox",
    "objects",
    "groups",
    "where",
    "select",
    "limit",
    "attributes",
    "columns",
    "table",
    "format",
    "x",
];

const METHODS: &[&str] = &[
    "GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH",
    "FOO", "get",
];

const RANGES: &[&str] = &[
    "bytes=0-0",
    "bytes=-1",
    "bytes=-0",
    "bytes=0-",
    "bytes=5-2",
    "bytes=99999999999999999999-",
    "bytes=-99999999999999999999",
    "bytes=0-1,2-3",
    "bytes=0-18446744073709551615",
    "lines=0-1",
    "bytes=a-b",
    "",
    "bytes=--1",
];

/// One request, and whether it is a HEAD.
fn request(numbers: &mut Numbers) -> (Vec<u8>, bool) {
    let method = numbers.of(METHODS);
    let mut path = String::from(numbers.of(&[
        "/store/store",
        "/precomputed/store",
        "/query",
        "/state.json",
        "/stores",
        "/assets",
        "",
        "/store",
        "//store",
    ]));
    let deep = numbers.next() % 6;
    for _ in 0..deep {
        path.push('/');
        match numbers.next() % 4 {
            0 => path.push_str(numbers.of(UP)),
            1 => path.push_str(&numbers.next().to_string()),
            _ => path.push_str(numbers.of(SEGMENTS)),
        }
    }
    if numbers.next().is_multiple_of(50) {
        path.push_str(&"/a".repeat(2000));
    }
    if path.starts_with("/query") || numbers.next().is_multiple_of(8) {
        path.push('?');
        for _ in 0..numbers.next() % 4 {
            let (name, value) = (numbers.of(PARAMETERS), numbers.of(NUMBERS));
            path.push_str(&format!("{name}={value}&"));
        }
    }
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    if numbers.next().is_multiple_of(3) {
        text.push_str(&format!("Range: {}\r\n", numbers.of(RANGES)));
    }
    if numbers.next().is_multiple_of(10) {
        text.push_str(numbers.of(&[
            "Content-Length: 99999999999999\r\n",
            "Transfer-Encoding: chunked\r\n",
            "If-None-Match: *\r\n",
            "Accept: text/html\r\n",
            "If-Range: \"\"\r\n",
            "Origin: null\r\n",
        ]));
    }
    text.push_str("\r\n");
    (text.into_bytes(), method == "HEAD")
}

/// Sends one request, complete or cut, and checks the response. Returns the status.
fn one(served: &Served, numbers: &mut Numbers) -> Result<Option<u16>> {
    let (bytes, head) = request(numbers);
    if numbers.next().is_multiple_of(10) {
        // The connection ends in the middle of the request, or of the answer.
        let mut stream = TcpStream::connect(served.address)?;
        let length = u64::try_from(bytes.len())?;
        let cut = usize::try_from(numbers.next() % length)?;
        stream.write_all(&bytes[..cut])?;
        if numbers.next().is_multiple_of(2) {
            let _ = stream.write_all(&bytes[cut..]);
            stream.set_read_timeout(Some(Duration::from_secs(120)))?;
            let mut first = [0u8; 16];
            let _ = stream.read(&mut first);
        }
        return Ok(None);
    }
    let reply = served.send(&bytes)?;
    let asked = String::from_utf8_lossy(&bytes).into_owned();
    let leaked = reply.windows(SECRET.len()).any(|window| window == SECRET);
    ensure!(!leaked, "sent what is outside of the store: {asked}");
    ensure!(
        !reply.windows(7).any(|window| window == b"root:x:"),
        "{asked}"
    );
    if reply.is_empty() {
        // The request is not HTTP.
        return Ok(None);
    }
    let reply = Reply::parse(&reply, head).with_context(|| asked.clone())?;
    let fine = (200..500).contains(&reply.status);
    ensure!(fine, "{} {} to {asked}", reply.status, reply.text());
    Ok(Some(reply.status))
}

#[test]
fn ten_thousand_hostile_requests() -> Result<()> {
    let home = tempfile::tempdir()?;
    for case in ["points_ids", "streamlines", "mesh"] {
        let folder = home.path().join(case);
        std::fs::create_dir(&folder)?;
        zvf_testkit::unpack_into(case, &folder)?;
    }
    std::fs::write(home.path().join("secret"), SECRET)?;
    for case in ["points_ids", "streamlines", "mesh"] {
        let store = home.path().join(case).join("store.zarrvectors");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(home.path().join("secret"), store.join("leak"))?;
            std::os::unix::fs::symlink(home.path(), store.join("folder"))?;
        }
        let served = Served::start(&[store.display().to_string()])?;
        let (left, answered) = (AtomicUsize::new(REQUESTS / 3 + 1), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (served, left, answered) = (&served, &left, &answered);
                    scope.spawn(move || -> Result<()> {
                        let mut numbers = Numbers(u64::try_from(client)? + 1);
                        let take = |left: usize| left.checked_sub(1);
                        while left
                            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                            .is_ok()
                        {
                            if one(served, &mut numbers)?.is_some() {
                                answered.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            for client in clients {
                client
                    .join()
                    .map_err(|_| anyhow::anyhow!("a client panicked"))??;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        assert!(answered.load(Ordering::Relaxed) > REQUESTS / 5);
        // Valid requests are answered as before.
        assert_eq!(served.get("/store/store/zarr.json")?.status, 200);
        served.end()?;
    }
    #[cfg(target_os = "linux")]
    assert!(peak()? < MEMORY, "{} bytes", peak()?);
    Ok(())
}

#[test]
fn five_hundred_at_once() -> Result<()> {
    let store = zvf_testkit::unpack("points_bins")?;
    let served = Served::start(&[store.path().display().to_string()])?;
    let expected = std::fs::read(store.path().join("zarr.json"))?;
    let request = format!(
        "GET /store/store/zarr.json HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        served.address
    );
    let mut streams = Vec::new();
    for _ in 0..500 {
        streams.push(TcpStream::connect(served.address)?);
    }
    for stream in &mut streams {
        stream.write_all(request.as_bytes())?;
    }
    for mut stream in streams {
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply)?;
        let reply = Reply::parse(&reply, false)?;
        assert_eq!(
            (reply.status, reply.body.as_slice()),
            (200, expected.as_slice())
        );
    }
    Ok(())
}

/// The peak memory of this process.
#[cfg(target_os = "linux")]
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kib.context("VmHWM")?.parse::<u64>()? * 1024)
}

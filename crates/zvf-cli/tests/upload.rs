//! Results that are sent to a web server.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};

use crate::run::{Home, STORE};

type Kept = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A web server that stores what is put. The first request for `fails` is answered with 503.
fn start(fails: &str) -> Result<(String, Kept)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let kept = Kept::default();
    let mine = Arc::clone(&kept);
    let fails = Arc::new(Mutex::new(Some(fails.to_owned())));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (kept, fails) = (Arc::clone(&mine), Arc::clone(&fails));
            std::thread::spawn(move || serve(&stream, &kept, &fails));
        }
    });
    Ok((address, kept))
}

/// Answers the PUT requests of one connection until it ends.
fn serve(mut stream: &TcpStream, kept: &Kept, fails: &Mutex<Option<String>>) -> Option<()> {
    let mut input = BufReader::new(stream);
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut length = 0;
        loop {
            let mut header = String::new();
            input.read_line(&mut header).ok()?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).ok()?;
        let failing = fails.lock().ok()?.take_if(|one| *one == path).is_some();
        let status = match (method.as_str(), failing) {
            ("PUT", false) => {
                kept.lock().ok()?.insert(path, body);
                "201 Created"
            }
            (_, true) => "503 Service Unavailable",
            _ => "405 Method Not Allowed",
        };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

#[test]
fn results_go_to_urls() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let (address, kept) = start("/b/table.csv")?;
    for (name, arguments) in [
        ("table.csv", vec!["query", STORE, "-o"]),
        ("tree.swc", vec!["query", STORE, "-o"]),
        ("tree.swc", vec!["export", STORE]),
        ("tables/", vec!["query", STORE, "-o"]),
    ] {
        let url = format!("{address}/b/{name}");
        let mut sent = arguments.clone();
        sent.push(&url);
        let ran = home.zvf(&sent)?;
        ensure!(ran.code == 0, "{name}: {}", ran.stderr);
        ensure!(!home.path().join("b").exists() && !home.path().join("http:").exists());
        let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
        ensure!(told.contains(&url), "{name}: {told}");
        // The same result as a local file.
        let mut local = arguments;
        local.push(name);
        let ran = home.zvf(&local)?;
        ensure!(ran.code == 0, "{name}: {}", ran.stderr);
        let names = match name.strip_suffix('/') {
            None => vec![name.to_owned()],
            Some(folder) => ["vertices", "links", "objects"]
                .map(|table| format!("{folder}/{table}.arrow"))
                .to_vec(),
        };
        let mut kept = kept.lock().ok().context("poisoned")?;
        for name in &names {
            let expected = std::fs::read(home.file(name))?;
            let found = kept.remove(&format!("/b/{name}"));
            ensure!(found.as_ref() == Some(&expected), "{name} differs");
        }
        ensure!(kept.is_empty(), "{name}: more was put: {:?}", kept.keys());
    }
    Ok(())
}

#[test]
fn urls_without_a_name_and_in_the_store_are_refused() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    for (store, out, expected) in [
        (STORE, "s3://bucket", "found no name"),
        (STORE, "nothing://a/b.csv", "unknown scheme"),
        ("s3://b/a.zv", "s3://b/a.zv/0/x.csv", "is in the store"),
    ] {
        let ran = home.zvf(&["query", store, "-o", out])?;
        ensure!(ran.code == 2, "{out}: {} {}", ran.code, ran.stderr);
        ensure!(ran.stderr.contains(expected), "{out}: {}", ran.stderr);
    }
    let url = format!("file://{}/here.csv", home.path().display());
    let ran = home.zvf(&["query", STORE, "-o", &url])?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    ensure!(home.file("here.csv").is_file());
    Ok(())
}

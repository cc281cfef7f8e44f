//! Stores on web servers that do not answer 404 for a missing object.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::run::{Home, STORE};

/// Serves whole files, with this status and body for missing ones, until the test ends.
fn serve(folder: PathBuf, status: &'static str, body: &'static str) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            // The thread ends when the client disconnects.
            std::thread::spawn(move || connection(&stream, &folder, status, body));
        }
    });
    Ok(address)
}

fn connection(stream: &TcpStream, folder: &Path, status: &str, page: &str) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut out = stream;
    loop {
        let first = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let mut words = first.split(' ');
        let (method, path) = (words.next()?, words.next()?.trim_start_matches('/'));
        let file = fs::read(folder.join(path));
        let (status, body) = match &file {
            Ok(bytes) => ("200 OK", &bytes[..]),
            Err(_) => (status, page.as_bytes()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nLast-Modified: Fri, 02 Jan 2026 10:00:00 GMT\r\n\r\n",
            body.len()
        );
        out.write_all(head.as_bytes()).ok()?;
        if method != "HEAD" {
            out.write_all(body).ok()?;
        }
    }
}

#[test]
fn a_page_in_place_of_a_document_is_an_error_of_the_server() -> Result<()> {
    let home = Home::new("points_ids")?;
    let page = "\n<!DOCTYPE html><html><body>no such page</body></html>\n";
    let url = format!("{}/{STORE}", serve(home.path(), "200 OK", page)?);
    let absent = format!("{url}/absent.zv");
    for words in [
        &["info", &*url][..],
        &["validate", &*url],
        &["query", &*url, "-q"],
        &["info", &*absent],
    ] {
        let ran = home.zvf(words)?;
        let says = ran.stderr.contains("a web page") && ran.stderr.contains("404");
        ensure!(
            ran.code == 3 && says,
            "{words:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn a_store_where_missing_objects_are_denied_is_examined() -> Result<()> {
    let home = Home::new("points_ids")?;
    home.text(&["migrate", STORE, "new.zv"])?;
    let url = format!("{}/new.zv", serve(home.path(), "403 Forbidden", "")?);
    for words in [&["info", &*url][..], &["doctor", &*url]] {
        let ran = home.zvf(words)?;
        ensure!(ran.code == 0, "{words:?}: {} {}", ran.code, ran.stderr);
    }
    Ok(())
}

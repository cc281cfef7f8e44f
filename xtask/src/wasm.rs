//! `cargo xtask wasm`: a page that reads a store in WebAssembly, in a headless Chromium, beside `zvf query`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::{Outcome, browser, sh, targets};

const TARGET: &str = "wasm32-unknown-unknown";

/// Most bytes of the module as servers send it.
const LARGEST: usize = 1_500_000;

/// How long a page is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bundled stores and boxes.
const ASKED: &[(&str, &str)] = &[
    ("points_ids", "0,0,0:150,150,150"),
    ("streamlines", "0,0,0:150,150,150"),
    ("real_mesh", ""),
];

/// Builds the module, checks its size, then compares the rows of the page with those of `zvf query`.
pub(crate) fn run(_: &[String]) -> Outcome {
    if let Err(error) = targets::install(TARGET) {
        println!("{TARGET}: not built, {error}");
        return Ok(());
    }
    let module = std::fs::read(sh::build_apart("wasm", Some(TARGET))?.join("wasm.wasm"))?;
    let sent = gzipped(&module)?;
    println!(
        "module: {} bytes, {sent} with gzip, at most {LARGEST} are allowed",
        module.len()
    );
    if sent > LARGEST {
        return Err("the module is larger than it may be".into());
    }
    if !browser::is_there("chromium") {
        return browser::leave_out(
            "chromium not found: Debian has it in a package of that name".to_owned(),
            "the page is not run",
        );
    }
    let zvf = sh::build_zvf()?;
    for (case, bbox) in ASKED {
        page(&zvf, case, bbox, &module)?;
    }
    Ok(())
}

fn gzipped(bytes: &[u8]) -> Outcome<usize> {
    let file = sh::target().join("wasm").join("module.wasm");
    std::fs::write(&file, bytes)?;
    let mut gzip = sh::command("gzip");
    gzip.args(["-9", "--stdout"]).arg(&file);
    let output = gzip.output()?;
    match output.status.success() {
        true => Ok(output.stdout.len()),
        false => Err(format!("gzip ended with {}", output.status).into()),
    }
}

/// Runs the page on a bundled store, and compares its rows.
fn page(zvf: &Path, case: &str, bbox: &str, module: &[u8]) -> Outcome {
    let mut files: BTreeMap<String, Vec<u8>> = zvf_testkit::files(case)?
        .into_iter()
        .map(|(key, bytes)| (format!("store/{key}"), bytes))
        .collect();
    let folder = sh::root().join("xtask").join("wasm").join("page");
    for name in ["index.html", "page.js"] {
        files.insert(name.to_owned(), std::fs::read(folder.join(name))?);
    }
    files.insert("module.wasm".to_owned(), module.to_vec());
    let (address, reports) = serve(files)?;
    let found = reported(
        &format!("{address}/index.html?report&bbox={bbox}"),
        &reports,
    )?;
    let mut lines = found.lines();
    let mut number = |name: &str| -> Outcome<u64> {
        let line = lines.next().unwrap_or_default();
        let value = line.strip_prefix(name).map(str::trim);
        let value = value.ok_or_else(|| format!("{case}: the page shows {line:?}"))?;
        Ok(value.parse()?)
    };
    let [rows, rounds, requests, pixels] = [
        number("rows")?,
        number("rounds")?,
        number("requests")?,
        number("pixels")?,
    ];
    let mut drawn: Vec<[u32; 3]> = lines.map(position).collect::<Outcome<_>>()?;
    let store = zvf_testkit::unpack(case)?;
    let mut query = sh::command(zvf);
    query.arg("query").arg(store.path());
    query.args(["--columns", "position", "--format", "csv", "--quiet"]);
    if !bbox.is_empty() {
        query.args(["--bbox", bbox]);
    }
    let expected = sh::capture(&mut query)?;
    let rows_of = |line: &str| position(&line.replace(',', " "));
    let mut expected: Vec<[u32; 3]> = expected
        .lines()
        .skip(1)
        .map(rows_of)
        .collect::<Outcome<_>>()?;
    drawn.sort_unstable();
    expected.sort_unstable();
    if drawn != expected || rows != drawn.len() as u64 || rows == 0 || pixels == 0 {
        return Err(format!(
            "{case}: the page has {rows} rows and {pixels} pixels, zvf query {} rows",
            expected.len()
        )
        .into());
    }
    println!(
        "{case} [{bbox}]: {rows} rows equal, {requests} requests in {rounds} rounds, {pixels} pixels"
    );
    Ok(())
}

/// The bits of three numbers.
fn position(line: &str) -> Outcome<[u32; 3]> {
    let numbers: Vec<f32> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [x, y, z] => Ok([x, y, z].map(f32::to_bits)),
        _ => Err(format!("{line:?} is no position of three numbers").into()),
    }
}

/// Opens an address, and returns what the page there reports.
fn reported(address: &str, reports: &Receiver<String>) -> Outcome<String> {
    let profile = sh::target().join("wasm").join("chromium");
    let mut chromium = sh::command("chromium");
    chromium.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
    ]);
    chromium.args(["--no-first-run", "--remote-debugging-port=0"]);
    chromium.arg(format!("--user-data-dir={}", profile.display()));
    chromium
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = chromium.spawn()?;
    let report = reports.recv_timeout(PATIENCE);
    child.kill()?;
    child.wait()?;
    report.map_err(|_| format!("{address}: no report within {PATIENCE:?}").into())
}

/// Serves files until the program ends; returns the address, and what pages report.
pub(crate) fn serve(files: BTreeMap<String, Vec<u8>>) -> Outcome<(String, Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let files = Arc::new(files);
    let (to, reports) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (files, to) = (Arc::clone(&files), to.clone());
            // A page that goes away is no failure of the server.
            std::thread::spawn(move || drop(answer(&stream, &files, &to)));
        }
    });
    Ok((address, reports))
}

/// Answers one request: a file, or the range of one that is asked for. The body of a POST is a report.
fn answer(
    mut stream: &TcpStream,
    files: &BTreeMap<String, Vec<u8>>,
    reports: &Sender<String>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut wanted, mut length) = (String::new(), None, 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => wanted = value.strip_prefix("bytes=").map(str::to_owned),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    if first.starts_with("POST ") {
        let mut report = String::new();
        reader.take(length).read_to_string(&mut report)?;
        // Nobody waits for a second report.
        let _ = reports.send(report);
        return stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let Some(file) = files.get(path.trim_start_matches('/')) else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    let size = file.len();
    let range = wanted.as_deref().and_then(|wanted| wanted.split_once('-'));
    let range =
        range.and_then(
            |(first, last)| match (first.parse::<usize>(), last.parse::<usize>()) {
                (Ok(first), Ok(last)) => Some(first.min(size)..last.saturating_add(1).min(size)),
                (Err(_), Ok(length)) => Some(size.saturating_sub(length)..size),
                _ => None,
            },
        );
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    };
    let (status, place, body) = match range.filter(|range| range.start < range.end) {
        Some(range) => (
            "206 Partial Content",
            format!(
                "Content-Range: bytes {}-{}/{size}\r\n",
                range.start,
                range.end - 1
            ),
            &file[range],
        ),
        None => ("200 OK", String::new(), &file[..]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{place}Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

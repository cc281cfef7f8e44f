//! Volumes and stores on web servers without ranges, lengths, HEAD or legal dates, or with temporary failures.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::run::{Home, STORE};

/// The behaviour of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    NoRanges,
    /// HEAD is answered with 405.
    NoHead,
    /// HEAD is answered with 403.
    HeadForbidden,
    /// `Content-Range: bytes 0-15/*`.
    NoSize,
    /// Bodies are sent in chunks, without their length.
    Chunked,
    /// HTTP/1.0: bodies end when the connection is closed.
    Closing,
    /// `Last-Modified` is not a date.
    NoDate,
    /// The first request of each kind for each object is answered with 503.
    BusyOnce,
    /// No request is answered.
    Silent,
    /// Bodies are compressed, although no client accepts that.
    Compressing,
    /// The root has other bytes each time, and all objects were written in the present second: as if the store were edited.
    Edited,
}

/// The requests that a server answered with a file or a part of one, and the number of bytes of each answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Arc<Mutex<Vec<(String, usize)>>>, Arc<Waiting>);

/// The requests of cells that wait for their answer, now and at most.
#[derive(Debug, Default)]
struct Waiting {
    /// Whether answers take a while.
    slow: bool,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Answers {
    pub(crate) fn all(&self) -> Vec<(String, usize)> {
        self.0.lock().map_or_else(|_| Vec::new(), |all| all.clone())
    }

    /// The answers of a server that is slow to send cells.
    fn slow() -> Self {
        let waiting = Waiting {
            slow: true,
            ..Waiting::default()
        };
        Self(Arc::default(), Arc::new(waiting))
    }

    fn wait(&self) {
        if !self.1.slow {
            return;
        }
        let now = self.1.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.1.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        self.1.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves a folder until the test ends.
pub(crate) fn serve(folder: PathBuf, way: Way, answers: &Answers) -> Result<String> {
    let answers = answers.clone();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let started = chrono::Utc::now();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (folder, seen) = (folder.clone(), Arc::clone(&seen));
            let answers = answers.clone();
            // The thread ends when the client disconnects.
            std::thread::spawn(move || {
                connection(&stream, &folder, (way, started), &seen, &answers)
            });
        }
    });
    Ok(address)
}

fn connection(
    stream: &TcpStream,
    folder: &Path,
    (way, started): (Way, chrono::DateTime<chrono::Utc>),
    seen: &Mutex<HashSet<String>>,
    answers: &Answers,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut out = stream;
    loop {
        let first = lines.next()?.ok()?;
        let mut range = None;
        loop {
            let line = lines.next()?.ok()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("range: bytes=") {
                range = Some(value.trim().to_owned());
            }
        }
        if way == Way::Silent {
            // Ends when the client disconnects.
            lines.next()?.ok()?;
        }
        let mut words = first.split(' ');
        let (method, path) = (words.next()?, words.next()?.trim_start_matches('/'));
        let head = method == "HEAD";
        if way == Way::BusyOnce && seen.lock().ok()?.insert(first.clone()) {
            out.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                .ok()?;
            continue;
        }
        let refusal = match way {
            Way::NoHead => Some("405 Not Allowed"),
            Way::HeadForbidden => Some("403 Forbidden"),
            _ => None,
        };
        if let (Some(refusal), true) = (refusal, head) {
            out.write_all(format!("HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n").as_bytes())
                .ok()?;
            continue;
        }
        if path.contains("/c/") {
            answers.wait();
        }
        let Ok(mut bytes) = fs::read(folder.join(path)) else {
            out.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                .ok()?;
            continue;
        };
        if way == Way::Edited && path == format!("{STORE}/zarr.json") && !head {
            let mut seen = seen.lock().ok()?;
            let number = seen.len();
            seen.insert(number.to_string());
            // White space of the same length between two members.
            let ends = bytes.iter_mut().filter(|byte| **byte == b'\n');
            ends.take(seen.len()).for_each(|byte| *byte = b' ');
        }
        if way == Way::Compressing && !path.ends_with(".gz") {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&bytes).ok()?;
            bytes = packed.finish().ok()?;
        }
        let size = bytes.len();
        let whole = matches!(
            way,
            Way::NoRanges | Way::Chunked | Way::Closing | Way::Compressing
        );
        let part = range.filter(|_| !whole);
        let part = part.and_then(|range| {
            let (from, to) = range.split_once('-')?;
            Some(
                match (from.parse::<usize>().ok(), to.parse::<usize>().ok()) {
                    (Some(from), Some(to)) => from..(to + 1).min(size),
                    (Some(from), None) => from..size,
                    (None, last) => size.saturating_sub(last?)..size,
                },
            )
        });
        if part.as_ref().is_some_and(|part| part.start >= part.end) {
            out.write_all(b"HTTP/1.1 416 No Such Range\r\nContent-Length: 0\r\n\r\n")
                .ok()?;
            continue;
        }
        let asked = part.as_ref().map(|part| format!("{part:?}"));
        let body = part.clone().map_or(&bytes[..], |part| &bytes[part]);
        if !head {
            let answer = (asked.unwrap_or_else(|| "all".to_owned()), body.len());
            answers.0.lock().ok()?.push(answer);
        }
        let mut answer = match &part {
            None if way == Way::Closing => "HTTP/1.0 200 OK\r\n".to_owned(),
            None => "HTTP/1.1 200 OK\r\n".to_owned(),
            Some(part) => {
                let size = match way {
                    Way::NoSize => "*".to_owned(),
                    _ => size.to_string(),
                };
                let (from, to) = (part.start, part.end - 1);
                format!("HTTP/1.1 206 Partial\r\nContent-Range: bytes {from}-{to}/{size}\r\n")
            }
        };
        let date = match way {
            Way::NoDate => "yesterday".to_owned(),
            Way::Edited => started.format("%a, %d %b %Y %H:%M:%S GMT").to_string(),
            _ => "Fri, 02 Jan 2026 10:00:00 GMT".to_owned(),
        };
        answer.push_str(&format!("Last-Modified: {date}\r\n"));
        if way == Way::Compressing {
            answer.push_str("Content-Encoding: gzip\r\n");
        }
        match way {
            Way::Chunked => answer.push_str("Transfer-Encoding: chunked\r\n\r\n"),
            Way::Closing => answer.push_str("Connection: close\r\n\r\n"),
            _ => answer.push_str(&format!("Content-Length: {}\r\n\r\n", body.len())),
        }
        out.write_all(answer.as_bytes()).ok()?;
        if !head && way == Way::Chunked {
            for piece in body.chunks(1000) {
                out.write_all(format!("{:x}\r\n", piece.len()).as_bytes())
                    .ok()?;
                out.write_all(piece).ok()?;
                out.write_all(b"\r\n").ok()?;
            }
            out.write_all(b"0\r\n\r\n").ok()?;
        } else if !head {
            out.write_all(body).ok()?;
        }
        if way == Way::Closing {
            stream.shutdown(std::net::Shutdown::Both).ok()?;
            return None;
        }
    }
}

/// A NIfTI image of 200 x 150 x 3 bytes, which is larger than the first request of a reader.
fn image() -> Vec<u8> {
    let mut file = vec![0; 352];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348_i32.to_le_bytes());
    for (at, number) in [3_i16, 200, 150, 3].into_iter().enumerate() {
        put(40 + 2 * at, &number.to_le_bytes());
    }
    // Unsigned bytes from byte 352 on, without a map to positions.
    put(70, &2_i16.to_le_bytes());
    put(108, &352_f32.to_le_bytes());
    put(344, b"n+1\0");
    let elements = (0..200 * 150 * 3_u32).map(|at| at.wrapping_mul(2_654_435_761) >> 24);
    file.extend(elements.map(|one| one as u8));
    file
}

/// A folder with a store, a volume in all three forms, and an image.
fn home() -> Result<Home> {
    let home = Home::new("points_ids")?;
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let frame = testdata.join("caterva/b15_f4_2d_shuffle_bytedelta.b2nd");
    fs::copy(&frame, home.file("v.b2nd")).with_context(|| frame.display().to_string())?;
    home.text(&["volume", "convert", "v.b2nd", "v.tet"])?;
    home.text(&["volume", "convert", "v.b2nd", "v.zarr"])?;
    let image = image();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&image)?;
    fs::write(home.file("i.nii.gz"), packed.finish()?)?;
    fs::write(home.file("i.nii"), image)?;
    Ok(home)
}

/// Options of a query of all rows. Finding the names of attributes needs a listing, which these servers do not provide.
const ROWS: [&str; 5] = ["--attributes", "none", "--format", "csv", "-q"];

#[test]
fn volumes_and_stores_are_read_from_odd_web_servers() -> Result<()> {
    let home = home()?;
    home.text(&["volume", "slice", "v.b2nd", "-o", "wanted.npy"])?;
    let wanted = fs::read(home.file("wanted.npy"))?;
    let part = ["--range", "::7, 3, -2:"];
    home.text(&[&["volume", "slice", "i.nii", "-o", "part.npy"][..], &part].concat())?;
    let wanted_part = fs::read(home.file("part.npy"))?;
    // The elements are the last bytes of the file; the first axis varies fastest.
    let image = image();
    let elements = (0..200)
        .step_by(7)
        .flat_map(|i| [1, 2].map(|k| 352 + i + 200 * (3 + 150 * k)));
    let elements: Vec<u8> = elements.map(|at| image[at]).collect();
    assert!(wanted_part.ends_with(&elements));
    let rows = home.text(&[&["query", STORE][..], &ROWS].concat())?;
    for way in [
        Way::Plain,
        Way::NoRanges,
        Way::NoHead,
        Way::HeadForbidden,
        Way::NoSize,
        Way::Chunked,
        Way::Closing,
        Way::NoDate,
        Way::BusyOnce,
    ] {
        let server = serve(home.path(), way, &Answers::default())?;
        for form in ["v.tet", "v.b2nd", "v.zarr"] {
            let url = format!("{server}/{form}");
            home.text(&["volume", "slice", &url, "-o", "found.npy"])
                .with_context(|| format!("{way:?}, {form}"))?;
            let found = fs::read(home.file("found.npy"))?;
            assert!(found == wanted, "{way:?}, {form}: other elements");
        }
        for form in ["i.nii", "i.nii.gz"] {
            let url = format!("{server}/{form}");
            let slice = ["volume", "slice", url.as_str(), "-o", "found.npy"];
            home.text(&[&slice[..], &part].concat())
                .with_context(|| format!("{way:?}, {form}"))?;
            let found = fs::read(home.file("found.npy"))?;
            assert!(found == wanted_part, "{way:?}, {form}: other elements");
        }
        let url = format!("{server}/{STORE}");
        let found = home
            .text(&[&["query", url.as_str()][..], &ROWS].concat())
            .with_context(|| format!("{way:?}"))?;
        assert_eq!(found, rows, "{way:?}");
    }
    Ok(())
}

#[test]
fn a_server_that_closes_connections_gets_few_at_once() -> Result<()> {
    let home = home()?;
    let rows = |way| {
        let answers = Answers::slow();
        let url = format!("{}/{STORE}", serve(home.path(), way, &answers)?);
        let rows = home.text(&[&["query", url.as_str()][..], &ROWS].concat())?;
        anyhow::Ok((rows, answers.1.most.load(Ordering::SeqCst)))
    };
    let (rows_of_plain, most_of_plain) = rows(Way::Plain)?;
    let (rows, most) = rows(Way::Closing)?;
    assert_eq!(rows, rows_of_plain);
    assert!(most_of_plain > 4, "{most_of_plain}");
    assert!(most <= 4, "{most}");
    Ok(())
}

#[test]
fn an_edit_in_the_second_of_the_first_request_is_noticed() -> Result<()> {
    let home = home()?;
    let url = format!(
        "{}/{STORE}",
        serve(home.path(), Way::Edited, &Answers::default())?
    );
    let ran = home.zvf(&[&["query", url.as_str()][..], &ROWS].concat())?;
    ensure!(
        ran.code == 3 && ran.stderr.contains("other bytes"),
        "{ran:?}"
    );
    Ok(())
}

#[test]
fn a_server_that_compresses_is_named_and_its_store_is_not_called_damaged() -> Result<()> {
    let home = home()?;
    let server = serve(home.path(), Way::Compressing, &Answers::default())?;
    let (store, volume) = (format!("{server}/{STORE}"), format!("{server}/v.tet"));
    for words in [
        &["query", &store, "-q"][..],
        &["info", &store],
        &["volume", "slice", &volume, "-o", "x.npy"],
    ] {
        let ran = home.zvf(words)?;
        let says = ran.stderr.contains("Content-Encoding: gzip");
        ensure!(ran.code == 3 && says, "{words:?}: {ran:?}");
    }
    // Many servers declare the compression of a file whose name states it.
    let image = format!("{server}/i.nii.gz");
    home.text(&["volume", "slice", &image, "-o", "found.npy"])?;
    home.text(&["volume", "slice", "i.nii", "-o", "wanted.npy"])?;
    assert_eq!(
        fs::read(home.file("found.npy"))?,
        fs::read(home.file("wanted.npy"))?
    );
    Ok(())
}

/// Without a time-out this test would not end.
#[test]
fn silence_is_given_up() -> Result<()> {
    let home = home()?;
    let server = serve(home.path(), Way::Silent, &Answers::default())?;
    for form in ["v.tet", "v.b2nd", "v.zarr"] {
        let url = format!("{server}/{form}");
        for what in [
            &["volume", "info", &url, "--timeout", "1"][..],
            &["volume", "slice", &url, "-o", "x.npy", "--timeout", "1"],
        ] {
            let ran = home.zvf(what)?;
            assert_eq!(ran.code, 3, "{what:?}: {}", ran.stderr);
            assert!(
                ran.stderr.contains("no complete response"),
                "{}",
                ran.stderr
            );
        }
    }
    Ok(())
}

#[test]
fn links_between_distant_chunks_of_a_server_that_cannot_list_are_not_left_out() -> Result<()> {
    let nodes = "id,x,y,z\n1,0,0,0\n2,1,0,0\n3,95,0,0\n4,96,0,0\n";
    let edges = "source,target\n1,2\n2,3\n3,4\n";
    let home = Home::made(&[("../n.csv", nodes.into()), ("../e.csv", edges.into())])?;
    let graph = ["import", "n.csv", "g.zv", "--kind", "graph"];
    let with = ["--edges", "e.csv", "--node-id", "id"];
    let chunks = ["--chunk-shape", "10,10,10"];
    home.text(&[&graph[..], &with, &chunks].concat())?;
    home.text(&["rechunk", "g.zv", "own.zv", "--chunk-shape", "10,10,10"])?;
    // One level in which all links join neighbouring chunks, and a coarse level.
    fs::write(home.file("near.csv"), "source,target\n1,2\n3,4\n")?;
    let near = ["import", "n.csv", "near.zv", "--kind", "graph", "--edges"];
    home.text(&[&near[..], &["near.csv", "--node-id", "id"], &chunks].concat())?;
    home.text(&["pyramid", "near.zv", "--factors", "2"])?;
    let url = serve(home.path().to_owned(), Way::Plain, &Answers::default())?;
    let of = |store: &str| format!("{url}/{store}");
    let (far, close) = (of("g.zv"), of("near.zv"));
    // A table of vertices has no links.
    let table = home.zvf(&["export", &far, "g.csv"])?;
    ensure!(
        table.code == 0 && table.stderr.contains("links are not kept"),
        "{} {}",
        table.code,
        table.stderr
    );
    for words in [
        &["measure", &far][..],
        &["links", &far],
        &["split", &far, "parts", "--by", "count", "2"],
        &["append", "own.zv", &far, "--new-ids"],
        &["merge", "own.zv", &far, "both.zv", "--new-ids"],
        &["export", &far, "g.ply"],
    ] {
        let ran = home.zvf(words)?;
        let said = ran.stderr.contains("2 of 3 links are found");
        ensure!(
            ran.code == 4 && said,
            "{words:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    home.text(&["measure", &close])?;
    // Data that cannot be checked is not reported as damage.
    for (store, says) in [(&far, "2 of 3 links are found"), (&close, "0 errors")] {
        let ran = home.zvf(&["validate", store, "--level", "5"])?;
        let text = String::from_utf8_lossy(&ran.stdout);
        ensure!(ran.code == 0, "{store}: {text}");
        ensure!(text.contains(says), "{store}: {text}");
    }
    Ok(())
}

/// From a server without listings, the columns are in the order of the documents.
#[test]
fn a_copy_from_a_server_has_its_columns_in_any_order() -> Result<()> {
    let home = Home::made(&[("../s.csv", "x,y,z,b,a\n1,1,1,5,6\n2,2,2,7,8\n".into())])?;
    let shape = ["--chunk-shape", "50,50,50"];
    home.text(&[&["import", "s.csv", "s.zv"][..], &shape].concat())?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let source = format!("{address}/s.zv");
    home.text(&["rechunk", &source, "c.zv", "--chunk-shape", "20,20,20"])?;
    home.text(&["diff", "s.zv", "c.zv"])?;
    Ok(())
}

#[test]
fn stores_on_web_servers_are_only_read() -> Result<()> {
    let home = Home::made(&[("../s.csv", "x,y,z,b,a\n1,1,1,5,6\n2,2,2,7,8\n".into())])?;
    home.text(&["import", "s.csv", "s.zv"])?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let source = format!("{address}/s.zv");
    for command in [
        &["edit", &*source, "delete", "--where", "a > 6"][..],
        &["append", &*source, "s.csv"],
        &["pyramid", &*source, "--factors", "2"],
        &["vacuum", &*source],
    ] {
        let ran = home.zvf(command)?;
        ensure!(
            ran.code == 2
                && ran
                    .stderr
                    .contains("stores on web servers can only be read"),
            "{command:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

/// What stores without `attribute_specs` lose on a server without listings.
const UNNAMED: &str = "the root has no attribute_specs";

/// The documents of these stores name no attributes, so that nothing made from them has any.
#[test]
fn attributes_without_names_are_said_by_every_job() -> Result<()> {
    let rows = |count: u32| {
        let row = |n: u32| format!("{n},{n},{n},{},{}.5\n", n / 5, n);
        format!(
            "x,y,z,object_id,intensity\n{}",
            (0..count).map(row).collect::<String>()
        )
    };
    let home = Home::made(&[])?;
    fs::write(home.file("o.csv"), rows(1))?;
    fs::write(home.file("many.csv"), rows(30))?;
    let shape = ["--chunk-shape", "100,100,100"];
    home.text(&[&["import", "o.csv", "own.zv"][..], &shape].concat())?;
    home.text(&["import", "many.csv", STORE, "--chunk-shape", "10,10,10"])?;
    let root = home.file(&format!("{STORE}/zarr.json"));
    let mut document: Value = serde_json::from_slice(&fs::read(&root)?)?;
    let block = document.pointer_mut("/attributes/zarr_vectors");
    let block = block.and_then(Value::as_object_mut).context("no block")?;
    ensure!(block.remove("attribute_specs").is_some(), "{block:?}");
    fs::write(&root, document.to_string())?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{address}/{STORE}");
    for (command, code) in [
        (&["split", &*url, "parts", "--by", "count", "1"][..], 0),
        (
            &[
                "split", &*url, "files", "--by", "count", "1", "--format", "csv",
            ],
            0,
        ),
        (&["merge", "own.zv", &*url, "both.zv", "--new-ids"], 0),
        (&["append", "own.zv", &*url, "--new-ids"], 0),
        (
            &["rechunk", &*url, "copy.zv", "--chunk-shape", "100,100,100"],
            0,
        ),
        (&["migrate", &*url, "new.zv"], 0),
        (&["export", &*url, "e.csv"], 0),
        (&["diff", &*url, STORE], 1),
    ] {
        let ran = home.zvf(command)?;
        ensure!(
            ran.code == code && ran.stderr.contains(UNNAMED),
            "{command:?}: {} {}",
            ran.code,
            ran.stderr
        );
        ensure!(!ran.stderr.contains("the files have no"), "{}", ran.stderr);
    }
    let strict = home.zvf(&["migrate", &url, "strict.zv", "--strict"])?;
    ensure!(strict.code == 4, "{} {}", strict.code, strict.stderr);
    let ran = home.zvf(&["query", &url, "--where", "intensity > 0.5"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("none is known") && ran.stderr.contains(UNNAMED),
        "{} {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

#[test]
fn attributes_without_names_are_said_of_lines() -> Result<()> {
    let home = Home::new("streamlines")?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{address}/{STORE}");
    for command in [
        &["resample", &*url, "r.zv", "--points", "5"][..],
        &["simplify", &*url, "s.zv", "--tolerance", "0.1"],
    ] {
        let ran = home.zvf(command)?;
        ensure!(
            ran.code == 0 && ran.stderr.contains(UNNAMED),
            "{command:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

/// `zvf import` declares attributes, and so does a copy of an older store.
#[test]
fn declared_attributes_are_read_without_listings() -> Result<()> {
    let home = Home::new("0.7/points_ids")?;
    home.text(&["migrate", STORE, "new.zv"])?;
    let root: Value = serde_json::from_slice(&fs::read(home.file("new.zv/zarr.json"))?)?;
    let specs = &root["attributes"]["zarr_vectors"]["attribute_specs"];
    for (scope, name, dtype) in [
        ("vertex", "count", "uint16"),
        ("vertex", "intensity", "float32"),
        ("object", "score", "float32"),
    ] {
        ensure!(specs[scope][name]["dtype"] == dtype, "{specs}");
    }
    home.validates("new.zv")?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{address}/new.zv");
    let rows = |store: &str| home.text(&["query", store, "--format", "csv", "-q"]);
    assert_eq!(rows(&url)?, rows("new.zv")?);
    fs::write(home.file("o.csv"), "x,y,z,object_id,v\n1,1,1,1,2.5\n")?;
    home.text(&["import", "o.csv", "own.zv"])?;
    let url = format!("{address}/own.zv");
    let ran = home.zvf(&["split", &url, "parts", "--by", "count", "1"])?;
    ensure!(
        ran.code == 0 && !ran.stderr.contains("attributes of vertices"),
        "{} {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

/// A link of a skeleton names the parent of a vertex; without it, the vertex before it would be taken for its parent.
#[test]
fn no_edge_of_a_skeleton_is_invented_on_a_server_that_cannot_list() -> Result<()> {
    let home = Home::new("0.7/forest")?;
    home.text(&["migrate", STORE, "forest.zv"])?;
    let address = serve(home.path(), Way::Plain, &Answers::default())?;
    let url = format!("{address}/forest.zv");
    for command in [
        &["query", &*url, "-o", "all"][..],
        &["diff", "forest.zv", &*url],
        &["migrate", &*url, "new.zv"],
    ] {
        let ran = home.zvf(command)?;
        let said = ran.stderr.contains("19 of 20 links are found");
        let helps = ran
            .stderr
            .contains("download the store, or serve it from a bucket");
        ensure!(
            ran.code == 4 && said && helps && !ran.stderr.contains("zvf repair"),
            "{command:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    // An answer that does not read all links cannot know.
    let ran = home.zvf(&["query", &url, "--bbox=0,0,0:1,1,1", "-o", "some"])?;
    ensure!(
        ran.code == 0 && ran.stderr.contains("is linked to the vertex before it"),
        "{} {}",
        ran.code,
        ran.stderr
    );
    Ok(())
}

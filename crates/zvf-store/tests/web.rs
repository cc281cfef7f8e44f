//! A plain web server: no listings, and no ranges either.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

use zvf_store::{Need, OpenOptions, Store};

use crate::support::{Files, bundled, dump, open_memory};

/// Serves files for as long as the test runs. Answers ranges only if `ranges` is set.
fn serve(files: Files, ranges: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let files = Arc::clone(&files);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                loop {
                    let mut first = String::new();
                    if lines.read_line(&mut first).unwrap_or(0) == 0 {
                        return;
                    }
                    let mut range = None;
                    loop {
                        let mut header = String::new();
                        lines.read_line(&mut header).unwrap();
                        if header.trim().is_empty() {
                            break;
                        }
                        if let Some((name, value)) = header.split_once(':')
                            && name.eq_ignore_ascii_case("range")
                        {
                            range = Some(value.trim().trim_start_matches("bytes=").to_owned());
                        }
                    }
                    let path = first.split(' ').nth(1).unwrap_or("/");
                    let url = url::Url::parse(&format!("http://x{path}")).unwrap();
                    let key = object_store::path::Path::from_url_path(url.path()).unwrap();
                    let answer = match key
                        .as_ref()
                        .strip_prefix("data/")
                        .and_then(|key| files.get(key))
                    {
                        None => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
                        Some(bytes) => respond(bytes, range.filter(|_| ranges).as_deref()),
                    };
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}/data")
}

fn respond(bytes: &[u8], range: Option<&str>) -> Vec<u8> {
    let modified = "Last-Modified: Fri, 20 Nov 2026 10:00:00 GMT\r\n";
    let Some(range) = range else {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{modified}\r\n",
            bytes.len()
        );
        return [head.as_bytes(), bytes].concat();
    };
    let (from, to) = range.split_once('-').unwrap();
    let (from, to) = match (from, to) {
        ("", last) => (
            bytes.len().saturating_sub(last.parse().unwrap()),
            bytes.len(),
        ),
        (from, "") => (from.parse().unwrap(), bytes.len()),
        (from, to) => (
            from.parse().unwrap(),
            (to.parse::<usize>().unwrap() + 1).min(bytes.len()),
        ),
    };
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\n{modified}\r\n",
        to - from,
        to - 1,
        bytes.len()
    );
    [head.as_bytes(), &bytes[from..to]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_server_gives_what_memory_gives() {
    for case in ["points_4d_sharded", "points_ids", "streamlines"] {
        let files = bundled(case);
        let memory = dump(&open_memory(&files).await).await;
        for ranges in [true, false] {
            let url = serve(files.clone(), ranges);
            let store = Store::open(&url).await.unwrap();
            assert_eq!(store.levels(), open_memory(&files).await.levels());
            let web = dump(&store).await;
            for (key, cell) in &web {
                assert_eq!(memory.get(key), Some(cell), "{case} {key:?}");
            }
            assert!(web.keys().any(|(path, _)| path == "0/vertices"));
            assert!(
                store.warnings().iter().any(|w| w.contains("cannot list")),
                "{:?}",
                store.warnings()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_web_server_does_not_have_is_absent() {
    let url = serve(bundled("lines"), true);
    let error = Store::open(&format!("{url}/nowhere")).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let store = Store::open_with(
        &url,
        OpenOptions::new().with_backend_option("timeout", "5 seconds"),
    )
    .await
    .unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.groups().is_none());
    let error = Store::open_with(&url, OpenOptions::new().with_backend_option("no such", "x"))
        .await
        .unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Misuse);
}

//! `/` and `/stores`; the viewer has separate tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use zvf_serve::{AccessToken, ServeOptions};

use crate::client::Served;

fn served(options: ServeOptions) -> Result<(zvf_testkit::TempStore, Served)> {
    let store = zvf_testkit::unpack("graph")?;
    let served = Served::with(&[store.path().display().to_string()], options)?;
    Ok((store, served))
}

#[test]
fn the_stores_are_listed() -> Result<()> {
    let (_store, served) = served(ServeOptions::new())?;
    let page = served.get("/stores")?;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(
        page.header("content-security-policy"),
        Some("default-src 'none'")
    );
    let text = page.text();
    for link in [
        "\"store/store/\"",
        "\"state.json\"",
        "\"precomputed/store/skeletons/info\"",
    ] {
        assert!(text.contains(link), "{text}");
    }
    assert_eq!(served.ask("HEAD", "/stores", &[])?.status, 200);
    assert_eq!(served.ask("POST", "/stores", &[])?.status, 405);
    Ok(())
}

/// A path without a slash after the token is redirected to the folder `/TOKEN/`, to which links of pages are relative.
#[test]
fn a_token_without_a_slash_leads_to_its_folder() -> Result<()> {
    let mut options = ServeOptions::new();
    let token = AccessToken::new()?;
    let secret = token.digits().to_owned();
    options.token = Some(token);
    let (_store, served) = served(options)?;
    let reply = served.get(&format!("/{secret}"))?;
    assert_eq!(reply.status, 308);
    assert_eq!(
        reply.header("location"),
        Some(format!("{secret}/").as_str())
    );
    assert_eq!(served.get(&format!("/{secret}/"))?.status, 200);
    let wrong = served.get(&format!("/{}", "0".repeat(32)))?;
    assert_eq!((wrong.status, wrong.header("location")), (404, None));
    Ok(())
}

/// Whoever reads the log must not be able to read the stores.
#[test]
fn the_log_does_not_have_the_token() -> Result<()> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let mut options = ServeOptions::new();
    let token = AccessToken::new()?;
    let secret = token.digits().to_owned();
    options.token = Some(token);
    let log = Arc::clone(&lines);
    options.log = Some(Arc::new(move |line: &str| {
        let mut lines = log.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.to_owned());
    }));
    let (_store, served) = served(options)?;
    for path in ["", "/", "/stores", "/nowhere"] {
        served.get(&format!("/{secret}{path}"))?;
    }
    served.get("/other")?;
    served.end()?;
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(
        lines.iter().all(|line| !line.contains(&secret)),
        "{lines:?}"
    );
    let paths: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(paths, ["/", "/", "/stores", "/nowhere", "/other"]);
    Ok(())
}

#[cfg(not(feature = "viewer"))]
#[test]
fn without_a_viewer_the_page_lists_the_stores() -> Result<()> {
    let (_store, served) = served(ServeOptions::new())?;
    let page = served.get("/")?.text();
    assert_eq!(page, served.get("/stores")?.text());
    let state = format!(
        "https://neuroglancer-demo.appspot.com/#!{}/state.json",
        served.url
    );
    assert!(page.contains(&state), "{page}");
    assert_eq!(served.get("/assets/index.js")?.status, 404);
    assert_eq!(served.get("/LICENSES.txt")?.status, 404);
    Ok(())
}

/// While edits replace the root, `/state.json` is either complete or status 503.
#[test]
fn a_state_lacks_no_layer_while_the_store_changes() -> Result<()> {
    let store = zvf_testkit::unpack("streamlines")?;
    let served = Served::start(&[store.path().display().to_string()])?;
    let expected = served.json("/state.json")?;
    let [root, next] = ["zarr.json", "next.json"].map(|name| store.path().join(name));
    let text = std::fs::read(&root)?;
    let ended = AtomicBool::new(false);
    let change = || -> std::io::Result<()> {
        while !ended.load(Ordering::Relaxed) {
            std::fs::write(&next, &text)?;
            std::fs::rename(&next, &root)?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let changes = scope.spawn(change);
        let asked = (0..100).try_for_each(|_| -> Result<()> {
            let reply = served.get("/state.json")?;
            if reply.status != 503 {
                assert_eq!(reply.status, 200, "{}", reply.text());
                let state: serde_json::Value = serde_json::from_slice(&reply.body)?;
                assert_eq!(state, expected);
            }
            Ok(())
        });
        ended.store(true, Ordering::Relaxed);
        assert!(changes.join().is_ok_and(|done| done.is_ok()));
        asked
    })
}

/// The names of arrays of links need a listing, which a plain web server does not give.
#[test]
fn links_that_cannot_be_found_are_said_once() -> Result<()> {
    let web = zvf_testkit::StoppingServer::start(zvf_testkit::files("graph")?, u64::MAX)?;
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&said);
    let mut options = ServeOptions::new();
    options.warn = Some(Arc::new(move |line| {
        heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line.to_owned());
    }));
    let served = Served::with(&[web.url().to_owned()], options)?;
    for _ in 0..2 {
        served.bytes("/query?table=links&format=json")?;
    }
    let lines = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for says in [
        "only link arrays that join neighbouring chunks",
        "60 of 155 links are found",
    ] {
        let said = lines.iter().filter(|line| line.contains(says));
        assert_eq!(said.count(), 1, "{says}: {lines:?}");
    }
    Ok(())
}

//! `/` with the feature `viewer`: the page of the viewer and its files. `cargo xtask browser` runs these tests.

#[path = "client.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod client;

use anyhow::{Context, Result};
use client::Served;
use zvf_serve::{AccessToken, ServeOptions};

fn served(options: ServeOptions) -> Result<(zvf_testkit::TempStore, Served)> {
    let store = zvf_testkit::unpack("graph")?;
    let served = Served::with(&[store.path().display().to_string()], options)?;
    Ok((store, served))
}

/// The links of the viewer's page.
fn links(page: &str) -> Vec<&str> {
    let quoted = page.split('"').skip(1).step_by(2);
    quoted.filter_map(|link| link.strip_prefix("./")).collect()
}

#[test]
fn the_page_is_the_viewer_below_a_token_too() -> Result<()> {
    for token in [None, Some(AccessToken::new()?)] {
        let mut options = ServeOptions::new();
        let folder = token.as_ref().map(|token| format!("/{}", token.digits()));
        let folder = folder.unwrap_or_default();
        options.token = token;
        let (_store, served) = served(options)?;
        let page = served.get(&format!("{folder}/"))?;
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        let policy = page.header("content-security-policy").context("policy")?;
        assert!(policy.contains("script-src 'self'"), "{policy}");
        let text = page.text();
        let links = links(&text);
        assert!(links.len() >= 2, "{text}");
        for link in links {
            let file = served.get(&format!("{folder}/{link}"))?;
            assert_eq!(file.status, 200, "{link}");
            let kind = match link.ends_with(".js") {
                true => "text/javascript; charset=utf-8",
                false => "text/css; charset=utf-8",
            };
            assert_eq!(file.header("content-type"), Some(kind), "{link}");
            assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
            let cached = file.header("cache-control").unwrap_or_default();
            assert!(cached.contains("immutable"), "{link}: {cached}");
            if !folder.is_empty() {
                assert_eq!(served.get(&format!("/{link}"))?.status, 404, "{link}");
            }
        }
        // The data that the page loads, and its licences.
        assert_eq!(served.get(&format!("{folder}/state.json"))?.status, 200);
        let licences = served.get(&format!("{folder}/LICENSES.txt"))?;
        assert_eq!(
            licences.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        for part in [
            "neuroglancer 2",
            "Apache License",
            "numcodecs",
            "C-Blosc",
            "BSD License",
        ] {
            assert!(licences.text().contains(part), "{part}");
        }
    }
    Ok(())
}

#[test]
fn unchanged_files_of_the_viewer_are_not_sent_again() -> Result<()> {
    let (_store, served) = served(ServeOptions::new())?;
    let page = served.get("/")?;
    let text = page.text();
    for path in ["/".to_owned(), format!("/{}", links(&text)[0])] {
        let whole = served.get(&path)?;
        let tag = whole.header("etag").context("etag")?;
        let again = served.ask("GET", &path, &[("If-None-Match", tag)])?;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let other = served.ask("GET", &path, &[("If-None-Match", "\"0\"")])?;
        assert_eq!((other.status, other.body.len()), (200, whole.body.len()));
        let head = served.ask("HEAD", &path, &[])?;
        let length = whole.body.len().to_string();
        assert_eq!(
            head.header("content-length"),
            Some(length.as_str()),
            "{path}"
        );
        for method in ["POST", "PUT", "DELETE"] {
            assert_eq!(
                served.ask(method, &path, &[])?.status,
                405,
                "{method} {path}"
            );
        }
    }
    Ok(())
}

#[test]
fn no_path_leaves_the_files_of_the_viewer() -> Result<()> {
    let (_store, served) = served(ServeOptions::new())?;
    let page = served.get("/")?.text();
    let script = links(&page)[0];
    for path in [
        "/assets",
        "/assets/",
        "/assets/..",
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
        "/assets/..%2findex.html",
        "/assets/../../Cargo.toml",
        "/assets/nothing.js",
        "//index.html",
        "/index.html",
        "/INDEX.HTML",
        "/licences.js",
        "/package.json",
        &format!("//{script}"),
        &format!("/{script}/"),
        &format!("/./{script}"),
        &format!("/{}", script.replace('/', "%2f")),
        &format!("/{}", script.replace('/', "\\")),
    ] {
        let reply = served.get(path)?;
        assert!(
            (400..500).contains(&reply.status),
            "{path}: {}",
            reply.status
        );
    }
    Ok(())
}

//! The viewer of `/`: Neuroglancer and its page, built by `cargo xtask viewer` and embedded.
//!
//! Each file has its own route. Paths of requests are never looked up in a folder.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::reply::{check_match, is_known, with_tag};

/// One embedded file.
struct File {
    route: &'static str,
    /// Its ETag.
    tag: &'static str,
    bytes: &'static [u8],
}

/// Ascending by route.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

/// The page.
const INDEX: &str = "/index.html";

/// The folder of files with a hash of their content in their names.
const HASHED: &str = "/assets/";

/// Allows scripts only from this server; `unsafe-eval` is for the functions that the viewer generates for properties of annotations. Allows
/// data and images from any source, because a state of the viewer may name any.
const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-eval'; worker-src 'self' blob:; \
    style-src 'self' 'unsafe-inline'; img-src * data: blob:; connect-src * data: blob:; object-src 'none'; base-uri 'none'";

/// A route for each file, and `/` for the page.
pub(crate) fn routes() -> Router {
    let mut routes = Router::new();
    for file in FILES {
        let answer = async |headers: HeaderMap| answer(file, &headers);
        let route = match file.route {
            INDEX => "/",
            route => route,
        };
        routes = routes.route(route, get(answer));
    }
    routes
}

fn answer(file: &'static File, headers: &HeaderMap) -> Response {
    let tag = HeaderValue::from_static(file.tag);
    if let Err(error) = check_match(headers, Some(&tag)) {
        return error.into_response();
    }
    if is_known(headers, &tag) {
        return with_tag(StatusCode::NOT_MODIFIED, Some(tag), Body::empty());
    }
    let body = Body::from(Bytes::from_static(file.bytes));
    let mut response = with_tag(StatusCode::OK, Some(tag), body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(content_type(file.route)),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if file.route.starts_with(HASHED) {
        let ever = HeaderValue::from_static("max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, ever);
    } else {
        let policy = HeaderValue::from_static(POLICY);
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn content_type(route: &str) -> &'static str {
    match route.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

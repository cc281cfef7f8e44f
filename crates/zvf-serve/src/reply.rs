//! Responses with ETags.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

/// Whether `If-None-Match` names an ETag.
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|one| one.trim())
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// A response with an ETag that clients ask for again every time.
pub(crate) fn with_tag(status: StatusCode, tag: Option<HeaderValue>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    response
}

//! Responses with ETags.

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use crate::http_error::{HandlerResult, HttpError};
use crate::range::{RequestedRange, wanted};

/// The ETags of a condition: `*`, or a list of them; `None` if there is no such condition.
fn tags<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<impl Iterator<Item = &'h str>> {
    headers.contains_key(name).then(|| {
        let lists = headers.get_all(name).iter();
        let lists = lists.filter_map(|list| list.to_str().ok());
        lists.flat_map(|list| list.split(',')).map(str::trim)
    })
}

/// Whether `If-None-Match` names this ETag, or is `*`.
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    let mut tags = tags(headers, &header::IF_NONE_MATCH).into_iter().flatten();
    tags.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// Whether `If-None-Match` is `*`.
pub(crate) fn is_any(headers: &HeaderMap) -> bool {
    let mut tags = tags(headers, &header::IF_NONE_MATCH).into_iter().flatten();
    tags.any(|one| one == "*")
}

/// Checks `If-Match`: whether the ETag of the answer is one that the client names. Weak ETags match none (RFC 9110, 13.1.1).
///
/// # Errors
/// 412 if the client names only other ETags.
pub(crate) fn check_match(headers: &HeaderMap, tag: Option<&HeaderValue>) -> HandlerResult<()> {
    let Some(mut tags) = tags(headers, &header::IF_MATCH) else {
        return Ok(());
    };
    let own = tag.and_then(|tag| tag.to_str().ok());
    if tags.any(|one| one == "*" || own.is_some_and(|own| one == own)) {
        return Ok(());
    }
    let message = format!(
        "If-Match: found another ETag, expected {}",
        own.unwrap_or("none: the answer has no ETag")
    );
    Err(HttpError::new(StatusCode::PRECONDITION_FAILED, message))
}

/// The requested range of an answer of `size` bytes, and its `Content-Range`; `None`: the whole answer. Only GET has ranges (RFC 9110, 14.2).
///
/// # Errors
/// 416 for a range without a byte of the answer.
pub(crate) fn part(
    method: &Method,
    headers: &HeaderMap,
    tag: Option<&HeaderValue>,
    size: u64,
) -> HandlerResult<Option<(Range<u64>, HeaderValue)>> {
    // If the client has another version, a range is useless, and the whole answer is sent.
    let condition = headers.get(header::IF_RANGE);
    let same = condition.is_none_or(|condition| Some(condition) == tag);
    let range = headers.get(header::RANGE);
    let range = range.filter(|_| same && *method == Method::GET);
    let place = |text: String| {
        HeaderValue::from_str(&text)
            .map_err(|_| HttpError::malformed("a range that is not a valid header"))
    };
    match wanted(range.and_then(|text| text.to_str().ok()), size) {
        RequestedRange::Whole => Ok(None),
        RequestedRange::Part(range) => {
            let last = range.end.saturating_sub(1);
            let place = place(format!("bytes {}-{last}/{size}", range.start))?;
            Ok(Some((range, place)))
        }
        RequestedRange::Nothing => {
            let message = format!("the answer has {size} bytes");
            let error = HttpError::new(StatusCode::RANGE_NOT_SATISFIABLE, message);
            Err(error.with_header(header::CONTENT_RANGE, place(format!("bytes */{size}"))?))
        }
    }
}

/// A response with an ETag that clients revalidate every time.
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

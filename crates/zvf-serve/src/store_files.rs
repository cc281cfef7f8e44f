//! `/store/NAME/…`: the objects of a store as they are stored.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use bytes::Bytes;
use futures::stream;
use zvf_store::{IoError, ObjectState, RawStore, StoreError};

use crate::http_error::{HandlerResult, HttpError};
use crate::path::{self, DecodedPath};
use crate::reply::{check_match, is_known, part, with_tag};
use crate::sources::Sources;

/// Bytes that are read and sent at once, the memory of one answer.
const PIECE: u64 = 1 << 20;

/// Answers GET and HEAD.
pub(crate) async fn answer(State(sources): State<Arc<Sources>>, request: Request) -> HandlerResult {
    let DecodedPath { names, folder } = path::segments(request.uri().path(), "/store/")?;
    let Some((name, rest)) = names.split_first() else {
        return Err(HttpError::not_found("no such store"));
    };
    let raw = sources.find(name)?.raw().reopened();
    let key = rest.join("/");
    if folder {
        return crate::listing::page(&raw, name, &key, request.headers()).await;
    }
    if key.is_empty() {
        return Err(HttpError::not_found(
            "found the path of a store, expected an object, or a slash at the end for the listing",
        ));
    }
    object(raw, key, request.method(), request.headers()).await
}

async fn object(raw: RawStore, key: String, method: &Method, headers: &HeaderMap) -> HandlerResult {
    let missing = || HttpError::not_found(format!("{key}: no such object"));
    let state = raw.state(&key).await?.ok_or_else(missing)?;
    let tag = tag(&state);
    check_match(headers, tag.as_ref())?;
    if tag.as_ref().is_some_and(|tag| is_known(headers, tag)) {
        return Ok(with_tag(StatusCode::NOT_MODIFIED, tag, Body::empty()));
    }
    let found = part(method, headers, tag.as_ref(), state.size)?;
    let (status, range) = match &found {
        Some((range, _)) => (StatusCode::PARTIAL_CONTENT, range.clone()),
        None => (StatusCode::OK, 0..state.size),
    };
    let length = range.end.saturating_sub(range.start);
    let (body, content) = match *method == Method::HEAD {
        true => (Body::empty(), content_type(&key)),
        false => {
            let content = content_type(&key);
            let mut rest = Rest {
                raw,
                key,
                state: state.clone(),
                range: range.clone(),
            };
            // The first piece is read before the status is sent, so that most failures can be reported by the status.
            let first = match length {
                0 => Bytes::new(),
                _ => rest.piece().await?,
            };
            (Body::from_stream(pieces(first, rest)), content)
        }
    };
    let mut response = with_tag(status, tag, body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some((_, place)) = found {
        headers.insert(header::CONTENT_RANGE, place);
    }
    Ok(response)
}

/// The rest of an object that is still to be sent.
struct Rest {
    raw: RawStore,
    key: String,
    state: ObjectState,
    range: std::ops::Range<u64>,
}

impl Rest {
    /// The next piece.
    ///
    /// # Errors
    /// I/O; the object changed after its size was announced.
    async fn piece(&mut self) -> Result<Bytes, StoreError> {
        let end = self.range.end.min(self.range.start.saturating_add(PIECE));
        let changed = |now: String| {
            StoreError::Io(IoError::SourceChanged {
                key: self.key.clone(),
                first: format!("{} bytes", self.state.size),
                now,
            })
        };
        let part = self
            .raw
            .read_range(&self.key, self.range.start..end)
            .await?
            .ok_or_else(|| changed("no object".to_owned()))?;
        let length = end.saturating_sub(self.range.start);
        let whole = u64::try_from(part.bytes.len()) == Ok(length);
        let known = self.state.etag.is_none() || part.state.etag == self.state.etag;
        if !whole || !known {
            return Err(changed(format!("another one of {} bytes", part.state.size)));
        }
        self.range.start = end;
        Ok(part.bytes)
    }
}

/// The pieces of an object; each is read after the previous one was sent.
fn pieces(first: Bytes, rest: Rest) -> impl futures::Stream<Item = Result<Bytes, StoreError>> {
    stream::try_unfold((Some(first), rest), async |(first, mut rest)| {
        let piece = match first {
            Some(first) if first.is_empty() => return Ok(None),
            Some(first) => first,
            None if rest.range.is_empty() => return Ok(None),
            None => rest.piece().await?,
        };
        Ok(Some((piece, (None, rest))))
    })
}

/// The ETag of an object as a header.
fn tag(state: &ObjectState) -> Option<HeaderValue> {
    let etag = state.etag.as_ref()?;
    HeaderValue::from_str(&format!("\"{}-{:x}\"", etag.replace('"', ""), state.size)).ok()
}

fn content_type(key: &str) -> &'static str {
    match key.ends_with(".json") {
        true => "application/json",
        false => "application/octet-stream",
    }
}

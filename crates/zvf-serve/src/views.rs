//! `/precomputed/NAME/VIEW/…`: Neuroglancer's views of a store, made on demand.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use zvf_neuroglancer::{ViewContent, content, is_made};

use crate::http_error::{HandlerResult, HttpError};
use crate::opened::OpenedStore;
use crate::path;
use crate::reply::{check_match, is_any, is_known, part, with_tag};
use crate::sources::{AnswerKind, Sources};

/// Answers GET and HEAD.
pub(crate) async fn answer(State(sources): State<Arc<Sources>>, request: Request) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let found = path::segments(parts.uri.path(), "/precomputed/")?;
    let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
    let (Some((name, rest)), false) = (names.split_first(), found.folder) else {
        return Err(HttpError::not_found("no such view"));
    };
    let source = sources.find(name)?;
    // Cached fragments of a mesh need no permit.
    let made = match rest {
        ["multilod", _] => is_made(&source.opened().await?.views, rest),
        _ => false,
    };
    let _permit = match made {
        true => None,
        false => Some(sources.permit_for(work(rest)).await?),
    };
    let (budget, asked) = (sources.budget, (&parts.method, &parts.headers));
    let answer = source.with_current(|opened| current(opened, budget, rest, asked));
    let (answer, opened) = answer.await?;
    sources.warn(source, &opened, &[]);
    Ok(answer)
}

/// The memory class of an answer.
fn work(rest: &[&str]) -> AnswerKind {
    match rest {
        ["lines", folder, _] if !folder.starts_with("by_") => AnswerKind::Scan,
        ["multilod" | "meshes", key] if *key != "info" => AnswerKind::Mesh,
        _ => AnswerKind::Query,
    }
}

/// Answers from one snapshot of the store.
async fn current(
    opened: Arc<OpenedStore>,
    budget: u64,
    rest: &[&str],
    (method, headers): (&Method, &HeaderMap),
) -> HandlerResult {
    let tag = opened.tag(rest);
    check_match(headers, tag.as_ref())?;
    let known = tag.as_ref().is_some_and(|tag| is_known(headers, tag));
    let unchanged = || with_tag(StatusCode::NOT_MODIFIED, tag.clone(), Body::empty());
    // A client that sends the ETag has received the file, so it exists. `*` does not show that.
    let any = known && is_any(headers);
    if known && !any {
        return Ok(unchanged());
    }
    let content = content(&opened.views, budget, rest).await?;
    // Queries check that their answers are from one state of the store, but not every view is made by a query.
    opened.store().verify(1).await?;
    if any {
        return Ok(unchanged());
    }
    let (bytes, kind) = match content {
        ViewContent::File(bytes) => (bytes, "application/octet-stream"),
        ViewContent::Document(document) => (document.to_string().into(), "application/json"),
    };
    let part = part(method, headers, tag.as_ref(), bytes.len() as u64)?;
    let cut = part.as_ref().and_then(|(range, _)| {
        let start = usize::try_from(range.start).ok()?;
        let end = usize::try_from(range.end).ok()?;
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    });
    let status = match part {
        Some(_) => StatusCode::PARTIAL_CONTENT,
        None => StatusCode::OK,
    };
    let body = Body::from(cut.unwrap_or(bytes));
    let mut response = with_tag(status, tag.clone(), body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some((_, place)) = part {
        headers.insert(header::CONTENT_RANGE, place);
    }
    Ok(response)
}

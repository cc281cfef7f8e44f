//! `/precomputed/NAME/VIEW/…`: Neuroglancer's views of a store, made on demand.

pub(crate) mod lines;
pub(crate) mod meshes;
pub(crate) mod multilod;
pub(crate) mod points;
pub(crate) mod properties;
pub(crate) mod skeletons;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use serde_json::Value;
use zvf_meta::Kind;

use crate::http_error::{Answer, HttpError};
use crate::opened::Opened;
use crate::path;
use crate::reply::{check_match, is_known, part, with_tag};
use crate::sources::{Sources, Work};

/// Largest number of bytes of one answer.
pub(crate) const MOST: usize = 64 << 20;

/// A view of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Annotations, one for each point.
    Points,
    /// Annotations, one for each polyline.
    Lines,
    /// Skeletons.
    Skeletons,
    /// Multi-resolution meshes.
    Multilod,
    /// Legacy meshes.
    Meshes,
}

impl View {
    const ALL: [Self; 5] = [
        Self::Points,
        Self::Lines,
        Self::Skeletons,
        Self::Multilod,
        Self::Meshes,
    ];

    /// The folder of the view.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Skeletons => "skeletons",
            Self::Multilod => "multilod",
            Self::Meshes => "meshes",
        }
    }

    /// The views of a kind of geometry; the first one shows everything.
    pub(crate) fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::PointCloud => &[Self::Points],
            Kind::Line | Kind::Polyline | Kind::Streamline => &[Self::Lines, Self::Skeletons],
            Kind::Graph | Kind::Skeleton => &[Self::Skeletons],
            Kind::Mesh => &[Self::Multilod, Self::Meshes],
        }
    }
}

/// Content of a view.
#[derive(Debug)]
pub(crate) enum Content {
    /// A file of bytes.
    File(Bytes),
    /// A document.
    Document(Value),
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::File(bytes.into())
    }
}

/// Answers GET and HEAD.
pub(crate) async fn answer(State(sources): State<Arc<Sources>>, request: Request) -> Answer {
    let (parts, _) = request.into_parts();
    let found = path::segments(parts.uri.path(), "/precomputed/")?;
    let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
    let (Some((name, rest)), false) = (names.split_first(), found.folder) else {
        return Err(HttpError::not_found("no such view"));
    };
    let source = sources.find(name)?;
    let mut again = true;
    // Fragments of a mesh that was made cost nothing.
    let made = match rest {
        ["multilod", key] => {
            let opened = source.opened().await?;
            multilod::made(&opened, key).is_some()
        }
        _ => false,
    };
    let _permit = match made {
        true => None,
        false => Some(sources.permit_for(work(rest)).await?),
    };
    loop {
        let opened = source.opened().await?;
        match current(&opened, sources.budget, rest, &parts.headers).await {
            Err(error) if error.is_changed() && again => {
                again = false;
                source.forget(&opened).await;
            }
            answered => return answered,
        }
    }
}

/// The memory class of an answer.
fn work(rest: &[&str]) -> Work {
    match rest {
        ["lines", folder, _] if !folder.starts_with("by_") => Work::Scan,
        ["multilod" | "meshes", key] if *key != "info" => Work::Mesh,
        _ => Work::Query,
    }
}

/// Answers from one snapshot of the store.
async fn current(opened: &Arc<Opened>, budget: u64, rest: &[&str], headers: &HeaderMap) -> Answer {
    let tag = opened.tag();
    check_match(headers, tag)?;
    if tag.is_some_and(|tag| is_known(headers, tag)) {
        return Ok(with_tag(
            StatusCode::NOT_MODIFIED,
            tag.cloned(),
            Body::empty(),
        ));
    }
    let content = content(opened, budget, rest).await?;
    let (bytes, kind) = match content {
        Content::File(bytes) => (bytes, "application/octet-stream"),
        Content::Document(document) => (document.to_string().into(), "application/json"),
    };
    let part = part(headers, tag, bytes.len() as u64)?;
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
    let mut response = with_tag(status, tag.cloned(), body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some((_, place)) = part {
        headers.insert(header::CONTENT_RANGE, place);
    }
    Ok(response)
}

/// Encodes one file of a view.
///
/// # Errors
/// 404; 413 for an answer that is too large; the errors of the store and the query.
pub(crate) async fn content(opened: &Arc<Opened>, budget: u64, rest: &[&str]) -> Answer<Content> {
    let missing = || HttpError::not_found("no such view, or no such file of it");
    let (view, rest) = rest.split_first().ok_or_else(missing)?;
    let view = View::ALL
        .into_iter()
        .find(|one| one.name() == *view && View::of(opened.kind()).contains(one))
        .ok_or_else(missing)?;
    match (view, rest) {
        (View::Points, ["info"]) => points::info(opened).await,
        (View::Points, [folder, key]) => points::list(opened, budget, folder, key).await,
        (View::Lines, ["info"]) => lines::info(opened).await,
        (View::Lines, [folder, key]) => lines::list(opened, budget, folder, key).await,
        (View::Skeletons, ["info"]) => skeletons::info(opened).await,
        (View::Multilod, ["info"]) => Ok(Content::Document(multilod::info(opened)?)),
        (View::Meshes, ["info"]) => Ok(Content::Document(meshes::info(opened)?)),
        (View::Skeletons | View::Multilod | View::Meshes, ["properties", "info"]) => {
            properties::info(opened).await
        }
        (View::Skeletons, [id]) => skeletons::one(opened, budget, id).await,
        (View::Multilod, [key]) => multilod::file(opened, budget, key).await,
        (View::Meshes, [key]) => meshes::file(opened, budget, key).await,
        _ => Err(missing()),
    }
}

/// Refuses an answer that is too large.
///
/// # Errors
/// 413.
pub(crate) fn check_size(bytes: usize) -> Answer<()> {
    match bytes > MOST {
        true => Err(HttpError::too_large(format!(
            "the answer has more than {MOST} bytes"
        ))),
        false => Ok(()),
    }
}

//! `/precomputed/NAME/VIEW/…`: Neuroglancer's views of a store, made on demand.

pub(crate) mod grid;
pub(crate) mod lines;
pub(crate) mod meshes;
pub(crate) mod objects;
pub(crate) mod points;
pub(crate) mod properties;
pub(crate) mod skeletons;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use zvf_meta::Kind;

use crate::opened::Opened;
use crate::path;
use crate::refusal::{Answer, Refusal};
use crate::sources::Sources;
use crate::store_files::{is_known, with_tag};

/// Most bytes of one answer.
pub(crate) const MOST: usize = 64 << 20;

/// A view of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Annotations, a point each.
    Points,
    /// Annotations, a polyline each.
    Lines,
    /// Skeletons.
    Skeletons,
    /// Legacy meshes.
    Meshes,
}

impl View {
    const ALL: [Self; 4] = [Self::Points, Self::Lines, Self::Skeletons, Self::Meshes];

    /// The folder of the view.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Skeletons => "skeletons",
            Self::Meshes => "meshes",
        }
    }

    /// The views of a kind of geometry, the one that shows everything first.
    pub(crate) fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::PointCloud => &[Self::Points],
            Kind::Line | Kind::Polyline | Kind::Streamline => &[Self::Lines, Self::Skeletons],
            Kind::Graph | Kind::Skeleton => &[Self::Skeletons],
            Kind::Mesh => &[Self::Meshes],
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
        return Err(Refusal::not_found("no such view"));
    };
    let source = sources.find(name)?;
    let _permit = sources.permit().await?;
    let mut again = true;
    loop {
        let opened = source.opened().await?;
        match current(&opened, sources.budget, rest, &parts.headers).await {
            Err(refusal) if refusal.is_changed() && again => {
                again = false;
                source.forget(&opened).await;
            }
            answered => return answered,
        }
    }
}

/// Answers from one snapshot of the store.
async fn current(opened: &Arc<Opened>, budget: u64, rest: &[&str], headers: &HeaderMap) -> Answer {
    let tag = opened.tag();
    if tag.is_some_and(|tag| is_known(headers, tag)) {
        opened.store.verify(2).await?;
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
    Ok(respond(bytes, kind, tag.cloned()))
}

fn respond(bytes: Bytes, kind: &'static str, tag: Option<HeaderValue>) -> Response {
    let mut response = with_tag(StatusCode::OK, tag, Body::from(bytes));
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Makes one file of a view.
///
/// # Errors
/// 404; 413 for an answer that is too large; as the store and the query say.
pub(crate) async fn content(opened: &Arc<Opened>, budget: u64, rest: &[&str]) -> Answer<Content> {
    let missing = || Refusal::not_found("no such view, or no such file of it");
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
        (View::Meshes, ["info"]) => Ok(Content::Document(meshes::info(opened)?)),
        (View::Skeletons | View::Meshes, ["properties", "info"]) => properties::info(opened).await,
        (View::Skeletons, [id]) => skeletons::one(opened, budget, id).await,
        (View::Meshes, [key]) => meshes::file(opened, budget, key).await,
        _ => Err(missing()),
    }
}

/// A number in the only way it is written: digits without a sign or leading zeros.
///
/// # Errors
/// 404.
pub(crate) fn number(text: &str) -> Answer<u64> {
    text.parse::<u64>()
        .ok()
        .filter(|number| number.to_string() == text)
        .ok_or_else(|| Refusal::not_found("expected a number"))
}

/// Refuses an answer that became too large.
///
/// # Errors
/// 413.
pub(crate) fn check_size(bytes: usize) -> Answer<()> {
    match bytes > MOST {
        true => Err(Refusal::too_large(format!(
            "the answer has more than {MOST} bytes"
        ))),
        false => Ok(()),
    }
}

/// A number that looks random and is the same at every call: the finalizer of SplitMix64.
pub(crate) fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

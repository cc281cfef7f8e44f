//! Listings of the folders of a store: pages of links that Neuroglancer and fsspec can read.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use zvf_store::RawStore;

use crate::http_error::{HandlerResult, HttpError};
use crate::path::{encoded, escaped};
use crate::reply::{check_match, with_tag};

/// The page of one folder, for clients that accept HTML.
///
/// # Errors
/// 404 for a folder without content, or if the backend of the store cannot list; 406 for clients that do not accept HTML; the errors of [`check_match`]
/// and of the store.
pub(crate) async fn page(
    raw: &RawStore,
    name: &str,
    key: &str,
    headers: &HeaderMap,
) -> HandlerResult {
    check_match(headers, None)?;
    if !accepts_html(headers) {
        return Err(HttpError::new(
            StatusCode::NOT_ACCEPTABLE,
            "folders are pages of HTML",
        ));
    }
    let Some(listing) = raw.listing(key).await? else {
        return Err(HttpError::not_found("the store cannot be listed"));
    };
    if listing.folders.is_empty() && listing.objects.is_empty() {
        return Err(HttpError::not_found(format!("{key}/: no such folder")));
    }
    let title = match key {
        "" => format!("{name}/"),
        key => format!("{name}/{key}/"),
    };
    let title = escaped(&title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body><h1>{title}</h1>\n<ul>\n"
    );
    let folders = listing.folders.iter().map(|name| (name, "/"));
    let objects = listing.objects.iter().map(|name| (name, ""));
    for (name, end) in folders.chain(objects) {
        html.push_str(&format!(
            "<li><a href=\"{}{end}\">{}{end}</a></li>\n",
            encoded(name),
            escaped(name)
        ));
    }
    html.push_str("</ul></body></html>\n");
    let mut response = with_tag(StatusCode::OK, None, Body::from(html));
    let text = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    Ok(response)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let mut lists = headers.get_all(header::ACCEPT).iter().peekable();
    lists.peek().is_none()
        || lists
            .filter_map(|list| list.to_str().ok())
            .flat_map(|list| list.split(','))
            .map(|one| one.split(';').next().unwrap_or("").trim())
            .any(|one| ["text/html", "text/*", "*/*"].contains(&one))
}

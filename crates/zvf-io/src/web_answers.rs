//! Repairs headers that the client requires in responses of web servers, and marks responses of servers that close each connection.

use object_store::ClientOptions;
use object_store::HeaderValue;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};

use crate::xml_answers;

/// An extension that marks a response without an announced length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unannounced;

/// An extension that marks a response of a server that closes each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closes;

/// The date in place of one that cannot be parsed.
const NO_DATE: HeaderValue = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");

/// Creates clients that repair and mark responses.
#[derive(Debug, Default)]
pub(crate) struct WebConnector(xml_answers::XmlConnector);

impl HttpConnector for WebConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(WebClient(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct WebClient(HttpClient);

#[async_trait::async_trait]
impl HttpService for WebClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let reads = matches!(request.method().as_str(), "GET" | "HEAD");
        let mut response = self.0.execute(request).await?;
        if reads && response.status().is_success() {
            if closes(&response) {
                response.extensions_mut().insert(Closes);
            }
            add_missing_headers(&mut response);
        }
        Ok(response)
    }
}

/// Whether the server closes each connection after its response, as servers of HTTP/1.0 do. `Connection: close` of HTTP/1.1 does not count: large
/// servers send it after a hundred or a thousand responses.
fn closes(response: &HttpResponse) -> bool {
    let connection = response.headers().get("connection");
    let connection = connection.and_then(|value| value.to_str().ok());
    let kept = connection.is_some_and(|value| value.eq_ignore_ascii_case("keep-alive"));
    response.version() <= reqwest::Version::HTTP_10 && !kept
}

/// Adds a length of 0 to responses without one (chunked bodies, HTTP/1.0), marks them, and replaces dates in formats that the client cannot parse.
fn add_missing_headers(response: &mut HttpResponse) {
    // The length of a part follows from its range.
    let partial = response.status().as_u16() == 206;
    if !response.headers().contains_key("content-length") {
        let none = HeaderValue::from_static("0");
        response.headers_mut().insert("content-length", none);
        if !partial {
            response.extensions_mut().insert(Unannounced);
        }
    }
    let date = response.headers().get("last-modified");
    let legal = date.is_none_or(|date| {
        let text = date.to_str().ok();
        text.is_some_and(|text| chrono::DateTime::parse_from_rfc2822(text).is_ok())
    });
    if !legal {
        response.headers_mut().insert("last-modified", NO_DATE);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use reqwest::Version;

    use super::*;

    #[test]
    fn servers_of_http_1_0_close_each_connection() {
        for (version, connection, close) in [
            (Version::HTTP_10, None, true),
            (Version::HTTP_10, Some("Keep-Alive"), false),
            (Version::HTTP_11, None, false),
            (Version::HTTP_11, Some("close"), false),
        ] {
            let mut response = HttpResponse::new(Bytes::new().into());
            *response.version_mut() = version;
            if let Some(text) = connection {
                let value = HeaderValue::from_static(text);
                response.headers_mut().insert("connection", value);
            }
            assert_eq!(closes(&response), close, "{version:?} {connection:?}");
        }
    }
}

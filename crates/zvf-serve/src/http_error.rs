//! Error responses: a status and one line of text.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use zvf_query::QueryError;
use zvf_store::{Class, StoreError};

use crate::precomputed::{EncodeError, MultiLodError};

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    message: String,
    header: Option<(HeaderName, HeaderValue)>,
    /// Whether the store changed after it was opened: reopening it may help.
    changed: bool,
}

/// The result of a handler.
pub(crate) type Answer<T = Response> = Result<T, HttpError>;

impl HttpError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            header: None,
            changed: false,
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// An answer that exceeds the server's limit.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// Inconsistent data of the store.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The class of the failure.
    pub(crate) fn class(&self) -> Class {
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => Class::Misuse,
            StatusCode::PAYLOAD_TOO_LARGE => Class::Limit,
            StatusCode::BAD_GATEWAY | StatusCode::FORBIDDEN => Class::Io,
            StatusCode::SERVICE_UNAVAILABLE => Class::Busy,
            _ => Class::Malformed,
        }
    }

    fn of(class: Class, message: String) -> Self {
        Self::new(
            match class {
                Class::Misuse => StatusCode::BAD_REQUEST,
                Class::Limit => StatusCode::PAYLOAD_TOO_LARGE,
                Class::Io => StatusCode::BAD_GATEWAY,
                Class::Busy => StatusCode::SERVICE_UNAVAILABLE,
                Class::Malformed | Class::Bug => StatusCode::INTERNAL_SERVER_ERROR,
            },
            message,
        )
    }
}

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> Self {
        let changed = error.is_changed();
        let http = match &error {
            error if error.is_denied() => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            StoreError::NotFound { .. } | StoreError::NoSuchLevel { .. } => {
                Self::not_found(error.to_string())
            }
            _ => Self::of(error.class(), error.to_string()),
        };
        Self { changed, ..http }
    }
}

impl From<QueryError> for HttpError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Store(error) => error.into(),
            error => Self::of(error.class(), error.to_string()),
        }
    }
}

impl From<EncodeError> for HttpError {
    fn from(error: EncodeError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl From<MultiLodError> for HttpError {
    fn from(error: MultiLodError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(format!("{}\n", self.message)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, text);
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        response
    }
}

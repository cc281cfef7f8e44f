//! Error responses: a status and one line of text.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use zvf_neuroglancer::ViewError;
use zvf_query::QueryError;
use zvf_store::{Class, StoreError};

/// An error response: why a request failed.
#[derive(Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    message: String,
    header: Option<(HeaderName, HeaderValue)>,
    /// Whether the store changed after it was opened: reopening it may help.
    changed: bool,
    /// Whether an undetected change of the store may be the reason: objects that an edit replaced or removed look like damage.
    doubtful: bool,
}

/// The result of a handler.
pub(crate) type HandlerResult<T = Response> = Result<T, HttpError>;

impl HttpError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            header: None,
            changed: false,
            doubtful: false,
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
        Self {
            doubtful: true,
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    fn of(class: Class, message: String) -> Self {
        let status = match class {
            Class::Misuse => StatusCode::BAD_REQUEST,
            Class::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            Class::Io => StatusCode::BAD_GATEWAY,
            Class::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Class::Malformed | Class::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            doubtful: matches!(class, Class::Io | Class::Malformed),
            ..Self::new(status, message)
        }
    }
}

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> Self {
        let changed = error.is_changed();
        let http = match &error {
            error if error.is_denied() => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            StoreError::NotFound { .. }
            | StoreError::NoStore { .. }
            | StoreError::NoSuchLevel { .. } => Self::not_found(error.to_string()),
            // Viewers repeat a request that was answered with 503, but not one with 502.
            _ if changed => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            _ => Self::of(error.class(), error.to_string()),
        };
        let absent = matches!(error, StoreError::NotFound { .. });
        Self {
            changed,
            doubtful: absent || http.doubtful,
            ..http
        }
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

impl From<ViewError> for HttpError {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Store(error) => error.into(),
            ViewError::Query(error) => error.into(),
            ViewError::NotFound(message) => Self::not_found(message),
            ViewError::TooLarge(message) => Self::too_large(message),
            error => Self::malformed(error.to_string()),
        }
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

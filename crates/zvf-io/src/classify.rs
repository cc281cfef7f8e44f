//! Classifies the errors of a backend: denied, not supported, another permanent failure, or transient.

use std::error::Error as StdError;
use std::fmt;

use object_store::Error;

use crate::IoError;

/// The error of a backend.
type Boxed = Box<dyn StdError + Send + Sync>;

/// The reason why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A retry would fail, too.
    Final(IoError),
    /// A retry may succeed.
    Passing(Boxed),
}

impl Failure {
    #[cold]
    pub(crate) fn passing(what: impl Into<Boxed>) -> Self {
        Self::Passing(what.into())
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        Self::Final(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final(error) => error.fmt(f),
            Self::Passing(source) => source.fmt(f),
        }
    }
}

/// Classifies an error of a backend other than absence.
///
/// Backends report most failures as one "generic" kind with a text. A failure counts as transient unless its text shows that it is permanent,
/// because a repeated read is harmless, writers handle repeated requests, and attempts are limited.
#[cold]
pub(crate) fn sort(key: &str, error: Error) -> Failure {
    match error {
        Error::PermissionDenied { source, .. } | Error::Unauthenticated { source, .. } => {
            denied(key, plain(source))
        }
        Error::Generic { store, source } => {
            let source = plain(source);
            sort_generic(key, Error::Generic { store, source })
        }
        error @ (Error::NotSupported { .. } | Error::NotImplemented { .. }) => {
            unsupported(key, error.to_string())
        }
        error => Failure::Final(IoError::backend(key, error)),
    }
}

fn denied(key: &str, source: Boxed) -> Failure {
    Failure::Final(IoError::Denied {
        key: key.to_owned(),
        source: source.into(),
    })
}

fn unsupported(key: &str, what: String) -> Failure {
    Failure::Final(IoError::NotSupported {
        key: key.to_owned(),
        what,
    })
}

fn sort_generic(key: &str, error: Error) -> Failure {
    let text = chain(&error);
    // The address from which cloud machines request their own credentials.
    if text.contains("169.254.169.254") {
        return denied(
            key,
            "no credentials were found; a public bucket can be read with anonymous access".into(),
        );
    }
    match status(&text) {
        Some(401 | 403) => return denied(key, Box::new(error)),
        // The server does not support the method, the header or the range; another form of the request may work.
        Some(405 | 416 | 501 | 505) => return unsupported(key, error.to_string()),
        Some(408 | 425 | 429 | 500..) => return Failure::passing(error),
        Some(300..) => return Failure::Final(IoError::backend(key, error)),
        _ => {}
    }
    // The last text is from a local backend; it corresponds to the status 416: the object ends before the range begins.
    const NO_RANGE: [&str; 4] = [
        "Received non-partial response",
        "Content-Range header not present",
        // An answer with a range but without the size of the object.
        "Failed to parse value for CONTENT_RANGE header",
        "Wanted range starting at",
    ];
    if NO_RANGE.iter().any(|part| text.contains(part)) {
        return unsupported(key, error.to_string());
    }
    const FINAL: [&str; 7] = [
        "Received redirect without LOCATION",
        "Header missing from response",
        "peer certificate",
        "builder error",
        "relative URL",
        "unsupported scheme",
        "Unable parse",
    ];
    if FINAL.iter().any(|part| text.contains(part)) {
        return Failure::Final(IoError::backend(key, error));
    }
    Failure::passing(error)
}

/// The text of an error and of its sources. A source whose text is already part of the error is left out.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let source = error.to_string();
        if !text.contains(&source) {
            text.push_str(": ");
            text.push_str(&source);
        }
        next = error.source();
    }
    text
}

/// The error without the queries of URLs in its text, because the queries of signed URLs have signatures.
fn plain(source: Boxed) -> Boxed {
    let text = chain(source.as_ref());
    let has_query = |word: &str| word.contains("://") && word.contains('?');
    if !text.split_whitespace().any(has_query) {
        return source;
    }
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((address, _)) if has_query(word) => format!("{address}?…"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ").into()
}

/// The status of an answer, parsed from a text such as "… status code: 503 …".
fn status(text: &str) -> Option<u16> {
    let (_, behind) = text.split_once("status code: ")?;
    behind.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use object_store::Error;

    use super::{Failure, chain, sort};
    use crate::IoError;

    fn generic(text: &str) -> Error {
        Error::Generic {
            store: "S3",
            source: text.into(),
        }
    }

    #[test]
    fn what_passes_is_tried_again_and_nothing_else() {
        let answer = |status: &str| {
            generic(&format!(
                "Error performing GET http://x in 3ms - Server returned non-2xx status code: {status}: oh"
            ))
        };
        let passes = [
            answer("500 Internal Server Error"),
            answer("503 Service Unavailable"),
            answer("429 Too Many Requests"),
            answer("408 Request Timeout"),
            generic("Error performing GET http://x in 1s - HTTP error: error sending request"),
            generic("connection reset by peer"),
            generic("error decoding response body"),
            generic("Requested 3..7, got 2..7"),
            generic("Server returned error response: <Code>SlowDown</Code>"),
        ];
        for error in passes {
            let text = error.to_string();
            assert!(matches!(sort("k", error), Failure::Passing(_)), "{text}");
        }
        let stays = [
            answer("400 Bad Request"),
            answer("404 Not Found"),
            answer("409 Conflict"),
            answer("301 Moved Permanently"),
            generic("Content-Length Header missing from response"),
            generic("invalid peer certificate: UnknownIssuer"),
        ];
        for error in stays {
            let text = error.to_string();
            let Failure::Final(error) = sort("k", error) else {
                panic!("{text}")
            };
            assert!(!error.is_transient() && !error.is_denied(), "{text}");
        }
    }

    #[test]
    fn signatures_of_urls_are_not_in_errors() {
        let text = |status: &str| {
            format!(
                "Error performing GET http://h/a.zv/zarr.json?sig=SECRET&b=c in 3ms - Server returned non-2xx status code: {status}: why?"
            )
        };
        let denied = Error::PermissionDenied {
            path: "a".to_owned(),
            source: text("403 Forbidden").into(),
        };
        for error in [denied, generic(&text("503")), generic(&text("400 Bad"))] {
            let told = match sort("k", error) {
                Failure::Final(error) => chain(&error),
                Failure::Passing(source) => source.to_string(),
            };
            assert!(!told.contains("SECRET"), "{told}");
            let rest = "GET http://h/a.zv/zarr.json?… in 3ms - Server returned";
            assert!(told.contains(rest) && told.contains("why?"), "{told}");
        }
    }

    #[test]
    fn denied_and_unsupported_are_kinds_of_their_own() {
        for text in [
            "status code: 403 Forbidden",
            "Error performing PUT http://169.254.169.254/latest/api/token in 1s",
        ] {
            let Failure::Final(error) = sort("k", generic(text)) else {
                panic!("{text}")
            };
            assert!(error.is_denied(), "{text}");
        }
        for text in [
            "status code: 416 Range Not Satisfiable",
            "status code: 501 Not Implemented",
            "Received non-partial response when range requested",
        ] {
            let failure = sort("k", generic(text));
            assert!(
                matches!(failure, Failure::Final(IoError::NotSupported { .. })),
                "{text}"
            );
        }
    }
}

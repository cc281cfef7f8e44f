//! The URL of the server.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};

/// The address of the server, and the token in its paths.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) address: SocketAddr,
    /// Empty, or a slash and the token.
    pub(crate) prefix: Arc<str>,
}

impl Base {
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.prefix)
    }

    /// The server's URL as the client addressed it in a request. The bound address is of no use to clients behind a
    /// proxy, or if the server is bound to all interfaces.
    pub(crate) fn of(&self, headers: &HeaderMap) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        match host.filter(|host| !host.is_empty() && host.chars().all(plain)) {
            Some(host) => format!("http://{host}{}", self.prefix),
            None => self.url(),
        }
    }
}

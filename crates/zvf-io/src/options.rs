//! Options for opening an address.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
#[cfg(feature = "backends")]
use object_store::ObjectStore;

use crate::{CallerStore, IoError, IoTrace, Limits, Merge, Stop};

/// Options of opening an address, and limits on its requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IoOptions {
    /// Limits on the cost of a hostile store.
    pub limits: Limits,
    /// Most concurrent requests of the store, from 1 to 4096. Default 64.
    pub concurrency: usize,
    /// Whether requests are sent without credentials.
    pub anonymous: bool,
    /// Key-value pairs for the backend's builder, as in `object_store` (`aws_region`, `endpoint`, …). A key with an address before it, such as
    /// `s3://bucket:endpoint`, applies below that address alone.
    pub backend: Vec<(String, String)>,
    /// The record of requests. Off by default.
    pub trace: IoTrace,
    /// Set to let the calling program fetch the objects; the address is then only a name in messages. See [`CallerStore`].
    pub caller_store: Option<CallerStore>,
    /// A backend that replaces the one of the address; the path of the address remains the prefix.
    #[cfg(feature = "backends")]
    pub object_store: Option<Arc<dyn ObjectStore>>,
    /// When and how often failed requests are retried. Only this layer retries: retries of backends are turned off.
    pub retry: Retry,
    /// The time without progress after which an attempt is abandoned: until the answer begins, and between two pieces of it. Default 30 s.
    ///
    /// A whole body may take this time plus the time of its announced bytes at 256 KiB/s.
    pub request_timeout: Duration,
    /// The rules by which neighbouring byte ranges are merged into one request. The default depends on the kind of backend.
    pub merge: Option<Merge>,
    /// Whether changes and losses are detected. If so, [`Kv::verify`](crate::Kv::verify) sends requests, and these are errors: objects newer
    /// than the snapshot, and missing cells of presence lists. Default true.
    ///
    /// Turn it off for backends whose times or ETags differ between answers, or to read the rest of a damaged store: missing cells of presence
    /// lists are then empty. Two reads of one object in different states are always an error.
    pub verify: bool,
    /// Bytes that are read instead of stored objects, by key: a preview of a change. Listings do not include them, so every key must exist.
    /// Default none.
    pub drafts: Arc<BTreeMap<String, Bytes>>,
    /// Checked before every request. Default: never stops.
    pub stop: Stop,
}

impl Default for IoOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            concurrency: 64,
            anonymous: false,
            backend: Vec::new(),
            trace: IoTrace::off(),
            caller_store: None,
            #[cfg(feature = "backends")]
            object_store: None,
            retry: Retry::default(),
            request_timeout: Duration::from_secs(30),
            merge: None,
            verify: true,
            drafts: Arc::default(),
            stop: Stop::default(),
        }
    }
}

impl IoOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Records requests in `trace`.
    #[must_use]
    pub fn with_trace(mut self, trace: IoTrace) -> Self {
        self.trace = trace;
        self
    }

    /// Lets the calling program fetch the objects, see [`caller_store`](Self::caller_store).
    #[must_use]
    pub fn with_caller_store(mut self, store: CallerStore) -> Self {
        self.caller_store = Some(store);
        self
    }

    /// [`caller_store`](Self::caller_store), if no other backend is set.
    ///
    /// # Errors
    /// Misuse: `object_store` is also set.
    pub(crate) fn only_caller_store(&self, address: &str) -> Result<Option<CallerStore>, IoError> {
        #[cfg(feature = "backends")]
        if self.caller_store.is_some() && self.object_store.is_some() {
            return Err(IoError::Address {
                url: address.to_owned(),
                what: "a caller store and an object store are given, expected one of them"
                    .to_owned(),
            });
        }
        #[cfg(not(feature = "backends"))]
        let _ = address;
        Ok(self.caller_store.clone())
    }

    /// Reads from `backend` instead of the backend of the address.
    #[cfg(feature = "backends")]
    #[must_use]
    pub fn with_object_store(mut self, backend: Arc<dyn ObjectStore>) -> Self {
        self.object_store = Some(backend);
        self
    }

    /// Sends requests without credentials.
    #[must_use]
    pub fn with_anonymous(mut self, anonymous: bool) -> Self {
        self.anonymous = anonymous;
        self
    }

    /// The same options with only the options of [`backend`](Self::backend) that apply to an address.
    ///
    /// # Errors
    /// Misuse: a key that is an address alone, without the name of an option.
    #[cfg(feature = "backends")]
    pub(crate) fn for_address(&self, address: &str) -> Result<Self, IoError> {
        let mut backend = Vec::new();
        for (key, value) in &self.backend {
            let name = match key.rsplit_once(':') {
                Some((_, name)) if name.starts_with("//") => {
                    return Err(IoError::misuse(format!(
                        "backend option {key}: found an address alone, expected an address and an option, such as {key}:region"
                    )));
                }
                Some((prefix, name)) if key.contains("://") => {
                    let rest = address.strip_prefix(prefix.trim_end_matches('/'));
                    let is_below =
                        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
                    is_below.then_some(name)
                }
                _ => Some(key.as_str()),
            };
            backend.extend(name.map(|name| (name.to_owned(), value.clone())));
        }
        Ok(Self {
            backend,
            ..self.clone()
        })
    }

    /// Adds one key-value pair for the backend.
    #[must_use]
    pub fn with_backend_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.backend.push((key.into(), value.into()));
        self
    }

    /// Replaces the number of concurrent requests.
    #[must_use]
    pub fn with_concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests;
        self
    }

    /// Replaces [`retry`](Self::retry).
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Replaces [`request_timeout`](Self::request_timeout).
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Replaces [`merge`](Self::merge).
    #[must_use]
    pub fn with_merge(mut self, merge: Merge) -> Self {
        self.merge = Some(merge);
        self
    }

    /// Replaces [`verify`](Self::verify).
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Reads these objects instead of the stored ones.
    #[must_use]
    pub fn with_drafts(mut self, drafts: BTreeMap<String, Bytes>) -> Self {
        self.drafts = Arc::new(drafts);
        self
    }

    /// Ends reads and writes at their next request after `stop` was requested.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }
}

/// When and how often a failed request is retried.
///
/// Only transient failures are retried: the status codes 408, 425, 429 and 5xx except 501 and 505; connections that were refused, reset or closed;
/// bodies that are shorter or longer than announced; and time-outs. No other status of the class 4xx is retried. The pause before an attempt is random
/// up to a limit ("full jitter"), which doubles from attempt to attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Most attempts of a request, including the first one. Default 5; 1: no retries.
    pub attempts: u32,
    /// Longest pause before the second attempt. Default 100 ms.
    pub first_pause: Duration,
    /// Longest pause before any attempt. Default 5 s.
    pub longest_pause: Duration,
    /// Time limit for all attempts of a request and the pauses between them. Default 60 s.
    ///
    /// Waiting for a request slot of the store does not count, nor does the time of the announced bytes of a body at 256 KiB/s.
    pub deadline: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(5),
            deadline: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// No retries.
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// Replaces [`attempts`](Self::attempts).
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Replaces both pauses.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// Replaces [`deadline`](Self::deadline).
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The longest pause after `tries` attempts.
    #[cfg(feature = "backends")]
    pub(crate) fn ceiling(&self, tries: u32) -> Duration {
        let factor = 1u32
            .checked_shl(tries.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.first_pause
            .saturating_mul(factor)
            .min(self.longest_pause)
    }
}

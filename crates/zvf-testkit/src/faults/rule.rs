//! Rules: which requests fail, how, and how often.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::{Error, ObjectStore};

/// The fault of one request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The answer is delayed by this duration.
    Delay(Duration),
    /// No answer arrives.
    Hang,
    /// Status 503 before anything is sent.
    Unavailable,
    /// Status 429.
    TooMany,
    /// The connection is reset before anything is sent.
    Reset,
    /// Status 403.
    Denied,
    /// Status 409: another conditional put of the object is running.
    Conflict,
    /// Status 404, regardless of what the backend has.
    Missing,
    /// The body arrives in pieces of this many bytes, with a pause before each.
    SlowBody {
        /// Bytes of a piece, at least 1.
        piece: usize,
        /// The pause before each piece.
        pause: Duration,
    },
    /// Half of the body arrives, then no more bytes; the connection stays open.
    EndlessBody,
    /// Half of the body arrives, then the connection is reset.
    BrokenBody,
    /// Half of the body arrives, then the stream ends as if the body were complete.
    ShortBody,
    /// The body is longer than announced.
    LongBody,
    /// The announced length of the object exceeds the length of the body by this much; negative: the announced length is shorter.
    WrongLength(i64),
    /// Body and metadata of the answer come from another backend, such as an older version of the store.
    Stale(Arc<dyn ObjectStore>),
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ask {
    /// An object or part of it.
    Get,
    /// The metadata of an object.
    Head,
    /// A listing.
    List,
}

type Pick = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A fault, and the requests that it affects.
#[derive(Clone)]
pub struct Rule {
    pub(super) fault: Fault,
    pub(super) keys: Pick,
    pub(super) ask: Option<Ask>,
    pub(super) share: f64,
    pub(super) times: u64,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("fault", &self.fault)
            .field("ask", &self.ask)
            .field("share", &self.share)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

impl Rule {
    /// A rule that applies the fault to every request.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            keys: Arc::new(|_| true),
            ask: None,
            share: 1.0,
            times: u64::MAX,
        }
    }

    /// Limits the rule to keys that contain `part`.
    #[must_use]
    pub fn at(self, part: &str) -> Self {
        let part = part.to_owned();
        self.at_keys(move |key| key.contains(&part))
    }

    /// Limits the rule to keys for which `pick` returns true.
    #[must_use]
    pub fn at_keys(mut self, pick: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keys = Arc::new(pick);
        self
    }

    /// Limits the rule to requests of one kind.
    #[must_use]
    pub fn of(mut self, ask: Ask) -> Self {
        self.ask = Some(ask);
        self
    }

    /// Limits the rule to this share of the requests, which the seed determines.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Limits the rule to the first `times` requests of the same object or range.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }
}

/// After a number of requests, some keys are answered from another backend, as if their objects had been rewritten at that moment.
#[derive(Clone)]
pub struct Swap {
    pub(super) after: u64,
    pub(super) keys: Pick,
    pub(super) other: Arc<dyn ObjectStore>,
    pub(super) whole_seconds: bool,
}

impl fmt::Debug for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap")
            .field("after", &self.after)
            .field("other", &self.other)
            .field("whole_seconds", &self.whole_seconds)
            .finish_non_exhaustive()
    }
}

impl Swap {
    /// Every key is answered from `other` after the first `after` requests to the wrapper.
    #[must_use]
    pub fn new(after: u64, other: Arc<dyn ObjectStore>) -> Self {
        Self {
            after,
            keys: Arc::new(|_| true),
            other,
            whole_seconds: false,
        }
    }

    /// Replaces only keys for which `pick` returns true.
    #[must_use]
    pub fn at_keys(mut self, pick: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keys = Arc::new(pick);
        self
    }

    /// Modification times are reported in whole seconds, as in HTTP.
    #[must_use]
    pub fn whole_seconds(mut self) -> Self {
        self.whole_seconds = true;
        self
    }
}

/// The error of a request that fails before anything is sent; `None` for faults of another kind.
pub(super) fn refusal(fault: &Fault, key: &str) -> Option<Error> {
    let generic = |what: &str| Error::Generic {
        store: "faulty",
        source: format!("server returned non-2xx status code: {what}").into(),
    };
    Some(match fault {
        Fault::Unavailable => generic("503 Service Unavailable"),
        Fault::TooMany => generic("429 Too Many Requests"),
        Fault::Reset => reset(),
        Fault::Denied => Error::PermissionDenied {
            path: key.to_owned(),
            source: "403 Forbidden".into(),
        },
        Fault::Conflict => Error::AlreadyExists {
            path: key.to_owned(),
            source: "server returned non-2xx status code: 409 Conflict".into(),
        },
        Fault::Missing => Error::NotFound {
            path: key.to_owned(),
            source: "404 Not Found".into(),
        },
        _ => return None,
    })
}

/// The error of a connection that was reset.
pub(super) fn reset() -> Error {
    let source = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    Error::Generic {
        store: "faulty",
        source: Box::new(source),
    }
}

//! What goes wrong, where and how often.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::{Error, ObjectStore};

/// What goes wrong with one request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The answer comes later by this much.
    Delay(Duration),
    /// No answer ever comes.
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
    /// The body comes in pieces of so many bytes with a pause before each.
    SlowBody {
        /// Bytes of a piece, at least 1.
        piece: usize,
        /// Before each piece.
        pause: Duration,
    },
    /// Half of the body comes, and then nothing any more; the connection stays open.
    EndlessBody,
    /// Half of the body comes, and then the connection is reset.
    BrokenBody,
    /// Half of the body comes, and then the stream ends as if that were all.
    ShortBody,
    /// More bytes come than were announced.
    LongBody,
    /// The object is announced to be this much longer (or shorter) than what is sent.
    WrongLength(i64),
    /// The answer comes from another backend, such as an older version of the store; its metadata too.
    Stale(Arc<dyn ObjectStore>),
}

/// Which kind of request.
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

/// A fault, the requests it meets and the share of them.
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
    /// The fault at every request.
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

    /// Only at keys that contain `part`.
    #[must_use]
    pub fn at(self, part: &str) -> Self {
        let part = part.to_owned();
        self.at_keys(move |key| key.contains(&part))
    }

    /// Only at keys that `pick` picks.
    #[must_use]
    pub fn at_keys(mut self, pick: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keys = Arc::new(pick);
        self
    }

    /// Only at requests of one kind.
    #[must_use]
    pub fn of(mut self, ask: Ask) -> Self {
        self.ask = Some(ask);
        self
    }

    /// Only at this share of the requests, by the seed.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Only the first so many times that one object or range is asked for.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }
}

/// From a request on, some keys answer from another backend, as if they had been written again at that moment.
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
    /// Every key answers from `other` after `after` requests, counted by the wrapper from its beginning.
    #[must_use]
    pub fn new(after: u64, other: Arc<dyn ObjectStore>) -> Self {
        Self {
            after,
            keys: Arc::new(|_| true),
            other,
            whole_seconds: false,
        }
    }

    /// Only keys that `pick` picks are replaced.
    #[must_use]
    pub fn at_keys(mut self, pick: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keys = Arc::new(pick);
        self
    }

    /// The time of writing is told in whole seconds, as HTTP does.
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

/// A connection that is cut.
pub(super) fn reset() -> Error {
    let source = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    Error::Generic {
        store: "faulty",
        source: Box::new(source),
    }
}

//! A record of every request, for tests, `--trace` and tuning.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Whether the system has a clock. On `wasm32-unknown-unknown`, `Instant::now` panics.
pub(crate) const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// An object or a range of one, from a backend.
    Get,
    /// Only the state of an object, from a backend.
    Head,
    /// One listing of a prefix.
    List,
    /// A file or a range of one, from the local disk.
    Read,
    /// Only the state of a file of the local disk.
    Stat,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::List => "LIST",
            Self::Read => "READ",
            Self::Stat => "STAT",
        })
    }
}

/// One attempt of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The round of dependent requests that it belongs to, from 1.
    pub round: u32,
    /// The kind of request.
    pub method: Method,
    /// The object or prefix, relative to the store's root.
    pub key: String,
    /// The first requested byte; `None` for whole objects and suffixes.
    pub offset: Option<u64>,
    /// The number of requested bytes; `None` for whole objects.
    pub length: Option<u64>,
    /// The number of received bytes; for listings the number of names. `None` if the object does not exist or the attempt failed.
    pub bytes: Option<u64>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Why the attempt failed.
    pub failed: Option<String>,
    /// Duration in microseconds; 0 on systems without a clock (`wasm32-unknown-unknown`).
    pub micros: u64,
}

/// Whether a subscriber of `tracing` wants requests: events of the level debug.
fn is_logged() -> bool {
    #[cfg(feature = "backends")]
    return tracing::enabled!(tracing::Level::DEBUG);
    #[cfg(not(feature = "backends"))]
    false
}

/// A switchable record of requests, shared by all its clones.
///
/// # Cost
/// Off (the default): one branch for each request. On: one lock and one small allocation for each request.
#[derive(Clone, Default)]
pub struct IoTrace(Option<Arc<Mutex<Vec<Request>>>>);

impl IoTrace {
    /// A trace that records nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// A trace that records every request.
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether requests are recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Removes and returns the recorded requests, in order of completion.
    pub fn take(&self) -> Vec<Request> {
        match &self.0 {
            None => Vec::new(),
            Some(list) => std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The largest round recorded so far; 0 if nothing is recorded.
    pub fn rounds(&self) -> u32 {
        match &self.0 {
            None => 0,
            Some(list) => list
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .map(|r| r.round)
                .max()
                .unwrap_or(0),
        }
    }

    /// A clock reading, taken only when the trace is on or a subscriber of `tracing` wants requests, and the system has a clock.
    pub fn start(&self) -> Option<Instant> {
        (HAS_CLOCK && (self.is_on() || is_logged())).then(Instant::now)
    }

    /// Records an attempt: received bytes, number of the attempt, reason of the failure.
    pub(crate) fn record_try(
        &self,
        start: Option<Instant>,
        round: u32,
        method: Method,
        key: &str,
        range: (Option<u64>, Option<u64>),
        (bytes, attempt, failed): (Option<u64>, u32, Option<String>),
    ) {
        let micros = start.map_or(0, |at| {
            u64::try_from(at.elapsed().as_micros()).unwrap_or(u64::MAX)
        });
        #[cfg(feature = "backends")]
        if is_logged() {
            let ((offset, length), failed) = (range, failed.as_deref());
            tracing::debug!(%method, key, offset, length, bytes, attempt, failed, micros, round);
        }
        if let Some(list) = &self.0 {
            list.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Request {
                    round,
                    method,
                    key: key.to_owned(),
                    offset: range.0,
                    length: range.1,
                    bytes,
                    attempt,
                    failed,
                    micros,
                });
        }
    }
}

impl fmt::Debug for IoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() {
            "IoTrace(on)"
        } else {
            "IoTrace(off)"
        })
    }
}

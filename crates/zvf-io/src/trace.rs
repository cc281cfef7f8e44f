//! A record of every request, for tests, `--trace` and tuning.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Counts of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoCounts {
    /// Attempts of requests.
    pub requests: u64,
    /// Rounds of requests that waited for each other: the largest number of a round.
    pub rounds: u32,
    /// Received bytes; listings count the names.
    pub bytes: u64,
}

/// A switchable record of requests, shared by all its clones.
///
/// # Cost
/// Off (the default): one branch for each request. On: two locks and a copy of the key for each request; counting only: one lock, and the
/// cost of the trace from which it was made.
#[derive(Clone, Default)]
pub struct IoTrace(Option<Arc<Record>>);

/// What a trace records.
#[derive(Debug, Default)]
struct Record {
    counts: Mutex<IoCounts>,
    /// The requests; `None` if they are only counted.
    requests: Option<Mutex<Vec<Request>>>,
    /// The trace to which counted requests are passed on.
    parent: IoTrace,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl IoTrace {
    /// A trace that records nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// A trace that records every request.
    pub fn on() -> Self {
        let requests = Some(Mutex::default());
        Self(Some(Arc::new(Record {
            requests,
            ..Record::default()
        })))
    }

    /// A new trace that counts requests from now on. This trace records them as before.
    #[must_use]
    pub fn counting(&self) -> Self {
        Self(Some(Arc::new(Record {
            parent: self.clone(),
            ..Record::default()
        })))
    }

    /// Whether requests are recorded or counted.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Removes and returns the recorded requests, in order of completion. Their counts remain.
    pub fn take(&self) -> Vec<Request> {
        let record = self.0.as_deref();
        let requests = record.and_then(|record| record.requests.as_ref());
        requests.map_or_else(Vec::new, |requests| std::mem::take(&mut *lock(requests)))
    }

    /// The counts of all requests so far; zero if the trace is off.
    pub fn counts(&self) -> IoCounts {
        let record = self.0.as_deref();
        record.map_or_else(IoCounts::default, |record| *lock(&record.counts))
    }

    fn record(&self, request: Request) {
        let Some(record) = &self.0 else { return };
        let mut counts = lock(&record.counts);
        counts.requests = counts.requests.saturating_add(1);
        counts.rounds = counts.rounds.max(request.round);
        counts.bytes = counts.bytes.saturating_add(request.bytes.unwrap_or(0));
        drop(counts);
        if let Some(requests) = &record.requests {
            lock(requests).push(request);
        } else {
            record.parent.record(request);
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
        if self.is_on() {
            self.record(Request {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(trace: &IoTrace, round: u32, bytes: u64) {
        let done = (Some(bytes), 1, None);
        trace.record_try(None, round, Method::Get, "zarr.json", (None, None), done);
    }

    #[test]
    fn requests_that_are_counted_are_recorded_by_the_first_trace() {
        for first in [IoTrace::on(), IoTrace::off()] {
            let (one, other) = (first.counting(), first.counting());
            ask(&one, 2, 10);
            ask(&one.clone(), 1, 5);
            ask(&other.counting(), 3, 7);
            let counts = |requests, rounds, bytes| IoCounts {
                requests,
                rounds,
                bytes,
            };
            assert_eq!(one.counts(), counts(2, 2, 15));
            assert_eq!(other.counts(), counts(1, 3, 7));
            assert_eq!((one.take(), other.take()), (Vec::new(), Vec::new()));
            let all = if first.is_on() { 3 } else { 0 };
            assert_eq!(first.take().len(), all);
            assert_eq!(first.take().len(), 0);
            assert_eq!(first.counts().requests, all as u64);
        }
    }
}

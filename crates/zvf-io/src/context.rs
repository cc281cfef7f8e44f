//! The state that all requests to an opened address share: limits on requests and bytes in flight, the trace, the observed versions.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::versions::Versions;
use crate::{IoError, IoOptions, IoTrace, Limits, Merge, Method, Stop};

/// The shared state of the requests to an address, with the number of the current round. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Context {
    shared: Arc<ContextInner>,
    round: u32,
}

#[derive(Debug, Clone)]
struct ContextInner {
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_units: u32,
    limits: Limits,
    trace: IoTrace,
    merge: Merge,
    versions: Arc<Versions>,
    stop: Stop,
}

/// Bytes of one permit of the semaphore that bounds the bytes in flight.
const UNIT: u64 = 4096;

impl Context {
    /// Identifies the versions that this context notes, as long as it exists.
    pub(crate) fn snapshot(&self) -> usize {
        Arc::as_ptr(&self.shared.versions).addr()
    }

    pub(crate) fn new(options: &IoOptions, merge: Merge) -> Self {
        let concurrency = options.concurrency.clamp(1, 4096);
        let units = (options.limits.in_flight_bytes / UNIT).clamp(1, u64::from(u32::MAX >> 4));
        let memory_units = u32::try_from(units).unwrap_or(u32::MAX >> 4);
        let shared = ContextInner {
            slots: Arc::new(Semaphore::new(concurrency)),
            memory: Arc::new(Semaphore::new(usize::try_from(memory_units).unwrap_or(1))),
            memory_units,
            limits: options.limits.clone(),
            trace: options.trace.clone(),
            merge: options.merge.unwrap_or(merge),
            versions: Arc::new(Versions::new(options.verify)),
            stop: options.stop.clone(),
        };
        Self {
            shared: Arc::new(shared),
            round: 1,
        }
    }

    /// The same state, but without observed versions.
    pub(crate) fn without_versions(&self, verify: bool) -> Self {
        let shared = ContextInner {
            versions: Arc::new(Versions::new(verify)),
            ..ContextInner::clone(&self.shared)
        };
        Self {
            shared: Arc::new(shared),
            round: self.round,
        }
    }

    /// The same state, for requests of another round.
    pub(crate) fn in_round(&self, round: u32) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            round,
        }
    }

    /// The round of dependent requests that is recorded in the trace, from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The limits that the address was opened with.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The record of requests.
    pub fn trace(&self) -> &IoTrace {
        &self.shared.trace
    }

    /// Records a request of this round whose first attempt was answered.
    pub fn record(
        &self,
        start: Option<Instant>,
        method: Method,
        key: &str,
        range: (Option<u64>, Option<u64>),
        bytes: Option<u64>,
    ) {
        self.record_try(start, method, key, range, (bytes, 1, None));
    }

    /// As [`record`](Self::record), for one attempt: received bytes, number of the attempt, reason of the failure.
    pub(crate) fn record_try(
        &self,
        start: Option<Instant>,
        method: Method,
        key: &str,
        range: (Option<u64>, Option<u64>),
        outcome: (Option<u64>, u32, Option<String>),
    ) {
        let trace = self.trace();
        trace.record_try(start, self.round, method, key, range, outcome);
    }

    /// The rules by which neighbouring ranges are merged into one request.
    pub fn merge(&self) -> Merge {
        self.shared.merge
    }

    /// The requests that cover `ranges` of one object. Empty ranges are left out.
    pub fn requests(&self, mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_unstable_by_key(|range| range.start);
        let requests = self.merge().requests(ranges);
        requests.map(|(request, _)| request).collect()
    }

    /// The versions of all objects that were read.
    pub fn versions(&self) -> &Versions {
        &self.shared.versions
    }

    /// Waits for a free request slot.
    ///
    /// # Errors
    /// I/O: the request was interrupted ([`Stop`]).
    pub async fn slot(&self) -> Result<OwnedSemaphorePermit, IoError> {
        self.shared.stop.check()?;
        Arc::clone(&self.shared.slots)
            .acquire_owned()
            .await
            .map_err(|_| closed())
    }

    /// A request slot, if one is free now.
    pub fn free_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shared.slots).try_acquire_owned().ok()
    }

    /// Waits until `bytes` more bytes may be in flight.
    pub(crate) async fn room(&self, bytes: u64) -> Result<OwnedSemaphorePermit, IoError> {
        let units = u32::try_from(bytes.div_ceil(UNIT))
            .unwrap_or(u32::MAX)
            .clamp(1, self.shared.memory_units);
        Arc::clone(&self.shared.memory)
            .acquire_many_owned(units)
            .await
            .map_err(|_| closed())
    }
}

#[cold]
fn closed() -> IoError {
    IoError::misuse("the store was closed while it was read")
}

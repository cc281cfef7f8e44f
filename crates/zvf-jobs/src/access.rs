//! Options for the access to storage.

use std::time::Duration;

use zvf_encode::WriteOptions;
use zvf_store::{Limits, OpenOptions, Retry};

/// How storage is accessed, and with how much memory. Every command and call takes these options; they are not part of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// No credentials are sent.
    pub anonymous: bool,
    /// Requests in flight at once.
    pub concurrency: Option<usize>,
    /// How often a request is retried.
    pub retries: Option<u32>,
    /// How long one request may take with all its retries.
    pub timeout: Option<Duration>,
    /// Whether a read fails if the store changed while it was read.
    pub verify: bool,
    /// Bytes of decoded data in memory at once.
    pub memory_budget: Option<u64>,
    /// Options of the backend.
    pub store_options: Vec<(String, String)>,
}

impl Access {
    /// A time in seconds, from a millisecond to a day.
    ///
    /// # Errors
    ///
    /// A message with the legal range, for a time outside of it.
    pub fn seconds(seconds: f64) -> Result<Duration, &'static str> {
        match (0.001..=86_400.0).contains(&seconds) {
            true => Ok(Duration::from_secs_f64(seconds)),
            false => Err("expected seconds from 0.001 to 86400"),
        }
    }

    /// Options that open a store.
    #[must_use]
    pub fn open(&self) -> OpenOptions {
        let mut options = OpenOptions::new()
            .with_anonymous(self.anonymous)
            .with_verify(self.verify);
        if let Some(requests) = self.concurrency {
            options = options.with_concurrency(requests);
        }
        let mut retry = Retry::default();
        if let Some(retries) = self.retries {
            retry.attempts = retries.saturating_add(1);
        }
        if let Some(timeout) = self.timeout {
            retry.deadline = timeout;
            let silence = options.io.request_timeout.min(timeout);
            options = options.with_request_timeout(silence);
        }
        options = options.with_retry(retry);
        if let Some(bytes) = self.memory_budget {
            let mut limits = Limits::default();
            limits.in_flight_bytes = limits.in_flight_bytes.min(bytes);
            limits.cell_bytes = limits.cell_bytes.min(bytes);
            limits.cache_bytes = limits.cache_bytes.min(bytes);
            options = options.with_limits(limits);
        }
        for (key, value) in &self.store_options {
            options = options.with_backend_option(key, value);
        }
        options
    }

    /// The options for writing a store that is opened with `open`, with this memory budget.
    #[must_use]
    pub fn write(&self, open: OpenOptions) -> WriteOptions {
        let write = WriteOptions::new().with_open(open);
        match self.memory_budget {
            Some(bytes) => write.with_memory_budget(usize::try_from(bytes).unwrap_or(usize::MAX)),
            None => write,
        }
    }
}

//! Retries of requests: when, how often, and for how long.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::time::{Instant, sleep, timeout};

use crate::classify::{Failure, sort};
use crate::{IoError, IoOptions, Retry};
use zvf_grid::int::wide;

/// Slowest accepted transfer of a body, in bytes per second.
const SLOWEST: u64 = 256 << 10;

/// The additional time for a body of announced length.
pub(crate) fn transfer(bytes: u64) -> Duration {
    Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST)
}

/// The attempts of one request, and their time.
#[derive(Debug)]
pub(crate) struct Tries {
    retry: Retry,
    silence: Duration,
    pub(crate) made: u32,
    spent: Duration,
}

impl Tries {
    pub(crate) fn new(retry: Retry, silence: Duration) -> Self {
        Self {
            retry,
            silence,
            made: 0,
            spent: Duration::ZERO,
        }
    }

    /// Longest time without progress.
    pub(crate) fn silence(&self) -> Duration {
        self.silence
            .min(self.retry.deadline.saturating_sub(self.spent))
    }

    /// Waits for a step of an attempt: the head of the answer, or a body of announced `bytes`.
    pub(crate) async fn step<T>(
        &mut self,
        bytes: u64,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let (silence, extra) = (self.silence(), transfer(bytes));
        let limit = silence.saturating_add(extra);
        let start = Instant::now();
        let result = timeout(limit, work).await;
        self.spent = self
            .spent
            .saturating_add(start.elapsed().saturating_sub(extra));
        result.map_err(|_| Failure::passing(format!("no complete response within {limit:.1?}")))
    }

    /// Waits before the next attempt, or fails if there is none.
    pub(crate) async fn after(&mut self, key: &str, failure: Failure) -> Result<(), IoError> {
        let source = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Passing(source) => source,
        };
        let left = self.retry.deadline.saturating_sub(self.spent);
        let pause = part_of(self.retry.ceiling(self.made));
        if self.made >= self.retry.attempts || pause >= left {
            return Err(self.give_up(key, source));
        }
        sleep(pause).await;
        self.spent = self.spent.saturating_add(pause);
        Ok(())
    }

    /// The error of a failure that may be a passing one, after which no further attempt is made.
    pub(crate) fn give_up(
        &self,
        key: &str,
        source: Box<dyn std::error::Error + Send + Sync>,
    ) -> IoError {
        IoError::Backend {
            key: key.to_owned(),
            source: source.into(),
            tries: self.made,
            elapsed: self.spent,
            transient: true,
        }
    }

    /// Resets the number of attempts and their time after progress.
    pub(crate) fn restart(&mut self) {
        self.made = 0;
        self.spent = Duration::ZERO;
    }
}

/// The answer of a backend to a request that it received: success, or one of [`Error::NotFound`], [`Error::AlreadyExists`], [`Error::Precondition`]
/// and [`Error::NotModified`], which are not failures of the request.
pub type BackendAnswer<T> = Result<T, Error>;

/// Sends and retries requests of writers, by the same rules as for readers: see [`Retry`].
#[derive(Debug, Clone, Copy)]
pub struct WriteRequests {
    retry: Retry,
    silence: Duration,
}

impl WriteRequests {
    /// Uses the retries and the request time-out of these options.
    #[must_use]
    pub fn new(options: &IoOptions) -> Self {
        Self {
            retry: options.retry,
            silence: options.request_timeout,
        }
    }

    /// Sends a request with a body of `bytes` bytes, with retries. `send` gets the number of the attempt, from 1: after a failed attempt, the backend
    /// may still have carried out the request.
    ///
    /// # Errors
    /// As for readers: denied, not supported, or all attempts of [`Retry`] failed.
    pub async fn send<T, F: Future<Output = Result<T, Error>>>(
        &self,
        key: &str,
        bytes: usize,
        mut send: impl FnMut(u32) -> F,
    ) -> Result<BackendAnswer<T>, IoError> {
        let bytes = wide(bytes);
        let mut tries = Tries::new(self.retry, self.silence);
        loop {
            tries.made = tries.made.saturating_add(1);
            let failure = match tries.step(bytes, send(tries.made)).await {
                Ok(Ok(done)) => return Ok(Ok(done)),
                Ok(Err(answer)) if is_answer(&answer) => return Ok(Err(answer)),
                Ok(Err(error)) => sort(key, error),
                Err(silent) => silent,
            };
            tries.after(key, failure).await?;
        }
    }

    /// Reads a whole object and its state; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn read<'a>(
        &'a self,
        store: &'a dyn ObjectStore,
        key: &'a str,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<Option<(ObjectMeta, Bytes)>, IoError>> {
        Box::pin(async move {
            let mut tries = Tries::new(self.retry, self.silence);
            loop {
                tries.made = tries.made.saturating_add(1);
                match read_once(&mut tries, store, key, path).await {
                    Ok(found) => return Ok(found),
                    Err(failure) => tries.after(key, failure).await?,
                }
            }
        })
    }

    /// All objects below a prefix; an empty list is not an error. An interrupted listing continues after its last object if the backend returns objects in
    /// order, and starts again otherwise.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn list<'a>(
        &'a self,
        store: &'a dyn ObjectStore,
        prefix: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Vec<ObjectMeta>, IoError>> {
        Box::pin(async move {
            let name = prefix.map_or("", |prefix| prefix.as_ref());
            let mut tries = Tries::new(self.retry, self.silence);
            let mut found: Vec<ObjectMeta> = Vec::new();
            loop {
                tries.made = tries.made.saturating_add(1);
                let ordered = found.is_sorted_by(|a, b| a.location < b.location);
                let mut list = match found.last() {
                    Some(last) if ordered => store.list_with_offset(prefix, &last.location),
                    _ => {
                        found.clear();
                        store.list(prefix)
                    }
                };
                let failure = loop {
                    match tries.step(0, list.try_next()).await {
                        Ok(Ok(Some(meta))) => {
                            found.push(meta);
                            if ordered {
                                // The time-out applies to each page, not to the whole listing.
                                tries.restart();
                            }
                        }
                        Ok(Ok(None) | Err(Error::NotFound { .. })) => return Ok(found),
                        Ok(Err(error)) => break sort(name, error),
                        Err(silent) => break silent,
                    }
                };
                tries.after(name, failure).await?;
            }
        })
    }
}

async fn read_once(
    tries: &mut Tries,
    store: &dyn ObjectStore,
    key: &str,
    path: &Path,
) -> Result<Option<(ObjectMeta, Bytes)>, Failure> {
    let got = match tries.step(0, store.get(path)).await? {
        Ok(got) => got,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(sort(key, error)),
    };
    let meta = got.meta.clone();
    let bytes = tries.step(meta.size, got.bytes()).await?;
    let bytes = bytes.map_err(|error| sort(key, error))?;
    let found = wide(bytes.len());
    if found != meta.size {
        let announced = meta.size;
        return Err(Failure::passing(format!(
            "received {found} bytes, expected {announced} as announced"
        )));
    }
    Ok(Some((meta, bytes)))
}

fn is_answer(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::Precondition { .. }
            | Error::NotModified { .. }
    )
}

/// A random part of a pause. The random number comes from the keys of the standard hasher.
fn part_of(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0u8) >> 32;
    let nanos = pause.as_nanos().saturating_mul(u128::from(random)) >> 32;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Retry, part_of};

    #[test]
    fn pauses_double_up_to_the_longest() {
        let retry =
            Retry::default().with_pauses(Duration::from_millis(100), Duration::from_secs(1));
        let ceilings: Vec<u128> = (1..8).map(|n| retry.ceiling(n).as_millis()).collect();
        assert_eq!(ceilings, [100, 200, 400, 800, 1000, 1000, 1000]);
        assert_eq!(retry.ceiling(u32::MAX), Duration::from_secs(1));
    }

    #[test]
    fn jitter_uses_the_whole_pause() {
        let pause = Duration::from_secs(8);
        let parts: Vec<Duration> = (0..400).map(|_| part_of(pause)).collect();
        assert!(parts.iter().all(|p| *p < pause));
        // Each eighth occurs: the chance that one does not is below 1e-20.
        for eighth in 0..8 {
            assert!(parts.iter().any(|p| p.as_secs() == eighth));
        }
        assert_eq!(part_of(Duration::ZERO), Duration::ZERO);
    }
}

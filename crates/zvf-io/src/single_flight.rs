//! Shares pending requests: a caller with an identical request waits for its response.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::IoError;
use crate::once::Once;

/// Pending requests, by key and range.
#[derive(Debug)]
pub(crate) struct SingleFlight<Id, T> {
    pending: Mutex<HashMap<Id, Arc<Once<T, IoError>>>>,
}

impl<Id, T> Default for SingleFlight<Id, T> {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
        }
    }
}

impl<Id: Hash + Eq + Clone, T: Clone> SingleFlight<Id, T> {
    /// Runs the request, or waits for an identical pending one. If the caller that runs it is cancelled, a waiter takes over.
    ///
    /// All waiting callers must be polled until they are done, see [`driven`](crate::driven).
    pub(crate) async fn share(
        &self,
        id: Id,
        work: impl Future<Output = Result<T, IoError>>,
    ) -> Result<T, IoError> {
        let waiter = Waiter::take(self, id);
        waiter.request.get_or_load(work).await
    }

    /// The number of pending requests.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.pending.lock().unwrap().len()
    }
}

/// A caller that waits for a pending request. When the last waiter is dropped, the request is removed from the list.
struct Waiter<'a, Id: Hash + Eq, T: Clone> {
    requests: &'a SingleFlight<Id, T>,
    id: Id,
    request: Arc<Once<T, IoError>>,
}

impl<'a, Id: Hash + Eq + Clone, T: Clone> Waiter<'a, Id, T> {
    fn take(requests: &'a SingleFlight<Id, T>, id: Id) -> Self {
        let mut list = requests
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let request = Arc::clone(list.entry(id.clone()).or_default());
        drop(list);
        Self {
            requests,
            id,
            request,
        }
    }
}

impl<Id: Hash + Eq, T: Clone> Drop for Waiter<'_, Id, T> {
    fn drop(&mut self) {
        let mut list = self
            .requests
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(listed) = list.get(&self.id) else {
            return;
        };
        // Completed requests are not cached; a later caller issues a new one. Pending ones are shared by their waiters.
        let ours = Arc::ptr_eq(listed, &self.request);
        if ours && (self.request.get().is_some() || Arc::strong_count(listed) == 2) {
            list.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::SingleFlight;
    use crate::IoError;

    #[tokio::test(start_paused = true)]
    async fn one_works_and_all_get_it() {
        let flights: SingleFlight<&str, u32> = SingleFlight::default();
        let count = AtomicU32::new(0);
        let work = async |key| {
            flights
                .share(key, async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok(count.fetch_add(1, Ordering::SeqCst))
                })
                .await
                .unwrap()
        };
        let all = futures::join!(work("a"), work("a"), work("b"), work("a"));
        assert!(all.0 == all.1 && all.1 == all.3 && all.2 != all.0);
        assert_eq!((count.load(Ordering::SeqCst), flights.len()), (2, 0));
        // A later caller issues a new request.
        assert_eq!(work("a").await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_and_not_repeated_by_each() {
        let flights: SingleFlight<u8, u32> = SingleFlight::default();
        let count = AtomicU32::new(0);
        let work = async || {
            flights
                .share(1, async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    count.fetch_add(1, Ordering::SeqCst);
                    Err(IoError::backend("key", "the line is cut"))
                })
                .await
                .unwrap_err()
        };
        let (a, b) = futures::join!(work(), work());
        assert_eq!(a.to_string(), b.to_string());
        assert!(a.to_string().contains("the line is cut"), "{a}");
        assert_eq!((count.load(Ordering::SeqCst), flights.len()), (1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_takes_over_from_who_left() {
        let flights: Arc<SingleFlight<u8, u32>> = Arc::default();
        let slow = |value| {
            let flights = Arc::clone(&flights);
            tokio::spawn(async move {
                let work = async {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    Ok(value)
                };
                flights.share(1, work).await
            })
        };
        let first = slow(7);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let second = slow(8);
        tokio::time::sleep(Duration::from_secs(1)).await;
        first.abort();
        assert_eq!(second.await.unwrap().unwrap(), 8);
        assert_eq!(flights.len(), 0);
        // If the only waiter is cancelled, the request is removed.
        let alone = slow(9);
        tokio::time::sleep(Duration::from_secs(1)).await;
        alone.abort();
        assert!(alone.await.is_err());
        assert_eq!(flights.len(), 0);
    }
}

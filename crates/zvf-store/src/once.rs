//! One thing that is loaded once and shared.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::StoreError;

type Landed<T> = Arc<OnceCell<Result<T, Arc<StoreError>>>>;

/// A thing that the first who asks loads, and for which the others wait.
///
/// A failure is returned to every caller that waited for it: were each of them to try again after the other, a server that says
/// nothing would hold a query for as many timeouts as it has waiters. Who asks later tries again.
#[derive(Debug)]
pub(crate) struct Once<T>(Mutex<Landed<T>>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Once<T> {
    /// The thing, there already.
    pub(crate) fn ready(thing: T) -> Self {
        Self(Mutex::new(Arc::new(OnceCell::new_with(Some(Ok(thing))))))
    }

    fn landed(&self) -> Landed<T> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The thing, when it is there already.
    pub(crate) fn get(&self) -> Option<T> {
        match self.landed().get() {
            Some(Ok(thing)) => Some(thing.clone()),
            _ => None,
        }
    }

    /// The thing. Who is dropped while loading leaves it to the next; who loads has to be polled until it is done, see
    /// [`driven`](crate::kv::driven).
    ///
    /// # Errors
    /// Those of `load`.
    pub(crate) async fn get_or_load(
        &self,
        load: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let landed = self.landed();
        let result = landed
            .get_or_init(|| async { load.await.map_err(Arc::new) })
            .await;
        match result {
            Ok(thing) => Ok(thing.clone()),
            Err(error) => {
                let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if Arc::ptr_eq(&current, &landed) {
                    *current = Arc::default();
                }
                Err(StoreError::repeated(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::Once;
    use crate::StoreError;

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_for_all_who_wait_and_for_nobody_after() {
        let (once, count) = (Once::<u32>::default(), AtomicU32::new(0));
        let load = async |fails: bool| {
            once.get_or_load(async {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(60)).await;
                if fails {
                    Err(StoreError::misuse("no"))
                } else {
                    Ok(7)
                }
            })
            .await
        };
        let start = tokio::time::Instant::now();
        let all = futures::future::join_all((0..9).map(|_| load(true))).await;
        assert!(all.iter().all(Result::is_err));
        assert_eq!(
            (count.load(Ordering::Relaxed), start.elapsed().as_secs()),
            (1, 60)
        );
        assert_eq!(once.get(), None);
        assert_eq!(load(false).await.unwrap(), 7);
        assert_eq!(once.get(), Some(7));
        assert_eq!(load(true).await.unwrap(), 7);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert_eq!(Once::ready(3).get(), Some(3));
    }
}

//! A value that is loaded once and shared.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

type OnceResult<T, E> = Arc<OnceCell<Result<T, E>>>;

/// A value that the first caller loads while others wait for it.
///
/// A failure is returned to all waiting callers. If each of them tried again in turn, a silent server would delay a query by one time-out for
/// each waiter. A later caller tries again.
#[derive(Debug)]
pub struct Once<T, E>(Mutex<OnceResult<T, E>>);

impl<T, E> Default for Once<T, E> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone, E: Clone> Once<T, E> {
    /// Creates a value that is already loaded.
    pub fn ready(thing: T) -> Self {
        Self(Mutex::new(Arc::new(OnceCell::new_with(Some(Ok(thing))))))
    }

    fn shared(&self) -> OnceResult<T, E> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value, if it is loaded.
    pub fn get(&self) -> Option<T> {
        match self.shared().get() {
            Some(Ok(thing)) => Some(thing.clone()),
            _ => None,
        }
    }

    /// The value. If a caller is dropped while it loads, the next one takes over. The caller that loads must be polled until it is done, see
    /// [`driven`](crate::driven).
    ///
    /// # Errors
    /// The errors of `load`.
    pub async fn get_or_load(&self, load: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let shared = self.shared();
        let result = shared.get_or_init(|| load).await;
        if result.is_err() {
            let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&current, &shared) {
                *current = Arc::default();
            }
        }
        result.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::Once;
    use crate::IoError;

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_for_all_who_wait_and_for_nobody_after() {
        let (once, count) = (Once::<u32, IoError>::default(), AtomicU32::new(0));
        let load = async |fails: bool| {
            once.get_or_load(async {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(60)).await;
                if fails {
                    Err(IoError::misuse("no"))
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
        assert_eq!(Once::<_, IoError>::ready(3).get(), Some(3));
    }
}

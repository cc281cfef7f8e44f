//! Spawns futures on the runtime, and closures on its blocking threads or on worker threads. Under a [`CallerRun`](crate::CallerRun) futures are
//! polled by its caller, and closures run immediately.
//!
//! Both are boxed first. The runtime is generic over its tasks; without boxing, its code would be compiled for each of several hundred closures,
//! in every crate that reads stores.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
#[cfg(feature = "backends")]
use tokio::task::{JoinError, JoinHandle};

use crate::IoError;
use crate::tasks::Tasks;

/// One end of a slot for the result of a task.
#[derive(Debug)]
pub struct Handover<T>(Arc<Mutex<Option<T>>>);

impl<T> Handover<T> {
    /// The end of the task and the end of its caller.
    pub fn pair() -> (Self, Self) {
        let slot = Arc::new(Mutex::new(None));
        (Self(Arc::clone(&slot)), Self(slot))
    }

    /// Stores the result.
    pub fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// The result of a task that has ended.
    ///
    /// # Errors
    /// Bug: the task stored no result.
    pub fn take(&self) -> Result<T, IoError> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or(IoError::Bug {
            what: "a task ended without a result",
        })
    }
}

/// The runtime that polls the caller.
#[cfg(feature = "backends")]
pub(crate) fn runtime() -> Result<tokio::runtime::Handle, IoError> {
    tokio::runtime::Handle::try_current().map_err(|_| {
        IoError::misuse(
            "no tokio runtime is running here: call from one, or use `zvf_store::blocking`",
        )
    })
}

/// A task that is cancelled when it is dropped.
#[cfg(feature = "backends")]
struct AbortOnDrop(JoinHandle<()>);

#[cfg(feature = "backends")]
impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a future as a task, so that it is polled even while its caller is not polled. Dropping the caller cancels
/// the task.
///
/// Requests queue for slots. A future that has a slot but is not polled would block all later requests; with few slots, forever. This happens in
/// a buffered stream while its owner waits for another future.
///
/// # Errors
/// The errors of `work`; misuse: there is no runtime, or it was shut down.
pub async fn driven<T: Send + 'static, E: From<IoError> + Send + 'static>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    let (to, result) = Handover::pair();
    drive(Box::pin(async move { to.put(work.await) })).await?;
    result.take()?
}

/// Runs `work` on a blocking thread; under a [`CallerRun`](crate::CallerRun), on the calling thread.
///
/// # Errors
/// Misuse: there is no runtime, or it was shut down.
pub async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, IoError> {
    let (to, result) = Handover::pair();
    block(Box::new(move || to.put(work()))).await?;
    result.take()
}

/// Runs short `work`, such as reading a local file or decoding, on a worker thread. There are few worker threads, so `work` must not wait for other
/// work. Under a [`CallerRun`](crate::CallerRun), it runs on the calling thread. If the future is dropped, `work` may not run.
///
/// # Errors
/// I/O: no thread can be started. Misuse, without the feature `backends`: there is no [`CallerRun`](crate::CallerRun).
pub async fn on_worker<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, IoError> {
    let (to, result) = Handover::pair();
    compute(Box::new(move || to.put(work()))).await?;
    result.take()
}

fn drive(work: BoxFuture<'static, ()>) -> BoxFuture<'static, Result<(), IoError>> {
    Box::pin(async move {
        if let Some(tasks) = Tasks::current() {
            return tasks.drive(work).await;
        }
        #[cfg(feature = "backends")]
        {
            let mut task = AbortOnDrop(runtime()?.spawn(work));
            ended((&mut task.0).await)
        }
        #[cfg(not(feature = "backends"))]
        Err(no_run())
    })
}

fn block(work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, Result<(), IoError>> {
    Box::pin(async move {
        if Tasks::current().is_some() {
            work();
            return Ok(());
        }
        #[cfg(feature = "backends")]
        return ended(runtime()?.spawn_blocking(work).await);
        #[cfg(not(feature = "backends"))]
        Err(no_run())
    })
}

fn compute(work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, Result<(), IoError>> {
    Box::pin(async move {
        if Tasks::current().is_some() {
            work();
            return Ok(());
        }
        #[cfg(feature = "backends")]
        return match crate::worker_pool::push(work)?.await {
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // If the end of the work was not reported, it stored no result; `Handover::take` returns the error for this.
            Ok(Ok(())) | Err(_) => Ok(()),
        };
        #[cfg(not(feature = "backends"))]
        Err(no_run())
    })
}

/// The error without a runtime and without a [`CallerRun`](crate::CallerRun).
#[cfg(not(feature = "backends"))]
#[cold]
fn no_run() -> IoError {
    IoError::misuse(
        "without the feature \"backends\" there is no runtime: call through `CallerStore::run` or `CallerStore::wait`",
    )
}

/// Resumes a panic of the task in its caller.
#[cfg(feature = "backends")]
fn ended(result: Result<(), JoinError>) -> Result<(), IoError> {
    match result.map_err(JoinError::try_into_panic) {
        Ok(()) => Ok(()),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(IoError::misuse(
            "the runtime was shut down while the store was read",
        )),
    }
}

#[cfg(all(test, feature = "backends"))]
mod tests {
    use std::future::poll_fn;
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Poll;
    use std::time::Duration;

    use futures::FutureExt;

    use super::{Handover, blocking, driven, on_worker};
    use crate::{Class, IoError};

    #[tokio::test]
    async fn tasks_give_their_results_and_errors() -> Result<(), IoError> {
        assert_eq!(blocking(|| 7).await?, 7);
        assert_eq!(on_worker(|| 7).await?, 7);
        assert_eq!(driven(async { Ok("seven") }).await?, "seven");
        let failed: Result<(), _> = driven(async { Err(IoError::misuse("no")) }).await;
        assert!(matches!(failed, Err(IoError::Misuse { .. })), "{failed:?}");
        let (_, nothing) = Handover::<u8>::pair();
        assert!(
            nothing
                .take()
                .is_err_and(|error| error.class() == Class::Bug)
        );
        Ok(())
    }

    #[tokio::test]
    async fn panics_of_tasks_reach_their_callers() {
        let text =
            |panic: Box<dyn std::any::Any + Send>| panic.downcast::<&str>().map(|text| *text);
        let caught = AssertUnwindSafe(blocking(|| panic!("one")))
            .catch_unwind()
            .await;
        assert!(caught.is_err_and(|panic| text(panic).is_ok_and(|text| text == "one")));
        let caught = AssertUnwindSafe(on_worker(|| panic!("one")))
            .catch_unwind()
            .await;
        assert!(caught.is_err_and(|panic| text(panic).is_ok_and(|text| text == "one")));
        let work = poll_fn(|_| -> Poll<Result<(), IoError>> { panic!("two") });
        let caught = AssertUnwindSafe(driven(work)).catch_unwind().await;
        assert!(caught.is_err_and(|panic| text(panic).is_ok_and(|text| text == "two")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_ends_with_its_caller() {
        let done = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&done);
        let work = driven::<_, IoError>(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            set.store(true, Ordering::SeqCst);
            Ok(())
        });
        assert!(
            tokio::time::timeout(Duration::from_millis(10), work)
                .await
                .is_err()
        );
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!done.load(Ordering::SeqCst));
    }
}

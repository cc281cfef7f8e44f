//! Work that goes on beside its caller: as a task of the runtime, or on a thread that may block.
//!
//! What the runtime is given has one type, whatever it results in: the code of the runtime is compiled once, and not for
//! each of some hundred closures in every crate that reads stores.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinHandle};

use crate::StoreError;

/// The place where work leaves its result.
#[derive(Debug)]
pub(crate) struct Handover<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Handover<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Handover<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    pub(crate) fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// The result of work that ended.
    pub(crate) fn take(&self) -> Result<T, StoreError> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| StoreError::misuse("work on a store ended without a result"))
    }
}

/// The runtime that polls the caller.
pub(crate) fn runtime() -> Result<tokio::runtime::Handle, StoreError> {
    tokio::runtime::Handle::try_current().map_err(|_| {
        StoreError::misuse(
            "no tokio runtime is running here: call from one, or use `zvf_store::blocking`",
        )
    })
}

/// A task that ends when it is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Lets a future go on while nobody polls it; dropped, it ends.
///
/// Requests stand in line for a slot. A slot that is given to a future which is not polled, such as one in a buffered
/// stream whose owner waits for something else, is lost for everyone behind it: with few slots all of them wait for
/// ever.
pub(crate) async fn driven<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let result = Handover::new();
    let to = result.clone();
    drive(Box::pin(async move { to.put(work.await) })).await?;
    result.take()?
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, StoreError> {
    let result = Handover::new();
    let to = result.clone();
    block(Box::new(move || to.put(work()))).await?;
    result.take()
}

fn drive(work: BoxFuture<'static, ()>) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(async move {
        let mut task = Task(runtime()?.spawn(work));
        ended((&mut task.0).await)
    })
}

fn block(work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(async move { ended(runtime()?.spawn_blocking(work).await) })
}

/// A panic belongs to the caller's closure or to a bug: it goes on.
fn ended(result: Result<(), JoinError>) -> Result<(), StoreError> {
    match result.map_err(JoinError::try_into_panic) {
        Ok(()) => Ok(()),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(StoreError::misuse(
            "the runtime was shut down while the store was read",
        )),
    }
}

//! Runs CPU work on worker threads.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use futures::future::{BoxFuture, FutureExt};
use futures::sink::SinkExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use futures_channel::mpsc;
use zvf_store::io::blocking;
use zvf_store::{Store, StoreError};

use crate::QueryError;

/// Number of steps, and of link batches, that are computed concurrently.
pub(crate) const WORKERS: usize = 2;

/// Runs the work of one round of requests on worker threads.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    store: Store,
    round: u32,
}

impl Workers {
    pub(crate) fn new(store: &Store, round: u32) -> Self {
        let store = store.clone();
        Self { store, round }
    }

    /// Runs work on a worker thread.
    ///
    /// # Errors
    ///
    /// The errors of the work.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, QueryError> + Send + 'static,
    ) -> BoxFuture<'static, Result<R, QueryError>> {
        let run = self
            .store
            .fetch_map(self.round, Vec::new(), move |_| work());
        async move { run.await? }.boxed()
    }

    /// Like [`produce`](Self::produce), for systems with one thread: all results are computed before the first one is returned.
    fn produce_here<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<(), QueryError> + Send + 'static,
    ) -> BoxStream<'static, Result<T, QueryError>> {
        let run = self.run(move || {
            let mut all = Vec::new();
            work(&mut |made| {
                all.push(made);
                true
            })?;
            Ok(all)
        });
        let all = run.into_stream();
        all.map_ok(|all| stream::iter(all.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    /// Runs work on one thread. `work` receives a function and passes its results to it one by one. The function waits until the stream is read, and
    /// returns false once the stream was dropped.
    ///
    /// One thread and not a pool, because the allocator keeps buffers that other threads freed for the thread that allocated them. With many threads
    /// that allocate large buffers in turn, this is several times the memory in use.
    pub(crate) fn produce<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<(), QueryError> + Send + 'static,
    ) -> BoxStream<'static, Result<T, QueryError>> {
        if zvf_store::io::is_caller_run() {
            return self.produce_here(work);
        }
        let (mut sender, receiver) = mpsc::channel(0);
        let run = async move {
            let mut hand_over = move |made| wait(sender.send(made)).is_ok();
            // Not on a worker thread, because it waits.
            let done = blocking(move || work(&mut hand_over)).await;
            done.map_err(StoreError::from)?
        };
        let end = run
            .into_stream()
            .filter_map(|end| async move { end.err().map(Err) });
        stream::select(receiver.map(Ok), end).boxed()
    }
}

/// Wakes the thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until a future is ready.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Starts a future that is awaited later, so that work that it passes to other threads runs meanwhile.
pub(crate) async fn started<T: Send + 'static>(
    mut work: BoxFuture<'static, T>,
) -> BoxFuture<'static, T> {
    match futures::poll!(&mut work) {
        Poll::Ready(done) => futures::future::ready(done).boxed(),
        Poll::Pending => work,
    }
}

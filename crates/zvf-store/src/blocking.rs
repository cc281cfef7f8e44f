//! A blocking interface, for programs without an async runtime.
//!
//! ```no_run
//! use zvf_store::{Store, blocking::Runtime};
//!
//! let runtime = Runtime::new()?;
//! let store = runtime.wait(Store::open("neurons.zarrvectors"))?;
//! println!("{:?}", store.levels());
//! # Ok::<(), zvf_store::StoreError>(())
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};

use crate::{IoError, StoreError};

/// How long an idle thread of the blocking pool waits for work before it ends. Allocators keep memory that other threads freed until the
/// thread that allocated it allocates again or ends: ten seconds, tokio's default, would keep the memory of decoded chunks on idle threads.
const KEEP_ALIVE: Duration = Duration::from_millis(100);

/// A runtime that waits for futures and iterates over streams. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    runtime: Arc<tokio::runtime::Runtime>,
}

impl Runtime {
    /// Starts a runtime with one worker for each core.
    ///
    /// # Errors
    /// If the system cannot start threads.
    pub fn new() -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_keep_alive(KEEP_ALIVE)
            .build()
            .map_err(|e| IoError::backend("runtime", e))?;
        Ok(Self {
            runtime: Arc::new(runtime),
        })
    }

    /// Waits for a future on the calling thread.
    ///
    /// # Panics
    /// When called from inside another runtime.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        // Boxed, so that `block_on` is compiled once for each type of result and not for each future.
        let future: Pin<Box<dyn Future<Output = F::Output> + '_>> = Box::pin(future);
        self.runtime.block_on(future)
    }

    /// Iterates over a stream; each step waits on the calling thread.
    ///
    /// # Panics
    /// When a step is taken inside another runtime.
    pub fn iter<S: Stream + Send + 'static>(&self, stream: S) -> Iter<S::Item> {
        Iter {
            runtime: Arc::clone(&self.runtime),
            stream: Box::pin(stream),
        }
    }
}

/// A stream as an iterator, see [`Runtime::iter`].
pub struct Iter<T> {
    runtime: Arc<tokio::runtime::Runtime>,
    stream: Pin<Box<dyn Stream<Item = T> + Send>>,
}

impl<T> Iterator for Iter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.runtime.block_on(self.stream.next())
    }
}

impl<T> std::fmt::Debug for Iter<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Iter")
    }
}

//! Cancellation: one token ends all work of the stores that were opened with it.

#[cfg(feature = "backends")]
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "backends")]
use std::time::Duration;

#[cfg(feature = "backends")]
use futures::future::{Either, select};

use crate::IoError;

/// Time between two checks.
#[cfg(feature = "backends")]
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A token that cancels work: reads and writes of a store fail with [`IoError::Stopped`] at their next request, and clean up as after any
/// other failure. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

/// Clones are equal.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Stop {
    /// Requests the stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the stop was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits for a future, which is dropped when the stop is requested.
    ///
    /// # Errors
    /// [`IoError::Stopped`].
    #[cfg(feature = "backends")]
    pub async fn or<F: Future>(&self, work: F) -> Result<F::Output, IoError> {
        let asked = async {
            while !self.is_asked() {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        match select(pin!(work), pin!(asked)).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right(_) => Err(IoError::Stopped),
        }
    }

    /// Fails if the stop was requested.
    ///
    /// # Errors
    /// [`IoError::Stopped`].
    pub fn check(&self) -> Result<(), IoError> {
        match self.is_asked() {
            true => Err(IoError::Stopped),
            false => Ok(()),
        }
    }
}

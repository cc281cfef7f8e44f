//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock; a thread that ended while it held it has reported why.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

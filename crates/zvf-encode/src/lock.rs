//! Locks for data that is valid after every statement, so that a panic of another thread does not damage it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

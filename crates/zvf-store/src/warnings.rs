//! What a store got wrong without making reading impossible.

use std::sync::{Mutex, PoisonError};

/// Warnings in the order of their discovery, each once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

const MOST: usize = 1000;

impl Warnings {
    #[cold]
    pub(crate) fn add(&self, warning: String) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MOST && !list.contains(&warning) {
            list.push(warning);
        }
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

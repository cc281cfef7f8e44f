//! How many bytes are held, and were at the most.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A count of bytes that its clones share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    now: usize,
    most: usize,
}

impl Meter {
    fn held(&self) -> MutexGuard<'_, Held> {
        // What it guards is right after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, bytes: usize) {
        let mut held = self.held();
        held.now = held.now.saturating_add(bytes);
        held.most = held.most.max(held.now);
    }

    pub(crate) fn sub(&self, bytes: usize) {
        let mut held = self.held();
        held.now = held.now.saturating_sub(bytes);
    }

    /// Counts something anew that was counted before with `known` bytes.
    pub(crate) fn change(&self, known: &mut usize, bytes: usize) {
        self.sub(*known);
        self.add(bytes);
        *known = bytes;
    }

    pub(crate) fn most(&self) -> usize {
        self.held().most
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn the_most_stays_when_things_go() {
        let meter = Meter::default();
        let mut known = 0;
        meter.add(10);
        meter.change(&mut known, 5);
        meter.clone().sub(10);
        meter.change(&mut known, 7);
        assert_eq!((known, meter.most()), (7, 15));
    }
}

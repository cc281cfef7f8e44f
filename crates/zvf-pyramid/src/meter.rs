//! Counts the bytes that are in memory, and their maximum.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A count of bytes that its clones share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<MeterState>>);

#[derive(Debug, Default)]
struct MeterState {
    now: usize,
    most: usize,
}

impl Meter {
    fn held(&self) -> MutexGuard<'_, MeterState> {
        // A poisoned lock is used: the counts are consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, bytes: usize) {
        let mut held = self.held();
        held.now += bytes;
        held.most = held.most.max(held.now);
    }

    pub(crate) fn sub(&self, bytes: usize) {
        let mut held = self.held();
        held.now -= bytes;
    }

    /// Replaces the `known` bytes of an item by `bytes`.
    pub(crate) fn change(&self, known: &mut usize, bytes: usize) {
        self.sub(*known);
        self.add(bytes);
        *known = bytes;
    }

    pub(crate) fn most(&self) -> usize {
        self.held().most
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct MeteredBytes {
    meter: Meter,
    bytes: usize,
}

impl MeteredBytes {
    pub(crate) fn new(meter: &Meter) -> Self {
        Self {
            meter: meter.clone(),
            bytes: 0,
        }
    }

    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            self.meter.change(&mut self.bytes, bytes);
        }
    }
}

impl Drop for MeteredBytes {
    fn drop(&mut self) {
        self.meter.sub(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, MeteredBytes};

    #[test]
    fn dropped_bytes_are_not_counted() {
        let meter = Meter::default();
        let mut counted = MeteredBytes::new(&meter);
        counted.set(10);
        counted.set(4);
        drop(counted);
        meter.add(9);
        assert_eq!(meter.most(), 10);
    }

    #[test]
    fn the_maximum_remains_when_bytes_are_released() {
        let meter = Meter::default();
        let mut known = 0;
        meter.add(10);
        meter.change(&mut known, 5);
        meter.clone().sub(10);
        meter.change(&mut known, 7);
        assert_eq!((known, meter.most()), (7, 15));
    }
}

//! Values sorted by the chunk to which they belong.

use crate::plan::chunks::Slot;
use zvf_store::format::int;

/// Values by chunk; the values of one chunk are in the order in which they were passed.
#[derive(Debug)]
pub(crate) struct BySlot<T> {
    /// The first index in `values` for each chunk, and the length of `values`.
    starts: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<T: Copy> BySlot<T> {
    /// Sorts values by chunk. Values of chunks from number `chunks` on are left out.
    ///
    /// # Cost
    ///
    /// Linear; calls `all` twice.
    pub(crate) fn new<I>(chunks: usize, all: impl Fn() -> I) -> Self
    where
        I: Iterator<Item = (Slot, T)>,
    {
        let mut starts = vec![0_usize; chunks.saturating_add(1)];
        let inside = || all().filter(|(slot, _)| int::index(*slot) < chunks);
        for (slot, _) in inside() {
            if let Some(count) = starts.get_mut(int::index(slot).saturating_add(1)) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut values = inside()
            .next()
            .map_or_else(Vec::new, |(_, any)| vec![any; sum]);
        for (slot, value) in inside() {
            if let Some(next) = next.get_mut(int::index(slot)) {
                if let Some(place) = values.get_mut(*next) {
                    *place = value;
                }
                *next += 1;
            }
        }
        Self { starts, values }
    }

    /// The values of one chunk.
    pub(crate) fn of(&self, slot: Slot) -> &[T] {
        let at = int::index(slot);
        let bounds = self
            .starts
            .get(at)
            .zip(self.starts.get(at.saturating_add(1)));
        bounds
            .and_then(|(start, end)| self.values.get(*start..*end))
            .unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_by_chunk() {
        let slots = [2, 0, Slot::MAX, 2, 1, 0, 2];
        let sorted = BySlot::new(4, || slots.into_iter().zip(0..));
        assert_eq!(sorted.of(0), [1, 5]);
        assert_eq!(sorted.of(1), [4]);
        assert_eq!(sorted.of(2), [0, 3, 6]);
        assert!(sorted.of(3).is_empty() && sorted.of(4).is_empty());
        assert!(sorted.of(Slot::MAX).is_empty());
        let none = BySlot::new(0, || slots.into_iter().zip(0..));
        assert!(none.of(0).is_empty());
    }
}

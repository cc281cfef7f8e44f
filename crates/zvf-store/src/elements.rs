//! Elements of different lengths in one buffer: chunks of variable-length arrays, manifests, lists of groups.

use std::ops::Range;

use bytes::Bytes;

use zvf_format::int::wide;

/// Elements one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    bytes: Bytes,
    /// The start of each element, and where a further element would start. Empty if there are no elements.
    starts: Vec<usize>,
    /// Bytes between the end of an element and the start of the next.
    gap: usize,
}

impl Elements {
    /// The elements that start at `starts`, with `gap` bytes between each two.
    pub(crate) fn new(bytes: Bytes, starts: Vec<usize>, gap: usize) -> Self {
        Self { bytes, starts, gap }
    }

    fn range(&self, i: usize) -> Option<Range<usize>> {
        let next = *self.starts.get(i.checked_add(1)?)?;
        let (start, end) = (*self.starts.get(i)?, next.checked_sub(self.gap)?);
        (start <= end && end <= self.bytes.len()).then_some(start..end)
    }

    /// The element at `i`; `None` past the end.
    pub(crate) fn get(&self, i: usize) -> Option<&[u8]> {
        self.bytes.get(self.range(i)?)
    }

    /// The element at `i`, sharing the buffer.
    pub(crate) fn get_shared(&self, i: usize) -> Option<Bytes> {
        self.range(i).map(|range| self.bytes.slice(range))
    }

    /// Bytes in memory.
    pub(crate) fn weight(&self) -> u64 {
        let starts = self.starts.len().saturating_mul(size_of::<usize>());
        wide(self.bytes.len().saturating_add(starts).saturating_add(256))
    }
}

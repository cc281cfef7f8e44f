//! Merges neighbouring byte ranges into few requests.

use core::iter::Peekable;
use core::ops::Range;

/// Determines when ranges of one object are merged into one request. The numbers depend on the
/// backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Largest number of unwanted bytes between two ranges of one request.
    pub gap: u64,
    /// Largest request; a single larger range is still requested whole.
    pub most: u64,
}

impl Merge {
    /// A disk: reading a few more pages costs less than another call. 16 KiB and 16 MiB.
    pub const DISK: Self = Self {
        gap: 16 << 10,
        most: 16 << 20,
    };
    /// A bucket: the wait for the first byte, some 20 ms, costs as much as the transfer of some
    /// 256 KiB. 256 KiB and 16 MiB.
    pub const BUCKET: Self = Self {
        gap: 256 << 10,
        most: 16 << 20,
    };
    /// A plain web server: often close, with less bandwidth. 64 KiB and 8 MiB.
    pub const WEB: Self = Self {
        gap: 64 << 10,
        most: 8 << 20,
    };

    /// The requests that cover `ranges`, each with the number of ranges that it covers.
    ///
    /// Ranges must be sorted by their start; they may overlap. Each is inside one request.
    ///
    /// # Cost
    ///
    /// Linear, without allocation.
    pub fn requests<I>(self, ranges: I) -> MergedRanges<I::IntoIter>
    where
        I: IntoIterator<Item = Range<u64>>,
    {
        MergedRanges {
            merge: self,
            ranges: ranges.into_iter().peekable(),
        }
    }
}

/// Iterator of [`Merge::requests`].
#[derive(Debug, Clone)]
pub struct MergedRanges<I: Iterator<Item = Range<u64>>> {
    merge: Merge,
    ranges: Peekable<I>,
}

impl<I: Iterator<Item = Range<u64>>> Iterator for MergedRanges<I> {
    type Item = (Range<u64>, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let Merge { gap, most } = self.merge;
        let mut request = self.ranges.next()?;
        let mut count = 1;
        while let Some(next) = self.ranges.next_if(|next| {
            next.start <= request.end.saturating_add(gap)
                && (next.end <= request.end || next.end.saturating_sub(request.start) <= most)
        }) {
            request.end = request.end.max(next.end);
            count += 1;
        }
        Some((request, count))
    }
}

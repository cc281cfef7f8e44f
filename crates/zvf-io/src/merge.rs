//! Joining neighbouring byte ranges into few requests.

use std::ops::Range;

/// When two ranges of one object become one request: two numbers a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Largest number of unwanted bytes between two ranges of one request. As many are read along with a shard's
    /// index.
    pub gap: u64,
    /// Largest request; a single larger range is still asked for whole.
    pub most: u64,
}

impl Merge {
    /// A disk: a few pages more cost less than another call. 16 KiB and 16 MiB.
    pub const DISK: Self = Self {
        gap: 16 << 10,
        most: 16 << 20,
    };
    /// A bucket: some 20 ms to the first byte are worth some 256 KiB. 256 KiB and 16 MiB.
    pub const BUCKET: Self = Self {
        gap: 256 << 10,
        most: 16 << 20,
    };
    /// A plain web server: often near, and on a narrower line. 64 KiB and 8 MiB.
    pub const WEB: Self = Self {
        gap: 64 << 10,
        most: 8 << 20,
    };

    /// The requests that cover `ranges`, which need not be sorted. Empty ranges are left out.
    pub fn requests(self, ranges: &mut Vec<Range<u64>>) -> Vec<Range<u64>> {
        ranges.retain(|r| r.start < r.end);
        ranges.sort_unstable_by_key(|r| (r.start, r.end));
        let mut requests: Vec<Range<u64>> = Vec::new();
        for range in ranges.iter() {
            match requests.last_mut() {
                Some(last)
                    if range.start <= last.end.saturating_add(self.gap)
                        && (range.end <= last.end || range.end - last.start <= self.most) =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => requests.push(range.clone()),
            }
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Merge;

    #[test]
    fn near_ranges_join_and_large_requests_end() {
        let merge = Merge { gap: 10, most: 100 };
        let mut ranges = vec![
            50..60,
            0..5,
            12..20,
            71..75,
            70..71,
            5..5,
            200..900,
            900..901,
            52..55,
        ];
        assert_eq!(
            merge.requests(&mut ranges),
            [0..20, 50..75, 200..900, 900..901]
        );
        assert!(merge.requests(&mut Vec::new()).is_empty());
    }

    proptest! {
        #[test]
        fn every_range_lies_in_one_request(
            list in proptest::collection::vec((0u64..5000, 0u64..200), 0..300),
            gap in 0u64..100,
            most in 1u64..2000,
        ) {
            let mut ranges: Vec<_> = list.iter().map(|(start, length)| *start..start + length).collect();
            let requests = Merge { gap, most }.requests(&mut ranges);
            for range in &ranges {
                let inside = requests.iter().filter(|r| r.start <= range.start && range.end <= r.end).count();
                prop_assert!(inside >= 1);
            }
            for request in &requests {
                let alone = ranges.iter().any(|r| r == request);
                prop_assert!(request.end - request.start <= most || alone);
            }
        }
    }
}

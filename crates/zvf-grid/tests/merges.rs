//! Tests of merged ranges.

use std::ops::Range;

use proptest::prelude::*;
use zvf_grid::Merge;

fn requests(merge: Merge, ranges: &[Range<u64>]) -> Vec<(Range<u64>, usize)> {
    merge.requests(ranges.iter().cloned()).collect()
}

#[test]
fn near_ranges_join_and_large_requests_end() {
    let merge = Merge { gap: 10, most: 100 };
    let ranges = [
        0..5,
        12..20,
        50..60,
        52..55,
        70..71,
        71..75,
        200..900,
        900..901,
    ];
    let expected = [(0..20, 2), (50..75, 4), (200..900, 1), (900..901, 1)];
    assert_eq!(requests(merge, &ranges), expected);
    assert!(requests(merge, &[]).is_empty());
    let end = [u64::MAX - 1..u64::MAX, u64::MAX..u64::MAX];
    assert_eq!(requests(merge, &end), [(u64::MAX - 1..u64::MAX, 2)]);
}

proptest! {
    #[test]
    fn every_range_lies_in_its_request(
        list in proptest::collection::vec((0u64..5000, 0u64..200), 0..300),
        gap in 0u64..100,
        most in 1u64..2000,
    ) {
        let mut ranges: Vec<_> = list.iter().map(|(start, length)| *start..start + length).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut rest = &ranges[..];
        let mut last: Option<u64> = None;
        for (request, count) in requests(Merge { gap, most }, &ranges) {
            let own;
            (own, rest) = rest.split_at(count);
            prop_assert!(own.iter().all(|range| request.start <= range.start && range.end <= request.end));
            // Every unwanted byte is within the gap after a wanted range.
            let mut end = request.start;
            for range in own {
                prop_assert!(range.start <= end + gap);
                end = end.max(range.end);
            }
            prop_assert_eq!(end, request.end);
            prop_assert!(count == 1 || request.end - request.start <= most || own.contains(&request));
            prop_assert!(last.is_none_or(|last| last <= request.start));
            last = Some(request.start);
        }
        prop_assert!(rest.is_empty());
    }
}

//! Ranges are read as NumPy reads them. Expected results come from `numpy.arange(n)[…]`.

use zvf_volume::{Axis, AxisRanges};

#[test]
fn ranges_are_numpys() {
    let shape = [10, 6, 8];
    let cases: &[(&str, [Axis; 3], &[u64])] = &[
        ("", [Axis::all(10), Axis::all(6), Axis::all(8)], &[10, 6, 8]),
        (
            "0:10,5,::2",
            [Axis::all(10), Axis::at(5), Axis::new(0, 8, 2)],
            &[10, 4],
        ),
        ("-1", [Axis::at(9), Axis::all(6), Axis::all(8)], &[6, 8]),
        (
            "...,3:",
            [Axis::all(10), Axis::all(6), Axis::new(3, 8, 1)],
            &[10, 6, 5],
        ),
        (
            "-3:-1, 2:100",
            [Axis::new(7, 9, 1), Axis::new(2, 6, 1), Axis::all(8)],
            &[2, 4, 8],
        ),
        (
            "5:2,0,0",
            [Axis::new(5, 5, 1), Axis::at(0), Axis::at(0)],
            &[0],
        ),
        (
            "-100:3:2,...",
            [Axis::new(0, 3, 2), Axis::all(6), Axis::all(8)],
            &[2, 6, 8],
        ),
    ];
    for (text, axes, result) in cases {
        let range = AxisRanges::parse(text, &shape).unwrap();
        assert_eq!(range.selection.axes(), axes, "{text}");
        assert_eq!(&range.result_shape().unwrap()[..], *result, "{text}");
    }
}

#[test]
fn what_is_no_range_is_refused() {
    for text in [
        "10", "-11", "1,2,3,4", "a", "1:2:3:4", "::0", "::-1", "...,...", "1,,2", "1.5",
    ] {
        let refused = AxisRanges::parse(text, &[10, 6, 8]);
        assert!(refused.is_err(), "{text}: {refused:?}");
    }
}

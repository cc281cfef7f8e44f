//! The only changes of number types: named, checked, in one place.

/// 2^53: up to here an f64 counts every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// 2^63.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Takes a whole f64 as an integer; `None` for fractions, for NaN, and beyond 2^53, where digits were lost.
pub(crate) fn exact_i64(value: f64) -> Option<i64> {
    // Whole and exact, so nothing is rounded.
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

/// Takes a rounded f64 as an integer; `None` for NaN and outside the range of the type.
pub(crate) fn whole_i64(value: f64) -> Option<i64> {
    // In range; NaN fails both comparisons.
    (-I64_END..I64_END).contains(&value).then_some(value as i64)
}

/// Takes a rounded f64 as a count; `None` for NaN, below 0 and beyond 2^53.
pub(crate) fn whole_u64(value: f64) -> Option<u64> {
    (0.0..=EXACT).contains(&value).then_some(value as u64)
}

const _: () = assert!(
    size_of::<usize>() >= size_of::<u32>(),
    "pointers of 32 bits or more"
);

/// Takes a 32-bit offset as an index; no target of this crate has narrower pointers.
pub(crate) fn to_usize(offset: u32) -> usize {
    offset as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_ranges() {
        assert_eq!(exact_i64(-3.0), Some(-3));
        assert_eq!(exact_i64(EXACT), Some(1 << 53));
        assert_eq!(exact_i64(EXACT * 2.0), None);
        assert_eq!(exact_i64(0.5), None);
        assert_eq!(exact_i64(f64::NAN), None);
        assert_eq!(whole_i64(-I64_END), Some(i64::MIN));
        assert_eq!(whole_i64(I64_END), None);
        assert_eq!(whole_i64(f64::NEG_INFINITY), None);
        assert_eq!(whole_u64(-0.0), Some(0));
        assert_eq!(whole_u64(-1.0), None);
        assert_eq!(whole_u64(f64::INFINITY), None);
    }
}

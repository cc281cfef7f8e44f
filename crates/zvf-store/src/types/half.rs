//! Rounding to float16.

use half::f16;

/// The float16 that is nearest to a number. If two are equally near, the one with an even last bit.
///
/// On some processors, `f16::from_f64` first rounds to float32. A number near the middle of two float16 is then rounded to the wrong one:
/// 2049.0000001 to 2048 instead of 2050.
#[must_use]
pub fn nearest_f16(value: f64) -> f16 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    let near = value as f32;
    let kept = f64::from(near);
    if kept == value || !near.is_finite() {
        return f16::from_f32(near);
    }
    // Rounds towards zero, and sets the last bit to record that digits were cut off. The rounding to float16 is then the only rounding to nearest.
    let away = u32::from(kept.abs() > value.abs());
    f16::from_f32(f32::from_bits((near.to_bits() - away) | 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_the_middle_of_two_are_rounded_once() {
        // As NumPy rounds them.
        for (value, expected) in [
            (1.000_488_281_250_01, 1.000_976_562_5),
            (1.000_488_281_25, 1.0),
            (2_049.000_000_1, 2050.0),
            (2049.0, 2048.0),
            (1_000.250_000_01, 1000.5),
            (65_519.999, 65_504.0),
            (65_520.0, f64::INFINITY),
            (1e300, f64::INFINITY),
            (2.98e-8, 0.0),
            (2.980_232_238_769_532e-8, 5.960_464_477_539_063e-8),
            (1e-300, 0.0),
        ] {
            assert_eq!(nearest_f16(value).to_f64(), expected, "{value}");
            assert_eq!(nearest_f16(-value).to_f64(), -expected, "-{value}");
        }
        assert!(nearest_f16(f64::NAN).is_nan());
        assert!(nearest_f16(-1e-300).is_sign_negative());
    }

    #[test]
    fn every_float16_is_kept_and_each_number_between_two_goes_to_the_nearer() {
        for bits in 0..0x7bff_u16 {
            let [low, high] = [bits, bits + 1].map(|bits| f16::from_bits(bits).to_f64());
            let middle = low.midpoint(high);
            assert_eq!(nearest_f16(low).to_bits(), bits);
            assert_eq!(nearest_f16(middle.next_down()).to_bits(), bits);
            assert_eq!(nearest_f16(middle.next_up()).to_bits(), bits + 1);
            assert_eq!(nearest_f16(middle).to_bits(), bits + (bits & 1));
        }
    }
}

//! The lowest and highest numbers of extra bytes, which are known after the last point.

use super::layout::ExtraBytes;
use super::origin::{MAX, MIN};

/// The numbers of an entry of extra bytes whose range is stated. NaN and numbers that mark missing values are ignored.
#[derive(Debug)]
pub(super) struct ExtraBytesRange {
    /// Index of the entry.
    entry: usize,
    /// First byte in a point.
    at: usize,
    kind: u8,
    /// Bytes of a number.
    size: usize,
    no_data: Option<[u64; 3]>,
    /// For each number of a value.
    found: Vec<Option<[i128; 2]>>,
}

impl ExtraBytesRange {
    /// The entries that state a range; the first entry is at byte `at` of a point. `None` for an entry of numbers without bytes: a bug.
    pub(super) fn of(extra: &[ExtraBytes], mut at: usize) -> Option<Vec<Self>> {
        let mut all = Vec::new();
        for (entry, one) in extra.iter().enumerate() {
            let (size, count) = (one.size(), one.count());
            if one.data_type != 0 && one.options & (MIN | MAX) != 0 {
                all.push(Self {
                    entry,
                    at,
                    kind: one.kind(),
                    size: size.checked_div(count).filter(|size| *size > 0)?,
                    no_data: one
                        .states_no_data()
                        .then(|| one.no_data.map(|one| one.get())),
                    found: vec![None; count],
                });
            }
            at += size;
        }
        Some(all)
    }

    /// Adds the numbers of a point. `None` if the point is too short: a bug.
    pub(super) fn add(&mut self, point: &[u8]) -> Option<()> {
        let numbers = point.get(self.at..)?.get(..self.size * self.found.len())?;
        let numbers = numbers.chunks_exact(self.size);
        for (at, (bytes, found)) in numbers.zip(&mut self.found).enumerate() {
            let Some(key) = key(self.kind, bytes) else {
                continue;
            };
            let missing = self.no_data.and_then(|all| all.get(at).copied());
            if missing.is_some() && missing == wide(self.kind, key) {
                continue;
            }
            let [low, high] = found.unwrap_or([key; 2]);
            *found = Some([low.min(key), high.max(key)]);
        }
        Some(())
    }

    /// Writes the range into its entry. If one of the numbers has no values in the file, the entry states no range. `None` is a bug.
    pub(super) fn put(&self, extra: &mut [ExtraBytes]) -> Option<()> {
        let extra = extra.get_mut(self.entry)?;
        let found: Option<Vec<[i128; 2]>> = self.found.iter().copied().collect();
        let Some(found) = found else {
            extra.options &= !(MIN | MAX);
            return Some(());
        };
        let (low, high) = extra.range.split_at_mut(3);
        for ((low, high), [least, most]) in low.iter_mut().zip(high).zip(found) {
            *low = wide(self.kind, least)?.into();
            *high = wide(self.kind, most)?.into();
        }
        Some(())
    }
}

/// A number as an integer with the same order; `None` for NaN.
fn key(kind: u8, bytes: &[u8]) -> Option<i128> {
    let float = |value: f64| {
        let bits = i64::from_le_bytes(value.to_le_bytes());
        (!value.is_nan()).then_some(i128::from(ordered(bits)))
    };
    Some(match kind {
        1 => u8::from_le_bytes(bytes.try_into().ok()?).into(),
        2 => i8::from_le_bytes(bytes.try_into().ok()?).into(),
        3 => u16::from_le_bytes(bytes.try_into().ok()?).into(),
        4 => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        5 => u32::from_le_bytes(bytes.try_into().ok()?).into(),
        6 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        7 => u64::from_le_bytes(bytes.try_into().ok()?).into(),
        8 => i64::from_le_bytes(bytes.try_into().ok()?).into(),
        9 => float(f32::from_le_bytes(bytes.try_into().ok()?).into())?,
        _ => float(f64::from_le_bytes(bytes.try_into().ok()?))?,
    })
}

/// The eight bytes that state a number: an integer of the same signedness, or a float64.
fn wide(kind: u8, key: i128) -> Option<u64> {
    match kind {
        1 | 3 | 5 | 7 => u64::try_from(key).ok(),
        2 | 4 | 6 | 8 => Some(bits(i64::try_from(key).ok()?)),
        _ => Some(bits(ordered(i64::try_from(key).ok()?))),
    }
}

fn bits(number: i64) -> u64 {
    u64::from_le_bytes(number.to_le_bytes())
}

/// Maps the bits of a float64 to a number that sorts as the float does, and such a number back to the bits. Without it, negative floats
/// sort backwards.
fn ordered(bits: i64) -> i64 {
    match bits < 0 {
        true => bits ^ i64::MAX,
        false => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::{key, wide};

    #[test]
    fn numbers_are_ordered_and_come_back() {
        let floats = [f64::NEG_INFINITY, -2.5, -1e-300, -0.0, 0.0, 1e-300, 7.25];
        let keys: Vec<i128> = floats
            .iter()
            .map(|one| key(10, &one.to_le_bytes()).unwrap())
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        for (float, key) in floats.iter().zip(keys) {
            assert_eq!(wide(10, key), Some(float.to_bits()));
        }
        assert_eq!(key(9, &f32::NAN.to_le_bytes()), None);
        let half = key(9, &(-0.5_f32).to_le_bytes()).unwrap();
        assert_eq!(wide(9, half), Some((-0.5_f64).to_bits()));
        for (kind, bytes, number) in [
            (1, &[255][..], 255_i128),
            (2, &[255], -1),
            (3, &[254, 255], 65_534),
            (4, &[254, 255], -2),
            (5, &[255; 4], i128::from(u32::MAX)),
            (6, &[255; 4], -1),
            (7, &[255; 8], i128::from(u64::MAX)),
            (8, &[0, 0, 0, 0, 0, 0, 0, 128], i128::from(i64::MIN)),
        ] {
            assert_eq!(key(kind, bytes), Some(number));
            // Eight bytes of the same sign.
            let wide = wide(kind, number).unwrap().to_le_bytes();
            assert_eq!(wide[..bytes.len()], *bytes);
            assert!(
                wide[bytes.len()..]
                    .iter()
                    .all(|one| *one == if number < 0 { 255 } else { 0 })
            );
        }
    }
}

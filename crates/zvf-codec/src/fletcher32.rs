//! The checksum of HDF5, as in numcodecs.
//!
//! Implemented here, because `zarrs` 0.23.14 omits the last byte of data with an odd length.

use crate::CodecError;
use crate::data::Data;

/// Both sums are folded after this number of pairs of bytes, before they exceed 32 bits.
const PAIRS: usize = 360;

const fn fold(sum: u32) -> u32 {
    (sum & 0xffff).saturating_add(sum >> 16)
}

/// The sums of big-endian pairs of bytes; an odd last byte is the upper half of a pair.
pub(crate) fn sum(data: &[u8]) -> u32 {
    let (mut low, mut high) = (0_u32, 0_u32);
    for pairs in data.chunks(2 * PAIRS) {
        for pair in pairs.chunks(2) {
            let word = match pair {
                [a, b] => (u32::from(*a) << 8) | u32::from(*b),
                [a] => u32::from(*a) << 8,
                _ => 0,
            };
            low = low.saturating_add(word);
            high = high.saturating_add(low);
        }
        (low, high) = (fold(low), fold(high));
    }
    (fold(high) << 16) | fold(low)
}

/// Compares the last four bytes with the checksum of the rest, and removes them.
pub(crate) fn checked<'b>(data: Data<'b>) -> Result<Data<'b>, CodecError> {
    crate::data::summed("fletcher32", sum, data)
}

#[cfg(test)]
mod tests {
    use super::sum;

    /// Checksums of the bytes 1, 2, … by numcodecs 0.16.6, as they are stored.
    const BY_NUMCODECS: [[u8; 4]; 11] = [
        [0x00, 0x01, 0x00, 0x01],
        [0x02, 0x01, 0x02, 0x01],
        [0x02, 0x04, 0x04, 0x05],
        [0x06, 0x04, 0x08, 0x05],
        [0x06, 0x09, 0x0e, 0x0e],
        [0x0c, 0x09, 0x14, 0x0e],
        [0x0c, 0x10, 0x20, 0x1e],
        [0x14, 0x10, 0x28, 0x1e],
        [0x14, 0x19, 0x3c, 0x37],
        [0x1e, 0x19, 0x46, 0x37],
        [0x1e, 0x24, 0x64, 0x5b],
    ];

    #[test]
    fn sums_are_those_of_numcodecs() {
        for (count, wanted) in (1_u8..).zip(BY_NUMCODECS) {
            let bytes: Vec<u8> = (1..=count).collect();
            assert_eq!(sum(&bytes).to_le_bytes(), wanted, "{count}");
        }
        assert_eq!(sum(&[]), 0);
        // By definition: sums modulo 2^16 - 1, where 2^16 - 1 itself represents 0.
        for length in [719, 720, 721, 5000, 70_001] {
            let bytes: Vec<u8> = (0..length).map(|n| u8::MAX - (n % 7) as u8).collect();
            let (mut low, mut high) = (0_u64, 0_u64);
            for pair in bytes.chunks(2) {
                low += u64::from(pair[0]) * 256 + u64::from(pair.get(1).copied().unwrap_or(0));
                high += low;
            }
            let rest = |sum: u64| u32::try_from((sum - 1) % 65_535 + 1).unwrap();
            assert_eq!(sum(&bytes), rest(high) << 16 | rest(low), "{length}");
        }
    }
}

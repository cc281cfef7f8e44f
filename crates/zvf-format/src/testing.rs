//! Helpers shared by the tests of several modules: bytes from a dump, and ways to damage them.

use std::string::String;
use std::vec::Vec;

/// The bytes of a hex dump; characters that are not hex digits are skipped.
pub(crate) fn hex(dump: &str) -> Vec<u8> {
    let digits: String = dump.chars().filter(char::is_ascii_hexdigit).collect();
    assert_eq!(digits.len() % 2, 0, "odd number of digits in a dump");
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Calls `f` with every proper prefix of `bytes`.
pub(crate) fn every_truncation(bytes: &[u8], mut f: impl FnMut(&[u8])) {
    for end in 0..bytes.len() {
        f(&bytes[..end]);
    }
}

/// Calls `f` with every copy of `bytes` in which one bit differs.
pub(crate) fn every_bit_flip(bytes: &[u8], mut f: impl FnMut(&[u8])) {
    let mut copy = bytes.to_vec();
    for bit in 0..bytes.len() * 8 {
        copy[bit / 8] ^= 1 << (bit % 8);
        f(&copy);
        copy[bit / 8] ^= 1 << (bit % 8);
    }
}

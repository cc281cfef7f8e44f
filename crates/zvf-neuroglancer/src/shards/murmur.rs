//! The hash of sharded keys.

/// Mixes the bits of one of the four words of the state.
fn mixed(mut word: u32) -> u32 {
    word ^= word >> 16;
    word = word.wrapping_mul(0x85EB_CA6B);
    word ^= word >> 13;
    word = word.wrapping_mul(0xC2B2_AE35);
    word ^ (word >> 16)
}

/// The low 64 bits of MurmurHash3_x86_128, with the seed 0, of the eight bytes of a little-endian number.
pub(super) fn murmur(key: u64) -> u64 {
    const C1: u32 = 0x239B_961B;
    const C2: u32 = 0xAB0E_9789;
    const C3: u32 = 0x38B3_4AE5;
    const BYTES: u32 = 8;
    let [a, b, c, d, e, f, g, h] = key.to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    let high = u32::from_le_bytes([e, f, g, h]);
    // Eight bytes are fewer than a block of sixteen: all of them are the tail, and the words three and four stay empty.
    let h1 = low.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2) ^ BYTES;
    let h2 = high.wrapping_mul(C2).rotate_left(16).wrapping_mul(C3) ^ BYTES;
    let (h3, h4) = (BYTES, BYTES);
    let h1 = h1.wrapping_add(h2).wrapping_add(h3).wrapping_add(h4);
    let [h2, h3, h4] = [h2, h3, h4].map(|word| mixed(word.wrapping_add(h1)));
    let h1 = mixed(h1).wrapping_add(h2).wrapping_add(h3).wrapping_add(h4);
    let h2 = h2.wrapping_add(h1);
    u64::from(h2) << 32 | u64::from(h1)
}

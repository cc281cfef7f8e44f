//! Delta: XOR with the previous word in block 0, and with the decoded block 0 in every other block of the
//! chunk.

/// Bytes of a word for items of `typesize` bytes.
pub(crate) const fn word(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        n if n > 0 && n.is_multiple_of(8) => 8,
        _ => 1,
    }
}

/// Reverses delta in block 0, in place. Bytes after the last whole word do not change.
pub(crate) fn decode_first(data: &mut [u8], word: usize) {
    match word {
        2 => running::<2>(data),
        4 => running::<4>(data),
        8 => running::<8>(data),
        _ => running::<1>(data),
    }
}

fn running<const W: usize>(data: &mut [u8]) {
    let mut before = [0u8; W];
    for word in data.as_chunks_mut::<W>().0 {
        for (byte, last) in word.iter_mut().zip(&mut before) {
            *byte ^= *last;
            *last = *byte;
        }
    }
}

/// Reverses delta in a block other than 0, in place.
pub(crate) fn decode_other(data: &mut [u8], reference: &[u8], word: usize) {
    let whole = data.len() - data.len() % word.max(1);
    for (byte, other) in data.iter_mut().take(whole).zip(reference) {
        *byte ^= *other;
    }
}

/// Applies delta to block 0: from `data` to `out`.
#[cfg(feature = "alloc")]
pub(crate) fn encode_first(data: &[u8], word: usize, out: &mut [u8]) {
    let word = word.max(1);
    out.copy_from_slice(data);
    let whole = data.len() - data.len() % word;
    let words = out.iter_mut().take(whole).skip(word);
    for (byte, before) in words.zip(data) {
        *byte ^= *before;
    }
}

/// Applies delta to another block, from `data` to `out`. XOR is its own inverse.
#[cfg(feature = "alloc")]
pub(crate) fn encode_other(data: &[u8], reference: &[u8], word: usize, out: &mut [u8]) {
    out.copy_from_slice(data);
    decode_other(out, reference, word);
}

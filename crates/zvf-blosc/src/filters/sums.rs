//! Byte delta (filter 35): every byte of a plane less the one before it.

/// Undoes it in place, for planes of `width` interleaved bytes that lie one after another. The tail stays.
pub(crate) fn undo(data: &mut [u8], width: usize) {
    let k = data.len() / width.max(1);
    if k == 0 {
        return;
    }
    for plane in data.chunks_exact_mut(k).take(width) {
        let mut sum = 0u8;
        for byte in plane {
            sum = sum.wrapping_add(*byte);
            *byte = sum;
        }
    }
}

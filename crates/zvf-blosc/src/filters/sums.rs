//! Byte delta (filter 35): every byte of a plane minus the one before it.

/// Reverses it in place, for consecutive planes of `width` interleaved bytes. The tail stays.
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

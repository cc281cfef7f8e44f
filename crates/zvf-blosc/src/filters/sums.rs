//! Byte delta (filter 35): stores each byte of a plane minus the previous one.

/// Reverses the filter in place, for `width` consecutive planes. Bytes after the last whole plane
/// do not change.
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

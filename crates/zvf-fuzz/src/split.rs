//! Parameters from the head of the input.

/// Takes `N` parameter bytes from the front; missing ones are zero.
pub(crate) fn parameters<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    let mut head = [0; N];
    let (front, rest) = data.split_at(data.len().min(N));
    for (slot, byte) in head.iter_mut().zip(front) {
        *slot = *byte;
    }
    (head, rest)
}

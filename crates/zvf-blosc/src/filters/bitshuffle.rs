//! Bit shuffle: stores bit `b` of byte `j` of all items together, eight items in a byte.

/// Transposes a matrix of 8 times 8 bits: byte = row, bit = column.
const fn transpose(mut x: u64) -> u64 {
    let mut t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

/// How many of `n` bytes are shuffled, and the bytes of a bit plane.
const fn extent(n: usize, width: usize, whole: bool) -> (usize, usize) {
    let k = n / width;
    if whole && !k.is_multiple_of(8) {
        return (0, 0);
    }
    let k8 = k - k % 8;
    (k8 * width, k8 / 8)
}

/// Reverses a bit shuffle of items of `width` bytes. With `whole`, blocks whose number of items is no multiple of 8
/// are copied.
pub(crate) fn unbitshuffle(planes: &[u8], width: usize, whole: bool, out: &mut [u8]) {
    let (width, n) = (width.max(1), planes.len().min(out.len()));
    let (shuffled, plane) = extent(n, width, whole);
    if let (Some(to), Some(from)) = (out.get_mut(shuffled..n), planes.get(shuffled..n)) {
        to.copy_from_slice(from);
    }
    if plane == 0 {
        return;
    }
    let Some(out) = out.get_mut(..shuffled) else {
        return;
    };
    for (j, eight) in planes.chunks_exact(plane * 8).take(width).enumerate() {
        let mut lines = [&[][..]; 8];
        for (line, bits) in lines.iter_mut().zip(eight.chunks_exact(plane)) {
            *line = bits;
        }
        for (i, group) in out.chunks_exact_mut(width * 8).enumerate() {
            let rows = lines.map(|line| line.get(i).copied().unwrap_or_default());
            let columns = transpose(u64::from_le_bytes(rows)).to_le_bytes();
            for (place, byte) in group.iter_mut().skip(j).step_by(width).zip(columns) {
                *place = byte;
            }
        }
    }
}

/// Applies a bit shuffle to items of `width` bytes. With `whole`, blocks whose number of items is no multiple of 8 are
/// copied.
#[cfg(feature = "alloc")]
pub(crate) fn bitshuffle(items: &[u8], width: usize, whole: bool, out: &mut [u8]) {
    let (width, n) = (width.max(1), items.len().min(out.len()));
    let (shuffled, plane) = extent(n, width, whole);
    if let (Some(to), Some(from)) = (out.get_mut(shuffled..n), items.get(shuffled..n)) {
        to.copy_from_slice(from);
    }
    if plane == 0 {
        return;
    }
    let Some(items) = items.get(..shuffled) else {
        return;
    };
    for (j, eight) in out.chunks_exact_mut(plane * 8).take(width).enumerate() {
        for (i, group) in items.chunks_exact(width * 8).enumerate() {
            let mut columns = [0u8; 8];
            for (column, byte) in columns.iter_mut().zip(group.iter().skip(j).step_by(width)) {
                *column = *byte;
            }
            let rows = transpose(u64::from_le_bytes(columns)).to_le_bytes();
            for (line, row) in eight.chunks_exact_mut(plane).zip(rows) {
                if let Some(place) = line.get_mut(i) {
                    *place = row;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn transposing_twice_changes_nothing() {
        assert_eq!(transpose(1 << 8), 1 << 1);
        for seed in 0..1000u64 {
            let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            assert_eq!(transpose(transpose(x)), x);
        }
    }
}

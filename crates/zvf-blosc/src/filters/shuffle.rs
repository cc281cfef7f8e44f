//! Byte shuffle: byte `j` of every item together, then byte `j + 1`.

/// Items of a tile: one vector register of bytes.
const TILE: usize = 16;

/// Puts byte `j` of item `i`, stored at `j * k + i`, back to `i * width + j`, where `k` is the number of whole items;
/// what is left behind them is copied.
///
/// # Cost
///
/// One pass. Widths of 2, 4, 8 and 16 run at the speed of memory, with vector instructions the compiler finds.
///
/// Works on the shorter of the two buffers. Panics never.
pub fn unshuffle(planes: &[u8], width: usize, out: &mut [u8]) {
    let n = planes.len().min(out.len());
    let (Some(planes), Some(out)) = (planes.get(..n), out.get_mut(..n)) else {
        return;
    };
    match width {
        0 | 1 => out.copy_from_slice(planes),
        2 => fixed::<2>(planes, out),
        4 => fixed::<4>(planes, out),
        8 => fixed::<8>(planes, out),
        16 => fixed::<16>(planes, out),
        _ => any(planes, width, out),
    }
}

/// Widths that are known when this is compiled: tiles of 16 items, a plane at a time inside a tile.
fn fixed<const W: usize>(planes: &[u8], out: &mut [u8]) {
    let (items, tail) = out.as_chunks_mut::<W>();
    let k = items.len();
    if k == 0 {
        tail.copy_from_slice(planes);
        return;
    }
    let mut rows: [&[u8]; W] = [&[]; W];
    let mut lines = planes.chunks_exact(k);
    for (row, line) in rows.iter_mut().zip(&mut lines) {
        *row = line;
    }
    if let Some(rest) = planes.get(k * W..) {
        tail.copy_from_slice(rest);
    }
    let (tiles, last) = items.as_chunks_mut::<TILE>();
    let whole = tiles.len() * TILE;
    for (t, tile) in tiles.iter_mut().enumerate() {
        let mut bytes = [[0u8; TILE]; W];
        for (row, line) in bytes.iter_mut().zip(rows) {
            if let Some(part) = line.get(t * TILE..).and_then(|rest| rest.first_chunk()) {
                *row = *part;
            }
        }
        for (i, item) in tile.iter_mut().enumerate() {
            for (byte, row) in item.iter_mut().zip(&bytes) {
                *byte = row[i];
            }
        }
    }
    for (i, item) in last.iter_mut().enumerate() {
        for (byte, row) in item.iter_mut().zip(rows) {
            *byte = row.get(whole + i).copied().unwrap_or_default();
        }
    }
}

/// Any width, in stripes of items that stay in the first cache while all their planes are visited.
fn any(planes: &[u8], width: usize, out: &mut [u8]) {
    let k = out.len() / width;
    let whole = k * width;
    if let (Some(to), Some(from)) = (out.get_mut(whole..), planes.get(whole..)) {
        to.copy_from_slice(from);
    }
    let stripe = (8192 / width).max(16);
    let mut first = 0;
    while first < k {
        let count = stripe.min(k - first);
        let Some(items) = out.get_mut(first * width..(first + count) * width) else {
            return;
        };
        for j in 0..width {
            let Some(row) = planes.get(j * k + first..j * k + first + count) else {
                return;
            };
            let places = items.iter_mut().skip(j).step_by(width);
            for (place, byte) in places.zip(row) {
                *place = *byte;
            }
        }
        first += count;
    }
}

/// The other direction: bytes of items to planes.
#[cfg(feature = "alloc")]
pub(crate) fn shuffle(items: &[u8], width: usize, out: &mut [u8]) {
    let n = items.len().min(out.len());
    let width = width.max(1);
    let k = n / width;
    let (whole, stripe) = (k * width, (8192 / width).max(16));
    if let (Some(to), Some(from)) = (out.get_mut(whole..n), items.get(whole..n)) {
        to.copy_from_slice(from);
    }
    let mut first = 0;
    while first < k {
        let count = stripe.min(k - first);
        let Some(part) = items.get(first * width..(first + count) * width) else {
            return;
        };
        for j in 0..width {
            let Some(row) = out.get_mut(j * k + first..j * k + first + count) else {
                return;
            };
            for (place, byte) in row.iter_mut().zip(part.iter().skip(j).step_by(width)) {
                *place = *byte;
            }
        }
        first += count;
    }
}

//! BloscLZ, the default compressor of Blosc-1: a byte-oriented LZ77 with 13-bit distances and an escape to 16 bits.
//!
//! A control byte below 32 stands before that many plus one literal bytes. Any other starts a match: three bits
//! of length, five of distance, then bytes that extend the length while they are 255, one byte of distance, and
//! two more where the distance is at its end. The top bits of the first control byte carry a version.

/// Distance after which the two escape bytes count.
const FAR: usize = 8191;

/// Decompresses `data` into exactly `out`; `false` when the bytes are no stream of that length.
pub(super) fn decode_into(data: &[u8], out: &mut [u8]) -> bool {
    walk(data, out) == Some(out.len())
}

fn walk(data: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut input = data.iter();
    let mut control = usize::from(*input.next()? & 31);
    let mut at = 0usize;
    loop {
        if control < 32 {
            let length = control + 1;
            let literals = input.as_slice().get(..length)?;
            out.get_mut(at..at + length)?.copy_from_slice(literals);
            at += length;
            input.nth(length - 1);
        } else {
            let mut length = (control >> 5) - 1;
            let high = (control & 31) << 8;
            if length == 6 {
                loop {
                    let more = *input.next()?;
                    length = length.checked_add(usize::from(more))?;
                    if more != 255 {
                        break;
                    }
                }
            }
            length = length.checked_add(3)?;
            let low = usize::from(*input.next()?);
            let mut distance = high + low;
            if low == 255 && high == 31 << 8 {
                distance = (usize::from(*input.next()?) << 8) + usize::from(*input.next()?) + FAR;
            }
            copy_back(out, at, distance.checked_add(1)?, length)?;
            at += length;
        }
        match input.next() {
            Some(next) => control = usize::from(*next),
            None => return Some(at),
        }
    }
}

/// Copies `length` bytes from `distance` before `at` to `at`; the two may overlap.
fn copy_back(out: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length)?;
    if end > out.len() {
        return None;
    }
    if distance >= length {
        out.copy_within(from..from + length, at);
    } else if distance == 1 {
        let byte = *out.get(from)?;
        out.get_mut(at..end)?.fill(byte);
    } else {
        for i in at..end {
            *out.get_mut(i)? = *out.get(i - distance)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::decode_into;

    #[test]
    fn literals_runs_and_overlaps() {
        // Two literals "ab", then a match of 4 bytes at distance 2, then one literal.
        let stream = [1, b'a', b'b', 0b0100_0000, 1, 0, b'!'];
        let mut out = [0; 7];
        assert!(decode_into(&stream, &mut out));
        assert_eq!(&out, b"ababab!");
        let mut short = [0; 6];
        assert!(!decode_into(&stream, &mut short));
    }

    #[test]
    fn every_short_input_is_answered() {
        let mut out = [0; 16];
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let _ = decode_into(&[a, b], &mut out);
                let _ = decode_into(&[0, a, b, 255, 255], &mut out);
            }
        }
    }
}

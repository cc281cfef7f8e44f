//! BloscLZ, Blosc's own codec: a byte-oriented LZ77 with 13-bit distances and an escape to 16 bits
//! (`spec/caterva-b2nd.md` 7.6).
//!
//! A control byte `c` below 32 is followed by `c + 1` literal bytes. Any other control byte starts a
//! match: three bits of length, five of distance, then bytes that extend the length while they are 255, one byte
//! of distance, and two more if the distance has its largest value. The top bits of the first control byte hold
//! a version.

/// Largest distance without the two escape bytes.
const FAR: usize = 8191;

/// Decompresses `stream` into `out`; `false` if the stream is malformed or does not decode to exactly the length of `out`.
///
/// # Cost
///
/// Linear in the lengths of `stream` and `out`. Never allocates or panics.
///
/// # Examples
///
/// ```
/// // Two literals "ab", then a match of 4 bytes at distance 2, then one literal.
/// let stream = [1, b'a', b'b', 0b0100_0000, 1, 0, b'!'];
/// let mut out = [0; 7];
/// assert!(zvf_blosc::blosclz::decode(&stream, &mut out));
/// assert_eq!(&out, b"ababab!");
/// ```
#[must_use]
pub fn decode(stream: &[u8], out: &mut [u8]) -> bool {
    walk(stream, out) == Some(out.len())
}

fn walk(stream: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut input = stream.iter();
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

/// Copies `length` bytes that begin `distance` bytes before `at` to `at`; the two ranges may overlap.
fn copy_back(out: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length)?;
    if end > out.len() {
        return None;
    }
    if distance >= length {
        out.copy_within(from..from + length, at);
        return Some(());
    }
    // Each copy doubles what the next one can copy, so short distances need few copies.
    let mut done = 0;
    while done < length {
        let step = (distance + done).min(length - done);
        out.copy_within(from..from + step, at + done);
        done += step;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn lengths_are_exact() {
        let stream = [1, b'a', b'b', 0b0100_0000, 1, 0, b'!'];
        assert!(!decode(&stream, &mut [0; 6]));
        assert!(!decode(&stream, &mut [0; 8]));
    }

    #[test]
    fn overlaps_repeat_what_they_made() {
        // "abc", then 12 bytes at distance 3.
        let mut out = [0; 15];
        assert!(decode(&[2, b'a', b'b', b'c', 0b1110_0000, 3, 2], &mut out));
        assert_eq!(&out, b"abcabcabcabcabc");
    }

    #[test]
    fn every_short_input_is_answered() {
        let mut out = [0; 16];
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let _ = decode(&[a, b], &mut out);
                let _ = decode(&[0, a, b, 255, 255], &mut out);
            }
        }
    }
}

//! Encodes BloscLZ streams: greedy, one candidate for each hash of four bytes.

use alloc::vec::Vec;

/// Entries of the table of candidates.
const SLOTS: usize = 1 << 13;
/// Most literals after one control byte.
const LITERALS: usize = 32;
/// Shortest match that is used.
const SHORTEST: usize = 5;
/// Smallest distance, less one, that is stored in two extra bytes.
const NEAR: usize = 8191;
/// Largest distance, less one.
const MOST: usize = NEAR + 65535;

/// An encoder with its table of candidates.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    /// For each hash, one more than the last position whose four bytes have it; 0 for none.
    table: Vec<u32>,
}

impl Packer {
    /// Appends the stream of `data`, which is not empty.
    pub(crate) fn pack(&mut self, data: &[u8], out: &mut Vec<u8>) {
        self.table.clear();
        self.table.resize(SLOTS, 0);
        let mut literals = 0;
        let mut at = 0;
        while at < data.len() {
            // The first control byte always starts literals, and a match cannot begin at byte 0.
            match self.find(data, at).filter(|_| at > 0) {
                Some((distance, length)) => {
                    write_literals(data.get(literals..at).unwrap_or_default(), out);
                    write_match(distance, length, out);
                    at += length;
                    literals = at;
                }
                None => at += 1,
            }
        }
        write_literals(data.get(literals..).unwrap_or_default(), out);
    }

    /// Finds a match at `at`: its distance, less one, and its length. Adds `at` to the table.
    fn find(&mut self, data: &[u8], at: usize) -> Option<(usize, usize)> {
        let four = data.get(at..)?.first_chunk::<4>()?;
        let hash = u32::from_le_bytes(*four).wrapping_mul(2_654_435_761) >> 19;
        let slot = self.table.get_mut(hash as usize % SLOTS)?;
        let before = core::mem::replace(slot, u32::try_from(at + 1).unwrap_or(0));
        let from = (before as usize).checked_sub(1)?;
        let distance = at.checked_sub(from)?.checked_sub(1)?;
        if distance > MOST {
            return None;
        }
        let (now, then) = (data.get(at..)?, data.get(from..)?);
        let same = now.iter().zip(then).take_while(|(a, b)| a == b).count();
        // The reference reader refuses a stream whose last operation is a match.
        let length = same.min(data.len() - at - 1);
        (length >= SHORTEST).then_some((distance, length))
    }
}

fn write_literals(data: &[u8], out: &mut Vec<u8>) {
    for run in data.chunks(LITERALS) {
        out.push(u8::try_from(run.len() - 1).unwrap_or_default());
        out.extend(run);
    }
}

fn write_match(distance: usize, length: usize, out: &mut Vec<u8>) {
    let byte = |n: usize| u8::try_from(n & 255).unwrap_or_default();
    // `length - 2` in three bits; 7 marks that more bytes follow.
    let short = (length - 2).min(7);
    let near = distance.min(NEAR);
    out.push(byte(short << 5 | near >> 8));
    if short == 7 {
        let mut more = length - 2 - 7;
        while more >= 255 {
            out.push(255);
            more -= 255;
        }
        out.push(byte(more));
    }
    out.push(byte(near));
    if near == NEAR {
        let far = distance - NEAR;
        out.extend([byte(far >> 8), byte(far)]);
    }
}

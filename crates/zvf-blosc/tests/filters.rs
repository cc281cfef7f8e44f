//! Compares the filters with the formulas of the specification, bit by bit and byte by byte.

use proptest::prelude::*;
use zvf_blosc::Pipeline;
use zvf_blosc::filters::{unshuffle, unshuffle_some};

fn undo(
    slots: [(u8, u8); 6],
    typesize: usize,
    frame: usize,
    data: &[u8],
    reference: Option<&[u8]>,
) -> Vec<u8> {
    let pipeline = Pipeline::new(&slots, typesize, frame).unwrap();
    let (mut out, mut scratch) = (vec![0; data.len()], vec![0; data.len()]);
    if pipeline.starts_in_scratch() {
        scratch.copy_from_slice(data);
    } else {
        out.copy_from_slice(data);
    }
    pipeline.undo(&mut out, &mut scratch, reference).unwrap();
    out
}

/// A pipeline with a filter in slot 5 only.
fn last(id: u8, meta: u8) -> [(u8, u8); 6] {
    let mut slots = [(0, 0); 6];
    slots[5] = (id, meta);
    slots
}

fn by_formula_shuffle(data: &[u8], w: usize) -> Vec<u8> {
    let mut out = data.to_vec();
    let k = data.len() / w;
    for i in 0..k {
        for j in 0..w {
            out[i * w + j] = data[j * k + i];
        }
    }
    out
}

fn by_formula_bitshuffle(data: &[u8], w: usize) -> Vec<u8> {
    let mut out = data.to_vec();
    let k = data.len() / w;
    let k8 = k - k % 8;
    for i in 0..k8 {
        for j in 0..w {
            let bit = |b: usize| data[(8 * j + b) * (k8 / 8) + i / 8] >> (i % 8) & 1;
            out[i * w + j] = (0..8).map(|b| bit(b) << b).sum();
        }
    }
    out
}

proptest! {
    #[test]
    fn shuffle(data in prop::collection::vec(any::<u8>(), 0..3000), w in 1usize..=40, meta in 0u8..20) {
        let width = if meta == 0 { w } else { usize::from(meta) };
        prop_assert_eq!(undo(last(1, meta), w, w, &data, None), by_formula_shuffle(&data, width));
        let mut out = vec![0; data.len()];
        unshuffle(&data, width, &mut out);
        prop_assert_eq!(out, by_formula_shuffle(&data, width));
    }

    #[test]
    fn common_widths(seed in any::<u8>(), n in 0usize..40_000, w in prop::sample::select(vec![2usize, 4, 8, 12, 16, 20, 255])) {
        let data: Vec<u8> = (0..n).map(|i| (i as u8).wrapping_mul(seed) ^ (i >> 8) as u8).collect();
        let mut out = vec![0; n];
        unshuffle(&data, w, &mut out);
        prop_assert_eq!(out, by_formula_shuffle(&data, w));
    }

    #[test]
    fn shuffle_of_some(n in 1usize..400, w in 1usize..20, first in 0usize..400, step in 1usize..9, count in 1usize..100) {
        let data: Vec<u8> = (0..n * w).map(|i| (i * 31 + i / 256) as u8).collect();
        let whole = by_formula_shuffle(&data, w);
        let count = count.min((n.saturating_sub(first)).div_ceil(step));
        let mut out = vec![0; count * w];
        unshuffle_some(&data, w, first, step, &mut out);
        let wanted: Vec<u8> = (0..count).flat_map(|i| {
            let at = (first + i * step) * w;
            whole[at..at + w].to_vec()
        }).collect();
        prop_assert_eq!(out, wanted);
    }

    #[test]
    fn bitshuffle(data in prop::collection::vec(any::<u8>(), 0..2000), w in 1usize..=20) {
        prop_assert_eq!(undo(last(2, 0), w, w, &data, None), by_formula_bitshuffle(&data, w));
    }

    #[test]
    fn delta(data in prop::collection::vec(any::<u8>(), 1..900), w in 1usize..=40) {
        let e = match w { 1 | 2 | 4 | 8 => w, _ if w % 8 == 0 => 8, _ => 1 };
        let whole = data.len() / e * e;
        let mut wanted = data.clone();
        for i in e..whole {
            wanted[i] ^= wanted[i - e];
        }
        prop_assert_eq!(undo(last(3, 0), w, w, &data, None), &wanted[..]);
        let other: Vec<u8> = data.iter().rev().copied().collect();
        let mut wanted = other.clone();
        for i in 0..whole {
            wanted[i] ^= data[i];
        }
        prop_assert_eq!(undo(last(3, 0), w, w, &other, Some(&data)), wanted);
    }

    #[test]
    fn byte_delta(data in prop::collection::vec(any::<u8>(), 0..900), frame in 1usize..=12, meta in 0u8..6) {
        let w = if meta == 0 { frame } else { usize::from(meta) };
        let k = data.len() / w;
        let mut wanted = data.clone();
        for plane in 0..w {
            for i in 1..k {
                wanted[plane * k + i] = wanted[plane * k + i].wrapping_add(wanted[plane * k + i - 1]);
            }
        }
        prop_assert_eq!(undo(last(35, meta), 4, frame, &data, None), wanted);
    }

    #[test]
    fn several(data in prop::collection::vec(any::<u8>(), 0..600)) {
        // Written as shuffle, then bit shuffle; reversed in the opposite order.
        let mut slots = [(0, 0); 6];
        slots[1] = (1, 0);
        slots[2] = (4, 7);
        slots[4] = (2, 0);
        let wanted = by_formula_shuffle(&by_formula_bitshuffle(&data, 4), 4);
        prop_assert_eq!(undo(slots, 4, 4, &data, None), wanted);
    }
}

#[test]
fn unknown_filters_are_refused_by_their_id() {
    for id in [5, 32, 33, 34, 37, 160, 255] {
        let error = Pipeline::new(&last(id, 0), 4, 4).unwrap_err();
        assert_eq!(error.class(), zvf_blosc::Class::Unsupported);
        assert_eq!(error.at(), 21);
        assert!(
            error.to_string().contains(&format!("found {id},")),
            "{error}"
        );
    }
}

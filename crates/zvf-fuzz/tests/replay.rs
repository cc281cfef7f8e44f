//! Replays the committed corpora, and short inputs of every length, through every target.

use std::path::Path;

use zvf_fuzz::{STORES, TARGETS};
use zvf_testkit::sample::Sample;

#[test]
fn every_committed_input_passes() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fuzz");
    for (name, target) in TARGETS {
        let folder = corpora.join(name);
        let mut replayed = 0;
        for entry in std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            target(&std::fs::read(path).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0, "{name} has no corpus");
    }
}

/// Every truncation and every single-bit flip of every committed input, or a part of them; fewer where each costs a whole store.
#[test]
fn damaged_inputs_pass() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fuzz");
    for (name, target) in TARGETS {
        let step = if STORES.contains(name) { 11 } else { 1 };
        let sample = Sample::new(name);
        for entry in std::fs::read_dir(corpora.join(name)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            if bytes.len() > 600 {
                continue;
            }
            for end in sample.some((0..bytes.len()).step_by(step), 6) {
                target(&bytes[..end]);
            }
            for bit in sample.some((0..bytes.len() * 8).step_by(step), 6) {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                target(&damaged);
            }
        }
    }
}

#[test]
fn short_inputs_pass() {
    for (name, target) in TARGETS {
        // Where each input costs a whole store, a part of the lengths, chosen by the day.
        let share = if STORES.contains(name) { 8 } else { 1 };
        for length in Sample::new(name).some(0..64, share) {
            for byte in [0, 1, 2, 127, 128, 255] {
                target(&vec![byte; length]);
            }
        }
    }
}

//! Every sample, cut at many lengths and with bytes flipped: a read returns an error or items, never
//! panics, and uses little memory.

use zvf_caterva::{Axis, Frame, FrameView, ReadOptions, Selection};

use crate::support::{folder, samples};

/// Opens a frame and reads slices, chunks and metalayers; ignores errors.
fn exercise(bytes: &[u8]) -> bool {
    let _ = FrameView::parse(bytes).map(|view| view.nd().is_ok());
    let Ok(frame) = Frame::from_bytes(bytes.to_vec()) else {
        return false;
    };
    for layer in frame.vlmetalayers().unwrap().iter() {
        if let Ok(name) = std::str::from_utf8(layer.name) {
            let _ = frame.vlmeta(name, 1 << 16);
        }
    }
    for chunk in 0..frame.header().chunk_count().min(4) {
        let _ = frame.chunk(chunk, 1 << 16);
    }
    let Ok(array) = frame.into_array() else {
        return true;
    };
    let shape = array.geometry().shape;
    let options = ReadOptions {
        threads: 1,
        ..ReadOptions::default()
    };
    let axes: Vec<Axis> = shape
        .iter()
        .map(|n| Axis::new(n / 3, (n / 3 + 2).min(*n), 1))
        .collect();
    let selections = [Selection::new(&axes, &shape), Selection::all(&shape)];
    for selection in selections.into_iter().flatten() {
        let n = selection
            .count()
            .and_then(|n| n.checked_mul(array.geometry().item as u64));
        if let Some(n) = n.filter(|n| *n <= 1 << 16) {
            let mut out = vec![0; n as usize];
            let _ = array.read_into(&selection, &mut out, &options);
        }
    }
    true
}

fn contiguous() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for sample in samples() {
        if sample["layout"] == "contiguous" {
            let name = sample["file"].as_str().unwrap().to_owned();
            let bytes = std::fs::read(folder().join(&name)).unwrap();
            all.push((name, bytes));
        }
    }
    all
}

#[test]
fn every_prefix_is_refused() {
    for (name, bytes) in contiguous() {
        let step = (bytes.len() / 700).max(1);
        for end in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            assert!(!exercise(&bytes[..end]), "{name} cut at {end}");
        }
        assert!(exercise(&bytes), "{name}");
    }
}

#[test]
fn flipped_bits_are_answered() {
    for (name, bytes) in contiguous() {
        // Every byte of header, index and trailer of small samples, and a part of the bytes of larger ones.
        let step = (bytes.len() / 600).max(1);
        for at in (0..bytes.len()).step_by(step).chain(0..87) {
            for flip in [1u8, 0x80, 0x55, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                exercise(&broken);
            }
        }
        assert!(exercise(&bytes), "{name}");
    }
}

#[test]
fn damaged_samples_are_swept_as_well() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with('x') {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            for flip in [1u8, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                exercise(&broken);
            }
        }
    }
}

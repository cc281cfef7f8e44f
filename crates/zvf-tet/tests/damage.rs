//! Cut and flipped fixtures give an error or a result of the right size, never a panic, and use little
//! memory.

use zvf_tet::{OpenOptions, Profile, Tet, TetFile, verify};

use crate::support::{bytes, files};

/// Opens in both profiles, with and without a heap, and reads every file that opens.
fn try_all(bytes: &[u8]) {
    for profile in [Profile::Strict, Profile::Lenient] {
        let _ = Tet::open_in(bytes, profile, &mut []);
        let options = OpenOptions::default().with_profile(profile).with_threads(1);
        let file = TetFile::from_bytes_with(bytes.to_vec(), options);
        let report = verify(&file);
        let Ok(file) = file else {
            assert!(!report.is_ok());
            continue;
        };
        let mut decoded = true;
        for dataset in file.datasets() {
            assert!(
                file.plan(dataset, &dataset.all()).unwrap().count() as u64
                    == dataset.geometry().tiles
            );
            if dataset.geometry().bytes > 1 << 20 {
                decoded = false;
                continue;
            }
            let _ = file.raw_span(dataset);
            match file.get(dataset, &dataset.all()) {
                Ok(bytes) => assert_eq!(bytes.len() as u64, dataset.geometry().bytes),
                Err(error) => {
                    assert!(
                        error.class().is_some() || matches!(error, zvf_tet::Error::Limit { .. }),
                        "{error}"
                    );
                    decoded = false;
                }
            }
        }
        if decoded {
            assert!(report.is_ok(), "{report:?}");
        }
    }
}

fn names() -> Vec<String> {
    ["manifest.json", "derived/manifest.json"]
        .into_iter()
        .flat_map(files)
        .map(|entry| entry["file"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn cut_files_are_errors() {
    for name in names() {
        let bytes = bytes(&name);
        // Every cut of the front, and every 7th after it.
        for end in
            (0..bytes.len()).filter(|end| *end < 600 || end % 7 == 0 || bytes.len() - end < 40)
        {
            try_all(&bytes[..end]);
        }
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    for entry in files("manifest.json") {
        let mut bytes = bytes(entry["file"].as_str().unwrap());
        for at in 0..bytes.len() {
            // Flips one bit of every byte of the larger files, three of the small ones.
            let bits: &[u32] = if bytes.len() > 2000 {
                &[at as u32 % 8]
            } else {
                &[0, 3, 7]
            };
            for bit in bits {
                bytes[at] ^= 1 << bit;
                try_all(&bytes);
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn numbers_at_their_limits_do_no_harm() {
    for name in [
        "f32_1d_edge_raw.tet",
        "f64_2d_edge_zstd.tet",
        "footer_v1_meta.tet",
        "rank8_u16.tet",
    ] {
        let good = bytes(name);
        for at in (0..good.len().min(900).saturating_sub(8)).step_by(4) {
            for value in [0, 1, u64::MAX, u64::MAX / 2, 1 << 32, 1 << 62] {
                let mut bytes = good.clone();
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                try_all(&bytes);
            }
        }
    }
}

#[test]
fn a_small_payload_cannot_ask_for_much_memory() {
    // One zstd tile of 36 bytes that claims to decode to 2^40: shape, chunk shape and length agree.
    let mut bytes = Vec::new();
    let frame = zstd_of_zeros();
    bytes.extend_from_slice(b"TETR");
    for word in [1_u32, 1, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for word in [80_u64, 136, 40] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for word in [1_u32, 5, 1, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(b"z\0\0\0\0\0\0\0");
    for word in [1_u64 << 40, 1 << 40] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(b"TIDX\x01\0\0\0");
    for word in [1_u64, 0, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for word in [
        0_u64,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        216,
        1 << 40,
        frame.len() as u64,
        1,
    ] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&frame);
    let file = TetFile::from_bytes(bytes).unwrap();
    let dataset = &file.datasets()[0];
    let error = file.read(dataset, &dataset.all()).unwrap_err();
    assert!(matches!(error, zvf_tet::Error::Limit { .. }), "{error}");
    let one = dataset.select(&[zvf_tet::Axis::at(5)]).unwrap();
    let error = file.read(dataset, &one).unwrap_err();
    assert_eq!(error.class().unwrap().name(), "decoded_length_mismatch");
    assert!(!verify(&Ok(file)).is_ok());
}

/// A hand-made frame: no content size; one last block that repeats a byte for 128 KiB.
fn zstd_of_zeros() -> Vec<u8> {
    let block = (1_u32 | (1 << 1) | ((128 << 10) << 3)).to_le_bytes();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    frame.extend_from_slice(&block[..3]);
    frame.push(0);
    frame
}

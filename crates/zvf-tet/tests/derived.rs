//! Every modified fixture gets the result and the class of its manifest, in both profiles and in every way to open it.

use zvf_tet::{Class, Error, Profile, Tet, TetFile, verify};

use crate::support::{bytes, everything, files, ways};

/// Opens a file, then decodes all tiles.
fn judge(file: Result<TetFile, Error>) -> Result<TetFile, Error> {
    let file = file?;
    for dataset in file.datasets() {
        everything(&file, dataset)?;
    }
    Ok(file)
}

#[test]
fn every_changed_file_gets_its_verdict() {
    let mut counts = [0; 4];
    for entry in files("derived/manifest.json") {
        let name = entry["file"].as_str().unwrap();
        let class = entry["class"].as_str();
        let verdict = entry["verdict"].as_str().unwrap();
        let place = ["accept", "accept_lenient", "reject", "reject_strict"];
        counts[place.iter().position(|known| *known == verdict).unwrap()] += 1;
        for profile in [Profile::Strict, Profile::Lenient] {
            for (way, file) in ways(name, profile) {
                let report = verify(&file);
                let judged = judge(file);
                let refused = verdict == "reject"
                    || (verdict == "reject_strict" && profile == Profile::Strict);
                if refused {
                    let error = judged.unwrap_err();
                    let found = error.class().map(Class::name);
                    assert_eq!(found, class, "{name} {way} {profile:?}: {error}");
                    assert!(!report.is_ok());
                    let reported = report.findings.iter().find_map(|finding| {
                        (finding.severity == zvf_tet::VerifySeverity::Error)
                            .then_some(finding.class)
                    });
                    assert_eq!(reported.flatten().map(Class::name), class, "{name} {way}");
                } else {
                    let file =
                        judged.unwrap_or_else(|error| panic!("{name} {way} {profile:?}: {error}"));
                    assert!(report.is_ok(), "{name} {report:?}");
                    let warned = |class| {
                        file.proof()
                            .warnings
                            .iter()
                            .any(|warning| warning.class.name() == class)
                    };
                    if verdict == "accept_lenient" {
                        assert!(warned(class.unwrap()), "{name} {:?}", file.proof().warnings);
                    } else if verdict == "accept" {
                        assert!(
                            !warned("reserved_nonzero") && !warned("unknown_flag"),
                            "{name}"
                        );
                    }
                }
            }
        }
    }
    assert_eq!(counts, [18, 6, 58, 6], "verdicts of the manifest");
}

#[test]
fn views_without_a_heap_find_the_same() {
    for entry in files("derived/manifest.json") {
        let bytes = bytes(entry["file"].as_str().unwrap());
        for profile in [Profile::Strict, Profile::Lenient] {
            let mut scratch = [0; 64];
            let view =
                Tet::open_in(&bytes, profile, &mut scratch).map(|(_, proof)| proof.payload_end);
            let with_heap = Tet::open(&bytes, profile).map(|(_, proof)| proof.payload_end);
            assert_eq!(view, with_heap);
            let options = zvf_tet::OpenOptions::default().with_profile(profile);
            match (view, TetFile::from_bytes_with(bytes.clone(), options)) {
                (Ok(end), Ok(file)) => assert_eq!(end, file.proof().payload_end),
                (Err(error), Err(other)) => assert_eq!(Some(&error), other.fault()),
                // Only a JSON library finds members of the wrong type.
                (Ok(_), Err(error)) => assert!(matches!(error, Error::Json { .. }), "{error}"),
                (Err(error), Ok(_)) => panic!("{}: {error}", entry["file"]),
            }
        }
    }
}

#[test]
fn unaligned_and_aligned_payloads_hold_what_they_should() {
    for name in [
        "derived/misaligned_raw_all_dtypes.tet",
        "derived/aligned_payloads.tet",
    ] {
        for (_, file) in ways(name, Profile::Strict) {
            let file = file.unwrap();
            for dataset in file.datasets() {
                let all = everything(&file, dataset).unwrap();
                if dataset.name() == "pad" {
                    assert_eq!(all, [1]);
                    continue;
                }
                let values: Vec<f64> = all
                    .chunks_exact(dataset.item())
                    .map(|element| match dataset.geometry().dtype.name() {
                        "f32" => f32::from_le_bytes(element.try_into().unwrap()).into(),
                        "f64" => f64::from_le_bytes(element.try_into().unwrap()),
                        "f16" => half(u16::from_le_bytes(element.try_into().unwrap())),
                        // Small positive whole numbers.
                        _ => element[0].into(),
                    })
                    .collect();
                let expected: Vec<f64> = (0..16).map(f64::from).collect();
                assert_eq!(values, expected, "{name} {}", dataset.name());
            }
        }
    }
}

/// Small positive normal binary16 numbers, and 0.
fn half(bits: u16) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let exponent = i32::from(bits >> 10) - 15;
    (1.0 + f64::from(bits & 0x3ff) / 1024.0) * 2_f64.powi(exponent)
}

#[test]
fn errors_say_where_and_what() {
    for (name, text) in [
        (
            "en_codec2",
            "unknown_codec: entry 0: codec at byte 208: 2 found, expected 0 or 1",
        ),
        (
            "trunc_463",
            "payload_out_of_bounds: entry 2: payload_offset + stored_byte_len at byte 392: 464 found, expected at most 463",
        ),
        (
            "rec_ndim9",
            "bad_rank: dataset 0: ndim at byte 48: 9 found, expected 1 to 8",
        ),
    ] {
        let error = TetFile::from_bytes(bytes(&format!("derived/{name}.tet"))).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn too_little_storage_is_said() {
    let bytes = bytes("derived/en_swapped.tet");
    let error = Tet::open_in(&bytes, Profile::Strict, &mut [0; 2]).unwrap_err();
    assert_eq!(error.class(), Class::ScratchTooSmall);
    let (tet, proof) = Tet::open_in(&bytes, Profile::Strict, &mut [0; 3]).unwrap();
    assert!(!proof.canonical);
    let grid = tet.record("x").unwrap().grid().unwrap();
    assert_eq!(tet.find(0, 0, &grid, &[0]).unwrap().0, 1);
}

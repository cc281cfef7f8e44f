//! Compares the walkers with the decoders: whole blobs, every truncation, bit flips, noise.

use zvf_format::dtype::DType;
use zvf_format::fragments::FragmentIndex;
use zvf_format::manifest::Manifest;
use zvf_format::ragged::RaggedBlob;
use zvf_format::vlen::VlenChunk;
use zvf_store::CellFacts;

use super::dump::{Dump, Walk};
use super::{guess, json, render, take_apart};
use crate::args::BlobArg;

/// A small generator of noise with a fixed seed.
struct Noise(u64);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.to_le_bytes()[3]
    }
}

const ALL: [BlobArg; 16] = [
    BlobArg::FragmentIndex,
    BlobArg::Manifest,
    BlobArg::Links,
    BlobArg::RaggedLinks,
    BlobArg::Ragged,
    BlobArg::Vlen,
    BlobArg::Shard,
    BlobArg::Vertices,
    BlobArg::Attribute,
    BlobArg::Group,
    BlobArg::Json,
    BlobArg::Records,
    BlobArg::Manifests,
    BlobArg::Offsets,
    BlobArg::Mask,
    BlobArg::Names,
];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// The worked example of the fragment-index page.
fn worked_example() -> Vec<u8> {
    hex("4746565a 0100 0000 03000000 02000000 0500000000000000 0000000000000000 0400000000000000
         1400000000000000 0800000000000000 00000000 03000000 0c00000000000000 0700000000000000 1300000000000000")
}

fn manifest() -> Vec<u8> {
    hex(
        "03000000 feffffffffffffff ffffffffffffffff 00 0000000000000000
         0000000000000000 0100000000000000 01 0200000000000000 0300000000000000
         0000000000000000 0200000000000000 02 02000000 0500000000000000 0100000000000000",
    )
}

fn ragged() -> Vec<u8> {
    hex("0200000000000000 0000000000000000 1800000000000000
         000000000000000000000000000000000000000000000000 010000000000000001000000000000000000000000000000")
}

fn dump_of(bytes: &[u8], blob: BlobArg, known: &CellFacts) -> Dump {
    let mut dump = Dump::new(4);
    take_apart(&mut dump, bytes, blob, known);
    let text = render::text(&dump);
    assert!(
        text.len() < 100_000,
        "{} bytes of text for {} bytes of {blob:?}",
        text.len(),
        bytes.len()
    );
    let _ = serde_json::to_value(&dump);
    dump
}

/// Checks, for every truncation and every flipped bit of a blob, that the walker reports damage exactly when the decoder refuses the blob.
fn agrees(bytes: &[u8], blob: BlobArg, known: &CellFacts, accepts: impl Fn(&[u8]) -> bool) {
    let check = |bytes: &[u8], what: &str| {
        let fault = dump_of(bytes, blob, known).fault;
        assert_eq!(
            fault.is_none(),
            accepts(bytes),
            "{blob:?} {what}: {fault:?}"
        );
        if let Some(fault) = fault {
            assert!(fault.at <= bytes.len() as u64, "{blob:?} {what}: {fault:?}");
        }
    };
    check(bytes, "whole");
    for length in 0..bytes.len() {
        check(&bytes[..length], &format!("cut to {length}"));
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&flipped, &format!("bit {bit} flipped"));
    }
}

#[test]
fn fragment_indexes_agree_with_the_decoder() {
    let accepts = |bytes: &[u8]| {
        FragmentIndex::parse(bytes)
            .is_ok_and(|index| index.verify().is_ok() && index.extent().is_ok())
    };
    agrees(
        &worked_example(),
        BlobArg::FragmentIndex,
        &CellFacts::default(),
        accepts,
    );
    agrees(
        &worked_example()[..16],
        BlobArg::FragmentIndex,
        &CellFacts::default(),
        accepts,
    );
}

#[test]
fn manifests_agree_with_the_decoder() {
    let known = CellFacts {
        key_rank: Some(2),
        ..CellFacts::default()
    };
    agrees(&manifest(), BlobArg::Manifest, &known, |bytes| {
        Manifest::parse(bytes, 2).is_ok()
    });
}

#[test]
fn ragged_blobs_agree_with_the_decoder() {
    agrees(&ragged(), BlobArg::Ragged, &CellFacts::default(), |bytes| {
        RaggedBlob::parse(bytes).is_ok()
    });
}

#[test]
fn framing_agrees_with_the_decoder() {
    let known = CellFacts {
        elements: Some(3),
        ..CellFacts::default()
    };
    let bytes = hex("03000000 02000000 0102 00000000 01000000 ff");
    agrees(&bytes, BlobArg::Vlen, &known, |bytes| {
        VlenChunk::parse(bytes, 3).is_ok()
    });
}

#[test]
fn the_worked_example_is_explained() {
    let dump = dump_of(
        &worked_example(),
        BlobArg::FragmentIndex,
        &CellFacts::default(),
    );
    let text = render::text(&dump);
    for line in [
        "'ZVFG'",
        "fragment 0: rows 0..4",
        "12 7 19",
        "fragment 2: rows 20..28",
        "names rows 0..28",
        "does not tile",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn damage_is_shown_where_it_is() {
    let mut bytes = worked_example();
    bytes.truncate(0x44);
    let dump = dump_of(&bytes, BlobArg::FragmentIndex, &CellFacts::default());
    let text = render::text(&dump);
    assert!(text.contains("fragment 2: rows 20..28"), "{text}");
    assert_eq!(
        dump.fault.map(|fault| (fault.at, fault.message)),
        Some((0x40, "list row cut short: found 4 bytes, expected 8".into()))
    );
}

#[test]
fn link_rows_undo_their_permutation() {
    let known = CellFacts {
        width: Some(2),
        perm: Some(true),
        dtype: DType::parse("int64").ok(),
        endpoints: vec!["chunk 0.0.0".into(), "chunk 1.0.0".into()],
        ..CellFacts::default()
    };
    let bytes =
        hex("0100000000000000 0000000000000000 0100000000000000 0100000000000000 0000000000000000");
    let text = render::text(&dump_of(&bytes, BlobArg::RaggedLinks, &known));
    assert!(
        text.contains("record 0, endpoint 1: row 1 of chunk 0.0.0"),
        "{text}"
    );
    assert!(
        text.contains("record 0, endpoint 0: row 0 of chunk 1.0.0"),
        "{text}"
    );
    let mut wrong = bytes.clone();
    wrong[16] = 2;
    let fault = dump_of(&wrong, BlobArg::RaggedLinks, &known).fault;
    assert_eq!(fault.map(|fault| fault.at), Some(16));
}

#[test]
fn blobs_are_recognised() {
    assert_eq!(
        guess::guess(&worked_example()),
        Some(BlobArg::FragmentIndex)
    );
    assert_eq!(guess::guess(&manifest()), Some(BlobArg::Manifest));
    assert_eq!(guess::guess(&ragged()), Some(BlobArg::Ragged));
    assert_eq!(guess::guess(b" {\"a\": 1}"), Some(BlobArg::Json));
    let mut framed = 1u32.to_le_bytes().to_vec();
    framed.extend((worked_example().len() as u32).to_le_bytes());
    framed.extend(worked_example());
    assert_eq!(guess::guess(&framed), Some(BlobArg::Vlen));
    let mut shard = framed.clone();
    let mut index = 0u64.to_le_bytes().to_vec();
    index.extend((framed.len() as u64).to_le_bytes());
    index.extend([0xff; 16]);
    shard.extend(&index);
    shard.extend(crc32c::crc32c(&index).to_le_bytes());
    assert_eq!(guess::guess(&shard), Some(BlobArg::Shard));
    let text = render::text(&dump_of(&shard, BlobArg::Shard, &CellFacts::default()));
    assert!(text.contains("1 of 2 inner chunks are present"), "{text}");
    assert_eq!(guess::guess(b""), None);
}

#[test]
fn noise_never_panics() {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let contexts = [
        CellFacts::default(),
        CellFacts {
            key_rank: Some(16),
            width: Some(8),
            perm: Some(true),
            dtype: DType::parse("uint8").ok(),
            ..CellFacts::default()
        },
        CellFacts {
            elements: Some(u64::MAX),
            entries: Some(u64::MAX),
            element: Some(u64::MAX),
            first_row: u64::MAX,
            ..CellFacts::default()
        },
        CellFacts {
            width: Some(1024),
            dtype: DType::parse("<U5").ok(),
            offsets: vec![0, 4, 4, 33],
            levels: Some((0, -1)),
            ..CellFacts::default()
        },
    ];
    for length in 0..200 {
        let mut bytes: Vec<u8> = (0..length).map(|_| noise.byte()).collect();
        // Walkers read further with small counts than with random ones.
        if length % 2 == 0 {
            for byte in bytes.iter_mut().skip(1) {
                *byte &= if length % 4 == 0 { 0x01 } else { 0x07 };
            }
        }
        let _ = guess::guess(&bytes);
        for blob in ALL {
            for known in &contexts {
                dump_of(&bytes, blob, known);
            }
        }
        // The same noise after a valid header.
        let mut behind = worked_example()[..16].to_vec();
        behind.extend(&bytes);
        dump_of(&behind, BlobArg::FragmentIndex, &CellFacts::default());
    }
}

/// Every array cell and document of a bundled store, as it is stored, truncated at many positions.
#[test]
fn bundled_files_never_panic() -> anyhow::Result<()> {
    for case in ["points_ids", "points_4d_sharded", "graph", "skeleton"] {
        for (n, (key, bytes)) in zvf_testkit::files(case)?.into_iter().enumerate() {
            if n % 7 != 0 {
                continue;
            }
            let step = (bytes.len() / 40).max(1);
            for length in (0..=bytes.len()).step_by(step) {
                let cut = bytes.get(..length).unwrap_or_default();
                if let Some(blob) = guess::guess(cut) {
                    let dump = dump_of(cut, blob, &CellFacts::default());
                    assert!(
                        length < bytes.len() || dump.fault.is_none(),
                        "{case} {key}: {:?}",
                        dump.fault
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_byte_of_the_damage_of_a_document() {
    let mut dump = Dump::new(8);
    let _ = json::walk(&mut Walk::new(&mut dump, b"{\"a\": 1,\n \"b\": x}"));
    assert_eq!(dump.fault.map(|fault| fault.at), Some(15));
}

#[test]
fn the_depth_of_a_document_is_bounded() {
    let text = "{\"a\":".repeat(100) + "1" + &"}".repeat(100);
    let mut dump = Dump::new(8);
    let _ = json::walk(&mut Walk::new(&mut dump, text.as_bytes()));
    assert_eq!(dump.fault, None);
    assert!(dump.sections[0].fields.len() < 10);
}

//! Runs every decoder on damaged blobs of every kind, including blobs for other decoders.

use zvf_format::DecodeError;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::fragments::{FragmentIndex, FragmentIndexBuilder, RankDirectory};
use zvf_format::links::legacy::FlatRecords;
use zvf_format::links::{CellForm, LinkCell, LinkCellBuilder};
use zvf_format::manifest::{Manifest, ManifestBuilder};
use zvf_format::ragged::{RaggedBlob, RaggedBuilder};
use zvf_format::vlen::{VlenBuilder, VlenChunk, VlenDirectory};

/// One blob of each kind.
fn samples() -> Vec<Vec<u8>> {
    let mut index = FragmentIndexBuilder::new();
    for f in 0..70 {
        index.push_range(f, f % 3).unwrap();
        if f % 9 == 0 {
            index.push_rows(&[f + 2, f]).unwrap();
        }
    }
    let index = index.finish();

    let mut manifest = ManifestBuilder::new(2).unwrap();
    manifest.push(&[-1, 0], 3).unwrap();
    manifest.push_range(&[0, 0], 1, 4).unwrap();
    manifest.push_list(&[7, 7], &[2, 0, 5]).unwrap();
    let manifest = manifest.finish();

    let form = CellForm::derive(
        3,
        0,
        &[0, 1, 1, 0],
        false,
        false,
        DType::little(DTypeKind::I32),
    );
    let mut links = LinkCellBuilder::new(form);
    links.push(&[2, 0, 1], &[5, 6, 7]).unwrap();
    links.end_group();
    links.push(&[0, 1, 2], &[8, 9, 10]).unwrap();
    let links = links.finish();

    let mut vlen = VlenBuilder::new();
    let mut ragged = RaggedBuilder::new();
    for blob in [&manifest, &links, &Vec::new()] {
        vlen.push(blob).unwrap();
        ragged.push(blob);
    }
    vec![index, manifest, links, vlen.finish(), ragged.finish()]
}

/// Runs every decoder and iterates over its results; returns the number of decoders that succeeded.
fn decode(bytes: &[u8]) -> usize {
    let mut content = 0;
    let mut note = |result: Result<(), DecodeError>| match result {
        Ok(()) => content += 1,
        Err(error) => {
            // An error names field and position, and has exactly one class.
            let classes = [
                error.is_truncated(),
                error.is_malformed(),
                error.is_unsupported(),
                error.is_limit(),
            ];
            assert_eq!(classes.into_iter().filter(|&class| class).count(), 1);
            assert!(!error.what().is_empty() && error.at() <= bytes.len() as u64);
            let text = error.to_string();
            assert!(
                text.contains("found ") && text.contains("expected ") && !text.ends_with('.'),
                "{text}"
            );
        }
    };
    note(FragmentIndex::parse(bytes).and_then(|index| {
        let directory = RankDirectory::build(&index);
        for f in 0..index.len().min(100) {
            assert_eq!(directory.get(&index, f), index.get(f));
        }
        let rows = index
            .iter()
            .map(|fragment| fragment.rows().take(100).count())
            .sum::<usize>();
        let _ = (rows, index.extent(), index.tiles(100));
        index.check(100)
    }));
    for rank in [1, 2, 3] {
        note(Manifest::parse(bytes, rank).map(|manifest| {
            assert_eq!(manifest.blocks().count(), manifest.len() as usize);
            let walked = manifest.fragment_refs().take(1000).count() as u64;
            assert_eq!(walked, manifest.fragment_count().min(1000));
        }));
    }
    note(RaggedBlob::parse(bytes).map(|blob| {
        assert_eq!(
            blob.iter().map(<[u8]>::len).sum::<usize>(),
            blob.data().len()
        );
    }));
    for count in [0, 1, 3] {
        note(VlenChunk::parse(bytes, count).map(|chunk| {
            let directory = VlenDirectory::build(&chunk);
            assert!(
                (0..)
                    .zip(&chunk)
                    .all(|(i, element)| directory.get(&chunk, i) == Some(element))
            );
        }));
    }
    for (link_width, has_perm, ragged, dtype) in [
        (2, false, false, DType::I64),
        (3, true, true, DType::little(DTypeKind::I32)),
        (1, false, true, DType::little(DTypeKind::U8)),
    ] {
        let form = CellForm {
            link_width,
            has_perm,
            ragged,
            dtype,
        };
        note(LinkCell::parse(bytes, form).map(|cell| {
            let _ = cell.check();
            let mut rows = [0; 3];
            for record in cell.iter() {
                let _ = record.restore(&mut rows[..link_width]);
            }
        }));
    }
    note(FlatRecords::parse(bytes, 2, 1).map(|records| {
        assert_eq!(records.endpoint(0, 1).is_some(), !records.is_empty());
    }));
    content
}

#[test]
fn whole_blobs_are_read_by_their_decoder() {
    for blob in samples() {
        assert!(decode(&blob) > 0);
    }
}

#[test]
fn every_truncation_is_a_value_or_an_error() {
    for blob in samples() {
        for end in 0..blob.len() {
            decode(&blob[..end]);
        }
    }
}

#[test]
fn every_flipped_bit_is_a_value_or_an_error() {
    for mut blob in samples() {
        for bit in 0..blob.len() * 8 {
            blob[bit / 8] ^= 1 << (bit % 8);
            decode(&blob);
            blob[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_number_at_its_largest_is_a_value_or_an_error() {
    for mut blob in samples() {
        for at in 0..blob.len() {
            for (width, value) in [(1, 0xFF), (4, 0xFF), (8, 0xFF), (8, 0x7F), (4, 0x80)] {
                let end = (at + width).min(blob.len());
                let old = blob[at..end].to_vec();
                blob[at..end].fill(0xFF);
                blob[end - 1] = value;
                decode(&blob);
                blob[at..end].copy_from_slice(&old);
            }
        }
    }
}

//! Compares every valid sample with its manifest.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::Value;
use zvf_caterva::dtype::ItemKind;
use zvf_caterva::{
    Array, Entry, Frame, FrameLayout, FrameView, NdKind, NdMeta, ReadOptions, Selection,
    SpecialKind, find_nd,
};

use crate::support::{boxed, folder, hex, numbers, samples, sha};

#[test]
fn headers_are_as_listed() {
    for sample in samples() {
        let name = sample["file"].as_str().unwrap();
        let frame = Frame::open(folder().join(name)).unwrap();
        let (header, listed) = (frame.header(), &sample["frame"]);
        let number = |key: &str| listed[key].as_u64().unwrap();
        assert_eq!(u64::from(header.header_len), number("header_len"), "{name}");
        assert_eq!(header.frame_len, number("frame_len"), "{name}");
        assert_eq!(
            u64::from(header.general_flags),
            number("general_flags"),
            "{name}"
        );
        assert_eq!(u64::from(header.codec), number("codec_byte"), "{name}");
        assert_eq!(header.nbytes, number("nbytes"), "{name}");
        assert_eq!(header.cbytes, number("cbytes"), "{name}");
        assert_eq!(u64::from(header.typesize), number("typesize"), "{name}");
        assert_eq!(u64::from(header.blocksize), number("blocksize"), "{name}");
        assert_eq!(u64::from(header.chunksize), number("chunksize"), "{name}");
        assert_eq!(header.chunk_count(), number("nchunks"), "{name}");
        assert_eq!(
            header.has_vlmetalayers,
            listed["has_vlmetalayers"].as_bool().unwrap(),
            "{name}"
        );
        let sparse = sample["layout"] == "sparse";
        assert_eq!(header.layout == FrameLayout::Sparse, sparse, "{name}");
    }
}

#[test]
fn metalayers_are_as_listed() {
    for sample in samples() {
        let name = sample["file"].as_str().unwrap();
        let frame = Frame::open(folder().join(name)).unwrap();
        let layers = frame.metalayers().unwrap();
        let listed = sample["metalayers"].as_object().unwrap();
        assert_eq!(layers.len(), listed.len(), "{name}");
        for (key, content) in listed {
            assert_eq!(
                layers.get(key).unwrap(),
                hex(content.as_str().unwrap()),
                "{name} {key}"
            );
        }
        let listed = sample["vlmetalayers"].as_object().unwrap();
        let layers = frame.vlmetalayers().unwrap();
        assert_eq!(layers.len(), listed.len(), "{name}");
        for (key, content) in listed {
            let stored = content["stored_bytes"].as_u64().unwrap();
            assert_eq!(
                layers.get(key).unwrap().len() as u64,
                stored,
                "{name} {key}"
            );
            let decoded = frame.vlmeta(key, 1 << 20).unwrap().unwrap();
            assert_eq!(
                decoded,
                hex(content["decoded_hex"].as_str().unwrap()),
                "{name} {key}"
            );
        }
        assert!(frame.vlmeta("no such layer", 1).unwrap().is_none());
    }
}

#[test]
fn entries_are_as_listed() {
    for sample in samples() {
        let name = sample["file"].as_str().unwrap();
        let frame = Frame::open(folder().join(name)).unwrap();
        let count = frame.header().chunk_count();
        let entries: Vec<Entry> = (0..count)
            .map(|chunk| frame.entry(chunk).unwrap())
            .collect();
        if let Some(listed) = sample["chunk_offsets"].as_array() {
            assert_eq!(entries.len(), listed.len(), "{name}");
            for (entry, listed) in entries.iter().zip(listed) {
                assert_eq!(*entry, entry_of(listed), "{name}");
            }
        } else {
            let raw: Vec<u8> = entries
                .iter()
                .flat_map(|entry| entry.raw().to_le_bytes())
                .collect();
            assert_eq!(
                sha(&raw),
                sample["chunk_offsets_sha256_le_i64"].as_str().unwrap(),
                "{name}"
            );
        }
        assert!(frame.entry(count).is_err());
    }
}

fn entry_of(listed: &Value) -> Entry {
    match listed.as_u64() {
        Some(at) => Entry::At(at),
        None => Entry::Special(match listed.as_str().unwrap() {
            "zero" | "zeros" => SpecialKind::Zeros,
            "nan" => SpecialKind::Nan,
            "uninit" | "uninitialised" | "uninitialized" => SpecialKind::Uninit,
            other => panic!("{other}"),
        }),
    }
}

#[test]
fn arrays_and_slices_are_as_listed() {
    let mut arrays = 0;
    for sample in samples()
        .into_iter()
        .filter(|sample| !sample["nd"].is_null())
    {
        let name = sample["file"].as_str().unwrap();
        let array = Array::open(folder().join(name)).unwrap();
        check_array(&sample, &array);
        if sample["layout"] == "contiguous" {
            let bytes = std::fs::read(folder().join(name)).unwrap();
            check_array(&sample, &Array::from_bytes(bytes).unwrap());
        }
        arrays += 1;
    }
    assert_eq!(arrays, 29);
}

fn check_array(sample: &Value, array: &Array) {
    let name = sample["file"].as_str().unwrap();
    let nd = &sample["nd"];
    let geometry = array.geometry();
    assert_eq!(array.kind() == NdKind::B2nd, nd["kind"] == "b2nd", "{name}");
    assert_eq!(geometry.shape[..], numbers(&nd["shape"]), "{name}");
    assert_eq!(geometry.chunk[..], numbers(&nd["chunkshape"]), "{name}");
    assert_eq!(geometry.block[..], numbers(&nd["blockshape"]), "{name}");
    assert_eq!(
        array.dtype().text(),
        nd["dtype"].as_str().unwrap_or_default(),
        "{name}"
    );
    assert_eq!(
        array.dtype().kind() == ItemKind::Opaque,
        nd["dtype"].is_null(),
        "{name}"
    );
    for threads in [1, 2] {
        let options = ReadOptions {
            threads,
            ..ReadOptions::default()
        };
        let all = Selection::all(&geometry.shape).unwrap();
        let mut items = vec![0xaa; geometry.nbytes() as usize];
        array.read_into(&all, &mut items, &options).unwrap();
        assert_eq!(
            items.len() as u64,
            sample["data_c_order"]["nbytes"].as_u64().unwrap()
        );
        if let Some(sum) = sample["data_c_order"]["sha256"].as_str() {
            assert_eq!(sha(&items), sum, "{name}");
        }
        for slice in sample["slices"].as_array().unwrap() {
            check_slice(name, slice, array, threads);
        }
    }
}

fn check_slice(name: &str, slice: &Value, array: &Array, threads: usize) {
    let geometry = array.geometry();
    let what = format!("{name}: {}", slice["what"].as_str().unwrap());
    let selection = boxed(
        &numbers(&slice["start"]),
        &numbers(&slice["stop"]),
        &geometry.shape,
    );
    let planned = geometry.pairs_of(&selection).unwrap();
    assert_eq!(
        planned.len() as u64,
        slice["blocks_needed"].as_u64().unwrap(),
        "{what}"
    );
    let mut listed: BTreeSet<(u64, u64)> = planned.into_iter().collect();
    // Long lists are left out of the manifest, which states their length instead.
    if let Some(pairs) = slice["chunk_block_pairs"].as_array() {
        let pair = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        let pairs: BTreeSet<(u64, u64)> = pairs.iter().map(pair).collect();
        assert_eq!(listed, pairs, "{what}");
        listed = pairs;
    }

    let decoded = Mutex::new(Vec::new());
    let observer = |chunk, block| decoded.lock().unwrap().push((chunk, block));
    let options = ReadOptions {
        threads,
        observer: Some(&observer),
        ..ReadOptions::default()
    };
    let mut items = vec![0xaa; slice["nbytes"].as_u64().unwrap() as usize];
    let before = array.counts().blocks;
    array.read_into(&selection, &mut items, &options).unwrap();
    assert_eq!(sha(&items), slice["sha256"].as_str().unwrap(), "{what}");

    let decoded = decoded.into_inner().unwrap();
    assert_eq!(
        array.counts().blocks - before,
        decoded.len() as u64,
        "{what}"
    );
    // Exactly the listed blocks of stored chunks; with delta, also block 0.
    let wanted: BTreeSet<(u64, u64)> = listed
        .iter()
        .copied()
        .filter(|(chunk, _)| is_stored(array, *chunk))
        .collect();
    let found: BTreeSet<(u64, u64)> = decoded.iter().copied().collect();
    let delta = name.contains("delta_shuffle") && !name.contains("bytedelta");
    if delta {
        assert!(found.is_superset(&wanted), "{what}");
        assert!(
            found.difference(&wanted).all(|(_, block)| *block == 0),
            "{what}"
        );
    } else {
        assert_eq!(found, wanted, "{what}");
        assert_eq!(
            found.len(),
            decoded.len(),
            "{what}: a block was decoded twice"
        );
    }
}

/// Whether a chunk has blocks to decode: neither a special entry nor a special chunk.
fn is_stored(array: &Array, chunk: u64) -> bool {
    let frame = array.frame();
    let Entry::At(at) = frame.entry(chunk).unwrap() else {
        return false;
    };
    let path = folder();
    let header = frame.header();
    for sample in samples() {
        let listed = &sample["frame"];
        if listed["frame_len"].as_u64() == Some(header.frame_len)
            && listed["cbytes"].as_u64() == Some(header.cbytes)
        {
            let name = sample["file"].as_str().unwrap();
            let bytes = match header.layout {
                FrameLayout::Sparse => {
                    std::fs::read(path.join(name).join(format!("{at:08X}.chunk"))).unwrap()
                }
                _ => std::fs::read(path.join(name)).unwrap()
                    [header.header_len as usize + at as usize..]
                    .to_vec(),
            };
            // Bits 4 to 6 of the last byte of the chunk's header.
            return bytes[31] & 0x70 == 0;
        }
    }
    panic!("no such sample");
}

#[test]
fn plain_lists_of_chunks_are_read() {
    for sample in samples()
        .into_iter()
        .filter(|sample| sample["nd"].is_null())
    {
        let name = sample["file"].as_str().unwrap();
        let frame = Frame::open(folder().join(name)).unwrap();
        let mut items = Vec::new();
        for (chunk, n) in numbers(&sample["chunk_nbytes"]).into_iter().enumerate() {
            let bytes = frame.chunk(chunk as u64, 1 << 20).unwrap();
            assert_eq!(bytes.len() as u64, n, "{name}");
            items.extend(bytes);
        }
        assert_eq!(
            sha(&items),
            sample["data_chunk_order"]["sha256"].as_str().unwrap(),
            "{name}"
        );
        assert!(frame.into_array().is_err());
    }
}

#[test]
fn views_agree_with_readers() {
    for sample in samples()
        .into_iter()
        .filter(|sample| sample["layout"] == "contiguous")
    {
        let name = sample["file"].as_str().unwrap();
        let mut bytes = std::fs::read(folder().join(name)).unwrap();
        bytes.extend(b"behind the frame");
        let view = FrameView::parse(&bytes).unwrap();
        let frame = Frame::from_bytes(bytes.clone()).unwrap();
        assert_eq!(view.header(), frame.header(), "{name}");
        assert_eq!(view.metalayers().len(), frame.metalayers().unwrap().len());
        let nd = view.nd().unwrap();
        assert_eq!(nd.is_none(), sample["nd"].is_null(), "{name}");
        if let Some(index) = view.index() {
            assert_eq!(
                index.header().nbytes() as u64,
                8 * frame.header().chunk_count(),
                "{name}"
            );
            let listed = &sample["index_chunk"];
            assert_eq!(
                index.header().cbytes() as u64,
                listed["cbytes"].as_u64().unwrap(),
                "{name}"
            );
        }
        for chunk in 0..frame.header().chunk_count() {
            if let Entry::At(at) = frame.entry(chunk).unwrap() {
                let found = view.chunk_at(at).unwrap();
                assert_eq!(
                    found.header().nbytes() as u64,
                    frame.header().chunk_len(chunk)
                );
            }
        }
    }
}

#[test]
fn a_frame_may_begin_anywhere_in_a_file() {
    let folder_ = tempfile::tempdir().unwrap();
    let path = folder_.path().join("two.bin");
    let first = std::fs::read(folder().join("c01_tiny_i4_2d.b2frame")).unwrap();
    let second = std::fs::read(folder().join("b01_f4_3d_zstd_split_vlmeta.b2nd")).unwrap();
    std::fs::write(&path, [&b"xyz"[..], &first, &second].concat()).unwrap();
    let one = Frame::open_at(&path, 3)
        .unwrap()
        .into_array()
        .unwrap()
        .read_all()
        .unwrap();
    let wanted: Vec<u8> = (1..=35i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(one, wanted);
    let two = Frame::open_at(&path, 3 + first.len() as u64)
        .unwrap()
        .into_array()
        .unwrap();
    assert_eq!(
        two.read_all().unwrap(),
        Array::from_bytes(second).unwrap().read_all().unwrap()
    );
    assert!(Frame::open_at(&path, 4).is_err());
    assert!(Frame::open_at(&path, 1 << 40).is_err());
}

#[test]
fn sixteen_dimensions_have_a_marker_of_their_own() {
    let bytes = std::fs::read(folder().join("b16_u1_16d.b2nd")).unwrap();
    let view = FrameView::parse(&bytes).unwrap();
    let content = view.metalayers().get("b2nd").unwrap();
    assert_eq!((content[2], content[3]), (16, 0xa0));
    assert_eq!(NdMeta::parse(content, NdKind::B2nd).unwrap().rank(), 16);
    assert!(find_nd(view.metalayers()).unwrap().is_some());
}

//! Compares every valid fixture with its manifest: structure, all bytes, every slice, in every way to open
//! a file.

use serde_json::Value;
use zvf_tet::{Profile, Tet, TetFile, TileCodec, verify};

use crate::support::{axes, bytes, everything, files, hex, naive, numbers, path, sha256, ways};

fn each(mut test: impl FnMut(&str, &Value, &str, &TetFile)) {
    let mut count = 0;
    for entry in files("manifest.json") {
        let name = entry["file"].as_str().unwrap();
        for profile in [Profile::Strict, Profile::Lenient] {
            for (way, file) in ways(name, profile) {
                test(name, &entry, way, &file.unwrap());
                count += 1;
            }
        }
    }
    assert_eq!(count, 20 * 6);
}

#[test]
fn structure_is_that_of_the_manifest() {
    each(|name, entry, way, file| {
        let bytes = bytes(name);
        assert_eq!(file.file_len(), entry["bytes"].as_u64().unwrap());
        assert_eq!(sha256(&bytes), entry["sha256"], "{name}");
        assert_eq!(
            file.proof().payload_end,
            entry["payload_end"],
            "{name} {way}"
        );
        assert!(file.proof().warnings.is_empty(), "{name} {way}");
        let (tet, proof) = Tet::open(&bytes, Profile::Strict).unwrap();
        let block = tet.superblock();
        let expected = &entry["superblock"];
        assert_eq!(
            block.dataset_count.get(),
            expected["dataset_count"].as_u64().unwrap() as u32
        );
        assert_eq!(
            block.flags.get(),
            expected["flags"].as_u64().unwrap() as u32
        );
        assert_eq!(
            block.chunk_index_offset.get(),
            expected["chunk_index_offset"]
        );
        assert_eq!(
            block.chunk_index_length.get(),
            expected["chunk_index_length"]
        );
        let index = &entry["index"];
        if index.is_null() {
            assert!(file.index_header().is_none());
        } else {
            let header = file.index_header().unwrap();
            assert_eq!(header.entry_count.get(), index["entry_count"]);
            assert_eq!(
                u64::from(header.memory_budget_bytes.get()),
                index["memory_budget_bytes"]
            );
            assert_eq!(
                u64::from(header.memory_budget_percent_bps.get()),
                index["memory_budget_percent_bps"]
            );
            assert_eq!(file.proof().canonical, index["canonical_order"]);
            assert_eq!(file.proof().packed, index["payloads_packed_from_index_end"]);
            assert_eq!(proof.packed, file.proof().packed);
        }
    });
}

#[test]
fn datasets_and_tiles_are_those_of_the_manifest() {
    each(|name, entry, way, file| {
        let expected = entry["datasets"].as_array().unwrap();
        assert_eq!(file.datasets().len(), expected.len());
        let raw = bytes(name);
        let (tet, _) = Tet::open(&raw, Profile::Strict).unwrap();
        let mut first_row = 0;
        for ((dataset, expected), record) in file.datasets().iter().zip(expected).zip(tet.records())
        {
            let geometry = dataset.geometry();
            assert_eq!(dataset.name(), expected["name"]);
            assert_eq!(geometry.dtype.name(), expected["dtype"]);
            assert_eq!(u64::from(geometry.dtype.tag()), expected["dtype_tag"]);
            assert_eq!(geometry.shape[..], numbers(&expected["shape"]));
            assert_eq!(geometry.chunk_shape[..], numbers(&expected["chunk_shape"]));
            assert_eq!(geometry.grid[..], numbers(&expected["chunk_grid"]));
            assert_eq!(geometry.bytes, expected["logical_bytes"]);
            assert_eq!(record.at(), expected["record_offset"]);
            assert_eq!(record.byte_len(), expected["record_len"]);
            for chunk in expected["chunks"].as_array().unwrap() {
                let coord = numbers(&chunk["coord"]);
                let (row, found) = file.entry(dataset, &coord).unwrap();
                assert_eq!(
                    geometry.extent(&coord).unwrap()[..],
                    numbers(&chunk["extent"])
                );
                assert_eq!(
                    found.payload_offset.get(),
                    chunk["payload_offset"],
                    "{name} {way}"
                );
                assert_eq!(found.raw_byte_len.get(), chunk["raw_byte_len"]);
                assert_eq!(found.stored_byte_len.get(), chunk["stored_byte_len"]);
                assert_eq!(u64::from(found.codec.get()), chunk["codec"]);
                let looked_up = tet.find(record.number(), first_row, &geometry.grid, &coord);
                assert_eq!(looked_up.unwrap().0, row);
            }
            first_row += geometry.tiles;
            let span = file.raw_span(dataset);
            assert_eq!(span.is_some(), expected["contiguous_raw_span"], "{name}");
            assert_eq!(
                span.is_some_and(|span| span.row_major),
                expected["span_is_logical_order"]
            );
            if let Some(span) = span {
                assert_eq!(span.len, geometry.bytes);
                assert_eq!(span.offset, expected["chunks"][0]["payload_offset"]);
            }
        }
    });
}

#[test]
fn all_bytes_and_every_slice_are_those_of_the_manifest() {
    let mut slices = 0;
    each(|name, entry, way, file| {
        for (dataset, expected) in file
            .datasets()
            .iter()
            .zip(entry["datasets"].as_array().unwrap())
        {
            let all = everything(file, dataset).unwrap();
            assert_eq!(
                sha256(&all),
                expected["logical_sha256"],
                "{name} {}",
                dataset.name()
            );
            if let Some(text) = expected["logical_le_hex"].as_str() {
                assert_eq!(hex(&all), text);
            }
            for slice in expected["selections"].as_array().unwrap() {
                slices += 1;
                let ranges = axes(&slice["start_stop_step"]);
                let selection = dataset.select(&ranges).unwrap();
                assert_eq!(selection.shape()[..], numbers(&slice["logical_shape"]));
                let (found, stats) = file.read(dataset, &selection).unwrap();
                assert_eq!(
                    sha256(&found),
                    slice["le_sha256"],
                    "{name} {way} {}",
                    slice["name"]
                );
                if let Some(text) = slice["le_hex"].as_str() {
                    assert_eq!(hex(&found), text);
                }
                assert_eq!(
                    found,
                    naive(dataset.item(), &all, &dataset.geometry().shape, &ranges)
                );
                assert_eq!(file.get(dataset, &selection).unwrap(), found);
                let plan = file.plan(dataset, &selection).unwrap();
                assert_eq!(plan.total(), slice["touched_count"].as_u64());
                let tiles: Vec<_> = plan.collect();
                assert_eq!(tiles.len() as u64, slice["touched_count"]);
                assert_eq!(stats.tiles, slice["touched_count"]);
                if let Some(touched) = slice["touched_chunks"].as_array() {
                    for (tile, expected) in tiles.iter().zip(touched) {
                        assert_eq!(tile.coord[..], numbers(expected));
                    }
                }
                for tile in &tiles {
                    assert!(tile.needed_offset >= tile.payload_offset);
                    let stop = tile.payload_offset + tile.stored_byte_len;
                    assert!(tile.needed_offset + tile.needed_len <= stop);
                    if tile.codec == TileCodec::Zstd {
                        assert_eq!(tile.needed_len, tile.stored_byte_len);
                    }
                }
                if way == "memory" {
                    assert_eq!(
                        stats.bytes,
                        tiles.iter().map(|tile| tile.needed_len).sum::<u64>()
                    );
                }
            }
        }
    });
    assert_eq!(slices, 127 * 6);
}

#[test]
fn whole_raw_datasets_in_their_order_are_borrowed() {
    each(|name, entry, way, file| {
        for (dataset, expected) in file
            .datasets()
            .iter()
            .zip(entry["datasets"].as_array().unwrap())
        {
            let borrowed = file.borrow(dataset, &dataset.all());
            let possible = way != "reads" && expected["span_is_logical_order"] == true;
            assert_eq!(borrowed.is_some(), possible, "{name} {}", dataset.name());
            if let Some(borrowed) = borrowed {
                assert_eq!(sha256(borrowed), expected["logical_sha256"]);
            }
        }
    });
}

#[test]
fn footers_are_those_of_the_manifest() {
    each(|name, entry, _, file| {
        let expected = &entry["footer"];
        let Some(footer) = file.footer() else {
            assert!(expected.is_null(), "{name}");
            return;
        };
        assert_eq!(u64::from(footer.version), expected["history_version"]);
        assert_eq!(
            serde_json::to_value(&footer.history).unwrap(),
            expected["json"]["history"],
            "{name}"
        );
        let metadata = serde_json::to_value(&footer.metadata).unwrap();
        assert_eq!(metadata, expected["json"]["metadata"], "{name}");
        let refs = file.footer_refs().unwrap();
        assert_eq!(refs.place.json_len, expected["json_len"]);
        for (key, spill) in [
            ("metadata_ref", refs.metadata),
            ("zone_maps_ref", refs.zone_maps),
            ("secondary_index_ref", refs.secondary_index),
        ] {
            let expected = &expected["json"][key];
            assert_eq!(spill.is_some(), !expected.is_null());
            if let Some(spill) = spill {
                assert_eq!(spill.offset, expected["offset"]);
                assert_eq!(spill.len, expected["len"]);
            }
        }
    });
}

#[test]
fn labels_are_found_by_name() {
    let file = TetFile::open(path("footer_v1_meta.tet")).unwrap();
    let footer = file.footer().unwrap();
    assert_eq!(footer.labels("t", 0, 3).unwrap(), ["10", "20", "30"]);
    assert_eq!(footer.labels("t", 1, 4).unwrap(), ["A", "B", "A", "C"]);
    assert_eq!(footer.labels("absent", 0, 3), None);
}

#[test]
fn good_files_verify_without_findings() {
    for entry in files("manifest.json") {
        for (way, file) in ways(entry["file"].as_str().unwrap(), Profile::Strict) {
            let report = verify(&file);
            assert!(
                report.findings.is_empty(),
                "{} {way} {report:?}",
                entry["file"]
            );
            let tiles = entry["index"]["entry_count"].as_u64().unwrap_or(0);
            assert_eq!(report.tiles, tiles);
        }
    }
}

#[test]
fn the_first_dataset_of_a_name_is_taken() {
    let file = TetFile::open(path("quirk_duplicate_names.tet")).unwrap();
    assert_eq!(file.dataset("a").unwrap().number(), 0);
    let error = file.dataset("b").unwrap_err();
    assert_eq!(error.to_string(), "no dataset named \"b\"");
}

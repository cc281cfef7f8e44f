//! The writer: bytes, order of calls, footers, names, and refused input.

use std::io::{Cursor, Seek, SeekFrom, Write};

use zvf_tet::{
    DType, DatasetSpec, Error, FileMetadata, Footer, HistoryRow, Metadata, Profile, TetFile,
    TetWriter, TileCodec, WriteOptions,
};

use crate::support::{bytes, everything, files};

fn memory(specs: Vec<DatasetSpec>, options: WriteOptions) -> TetWriter<Cursor<Vec<u8>>> {
    TetWriter::new(Cursor::new(Vec::new()), specs, options).unwrap()
}

/// The same datasets, footer and budget, written again.
fn copy(file: &TetFile, packed: bool) -> Vec<u8> {
    let specs = file.datasets().iter().map(|dataset| {
        let geometry = dataset.geometry();
        let first = vec![0; geometry.shape.len()];
        let codec = file.entry(dataset, &first).unwrap().1.codec().unwrap();
        DatasetSpec::new(
            dataset.name(),
            geometry.dtype,
            &geometry.shape,
            &geometry.chunk_shape,
        )
        .with_codec(codec)
    });
    let mut options = WriteOptions::default().with_packed(packed);
    options.footer = file.footer().cloned();
    if let Some(header) = file.index_header() {
        options.memory_budget_bytes = header.memory_budget_bytes.get();
        options.memory_budget_percent_bps = header.memory_budget_percent_bps.get();
    }
    let mut writer = memory(specs.collect(), options);
    for dataset in file.datasets() {
        writer
            .write_array(&everything(file, dataset).unwrap())
            .unwrap();
    }
    writer.finish_into().unwrap().into_inner()
}

#[test]
fn packed_raw_files_of_the_reference_are_written_byte_for_byte() {
    let mut same = 0;
    for entry in files("manifest.json") {
        let name = entry["file"].as_str().unwrap();
        let original = bytes(name);
        let file = TetFile::from_bytes(original.clone()).unwrap();
        if name.starts_with("quirk_") {
            continue;
        }
        let copied = copy(&file, true);
        let again = TetFile::from_bytes(copied.clone()).unwrap();
        assert_eq!(
            again
                .footer()
                .map(|footer| (&footer.history, &footer.metadata)),
            file.footer()
                .map(|footer| (&footer.history, &footer.metadata))
        );
        for (a, b) in file.datasets().iter().zip(again.datasets()) {
            assert_eq!(
                everything(&file, a).unwrap(),
                everything(&again, b).unwrap()
            );
        }
        let plain = file
            .entries()
            .iter()
            .all(|entry| entry.codec() == Some(TileCodec::Raw))
            && file.footer().is_none_or(|footer| footer.version == 1);
        if plain {
            assert_eq!(copied, original, "{name}");
            same += 1;
        }
    }
    assert!(same >= 7, "{same} files are raw and have no hints");
}

#[test]
fn payloads_that_look_like_a_footer_get_bytes_behind_them() {
    let spec = || vec![DatasetSpec::new("a", DType::U8, &[16], &[16])];
    let look = bytes("quirk_payload_ends_like_footer.tet");
    let payload = &look[look.len() - 16..];
    let mut writer = memory(spec(), WriteOptions::default());
    writer.write_array(payload).unwrap();
    let file = writer.finish_into().unwrap().into_inner();
    assert_eq!(file[file.len() - 16..], [0; 16]);
    let file = TetFile::from_bytes(file).unwrap();
    assert_eq!(everything(&file, &file.datasets()[0]).unwrap(), payload);
    // Also with payloads of one byte.
    let tiles = vec![DatasetSpec::new("a", DType::U8, &[16], &[1])];
    let mut writer = memory(tiles, WriteOptions::default());
    writer.write_array(payload).unwrap();
    let file = writer.finish_into().unwrap().into_inner();
    assert_eq!(file[file.len() - 16..], [0; 16]);
}

#[test]
fn paths_of_this_machine_do_not_get_into_the_history() {
    let mut row = HistoryRow::new("write", "/data/secret/a.tet", "1700000000");
    row.parents = vec![
        "C:\\data\\b.npy".into(),
        "raw/c.npy".into(),
        "https://example.org/d".into(),
    ];
    let footer = Footer {
        version: 1,
        history: vec![row],
        metadata: None,
    };
    let writer = memory(Vec::new(), WriteOptions::default().with_footer(footer));
    let file = TetFile::from_bytes(writer.finish_into().unwrap().into_inner()).unwrap();
    let row = &file.footer().unwrap().history[0];
    assert_eq!(row.source, "a.tet");
    assert_eq!(row.parents, ["b.npy", "raw/c.npy", "https://example.org/d"]);
}

#[test]
fn large_metadata_lie_beside_the_footer() {
    let mut footer = TetFile::from_bytes(bytes("footer_v1_meta.tet"))
        .unwrap()
        .footer()
        .unwrap()
        .clone();
    let metadata = footer.metadata.as_mut().unwrap();
    let mut entry = metadata.datasets["t"].clone();
    entry.attrs.insert("note".into(), "x".repeat(1000));
    for number in 0..200 {
        metadata
            .datasets
            .insert(format!("t{number:04}"), entry.clone());
    }
    let writer = memory(
        Vec::new(),
        WriteOptions::default().with_footer(footer.clone()),
    );
    let file = writer.finish_into().unwrap().into_inner();
    for profile in [Profile::Strict, Profile::Lenient] {
        let options = zvf_tet::OpenOptions::default().with_profile(profile);
        let file = TetFile::from_bytes_with(file.clone(), options).unwrap();
        assert!(file.footer_refs().unwrap().metadata.is_some());
        assert_eq!(file.footer(), Some(&footer));
    }
}

/// Accepts `before` writes, fails once, and accepts all others.
struct FailsOnce {
    bytes: Cursor<Vec<u8>>,
    before: u32,
}

impl Write for FailsOnce {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let failed = self.before == 0;
        self.before = self.before.wrapping_sub(1);
        if failed {
            // Like a full disk: part of the bytes is written.
            self.bytes.write_all(&bytes[..bytes.len() / 2])?;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for FailsOnce {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.bytes.seek(to)
    }
}

#[test]
fn nothing_is_written_behind_a_write_that_failed() {
    // Tiles as long as the writer's buffer go to the sink directly.
    let tile = 1 << 20;
    let specs = || vec![DatasetSpec::new("a", DType::U8, &[3 * tile], &[tile])];
    let tiles: Vec<Vec<u8>> = (1..=3).map(|byte| vec![byte; tile as usize]).collect();
    let mut failures = 0;
    for before in 0..8 {
        let sink = FailsOnce {
            bytes: Cursor::new(Vec::new()),
            before,
        };
        let mut writer = TetWriter::new(sink, specs(), WriteOptions::default()).unwrap();
        let mut failed = false;
        for tile in &tiles {
            match writer.write_tile(tile) {
                Ok(()) => assert!(!failed, "{before}: a tile behind a gap"),
                Err(_) if failed => {}
                Err(error) => {
                    assert!(error.is_io());
                    failed = true;
                    assert!(
                        writer.write_tile(tile).is_err(),
                        "{before}: the same tile again"
                    );
                }
            }
        }
        match writer.finish_into() {
            Ok(sink) => {
                let file = TetFile::from_bytes(sink.bytes.into_inner()).unwrap();
                let all = everything(&file, &file.datasets()[0]).unwrap();
                assert_eq!(all, tiles.concat());
            }
            Err(_) => failed = true,
        }
        failures += u32::from(failed);
    }
    assert!(failures >= 3, "{failures}");
}

#[test]
fn footers_over_the_limits_of_the_reference_are_refused() {
    let row = HistoryRow::new("op", "a", "0");
    let refused = |change: &dyn Fn(&mut Footer)| {
        let mut footer = Footer::default();
        change(&mut footer);
        let options = WriteOptions::default().with_footer(footer);
        TetWriter::new(Cursor::new(Vec::new()), Vec::new(), options).is_err()
    };
    let text = |number: usize| format!("{number}");
    let with = |row: &HistoryRow| {
        let row = row.clone();
        refused(&move |footer| footer.history = vec![row.clone()])
    };
    assert!(!with(&row));
    // Rows also count if there is no metadata.
    assert!(refused(&|footer| footer.history = vec![row.clone(); 4097]));
    assert!(!refused(&|footer| footer.history = vec![row.clone(); 4096]));
    let mut parents = row.clone();
    parents.parents = (0..17).map(text).collect();
    assert!(with(&parents));
    let mut params = row.clone();
    params.params = (0..33).map(|number| (text(number), text(number))).collect();
    assert!(with(&params));
    let metadata = |file: FileMetadata| {
        refused(&|footer| {
            footer.metadata = Some(Metadata {
                file: Some(file.clone()),
                ..Metadata::default()
            });
        })
    };
    assert!(!metadata(FileMetadata::default()));
    assert!(metadata(FileMetadata {
        tool: Some(String::new()),
        ..FileMetadata::default()
    }));
}

#[test]
fn an_empty_file_is_the_one_of_the_reference() {
    let writer = memory(Vec::new(), WriteOptions::default());
    assert_eq!(
        writer.finish_into().unwrap().into_inner(),
        bytes("empty.tet")
    );
}

#[test]
fn wrong_calls_are_refused() {
    let refused = |specs: Vec<DatasetSpec>| {
        TetWriter::new(Cursor::new(Vec::new()), specs, WriteOptions::default()).unwrap_err()
    };
    let a = || DatasetSpec::new("a", DType::U8, &[3], &[2]);
    assert!(matches!(refused(vec![a(), a()]), Error::Misuse { .. }));
    assert!(matches!(
        refused(vec![DatasetSpec::new("", DType::U8, &[3], &[2])]),
        Error::Misuse { .. }
    ));
    assert!(matches!(
        refused(vec![DatasetSpec::new("a", DType::U8, &[], &[])]),
        Error::Misuse { .. }
    ));
    assert!(matches!(
        refused(vec![DatasetSpec::new("a", DType::U8, &[0], &[1])]),
        Error::Misuse { .. }
    ));
    assert!(matches!(
        refused(vec![DatasetSpec::new("a", DType::U8, &[1; 9], &[1; 9])]),
        Error::Misuse { .. }
    ));
    assert!(matches!(
        refused(vec![DatasetSpec::new("a", DType::F64, &[1 << 62], &[1])]),
        Error::Grid(_)
    ));
    let mut writer = memory(vec![a()], WriteOptions::default());
    assert!(matches!(writer.write_tile(&[1]), Err(Error::Grid(_))));
    assert!(matches!(writer.write_array(&[1]), Err(Error::Grid(_))));
    writer.write_tile(&[1, 2]).unwrap();
    let error = writer.finish_into().unwrap_err();
    assert_eq!(
        error.to_string(),
        "tiles: those of \"a\" are not all written"
    );
    let mut writer = memory(vec![a()], WriteOptions::default());
    writer.write_array(&[1, 2, 3]).unwrap();
    assert!(writer.write_tile(&[1]).is_err());
    assert!(writer.write_array(&[]).is_err());
    let footer = Footer {
        version: 1,
        history: vec![HistoryRow::new("", "a", "0")],
        metadata: None,
    };
    let options = WriteOptions::default().with_footer(footer);
    assert!(TetWriter::new(Cursor::new(Vec::new()), Vec::new(), options).is_err());
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tet");
    let spec = || vec![DatasetSpec::new("a", DType::U8, &[5], &[2]).with_codec(TileCodec::Zstd)];
    let mut writer = TetWriter::create(&path, spec(), WriteOptions::default()).unwrap();
    writer.write_tile(&[1, 2]).unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let mut writer = TetWriter::create(&path, spec(), WriteOptions::default()).unwrap();
    writer
        .write_with(|tile, into| {
            into[0] = tile.axes()[0].start as u8;
            Ok(())
        })
        .unwrap();
    writer.finish().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let file = TetFile::open(&path).unwrap();
    assert_eq!(
        everything(&file, &file.datasets()[0]).unwrap(),
        [0, 0, 2, 0, 4]
    );
}

#[test]
fn many_tiles_are_written_in_pieces_of_the_index() {
    let elements: Vec<u8> = (0..10_000_u32).map(|n| n as u8).collect();
    let mut writer = memory(
        vec![DatasetSpec::new("a", DType::U8, &[10_000], &[1])],
        WriteOptions::default(),
    );
    writer.write_array(&elements).unwrap();
    let file = TetFile::from_bytes(writer.finish_into().unwrap().into_inner()).unwrap();
    assert_eq!(file.entries().len(), 10_000);
    assert_eq!(everything(&file, &file.datasets()[0]).unwrap(), elements);
}

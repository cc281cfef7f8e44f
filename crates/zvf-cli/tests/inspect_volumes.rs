//! `zvf inspect` on TET files and Blosc2 frames: every valid sample is explained, and damage is reported where the readers report it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::run::zvf_in;

fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let sparse = path.join("chunks.b2frame");
        if sparse.is_file() {
            files.push(sparse);
        } else if path
            .extension()
            .is_some_and(|one| one == "tet" || one == "b2nd" || one == "b2frame")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[test]
fn tet_files_are_taken_apart_and_judged_by_the_reader() -> Result<()> {
    let (mut good, mut bad) = (0, 0);
    for file in [files("tet")?, files("tet/derived")?].concat() {
        let name = file.display().to_string();
        let ran = zvf_in(
            Path::new("."),
            &["inspect", &name, "--as", "tet", "--rows", "2"],
        )?;
        let readable = zvf_tet::TetFile::open(&file).is_ok();
        assert_eq!(
            ran.code,
            if readable { 0 } else { 4 },
            "{name}: {}",
            ran.stderr
        );
        let text = String::from_utf8(ran.stdout)?;
        assert!(
            !readable || text.contains("readable by the strict rules"),
            "{name}: {text}"
        );
        *(if readable { &mut good } else { &mut bad }) += 1;
    }
    assert!(good >= 20 && bad >= 40, "{good} good, {bad} bad");
    Ok(())
}

#[test]
fn a_tet_file_is_known_by_its_magic_and_every_field_is_named() -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tet/f32_1d_edge_raw.tet");
    let ran = zvf_in(Path::new("."), &["inspect", &file.display().to_string()])?;
    let text = String::from_utf8(ran.stdout)?;
    // The worked example of the format page: offsets, names, values.
    for line in [
        "layout_version",
        "entry_count",
        "chunk_shape[0]",
        "payload_offset",
        "424",
        "stored_byte_len",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    assert_eq!(ran.code, 0);
    Ok(())
}

#[test]
fn frames_are_taken_apart_and_judged_by_the_reader() -> Result<()> {
    let (mut good, mut bad) = (0, 0);
    for file in files("caterva")? {
        let name = file.display().to_string();
        let ran = zvf_in(
            Path::new("."),
            &["inspect", &name, "--as", "caterva", "--rows", "2"],
        )?;
        let sparse = name.ends_with("chunks.b2frame");
        let plain = name.contains("plain_schunk");
        // Damage inside a chunk is not detected: no chunk is read, and only two entries of the index.
        let sound = zvf_caterva::Array::open(&file).is_ok_and(|array| {
            let count = array.geometry().chunk_count.min(2);
            (0..count).all(|chunk| array.frame().entry(chunk).is_ok())
        });
        let readable = sparse || plain || sound;
        assert_eq!(
            ran.code,
            if readable { 0 } else { 4 },
            "{name}: {}",
            ran.stderr
        );
        *(if readable { &mut good } else { &mut bad }) += 1;
    }
    assert!(good >= 25 && bad >= 5, "{good} good, {bad} bad");
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/caterva/c01_tiny_i4_2d.b2frame");
    let ran = zvf_in(Path::new("."), &["inspect", &file.display().to_string()])?;
    let text = String::from_utf8(ran.stdout)?;
    // The worked example of the format page.
    for line in [
        "header_len",
        "159",
        "639",
        "5 x 7",
        "3 x 4",
        "2 x 2",
        "288",
        "4 chunks of 4 blocks",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    Ok(())
}

//! Writes labels to a file in memory, and prints the report of `verify` before and after one byte changes. `verify` decodes every
//! tile; it does not find a change after which all tiles can still be decoded.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::io::Cursor;

use zvf_tet::{DType, DatasetSpec, TetFile, TetWriter, TileCodec, WriteOptions, verify};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let labels = DatasetSpec::new("labels", DType::U16, &[64, 64], &[16, 16]);
    let labels = labels.with_codec(TileCodec::Zstd);
    let sink = Cursor::new(Vec::new());
    let mut writer = TetWriter::new(sink, vec![labels], WriteOptions::default())?;
    let elements: Vec<u8> = (0..64 * 64_u16)
        .flat_map(|n| (n / 9).to_le_bytes())
        .collect();
    writer.write_array(&elements)?;
    let sound = writer.finish_into()?.into_inner();

    // The first byte of a tile.
    let file = TetFile::from_bytes(sound.clone())?;
    let tile = file.entries().get(7).ok_or("no such tile")?;
    let mut damaged = sound.clone();
    if let Some(byte) = damaged.get_mut(usize::try_from(tile.payload_offset.get())?) {
        *byte ^= 1;
    }
    for (name, bytes) in [("sound", sound), ("damaged", damaged)] {
        let report = verify(&TetFile::from_bytes(bytes));
        println!("{name}: {} findings", report.findings.len());
        for finding in &report.findings {
            println!("  {}: {}", finding.check, finding.detail);
        }
    }
    Ok(())
}

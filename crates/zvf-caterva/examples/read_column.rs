//! Writes an array of a million items chunk by chunk, then reads one column of it. Only the blocks that intersect the column are
//! decoded.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_caterva::{Array, Axis, Selection, WriteOptions, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("field.b2nd");
    let options = WriteOptions::new(4, &[100, 100], &[20, 20]).with_dtype("<f4");
    let mut writer = Writer::create(&path, &[1000, 1000], options)?;
    writer.write_with(|region, items| {
        for (number, item) in items.chunks_exact_mut(4).enumerate() {
            let value = region.chunk as f32 + number as f32 / 10_000.0;
            item.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    })?;
    writer.finish()?;
    println!("{} bytes on disk", path.metadata()?.len());

    let array = Array::open(&path)?;
    let column = Selection::new(&[Axis::all(1000), Axis::at(500)], &array.geometry().shape)?;
    let items = array.read(&column)?;
    let (items, _) = items.as_chunks::<4>();
    let last = items.last().map(|item| f32::from_le_bytes(*item));
    println!("{} items, the last is {last:?}", items.len());
    println!("{} of 2500 blocks decoded", array.counts().blocks);
    Ok(())
}

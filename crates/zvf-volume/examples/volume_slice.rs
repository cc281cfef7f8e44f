//! Writes a volume as a frame of Blosc2 blocks, and reads a slice of it with steps. Frames, TET files, Zarr arrays and image files are
//! read the same way, also from a bucket.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_caterva::{WriteOptions, Writer};
use zvf_store::{IoOptions, blocking::Runtime};
use zvf_volume::{AxisRanges, Volume};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("labels.b2nd");
    let options = WriteOptions::new(2, &[16, 16, 16], &[8, 8, 8]).with_dtype("<u2");
    let mut writer = Writer::create(&path, &[64, 48, 32], options)?;
    let voxels = (0..64 * 48 * 32_u32).map(|n| (n / 1000) as u16);
    writer.write_all(&voxels.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;
    writer.finish()?;

    Runtime::new()?.wait(async {
        let volume = Volume::open(&path.to_string_lossy(), &IoOptions::new()).await?;
        let info = volume.info();
        println!("{} {:?}", info.element.text, &info.shape[..]);
        let range = AxisRanges::parse("10, ::16, 5:9", &info.shape)?; // as NumPy writes it
        let (bytes, counts) = volume.read(&range.selection).await?;
        let (voxels, _) = bytes.as_chunks::<2>();
        let voxels: Vec<u16> = voxels.iter().map(|two| u16::from_le_bytes(*two)).collect();
        println!("{voxels:?}, from {} blocks", counts.blocks);
        Ok(())
    })
}

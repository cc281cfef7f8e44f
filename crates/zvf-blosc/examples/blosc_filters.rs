//! Prints the size of the same numbers with each codec and shuffle. Slowly rising integers differ in their low bytes, so storing the
//! bytes of each significance, or the bits, together helps.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_blosc::{Codec, Encoder, FirstFilter, LastFilter, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = (0..16_000_u32).map(|n| n * n / 1000);
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    println!("{} bytes", bytes.len());
    for codec in [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd] {
        for shuffle in [
            LastFilter::None,
            LastFilter::Shuffle,
            LastFilter::BitShuffle,
        ] {
            let settings = Settings::new(4, 16 << 10)
                .with_codec(Some(codec))
                .with_filters(FirstFilter::None, shuffle);
            let mut chunk = Vec::new();
            Encoder::new(settings)?.encode(&bytes, &mut chunk)?;
            println!("{codec:?}, {shuffle:?}: {}", chunk.len());
        }
    }
    Ok(())
}

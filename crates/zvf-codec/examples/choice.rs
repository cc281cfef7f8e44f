//! Which codec suits which data: for cells of several kinds, the chosen codec, and size and time of all candidates.
//!
//! `cargo run --release -p zvf-codec --features encode --example choice`
#![allow(clippy::print_stdout, reason = "it prints a table")]

use std::time::Instant;

use zvf_codec::{BloscFrames, BloscLibrary, Chain, CodecError, CodecSample, Compression, Data};

/// Rounds; the fastest one is printed.
const ROUNDS: usize = 9;

/// Pseudo-random numbers, equal on all platforms.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f32 {
        f32::from((self.next() >> 48) as u16) / 65536.0
            + f32::from((self.next() >> 48) as u16) / 4_294_967_296.0
    }

    /// Approximately normally distributed.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.unit()).sum::<f32>() - 6.0
    }
}

/// 250 smooth lines of 100 points.
fn lines(numbers: &mut Numbers) -> Vec<f32> {
    let mut out = Vec::new();
    for _ in 0..250 {
        let mut at = [0; 3].map(|_| numbers.unit() * 50.0);
        let mut course = [0; 3].map(|_| numbers.normal());
        for _ in 0..100 {
            course = course.map(|one| one + 0.15 * numbers.normal());
            let length = course.iter().map(|one| one * one).sum::<f32>().sqrt();
            for (at, course) in at.iter_mut().zip(course) {
                *at += 0.5 * course / length;
            }
            out.extend(at);
        }
    }
    out
}

/// A cell of an array of ZVF: one byte string.
fn cell(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    [&1_u32.to_le_bytes(), &length.to_le_bytes(), payload].concat()
}

/// The shortest time of several rounds in microseconds, and the result.
fn fastest<R>(mut work: impl FnMut() -> Result<R, CodecError>) -> Result<(u128, R), CodecError> {
    let mut result = work()?;
    let mut least = u128::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        result = work()?;
        least = least.min(start.elapsed().as_micros());
    }
    Ok((least, result))
}

fn main() -> Result<(), CodecError> {
    let mut numbers = Numbers(7);
    let bytes =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|one| one.to_le_bytes()).collect() };
    let smooth = lines(&mut numbers);
    let steps: Vec<f32> = smooth
        .iter()
        .map(|one| (one * 256.0).round() / 256.0)
        .collect();
    let points: Vec<f32> = (0..75_000).map(|_| numbers.unit() * 200.0).collect();
    let labels = (0..25_000_i32).flat_map(|row| (row / 100 % 7).to_le_bytes());
    let faces = (0..16_000_u64).flat_map(|row| [row, row + 1, row + 120].map(u64::to_le_bytes));
    for (name, items, payload) in [
        ("smooth lines", 4, bytes(&smooth)),
        ("lines in steps of 1/256", 4, bytes(&steps)),
        ("random points", 4, bytes(&points)),
        ("labels", 4, labels.collect()),
        ("faces", 8, faces.flatten().collect()),
    ] {
        table(name, items, &cell(&payload))?;
    }
    Ok(())
}

fn table(name: &str, items: u8, cell: &[u8]) -> Result<(), CodecError> {
    let first = |_, most| Ok::<_, CodecError>(cell.get(..most).unwrap_or(cell).to_vec());
    let (taken, chosen) = fastest(|| {
        let sample = CodecSample::of([cell.len(); 2], first)?;
        Compression::Auto.chosen(usize::from(items), &sample)
    })?;
    println!(
        "{name}: {} bytes, chosen in {taken} µs: {chosen:?}",
        cell.len()
    );
    let mut all = vec![Compression::Zstd];
    for library in [BloscLibrary::Lz4, BloscLibrary::Zstd] {
        for items in [items, 3 * items] {
            for block in [16 << 10, 64 << 10] {
                all.push(Compression::Frames(BloscFrames {
                    library,
                    items,
                    block,
                }));
            }
        }
    }
    for one in all {
        let (encode, bytes) = fastest(|| one.encode(cell.to_vec()))?;
        let chain = Chain::new(&one.codecs()).map_err(CodecError::Unsupported)?;
        let (decode, _) = fastest(|| chain.decode(Data::Borrowed(&bytes), 1 << 24))?;
        let share = bytes.len() as f64 / cell.len() as f64;
        println!("  {share:.3} of raw, encode {encode:4} µs, decode {decode:4} µs: {one:?}");
    }
    Ok(())
}

//! The floor: plain file reads and decompression of the files that a job needs, and nothing else.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};

/// Largest decompressed file; a cell of the benchmark stores has well below 1 MiB.
const LARGEST: usize = 64 << 20;

/// Reads and decompresses all files on `threads` threads; returns the decompressed bytes.
pub(crate) fn read(files: &[PathBuf], threads: usize) -> Result<u64> {
    let share = files.len().div_ceil(threads).max(1);
    let parts: Vec<&[PathBuf]> = files.chunks(share).collect();
    let Some((last, others)) = parts.split_last() else {
        return Ok(0);
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = others
            .iter()
            .map(|part| scope.spawn(|| read_part(part)))
            .collect();
        let mut bytes = read_part(last)?;
        for thread in running {
            bytes += thread
                .join()
                .map_err(|_| anyhow!("a reading thread panicked"))??;
        }
        Ok(bytes)
    })
}

fn read_part(files: &[PathBuf]) -> Result<u64> {
    let mut decompressor = zstd::bulk::Decompressor::new()?;
    let mut bytes = 0;
    for path in files {
        let packed = match std::fs::read(path) {
            Ok(packed) => packed,
            // A cell without content has no file.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let size = zstd::zstd_safe::get_frame_content_size(&packed)
            .ok()
            .flatten();
        let size = size
            .and_then(|size| usize::try_from(size).ok())
            .filter(|size| *size <= LARGEST);
        let plain = decompressor.decompress(&packed, size.context("no content size")?)?;
        bytes += std::hint::black_box(plain).len() as u64;
    }
    Ok(bytes)
}

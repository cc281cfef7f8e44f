//! Counts the lines of a file on two threads, each of which reads pieces of the file by position. `ReadAt` is the same for a file, a
//! memory map and bytes in memory.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::io;

use zvf_sys::{FileAt, ReadAt, in_parallel};

/// Bytes of a piece.
const PIECE: u64 = 1 << 16;

fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lines.txt");
    std::fs::write(&path, "one line\n".repeat(100_000))?;

    let file = FileAt::open(&path)?;
    let size = file.size()?;
    let mut lines = 0;
    let reader = || {
        |piece: u64, emit: &mut dyn FnMut(usize)| {
            let at = piece * PIECE;
            let mut bytes = vec![0; PIECE.min(size - at) as usize];
            file.read_at(at, &mut bytes)?;
            emit(bytes.iter().filter(|byte| **byte == b'\n').count());
            Ok::<_, io::Error>(())
        }
    };
    in_parallel(2, 0..size.div_ceil(PIECE), reader, |found| {
        lines += found;
        Ok(())
    })?;
    println!("{lines} lines in {size} bytes");
    Ok(())
}

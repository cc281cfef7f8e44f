//! Chooses the compression of an array from a sample of its cells.
//!
//! | candidate | chosen |
//! |---|---|
//! | Blosc frames of LZ4 | unless zstd makes smaller frames, as below |
//! | Blosc frames of zstd, blocks of 16 KiB | if they are smaller than LZ4 frames by [`SLOWER`] percent |
//! | Blosc frames of zstd, blocks of 64 KiB | if they are smaller than frames of 16 KiB blocks by [`LARGER_BLOCKS`] percent: reading one row decodes four times as much |
//! | zstd without frames | if it is smaller than all frames with their longer [document](DOCUMENT); for cells of several blocks, by more than [`WITHOUT_BLOCKS`] percent |
//! | none | if nothing makes a sample of [`EVIDENCE`] or more smaller |
//!
//! The item size of frames is the unit of the shuffle: one number of the array, a row of two to four of them, 4 bytes, or 1 byte (no shuffle). For
//! LZ4, the size with the smallest frames is chosen; for zstd, the two best sizes with LZ4 are compared.

use crate::{BloscFrames, BloscLibrary, CodecError, Compression};

/// Bytes of a block in small-block frames.
const BLOCK: u32 = 16 << 10;
/// Bytes of a block in large-block frames, which compress better.
const LARGE_BLOCK: u32 = 64 << 10;
/// Bytes of cells after which a sample is complete.
const SAMPLE: usize = 128 << 10;
/// Most bytes taken from one cell.
const LONGEST: usize = LARGE_BLOCK as usize;
/// Most cells in a sample.
const MOST_CELLS: usize = 16;
/// Bytes of the smallest sample that can show that data is incompressible; an array with fewer bytes may still grow.
const EVIDENCE: usize = 64 << 10;

/// Additional bytes in the document of an array with frames.
const DOCUMENT: usize = 128;

/// Bytes of the header of a frame.
const HEAD: usize = 16;

/// Zstd is chosen if its frames are at least this many percent smaller than LZ4 frames, which decode twice as fast.
const SLOWER: usize = 4;
/// Large blocks are chosen if their frames are at least this many percent smaller.
const LARGER_BLOCKS: usize = 10;
/// By how many percent plain zstd must be smaller than frames, for cells of several blocks.
const WITHOUT_BLOCKS: usize = 1;

/// Uncompressed bytes of some cells of an array.
#[derive(Debug, Clone, Default)]
pub struct CodecSample {
    cells: Vec<Vec<u8>>,
}

impl CodecSample {
    /// Takes a sample of about 128 KiB from cells of these sizes in bytes: the beginnings of up to 16 cells. They are spread evenly over the bytes
    /// of all cells, so that large cells count more than small ones. `cell` takes the number of a cell and a limit, and returns that many of its
    /// first bytes, or all if there are fewer.
    ///
    /// # Cost
    /// Memory: 8 bytes a cell.
    ///
    /// # Errors
    /// The errors of `cell`.
    pub fn of<E>(
        sizes: impl IntoIterator<Item = usize>,
        mut cell: impl FnMut(usize, usize) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let ends = sizes.into_iter().scan(0_usize, |end, size| {
            *end = end.saturating_add(size);
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let all = ends.last().copied().unwrap_or(0);
        let mut cells = Vec::new();
        let mut bytes = 0;
        // Each further cell is in the middle of a largest gap, so that the cells are spread evenly whenever the sample is complete.
        let bits = MOST_CELLS.trailing_zeros();
        let order = (0..MOST_CELLS).map(|n| n.reverse_bits() >> (usize::BITS - bits));
        let mut taken = Vec::with_capacity(MOST_CELLS);
        for part in order {
            if bytes >= SAMPLE {
                break;
            }
            let byte = all / MOST_CELLS * part + all % MOST_CELLS * part / MOST_CELLS;
            let at = ends.partition_point(|end| *end <= byte);
            if at < ends.len() && !taken.contains(&at) {
                taken.push(at);
                let one = cell(at, LONGEST)?;
                bytes += one.len();
                cells.push(one);
            }
        }
        Ok(Self { cells })
    }

    fn bytes(&self) -> usize {
        self.cells.iter().map(Vec::len).sum()
    }

    /// Bytes of the sample when it is compressed with `by`.
    fn compressed(&self, by: &Compression) -> Result<usize, CodecError> {
        let sizes = self.cells.iter().map(|cell| match by {
            Compression::Frames(frames) => {
                let frame = frames.encode(cell);
                let frame =
                    frame.map_err(|error| CodecError::Library(std::io::Error::other(error)));
                Ok(frame?.len())
            }
            other => Ok(other.encode(cell.clone())?.len()),
        });
        sizes.sum()
    }

    /// The settings of frames with the compressed bytes of the sample, the smallest first; equal sizes keep their order.
    fn by_size(
        &self,
        all: impl Iterator<Item = BloscFrames>,
    ) -> Result<Vec<(usize, BloscFrames)>, CodecError> {
        let sized = |frames| Ok((self.compressed(&Compression::Frames(frames))?, frames));
        let mut sizes: Vec<_> = all.map(sized).collect::<Result<_, CodecError>>()?;
        sizes.sort_by_key(|(bytes, _)| *bytes);
        Ok(sizes)
    }

    /// The compression for an array of numbers of `items` bytes.
    fn choose(&self, items: usize) -> Result<Compression, CodecError> {
        let bytes = self.bytes();
        if bytes == 0 {
            return Ok(Compression::Zstd);
        }
        let zstd = self.compressed(&Compression::Zstd)?;
        // Frames with little more than a header cannot be much smaller.
        if zstd <= DOCUMENT + HEAD * self.cells.len() {
            return Ok(Compression::Zstd);
        }
        let mut widths: Vec<u8> = Vec::new();
        for width in [1, items, 4, 2 * items, 3 * items, 4 * items] {
            match u8::try_from(width) {
                Ok(width @ 1..) if !widths.contains(&width) => widths.push(width),
                _ => {}
            }
        }
        let fast = self.by_size(widths.into_iter().map(|items| BloscFrames {
            library: BloscLibrary::Lz4,
            items,
            block: BLOCK,
        }))?;
        let small = fast.iter().take(2).map(|(_, frames)| BloscFrames {
            library: BloscLibrary::Zstd,
            ..*frames
        });
        let small = self.by_size(small)?.into_iter().next();
        let fast = fast.into_iter().next();
        // Larger blocks make no difference for cells of one block.
        let blocks = self.cells.iter().any(|cell| cell.len() > BLOCK as usize);
        let large = small.filter(|_| blocks).map(|(_, frames)| BloscFrames {
            block: LARGE_BLOCK,
            ..frames
        });
        let large = self.by_size(large.into_iter())?.into_iter().next();
        let least = [fast, small, large].into_iter().flatten();
        let least = least.map(|(bytes, _)| bytes).fold(zstd, usize::min);
        if bytes >= EVIDENCE && bytes <= least {
            return Ok(Compression::None);
        }
        let several = bytes / self.cells.len().max(1) > 2 * BLOCK as usize;
        let most = match several {
            true => zstd + zstd * WITHOUT_BLOCKS / 100,
            false => zstd,
        };
        // The size of each candidate, weighted by its cost for readers.
        let ranked = [
            fast.map(|one| (one, 100)),
            small.map(|one| (one, 100 + SLOWER)),
            large.map(|one| (one, (100 + SLOWER) * (100 + LARGER_BLOCKS) / 100)),
        ];
        let chosen = ranked
            .into_iter()
            .flatten()
            .filter(|((bytes, _), _)| bytes + DOCUMENT <= most)
            .min_by_key(|((bytes, _), weight)| bytes * weight);
        Ok(chosen.map_or(Compression::Zstd, |((_, frames), _)| {
            Compression::Frames(frames)
        }))
    }
}

impl Compression {
    /// Returns the compression for an array of numbers of `items` bytes: for [`Auto`](Self::Auto) the one that suits the sample best, for others
    /// [`of_items`](Self::of_items). The same sample gives the same compression.
    ///
    /// # Cost
    /// Compresses the sample up to ten times: a few milliseconds.
    ///
    /// # Errors
    /// The error of a compression library.
    pub fn chosen(&self, items: usize, sample: &CodecSample) -> Result<Self, CodecError> {
        match self {
            Self::Auto => sample.choose(items),
            other => Ok(other.of_items(items)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cells: &[Vec<u8>]) -> CodecSample {
        let cell = |at: usize, most: usize| {
            let cell = &cells[at];
            Ok::<_, CodecError>(cell[..most.min(cell.len())].to_vec())
        };
        CodecSample::of(cells.iter().map(Vec::len), cell).unwrap()
    }

    fn chosen(items: usize, cells: &[Vec<u8>]) -> Compression {
        Compression::Auto.chosen(items, &sample(cells)).unwrap()
    }

    /// Pseudo-random bytes.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn samples_are_spread_and_bounded() {
        for count in [0, 1, 2, 3, 15, 16, 17, 1000] {
            let mut seen = Vec::new();
            let cell = |at, most: usize| {
                seen.push(at);
                Ok::<_, CodecError>(vec![0; most.min(10)])
            };
            CodecSample::of(vec![10; count], cell).unwrap();
            seen.sort_unstable();
            let all: Vec<usize> = (0..count.min(16))
                .map(|n| n * count / count.min(16))
                .collect();
            assert_eq!(seen, all, "{count}");
        }
        let large = sample(&vec![vec![0; 1 << 20]; 100]);
        assert_eq!((large.cells.len(), large.bytes()), (2, SAMPLE));
    }

    #[test]
    fn smooth_numbers_are_shuffled_in_blocks() {
        let walk =
            |seed: u32| (0..40_000_u32).map(move |i| ((i ^ seed) % 977) as f32 * 0.37 + i as f32);
        let cells: Vec<Vec<u8>> = (0..3)
            .map(|seed| walk(seed).flat_map(f32::to_le_bytes).collect())
            .collect();
        let found = chosen(4, &cells);
        let Compression::Frames(frames) = &found else {
            panic!("{found:?}");
        };
        assert!(frames.items >= 4, "{frames:?}");
        let bytes = sample(&cells).compressed(&found).unwrap();
        let zstd = sample(&cells).compressed(&Compression::Zstd).unwrap();
        assert!(bytes < zstd, "{bytes} of {zstd}");
        assert_eq!(found, chosen(4, &cells));
    }

    #[test]
    fn noise_is_not_compressed_and_small_cells_do_not_grow() {
        assert_eq!(chosen(1, &[noise(100_000)]), Compression::None);
        // The array may grow, and later cells may hold other data.
        assert_eq!(chosen(1, &[noise(1000)]), Compression::Zstd);
        assert_eq!(chosen(4, &[]), Compression::Zstd);
        for size in [1, 40, 300] {
            let cells: Vec<Vec<u8>> = (0..9_u8).map(|n| vec![n; size]).collect();
            let found = chosen(8, &cells);
            let bytes = sample(&cells).compressed(&found).unwrap();
            let zstd = sample(&cells).compressed(&Compression::Zstd).unwrap();
            assert!(bytes <= zstd, "{size}: {found:?}");
        }
    }

    #[test]
    fn stated_compressions_are_not_chosen_again() {
        let noise = [noise(100_000)];
        let stated = Compression::Zstd.chosen(4, &sample(&noise)).unwrap();
        assert_eq!(stated, Compression::Zstd);
        let blosc = Compression::Blosc(4).chosen(8, &sample(&noise)).unwrap();
        assert_eq!(blosc, Compression::Blosc(8));
    }
}

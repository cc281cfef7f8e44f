//! Sorts the rows of a batch by chunk. Blocks of rows are independent, so that several threads can sort them before buckets are changed.

use rustc_hash::FxHashMap;
use zvf_meta::space::chunk_at;

use crate::WriteError;
use crate::error::{OrBug, internal};
use crate::spec::store::StoreSpec;
use zvf_format::int::{index, wide};

/// Rows of a block: few enough that their columns stay in a core's cache.
pub(crate) const ROWS: usize = 1 << 15;

/// Rows of one part of a batch, sorted by chunk. The rows of a chunk keep their order.
#[derive(Debug)]
pub(crate) struct SortedBlock {
    /// Number of the first row in the batch.
    pub(crate) start: usize,
    /// Rows, counted from `start`.
    pub(crate) order: Vec<u32>,
    /// Keys of the chunks, one after the other, and the number of rows in each.
    chunks: Vec<i64>,
    counts: Vec<usize>,
    /// Corners of the positions.
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
}

/// A position that is in no chunk: row in the batch, axis, value. `beyond` are the bounds on that axis if it is outside them; `None` if no chunk can
/// contain the value.
#[derive(Debug)]
pub(crate) struct Unplaced {
    pub(crate) row: usize,
    pub(crate) axis: usize,
    pub(crate) value: f64,
    pub(crate) beyond: Option<(f64, f64)>,
}

impl SortedBlock {
    /// Assigns rows to chunks by their stored positions: a value that is rounded up to a border belongs to the next chunk (T25).
    ///
    /// `keys` are the components of chunk keys before the axes, one tuple per row. Positions must be within `reach`.
    ///
    /// # Errors
    /// [`Unplaced`]: the first row whose position is in no chunk.
    pub(crate) fn new(
        spec: &StoreSpec,
        reach: Option<&(Vec<f64>, Vec<f64>)>,
        start: usize,
        positions: &[u8],
        keys: Option<&[i64]>,
    ) -> Result<Result<Self, Unplaced>, WriteError> {
        let dims = spec.dims();
        let lead = usize::from(keys.is_some());
        let rank = dims + lead;
        let values = spec.positions.to_f64(positions);
        let rows = values.len() / dims.max(1);
        let mut chunks = vec![0_i64; rows * rank];
        let leading = chunks.iter_mut().step_by(rank);
        leading
            .zip(keys.into_iter().flatten())
            .for_each(|(slot, key)| *slot = *key);
        let (mut low, mut high) = (vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]);
        // One axis after another: size and corners are constant in the inner loop.
        for (axis, (&size, (low, high))) in spec
            .chunk_shape
            .iter()
            .zip(low.iter_mut().zip(&mut high))
            .enumerate()
        {
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            let mut placed = true;
            let column = values.iter().skip(axis).step_by(dims);
            for (&value, into) in column.zip(chunks.iter_mut().skip(lead + axis).step_by(rank)) {
                match chunk_at(value, size) {
                    Some(chunk) => *into = chunk,
                    None => placed = false,
                }
                least = least.min(value);
                most = most.max(value);
            }
            let limits = reach.and_then(|(low, high)| Some((*low.get(axis)?, *high.get(axis)?)));
            let inside = limits.is_none_or(|(from, to)| least >= from && most <= to);
            if !(placed && inside) {
                return Ok(Err(first_unplaced(spec, reach, start, &values)));
            }
            (*low, *high) = (least, most);
        }
        let (order, firsts, counts) = sort(&chunks, rank)?;
        let coordinates = firsts
            .iter()
            .flat_map(|&row| chunks.iter().skip(row * rank).take(rank));
        Ok(Ok(Self {
            start,
            chunks: coordinates.copied().collect(),
            order,
            counts,
            low,
            high,
        }))
    }

    /// The chunks with rows, and how many each has, in the order of `order`.
    pub(crate) fn runs(&self, dims: usize) -> impl Iterator<Item = (&[i64], usize)> {
        self.chunks
            .chunks_exact(dims.max(1))
            .zip(self.counts.iter().copied())
    }
}

/// Finds the first row whose position is in no chunk. Called only if there is one.
#[cold]
fn first_unplaced(
    spec: &StoreSpec,
    reach: Option<&(Vec<f64>, Vec<f64>)>,
    start: usize,
    values: &[f64],
) -> Unplaced {
    let dims = spec.dims();
    for (row, position) in values.chunks_exact(dims).enumerate() {
        for (axis, (&value, &size)) in position.iter().zip(&spec.chunk_shape).enumerate() {
            let beyond = reach
                .and_then(|(low, high)| Some((*low.get(axis)?, *high.get(axis)?)))
                .filter(|(from, to)| value < *from || value > *to);
            let nowhere = chunk_at(value, size).is_none();
            if nowhere || beyond.is_some() {
                return Unplaced {
                    row: start + row,
                    axis,
                    value,
                    beyond: beyond.filter(|_| !nowhere),
                };
            }
        }
    }
    Unplaced {
        row: start,
        axis: 0,
        value: f64::NAN,
        beyond: None,
    }
}

/// Rows sorted by chunk; the first row of each chunk that has rows; the number of its rows.
type RowsByChunk = (Vec<u32>, Vec<usize>, Vec<usize>);

fn sort(chunks: &[i64], dims: usize) -> Result<RowsByChunk, WriteError> {
    let rows = chunks.len() / dims.max(1);
    let (numbers, many) = dense(chunks, dims, rows).unwrap_or_else(|| hashed(chunks, dims));
    let mut ends = vec![0_usize; many];
    for &number in &numbers {
        if let Some(count) = ends.get_mut(index(number)) {
            *count += 1;
        }
    }
    let counts: Vec<usize> = ends.iter().copied().filter(|&count| count > 0).collect();
    let mut sum = 0_usize;
    for end in &mut ends {
        let count = *end;
        *end = sum;
        sum += count;
    }
    // This ensures that each row gets a different place below.
    internal!(sum == rows, "{sum} of {rows} rows are in chunks");
    let mut order = vec![0_u32; rows];
    for (row, &number) in (0_u32..).zip(&numbers) {
        if let Some(place) = ends.get_mut(index(number)) {
            if let Some(slot) = order.get_mut(*place) {
                *slot = row;
            }
            *place += 1;
        }
    }
    let mut at = 0_usize;
    let mut firsts = Vec::with_capacity(counts.len());
    for &count in &counts {
        firsts.push(index(*order.get(at).or_bug("a chunk without rows")?));
        at += count;
    }
    Ok((order, firsts, counts))
}

/// Chunks as numbers in their bounding box, axis 0 slowest, and the number of chunks in the box; `None` if that is much larger than the number of
/// rows.
fn dense(chunks: &[i64], dims: usize, rows: usize) -> Option<(Vec<u32>, usize)> {
    let mut volume = 1_u64;
    let mut axes = Vec::with_capacity(dims);
    for axis in 0..dims {
        let column = chunks.iter().skip(axis).step_by(dims);
        let (low, high) = column.fold((i64::MAX, i64::MIN), |(low, high), &chunk| {
            (low.min(chunk), high.max(chunk))
        });
        let extent = u64::try_from(high.checked_sub(low)?.checked_add(1)?).ok()?;
        volume = volume
            .checked_mul(extent)
            .filter(|volume| *volume <= wide(rows).saturating_mul(4).saturating_add(256))?;
        axes.push((low, extent));
    }
    let numbers = chunks.chunks_exact(dims).map(|chunk| {
        // The number is below the volume, which fits 32 bits.
        chunk
            .iter()
            .zip(&axes)
            .fold(0_u32, |number, (&at, &(low, extent))| {
                number
                    .wrapping_mul(extent as u32)
                    .wrapping_add(at.wrapping_sub(low) as u32)
            })
    });
    Some((numbers.collect(), usize::try_from(volume).ok()?))
}

/// Chunks as numbers in the order of their first occurrence, and how many there are.
fn hashed(chunks: &[i64], dims: usize) -> (Vec<u32>, usize) {
    let mut known: FxHashMap<&[i64], u32> = FxHashMap::default();
    let numbers = chunks
        .chunks_exact(dims)
        .map(|chunk| {
            // A block has far fewer rows than 2^32.
            let next = known.len() as u32;
            *known.entry(chunk).or_insert(next)
        })
        .collect();
    let many = known.len();
    (numbers, many)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{dense, hashed, sort};

    proptest! {
        /// Chunks near and far from the origin: rows of a chunk are contiguous and keep their order.
        #[test]
        fn rows_are_sorted_by_chunk(
            dims in 1_usize..4,
            numbers in prop::collection::vec(prop_oneof![-3_i64..4, Just(i64::MAX), Just(i64::MIN)], 0..200),
        ) {
            let rows = numbers.len() / dims;
            let chunks = &numbers[..rows * dims];
            let chunk = |row: usize| &chunks[row * dims..][..dims];
            let (order, firsts, counts) = sort(chunks, dims).unwrap();
            let mut seen: Vec<usize> = order.iter().map(|&row| row as usize).collect();
            let mut at = 0;
            let mut keys = Vec::new();
            for (&first, &count) in firsts.iter().zip(&counts) {
                let run = &seen[at..at + count];
                prop_assert!(run.iter().all(|&row| chunk(row) == chunk(first)));
                prop_assert!(run.is_sorted());
                prop_assert_eq!(run[0], first);
                keys.push(chunk(first));
                at += count;
            }
            prop_assert_eq!(at, rows);
            let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
            prop_assert_eq!(distinct.len(), keys.len());
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn both_ways_of_numbering_tell_chunks_apart() {
        let chunks = [0_i64, 1, -1, 2, 0, 1, 5, 5, -1, 2];
        let (numbers, many) = dense(&chunks, 2, 5).unwrap();
        assert_eq!(many, 7 * 5);
        assert_eq!(numbers, [5, 1, 5, 34, 1]);
        assert_eq!(hashed(&chunks, 2), (vec![0, 1, 0, 2, 1], 3));
        assert!(dense(&[i64::MIN, i64::MAX], 1, 2).is_none());
        assert!(dense(&[0, 1_000_000], 1, 2).is_none());
    }
}

//! Sums of the positions of bins (0.9 §17, step 6).

use super::bin::{Binned, MOST_AXES, Means};
use super::fine::{Fine, ObjectFragments};
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::records::{Bucket, Buckets, SpillFile, records, row_of, take_array};
use zvf_encode::{WriteError, parallel};
use zvf_format::int::{index, wide};

/// The sum of the positions in a bin, and their number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PositionSum {
    axes: [f64; MOST_AXES],
    pub(crate) count: u64,
}

impl PositionSum {
    pub(crate) fn add(&mut self, position: &[f32]) {
        for (sum, &value) in self.axes.iter_mut().zip(position) {
            *sum += f64::from(value);
        }
        self.count += 1;
    }

    pub(crate) fn mean(&self) -> [f32; MOST_AXES] {
        let count = self.count as f64;
        self.axes.map(|sum| zvf_encode::narrow(sum / count))
    }
}

/// Positions of objects, in parts of whole bins that fit in memory.
#[derive(Debug)]
pub(crate) struct BinPositions {
    /// For each chunk, the fragments of kept objects, with the numbers of their entries.
    entries: Vec<Vec<(u32, u32)>>,
    /// Number, index of the bin in its part, position.
    parts: Buckets<u32>,
    count: u32,
}

impl BinPositions {
    pub(crate) fn new(
        fine: &Fine,
        objects: &ObjectFragments,
        kept: &[usize],
        means: Means<'_>,
    ) -> Result<Self, WriteError> {
        // The number of parts follows from the count in the document, which may be wrong.
        let bytes = fine.expected.saturating_mul(wide(record(fine.dims)));
        let share = wide(means.budget / (means.threads * 8).max(1)).max(1 << 20);
        let least = wide(means.threads) * 4;
        let count = narrow(
            "parts",
            to_index("parts", (bytes / share).clamp(least.clamp(1, 4096), 4096))?,
        )?;
        let mut entries = vec![Vec::new(); fine.chunks.len()];
        for &row in kept {
            let (first, list) = objects.entries(row)?;
            for (number, &(slot, fragment)) in (first..).zip(list) {
                let number = narrow("fragments of objects", number)?;
                let of_chunk = entries.get_mut(index(slot));
                of_chunk
                    .or_bug("a fragment of no chunk")?
                    .push((fragment, number));
            }
        }
        Ok(Self {
            entries,
            parts: Buckets::of(0..count, means.budget / 2, means.folder),
            count,
        })
    }

    /// Adds the rows of kept objects in a chunk; `of` has the bin of each row.
    pub(crate) fn push(&mut self, one: &Binned, of: &[u32], dims: usize) -> Result<(), WriteError> {
        let parts = self.count;
        let entries = self.entries.get(one.slot);
        for &(fragment, entry) in entries.or_bug("a chunk that was not counted")? {
            let mut number = u64::from(entry) << 32;
            let mut failed = Ok(());
            one.chunk.fragment(fragment, |row| {
                let (bin, position) = (of.get(row), one.chunk.position(row, dims));
                let (Some(&bin), Some(position)) = (bin, position) else {
                    failed = Err(WriteError::bug(format!("row {row} has no bin")));
                    return;
                };
                let pushed = self.parts.push(index(bin % parts), |out| {
                    out.extend_from_slice(&number.to_le_bytes());
                    out.extend_from_slice(&(bin / parts).to_le_bytes());
                    for value in position {
                        out.extend_from_slice(&value.to_le_bytes());
                    }
                });
                if pushed.is_err() {
                    failed = pushed;
                }
                number += 1;
            })?;
            failed?;
        }
        self.parts.relieve()
    }

    /// The sums of all bins.
    pub(crate) fn finish(
        self,
        bins: usize,
        dims: usize,
        threads: usize,
    ) -> Result<Vec<PositionSum>, WriteError> {
        let parts = index(self.count);
        let (buckets, file) = self.parts.finish();
        let mut sums = vec![PositionSum::default(); bins];
        let of_part = bins.div_ceil(parts);
        parallel::each(
            threads,
            buckets.into_iter(),
            |(part, bucket)| Ok((part, add(bucket, &file, dims, of_part)?)),
            |(part, found): (u32, Vec<PositionSum>)| {
                let own = sums.iter_mut().skip(index(part)).step_by(parts);
                own.zip(found).for_each(|(sum, found)| *sum = found);
                Ok(())
            },
        )?;
        Ok(sums)
    }
}

/// Bytes of a waiting position.
fn record(dims: usize) -> usize {
    dims * 4 + 12
}

/// The sums of one part, in the order of the numbers.
fn add(
    bucket: Bucket,
    file: &SpillFile,
    dims: usize,
    bins: usize,
) -> Result<Vec<PositionSum>, WriteError> {
    let bytes = bucket.read(file)?;
    let record = record(dims);
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(bytes.len() / record);
    narrow("vertices of a part", bytes.len() / record)?;
    for (at, mut one) in (0_u32..).zip(records(&bytes, record)?) {
        order.push((u64::from_le_bytes(take_array(&mut one)?), at));
    }
    if !order.is_sorted() {
        order.sort_unstable();
    }
    let mut sums = vec![PositionSum::default(); bins];
    for (_, at) in order {
        let mut rest = row_of(&bytes, index(at), record).or_bug("no record of a position")?;
        let _number: [u8; 8] = take_array(&mut rest)?;
        let bin = u32::from_le_bytes(take_array(&mut rest)?);
        let mut position = [0.0_f32; MOST_AXES];
        for slot in position.iter_mut().take(dims) {
            *slot = f32::from_le_bytes(take_array(&mut rest)?);
        }
        // Missing axes are 0 and do not change sums.
        sums.get_mut(index(bin))
            .or_bug("a position in no bin")?
            .add(&position);
    }
    Ok(sums)
}

//! Vertices to bins, and bins to metavertices (0.9 §17, steps 4 to 8).

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use zvf_meta::space::{Grid, chunk_at};
use zvf_store::ChunkCoord;

use super::fine::{Chunk, Fine, Work, fragment};
use crate::bucket::{Bucket, Buckets};
use crate::int::{index, narrow, signed, to_index, wide};
use crate::spill::SpillFile;
use crate::{WriteError, parallel};

/// Most axes of a level that is coarsened.
pub(crate) const MOST_AXES: usize = 4;

/// A bin; axes that are not there are 0.
pub(crate) type Bin = [i64; MOST_AXES];

/// A vertex without a metavertex.
pub(crate) const NONE: u32 = u32::MAX;

/// What a step may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'s> {
    pub(crate) budget: usize,
    pub(crate) threads: usize,
    pub(crate) folder: &'s Path,
}

/// One metavertex: its bin, and the mean of its members.
#[derive(Debug, Clone, Copy)]
struct Meta {
    bin: Bin,
    mean: [f32; MOST_AXES],
}

/// The vertices of a coarse level, and what stands for what.
#[derive(Debug)]
pub(crate) struct Metas {
    /// Chunks in lex order.
    pub(crate) chunks: Arc<Vec<ChunkCoord>>,
    /// The first vertex of each chunk, and the count of all.
    pub(crate) starts: Vec<u32>,
    /// Positions, chunk by chunk.
    pub(crate) positions: Vec<f32>,
    /// The vertex of each bin.
    of_bin: FxHashMap<Bin, u32>,
}

impl Metas {
    pub(crate) fn len(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Slot of the chunk, and row, of a vertex.
    pub(crate) fn place(&self, vertex: u32) -> (u32, u32) {
        place(&self.starts, vertex)
    }
}

/// Slot of the chunk, and row, of a vertex, where chunks begin at `starts`.
pub(crate) fn place(starts: &[u32], vertex: u32) -> (u32, u32) {
    let slot = starts
        .partition_point(|&start| start <= vertex)
        .saturating_sub(1);
    let start = starts.get(slot).copied().unwrap_or(0);
    // A count of chunks that were numbered with 32 bits.
    let slot = u32::try_from(slot).unwrap_or(u32::MAX);
    (slot, vertex.saturating_sub(start))
}

/// The bin of a position.
fn bin(position: &[f32], size: &[f64]) -> Result<Bin, WriteError> {
    let mut bin = [0; MOST_AXES];
    for ((slot, &value), &size) in bin.iter_mut().zip(position).zip(size) {
        *slot = chunk_at(f64::from(value), size).ok_or_else(|| {
            WriteError::data("position", value.to_string(), "a number that lies in a bin")
        })?;
    }
    Ok(bin)
}

/// The bin of a position that was not rounded.
pub(crate) fn bin_of(position: &[f64], size: &[f64]) -> Result<Bin, WriteError> {
    let mut bin = [0; MOST_AXES];
    for ((slot, &value), &size) in bin.iter_mut().zip(position).zip(size) {
        *slot = chunk_at(value, size).ok_or_else(|| {
            WriteError::data("position", value.to_string(), "a number that lies in a bin")
        })?;
    }
    Ok(bin)
}

/// Which rows are gathered, and in which order: each gets a number that rises in that order.
#[derive(Debug)]
enum Order {
    /// All fragments, chunk by chunk.
    Chunks,
    /// Those of objects: for each chunk the fragments that are asked for, with the numbers of their entries.
    Entries(Vec<Vec<(u32, u32)>>),
}

impl Order {
    fn each(
        &self,
        slot: usize,
        chunk: &Chunk,
        dims: usize,
        mut work: impl FnMut(u64, usize),
    ) -> Result<(), WriteError> {
        match self {
            Self::Chunks => {
                let mut number = wide(slot) << 32;
                chunk.all(dims, |row| {
                    work(number, row);
                    number = number.saturating_add(1);
                })
            }
            Self::Entries(entries) => {
                for &(fragment, entry) in entries.get(slot).into_iter().flatten() {
                    let mut number = u64::from(entry) << 32;
                    chunk.fragment(fragment, |row| {
                        work(number, row);
                        number = number.saturating_add(1);
                    })?;
                }
                Ok(())
            }
        }
    }
}

/// Makes the metavertices of the objects `kept`, or of everything.
///
/// # Cost
/// One reading of the positions; records of the gathered vertices in memory or in a temporary file, about a hundred bytes
/// for each metavertex in memory.
pub(crate) fn gather(
    fine: &Fine,
    kept: Option<&[usize]>,
    size: &[f64],
    target: (&Grid, &[f64]),
    means: Means<'_>,
) -> Result<Metas, WriteError> {
    let dims = fine.dims;
    let record = dims.saturating_mul(4).saturating_add(8);
    // Bins are told apart by a hash: each part is a set of whole bins, small enough to be held.
    let bytes = fine.expected.saturating_mul(wide(record));
    let share = wide(means.budget / means.threads.saturating_mul(8).max(1)).max(1 << 20);
    let least = wide(means.threads).saturating_mul(4);
    let parts = to_index("parts", (bytes / share).clamp(least, 4096))?;
    let order = match (kept, &fine.objects) {
        (Some(kept), Some(objects)) => {
            let mut entries = vec![Vec::new(); fine.chunks.len()];
            for &row in kept {
                let (first, list) = objects.entries(row);
                for (number, &(slot, fragment)) in (first..).zip(list) {
                    let number = narrow("fragments of objects", number)?;
                    if let Some(slot) = entries.get_mut(index(slot)) {
                        slot.push((fragment, number));
                    }
                }
            }
            Order::Entries(entries)
        }
        _ => Order::Chunks,
    };
    let (hasher, bins) = (FxBuildHasher, size.to_vec());
    let work = move |slot: usize, chunk: Chunk| {
        let mut out: Vec<Vec<u8>> = vec![Vec::new(); parts];
        let mut failed = None;
        order.each(slot, &chunk, dims, |number, row| {
            let start = row.saturating_mul(dims);
            let position = chunk.positions.get(start..start.saturating_add(dims));
            match bin(position.unwrap_or_default(), &bins) {
                Ok(bin) => {
                    let part = hasher.hash_one(bin) % wide(parts);
                    let part = usize::try_from(part).ok().and_then(|at| out.get_mut(at));
                    if let (Some(part), Some(position)) = (part, position) {
                        part.extend_from_slice(&number.to_le_bytes());
                        for value in position {
                            part.extend_from_slice(&value.to_le_bytes());
                        }
                    }
                }
                Err(error) => failed = Some(error),
            }
        })?;
        failed.map_or(Ok(out), Err)
    };
    let work: Work<Vec<Vec<u8>>> = Arc::new(work);
    let mut buckets: Buckets<usize> = Buckets::new(means.budget / 2, means.folder);
    let numbers: Vec<usize> = (0..parts)
        .map(|part| buckets.number(&part, |&part| part))
        .collect();
    fine.each(means.threads, &work, |parts| {
        for (&number, bytes) in numbers.iter().zip(parts) {
            if !bytes.is_empty() {
                buckets.push(number, |out| out.extend_from_slice(&bytes));
            }
        }
        buckets.relieve()
    })?;
    drop(work);
    let (buckets, file) = buckets.finish();
    let mut metas: Vec<Meta> = Vec::new();
    let jobs = buckets.into_iter().map(|(_, bucket)| bucket);
    let jobs: Vec<Bucket> = jobs.collect();
    parallel::each(
        means.threads,
        jobs.into_iter(),
        |bucket| aggregate(bucket, &file, dims, size),
        |mut some| {
            metas.append(&mut some);
            Ok(())
        },
    )?;
    settle(metas, dims, target)
}

/// The metavertices of one part: sums in the order in which vertices are gathered.
fn aggregate(
    bucket: Bucket,
    file: &SpillFile,
    dims: usize,
    size: &[f64],
) -> Result<Vec<Meta>, WriteError> {
    let bytes = bucket.read(file)?;
    let record = dims.saturating_mul(4).saturating_add(8);
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(bytes.len() / record.max(1));
    for (at, one) in (0_u32..).zip(bytes.chunks_exact(record)) {
        let number = one.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        order.push((number, at));
    }
    narrow("vertices of a part", order.len())?;
    if !order.is_sorted() {
        order.sort_unstable();
    }
    let mut of_bin: FxHashMap<Bin, usize> = FxHashMap::default();
    let mut sums: Vec<(Bin, [f64; MOST_AXES], u64)> = Vec::new();
    for (_, at) in order {
        let start = index(at).saturating_mul(record);
        let values = bytes.get(start.saturating_add(8)..start.saturating_add(record));
        let mut position = [0.0_f32; MOST_AXES];
        for (slot, value) in position
            .iter_mut()
            .zip(values.unwrap_or_default().as_chunks::<4>().0)
        {
            *slot = f32::from_le_bytes(*value);
        }
        let position = position.get(..dims).unwrap_or_default();
        let bin = bin(position, size)?;
        let place = *of_bin.entry(bin).or_insert_with(|| {
            sums.push((bin, [0.0; MOST_AXES], 0));
            sums.len() - 1
        });
        if let Some((_, sum, count)) = sums.get_mut(place) {
            for (sum, &value) in sum.iter_mut().zip(position) {
                *sum += f64::from(value);
            }
            *count = count.saturating_add(1);
        }
    }
    Ok(sums
        .into_iter()
        .map(|(bin, sum, count)| Meta {
            bin,
            mean: sum.map(|sum| crate::values::narrow(sum / count as f64)),
        })
        .collect())
}

/// The order of bins: that of their little-endian bytes (trap T28).
fn byte_order(bin: &Bin) -> [u64; MOST_AXES] {
    bin.map(|axis| axis.swap_bytes().cast_unsigned())
}

/// Brings the metavertices into chunks and into their order.
fn settle(
    mut metas: Vec<Meta>,
    dims: usize,
    (grid, chunk_shape): (&Grid, &[f64]),
) -> Result<Metas, WriteError> {
    metas.sort_unstable_by_key(|meta| byte_order(&meta.bin));
    if narrow("vertices of a level", metas.len())? == NONE {
        return Err(WriteError::limit(
            "vertices of a level",
            wide(metas.len()),
            u64::from(NONE),
        ));
    }
    let mut by_chunk: FxHashMap<[i64; MOST_AXES], Vec<u32>> = FxHashMap::default();
    for (at, meta) in (0_u32..).zip(&mut metas) {
        let mut chunk = [0; MOST_AXES];
        for axis in 0..dims {
            if let (Some(value), Some(slot), Some(&size), Some(&origin), Some(&cells)) = (
                meta.mean.get_mut(axis),
                chunk.get_mut(axis),
                chunk_shape.get(axis),
                grid.origin.get(axis),
                grid.shape.get(axis),
            ) {
                *slot = inside(value, size, origin, cells)?;
            }
        }
        by_chunk.entry(chunk).or_default().push(at);
    }
    let mut chunks: Vec<([i64; MOST_AXES], Vec<u32>)> = by_chunk.into_iter().collect();
    chunks.sort_unstable();
    let mut found = Metas {
        chunks: Arc::default(),
        starts: vec![0],
        positions: Vec::with_capacity(metas.len().saturating_mul(dims)),
        of_bin: FxHashMap::with_capacity_and_hasher(metas.len(), FxBuildHasher),
    };
    let mut coords = Vec::with_capacity(chunks.len());
    let mut vertex = 0_u32;
    for (chunk, members) in chunks {
        coords.push(ChunkCoord::new(chunk.get(..dims).unwrap_or_default()));
        for at in members {
            if let Some(meta) = metas.get(index(at)) {
                found
                    .positions
                    .extend_from_slice(meta.mean.get(..dims).unwrap_or_default());
                found.of_bin.insert(meta.bin, vertex);
                vertex = vertex.saturating_add(1);
            }
        }
        found.starts.push(vertex);
    }
    narrow("chunks", coords.len())?;
    found.chunks = Arc::new(coords);
    Ok(found)
}

/// The chunk of a mean on one axis. Where positions were rounded to float32 a mean may lie a rounding beyond the bounds,
/// where there is no chunk: it is taken back inside.
fn inside(value: &mut f32, size: f64, origin: i64, cells: u64) -> Result<i64, WriteError> {
    let last = i64::try_from(cells)
        .ok()
        .and_then(|cells| origin.checked_add(cells)?.checked_sub(1))
        .unwrap_or(i64::MAX);
    let given = *value;
    for _ in 0..3 {
        match chunk_at(f64::from(*value), size) {
            Some(chunk) if chunk < origin => *value = value.next_up(),
            Some(chunk) if chunk > last => *value = value.next_down(),
            Some(chunk) => return Ok(chunk),
            None => break,
        }
    }
    let expected = "vertices inside the bounds that the store declares";
    Err(WriteError::data("position", given.to_string(), expected))
}

/// What stands for each vertex of the finer level.
#[derive(Debug)]
pub(crate) struct Parents {
    /// The first vertex of each chunk, and the count of all.
    pub(crate) starts: Vec<u32>,
    /// The coarse vertex of each vertex, chunk by chunk, row by row; [`NONE`] where none does.
    pub(crate) of: Vec<u32>,
    /// Fragment indexes, where objects are asked for; none where every row is a fragment.
    fragments: Vec<Option<bytes::Bytes>>,
}

/// Finds the metavertex of every vertex: that of its bin. Vertices of objects that were dropped have one where another
/// object keeps its bin occupied.
///
/// # Cost
/// One more reading of the positions; four bytes a vertex in memory.
pub(crate) fn parents(
    fine: &Fine,
    metas: &Arc<Metas>,
    size: &[f64],
    threads: usize,
) -> Result<Parents, WriteError> {
    let dims = fine.dims;
    let (bins, lookup, keep) = (size.to_vec(), Arc::clone(metas), fine.objects.is_some());
    type Found = (usize, Vec<u32>, Option<bytes::Bytes>);
    let work: Work<Found> = Arc::new(move |slot, chunk| {
        let rows = chunk.positions.chunks_exact(dims);
        // Rows that follow each other mostly share a bin.
        let mut last: Option<(Bin, u32)> = None;
        let found = rows
            .map(|position| {
                let bin = bin(position, &bins)?;
                if let Some((_, parent)) = last.filter(|(known, _)| *known == bin) {
                    return Ok(parent);
                }
                let parent = lookup.of_bin.get(&bin).copied().unwrap_or(NONE);
                last = Some((bin, parent));
                Ok(parent)
            })
            .collect::<Result<Vec<u32>, WriteError>>()?;
        Ok((slot, found, chunk.fragments.filter(|_| keep)))
    });
    let mut all: Vec<(Vec<u32>, Option<bytes::Bytes>)> = Vec::new();
    all.resize_with(fine.chunks.len(), Default::default);
    fine.each(threads, &work, |(slot, found, fragments)| {
        if let Some(place) = all.get_mut(slot) {
            *place = (found, fragments);
        }
        Ok(())
    })?;
    let mut parents = Parents {
        starts: vec![0],
        of: Vec::new(),
        fragments: Vec::new(),
    };
    for (mut found, fragments) in all {
        parents.of.append(&mut found);
        let count = narrow("vertices of a level", parents.of.len())?;
        parents.starts.push(count);
        parents.fragments.push(fragments);
    }
    Ok(parents)
}

impl Parents {
    /// The coarse vertices of an object, in its order, immediate repeats removed.
    pub(crate) fn of_object(
        &self,
        entries: &[(u32, u32)],
        out: &mut Vec<u32>,
    ) -> Result<(), WriteError> {
        out.clear();
        for &(slot, number) in entries {
            let start = self.starts.get(index(slot)).copied().map_or(0, index);
            let bytes = self.fragments.get(index(slot)).and_then(Option::as_deref);
            fragment(bytes, number, |row| {
                let parent = self.of.get(start.saturating_add(row)).copied();
                if let Some(parent) = parent.filter(|one| *one != NONE && out.last() != Some(one)) {
                    out.push(parent);
                }
            })?;
        }
        Ok(())
    }
}

/// The coarse vertex of each vertex over two steps.
pub(crate) fn compose(first: &[u32], second: &[u32]) -> Vec<u32> {
    let up = |&vertex: &u32| second.get(index(vertex)).copied().unwrap_or(NONE);
    first.iter().map(up).collect()
}

/// A count of rows as a stored number.
pub(crate) fn rows_between(starts: &[u32], slot: usize) -> i64 {
    let at = |slot: usize| starts.get(slot).copied().map_or(0, index);
    signed(at(slot.saturating_add(1)).saturating_sub(at(slot)))
}

#[cfg(test)]
mod tests {
    use super::{MOST_AXES, byte_order, compose, inside, place};

    #[test]
    fn t28_bins_are_sorted_by_their_bytes() {
        // The order of the format page: 1, 257, 2, and -1 last of all.
        let mut bins: Vec<[i64; MOST_AXES]> = [-1, 2, 257, 1, 0, 256].map(|x| [x, 0, 0, 0]).into();
        bins.sort_by_key(byte_order);
        let first: Vec<i64> = bins.iter().map(|bin| bin[0]).collect();
        assert_eq!(first, [0, 256, 1, 257, 2, -1]);
        let mut same: Vec<[i64; MOST_AXES]> = vec![[3, 1, 0, 0], [3, 0, 9, 0], [2, 5, 0, 0]];
        same.sort_by_key(|bin| bin.map(|axis| axis.to_le_bytes()));
        let mut ours = same.clone();
        ours.sort_by_key(byte_order);
        assert_eq!(ours, same);
    }

    #[test]
    fn places_of_vertices() {
        let starts = [0, 3, 3, 7];
        let found: Vec<_> = [0, 2, 3, 6].map(|vertex| place(&starts, vertex)).into();
        assert_eq!(found, [(0, 0), (0, 2), (2, 0), (2, 3)]);
    }

    #[test]
    fn steps_compose_and_what_is_lost_stays_lost() {
        let none = super::NONE;
        assert_eq!(compose(&[0, 2, none, 1], &[5, none, 6]), [5, 6, none, none]);
    }

    #[test]
    fn a_mean_a_rounding_beyond_the_last_chunk_is_taken_back() {
        let mut value = 20.0_f32;
        assert_eq!(inside(&mut value, 10.0, 0, 2).unwrap(), 1);
        assert_eq!(value, 20.0_f32.next_down());
        assert!(inside(&mut 30.0, 10.0, 0, 2).is_err());
        assert_eq!(inside(&mut 19.5, 10.0, 0, 2).unwrap(), 1);
    }
}

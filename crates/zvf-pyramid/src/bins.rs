//! From vertices to bins, and from bins to metavertices (0.9 §17, steps 4 to 8).

use std::sync::Arc;

use rustc_hash::FxHashMap;
use zvf_meta::space::{Grid, chunk_at};
use zvf_store::{CheckedFragments, ChunkCoord};

use super::bin::{Bin, Binned, MOST_AXES, Means};
use super::fine::{Fine, PerChunk, fragment, rows_of};
use super::sums::{BinPositions, PositionSum};
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, internal, narrow, to_index};
use zvf_format::int::{index, wide};

/// Marks a vertex without a metavertex.
pub(crate) const NONE: u32 = u32::MAX;

/// The vertices of a coarse level.
#[derive(Debug)]
pub(crate) struct Metas {
    /// Chunks in lex order.
    pub(crate) chunks: Arc<Vec<ChunkCoord>>,
    /// The first vertex of each chunk, and the number of all vertices.
    pub(crate) starts: Vec<u32>,
    /// Positions, chunk by chunk.
    pub(crate) positions: Vec<f32>,
}

impl Metas {
    pub(crate) fn len(&self) -> Result<u32, WriteError> {
        self.starts
            .last()
            .copied()
            .or_bug("no count of the vertices")
    }

    /// Slot of the chunk, and row, of a vertex.
    pub(crate) fn place(&self, vertex: u32) -> Result<(u32, u32), WriteError> {
        place(&self.starts, vertex)
    }
}

/// Slot of the chunk, and row, of a vertex; chunks begin at `starts`.
fn place(starts: &[u32], vertex: u32) -> Result<(u32, u32), WriteError> {
    let behind = starts.partition_point(|&start| start <= vertex);
    let last = behind.checked_sub(1).filter(|_| behind < starts.len());
    let slot = last.or_bug(format_args!("vertex {vertex} is in no chunk"))?;
    let start = starts.get(slot).or_bug("a chunk without a start")?;
    Ok((narrow("chunks", slot)?, vertex - start))
}

/// How positions are added to the sums of their bins. The order is the same as in the Python package, because the sum of floats depends on it.
#[derive(Debug)]
enum Adding {
    /// Adds the fragments chunk by chunk, as they are read.
    Chunks(Vec<PositionSum>),
    /// Adds one object after another; their positions are kept until all are read.
    Objects(BinPositions),
}

/// Makes the metavertices of the objects `kept`, or of all vertices, and finds the metavertex of every vertex by its bin. A vertex of a dropped
/// object has one if a kept object has a vertex in the same bin.
///
/// # Cost
/// The positions are read once. Memory: four bytes per vertex, and about a hundred for each occupied bin; for objects a copy of their positions in
/// memory or in a temporary file.
pub(crate) fn gather(
    fine: &Fine,
    kept: Option<&[usize]>,
    size: &[f64],
    target: (&Grid, &[f64]),
    means: Means<'_>,
) -> Result<(Metas, CoarseParents), WriteError> {
    let dims = fine.dims;
    let mut adding = match (kept, &fine.objects) {
        (Some(kept), Some(objects)) => {
            Adding::Objects(BinPositions::new(fine, objects, kept, means)?)
        }
        _ => Adding::Chunks(Vec::new()),
    };
    let bins = size.to_vec();
    let work: PerChunk<Binned> = Arc::new(move |slot, chunk| Binned::new(slot, chunk, dims, &bins));
    let mut numbers: FxHashMap<Bin, u32> = FxHashMap::default();
    let mut parents = CoarseParents {
        starts: vec![0],
        of: Vec::with_capacity(to_index("vertices", fine.expected.min(1 << 24))?),
        fragments: Vec::new(),
    };
    let mut here = Vec::new();
    fine.each(means.threads, &work, |one| {
        here.clear();
        for &bin in &one.bins {
            let next = narrow("bins of a level", numbers.len())?;
            here.push(*numbers.entry(bin).or_insert(next));
        }
        let start = parents.of.len();
        for &own in &one.of {
            parents
                .of
                .push(*here.get(index(own)).or_bug("a row without a bin")?);
        }
        let of = parents.of.get(start..).or_bug("no bins of a chunk")?;
        match &mut adding {
            Adding::Chunks(sums) => {
                sums.resize(numbers.len(), PositionSum::default());
                let mut lost = None;
                one.chunk.all(dims, |row| {
                    let sum = of.get(row).and_then(|&bin| sums.get_mut(index(bin)));
                    match sum.zip(one.chunk.position(row, dims)) {
                        Some((sum, position)) => sum.add(position),
                        None => lost = Some(row),
                    }
                });
                internal!(
                    lost.is_none(),
                    "rows of chunk {} without a bin: {lost:?}",
                    one.slot
                );
            }
            Adding::Objects(waiting) => waiting.push(&one, of, dims)?,
        }
        let count = narrow("vertices of a level", parents.of.len())?;
        parents.starts.push(count);
        let fragments = one.chunk.fragments.filter(|_| fine.objects.is_some());
        parents.fragments.push(fragments);
        Ok(())
    })?;
    let sums = match adding {
        Adding::Chunks(sums) => sums,
        Adding::Objects(waiting) => waiting.finish(numbers.len(), dims, means.threads)?,
    };
    let (metas, vertices) = settle(&numbers, &sums, dims, target)?;
    for bin in &mut parents.of {
        *bin = *vertices
            .get(index(*bin))
            .or_bug("a bin that was not settled")?;
    }
    Ok((metas, parents))
}

/// The order of bins: by their little-endian bytes (trap T28).
fn byte_order(bin: &Bin) -> [u64; MOST_AXES] {
    bin.map(|axis| axis.swap_bytes().cast_unsigned())
}

/// Assigns metavertices to chunks and sorts them. Also returns the vertex of each bin, [`NONE`] if no member was added.
fn settle(
    numbers: &FxHashMap<Bin, u32>,
    sums: &[PositionSum],
    dims: usize,
    (grid, chunk_shape): (&Grid, &[f64]),
) -> Result<(Metas, Vec<u32>), WriteError> {
    let sum = |number: u32| sums.get(index(number)).or_bug("a bin without a sum");
    let mut order: Vec<([u64; MOST_AXES], u32)> = Vec::with_capacity(numbers.len());
    for (bin, &number) in numbers {
        if sum(number)?.count > 0 {
            order.push((byte_order(bin), number));
        }
    }
    order.sort_unstable();
    let sizes = [chunk_shape.len(), grid.origin.len(), grid.shape.len()];
    internal!(
        dims <= MOST_AXES && sizes == [dims; 3],
        "{sizes:?} sizes of {dims} axes"
    );
    if narrow("vertices of a level", order.len())? == NONE {
        return Err(WriteError::limit(
            "vertices of a level",
            wide(order.len()),
            u64::from(NONE),
        ));
    }
    type Members = Vec<(u32, [f32; MOST_AXES])>;
    let mut by_chunk: FxHashMap<[i64; MOST_AXES], Members> = FxHashMap::default();
    for (_, number) in order {
        let mut mean = sum(number)?.mean();
        let mut chunk = [0; MOST_AXES];
        let axes = chunk_shape.iter().zip(&grid.origin).zip(&grid.shape);
        for ((value, slot), ((&size, &origin), &cells)) in mean.iter_mut().zip(&mut chunk).zip(axes)
        {
            *slot = inside(value, size, origin, cells)?;
        }
        by_chunk.entry(chunk).or_default().push((number, mean));
    }
    let mut chunks: Vec<([i64; MOST_AXES], Members)> = by_chunk.into_iter().collect();
    chunks.sort_unstable_by_key(|(chunk, _)| *chunk);
    let mut vertices = vec![NONE; sums.len()];
    let (mut starts, mut positions) = (vec![0], Vec::new());
    let mut coords = Vec::with_capacity(chunks.len());
    let mut vertex = 0_u32;
    for (chunk, members) in chunks {
        let chunk: Vec<i64> = chunk.into_iter().take(dims).collect();
        coords.push(ChunkCoord::new(&chunk));
        for (number, mean) in members {
            positions.extend(mean.iter().take(dims));
            *vertices
                .get_mut(index(number))
                .or_bug("a bin without a number")? = vertex;
            vertex += 1;
        }
        starts.push(vertex);
    }
    narrow("chunks", coords.len())?;
    let metas = Metas {
        chunks: Arc::new(coords),
        starts,
        positions,
    };
    Ok((metas, vertices))
}

/// The chunk of a mean on one axis. Positions rounded to float32 can have a mean outside the bounds, in a chunk that does not exist. Such a mean is
/// moved inside.
fn inside(value: &mut f32, size: f64, origin: i64, cells: u64) -> Result<i64, WriteError> {
    // A grid that reaches beyond the 64-bit integers has no last chunk.
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

/// The coarse vertex that represents each vertex of the finer level.
#[derive(Debug)]
pub(crate) struct CoarseParents {
    /// The first vertex of each chunk, and the number of all vertices.
    pub(crate) starts: Vec<u32>,
    /// The coarse vertex of each vertex, chunk by chunk, row by row; [`NONE`] if there is none.
    pub(crate) of: Vec<u32>,
    /// By chunk; `None` if every row is a fragment, or the finer level has no objects.
    fragments: Vec<Option<CheckedFragments>>,
}

impl CoarseParents {
    /// The coarse vertices of an object, in its order, immediate repeats removed.
    pub(crate) fn of_object(
        &self,
        entries: &[(u32, u32)],
        out: &mut Vec<u32>,
    ) -> Result<(), WriteError> {
        out.clear();
        for &(slot, number) in entries {
            let rows = rows_of(&self.starts, index(slot))?;
            let of = self.of.get(rows).or_bug("a chunk without parents")?;
            let fragments = self
                .fragments
                .get(index(slot))
                .or_bug("no fragments of a chunk")?;
            let mut lost = None;
            fragment(fragments.as_ref(), number, |row| match of.get(row) {
                // A vertex without a representative, or with the same one as the vertex before.
                Some(&NONE) => {}
                Some(parent) if out.last() == Some(parent) => {}
                Some(&parent) => out.push(parent),
                None => lost = Some(row),
            })?;
            if let Some(row) = lost {
                let found = format!("fragment {number} of chunk {slot} with row {row}");
                return Err(WriteError::data("manifest", found, "rows of the chunk"));
            }
        }
        Ok(())
    }
}

/// The coarse vertex of each vertex over two steps.
pub(crate) fn compose(first: &[u32], second: &[u32]) -> Result<Vec<u32>, WriteError> {
    let up = |&vertex: &u32| match vertex {
        NONE => Ok(NONE),
        vertex => {
            let up = second.get(index(vertex)).copied();
            up.or_bug(format_args!("vertex {vertex} of {}", second.len()))
        }
    };
    first.iter().map(up).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_AXES, byte_order, compose, inside, place, rows_of};
    use zvf_encode::WriteError;

    #[test]
    fn t28_bins_are_sorted_by_their_bytes() {
        // The order of the format page: 1, 257, 2, and -1 at the end.
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
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [(0, 0), (0, 2), (2, 0), (2, 3)]);
        assert!(matches!(place(&starts, 7), Err(WriteError::Bug { .. })));
        assert_eq!(rows_of(&starts, 2).unwrap(), 3..7);
        assert!(matches!(rows_of(&starts, 3), Err(WriteError::Bug { .. })));
    }

    #[test]
    fn steps_compose_and_dropped_vertices_stay_dropped() {
        let none = super::NONE;
        assert_eq!(
            compose(&[0, 2, none, 1], &[5, none, 6]).unwrap(),
            [5, 6, none, none]
        );
        assert!(matches!(
            compose(&[3], &[5, none, 6]),
            Err(WriteError::Bug { .. })
        ));
    }

    #[test]
    fn a_mean_that_is_rounded_beyond_the_last_chunk_is_moved_inside() {
        let mut value = 20.0_f32;
        assert_eq!(inside(&mut value, 10.0, 0, 2).unwrap(), 1);
        assert_eq!(value, 20.0_f32.next_down());
        assert!(inside(&mut 30.0, 10.0, 0, 2).is_err());
        assert_eq!(inside(&mut 19.5, 10.0, 0, 2).unwrap(), 1);
    }
}

//! [`ShardShape`]: which cells of a level are stored together, and the automatic choice from the data.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use zvf_format::int::wide;
use zvf_meta::space::Grid;

/// Levels with fewer cells get no shards if these are chosen automatically. Without shards, each cell is a file.
const MANY_CELLS: usize = 2_000;

/// Chosen shards stop growing when all arrays of a level together have at most this number of them, or each array at most `FEW_OF_ARRAY`: with fewer
/// shards, fewer threads could write.
const FEW_SHARDS: usize = 256;
const FEW_OF_ARRAY: usize = 16;

/// Most bytes of the rows in a shard: a writer holds them in memory.
const MOST_BYTES: u64 = 64 << 20;

/// Most cells of a chosen shard: its index has 16 bytes for each.
const MOST_CELLS: u64 = 4_096;

/// Most cells in a shard of links. Their cells are small and in up to 27 arrays. A reader of one cell also reads the index of its shard, 32 KiB: half
/// of the bytes that are read along instead of sending another request.
const LINK_CELLS: u64 = 2_048;

/// Most bytes of the links in a shard.
const LINK_BYTES: u64 = 8 << 20;

/// Bytes of an entry of the index of a shard; cells that do not exist have one, too.
const ENTRY: u64 = 16;

/// The cost of one object, in bytes of indexes.
const OBJECT: u64 = 32 << 10;

/// Which cells of an array are stored together as one object, a shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ShardShape {
    /// None: every cell is a separate object.
    None,
    /// If a level of 0.9 has many cells: few shards, but small enough to be held in memory and to be written again by an edit. Otherwise
    /// [`None`](Self::None). Also [`None`](Self::None) if the chunks are not known before the first is written: in distributed writes, and in new
    /// stores without data.
    #[default]
    Auto,
    /// Cells of a shard along each component of chunk keys: the axes, after the attribute if chunks are [split by
    /// one](crate::StoreSpec::with_attribute_chunks).
    Cells(Vec<u64>),
}

impl ShardShape {
    /// Returns the cells of a shard, if they are stated.
    #[must_use]
    pub fn cells(&self) -> Option<&Vec<u64>> {
        match self {
            Self::None | Self::Auto => None,
            Self::Cells(cells) => Some(cells),
        }
    }

    /// Returns the cells of a shard of a level with these chunks, each with the bytes of its rows in all `arrays` arrays. Only the last `dims`
    /// components of their coordinates are axes; a shard never combines values of the component of an attribute before them.
    ///
    /// A chosen shard doubles along one axis after another until all arrays together have at most 256 shards, or each has at most 16; a shard has at
    /// most 4096 cells and 64 MiB of rows. Of these shapes the cheapest is taken. Each shard of each array costs 32 KiB, and 16 bytes for each of its
    /// cells, whether the cell exists or not. The bytes that an edit of one row writes again are added: the size of its shard, averaged over all
    /// rows. So scattered chunks get small shards or none, and the number of shards grows with the square root of the bytes. With fewer than 2000
    /// cells in all arrays, no shards are chosen. Cells of links count as well: one for each chunk and each pair of neighbouring chunks, but not more
    /// than `links`, the largest number of links that the level can have.
    ///
    /// # Cost
    /// If the shape is chosen: at most 13 passes over the chunks; 32 bytes per chunk. If it depends on `links`, all pairs of fewer than 1000 chunks
    /// are compared.
    #[must_use]
    pub fn of_level<'c>(
        &self,
        grid: &Grid,
        dims: usize,
        arrays: usize,
        links: u64,
        chunks: impl Iterator<Item = (&'c [i64], u64)>,
    ) -> Option<Vec<u64>> {
        match self {
            Self::None => None,
            Self::Auto => choose(grid, dims, arrays, links, chunks),
            Self::Cells(cells) => Some(cells.clone()),
        }
    }

    /// Returns the cells of a shard of an array of links, in a level whose other arrays have shards of `level` cells. `chunks` are the grid indices
    /// of its cells, each with the bytes of its links.
    ///
    /// A chosen shard starts with the shape of the level and doubles along one axis after another, at most to the end of the grid. It stops when all
    /// cells are in one shard, or before it would have more than 2048 cells or 8 MiB of links; of these shapes one is taken as for a
    /// [level](Self::of_level). A stated shape applies to every array.
    ///
    /// # Cost
    /// If the shape is chosen: at most 11 passes over the chunks.
    #[must_use]
    pub fn of_links(&self, grid: &Grid, level: &[u64], chunks: &[(Vec<u64>, u64)]) -> Vec<u64> {
        match self {
            Self::Auto => of_links(grid, level, chunks),
            Self::None | Self::Cells(_) => level.to_vec(),
        }
    }
}

fn choose<'c>(
    grid: &Grid,
    dims: usize,
    arrays: usize,
    links: u64,
    chunks: impl Iterator<Item = (&'c [i64], u64)>,
) -> Option<Vec<u64>> {
    let arrays = arrays.max(1);
    let chunks: Vec<(Vec<u64>, u64)> = chunks
        .filter_map(|(chunk, bytes)| Some((grid.index(chunk)?, bytes)))
        .collect();
    let cells = chunks.len().saturating_mul(arrays);
    if cells < MANY_CELLS && cells.saturating_add(link_cells(&chunks, dims, links)) < MANY_CELLS {
        return None;
    }
    let most = Most {
        arrays: wide(arrays),
        shards: (FEW_SHARDS / arrays).max(FEW_OF_ARRAY),
        cells: MOST_CELLS,
        bytes: MOST_BYTES,
        in_grid: false,
    };
    let shape = grown(vec![1; grid.shape.len()], grid, dims, &chunks, most);
    shape.iter().any(|cells| *cells > 1).then_some(shape)
}

/// The largest number of cells that `links` links can have, if each joins vertices of one chunk or of two neighbouring chunks.
fn link_cells(chunks: &[(Vec<u64>, u64)], dims: usize, links: u64) -> usize {
    let most = usize::try_from(links).unwrap_or(usize::MAX);
    let are_near = |a: &[u64], b: &[u64]| {
        let mut axes = a.iter().zip(b).rev().take(dims);
        axes.all(|(a, b)| a.abs_diff(*b) <= 1)
    };
    let mut cells = chunks.len();
    for (at, (one, _)) in chunks.iter().enumerate() {
        if cells >= most {
            return most;
        }
        let later = chunks.iter().skip(at + 1);
        cells += later.filter(|(other, _)| are_near(one, other)).count();
    }
    cells.min(most)
}

/// The choice of [`ShardShape::of_links`].
pub(crate) fn of_links(grid: &Grid, level: &[u64], chunks: &[(Vec<u64>, u64)]) -> Vec<u64> {
    let most = Most {
        // Values and groups of the links are in arrays of their own.
        arrays: 2,
        shards: 1,
        cells: LINK_CELLS,
        bytes: LINK_BYTES,
        in_grid: true,
    };
    grown(level.to_vec(), grid, level.len(), chunks, most)
}

/// Limits of growing shards.
#[derive(Debug, Clone, Copy)]
struct Most {
    /// Arrays with these shards.
    arrays: u64,
    /// Number of shards at which growing stops.
    shards: usize,
    /// Cells of a shard.
    cells: u64,
    /// Bytes of the cells of a shard.
    bytes: u64,
    /// Whether shards end at the end of the grid, so that their index has no entries beyond it.
    in_grid: bool,
}

/// Doubles a shard along one of its last `dims` axes after another, the shortest first; returns the shape with the lowest cost: see
/// [`ShardShape::of_level`].
fn grown(
    mut shape: Vec<u64>,
    grid: &Grid,
    dims: usize,
    chunks: &[(Vec<u64>, u64)],
    most: Most,
) -> Vec<u64> {
    let cost = |shards: &Shards, cells: u64| {
        let one = OBJECT.saturating_add(cells.saturating_mul(ENTRY));
        wide(shards.count)
            .saturating_mul(one)
            .saturating_mul(most.arrays)
            .saturating_add(shards.of_a_row)
    };
    let mut now = Shards::of(chunks, &shape);
    let mut best = (cost(&now, shape.iter().product()), shape.clone());
    while now.count > most.shards {
        // Starts at the last axis, which is chosen among equally short ones.
        let axes = shape.iter().zip(&grid.shape).enumerate().rev().take(dims);
        let short = axes.filter(|(_, (cells, extent))| cells < extent);
        let Some((axis, (cells, extent))) = short.min_by_key(|(_, (cells, _))| **cells) else {
            break;
        };
        let Some(more) = cells.checked_mul(2) else {
            break;
        };
        let mut next = shape.clone();
        if let Some(cells) = next.get_mut(axis) {
            *cells = if most.in_grid {
                more.min(*extent)
            } else {
                more
            };
        }
        let cells = next.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
        let Some(cells) = cells.filter(|cells| *cells <= most.cells) else {
            break;
        };
        let shards = Shards::of(chunks, &next);
        if shards.largest > most.bytes {
            break;
        }
        (shape, now) = (next, shards);
        if cost(&now, cells) < best.0 {
            best = (cost(&now, cells), shape.clone());
        }
    }
    best.1
}

/// The shards of an array that have chunks.
#[derive(Debug)]
struct Shards {
    count: usize,
    /// Bytes of the largest shard.
    largest: u64,
    /// Bytes of the shard of a row, averaged over all rows.
    of_a_row: u64,
}

impl Shards {
    fn of(chunks: &[(Vec<u64>, u64)], shape: &[u64]) -> Self {
        let mut shards: HashMap<Vec<u64>, u64> = HashMap::new();
        for (index, bytes) in chunks {
            let shard = index
                .iter()
                .zip(shape)
                .map(|(at, cells)| at / cells.max(&1));
            *shards.entry(shard.collect()).or_default() += bytes;
        }
        let sizes = || shards.values().map(|&bytes| u128::from(bytes));
        let squares = sizes().map(|bytes| bytes * bytes);
        let of_a_row = squares.fold(0, u128::saturating_add) / sizes().sum::<u128>().max(1);
        Self {
            count: shards.len(),
            largest: shards.values().copied().max().unwrap_or_default(),
            of_a_row: u64::try_from(of_a_row).unwrap_or(u64::MAX),
        }
    }
}

impl From<Vec<u64>> for ShardShape {
    /// An empty list means no shards.
    fn from(cells: Vec<u64>) -> Self {
        match cells.is_empty() {
            true => Self::None,
            false => Self::Cells(cells),
        }
    }
}

impl<const N: usize> From<[u64; N]> for ShardShape {
    fn from(cells: [u64; N]) -> Self {
        Self::from(cells.to_vec())
    }
}

impl From<Option<Vec<u64>>> for ShardShape {
    fn from(cells: Option<Vec<u64>>) -> Self {
        cells.map_or(Self::None, Self::from)
    }
}

impl FromStr for ShardShape {
    type Err = String;

    /// `none`, `auto`, or numbers above 0, separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => return Ok(Self::None),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        let numbers = text.split(',').map(|part| part.trim().parse::<u64>());
        match numbers.collect::<Result<Vec<u64>, _>>() {
            Ok(numbers) if numbers.iter().all(|n| *n > 0) => Ok(Self::Cells(numbers)),
            _ => Err(format!(
                "found {text:?}, expected a whole number of chunks per axis, such as 4,4,2, or auto or none"
            )),
        }
    }
}

impl fmt::Display for ShardShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Auto => f.write_str("auto"),
            Self::Cells(cells) => {
                let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
                f.write_str(&cells.join(","))
            }
        }
    }
}

/// The form in journals: null, `auto`, or the numbers.
impl Serialize for ShardShape {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => to.serialize_none(),
            Self::Auto => to.serialize_str("auto"),
            Self::Cells(cells) => cells.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use zvf_meta::space::Grid;

    use super::{MOST_BYTES, ShardShape};

    /// The choice for a full grid whose chunks have `bytes` bytes each.
    fn chosen(shape: &[u64], dims: usize, bytes: u64) -> Option<Vec<u64>> {
        let grid = Grid {
            origin: vec![-2; shape.len()],
            shape: shape.to_vec(),
        };
        let mut chunks: Vec<Vec<i64>> = vec![Vec::new()];
        for extent in shape {
            let one = |chunk: &Vec<i64>| {
                let chunk = chunk.clone();
                (0..*extent as i64).map(move |at| [chunk.as_slice(), &[at - 2]].concat())
            };
            chunks = chunks.iter().flat_map(one).collect();
        }
        let chunks = chunks.iter().map(|chunk| (chunk.as_slice(), bytes));
        ShardShape::Auto.of_level(&grid, dims, 2, 0, chunks)
    }

    #[test]
    fn shards_are_chosen_where_chunks_are_many() {
        assert_eq!(chosen(&[9, 10, 11], 3, 1), None);
        assert_eq!(chosen(&[10, 10, 10], 3, 1), Some(vec![2, 2, 2]));
        assert_eq!(chosen(&[16, 16, 16], 3, 1), Some(vec![2, 4, 4]));
        assert_eq!(chosen(&[34, 34, 34], 3, 1), Some(vec![8, 8, 8]));
        assert_eq!(chosen(&[5000], 1, 1), Some(vec![64]));
        // The first axis has one chunk and cannot grow; an attribute before the axes must not.
        assert_eq!(chosen(&[1, 40, 40], 3, 1), Some(vec![1, 4, 4]));
        assert_eq!(chosen(&[4, 40, 40], 2, 1), Some(vec![1, 8, 8]));
    }

    #[test]
    fn cells_of_links_count() {
        // 216 chunks have 432 cells of vertices; 1,940 pairs of them touch, and links lie within chunks, too.
        let grid = Grid {
            origin: vec![0; 3],
            shape: vec![6; 3],
        };
        let chunks: Vec<[i64; 3]> = (0..216).map(|at| [at / 36, at / 6 % 6, at % 6]).collect();
        let chosen = |links| {
            let chunks = chunks.iter().map(|chunk| (&chunk[..], 1));
            ShardShape::Auto.of_level(&grid, 3, 2, links, chunks)
        };
        assert_eq!((chosen(0), chosen(1_567)), (None, None));
        assert_eq!(chosen(1_568), Some(vec![1, 1, 2]));
        assert_eq!(chosen(u64::MAX), chosen(1_568));
        let far = chunks.iter().map(|at| at.map(|at| 2 * at));
        let far: Vec<[i64; 3]> = far.collect();
        let grid = Grid {
            origin: vec![0; 3],
            shape: vec![12; 3],
        };
        let far = far.iter().map(|chunk| (&chunk[..], 1));
        assert_eq!(ShardShape::Auto.of_level(&grid, 3, 2, u64::MAX, far), None);
    }

    #[test]
    fn shards_have_at_most_4096_cells() {
        let grid = Grid {
            origin: vec![0],
            shape: vec![1_500_000],
        };
        let chunks: Vec<[i64; 1]> = (0..1500).map(|at| [at * 1000]).collect();
        let chunks = chunks.iter().map(|chunk| (&chunk[..], 1));
        let chosen = ShardShape::Auto.of_level(&grid, 1, 2, 0, chunks);
        assert_eq!(chosen, Some(vec![4096]));
    }

    #[test]
    fn shards_that_join_no_chunks_are_not_chosen() {
        // The index of a shard of 4096 cells has 64 KiB; these have one chunk each.
        let grid = Grid {
            origin: vec![0; 3],
            shape: vec![30_000; 3],
        };
        let chunks: Vec<[i64; 3]> = (0..3000).map(|at| [at * 9, at * 7 % 25_000, at]).collect();
        let scattered = chunks.iter().map(|chunk| (&chunk[..], 12));
        assert_eq!(ShardShape::Auto.of_level(&grid, 3, 2, 0, scattered), None);
        // Pairs of chunks are in one shard, but no more.
        let pairs: Vec<[i64; 3]> = (0..3000)
            .map(|at| [at / 2 * 9, at / 2 * 7 % 25_000, at / 2 * 2 + at % 2])
            .collect();
        let pairs = pairs.iter().map(|chunk| (&chunk[..], 12));
        assert_eq!(
            ShardShape::Auto.of_level(&grid, 3, 2, 0, pairs),
            Some(vec![1, 1, 2])
        );
        let links: Vec<(Vec<u64>, u64)> = (0..9).map(|at| (vec![at * 900; 3], 8)).collect();
        assert_eq!(
            ShardShape::Auto.of_links(&grid, &[2, 2, 2], &links),
            [2, 2, 2]
        );
    }

    #[test]
    fn shards_stay_small_where_chunks_are_large() {
        // 4 GiB: half of a shard has about as many bytes as 32 KiB for each file.
        assert_eq!(chosen(&[16, 16, 16], 3, 1 << 20), Some(vec![2, 2, 4]));
        assert_eq!(chosen(&[40, 40, 40], 3, 1 << 20), Some(vec![4, 4, 4]));
        assert_eq!(
            chosen(&[40, 40, 40], 3, MOST_BYTES / 64 + 1),
            Some(vec![2, 4, 4])
        );
        assert_eq!(chosen(&[16, 16, 16], 3, MOST_BYTES), None);
    }

    #[test]
    fn a_dense_center_does_not_make_all_shards_small() {
        // Chunks of 16 KiB, and of 4 MiB in the middle of the grid.
        let grid = Grid {
            origin: vec![0; 2],
            shape: vec![64; 2],
        };
        let at = |n: i64| [n / 64, n % 64];
        let center = |at: &[i64; 2]| at.iter().all(|at| (30..34).contains(at));
        let chunks: Vec<([i64; 2], u64)> = (0..64 * 64)
            .map(at)
            .map(|at| (at, if center(&at) { 4 << 20 } else { 16 << 10 }))
            .collect();
        let sizes = chunks.iter().map(|(at, bytes)| (&at[..], *bytes));
        assert_eq!(
            ShardShape::Auto.of_level(&grid, 2, 2, 0, sizes),
            Some(vec![4, 8])
        );
    }

    #[test]
    fn words_and_numbers() {
        for text in ["none", "auto", "2,4,1"] {
            assert_eq!(text.parse::<ShardShape>().unwrap().to_string(), text);
        }
        assert_eq!("2, 4".parse(), Ok(ShardShape::Cells(vec![2, 4])));
        for wrong in ["", "2,0", "a", "-1", "none,2"] {
            assert!(wrong.parse::<ShardShape>().is_err(), "{wrong}");
        }
        assert_eq!(ShardShape::from([]), ShardShape::None);
        assert_eq!(ShardShape::from(Some(vec![3])), ShardShape::from([3]));
    }
}

//! Chunks and bins in space, derived from a level's documents.
//!
//! All arithmetic is in f64 with true division, as the format requires (trap T26).

use crate::array::ArrayDoc;
use crate::error::MetaError;
use crate::json::EXACT;
use crate::level::LevelDoc;
use crate::root::RootDoc;

/// The position of an array's grid: the chunk coordinate of its first cell and its extent, one number for each component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Chunk coordinate of cell 0.
    pub origin: Vec<i64>,
    /// Cells along each component, 1 or more.
    pub shape: Vec<u64>,
}

impl Grid {
    /// Returns the same grid with a leading component for `bins` attribute values, as in an attribute-chunked level.
    #[must_use]
    pub fn with_bins(mut self, bins: u64) -> Self {
        self.origin.insert(0, 0);
        self.shape.insert(0, bins);
        self
    }

    /// Returns the cell index of a chunk coordinate, or `None` outside the grid or if the ranks differ.
    #[must_use]
    pub fn index(&self, chunk: &[i64]) -> Option<Vec<u64>> {
        if chunk.len() != self.origin.len() || chunk.len() != self.shape.len() {
            return None;
        }
        chunk
            .iter()
            .zip(&self.origin)
            .zip(&self.shape)
            .map(|((&c, &o), &extent)| cell(c, o, extent))
            .collect()
    }
}

/// Returns the chunk coordinate of a cell index in a grid that begins at `origin`, component by component: `origin + index`, at most `i64::MAX`.
///
/// The inverse of [`Grid::index`]. If `origin` and `index` differ in length, the longer one is cut. The index is not compared with the
/// extent of the grid.
///
/// ```
/// use zvf_meta::space::chunk_of_cell;
///
/// assert!(chunk_of_cell(&[-4, 0], [3, 5]).eq([-1, 5]));
/// ```
pub fn chunk_of_cell(
    origin: &[i64],
    index: impl IntoIterator<Item = u64>,
) -> impl Iterator<Item = i64> {
    let cells = origin.iter().zip(index);
    cells.map(|(origin, i)| origin.saturating_add(i64::try_from(i).unwrap_or(i64::MAX)))
}

/// One component of a cell index: `c - origin`, if that is in `0..extent`.
pub(crate) fn cell(chunk: i64, origin: i64, extent: u64) -> Option<u64> {
    let index = i128::from(chunk) - i128::from(origin);
    u64::try_from(index).ok().filter(|&index| index < extent)
}

/// Computes the grid that covers `bounds` (inclusive corners, world units) with chunks of `chunk_shape`.
///
/// `origin = floor(lo / cs)`, `shape = max(1, floor(hi / cs) - origin + 1)`.
///
/// # Errors
///
/// If the lengths differ, a chunk size is not finite and above 0, a corner is not finite or beyond 2^63 chunks, or an axis
/// has 2^63 chunks or more.
///
/// Source: 0.9 §7.2.
///
/// # Examples
///
/// ```
/// use zvf_meta::space::grid_for;
/// let grid = grid_for((&[-0.5, 3.0], &[10.0, 9.99]), &[10.0, 3.0])?;
/// assert_eq!((grid.origin, grid.shape), (vec![-1, 1], vec![3, 3]));
/// # Ok::<(), zvf_meta::MetaError>(())
/// ```
pub fn grid_for(bounds: (&[f64], &[f64]), chunk_shape: &[f64]) -> Result<Grid, MetaError> {
    let (lo, hi) = bounds;
    if lo.len() != chunk_shape.len() || hi.len() != chunk_shape.len() {
        let found = format!("of {} and {} numbers", lo.len(), hi.len());
        return Err(MetaError::unexpected(
            "bounds",
            found,
            format!("{} numbers as chunk_shape", chunk_shape.len()),
        ));
    }
    let mut grid = Grid {
        origin: Vec::new(),
        shape: Vec::new(),
    };
    for (axis, ((&lo, &hi), &size)) in lo.iter().zip(hi).zip(chunk_shape).enumerate() {
        if !(size > 0.0 && size.is_finite()) {
            return Err(MetaError::unexpected(
                format!("chunk_shape/{axis}"),
                size.to_string(),
                "a size above 0",
            ));
        }
        let first = chunk_at(lo, size).ok_or_else(|| {
            MetaError::unexpected(
                format!("bounds/0/{axis}"),
                lo.to_string(),
                "a finite corner",
            )
        })?;
        let last = chunk_at(hi, size).ok_or_else(|| {
            MetaError::unexpected(
                format!("bounds/1/{axis}"),
                hi.to_string(),
                "a finite corner",
            )
        })?;
        let extent = (i128::from(last) - i128::from(first))
            .saturating_add(1)
            .max(1);
        // Readers count the chunks of an axis in signed 64-bit integers.
        let extent = i64::try_from(extent).map_err(|_| {
            MetaError::unexpected(
                format!("bounds/1/{axis}"),
                format!("{hi}, {extent} chunks from {lo}"),
                "fewer than 2^63 chunks along an axis",
            )
        })?;
        grid.origin.push(first);
        grid.shape.push(extent.unsigned_abs());
    }
    Ok(grid)
}

/// Returns the chunk number of a position along one axis: `floor(position / size)`, by true division.
///
/// `None` if the quotient is not a number, or if its floor is not in the range of an i64.
#[must_use]
pub fn chunk_at(position: f64, size: f64) -> Option<i64> {
    let quotient = position / size;
    // Without SSE4.1, `floor` is a function call. Rounding towards zero is one instruction, and exact in this range.
    if quotient.abs() < SMALL {
        #[expect(clippy::cast_possible_truncation, reason = "rounded towards zero")]
        let whole = quotient as i64;
        return Some(whole - i64::from((whole as f64) > quotient));
    }
    whole_i64(quotient.floor())
}

/// 2^63.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Converts a rounded f64 to an integer; `None` for NaN and outside the range of the type.
fn whole_i64(value: f64) -> Option<i64> {
    // The value is in range; NaN fails both comparisons.
    (-I64_END..I64_END).contains(&value).then_some(value as i64)
}

/// Converts a rounded f64 to a count; `None` for NaN, below 0 and beyond 2^53.
fn whole_u64(value: f64) -> Option<u64> {
    (0.0..=EXACT).contains(&value).then_some(value as u64)
}

/// 2^52: below it, conversion of an f64 to an i64 and back is exact for the whole part.
const SMALL: f64 = 4_503_599_627_370_496.0;

/// Returns how many bins a chunk holds along each axis, rounded half to even; `None` if the lengths differ or a
/// rounded quotient is not in `0..=2^53`.
///
/// Meaningful at level 0 only: bins of coarse levels are often larger than chunks.
///
/// Source: 0.9 §6.
#[must_use]
pub fn bins_per_chunk(chunk_shape: &[f64], bin_shape: &[f64]) -> Option<Vec<u64>> {
    if chunk_shape.len() != bin_shape.len() {
        return None;
    }
    let count = |(&chunk, &bin): (&f64, &f64)| whole_u64((chunk / bin).round_ties_even());
    chunk_shape.iter().zip(bin_shape).map(count).collect()
}

impl RootDoc {
    /// Returns the chunk shape of a level in world units: its own, or else the root's.
    ///
    /// Source: 0.9 §6.
    #[must_use]
    pub fn chunk_shape<'a>(&'a self, level: &'a LevelDoc) -> &'a [f64] {
        level
            .chunk_shape
            .as_deref()
            .unwrap_or(&self.zarr_vectors.chunk_shape)
    }

    /// Returns the bin shape of level 0 in world units: `base_bin_shape`, else `chunk_shape`.
    #[must_use]
    pub fn base_bin_shape(&self) -> &[f64] {
        self.zarr_vectors
            .base_bin_shape
            .as_deref()
            .unwrap_or(&self.zarr_vectors.chunk_shape)
    }

    /// Returns the bin shape of a level in world units.
    ///
    /// Level 0 uses `base_bin_shape`, else `chunk_shape`, and ignores its transforms: with a `coordinate_offset`, its translation is
    /// not half a bin (trap T35). At other levels the bin shape is twice the translation in `multiscales`. If that is missing, it is
    /// `bin_shape` or `bin_size` of the level's own block; if these are missing too, the ratio times the bins of level 0.
    ///
    /// `None` if none of these members is there, or if the ratio has another number of axes.
    ///
    /// Source: 0.9 §5.2, §6 and §15.7.
    #[must_use]
    pub fn bin_shape(&self, level: &LevelDoc) -> Option<Vec<f64>> {
        if level.level == 0 {
            return Some(self.base_bin_shape().to_vec());
        }
        let stored = self
            .level_transform(level.level)
            .and_then(|transform| transform.bin_shape());
        stored
            .or_else(|| level.bin_shape.clone())
            .or_else(|| level.bin_size.clone())
            .or_else(|| {
                let (ratio, base) = (self.bin_ratio(level)?, self.base_bin_shape());
                (ratio.len() == base.len()).then(|| {
                    ratio
                        .iter()
                        .zip(base)
                        .map(|(fold, bin)| fold * bin)
                        .collect()
                })
            })
    }

    /// Returns the ratio of a level's bins to the bins of level 0: its scale in `multiscales`, else `bin_ratio` of its own block.
    /// Level 0 has none.
    ///
    /// Source: 0.9 §5.2.
    #[must_use]
    pub fn bin_ratio<'a>(&'a self, level: &'a LevelDoc) -> Option<&'a [f64]> {
        if level.level == 0 {
            return None;
        }
        self.level_transform(level.level)
            .and_then(|transform| transform.bin_ratio())
            .or(level.bin_ratio.as_deref())
    }

    /// Returns the offset to add to stored positions, or `None` if there is none.
    ///
    /// Source: 0.9 §15.7.
    #[must_use]
    pub fn world_offset(&self) -> Option<&[f64]> {
        self.zarr_vectors
            .coordinate_offset
            .as_deref()
            .filter(|offset| offset.iter().any(|&part| part != 0.0))
    }

    /// Computes the grid of a level from the declared bounds. Arrays of a bulk writer have the grid of their data instead, so each
    /// array's own document is authoritative (trap T6): see [`ArrayDoc::grid`].
    ///
    /// # Errors
    ///
    /// As [`grid_for`].
    pub fn declared_grid(&self, level: &LevelDoc) -> Result<Grid, MetaError> {
        let bounds = &self.zarr_vectors.bounds;
        let grid = grid_for((&bounds.0, &bounds.1), self.chunk_shape(level))?;
        Ok(match &level.chunk_attribute_values {
            Some(values) if level.is_attribute_chunked() => {
                grid.with_bins(u64::try_from(values.len()).unwrap_or(u64::MAX))
            }
            _ => grid,
        })
    }
}

impl ArrayDoc {
    /// Returns the array's own grid: its shape, and its origin or zeros.
    ///
    /// # Errors
    ///
    /// If the origin and the shape have different numbers of components.
    ///
    /// Source: 0.9 §7.2.
    pub fn grid(&self) -> Result<Grid, MetaError> {
        let rank = self.shape.len();
        let origin = self
            .attributes
            .chunk_grid_origin
            .clone()
            .unwrap_or_else(|| vec![0; rank]);
        if origin.len() != rank {
            let found = format!("of {} numbers", origin.len());
            return Err(MetaError::unexpected(
                "/attributes/chunk_grid_origin",
                found,
                format!("{rank} as the shape"),
            ));
        }
        Ok(Grid {
            origin,
            shape: self.shape.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_ranges() {
        assert_eq!(whole_i64(-I64_END), Some(i64::MIN));
        assert_eq!(whole_i64(I64_END), None);
        assert_eq!(whole_i64(f64::NEG_INFINITY), None);
        assert_eq!(whole_u64(-0.0), Some(0));
        assert_eq!(whole_u64(-1.0), None);
        assert_eq!(whole_u64(f64::INFINITY), None);
    }

    fn grid(lo: &[f64], hi: &[f64], size: &[f64]) -> (Vec<i64>, Vec<u64>) {
        let grid = grid_for((lo, hi), size).expect("a grid");
        (grid.origin, grid.shape)
    }

    #[test]
    fn the_checked_values_of_the_format_page() {
        assert_eq!(grid(&[0.0], &[20.0], &[10.0]), (vec![0], vec![3]));
        assert_eq!(grid(&[0.0], &[100.0], &[50.0]), (vec![0], vec![3]));
        assert_eq!(
            grid(&[0.0, 0.0], &[10.0, 10.0], &[10.0, 10.0]),
            (vec![0, 0], vec![2, 2])
        );
        assert_eq!(
            grid(&[-0.5, 3.0], &[10.0, 9.99], &[10.0, 3.0]),
            (vec![-1, 1], vec![3, 3])
        );
        assert_eq!(
            grid(&[-15.0, -10.0], &[19.9, 7.0], &[10.0, 10.0]),
            (vec![-2, -1], vec![4, 2])
        );
        assert_eq!(grid(&[5.0], &[-5.0], &[1.0]), (vec![5], vec![1]));
    }

    #[test]
    fn chunks_of_cells() {
        let grid = Grid {
            origin: vec![-2, 7],
            shape: vec![4, 2],
        };
        let chunk: Vec<i64> = chunk_of_cell(&grid.origin, [3, 1]).collect();
        assert_eq!(chunk, [1, 8]);
        assert_eq!(grid.index(&chunk), Some(vec![3, 1]));
        assert!(chunk_of_cell(&[1, 1], [u64::MAX, 0]).eq([i64::MAX, 1]));
    }

    #[test]
    fn bad_grids_are_errors() {
        for (lo, hi, size) in [
            (f64::NAN, 1.0, 1.0),
            (0.0, f64::INFINITY, 1.0),
            (0.0, 1.0, 0.0),
            (0.0, 1.0, -1.0),
            (0.0, 1.0, f64::NAN),
            (0.0, 1e300, 1e-300),
            (-1e30, 0.0, 1.0),
        ] {
            assert!(
                grid_for((&[lo], &[hi]), &[size]).is_err(),
                "{lo} {hi} {size}"
            );
        }
        assert!(grid_for((&[0.0], &[1.0]), &[1.0, 1.0]).is_err());
        assert!(grid_for((&[-9e18], &[9e18]), &[1.0]).is_err());
        assert!(grid_for((&[0.0], &[9e18]), &[1.0]).is_ok());
    }

    #[test]
    fn cells_are_counted_from_the_origin() {
        let grid = Grid {
            origin: vec![-2, -1],
            shape: vec![4, 2],
        };
        assert_eq!(grid.index(&[-2, -1]), Some(vec![0, 0]));
        assert_eq!(grid.index(&[1, 0]), Some(vec![3, 1]));
        assert_eq!(grid.index(&[2, 0]), None);
        assert_eq!(grid.index(&[0, -2]), None);
        assert_eq!(grid.index(&[0]), None);
        assert_eq!(cell(i64::MAX, i64::MIN, u64::MAX), None);
        assert_eq!(cell(i64::MAX, 0, u64::MAX), Some(u64::MAX / 2));
    }

    #[test]
    fn halves_go_to_even() {
        assert_eq!(
            bins_per_chunk(&[10.0, 5.0, 7.0], &[4.0, 2.0, 2.0]),
            Some(vec![2, 2, 4])
        );
        assert_eq!(bins_per_chunk(&[10.0], &[0.0]), None);
        assert_eq!(bins_per_chunk(&[10.0], &[1.0, 1.0]), None);
        assert_eq!(bins_per_chunk(&[10.0], &[-1.0]), None);
    }
}

//! The chunks of a level as cells of a spatial index.

use zvf_store::Level;

use crate::error::{Result, ViewError};

/// The grid of chunks of one level, in world coordinates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkGrid {
    /// Least chunk coordinate on each axis of space.
    pub(crate) first: Vec<i64>,
    /// Chunks on each axis.
    pub(crate) shape: Vec<u64>,
    /// Size of a chunk on each axis.
    pub(crate) chunk: Vec<f64>,
    /// World position of the lower corner of chunk 0 on each axis.
    offset: Vec<f64>,
}

impl ChunkGrid {
    /// The grid of a level; `None` if it has no chunks.
    ///
    /// # Errors
    /// Limit: on an axis, the number of chunks from the first to the last exceeds `i64`.
    pub(crate) fn of(level: &Level) -> Result<Option<Self>> {
        let presence = level.vertices().presence();
        let Some((lo, hi)) = presence.extent() else {
            return Ok(None);
        };
        let dims = level.dims();
        // A leading component for the values of an attribute is not a coordinate in space.
        let skip = lo.len().saturating_sub(dims);
        let first: Vec<i64> = lo.iter().skip(skip).copied().collect();
        let mut shape = Vec::with_capacity(dims);
        for (lo, hi) in first.iter().zip(hi.iter().skip(skip)) {
            let cells = hi.checked_sub(*lo).and_then(|cells| cells.checked_add(1));
            let cells = cells.and_then(|cells| u64::try_from(cells).ok());
            shape.push(cells.ok_or_else(|| {
                ViewError::too_large(
                    "the chunk coordinates span more than a grid of views can have",
                )
            })?);
        }
        let offset = level.store().root().zarr_vectors.coordinate_offset.clone();
        let offset = offset.unwrap_or_default();
        let offset = (0..dims).map(|axis| offset.get(axis).copied().unwrap_or(0.0));
        Ok(Some(Self {
            first,
            shape,
            chunk: level.chunk_shape().to_vec(),
            offset: offset.collect(),
        }))
    }

    /// World position of the lower corner of a chunk.
    pub(crate) fn corner(&self, chunk: impl IntoIterator<Item = i64>) -> Vec<f64> {
        let axes = chunk.into_iter().zip(&self.chunk).zip(&self.offset);
        axes.map(|((at, size), offset)| float(at) * size + offset)
            .collect()
    }

    /// Least position of the grid.
    pub(crate) fn lower(&self) -> Vec<f64> {
        self.corner(self.first.iter().copied())
    }

    /// Greatest position of the grid.
    pub(crate) fn upper(&self) -> Vec<f64> {
        let cells = self.first.iter().zip(&self.shape);
        let ends = cells
            .map(|(first, cells)| first.saturating_add(i64::try_from(*cells).unwrap_or(i64::MAX)));
        self.corner(ends)
    }

    /// Coordinate of the first chunk of the cell at `corner`, if a chunk begins there; `None` if the grids are not aligned.
    pub(crate) fn chunk_at(&self, corner: &[f64]) -> Option<Vec<i64>> {
        let axes = corner.iter().zip(&self.chunk).zip(&self.offset);
        axes.map(|((corner, size), offset)| {
            let at = ((corner - offset) / size).round();
            let fits = ((at * size + offset) - corner).abs() <= 1e-9 * size.abs();
            (fits && at.abs() < 1e15).then(|| whole(at))
        })
        .collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "chunk coordinates beyond 2^53 have no exact position in float64"
)]
fn float(at: i64) -> f64 {
    at as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a whole number below 10^15"
)]
fn whole(at: f64) -> i64 {
    at as i64
}

/// Parses the name of a cell, such as `0_3_1`.
///
/// # Errors
/// Not found: a name of another form, or of a cell outside a grid of this shape.
pub(crate) fn cell(key: &str, shape: &[u64]) -> Result<Vec<i64>> {
    let missing = || ViewError::not_found("no such cell");
    let mut cell = Vec::with_capacity(shape.len());
    for part in key.split('_') {
        let number = super::number(part)?;
        let inside = shape.get(cell.len()).is_some_and(|cells| number < *cells);
        let number = i64::try_from(number).ok().filter(|_| inside);
        cell.push(number.ok_or_else(missing)?);
    }
    match cell.len() == shape.len() {
        true => Ok(cell),
        false => Err(missing()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_below_the_shape() {
        assert_eq!(cell("0_3_1", &[1, 4, 2]).unwrap(), [0, 3, 1]);
        for wrong in [
            "",
            "0",
            "0_3",
            "0_3_2",
            "0_3_1_0",
            "-0_3_1",
            "0_+3_1",
            "00_3_1",
            "0__1",
            "0_99999999999999999999_0",
        ] {
            assert!(cell(wrong, &[1, 4, 2]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn corners_of_coarse_grids_are_corners_of_fine_ones() {
        let fine = ChunkGrid {
            first: vec![-3, 2],
            shape: vec![5, 5],
            chunk: vec![10.0, 5.0],
            offset: vec![1.0, 0.0],
        };
        assert_eq!(fine.lower(), [-29.0, 10.0]);
        assert_eq!(fine.upper(), [21.0, 35.0]);
        assert_eq!(fine.chunk_at(&[-39.0, 10.0]), Some(vec![-4, 2]));
        assert_eq!(fine.chunk_at(&[-35.0, 10.0]), None);
    }
}

//! Affine maps between elements and world coordinates, and between frames.

use crate::Axis;

/// Why numbers do not define a map, or a map has no inverse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct AffineError {
    /// The found and the expected values.
    pub what: String,
}

impl AffineError {
    #[cold]
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// The largest distance, in elements, of a place before the first voxel of an axis that counts as inside. It allows for the rounding of maps.
pub const VOXEL_SLACK: f64 = 1e-6;

/// The element whose voxel contains a place, on an axis of `extent` elements; places are in elements. The index is `floor(place + 0.5)`. `None` if
/// the place is outside, or not a number.
///
/// ```
/// use zvf_meta::element_at;
/// assert_eq!([-0.5, 0.49, 0.5, 2.4].map(|place| element_at(place, 3)), [Some(0), Some(0), Some(1), Some(2)]);
/// assert_eq!([-0.6, 2.5, f64::NAN].map(|place| element_at(place, 3)), [None; 3]);
/// ```
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "extents of volumes are far below 2^53, places inside are not negative and below the extent"
)]
pub fn element_at(place: f64, extent: u64) -> Option<u64> {
    let inside = extent > 0 && place >= -0.5 - VOXEL_SLACK && place < extent as f64 - 0.5;
    // A sum may round up to the extent.
    inside.then(|| ((place.max(0.0) + 0.5).floor() as u64).min(extent.saturating_sub(1)))
}

/// `to = matrix * from + offset`, with the same number of axes on both sides, in float64.
#[derive(Debug, Clone, PartialEq)]
pub struct Affine {
    rank: usize,
    /// Rows of the matrix.
    matrix: Vec<f64>,
    offset: Vec<f64>,
}

impl Affine {
    /// The identity map.
    #[must_use]
    pub fn identity(rank: usize) -> Self {
        let mut matrix = vec![0.0; rank.saturating_mul(rank)];
        matrix
            .iter_mut()
            .step_by(rank.saturating_add(1))
            .for_each(|one| *one = 1.0);
        Self {
            rank,
            matrix,
            offset: vec![0.0; rank],
        }
    }

    /// Creates a map from its rows, each with its offset at the end: `rank` rows of `rank + 1` numbers, optionally followed by a row of zeros and a
    /// one, as in NIfTI.
    ///
    /// # Errors
    /// Misuse: another number of values, a value that is not finite, another last row.
    pub fn from_rows(numbers: &[f64], rank: usize) -> Result<Self, AffineError> {
        let width = rank.saturating_add(1);
        let rows: Vec<&[f64]> = numbers.chunks(width).collect();
        let (whole, last) = (
            numbers.len() == rank * width,
            numbers.len() == width * width,
        );
        let wrong = |what: &str| {
            Err(AffineError::new(format!(
                "an affine of {} numbers: {what}, expected {rank} rows of {width} numbers, optionally followed by the row 0 … 0 1",
                numbers.len()
            )))
        };
        if !whole && !last {
            return wrong("too few or too many");
        }
        if numbers.iter().any(|one| !one.is_finite()) {
            return wrong("not all finite");
        }
        if last
            && let Some(row) = rows.last()
            && !row
                .iter()
                .rev()
                .enumerate()
                .all(|(at, one)| *one == if at == 0 { 1.0 } else { 0.0 })
        {
            return wrong("another last row");
        }
        let rows = rows.into_iter().take(rank);
        let (mut matrix, mut offset) = (Vec::new(), Vec::new());
        for row in rows {
            if let Some((last, rest)) = row.split_last() {
                matrix.extend_from_slice(rest);
                offset.push(*last);
            }
        }
        Ok(Self {
            rank,
            matrix,
            offset,
        })
    }

    /// The map that scales each axis by a factor.
    #[must_use]
    pub fn of_scale(factors: &[f64]) -> Self {
        let mut map = Self::identity(factors.len());
        let diagonal = map
            .matrix
            .iter_mut()
            .step_by(factors.len().saturating_add(1));
        diagonal
            .zip(factors)
            .for_each(|(one, factor)| *one = *factor);
        map
    }

    /// The composition `self(first(x))`. If the ranks differ, returns this map.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        if first.rank != self.rank {
            return self.clone();
        }
        let mut map = self.clone();
        for column in 0..self.rank {
            // The images of the unit vectors, without the offset.
            for row in 0..self.rank {
                let sum: f64 = (0..self.rank)
                    .map(|k| self.at(row, k) * first.at(k, column))
                    .sum();
                if let Some(one) = map.matrix.get_mut(row * self.rank + column) {
                    *one = sum;
                }
            }
        }
        self.apply(&first.offset, &mut map.offset);
        map
    }

    /// An element of the matrix; 0 outside the matrix.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let row = self.matrix.get(row.saturating_mul(self.rank)..);
        row.and_then(|row| row.get(..self.rank)?.get(column))
            .copied()
            .unwrap_or(0.0)
    }

    /// Rows of the matrix, each with its offset at the end, then the row `0 … 0 1`.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = (0..self.rank)
            .map(|row| {
                let mut numbers: Vec<f64> = (0..self.rank).map(|at| self.at(row, at)).collect();
                numbers.extend(self.offset.get(row));
                numbers
            })
            .collect();
        let mut last = vec![0.0; self.rank];
        last.push(1.0);
        rows.push(last);
        rows
    }

    /// Whether this is the identity map.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        *self == Self::identity(self.rank)
    }

    /// The map restricted to some of the axes.
    #[must_use]
    pub fn restricted(&self, axes: &[usize]) -> Self {
        let rows = axes.iter();
        Self {
            rank: axes.len(),
            matrix: rows
                .clone()
                .flat_map(|row| axes.iter().map(|column| self.at(*row, *column)))
                .collect(),
            offset: rows
                .map(|row| self.offset.get(*row).copied().unwrap_or_default())
                .collect(),
        }
    }

    /// The map of `rank` axes that applies this map to `axes` and does not change the others.
    #[must_use]
    pub fn embedded(&self, axes: &[usize], rank: usize) -> Self {
        let mut map = Self::identity(rank);
        for (from_row, &row) in axes.iter().enumerate().take(self.rank) {
            for (from_column, &column) in axes.iter().enumerate().take(self.rank) {
                if let Some(one) = map.matrix.get_mut(row * rank + column) {
                    *one = self.at(from_row, from_column);
                }
            }
            if let (Some(to), Some(from)) = (map.offset.get_mut(row), self.offset.get(from_row)) {
                *to = *from;
            }
        }
        map
    }

    /// The determinant of a matrix with up to three axes; 1 for more axes.
    #[must_use]
    pub fn determinant(&self) -> f64 {
        let at = |row, column| self.at(row, column);
        match self.rank {
            1 => at(0, 0),
            2 => at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0),
            3 => (0..3)
                .map(|column| {
                    let (next, last) = ((column + 1) % 3, (column + 2) % 3);
                    at(0, column) * (at(1, next) * at(2, last) - at(1, last) * at(2, next))
                })
                .sum(),
            _ => 1.0,
        }
    }

    /// The factor by which the map multiplies lengths along the axes of space, averaged over all directions: the root of the determinant; 1 unless there
    /// are one to three axes of space.
    #[must_use]
    pub fn mean_scale(&self, axes: &[Axis]) -> f64 {
        let space = axes.iter().enumerate().filter(|(_, axis)| axis.is_space());
        let space: Vec<usize> = space.map(|(at, _)| at).collect();
        let volume = self.restricted(&space).determinant().abs();
        match space.len() {
            1 => volume,
            2 => volume.sqrt(),
            3 => volume.cbrt(),
            _ => 1.0,
        }
    }

    /// Number of axes on each side.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Maps one position.
    pub fn apply(&self, from: &[f64], to: &mut [f64]) {
        let rows = self.matrix.chunks(self.rank.max(1)).zip(&self.offset);
        for (to, (row, offset)) in to.iter_mut().zip(rows) {
            *to = row
                .iter()
                .zip(from)
                .fold(*offset, |sum, (factor, one)| sum + factor * one);
        }
    }

    /// The inverse map.
    ///
    /// # Errors
    /// Misuse: a singular matrix.
    pub fn inverse(&self) -> Result<Self, AffineError> {
        let n = self.rank;
        let mut left: Vec<Vec<f64>> = self.matrix.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
        let mut right: Vec<Vec<f64>> = Self::identity(n)
            .matrix
            .chunks(n.max(1))
            .map(<[f64]>::to_vec)
            .collect();
        let singular = || AffineError::new("an affine whose axes lie in one plane has no inverse");
        // Gauss-Jordan elimination, with the largest pivot of each column.
        for column in 0..n {
            let size = |row: &usize| {
                left.get(*row)
                    .and_then(|row| row.get(column))
                    .map_or(0.0, |one| one.abs())
            };
            let best = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)));
            let best = best.filter(|row| size(row) > 0.0).ok_or_else(singular)?;
            left.swap(column, best);
            right.swap(column, best);
            let (pivot_left, pivot_right) = match (left.get(column), right.get(column)) {
                (Some(left), Some(right)) => (left.clone(), right.clone()),
                _ => return Err(singular()),
            };
            let pivot = pivot_left.get(column).copied().unwrap_or(1.0);
            for (row, (left, right)) in left.iter_mut().zip(&mut right).enumerate() {
                if row == column {
                    // Divides instead of multiplying by 1 / pivot, so that half a voxel stays exactly half a voxel.
                    let both = left.iter_mut().chain(right.iter_mut());
                    both.for_each(|one| *one /= pivot);
                    continue;
                }
                let factor = left.get(column).copied().unwrap_or(0.0) / pivot;
                left.iter_mut()
                    .zip(&pivot_left)
                    .for_each(|(one, p)| *one -= factor * p);
                right
                    .iter_mut()
                    .zip(&pivot_right)
                    .for_each(|(one, p)| *one -= factor * p);
            }
        }
        let mut inverse = Self {
            rank: n,
            matrix: right.concat(),
            offset: vec![0.0; n],
        };
        let mut offset = vec![0.0; n];
        inverse.apply(&self.offset, &mut offset);
        inverse.offset = offset.into_iter().map(|one| -one).collect();
        if inverse
            .matrix
            .iter()
            .chain(&inverse.offset)
            .any(|one| !one.is_finite())
        {
            return Err(singular());
        }
        Ok(inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::Affine;

    /// Numbers that float64 holds stay exact, so that a vertex on the border of two voxels is on the border.
    #[test]
    fn the_inverse_of_a_scale_divides() {
        for side in [1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 0.25, 1e6] {
            let scale = Affine::of_scale(&[side; 3]);
            let inverse = scale.inverse().unwrap();
            for (row, found) in inverse.rows().iter().take(3).enumerate() {
                let wanted: Vec<f64> = (0..4)
                    .map(|at| if at == row { 1.0 / side } else { 0.0 })
                    .collect();
                assert_eq!(*found, wanted, "{side}");
            }
            let half = Affine::from_rows(
                &[
                    side,
                    0.0,
                    0.0,
                    side / 2.0,
                    0.0,
                    side,
                    0.0,
                    side / 2.0,
                    0.0,
                    0.0,
                    side,
                    side / 2.0,
                ],
                3,
            );
            let mut voxel = [0.0; 3];
            half.unwrap()
                .inverse()
                .unwrap()
                .apply(&[2.0 * side, 3.0 * side, 4.0 * side], &mut voxel);
            assert_eq!(voxel, [1.5, 2.5, 3.5], "{side}");
        }
    }
}

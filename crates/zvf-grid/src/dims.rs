//! Extents or coordinates: one number for each axis, stored inline.

use core::fmt;
use core::ops::Deref;

use crate::{GridError, MAX_RANK};

/// One number for each axis, up to [`MAX_RANK`], without allocation; dereferences to a slice.
#[derive(Clone, Copy)]
pub struct Dims {
    values: [u64; MAX_RANK],
    rank: u8,
}

impl Dims {
    /// Copies `values`.
    ///
    /// # Errors
    /// [`GridError::TooManyAxes`].
    pub fn new(values: &[u64]) -> Result<Self, GridError> {
        let mut dims = Self::zeros(values.len())?;
        dims.as_mut().copy_from_slice(values);
        Ok(dims)
    }

    /// `rank` zeros.
    ///
    /// # Errors
    /// [`GridError::TooManyAxes`].
    pub fn zeros(rank: usize) -> Result<Self, GridError> {
        match u8::try_from(rank) {
            Ok(small) if rank <= MAX_RANK => Ok(Self {
                values: [0; MAX_RANK],
                rank: small,
            }),
            _ => Err(GridError::TooManyAxes { found: rank }),
        }
    }

    /// Extents of the cell at `coord` in a grid of cells `cell`, clipped to the array of `shape`; 0 on axes on
    /// which the cell is outside.
    ///
    /// # Errors
    /// [`GridError::RankMismatch`], [`GridError::TooManyAxes`].
    pub fn clipped(coord: &[u64], cell: &[u64], shape: &[u64]) -> Result<Self, GridError> {
        same_rank(coord.len(), shape.len())?;
        same_rank(cell.len(), shape.len())?;
        let mut extent = Self::new(cell)?;
        for ((extent, at), whole) in extent.as_mut().iter_mut().zip(coord).zip(shape) {
            let start = at.saturating_mul(*extent);
            *extent = whole.saturating_sub(start).min(*extent);
        }
        Ok(extent)
    }

    /// Number of cells on each axis of a grid over `shape`: the extents divided by `cell`, rounded up.
    ///
    /// # Errors
    /// [`GridError::RankMismatch`], [`GridError::TooManyAxes`], and [`GridError::EmptyCell`] if a cell has extent 0
    /// on an axis on which the array has elements.
    pub fn grid(shape: &[u64], cell: &[u64]) -> Result<Self, GridError> {
        same_rank(cell.len(), shape.len())?;
        let mut grid = Self::new(shape)?;
        for (axis, (extent, cell)) in grid.as_mut().iter_mut().zip(cell).enumerate() {
            *extent = match (*extent, *cell) {
                (0, _) => 0,
                (_, 0) => return Err(GridError::EmptyCell { axis }),
                (extent, cell) => extent.div_ceil(cell),
            };
        }
        Ok(grid)
    }

    /// The product of all numbers; 1 without axes. `None` if it exceeds 64 bits.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        // One zero makes the product 0, even if the others overflow.
        if self.contains(&0) {
            return Some(0);
        }
        self.iter().try_fold(1u64, |all, n| all.checked_mul(*n))
    }

    /// Position of `coord` in C order in an array of these extents. `None` if it is outside or exceeds 64 bits.
    #[must_use]
    pub fn position(&self, coord: &[u64]) -> Option<u64> {
        if coord.len() != self.len() {
            return None;
        }
        self.iter().zip(coord).try_fold(0u64, |at, (extent, c)| {
            if c >= extent {
                return None;
            }
            at.checked_mul(*extent)?.checked_add(*c)
        })
    }
}

impl Deref for Dims {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.values.get(..usize::from(self.rank)).unwrap_or(&[])
    }
}

impl AsMut<[u64]> for Dims {
    fn as_mut(&mut self) -> &mut [u64] {
        self.values
            .get_mut(..usize::from(self.rank))
            .unwrap_or(&mut [])
    }
}

impl PartialEq for Dims {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Dims {}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Fails if two ranks differ.
pub(crate) fn same_rank(found: usize, expected: usize) -> Result<(), GridError> {
    if found == expected {
        Ok(())
    } else {
        Err(GridError::RankMismatch { found, expected })
    }
}

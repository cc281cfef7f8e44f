//! Selections of elements of an array.

use crate::dims::same_rank;
use crate::{Dims, GridError, MAX_RANK};

/// Indices `start, start + step, …` below `stop` on one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// First index.
    pub start: u64,
    /// One past the largest index that may be selected.
    pub stop: u64,
    /// Distance of neighbouring indices, at least 1.
    pub step: u64,
}

impl Axis {
    /// `start, start + step, …` below `stop`.
    #[must_use]
    pub const fn new(start: u64, stop: u64, step: u64) -> Self {
        Self { start, stop, step }
    }

    /// Every index of an axis of `extent`.
    #[must_use]
    pub const fn all(extent: u64) -> Self {
        Self::new(0, extent, 1)
    }

    /// One index.
    #[must_use]
    pub const fn at(index: u64) -> Self {
        Self::new(index, index.saturating_add(1), 1)
    }

    /// Number of selected indices; 0 for a step of 0.
    #[must_use]
    pub const fn count(&self) -> u64 {
        if self.step == 0 {
            0
        } else {
            self.stop.saturating_sub(self.start).div_ceil(self.step)
        }
    }

    /// Whether no index is selected.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// Selected elements of one array: one [`Axis`] for each of its axes, all inside the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    axes: [Axis; MAX_RANK],
    shape: Dims,
}

impl Selection {
    /// Checks `axes` against the array's `shape`.
    ///
    /// # Errors
    /// [`GridError::RankMismatch`], [`GridError::TooManyAxes`]; [`GridError::BadRange`] unless
    /// `start <= stop <= extent` and `step >= 1`.
    pub fn new(axes: &[Axis], shape: &[u64]) -> Result<Self, GridError> {
        same_rank(axes.len(), shape.len())?;
        for (axis, (range, extent)) in axes.iter().zip(shape).enumerate() {
            if range.step == 0 || range.start > range.stop || range.stop > *extent {
                return Err(GridError::BadRange {
                    axis,
                    start: range.start,
                    stop: range.stop,
                    step: range.step,
                    extent: *extent,
                });
            }
        }
        Ok(Self::of(axes.iter().copied(), Dims::zeros(axes.len())?))
    }

    /// Every element of an array.
    ///
    /// # Errors
    /// [`GridError::TooManyAxes`].
    pub fn all(shape: &[u64]) -> Result<Self, GridError> {
        Ok(Self::of(
            shape.iter().map(|n| Axis::all(*n)),
            Dims::new(shape)?,
        ))
    }

    /// A selection of axes that are inside their array. `shape` gives the number of axes; its values are replaced.
    pub(crate) fn of(axes: impl Iterator<Item = Axis>, mut shape: Dims) -> Self {
        let mut kept = [Axis::all(0); MAX_RANK];
        for ((range, slot), extent) in axes.zip(&mut kept).zip(shape.as_mut()) {
            *slot = range;
            *extent = range.count();
        }
        Self { axes: kept, shape }
    }

    /// The ranges, one for each axis.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        self.axes.get(..self.shape.len()).unwrap_or(&[])
    }

    /// Number of axes of the array.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Extents of the result.
    #[must_use]
    pub const fn shape(&self) -> Dims {
        self.shape
    }

    /// Number of elements of the result; 1 for an array without axes. `None` if it exceeds 64 bits.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.shape.count()
    }

    /// Whether no element is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The same selection with another range on one axis. Unchanged if the axis does not exist.
    pub(crate) fn with_axis(mut self, axis: usize, range: Axis) -> Self {
        if let (Some(slot), Some(extent)) =
            (self.axes.get_mut(axis), self.shape.as_mut().get_mut(axis))
        {
            *slot = range;
            *extent = range.count();
        }
        self
    }
}

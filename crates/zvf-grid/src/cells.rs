//! The cells of a grid that a selection intersects.

use crate::dims::same_rank;
use crate::{Axis, Dims, GridError, MAX_RANK, Run, Selection};

/// The selected elements of one cell on one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisPart {
    /// The cell's coordinate in the grid on this axis.
    pub cell: u64,
    /// The elements: `src` from the start of the cell, `dst` from the start of the result.
    pub run: Run,
}

/// The [`AxisPart`]s of one axis, in order. Cells without a selected element are skipped.
#[derive(Debug, Clone, Copy)]
pub struct AxisParts {
    range: Axis,
    cell: u64,
    /// Indices returned so far.
    done: u64,
}

impl AxisParts {
    const fn new(range: Axis, cell: u64) -> Self {
        Self {
            range,
            cell,
            done: 0,
        }
    }
}

impl Iterator for AxisParts {
    type Item = AxisPart;

    fn next(&mut self) -> Option<AxisPart> {
        let left = self.range.count().checked_sub(self.done)?;
        if left == 0 || self.cell == 0 {
            return None;
        }
        // The index is below `stop`, so nothing here overflows for a checked range.
        let index = self
            .range
            .start
            .checked_add(self.done.checked_mul(self.range.step)?)?;
        let src = index % self.cell;
        let count = (self.cell - src).div_ceil(self.range.step).min(left);
        let part = AxisPart {
            cell: index / self.cell,
            run: Run {
                src,
                step: self.range.step,
                dst: self.done,
                count,
            },
        };
        self.done += count;
        Some(part)
    }
}

/// The selected elements of one cell: a [`Run`] for each axis.
#[derive(Debug, Clone, Copy)]
pub struct CellPart {
    coord: Dims,
    runs: [Run; MAX_RANK],
}

impl CellPart {
    /// The cell's coordinate in the grid.
    #[must_use]
    pub const fn coord(&self) -> Dims {
        self.coord
    }

    /// One run for each axis: from the cell (`src`) to the result (`dst`), as in [`crate::copy`].
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        self.runs.get(..self.coord.len()).unwrap_or(&[])
    }

    /// The elements as a selection in the cell's own coordinates, for the blocks inside a chunk. Its result belongs at `dst` of [`Self::runs`] in
    /// the result of the first selection.
    #[must_use]
    pub fn inner(&self) -> Selection {
        let axes = self.runs().iter().map(|run| {
            let last = run.count.saturating_sub(1).saturating_mul(run.step);
            let stop = if run.count == 0 {
                run.src
            } else {
                run.src.saturating_add(last).saturating_add(1)
            };
            Axis::new(run.src, stop, run.step)
        });
        Selection::of(axes, self.coord)
    }

    /// The runs of a cell inside this one (see [`Self::inner`]), offset to their place in the whole result.
    #[must_use]
    pub fn nested(&self, inside: &Self) -> [Run; MAX_RANK] {
        let mut runs = inside.runs;
        for (run, outer) in runs.iter_mut().zip(self.runs()) {
            run.dst = run.dst.saturating_add(outer.dst);
        }
        runs
    }

    /// Extents of the part.
    #[must_use]
    pub fn shape(&self) -> Dims {
        let mut shape = self.coord;
        for (extent, run) in shape.as_mut().iter_mut().zip(&self.runs) {
            *extent = run.count;
        }
        shape
    }

    /// The same elements of the cell as a separate result of [`Self::shape`], which [`Self::place`] copies into the whole result. For parts that
    /// are decoded without access to the whole result, such as on another thread.
    #[must_use]
    pub fn alone(&self) -> Self {
        let mut part = *self;
        for run in &mut part.runs {
            run.dst = 0;
        }
        part
    }

    /// Copies the elements of [`Self::alone`], of `item` bytes each, to their place in `into`, a result of `shape`.
    ///
    /// # Errors
    /// As [`crate::copy`].
    pub fn place(
        &self,
        item: usize,
        alone: &[u8],
        into: &mut [u8],
        shape: &[u64],
    ) -> Result<(), GridError> {
        let runs = self.runs.map(|run| Run {
            src: 0,
            step: 1,
            ..run
        });
        let runs = runs.get(..self.coord.len()).unwrap_or(&[]);
        crate::copy(item, alone, &self.shape(), into, shape, runs)
    }

    /// Whether the part is the whole cell of these extents, and its elements keep their order.
    #[must_use]
    pub fn is_whole(&self, extent: &[u64]) -> bool {
        extent.len() == self.coord.len()
            && self
                .runs()
                .iter()
                .zip(extent)
                .all(|(run, n)| run.count == *n && (run.step == 1 || run.count <= 1))
    }

    /// Number of elements of the part. `None` if it exceeds 64 bits.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.runs()
            .iter()
            .try_fold(1u64, |all, run| all.checked_mul(run.count))
    }
}

/// All cells that a selection intersects, in C order.
#[derive(Debug, Clone)]
pub struct Cells {
    cell: Dims,
    /// The iterators, each positioned after the current part of its axis.
    axes: [AxisParts; MAX_RANK],
    selection: Selection,
    /// The next part; `None` at the end.
    next: Option<CellPart>,
}

impl Selection {
    /// The cells of extent `cell` that one axis of the selection intersects. Empty for an axis that does not exist, and for
    /// cells of extent 0.
    #[must_use]
    pub fn parts(&self, axis: usize, cell: u64) -> AxisParts {
        AxisParts::new(self.axes().get(axis).copied().unwrap_or(Axis::all(0)), cell)
    }

    /// All cells of a grid of `cell`s that the selection intersects, in C order.
    ///
    /// # Errors
    /// [`GridError::RankMismatch`]; [`GridError::EmptyCell`] if a cell has extent 0 and the selection is not empty.
    pub fn cells(&self, cell: &[u64]) -> Result<Cells, GridError> {
        same_rank(cell.len(), self.rank())?;
        let cell = Dims::new(cell)?;
        let mut axes = [AxisParts::new(Axis::all(0), 1); MAX_RANK];
        let mut first = CellPart {
            coord: Dims::zeros(self.rank())?,
            runs: [Run::default(); MAX_RANK],
        };
        let mut any = !self.is_empty();
        if any && let Some(axis) = cell.iter().position(|n| *n == 0) {
            return Err(GridError::EmptyCell { axis });
        }
        for (axis, slot) in axes.iter_mut().enumerate().take(self.rank()) {
            *slot = self.parts(axis, cell.get(axis).copied().unwrap_or(0));
            match slot.next() {
                Some(part) => first.set(axis, part),
                None => any = false,
            }
        }
        Ok(Cells {
            cell,
            axes,
            selection: *self,
            next: any.then_some(first),
        })
    }
}

impl Cells {
    /// Total number of cells, computed without iterating over them. `None` if it exceeds 64 bits.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        if self.selection.is_empty() {
            return Some(0);
        }
        self.selection
            .axes()
            .iter()
            .zip(self.cell.iter())
            .try_fold(1u64, |all, (range, cell)| {
                all.checked_mul(cells_of_axis(range, *cell))
            })
    }

    /// Advances `next` to the next cell, like an odometer: the last axis with another part advances, later axes start again.
    fn advance(&mut self, mut current: CellPart) -> Option<CellPart> {
        for axis in (0..self.selection.rank()).rev() {
            let slot = self.axes.get_mut(axis)?;
            if let Some(part) = slot.next() {
                current.set(axis, part);
                return Some(current);
            }
            *slot = self.selection.parts(axis, *self.cell.get(axis)?);
            current.set(axis, slot.next()?);
        }
        None
    }
}

impl CellPart {
    fn set(&mut self, axis: usize, part: AxisPart) {
        if let (Some(coord), Some(run)) =
            (self.coord.as_mut().get_mut(axis), self.runs.get_mut(axis))
        {
            *coord = part.cell;
            *run = part.run;
        }
    }
}

impl Iterator for Cells {
    type Item = CellPart;

    fn next(&mut self) -> Option<CellPart> {
        let current = self.next?;
        self.next = self.advance(current);
        Some(current)
    }
}

/// Number of cells of extent `cell` (at least 1) that a non-empty range intersects.
fn cells_of_axis(range: &Axis, cell: u64) -> u64 {
    if cell == 0 || range.is_empty() {
        return 0;
    }
    if range.step >= cell {
        // No two indices share a cell.
        return range.count();
    }
    let last = range.start + (range.count() - 1) * range.step;
    last / cell - range.start / cell + 1
}

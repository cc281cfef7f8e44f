//! Cuts a selection into consecutive pieces.

use crate::{Axis, Selection};

/// The slabs of [`Selection::slabs`], in order. The result of each is a contiguous part of the whole result.
#[derive(Debug, Clone, Copy)]
pub struct Slabs {
    selection: Selection,
    /// The axis that is cut.
    axis: usize,
    /// Extent of a cell on that axis.
    cell: u64,
    /// Number of indices of a slab before it is extended to the next cell border.
    each: u64,
    /// Indices returned so far.
    done: u64,
}

impl Selection {
    /// Cuts the selection into at most `most` selections whose concatenated results are the whole result. It is cut along
    /// the first axis with more than one index, at cell borders. For readers that fill parts of one buffer concurrently
    /// (`split_at_mut`): no cell is in two slabs.
    #[must_use]
    pub fn slabs(&self, cell: &[u64], most: u64) -> Slabs {
        let axis = self.shape().iter().position(|n| *n > 1).unwrap_or(0);
        let count = self.shape().get(axis).copied().unwrap_or(1);
        Slabs {
            selection: *self,
            axis,
            cell: cell.get(axis).copied().unwrap_or(1).max(1),
            each: count.div_ceil(most.max(1)).max(1),
            done: 0,
        }
    }
}

impl Iterator for Slabs {
    type Item = Selection;

    fn next(&mut self) -> Option<Selection> {
        let Some(range) = self.selection.axes().get(self.axis).copied() else {
            // Without axes there is one slab with the only element.
            let first = self.done == 0;
            self.done = 1;
            return first.then_some(self.selection);
        };
        let left = range.count().checked_sub(self.done)?;
        if left == 0 || self.selection.is_empty() {
            return None;
        }
        let start = range
            .start
            .checked_add(self.done.checked_mul(range.step)?)?;
        // The last index of a slab of `each` indices, extended by all further indices in the same cell.
        let last = start.saturating_add((self.each.min(left) - 1).saturating_mul(range.step));
        let border = (last / self.cell)
            .saturating_add(1)
            .saturating_mul(self.cell);
        let stop = border.min(range.stop);
        let piece = Axis::new(start, stop, range.step);
        self.done = self.done.checked_add(piece.count())?;
        Some(self.selection.with_axis(self.axis, piece))
    }
}

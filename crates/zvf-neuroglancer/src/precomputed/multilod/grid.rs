//! The grid of the fragments of a mesh.

use std::collections::HashSet;

use super::super::draco::DRACO_BITS;
use super::detail::{Detail, MultiLodError, precise};

/// Largest number of cells of level 0 on an axis.
const MOST_CELLS: f64 = 1024.0;

/// Average number of triangles of a fragment of level 0. Fragments with fewer are not worth a request; fragments with more are slow to load.
const FEW: f64 = 2048.0;
const MANY: f64 = 65_536.0;

/// Largest number of halvings of a cell.
const MOST_HALVINGS: u32 = 10;

/// The greatest coordinate in a fragment.
const GREATEST: f64 = 65_535.0;
const _: () = assert!(DRACO_BITS == 16, "the greatest coordinate has 16 bits");

/// The change of the size of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellScaling {
    /// Twice as wide.
    Twice,
    /// Half as wide.
    Half,
}

/// The grid of level 0. Its numbers are rounded as in the manifest, so that positions are relative to the values that readers use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FinestGrid {
    pub(super) shape: [f32; 3],
    pub(super) origin: [f32; 3],
    /// Greatest coordinates of all levels.
    upper: [f64; 3],
}

/// A number as float32.
///
/// # Errors
/// Numbers that are too large for float32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded; what is out of range becomes infinite"
)]
pub(super) fn single(number: f64) -> Result<f32, MultiLodError> {
    let single = number as f32;
    match single.is_finite() {
        true => Ok(single),
        false => Err(MultiLodError::Place(number)),
    }
}

/// A number of cells, or of steps in one, as a whole number; 0 for numbers below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 2^16, or 0"
)]
fn whole(number: f64) -> u32 {
    number as u32
}

impl FinestGrid {
    /// The grid of a mesh.
    ///
    /// # Errors
    /// Positions and cells that are not finite as float32; cells that are not above 0.
    pub(super) fn of(
        details: &[Detail],
        cell: [f64; 3],
        corner: [f64; 3],
    ) -> Result<Self, MultiLodError> {
        let mut lower = [f64::INFINITY; 3];
        let mut upper = [f64::NEG_INFINITY; 3];
        for place in details.iter().flat_map(|detail| &detail.positions) {
            for ((low, high), at) in lower.iter_mut().zip(&mut upper).zip(place) {
                single(*at)?;
                *low = low.min(*at);
                *high = high.max(*at);
            }
        }
        if lower.iter().any(|low| low.is_infinite()) {
            (lower, upper) = (corner, corner);
        }
        let (mut shape, mut origin) = ([0.0; 3], [0.0; 3]);
        for (axis, (shape, origin)) in shape.iter_mut().zip(&mut origin).enumerate() {
            let of = |numbers: &[f64; 3]| numbers.get(axis).copied().unwrap_or_default();
            let (cell, corner, low) = (of(&cell), of(&corner), of(&lower));
            *shape = single(cell)?;
            if *shape <= 0.0 {
                return Err(MultiLodError::Place(cell));
            }
            *origin = single(((low - corner) / cell).floor().mul_add(cell, corner))?;
            while f64::from(*origin) > low {
                *origin = origin.next_down();
            }
        }
        let mut grid = Self {
            shape,
            origin,
            upper,
        };
        while grid.cells().iter().any(|cells| *cells > MOST_CELLS) {
            grid = grid.resized(CellScaling::Twice)?;
        }
        let Some(finest) = details.first() else {
            return Ok(grid);
        };
        let first = grid;
        while grid.cells().iter().any(|cells| *cells > 1.0) && grid.density(finest) < FEW {
            grid = grid.resized(CellScaling::Twice)?;
        }
        if grid == first {
            // The number is limited: a mesh at a single position would stay in one cell forever.
            for _ in 0..MOST_HALVINGS {
                let finer = grid.resized(CellScaling::Half)?;
                let fits = finer.cells().iter().all(|cells| *cells <= MOST_CELLS);
                if !fits || grid.density(finest) < MANY || finer.density(finest) < FEW {
                    break;
                }
                grid = finer;
            }
        }
        Ok(grid)
    }

    /// The same grid with other cells.
    ///
    /// # Errors
    /// Cells that are too large for float32, or become 0.
    pub(super) fn resized(&self, step: CellScaling) -> Result<Self, MultiLodError> {
        let factor = match step {
            CellScaling::Twice => 2.0,
            CellScaling::Half => 0.5,
        };
        let mut shape = [0.0; 3];
        for (new, old) in shape.iter_mut().zip(&self.shape) {
            *new = single(f64::from(*old) * factor)?;
            if *new <= 0.0 {
                return Err(MultiLodError::Place(f64::from(*old)));
            }
        }
        Ok(Self { shape, ..*self })
    }

    /// Cells of level 0 on each axis.
    fn cells(&self) -> [f64; 3] {
        let mut cells = self.level(0).place(&self.upper);
        for cells in &mut cells {
            *cells = cells.ceil().max(1.0);
        }
        cells
    }

    /// Average number of triangles of a fragment of level 0, over the cells that contain the first corner of a triangle.
    fn density(&self, finest: &Detail) -> f64 {
        let view = self.level(0);
        let firsts = finest.triangles.iter().filter_map(|[first, ..]| {
            let first = usize::try_from(*first).ok()?;
            finest.positions.get(first)
        });
        let cells: HashSet<[u32; 3]> = firsts.map(|place| view.cell(&view.place(place))).collect();
        precise(finest.triangles.len()) / precise(cells.len().max(1))
    }

    /// A positive length below the resolution of fragments.
    pub(super) fn least(&self) -> f32 {
        let least = self.shape.iter().copied().fold(f32::INFINITY, f32::min);
        (least / 65_536.0).max(f32::MIN_POSITIVE)
    }

    /// The grid of a level.
    pub(super) fn level(&self, number: usize) -> LodGrid {
        // Above level 0, cells are also cut at their middle.
        let (times, halves) = match number {
            0 => (1.0, 1),
            _ => (
                2.0_f64.powi(i32::try_from(number - 1).unwrap_or(i32::MAX)),
                2,
            ),
        };
        let cells = self.shape.map(|shape| f64::from(shape) * times);
        let mut most = [0; 3];
        for (axis, most) in most.iter_mut().enumerate() {
            let of = |numbers: &[f64; 3]| numbers.get(axis).copied().unwrap_or_default();
            let origin = self.origin.get(axis).copied().unwrap_or_default();
            let cells = ((of(&self.upper) - f64::from(origin)) / of(&cells)).ceil();
            *most = whole(cells.max(1.0)).saturating_sub(1);
        }
        LodGrid {
            cells,
            origin: self.origin.map(f64::from),
            halves,
            most,
        }
    }
}

/// One level of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LodGrid {
    /// Size of the cells by which triangles are cut.
    cells: [f64; 3],
    origin: [f64; 3],
    /// Number of these cells in a fragment on an axis: 1 or 2.
    halves: u32,
    /// The last of these cells on each axis.
    most: [u32; 3],
}

impl LodGrid {
    /// A position in units of cells.
    pub(super) fn place(&self, place: &[f64; 3]) -> [f64; 3] {
        let mut found = [0.0; 3];
        for (((found, at), origin), cell) in found
            .iter_mut()
            .zip(place)
            .zip(&self.origin)
            .zip(&self.cells)
        {
            *found = (at - origin) / cell;
        }
        found
    }

    /// The fragment of a position in units of cells.
    pub(super) fn cell(&self, place: &[f64; 3]) -> [u32; 3] {
        let mut found = [0; 3];
        for ((found, at), most) in found.iter_mut().zip(place).zip(&self.most) {
            *found = whole(at.floor()).min(*most) / self.halves;
        }
        found
    }

    /// The coordinates of a position in the fragment at `at`.
    pub(super) fn coordinates(&self, place: &[f64; 3], at: [u32; 3]) -> [u32; 3] {
        let mut found = [0; 3];
        for ((found, place), at) in found.iter_mut().zip(place).zip(at) {
            let share = place / f64::from(self.halves) - f64::from(at);
            *found = whole((share.clamp(0.0, 1.0) * GREATEST + 0.5).floor());
        }
        found
    }
}

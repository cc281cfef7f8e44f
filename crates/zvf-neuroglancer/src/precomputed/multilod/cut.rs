//! Cuts triangles by the planes of a grid of unit cells.

use std::collections::HashMap;

use super::detail::MultiLodError;

/// A cut of an edge: its ends, the axis, and the bits of the plane's coordinate.
type EdgeCut = (u32, u32, usize, u64);

/// Points, including those added by cuts. An edge is cut at the same points in both of its triangles, so that there are no gaps.
#[derive(Debug)]
pub(super) struct Cutter {
    points: Vec<[f64; 3]>,
    cuts: HashMap<EdgeCut, u32>,
}

impl Cutter {
    pub(super) fn new(points: Vec<[f64; 3]>) -> Self {
        Self {
            points,
            cuts: HashMap::new(),
        }
    }

    /// A point by its number.
    pub(super) fn point(&self, number: u32) -> Result<[f64; 3], MultiLodError> {
        let index = usize::try_from(number).ok();
        let found = index.and_then(|index| self.points.get(index)).copied();
        found.ok_or(MultiLodError::Bug(
            "a corner of a piece that is not a point",
        ))
    }

    fn along(&self, number: u32, axis: usize) -> f64 {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let point = self.points.get(index);
        let at = point.and_then(|point| point.get(axis));
        // Cannot happen: all numbers are valid. NaN is on neither side of a plane.
        at.copied().unwrap_or(f64::NAN)
    }

    /// Least and greatest coordinate of a piece.
    fn extent(&self, piece: &[u32], axis: usize) -> (f64, f64) {
        let along = piece.iter().map(|number| self.along(*number, axis));
        along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| {
            (low.min(at), high.max(at))
        })
    }

    /// The middle of the box of a piece, which is in the cell of the piece.
    pub(super) fn middle(&self, piece: &[u32]) -> [f64; 3] {
        [0, 1, 2].map(|axis| {
            let (low, high) = self.extent(piece, axis);
            low.midpoint(high)
        })
    }

    /// Cuts a triangle into convex pieces, each within one cell. Subtracts the number of cuts from `left`; `false` if there are more cuts than that.
    ///
    /// # Errors
    /// More than 2^32 points.
    pub(super) fn cut(
        &mut self,
        triangle: [u32; 3],
        left: &mut usize,
        pieces: &mut Vec<Vec<u32>>,
    ) -> Result<bool, MultiLodError> {
        let mut whole = vec![triangle.to_vec()];
        for axis in 0..3 {
            let mut cut = Vec::with_capacity(whole.len());
            for mut piece in whole {
                let (low, high) = self.extent(&piece, axis);
                let mut plane = low.floor() + 1.0;
                while plane < high {
                    let Some(rest) = left.checked_sub(1) else {
                        return Ok(false);
                    };
                    *left = rest;
                    let (below, above) = self.divide(&piece, axis, plane)?;
                    cut.push(below);
                    piece = above;
                    plane += 1.0;
                }
                cut.push(piece);
            }
            whole = cut;
        }
        pieces.append(&mut whole);
        Ok(true)
    }

    /// Divides a piece by a plane that passes through it.
    fn divide(
        &mut self,
        piece: &[u32],
        axis: usize,
        plane: f64,
    ) -> Result<(Vec<u32>, Vec<u32>), MultiLodError> {
        let (mut below, mut above) = (Vec::new(), Vec::new());
        let next = piece.iter().cycle().skip(1);
        for (a, b) in piece.iter().zip(next) {
            let (from, to) = (self.along(*a, axis), self.along(*b, axis));
            if from <= plane {
                below.push(*a);
            }
            if from >= plane {
                above.push(*a);
            }
            if (from < plane && to > plane) || (from > plane && to < plane) {
                let point = self.crossing(*a, *b, axis, plane)?;
                below.push(point);
                above.push(point);
            }
        }
        Ok((below, above))
    }

    /// The point at which an edge crosses a plane between its ends.
    fn crossing(&mut self, a: u32, b: u32, axis: usize, plane: f64) -> Result<u32, MultiLodError> {
        let (a, b) = (a.min(b), a.max(b));
        let key = (a, b, axis, plane.to_bits());
        if let Some(known) = self.cuts.get(&key) {
            return Ok(*known);
        }
        let (from, to) = (self.point(a)?, self.point(b)?);
        let (start, end) = (self.along(a, axis), self.along(b, axis));
        let share = (plane - start) / (end - start);
        let mut point = [0.0; 3];
        for (number, (value, (from, to))) in
            point.iter_mut().zip(from.into_iter().zip(to)).enumerate()
        {
            // A rounding error must not move the point out of the cell.
            let between = (from + share * (to - from)).clamp(from.min(to), from.max(to));
            *value = if number == axis { plane } else { between };
        }
        let number = u32::try_from(self.points.len());
        let number = number.map_err(|_| MultiLodError::Bug("2^32 points of a mesh"))?;
        self.points.push(point);
        self.cuts.insert(key, number);
        Ok(number)
    }
}

//! The extent of vertices in the directions of a view.

use crate::camera::{Bounds, Orientation, Point3};

/// The vertices that are farthest in 26 directions, which the camera must show.
#[derive(Debug, Clone)]
pub(crate) struct FarthestVertices {
    /// Each direction, with the vertices that are farthest against it and along it.
    ends: Vec<DirectionEnds>,
}

#[derive(Debug, Clone)]
struct DirectionEnds {
    direction: Point3,
    low: (f64, Point3),
    high: (f64, Point3),
}

impl FarthestVertices {
    /// An empty extent, in the directions of a view and all diagonals between them.
    pub(crate) fn new(view: &Orientation) -> Self {
        let (right, up, back) = (view.right(), view.up(), view.back());
        let mut ends = Vec::new();
        for number in 14..27_i32 {
            // Only one of each pair of opposite directions.
            let sign = |digit: i32| f64::from(number / 3_i32.pow(digit.unsigned_abs()) % 3 - 1);
            let (a, b, c) = (sign(0), sign(1), sign(2));
            ends.push(DirectionEnds {
                direction: std::array::from_fn(|axis| {
                    let of = |way: Point3| way.get(axis).copied().unwrap_or(0.0);
                    a * of(right) + b * of(up) + c * of(back)
                }),
                low: (f64::INFINITY, [0.0; 3]),
                high: (f64::NEG_INFINITY, [0.0; 3]),
            });
        }
        Self { ends }
    }

    /// Adds a position; one that is not finite is ignored.
    pub(crate) fn add(&mut self, point: Point3) {
        for end in &mut self.ends {
            let way = end.direction;
            let far = point[0] * way[0] + point[1] * way[1] + point[2] * way[2];
            if !far.is_finite() {
                return;
            }
            if far < end.low.0 {
                end.low = (far, point);
            }
            if far > end.high.0 {
                end.high = (far, point);
            }
        }
    }

    /// Adds the corners of a box.
    pub(crate) fn add_box(&mut self, bounds: &Bounds) {
        bounds
            .corners()
            .into_iter()
            .for_each(|corner| self.add(corner));
    }

    /// The vertices; none for an empty extent.
    pub(crate) fn points(&self) -> Vec<Point3> {
        let found = self.ends.iter().filter(|end| end.low.0 <= end.high.0);
        found.flat_map(|end| [end.low.1, end.high.1]).collect()
    }
}

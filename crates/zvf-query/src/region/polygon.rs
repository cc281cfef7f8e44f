//! Polygons with holes and several parts: tests of points and rectangles.
//!
//! The side of an edge on which a point is follows from the exact sign of a determinant (crate `robust`), so that results near edges and vertices are
//! exact. A point on an edge, also of a hole, is inside.

use std::fmt;

use robust::{Coord, orient2d};

use super::Overlap;
use super::cursor::{LARGEST, written};

/// Most vertices of all rings together.
pub(super) const MOST_VERTICES: usize = 1 << 18;

/// Most bands that list an edge, on average.
const MOST_ENTRIES: usize = 8;

/// A rectangle: the lower and upper end by axis.
pub(super) type Rectangle = [(f64, f64); 2];

/// A closed ring: the last vertex equals the first.
pub(super) type Ring = Vec<[f64; 2]>;

/// The union of polygons. The inside of a polygon is surrounded by an odd number of its rings: an outer ring, then holes.
#[derive(Debug, Clone)]
pub(super) struct Polygons {
    parts: Vec<Part>,
}

impl PartialEq for Polygons {
    fn eq(&self, other: &Self) -> bool {
        let rings = |one: &Self| -> Vec<Vec<Ring>> {
            one.parts.iter().map(|part| part.rings.clone()).collect()
        };
        rings(self) == rings(other)
    }
}

/// One polygon, with its edges by bands of the second axis.
#[derive(Debug, Clone)]
struct Part {
    rings: Vec<Ring>,
    bounds: Rectangle,
    /// Ends of each edge, sorted by the second axis.
    edges: Vec<[[f64; 2]; 2]>,
    /// The first edge of each band in `listed`, and the end.
    starts: Vec<usize>,
    listed: Vec<u32>,
    /// Bands per unit.
    scale: f64,
}

impl Polygons {
    /// Polygons, each of rings.
    ///
    /// # Errors
    ///
    /// A text: a ring that is not closed or has fewer than four vertices, a number that is infinite or too large, too many vertices.
    pub(super) fn new(parts: Vec<Vec<Ring>>) -> Result<Self, String> {
        let count: usize = parts.iter().flatten().map(Vec::len).sum();
        if count > MOST_VERTICES {
            return Err(format!(
                "found {count} vertices, expected at most {MOST_VERTICES}"
            ));
        }
        for (part, rings) in parts.iter().enumerate() {
            for (number, ring) in rings.iter().enumerate() {
                let place = format!("polygon {part}, ring {number}");
                if ring.len() < 4 {
                    return Err(format!(
                        "{place}: found {} vertices, expected at least 4, the last one equal to the first",
                        ring.len()
                    ));
                }
                if let Some(wrong) = ring
                    .iter()
                    .flatten()
                    .find(|one| one.is_nan() || one.abs() > LARGEST)
                {
                    return Err(format!(
                        "{place}: found the coordinate {wrong}, expected a number of at most 1e100"
                    ));
                }
                if ring.first() != ring.last() {
                    return Err(format!(
                        "{place}: found a ring that is not closed, expected the first vertex again at its end"
                    ));
                }
            }
        }
        let parts = parts.into_iter().filter(|rings| !rings.is_empty());
        Ok(Self {
            parts: parts.map(Part::new).collect(),
        })
    }

    /// Whether a point is inside or on an edge.
    pub(super) fn covers(&self, point: [f64; 2]) -> bool {
        self.parts.iter().any(|part| part.covers(point))
    }

    /// The overlap with a rectangle, which may be infinite.
    pub(super) fn overlap(&self, rectangle: &Rectangle) -> Overlap {
        let parts = self.parts.iter().map(|part| part.overlap(rectangle));
        Overlap::any(parts)
    }

    /// The rectangle around all parts; `None` if there are none.
    pub(super) fn bounds(&self) -> Option<Rectangle> {
        let bounds = self.parts.iter().map(|part| part.bounds);
        bounds.reduce(|a, b| {
            [0, 1].map(|axis: usize| (a[axis].0.min(b[axis].0), a[axis].1.max(b[axis].1)))
        })
    }
}

impl Part {
    fn new(rings: Vec<Ring>) -> Self {
        let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for vertex in rings.iter().flatten() {
            for ((low, high), number) in bounds.iter_mut().zip(vertex) {
                (*low, *high) = (low.min(*number), high.max(*number));
            }
        }
        let pairs = rings
            .iter()
            .flat_map(|ring| ring.iter().zip(ring.iter().skip(1)));
        let edges = pairs.map(|(a, b)| if a[1] <= b[1] { [*a, *b] } else { [*b, *a] });
        let mut part = Self {
            edges: edges.collect(),
            rings,
            bounds,
            starts: Vec::new(),
            listed: Vec::new(),
            scale: 0.0,
        };
        part.index();
        part
    }

    /// Sorts the edges into bands: as many as there are edges, or fewer if edges are long, so that the lists remain short.
    fn index(&mut self) {
        let mut bands = self.edges.len().max(1);
        let (low, high) = self.bounds[1];
        loop {
            self.scale = bands as f64 / (high - low);
            let entries: usize = self
                .edges
                .iter()
                .map(|[a, b]| {
                    let (first, last) = (self.band(a[1], bands), self.band(b[1], bands));
                    last - first + 1
                })
                .sum();
            if bands == 1 || entries <= self.edges.len().saturating_mul(MOST_ENTRIES) {
                break;
            }
            bands /= 2;
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); bands];
        for (number, [a, b]) in (0_u32..).zip(&self.edges) {
            let (first, last) = (self.band(a[1], bands), self.band(b[1], bands));
            for list in lists.iter_mut().take(last + 1).skip(first) {
                list.push(number);
            }
        }
        self.starts.push(0);
        for list in lists {
            self.listed.extend(list);
            self.starts.push(self.listed.len());
        }
    }

    /// The band of a coordinate; monotonic.
    fn band(&self, y: f64, bands: usize) -> usize {
        // The cast of NaN (all vertices at one height) is 0; large numbers are clamped to the last band.
        let band = ((y - self.bounds[1].0) * self.scale) as usize;
        band.min(bands - 1)
    }

    /// The edges that may intersect a range of the second axis; some are returned several times.
    fn edges_between(&self, low: f64, high: f64) -> impl Iterator<Item = &[[f64; 2]; 2]> {
        let bands = self.starts.len().saturating_sub(1).max(1);
        let (first, last) = (self.band(low, bands), self.band(high, bands));
        let start = self.starts.get(first).copied().unwrap_or(0);
        let end = self.starts.get(last + 1).copied().unwrap_or(start);
        let listed = self.listed.get(start..end).unwrap_or(&[]);
        listed
            .iter()
            .filter_map(|edge| self.edges.get(zvf_store::format::int::index(*edge)))
    }

    fn covers(&self, point: [f64; 2]) -> bool {
        let [x, y] = point;
        let mut bounds = self.bounds.iter().zip(point);
        if !bounds.all(|((low, high), one)| *low <= one && one <= *high) {
            return false;
        }
        // Counts the edges that a ray towards larger x crosses; the lower end of an edge belongs to it, the upper one does not.
        let mut odd = false;
        for [a, b] in self.edges_between(y, y) {
            if y < a[1] || y > b[1] {
                continue;
            }
            let (left, right) = (a[0].min(b[0]), a[0].max(b[0]));
            if x > right {
                continue;
            }
            if a[1] == b[1] {
                if x >= left {
                    return true;
                }
                continue;
            }
            if x < left {
                odd ^= y < b[1];
                continue;
            }
            let side = side(*a, *b, point);
            if side == 0.0 {
                return true;
            }
            odd ^= side > 0.0 && y < b[1];
        }
        odd
    }

    fn overlap(&self, rectangle: &Rectangle) -> Overlap {
        let mut clipped = *rectangle;
        for ((low, high), (least, most)) in clipped.iter_mut().zip(self.bounds) {
            (*low, *high) = (low.max(least), high.min(most));
            if *low > *high {
                return Overlap::Outside;
            }
        }
        let (low, high) = clipped[1];
        if self
            .edges_between(low, high)
            .any(|edge| meets(edge, &clipped))
        {
            return Overlap::Crosses;
        }
        // No edge intersects the block, so one of its points decides for all. A block that extends beyond the bounds is never completely inside.
        match self.covers([clipped[0].0, low]) {
            true if clipped == *rectangle => Overlap::Inside,
            true => Overlap::Crosses,
            false => Overlap::Outside,
        }
    }
}

/// On which side of the line from `a` to `b` a point is: positive on the left.
fn side(a: [f64; 2], b: [f64; 2], point: [f64; 2]) -> f64 {
    let coord = |[x, y]: [f64; 2]| Coord { x, y };
    orient2d(coord(a), coord(b), coord(point))
}

/// Whether an edge and a rectangle have a point in common.
fn meets([a, b]: &[[f64; 2]; 2], rectangle: &Rectangle) -> bool {
    for (axis, (low, high)) in rectangle.iter().enumerate() {
        if a[axis].max(b[axis]) < *low || a[axis].min(b[axis]) > *high {
            return false;
        }
    }
    let [(left, right), (low, high)] = *rectangle;
    let corners = [[left, low], [right, low], [right, high], [left, high]];
    let sides = corners.map(|corner| side(*a, *b, corner));
    !(sides.iter().all(|side| *side > 0.0) || sides.iter().all(|side| *side < 0.0))
}

impl fmt::Display for Polygons {
    /// As well-known text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = |ring: &Ring| {
            let vertex = |[x, y]: &[f64; 2]| format!("{} {}", written(*x), written(*y));
            format!(
                "({})",
                ring.iter().map(vertex).collect::<Vec<_>>().join(", ")
            )
        };
        let part = |part: &Part| {
            let rings: Vec<String> = part.rings.iter().map(ring).collect();
            format!("({})", rings.join(", "))
        };
        match self.parts.as_slice() {
            [] => f.write_str("POLYGON EMPTY"),
            [one] => write!(f, "POLYGON {}", part(one)),
            several => {
                let parts: Vec<String> = several.iter().map(part).collect();
                write!(f, "MULTIPOLYGON ({})", parts.join(", "))
            }
        }
    }
}

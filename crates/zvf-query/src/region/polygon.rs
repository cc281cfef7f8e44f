//! Polygons with holes and several parts: tests of points and rectangles.
//!
//! The side of an edge on which a point is follows from the exact sign of a determinant (crate `robust`), so that results near edges and vertices are
//! exact. A point on an edge, also of a hole, is inside.

use std::fmt;

use robust::{Coord, orient2d};
use zvf_store::format::int::index;

use super::Overlap;
use super::cursor::{LARGEST, written};

/// Most vertices of all rings together.
pub(super) const MOST_VERTICES: usize = 1 << 18;

/// Most bands that list a range, on average.
const MOST_ENTRIES: usize = 8;

/// A rectangle: the lower and upper end by axis.
pub(super) type Rectangle = [(f64, f64); 2];

/// A closed ring: the last vertex equals the first.
pub(super) type Ring = Vec<[f64; 2]>;

/// The union of polygons. The inside of a polygon is surrounded by an odd number of its rings: an outer ring, then holes.
#[derive(Debug, Clone)]
pub(super) struct Polygons {
    parts: Vec<Part>,
    /// The parts by the second axis.
    bands: Bands,
}

impl PartialEq for Polygons {
    fn eq(&self, other: &Self) -> bool {
        let rings = |one: &Self| -> Vec<Vec<Ring>> {
            one.parts.iter().map(|part| part.rings.clone()).collect()
        };
        rings(self) == rings(other)
    }
}

/// One polygon.
#[derive(Debug, Clone)]
struct Part {
    rings: Vec<Ring>,
    bounds: Rectangle,
    /// Ends of each edge, sorted by the second axis.
    edges: Vec<[[f64; 2]; 2]>,
    /// The edges by the second axis.
    bands: Bands,
}

/// Ranges of the second axis, in bands of equal height: finds those that may intersect another range.
#[derive(Debug, Clone)]
struct Bands {
    low: f64,
    /// Bands per unit.
    scale: f64,
    /// The first entry of each band in `listed`, and the end.
    starts: Vec<usize>,
    /// The numbers of ranges.
    listed: Vec<u32>,
}

impl Bands {
    /// Sorts ranges into bands: as many as there are ranges, or fewer if ranges are long, so that the lists remain short.
    fn new(ranges: &[(f64, f64)]) -> Self {
        let low = ranges.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
        let ends = ranges.iter().map(|one| one.1);
        let height = ends.fold(f64::NEG_INFINITY, f64::max) - low;
        let mut bands = Self {
            low,
            scale: 0.0,
            starts: Vec::new(),
            listed: Vec::new(),
        };
        let mut count = ranges.len().max(1);
        loop {
            bands.scale = count as f64 / height;
            let entries: usize = ranges
                .iter()
                .map(|(low, high)| bands.band(*high, count) - bands.band(*low, count) + 1)
                .sum();
            if count == 1 || entries <= ranges.len().saturating_mul(MOST_ENTRIES) {
                break;
            }
            count /= 2;
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (number, (low, high)) in (0_u32..).zip(ranges) {
            let (first, last) = (bands.band(*low, count), bands.band(*high, count));
            for list in lists.iter_mut().take(last + 1).skip(first) {
                list.push(number);
            }
        }
        bands.starts.push(0);
        for list in lists {
            bands.listed.extend(list);
            bands.starts.push(bands.listed.len());
        }
        bands
    }

    /// The band of a coordinate; monotonic.
    fn band(&self, y: f64, count: usize) -> usize {
        // The cast of NaN (all ranges at one height) is 0; large numbers are clamped to the last band.
        let band = ((y - self.low) * self.scale) as usize;
        band.min(count - 1)
    }

    /// The ranges that may intersect another one; some are returned several times.
    fn between(&self, low: f64, high: f64) -> impl Iterator<Item = usize> {
        let count = self.starts.len().saturating_sub(1).max(1);
        let (first, last) = (self.band(low, count), self.band(high, count));
        let start = self.starts.get(first).copied().unwrap_or(0);
        let end = self.starts.get(last + 1).copied().unwrap_or(start);
        let listed = self.listed.get(start..end).unwrap_or(&[]);
        listed.iter().map(|&number| index(number))
    }
}

impl Polygons {
    /// The union of polygons, each given by its rings.
    ///
    /// # Errors
    ///
    /// A message: a ring that is not closed or has fewer than four vertices, a coordinate that is NaN or above 1e100, too many vertices.
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
        let parts: Vec<Part> = parts.map(Part::new).collect();
        let ranges: Vec<(f64, f64)> = parts.iter().map(|part| part.bounds[1]).collect();
        let bands = Bands::new(&ranges);
        Ok(Self { parts, bands })
    }

    /// Whether a point is inside or on an edge.
    pub(super) fn covers(&self, point: [f64; 2]) -> bool {
        let [_, y] = point;
        self.parts_between(y, y).any(|part| part.covers(point))
    }

    /// The overlap with a rectangle, which may be infinite.
    pub(super) fn overlap(&self, rectangle: &Rectangle) -> Overlap {
        // The rectangle is outside of all other parts.
        let (low, high) = rectangle[1];
        Overlap::any(
            self.parts_between(low, high)
                .map(|part| part.overlap(rectangle)),
        )
    }

    /// The parts that may intersect a range of the second axis; some are returned several times.
    fn parts_between(&self, low: f64, high: f64) -> impl Iterator<Item = &Part> {
        let numbers = self.bands.between(low, high);
        numbers.filter_map(|number| self.parts.get(number))
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
        let edges: Vec<[[f64; 2]; 2]> = edges.collect();
        let ranges: Vec<(f64, f64)> = edges.iter().map(|[a, b]| (a[1], b[1])).collect();
        Self {
            bands: Bands::new(&ranges),
            edges,
            rings,
            bounds,
        }
    }

    /// The edges that may intersect a range of the second axis; some are returned several times.
    fn edges_between(&self, low: f64, high: f64) -> impl Iterator<Item = &[[f64; 2]; 2]> {
        let numbers = self.bands.between(low, high);
        numbers.filter_map(|number| self.edges.get(number))
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
        // No edge intersects the rectangle, so one of its points decides for all. A rectangle that extends beyond the bounds is never all inside.
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

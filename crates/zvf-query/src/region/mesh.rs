//! Closed meshes of triangles, with tests of points and boxes.
//!
//! A point is inside if a ray from it towards larger z crosses an odd number of triangles. The ray is moved by an infinitely small step along x, and
//! a smaller one along y, so that it meets no edge and no vertex. The exact sign of a determinant (crate `robust`) decides on which side of an edge
//! the ray passes; if the sign is zero, the direction of the step decides. A point on a triangle is inside.

use std::collections::HashMap;
use std::fmt;

use robust::{Coord, Coord3D, orient2d, orient3d};
use zvf_store::format::int;

use super::Overlap;
use super::cursor::{LARGEST, written};

/// Most vertices of a mesh.
pub(super) const MOST_VERTICES: u64 = 1 << 20;

/// Most triangles of a mesh.
pub(super) const MOST_TRIANGLES: usize = 1 << 21;

/// Most columns that list a triangle, on average.
const MOST_ENTRIES: usize = 8;

/// Most columns along an axis.
const MOST_COLUMNS: usize = 512;

/// A box: the lower and upper end by axis.
pub(super) type Block = [(f64, f64); 3];

/// A position.
pub(super) type Point = [f64; 3];

/// A closed mesh, with its triangles by columns of x and y.
#[derive(Debug, Clone)]
pub(super) struct Mesh {
    vertices: Vec<Point>,
    triangles: Vec<[u32; 3]>,
    bounds: Block,
    /// Columns along each of the two axes.
    columns: usize,
    /// Columns per unit, by axis.
    scale: [f64; 2],
    /// The first triangle of each column in `listed`, and the end.
    starts: Vec<usize>,
    listed: Vec<u32>,
}

impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        self.vertices == other.vertices && self.triangles == other.triangles
    }
}

impl Mesh {
    /// A mesh. Vertices with the same coordinates are merged, degenerate triangles are left out.
    ///
    /// # Errors
    ///
    /// A message: no triangles or too many, references to missing vertices, coordinates that are not finite, edges with an odd number of triangles.
    pub(super) fn new(vertices: &[Point], triangles: &[[u32; 3]]) -> Result<Self, String> {
        if int::wide(vertices.len()) > MOST_VERTICES || triangles.len() > MOST_TRIANGLES {
            return Err(format!(
                "found {} vertices and {} triangles, expected at most {MOST_VERTICES} and {MOST_TRIANGLES}",
                vertices.len(),
                triangles.len()
            ));
        }
        let wrong = vertices.iter().flatten();
        let wrong = wrong
            .copied()
            .find(|one| one.is_nan() || one.abs() > LARGEST);
        if let Some(wrong) = wrong {
            return Err(format!(
                "found the coordinate {wrong}, expected a number of at most 1e100"
            ));
        }
        let (mut own, mut numbers) = (Vec::new(), HashMap::new());
        let mut number = |vertex: u32| {
            let found = vertices.get(int::index(vertex)).ok_or_else(|| {
                format!(
                    "found the vertex {vertex}, expected a number below {}",
                    vertices.len()
                )
            })?;
            // Normalizes -0 to 0.
            let key = found.map(|one| (one + 0.0).to_bits());
            let next = u32::try_from(own.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                own.push(found.map(|one| one + 0.0));
            }
            Ok::<u32, String>(number)
        };
        let mut kept = Vec::with_capacity(triangles.len());
        for [a, b, c] in triangles {
            let [a, b, c] = [number(*a)?, number(*b)?, number(*c)?];
            if a != b && b != c && c != a {
                kept.push([a, b, c]);
            }
        }
        if kept.is_empty() {
            return Err("found no triangles, expected a closed mesh".to_owned());
        }
        let mut edges: HashMap<(u32, u32), bool> = HashMap::new();
        for [a, b, c] in &kept {
            for (a, b) in [(a, b), (b, c), (c, a)] {
                *edges.entry((*a.min(b), *a.max(b))).or_default() ^= true;
            }
        }
        let open = edges.values().filter(|odd| **odd).count();
        if open > 0 {
            return Err(format!("found {open} open edges, expected a closed mesh"));
        }
        Ok(Self::indexed(own, kept))
    }

    fn indexed(vertices: Vec<Point>, triangles: Vec<[u32; 3]>) -> Self {
        let bounds = block_around(vertices.iter().copied());
        let mut mesh = Self {
            columns: (triangles.len() as f64).sqrt().ceil() as usize,
            vertices,
            triangles,
            bounds,
            scale: [0.0; 2],
            starts: Vec::new(),
            listed: Vec::new(),
        };
        mesh.columns = mesh.columns.clamp(1, MOST_COLUMNS);
        let most = mesh.triangles.len().saturating_mul(MOST_ENTRIES);
        loop {
            for (scale, (low, high)) in mesh.scale.iter_mut().zip(mesh.bounds) {
                *scale = mesh.columns as f64 / (high - low);
            }
            let spans = mesh
                .triangles
                .iter()
                .map(|triangle| mesh.span(&block_around(mesh.corners(triangle).into_iter())));
            let entries: usize = spans
                .map(|[(a, b), (c, d)]| (b - a + 1) * (d - c + 1))
                .sum();
            if mesh.columns == 1 || entries <= most {
                break;
            }
            mesh.columns /= 2;
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); mesh.columns * mesh.columns];
        for (number, triangle) in (0_u32..).zip(&mesh.triangles) {
            let [(left, right), (low, high)] =
                mesh.span(&block_around(mesh.corners(triangle).into_iter()));
            for x in left..=right {
                for list in lists
                    .iter_mut()
                    .skip(x * mesh.columns + low)
                    .take(high - low + 1)
                {
                    list.push(number);
                }
            }
        }
        mesh.starts.push(0);
        for list in lists {
            mesh.listed.extend(list);
            mesh.starts.push(mesh.listed.len());
        }
        mesh
    }

    fn corners(&self, triangle: &[u32; 3]) -> [Point; 3] {
        triangle.map(|vertex| {
            let found = self.vertices.get(int::index(vertex));
            found.copied().unwrap_or([0.0; 3])
        })
    }

    /// The columns that a block intersects, along both axes.
    fn span(&self, block: &Block) -> [(usize, usize); 2] {
        [0, 1].map(|axis: usize| {
            let column = |at: f64| {
                // The cast of NaN (all vertices have the same coordinate) is 0; large numbers are clamped to the last column.
                let column = ((at - self.bounds[axis].0) * self.scale[axis]) as usize;
                column.min(self.columns - 1)
            };
            (column(block[axis].0), column(block[axis].1))
        })
    }

    /// The triangles that may intersect a block; some are returned several times.
    fn near(&self, block: &Block) -> impl Iterator<Item = [Point; 3]> {
        let [(left, right), (low, high)] = self.span(block);
        (left..=right).flat_map(move |x| {
            let first = x * self.columns + low;
            let start = self.starts.get(first).copied().unwrap_or(0);
            let end = self.starts.get(first + high - low + 1);
            let listed = self.listed.get(start..end.copied().unwrap_or(start));
            let listed = listed.unwrap_or(&[]).iter();
            listed.filter_map(|number| {
                let triangle = self.triangles.get(int::index(*number))?;
                Some(self.corners(triangle))
            })
        })
    }

    /// Whether a point is inside the mesh or on one of its triangles.
    pub(super) fn covers(&self, point: Point) -> bool {
        let mut bounds = self.bounds.iter().zip(point);
        if !bounds.all(|((low, high), one)| *low <= one && one <= *high) {
            return false;
        }
        let mut odd = false;
        for corners in self.near(&point.map(|one| (one, one))) {
            let block = block_around(corners.into_iter());
            let mut flat = block.iter().zip(point).take(2);
            if !flat.all(|((low, high), one)| *low <= one && one <= *high) || point[2] > block[2].1
            {
                continue;
            }
            let below = point[2] < block[2].0;
            // Positive if the corners are clockwise as seen from the point.
            let side = match below {
                true => 0.0,
                false => side_of(corners, point),
            };
            if !below && side == 0.0 {
                if on_triangle(corners, point) {
                    return true;
                }
                continue;
            }
            let [a, b, c] = corners;
            let turns = [(a, b), (b, c), (c, a)].map(|(a, b)| passes(a, b, point));
            let left = turns.iter().all(|turn| *turn > 0.0);
            let right = turns.iter().all(|turn| *turn < 0.0);
            odd ^= (left || right) && (below || (side > 0.0) == left);
        }
        odd
    }

    /// The overlap with a block, which may be infinite. It may be `Crosses` for blocks near the surface that do not intersect it.
    pub(super) fn overlap(&self, block: &Block) -> Overlap {
        let mut clipped = *block;
        for ((low, high), (least, most)) in clipped.iter_mut().zip(self.bounds) {
            (*low, *high) = (low.max(least), high.min(most));
            if *low > *high {
                return Overlap::Outside;
            }
        }
        if self
            .near(&clipped)
            .any(|corners| may_meet(corners, &clipped))
        {
            return Overlap::Crosses;
        }
        // No triangle intersects the block, so one point decides for all.
        match self.covers(clipped.map(|(low, _)| low)) {
            true if clipped == *block => Overlap::Inside,
            true => Overlap::Crosses,
            false => Overlap::Outside,
        }
    }

    /// The box around the mesh.
    pub(super) fn bounds(&self) -> Block {
        self.bounds
    }
}

fn block_around(points: impl Iterator<Item = Point>) -> Block {
    let mut block = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    for point in points {
        for ((low, high), one) in block.iter_mut().zip(point) {
            (*low, *high) = (low.min(one), high.max(one));
        }
    }
    block
}

/// On which side of the plane of a triangle a point is: positive if below, with the corners counter-clockwise as seen from above.
pub(super) fn side_of([a, b, c]: [Point; 3], point: Point) -> f64 {
    let coord = |[x, y, z]: Point| Coord3D { x, y, z };
    orient3d(coord(a), coord(b), coord(c), coord(point))
}

/// The orientation of the corners in the plane of two axes: positive if counter-clockwise.
pub(super) fn turn(a: Point, b: Point, c: Point, [first, second]: [usize; 2]) -> f64 {
    let coord = |point: Point| Coord {
        x: point[first],
        y: point[second],
    };
    orient2d(coord(a), coord(b), coord(c))
}

/// On which side of an edge the ray of a point passes, as seen from above: positive on the left; 0 only for edges along the ray.
fn passes(a: Point, b: Point, point: Point) -> f64 {
    let side = turn(a, b, point, [0, 1]);
    if side != 0.0 {
        side
    } else if a[1] != b[1] {
        a[1] - b[1]
    } else {
        b[0] - a[0]
    }
}

/// Whether a point in the plane of a triangle is in the triangle.
fn on_triangle([a, b, c]: [Point; 3], point: Point) -> bool {
    // The triangle has an area in one of the planes of the axes, unless its corners are collinear; then its edges belong to other triangles, too.
    let planes = [[0, 1], [1, 2], [2, 0]];
    let plane = planes
        .into_iter()
        .find(|plane| turn(a, b, c, *plane) != 0.0);
    plane.is_some_and(|plane| {
        let turns = [(a, b), (b, c), (c, a)].map(|(a, b)| turn(a, b, point, plane));
        turns.iter().all(|turn| *turn >= 0.0) || turns.iter().all(|turn| *turn <= 0.0)
    })
}

/// Whether a triangle may intersect a block: neither the axes nor the plane of the triangle separate them.
fn may_meet(corners: [Point; 3], block: &Block) -> bool {
    let own = block_around(corners.into_iter());
    if own
        .iter()
        .zip(block)
        .any(|((low, high), (least, most))| high < least || most < low)
    {
        return false;
    }
    let [(left, right), (near, far), (low, high)] = *block;
    let mut sides = [false; 2];
    for x in [left, right] {
        for y in [near, far] {
            for z in [low, high] {
                let side = side_of(corners, [x, y, z]);
                sides[0] |= side >= 0.0;
                sides[1] |= side <= 0.0;
            }
        }
    }
    sides == [true; 2]
}

impl fmt::Display for Mesh {
    /// The vertices, then the triangles.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, [x, y, z]) in self.vertices.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{} {} {}", written(*x), written(*y), written(*z))?;
        }
        for (number, [a, b, c]) in self.triangles.iter().enumerate() {
            let comma = if number == 0 { "; " } else { ", " };
            write!(f, "{comma}{a} {b} {c}")?;
        }
        Ok(())
    }
}

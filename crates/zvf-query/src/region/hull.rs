//! Convex hulls of points, by the quickhull algorithm with exact predicates (crate `robust`).
//!
//! A point strictly above some faces is added to the hull: these faces are replaced by new ones between the point and the edges around them. In exact
//! arithmetic, the faces strictly below a point are connected and surrounded by one ring of edges, even if the point is in the planes of other
//! faces; and a point above a replaced face is above one of its replacements or inside.

use std::collections::HashMap;

use zvf_store::format::int;

use super::cursor::LARGEST;
use super::mesh::{MOST_VERTICES, Mesh, Point, side_of, turn};

/// A triangle of the hull, with its corners counter-clockwise as seen from outside.
#[derive(Debug, Default)]
struct Face {
    corners: [u32; 3],
    /// The neighbouring faces at the edges from each corner to the next one.
    beyond: [usize; 3],
    /// Points above this face; every point above the hull is in one such list.
    above: Vec<u32>,
    /// Whether the face is replaced.
    is_gone: bool,
}

/// The convex hull of points, as a closed mesh.
///
/// # Errors
///
/// A message: fewer than four points or too many, points in one plane, coordinates that are not finite or too large.
pub(super) fn hull(points: &[Point]) -> Result<Mesh, String> {
    if int::wide(points.len()) > MOST_VERTICES {
        return Err(format!(
            "found {} points, expected at most {MOST_VERTICES}",
            points.len()
        ));
    }
    let mut numbers = points.iter().flatten();
    if let Some(wrong) = numbers.find(|one| !one.is_finite() || one.abs() > LARGEST) {
        return Err(format!(
            "found the coordinate {wrong}, expected a number of at most 1e100"
        ));
    }
    let mut hull = Hull {
        points,
        faces: Vec::new(),
        free: Vec::new(),
    };
    hull.begin(first_four(points)?)?;
    let mut waiting: Vec<usize> = (0..hull.faces.len()).collect();
    while let Some(face) = waiting.pop() {
        if let Some(point) = hull.take_farthest(face)? {
            waiting.push(face);
            waiting.extend(hull.add(point, face)?);
        }
    }
    hull.mesh()
}

/// The indices of four points that are not in one plane.
fn first_four(points: &[Point]) -> Result<[u32; 4], String> {
    let few = |what: &str| {
        format!("found {what}, expected at least four points that are not in one plane")
    };
    let count = points.len();
    let (Some(a), 4..) = (points.first().copied(), count) else {
        return Err(few(&format!("{count} points")));
    };
    let numbered = || (0_u32..).zip(points.iter().copied());
    // Of the points that satisfy `is`, the one with the largest measure. `is` decides exactly whether the measure is 0.
    let farthest = |measure: &dyn Fn(Point) -> f64, is: &dyn Fn(Point) -> bool| {
        let found = numbered().filter(|(_, point)| is(*point));
        found.max_by(|(_, one), (_, other)| measure(*one).total_cmp(&measure(*other)))
    };
    let length = |point: Point| {
        point
            .iter()
            .zip(a)
            .map(|(one, other)| (one - other).abs())
            .sum()
    };
    let (second, b) =
        farthest(&length, &|point| point != a).ok_or_else(|| few("one point, repeated"))?;
    const PLANES: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];
    let area = |point: Point| {
        PLANES
            .iter()
            .map(|plane| turn(a, b, point, *plane).abs())
            .sum()
    };
    let (third, c) =
        farthest(&area, &|point| area(point) > 0.0).ok_or_else(|| few("points on one line"))?;
    let volume = |point: Point| side_of([a, b, c], point).abs();
    let (fourth, _) = farthest(&volume, &|point| volume(point) > 0.0)
        .ok_or_else(|| few("points in one plane"))?;
    Ok([0, second, third, fourth])
}

struct Hull<'p> {
    points: &'p [Point],
    faces: Vec<Face>,
    /// Indices of replaced faces, which new faces use again.
    free: Vec<usize>,
}

/// The error for a state that cannot occur unless the algorithm has a bug.
fn broken() -> String {
    "found a hull whose faces do not surround it, which is an error of this program".to_owned()
}

impl Hull<'_> {
    fn point(&self, number: u32) -> Result<Point, String> {
        let point = self.points.get(int::index(number));
        point.copied().ok_or_else(broken)
    }

    /// The height of a point above a face, multiplied by the area of the face; the sign is exact.
    fn height(&self, [a, b, c]: [u32; 3], point: u32) -> Result<f64, String> {
        let corners = [self.point(a)?, self.point(b)?, self.point(c)?];
        Ok(-side_of(corners, self.point(point)?))
    }

    /// Begins with the tetrahedron of four points.
    fn begin(&mut self, [a, b, c, d]: [u32; 4]) -> Result<(), String> {
        // Oriented so that the opposite corner is below each face.
        let [b, c] = if self.height([a, b, c], d)? < 0.0 {
            [b, c]
        } else {
            [c, b]
        };
        let faces = [
            ([a, b, c], [1, 2, 3]),
            ([b, a, d], [0, 3, 2]),
            ([c, b, d], [0, 1, 3]),
            ([a, c, d], [0, 2, 1]),
        ];
        for (corners, beyond) in faces {
            self.faces.push(Face {
                corners,
                beyond,
                ..Face::default()
            });
        }
        let every: Vec<usize> = (0..self.faces.len()).collect();
        let all = (0..).zip(self.points).map(|(number, _)| number).collect();
        self.assign(all, &every)
    }

    /// Adds each point to the list of one face that it is above; points above no face are inside.
    fn assign(&mut self, points: Vec<u32>, faces: &[usize]) -> Result<(), String> {
        for point in points {
            for number in faces {
                let corners = self.faces.get(*number).ok_or_else(broken)?.corners;
                if self.height(corners, point)? > 0.0 {
                    let face = self.faces.get_mut(*number).ok_or_else(broken)?;
                    face.above.push(point);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes and returns the highest point above a face; `None` if there is none or the face is replaced.
    fn take_farthest(&mut self, face: usize) -> Result<Option<u32>, String> {
        let found = self.faces.get(face).ok_or_else(broken)?;
        if found.is_gone {
            return Ok(None);
        }
        let mut highest: Option<(usize, f64)> = None;
        for (at, point) in found.above.iter().enumerate() {
            let height = self.height(found.corners, *point)?;
            if highest.is_none_or(|(_, most)| height >= most) {
                highest = Some((at, height));
            }
        }
        let Some((at, _)) = highest else {
            return Ok(None);
        };
        let face = self.faces.get_mut(face).ok_or_else(broken)?;
        Ok(Some(face.above.swap_remove(at)))
    }

    /// Adds a point that is above a face, and returns the new faces.
    fn add(&mut self, point: u32, face: usize) -> Result<Vec<usize>, String> {
        let (mut seen, mut open) = (HashMap::from([(face, true)]), vec![face]);
        let mut replaced = Vec::new();
        // Edges around the faces below the point: from, to, and the neighbouring face.
        let mut ring: Vec<(u32, u32, usize)> = Vec::new();
        let mut waiting = Vec::new();
        while let Some(number) = open.pop() {
            let face = self.faces.get_mut(number).ok_or_else(broken)?;
            let ([a, b, c], beyond) = (face.corners, face.beyond);
            face.is_gone = true;
            waiting.append(&mut face.above);
            replaced.push(number);
            for ((from, to), other) in [(a, b), (b, c), (c, a)].into_iter().zip(beyond) {
                let below = match seen.get(&other) {
                    Some(below) => *below,
                    None => {
                        let corners = self.faces.get(other).ok_or_else(broken)?.corners;
                        let below = self.height(corners, point)? > 0.0;
                        if below {
                            open.push(other);
                        }
                        seen.insert(other, below);
                        below
                    }
                };
                if !below {
                    ring.push((from, to, other));
                }
            }
        }
        self.free.extend(replaced);
        let mut made = Vec::with_capacity(ring.len());
        for (from, to, other) in &ring {
            let number = self.free.pop().unwrap_or(self.faces.len());
            let face = Face {
                corners: [*from, *to, point],
                beyond: [*other; 3],
                ..Face::default()
            };
            match self.faces.get_mut(number) {
                Some(gone) => *gone = face,
                None => self.faces.push(face),
            }
            // The neighbouring face has the edge in the other direction.
            let edge = self.faces.get_mut(*other).and_then(|other| {
                let [a, b, c] = other.corners;
                let edges = [(a, b), (b, c), (c, a)];
                let at = edges.iter().position(|edge| edge == &(*to, *from))?;
                other.beyond.get_mut(at)
            });
            *edge.ok_or_else(broken)? = number;
            made.push(number);
        }
        let starts: HashMap<u32, usize> = ring
            .iter()
            .zip(&made)
            .map(|((from, ..), face)| (*from, *face))
            .collect();
        if starts.len() != ring.len() {
            return Err(broken());
        }
        for ((_, to, _), number) in ring.iter().zip(&made) {
            let next = *starts.get(to).ok_or_else(broken)?;
            let face = self.faces.get_mut(*number).ok_or_else(broken)?;
            face.beyond[1] = next;
            let next = self.faces.get_mut(next).ok_or_else(broken)?;
            next.beyond[2] = *number;
        }
        self.assign(waiting, &made)?;
        Ok(made)
    }

    /// The mesh of the faces.
    fn mesh(&self) -> Result<Mesh, String> {
        let faces = self.faces.iter().filter(|face| !face.is_gone);
        let triangles: Vec<[u32; 3]> = faces.map(|face| face.corners).collect();
        let (mut vertices, mut numbers) = (Vec::new(), HashMap::new());
        let mut number = |corner: u32| -> Result<u32, String> {
            if let Some(known) = numbers.get(&corner) {
                return Ok(*known);
            }
            let next = u32::try_from(vertices.len()).map_err(|_| broken())?;
            vertices.push(self.point(corner)?);
            numbers.insert(corner, next);
            Ok(next)
        };
        let numbered = |[a, b, c]: [u32; 3]| Ok([number(a)?, number(b)?, number(c)?]);
        let triangles: Vec<_> = triangles
            .into_iter()
            .map(numbered)
            .collect::<Result<_, String>>()?;
        Mesh::new(&vertices, &triangles)
    }
}

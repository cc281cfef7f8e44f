//! Surfaces and volumes of meshes.

use std::collections::HashMap;

use crate::QueryError;
use crate::error::OrBug;
use crate::statistics::CompensatedSum;
use crate::whole_objects::WholeObjects;

/// The faces of an object as triangles. Vertices with the same position are merged.
#[derive(Debug)]
pub(super) struct Mesh<'o> {
    /// The positions of the corners.
    triangles: Vec<[&'o [f64]; 3]>,
    /// The number of triangles up to the end of each face.
    faces: Vec<usize>,
    /// For each edge, from the lower to the higher corner: the number of faces that traverse it in this direction, and in the other.
    edges: HashMap<(usize, usize), (u32, u32)>,
}

impl<'o> Mesh<'o> {
    /// The mesh of the faces in `links`, each of `width` rows. Faces of more than three vertices are cut into triangles that share the first vertex.
    pub(super) fn of(
        objects: &'o WholeObjects,
        links: &[usize],
        width: usize,
    ) -> Result<Self, QueryError> {
        let mut mesh = Self {
            triangles: Vec::new(),
            faces: Vec::new(),
            edges: HashMap::new(),
        };
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        for face in links.chunks_exact(width.max(1)) {
            let mut corners: Vec<(usize, &[f64])> = Vec::with_capacity(width);
            for row in face {
                let position = objects.position(*row);
                let position = position.or_bug("a link of rows that are not returned")?;
                let position = objects.metric().space(position);
                // Normalizes -0 to 0.
                let key = position
                    .iter()
                    .map(|value| (value + 0.0).to_bits())
                    .collect();
                let next = known.len();
                corners.push((*known.entry(key).or_insert(next), position));
            }
            // Repeated corners are dropped.
            corners.dedup_by_key(|(number, _)| *number);
            let ends = corners.first().zip(corners.last());
            if corners.len() > 1 && ends.is_some_and(|(first, last)| first.0 == last.0) {
                corners.pop();
            }
            let [(first, origin), rest @ ..] = corners.as_slice() else {
                continue;
            };
            if rest.len() < 2 {
                continue;
            }
            let after = rest.iter().map(|(number, _)| number).chain([first]);
            for ((from, _), to) in corners.iter().zip(after) {
                let (low, high) = (*from.min(to), *from.max(to));
                let (forward, backward) = mesh.edges.entry((low, high)).or_default();
                *(if *from == low { forward } else { backward }) += 1;
            }
            let pairs = rest.iter().zip(rest.iter().skip(1));
            mesh.triangles
                .extend(pairs.map(|((_, a), (_, b))| [*origin, *a, *b]));
            mesh.faces.push(mesh.triangles.len());
        }
        Ok(mesh)
    }

    /// The area of all faces.
    ///
    /// # Errors
    /// Bug: a face whose triangles are not there.
    pub(super) fn surface(&self) -> Result<f64, QueryError> {
        let mut sum = CompensatedSum::default();
        let mut start = 0;
        for end in &self.faces {
            let face = self.triangles.get(start..*end);
            let face = face.or_bug("a face without its triangles")?;
            start = *end;
            // The triangles of a concave face overlap: those outside of it have the opposite normal.
            let normals: Vec<[f64; 3]> = face.iter().filter_map(normal).collect();
            let whole: [f64; 3] =
                std::array::from_fn(|axis| normals.iter().filter_map(|one| one.get(axis)).sum());
            if normals.len() == face.len() && normals.iter().any(|one| dot(one, &whole) < 0.0) {
                sum.add(dot(&whole, &whole).sqrt() / 2.0);
                continue;
            }
            for triangle in face {
                sum.add(area(triangle));
            }
        }
        Ok(sum.value())
    }

    /// The enclosed volume in three dimensions; `None` unless each edge is traversed once in each direction.
    pub(super) fn volume(&self) -> Option<f64> {
        let closed = self.edges.values().all(|sides| *sides == (1, 1));
        let [origin, ..] = self.triangles.first()?;
        if !closed || origin.len() != 3 {
            return None;
        }
        let mut sum = CompensatedSum::default();
        for [a, b, c] in &self.triangles {
            let corner = |corner| <[f64; 3]>::try_from(difference(corner, origin)).ok();
            let (a, b, c) = (corner(a)?, corner(b)?, corner(c)?);
            sum.add(dot(&a, &cross(b, c)));
        }
        Some((sum.value() / 6.0).abs())
    }
}

/// The normal of a triangle, twice as long as its area; `None` with other than two or three axes.
fn normal([a, b, c]: &[&[f64]; 3]) -> Option<[f64; 3]> {
    let (u, v) = (difference(b, a), difference(c, a));
    match (u.as_slice(), v.as_slice()) {
        ([ux, uy, uz], [vx, vy, vz]) => Some(cross([*ux, *uy, *uz], [*vx, *vy, *vz])),
        ([ux, uy], [vx, vy]) => Some([0.0, 0.0, ux * vy - uy * vx]),
        _ => None,
    }
}

/// The area of a triangle with any number of axes.
fn area(triangle: &[&[f64]; 3]) -> f64 {
    if let ([a, b, c], Some(normal)) = (triangle, normal(triangle))
        && [a, b, c].iter().all(|corner| corner.len() == 3)
    {
        return dot(&normal, &normal).sqrt() / 2.0;
    }
    let [a, b, c] = triangle;
    let (u, v) = (difference(b, a), difference(c, a));
    let (uu, vv, uv) = (dot(&u, &u), dot(&v, &v), dot(&u, &v));
    (uu * vv - uv * uv).max(0.0).sqrt() / 2.0
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> [f64; 3] {
    [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
}

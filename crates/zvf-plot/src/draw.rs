//! Draws rows as shapes.

use std::sync::Arc;

use crate::camera::{Camera, Point3};
use crate::color::of_direction;
use crate::pen::{Pen, PenPoint};
use crate::pool::{DrawnRange, union};
use crate::rows::DrawnRows;

/// How a layer is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Lens {
    pub(crate) camera: Camera,
    /// Half of the width of lines, in pixels.
    pub(crate) line: f32,
    /// Half of the diameter of points, in pixels.
    pub(crate) point: f32,
    /// Half of the smallest width of lines with radii.
    pub(crate) least: f32,
    /// Units of the picture in one unit of radii.
    pub(crate) scale: f64,
    /// Whether colours show directions.
    pub(crate) directions: bool,
    pub(crate) numeric: bool,
}

impl Lens {
    /// A projected vertex; `None` if it is behind the viewer.
    #[inline]
    fn vertex(
        &self,
        point: Point3,
        value: u32,
        radius: Option<f32>,
        plain: f32,
    ) -> Option<PenPoint> {
        let seen = self.camera.project(point)?;
        let size = seen.size as f32;
        let radius = match radius {
            None => plain,
            Some(radius) => {
                let wide =
                    f64::from(radius) * self.scale * seen.size / self.camera.units_per_pixel();
                (wide as f32).max(self.least)
            }
        };
        Some(PenPoint {
            x: seen.x as f32,
            y: seen.y as f32,
            depth: seen.depth as f32,
            size,
            radius,
            bulge: self.camera.units_per_pixel() as f32 * size,
            value,
            numeric: self.numeric,
        })
    }

    /// Draws points.
    pub(crate) fn points(&self, rows: &DrawnRows, pen: &mut impl Pen) {
        for (row, point) in rows.positions.iter().enumerate() {
            let radius = rows.radii.get(row).copied();
            if let Some(vertex) = self.vertex(*point, rows.value(row), radius, self.point) {
                pen.point(&vertex);
            }
        }
    }

    /// Draws chains: consecutive rows of one object. `before` ends with the row before the first one.
    pub(crate) fn chains(&self, before: Option<&DrawnRows>, rows: &DrawnRows, pen: &mut impl Pen) {
        let end = before.and_then(|rows| Some((rows, rows.positions.len().checked_sub(1)?)));
        let mut last = end.and_then(|(rows, row)| self.link(rows, row));
        for row in 0..rows.positions.len() {
            let Some(here) = self.link(rows, row) else {
                continue;
            };
            if let Some(last) = last.filter(|last| last.id == here.id) {
                match (last.seen, here.seen) {
                    (Some(a), Some(b)) => self.segment(a, b, [last.point, here.point], pen),
                    _ => self.cut(
                        (last.point, last.value),
                        (here.point, here.value),
                        here.radius,
                        pen,
                    ),
                }
            }
            last = Some(here);
        }
    }

    /// A row of a chain.
    #[inline]
    fn link(&self, rows: &DrawnRows, row: usize) -> Option<Link> {
        let point = *rows.positions.get(row)?;
        let (value, radius) = (rows.value(row), rows.radii.get(row).copied());
        Some(Link {
            point,
            value,
            radius,
            id: rows.ids.get(row).copied(),
            seen: self.vertex(point, value, radius, self.line),
        })
    }

    fn segment(&self, mut a: PenPoint, mut b: PenPoint, ends: [Point3; 2], pen: &mut impl Pen) {
        if self.directions {
            let [from, to] = ends;
            let way: Vec3 = [
                (to[0] - from[0]) as f32,
                (to[1] - from[1]) as f32,
                (to[2] - from[2]) as f32,
            ];
            if way == [0.0; 3] {
                return;
            }
            a.value = of_direction(way).bits();
            b.value = a.value;
        }
        pen.segment(&a, &b);
    }

    /// Draws a line with an end behind the viewer.
    fn cut(&self, a: (Point3, u32), b: (Point3, u32), radius: Option<f32>, pen: &mut impl Pen) {
        let finite = a.0.iter().chain(&b.0).all(|one| one.is_finite());
        let Some((from, to)) = self.camera.in_front(a.0, b.0).filter(|_| finite) else {
            return;
        };
        let first = self.vertex(from, a.1, radius, self.line);
        let second = self.vertex(to, b.1, radius, self.line);
        if let (Some(first), Some(second)) = (first, second) {
            self.segment(first, second, [a.0, b.0], pen);
        }
    }
}

/// A vertex of a chain.
#[derive(Debug, Clone, Copy)]
struct Link {
    point: Point3,
    value: u32,
    radius: Option<f32>,
    id: Option<i64>,
    /// `None` if it is behind the viewer.
    seen: Option<PenPoint>,
}

type Vec3 = [f32; 3];

/// Vertices that links refer to, in memory.
#[derive(Debug, Default)]
pub(crate) struct HeldVertices {
    /// The origin of positions.
    origin: Point3,
    positions: Vec<Vec3>,
    /// One for all vertices, or one for each.
    values: Vec<u32>,
    range: DrawnRange,
    radii: Vec<f32>,
    /// Sums of the normals of the faces at each vertex; empty: faces are flat.
    normals: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
}

impl HeldVertices {
    /// Appends rows.
    ///
    /// # Cost
    ///
    /// 12 bytes for each row, 4 more each for values and radii.
    pub(crate) fn push(&mut self, rows: &DrawnRows) {
        if self.positions.is_empty() {
            self.origin = rows.positions.first().copied().unwrap_or_default();
        }
        let origin = self.origin;
        self.positions
            .extend(rows.positions.iter().map(|point| -> Vec3 {
                [
                    (point[0] - origin[0]) as f32,
                    (point[1] - origin[1]) as f32,
                    (point[2] - origin[2]) as f32,
                ]
            }));
        match rows.uniform {
            true => self.values.clone_from(&rows.values),
            false => self.values.extend(&rows.values),
        }
        self.range = union(self.range, rows.range);
        self.radii.extend(&rows.radii);
    }

    /// Passes every position to a function.
    pub(crate) fn each(&self, mut take: impl FnMut(Point3)) {
        for near in &self.positions {
            take(std::array::from_fn(|axis| {
                let of = |point: Point3| point.get(axis).copied().unwrap_or(0.0);
                of(near.map(f64::from)) + of(self.origin)
            }));
        }
    }

    /// Number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    fn at(&self, row: u32) -> Option<(Point3, u32, Option<f32>)> {
        let row = row as usize;
        let near = self.positions.get(row)?;
        let point = [
            f64::from(near[0]) + self.origin[0],
            f64::from(near[1]) + self.origin[1],
            f64::from(near[2]) + self.origin[2],
        ];
        let value = self.values.get(row).or(self.values.first());
        Some((
            point,
            value.copied().unwrap_or(0),
            self.radii.get(row).copied(),
        ))
    }

    /// The smallest and the largest number of any vertex, less the origin.
    pub(crate) fn range(&self) -> DrawnRange {
        self.range
    }

    /// Gives all vertices one colour.
    pub(crate) fn recolor(&mut self, value: u32) {
        self.values = vec![value];
    }

    /// Draws the vertices themselves.
    pub(crate) fn points(&self, lens: &Lens, range: std::ops::Range<u32>, pen: &mut impl Pen) {
        for row in range {
            if let Some((point, value, radius)) = self.at(row)
                && let Some(vertex) = lens.vertex(point, value, radius, lens.point)
            {
                pen.point(&vertex);
            }
        }
    }

    /// Draws lines between vertices.
    pub(crate) fn edges(&self, lens: &Lens, links: &[u64], pen: &mut impl Pen) {
        for pair in links.chunks_exact(2) {
            let end = |at: usize| self.at(u32::try_from(*pair.get(at)?).ok()?);
            let (Some(a), Some(b)) = (end(0), end(1)) else {
                continue;
            };
            let first = lens.vertex(a.0, a.1, a.2, lens.line);
            let second = lens.vertex(b.0, b.1, b.2, lens.line);
            match (first, second) {
                (Some(first), Some(second)) => lens.segment(first, second, [a.0, b.0], pen),
                _ => lens.cut((a.0, a.1), (b.0, b.1), a.2, pen),
            }
        }
    }

    /// Keeps faces until the normals of all vertices are known. Faces of more than three corners become fans of triangles.
    ///
    /// # Cost
    ///
    /// 12 bytes for each triangle, and 12 for each vertex.
    pub(crate) fn keep(&mut self, links: &[u64], corners: usize) {
        self.normals.resize(self.positions.len(), [0.0; 3]);
        for face in triangles(links, corners) {
            let Some([a, b, c]) = self.corners(face) else {
                continue;
            };
            let normal = cross(minus(b, a), minus(c, a));
            for row in face {
                if let Some(sum) = self.normals.get_mut(row as usize) {
                    for (sum, one) in sum.iter_mut().zip(normal) {
                        *sum += one;
                    }
                }
            }
            self.faces.push(face);
        }
    }

    /// Number of kept faces.
    pub(crate) fn faces(&self) -> usize {
        self.faces.len()
    }

    /// Makes all faces flat.
    pub(crate) fn flatten(&mut self) {
        self.normals = Vec::new();
    }

    /// Draws kept faces.
    pub(crate) fn kept(&self, lens: &Lens, range: std::ops::Range<usize>, pen: &mut impl Pen) {
        for face in self.faces.get(range).unwrap_or_default() {
            self.face(lens, *face, pen);
        }
    }

    /// Draws faces.
    pub(crate) fn triangles(&self, lens: &Lens, links: &[u64], corners: usize, pen: &mut impl Pen) {
        for face in triangles(links, corners) {
            self.face(lens, face, pen);
        }
    }

    fn corners(&self, face: [u32; 3]) -> Option<[Vec3; 3]> {
        let [a, b, c] = face.map(|row| self.positions.get(row as usize).copied());
        Some([a?, b?, c?])
    }

    fn face(&self, lens: &Lens, face: [u32; 3], pen: &mut impl Pen) {
        let Some([a, b, c]) = self.corners(face) else {
            return;
        };
        let own = cross(minus(b, a), minus(c, a));
        let vertex = |row: u32| {
            let (point, value, _) = self.at(row)?;
            lens.vertex(point, value, None, 0.0)
        };
        let [Some(mut first), Some(mut second), Some(mut third)] = face.map(vertex) else {
            // A face that reaches behind the viewer is left out.
            return;
        };
        if lens.directions {
            if own == [0.0; 3] {
                return;
            }
            first.value = of_direction(own).bits();
            (second.value, third.value) = (first.value, first.value);
        }
        let view = lens.camera.view();
        let seen = |normal: Vec3| -> Vec3 {
            [view.right(), view.up(), view.back()].map(|axis| {
                normal[0] * axis[0] as f32 + normal[1] * axis[1] as f32 + normal[2] * axis[2] as f32
            })
        };
        let normals = face.map(|row| {
            let mut normal = self.normals.get(row as usize).copied().unwrap_or(own);
            // At a sharp edge, or if faces are oriented differently, the mean of normals is useless.
            let lengths = (dot(normal, normal) * dot(own, own)).sqrt();
            if dot(normal, own) < 0.3 * lengths {
                normal = own;
            }
            let length = dot(normal, normal).sqrt().max(f32::MIN_POSITIVE);
            seen(normal.map(|one| one / length))
        });
        pen.triangle([&first, &second, &third], normals);
    }
}

/// Vertices, shared by the threads that draw.
pub(crate) type Shared = Arc<HeldVertices>;

fn triangles(links: &[u64], corners: usize) -> impl Iterator<Item = [u32; 3]> + '_ {
    links.chunks_exact(corners.max(3)).flat_map(|face| {
        let row = |at: usize| face.get(at).and_then(|row| u32::try_from(*row).ok());
        (2..face.len()).filter_map(move |last| Some([row(0)?, row(last - 1)?, row(last)?]))
    })
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

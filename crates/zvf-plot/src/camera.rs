//! The camera: position of the viewer, and projection of world positions to pixels.
//!
//! ```
//! use zvf_plot::{Camera, Orientation, Projection};
//!
//! # fn main() -> Result<(), zvf_plot::PlotError> {
//! // One pixel per unit, the origin at the centre of a picture of 100 times 80 pixels.
//! let view: Orientation = "xy".parse()?;
//! let camera = Camera::new(view, Projection::Orthographic, [0.0; 3], 1.0, [50.0, 40.0]);
//! let seen = camera.project([10.0, 20.0, 5.0]).ok_or_else(|| zvf_plot::PlotError::usage("behind the viewer"))?;
//! assert_eq!((seen.x, seen.y), (60.0, 20.0));
//! # Ok(())
//! # }
//! ```

use std::str::FromStr;

use crate::PlotError;

/// A position or direction in world coordinates.
pub type Point3 = [f64; 3];

/// The kind of projection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Projection {
    /// Parallel rays: lengths across the view do not depend on the depth.
    Orthographic,
    /// Rays from one point. A sphere around all data has this angle, in degrees, as seen from there.
    Perspective(f64),
}

/// The orientation of a picture: the directions of the world that point right and up in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orientation {
    right: Point3,
    up: Point3,
    back: Point3,
}

impl Orientation {
    /// x to the right, y up.
    pub const XY: Self = Self {
        right: [1.0, 0.0, 0.0],
        up: [0.0, 1.0, 0.0],
        back: [0.0, 0.0, 1.0],
    };

    /// A view with two directions, which need not be of length 1; `up` is made perpendicular to `right`.
    ///
    /// # Errors
    ///
    /// Misuse: directions that are zero (at most 1e-9 long), not finite, or parallel.
    pub fn new(right: Point3, up: Point3) -> Result<Self, PlotError> {
        let wrong = || PlotError::usage("a view needs two directions that are not parallel");
        let right = unit(right).ok_or_else(wrong)?;
        let along = dot(up, right);
        let up = unit(std::array::from_fn(|axis| {
            part(up, axis) - along * part(right, axis)
        }))
        .ok_or_else(wrong)?;
        Ok(Self {
            right,
            up,
            back: cross(right, up),
        })
    }

    /// A view from a direction: azimuth in the plane of x and y, counted from x towards y, and elevation above that plane, both in
    /// degrees; z points up. The angles are defined as in matplotlib.
    ///
    /// # Errors
    ///
    /// Misuse: angles that are not finite.
    pub fn from_angles(azimuth: f64, elevation: f64, up: UpAxis) -> Result<Self, PlotError> {
        if !azimuth.is_finite() || !elevation.is_finite() {
            return Err(PlotError::usage("the angles of a view need to be finite"));
        }
        let (a, e) = (azimuth.to_radians(), elevation.to_radians());
        let [first, second, third] = up.frame();
        let mix = |x: f64, y: f64, z: f64| -> Point3 {
            std::array::from_fn(|axis| {
                x * part(first, axis) + y * part(second, axis) + z * part(third, axis)
            })
        };
        let right = mix(-a.sin(), a.cos(), 0.0);
        let up = mix(-a.cos() * e.sin(), -a.sin() * e.sin(), e.cos());
        Self::new(right, up)
    }

    /// Parses `xy`, `xz`, `yz` and any other pair of axes, right and then up, each with a minus sign for the opposite direction
    /// (`x-z`); `iso`; or `AZ,EL` in degrees.
    ///
    /// # Errors
    ///
    /// Misuse, with the expected syntax.
    pub fn parse(text: &str, up: UpAxis) -> Result<Self, PlotError> {
        let wrong = || {
            PlotError::usage(format!(
                "view: found {text:?}, expected two axes such as xy, xz or x-z, iso, or AZ,EL in degrees such as -60,30"
            ))
        };
        if text == "iso" {
            return Self::from_angles(-45.0, 35.264_389_682_754_654, up);
        }
        if let Some((azimuth, elevation)) = text.split_once(',') {
            let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
            return Self::from_angles(number(azimuth)?, number(elevation)?, up);
        }
        let mut axes = [[0.0; 3]; 2];
        let mut sign = 1.0;
        let mut found = 0;
        for letter in text.chars() {
            let axis = match letter {
                '-' => {
                    sign = -1.0;
                    continue;
                }
                'x' => 0,
                'y' => 1,
                'z' => 2,
                _ => return Err(wrong()),
            };
            let slot = axes.get_mut(found).ok_or_else(wrong)?;
            if let Some(value) = slot.get_mut(axis) {
                *value = sign;
            }
            sign = 1.0;
            found += 1;
        }
        match found {
            2 => Self::new(axes[0], axes[1]).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// The direction that points right in the picture, of length 1.
    pub fn right(&self) -> Point3 {
        self.right
    }

    /// The direction that points up in the picture, of length 1.
    pub fn up(&self) -> Point3 {
        self.up
    }

    /// The direction from the data to the viewer, of length 1.
    pub fn back(&self) -> Point3 {
        self.back
    }
}

impl FromStr for Orientation {
    type Err = PlotError;

    /// Like [`Orientation::parse`], with z up.
    fn from_str(text: &str) -> Result<Self, PlotError> {
        Self::parse(text, UpAxis::default())
    }
}

/// The axis that points up in views by angles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpAxis {
    axis: usize,
    down: bool,
}

impl Default for UpAxis {
    /// z.
    fn default() -> Self {
        Self {
            axis: 2,
            down: false,
        }
    }
}

impl UpAxis {
    /// Three right-handed directions; the last one is up.
    fn frame(self) -> [Point3; 3] {
        let axis = |number: usize, sign: f64| -> Point3 {
            std::array::from_fn(|one| if one == number { sign } else { 0.0 })
        };
        let (first, second) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        match (self.axis, self.down) {
            (_, false) => [axis(first, 1.0), axis(second, 1.0), axis(self.axis, 1.0)],
            // The x axis points to the right if that is possible.
            (1, true) => [axis(0, 1.0), axis(2, 1.0), axis(1, -1.0)],
            (_, true) => [axis(first, 1.0), axis(second, -1.0), axis(self.axis, -1.0)],
        }
    }
}

impl FromStr for UpAxis {
    type Err = PlotError;

    /// `x`, `y` or `z`, with a minus sign if the axis points down, as rows of images do: `-y`.
    fn from_str(text: &str) -> Result<Self, PlotError> {
        let (down, name) = match text.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, text),
        };
        let axis = ["x", "y", "z"].iter().position(|one| *one == name);
        axis.map(|axis| Self { axis, down }).ok_or_else(|| {
            PlotError::usage(format!(
                "up: found {text:?}, expected x, y, z, -x, -y or -z"
            ))
        })
    }
}

/// A projected world position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProjectedPoint {
    /// Pixels from the left edge of the picture; pixel `i` reaches from `i` to `i + 1`.
    pub x: f64,
    /// Pixels from the upper edge of the picture.
    pub y: f64,
    /// Grows with the distance from the viewer, and is linear along a straight line of the picture.
    pub depth: f64,
    /// Scale at this position relative to the target: 1 in orthographic views.
    pub size: f64,
}

/// Projects world positions to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    view: Orientation,
    target: Point3,
    units_per_pixel: f64,
    center: [f64; 2],
    /// From the target to the viewer, in world units; `None`: parallel rays.
    distance: Option<f64>,
}

/// The least distance from the viewer at which shapes are drawn, as a share of the distance to the target.
const NEAR: f64 = 0.01;

impl Camera {
    /// A camera that looks at `target`, which is shown at the pixel position `center`, where a pixel is `units_per_pixel` wide.
    ///
    /// In perspective, the viewer is at the distance at which a height of `2 * center[1]` pixels has the angle of the projection.
    ///
    /// # Units
    ///
    /// World units and pixels.
    pub fn new(
        view: Orientation,
        projection: Projection,
        target: Point3,
        units_per_pixel: f64,
        center: [f64; 2],
    ) -> Self {
        let distance = match projection {
            Projection::Orthographic => None,
            Projection::Perspective(angle) => {
                Some(center[1] * units_per_pixel / (angle.to_radians() / 2.0).tan())
            }
        };
        Self {
            view,
            target,
            units_per_pixel,
            center,
            distance,
        }
    }

    /// A camera that shows all `points` inside a rectangle of the picture, `[left, top, right, bottom]` in pixels, at the largest
    /// scale that fits. Without points, or with a single position, a pixel is a unit.
    pub fn fit(
        view: Orientation,
        projection: Projection,
        points: &[Point3],
        inside: [f64; 4],
    ) -> Self {
        let mut range = Bounds::EMPTY;
        points.iter().for_each(|point| range.add(*point));
        let target = range.center();
        let radius = points
            .iter()
            .map(|point| distance(*point, target))
            .filter(|one| one.is_finite())
            .fold(0.0, f64::max);
        let mut camera = Self {
            view,
            target,
            units_per_pixel: 1.0,
            center: [0.0; 2],
            distance: match projection {
                Projection::Orthographic => None,
                Projection::Perspective(angle) => {
                    let half = (angle.to_radians() / 2.0).sin();
                    Some((radius / half).max(f64::MIN_POSITIVE))
                }
            },
        };
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for seen in points.iter().filter_map(|point| camera.project(*point)) {
            low = [low[0].min(seen.x), low[1].min(seen.y)];
            high = [high[0].max(seen.x), high[1].max(seen.y)];
        }
        let [left, top, right, bottom] = inside;
        let middle = [(left + right) / 2.0, (top + bottom) / 2.0];
        let wide = (high[0] - low[0]) / (right - left).max(1.0);
        let tall = (high[1] - low[1]) / (bottom - top).max(1.0);
        let units = wide.max(tall);
        if units.is_finite() && units > 0.0 {
            camera.units_per_pixel = units;
            camera.center = [
                middle[0] - (low[0] + high[0]) / 2.0 / units,
                middle[1] - (low[1] + high[1]) / 2.0 / units,
            ];
        } else {
            camera.center = middle;
            camera.distance = camera.distance.map(|one| one.max(1.0));
        }
        camera
    }

    /// Projects a position; `None` for positions behind the viewer or very close to it, and for positions that are not finite.
    pub fn project(&self, point: Point3) -> Option<ProjectedPoint> {
        let from: Point3 = std::array::from_fn(|axis| part(point, axis) - part(self.target, axis));
        let away = -dot(from, self.view.back);
        let (depth, size) = match self.distance {
            None => (away, 1.0),
            Some(distance) => {
                let all = distance + away;
                if all <= NEAR * distance {
                    return None;
                }
                let size = distance / all;
                (-size * distance, size)
            }
        };
        let scale = size / self.units_per_pixel;
        let seen = ProjectedPoint {
            x: self.center[0] + dot(from, self.view.right) * scale,
            y: self.center[1] - dot(from, self.view.up) * scale,
            depth,
            size,
        };
        (seen.x.is_finite() && seen.y.is_finite() && depth.is_finite()).then_some(seen)
    }

    /// The part of a line between two positions that is in front of the viewer; `None` if no part is.
    pub(crate) fn in_front(&self, a: Point3, b: Point3) -> Option<(Point3, Point3)> {
        let Some(distance) = self.distance else {
            return Some((a, b));
        };
        let height = |point: Point3| {
            let from: Point3 =
                std::array::from_fn(|axis| part(point, axis) - part(self.target, axis));
            distance - dot(from, self.view.back) - 1.001 * NEAR * distance
        };
        let (first, second) = (height(a), height(b));
        let cut = |from: Point3, to: Point3, at: f64| -> Point3 {
            std::array::from_fn(|axis| part(from, axis) + at * (part(to, axis) - part(from, axis)))
        };
        match (first > 0.0, second > 0.0) {
            (true, true) => Some((a, b)),
            (true, false) => Some((a, cut(a, b, first / (first - second)))),
            (false, true) => Some((cut(a, b, first / (first - second)), b)),
            _ => None,
        }
    }

    /// Converts a depth of [`project`](Self::project) to the distance beyond the plane of the target, in world units.
    pub fn away(&self, depth: f64) -> f64 {
        match self.distance {
            None => depth,
            Some(distance) => distance * (-distance / depth - 1.0),
        }
    }

    /// The same view in a picture with `times` as many pixels in each direction.
    #[must_use]
    pub fn scaled(mut self, times: f64) -> Self {
        self.units_per_pixel /= times;
        self.center = self.center.map(|one| one * times);
        self
    }

    /// The orientation.
    pub fn view(&self) -> &Orientation {
        &self.view
    }

    /// The position that the camera looks at.
    pub fn target(&self) -> Point3 {
        self.target
    }

    /// Width of a pixel at the target, in world units.
    pub fn units_per_pixel(&self) -> f64 {
        self.units_per_pixel
    }

    /// The projected target, in pixels.
    pub fn center(&self) -> [f64; 2] {
        self.center
    }

    /// From the viewer to the target in perspective views, in world units.
    pub fn distance(&self) -> Option<f64> {
        self.distance
    }
}

/// An axis-aligned box that grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The smallest coordinates.
    pub low: Point3,
    /// The largest coordinates; below `low` if the box is empty.
    pub high: Point3,
}

impl Bounds {
    /// An empty box.
    pub const EMPTY: Self = Self {
        low: [f64::INFINITY; 3],
        high: [f64::NEG_INFINITY; 3],
    };

    /// Adds a position; it is ignored if a coordinate is not finite.
    pub fn add(&mut self, point: Point3) {
        if !point.iter().all(|one| one.is_finite()) {
            return;
        }
        for ((low, high), value) in self.low.iter_mut().zip(&mut self.high).zip(point) {
            *low = low.min(value);
            *high = high.max(value);
        }
    }

    /// Whether the box is empty.
    pub fn is_empty(&self) -> bool {
        self.low
            .iter()
            .zip(&self.high)
            .any(|(low, high)| low > high)
    }

    /// The middle; the origin for an empty box.
    pub fn center(&self) -> Point3 {
        if self.is_empty() {
            return [0.0; 3];
        }
        std::array::from_fn(|axis| part(self.low, axis) / 2.0 + part(self.high, axis) / 2.0)
    }

    /// The eight corners; none for an empty box.
    pub fn corners(&self) -> Vec<Point3> {
        if self.is_empty() {
            return Vec::new();
        }
        (0..8_usize)
            .map(|number| {
                std::array::from_fn(|axis| match number >> axis & 1 {
                    0 => part(self.low, axis),
                    _ => part(self.high, axis),
                })
            })
            .collect()
    }
}

fn part(point: Point3, axis: usize) -> f64 {
    point.get(axis).copied().unwrap_or(0.0)
}

fn dot(a: Point3, b: Point3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Point3, b: Point3) -> Point3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn distance(a: Point3, b: Point3) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

/// The direction of length 1; `None` for a vector that is not finite or not longer than 1e-9.
fn unit(direction: Point3) -> Option<Point3> {
    let length = dot(direction, direction).sqrt();
    (length.is_finite() && length > 1e-9).then(|| direction.map(|one| one / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Point3, b: Point3) -> bool {
        distance(a, b) < 1e-9
    }

    #[test]
    fn named_views_are_the_angles_of_matplotlib() {
        let up = UpAxis::default();
        for (name, azimuth, elevation) in
            [("xy", -90.0, 90.0), ("xz", -90.0, 0.0), ("yz", 0.0, 0.0)]
        {
            let named = Orientation::parse(name, up).unwrap();
            let angles = Orientation::from_angles(azimuth, elevation, up).unwrap();
            assert!(
                near(named.right, angles.right) && near(named.up, angles.up),
                "{name}"
            );
            assert!(near(named.back, angles.back), "{name}");
        }
        // Right-handed: the viewer of xy is at +z, the viewer of x-y at -z.
        assert_eq!(Orientation::parse("xy", up).unwrap().back, [0.0, 0.0, 1.0]);
        assert_eq!(
            Orientation::parse("x-y", up).unwrap().back,
            [0.0, 0.0, -1.0]
        );
        assert_eq!(Orientation::parse("x-z", up).unwrap().up, [0.0, 0.0, -1.0]);
        // Neuroglancer's first view: y down, looking along +z.
        let image = Orientation::from_angles(-90.0, 0.0, "-y".parse().unwrap()).unwrap();
        assert!(near(image.right, [1.0, 0.0, 0.0]) && near(image.up, [0.0, -1.0, 0.0]));
        let iso = Orientation::parse("iso", up).unwrap().back;
        assert!(near(
            iso,
            [
                1.0 / 3.0_f64.sqrt(),
                -1.0 / 3.0_f64.sqrt(),
                1.0 / 3.0_f64.sqrt()
            ]
        ));
        for wrong in [
            "", "x", "xx", "x-x", "xyz", "xq", "1", "1,b", "nan,0", "1,2,3",
        ] {
            assert!(Orientation::parse(wrong, up).is_err(), "{wrong}");
        }
        assert!("q".parse::<UpAxis>().is_err());
    }

    #[test]
    fn perspective_follows_similar_triangles() {
        // Half of the height is 50 pixels of 0.1 units, seen under 45 degrees: the viewer is 5 units away.
        let view: Orientation = "xy".parse().unwrap();
        let camera = Camera::new(
            view,
            Projection::Perspective(90.0),
            [0.0; 3],
            0.1,
            [50.0, 50.0],
        );
        assert!((camera.distance().unwrap() - 5.0).abs() < 1e-12);
        let at = |point| camera.project(point).unwrap();
        assert!((at([1.0, 0.0, 0.0]).x - 60.0).abs() < 1e-9);
        // Twice as far, half as large; half as far, twice as large.
        assert!((at([1.0, 0.0, -5.0]).x - 55.0).abs() < 1e-9);
        assert!((at([1.0, -1.0, 2.5]).y - 70.0).abs() < 1e-9);
        assert!(at([0.0, 0.0, 1.0]).depth < at([0.0; 3]).depth);
        assert!((camera.away(at([0.0, 0.0, -3.0]).depth) - 3.0).abs() < 1e-9);
        assert!(camera.project([0.0, 0.0, 5.0]).is_none());
        assert!(camera.project([f64::NAN, 0.0, 0.0]).is_none());
        let (_, end) = camera.in_front([0.0; 3], [0.0, 0.0, 10.0]).unwrap();
        assert!(camera.project(end).is_some() && end[2] > 4.9);
        assert!(camera.in_front([0.0, 0.0, 6.0], [0.0, 0.0, 9.0]).is_none());
    }

    #[test]
    fn fitted_points_touch_the_rectangle() {
        let points = [[0.0, 0.0, 0.0], [10.0, 4.0, -3.0], [3.0, 1.0, 8.0]];
        for projection in [Projection::Orthographic, Projection::Perspective(40.0)] {
            for view in ["xy", "xz", "iso", "20,70"] {
                let camera = Camera::fit(
                    view.parse().unwrap(),
                    projection,
                    &points,
                    [10.0, 5.0, 90.0, 65.0],
                );
                let seen: Vec<ProjectedPoint> =
                    points.iter().map(|p| camera.project(*p).unwrap()).collect();
                let range = |of: fn(&ProjectedPoint) -> f64| {
                    let all = seen.iter().map(of);
                    (
                        all.clone().fold(f64::MAX, f64::min),
                        all.fold(f64::MIN, f64::max),
                    )
                };
                let ((left, right), (top, bottom)) = (range(|s| s.x), range(|s| s.y));
                assert!(left > 9.999 && right < 90.001 && top > 4.999 && bottom < 65.001);
                let full = (right - left - 80.0).abs() < 1e-6 || (bottom - top - 60.0).abs() < 1e-6;
                assert!(full, "{view}: {left} {right} {top} {bottom}");
            }
        }
        let one = Camera::fit(
            "xy".parse().unwrap(),
            Projection::Perspective(30.0),
            &[[5.0; 3]],
            [0.0, 0.0, 9.0, 9.0],
        );
        let seen = one.project([5.0; 3]).unwrap();
        assert_eq!((seen.x, seen.y), (4.5, 4.5));
    }
}

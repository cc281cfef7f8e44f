//! Regions: parts of space other than boxes, for the rows and objects of a query.

mod bound;
mod cursor;
mod hull;
mod mask;
mod mesh;
mod parse;
mod places;
mod polygon;
mod relation;
#[cfg(test)]
mod tests;
mod wkt;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use zvf_store::meta::Affine;

use crate::QueryError;
use crate::filter::{SyntaxError, marked, write_joined};
pub(crate) use bound::BoundRegion;
use cursor::{LARGEST, TextCursor, written, written_name};
use mask::Mask;
use mesh::Mesh;
pub use places::ObjectPlaces;
use polygon::Polygons;
pub use relation::ObjectRelation;

/// A part of space: a sphere, a slab, a polygon prism, a closed mesh, voxels of a volume, or several of these joined by `and`, `or` and `not`.
///
/// # Text
///
/// | text | meaning |
/// |---|---|
/// | `sphere(1,2,3,4)` | at most 4 from the centre (1, 2, 3); one number an axis, then the radius (two axes: a disc) |
/// | `near(x=0,1)` | at most 1 from the plane x = 0 |
/// | `box(x=0:10,z=5:)` | between the ends of these axes; an end that is left out is infinite |
/// | `polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)))` | the prism over polygons of well-known text, in the plane of `x` and `y`, or longitude and latitude, or of the first two axes of space if the store has no such names |
/// | `polygon(MULTIPOLYGON (..), lon, lat)` | the same in the plane of other axes; a final `, z=0:10` means `and box(z=0:10)` |
/// | `mesh(0 0 0, 1 0 0, 0 1 0, 0 0 1; 0 2 1, 0 1 3, 1 2 3, 0 3 2)` | inside of a closed mesh: its vertices, then its triangles; in the space of `x`, `y` and `z`, or of the first three axes of space |
/// | `hull(0 0 0, 1 0 0, 0 1 0, 0 0 1)` | the convex hull of points, which is a mesh |
/// | `mask(x y z; 4 4 4; 2 0 0 -3, 0 2 0 -3, 0 0 2 -3; 5 2, 9 1)` | the voxels of some elements of a volume: the axes of the store, the extents of the volume, the rows of the affine from elements to these axes, then for each run of neighbouring elements the distance from the end of the previous run and the length of the run; the last axis of the volume varies fastest |
///
/// Joined by `and`, `or` (which binds less) and `not`, with parentheses. Names of axes with blanks or syntax characters are written in backquotes. Parsing
/// the output of `Display` gives the same region.
///
/// # Meaning
///
/// Coordinates are world coordinates, as in a [`BBox`](crate::BBox). Spheres, slabs, boxes, meshes and polygons include their
/// boundaries, and the boundaries of holes; `not` excludes them. A point of a polygon is inside if an odd number of rings surround it; several polygons are their union.
/// An element of a mask contains the positions that are nearest to its centre; a position between two elements belongs to the upper one. Positions
/// are compared as `f64`, which is exact for every stored type except 64-bit integers above 2^53. Distances are rounded as `f64`; tests of polygons
/// and meshes are exact. A position with a NaN coordinate is in no region, and not in `not REGION` either.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// use zvf_query::Region;
/// let region = Region::parse("sphere(1,2,3,4) and not near(x=0,1)")?;
/// assert_eq!(region.to_string(), "sphere(1,2,3,4) and not near(x=0,1)");
/// assert_eq!(region, Region::sphere(&[1.0, 2.0, 3.0], 4.0)?.and(!Region::near("x", 0.0, 1.0)?));
/// assert!(Region::sphere(&[0.0, 0.0], -1.0).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    shape: Shape,
}

/// The tree of a region.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// In all parts; two or more parts.
    All(Vec<Shape>),
    /// In at least one part; two or more parts.
    Any(Vec<Shape>),
    Not(Box<Shape>),
    Sphere {
        center: Vec<f64>,
        radius: f64,
    },
    Near {
        axis: String,
        value: f64,
        distance: f64,
    },
    /// Ranges of axes.
    Box(Vec<AxisRange>),
    Polygon {
        polygons: Arc<Polygons>,
        /// The axes of the two coordinates; `None`: `x` and `y`, or longitude and latitude, or the first two axes of space.
        plane: Option<[String; 2]>,
    },
    Mesh(Arc<Mesh>),
    Mask(Arc<Mask>),
    /// The objects with this relation to the region; only in [`ObjectPlaces`].
    Objects(ObjectRelation, Box<Shape>),
}

/// A file that the text of a region names in place of the contents of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionFile<'t> {
    /// `polygon`, `mesh`, `hull` or `mask`.
    pub shape: &'t str,
    /// The name of the file.
    pub name: &'t str,
    /// The labels of a mask, as ranges; none: all elements but zero.
    pub labels: &'t [RangeInclusive<i64>],
}

/// Reads the files that a text names; the error describes a defect of a file.
type OfFile<'f> = &'f mut dyn FnMut(&RegionFile<'_>) -> Result<Region, String>;

/// An axis with its lower and upper end.
type AxisRange = (String, f64, f64);

/// The plane of polygons, and ranges of other axes.
///
/// As text `xy`, `lon,lat`, `xy,z=0:10`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plane {
    axes: [String; 2],
    ranges: Vec<AxisRange>,
}

/// The overlap of a region with a box around some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// No point of the box is in the region.
    Outside,
    /// Every point of the box is in the region.
    Inside,
    /// The box may be partly in the region.
    Crosses,
}

impl Overlap {
    /// The overlap with the union of regions.
    fn any(parts: impl Iterator<Item = Self>) -> Self {
        let mut found = Self::Outside;
        for part in parts {
            match part {
                Self::Inside => return Self::Inside,
                Self::Crosses => found = Self::Crosses,
                Self::Outside => {}
            }
        }
        found
    }

    /// The overlap with the complement.
    fn inverted(self) -> Self {
        match self {
            Self::Outside => Self::Inside,
            Self::Inside => Self::Outside,
            Self::Crosses => Self::Crosses,
        }
    }
}

impl Region {
    /// Most vertices of a closed mesh: [`mesh`](Self::mesh).
    pub const MOST_MESH_VERTICES: u64 = mesh::MOST_VERTICES;
    /// Most elements of the volume of a mask: [`mask`](Self::mask).
    pub const MOST_MASK_ELEMENTS: u64 = mask::MOST_ELEMENTS;
    /// Most runs of neighbouring elements of a mask: [`mask`](Self::mask).
    pub const MOST_MASK_RUNS: usize = mask::MOST_RUNS;

    /// The points at most `radius` from `center`, which has a coordinate for each axis of space. Axes of time and channels are not limited.
    ///
    /// # Errors
    ///
    /// Misuse: no axis, numbers that are not finite or above 1e100, a negative radius.
    pub fn sphere(center: &[f64], radius: f64) -> Result<Self, QueryError> {
        let center = center.to_vec();
        Self::of(Shape::Sphere { center, radius }, "sphere")
    }

    /// The points at most `distance` from the plane where the coordinate of an axis is `value`.
    ///
    /// # Errors
    ///
    /// Misuse: numbers that are not finite or above 1e100, a negative distance.
    pub fn near(axis: &str, value: f64, distance: f64) -> Result<Self, QueryError> {
        let axis = axis.to_owned();
        let shape = Shape::Near {
            axis,
            value,
            distance,
        };
        Self::of(shape, "near")
    }

    /// The points between the ends of some axes, both ends included: a box of fewer axes than the store has. Ends may be infinite.
    ///
    /// # Errors
    ///
    /// Misuse: no axis, an end that is not a number, a lower end above the upper one.
    pub fn between<'n>(
        ranges: impl IntoIterator<Item = (&'n str, f64, f64)>,
    ) -> Result<Self, QueryError> {
        let ranges = ranges.into_iter();
        let ranges: Vec<AxisRange> = ranges
            .map(|(axis, low, high)| (axis.to_owned(), low, high))
            .collect();
        Self::of(Shape::Box(ranges), "bbox")
    }

    /// The prism over polygons of well-known text (`POLYGON`, `MULTIPOLYGON`) or GeoJSON (these, and features and collections of them), at most
    /// 262,144 vertices. The polygons are in the plane of the axes `x` and `y`, or longitude and latitude, or of the first two axes of space if the
    /// store lacks these names, unless [`with_plane`](Self::with_plane) names another plane.
    ///
    /// # Errors
    ///
    /// Misuse: a text that is not a polygon; the error states the byte or the member that is wrong.
    pub fn polygon(text: &str) -> Result<Self, QueryError> {
        if text.trim_start().starts_with('{') {
            let json = serde_json::from_str(text);
            let json = json.map_err(|error| {
                QueryError::misuse(format!("polygon: expected GeoJSON: {error}"))
            })?;
            return Self::geojson(&json);
        }
        let mut cursor = TextCursor::new(text);
        let polygons = wkt::polygons(&mut cursor).and_then(|polygons| match cursor.peek() {
            None => Ok(polygons),
            Some(_) => Err(cursor.expected("the end")),
        });
        let polygons = polygons.map_err(|wrong| misuse("polygon", text, wrong))?;
        Ok(Self::of_polygons(polygons))
    }

    /// The prism over polygons of GeoJSON, like [`polygon`](Self::polygon).
    ///
    /// # Errors
    ///
    /// As [`polygon`](Self::polygon).
    pub fn geojson(json: &Value) -> Result<Self, QueryError> {
        let polygons = wkt::of_geojson(json);
        let polygons = polygons.map_err(|what| QueryError::misuse(format!("polygon: {what}")))?;
        Ok(Self::of_polygons(polygons))
    }

    /// The inside of a closed mesh, given by its vertices and its triangles, which are numbers of vertices. Vertices with the same coordinates are
    /// merged. A point is inside if an odd number of triangles are above it, whatever their orientation.
    ///
    /// # Errors
    ///
    /// Misuse: an edge with an odd number of triangles (the mesh is open; the error counts these edges), numbers of vertices that do not exist,
    /// coordinates that are not finite, no triangle, more than 2^20 vertices or 2^21 triangles.
    pub fn mesh(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Result<Self, QueryError> {
        let mesh = Mesh::new(vertices, triangles);
        let mesh = mesh.map_err(|what| QueryError::misuse(format!("mesh: {what}")))?;
        let shape = Shape::Mesh(Arc::new(mesh));
        Ok(Self { shape })
    }

    /// The convex hull of points.
    ///
    /// # Errors
    ///
    /// Misuse: fewer than four points, or all of them in one plane; coordinates that are not finite or above 1e100, more than 2^20 points.
    pub fn hull(points: &[[f64; 3]]) -> Result<Self, QueryError> {
        let mesh = hull::hull(points);
        let mesh = mesh.map_err(|what| QueryError::misuse(format!("hull: {what}")))?;
        let shape = Shape::Mesh(Arc::new(mesh));
        Ok(Self { shape })
    }

    /// The voxels of some elements of a volume. `shape` has the extents of the volume, the last axis varies fastest; `to_world` maps indices of
    /// elements to positions on `axes` of the store; `runs` are first elements and counts of neighbouring elements, in ascending order.
    ///
    /// # Cost
    ///
    /// Eight bytes for each run of a row, four for each row of the box around the elements; 224 MiB at most.
    ///
    /// # Errors
    ///
    /// Misuse: more than three axes or 2^40 elements, more than 2^22 runs or 2^24 rows, a repeated axis, runs that are not ascending, no run; a map
    /// without a usable inverse.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use zvf_query::Region;
    /// use zvf_store::meta::Affine;
    /// let map = Affine::from_rows(&[2.0, 0.0, -3.0, 0.0, 2.0, -3.0], 2)?;
    /// let region = Region::mask(&["x", "y"], &[4, 4], &map, &[(5, 2), (9, 1)])?;
    /// assert_eq!(region.to_string(), "mask(x y; 4 4; 2 0 -3, 0 2 -3; 5 2,2 1)");
    /// assert_eq!(Region::parse(&region.to_string())?, region);
    /// # Ok(())
    /// # }
    /// ```
    pub fn mask(
        axes: &[&str],
        shape: &[u64],
        to_world: &Affine,
        runs: &[(u64, u64)],
    ) -> Result<Self, QueryError> {
        let axes = axes.iter().map(|name| (*name).to_owned()).collect();
        let mask = Mask::new(axes, shape.to_vec(), to_world, runs);
        let mask = mask.map_err(|what| QueryError::misuse(format!("mask: {what}")))?;
        let shape = Shape::Mask(Arc::new(mask));
        Ok(Self { shape })
    }

    fn of_polygons(polygons: Polygons) -> Self {
        let shape = Shape::Polygon {
            polygons: Arc::new(polygons),
            plane: None,
        };
        Self { shape }
    }

    /// Parses the text form.
    ///
    /// # Errors
    ///
    /// Misuse: a malformed text; the error marks the byte.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Self::parse_with(text, &mut no_file)
    }

    /// Parses the text form, in which `@FILE` may replace the contents of `polygon(..)`, `mesh(..)`, `hull(..)` and `mask(..)`; in a mask, labels may
    /// follow the file. `file` returns the region of a file, or a description of its defect.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse); errors of the file.
    pub fn parse_with(text: &str, file: OfFile<'_>) -> Result<Self, QueryError> {
        let shape =
            parse::parse(text, file, false).map_err(|wrong| misuse("region", text, wrong))?;
        Ok(Self { shape })
    }

    /// The region of a member of a description: `sphere` (`1,2,3,4`), `near` (`x=0,1`), `bbox` with names of axes (`x=0:10,y=5:`), `polygon` or `region`.
    pub(crate) fn of_member(member: &str, text: &str) -> Result<Self, QueryError> {
        let mut cursor = TextCursor::new(text);
        let shape = match member {
            "polygon" => return Self::polygon(text),
            "sphere" => parse::sphere(&mut cursor),
            "near" => parse::near(&mut cursor),
            "bbox" => parse::ranges(&mut cursor).map(Shape::Box),
            _ => return Self::parse(text),
        };
        let shape = shape.and_then(|shape| match cursor.peek() {
            None => Ok(shape),
            Some(_) => Err(cursor.expected("the end")),
        });
        Self::of(shape.map_err(|wrong| misuse(member, text, wrong))?, member)
    }

    /// The part of space that is in both regions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let shape = match self.shape {
            Shape::All(mut parts) => {
                parts.push(other.shape);
                Shape::All(parts)
            }
            one => Shape::All(vec![one, other.shape]),
        };
        Self { shape }
    }

    /// The part of space that is in one or both regions.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let shape = match self.shape {
            Shape::Any(mut parts) => {
                parts.push(other.shape);
                Shape::Any(parts)
            }
            one => Shape::Any(vec![one, other.shape]),
        };
        Self { shape }
    }

    /// Sets the plane of the polygons that state none: two names of axes, and ranges of others, such as `xz`, `lon,lat` or `xy,z=0:10`.
    ///
    /// # Errors
    ///
    /// Misuse: a text of another form.
    pub fn with_plane(self, plane: &str) -> Result<Self, QueryError> {
        Ok(self.in_plane(&Plane::parse(plane)?))
    }

    /// Sets the plane of the polygons that state none.
    pub(crate) fn in_plane(mut self, plane: &Plane) -> Self {
        self.shape.put_in(plane);
        self
    }

    /// Whether the plane of a polygon is not stated.
    pub(crate) fn has_open_plane(&self) -> bool {
        self.shape.has_open_plane()
    }

    fn of(shape: Shape, name: &str) -> Result<Self, QueryError> {
        let checked = shape.checked();
        checked.map_err(|what| QueryError::misuse(format!("{name}: {what}")))?;
        Ok(Self { shape })
    }
}

impl std::ops::Not for Region {
    type Output = Self;

    /// All points outside the region.
    fn not(self) -> Self {
        let shape = Shape::Not(Box::new(self.shape));
        Self { shape }
    }
}

impl std::str::FromStr for Region {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        Self::parse(text)
    }
}

/// Refuses files, for texts that other programs send.
fn no_file(_: &RegionFile<'_>) -> Result<Region, String> {
    let what =
        "found a file, expected the shape itself: files are read by the program and in Python";
    Err(what.to_owned())
}

/// An error in the text of a member.
fn misuse(member: &str, text: &str, wrong: SyntaxError) -> QueryError {
    let SyntaxError { at, what } = wrong;
    QueryError::misuse(format!(
        "{member}, at byte {at}: {what}{}",
        marked(text, at)
    ))
}

impl Plane {
    /// Parses `xy`, `lon,lat`, or these with ranges of other axes.
    pub(crate) fn parse(text: &str) -> Result<Self, QueryError> {
        let mut cursor = TextCursor::new(text);
        parse::plane(&mut cursor)
            .and_then(|plane| match cursor.peek() {
                None => Ok(plane),
                Some(_) => Err(cursor.expected("the end")),
            })
            .map_err(|wrong| misuse("plane", text, wrong))
    }
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = &self.axes;
        write!(f, "{},{}", written_name(first), written_name(second))?;
        for range in &self.ranges {
            write!(f, ",{}", written_range(range))?;
        }
        Ok(())
    }
}

fn written_range((axis, low, high): &AxisRange) -> String {
    let low = if *low == f64::NEG_INFINITY {
        String::new()
    } else {
        written(*low)
    };
    let high = if *high == f64::INFINITY {
        String::new()
    } else {
        written(*high)
    };
    format!("{}={low}:{high}", written_name(axis))
}

impl Shape {
    /// Calls `f` with every part, inner parts first.
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                parts.iter_mut().for_each(|part| part.each_mut(f))
            }
            Self::Not(part) | Self::Objects(_, part) => part.each_mut(f),
            Self::Sphere { .. }
            | Self::Near { .. }
            | Self::Box(_)
            | Self::Polygon { .. }
            | Self::Mesh(_)
            | Self::Mask(_) => {}
        }
        f(self);
    }

    /// States a plane for the polygons that state none.
    fn put_in(&mut self, plane: &Plane) {
        self.each_mut(&mut |shape| {
            if let Self::Polygon {
                plane: at @ None, ..
            } = shape
            {
                *at = Some(plane.axes.clone());
                if !plane.ranges.is_empty() {
                    let inner = std::mem::replace(shape, Self::Any(Vec::new()));
                    *shape = Self::All(vec![inner, Self::Box(plane.ranges.clone())]);
                }
            }
        });
    }

    /// Whether the plane of a polygon is not stated.
    fn has_open_plane(&self) -> bool {
        let mut found = false;
        self.clone().each_mut(&mut |shape| {
            found |= matches!(shape, Self::Polygon { plane: None, .. });
        });
        found
    }

    /// Checks the numbers that describe a shape.
    ///
    /// # Errors
    ///
    /// A description of the wrong number.
    fn checked(&self) -> Result<(), String> {
        let fine = |number: f64| number.abs() <= LARGEST;
        let finite = "expected finite numbers of at most 1e100";
        match self {
            Self::Sphere { center, radius } => {
                if center.is_empty() {
                    return Err(
                        "found no centre, expected a number for each axis of space, then the radius"
                            .to_owned(),
                    );
                }
                if !center.iter().chain([radius]).all(|number| fine(*number)) {
                    return Err(finite.to_owned());
                }
                match *radius < 0.0 {
                    true => Err(format!(
                        "found the radius {radius}, expected one that is not negative"
                    )),
                    false => Ok(()),
                }
            }
            Self::Near {
                axis,
                value,
                distance,
            } => {
                if axis.is_empty() {
                    return Err("found no axis, expected its name".to_owned());
                }
                if !fine(*value) || !fine(*distance) {
                    return Err(finite.to_owned());
                }
                match *distance < 0.0 {
                    true => Err(format!(
                        "found the distance {distance}, expected one that is not negative"
                    )),
                    false => Ok(()),
                }
            }
            Self::Box(ranges) => {
                let wrong = |(axis, low, high): &&AxisRange| {
                    axis.is_empty() || low.is_nan() || high.is_nan() || low > high
                };
                match ranges.iter().find(wrong) {
                    Some((axis, low, high)) => Err(format!(
                        "found {axis}={low}:{high}, expected an axis, a lower end, and an upper end that is not below it"
                    )),
                    None if ranges.is_empty() => {
                        Err("found no axis, expected ranges such as x=0:10,y=5:".to_owned())
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Precedence: a part of lower precedence is put in parentheses.
    fn rank(&self) -> u8 {
        match self {
            Self::Any(_) => 0,
            Self::All(_) => 1,
            Self::Not(_) => 2,
            _ => 3,
        }
    }

    fn part(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank() < least {
            true => write!(f, "({self})"),
            false => write!(f, "{self}"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(parts) => write_joined(parts, " and ", f, |part, f| part.part(2, f)),
            Self::Any(parts) => write_joined(parts, " or ", f, |part, f| part.part(1, f)),
            Self::Not(part) => {
                f.write_str("not ")?;
                part.part(2, f)
            }
            Self::Sphere { center, radius } => {
                let numbers = center.iter().chain([radius]).map(|number| written(*number));
                write!(f, "sphere({})", numbers.collect::<Vec<_>>().join(","))
            }
            Self::Near {
                axis,
                value,
                distance,
            } => {
                write!(
                    f,
                    "near({}={},{})",
                    written_name(axis),
                    written(*value),
                    written(*distance)
                )
            }
            Self::Box(ranges) => {
                let ranges: Vec<String> = ranges.iter().map(written_range).collect();
                write!(f, "box({})", ranges.join(","))
            }
            Self::Mesh(mesh) => write!(f, "mesh({mesh})"),
            Self::Mask(mask) => write!(f, "mask({mask})"),
            Self::Objects(relation, part) => write!(f, "{}({part})", relation.name()),
            Self::Polygon {
                polygons,
                plane: None,
            } => write!(f, "polygon({polygons})"),
            Self::Polygon {
                polygons,
                plane: Some([first, second]),
            } => {
                write!(
                    f,
                    "polygon({polygons}, {}, {})",
                    written_name(first),
                    written_name(second)
                )
            }
        }
    }
}

impl fmt::Display for Region {
    /// The text form that [`Region::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)
    }
}

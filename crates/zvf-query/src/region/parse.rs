//! The parser of regions.

use std::sync::Arc;

use zvf_store::meta::Affine;

use super::cursor::TextCursor;
use super::mask::{MOST_RUNS, Mask};
use super::mesh::Mesh;
use super::{AxisRange, ObjectRelation, OfFile, Plane, Region, RegionFile, Shape, hull, wkt};
use crate::error::nearest;
use crate::filter::SyntaxError;
use crate::label_ranges;

/// Deepest nesting: a limit, so that no input exhausts the stack.
const DEPTH: usize = 100;

/// Most shapes of a region.
const MOST_SHAPES: usize = 4096;

/// Longest text.
const MOST_BYTES: usize = 1 << 26;

const SHAPES: [&str; 7] = ["sphere", "near", "box", "polygon", "mesh", "hull", "mask"];

/// Parses a whole text: a region, or a condition on objects by regions (`of_objects`).
///
/// # Errors
///
/// The first byte that does not fit.
pub(super) fn parse(text: &str, file: OfFile<'_>, of_objects: bool) -> Result<Shape, SyntaxError> {
    if text.len() > MOST_BYTES {
        let what = format!("found {} bytes, expected at most {MOST_BYTES}", text.len());
        return Err(SyntaxError { at: 0, what });
    }
    let mut parser = Parser {
        text: TextCursor::new(text),
        shapes: 0,
        file,
        of_objects,
    };
    let shape = parser.any(DEPTH)?;
    match parser.text.peek() {
        None => Ok(shape),
        Some(_) => Err(parser.text.expected("`and`, `or` or the end")),
    }
}

/// Takes a plane: two names of axes (or one name of two letters, one for each axis), then ranges of other axes.
pub(super) fn plane(text: &mut TextCursor<'_>) -> Result<Plane, SyntaxError> {
    const WANTED: &str = "two axes, such as xy or lon,lat";
    text.peek();
    let start = text.at();
    let first = text.name(WANTED)?;
    let mut letters = first.chars();
    let letters = (letters.next(), letters.next(), letters.next());
    // `x,y` has a second name after the comma, `xy,z=0:1` a range.
    let mut axes = None;
    let mut ranges = Vec::new();
    while text.eat(',') {
        let name = text.name("an axis")?;
        if text.eat('=') {
            let (low, high) = text.range()?;
            ranges.push((name, low, high));
        } else if axes.is_none() && ranges.is_empty() {
            axes = Some([first.clone(), name]);
        } else {
            return Err(text.expected("a range such as z=0:10"));
        }
    }
    let axes = match (axes, letters) {
        (Some(axes), _) => axes,
        (None, (Some(a), Some(b), None)) => [a.to_string(), b.to_string()],
        _ => return Err(text.expected_at(start, WANTED)),
    };
    if axes[0] == axes[1] {
        return Err(text.expected_at(start, "two different axes"));
    }
    Ok(Plane { axes, ranges })
}

struct Parser<'t, 'f> {
    text: TextCursor<'t>,
    shapes: usize,
    file: OfFile<'f>,
    /// Whether the parts are relations of objects, and not regions.
    of_objects: bool,
}

impl Parser<'_, '_> {
    fn any(&mut self, left: usize) -> Result<Shape, SyntaxError> {
        self.joined(left, "or", Self::all, Shape::Any)
    }

    fn all(&mut self, left: usize) -> Result<Shape, SyntaxError> {
        self.joined(left, "and", Self::one, Shape::All)
    }

    fn joined(
        &mut self,
        left: usize,
        word: &str,
        part: fn(&mut Self, usize) -> Result<Shape, SyntaxError>,
        join: fn(Vec<Shape>) -> Shape,
    ) -> Result<Shape, SyntaxError> {
        let first = part(self, left)?;
        if !self.text.eat_word(word) {
            return Ok(first);
        }
        let mut parts = vec![first, part(self, left)?];
        while self.text.eat_word(word) {
            parts.push(part(self, left)?);
        }
        Ok(join(parts))
    }

    fn one(&mut self, left: usize) -> Result<Shape, SyntaxError> {
        let at = self.text.at();
        let Some(left) = left.checked_sub(1) else {
            let what = "nested too deeply".to_owned();
            return Err(SyntaxError { at, what });
        };
        if self.text.eat_word("not") {
            return Ok(Shape::Not(Box::new(self.one(left)?)));
        }
        if self.text.eat('(') {
            let inner = self.any(left)?;
            self.text.expect(')')?;
            return Ok(inner);
        }
        self.shapes += 1;
        if self.shapes > MOST_SHAPES {
            let what = format!("found more than {MOST_SHAPES} shapes");
            return Err(SyntaxError { at, what });
        }
        match self.of_objects {
            true => self.relation(left),
            false => self.shape(),
        }
    }

    /// Takes the relation of objects to a region; the default is touching.
    fn relation(&mut self, left: usize) -> Result<Shape, SyntaxError> {
        let mut all = ObjectRelation::ALL.into_iter();
        let Some(relation) = all.find(|relation| self.text.eat_word(relation.name())) else {
            let touched = self.shape()?;
            return Ok(Shape::Objects(ObjectRelation::Touching, Box::new(touched)));
        };
        self.text.expect('(')?;
        self.of_objects = false;
        let place = self.any(left)?;
        self.of_objects = true;
        self.text.expect(')')?;
        Ok(Shape::Objects(relation, Box::new(place)))
    }

    fn shape(&mut self) -> Result<Shape, SyntaxError> {
        self.text.peek();
        let start = self.text.at();
        let name = self.text.word().to_ascii_lowercase();
        let shape = match name.as_str() {
            "sphere" => {
                self.text.expect('(')?;
                let sphere = sphere(&mut self.text)?;
                self.text.expect(')')?;
                sphere
            }
            "near" => {
                self.text.expect('(')?;
                let near = near(&mut self.text)?;
                self.text.expect(')')?;
                near
            }
            "box" => Shape::Box(wkt::list(&mut self.text, &mut range)?),
            "polygon" => {
                self.text.expect('(')?;
                if self.text.eat('@') {
                    let region = self.file_of("polygon")?;
                    self.prism(region.shape)?
                } else {
                    let polygons = Arc::new(wkt::polygons(&mut self.text)?);
                    self.prism(Shape::Polygon {
                        polygons,
                        plane: None,
                    })?
                }
            }
            "mesh" => {
                self.text.expect('(')?;
                let mesh = match self.text.eat('@') {
                    true => self.file_of("mesh")?.shape,
                    false => mesh(&mut self.text)?,
                };
                self.text.expect(')')?;
                mesh
            }
            "hull" => {
                self.text.expect('(')?;
                let hull = match self.text.eat('@') {
                    true => self.file_of("hull")?.shape,
                    false => hull_of(&mut self.text)?,
                };
                self.text.expect(')')?;
                hull
            }
            "mask" => {
                self.text.expect('(')?;
                let mask = match self.text.eat('@') {
                    true => self.file_of("mask")?.shape,
                    false => mask(&mut self.text)?,
                };
                self.text.expect(')')?;
                mask
            }
            other => {
                let relations = ObjectRelation::ALL.map(ObjectRelation::name);
                let relations = relations.into_iter().filter(|_| self.of_objects);
                let near = nearest(other, SHAPES.into_iter().chain(relations));
                let near =
                    near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
                let relations = match self.of_objects {
                    true => "touching, inside, starting, ending, ",
                    false => "",
                };
                return Err(self.text.expected_at(
                    start,
                    &format!("{relations}{}, `not` or `(`{near}", SHAPES.join(", ")),
                ));
            }
        };
        let checked = shape.checked();
        checked.map_err(|what| SyntaxError {
            at: start,
            what: format!("{name}: {what}"),
        })?;
        Ok(shape)
    }

    /// Takes the name of a file; returns its region.
    fn file_of(&mut self, shape: &str) -> Result<Region, SyntaxError> {
        let at = self.text.at();
        let name = self.text.name("the name of a file")?;
        if self.text.is_before("://") {
            let expected = "a URL between backquotes, such as @`https://host/file`";
            return Err(self.text.expected_at(at, expected));
        }
        let mut labels = Vec::new();
        while shape == "mask" && self.text.eat(',') {
            self.text.peek();
            let at = self.text.at();
            let word = self.text.name("a label")?;
            let found = label_ranges(&word);
            labels.extend(found.ok_or_else(|| self.text.expected_at(at, "a label"))?);
        }
        let file = RegionFile {
            shape,
            name: &name,
            labels: &labels,
        };
        (self.file)(&file).map_err(|what| SyntaxError { at, what })
    }

    /// Takes the plane after polygons, and the closing parenthesis.
    fn prism(&mut self, polygons: Shape) -> Result<Shape, SyntaxError> {
        let mut region = Region { shape: polygons };
        if self.text.eat(',') {
            region = region.in_plane(&plane(&mut self.text)?);
        }
        self.text.expect(')')?;
        Ok(region.shape)
    }
}

/// Takes the coordinates of a centre, then the radius.
pub(super) fn sphere(text: &mut TextCursor<'_>) -> Result<Shape, SyntaxError> {
    let mut radius = text.coordinate()?;
    let mut center = Vec::new();
    while text.eat(',') {
        center.push(std::mem::replace(&mut radius, text.coordinate()?));
    }
    Ok(Shape::Sphere { center, radius })
}

/// Takes `AXIS=V,DISTANCE`.
pub(super) fn near(text: &mut TextCursor<'_>) -> Result<Shape, SyntaxError> {
    let axis = text.name("an axis")?;
    text.expect('=')?;
    let value = text.coordinate()?;
    text.expect(',')?;
    let distance = text.coordinate()?;
    Ok(Shape::Near {
        axis,
        value,
        distance,
    })
}

/// Takes ranges of axes, such as `x=0:10,y=5:`.
pub(super) fn ranges(text: &mut TextCursor<'_>) -> Result<Vec<AxisRange>, SyntaxError> {
    let mut found = vec![range(text)?];
    while text.eat(',') {
        found.push(range(text)?);
    }
    Ok(found)
}

/// Takes points.
fn points(text: &mut TextCursor<'_>) -> Result<Vec<[f64; 3]>, SyntaxError> {
    let mut points = Vec::new();
    loop {
        points.push([text.coordinate()?, text.coordinate()?, text.coordinate()?]);
        if !text.eat(',') {
            return Ok(points);
        }
    }
}

/// Takes the points of a convex hull.
fn hull_of(text: &mut TextCursor<'_>) -> Result<Shape, SyntaxError> {
    text.peek();
    let start = text.at();
    let mesh = hull::hull(&points(text)?).map_err(|what| SyntaxError {
        at: start,
        what: format!("hull: {what}"),
    })?;
    Ok(Shape::Mesh(Arc::new(mesh)))
}

/// Takes the axes of a mask, its extents, the rows of its affine, and its runs.
fn mask(text: &mut TextCursor<'_>) -> Result<Shape, SyntaxError> {
    const AXES: usize = 3;
    text.peek();
    let start = text.at();
    let wrong = |what: String| SyntaxError {
        at: start,
        what: format!("mask: {what}"),
    };
    let (mut axes, mut shape, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    while !text.eat(';') {
        if axes.len() == AXES {
            return Err(text.expected("`;` after three axes"));
        }
        axes.push(text.name("an axis, or `;`")?);
    }
    while !text.eat(';') {
        if shape.len() == axes.len() {
            return Err(text.expected("`;` after one extent for each axis"));
        }
        shape.push(text.count("an extent, or `;`")?);
    }
    let rank = axes.len();
    for row in 0..rank {
        for _ in 0..=rank {
            rows.push(text.coordinate()?);
        }
        text.expect(if row + 1 == rank { ';' } else { ',' })?;
    }
    let map = Affine::from_rows(&rows, rank).map_err(|error| wrong(error.what))?;
    let (mut runs, mut end) = (Vec::new(), 0_u64);
    loop {
        let at = text.at();
        if runs.len() == MOST_RUNS {
            return Err(text.expected(&format!("at most {MOST_RUNS} runs")));
        }
        let (gap, length) = (text.count("a distance")?, text.count("a length")?);
        let first = end.checked_add(gap);
        let ends = first.and_then(|first| Some((first, first.checked_add(length)?)));
        let Some((first, last)) = ends else {
            return Err(text.expected_at(at, "a run inside of the volume"));
        };
        runs.push((first, length));
        end = last;
        if !text.eat(',') {
            break;
        }
    }
    let mask = Mask::new(axes, shape, &map, &runs).map_err(wrong)?;
    Ok(Shape::Mask(Arc::new(mask)))
}

/// Takes the vertices of a mesh, then its triangles.
fn mesh(text: &mut TextCursor<'_>) -> Result<Shape, SyntaxError> {
    text.peek();
    let start = text.at();
    let (vertices, mut triangles) = (points(text)?, Vec::new());
    text.expect(';')?;
    loop {
        triangles.push([text.whole()?, text.whole()?, text.whole()?]);
        if !text.eat(',') {
            break;
        }
    }
    let mesh = Mesh::new(&vertices, &triangles);
    let mesh = mesh.map_err(|what| SyntaxError {
        at: start,
        what: format!("mesh: {what}"),
    })?;
    Ok(Shape::Mesh(Arc::new(mesh)))
}

fn range(text: &mut TextCursor<'_>) -> Result<AxisRange, SyntaxError> {
    let axis = text.name("an axis")?;
    text.expect('=')?;
    let (low, high) = text.range()?;
    Ok((axis, low, high))
}

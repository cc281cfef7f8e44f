//! From the text of a region to its tree.

use std::sync::Arc;

use super::cursor::TextCursor;
use super::mesh::Mesh;
use super::{AxisRange, Plane, Region, Shape, wkt};
use crate::error::nearest;
use crate::filter::Wrong;

/// Deepest nesting. Beyond it a text is refused, so that no input exhausts the stack.
const DEPTH: usize = 100;

/// Most shapes of a region.
const MOST_SHAPES: usize = 4096;

/// Longest text.
const MOST_BYTES: usize = 1 << 26;

const SHAPES: [&str; 5] = ["sphere", "near", "box", "polygon", "mesh"];

/// Reads a file that the text names.
type OfFile<'f> = &'f mut dyn FnMut(&str, &str) -> Result<Region, String>;

/// Parses a whole text.
///
/// # Errors
///
/// The first byte that does not fit.
pub(super) fn parse(text: &str, file: OfFile<'_>) -> Result<Shape, Wrong> {
    if text.len() > MOST_BYTES {
        let what = format!("found {} bytes, expected at most {MOST_BYTES}", text.len());
        return Err(Wrong { at: 0, what });
    }
    let mut parser = Parser {
        text: TextCursor::new(text),
        shapes: 0,
        file,
    };
    let shape = parser.any(DEPTH)?;
    match parser.text.peek() {
        None => Ok(shape),
        Some(_) => Err(parser.text.expected("`and`, `or` or the end")),
    }
}

/// Takes a plane: two names of axes, of one letter each if they are one word, then ranges of others.
pub(super) fn plane(text: &mut TextCursor<'_>) -> Result<Plane, Wrong> {
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
}

impl Parser<'_, '_> {
    fn any(&mut self, left: usize) -> Result<Shape, Wrong> {
        self.joined(left, "or", Self::all, Shape::Any)
    }

    fn all(&mut self, left: usize) -> Result<Shape, Wrong> {
        self.joined(left, "and", Self::one, Shape::All)
    }

    fn joined(
        &mut self,
        left: usize,
        word: &str,
        part: fn(&mut Self, usize) -> Result<Shape, Wrong>,
        join: fn(Vec<Shape>) -> Shape,
    ) -> Result<Shape, Wrong> {
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

    fn one(&mut self, left: usize) -> Result<Shape, Wrong> {
        let at = self.text.at();
        let Some(left) = left.checked_sub(1) else {
            let what = "nested too deeply".to_owned();
            return Err(Wrong { at, what });
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
            return Err(Wrong { at, what });
        }
        self.shape()
    }

    fn shape(&mut self) -> Result<Shape, Wrong> {
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
            other => {
                let near = nearest(other, SHAPES.into_iter());
                let near =
                    near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
                return Err(self.text.expected_at(
                    start,
                    &format!("sphere, near, box, polygon, mesh, `not` or `(`{near}"),
                ));
            }
        };
        let checked = shape.checked();
        checked.map_err(|what| Wrong {
            at: start,
            what: format!("{name}: {what}"),
        })?;
        Ok(shape)
    }

    /// The region of a file, whose name is next.
    fn file_of(&mut self, shape: &str) -> Result<Region, Wrong> {
        let at = self.text.at();
        let name = self.text.name("the name of a file")?;
        (self.file)(shape, &name).map_err(|what| Wrong { at, what })
    }

    /// Takes the plane after polygons, and the end.
    fn prism(&mut self, polygons: Shape) -> Result<Shape, Wrong> {
        let mut region = Region { shape: polygons };
        if self.text.eat(',') {
            region = region.in_plane(&plane(&mut self.text)?);
        }
        self.text.expect(')')?;
        Ok(region.shape)
    }
}

/// Takes the coordinates of a centre, then the radius.
pub(super) fn sphere(text: &mut TextCursor<'_>) -> Result<Shape, Wrong> {
    let mut radius = text.coordinate()?;
    let mut center = Vec::new();
    while text.eat(',') {
        center.push(std::mem::replace(&mut radius, text.coordinate()?));
    }
    Ok(Shape::Sphere { center, radius })
}

/// Takes `AXIS=V,DISTANCE`.
pub(super) fn near(text: &mut TextCursor<'_>) -> Result<Shape, Wrong> {
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

/// Takes ranges of axes, `x=0:10,y=5:`, as of a box.
pub(super) fn ranges(text: &mut TextCursor<'_>) -> Result<Vec<AxisRange>, Wrong> {
    let mut found = vec![range(text)?];
    while text.eat(',') {
        found.push(range(text)?);
    }
    Ok(found)
}

/// Takes the vertices of a mesh, then its triangles.
fn mesh(text: &mut TextCursor<'_>) -> Result<Shape, Wrong> {
    text.peek();
    let start = text.at();
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    loop {
        vertices.push([text.coordinate()?, text.coordinate()?, text.coordinate()?]);
        if !text.eat(',') {
            break;
        }
    }
    text.expect(';')?;
    loop {
        triangles.push([text.whole()?, text.whole()?, text.whole()?]);
        if !text.eat(',') {
            break;
        }
    }
    let mesh = Mesh::new(&vertices, &triangles);
    let mesh = mesh.map_err(|what| Wrong {
        at: start,
        what: format!("mesh: {what}"),
    })?;
    Ok(Shape::Mesh(Arc::new(mesh)))
}

fn range(text: &mut TextCursor<'_>) -> Result<AxisRange, Wrong> {
    let axis = text.name("an axis")?;
    text.expect('=')?;
    let (low, high) = text.range()?;
    Ok((axis, low, high))
}

//! Conditions on whole objects by their relations to several regions.

use std::fmt;

use super::{ObjectRelation, OfFile, Plane, Region, Shape, misuse, no_file, parse};
use crate::QueryError;

/// A condition on whole objects by their relations to several regions; different vertices may be in different regions.
///
/// # Text
///
/// `touching(REGION)`, `inside(REGION)`, `starting(REGION)` and `ending(REGION)`, combined by `and`, `or` and `not`, with parentheses. A shape without
/// a relation means touching: `sphere(1,2,3,4) and not box(x=0:1)` selects objects with a vertex in the sphere and none in the box;
/// `touching(sphere(1,2,3,4) and not box(x=0:1))` selects objects with a vertex that is in the sphere and not in the box. Parsing the output of
/// `Display` gives the same condition.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// use zvf_query::{ObjectPlaces, ObjectRelation, Region};
/// let places = ObjectPlaces::parse("sphere(1,2,3,4) and not ending(box(x=0:1))")?;
/// assert_eq!(places.to_string(), "touching(sphere(1,2,3,4)) and not ending(box(x=0:1))");
/// let sphere = ObjectPlaces::of(ObjectRelation::Touching, Region::parse("sphere(1,2,3,4)")?);
/// let ending = ObjectPlaces::of(ObjectRelation::Ending, Region::parse("box(x=0:1)")?);
/// assert_eq!(places, sphere.and(!ending));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectPlaces {
    shape: Shape,
}

impl ObjectPlaces {
    /// The objects with a relation to a region.
    #[must_use]
    pub fn of(relation: ObjectRelation, region: Region) -> Self {
        let shape = Shape::Objects(relation, Box::new(region.shape));
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

    /// Parses the text form, in which shapes may name files, as in [`Region::parse_with`].
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse); errors of the file.
    pub fn parse_with(text: &str, file: OfFile<'_>) -> Result<Self, QueryError> {
        let shape = parse::parse(text, file, true);
        let shape = shape.map_err(|wrong| misuse("passing", text, wrong))?;
        Ok(Self { shape })
    }

    /// The objects that satisfy both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let [one, other] = [self, other].map(|places| Region {
            shape: places.shape,
        });
        let shape = one.and(other).shape;
        Self { shape }
    }

    /// The objects that satisfy one or both conditions.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let [one, other] = [self, other].map(|places| Region {
            shape: places.shape,
        });
        let shape = one.or(other).shape;
        Self { shape }
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

    /// The relations to single regions, from left to right.
    pub(crate) fn relations(&self) -> Vec<(ObjectRelation, Region)> {
        fn each(shape: &Shape, found: &mut Vec<(ObjectRelation, Region)>) {
            match shape {
                Shape::All(parts) | Shape::Any(parts) => {
                    parts.iter().for_each(|part| each(part, found));
                }
                Shape::Not(part) => each(part, found),
                Shape::Objects(relation, place) => {
                    let shape = place.as_ref().clone();
                    found.push((*relation, Region { shape }));
                }
                _ => {}
            }
        }
        let mut found = Vec::new();
        each(&self.shape, &mut found);
        found
    }

    /// Whether an object satisfies the condition; `holds` returns whether one of the [`relations`](Self::relations) is true, by number.
    pub(crate) fn holds(&self, holds: &dyn Fn(usize) -> bool) -> bool {
        fn of(shape: &Shape, next: &mut usize, holds: &dyn Fn(usize) -> bool) -> bool {
            match shape {
                // No short-circuit, because all parts are numbered.
                Shape::All(parts) => {
                    (parts.iter()).fold(true, |all, part| all & of(part, next, holds))
                }
                Shape::Any(parts) => {
                    (parts.iter()).fold(false, |any, part| any | of(part, next, holds))
                }
                Shape::Not(part) => !of(part, next, holds),
                _ => {
                    *next += 1;
                    holds(*next - 1)
                }
            }
        }
        of(&self.shape, &mut 0, holds)
    }
}

impl std::ops::Not for ObjectPlaces {
    type Output = Self;

    /// All objects that do not satisfy the condition.
    fn not(self) -> Self {
        let shape = Shape::Not(Box::new(self.shape));
        Self { shape }
    }
}

impl std::str::FromStr for ObjectPlaces {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        Self::parse(text)
    }
}

impl fmt::Display for ObjectPlaces {
    /// Writes the form that [`parse`](ObjectPlaces::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)
    }
}

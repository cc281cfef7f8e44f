//! The members that select rows and objects by position, besides the box.

use serde_json::Value;

use super::QuerySpec;
use super::member::{shown, texts, truth, wrong};
use crate::region::Plane;
use crate::{ObjectPlaces, ObjectRelation, QueryError, Region, Select};

/// The shapes with members of their own; serialized JSON has them in `region`.
pub(super) const SHAPES: [&str; 3] = ["sphere", "near", "polygon"];

impl QuerySpec {
    /// Sets one of these members from its text form; `false` for other members.
    pub(super) fn set_place(&mut self, member: &str, text: &str) -> Result<bool, QueryError> {
        match member {
            "region" => self.intersect(Region::of_member(member, text)?),
            shape if SHAPES.contains(&shape) => self.intersect(Region::of_member(shape, text)?),
            "plane" => self.plane = Some(Plane::parse(text)?),
            "passing" => self.pass(ObjectPlaces::parse(text)?),
            other => {
                let mut all = ObjectRelation::ALL.into_iter();
                let Some(relation) = all.find(|relation| relation.name() == other) else {
                    return Ok(false);
                };
                self.relate(relation, truth(member, text)?)?;
            }
        }
        Ok(true)
    }

    /// Sets one of these members from a JSON value other than a string; `false` for other members.
    pub(super) fn set_place_json(
        &mut self,
        member: &str,
        value: &Value,
    ) -> Result<bool, QueryError> {
        match (member, value) {
            ("sphere", Value::Array(items)) => {
                let number = |(at, item): (usize, &Value)| {
                    let number = item.as_f64();
                    number.ok_or_else(|| wrong(&format!("sphere[{at}]"), &shown(item), "a number"))
                };
                let numbers = items.iter().enumerate().map(number);
                let numbers = numbers.collect::<Result<Vec<f64>, _>>()?;
                let Some((radius, center)) = numbers.split_last() else {
                    return Err(wrong(member, "[]", "the centre, then the radius"));
                };
                self.intersect(Region::sphere(center, *radius)?);
            }
            ("polygon", Value::Object(_)) => self.intersect(Region::geojson(value)?),
            ("passing", Value::Array(_)) => {
                for text in texts(member, value)? {
                    self.set(member, text)?;
                }
            }
            ("passing", other) => {
                return Err(wrong(member, &shown(other), "a text or a list of texts"));
            }
            ("region" | "near" | "plane", other) => {
                return Err(wrong(member, &shown(other), "a text"));
            }
            ("sphere", other) => {
                return Err(wrong(member, &shown(other), "the centre, then the radius"));
            }
            ("polygon", other) => {
                let expected = "GeoJSON, or the text POLYGON ((..))";
                return Err(wrong(member, &shown(other), expected));
            }
            (other, Value::Bool(truth)) => {
                return self.set_place(other, if *truth { "true" } else { "false" });
            }
            (other, value) => {
                if ObjectRelation::ALL.iter().any(|one| one.name() == other) {
                    return Err(wrong(member, &shown(value), "true or false"));
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Intersects the region with another one.
    pub fn intersect(&mut self, region: Region) {
        self.region = Some(match self.region.take() {
            Some(before) => before.and(region),
            None => region,
        });
    }

    /// Adds a condition on objects by their relations to regions.
    pub fn pass(&mut self, places: ObjectPlaces) {
        self.passing = Some(match self.passing.take() {
            Some(before) => before.and(places),
            None => places,
        });
    }

    fn relate(&mut self, relation: ObjectRelation, wanted: bool) -> Result<(), QueryError> {
        match self.relation {
            Some(before) if before != relation && wanted => {
                let found = format!("{} as well", before.name());
                let expected = "one of touching, inside, starting and ending";
                return Err(wrong(relation.name(), &found, expected));
            }
            Some(before) if before == relation && !wanted => self.relation = None,
            _ if wanted => self.relation = Some(relation),
            _ => {}
        }
        Ok(())
    }

    /// The region, with the plane of its polygons.
    pub(super) fn placed_region(&self) -> Option<Region> {
        let region = self.region.clone();
        match &self.plane {
            Some(plane) => region.map(|region| region.in_plane(plane)),
            None => region,
        }
    }

    /// The condition on objects, with the plane of its polygons.
    pub(super) fn placed_passing(&self) -> Option<ObjectPlaces> {
        let passing = self.passing.clone();
        match &self.plane {
            Some(plane) => passing.map(|passing| passing.in_plane(plane)),
            None => passing,
        }
    }

    /// Whether a polygon needs the plane.
    fn needs_plane(&self) -> bool {
        self.region.as_ref().is_some_and(Region::has_open_plane)
            || (self.passing.as_ref()).is_some_and(ObjectPlaces::has_open_plane)
    }

    /// Removes the plane and the relation if no polygon, box or region of the description needs them.
    ///
    /// For a description to which each of several parts adds its own region.
    #[must_use]
    pub fn without_unneeded(mut self) -> Self {
        if !self.needs_plane() {
            self.plane = None;
        }
        if self.region.is_none() && self.bbox.is_none() {
            self.relation = None;
        }
        self
    }

    /// Checks that these members are compatible.
    pub(super) fn check_place(&self) -> Result<(), QueryError> {
        if self.plane.is_some() && !self.needs_plane() {
            let found = "a plane, but no polygon that needs one";
            return Err(wrong(
                "plane",
                found,
                "a polygon that states no axes itself",
            ));
        }
        if self.passing.is_some() && self.select == Select::Chunks {
            let found = "select chunks as well";
            let expected = "select vertices or objects";
            return Err(wrong("passing", found, expected));
        }
        let Some(relation) = self.relation else {
            return Ok(());
        };
        if self.region.is_none() && self.bbox.is_none() {
            let found = "neither a box nor a region";
            let expected = "bbox, sphere, near, polygon or region as well";
            return Err(wrong(relation.name(), found, expected));
        }
        if self.select == Select::Chunks {
            let found = "select chunks as well";
            return Err(wrong(
                relation.name(),
                found,
                "select objects, or no select: the answer has whole objects",
            ));
        }
        Ok(())
    }
}

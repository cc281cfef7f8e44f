//! The order of lines in their view, and their spatial levels.

use std::sync::Arc;

use arrow_schema::Schema;

use super::objects::ObjectSegments;
use super::points::PointsPlan;
use super::scrambled;
use crate::columns::{Properties, ShownAttributes};
use crate::error::{Result, ViewError};
use crate::precomputed::{AnnotationKind, AnnotationList};

/// Bytes of the first level, and of the largest levels.
const FIRST: u64 = 256 << 10;
const LARGEST: u64 = 3 << 20;

/// Largest number of objects of one level.
const MOST_OBJECTS: usize = 50_000;

/// Number of vertices above which a viewer draws a sample.
const MANY: u64 = 200_000;

/// The plan of the view of lines.
#[derive(Debug)]
pub(crate) struct LinesPlan {
    pub(crate) geometry: AnnotationKind,
    pub(crate) attributes: ShownAttributes,
    pub(crate) properties: Properties,
    /// Numbers of the objects of each level.
    pub(crate) levels: Vec<Vec<u32>>,
    /// Pixels between lines in the viewer's state, for stores with more than [`MANY`] vertices.
    pub(crate) spacing: Option<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl LinesPlan {
    /// Orders the objects.
    ///
    /// # Errors
    /// Not found for a store without an object index.
    pub(crate) fn read(objects: &ObjectSegments, points: &PointsPlan) -> Result<Self> {
        let (lower, upper) = points.corners();
        let dims = lower.len();
        if !objects.exist {
            return Err(ViewError::not_found(
                "the store has no object index, from which the ends of its lines follow",
            ));
        }
        let schema = match objects.batches.first() {
            Some(batch) => batch.schema(),
            None => Arc::new(Schema::empty()),
        };
        let skip = ["object_id", "vertices", "chunks", "fragments"];
        let attributes = ShownAttributes::of(&schema, objects.batches.first(), &skip);
        let properties = Properties::of(&attributes.shown);
        // Objects with fewer than two vertices are left out.
        let mut order: Vec<u32> = (0..objects.len())
            .filter(|number| objects.vertices(*number) > 1)
            .collect();
        let pairs = order.iter().all(|number| objects.vertices(*number) == 2);
        order.sort_by_key(|number| scrambled(u64::from(*number)));
        let row = (4 * dims) as u64;
        let fixed = 12 + properties.row_bytes() as u64;
        let bytes = |number: &u32| {
            let vertices = objects.vertices(*number);
            vertices.saturating_mul(row).saturating_add(fixed)
        };
        let vertices: u64 = order.iter().map(|number| objects.vertices(*number)).sum();
        // By default a viewer requests as many annotations as the picture has pixels, regardless of the length of a line. With this spacing there
        // is about one vertex for sixteen pixels.
        let spacing =
            (vertices > MANY).then(|| 4.0 * (vertices as f64 / order.len() as f64).sqrt());
        let mut levels = vec![Vec::new()];
        let (mut room, mut most) = (FIRST, FIRST);
        for number in order {
            let needed = bytes(&number);
            if let Some(level) = levels.last()
                && !level.is_empty()
                && (needed > room || level.len() >= MOST_OBJECTS)
            {
                most = most.saturating_mul(2).min(LARGEST);
                room = most;
                levels.push(Vec::new());
            }
            room = room.saturating_sub(needed);
            if let Some(level) = levels.last_mut() {
                level.push(number);
            }
        }
        let geometry = match pairs {
            true => AnnotationKind::Line,
            false => AnnotationKind::Polyline,
        };
        Ok(Self {
            geometry,
            attributes,
            properties,
            levels,
            spacing,
            lower: lower.to_vec(),
            upper: upper.to_vec(),
        })
    }

    /// An empty list of annotations.
    pub(crate) fn list(&self) -> AnnotationList {
        AnnotationList::new(self.geometry, self.lower.len(), self.properties.types())
    }
}

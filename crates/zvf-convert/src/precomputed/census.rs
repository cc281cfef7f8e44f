//! The first pass over a folder: bounds, counts, and facts about relationships.

use std::collections::HashSet;

use zvf_write::Kind;

use super::annotation::Annotations;
use super::collect::{BatchLayout, CollectedObject, Relation};
use super::content::{FolderContent, object_id};
use super::record::ObjectBytes;
use super::segments::SegmentTable;
use super::skeleton;
use crate::error::{ConvertError, InFile, shown};
use crate::options::{FileLimits, Options};
use crate::shape::VertexExtent;

/// Most segments of one annotation and relationship.
const MOST_RELATED: usize = 64;

/// The result of the first pass.
#[derive(Debug)]
pub(super) struct FolderCensus {
    pub(super) extent: VertexExtent,
    /// Objects of the new store; for points, the segments of their first relationship.
    pub(super) objects: u64,
    pub(super) links: u64,
    /// Skeletons with cycles.
    pub(super) ringed: u64,
    /// Objects without vertices and properties.
    left_out: u64,
    /// Segments that have properties.
    described: usize,
    relations: Vec<Related>,
}

/// Facts about one relationship.
#[derive(Debug, Clone)]
struct Related {
    /// The largest number of segments of an annotation.
    most: usize,
    /// Whether every annotation has exactly one segment, below 2^63.
    one_each: bool,
    /// Whether this segment always has the id of the annotation.
    own: bool,
}

impl Related {
    /// Counts the segments of one annotation; returns the segment if there is only one.
    fn add(&mut self, key: u64, segments: &[u64]) -> Option<u64> {
        let one = match segments {
            [one] if i64::try_from(*one).is_ok() => Some(*one),
            _ => None,
        };
        self.most = self.most.max(segments.len());
        self.one_each &= one.is_some();
        self.own &= one == Some(key);
        one
    }
}

impl FolderCensus {
    /// Reads all objects of the folder once.
    ///
    /// # Cost
    /// The memory of one object, and of the ids of the objects of points.
    ///
    /// # Errors
    /// As [`FolderContent::visit`]; malformed: ids beyond int64; a limit: too many vertices.
    pub(super) fn of(
        content: &FolderContent,
        plan: &BatchLayout,
        limits: &FileLimits,
    ) -> Result<Self, ConvertError> {
        let known = Related {
            most: 0,
            one_each: true,
            own: true,
        };
        let mut census = Self {
            extent: VertexExtent::new(plan.dims),
            objects: 0,
            links: 0,
            ringed: 0,
            left_out: 0,
            described: 0,
            relations: vec![known; content.relationships().len()],
        };
        let mut owners = HashSet::new();
        content.visit(limits, &mut |shape, record| {
            census.positions(&shape, record, plan.dims, limits)?;
            for (number, known) in census.relations.iter_mut().enumerate() {
                let one = known.add(
                    shape.key,
                    shape.related.get(number).map_or(&[], Vec::as_slice),
                );
                owners.extend(one.filter(|_| number == 0));
            }
            if content.is_points() {
                return Ok(());
            }
            object_id(&shape, record)?;
            match plan.keeps(&shape) {
                true => census.objects = census.objects.saturating_add(1),
                false => census.left_out = census.left_out.saturating_add(1),
            }
            census.described = census
                .described
                .saturating_add(usize::from(plan.describes(shape.key)));
            census.links(&shape, content);
            Ok(())
        })?;
        if content.is_points() {
            census.objects = owners.len() as u64;
        }
        Ok(census)
    }

    fn positions(
        &mut self,
        shape: &CollectedObject,
        record: &ObjectBytes,
        dims: usize,
        limits: &FileLimits,
    ) -> Result<(), ConvertError> {
        for position in shape.positions.chunks(dims.max(1)) {
            self.extent.add(position);
        }
        match self.extent.count() > limits.vertices {
            true => Err(ConvertError::limit(
                &record.path,
                InFile::Whole,
                "vertices",
                limits.vertices,
            )),
            false => Ok(()),
        }
    }

    fn links(&mut self, shape: &CollectedObject, content: &FolderContent) {
        let skeletons = matches!(content, FolderContent::Skeletons { .. });
        let width = if skeletons { 2 } else { 3 };
        self.links = self
            .links
            .saturating_add((shape.links.len() / width) as u64);
        if skeletons && skeleton::rooted(shape.positions.len() / 3, &shape.links).is_none() {
            self.ringed = self.ringed.saturating_add(1);
        }
    }

    /// Notes on data of the folder that the store will not contain.
    pub(super) fn notes(&self, plan: &BatchLayout) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!(
                "{} objects have neither vertices nor properties and are left out",
                self.left_out
            ));
        }
        let rows = plan.segments.as_ref().map_or(0, SegmentTable::len);
        let unused = rows.saturating_sub(self.described);
        if unused > 0 {
            notes.push(format!(
                "properties of {unused} segments without an object are not kept"
            ));
        }
        notes
    }
}

/// Decides how relationships of annotations are stored.
pub(super) fn relations(
    annotations: &Annotations,
    census: &FolderCensus,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<Relation>, ConvertError> {
    let points = annotations.kind == Kind::PointCloud;
    let wanted = options.object_column.as_deref();
    if let Some(wanted) = wanted {
        let of_first = annotations
            .relationships
            .iter()
            .zip(&census.relations)
            .next();
        let fits = of_first.is_some_and(|(name, known)| name == wanted && known.one_each);
        if !points || !fits {
            let expected = "the first relationship of points, with one segment each";
            return Err(ConvertError::usage(
                "object column",
                shown(wanted),
                expected,
            ));
        }
    }
    let mut found: Vec<Relation> = Vec::new();
    for (number, (name, known)) in annotations
        .relationships
        .iter()
        .zip(&census.relations)
        .enumerate()
    {
        let is_object = number == 0 && wanted.unwrap_or("object") == name;
        if known.most == 0 {
            notes.push(format!("relationship {} has no segments", shown(name)));
            found.push(Relation::Dropped);
        } else if points && is_object && known.one_each {
            notes.push(format!(
                "objects are those of the relationship {}",
                shown(name)
            ));
            found.push(Relation::Object);
        } else if !points && known.own {
            notes.push(format!(
                "relationship {} is not kept: it names the annotations themselves",
                shown(name)
            ));
            found.push(Relation::Dropped);
        } else if known.most > MOST_RELATED {
            let found = format!(
                "an annotation with {} segments of {}",
                known.most,
                shown(name)
            );
            let expected = format!("at most {MOST_RELATED}");
            return Err(ConvertError::usage("relationships", found, expected));
        } else {
            found.push(Relation::Attribute(annotations.free_name(name), known.most));
        }
    }
    Ok(found)
}

//! Objects as skeletons: their vertices, the links between them, the vertex attributes.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use serde_json::json;
use zvf_query::{Column, Outputs, Query, Table, query};

use super::content::{ViewContent, check_size};
use crate::columns::{ShownAttributes, positions, single};
use crate::error::{Result, ViewError};
use crate::plan::number;
use crate::plan::objects::WHOLE;
use crate::precomputed::{PropertyValues, SkeletonAttribute, skeleton, skeleton_info};
use crate::units::nanometres;
use crate::viewed_store::ViewedStore;

/// The document `info`.
///
/// # Errors
/// The errors of the store; Not found for stores without two or three axes of space.
pub(crate) async fn info(opened: &ViewedStore) -> Result<ViewContent> {
    check_space(opened)?;
    let attributes = opened.attributes().await?;
    let described: Vec<SkeletonAttribute> = attributes
        .shown
        .iter()
        .map(crate::columns::ShownAttribute::skeleton_attribute)
        .collect();
    let mut document = skeleton_info(&transform(opened), &described, Some("properties"));
    let mut left_out = opened.other_axes();
    left_out.extend(attributes.left_out.iter().cloned());
    document["zvf"] = attributes.remarks(false);
    document["zvf"]["left_out"] = json!(left_out);
    Ok(ViewContent::Document(document))
}

/// The map from positions of the store to nanometres, three rows of four.
pub(crate) fn transform(opened: &ViewedStore) -> [f64; 12] {
    let [x, y, z] = nanometres(opened.space());
    [x, 0.0, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, 0.0, z, 0.0]
}

/// Refuses stores that cannot be shown in three dimensions.
///
/// # Errors
/// Not found for stores without two or three axes of space.
pub(crate) fn check_space(opened: &ViewedStore) -> Result<()> {
    match opened.space.len() {
        2 | 3 => Ok(()),
        dims => Err(ViewError::not_found(format!(
            "skeletons and meshes have 2 or 3 axes of space, the store has {dims}"
        ))),
    }
}

/// The skeleton of one segment.
///
/// # Errors
/// Not found for an id that no object has; Limit for a skeleton that is too large; the errors of the query.
pub(crate) async fn one(opened: &ViewedStore, budget: u64, id: &str) -> Result<ViewContent> {
    let (bytes, _) = encoded(opened, budget, number(id)?).await?;
    Ok(bytes.into())
}

/// The bytes of the skeleton of one segment, and its number of links.
///
/// # Errors
/// As [`one`].
pub(crate) async fn encoded(
    opened: &ViewedStore,
    budget: u64,
    segment: u64,
) -> Result<(Vec<u8>, u64)> {
    check_space(opened)?;
    let attributes = opened.attributes().await?;
    let columns = vec![Column::Position, Column::Attributes];
    let shape = SegmentSkeleton::read(opened, budget, (segment, 0), columns, &attributes).await?;
    let mut edges = Vec::with_capacity(shape.links.len() / 2);
    if shape.width == 2 {
        for link in shape.links.chunks_exact(2) {
            if let [a, b] = link {
                edges.push([*a, *b]);
            }
        }
    }
    let links = shape.link_count();
    let mut values = Vec::with_capacity(shape.values.len());
    for (attribute, bytes) in attributes.shown.iter().zip(shape.values) {
        values.push(PropertyValues::new(attribute.row_bytes(), bytes)?);
    }
    let positions = shape.positions.iter().map(|point| single(point));
    let positions: Vec<f32> = positions.flatten().collect();
    Ok((skeleton(&positions, &edges, &values)?, links))
}

/// One segment in memory.
#[derive(Debug, Default)]
pub(crate) struct SegmentSkeleton {
    /// Positions along the axes of space, in the units of the store; 0 on the third axis if there are two.
    pub(crate) positions: Vec<[f64; 3]>,
    /// Ends of links, row-major.
    pub(crate) links: Vec<u32>,
    /// Number of ends of a link.
    pub(crate) width: usize,
    /// Bytes of each attribute.
    pub(crate) values: Vec<Vec<u8>>,
    /// Chunk of each vertex, if requested.
    pub(crate) chunks: Vec<Vec<i64>>,
}

impl SegmentSkeleton {
    /// Reads a segment of a level: an object, or everything in a store without objects. The result is empty for a level above 0 without the
    /// object.
    ///
    /// # Cost
    /// Holds the whole segment.
    ///
    /// # Errors
    /// Not found; Limit; the errors of the query.
    pub(crate) async fn read(
        opened: &ViewedStore,
        budget: u64,
        (segment, level): (u64, u32),
        columns: Vec<Column>,
        attributes: &ShownAttributes,
    ) -> Result<Self> {
        let objects = opened.objects().await?;
        let wanted = match objects.exist {
            true => Some(vec![objects.find(segment)?]),
            false if segment == WHOLE => None,
            false => return Err(ViewError::not_found("no objects: the only segment is 1")),
        };
        let with_chunks = columns.contains(&Column::Chunk);
        let one = Query {
            level,
            objects: wanted,
            ignore_missing: level > 0,
            columns,
            outputs: Outputs {
                vertices: true,
                links: true,
                objects: false,
            },
            memory_budget: budget,
            ..Query::default()
        };
        let dims = opened.dims();
        let mut found = Self {
            values: vec![Vec::new(); attributes.shown.len()],
            ..Self::default()
        };
        let mut answer = query(&opened.store, one).await?;
        while let Some((table, batch)) = answer.next().await? {
            match table {
                Table::Vertices => {
                    for point in positions(&batch, dims)?.chunks(dims) {
                        let axis = |axis: usize| {
                            let at = opened.space.get(axis);
                            at.and_then(|at| point.get(*at)).copied().unwrap_or(0.0)
                        };
                        found.positions.push([axis(0), axis(1), axis(2)]);
                    }
                    for (attribute, bytes) in attributes.shown.iter().zip(&mut found.values) {
                        attribute.append(&batch, bytes)?;
                    }
                    if with_chunks {
                        found.chunks.extend(super::points::chunks(&batch)?);
                    }
                }
                Table::Links => found.link(&batch)?,
                Table::Objects => {}
            }
            let values: usize = found.values.iter().map(Vec::len).sum();
            let bytes = found.positions.len().saturating_mul(12);
            let links = found.links.len().saturating_mul(4);
            check_size(bytes.saturating_add(links).saturating_add(values))?;
        }
        Ok(found)
    }

    /// Number of links, or of faces before they are divided into triangles.
    pub(crate) fn link_count(&self) -> u64 {
        (self.links.len() / self.width.max(1)) as u64
    }

    /// Triangles between rows. Faces of more than three corners are divided into fans of triangles.
    pub(crate) fn triangles(&self) -> Vec<[u32; 3]> {
        let mut found = Vec::with_capacity(self.links.len() / 3);
        for face in self.links.chunks(self.width.max(1)) {
            let [first, rest @ ..] = face else { continue };
            for pair in rest.windows(2) {
                if let [b, c] = pair {
                    found.push([*first, *b, *c]);
                }
            }
        }
        found
    }

    fn link(&mut self, batch: &RecordBatch) -> Result<()> {
        let wrong = || ViewError::malformed("the link table has no ends");
        let list = batch.column_by_name("vertices");
        let list = list.and_then(|column| column.as_fixed_size_list_opt());
        let list = list.ok_or_else(wrong)?;
        let width = usize::try_from(list.value_length()).map_err(|_| wrong())?;
        let from = list.offset().saturating_mul(width);
        let ends = list.values().slice(from, list.len().saturating_mul(width));
        let ends = ends.as_primitive_opt::<UInt64Type>().ok_or_else(wrong)?;
        self.width = width;
        for end in ends.values() {
            self.links.push(u32::try_from(*end).map_err(|_| wrong())?);
        }
        Ok(())
    }
}

//! Objects as legacy meshes: a face is in the fragment of the chunk of its first corner.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use zvf_query::Column;

use super::content::ViewContent;
use super::skeletons::{SegmentSkeleton, check_space};
use crate::columns::{ShownAttributes, single};
use crate::error::{Result, ViewError};
use crate::plan::number;
use crate::precomputed::{mesh_fragment, mesh_info, mesh_manifest};
use crate::units::nanometres;
use crate::viewed_store::ViewedStore;

/// The document `info`.
///
/// # Errors
/// Not found: a store without 2 or 3 axes of space.
pub(crate) fn info(opened: &ViewedStore) -> Result<Value> {
    check_space(opened)?;
    Ok(left_out(mesh_info(Some("properties")), opened))
}

/// Adds the names of the axes that are not shown to a document.
pub(crate) fn left_out(mut document: Value, opened: &ViewedStore) -> Value {
    let axes = opened.other_axes();
    if !axes.is_empty() {
        document["zvf"] = json!({"left_out": axes});
    }
    document
}

/// A manifest, `ID:0`, or a fragment, `ID:0:CHUNK`.
///
/// # Errors
/// Not found: no such object or fragment; a store without 2 or 3 axes of space. Limit: a mesh that is too large. Malformed: a face with a corner that
/// is not a vertex. The errors of the query.
pub(crate) async fn file(opened: &Arc<ViewedStore>, budget: u64, key: &str) -> Result<ViewContent> {
    check_space(opened)?;
    let mut parts = key.split(':');
    let (id, lod, chunk) = (parts.next(), parts.next(), parts.next());
    let (Some(id), Some("0"), None) = (id, lod, parts.next()) else {
        return Err(ViewError::not_found("no such file of a mesh"));
    };
    let segment = number(id)?;
    if let Some(bytes) = chunk.and_then(|_| opened.rendered(key)) {
        return Ok(ViewContent::File(bytes));
    }
    let mut fragments = fragments(opened, budget, segment).await?;
    let found = match chunk {
        Some(_) => {
            let found = fragments.remove(key);
            ViewContent::File(found.ok_or_else(|| ViewError::not_found("no such fragment"))?)
        }
        None => {
            let names: Vec<String> = fragments.keys().cloned().collect();
            ViewContent::Document(mesh_manifest(&names))
        }
    };
    for (name, bytes) in fragments {
        opened.keep(name, bytes);
    }
    Ok(found)
}

/// The vertices and triangles of one fragment.
#[derive(Debug, Default)]
struct MeshPiece {
    /// Rows of the mesh, and their numbers in the fragment.
    numbers: BTreeMap<u32, u32>,
    rows: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

impl MeshPiece {
    fn vertex(&mut self, row: u32) -> Result<u32> {
        let next = u32::try_from(self.rows.len())
            .map_err(|_| ViewError::too_large("more vertices than a fragment can have"))?;
        let number = *self.numbers.entry(row).or_insert(next);
        if number == next {
            self.rows.push(row);
        }
        Ok(number)
    }
}

/// All fragments of a segment by name, in nanometres. Faces of more than three corners are split into fans of triangles.
async fn fragments(
    opened: &ViewedStore,
    budget: u64,
    segment: u64,
) -> Result<BTreeMap<String, Bytes>> {
    let columns = vec![Column::Position, Column::Chunk];
    let shape = SegmentSkeleton::read(
        opened,
        budget,
        (segment, 0),
        columns,
        &ShownAttributes::default(),
    )
    .await?;
    let mut pieces: BTreeMap<&[i64], MeshPiece> = BTreeMap::new();
    let lost = || ViewError::malformed("a face with a corner that is not a vertex");
    for [a, b, c] in shape.triangles() {
        let row = usize::try_from(a).map_err(|_| lost())?;
        let chunk = shape.chunks.get(row).ok_or_else(lost)?;
        let piece = pieces.entry(chunk.as_slice()).or_default();
        let triangle = [piece.vertex(a)?, piece.vertex(b)?, piece.vertex(c)?];
        piece.triangles.push(triangle);
    }
    let scales = nanometres(opened.space());
    let mut found = BTreeMap::new();
    for (chunk, piece) in pieces {
        let mut positions = Vec::with_capacity(piece.rows.len().saturating_mul(3));
        for row in &piece.rows {
            let row = usize::try_from(*row).map_err(|_| lost())?;
            let point = shape.positions.get(row).ok_or_else(lost)?;
            positions.extend(point.iter().zip(&scales).map(|(p, scale)| p * scale));
        }
        let chunk: Vec<String> = chunk.iter().map(i64::to_string).collect();
        let name = format!("{segment}:0:{}", chunk.join("."));
        let bytes = mesh_fragment(&single(&positions), &piece.triangles)?;
        found.insert(name, Bytes::from(bytes));
    }
    Ok(found)
}

//! Skeletons: vertices, edges and attributes of one segment.

use serde_json::{Value, json};

use super::{EncodeError, PropertyType, PropertyValues, count, put_floats};

/// An attribute of the vertices of skeletons.
#[derive(Debug, Clone, PartialEq)]
pub struct SkeletonAttribute {
    /// Identifier; `radius` is the radius in the unit of the positions.
    pub id: String,
    /// Type of one component; not a colour.
    pub kind: PropertyType,
    /// Number of components for each vertex.
    pub components: usize,
}

impl SkeletonAttribute {
    /// Bytes of one vertex.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.kind.size().saturating_mul(self.components)
    }
}

/// The document `info` of skeletons. `transform` is an affine map from stored positions to nanometres, three rows of four.
#[must_use]
pub fn skeleton_info(
    transform: &[f64; 12],
    attributes: &[SkeletonAttribute],
    segment_properties: Option<&str>,
) -> Value {
    let attributes = attributes.iter().map(|one| {
        json!({
            "id": one.id,
            "data_type": one.kind.name(),
            "num_components": one.components,
        })
    });
    let mut info = json!({
        "@type": "neuroglancer_skeletons",
        "transform": transform,
        "vertex_attributes": attributes.collect::<Vec<_>>(),
    });
    if let Some(folder) = segment_properties {
        info["segment_properties"] = json!(folder);
    }
    info
}

/// The file of one skeleton.
///
/// # Shape
/// `u32` vertices, `u32` edges, three `f32` for each vertex, two `u32` for each edge, then the values of each attribute.
///
/// # Errors
/// Positions that are not triples; an edge to a vertex that does not exist; an attribute with another number of rows.
pub fn skeleton(
    positions: &[f32],
    edges: &[[u32; 2]],
    attributes: &[PropertyValues],
) -> Result<Vec<u8>, EncodeError> {
    let vertices = positions.len() / 3;
    EncodeError::check("coordinates", positions.len(), vertices.saturating_mul(3))?;
    let vertex_count = count("vertices", vertices)?;
    let edge_count = count("edges", edges.len())?;
    let mut out = Vec::new();
    out.extend_from_slice(&vertex_count.to_le_bytes());
    out.extend_from_slice(&edge_count.to_le_bytes());
    put_floats(&mut out, positions);
    for edge in edges {
        for end in edge {
            if *end >= vertex_count {
                return Err(EncodeError {
                    what: "vertices of an edge",
                    found: vertices,
                    expected: usize::try_from(*end)
                        .unwrap_or(usize::MAX)
                        .saturating_add(1),
                });
            }
            out.extend_from_slice(&end.to_le_bytes());
        }
    }
    for values in attributes {
        EncodeError::check("rows of an attribute", values.len(), vertices)?;
        out.extend_from_slice(values.bytes());
    }
    Ok(out)
}

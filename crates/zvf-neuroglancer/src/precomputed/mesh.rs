//! Meshes in the legacy format: a manifest and fragments, in nanometres.

use serde_json::{Value, json};

use super::{EncodeError, count, put_floats};

/// The document `info` of meshes.
#[must_use]
pub fn mesh_info(segment_properties: Option<&str>) -> Value {
    let mut info = json!({"@type": "neuroglancer_legacy_mesh"});
    if let Some(folder) = segment_properties {
        info["segment_properties"] = json!(folder);
    }
    info
}

/// The manifest of one segment: the file `ID:0`.
#[must_use]
pub fn mesh_manifest(fragments: &[String]) -> Value {
    json!({"fragments": fragments})
}

/// The file of one fragment. Positions are nanometres.
///
/// # Shape
/// `u32` vertices, three `f32` for each vertex, three `u32` for each triangle.
///
/// # Errors
/// Positions that are not triples; more than 2^32 - 1 vertices; a triangle with a vertex that does not exist.
pub fn mesh_fragment(positions: &[f32], triangles: &[[u32; 3]]) -> Result<Vec<u8>, EncodeError> {
    let vertices = positions.len() / 3;
    EncodeError::check("coordinates", positions.len(), vertices.saturating_mul(3))?;
    let vertex_count = count("vertices", vertices)?;
    let mut out = Vec::new();
    out.extend_from_slice(&vertex_count.to_le_bytes());
    put_floats(&mut out, positions);
    for corner in triangles.iter().flatten() {
        if *corner >= vertex_count {
            return Err(EncodeError {
                what: "vertices of a triangle",
                found: vertices,
                expected: usize::try_from(*corner)
                    .unwrap_or(usize::MAX)
                    .saturating_add(1),
            });
        }
        out.extend_from_slice(&corner.to_le_bytes());
    }
    Ok(out)
}

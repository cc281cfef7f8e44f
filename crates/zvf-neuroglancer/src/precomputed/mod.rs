//! Encoders of Neuroglancer's precomputed formats: annotations, skeletons, meshes, segment properties.
//!
//! No I/O: the input is slices of values, the output bytes and JSON. All numbers are little-endian.
//!
//! | document or file | function |
//! |---|---|
//! | annotations of one spatial cell or one related object | [`AnnotationList`] |
//! | one annotation by its id | [`AnnotationList::single`] |
//! | `info` of annotations | [`annotation_info`] |
//! | one skeleton, `info` of skeletons | [`skeleton`], [`skeleton_info`] |
//! | one fragment of a mesh, its manifest, `info` of meshes | [`mesh_fragment`], [`mesh_manifest`], [`mesh_info`] |
//! | levels of detail of a mesh, encoded with Draco, and their `info` | [`multilod_mesh`], [`multilod_info`] |
//! | one fragment of a level of detail | [`encode_draco`] |
//! | names, tags and numbers of segments | [`SegmentProperties`] |
//!
//! Source: `src/datasource/precomputed/{annotations,skeletons,meshes,segment_properties}.md` of google/neuroglancer, release 2.41.2.

mod annotation;
mod draco;
mod mesh;
mod multilod;
mod property;
mod segments;
mod skeleton;

pub use annotation::{
    AnnotationInfo, AnnotationKind, AnnotationList, Dimension, SpatialLevel, annotation_info,
};
pub use draco::{DRACO_BITS, DracoError, encode_draco};
pub use mesh::{mesh_fragment, mesh_info, mesh_manifest};
pub use multilod::{Detail, MultiLodError, MultiLodMesh, multilod_info, multilod_mesh};
pub use property::{Property, PropertyType, PropertyValues};
pub use segments::{NumericProperty, SegmentProperties};
pub use skeleton::{SkeletonAttribute, skeleton, skeleton_info};

/// Values cannot be encoded, because the caller's counts are inconsistent. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}: found {found}, expected {expected}")]
pub struct EncodeError {
    /// The counted items.
    pub what: &'static str,
    /// The found number.
    pub found: usize,
    /// The expected number.
    pub expected: usize,
}

impl EncodeError {
    fn check(what: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        match found == expected {
            true => Ok(()),
            false => Err(Self {
                what,
                found,
                expected,
            }),
        }
    }
}

/// A count as 32 bits.
fn count(what: &'static str, found: usize) -> Result<u32, EncodeError> {
    u32::try_from(found).map_err(|_| EncodeError {
        what,
        found,
        expected: 0xFFFF_FFFF,
    })
}

fn put_floats(out: &mut Vec<u8>, values: &[f32]) {
    out.reserve(values.len().saturating_mul(4));
    for value in values {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests;

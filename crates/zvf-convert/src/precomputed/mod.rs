//! Folders of Neuroglancer's precomputed formats: skeletons, meshes, and annotations.
//!
//! | document | becomes |
//! |---|---|
//! | `neuroglancer_skeletons` | skeletons, or graphs where edges make rings |
//! | `neuroglancer_legacy_mesh` | meshes; fragments share the vertices at the same place |
//! | `neuroglancer_multilod_draco` | meshes of the finest level |
//! | `neuroglancer_annotations_v1` | points, lines or polylines |
//!
//! Source: `src/datasource/precomputed/*.md` of google/neuroglancer, release 2.41.2.

mod annotation;
mod axes;
mod census;
mod collect;
mod content;
mod info;
mod mesh;
pub(crate) mod read;
mod record;
mod segments;
mod skeleton;
mod source;

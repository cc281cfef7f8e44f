//! The JSON documents of the Zarr Vectors Format: typed, checked, and preserved completely.
//!
//! A store is a Zarr v3 hierarchy, and every node has a document `zarr.json`: [`RootDoc`] for the root, [`LevelDoc`] for a level, [`ArrayDoc`] for an
//! array. This crate parses the bytes of a document into such a struct and writes it back. It does no I/O.
//!
//! | document | type |
//! |---|---|
//! | `zarr.json` of the root | [`RootDoc`]: version, bounds, chunk shape, axes, level transforms |
//! | `<level>/zarr.json` | [`LevelDoc`] |
//! | any array | [`ArrayDoc`], with [`ArrayAttributes`] and the presence list as a [`KeyList`] |
//! | `<level>/object_index` | [`ObjectIndexDoc`] |
//! | `<level>/links/<delta>` | [`LinkFamilyDoc`] |
//! | `<level>/link_attributes/<name>/<delta>` | [`LinkAttributeFamilyDoc`] |
//! | any other group | [`GroupDoc`] |
//!
//! [`node_kind`] distinguishes groups from arrays, and [`Role::of`] derives the role of an array from its path.
//!
//! # Reading a root
//!
//! ```
//! use zvf_meta::{Kind, LevelDoc, RootDoc};
//!
//! let root = RootDoc::parse(
//!     br#"{"zarr_format": 3, "node_type": "group", "attributes": {
//!         "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": [10, 10], "bounds": [[-15, -10], [19.9, 7]],
//!             "geometry_types": ["point_cloud"], "from_the_future": true},
//!         "multiscales": [{"axes": [{"name": "x", "type": "space", "unit": "micrometer"},
//!                                   {"name": "y", "type": "space", "unit": "micrometer"}],
//!             "datasets": [{"path": "1", "coordinateTransformations": [
//!                 {"type": "scale", "scale": [2, 2]}, {"type": "translation", "translation": [10, 10]}]}]}]}}"#,
//! )?;
//! assert!(root.admit()?.is_none()); // a version this crate knows, no required capability that it lacks
//! assert_eq!(root.kind()?, Kind::PointCloud);
//! assert_eq!(root.axes()[0].unit.as_deref(), Some("micrometer"));
//!
//! let level = LevelDoc { level: 1, ..LevelDoc::default() };
//! assert_eq!(root.chunk_shape(&level), [10.0, 10.0]);
//! assert_eq!(root.bin_shape(&level), Some(vec![20.0, 20.0])); // twice the translation
//! let grid = root.declared_grid(&level)?;
//! assert_eq!((grid.origin, grid.shape), (vec![-2, -1], vec![4, 2]));
//!
//! assert!(root.to_json().contains("from_the_future")); // unknown members survive
//! # Ok::<(), zvf_meta::MetaError>(())
//! ```
//!
//! # Rules for every type
//!
//! - **Unknown members survive.** Each struct keeps the members that have no field, in document order, and writes them after the known members. Known
//!   members are written in the order of the reference, so a document of the reference is written back byte for byte, in both of its forms (indented,
//!   and the one-line form of families).
//! - **Null is absent**, and a number may be written as an integer or as a float, as in real stores. If a member
//!   occurs twice, the last one counts.
//! - **Nothing is guessed.** A member of another type is a [`MetaError`] with its JSON pointer, the found and the
//!   expected value. Names from closed sets ([`Kind`], [`LinksConvention`], ..., but not [`LinkStore`]) stay strings in the
//!   struct, so that a document with an unknown name can be shown; the method that needs the name checks it.
//! - **Reading does not validate.** A document that parses may still break rules of the format. [`rules`] has one function
//!   for each, and [`rules::check_documents`] applies them all.
//! - **Hostile documents are errors.** No input panics; memory is proportional to the input, whose size the
//!   caller limits; the JSON reader limits nesting.
//!
//! # Versions
//!
//! Formats 0.6.0 to 0.9.4 are read, later versions with a warning; older ones are refused with an error that names the version: see
//! [`version::gate`] and [`RootDoc::admit`]. A store may also list capabilities that its readers must have: see [`capabilities`].
//!
//! Sources are given as page and section of the format notes: "0.9 §5.1".

mod affine;
mod array;
mod attributes;
mod axes;
pub mod capabilities;
mod codec;
mod document;
mod error;
mod family;
mod image;
mod indented;
mod json;
mod key_encoding;
mod keylist;
mod level;
mod meaning;
mod metric;
pub mod moments;
mod multiscales;
mod names;
mod node;
mod ome;
mod role;
mod root;
pub mod rules;
mod shown;
pub mod space;
mod text;
pub mod units;
pub mod version;

pub use affine::{Affine, AffineError, VOXEL_SLACK, element_at};
pub use array::{ArrayDoc, DataType};
pub use attributes::{ABSENT_TEXTS, ArrayAttributes, GroupRange, odd_value};
pub use axes::{AxesDiffer, axes_of_space, map_of_axes, radius_factor, unit_of_space};
pub use codec::{Codec, Sharding};
pub use error::MetaError;
pub use family::{LinkAttributeFamilyDoc, LinkFamilyDoc, ObjectIndexDoc, group_discriminator};
pub use image::{HeaderError, ImageElement, ImageHeader, MghHeader, NiftiHeader, StatedAffine};
pub use json::JsonObject;
pub use key_encoding::{KeyEncoding, KeyScheme};
pub use keylist::{KeyIter, KeyList, KeyListFull};
pub use level::{LevelDoc, Refinement};
pub use meaning::meaning;
pub use metric::Metric;
pub use multiscales::{Axis, Dataset, LevelTransform, Multiscale, Multiscales, Transform};
pub use names::{
    CrossChunkStrategy, CrossLevelStorage, Kind, LinkStore, LinksConvention, ObjectIndexConvention,
    ObjectLayout,
};
pub use node::{GroupDoc, NodeKind, OddMember, node_kind, odd_member};
pub use ome::{Ome, OmeNode};
pub use role::{Role, is_known_family};
pub use root::{FILL, RootDoc, STALE, ZarrVectors};
pub use shown::shown;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

//! One resolution level, as far as the caller's [`Need`](crate::Need) loaded it.

use std::sync::Arc;

use serde_json::Value;
use zvf_format::dtype::DType;
use zvf_meta::LevelDoc;

use crate::coord::product;
use crate::{GridArray, Groups, LinkFamily, ObjectIndex, StoreError, TypedArray};
use zvf_format::int::wide;

/// The documents and arrays of a level.
#[derive(Debug)]
pub(crate) struct LevelInner {
    pub(crate) number: u32,
    pub(crate) doc: LevelDoc,
    pub(crate) dims: usize,
    pub(crate) key_rank: usize,
    pub(crate) chunk_shape: Vec<f64>,
    pub(crate) bin_shape: Option<Vec<f64>>,
    pub(crate) vertices: Arc<GridArray>,
    pub(crate) vertex_fragments: Option<Arc<GridArray>>,
    pub(crate) vertex_attributes: Vec<VertexAttribute>,
    pub(crate) fragment_attributes: Vec<VertexAttribute>,
    pub(crate) object_index: Option<Arc<ObjectIndex>>,
    pub(crate) object_attributes: Vec<TypedArray>,
    pub(crate) groups: Option<Arc<Groups>>,
    pub(crate) group_attributes: Vec<TypedArray>,
    pub(crate) links: Vec<LinkFamily>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) next_round: u32,
}

/// A node of a level that is left out. The rest of the level is read correctly without it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Path of the node inside the store, such as `0/cross_chunk_links/0`.
    pub path: String,
    /// How many levels the links span; `None` for an attribute or a table.
    pub delta: Option<i32>,
    /// Why it is not read.
    pub why: String,
    /// Whether the node is damaged. Otherwise it is of a kind that is not supported, or access is denied.
    pub damaged: bool,
}

impl Refused {
    /// The error if a level without this node is to be changed or copied.
    pub(crate) fn error(&self) -> Result<(), StoreError> {
        Err(StoreError::malformed(
            self.path.clone(),
            format!(
                "{}; a level can be changed or copied only if all of it is read: restore or remove {}",
                self.why, self.path
            ),
        ))
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

/// One attribute of vertices or fragments.
///
/// # Shape
/// Cells of as many rows as the chunk has vertices (or fragments). The width of a row follows from the bytes; the declared width is only a check
/// (trap T8).
#[derive(Debug, Clone)]
pub struct VertexAttribute {
    /// Name.
    pub name: String,
    /// The chunk-grid array.
    pub array: Arc<GridArray>,
    /// Type of the elements; of the codes, if the attribute is categorical.
    pub dtype: DType,
    /// Elements of a row: from the shape of a padded array or from a probed cell, else `row_shape`, else the number of channel names; `None` if there
    /// is none of these. An empty `row_shape` counts as absent, because some writers add it to every array.
    pub declared_width: Option<u64>,
    /// The values of the codes.
    pub categories: Option<Arc<Vec<Value>>>,
    /// The code that means "no value".
    pub fill_code: Option<i64>,
    /// Unit of the values.
    pub unit: Option<String>,
    /// A description of the attribute.
    pub description: Option<String>,
    /// Names of the columns.
    pub channel_names: Option<Vec<String>>,
}

impl VertexAttribute {
    pub(crate) fn new(name: String, array: Arc<GridArray>) -> Self {
        let attributes = array.attributes();
        let declared_width = match &attributes.row_shape {
            _ if array.row_width().is_some() => array.row_width(),
            Some(shape) if !shape.is_empty() => product(shape),
            _ => attributes
                .channel_names
                .as_ref()
                .map(|names| wide(names.len())),
        };
        Self {
            dtype: array.dtype(),
            declared_width,
            categories: attributes.categories.clone().map(Arc::new),
            fill_code: attributes.fill_code,
            unit: attributes.unit.clone(),
            description: attributes.description.clone(),
            channel_names: attributes.channel_names.clone(),
            name,
            array,
        }
    }
}

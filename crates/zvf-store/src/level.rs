//! One resolution level, as the caller's [`Need`](crate::Need) loaded it.

use std::sync::Arc;

use serde_json::Value;
use zvf_format::dtype::DType;
use zvf_meta::LevelDoc;

use crate::{GridArray, Groups, LinkFamily, ObjectIndex, Store, StoreError, TypedArray};

/// One resolution level. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Level {
    pub(crate) store: Store,
    pub(crate) inner: Arc<LevelInner>,
}

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

impl Level {
    /// Number of the level; 0 is full resolution.
    pub fn number(&self) -> u32 {
        self.inner.number
    }

    /// The level's document.
    pub fn doc(&self) -> &LevelDoc {
        &self.inner.doc
    }

    /// D, the number of spatial axes: columns of `vertices`.
    pub fn dims(&self) -> usize {
        self.inner.dims
    }

    /// K, components of a chunk coordinate: D, or D + 1 on levels chunked by an attribute.
    pub fn key_rank(&self) -> usize {
        self.inner.key_rank
    }

    /// World size of a chunk on each of the D axes: the level's own, else the root's.
    pub fn chunk_shape(&self) -> &[f64] {
        &self.inner.chunk_shape
    }

    /// World size of a bin on each of the D axes, where the store says: `base_bin_shape` on level 0, the double
    /// translation above.
    pub fn bin_shape(&self) -> Option<&[f64]> {
        self.inner.bin_shape.as_deref()
    }

    /// Positions: cells of N rows of D elements.
    pub fn vertices(&self) -> &Arc<GridArray> {
        &self.inner.vertices
    }

    /// Fragment indexes.
    pub fn vertex_fragments(&self) -> Option<&Arc<GridArray>> {
        self.inner.vertex_fragments.as_ref()
    }

    /// The vertex attributes that were asked for and exist, by name.
    pub fn vertex_attributes(&self) -> &[VertexAttribute] {
        &self.inner.vertex_attributes
    }

    /// The fragment attributes that were asked for and exist, by name.
    pub fn fragment_attributes(&self) -> &[VertexAttribute] {
        &self.inner.fragment_attributes
    }

    /// The object index, when it was asked for and exists.
    pub fn object_index(&self) -> Option<&Arc<ObjectIndex>> {
        self.inner.object_index.as_ref()
    }

    /// The object attributes that were asked for and exist, by name. Row i belongs to row i of the object index.
    pub fn object_attributes(&self) -> &[TypedArray] {
        &self.inner.object_attributes
    }

    /// The groups, when they were asked for and exist.
    pub fn groups(&self) -> Option<&Groups> {
        self.inner.groups.as_deref()
    }

    /// The group attributes that were asked for and exist, by name.
    pub fn group_attributes(&self) -> &[TypedArray] {
        &self.inner.group_attributes
    }

    /// The link family of a delta, when it was asked for and exists.
    pub fn links(&self, delta: i32) -> Option<&LinkFamily> {
        self.inner.links.iter().find(|family| family.delta == delta)
    }

    /// All link families that were asked for and exist, by delta.
    pub fn link_families(&self) -> &[LinkFamily] {
        &self.inner.links
    }

    /// What the level holds and was left out on reading, of what was asked for: attributes, tables and links.
    pub fn refused(&self) -> &[Refused] {
        &self.inner.refused
    }

    /// Refuses a level of which something was left out on reading: a program that changes or copies the level would
    /// separate what it does not see from the vertices, objects and links that it belongs to.
    ///
    /// # Errors
    /// Malformed, with the path of the first node that was left out and the reason.
    pub fn check_complete(&self) -> Result<(), StoreError> {
        self.inner.refused.first().map_or(Ok(()), Refused::error)
    }

    /// Refuses a level of which something damaged was left out on reading. A copy names what is merely not supported in its report,
    /// and leaves the source as it is.
    ///
    /// # Errors
    /// As [`Level::check_complete`].
    pub fn check_undamaged(&self) -> Result<(), StoreError> {
        let damaged = self.inner.refused.iter().find(|one| one.damaged);
        damaged.map_or(Ok(()), Refused::error)
    }

    /// The round of requests that follows those which loaded this level: what a caller passes to its first
    /// [`Store::fetch_map`].
    pub fn next_round(&self) -> u32 {
        self.inner.next_round
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// A node that a level holds and that was left out on reading: what remains of the level is right without it.
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
    /// Why a level without this node is not changed or copied.
    fn error(&self) -> Result<(), StoreError> {
        Err(StoreError::malformed(
            self.path.clone(),
            format!(
                "{}; a level can be changed or copied only where all of it is read: restore or remove {}",
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
/// Cells of as many rows as the chunk has vertices (or fragments); the width of a row follows from the bytes, what
/// is declared is only a check (trap T8).
#[derive(Debug, Clone)]
pub struct VertexAttribute {
    /// Name.
    pub name: String,
    /// The chunk-grid array.
    pub array: Arc<GridArray>,
    /// Type of the elements; of the codes, where the attribute is categorical.
    pub dtype: DType,
    /// Declared elements of a row: `row_shape`, else the number of channels. `None` when nothing is declared, and
    /// for the empty `row_shape` that some writers stamp on everything.
    pub declared_width: Option<u64>,
    /// The values that codes stand for.
    pub categories: Option<Arc<Vec<Value>>>,
    /// The code that stands for "no value".
    pub fill_code: Option<i64>,
    /// Unit of the values.
    pub unit: Option<String>,
    /// What the attribute is.
    pub description: Option<String>,
    /// Names of the columns.
    pub channel_names: Option<Vec<String>>,
}

impl VertexAttribute {
    pub(crate) fn new(name: String, array: Arc<GridArray>) -> Self {
        let attributes = array.attributes();
        let declared_width = match &attributes.row_shape {
            _ if array.row_width().is_some() => array.row_width(),
            Some(shape) if !shape.is_empty() => {
                shape.iter().try_fold(1u64, |n, c| n.checked_mul(*c))
            }
            _ => attributes
                .channel_names
                .as_ref()
                .and_then(|names| u64::try_from(names.len()).ok()),
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

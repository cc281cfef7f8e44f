//! A level as `info` describes it.

use serde::Serialize;
use zvf_store::meta::{ArrayAttributes, ArrayDoc, Codec, Refinement};
use zvf_store::{GridArray, Level, LinkFamily, TypedArray};

/// The contents of a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelInfo {
    /// Its number.
    pub level: u32,
    /// Its vertices.
    pub vertices: u64,
    /// Whether the vertices were counted. If not, the number is the one in the document of the level.
    pub vertices_counted: bool,
    /// Chunks with vertices.
    pub chunks: u64,
    /// Objects that exist.
    pub objects: Option<u64>,
    /// Stored bytes; `None` without the option `sizes`, or if the backend cannot list.
    pub bytes: Option<u64>,
    /// Stored files; `None` as for `bytes`.
    pub files: Option<u64>,
    /// Extents of a chunk.
    pub chunk_shape: Vec<f64>,
    /// Extents of a bin.
    pub bin_shape: Option<Vec<f64>>,
    /// The finer level that it was made of.
    pub parent_level: Option<u32>,
    /// How it was made.
    pub coarsening_method: Option<String>,
    /// The share of the objects that the level kept.
    pub object_sparsity: f64,
    /// `add` if coarser levels complete it, else `replace`.
    pub refinement: &'static str,
    /// For an additive level, the other levels that complete it.
    pub complete_with: Vec<u32>,
    /// Whether each fragment has a group of links.
    pub fragment_link_groups: bool,
    /// Whether the fragments of a chunk are consecutive ranges of rows.
    pub fragments_tile: bool,
    /// Whether several objects may have a fragment.
    pub shared_fragments: bool,
    /// Whether objects have the same ids as on the finer level.
    pub preserves_object_ids: bool,
    /// The attribute that divides the chunks.
    pub chunk_attribute: Option<String>,
    /// The object index.
    pub object_index: Option<ObjectIndexInfo>,
    /// Names of the attributes of vertices.
    pub vertex_attributes: Vec<String>,
    /// Names of the attributes of objects.
    pub object_attributes: Vec<String>,
    /// Names of the groups.
    pub groups: Option<Vec<String>>,
    /// The arrays.
    pub arrays: Vec<ArrayInfo>,
    /// The link families.
    pub links: Vec<LinkInfo>,
    /// Nodes that are not read.
    pub refused: Vec<RefusedInfo>,
    /// The storage of each array; `None` without the option `sizes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<ArraySize>>,
}

/// A node of a level that is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedInfo {
    /// Its path.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The object index of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ObjectIndexInfo {
    /// Rows of the index.
    pub rows: u64,
    /// Rows of objects that are deleted.
    pub deleted: u64,
    /// Objects with fragments, if the document states the number.
    pub present: Option<u64>,
    /// How the index is stored.
    pub layout: String,
    /// Whether ids are ascending.
    pub ids_sorted: Option<bool>,
}

/// An array of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// Its path.
    pub path: String,
    /// How its cells are stored.
    pub container: String,
    /// The type of its elements.
    pub dtype: String,
    /// Elements of a row.
    pub width: Option<u64>,
    /// Its shape.
    pub shape: Vec<u64>,
    /// The chunk of its first cell.
    pub origin: Option<Vec<i64>>,
    /// Chunks with a cell.
    pub chunks: Option<u64>,
    /// Cells of a shard.
    pub shard_shape: Option<Vec<u64>>,
    /// Codecs of its cells; `None` for arrays of blobs, each of which may have its own codecs.
    pub codecs: Option<Vec<String>>,
    /// The unit of its values.
    pub unit: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The number of its categories.
    pub categories: Option<u64>,
}

/// How an array is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArraySize {
    /// Its path.
    pub path: String,
    /// The codecs of its cells as text. `None` for an array of blobs, each of which may have its own codecs.
    pub codec: Option<String>,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Stored bytes divided by decoded bytes; `None` if the decoded size is not known without reading the cells.
    pub ratio: Option<f64>,
}

/// A link family of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkInfo {
    /// Levels between the ends of a link.
    pub delta: i32,
    /// Endpoints of a link.
    pub width: usize,
    /// Whether the order of endpoints has a meaning.
    pub directed: bool,
    /// Which links are stored.
    pub store: String,
    /// Links, if the document states the number.
    pub links: Option<u64>,
    /// Names of the arrays of the family.
    pub segments: Vec<String>,
    /// Names of the attributes.
    pub attributes: Vec<String>,
}

/// The codecs of the cells of an array. In a sharded array these are the codecs inside the shards.
pub(super) fn cell_codecs(doc: &ArrayDoc) -> Vec<Codec> {
    let inner = doc.sharding().ok().flatten();
    inner.map_or_else(|| doc.codecs.clone(), |inner| inner.codecs)
}

/// Names of the codecs of the cells of an array.
fn codecs(doc: &ArrayDoc) -> Option<Vec<String>> {
    let names: Vec<String> = cell_codecs(doc).into_iter().map(|one| one.name).collect();
    (!names.is_empty()).then_some(names)
}

impl ArrayInfo {
    /// Describes an array from its document and its attributes.
    fn new(path: &str, doc: Option<&ArrayDoc>, attributes: &ArrayAttributes) -> Self {
        Self {
            path: path.to_owned(),
            container: "blobs".to_owned(),
            dtype: String::new(),
            width: None,
            shape: doc.map(|doc| doc.shape.clone()).unwrap_or_default(),
            origin: None,
            chunks: None,
            shard_shape: None,
            codecs: doc.and_then(codecs),
            unit: attributes.unit.clone(),
            description: attributes.description.clone(),
            categories: None,
        }
    }

    fn grid(array: &GridArray, width: Option<u64>) -> Self {
        let (doc, attributes) = (array.doc(), array.attributes());
        let sharded = doc.filter(|doc| matches!(doc.sharding(), Ok(Some(_))));
        Self {
            container: match array.grid_doc().is_some() && array.is_sharded() {
                true => format!("sharded {}", array.container()),
                false => array.container().to_string(),
            },
            dtype: match attributes.encoding.as_deref() {
                Some("fragment_index_v1") => "fragment_index_v1".to_owned(),
                _ => array.dtype().to_string(),
            },
            width,
            origin: array.shape().map(|_| array.origin().to_vec()),
            chunks: Some(array.presence().len() as u64),
            shard_shape: sharded.map(|doc| doc.chunk_shape.clone()),
            categories: attributes.categories.as_ref().map(|all| all.len() as u64),
            ..Self::new(array.path(), doc, attributes)
        }
    }

    fn table(array: &TypedArray) -> Self {
        let info = Self::new(array.path(), array.doc(), array.attributes());
        Self {
            container: match array.doc() {
                Some(_) => "table".to_owned(),
                None => info.container,
            },
            dtype: array.dtype().to_string(),
            width: Some(array.width()),
            shape: array.shape(),
            ..info
        }
    }
}

impl LinkInfo {
    fn of(family: &LinkFamily) -> Self {
        let (arrays, attributes) = (family.arrays().iter(), family.attributes().iter());
        Self {
            delta: family.delta(),
            width: family.width(),
            directed: family.directed(),
            store: family.store().to_string(),
            links: family.doc().num_links,
            segments: arrays.map(|array| array.segment().to_owned()).collect(),
            attributes: attributes.map(|attribute| attribute.name.clone()).collect(),
        }
    }
}

/// The arrays of a level, except those that readers of objects and groups use.
fn arrays(level: &Level) -> Vec<ArrayInfo> {
    let vertices = ArrayInfo::grid(level.vertices(), Some(level.dims() as u64));
    let fragments = level.vertex_fragments();
    let fragments = fragments.map(|array| ArrayInfo::grid(array, None));
    let mut arrays: Vec<_> = [vertices].into_iter().chain(fragments).collect();
    let attributes = level.vertex_attributes().iter();
    let attributes = attributes.chain(level.fragment_attributes());
    arrays.extend(attributes.map(|attribute| {
        let width = attribute.declared_width.unwrap_or(1);
        ArrayInfo::grid(&attribute.array, Some(width))
    }));
    let tables = level.object_attributes().iter();
    let tables = tables.chain(level.group_attributes());
    arrays.extend(tables.map(ArrayInfo::table));
    for family in level.link_families() {
        let width = Some(family.width() as u64);
        let links = family.arrays().iter();
        arrays.extend(links.map(|links| ArrayInfo::grid(&links.array, width)));
    }
    arrays
}

impl LevelInfo {
    /// Describes a level from its documents.
    pub(super) fn of(level: &Level) -> Self {
        let doc = level.doc().clone();
        let index = level.object_index().map(|index| ObjectIndexInfo {
            rows: index.len(),
            deleted: index.deleted().len() as u64,
            present: index.doc().num_present,
            layout: match index.layout() {
                Some(layout) => layout.to_string(),
                None => "data and offsets".to_owned(),
            },
            ids_sorted: index.doc().object_ids_sorted,
        });
        let objects = index.as_ref();
        let objects = objects.map(|index| index.rows.saturating_sub(index.deleted));
        let groups = level.groups();
        let groups = groups.map(|groups| (0..groups.len()).map(|g| groups.name(g)).collect());
        let of_vertices = level.vertex_attributes().iter();
        let of_objects = level.object_attributes().iter();
        let refused = level.refused().iter().map(|refused| RefusedInfo {
            path: refused.path.clone(),
            why: refused.why.clone(),
        });
        Self {
            level: level.number(),
            vertices: doc.vertex_count,
            vertices_counted: false,
            chunks: level.vertices().presence().len() as u64,
            objects,
            bytes: None,
            files: None,
            chunk_shape: level.chunk_shape().to_vec(),
            bin_shape: level.bin_shape().map(<[f64]>::to_vec),
            parent_level: doc.parent_level,
            coarsening_method: doc.coarsening_method,
            object_sparsity: doc.object_sparsity,
            refinement: match doc.refinement {
                Refinement::Add => "add",
                _ => "replace",
            },
            complete_with: Vec::new(),
            fragment_link_groups: doc.fragment_link_groups,
            fragments_tile: doc.fragments_tile,
            shared_fragments: doc.shared_fragments,
            preserves_object_ids: doc.preserves_object_ids,
            chunk_attribute: doc.chunk_attribute_name,
            object_index: index,
            vertex_attributes: of_vertices.map(|one| one.name.clone()).collect(),
            object_attributes: of_objects.map(|one| one.name().to_owned()).collect(),
            groups,
            arrays: arrays(level),
            links: level.link_families().iter().map(LinkInfo::of).collect(),
            refused: refused.collect(),
            sizes: None,
        }
    }

    /// Whether coarser levels complete it.
    #[must_use]
    pub fn is_additive(&self) -> bool {
        self.refinement == "add"
    }
}

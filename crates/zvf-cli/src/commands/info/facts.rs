//! The facts that `zvf info` prints; serialized, they are its JSON document.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use zvf_jobs::DoctorJob;
use zvf_meta::{ArrayDoc, JsonObject, Refinement};
use zvf_store::{
    ContainerKind, GridArray, Level, LinkFamily, SideGroups, Store, TypedArray, Usage,
};

use crate::output::table::counted;

/// Everything about a store.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    pub(super) store: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) geometry_types: Vec<String>,
    pub(super) links_convention: String,
    pub(super) axes: Vec<AxisFacts>,
    pub(super) bounds: (Vec<f64>, Vec<f64>),
    pub(super) coordinate_offset: Option<Vec<f64>>,
    pub(super) crs: Option<Value>,
    pub(super) chunk_shape: Vec<f64>,
    pub(super) bin_shape: Option<Vec<f64>>,
    pub(super) capabilities: Vec<String>,
    pub(super) required_capabilities: Vec<String>,
    pub(super) manifest_layout: Option<String>,
    pub(super) attribute_specs: Option<JsonObject>,
    pub(super) levels: Vec<LevelFacts>,
    pub(super) parametric: bool,
    /// Formats of source files with a header; `None` if the backend cannot list.
    pub(super) headers: Option<Vec<String>>,
    pub(super) side: SideGroups,
    pub(super) user_metadata: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) hints: Vec<String>,
    /// The frame of a tractogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frame: Option<Value>,
    /// The affine that an import applied, by the format of its files.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) applied_affine: JsonObject,
    /// Names of parts that were absent when the store was committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) absent_parts: Vec<String>,
    /// Chunks of level 0 that were edited since the coarse levels were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stale_chunks: Option<Vec<String>>,
}

/// An axis.
#[derive(Debug, Serialize)]
pub(crate) struct AxisFacts {
    pub(super) name: String,
    #[serde(rename = "type")]
    kind: String,
    pub(super) unit: Option<String>,
}

/// Everything about a level.
#[derive(Debug, Serialize)]
pub(crate) struct LevelFacts {
    pub(super) level: u32,
    pub(super) vertices: u64,
    pub(super) vertices_counted: bool,
    pub(super) chunks: u64,
    /// Objects that exist.
    pub(super) objects: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) files: Option<u64>,
    pub(super) chunk_shape: Vec<f64>,
    pub(super) bin_shape: Option<Vec<f64>>,
    pub(super) parent_level: Option<u32>,
    pub(super) coarsening_method: Option<String>,
    pub(super) object_sparsity: f64,
    pub(super) refinement: &'static str,
    /// The other levels that complete an additive one.
    pub(super) complete_with: Vec<u32>,
    pub(super) fragment_link_groups: bool,
    pub(super) fragments_tile: bool,
    pub(super) shared_fragments: bool,
    pub(super) preserves_object_ids: bool,
    pub(super) chunk_attribute: Option<String>,
    pub(super) object_index: Option<ObjectFacts>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) arrays: Vec<ArrayFacts>,
    pub(super) links: Vec<LinkFacts>,
    pub(super) refused: Vec<RefusedFacts>,
    /// The storage of each array; `None` without `--sizes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sizes: Option<Vec<ArraySize>>,
}

/// Something of a level that is not read.
#[derive(Debug, Serialize)]
pub(crate) struct RefusedFacts {
    pub(super) path: String,
    pub(super) why: String,
}

/// The object index of a level.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectFacts {
    pub(super) rows: u64,
    /// Rows of objects that are deleted.
    pub(super) deleted: u64,
    pub(super) present: Option<u64>,
    pub(super) layout: String,
    pub(super) ids_sorted: Option<bool>,
}

/// An array of a level.
#[derive(Debug, Serialize)]
pub(crate) struct ArrayFacts {
    pub(super) path: String,
    pub(super) container: &'static str,
    pub(super) dtype: String,
    pub(super) width: Option<u64>,
    pub(super) shape: Vec<u64>,
    pub(super) origin: Option<Vec<i64>>,
    pub(super) chunks: Option<u64>,
    pub(super) shard_shape: Option<Vec<u64>>,
    /// `None`: blobs of one array may have codecs of their own each.
    pub(super) codecs: Option<Vec<String>>,
    pub(super) unit: Option<String>,
    pub(super) description: Option<String>,
    pub(super) categories: Option<u64>,
}

/// How an array is stored.
#[derive(Debug, Serialize)]
pub(crate) struct ArraySize {
    pub(super) path: String,
    /// `None`: an array of blobs, each with codecs of its own.
    pub(super) codec: Option<String>,
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Stored bytes of one byte of numbers, where their count is known without the cells.
    pub(super) ratio: Option<f64>,
}

/// A link family of a level.
#[derive(Debug, Serialize)]
pub(crate) struct LinkFacts {
    pub(super) delta: i32,
    pub(super) width: usize,
    pub(super) directed: bool,
    pub(super) store: String,
    pub(super) links: Option<u64>,
    pub(super) segments: Vec<String>,
    pub(super) attributes: Vec<String>,
}

/// In which form the cells of an array are stored.
fn container(array: &GridArray) -> &'static str {
    match array.container() {
        ContainerKind::Grid if array.is_sharded() => "sharded grid",
        ContainerKind::Grid => "grid",
        ContainerKind::Blobs => "blobs",
        ContainerKind::Padded => "padded",
        ContainerKind::Packed => "packed",
        ContainerKind::Records => "records",
        _ => "other",
    }
}

/// Names of the codecs that compress the cells of an array. In a sharded array these are the codecs inside the shards.
fn codecs(doc: &ArrayDoc) -> Option<Vec<String>> {
    let inner = doc.sharding().ok().flatten();
    let codecs = inner.as_ref().map_or(&doc.codecs, |inner| &inner.codecs);
    let names: Vec<String> = codecs.iter().map(|codec| codec.name.clone()).collect();
    (!names.is_empty()).then_some(names)
}

impl ArrayFacts {
    fn grid(array: &GridArray, width: Option<u64>) -> Self {
        let doc = array.doc();
        let attributes = array.attributes();
        Self {
            path: array.path().to_owned(),
            container: container(array),
            dtype: match attributes.encoding.as_deref() {
                Some("fragment_index_v1") => "fragment_index_v1".to_owned(),
                _ => array.dtype().to_string(),
            },
            width,
            shape: doc.map(|doc| doc.shape.clone()).unwrap_or_default(),
            origin: array.shape().map(|_| array.origin().to_vec()),
            chunks: Some(array.presence().len() as u64),
            shard_shape: doc
                .filter(|doc| matches!(doc.sharding(), Ok(Some(_))))
                .map(|doc| doc.chunk_shape.clone()),
            codecs: doc.and_then(codecs),
            unit: attributes.unit.clone(),
            categories: attributes.categories.as_ref().map(|all| all.len() as u64),
            description: attributes.description.clone(),
        }
    }

    fn typed(array: &TypedArray) -> Self {
        let attributes = array.attributes();
        Self {
            path: array.path().to_owned(),
            container: match array.doc() {
                Some(_) => "table",
                None => "blobs",
            },
            dtype: array.dtype().to_string(),
            width: Some(array.width()),
            shape: array.shape(),
            origin: None,
            chunks: None,
            shard_shape: None,
            codecs: array.doc().and_then(codecs),
            unit: attributes.unit.clone(),
            categories: None,
            description: attributes.description.clone(),
        }
    }
}

impl LinkFacts {
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

impl LevelFacts {
    /// The facts about a level, with the bytes below its prefix and, if they were counted, its rows.
    pub(super) fn of(level: &Level, usage: Option<Usage>, counted: Option<u64>) -> Self {
        let doc = level.doc();
        let vertices = ArrayFacts::grid(level.vertices(), Some(level.dims() as u64));
        let fragments = level.vertex_fragments();
        let fragments = fragments.map(|array| ArrayFacts::grid(array, None));
        let mut arrays: Vec<_> = std::iter::once(vertices).chain(fragments).collect();
        let attributes = level.vertex_attributes().iter();
        let attributes = attributes.chain(level.fragment_attributes());
        arrays.extend(attributes.map(|attribute| {
            let width = attribute.declared_width.unwrap_or(1);
            ArrayFacts::grid(&attribute.array, Some(width))
        }));
        let tables = level.object_attributes().iter();
        let tables = tables.chain(level.group_attributes());
        arrays.extend(tables.map(ArrayFacts::typed));
        for family in level.link_families() {
            let width = Some(family.width() as u64);
            let links = family.arrays().iter();
            arrays.extend(links.map(|links| ArrayFacts::grid(&links.array, width)));
        }
        let index = level.object_index().map(|index| ObjectFacts {
            rows: index.len(),
            deleted: index.deleted().len() as u64,
            present: index.doc().num_present,
            layout: match index.layout() {
                Some(layout) => layout.to_string(),
                None => "data and offsets".to_owned(),
            },
            ids_sorted: index.doc().object_ids_sorted,
        });
        let groups = level.groups();
        let groups = groups.map(|groups| (0..groups.len()).map(|g| groups.name(g)).collect());
        let refused = level.refused().iter().map(|refused| RefusedFacts {
            path: refused.path.clone(),
            why: refused.why.clone(),
        });
        Self {
            level: level.number(),
            vertices: counted.unwrap_or(doc.vertex_count),
            vertices_counted: counted.is_some(),
            chunks: level.vertices().presence().len() as u64,
            objects: index
                .as_ref()
                .map(|index| index.rows.saturating_sub(index.deleted)),
            bytes: usage.map(|usage| usage.bytes),
            files: usage.map(|usage| usage.objects),
            chunk_shape: level.chunk_shape().to_vec(),
            bin_shape: level.bin_shape().map(<[f64]>::to_vec),
            parent_level: doc.parent_level,
            coarsening_method: doc.coarsening_method.clone(),
            object_sparsity: doc.object_sparsity,
            refinement: match doc.refinement {
                Refinement::Add => ADD,
                _ => "replace",
            },
            complete_with: Vec::new(),
            fragment_link_groups: doc.fragment_link_groups,
            fragments_tile: doc.fragments_tile,
            shared_fragments: doc.shared_fragments,
            preserves_object_ids: doc.preserves_object_ids,
            chunk_attribute: doc.chunk_attribute_name.clone(),
            object_index: index,
            groups,
            arrays,
            links: level.link_families().iter().map(LinkFacts::of).collect(),
            refused: refused.collect(),
            sizes: None,
        }
    }
}

/// The word for an additive level.
pub(super) const ADD: &str = "add";

/// Chunks of a level up to which there are no hints.
const MANY_CHUNKS: u64 = 1000;

/// What would make questions to a store cheaper, as far as its documents show it, with the command.
fn hints(url: &str, levels: &[LevelFacts]) -> Vec<String> {
    let Some(level) = levels.first().filter(|one| one.chunks > MANY_CHUNKS) else {
        return Vec::new();
    };
    let mut hints = Vec::new();
    let each = level.vertices / level.chunks.max(1);
    let (chunks, vertices) = (counted(level.chunks, "chunk"), counted(each, "vertex"));
    if each < DoctorJob::FEW_VERTICES {
        hints.push(format!(
            "{chunks} with {vertices} each on average are small: `zvf doctor {url}` suggests a larger shape"
        ));
    }
    let vertices = level
        .arrays
        .iter()
        .find(|one| one.path.ends_with("/vertices"));
    if vertices.is_some_and(|one| one.container == "grid") {
        hints.push(format!(
            "{chunks} in files of their own: `zvf rechunk {url} NEW --shard-shape auto` stores many in one file"
        ));
    }
    hints
}

impl Facts {
    /// The facts about a store; `headers` are the headers of its source files.
    pub(super) fn of(
        url: &str,
        store: &Store,
        mut levels: Vec<LevelFacts>,
        side: SideGroups,
        headers: BTreeMap<String, JsonObject>,
    ) -> Self {
        let additive = levels.iter().map(|one| (one.level, one.refinement == ADD));
        let additive: BTreeMap<u32, bool> = additive.collect();
        // As long as a level is additive, the next coarser one is needed.
        let next = |last: &u32| {
            let next = last
                .checked_add(1)
                .filter(|_| additive.get(last) == Some(&true))?;
            additive.contains_key(&next).then_some(next)
        };
        for level in &mut levels {
            level.complete_with = std::iter::successors(next(&level.level), next).collect();
        }
        let root = store.root();
        let zv = &root.zarr_vectors;
        let convention = root.links_convention().map(|one| one.to_string());
        let axes = root.axes().iter().map(|axis| AxisFacts {
            name: axis.name.clone(),
            kind: axis.kind().to_owned(),
            unit: axis.unit.clone(),
        });
        let metadata = root.user_metadata.iter().filter_map(Value::as_object);
        let affine = |(format, members): (String, JsonObject)| {
            Some((format, members.get("applied_affine")?.clone()))
        };
        let formats = side.headers.iter().map(|header| header.format.clone());
        Self {
            store: url.to_owned(),
            version: zv.zv_version.clone(),
            kind: store.kind().to_string(),
            geometry_types: zv.geometry_types.clone(),
            links_convention: convention
                .unwrap_or_else(|_| zv.links_convention.clone().unwrap_or_default()),
            axes: axes.collect(),
            bounds: zv.bounds.clone(),
            coordinate_offset: zv.coordinate_offset.clone(),
            crs: zv.crs.clone(),
            chunk_shape: zv.chunk_shape.clone(),
            bin_shape: zv.base_bin_shape.clone(),
            capabilities: zv.format_capabilities.clone(),
            required_capabilities: zv.required_capabilities.clone(),
            manifest_layout: zv.manifest_layout.clone(),
            attribute_specs: zv.attribute_specs.clone(),
            hints: hints(url, &levels),
            levels,
            parametric: side.parametric.is_some(),
            headers: side.listed.then(|| formats.collect()),
            user_metadata: metadata.flat_map(|map| map.keys().cloned()).collect(),
            warnings: [store.warnings(), side.problems.clone()].concat(),
            side,
            frame: None,
            applied_affine: headers.into_iter().filter_map(affine).collect(),
            absent_parts: texts(root.extra.get(zvf_write::ABSENT_PARTS)).unwrap_or_default(),
            stale_chunks: root
                .extra
                .get("zvf_stale")
                .and_then(|stale| texts(stale.get("chunks"))),
        }
    }
}

/// The texts of a list.
fn texts(list: Option<&Value>) -> Option<Vec<String>> {
    let texts = list?.as_array()?.iter().filter_map(Value::as_str);
    Some(texts.map(str::to_owned).collect())
}

//! What `zvf info` gathers, and its JSON document.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use zvf_jobs::DoctorJob;
use zvf_meta::{ArrayDoc, Axis, Refinement};
use zvf_store::{
    ContainerKind, GridArray, Level, LinkFamily, SideGroups, Store, TypedArray, Usage,
};

use crate::output::table::counted;

/// Everything about a store.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) store: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) geometry_types: Vec<String>,
    pub(super) links_convention: String,
    pub(super) axes: Vec<Axis>,
    pub(super) bounds: (Vec<f64>, Vec<f64>),
    pub(super) chunk_shape: Vec<f64>,
    pub(super) base_bin_shape: Option<Vec<f64>>,
    pub(super) coordinate_offset: Option<Vec<f64>>,
    pub(super) crs: Option<Value>,
    pub(super) capabilities: Vec<String>,
    pub(super) attribute_specs: Option<Value>,
    pub(super) user_metadata: Vec<String>,
    pub(super) levels: Vec<LevelFacts>,
    pub(super) required: Vec<String>,
    pub(super) manifest_layout: Option<String>,
    pub(super) side: SideGroups,
    pub(super) warnings: Vec<String>,
    /// Chunks of level 0 that were edited since the coarse levels were made.
    pub(super) stale: Option<Vec<String>>,
    /// Names of parts that were absent when the store was committed.
    pub(super) absent_parts: Vec<String>,
    /// The frame of a tractogram.
    pub(super) frame: Option<Value>,
    /// The affine that an import applied, by the format of its files.
    pub(super) transforms: Vec<(String, Value)>,
}

/// Everything about a level.
#[derive(Debug)]
pub(crate) struct LevelFacts {
    pub(super) level: u32,
    pub(super) vertices: u64,
    pub(super) counted: bool,
    pub(super) chunks: u64,
    pub(super) objects: Option<ObjectFacts>,
    pub(super) usage: Option<Usage>,
    pub(super) chunk_shape: Vec<f64>,
    pub(super) bin_shape: Option<Vec<f64>>,
    pub(super) parent: Option<u32>,
    pub(super) method: Option<String>,
    pub(super) sparsity: f64,
    pub(super) tile: bool,
    pub(super) link_groups: bool,
    pub(super) shared_fragments: bool,
    pub(super) preserves_object_ids: bool,
    pub(super) chunk_attribute: Option<String>,
    pub(super) arrays: Vec<ArrayFacts>,
    pub(super) links: Vec<LinkFacts>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) additive: bool,
    /// The level and those that complete it.
    pub(super) chain: Vec<u32>,
    pub(super) refused: Vec<RefusedFacts>,
    /// The storage of each array; `None` without `--sizes`.
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

impl ObjectFacts {
    /// Objects that exist.
    pub(super) fn count(&self) -> u64 {
        self.rows.saturating_sub(self.deleted)
    }
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

/// The level and those that complete it: as long as a level is additive, the next coarser one.
fn chain(level: u32, additive: &BTreeMap<u32, bool>) -> Vec<u32> {
    let mut chain = vec![level];
    let mut last = level;
    while additive.get(&last) == Some(&true) {
        match last
            .checked_add(1)
            .filter(|next| additive.contains_key(next))
        {
            Some(next) => last = next,
            None => break,
        }
        chain.push(last);
    }
    chain
}

/// The other groups of a store.
fn side(side: &SideGroups) -> Value {
    let parametric = side.parametric.as_ref().map(|parametric| {
        let types = parametric.types.iter().map(
            |kind| json!({ "id": kind.id, "name": kind.name, "coefficients": kind.coefficients }),
        );
        json!({
            "types": types.collect::<Vec<_>>(),
            "objects": parametric.objects,
            "max_row_length": parametric.max_row_length,
            "named": parametric.named,
            "attributes": parametric.attributes,
            "groups": parametric.groups,
            "group_attributes": parametric.group_attributes,
        })
    });
    let headers = side.headers.iter().map(|header| {
        let members = header
            .members
            .iter()
            .map(|(name, size)| (name.clone(), json!(size)));
        json!({ "format": header.format, "bytes_of": members.collect::<Map<_, _>>() })
    });
    let composite = side.composite.iter().map(|kind| {
        json!({
            "level": kind.level,
            "kind": kind.kind,
            "vertices": kind.vertices,
            "chunks": kind.chunks,
            "links": kind.links,
            "link_width": kind.link_width,
            "links_refused": kind.links_refused,
        })
    });
    json!({
        "parametric": parametric,
        "headers": headers.collect::<Vec<_>>(),
        "composite": composite.collect::<Vec<_>>(),
        "packing": side.packing.as_ref().map(|packing| json!({
            "layout": packing.layout,
            "size": packing.size,
        })),
        "unknown": side.unknown,
        "problems": side.problems,
    })
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
            categories: attributes
                .categories
                .as_ref()
                .map(|categories| categories.len() as u64),
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
        Self {
            delta: family.delta(),
            width: family.width(),
            directed: family.directed(),
            store: family.store().to_string(),
            links: family.doc().num_links,
            segments: family
                .arrays()
                .iter()
                .map(|array| array.segment().to_owned())
                .collect(),
            attributes: family
                .attributes()
                .iter()
                .map(|attribute| attribute.name.clone())
                .collect(),
        }
    }
}

impl LevelFacts {
    /// The facts about a level, with the bytes below its prefix and, if they were counted, its rows.
    pub(super) fn of(level: &Level, usage: Option<Usage>, counted: Option<u64>) -> Self {
        let doc = level.doc();
        let mut arrays = vec![ArrayFacts::grid(
            level.vertices(),
            Some(level.dims() as u64),
        )];
        arrays.extend(
            level
                .vertex_fragments()
                .map(|array| ArrayFacts::grid(array, None)),
        );
        for attribute in level
            .vertex_attributes()
            .iter()
            .chain(level.fragment_attributes())
        {
            arrays.push(ArrayFacts::grid(
                &attribute.array,
                Some(attribute.declared_width.unwrap_or(1)),
            ));
        }
        arrays.extend(
            level
                .object_attributes()
                .iter()
                .chain(level.group_attributes())
                .map(ArrayFacts::typed),
        );
        for family in level.link_families() {
            arrays.extend(
                family
                    .arrays()
                    .iter()
                    .map(|links| ArrayFacts::grid(&links.array, Some(family.width() as u64))),
            );
        }
        let objects = level.object_index().map(|index| ObjectFacts {
            rows: index.len(),
            deleted: index.deleted().len() as u64,
            present: index.doc().num_present,
            layout: match index.layout() {
                Some(layout) => layout.to_string(),
                None => "data and offsets".to_owned(),
            },
            ids_sorted: index.doc().object_ids_sorted,
        });
        Self {
            level: level.number(),
            vertices: counted.unwrap_or(doc.vertex_count),
            counted: counted.is_some(),
            chunks: level.vertices().presence().len() as u64,
            objects,
            usage,
            chunk_shape: level.chunk_shape().to_vec(),
            bin_shape: level.bin_shape().map(<[f64]>::to_vec),
            parent: doc.parent_level,
            method: doc.coarsening_method.clone(),
            sparsity: doc.object_sparsity,
            tile: doc.fragments_tile,
            link_groups: doc.fragment_link_groups,
            shared_fragments: doc.shared_fragments,
            preserves_object_ids: doc.preserves_object_ids,
            chunk_attribute: doc.chunk_attribute_name.clone(),
            arrays,
            links: level.link_families().iter().map(LinkFacts::of).collect(),
            groups: level
                .groups()
                .map(|groups| (0..groups.len()).map(|g| groups.name(g)).collect()),
            additive: doc.refinement == Refinement::Add,
            chain: vec![level.number()],
            refused: level
                .refused()
                .iter()
                .map(|refused| RefusedFacts {
                    path: refused.path.clone(),
                    why: refused.why.clone(),
                })
                .collect(),
            sizes: None,
        }
    }

    fn document(&self) -> Value {
        let mut document = json!({
            "level": self.level,
            "vertices": self.vertices,
            "vertices_counted": self.counted,
            "chunks": self.chunks,
            "objects": self.objects.as_ref().map(ObjectFacts::count),
            "bytes": self.usage.map(|usage| usage.bytes),
            "files": self.usage.map(|usage| usage.objects),
            "chunk_shape": numbers(&self.chunk_shape),
            "bin_shape": self.bin_shape.as_deref().map(numbers),
            "parent_level": self.parent,
            "coarsening_method": self.method,
            "object_sparsity": self.sparsity,
            "refinement": if self.additive { "add" } else { "replace" },
            "complete_with": self.chain.get(1..).unwrap_or_default(),
            "fragment_link_groups": self.link_groups,
            "fragments_tile": self.tile,
            "shared_fragments": self.shared_fragments,
            "preserves_object_ids": self.preserves_object_ids,
            "chunk_attribute": self.chunk_attribute,
            "object_index": self.objects,
            "groups": self.groups,
            "arrays": self.arrays,
            "links": self.links,
            "refused": self.refused,
        });
        if let Some(sizes) = &self.sizes {
            document["sizes"] = json!(sizes);
        }
        document
    }
}

/// Chunks of a level up to which there are no hints.
const MANY_CHUNKS: u64 = 1000;

impl Facts {
    /// What would make questions to the store cheaper, as far as its documents show it, with the command.
    pub(super) fn hints(&self) -> Vec<String> {
        let Some(level) = self.levels.first().filter(|one| one.chunks > MANY_CHUNKS) else {
            return Vec::new();
        };
        let mut hints = Vec::new();
        let each = level.vertices / level.chunks.max(1);
        if each < DoctorJob::FEW_VERTICES {
            hints.push(format!(
                "{} with {} each on average are small: `zvf doctor {}` suggests a larger shape",
                counted(level.chunks, "chunk"),
                counted(each, "vertex"),
                self.store
            ));
        }
        let vertices = level
            .arrays
            .iter()
            .find(|one| one.path.ends_with("/vertices"));
        if vertices.is_some_and(|one| one.container == "grid") {
            hints.push(format!(
                "{} in files of their own: `zvf rechunk {} NEW --shard-shape auto` stores many in one file",
                counted(level.chunks, "chunk"),
                self.store
            ));
        }
        hints
    }

    /// The facts about a store.
    pub(super) fn of(
        url: &str,
        store: &Store,
        mut levels: Vec<LevelFacts>,
        side: SideGroups,
    ) -> Self {
        let additive: BTreeMap<u32, bool> = levels.iter().map(|l| (l.level, l.additive)).collect();
        for level in &mut levels {
            level.chain = chain(level.level, &additive);
        }
        let problems = side.problems.clone();
        let root = store.root();
        let zv = &root.zarr_vectors;
        let convention = root
            .links_convention()
            .map(|convention| convention.to_string());
        Self {
            store: url.to_owned(),
            version: zv.zv_version.clone(),
            kind: store.kind().to_string(),
            geometry_types: zv.geometry_types.clone(),
            links_convention: convention
                .unwrap_or_else(|_| zv.links_convention.clone().unwrap_or_default()),
            axes: root.axes().to_vec(),
            bounds: zv.bounds.clone(),
            chunk_shape: zv.chunk_shape.clone(),
            base_bin_shape: zv.base_bin_shape.clone(),
            coordinate_offset: zv.coordinate_offset.clone(),
            crs: zv.crs.clone(),
            capabilities: zv.format_capabilities.clone(),
            attribute_specs: zv.attribute_specs.clone().map(Value::Object),
            user_metadata: root
                .user_metadata
                .iter()
                .filter_map(Value::as_object)
                .flat_map(|map| map.keys().cloned())
                .collect(),
            required: zv.required_capabilities.clone(),
            manifest_layout: zv.manifest_layout.clone(),
            levels,
            side,
            warnings: store.warnings().into_iter().chain(problems).collect(),
            stale: stale(root.extra.get("zvf_stale")),
            absent_parts: root
                .extra
                .get(zvf_write::ABSENT_PARTS)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            frame: None,
            transforms: Vec::new(),
        }
    }

    /// The JSON document.
    pub(super) fn document(&self) -> Value {
        let axes = self
            .axes
            .iter()
            .map(|axis| json!({ "name": axis.name, "type": axis.kind(), "unit": axis.unit }));
        let mut document = json!({
            "store": self.store,
            "version": self.version,
            "kind": self.kind,
            "geometry_types": self.geometry_types,
            "links_convention": self.links_convention,
            "axes": axes.collect::<Vec<_>>(),
            "bounds": [numbers(&self.bounds.0), numbers(&self.bounds.1)],
            "coordinate_offset": self.coordinate_offset.as_deref().map(numbers),
            "crs": self.crs,
            "chunk_shape": numbers(&self.chunk_shape),
            "bin_shape": self.base_bin_shape.as_deref().map(numbers),
            "capabilities": self.capabilities,
            "required_capabilities": self.required,
            "manifest_layout": self.manifest_layout,
            "attribute_specs": self.attribute_specs,
            "levels": self.levels.iter().map(LevelFacts::document).collect::<Vec<_>>(),
            "parametric": self.side.parametric.is_some(),
            "headers": self.side.listed.then(|| {
                self.side.headers.iter().map(|header| header.format.as_str()).collect::<Vec<_>>()
            }),
            "side": side(&self.side),
            "user_metadata": self.user_metadata,
            "warnings": self.warnings,
            "hints": self.hints(),
        });
        if let Value::Object(members) = &mut document {
            if let Some(frame) = &self.frame {
                members.insert("frame".to_owned(), frame.clone());
            }
            if !self.transforms.is_empty() {
                let transforms = self.transforms.iter().cloned().collect::<Map<_, _>>();
                members.insert("applied_affine".to_owned(), Value::Object(transforms));
            }
        }
        if let (false, Value::Object(members)) = (self.absent_parts.is_empty(), &mut document) {
            members.insert("absent_parts".to_owned(), json!(self.absent_parts));
        }
        if let (Some(stale), Value::Object(members)) = (&self.stale, &mut document) {
            members.insert("stale_chunks".to_owned(), json!(stale));
        }
        document
    }
}

/// The chunks that the attribute `zvf_stale` lists.
fn stale(attribute: Option<&Value>) -> Option<Vec<String>> {
    let chunks = attribute?.get("chunks")?.as_array()?;
    let keys = chunks.iter().filter_map(Value::as_str).map(str::to_owned);
    Some(keys.collect())
}

/// Numbers as JSON; those that JSON lacks are null.
fn numbers(values: &[f64]) -> Vec<Value> {
    values.iter().map(|value| Value::from(*value)).collect()
}

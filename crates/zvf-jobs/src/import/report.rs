//! The report of an import.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use zvf_convert::Import;
use zvf_encode::{AttributeSpec, AttributeType, StoreSpec, Summary};

use crate::PartsInfo;

/// The report of `import`.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ImportReport {
    /// A store was made.
    Store(Box<StoreImported>),
    /// A store in parts was begun.
    Begun {
        /// The store.
        store: String,
        /// `begun`.
        step: &'static str,
        /// Whether it was begun before, with the same options.
        begun_before: bool,
        /// The names of the declared parts; `None` if none were declared.
        parts: Option<Vec<String>>,
    },
    /// A part is finished.
    Part {
        /// The store.
        store: String,
        /// `part` and its name.
        step: String,
        /// Whether it was written; else it was finished before.
        written: bool,
        /// Its vertices.
        vertices: u64,
        /// Its chunks.
        chunks: u64,
        /// Its objects.
        objects: u64,
        /// Notes about data of its files that was not stored; empty if it was finished before.
        notes: Vec<String>,
    },
    /// The parts were joined into one store. Counts are `None` if an earlier commit was interrupted during its cleanup, after it had finished
    /// everything else.
    Committed {
        /// The store.
        store: String,
        /// `committed`.
        step: &'static str,
        /// Vertices.
        vertices: Option<u64>,
        /// Chunks.
        chunks: Option<u64>,
        /// Objects.
        objects: Option<u64>,
        /// Links that are stored.
        links: Option<u64>,
        /// Names of the parts.
        parts: Vec<String>,
        /// Names of declared or begun parts that the store lacks.
        absent: Vec<String>,
        /// Names of parts whose `--redo` did not finish. The store has the data that these parts had before.
        begun_again: Vec<String>,
    },
    /// The parts of a store that was begun.
    Status(PartsInfo),
    /// All parts were removed.
    Discarded {
        /// The store.
        store: String,
        /// `discarded`.
        step: &'static str,
        /// Names of the parts that were finished.
        finished: Vec<String>,
    },
}

/// A store that was made from files.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct StoreImported {
    /// The store.
    pub store: String,
    /// The version of its format.
    pub version: &'static str,
    /// The format of the files.
    pub format: &'static str,
    /// The files.
    pub files: Vec<String>,
    /// The kind of geometry.
    pub kind: &'static str,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// Units of the axes.
    pub units: Vec<Option<String>>,
    /// Vertices.
    pub vertices: u64,
    /// Chunks; `None` if they could not be counted.
    pub chunks: Option<u64>,
    /// Objects.
    pub objects: u64,
    /// Links of the files.
    pub links: u64,
    /// Links that are stored; `None` if they could not be counted.
    pub links_stored: Option<u64>,
    /// The lowest and the highest corner of the positions.
    pub bounds: [Vec<f64>; 2],
    /// The type of the positions.
    pub position_type: String,
    /// Size of a chunk on each axis.
    pub chunk_shape: Vec<f64>,
    /// Size of a bin on each axis.
    pub bin_shape: Option<Vec<f64>>,
    /// The reason for the size of chunks, if the data decided it.
    pub chunk_shape_reason: Option<String>,
    /// The attribute that divides chunks.
    pub chunk_by: Option<String>,
    /// Attributes of vertices.
    pub vertex_attributes: Vec<AttributeImported>,
    /// Attributes of objects.
    pub object_attributes: Vec<AttributeImported>,
    /// Attributes of links.
    pub link_attributes: Vec<AttributeImported>,
    /// The header of the files and the map that was applied: [`Import::frame`].
    pub frame: Option<Value>,
    /// Notes about data that was not stored, and about automatic choices.
    pub notes: Vec<String>,
    /// The specification of the store, for text output; not serialized.
    #[serde(skip)]
    pub spec: StoreSpec,
}

/// An attribute that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttributeImported {
    /// Its name.
    pub name: String,
    /// A number type, `category` or `text`.
    #[serde(rename = "type")]
    pub values: String,
    /// Values per row.
    pub channels: usize,
}

impl From<&AttributeSpec> for AttributeImported {
    fn from(one: &AttributeSpec) -> Self {
        Self {
            name: one.name.clone(),
            values: match one.values {
                AttributeType::Number(number) => number.to_string(),
                AttributeType::Category => "category".to_owned(),
                AttributeType::Text => "text".to_owned(),
            },
            channels: one.channels,
        }
    }
}

impl StoreImported {
    pub(super) fn new(
        (store, files): (&str, &[PathBuf]),
        import: &Import,
        spec: StoreSpec,
        summary: Option<Summary>,
        chosen: bool,
        notes: Vec<String>,
    ) -> Self {
        let (low, high) = import.corners();
        let attributes = |list: &[AttributeSpec]| list.iter().map(Into::into).collect();
        Self {
            store: store.to_owned(),
            version: spec.target.version(),
            format: import.format().name(),
            files: files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            kind: spec.kind.name(),
            axes: spec.axes.iter().map(|axis| axis.name.clone()).collect(),
            units: spec.axes.iter().map(|axis| axis.unit.clone()).collect(),
            vertices: import.vertices(),
            chunks: summary.map(|summary| summary.chunks),
            objects: import.objects(),
            links: import.links(),
            links_stored: summary.map(|summary| summary.links),
            bounds: [low.to_vec(), high.to_vec()],
            position_type: spec.positions.to_string(),
            chunk_shape: spec.chunk_shape.clone(),
            bin_shape: spec.bin_shape.clone(),
            chunk_shape_reason: chosen.then(|| import.reason().to_owned()),
            chunk_by: spec.chunk_by.as_ref().map(|one| one.attribute.name.clone()),
            vertex_attributes: attributes(&spec.vertex_attributes),
            object_attributes: attributes(&spec.object_attributes),
            link_attributes: attributes(&spec.links.attributes),
            frame: import.frame().cloned(),
            notes,
            spec,
        }
    }
}

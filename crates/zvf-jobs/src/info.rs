//! The job `info`: the contents of a store.

mod array_sizes;
mod level;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use zvf_convert::SourceHeader;
use zvf_query::{Column, Outputs, Query, Table};
use zvf_store::meta::JsonObject;
use zvf_store::meta::STALE;
use zvf_store::{Class, Names, Need, SideGroups, Store};
use zvf_write::{PartedStore, PartsStage, PartsStatus};

pub use level::{ArrayInfo, ArraySize, LevelInfo, LinkInfo, ObjectIndexInfo, RefusedInfo};

use crate::error::Result;
use crate::words::{argument, counted, fold};
use crate::{Context, DoctorJob, JobError};

options! {
    /// Shows the contents of a store: version, kind, axes, bounds, levels, arrays, codecs and layout
    InfoJob {
        /// Path or URL of the store
        store: String,
        /// Counts vertices in the data instead of trusting the metadata
        #[arg(long)]
        count: bool,
        /// Files and bytes of each level, and codec and ratio of each array; lists all files of the store
        #[arg(long)]
        sizes: bool,
        /// The jobs that made and changed the store, oldest first, as far as zvf recorded them; of more than 100 jobs, the first and the newest
        #[arg(long)]
        history: bool,
    }
}

impl InfoJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Describes a store, or the parts of one that is not committed yet.
    ///
    /// # Cost
    ///
    /// The documents of all levels and of the groups beside them; with `sizes` a listing of each level and each array; with `count` all vertices.
    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<InfoReport>> {
        Box::pin(async move {
            let error = match self.describe(context).await {
                Ok(info) => return Ok(InfoReport::Store(Box::new(info))),
                Err(error) => error,
            };
            match PartedStore::status(&self.store, &context.writing(false)).await {
                Ok(Some(status)) if status.stage != PartsStage::Committed => {
                    let store = self.store.clone();
                    Ok(InfoReport::Parts(PartsInfo { store, status }))
                }
                _ => Err(error.at(&self.store)),
            }
        })
    }

    async fn describe(&self, context: &Context) -> Result<StoreInfo> {
        let store = context.open(&self.store, 0, Need::all()).await?;
        let mut info = StoreInfo::of(&store).await?;
        self.store.clone_into(&mut info.store);
        let raw = store.raw();
        for level in &mut info.levels {
            if self.count {
                level.vertices = self.count(&store, level.level, context).await?;
                level.vertices_counted = true;
            }
            if self.sizes {
                let usage = raw.usage(&level.level.to_string()).await?;
                level.bytes = usage.map(|usage| usage.bytes);
                level.files = usage.map(|usage| usage.objects);
                level.sizes = array_sizes::of(level, &raw).await?;
            }
        }
        info.hints = hints(&self.store, &info.levels);
        info.history = self.history.then(|| store.root().history().to_vec());
        Ok(info)
    }

    /// The number of rows in the own data of a level.
    async fn count(&self, store: &Store, level: u32, context: &Context) -> Result<u64> {
        let query = Query {
            level,
            own_level_only: true,
            attributes: Names::None,
            columns: vec![Column::Row],
            outputs: Outputs {
                vertices: true,
                links: false,
                objects: false,
            },
            ..Query::default()
        };
        let failed = || JobError::query(&self.store);
        context.total_of(store, &query).await?;
        let (progress, mut rows) = (context.progress(), 0_u64);
        let mut answer = zvf_query::query(store, query).await.map_err(failed())?;
        while let Some((table, batch)) = answer.next().await.map_err(failed())? {
            if table == Table::Vertices {
                let n = batch.num_rows() as u64;
                rows = rows.saturating_add(n);
                progress(n);
            }
        }
        Ok(rows)
    }
}

/// The report of `info`.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum InfoReport {
    /// A store.
    Store(Box<StoreInfo>),
    /// A store in parts that is not committed yet.
    Parts(PartsInfo),
}

/// The parts of a store that was begun. Serialized as [`PartsStatus::document`], with a member `store`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartsInfo {
    /// The address of the store.
    pub store: String,
    /// The state of its parts.
    pub status: PartsStatus,
}

impl PartsInfo {
    /// The state of the parts of the store at an address.
    #[must_use]
    pub fn new(store: &str, status: PartsStatus) -> Self {
        let store = store.to_owned();
        Self { store, status }
    }
}

impl Serialize for PartsInfo {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut document = Map::from_iter([("store".to_owned(), json!(self.store))]);
        if let Value::Object(members) = self.status.document() {
            document.extend(members);
        }
        document.serialize(to)
    }
}

/// The contents of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The address of the store.
    pub store: String,
    /// The version of the format.
    pub version: String,
    /// The kind of geometry.
    pub kind: String,
    /// The geometry types as the root states them.
    pub geometry_types: Vec<String>,
    /// How links are stored.
    pub links_convention: String,
    /// The axes.
    pub axes: Vec<AxisFacts>,
    /// The lower and the upper corner of all positions.
    pub bounds: (Vec<f64>, Vec<f64>),
    /// The world coordinates of the origin of stored positions.
    pub coordinate_offset: Option<Vec<f64>>,
    /// The coordinate reference system.
    pub crs: Option<Value>,
    /// Extents of a chunk of level 0.
    pub chunk_shape: Vec<f64>,
    /// Extents of a bin of level 0.
    pub bin_shape: Option<Vec<f64>>,
    /// Features of the format that the store uses.
    pub capabilities: Vec<String>,
    /// Features that a reader must know.
    pub required_capabilities: Vec<String>,
    /// How manifests are stored.
    pub manifest_layout: Option<String>,
    /// Attributes as the root declares them.
    pub attribute_specs: Option<JsonObject>,
    /// The levels.
    pub levels: Vec<LevelInfo>,
    /// Whether there are parametric objects.
    pub parametric: bool,
    /// Formats of source files with a header; `None` if the backend cannot list.
    pub headers: Option<Vec<String>>,
    /// The groups beside the levels.
    pub side: SideGroups,
    /// Names of the user metadata.
    pub user_metadata: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// Changes that would make queries cheaper, with the command.
    pub hints: Vec<String>,
    /// The frame of a tractogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Value>,
    /// The affine that an import applied, by the format of its files.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub applied_affine: JsonObject,
    /// Names of parts that were absent when the store was committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_parts: Vec<String>,
    /// The jobs that made and changed the store, oldest first; `None` without the option `history`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Value>>,
    /// Chunks of level 0 that were edited since the coarse levels were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_chunks: Option<Vec<String>>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AxisFacts {
    /// Its name.
    pub name: String,
    /// Its type, such as `space`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The unit of positions along it.
    pub unit: Option<String>,
}

/// Levels with at most this many chunks get no hints.
const MANY_CHUNKS: u64 = 1000;

/// Changes that would make queries of a store cheaper, with the command, as far as documents show them.
fn hints(url: &str, levels: &[LevelInfo]) -> Vec<String> {
    let Some(level) = levels.first().filter(|one| one.chunks > MANY_CHUNKS) else {
        return Vec::new();
    };
    let mut hints = Vec::new();
    let url = argument(url);
    let each = level.vertices / level.chunks.max(1);
    let chunks = counted(level.chunks, "chunk");
    let vertices = counted(each, "vertex");
    if each < DoctorJob::FEW_VERTICES {
        hints.push(format!(
            "{chunks} with {vertices} each on average are small: `zvf doctor {url}` suggests a larger shape"
        ));
    }
    let mut arrays = level.arrays.iter();
    let vertices = arrays.find(|one| one.path.ends_with("/vertices"));
    if vertices.is_some_and(|one| one.container == "grid") {
        hints.push(format!(
            "{chunks} in files of their own: `zvf rechunk {url} NEW --shard-shape auto` stores many in one file"
        ));
    }
    hints
}

impl StoreInfo {
    /// Describes an open store from its documents, as `zvf info` prints it.
    ///
    /// # Cost
    ///
    /// The documents of all levels and of the groups beside them; no cell.
    ///
    /// # Errors
    ///
    /// The errors of the store. A damaged header is not an error: `frame` then has a member `problem`, and `warnings` name it.
    pub async fn of(store: &Store) -> Result<Self> {
        let mut levels = Vec::new();
        for &number in store.levels() {
            levels.push(LevelInfo::of(&store.level(number, &Need::all()).await?));
        }
        let side = store.side_groups().await?;
        let frame = match SourceHeader::of_store(store).await {
            Ok(frame) => frame.map(|frame| frame.document()),
            Err(error) if error.class() == Class::Io => return Err(error.into()),
            // A damaged header leaves only the frame of the positions unknown.
            Err(error) => Some(json!({"space": null, "problem": fold(&error)})),
        };
        let formats: Vec<&str> = side.headers.iter().map(|one| one.format.as_str()).collect();
        // Damaged headers were already found: they are among the problems of the side groups.
        let headers = match side.problems.is_empty() {
            true => store.headers(&formats).await?,
            false => BTreeMap::new(),
        };
        let additive: BTreeMap<u32, bool> = levels
            .iter()
            .map(|one| (one.level, one.is_additive()))
            .collect();
        // An additive level is completed by the next coarser one.
        let next = |last: &u32| {
            let is_additive = additive.get(last) == Some(&true);
            let next = last.checked_add(1).filter(|_| is_additive)?;
            additive.contains_key(&next).then_some(next)
        };
        for level in &mut levels {
            level.complete_with = std::iter::successors(next(&level.level), next).collect();
        }
        let root = store.root();
        let zv = root.zarr_vectors.clone();
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
        let stale = root.extra.get(STALE).and_then(|stale| stale.get("chunks"));
        Ok(Self {
            store: store.url().to_owned(),
            version: zv.zv_version,
            kind: store.kind().to_string(),
            geometry_types: zv.geometry_types,
            links_convention: convention
                .unwrap_or_else(|_| zv.links_convention.unwrap_or_default()),
            axes: axes.collect(),
            bounds: zv.bounds,
            coordinate_offset: zv.coordinate_offset,
            crs: zv.crs,
            chunk_shape: zv.chunk_shape,
            bin_shape: zv.base_bin_shape,
            capabilities: zv.format_capabilities,
            required_capabilities: zv.required_capabilities,
            manifest_layout: zv.manifest_layout,
            attribute_specs: zv.attribute_specs,
            hints: hints(store.url(), &levels),
            levels,
            parametric: side.parametric.is_some(),
            headers: side.listed.then(|| formats.collect()),
            user_metadata: metadata.flat_map(|map| map.keys().cloned()).collect(),
            warnings: [store.warnings(), side.problems.clone()].concat(),
            side,
            frame,
            applied_affine: headers.into_iter().filter_map(affine).collect(),
            absent_parts: texts(root.extra.get(zvf_write::ABSENT_PARTS)).unwrap_or_default(),
            history: None,
            stale_chunks: texts(stale),
        })
    }
}

/// The strings of a JSON list.
fn texts(list: Option<&Value>) -> Option<Vec<String>> {
    let texts = list?.as_array()?.iter().filter_map(Value::as_str);
    Some(texts.map(str::to_owned).collect())
}

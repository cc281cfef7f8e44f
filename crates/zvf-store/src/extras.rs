//! Other groups of a store: parametric objects, composite geometry, headers of source files, packing, unknown folders.
//!
//! Reading points, lines or meshes needs none of these, so they are read on request only. Both forms are
//! read: blobs named `data` below a group (0.7, 0.8.0) and plain arrays (0.8.1, 0.9). The attributes of the node at the same path
//! describe them.
//!
//! Source: specification 0.7, sections 2.6 and 11; 0.8, section 11; 0.9, section 16.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use zvf_format::keys::parse_level;
use zvf_meta::{NodeKind, is_known_family};

use crate::snapshot::{SnapshotTree, document_at};
use crate::{Store, StoreError, Warning};
use zvf_format::int::wide;
use zvf_io::{Question, is_segment};

/// Most headers of a store, and most kinds of geometry of a level, that are read; the others are only counted, in [`SideGroups::problems`].
const MOST: usize = 256;

/// The other groups of a store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SideGroups {
    /// Parametric objects; `None` if the store has no group for them.
    pub parametric: Option<Parametric>,
    /// Headers of source files, by format.
    pub headers: Vec<Header>,
    /// Kinds of geometry in addition to the one of the levels, by level and kind.
    pub composite: Vec<Composite>,
    /// How chunks were packed together after they were written.
    pub packing: Option<Packing>,
    /// Folders that no known version defines, by path.
    pub unknown: Vec<String>,
    /// Whether the backend could list: without listings headers and unknown folders cannot be found.
    #[serde(skip)]
    pub listed: bool,
    /// Documents that cannot be read, and why; the number of headers and kinds of geometry that were not read, because there are too many.
    pub problems: Vec<String>,
}

/// Objects given by coefficients: planes, lines, spheres.
///
/// Source: specification 0.7, section 11.1; 0.9, section 16.1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Parametric {
    /// The types that are defined, by number; not all need occur.
    pub types: Vec<ParametricType>,
    /// Objects; `None` if no document states them.
    pub objects: Option<u64>,
    /// Columns of an object's row: the number of the type, then coefficients, then NaN.
    pub max_row_length: Option<u64>,
    /// Whether objects have names.
    pub named: bool,
    /// Names of the attributes of objects.
    pub attributes: Vec<String>,
    /// Groups of objects.
    pub groups: Option<u64>,
    /// Names of the attributes of groups.
    pub group_attributes: Vec<String>,
}

/// A type of parametric object.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParametricType {
    /// Its number, as stored in rows.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Names of the coefficients, in the order of the row.
    pub coefficients: Vec<String>,
}

/// The stored header of a source file; never interpreted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// The format it belongs to, e.g. `trk`.
    pub format: String,
    /// Names of its members, each with the bytes of its value as compact JSON.
    #[serde(rename = "bytes_of", serialize_with = "as_object")]
    pub members: Vec<(String, u64)>,
}

/// A further kind of geometry in a level.
///
/// Its links name vertices by their number in the writer's input. Vertices are stored by chunk, so those numbers are row
/// numbers only if all vertices are in one chunk (trap T23 of 0.9).
///
/// Source: specification 0.7, section 11.2; 0.9, section 16.4.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Composite {
    /// The level.
    pub level: u32,
    /// The kind of geometry.
    pub kind: String,
    /// Vertices, as documents state.
    pub vertices: Option<u64>,
    /// Chunks with vertices; `None` if neither documents nor listings show their number.
    pub chunks: Option<u64>,
    /// Links, as documents state; `None` if there are none or no document declares them.
    pub links: Option<u64>,
    /// Endpoints of a link.
    pub link_width: Option<u64>,
    /// Why the links cannot be used; `None` when they can, or there are none.
    pub links_refused: Option<String>,
}

/// Chunks of an array packed into fewer objects by a pass after writing.
///
/// Source: specification 0.7, section 2.6.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Packing {
    /// How chunks are put in order: `octree`, `snake`, `index_table`.
    pub layout: String,
    /// Most chunks of one object.
    pub size: Option<u64>,
}

/// Serializes names and numbers as an object.
fn as_object<S: Serializer>(members: &[(String, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(members.iter().map(|(name, size)| (name, size)))
}

impl Store {
    /// The [warnings](Self::warnings) about attributes that the store may have and that are not read, because their names are not known. Copies and
    /// files that are made from the store lack these attributes.
    pub fn names_unknown(&self) -> Vec<String> {
        let unknown = |warning| match warning {
            Warning::NamesUnknown(what) => Some(what),
            _ => None,
        };
        let warnings = self.typed_warnings().into_iter();
        warnings.filter_map(unknown).collect()
    }

    /// The [warnings](Self::warnings) about data that answers lack: nodes that are left out, and attributes and links with unknown names.
    pub fn not_read(&self) -> Vec<String> {
        let warnings = self.typed_warnings().into_iter();
        let lacking = warnings.filter(|warning| !matches!(warning, Warning::Other(_)));
        lacking.map(|warning| warning.to_string()).collect()
    }

    /// Finds the other groups of the store.
    ///
    /// # Cost
    /// At most two rounds: documents and listings at known paths, then those found there. Data of the snapshot is not requested again.
    ///
    /// # Errors
    /// I/O, and limits. Documents that are damaged are [`problems`](SideGroups::problems).
    pub fn side_groups(&self) -> BoxFuture<'_, Result<SideGroups, StoreError>> {
        Box::pin(async move {
            let tree = self.tree();
            let levels = self.levels().to_vec();
            tree.ask(first_round(&levels)).await?;
            let mut found = Finder::new(tree);
            let headers = found.names("headers");
            let kinds: Vec<(u32, String)> = levels
                .iter()
                .flat_map(|level| {
                    let kinds = found.kinds(*level);
                    kinds.into_iter().map(|kind| (*level, kind))
                })
                .collect();
            tree.ask(second_round(&headers, &kinds)).await?;
            found.side.listed = tree.state().folders("headers").flatten().is_some();
            found.parametric();
            for format in headers {
                found.header(format);
            }
            for (level, kind) in kinds {
                found.composite(level, kind);
            }
            found.packing();
            found.unknown(&levels);
            Ok(found.side)
        })
    }
}

/// Headers of source files, by format.
type Headers = BTreeMap<String, Map<String, Value>>;

impl Store {
    /// The stored headers of source files of these formats; empty if the store has none.
    ///
    /// # Cost
    /// One request per format, all at once. Needs no listing, so it works on backends without one.
    ///
    /// # Errors
    /// I/O, limits, a malformed document.
    ///
    /// Source: specification 0.9, section 16.2.
    pub fn headers<'a>(
        &'a self,
        formats: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Headers, StoreError>> {
        Box::pin(async move {
            let tree = self.tree();
            let paths = formats.iter().map(|format| format!("headers/{format}"));
            let paths: Vec<String> = paths.collect();
            tree.ask(paths.iter().map(document_at).collect()).await?;
            let mut finder = Finder::new(tree);
            let mut headers = BTreeMap::new();
            for (format, path) in formats.iter().zip(&paths) {
                if let Some(node) = finder.node(path) {
                    headers.insert((*format).to_owned(), node.attributes);
                }
            }
            match finder.side.problems.pop() {
                Some(problem) => Err(StoreError::malformed("headers", problem)),
                None => Ok(headers),
            }
        })
    }
}

fn first_round(levels: &[u32]) -> Vec<Question> {
    let mut questions: Vec<Question> = ["parametric", "headers"]
        .map(|path| Question::Names(path.to_owned()))
        .into();
    for part in ["object_attributes", "group_attributes"] {
        questions.push(Question::Names(format!("parametric/{part}")));
    }
    questions.push(Question::Document("zarr.json".to_owned()));
    questions.push(document_at("parametric"));
    for part in ["objects", "names", "groups"] {
        questions.push(document_at(format_args!("parametric/{part}")));
    }
    for level in levels {
        questions.push(Question::Names(level.to_string()));
        questions.push(document_at(format_args!("{level}/geometry_index")));
    }
    questions
}

fn second_round(headers: &[String], kinds: &[(u32, String)]) -> Vec<Question> {
    let mut questions: Vec<Question> = headers
        .iter()
        .map(|format| document_at(format_args!("headers/{format}")))
        .collect();
    for (level, kind) in kinds {
        questions.push(document_at(format_args!("{level}/vertices_{kind}")));
        questions.push(document_at(format_args!("{level}/links_{kind}")));
        questions.push(Question::Names(format!("{level}/vertices_{kind}")));
    }
    questions
}

/// A node as far as it is used here: its kind, attributes and shape.
struct ExtraNode {
    kind: NodeKind,
    attributes: Map<String, Value>,
    shape: Vec<u64>,
}

impl ExtraNode {
    fn number(&self, name: &str) -> Option<u64> {
        self.attributes.get(name)?.as_u64()
    }

    /// The number of rows: the attribute `name`, else the first axis of the array.
    fn rows(&self, name: &str) -> Option<u64> {
        self.number(name).or_else(|| self.shape.first().copied())
    }
}

/// Assembles the groups from documents and listings.
struct Finder<'t> {
    tree: &'t SnapshotTree,
    side: SideGroups,
}

impl<'t> Finder<'t> {
    fn new(tree: &'t SnapshotTree) -> Self {
        Self {
            tree,
            side: SideGroups::default(),
        }
    }

    /// Folders below a prefix; none if the backend cannot list.
    fn folders(&self, prefix: &str) -> Vec<String> {
        let names = self.tree.state().folders(prefix).flatten();
        names.map(|names| names.to_vec()).unwrap_or_default()
    }

    /// At most `MOST` of the [`folders`](Self::folders) that are valid names.
    fn names(&mut self, prefix: &str) -> Vec<String> {
        let mut names = self.folders(prefix);
        names.retain(|name| is_segment(name));
        if names.len() > MOST {
            let more = names.len() - MOST;
            self.problem(format!("{prefix}: {more} more folders are not read"));
            names.truncate(MOST);
        }
        names
    }

    #[cold]
    fn problem(&mut self, what: String) {
        self.side.problems.push(what);
    }

    /// The node at a path; `None` if it does not exist or its document cannot be read.
    fn node(&mut self, path: &str) -> Option<ExtraNode> {
        let key = format!("{path}/zarr.json");
        let bytes = self.tree.document(&key)?;
        let kind = match zvf_meta::node_kind(&bytes) {
            Ok(kind) => kind,
            Err(error) => {
                self.problem(format!("{key}: {error}"));
                return None;
            }
        };
        let mut members: Map<String, Value> = serde_json::from_slice(&bytes).ok()?;
        let attributes = match members.remove("attributes") {
            Some(Value::Object(attributes)) => attributes,
            _ => Map::new(),
        };
        let shape = match members.remove("shape") {
            Some(Value::Array(shape)) => shape.iter().filter_map(Value::as_u64).collect(),
            _ => Vec::new(),
        };
        Some(ExtraNode {
            kind,
            attributes,
            shape,
        })
    }

    fn parametric(&mut self) {
        let group = self.node("parametric");
        let objects = self.node("parametric/objects");
        let folders = self.folders("parametric");
        if group.is_none() && objects.is_none() && folders.is_empty() {
            return;
        }
        let registry = group
            .as_ref()
            .and_then(|group| group.attributes.get("parametric_types"));
        let types = registry.and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut types: Vec<ParametricType> = types
            .map(|(id, value)| ParametricType {
                id: id.clone(),
                name: value.get("name").map(text).unwrap_or_default(),
                coefficients: value
                    .get("coefficients")
                    .and_then(Value::as_array)
                    .map(|names| names.iter().map(text).collect())
                    .unwrap_or_default(),
            })
            .collect();
        // Numbers in numeric order, whatever their order in the document.
        types.sort_by_key(|kind| (kind.id.parse::<u64>().unwrap_or(u64::MAX), kind.id.clone()));
        let columns =
            |node: &ExtraNode| node.number("max_row_length").or(node.shape.get(1).copied());
        let groups = self.node("parametric/groups");
        self.side.parametric = Some(Parametric {
            types,
            objects: objects.as_ref().and_then(|node| node.rows("num_objects")),
            max_row_length: objects.as_ref().and_then(columns),
            named: self.node("parametric/names").is_some(),
            attributes: self.folders("parametric/object_attributes"),
            groups: groups.and_then(|node| node.rows("num_groups")),
            group_attributes: self.folders("parametric/group_attributes"),
        });
    }

    fn header(&mut self, format: String) {
        let attributes = self
            .node(&format!("headers/{format}"))
            .map(|node| node.attributes)
            .unwrap_or_default();
        let size = |value: &Value| wide(value.to_string().len());
        let members = attributes
            .iter()
            .map(|(name, value)| (name.clone(), size(value)))
            .collect();
        self.side.headers.push(Header { format, members });
    }

    /// The further kinds of geometry of a level, from its index and its folders.
    fn kinds(&mut self, level: u32) -> Vec<String> {
        let index = self.node(&format!("{level}/geometry_index"));
        let mut kinds: Vec<String> = index
            .map(|index| index.attributes.keys().cloned().collect())
            .unwrap_or_default();
        let folders = self.folders(&level.to_string());
        let named = folders
            .iter()
            .filter_map(|name| name.strip_prefix("vertices_"));
        kinds.extend(named.map(str::to_owned));
        kinds.retain(|kind| is_segment(kind));
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() > MOST {
            let more = kinds.len() - MOST;
            self.problem(format!("{level}: {more} more kinds are not read"));
            kinds.truncate(MOST);
        }
        kinds
    }

    fn composite(&mut self, level: u32, kind: String) {
        let path = format!("{level}/vertices_{kind}");
        let index = self.node(&format!("{level}/geometry_index"));
        let entry = index.and_then(|index| index.attributes.get(&kind).cloned());
        let stated = |name: &str| entry.as_ref()?.get(name)?.as_u64();
        let vertices = self.node(&path);
        let links = self.node(&format!("{level}/links_{kind}"));
        if entry.is_none() && vertices.is_none() && links.is_none() {
            return;
        }
        let chunks = match &vertices {
            Some(node) if node.kind == NodeKind::Array => cells(node),
            _ => self.children(&path),
        };
        let count = links
            .as_ref()
            .and_then(|node| node.rows("link_count"))
            .or_else(|| stated("edge_count"))
            .or_else(|| stated("face_count"))
            .or_else(|| stated("polyline_count"));
        let links_refused = match (&links, chunks) {
            (None, _) | (_, Some(0 | 1)) => None,
            (Some(_), Some(n)) => Some(format!(
                "they name vertices by input number, and the vertices are in {n} chunks"
            )),
            (Some(_), None) => Some(
                "they name vertices by input number, and the number of chunks is not known"
                    .to_owned(),
            ),
        };
        self.side.composite.push(Composite {
            level,
            vertices: stated("vertex_count").or_else(|| vertices.as_ref()?.number("vertex_count")),
            chunks,
            link_width: links
                .as_ref()
                .and_then(|node| node.number("link_width").or(node.shape.get(1).copied())),
            links: count,
            links_refused,
            kind,
        });
    }

    /// Chunks of a group with one child per chunk; `None` if it cannot be listed or chunks are packed together.
    fn children(&self, path: &str) -> Option<u64> {
        let names = self.tree.state().folders(path).flatten()?;
        let is_key = |name: &&String| name.split('.').all(|part| part.parse::<i64>().is_ok());
        if names.iter().any(|name| name.starts_with("__shard_")) {
            return None;
        }
        u64::try_from(names.iter().filter(is_key).count()).ok()
    }

    fn packing(&mut self) {
        let Some(bytes) = self.tree.document("zarr.json") else {
            return;
        };
        let root: Option<Value> = serde_json::from_slice(&bytes).ok();
        let attributes = root.as_ref().and_then(|root| root.get("attributes"));
        let member = |name: &str| attributes.and_then(|attributes| attributes.get(name));
        let (layout, size) = (member("shard_layout"), member("shard_size"));
        if layout.is_some() || size.is_some() {
            self.side.packing = Some(Packing {
                layout: layout
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                size: size.and_then(Value::as_u64),
            });
        }
    }

    fn unknown(&mut self, levels: &[u32]) {
        let mut unknown: Vec<String> = self
            .folders("")
            .into_iter()
            .filter(|name| {
                parse_level(name).is_none() && !matches!(name.as_str(), "parametric" | "headers")
            })
            .collect();
        for level in levels {
            let folders = self.folders(&level.to_string());
            let strange = folders
                .iter()
                .filter(|name| !is_known_family(name) && *name != "groupings_attributes");
            unknown.extend(strange.map(|name| format!("{level}/{name}")));
        }
        self.side.unknown = unknown;
    }
}

/// Chunks of a chunk-grid array: as many as its presence list has, else 1 if its grid has a single cell.
fn cells(node: &ExtraNode) -> Option<u64> {
    match node.attributes.get("nonempty_chunks") {
        Some(Value::Array(keys)) => Some(wide(keys.len())),
        _ if node.shape.iter().all(|cells| *cells <= 1) => Some(1),
        _ => None,
    }
}

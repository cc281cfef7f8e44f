//! Finds the stored object that a path inside a store names, and describes its bytes, for tools that show single blobs.
//!
//! Only documents are read, one by one, and the offsets of the rows of a blob, if they are a blob beside it. The object itself is not read.
//! Documents around the array that are missing or damaged count as unknown.

mod blobs;
mod facts;
mod kind;
mod numbers;
mod object;

use std::io::Read;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use zvf_format::int::wide;
use zvf_meta::space::chunk_of_cell;
use zvf_meta::{ArrayAttributes, ArrayDoc, GroupDoc, MetaError, NodeKind, RootDoc, node_kind};

pub use facts::CellFacts;
pub use kind::CellKind;
pub use object::{Located, LocatedObject};

use numbers::{coordinate, elements, sized};

use crate::container::packed::cell_key;
use crate::coord::ChunkCoord;
use crate::layout::object_key;
use crate::{ElementPlace, RawStore, StoreError, open_file, stored_type};

/// The folder of the store around a local file of a chunk, and the key of the file in it; `None` if it is not such a file.
#[must_use]
pub fn store_around(file: &Path) -> Option<(PathBuf, String)> {
    let is_root = |folder: &&Path| {
        let mut bytes = Vec::new();
        let opened = open_file(&folder.join("zarr.json"));
        let read = opened.and_then(|mut file| file.read_to_end(&mut bytes));
        read.is_ok() && RootDoc::parse(&bytes).is_ok()
    };
    let file = file.canonicalize().ok()?;
    let is_chunks = |folder: &&Path| folder.file_name().is_some_and(|name| name == "c");
    let chunks = file.ancestors().take(25).find(is_chunks)?;
    let array = chunks.parent()?;
    let below = file.strip_prefix(chunks).ok()?.to_str()?;
    let is_separator = |letter: u8| std::path::is_separator(letter.into());
    let numbers = below
        .bytes()
        .all(|letter| letter.is_ascii_digit() || is_separator(letter));
    if below.is_empty() || !numbers || !array.join("zarr.json").is_file() {
        return None;
    }
    let root = array.ancestors().skip(1).take(8).find(is_root)?;
    let path = file.strip_prefix(root).ok()?.to_str()?.to_owned();
    Some((root.to_owned(), path))
}

impl RawStore {
    /// Finds what `path` names: an array with a chunk key or row (`element`, or after a blank in `path`), an object, or a document.
    ///
    /// # Cost
    /// One request for each document that describes the object, and one for the offsets of the rows of a blob; a listing of a family whose blobs are
    /// packed.
    ///
    /// # Errors
    /// Misuse: there is no such array, chunk or row. Malformed: the document of the array cannot be read. Unsupported: the data type of the array. I/O.
    pub fn locate<'a>(
        &'a self,
        path: &'a str,
        element: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Located, StoreError>> {
        Box::pin(locate(self, path, element))
    }

    /// The document of an array; `None` if there is none, or a group.
    async fn array(&self, path: &str) -> Result<Option<ArrayDoc>, StoreError> {
        let key = format!("{path}/zarr.json");
        match self.read(&key).await? {
            Some(bytes) if !matches!(node_kind(&bytes), Ok(NodeKind::Group)) => {
                let doc = ArrayDoc::parse(&bytes);
                doc.map(Some).map_err(|e| StoreError::document(key, e))
            }
            _ => Ok(None),
        }
    }

    /// The document of the node at `path`; one that is missing or damaged counts as unknown.
    async fn known<T>(
        &self,
        path: &str,
        parse: impl Fn(&[u8]) -> Result<T, MetaError>,
    ) -> Option<T> {
        let key = format!("{path}/zarr.json");
        let bytes = self.read(key.trim_start_matches('/')).await.ok().flatten();
        bytes.and_then(|bytes| parse(&bytes).ok())
    }

    /// The attributes of the group of a family; none if they cannot be read.
    async fn family(&self, path: &str) -> ArrayAttributes {
        let parse = |bytes: &[u8]| ArrayAttributes::from_group(&GroupDoc::parse(bytes)?);
        self.known(path, parse).await.unwrap_or_default()
    }
}

async fn locate(raw: &RawStore, path: &str, element: Option<&str>) -> Result<Located, StoreError> {
    let path = path.trim().trim_matches('/');
    let (path, element) = match (element, path.rsplit_once(char::is_whitespace)) {
        (Some(element), _) => (path, Some(element.trim())),
        (None, Some((path, element))) => (path.trim_end().trim_end_matches('/'), Some(element)),
        (None, None) => (path, None),
    };
    if let Some(element) = element {
        return match raw.array(path).await? {
            Some(doc) => in_array(raw, path, &doc, element).await,
            None => blobs::of_family(raw, path, element).await?.ok_or_else(|| {
                StoreError::misuse(format!("no array {path:?} with {element:?} in the store"))
            }),
        };
    }
    if path.is_empty() {
        return Ok(Located::Document("zarr.json".into()));
    }
    if path == "zarr.json" || path.ends_with("/zarr.json") {
        return Ok(Located::Document(path.into()));
    }
    if let Some((array, rest)) = path.rsplit_once("/c/")
        && let Some(doc) = raw.array(array).await?
    {
        if blobs::is_blob(array, &doc) {
            return blobs::blob(raw, array, &doc, None).await;
        }
        let index = object_index(path, &doc, rest)?;
        return cell(raw, array, &doc, &index, false).await;
    }
    let document = format!("{path}/zarr.json");
    if let Some(bytes) = raw.read(&document).await? {
        return match ArrayDoc::parse(&bytes) {
            Ok(doc) if blobs::is_blob(path, &doc) => blobs::blob(raw, path, &doc, None).await,
            _ => Ok(Located::Document(document)),
        };
    }
    // The last segment may be the key of a chunk.
    if let Some((family, last)) = path.rsplit_once('/') {
        if let Some(found) = blobs::of_family(raw, family, last).await? {
            return Ok(found);
        }
        if coordinate(last).is_some()
            && let Some(doc) = raw.array(family).await?
        {
            return in_array(raw, family, &doc, last).await;
        }
    }
    Err(StoreError::misuse(format!(
        "nothing called {path:?} in the store: no document {document:?}"
    )))
}

/// The element of an array at a chunk key or row.
async fn in_array(
    raw: &RawStore,
    path: &str,
    doc: &ArrayDoc,
    element: &str,
) -> Result<Located, StoreError> {
    if blobs::is_blob(path, doc) {
        return blobs::blob(raw, path, doc, Some(element)).await;
    }
    let index = index_of(path, doc, element)?;
    cell(raw, path, doc, &index, true).await
}

/// The index of the element of the array with a chunk key or row, relative to the array's first element.
fn index_of(path: &str, doc: &ArrayDoc, element: &str) -> Result<Vec<u64>, StoreError> {
    let wrong =
        |what: &str| StoreError::misuse(format!("{path}: found {element:?}, expected {what}"));
    let rank = doc.shape.len();
    let mut named = (0..).map_while(|at| cell_key(doc, at));
    if let Some(at) = named.position(|key| key == Some(element)) {
        return Ok(vec![wide(at)]);
    }
    let example = vec!["0"; rank].join(".");
    let mut parts =
        coordinate(element).ok_or_else(|| wrong(&format!("a chunk key such as {example}")))?;
    // Rows of a table with channels are named by their first number.
    if parts.len() == 1 && rank > 1 && !doc.data_type.is_vlen_bytes() {
        parts.resize(rank, 0);
    }
    if parts.len() != rank {
        return Err(wrong(&format!("{rank} components, such as {example}")));
    }
    if doc.shape.contains(&0) {
        return Err(wrong("nothing: the array has no elements"));
    }
    let grid = doc.grid().map_err(|e| of_document(path, e))?;
    grid.index(&parts).ok_or_else(|| {
        let last = doc.shape.iter().map(|extent| extent - 1);
        let last: Vec<i64> = chunk_of_cell(&grid.origin, last).collect();
        let (first, last) = (ChunkCoord::new(&grid.origin), ChunkCoord::new(&last));
        wrong(&format!("an element from {first} to {last}"))
    })
}

/// The first element of the object with the key `c/REST`.
fn object_index(path: &str, doc: &ArrayDoc, rest: &str) -> Result<Vec<u64>, StoreError> {
    let parts = rest.split(['/', '.']).map(|part| part.parse::<u64>());
    let parts: Option<Vec<u64>> = parts.collect::<Result<_, _>>().ok();
    let rank = doc.shape.len();
    let parts = parts.filter(|parts| parts.len() == rank).ok_or_else(|| {
        StoreError::misuse(format!(
            "{path}: expected an object key with {rank} numbers after c/"
        ))
    })?;
    let pairs = parts.iter().zip(&doc.chunk_shape);
    Ok(pairs
        .map(|(part, extent)| part.saturating_mul(*extent))
        .collect())
}

/// The object with the element `index` of an array, and the facts about the element. `exact`: the element is requested, not the whole object.
async fn cell(
    raw: &RawStore,
    path: &str,
    doc: &ArrayDoc,
    index: &[u64],
    exact: bool,
) -> Result<Located, StoreError> {
    let sharding = doc.sharding().map_err(|e| of_document(path, e))?;
    // A shard is divided into chunks; without shards an object is one.
    let sharded = sharding.is_some();
    let (codecs, shape, index_at_end) = match sharding {
        Some(inner) => (inner.codecs, inner.chunk_shape, inner.index_at_end),
        None => (doc.codecs.clone(), doc.chunk_shape.clone(), true),
    };
    let at = ElementPlace::new(index, &doc.chunk_shape, &shape);
    let grid = doc.chunk_shape.iter().zip(&shape);
    let grid: Vec<u64> = grid.map(|(outer, inner)| outer / (*inner).max(1)).collect();
    let shard = sharded.then(|| CellFacts {
        entries: Some(elements(&grid)),
        element: exact.then_some(at.entry),
        ..CellFacts::default()
    });
    let vlen = doc.data_type.is_vlen_bytes();
    let first = index.first().copied().unwrap_or(0);
    let in_grid = || {
        let grid = doc.grid().ok().filter(|_| vlen && index.len() > 1)?;
        Some(chunk_of_cell(&grid.origin, index.iter().copied()).collect())
    };
    let named = usize::try_from(first).ok().and_then(|at| cell_key(doc, at));
    let chunk = named.flatten().and_then(coordinate).or_else(in_grid);
    let kind = CellKind::of_array(path, doc);
    let mut facts = CellFacts::read(raw, path, &doc.attributes, kind, chunk, None).await;
    facts.elements = Some(elements(&shape));
    facts.element = Some(at.element);
    if !vlen {
        let key = || format!("{path}/zarr.json");
        let name = &doc.data_type.name;
        let dtype = stored_type(&doc.data_type, &codecs);
        let dtype =
            dtype.ok_or_else(|| StoreError::unsupported(key(), format!("data_type {name:?}")))?;
        facts.dtype = Some(dtype);
        facts.width = sized(elements(shape.get(1..).unwrap_or_default()));
        facts.first_row = first % shape.first().copied().unwrap_or(1).max(1);
        let object_rows = doc.chunk_shape.first().copied().unwrap_or(1);
        let object = at.object.first().copied().unwrap_or(0);
        let start = object.saturating_mul(object_rows);
        facts.real_rows = doc.shape.first().map(|rows| rows.saturating_sub(start));
    }
    Ok(Located::Object(Box::new(LocatedObject {
        array: path.into(),
        key: object_key(path, doc, &at.object),
        shard,
        index_at_end,
        codecs,
        stated: None,
        container: vlen.then_some(CellKind::Vlen),
        kind,
        facts,
    })))
}

/// An error of the document of an array.
fn of_document(path: &str, error: MetaError) -> StoreError {
    StoreError::document(format!("{path}/zarr.json"), error)
}

//! A vertex attribute that is computed from positions, chunk by chunk, in bounded memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_meta::ArrayAttributes;
use zvf_store::writing::Redo;
use zvf_store::{CellWant, ChunkCoord};

use super::commit::{declare, level_doc, mark_stale};
use super::edit::{Added, Edit, EditSummary};
use super::grid::{document_of, packing};
use super::{Scope, ops};
use zvf_codec::Compression;
use zvf_encode::documents::{grid_doc, presence};
use zvf_encode::error::OrBug;
use zvf_encode::level::LevelCells;
use zvf_encode::parallel::blocking;
use zvf_encode::target::{ObjectPut, node};
use zvf_encode::{AttributeSpec, AttributeType, Values, WriteError, WriteOptions, documents};
use zvf_format::int::wide;

/// Number of chunks whose positions are read together.
const BATCH: usize = 16;

/// The vertices of one chunk, as returned by [`ColumnEdit::next`].
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkPositions {
    /// The chunk.
    pub chunk: ChunkCoord,
    /// Coordinates of its vertices in stored order, one vertex after another.
    pub positions: Vec<f64>,
    /// Numbers per vertex.
    pub dims: usize,
}

impl ChunkPositions {
    /// Number of vertices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.positions.len() / self.dims.max(1)
    }
}

/// An edit that adds or replaces one vertex attribute of level 0, with values that follow from positions.
///
/// [`next`](Self::next) returns the vertices of one chunk, [`put`](Self::put) accepts their values, until all chunks are done;
/// [`commit`](Self::commit) makes the attribute visible at once, like other edits. Vertices are never written.
///
/// # Cost
/// Reads every cell of vertices once and writes one cell for each. Memory: a batch of positions, and the values of one object (a shard, if cells are
/// in shards). Two more small documents are written, and the staged objects are copied once.
#[derive(Debug)]
pub struct ColumnEdit {
    edit: Edit,
    spec: AttributeSpec,
    path: String,
    cells: LevelCells,
    /// All chunks with vertices, in the order of the objects that contain them.
    chunks: Vec<ChunkCoord>,
    /// The number of chunks that were read, and the number of those that have values.
    given: usize,
    done: usize,
    /// Vertices of chunks that were read but not returned yet, the next one at the end.
    ready: Vec<ChunkPositions>,
    /// The chunk that was returned last, and its number of vertices.
    waiting: Option<(ChunkCoord, usize)>,
    /// Cells of the object that is being collected.
    filling: Vec<(ChunkCoord, Vec<u8>)>,
    object: Vec<u64>,
    put: BTreeSet<String>,
    old: BTreeSet<String>,
    vertices: u64,
}

impl ColumnEdit {
    /// Begins the edit. `replace`: an attribute with this name may exist, of any type.
    ///
    /// # Errors
    /// As [`Edit::open`]. Misuse: a name that is taken or invalid; an attribute of texts; the attribute that splits chunks. Unsupported: vertices in
    /// the layout of an older version, or in another encoding than raw.
    pub fn open<'a>(
        address: &'a str,
        spec: AttributeSpec,
        replace: bool,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            let edit = Edit::open(address, options).await?;
            let (cells, chunks, old, path) = match plan(&edit, &spec, replace) {
                Ok(planned) => planned,
                Err(error) => {
                    edit.abandon().await?;
                    return Err(error);
                }
            };
            Ok(Self {
                edit,
                spec,
                path,
                cells,
                chunks,
                given: 0,
                done: 0,
                ready: Vec::new(),
                waiting: None,
                filling: Vec::new(),
                object: Vec::new(),
                put: BTreeSet::new(),
                old,
                vertices: 0,
            })
        })
    }

    /// The number of chunks with vertices, which [`next`](Self::next) returns one after another.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The vertices of the next chunk; `None` if all chunks have their values.
    ///
    /// # Errors
    /// Misuse: the previous chunk has no values yet. I/O; malformed cells.
    pub async fn next(&mut self) -> Result<Option<ChunkPositions>, WriteError> {
        self.next_chunk().await
    }

    fn next_chunk(&mut self) -> BoxFuture<'_, Result<Option<ChunkPositions>, WriteError>> {
        Box::pin(async move {
            if let Some((chunk, _)) = &self.waiting {
                let found = format!("no values of chunk {:?}", chunk.as_slice());
                return Err(WriteError::input(
                    "column",
                    found,
                    "values before the next chunk",
                ));
            }
            if self.ready.is_empty() {
                let rest = self
                    .chunks
                    .get(self.given..)
                    .or_bug("chunks that were given twice")?;
                let batch = rest.chunks(BATCH).next().unwrap_or_default();
                self.ready = read(&self.edit, batch).await?;
                self.ready.reverse();
                self.given += batch.len();
            }
            let Some(next) = self.ready.pop() else {
                return Ok(None);
            };
            self.waiting = Some((next.chunk.clone(), next.count()));
            Ok(Some(next))
        })
    }

    /// Accepts the values of the chunk that [`next`](Self::next) returned last: one row per vertex, in the same order.
    ///
    /// # Errors
    /// Misuse: no such chunk, another number or type of values. I/O.
    pub fn put<'a>(&'a mut self, values: &'a Values) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let rows = self.waiting.as_ref().map_or(0, |(_, rows)| *rows);
            let bytes = ops::column_bytes("vertex attribute", &self.spec, values, rows)?;
            self.put_bytes(bytes).await
        })
    }

    /// Like [`put`](Self::put), for values in stored form: little-endian, of the type of the attribute.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_bytes(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(async move {
            let size = zvf_encode::batches::row_size(&self.spec);
            let is_whole = |rows: usize| rows.checked_mul(size) == Some(bytes.len());
            // After an error, the chunk still waits for its values.
            if let Some((_, rows)) = self.waiting.as_ref().filter(|(_, rows)| !is_whole(*rows)) {
                let found = format!("{} bytes", bytes.len());
                return Err(ops::unfit("vertex attribute", &self.spec, found, *rows));
            }
            let Some((chunk, rows)) = self.waiting.take() else {
                return Err(WriteError::input(
                    "column",
                    "values",
                    "a chunk before its values",
                ));
            };
            let object = self.cells.object_index(&chunk)?;
            if object != self.object {
                self.flush().await?;
                self.object = object;
            }
            self.filling.push((chunk, bytes));
            self.done += 1;
            self.vertices += wide(rows);
            Ok(())
        })
    }

    /// Abandons the edit: the store is unchanged.
    ///
    /// # Errors
    /// The worker was shut down.
    pub fn abandon(self) -> BoxFuture<'static, Result<(), WriteError>> {
        self.edit.abandon()
    }

    /// Commits the edit.
    ///
    /// # Errors
    /// Misuse: chunks without values. [`WriteError::Changed`]; I/O. The store is unchanged, unless [`WriteError::is_committed`].
    pub fn commit(mut self) -> BoxFuture<'static, Result<EditSummary, WriteError>> {
        Box::pin(async move {
            let ready = self.finish().await;
            let root = match ready {
                Ok(root) => root,
                Err(error) => {
                    let journal = self.edit.journal;
                    return blocking(move || Err(journal.fail(error))).await;
                }
            };
            let Self {
                edit,
                put,
                old,
                chunks,
                ..
            } = self;
            let journal = edit.journal;
            blocking(move || {
                let written = journal.commit_staged(put, old, &root)?;
                Ok(EditSummary {
                    chunks: wide(chunks.len()),
                    put: written.put,
                    removed: written.removed,
                    ..EditSummary::default()
                })
            })
            .await
        })
    }

    /// Stages the remaining cells and the documents; returns the new root.
    async fn finish(&mut self) -> Result<zvf_meta::RootDoc, WriteError> {
        if self.done < self.chunks.len() {
            let found = format!("values of {} chunks", self.done);
            let expected = format!("values of all {}", self.chunks.len());
            return Err(WriteError::input("column", found, expected));
        }
        self.flush().await?;
        let present = presence(self.chunks.iter().map(ChunkCoord::as_slice))?;
        let attributes = ArrayAttributes {
            zv_array: Some("attribute".to_owned()),
            dtype: Some(self.spec.values.name()),
            ..documents::channels(&self.spec)
        };
        let document = grid_doc(&self.cells, &self.path, present, attributes);
        let mut objects = vec![node(&self.path, document.to_json())];
        let state = &self.edit.state;
        if state.level.vertex_attributes().is_empty() {
            objects.push(node("0/vertex_attributes", documents::plain_group()));
        }
        let families = BTreeSet::from(["vertex_attributes".to_owned()]);
        let doc = level_doc(&self.edit, (0, 0), &families)?;
        objects.push(node(0, doc.to_json()));
        self.edit.added.push(Added {
            scope: Scope::Vertex,
            spec: self.spec.clone(),
        });
        let mut root = self.edit.root.clone();
        declare(&self.edit, &mut root)?;
        root.record(self.edit.history.clone());
        let store = self.edit.state.level.store().clone();
        if store.levels().len() > 1 {
            mark_stale(
                &mut root,
                self.chunks.iter().map(ChunkCoord::as_slice),
                false,
            );
        }
        self.stage(objects).await?;
        store.verify(self.edit.state.level.next_round()).await?;
        Ok(root)
    }

    /// Stages the collected object.
    async fn flush(&mut self) -> Result<(), WriteError> {
        let filling = std::mem::take(&mut self.filling);
        if filling.is_empty() {
            return Ok(());
        }
        let (cells, path) = (self.cells.clone(), self.path.clone());
        let objects = blocking(move || {
            let (chunks, payloads): (Vec<_>, Vec<_>) = filling.into_iter().unzip();
            let given = chunks
                .iter()
                .map(ChunkCoord::as_slice)
                .zip(payloads)
                .collect();
            cells.objects(&path, given)
        })
        .await?;
        self.stage(objects).await
    }

    /// Puts objects into the folder of the edit.
    async fn stage(&mut self, objects: Vec<ObjectPut>) -> Result<(), WriteError> {
        self.put.extend(objects.iter().map(|(key, _)| key.clone()));
        let target = Arc::clone(&self.edit.target);
        let folder = Redo::folder_of(self.edit.journal.id());
        let staged = move |(key, bytes)| (format!("{folder}/{key}"), bytes);
        blocking(move || target.put(objects.into_iter().map(staged).collect())).await
    }
}

type Planned = (LevelCells, Vec<ChunkCoord>, BTreeSet<String>, String);

/// The storage of the new cells, the chunks in the order of their objects, and the current keys of an attribute with this name.
fn plan(edit: &Edit, spec: &AttributeSpec, replace: bool) -> Result<Planned, WriteError> {
    let what = || format!("vertex attribute {}", spec.name);
    let level = &edit.state.level;
    let AttributeType::Number(number) = spec.values else {
        return Err(WriteError::input(what(), "texts", "numbers"));
    };
    if edit.is_key(&spec.name) {
        let expected = "another name: the values of this attribute are stored in chunk keys";
        return Err(WriteError::input(
            what(),
            "the attribute by which chunks are divided",
            expected,
        ));
    }
    let known = level
        .vertex_attributes()
        .iter()
        .find(|one| one.name == spec.name);
    if known.is_some() && !replace {
        return Err(WriteError::input(
            what(),
            "an existing attribute",
            "a new name, or permission to replace it",
        ));
    }
    let mut checked = edit.state.spec.clone();
    checked
        .vertex_attributes
        .retain(|one| one.name != spec.name);
    checked.vertex_attributes.push(spec.clone());
    checked.check()?;
    let vertices = level.vertices();
    let raw = vertices
        .attributes()
        .encoding
        .as_deref()
        .is_none_or(|one| one == "raw");
    let (Some(doc), true) = (vertices.doc(), raw) else {
        let found = "vertices in another layout or encoding";
        return Err(WriteError::unsupported(
            vertices.path(),
            found,
            "an array of version 0.9 with the encoding raw",
        ));
    };
    let mut cells = packing(vertices.path(), doc)?.of_items(number.size());
    if let Compression::Frames(_) = cells.compression {
        // The stored choice was made for positions, and the new array has other data.
        cells.compression = Compression::Auto;
    }
    let mut chunks: Vec<(Vec<u64>, ChunkCoord)> = Vec::new();
    for chunk in vertices.presence().iter() {
        chunks.push((cells.object_index(chunk)?, ChunkCoord::new(chunk)));
    }
    chunks.sort();
    let path = format!("0/vertex_attributes/{}", spec.name);
    let mut old = BTreeSet::new();
    if let Some(known) = known {
        let stored = packing(known.array.path(), document_of(&known.array)?)?;
        for chunk in known.array.presence().iter() {
            old.insert(stored.key(&path, chunk)?);
        }
    }
    let chunks = chunks.into_iter().map(|(_, chunk)| chunk).collect();
    Ok((cells, chunks, old, path))
}

/// Reads the vertices of some chunks.
async fn read(edit: &Edit, chunks: &[ChunkCoord]) -> Result<Vec<ChunkPositions>, WriteError> {
    let level = &edit.state.level;
    let (vertices, dims) = (level.vertices(), level.dims());
    let number = edit.state.spec.positions;
    let wants = chunks
        .iter()
        .map(|chunk| CellWant::new(vertices, chunk.as_slice()));
    let cells = level
        .store()
        .fetch(level.next_round(), wants.collect())
        .await?;
    let mut read = Vec::with_capacity(chunks.len());
    for (chunk, cell) in chunks.iter().zip(cells) {
        // A chunk without a stored cell has no vertices.
        let bytes = cell.unwrap_or_default();
        let row = number.size() * dims;
        if !bytes.len().is_multiple_of(row) {
            let place = format!("{} at {:?}", vertices.path(), chunk.as_slice());
            return Err(WriteError::unsupported(
                place,
                format!("{} bytes", bytes.len()),
                "whole rows",
            ));
        }
        read.push(ChunkPositions {
            chunk: chunk.clone(),
            positions: number.to_f64(&bytes),
            dims,
        });
    }
    Ok(read)
}

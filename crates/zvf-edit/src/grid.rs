//! Changes some cells of an array, and preserves the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter::Peekable;
use std::sync::Arc;

use zvf_meta::space::Grid;
use zvf_meta::{ArrayDoc, Codec, KeyEncoding};
use zvf_store::{ChunkCoord, GridArray, Level};

use zvf_codec::{Compression, names};
use zvf_encode::WriteError;
use zvf_encode::documents::presence;
use zvf_encode::error::OrBug;
use zvf_encode::level::{CellContainer, EncodedCells, LevelCells, is_written, object_key};
use zvf_encode::target::{ObjectPut, Target, is_temporary, node};
use zvf_format::shard_lengths;

/// An edit of an array of cells.
#[derive(Debug)]
pub(crate) struct GridEdit {
    path: String,
    doc: ArrayDoc,
    /// The stored array; `None` if it is new.
    stored: Option<Arc<GridArray>>,
    /// New payloads; an empty one removes the cell.
    cells: BTreeMap<ChunkCoord, Vec<u8>>,
    /// Chunks with unchanged cells in objects that are written again.
    kept: Vec<ChunkCoord>,
    /// Keys of current objects that may have no cells afterwards.
    old: BTreeSet<String>,
    grid: Grid,
}

/// All arrays of cells of a level.
pub(crate) async fn cells_of(level: &Level) -> Result<Vec<Arc<GridArray>>, WriteError> {
    let mut arrays = level.arrays();
    let fragments = level.store().grid_array(level.number(), "link_fragments");
    arrays.extend(fragments.await?);
    Ok(arrays)
}

/// The document of an array.
///
/// # Errors
/// [`WriteError::Unsupported`]: an array of an older version, which has no document.
pub(crate) fn document_of(array: &GridArray) -> Result<&ArrayDoc, WriteError> {
    let found = "the layout of another version";
    let refused = || WriteError::unsupported(array.path(), found, "an array of version 0.9");
    array.doc().ok_or_else(refused)
}

/// How the cells of an array are packed; fails if the edit cannot preserve it.
pub(crate) fn packing(path: &str, doc: &ArrayDoc) -> Result<LevelCells, WriteError> {
    let refused =
        |found: String, expected: &str| Err(WriteError::unsupported(path, found, expected));
    if doc.key_encoding != KeyEncoding::default() {
        return refused(
            "another encoding of chunk keys".to_owned(),
            "keys such as c/0/0",
        );
    }
    if !doc.data_type.is_vlen_bytes() || !doc.storage_transformers.is_empty() {
        return refused(doc.data_type.name.clone(), "cells of variable length");
    }
    let sharding = doc.sharding()?;
    let inner = match &sharding {
        Some(sharding) => {
            if !is_written(sharding) {
                let index = sharding.index_codecs.iter();
                let index: Vec<&str> = index.map(|codec| codec.name.as_str()).collect();
                return refused(
                    format!("a shard index with the codecs {index:?}"),
                    "the codecs bytes and crc32c, and the index at the end of the shard",
                );
            }
            if sharding.chunk_shape.iter().any(|&n| n != 1) {
                return refused(format!("{:?}", sharding.chunk_shape), "one cell a chunk");
            }
            &sharding.codecs
        }
        None => &doc.codecs,
    };
    if sharding.is_none() && doc.chunk_shape.iter().any(|&n| n != 1) {
        return refused(
            format!("chunks of {:?}", doc.chunk_shape),
            "one cell a chunk",
        );
    }
    let compression = Compression::behind("vlen-bytes", inner);
    let compression = compression.ok_or_else(|| unwritten(path, inner))?;
    let origin = doc.attributes.chunk_grid_origin.clone();
    let grid = Grid {
        origin: origin.unwrap_or_else(|| vec![0; doc.shape.len()]),
        shape: doc.shape.clone(),
    };
    let shards = sharding.map(|_| doc.chunk_shape.clone());
    Ok(LevelCells::new(
        grid,
        shards,
        compression,
        CellContainer::Grid,
    ))
}

/// The error for codecs that an edit cannot preserve.
#[cold]
pub(crate) fn unwritten(path: &str, codecs: &[Codec]) -> WriteError {
    let found = format!("codecs {}", names(codecs));
    WriteError::unsupported(path, found, "codecs that this build writes")
}

/// The smallest grid that contains two grids.
fn union(a: &Grid, b: &Grid) -> Result<Grid, WriteError> {
    let mut grid = Grid {
        origin: Vec::new(),
        shape: Vec::new(),
    };
    let ends = |origin: i64, extent: u64| i128::from(origin) + i128::from(extent);
    for (((&a0, &an), &b0), &bn) in a.origin.iter().zip(&a.shape).zip(&b.origin).zip(&b.shape) {
        let origin = a0.min(b0);
        let end = ends(a0, an).max(ends(b0, bn));
        let extent = end - i128::from(origin);
        grid.origin.push(origin);
        let most = i64::MAX.unsigned_abs();
        let limit = |_| WriteError::limit("cells along an axis", u64::MAX, most);
        grid.shape.push(u64::try_from(extent).map_err(limit)?);
    }
    Ok(grid)
}

impl GridEdit {
    /// An edit of a stored array.
    pub(crate) fn of(array: &Arc<GridArray>) -> Result<Self, WriteError> {
        let path = array.path().to_owned();
        let doc = document_of(array)?;
        array.check_presence()?;
        if array.attributes().nonempty_chunks.is_none() {
            return Err(WriteError::unsupported(
                path,
                "no list nonempty_chunks",
                "an array with this list",
            ));
        }
        let cells = packing(&path, doc)?;
        Ok(Self {
            path,
            doc: doc.clone(),
            stored: Some(Arc::clone(array)),
            cells: BTreeMap::new(),
            kept: Vec::new(),
            old: BTreeSet::new(),
            grid: cells.grid,
        })
    }

    /// An edit of a new array, without cells.
    pub(crate) fn new(path: String, doc: ArrayDoc) -> Result<Self, WriteError> {
        let grid = packing(&path, &doc)?.grid;
        Ok(Self {
            path,
            doc,
            stored: None,
            cells: BTreeMap::new(),
            kept: Vec::new(),
            old: BTreeSet::new(),
            grid,
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The attributes of the array, to be changed.
    pub(crate) fn attributes(&mut self) -> &mut zvf_meta::ArrayAttributes {
        &mut self.doc.attributes
    }

    /// Sets the payload of a cell; an empty one removes the cell.
    pub(crate) fn set(&mut self, chunk: &[i64], payload: Vec<u8>) {
        self.cells.insert(ChunkCoord::new(chunk), payload);
    }

    /// Whether anything changes, if the level's grid grows to `grid`.
    pub(crate) fn is_needed(&self, grid: &Grid) -> Result<bool, WriteError> {
        let some = self.stored.is_none() || !self.cells.is_empty();
        Ok(some || union(&self.grid, grid)? != self.grid)
    }

    /// Grows the array to contain `grid` and every new cell, and finds the unchanged cells that must be written again: the cells of changed shards,
    /// or all cells if the first cell of the grid moves.
    pub(crate) fn prepare(&mut self, grid: Option<&Grid>) -> Result<(), WriteError> {
        let mut new = match grid {
            Some(grid) => union(&self.grid, grid)?,
            None => self.grid.clone(),
        };
        for (chunk, _) in self.cells.iter().filter(|(_, payload)| !payload.is_empty()) {
            // This array may be smaller than the others of its level.
            let one = Grid {
                origin: chunk.to_vec(),
                shape: vec![1; chunk.len()],
            };
            new = union(&new, &one)?;
        }
        let moved = new.origin != self.grid.origin;
        let Some(array) = self.stored.clone() else {
            self.grid = new;
            return Ok(());
        };
        let mut packed = packing(&self.path, &self.doc)?;
        if !moved {
            // A shard may extend beyond the old grid.
            packed.grid = new.clone();
        }
        let mut changed = BTreeSet::new();
        for chunk in self.cells.keys() {
            if packed.grid.index(chunk).is_some() {
                changed.insert(packed.object_index(chunk)?);
            }
        }
        for chunk in array.presence().iter() {
            // A key outside of the grid belongs to no object.
            if packed.grid.index(chunk).is_none() {
                continue;
            }
            let index = packed.object_index(chunk)?;
            if moved || changed.contains(&index) {
                self.old.insert(object_key(&self.path, &index));
                if !self.cells.contains_key(chunk) {
                    self.kept.push(ChunkCoord::new(chunk));
                }
            }
        }
        self.grid = new;
        Ok(())
    }

    /// Keys of current objects that may have no cells afterwards.
    pub(crate) fn old(&self) -> &BTreeSet<String> {
        &self.old
    }

    /// The objects of the change, in batches, and the document of the array at the end. Unchanged cells are read from `target`.
    pub(crate) fn objects(mut self, target: Arc<Target>) -> Result<GridObjects, WriteError> {
        let mut cells = packing(&self.path, &self.doc)?;
        let mut stored = cells.clone();
        cells.grid = self.grid.clone();
        if cells.grid.origin == stored.grid.origin {
            // A shard may extend beyond the old grid.
            stored.grid.shape.clone_from(&cells.grid.shape);
        }
        if cells.grid.origin != stored.grid.origin && self.stored.is_some() {
            self.check_objects(&target)?;
        }
        let mut present: BTreeSet<ChunkCoord> = BTreeSet::new();
        if let Some(array) = &self.stored {
            present.extend(array.presence().iter().map(ChunkCoord::new));
        }
        for (chunk, payload) in &self.cells {
            if payload.is_empty() {
                present.remove(chunk);
            } else {
                present.insert(chunk.clone());
            }
        }
        self.doc.shape.clone_from(&self.grid.shape);
        let attributes = &mut self.doc.attributes;
        attributes.nonempty_chunks = Some(presence(present.iter().map(ChunkCoord::as_slice))?);
        let origin = self.grid.origin.iter().any(|&o| o != 0);
        attributes.chunk_grid_origin = origin.then(|| self.grid.origin.clone());
        let mut objects: BTreeMap<Vec<u64>, Vec<ChunkCoord>> = BTreeMap::new();
        // A shard is read even if all its listed cells are removed, because it may have cells that the list lacks.
        let removed = |chunk: &ChunkCoord| {
            let sharded = self.stored.is_some() && stored.shards.is_some();
            sharded && stored.grid.index(chunk).is_some()
        };
        let new = self.cells.iter();
        let new = new.filter(|(chunk, payload)| !payload.is_empty() || removed(chunk));
        for chunk in new.map(|(chunk, _)| chunk).chain(&self.kept) {
            let chunks = objects.entry(cells.object_index(chunk)?).or_default();
            chunks.push(chunk.clone());
        }
        Ok(GridObjects {
            read: VecDeque::new(),
            objects: objects.into_iter().peekable(),
            edit: Some(self),
            cells,
            stored,
            target,
        })
    }

    /// Fails if the array has objects without listed cells: they would belong to other chunks after the first chunk of the grid moves.
    fn check_objects(&self, target: &Target) -> Result<(), WriteError> {
        let folder = format!("{}/c", self.path);
        let keys = target.keys_below(&folder)?;
        let mut keys = keys.iter();
        match keys.find(|key| !self.old.contains(*key) && !is_temporary(key)) {
            Some(key) => Err(WriteError::source(
                key,
                "nonempty_chunks of the array lists no cell of this object: `zvf repair` restores the list; if no object has its vertices, \
                 `zvf vacuum` removes it; nothing was changed",
            )),
            None => Ok(()),
        }
    }

    /// Bytes of the cells of a stored shard of this shape, if the document lists them; otherwise 0: the shard is small, or its writer lists no lengths.
    fn listed(&self, shape: Option<&[u64]>, index: &[u64]) -> u64 {
        let lengths = self.doc.attributes.shard_lengths.as_ref();
        let key = KeyEncoding::default().object_key(index);
        let text = lengths.and_then(|lengths| lengths.get(&key)?.as_str());
        let ranges = text.zip(shape);
        let ranges = ranges.and_then(|(text, shape)| shard_lengths::ranges(text, shape));
        let ends = ranges.into_iter().flatten().map(|range| range.end);
        ends.max().unwrap_or(0)
    }

    /// The document of the array, after all its objects are encoded.
    fn document(mut self, cells: &LevelCells) -> ObjectPut {
        let attributes = &mut self.doc.attributes;
        let mut lengths = attributes.shard_lengths.take().unwrap_or_default();
        let new = cells.shard_lengths(&self.path);
        let is_old = |key: &str| self.old.contains(&format!("{}/{key}", self.path));
        lengths.retain(|key, _| new.contains_key(key) || !is_old(key));
        lengths.extend(new);
        attributes.shard_lengths = (!lengths.is_empty()).then_some(lengths);
        node(&self.path, self.doc.to_json())
    }
}

/// Most shards that are written together, and most bytes of them if there are several. Each shard is in memory twice: as it was read, and as it is
/// written.
const SHARDS: usize = 4;
const SHARD_BYTES: u64 = 16 << 20;

/// Objects of single cells that are written together.
const CELLS: usize = 64;

/// The objects of a [`GridEdit`], in batches.
pub(crate) struct GridObjects {
    /// `None` after its document was returned.
    edit: Option<GridEdit>,
    /// How cells are packed after the edit.
    cells: LevelCells,
    /// How cells are packed before the edit.
    stored: LevelCells,
    /// The chunks of each object, by its index: new and kept ones, and for shards also removed ones.
    objects: Peekable<std::collections::btree_map::IntoIter<Vec<u64>, Vec<ChunkCoord>>>,
    /// Stored objects that were read last.
    read: VecDeque<StoredObject>,
    target: Arc<Target>,
}

/// A stored object that was read.
struct StoredObject {
    key: String,
    index: Vec<u64>,
    /// Its cells; `None` if there is no such object.
    cells: Option<EncodedCells>,
}

impl GridObjects {
    fn some(&mut self) -> Result<Option<Vec<ObjectPut>>, WriteError> {
        let Some(mut edit) = self.edit.take() else {
            return Ok(None);
        };
        let chunks = self.batch(&edit);
        if chunks.is_empty() {
            return Ok(Some(vec![edit.document(&self.cells)]));
        }
        let path = edit.path.clone();
        let moved = self.cells.grid.origin != self.stored.grid.origin;
        let (mut new, mut kept, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in &chunks {
            match edit.cells.get_mut(chunk) {
                Some(payload) if payload.is_empty() => removed.push(chunk.as_slice()),
                Some(payload) => new.push((chunk.as_slice(), std::mem::take(payload))),
                None => kept.push(chunk.as_slice()),
            }
        }
        if self.cells.shards.is_none() || edit.stored.is_none() {
            self.read(&path, &kept)?;
        } else {
            // Every shard that is written again or removed, because it may have cells that the list lacks.
            let mut all = [kept.as_slice(), removed.as_slice()].concat();
            if !moved {
                all.extend(new.iter().map(|(chunk, _)| *chunk));
            }
            self.read(&path, &all)?;
        }
        let mut encoded = Vec::with_capacity(kept.len());
        for chunk in kept {
            let key = self.stored.key(&path, chunk)?;
            let found = self.read.iter().find(|one| one.key == key);
            let found = found.or_bug(format_args!("{key} was not read"))?;
            let bytes = match &found.cells {
                Some(object) => self.stored.encoded_cell(object, chunk)?,
                None => None,
            };
            // A lost cell stays an error; otherwise the new object would hide the loss.
            let lost = || {
                let place = format!("{key} at chunk {chunk:?}");
                WriteError::source(
                    place,
                    "nonempty_chunks lists the chunk, but its cell is not stored",
                )
            };
            encoded.push((chunk, bytes.ok_or_else(lost)?));
        }
        let unlisted = match &edit.stored {
            Some(array) if self.cells.shards.is_some() => self.unlisted(&edit, array)?,
            _ => Vec::new(),
        };
        match unlisted.first() {
            Some((chunk, _)) if moved => {
                let found = format!(
                    "nonempty_chunks does not list chunk {chunk:?}, but its cell is stored: `zvf repair` restores the list; nothing was changed"
                );
                return Err(WriteError::source(path, found));
            }
            // Unlisted cells are written again unchanged, so that `zvf repair` finds them.
            _ => encoded.extend(
                unlisted
                    .iter()
                    .map(|(chunk, bytes)| (chunk.as_slice(), *bytes)),
            ),
        }
        let objects = self.cells.objects_with(&path, new, &encoded)?;
        self.edit = Some(edit);
        Ok(Some(objects))
    }

    /// The chunks of the objects that are written next.
    fn batch(&mut self, edit: &GridEdit) -> Vec<ChunkCoord> {
        let most = match self.cells.shards {
            // The cells of one new shard may come from several old ones.
            Some(_) if self.cells.grid.origin != self.stored.grid.origin => 1,
            Some(_) => SHARDS,
            None => CELLS,
        };
        let shape = self.stored.shards.as_deref();
        let (mut chunks, mut bytes) = (Vec::new(), 0_u64);
        for count in 0..most {
            let next = self.objects.next_if(|(index, _)| {
                bytes = bytes.saturating_add(edit.listed(shape, index));
                count == 0 || bytes <= SHARD_BYTES
            });
            let Some((_, of_one)) = next else { break };
            chunks.extend(of_one);
        }
        chunks
    }

    /// The cells of the read shards that neither the edit nor the presence list names. Concurrent writers can lose entries of the list (0.9, trap T34).
    fn unlisted<'s>(
        &'s self,
        edit: &GridEdit,
        array: &GridArray,
    ) -> Result<Vec<(ChunkCoord, &'s [u8])>, WriteError> {
        let mut unlisted = Vec::new();
        for one in &self.read {
            let Some(cells) = &one.cells else { continue };
            let cells = self.stored.cells_of(&one.index, cells)?.into_iter();
            let known = |chunk: &ChunkCoord| {
                edit.cells.contains_key(chunk) || array.presence().contains(chunk.as_slice())
            };
            unlisted.extend(cells.filter(|(chunk, _)| !known(chunk)));
        }
        Ok(unlisted)
    }

    /// Reads the stored objects of some chunks, and drops all others.
    fn read(&mut self, path: &str, chunks: &[&[i64]]) -> Result<(), WriteError> {
        let mut wanted: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for chunk in chunks {
            let index = self.stored.object_index(chunk)?;
            wanted.insert(object_key(path, &index), index);
        }
        self.read.retain(|one| wanted.remove(&one.key).is_some());
        let keys: Vec<String> = wanted.keys().cloned().collect();
        let found = self.target.read_all(&keys)?;
        for ((key, index), bytes) in wanted.into_iter().zip(found) {
            let cells = bytes.map(|bytes| self.stored.encoded(path, &index, bytes));
            let cells = cells.transpose()?;
            self.read.push_back(StoredObject { key, index, cells });
        }
        Ok(())
    }
}

impl Iterator for GridObjects {
    type Item = Result<Vec<ObjectPut>, WriteError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.some().transpose()
    }
}

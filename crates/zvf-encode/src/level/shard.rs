//! Packs cells into objects: one object per cell, shards (0.9 §4.2 and §4.4), or one array per cell (0.8 §3.1).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use serde_json::json;
use zerocopy::IntoBytes;
use zvf_format::shard::{ShardEntry, ShardIndex};
use zvf_format::shard_lengths::{curve, stored_order, to_text};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::space::{Grid, chunk_of_cell};
use zvf_meta::{Codec, JsonObject, KeyEncoding, Sharding};
use zvf_store::owners::is_owner_column;
use zvf_store::{ChunkCoord, GridArray, Level};

use crate::WriteError;
use crate::documents::array::{INDEX, vlen_codecs};
use crate::error::{OrBug, internal, to_index};
use crate::level::blobs;
use crate::lock::lock;
use crate::target::{ObjectPut, Payloads};
use zvf_codec::{CodecSample, Compression};
use zvf_format::int::wide;

/// A cell of a shard: its places along the Morton curve and in the index, and its bytes.
type ShardCell<'c> = (u128, usize, Cow<'c, [u8]>);

/// The encoded cells of one stored object, by their place in it.
#[derive(Debug)]
pub struct EncodedCells {
    bytes: Vec<u8>,
    cells: Vec<Option<Range<usize>>>,
}

/// The container of the cells of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellContainer {
    /// One array with one element per cell.
    Grid,
    /// A group with one array per cell.
    Blobs,
}

/// Where the cells of all arrays of a level are stored: they share one grid (trap T6).
#[derive(Debug, Clone)]
pub struct LevelCells {
    /// The grid of chunks; not used by [`CellContainer::Blobs`].
    pub grid: Grid,
    /// Cells of a shard along each component of chunk keys; `None`: every cell is a separate object.
    pub shards: Option<Vec<u64>>,
    /// How cells are compressed; [`Compression::Auto`]: as [chosen](Self::choose) for each array.
    pub compression: Compression,
    /// The container of the cells.
    pub container: CellContainer,
    /// Bytes of an item.
    items: usize,
    chosen: ChosenCompressions,
    /// The shard shapes of arrays of links, by path, shared by clones like [`ChosenCompressions`]. `None`: links have the shards of the level.
    link_shards: Option<LinkShards>,
    listed: ShardLengthLists,
}

/// If the cells of a shard have more bytes than this, the document of the array lists their lengths. A reader that requests the index of a smaller shard
/// gets the whole shard.
const LISTED: usize = 64 << 10;

/// The lengths of the cells of large shards as texts, by the path of the array and the index of the shard.
pub type ShardTexts = BTreeMap<String, BTreeMap<Vec<u64>, String>>;

/// The lengths of the shards that were encoded; shared like [`ChosenCompressions`].
#[derive(Debug, Clone, Default)]
struct ShardLengthLists(Arc<Mutex<ShardTexts>>);

impl ShardLengthLists {
    fn add(&self, path: &str, index: &[u64], lengths: String) {
        let mut listed = lock(&self.0);
        let shards = listed.entry(path.to_owned()).or_default();
        shards.insert(index.to_vec(), lengths);
    }

    /// The lengths of the shards of an array, by their keys inside it.
    fn of(&self, path: &str) -> JsonObject {
        let listed = lock(&self.0);
        let shards = listed.get(path).into_iter().flatten();
        let key = |index: &Vec<u64>| KeyEncoding::default().object_key(index);
        let shards = shards.map(|(index, text)| (key(index), text.as_str().into()));
        shards.collect()
    }
}

/// The shard shapes of arrays of links, in cells, by path.
type LinkShards = Arc<Mutex<BTreeMap<String, Vec<u64>>>>;

/// The compressions that were chosen for arrays, by path; shared by all clones of the cells of a level.
#[derive(Debug, Clone, Default)]
struct ChosenCompressions(Arc<Mutex<BTreeMap<String, Compression>>>);

impl ChosenCompressions {
    fn get(&self, path: &str) -> Option<Compression> {
        let chosen = lock(&self.0);
        chosen.get(path).cloned()
    }

    fn set(&self, path: &str, compression: &Compression) {
        let mut chosen = lock(&self.0);
        chosen.insert(path.to_owned(), compression.clone());
    }
}

impl LevelCells {
    /// Cells of a level for which no compression is chosen yet.
    pub fn new(
        grid: Grid,
        shards: Option<Vec<u64>>,
        compression: Compression,
        container: CellContainer,
    ) -> Self {
        Self {
            grid,
            shards,
            compression,
            container,
            items: INDEX,
            chosen: ChosenCompressions::default(),
            link_shards: None,
            listed: ShardLengthLists::default(),
        }
    }

    /// The same cells. If `chosen` is true and the level has shards, each array of links has shards of its own, whose shape is chosen when it is written.
    #[must_use]
    pub fn with_link_shards(self, chosen: bool) -> Self {
        let chosen = chosen && self.shards.is_some() && self.container == CellContainer::Grid;
        Self {
            link_shards: chosen.then(Arc::default),
            ..self
        }
    }

    /// Whether arrays of links have shards of their own.
    #[must_use]
    pub fn has_link_shards(&self) -> bool {
        self.link_shards.is_some()
    }

    /// Chooses the shard shape of the array of links at `path`, if links have shards of their own. `choose` receives the shape of the level.
    pub(crate) fn choose_link_shards(&self, path: String, choose: impl FnOnce(&[u64]) -> Vec<u64>) {
        if let (Some(chosen), Some(level)) = (&self.link_shards, &self.shards) {
            let mut chosen = lock(chosen);
            chosen.insert(path, choose(level));
        }
    }

    /// Where the cells of the array of links at `path` are stored.
    pub(crate) fn of_links(&self, path: &str) -> Self {
        let own = self.link_shards.as_ref().and_then(|chosen| {
            let chosen = lock(chosen);
            chosen.get(path).cloned()
        });
        Self {
            shards: own.or_else(|| self.shards.clone()),
            ..self.clone()
        }
    }

    /// The same cells for an array with items of `bytes` bytes: codecs that depend on the item size are adapted.
    pub fn of_items(&self, bytes: usize) -> Self {
        Self {
            compression: self.compression.of_items(bytes),
            items: bytes,
            ..self.clone()
        }
    }

    /// Chooses the compression of the array at `path` from a sample of these cells, if [`Compression::Auto`] is requested and none is chosen yet.
    /// Chooses nothing if all cells are empty. Jobs that write one array on several threads call it in [turn](crate::parallel::Turn), so that the
    /// choice does not depend on the threads. Other writers need not call it, because [`objects`](Self::objects) does.
    ///
    /// # Errors
    /// Limit: a payload of more than 4 GiB.
    pub fn choose(&self, path: &str, cells: &Payloads<'_>) -> Result<(), WriteError> {
        if self.compression != Compression::Auto || self.chosen.get(path).is_some() {
            return Ok(());
        }
        let cells: Vec<_> = cells.iter().filter(|(_, cell)| !cell.is_empty()).collect();
        if cells.is_empty() {
            return Ok(());
        }
        let first_bytes = |at: usize, most: usize| -> Result<Vec<u8>, WriteError> {
            let (chunk, payload) = cells.get(at).or_bug("a cell beyond those of a sample")?;
            let payload = payload.get(..most).unwrap_or(payload);
            let cell = VlenBuilder::cell(payload);
            cell.map_err(|source| WriteError::encode(format!("{path} at {chunk:?}"), source))
        };
        let sizes = cells.iter().map(|(_, payload)| payload.len());
        let sample = CodecSample::of(sizes, first_bytes)?;
        let chosen = self.compression.chosen(self.items, &sample)?;
        self.chosen.set(path, &chosen);
        Ok(())
    }

    /// Sets the compression of the array at `path` to zstd, if it was not chosen from a sample of its cells.
    pub fn settle(&self, path: &str) {
        if self.compression == Compression::Auto && self.chosen.get(path).is_none() {
            self.chosen.set(path, &Compression::Zstd);
        }
    }

    /// The compression of the array at `path`.
    fn compression_of(&self, path: &str) -> Compression {
        let chosen = match self.compression {
            Compression::Auto => self.chosen.get(path),
            _ => None,
        };
        chosen.unwrap_or_else(|| self.compression.clone())
    }

    /// The same compression, with one array per cell.
    pub(crate) fn loose(&self) -> Self {
        Self {
            container: CellContainer::Blobs,
            shards: None,
            ..self.clone()
        }
    }

    /// Returns the index of the object that holds the cell of a chunk; chunks with the same index share an object.
    ///
    /// # Errors
    /// Misuse: a chunk outside of the grid.
    pub fn object_index(&self, chunk: &[i64]) -> Result<Vec<u64>, WriteError> {
        if self.container == CellContainer::Blobs {
            return Ok(blobs::index(chunk));
        }
        let Some(mut index) = self.grid.index(chunk) else {
            let expected = format!("from {:?}, {:?} cells", self.grid.origin, self.grid.shape);
            return Err(WriteError::input("chunk", format!("{chunk:?}"), expected));
        };
        if let Some(shards) = &self.shards {
            index
                .iter_mut()
                .zip(shards)
                .for_each(|(at, cells)| *at /= cells.max(&1));
        }
        Ok(index)
    }

    /// Returns the key of the object that holds the cell of a chunk, in an array at `path`.
    ///
    /// # Errors
    /// As [`object_index`](Self::object_index).
    pub fn key(&self, path: &str, chunk: &[i64]) -> Result<String, WriteError> {
        Ok(object_key(path, &self.object_index(chunk)?))
    }

    /// Encodes cells of the array at `path`, given by chunk, as the objects that hold them. If cells are in shards, all cells of a shard must be
    /// given together. There is no cell for an empty payload.
    ///
    /// # Errors
    /// Misuse: a chunk outside of the grid. Limit: a payload of more than 4 GiB. Bug: two payloads of one chunk.
    pub fn objects(&self, path: &str, cells: Payloads<'_>) -> Result<Vec<ObjectPut>, WriteError> {
        if self.container == CellContainer::Blobs {
            return blobs::objects(path, cells, &self.compression);
        }
        self.objects_with(path, cells, &[])
    }

    /// Like [`objects`](Self::objects), with additional cells that are already [encoded](Self::encoded) with the codecs of this array.
    ///
    /// # Errors
    /// As [`objects`](Self::objects). Bug: cells of [`CellContainer::Blobs`].
    pub fn objects_with<'c>(
        &self,
        path: &str,
        cells: Payloads<'_>,
        encoded: &[(&[i64], &'c [u8])],
    ) -> Result<Vec<ObjectPut>, WriteError> {
        internal!(
            self.container == CellContainer::Grid,
            "cells of {path} without a grid"
        );
        self.choose(path, &cells)?;
        let compression = self.compression_of(path);
        let failed =
            |chunk: &[i64], source| WriteError::encode(format!("{path} at {chunk:?}"), source);
        let mut together: BTreeMap<Vec<u64>, Vec<ShardCell<'c>>> = BTreeMap::new();
        let mut add = |chunk: &[i64], bytes: Cow<'c, [u8]>| -> Result<(), WriteError> {
            let (curve, place) = self.inside(chunk)?;
            let cells = together.entry(self.object_index(chunk)?).or_default();
            cells.push((curve, place, bytes));
            Ok(())
        };
        for (chunk, payload) in cells.into_iter().filter(|(_, payload)| !payload.is_empty()) {
            let bytes = VlenBuilder::cell(&payload).map_err(|source| failed(chunk, source))?;
            add(chunk, compression.encode(bytes)?.into())?;
        }
        for &(chunk, bytes) in encoded {
            add(chunk, bytes.into())?;
        }
        let objects = together
            .into_iter()
            .map(|(index, cells)| match &self.shards {
                Some(shards) => {
                    let (bytes, lengths) = shard(shards, cells)?;
                    if let Some(lengths) = lengths {
                        self.listed.add(path, &index, lengths);
                    }
                    Ok((object_key(path, &index), bytes))
                }
                // Without shards an index belongs to one cell.
                None => {
                    let [(_, _, bytes)] =
                        <[ShardCell<'_>; 1]>::try_from(cells)
                            .ok()
                            .or_bug(format_args!(
                                "several cells of one array are at {path}/{index:?}"
                            ))?;
                    Ok((object_key(path, &index), bytes.into_owned()))
                }
            });
        objects.collect()
    }

    /// Splits a stored object of the array at `path` into its encoded cells. The cells themselves are not decoded or checked.
    ///
    /// # Errors
    /// Malformed: a shard without a valid index.
    pub fn encoded(
        &self,
        path: &str,
        index: &[u64],
        bytes: Vec<u8>,
    ) -> Result<EncodedCells, WriteError> {
        let Some(shape) = &self.shards else {
            let cells = vec![Some(0..bytes.len())];
            return Ok(EncodedCells { bytes, cells });
        };
        let malformed = |found: String| WriteError::source(object_key(path, index), found);
        let count = shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
        let found = ShardIndex::parse(&bytes, count.or_bug("more than 2^64 cells")?);
        let found = found.map_err(|error| malformed(error.to_string()))?;
        found
            .check()
            .map_err(|error| malformed(error.to_string()))?;
        let (table, tail) = found
            .bytes()
            .split_at_checked(found.bytes().len() - size_of::<u32>())
            .or_bug("an index without a checksum")?;
        if crc32c::crc32c(table).to_le_bytes() != *tail {
            return Err(malformed("the checksum of its index is wrong".to_owned()));
        }
        let range = |entry: &ShardEntry| -> Result<Option<Range<usize>>, WriteError> {
            if entry.is_absent() {
                return Ok(None);
            }
            let start = to_index("bytes of a shard", entry.offset.get())?;
            let length = to_index("bytes of a cell", entry.nbytes.get())?;
            Ok(Some(start..start + length))
        };
        let cells = found.entries().iter().map(range);
        let cells = cells.collect::<Result<_, _>>()?;
        Ok(EncodedCells { bytes, cells })
    }

    /// The encoded cell of a chunk in the object that holds it; `None` if the object has no such cell.
    ///
    /// # Errors
    /// Misuse: a chunk outside of the grid.
    pub fn encoded_cell<'e>(
        &self,
        object: &'e EncodedCells,
        chunk: &[i64],
    ) -> Result<Option<&'e [u8]>, WriteError> {
        self.object_index(chunk)?;
        let (_, place) = self.inside(chunk)?;
        let range = object.cells.get(place).cloned().flatten();
        range
            .map(|range| {
                object
                    .bytes
                    .get(range)
                    .or_bug("a cell outside of its shard")
            })
            .transpose()
    }

    /// The encoded cells of a shard, by chunk, including cells that no presence list names, but not cells outside of the grid.
    ///
    /// # Errors
    /// Bug: no shards; a cell outside of its shard.
    pub fn cells_of<'e>(
        &self,
        index: &[u64],
        object: &'e EncodedCells,
    ) -> Result<Vec<(ChunkCoord, &'e [u8])>, WriteError> {
        let shards = self.shards.as_ref();
        let shards = shards.or_bug("cells of an array without shards")?;
        let mut cells = Vec::new();
        for (place, range) in object.cells.iter().enumerate() {
            let Some(range) = range else { continue };
            // The last axis changes fastest, as in the index of the shard.
            let mut rest = wide(place);
            let mut at: Vec<u64> = Vec::with_capacity(index.len());
            for (first, count) in index.iter().zip(shards).rev() {
                at.push(first * count + rest % count.max(&1));
                rest /= count.max(&1);
            }
            at.reverse();
            if at
                .iter()
                .zip(&self.grid.shape)
                .all(|(at, extent)| at < extent)
            {
                let chunk: Vec<i64> = chunk_of_cell(&self.grid.origin, at).collect();
                let bytes = object.bytes.get(range.clone());
                let bytes = bytes.or_bug("a cell outside of its shard")?;
                cells.push((ChunkCoord::new(&chunk), bytes));
            }
        }
        Ok(cells)
    }

    /// A cell's place in its shard: along the Morton curve, which is the order of bytes, and in C order, which is the order of the index.
    fn inside(&self, chunk: &[i64]) -> Result<(u128, usize), WriteError> {
        let (Some(shards), Some(index)) = (&self.shards, self.grid.index(chunk)) else {
            return Ok((0, 0));
        };
        let local: Vec<u64> = index
            .iter()
            .zip(shards)
            .map(|(at, cells)| at % cells.max(&1))
            .collect();
        let mut place = 0_u64;
        for (at, cells) in local.iter().zip(shards) {
            place = place * cells + at;
        }
        // A shard has at most 2^24 cells, so no axis needs more bits.
        Ok((curve(&local), to_index("cells of a shard", place)?))
    }

    /// The member `zvf_shard_lengths` of the document of the array at `path`: the lengths of the cells of large shards that were encoded.
    pub fn shard_lengths(&self, path: &str) -> JsonObject {
        self.listed.of(path)
    }

    /// The lengths of all large shards that were encoded, for [`list`](Self::list) in another program.
    pub fn listed(&self) -> ShardTexts {
        lock(&self.listed.0).clone()
    }

    /// Lists the lengths of shards that other programs encoded.
    pub fn list(&self, shards: &ShardTexts) {
        for (path, shards) in shards {
            for (index, lengths) in shards {
                self.listed.add(path, index, lengths.clone());
            }
        }
    }

    /// Lists the lengths of a stored shard, if it is large.
    ///
    /// # Errors
    /// Malformed: bytes that are not a shard.
    pub fn list_stored(&self, path: &str, index: &[u64], bytes: &[u8]) -> Result<(), WriteError> {
        let Some(shape) = &self.shards else {
            return Ok(());
        };
        let count = shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
        let found = ShardIndex::parse(bytes, count.or_bug("more than 2^64 cells")?);
        let found = found
            .map_err(|error| WriteError::source(object_key(path, index), error.to_string()))?;
        if let Some(lengths) = lengths_of(shape, found.data(), found.entries()) {
            self.listed.add(path, index, lengths);
        }
        Ok(())
    }

    /// Chunk shape and codecs for the document of the array at `path`, after its cells are encoded.
    pub(crate) fn document(&self, path: &str) -> (Vec<u64>, Vec<Codec>) {
        let ones = vec![1; self.grid.shape.len()];
        let plain = vlen_codecs(&self.compression_of(path));
        let Some(shards) = &self.shards else {
            return (ones, plain);
        };
        (shards.clone(), vec![codec(&ones, &plain)])
    }
}

/// The codec of shards as they are written, with inner chunks of this shape and codecs.
pub(crate) fn codec(chunk: &[u64], codecs: &[Codec]) -> Codec {
    let member = |codec: &Codec| {
        let mut member = json!({"name": codec.name});
        if !codec.configuration.is_null() {
            member["configuration"] = codec.configuration.clone();
        }
        member
    };
    let configuration = json!({
        "chunk_shape": chunk,
        "codecs": codecs.iter().map(member).collect::<Vec<_>>(),
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end",
    });
    Codec {
        configuration,
        ..Codec::named("sharding_indexed")
    }
}

/// Whether this crate writes shards with such an index: little-endian with a checksum, after the inner chunks.
pub fn is_written(sharding: &Sharding) -> bool {
    let index = sharding
        .index_codecs
        .iter()
        .map(|codec| codec.name.as_str());
    let mut orders = sharding
        .index_codecs
        .iter()
        .filter_map(|codec| codec.configuration.get("endian"));
    sharding.index_at_end && index.eq(["bytes", "crc32c"]) && orders.all(|order| order == "little")
}

/// Returns the key of an object of the array at `path`, by its index.
pub fn object_key(path: &str, index: &[u64]) -> String {
    format!("{path}/{}", KeyEncoding::default().object_key(index))
}

/// Returns how the cells of a stored level are compressed and sharded, as its array of positions states. The compression is `None` for codecs that
/// this crate does not write; the shards are `None` for cells that are not in shards or in a grid. Codecs that were chosen from the data are returned
/// as [`Compression::Auto`].
///
/// # Errors
/// Malformed: an invalid configuration of shards.
pub fn stored_as(level: &Level) -> Result<(Option<Compression>, Option<Vec<u64>>), WriteError> {
    let positions = level.vertices();
    let compression = match (cell_compression(positions)?, level.vertex_fragments()) {
        (Some(Compression::Frames(_)), _) => Some(Compression::Auto),
        // Incompressible positions together with other cells that are compressed.
        (Some(Compression::None), Some(fragments))
            if cell_compression(fragments)? != Some(Compression::None) =>
        {
            Some(Compression::Auto)
        }
        (found, _) => found,
    };
    Ok((compression, shard_shape(positions)?.map(<[u64]>::to_vec)))
}

/// The number of arrays of a stored level with the shards of its vertices, for [`ShardShape::of_level`](crate::ShardShape::of_level): positions, fragments
/// and the attributes of both, except for the owners of fragments, which have shards of their own.
#[must_use]
pub fn arrays_of_vertices(level: &Level) -> usize {
    let fragments = level.fragment_attributes().iter();
    let fragments = fragments.filter(|one| !is_owner_column(one)).count();
    2 + level.vertex_attributes().len() + fragments
}

/// The most links that a stored level has, for [`ShardShape::of_level`](crate::ShardShape::of_level). The level must have been opened with the links.
#[must_use]
pub fn most_links(level: &Level) -> u64 {
    let inside = level.link_families().iter().filter(|one| one.delta() == 0);
    let links = inside.map(|one| one.stated_links().unwrap_or(u64::MAX));
    links.fold(0, u64::saturating_add)
}

/// Whether a stored level has arrays of links with [shards of their own](LevelCells::with_link_shards). The level must have been opened with the
/// links inside it; links to other levels are ignored.
///
/// # Errors
/// Malformed: an invalid configuration of shards.
pub fn stored_link_shards(level: &Level) -> Result<bool, WriteError> {
    let Some(shards) = shard_shape(level.vertices())? else {
        return Ok(false);
    };
    for one in level.links(0).into_iter().flat_map(|one| one.arrays()) {
        if shard_shape(&one.array)?.is_some_and(|own| own != shards) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The shape of the shards of an array, if its cells are in shards.
fn shard_shape(array: &GridArray) -> Result<Option<&[u64]>, WriteError> {
    let Some(doc) = array.grid_doc() else {
        return Ok(None);
    };
    Ok(doc.sharding()?.map(|_| doc.chunk_shape.as_slice()))
}

/// The compression of the cells of an array, if this crate writes it.
fn cell_compression(array: &GridArray) -> Result<Option<Compression>, WriteError> {
    let Some(doc) = array.grid_doc() else {
        return Ok(None);
    };
    let sharding = doc.sharding()?;
    let codecs = sharding.as_ref().map_or(&doc.codecs, |inner| &inner.codecs);
    Ok(Compression::of(codecs.get(1..).unwrap_or_default()))
}

/// A shard of a table: its inner chunks in the order of rows, each with its bytes.
pub(crate) fn of_rows(
    chunks: u32,
    stored: Vec<Vec<u8>>,
) -> Result<(Vec<u8>, Option<String>), WriteError> {
    let inner = stored.into_iter().enumerate();
    let inner = inner.map(|(place, bytes)| (curve(&[wide(place)]), place, bytes.into()));
    shard(&[u64::from(chunks)], inner.collect())
}

/// Inner chunks back to back, then the index and its checksum; and the lengths of the inner chunks, if they are listed.
fn shard(
    shape: &[u64],
    mut cells: Vec<ShardCell<'_>>,
) -> Result<(Vec<u8>, Option<String>), WriteError> {
    let count = shape.iter().try_fold(1_u64, |all, &n| all.checked_mul(n));
    let count = to_index("cells of a shard", count.or_bug("more than 2^64 cells")?)?;
    let mut index = vec![ShardEntry::ABSENT; count];
    cells.sort_unstable_by_key(|(curve, place, _)| (*curve, *place));
    // Reserved at once: a shard may have tens of megabytes, and each cell is freed when it is copied.
    let size: usize = cells.iter().map(|(_, _, cell)| cell.len()).sum();
    let mut bytes = Vec::with_capacity(size + size_of_val(&*index) + size_of::<u32>());
    for (_, place, cell) in cells {
        let entry = index.get_mut(place);
        let entry = entry.or_bug(format_args!("no place {place} in a shard of {count} cells"))?;
        internal!(entry.is_absent(), "two cells in place {place} of a shard");
        *entry = ShardEntry::new(wide(bytes.len()), wide(cell.len()));
        bytes.extend_from_slice(&cell);
    }
    let lengths = lengths_of(shape, &bytes, &index);
    let index = index.as_bytes();
    bytes.extend_from_slice(index);
    bytes.extend_from_slice(&crc32c::crc32c(index).to_le_bytes());
    Ok((bytes, lengths))
}

/// The lengths of the inner chunks of a shard, if they are listed; `data` are its bytes before the index. Not listed for an index of another shape.
fn lengths_of(shape: &[u64], data: &[u8], index: &[ShardEntry]) -> Option<String> {
    if data.len() <= LISTED {
        return None;
    }
    let order = stored_order(shape)?;
    let length = |place: usize| {
        let entry = index.get(place)?;
        Some(if entry.is_absent() {
            0
        } else {
            entry.nbytes.get()
        })
    };
    let lengths: Option<Vec<u64>> = order.into_iter().map(length).collect();
    lengths.map(to_text)
}

#[cfg(test)]
mod tests {
    use zvf_meta::space::Grid;

    use serde_json::json;
    use zvf_meta::{Codec, Sharding};

    use super::{CellContainer, LevelCells, codec, is_written, shard};
    use crate::WriteError;
    use zvf_codec::Compression;

    #[test]
    fn only_shards_with_an_index_as_ours_are_written() -> Result<(), WriteError> {
        let own = codec(&[1], &[Codec::named("vlen-bytes")]);
        assert!(is_written(&Sharding::of(&own)?));
        let big =
            json!([{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}]);
        let plain = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        for (member, value) in [
            ("index_codecs", big),
            ("index_codecs", plain),
            ("index_location", json!("start")),
        ] {
            let mut other = own.clone();
            other.configuration[member] = value;
            assert!(
                !is_written(&Sharding::of(&other)?),
                "{}",
                other.configuration
            );
        }
        Ok(())
    }

    #[test]
    fn a_shard_loses_no_cell() {
        let cell = |place: usize| (0, place, vec![1, 2, 3].into());
        assert!(shard(&[2, 2], vec![cell(0), cell(3)]).is_ok());
        // A position after the index, and a position used twice.
        for wrong in [vec![cell(4)], vec![cell(1), cell(1)]] {
            assert!(matches!(shard(&[2, 2], wrong), Err(WriteError::Bug { .. })));
        }
    }

    #[test]
    fn cells_of_one_place_are_a_bug() {
        let grid = Grid {
            origin: vec![0],
            shape: vec![2],
        };
        let cells = LevelCells::new(grid, None, Compression::None, CellContainer::Grid);
        let two = vec![(&[1_i64][..], vec![1]), (&[1][..], vec![2])];
        assert!(matches!(
            cells.objects("vertices", two),
            Err(WriteError::Bug { .. })
        ));
    }

    #[test]
    fn a_shard_lists_its_cells_along_the_curve() {
        let grid = Grid {
            origin: vec![-1, 0, 0],
            shape: vec![3, 3, 3],
        };
        let cells = LevelCells::new(
            grid,
            Some(vec![2, 2, 2]),
            Compression::None,
            CellContainer::Grid,
        );
        let all: Vec<[i64; 3]> = (0..8)
            .map(|i| [(i >> 2) - 1, (i >> 1) & 1, i & 1])
            .collect();
        let given = all.iter().map(|chunk| {
            (
                &chunk[..],
                vec![(chunk[0] + 1) as u8, chunk[1] as u8, chunk[2] as u8],
            )
        });
        let objects = cells.objects("0/vertices", given.collect()).unwrap();
        assert_eq!(objects.len(), 1);
        let (key, bytes) = &objects[0];
        assert_eq!(key, "0/vertices/c/0/0/0");
        // Eleven bytes per cell: count, length, payload. Axis 0 is the fastest (0.9 §4.4).
        let order: Vec<&[u8]> = bytes[..88].chunks(11).map(|cell| &cell[8..]).collect();
        let wanted = [
            [0, 0, 0],
            [1, 0, 0],
            [0, 1, 0],
            [1, 1, 0],
            [0, 0, 1],
            [1, 0, 1],
            [0, 1, 1],
            [1, 1, 1],
        ];
        assert_eq!(
            order,
            wanted.iter().map(|cell| &cell[..]).collect::<Vec<_>>()
        );
        assert_eq!(bytes.len(), 88 + 8 * 16 + 4);
        // The second entry of the index, in C order, is cell (0,0,1): the fifth of the bytes.
        assert_eq!(bytes[88 + 16..88 + 24], 44_u64.to_le_bytes());
        let sum = u32::from_le_bytes(bytes[216..].try_into().unwrap());
        assert_eq!(sum, crc32c::crc32c(&bytes[88..216]));
    }

    #[test]
    fn cells_lie_at_their_index_and_empty_ones_nowhere() {
        let grid = Grid {
            origin: vec![-2],
            shape: vec![5],
        };
        let cells = LevelCells::new(grid, None, Compression::None, CellContainer::Grid);
        let objects = cells
            .objects("a", vec![(&[-1], vec![7]), (&[0], Vec::new())])
            .unwrap();
        assert_eq!(
            objects,
            [("a/c/1".to_owned(), vec![1, 0, 0, 0, 1, 0, 0, 0, 7])]
        );
        assert!(cells.objects("a", vec![(&[9], vec![7])]).is_err());
    }
}

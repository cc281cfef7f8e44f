//! Decoded chunks: the one reader of positions, fragments and attributes.
//!
//! [`Level::chunks`] prepares a [`ChunkReader`] for the requested parts of chunks. [`ChunkReader::read`] requests the cells of several chunks
//! together and returns one [`DecodedChunk`] for each. It handles containers, presence lists, byte order, widths that must be derived from the bytes
//! (trap T8), and fragment indexes.
//!
//! - A missing cell is empty: a chunk without `vertices` has no rows and no values.
//! - `vertices` are requested wherever the grid has the chunk, since a manifest may name a chunk that the presence list lacks;
//!   other arrays if their presence lists name it.
//! - Values are little-endian and whole rows. They are returned in blocks: callers must not expect one slice for a chunk.
//! - [`ChunkReader::open_map`] does not decode cells: an [`OpenChunk`] decodes only the data that is used; for single rows only their blocks.
//! - A [`ChunkReader`] fails at the first defect. A [`ChunkExaminer`] is the same decoder for reports: it lists all defects of a chunk, also those
//!   that readers tolerate.
//!
//! ```
//! # use std::sync::Arc;
//! # use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
//! use zvf_store::{ChunkParts, Need, OpenOptions, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let backend = InMemory::new();
//! # let put = async |key: &str, bytes: Vec<u8>| backend.put(&Path::parse(key)?, bytes.into()).await;
//! # put("zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {
//! #   "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": [10, 10], "bounds": [[0, 0], [19, 9]],
//! #     "geometry_types": ["point_cloud"], "format_capabilities": []},
//! #   "multiscales": [{"axes": [{"name": "x", "type": "space"}, {"name": "y", "type": "space"}], "datasets": []}]
//! # }}"#.to_vec()).await?;
//! # put("0/zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {"zarr_vectors_level": {
//! #   "level": 0, "vertex_count": 1, "arrays_present": ["vertices"], "object_sparsity": 1.0,
//! #   "coarsening_method": "none", "parent_level": null}}}"#.to_vec()).await?;
//! # put("0/vertices/zarr.json", br#"{"shape": [2, 1], "data_type": "variable_length_bytes",
//! #   "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
//! #   "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "",
//! #   "codecs": [{"name": "vlen-bytes"}], "attributes": {"nonempty_chunks": ["1.0"], "dtype": "float32"},
//! #   "zarr_format": 3, "node_type": "array"}"#.to_vec()).await?;
//! # let mut cell = vec![1, 0, 0, 0, 8, 0, 0, 0];
//! # cell.extend([12.5f32, 3.0].map(f32::to_le_bytes).as_flattened());
//! # put("0/vertices/c/1/0", cell).await?;
//! # let options = OpenOptions::new().with_object_store(Arc::new(backend) as Arc<dyn ObjectStore>);
//! let store = Store::open_with("memory:///", options).await?;
//! let level = store.level(0, &Need::all()).await?;
//!
//! let reader = level.chunks(ChunkParts::all_of(&level))?;
//! let listed: Vec<&[i64]> = level.vertices().presence().iter().collect();
//! for chunks in reader.batches(&listed, 4 << 20) {
//!     for chunk in reader.read(chunks).await? {
//!         assert_eq!((chunk.coord.as_slice(), chunk.rows, chunk.fragments.len()), (&[1, 0][..], 1, 1));
//!         assert_eq!(chunk.positions.row(0), Some([12.5f32, 3.0].map(f32::to_le_bytes).as_flattened()));
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod column;
mod decode;
mod fault;
mod fragments;
mod known;
mod open;
mod values;

use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_format::dtype::DTypeKind;
use zvf_format::int::wide;

use crate::cells::dealt;
use crate::{ChunkCoord, GridArray, Level, StoreError, VertexAttribute};

pub use column::ChunkColumn;
pub(crate) use column::nan;
pub use fault::{CellFault, ChunkCell, ChunkFault};
pub(crate) use fragments::IndexSizes;
pub use fragments::{CheckedFragment, CheckedFragments, FragmentFault};
pub(crate) use known::{KnownChunks, known_chunks};
pub use open::{OpenChunk, WantedCells};
pub use values::RowValues;

/// Largest number of chunks in one batch.
const BATCH: usize = 32;

/// The parts of chunks to read.
#[derive(Debug, Clone, Copy)]
pub struct ChunkParts<'l> {
    /// `vertices`. Without them the number of rows of a chunk is determined by its fragments.
    pub positions: bool,
    /// `vertex_fragments`.
    pub fragments: bool,
    /// Attributes of vertices, out of [`Level::vertex_attributes`].
    pub attributes: &'l [VertexAttribute],
    /// Attributes of fragments, out of [`Level::fragment_attributes`].
    pub fragment_attributes: &'l [VertexAttribute],
}

impl<'l> ChunkParts<'l> {
    /// Positions and fragments.
    pub const GEOMETRY: Self = Self {
        positions: true,
        fragments: true,
        attributes: &[],
        fragment_attributes: &[],
    };

    /// Positions, fragments, and all attributes with which the level was loaded.
    #[must_use]
    pub fn all_of(level: &'l Level) -> Self {
        Self {
            attributes: level.vertex_attributes(),
            fragment_attributes: level.fragment_attributes(),
            ..Self::GEOMETRY
        }
    }
}

/// Reads chunks of one level. Cheap to clone; clones share the widths of columns found so far.
#[derive(Debug, Clone)]
pub struct ChunkReader(Arc<ChunkReaderInner>);

/// Reads chunks of one level and lists their defects, for reports. See [`Level::examined_chunks`].
#[derive(Debug, Clone)]
pub struct ChunkExaminer(Arc<ChunkReaderInner>);

#[derive(Debug)]
struct ChunkReaderInner {
    level: Level,
    positions: bool,
    fragments: bool,
    /// Whether defects are listed, also those that readers tolerate.
    reports: bool,
    /// Bytes of a position.
    position_bytes: usize,
    columns: Vec<ChunkColumn>,
    fragment_columns: Vec<ChunkColumn>,
}

/// The rows of one chunk.
#[derive(Debug)]
#[non_exhaustive]
pub struct DecodedChunk {
    /// The chunk.
    pub coord: ChunkCoord,
    /// Rows of the chunk.
    pub rows: u32,
    /// One position for each row, as stored (without `coordinate_offset`). Empty if not requested.
    pub positions: RowValues,
    /// The fragments; a single one with all rows if the level has no `vertex_fragments`. In a chunk without rows: the stored fragments, although their
    /// rows do not exist.
    pub fragments: CheckedFragments,
    /// The values of the vertices, for each of [`ChunkReader::columns`]; `None` if no vertex of the chunk has a value (trap T10). If vertices were
    /// appended without values, only the first rows have values (0.7, section 17.4).
    pub columns: Vec<Option<RowValues>>,
    /// The values of the fragments, for each of [`ChunkReader::fragment_columns`].
    pub fragment_columns: Vec<Option<RowValues>>,
}

/// The rows of one chunk as far as they can be decoded, and its defects.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExaminedChunk {
    /// The chunk.
    pub coord: ChunkCoord,
    /// Rows of the chunk; `None` if they are unknown.
    pub rows: Option<u32>,
    /// The stored positions; empty if the number of rows is unknown.
    pub positions: RowValues,
    /// The fragments; `None` if they cannot be decoded, or name rows outside the chunk.
    pub fragments: Option<CheckedFragments>,
    /// The number of fragments; `None` if it is unknown.
    pub fragment_count: Option<u32>,
    /// The values of the vertices, as in [`DecodedChunk::columns`]; `None` also for cells with a defect.
    pub columns: Vec<Option<RowValues>>,
    /// The values of the fragments, as in [`DecodedChunk::fragment_columns`]; `None` also for cells with a defect.
    pub fragment_columns: Vec<Option<RowValues>>,
    /// The defects, in the order of the cells.
    pub faults: Vec<ChunkFault>,
    /// The number of requested cells.
    pub cells: u64,
    /// Bytes of these cells, decoded.
    pub bytes: u64,
}

impl Level {
    /// A reader of `parts` of the level's chunks. Attributes of type `object`, which contain memory addresses instead of values (trap T14), are left
    /// out.
    ///
    /// # Errors
    /// Malformed: positions in an encoding other than raw numbers, rows of more bytes than memory has.
    pub fn chunks(&self, parts: ChunkParts<'_>) -> Result<ChunkReader, StoreError> {
        if !self.has_raw_positions() {
            let vertices = self.vertices();
            let encoding = vertices.attributes().encoding.as_deref();
            let what = format!("encoding {:?} is not read", encoding.unwrap_or_default());
            return Err(StoreError::malformed(vertices.path(), what));
        }
        let inner = ChunkReaderInner::new(self, parts, false);
        inner.all_columns().try_for_each(ChunkColumn::check)?;
        Ok(ChunkReader(Arc::new(inner)))
    }

    /// Like [`chunks`](Self::chunks), for reports: with a list of the defects of each chunk. Rows are unknown if their positions are not
    /// [raw](Self::has_raw_positions).
    #[must_use]
    pub fn examined_chunks(&self, parts: ChunkParts<'_>) -> ChunkExaminer {
        ChunkExaminer(Arc::new(ChunkReaderInner::new(self, parts, true)))
    }

    /// Whether positions are stored as plain numbers, the only encoding that can be read.
    #[must_use]
    pub fn has_raw_positions(&self) -> bool {
        let encoding = self.vertices().attributes().encoding.as_deref();
        encoding.is_none_or(|encoding| encoding == "raw")
    }
}

impl ChunkReader {
    /// The requested attributes of vertices.
    #[must_use]
    pub fn columns(&self) -> &[ChunkColumn] {
        &self.0.columns
    }

    /// The requested attributes of fragments.
    #[must_use]
    pub fn fragment_columns(&self) -> &[ChunkColumn] {
        &self.0.fragment_columns
    }

    /// Whether single rows of positions can be decoded without the rest of their chunk: in frames of Blosc, and without a codec.
    #[must_use]
    pub fn reads_parts(&self) -> bool {
        let layout = self.0.level.vertices().layout();
        layout.is_some_and(|layout| layout.elements == 1 && layout.chain.reads_ranges())
    }

    /// Approximate bytes of a chunk in memory, from the vertex count in the document of the level, which may be wrong.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        let columns = self.0.columns.iter().map(ChunkColumn::row_bytes);
        let row = columns.fold(self.0.position_bytes, usize::saturating_add);
        let level = &self.0.level;
        let chunks = wide(level.vertices().presence().len()).max(1);
        let rows = (level.doc().vertex_count / chunks).max(1);
        rows.saturating_mul(wide(row).max(1))
    }

    /// Splits chunks into batches to be [read](Self::read) together: of about `bytes` bytes, and of 32 chunks at most.
    pub fn batches<'c, C>(&self, chunks: &'c [C], bytes: u64) -> std::slice::Chunks<'c, C> {
        let fit = usize::try_from(bytes / self.chunk_bytes());
        chunks.chunks(fit.map_or(BATCH, |fit| fit.clamp(1, BATCH)))
    }

    /// Whether the presence list of any requested array names a chunk.
    #[must_use]
    pub fn is_listed(&self, chunk: &[i64]) -> bool {
        self.0
            .arrays()
            .any(|array| array.presence().contains(chunk))
    }

    /// Reads chunks; returns their rows in the order of `chunks`.
    ///
    /// # Cost
    /// One round of requests, as [`Store::fetch_map`](crate::Store::fetch_map). All cells of the chunks are in memory.
    ///
    /// # Errors
    /// The errors of [`Store::fetch_map`](crate::Store::fetch_map). Malformed, with array and chunk: incomplete rows of positions or values, a
    /// damaged or missing fragment index, columns of another width than in other chunks.
    pub fn read(
        &self,
        chunks: &[&[i64]],
    ) -> BoxFuture<'static, Result<Vec<DecodedChunk>, StoreError>> {
        self.read_map(chunks, |chunks| chunks)
    }

    /// Reads chunks, then runs `f` on them on the worker thread that decoded them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_map<R, F>(
        &self,
        chunks: &[&[i64]],
        f: F,
    ) -> BoxFuture<'static, Result<R, StoreError>>
    where
        R: Send + 'static,
        F: FnOnce(Vec<DecodedChunk>) -> R + Send + 'static,
    {
        let (inner, level) = (Arc::clone(&self.0), &self.0.level);
        let coords: Vec<ChunkCoord> = chunks.iter().map(|chunk| ChunkCoord::new(chunk)).collect();
        let (wants, plan) = self.0.wants(chunks);
        let found = level
            .store()
            .fetch_map(level.next_round(), wants, move |cells| {
                let cells = dealt(plan, cells.into_iter().map(Ok));
                let decoded = coords.into_iter().zip(cells).map(|(chunk, cells)| {
                    let found = inner.decode(chunk, cells)?;
                    found.decoded()
                });
                decoded.collect::<Result<Vec<_>, _>>().map(f)
            });
        Box::pin(async move { found.await? })
    }
}

impl ChunkExaminer {
    /// The requested columns: first the vertex attributes, then the fragment attributes.
    pub fn columns(&self) -> impl Iterator<Item = &ChunkColumn> {
        self.0.all_columns()
    }

    /// Reads chunks, then runs `f` on them on the worker thread that decoded them.
    ///
    /// # Cost
    /// As [`ChunkReader::read`]. If a cell cannot be read, one more request for each cell of the chunks.
    ///
    /// # Errors
    /// As [`Store::fetch_each`](crate::Store::fetch_each). Defects of the chunks are in their lists.
    pub fn read_map<R, F>(
        &self,
        chunks: Vec<ChunkCoord>,
        f: F,
    ) -> BoxFuture<'static, Result<R, StoreError>>
    where
        R: Send + 'static,
        F: FnOnce(Vec<ExaminedChunk>) -> R + Clone + Send + 'static,
    {
        let (inner, level) = (Arc::clone(&self.0), &self.0.level);
        let keys: Vec<&[i64]> = chunks.iter().map(ChunkCoord::as_slice).collect();
        let ((wants, plan), round) = (self.0.wants(&keys), level.next_round());
        let found = level.store().fetch_each(round, wants, move |cells| {
            let cells = dealt(plan, cells.into_iter());
            let chunks = chunks.into_iter().zip(cells);
            let decoded = chunks.map(|(chunk, cells)| inner.decode(chunk, cells));
            decoded.collect::<Result<Vec<_>, _>>().map(f)
        });
        Box::pin(async move { found.await? })
    }
}

impl ChunkReaderInner {
    /// Warns if the fragments of a chunk do not tile its rows although the level states `fragments_tile`.
    fn warn_unless_tiled(&self, array: &GridArray, fragments: &CheckedFragments, rows: u32) {
        if rows > 0 && !self.reports && self.level.doc().fragments_tile && !fragments.tile(rows) {
            // The warning does not name the chunk, so that it is given only once.
            self.level.store().tree().warnings.add(format!(
                "{}: the fragments of a chunk do not tile its rows, although the level claims that they do: if one of them is damaged, objects have too few or wrong vertices; `zvf validate` names the chunks",
                array.path()
            ));
        }
    }

    fn new(level: &Level, parts: ChunkParts<'_>, reports: bool) -> Self {
        let columns = |attributes: &[VertexAttribute], of| {
            let attributes = attributes.iter();
            let values = attributes.filter(|one| one.dtype.kind != DTypeKind::Object);
            values.map(|one| ChunkColumn::new(one, of)).collect()
        };
        Self {
            positions: parts.positions,
            fragments: parts.fragments,
            reports,
            // Cannot overflow: at most 16 axes, and numbers of a few bytes.
            position_bytes: level.vertices().dtype().size().saturating_mul(level.dims()),
            columns: columns(parts.attributes, ChunkCell::VertexColumn),
            fragment_columns: columns(parts.fragment_attributes, ChunkCell::FragmentColumn),
            level: level.clone(),
        }
    }
}

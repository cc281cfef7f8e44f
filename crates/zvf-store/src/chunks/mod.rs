//! Decoded chunks: the one reader of positions, fragments and attributes.
//!
//! [`Level::chunks`] prepares a [`ChunkReader`] for the requested parts of chunks. [`ChunkReader::read`] requests the cells of several chunks
//! together and returns one [`DecodedChunk`] for each. It handles containers, presence lists, byte order, widths that only follow from the bytes
//! (trap T8), and fragment indexes.
//!
//! - A missing cell is empty: a chunk without `vertices` has no rows and no values.
//! - `vertices` are requested wherever the grid has the chunk, since a manifest may name a chunk that the presence list lacks;
//!   other arrays if their presence lists name it.
//! - Values are little-endian and whole rows. They are returned in blocks: callers must not expect one slice for a chunk.
//! - [`ChunkReader::open_map`] does not decode cells: an [`OpenChunk`] decodes only the data that is used; for single rows only their blocks.
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
mod fragments;
mod open;
mod values;

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_format::dtype::DTypeKind;
use zvf_format::int::wide;

use crate::codec::little_endian;
use crate::{CellWant, ChunkCoord, GridArray, Level, StoreError, VertexAttribute};

pub use column::ChunkColumn;
pub(crate) use column::nan;
pub(crate) use fragments::IndexSizes;
pub use fragments::{CheckedFragment, CheckedFragments, FragmentFault};
pub use open::{OpenChunk, WantedCells};
pub use values::RowValues;

/// Most chunks of one batch.
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

#[derive(Debug)]
struct ChunkReaderInner {
    level: Level,
    positions: bool,
    fragments: bool,
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
    /// The fragments; a single one with all rows if the level has no `vertex_fragments`. In a chunk without rows the stored fragments, whose rows do
    /// not exist.
    pub fragments: CheckedFragments,
    /// The values of the vertices, for each of [`ChunkReader::columns`]; `None` if no vertex of the chunk has a value (trap T10). If vertices were
    /// appended without values, only the first rows have values (0.7, section 17.4).
    pub columns: Vec<Option<RowValues>>,
    /// The values of the fragments, for each of [`ChunkReader::fragment_columns`].
    pub fragment_columns: Vec<Option<RowValues>>,
}

impl Level {
    /// A reader of `parts` of the level's chunks. Attributes of type `object`, which contain memory addresses instead of values (trap T14), are left
    /// out.
    ///
    /// # Errors
    /// Malformed: positions in an encoding other than raw numbers, rows of more bytes than memory has.
    pub fn chunks(&self, parts: ChunkParts<'_>) -> Result<ChunkReader, StoreError> {
        let vertices = self.vertices();
        let encoding = vertices.attributes().encoding.as_deref();
        if let Some(other) = encoding.filter(|encoding| *encoding != "raw") {
            let what = format!("encoding {other:?} is not read");
            return Err(StoreError::malformed(vertices.path(), what));
        }
        let columns = |attributes: &[VertexAttribute]| {
            let attributes = attributes.iter();
            let values = attributes.filter(|one| one.dtype.kind != DTypeKind::Object);
            values.map(ChunkColumn::new).collect::<Result<_, _>>()
        };
        // Cannot overflow: at most 16 axes, and numbers of a few bytes.
        let position_bytes = vertices.dtype().size().saturating_mul(self.dims());
        Ok(ChunkReader(Arc::new(ChunkReaderInner {
            level: self.clone(),
            positions: parts.positions,
            fragments: parts.fragments,
            position_bytes,
            columns: columns(parts.attributes)?,
            fragment_columns: columns(parts.fragment_attributes)?,
        })))
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

    /// Whether rows of positions are decoded without the rest of their chunk: in frames of Blosc, and without codec.
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
        let mut wants = Vec::new();
        for chunk in chunks {
            let stored = self
                .0
                .arrays()
                .filter(|array| self.0.is_wanted(array, chunk));
            wants.extend(stored.map(|array| CellWant::new(array, *chunk)));
        }
        let coords: Vec<ChunkCoord> = chunks.iter().map(|chunk| ChunkCoord::new(chunk)).collect();
        let (inner, level) = (Arc::clone(&self.0), &self.0.level);
        let found = level
            .store()
            .fetch_map(level.next_round(), wants, move |cells| {
                let mut cells = cells.into_iter();
                let decoded = coords
                    .into_iter()
                    .map(|chunk| inner.decode(chunk, &mut cells));
                decoded.collect::<Result<Vec<_>, _>>().map(f)
            });
        Box::pin(async move { found.await? })
    }
}

impl ChunkReaderInner {
    /// The arrays of the cells of a chunk, in the order in which they are decoded.
    fn arrays(&self) -> impl Iterator<Item = &Arc<GridArray>> {
        let columns = self.columns.iter().chain(&self.fragment_columns);
        let vertices = self.positions.then(|| self.level.vertices());
        let fragments = self.level.vertex_fragments().filter(|_| self.fragments);
        let columns = columns.map(|column| &column.attribute().array);
        vertices.into_iter().chain(fragments).chain(columns)
    }

    fn is_wanted(&self, array: &Arc<GridArray>, chunk: &[i64]) -> bool {
        let anywhere = Arc::ptr_eq(array, self.level.vertices());
        array.in_grid(chunk) && (anywhere || array.presence().contains(chunk))
    }

    /// Decodes one chunk; its requested cells are the next ones.
    fn decode(
        &self,
        coord: ChunkCoord,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<DecodedChunk, StoreError> {
        let mut next = |array: &Arc<GridArray>| {
            let wanted = self.is_wanted(array, &coord);
            wanted.then(|| cells.next().flatten()).flatten()
        };
        let place = |array: &GridArray| format!("{} at {coord}", array.path());
        let vertices = self.level.vertices();
        let (mut rows, mut positions) = (None, RowValues::default());
        if self.positions {
            let cell = next(vertices).unwrap_or_default();
            let row = self.position_bytes;
            if row == 0 || !cell.len().is_multiple_of(row) {
                let what = format!("found {} bytes, expected a multiple of {row}", cell.len());
                return Err(StoreError::malformed(place(vertices), what));
            }
            let count = cell.len() / row;
            let narrow = u32::try_from(count);
            let too_many = |_| {
                let most = u64::from(u32::MAX);
                StoreError::limit(place(vertices), "rows of a chunk", wide(count), most)
            };
            rows = Some(narrow.map_err(too_many)?);
            positions = RowValues::new(row, little_endian(vertices.dtype(), cell));
        }
        let fragments = match self.level.vertex_fragments().filter(|_| self.fragments) {
            None => CheckedFragments::whole(rows.unwrap_or(0)),
            Some(array) => match (next(array), rows) {
                (Some(blob), rows) => {
                    CheckedFragments::decode(&blob, rows.filter(|rows| *rows > 0))
                        .map_err(|source| StoreError::decode(place(array), source))?
                }
                (None, None | Some(0)) => CheckedFragments::default(),
                (None, Some(rows)) => {
                    let what = format!("no fragment index for a chunk of {rows} rows");
                    return Err(StoreError::malformed(place(array), what));
                }
            },
        };
        let rows = rows.unwrap_or_else(|| fragments.extent());
        let mut values = |columns: &[ChunkColumn], rows: u32| {
            let values = columns.iter().map(|column| {
                let array = &column.attribute().array;
                let cell = next(array).filter(|_| rows > 0);
                let values = cell.map(|cell| column.decode(cell, rows)).transpose();
                values.map_err(|what| StoreError::malformed(place(array), what))
            });
            values
                .map(|one| one.map(Option::flatten))
                .collect::<Result<Vec<_>, _>>()
        };
        let columns = values(&self.columns, rows)?;
        let named = if rows > 0 { fragments.len() } else { 0 };
        let fragment_columns = values(&self.fragment_columns, named)?;
        Ok(DecodedChunk {
            rows,
            positions,
            fragments,
            columns,
            fragment_columns,
            coord,
        })
    }
}

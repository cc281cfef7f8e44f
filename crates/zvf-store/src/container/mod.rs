//! Arrays with one cell for each chunk of a level, and the containers that store such cells.
//!
//! The container of an array is detected from the node at its path, never from the store's version. Families
//! (the meaning of a cell) do not depend on containers, nor containers on families.

pub(crate) mod blob;
pub(crate) mod blobs;
pub(crate) mod packed;
pub(crate) mod padded;
pub(crate) mod records;

use std::sync::{Arc, OnceLock};

use zvf_format::dtype::DType;
use zvf_meta::{ArrayAttributes, ArrayDoc};

use crate::coord::Dotted;
use crate::layout::CellLayout;
use crate::presence::Presence;
use crate::types::stated_dtype;
use crate::{ChunkCoord, Limits, StoreError};

use crate::layout::{self, ChunkDecoding};
use blobs::Blobs;
use bytes::Bytes;
use packed::PackedCells;
use padded::{Count, Padded};
use records::CellRecords;

/// How the cells of an array are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContainerKind {
    /// One variable-length array with one element for each cell, plain or sharded (0.9, section 7; 0.8, section 3.4).
    Grid,
    /// A group with one `uint8` array for each cell (0.7, section 2; 0.8, section 3.1).
    Blobs,
    /// One numeric array with room for the longest cell in each chunk (page "Chunk arrays").
    Padded,
    /// A list of cells and a list of their keys (0.8, section 9.8).
    Packed,
    /// Cells that were taken from one blob of records when the level was loaded (0.7, sections 9.4 and 9.5).
    Records,
}

impl std::fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Grid => "grid",
            Self::Blobs => "blobs",
            Self::Padded => "padded",
            Self::Packed => "packed",
            Self::Records => "records",
        })
    }
}

/// The node that an array is read from.
#[derive(Debug, Clone)]
enum ArrayNode {
    Array(Box<ArrayDoc>),
    Group(Box<ArrayAttributes>),
}

/// A container, with its metadata for finding cells.
#[derive(Debug, Clone)]
pub(crate) enum Container {
    Grid(ChunkDecoding<CellLayout>),
    Blobs(Blobs),
    Padded(Padded),
    Packed(PackedCells),
    Records(CellRecords),
}

/// One array of a level with a cell for each chunk: `vertices`, `vertex_fragments`, an attribute, a link array.
///
/// # Shape
/// One cell for each chunk, found by the absolute coordinate of the chunk. Every array has its own shape and origin,
/// also inside one level (trap T6).
///
/// Source: specification 0.9, section 7; 0.8, section 3; 0.7, section 2.
#[derive(Debug, Clone)]
pub struct GridArray {
    path: String,
    node: ArrayNode,
    dtype: DType,
    rank: usize,
    origin: Vec<i64>,
    container: Container,
    presence: OnceLock<Arc<Presence>>,
    /// An array of the same level, which may list the same cells.
    beside: Option<SharedArray>,
    /// Elements of a row, if they were detected from a cell.
    columns: OnceLock<u64>,
}

/// A grid array that many cells and tables share.
pub(crate) type SharedArray = Arc<GridArray>;

impl GridArray {
    /// Creates an array with one variable-length element for each chunk from its document.
    pub(crate) fn new(
        path: String,
        doc: ArrayDoc,
        missing_dtype: DType,
        limits: &Limits,
    ) -> Result<Self, StoreError> {
        let dtype = stated_dtype(&path, &doc.attributes)?.unwrap_or(missing_dtype);
        let (rank, reader) = (doc.shape.len(), layout::reader(&path, &doc, limits)?);
        Self::in_grid_of(path, doc, dtype, rank, Container::Grid(reader))
    }

    /// An array over the first `rank` axes of its document's grid.
    fn in_grid_of(
        path: String,
        doc: ArrayDoc,
        dtype: DType,
        rank: usize,
        container: Container,
    ) -> Result<Self, StoreError> {
        let origin = origin_of(&path, &doc.attributes, rank)?;
        Ok(Self {
            path,
            node: ArrayNode::Array(Box::new(doc)),
            dtype,
            rank,
            origin,
            container,
            presence: OnceLock::new(),
            beside: None,
            columns: OnceLock::new(),
        })
    }

    /// An array with cells that are looked up by key.
    fn by_key(
        path: String,
        node: ArrayNode,
        dtype: DType,
        container: Container,
        presence: Arc<Presence>,
    ) -> Self {
        let rank = presence.rank();
        Self {
            path,
            node,
            dtype,
            rank,
            origin: vec![0; rank],
            container,
            presence: OnceLock::from(presence),
            beside: None,
            columns: OnceLock::new(),
        }
    }

    /// An array with one cell per child of a group; `presence` lists them.
    ///
    /// # Errors
    /// An invalid `dtype`.
    pub(crate) fn from_blobs(
        path: String,
        attributes: ArrayAttributes,
        missing_dtype: DType,
        blobs: Blobs,
        presence: Arc<Presence>,
    ) -> Result<Self, StoreError> {
        let dtype = stated_dtype(&path, &attributes)?.unwrap_or(missing_dtype);
        let node = ArrayNode::Group(Box::new(attributes));
        Ok(Self::by_key(
            path,
            node,
            dtype,
            Container::Blobs(blobs),
            presence,
        ))
    }

    /// An array whose cells are slices of another object that is in memory. Their coordinates have `rank` components.
    ///
    /// `path` is for messages; `attributes` are from the node of the sliced object.
    ///
    /// # Errors
    /// A coordinate of another rank; a coordinate that occurs twice.
    pub(crate) fn from_memory(
        path: String,
        attributes: ArrayAttributes,
        dtype: DType,
        rank: usize,
        cells: Vec<(ChunkCoord, Bytes)>,
    ) -> Result<Self, StoreError> {
        let (records, presence) = CellRecords::new(&path, rank, cells)?;
        let node = ArrayNode::Group(Box::new(attributes));
        let container = Container::Records(records);
        Ok(Self::by_key(
            path,
            node,
            dtype,
            container,
            Arc::new(presence),
        ))
    }

    /// A numeric array with room for the longest cell in each chunk; its first `rank` axes are the grid.
    ///
    /// # Errors
    /// As [`Padded::new`]; an origin of another rank.
    pub(crate) fn from_padded(
        path: String,
        doc: ArrayDoc,
        rank: usize,
        limits: &Limits,
    ) -> Result<Self, StoreError> {
        let (padded, dtype) = Padded::new(&path, &doc, rank, limits)?;
        Self::in_grid_of(path, doc, dtype, rank, Container::Padded(padded))
    }

    /// Sets how the rows in a cell of a padded array are counted.
    pub(crate) fn counted_by(mut self, count: Count) -> Self {
        if let Container::Padded(padded) = &mut self.container {
            padded.count = count;
        }
        self
    }

    /// A list of cells with a list of their keys, which have `rank` components.
    ///
    /// # Errors
    /// As [`PackedCells::new`]; an invalid `dtype`.
    pub(crate) fn from_packed(
        path: String,
        doc: ArrayDoc,
        missing_dtype: DType,
        rank: usize,
        limits: &Limits,
    ) -> Result<Self, StoreError> {
        let (packed, presence) = PackedCells::new(&path, &doc, rank, limits)?;
        let dtype = stated_dtype(&path, &doc.attributes)?.unwrap_or(missing_dtype);
        let (node, container) = (ArrayNode::Array(Box::new(doc)), Container::Packed(packed));
        Ok(Self::by_key(
            path,
            node,
            dtype,
            container,
            Arc::new(presence),
        ))
    }

    /// Elements of a row, from the array's shape or from a probed cell.
    pub(crate) fn row_width(&self) -> Option<u64> {
        match &self.container {
            Container::Padded(padded) => Some(padded.width),
            _ => self.columns.get().copied(),
        }
    }

    /// Records the number of elements of a row as detected from a cell.
    pub(crate) fn set_row_width(&self, width: u64) {
        // A width that is already set is kept.
        let _ = self.columns.set(width);
    }

    /// Rows in a cell of a padded array; 0 in other containers, which have no fixed room for rows.
    pub(crate) fn rows_of(&self, cell: &[u8]) -> u64 {
        match &self.container {
            Container::Padded(padded) => padded.rows_in(cell),
            _ => 0,
        }
    }

    /// The same array with another type of the elements inside its cells.
    pub(crate) fn retyped(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    /// Sets which cells have content, for an array without a presence list.
    pub(crate) fn with_presence(mut self, presence: Arc<Presence>) -> Self {
        self.presence = OnceLock::from(presence);
        self
    }

    /// Sets the companion: another array of the same level. If both arrays list the same cells, they share one sorted list.
    pub(crate) fn beside(mut self, other: Option<SharedArray>) -> Self {
        self.beside = other;
        self
    }

    /// The sorted list of the companion array, if its document lists the same cells of the same grid.
    fn presence_beside(&self) -> Option<&Arc<Presence>> {
        let other = self.beside.as_ref()?;
        let keys = self.attributes().nonempty_chunks.as_ref()?;
        let shape = self.shape()?;
        let same = other.attributes().nonempty_chunks.as_ref() == Some(keys)
            && other.shape() == Some(shape)
            && other.origin == self.origin;
        same.then(|| other.shared_presence())
    }

    /// Path inside the store, such as `0/vertices`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The array's attributes, from its document or from the group that represents it.
    pub fn attributes(&self) -> &ArrayAttributes {
        match &self.node {
            ArrayNode::Array(doc) => &doc.attributes,
            ArrayNode::Group(attributes) => attributes,
        }
    }

    /// The document, if one Zarr array stores all cells.
    pub fn doc(&self) -> Option<&ArrayDoc> {
        match &self.node {
            ArrayNode::Array(doc) => Some(doc),
            ArrayNode::Group(_) => None,
        }
    }

    /// The document of an array whose elements are the cells, plain or sharded, as 0.9 writes them (0.9, section 7); `None` for other
    /// containers.
    #[must_use]
    pub fn grid_doc(&self) -> Option<&ArrayDoc> {
        self.doc()
            .filter(|_| self.container() == ContainerKind::Grid)
    }

    /// Whether each cell is a separate array, with a document (0.7, section 2; 0.8, section 3.1).
    #[must_use]
    pub fn has_cell_nodes(&self) -> bool {
        self.container() == ContainerKind::Blobs
    }

    /// Whether a cell may have values for the first rows of its chunk only: older writers append points without values (0.7, section 17.4).
    #[must_use]
    pub fn may_lack_rows(&self) -> bool {
        self.container() == ContainerKind::Blobs
    }

    /// How the cells are stored.
    pub fn container(&self) -> ContainerKind {
        match &self.container {
            Container::Grid(_) => ContainerKind::Grid,
            Container::Blobs(_) => ContainerKind::Blobs,
            Container::Padded(_) => ContainerKind::Padded,
            Container::Packed(_) => ContainerKind::Packed,
            Container::Records(_) => ContainerKind::Records,
        }
    }

    /// Type of the elements inside a cell; `float32` if the document states none.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Absolute coordinate of the cell at index zero; zeros where cells are found by their key.
    pub fn origin(&self) -> &[i64] {
        &self.origin
    }

    /// Cells on each axis; `None` where cells are found by their key and there is no grid.
    pub fn shape(&self) -> Option<&[u64]> {
        match &self.container {
            Container::Grid(_) | Container::Padded(_) => {
                self.doc().and_then(|doc| doc.shape.get(..self.rank))
            }
            Container::Blobs(_) | Container::Packed(_) | Container::Records(_) => None,
        }
    }

    /// Components of a chunk coordinate.
    pub fn key_rank(&self) -> usize {
        self.rank
    }

    /// Whether several cells share one stored object.
    pub fn is_sharded(&self) -> bool {
        match &self.container {
            Container::Grid(ChunkDecoding::Own(layout)) => layout.shard.is_some(),
            Container::Packed(_) => true,
            Container::Grid(_) | Container::Padded(_) => self
                .doc()
                .and_then(|doc| doc.codecs.first())
                .is_some_and(|c| c.name == "sharding_indexed"),
            Container::Blobs(blobs) => blobs.is_packed(),
            Container::Records(_) => true,
        }
    }

    /// Whether a chunk can have a cell: its coordinate has the right rank and is inside the grid, if there is a grid.
    pub fn in_grid(&self, chunk: &[i64]) -> bool {
        match self.shape() {
            Some(shape) => crate::presence::in_grid(chunk, &self.origin, shape),
            None => chunk.len() == self.rank,
        }
    }

    /// The cells that have content.
    ///
    /// # Cost
    /// The first call sorts the list, later ones are free. Memory: [`Presence`], shared by the arrays of a level that list the same cells,
    /// and the text of the keys with four bytes for each of them, which each array keeps as part of its document.
    pub fn presence(&self) -> &Presence {
        self.shared_presence()
    }

    /// The cells that have content, to be shared with other arrays.
    pub(crate) fn shared_presence(&self) -> &Arc<Presence> {
        self.presence.get_or_init(|| {
            if let Some(shared) = self.presence_beside() {
                return Arc::clone(shared);
            }
            let keys = self.attributes().nonempty_chunks.as_ref();
            Arc::new(match (keys, self.shape()) {
                (Some(keys), Some(shape)) => Presence::from_keys(keys.iter(), &self.origin, shape),
                _ => Presence::default(),
            })
        })
    }

    /// Fails if the presence list of the array is invalid: keys outside the grid, duplicates, strings that are not keys.
    ///
    /// # Errors
    /// [`Class::Malformed`](crate::Class::Malformed), with the first problem.
    pub fn check_presence(&self) -> Result<(), StoreError> {
        match (self.presence().problems().first(), &self.container) {
            (None, _) => Ok(()),
            (Some(problem), Container::Blobs(_)) => Err(StoreError::malformed(
                self.path.clone(),
                format!("names of children: {problem}"),
            )),
            (Some(problem), _) => Err(StoreError::malformed(
                format!("{}/zarr.json", self.path),
                format!("nonempty_chunks: {problem}"),
            )),
        }
    }

    /// Whether the document has no presence list.
    pub(crate) fn lacks_presence(doc: &ArrayDoc) -> bool {
        doc.attributes.nonempty_chunks.is_none()
    }

    /// The layout of cells in stored objects, if this crate reads the array itself.
    pub(crate) fn layout(&self) -> Option<&CellLayout> {
        match &self.container {
            Container::Grid(ChunkDecoding::Own(layout))
            | Container::Packed(PackedCells {
                reader: ChunkDecoding::Own(layout),
                ..
            }) => Some(layout),
            _ => None,
        }
    }

    pub(crate) fn contents(&self) -> &Container {
        &self.container
    }

    /// The grid index of a chunk.
    ///
    /// # Errors
    /// A coordinate of another rank, or outside the grid.
    pub(crate) fn cell_index(&self, chunk: &[i64], index: &mut Vec<u64>) -> Result<(), StoreError> {
        index.clear();
        let shape = self.shape().unwrap_or_default();
        if chunk.len() == self.origin.len() {
            for ((c, o), n) in chunk.iter().zip(&self.origin).zip(shape) {
                match c
                    .checked_sub(*o)
                    .and_then(|i| u64::try_from(i).ok())
                    .filter(|i| i < n)
                {
                    Some(i) => index.push(i),
                    None => break,
                }
            }
            if index.len() == chunk.len() {
                return Ok(());
            }
        }
        Err(StoreError::malformed(
            self.path.clone(),
            format!(
                "chunk {} lies outside the grid of {shape:?} chunks from {}",
                Dotted(chunk),
                Dotted(&self.origin)
            ),
        ))
    }

    /// Refuses a coordinate of another rank than the array's.
    pub(crate) fn check_rank(&self, chunk: &[i64]) -> Result<(), StoreError> {
        if chunk.len() == self.rank {
            return Ok(());
        }
        Err(StoreError::malformed(
            self.path.clone(),
            format!(
                "chunk {} has {} components, expected {}",
                Dotted(chunk),
                chunk.len(),
                self.rank
            ),
        ))
    }
}

/// The declared coordinate of the cell at index zero.
fn origin_of(
    path: &str,
    attributes: &ArrayAttributes,
    rank: usize,
) -> Result<Vec<i64>, StoreError> {
    match &attributes.chunk_grid_origin {
        None => Ok(vec![0; rank]),
        Some(origin) if origin.len() == rank => Ok(origin.clone()),
        Some(origin) => Err(StoreError::malformed(
            format!("{path}/zarr.json"),
            format!(
                "chunk_grid_origin has {} components, expected {rank}",
                origin.len()
            ),
        )),
    }
}

//! Chunks of an old store, checked and little-endian.

use std::collections::BTreeSet;

use bytes::Bytes;
use tokio::runtime::Handle;
use zvf_format::dtype::DTypeKind;
use zvf_format::fragments::FragmentIndexBuilder;
use zvf_store::owners::{OWNER_COLUMN, is_owner_column};
use zvf_store::{
    CheckedFragment, ChunkColumn, ChunkCoord, ChunkParts, ChunkReader, DecodedChunk, Level,
    RowValues, VertexAttribute,
};

use super::reading;
use super::report::Notes;
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::spec::{DocumentMembers, VersionRules};
use zvf_encode::{NumberType, WriteError};
use zvf_format::int::{index, wide};

/// The rows of one fragment, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowsOfFragment {
    Range(u32, u32),
    List(Vec<u32>),
}

impl From<CheckedFragment<'_>> for RowsOfFragment {
    fn from(fragment: CheckedFragment<'_>) -> Self {
        match fragment {
            CheckedFragment::Range { start, count } => Self::Range(start, count),
            CheckedFragment::List(rows) => Self::List(rows.to_vec()),
        }
    }
}

impl RowsOfFragment {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(_, count) => index(*count),
            Self::List(rows) => rows.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (range, list): (_, &[u32]) = match self {
            // Rows of a chunk, which are counted in 32 bits.
            Self::Range(start, count) => (*start..*start + *count, &[]),
            Self::List(rows) => (0..0, rows),
        };
        range.chain(list.iter().copied())
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: u32) {
        match self {
            Self::List(rows) => rows.push(row),
            Self::Range(start, count) if *count == 0 => (*start, *count) = (row, 1),
            Self::Range(start, count) if start.checked_add(*count) == Some(row) => {
                *count += 1;
            }
            Self::Range(..) => *self = Self::List(self.iter().chain([row]).collect()),
        }
    }

    /// First and last row; `None` for an empty fragment.
    pub(crate) fn ends(&self) -> Option<(u32, u32)> {
        match self {
            Self::Range(start, count) => Some((*start, start.checked_add(count.checked_sub(1)?)?)),
            Self::List(rows) => Some((*rows.first()?, *rows.last()?)),
        }
    }

    /// Appends the fragment to an index.
    pub(crate) fn push_to(&self, index: &mut FragmentIndexBuilder) -> Result<(), WriteError> {
        let done = match self {
            Self::Range(start, count) => index.push_range(i64::from(*start), i64::from(*count)),
            Self::List(rows) => {
                let rows: Vec<i64> = rows.iter().map(|row| i64::from(*row)).collect();
                index.push_rows(&rows)
            }
        };
        done.map_err(|source| WriteError::encode("vertex_fragments", source))
    }
}

/// Whether the fragments are consecutive ranges from row 0 to the last one.
pub(crate) fn tiles(fragments: &[RowsOfFragment], rows: u32) -> bool {
    let mut next = 0;
    fragments.iter().all(|fragment| match fragment {
        RowsOfFragment::Range(start, count) if *start == next => {
            let end = next.checked_add(*count);
            end.is_some_and(|end| {
                next = end;
                true
            })
        }
        _ => false,
    }) && next == rows
}

/// The cells of one chunk.
#[derive(Debug)]
pub(crate) struct SourceChunk {
    /// Number of the chunk in the level.
    pub(crate) slot: u32,
    pub(crate) rows: u32,
    pub(crate) positions: Bytes,
    pub(crate) fragments: Vec<RowsOfFragment>,
    /// One cell for each column; it has fewer rows than the chunk if vertices were appended without values.
    pub(crate) attributes: Vec<Option<Bytes>>,
    pub(crate) fragment_attributes: Vec<Option<Bytes>>,
}

/// Whether a new level gets an owner column. It is not written if objects share fragments, which have no single owner.
fn takes_owners(level: &Level, rules: VersionRules) -> bool {
    let mut columns = level.fragment_attributes().iter();
    let free = !columns.any(|one| one.name == OWNER_COLUMN && !is_owner_column(one));
    rules.members == DocumentMembers::All
        && free
        && level.object_index().is_some()
        && !level.doc().shared_fragments
}

/// One level of an old store.
#[derive(Debug)]
pub(crate) struct SourceLevel {
    pub(crate) level: Level,
    pub(crate) handle: Handle,
    /// The chunks with vertices, in lex order.
    pub(crate) chunks: Vec<ChunkCoord>,
    pub(crate) position: NumberType,
    /// Whether the new level gets an owner column, which is made from its manifests; the column of the old level is not copied.
    pub(crate) owners: bool,
    reader: ChunkReader,
}

/// Cells that are requested together.
pub(crate) const BATCH: usize = 32;

/// Approximate bytes of chunks that are read together.
const BATCH_BYTES: u64 = 4 << 20;

impl SourceLevel {
    /// Prepares a level: determines its chunks, and the attributes that can be copied.
    pub(crate) fn new(
        level: Level,
        handle: Handle,
        rules: VersionRules,
        notes: &Notes,
    ) -> Result<Self, WriteError> {
        let owners = takes_owners(&level, rules);
        let columns = level.fragment_attributes().iter();
        let columns = columns.filter(|one| !(owners && is_owner_column(one)));
        let columns: Vec<VertexAttribute> = columns.cloned().collect();
        let reader = level.chunks(ChunkParts {
            fragment_attributes: &columns,
            ..ChunkParts::all_of(&level)
        })?;
        let vertices = level.vertices();
        vertices.check_presence()?;
        let number = NumberType::from_kind(vertices.dtype().kind);
        let Some(position) = number.filter(|number| *number != NumberType::Bool) else {
            let what = format!("positions are {}, expected numbers", vertices.dtype());
            return Err(WriteError::source(vertices.path(), what));
        };
        let attributes = level.vertex_attributes().iter();
        for attribute in attributes.chain(&columns) {
            if attribute.dtype.kind == DTypeKind::Object {
                // Trap T14: memory addresses of another process are meaningless.
                notes.lost(
                    attribute.array.path(),
                    "holds memory addresses instead of values",
                );
            }
        }
        let mut source = Self {
            position,
            owners,
            chunks: vertices.presence().iter().map(ChunkCoord::new).collect(),
            reader,
            handle,
            level,
        };
        source.find_unlisted(notes)?;
        narrow("chunks", source.chunks.len())?;
        Ok(source)
    }

    /// Adds stored chunks that manifests name but the presence list lacks; released readers find them by coordinate.
    fn find_unlisted(&mut self, notes: &Notes) -> Result<(), WriteError> {
        let mut unknown: BTreeSet<ChunkCoord> = BTreeSet::new();
        self.each_manifest(|_, manifest| {
            let chunks = manifest.map(|(chunk, _)| chunk);
            unknown.extend(chunks.filter(|chunk| {
                self.slot(chunk).is_none() && self.level.vertices().in_grid(chunk)
            }));
            Ok(())
        })?;
        let unknown: Vec<ChunkCoord> = unknown.into_iter().collect();
        let mut found = Vec::new();
        for part in unknown.chunks(BATCH) {
            let chunks: Vec<&[i64]> = part.iter().map(ChunkCoord::as_slice).collect();
            let cells = self
                .level
                .cells(&[self.level.vertices()], &chunks, |_, _| true);
            let cells = self.handle.block_on(cells)?.into_iter().flatten();
            let there = part.iter().zip(cells).filter(|(_, cell)| cell.is_some());
            found.extend(there.map(|(chunk, _)| chunk.clone()));
        }
        if !found.is_empty() {
            let what = "chunks that were missing in the presence list were added to it";
            notes.repaired(self.level.vertices().path(), what, wide(found.len()));
            self.chunks.append(&mut found);
            self.chunks.sort_unstable();
        }
        Ok(())
    }

    /// Calls `each` with every row of the object index, and the chunks and fragments that its manifest names.
    pub(crate) fn each_manifest(
        &self,
        each: impl FnMut(u64, &mut dyn Iterator<Item = (ChunkCoord, i64)>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let objects = self.level.object_index();
        objects.map_or(Ok(()), |objects| {
            reading::each_manifest(objects, &self.handle, each)
        })
    }

    /// The attributes of vertices that can be copied.
    pub(crate) fn columns(&self) -> &[ChunkColumn] {
        self.reader.columns()
    }

    /// The attributes of fragments that can be copied.
    pub(crate) fn fragment_columns(&self) -> &[ChunkColumn] {
        self.reader.fragment_columns()
    }

    /// Approximate bytes of the cells of a chunk.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.reader.chunk_bytes()
    }

    /// Numbers of all chunks, in batches that are read together.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Vec<u32>> + use<> {
        let slots: Vec<u32> = (0..).take(self.chunks.len()).collect();
        let batches = self.reader.batches(&slots, BATCH_BYTES);
        let batches: Vec<Vec<u32>> = batches.map(<[u32]>::to_vec).collect();
        batches.into_iter()
    }

    /// The number of a chunk.
    pub(crate) fn slot(&self, chunk: &[i64]) -> Option<u32> {
        let at = self
            .chunks
            .binary_search_by(|one| one.as_slice().cmp(chunk));
        u32::try_from(at.ok()?).ok()
    }

    pub(crate) fn chunk(&self, slot: u32) -> Result<&[i64], WriteError> {
        let chunk = self.chunks.get(index(slot)).map(ChunkCoord::as_slice);
        chunk.or_bug(format_args!("no chunk {slot}"))
    }

    /// Bytes of one position.
    pub(crate) fn position_bytes(&self) -> usize {
        self.level.dims() * self.position.size()
    }

    /// Reads chunks.
    ///
    /// # Errors
    /// I/O; invalid cells, by array and chunk.
    pub(crate) fn read(&self, slots: &[u32]) -> Result<Vec<SourceChunk>, WriteError> {
        let chunks = slots.iter().map(|&slot| self.chunk(slot));
        let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        let read = self.handle.block_on(self.reader.read(&chunks))?;
        let chunks = slots.iter().zip(read);
        Ok(chunks.map(|(&slot, read)| self.take(slot, read)).collect())
    }

    fn take(&self, slot: u32, read: DecodedChunk) -> SourceChunk {
        let bytes = |values: Vec<Option<RowValues>>| {
            let values = values.into_iter();
            values.map(|one| one.map(RowValues::into_bytes)).collect()
        };
        let fragments = match self.level.vertex_fragments() {
            None => vec![RowsOfFragment::Range(0, read.rows)],
            // Without stored vertices there are no rows, even if the cell has fragments.
            Some(_) if read.rows == 0 => Vec::new(),
            Some(_) => read.fragments.iter().map(RowsOfFragment::from).collect(),
        };
        SourceChunk {
            slot,
            rows: read.rows,
            positions: read.positions.into_bytes(),
            fragments,
            attributes: bytes(read.columns),
            fragment_attributes: bytes(read.fragment_columns),
        }
    }

    /// Reads the first cell of every column, which determines its width. A chunk has the cells of all columns and is read once.
    pub(super) fn read_widths(&self) -> Result<(), WriteError> {
        let columns = self.columns().iter().chain(self.fragment_columns());
        let presence = columns.map(|column| column.attribute().array.presence());
        let first = presence.filter_map(|presence| self.slot(presence.get(0)?));
        let slots: BTreeSet<u32> = first.collect();
        slots
            .into_iter()
            .try_for_each(|slot| self.read(&[slot]).map(drop))
    }
}

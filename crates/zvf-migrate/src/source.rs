//! Chunks of an old store, checked and little-endian.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::runtime::Handle;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_format::fragments::{Fragment as Stored, FragmentIndex, FragmentIndexBuilder};
use zvf_store::{ChunkCoord, ContainerKind, GridArray, Level, VertexAttribute};

use super::entries::entries;
use super::report::Notes;
use zvf_format::int::{index, wide};
use zvf_write::WriteError;
use zvf_write::error::{OrBug, narrow, to_index};
use zvf_write::layout::row_bytes;
use zvf_write::number::NumberType;

/// The rows of one fragment, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rows {
    Range(u32, u32),
    List(Vec<u32>),
}

impl Rows {
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

    /// First and last row; `None` of an empty fragment.
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

/// Whether ranges follow each other from row 0 to the last one.
pub(crate) fn tiles(fragments: &[Rows], rows: u32) -> bool {
    let mut next = 0;
    fragments.iter().all(|fragment| match fragment {
        Rows::Range(start, count) if *start == next => {
            let end = next.checked_add(*count);
            end.is_some_and(|end| {
                next = end;
                true
            })
        }
        _ => false,
    }) && next == rows
}

/// An attribute of vertices or fragments whose values can be carried.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) attribute: VertexAttribute,
    /// Little-endian.
    pub(crate) dtype: DType,
    /// Values a row, as the document says.
    declared: usize,
    /// Values a row, as the first cell with rows told.
    width: OnceLock<usize>,
}

impl Column {
    fn new(attribute: &VertexAttribute) -> Result<Self, WriteError> {
        let dtype = DType::little(attribute.dtype.kind);
        let declared = attribute.declared_width.unwrap_or(1);
        row_bytes("values of a row", declared, dtype)?;
        Ok(Self {
            attribute: attribute.clone(),
            dtype,
            declared: to_index("values of a row", declared.max(1))?,
            width: OnceLock::new(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.attribute.name
    }

    /// Values a row.
    pub(crate) fn width(&self) -> usize {
        self.width.get().copied().unwrap_or(self.declared)
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.width() * self.dtype.size()
    }

    /// A value that says "none", where the type has one: NaN, or the code for it.
    pub(crate) fn absent(&self) -> Option<Vec<u8>> {
        if self.attribute.categories.is_some() {
            let code = self.attribute.fill_code?;
            let bytes = code.to_le_bytes();
            return bytes.get(..self.dtype.size()).map(<[u8]>::to_vec);
        }
        NumberType::from_kind(self.dtype.kind)?.nan()
    }

    /// One row that says "none".
    pub(crate) fn absent_row(&self) -> Option<Vec<u8>> {
        Some(self.absent()?.repeat(self.width()))
    }
}

/// The cells of one chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Number of the chunk in the level.
    pub(crate) slot: u32,
    pub(crate) rows: u32,
    pub(crate) positions: Bytes,
    pub(crate) fragments: Vec<Rows>,
    /// One for each column; fewer rows than the chunk has where vertices were appended without values.
    pub(crate) attributes: Vec<Option<Bytes>>,
    pub(crate) fragment_attributes: Vec<Option<Bytes>>,
}

/// One level of an old store.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) level: Level,
    pub(crate) handle: Handle,
    /// The chunks with vertices, in lex order.
    pub(crate) chunks: Vec<ChunkCoord>,
    pub(crate) position: NumberType,
    pub(crate) columns: Vec<Column>,
    pub(crate) fragment_columns: Vec<Column>,
}

/// Cells that are asked for together.
pub(crate) const BATCH: usize = 32;

/// Bytes of chunks that are read together, about.
const BATCH_BYTES: u64 = 4 << 20;

impl Source {
    /// Prepares a level: which chunks it has, and which attributes can be carried.
    pub(crate) fn new(level: Level, handle: Handle, notes: &Notes) -> Result<Self, WriteError> {
        let vertices = level.vertices();
        let path = vertices.path().to_owned();
        if let Some(other) = vertices
            .attributes()
            .encoding
            .as_deref()
            .filter(|e| *e != "raw")
        {
            return Err(WriteError::source(
                path,
                format!("encoding {other:?} is not read"),
            ));
        }
        vertices.check_presence()?;
        let number = NumberType::from_kind(vertices.dtype().kind);
        let Some(position) = number.filter(|number| *number != NumberType::Bool) else {
            let what = format!("positions are {}, expected numbers", vertices.dtype());
            return Err(WriteError::source(path, what));
        };
        let columns = |list: &[VertexAttribute]| -> Result<Vec<Column>, WriteError> {
            let mut columns = Vec::new();
            for attribute in list {
                if attribute.dtype.kind == DTypeKind::Object {
                    // Trap T14: there is no value behind an address of another process.
                    notes.lost(attribute.array.path(), "holds memory addresses, no values");
                    continue;
                }
                columns.push(Column::new(attribute)?);
            }
            Ok(columns)
        };
        let mut source = Self {
            position,
            chunks: vertices.presence().iter().map(ChunkCoord::new).collect(),
            columns: columns(level.vertex_attributes())?,
            fragment_columns: columns(level.fragment_attributes())?,
            handle,
            level,
        };
        source.find_unlisted(notes)?;
        narrow("chunks", source.chunks.len())?;
        Ok(source)
    }

    /// Chunks that manifests name and the presence list does not: released readers find them by coordinate only.
    fn find_unlisted(&mut self, notes: &Notes) -> Result<(), WriteError> {
        let mut unknown: BTreeSet<ChunkCoord> = BTreeSet::new();
        self.each_manifest(|_, manifest| {
            let chunks = manifest.into_iter().map(|(chunk, _)| chunk);
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
            let what = "chunks that no list named are listed";
            notes.repaired(self.level.vertices().path(), what, wide(found.len()));
            self.chunks.append(&mut found);
            self.chunks.sort_unstable();
        }
        Ok(())
    }

    /// Calls `each` with every row of the object index, and the chunks and fragments that its manifest names.
    pub(crate) fn each_manifest(
        &self,
        mut each: impl FnMut(u64, Vec<(ChunkCoord, i64)>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let Some(objects) = self.level.object_index() else {
            return Ok(());
        };
        for number in 0..objects.manifest_chunks() {
            let part = self.handle.block_on(objects.manifest_chunk(number))?;
            let first = part.first_slot();
            for row in first..(first + wide(part.len())).min(objects.len()) {
                each(row, entries(part.blob(row), objects, row)?)?;
            }
        }
        Ok(())
    }

    /// Bytes of the cells of a chunk, about.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        let columns = self.columns.iter().map(Column::row_bytes);
        let row = self.position_bytes() + columns.sum::<usize>();
        // An estimate from what the document says, which may be anything.
        let rows = self.level.doc().vertex_count / wide(self.chunks.len()).max(1);
        rows.max(1).saturating_mul(wide(row).max(1))
    }

    /// Numbers of all chunks, as many at a time as are read together.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Vec<u32>> + use<> {
        let fit = usize::try_from(BATCH_BYTES / self.chunk_bytes());
        let fit = fit.map_or(BATCH, |fit| fit.clamp(1, BATCH));
        let slots: Vec<u32> = (0..).take(self.chunks.len()).collect();
        let batches = slots.chunks(fit).map(<[u32]>::to_vec);
        batches.collect::<Vec<_>>().into_iter()
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
    /// I/O; cells that no reader may guess about, by array and chunk.
    pub(crate) fn read(&self, slots: &[u32]) -> Result<Vec<Chunk>, WriteError> {
        let vertices = self.level.vertices();
        let columns = self.columns.iter().chain(&self.fragment_columns);
        let arrays: Vec<&Arc<GridArray>> = [vertices]
            .into_iter()
            .chain(self.level.vertex_fragments())
            .chain(columns.map(|column| &column.attribute.array))
            .collect();
        let chunks = slots.iter().map(|&slot| self.chunk(slot));
        let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        // Manifests may name chunks that the list of vertices does not.
        let asked = |array: &Arc<GridArray>, chunk: &[i64]| {
            Arc::ptr_eq(array, vertices) || array.presence().contains(chunk)
        };
        let cells = self.level.cells(&arrays, &chunks, asked);
        let cells = self.handle.block_on(cells)?.into_iter();
        let chunks = slots.iter().zip(cells);
        chunks
            .map(|(&slot, cells)| self.take(slot, cells.into_iter()))
            .collect()
    }

    fn take(
        &self,
        slot: u32,
        mut cells: impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Chunk, WriteError> {
        let chunk = self.chunk(slot)?;
        let place = |path: &str| format!("{path} at {}", ChunkCoord::new(chunk));
        // A cell that is not stored is an empty one.
        let stored = cells
            .next()
            .or_bug("an answer is missing")?
            .unwrap_or_default();
        let row = self.position_bytes();
        if !stored.len().is_multiple_of(row) {
            let what = format!("found {} bytes, expected a multiple of {row}", stored.len());
            return Err(WriteError::source(
                place(self.level.vertices().path()),
                what,
            ));
        }
        let rows = narrow("rows of a chunk", stored.len() / row)?;
        let fragments = match self.level.vertex_fragments() {
            None => vec![Rows::Range(0, rows)],
            Some(array) => match cells.next().flatten() {
                Some(_) if rows == 0 => Vec::new(),
                Some(blob) => decode_fragments(&blob, rows)
                    .map_err(|what| WriteError::source(place(array.path()), what))?,
                None if rows == 0 => Vec::new(),
                None => {
                    let what = format!("no fragment index for a chunk of {rows} rows");
                    return Err(WriteError::source(place(array.path()), what));
                }
            },
        };
        let mut column = |column: &Column, rows: u32| match cells.next().flatten() {
            Some(bytes) if rows > 0 => column
                .cell(bytes, rows)
                .map_err(|what| WriteError::source(place(column.attribute.array.path()), what)),
            _ => Ok(None),
        };
        let attributes = self.columns.iter().map(|one| column(one, rows));
        let attributes = attributes.collect::<Result<_, _>>()?;
        let count = narrow("fragments of a chunk", fragments.len())?;
        let of_fragments = self.fragment_columns.iter().map(|one| column(one, count));
        let fragment_attributes = of_fragments.collect::<Result<_, _>>()?;
        Ok(Chunk {
            slot,
            rows,
            positions: little(self.level.vertices().dtype(), stored),
            fragments,
            attributes,
            fragment_attributes,
        })
    }

    /// Lets the first cell of every column tell its width.
    pub(super) fn tell_widths(&self) -> Result<(), WriteError> {
        for column in self.columns.iter().chain(&self.fragment_columns) {
            let first = column
                .attribute
                .array
                .presence()
                .get(0)
                .and_then(|chunk| self.slot(chunk));
            if let Some(slot) = first {
                self.read(&[slot])?;
            }
        }
        Ok(())
    }
}

impl Column {
    /// The values of a cell: whole rows, and no more of them than `rows`. The bytes tell the width (trap T8).
    fn cell(&self, bytes: Bytes, rows: u32) -> Result<Option<Bytes>, String> {
        let size = self.dtype.size();
        let row = size * index(rows);
        // Where points are appended without values, the values that are there are those of the first rows (0.7 §17.4).
        if self.attribute.array.container() == ContainerKind::Blobs {
            let one = (self.declared * size).max(1);
            if bytes.len().is_multiple_of(one) && bytes.len() / one < index(rows) {
                self.tell(self.declared)?;
                let some = !bytes.is_empty();
                return Ok(some.then(|| little(self.attribute.dtype, bytes)));
            }
        }
        match bytes.len().checked_div(row) {
            Some(width) if width > 0 && width.checked_mul(row) == Some(bytes.len()) => {
                self.tell(width)?;
                Ok(Some(little(self.attribute.dtype, bytes)))
            }
            _ => Err(format!(
                "found {} bytes, expected a multiple of {row}: {rows} rows of {}",
                bytes.len(),
                self.dtype
            )),
        }
    }

    fn tell(&self, width: usize) -> Result<(), String> {
        let first = *self.width.get_or_init(|| width);
        if first == width {
            return Ok(());
        }
        Err(format!(
            "found {width} values a row, expected {first} as in other chunks"
        ))
    }
}

fn decode_fragments(blob: &[u8], rows: u32) -> Result<Vec<Rows>, String> {
    let parsed = FragmentIndex::parse(blob).map_err(|error| error.to_string())?;
    parsed
        .check_rows(u64::from(rows))
        .map_err(|error| error.to_string())?;
    let row = |row: i64| u32::try_from(row).map_err(|_| format!("row {row} is beyond 2^32"));
    let fragments = parsed.iter().map(|fragment| {
        Ok(match fragment {
            Stored::Range { start, count } => Rows::Range(row(start)?, row(count)?),
            Stored::List(list) => Rows::List(
                list.iter()
                    .map(|one| row(one.get()))
                    .collect::<Result<_, String>>()?,
            ),
        })
    });
    fragments.collect()
}

/// Stored elements with the least significant byte first.
pub(crate) fn little(dtype: DType, bytes: Bytes) -> Bytes {
    let part = match dtype.kind {
        DTypeKind::C64 | DTypeKind::Utf32 { .. } => 4,
        DTypeKind::C128 => 8,
        DTypeKind::Bytes { .. } => 1,
        _ => dtype.size(),
    };
    if dtype.order == ByteOrder::Little || part < 2 {
        return bytes;
    }
    let mut turned = bytes.to_vec();
    turned.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    turned.into()
}
